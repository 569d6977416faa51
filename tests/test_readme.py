"""The README does what it says: its session when pasted, and its Python."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from test_pages import FOLDER, blocks

from w2v.cli import cli

torch = pytest.importorskip("torch")

README = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, demo_text: Path) -> tuple[Path, list[str]]:
    """Run the commands of the session in a folder with the demo corpus; return the folder and the outputs."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "data").mkdir()
    shutil.copy(demo_text, folder / "data" / "demo.txt")
    outputs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (text,) = (block for block in blocks(README) if "source .venv" in block)
        for line in re.findall(r"^\$ w2v (.*)", text, re.MULTILINE):
            result = CliRunner().invoke(cli, shlex.split(line))
            assert result.exit_code == 0, (line, result.output)
            outputs.append(result.output)
    return folder, outputs


def test_the_session_finds_sensible_neighbours(session: tuple[Path, list[str]]) -> None:
    _, (_, neighbors, analogy) = session
    assert {"poetry", "dance", "songs", "folk", "musical", "jazz"} & set(neighbors.split())
    assert {"greek", "philosopher", "philosophers", "metaphysics", "theology"} & set(neighbors.split())
    assert analogy.splitlines()[1].split()[0] == "spanish"
    assert len(analogy.splitlines()) > 3


def test_the_session_in_python(session: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(session[0])
    (text,) = (block for block in blocks(README) if "source .venv" in block)
    test = doctest.DocTestParser().get_doctest(text[text.index(">>>") :], {}, "README.md", "README.md", 0)
    # The neighbours are for the reader to look at; the rest is compared with what stands there.
    shown = []
    for example in test.examples:
        if "neighbors" in example.source:
            shown.append(example)
            example.options[doctest.SKIP] = True
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0
    n_skipped = 0 if sys.version_info >= (3, 13) else len(shown)  # from there on they count as attempted
    assert result.attempted + n_skipped == len(test.examples)


def test_three_lines_of_pytorch(session: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(session[0])
    (block,) = (block for block in blocks(README, "python") if "import torch" in block)
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    assert len([line for line in block.splitlines() if line and not line.startswith("import")]) == 3
    embedding = names["embedding"]
    assert isinstance(embedding, torch.nn.Embedding)
    assert not embedding.weight.requires_grad
    assert names["scores"].shape == (1, 2)


def test_the_python_of_the_readme(
    session: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(session[0] / "data" / "demo.txt", tmp_path / "corpus.txt")
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in blocks(README, "python") if "w2v.train" in block)
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    model = names["model"]
    assert (tmp_path / "my_model" / "vectors.npy").exists()
    assert model.vectors.shape == (len(model.words), 200)
    np.testing.assert_array_equal(model["king"], model.vectors[list(model.words).index("king")])
