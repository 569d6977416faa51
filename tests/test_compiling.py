"""Compiling: all options in one module, and no code that is older than its sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from w2v.system import compiling

PACKAGE = Path(compiling.__file__).parent.parent
COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "intrinsic"}
OPTIONS = {"boundscheck", "error_model", "fastmath", "looplift", "nogil", "nopython", "no_cpython_wrapper"}
MODULES = sorted(set(PACKAGE.rglob("*.py")) - {Path(compiling.__file__)})


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_option_stands_in_one_module(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numba":
            assert not COMPILERS & {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            assert "numba" not in {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant):
            assert node.value not in OPTIONS
        elif isinstance(node, ast.keyword):
            assert node.arg not in OPTIONS
