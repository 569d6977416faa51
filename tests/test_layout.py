"""The shape of the package: which way imports point, and what stands where; read from the syntax trees."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "w2v"
# Each part may import itself and parts before it. Imports inside functions are free: they load what is heavy.
ORDER = [
    {"errors", "system"},
    {"config"},
    {"files"},
    {"vectors"},
    {"embeddings", "formats"},
    {"corpus"},
    {"training", "evaluation", "pooling"},
    {"api", "pytorch"},
    {"comparison", "bench"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
HEAVY = {"numba", "torch", "gensim", "scipy", "matplotlib", "llvmlite", "pyarrow", "tokenizers"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports when it is imported: not inside functions, not for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(node)


def test_every_part_has_a_place_in_the_order() -> None:
    assert {part_of(path) for path in MODULES} - {"__init__", "__main__"} == set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    if part in ("__init__", "__main__"):
        return
    for name in imports(ast.parse(path.read_text())):
        if name.startswith("w2v."):
            other = name.split(".")[1]
            assert RANK[other] < RANK[part] or (RANK[other] == RANK[part]), f"{part} imports {other}"


def test_modules_stay_readable() -> None:
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: n for name, n in lengths.items() if n > 500} == {}


@pytest.mark.parametrize(
    "statement", ["import w2v", "import w2v.cli, w2v.cli.train, w2v.cli.query, w2v.cli.vocab"]
)
def test_importing_is_light(statement: str) -> None:
    code = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not HEAVY & set(result.stdout.split())
