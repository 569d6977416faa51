"""The shape of the package: which way imports point, and what stands where; read from the syntax trees."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "w2v"
# Each part may import itself and parts before it, wherever the import stands: in a function, for types only.
ORDER = [
    {"errors"},
    {"objectives"},
    {"system"},
    {"config"},
    {"files"},
    {"vectors"},
    {"corpus"},
    {"formats"},
    {"embeddings"},
    {"training", "evaluation", "pooling", "alignment"},
    {"progress", "pytorch"},
    {"api"},
    {"comparison"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
HEAVY = {"numba", "torch", "gensim", "scipy", "matplotlib", "llvmlite", "pyarrow", "tokenizers"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Yield the modules of w2v that a module imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "w2v")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they point"
            if node.module == "w2v":
                yield from (f"w2v.{alias.name}" for alias in node.names)
            elif (node.module or "").startswith("w2v."):
                yield from (module_of(str(node.module), alias.name) for alias in node.names)


def module_of(module: str, name: str) -> str:
    """Return the module that `from module import name` reads: `module.name` where that is one itself."""
    inner = PACKAGE.parent.joinpath(*module.split("."), name)
    return f"{module}.{name}" if inner.with_suffix(".py").exists() or inner.is_dir() else module


def test_every_part_has_a_place_in_the_order() -> None:
    assert {part_of(path) for path in MODULES} - {"__init__", "__main__"} == set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    if part in ("__init__", "__main__"):
        return
    for name in imports(path):
        other = name.split(".")[1]
        assert other in RANK, f"{part} imports {name} from the root"
        assert other == part or RANK[other] < RANK[part], f"{part} imports {name}"


def test_no_imports_go_in_a_circle() -> None:
    graph = {name_of(path): set(imports(path)) & NAMES for path in MODULES}
    done: set[str] = set()
    while ready := {name for name, wanted in graph.items() if name not in done and wanted <= done}:
        done |= ready
    assert set(graph) - done == set()


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in MODULES} - {"w2v", "w2v.__main__"}


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
