"""Compiling: all options in one module, and no code that is older than its sources."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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


HELPER = """
from w2v.system.compiling import byte_helper

@byte_helper
def one():
    return {value}
"""
KERNEL = """
from small.helper import one
from w2v.system.compiling import byte_kernel

@byte_kernel
def two(x):
    return one() + x
"""
CALL = "from small.kernel import two; print(two({}), sum(two.stats.cache_hits.values()))"


def call(folder: Path, argument: object = 1, **environment: str) -> str:
    """Call the kernel in a new process; return its value, and how often its code was found."""
    paths = os.pathsep.join([str(folder), str(PACKAGE.parent)])
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(argument)],
        env=os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Make a package of a kernel and its helper."""
    (tmp_path / "small").mkdir()
    for name, text in {"__init__": "", "helper": HELPER.format(value=1), "kernel": KERNEL}.items():
        (tmp_path / "small" / f"{name}.py").write_text(text)
    return tmp_path


def test_an_edited_helper_is_compiled_again(small: Path) -> None:
    compiled = small / "compiled"
    assert [call(small, NUMBA_CACHE_DIR=str(compiled)) for _ in range(2)] == ["2 0", "2 1"]
    old = set(compiled.rglob("*.nb?"))
    # What numba itself would have left, or w2v before it had digests.
    (next(iter(old)).parent / f"kernel.two-7.{compiling.TAG}.nbi").touch()
    (small / "small" / "helper.py").write_text(HELPER.format(value=100))
    assert call(small, NUMBA_CACHE_DIR=str(compiled)) == "101 0"
    new = set(compiled.rglob("*.nb?"))
    assert len(new) == len(old) == 2
    assert not new & old


def test_processes_that_compile_at_once_keep_all_their_code(small: Path) -> None:
    def call_all() -> list[str]:
        settings = [(1, ""), (1.5, ""), (1, "1")]  # code that checks indices is another code
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda case: call(small, case[0], NUMBA_BOUNDSCHECK=case[1]), settings))

    assert [call_all(), call_all()] == [["2 0", "2.5 0", "2 0"], ["2 1", "2.5 1", "2 1"]]


def test_python_runs_the_kernels_where_numba_is_switched_off(small: Path) -> None:
    code = "from small.kernel import two; print(two(1))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(small), str(PACKAGE.parent)])}
    command = [sys.executable, "-c", code]
    done = subprocess.check_output(command, env=environment | {"NUMBA_DISABLE_JIT": "1"}, text=True)
    assert done.strip() == "2"


def uses_numba(path: Path) -> bool:
    return "w2v.system.compiling" in path.read_text() and path != Path(compiling.__file__)


KERNELS = [path for path in MODULES if uses_numba(path)]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_every_source_of_a_kernel_counts(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "w2v"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    wanted, waiting = set(), [path]
    while waiting:
        source = waiting.pop()
        wanted.add(source)
        waiting += set(imported_modules(source)) - wanted
    digest = compiling.source_digest.__wrapped__
    before = digest(copy / path.relative_to(PACKAGE))
    for source in wanted:
        edited = copy / source.relative_to(PACKAGE)
        text = edited.read_text()
        edited.write_text(text + "\n")
        assert digest(copy / path.relative_to(PACKAGE)) != before, source
        edited.write_text(text)
    assert digest(copy / path.relative_to(PACKAGE)) == before
    (copy / "cli" / "train.py").write_text("")
    assert digest(copy / path.relative_to(PACKAGE)) == before


def imported_modules(path: Path) -> Iterator[Path]:
    """Yield the modules of w2v that a module imports names from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("w2v."):
            place = PACKAGE.parent.joinpath(*str(node.module).split("."))
            names = [place / f"{alias.name}.py" for alias in node.names]
            yield from [place.with_suffix(".py")] if place.with_suffix(".py").exists() else names


CHECKED = """
import sys
import numpy as np
import pytest
from w2v.evaluation.analogy_kernels import keep_best

best = np.zeros((1, 1), np.float32), np.zeros((1, 1), np.int64)
with pytest.raises(IndexError):
    keep_best(np.zeros((2, 2), np.float32), np.full((1, 3), 2), 0, False, *best)
sys.exit(pytest.main(sys.argv[1:]))
"""


def test_kernels_stay_inside_their_arrays() -> None:
    """Run the tests of all kernels but those of training, whose rows are addresses, with indices checked."""
    tests = Path(__file__).parent
    kernels = ["corpus_scan", "phrases", "formats_kernels", "evaluate"]
    files = [str(tests / f"test_{name}.py") for name in kernels]
    done = subprocess.run(
        [sys.executable, "-c", CHECKED, *files, "-q", "-p", "no:cacheprovider"],
        cwd=tests.parent,
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
