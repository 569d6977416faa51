"""What must work, and what must be said, where w2v is installed without any extra.

`scripts/test` runs this file a second time, in an environment that has no extra. There W2V_BARE is set.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import w2v
from w2v.cli import cli

IS_BARE = bool(os.environ.get("W2V_BARE"))
FORMATS = ["folder", "v.txt", "v.bin", "v.npy", "v.safetensors", "v.txt.gz", "v.bin.xz"]
QUERIES = {
    "info": [],
    "neighbors": ["rice"],
    "similarity": ["rice", "bread"],
    "analogy": ["we", "rice", "they"],
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("we eat warm rice\nthey eat fresh bread\n" * 200)
    return path


@pytest.fixture(scope="module")
def model(text: Path) -> Path:
    folder = text.parent / "model"
    result = run("train", text, "-o", folder, "--vector-size", 8, "--epochs", 2, "--sample", 0, "--no-cache")
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.mark.parametrize("command", QUERIES)
def test_a_model_answers(model: Path, command: str) -> None:
    result = run(command, model, *QUERIES[command])
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_vectors_are_written_and_read(model: Path, tmp_path: Path, name: str) -> None:
    result = run("convert", model, tmp_path / name)
    assert result.exit_code == 0, result.stderr
    read = w2v.load(tmp_path / name)
    assert read.words == w2v.load(model).words
    np.testing.assert_allclose(read.vectors, w2v.load(model).vectors, rtol=1e-6)


def test_texts_are_read_and_described(text: Path, tmp_path: Path) -> None:
    lines = "".join(f'{{"text": "{line}"}}\n' for line in text.read_text().splitlines())
    (tmp_path / "text.jsonl").write_text(lines)
    for arguments in (
        ["vocab", tmp_path / "text.jsonl", "-o", tmp_path / "words.tsv"],
        ["corpus", "stats", text],
        ["phrases", text, "-o", tmp_path / "phrases.txt"],
    ):
        result = run(*arguments)
        assert result.exit_code == 0, result.stderr


def test_gensim_and_text_vectors(model: Path) -> None:
    read = w2v.load(model)
    assert read.to_gensim().most_similar("rice")
    assert w2v.text_vectors(read, ["we eat", "fresh bread"]).shape == (2, 8)


MISSING = [
    ("torch", ["export", "model", "--to", "torch-pt", "-o", "out"]),
    ("rjieba", ["vocab", "text.txt", "--tokenizer", "jieba"]),
    ("opencc", ["vocab", "text.txt", "--t2s"]),
    ("tokenizers", ["vocab", "text.txt", "--tokenizer", "tokenizer.json"]),
    ("pyarrow", ["vocab", "text.parquet"]),
    ("requests", ["vocab", "http://localhost:9/text.txt"]),
    ("matplotlib", ["corpus", "stats", "text.txt", "--plot", "zipf.png"]),
    ("backports.zstd", ["vocab", "text.txt.zst"]),
]


def is_installed(package: str) -> bool:
    if package == "backports.zstd" and sys.version_info >= (3, 14):  # Python has a module of its own
        return True
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of the package above
        return False


@pytest.mark.parametrize(("package", "arguments"), MISSING, ids=lambda value: str(value)[:9])
def test_a_missing_package_is_named(
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    arguments: list[str],
) -> None:
    if is_installed(package):
        assert not IS_BARE or sys.version_info >= (3, 14), f"{package} came without an extra"
        pytest.skip(f"{package} is installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_bytes(text.read_bytes())
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "text.parquet").write_bytes(b"PAR1" * 4)
    (tmp_path / "text.txt.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(8))
    result = run(*arguments)
    assert result.exit_code == 1
    assert f"Error: {package} is not installed; install it with: pip install {package}\n" in result.stderr


def test_the_library_names_torch() -> None:
    if is_installed("torch"):
        pytest.skip("torch is installed")
    with pytest.raises(w2v.MissingExtraError, match="torch"):
        _ = w2v.pytorch
