"""The model folder and the writing of files: whole or absent, any token, broken parts named."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from vector_strategies import embeddings, same_bits, some_model

import w2v
from w2v import Embeddings, FormatError, Vocab
from w2v.files.atomic import new_file, new_files, new_folder
from w2v.formats.folder import check_model_target, read_folder, write_folder
from w2v.vectors.origin import Origin
from w2v.vectors.training_report import EpochReport, TrainingReport
from w2v.vectors.vocab_files import read_vocab, write_vocab


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("folder")


@given(embeddings())
def test_a_folder_keeps_any_token_count_and_number(place: Path, model: Embeddings) -> None:
    write_folder(model, place / "model")
    read = read_folder(place / "model")
    assert list(read.words) == list(model.words)
    assert read.counts.tolist() == model.counts.tolist()
    assert same_bits(read.vectors, model.vectors)


def test_lone_surrogates_survive_too(tmp_path: Path) -> None:
    words = ["\udc80", "a\ud800b", "\\uDC80", "\U0001f600"]
    write_vocab(Vocab(words, np.arange(4)), tmp_path / "vocab.tsv")
    assert list(read_vocab(tmp_path / "vocab.tsv").words) == words


def test_context_config_and_reports_survive(tmp_path: Path) -> None:
    config = {"seed": np.int64(3), "alpha": np.float32(0.5), "corpus": {"files": [Path("a")]}, "名": "文"}
    training = TrainingReport(
        (EpochReport(1, 90, 0.02, 2.5, 400.0, 0.5, 180.0), *TrainingReport.from_lines([{}]).epochs)
    )
    base = some_model()
    model = Embeddings(base.vocab, base.vectors, base.vectors * 2, Origin.from_dict(config), training)
    model.save(tmp_path / "m")
    read = w2v.load(tmp_path / "m")
    assert read.context is not None
    assert same_bits(read.context, base.vectors * np.float32(2))
    assert read.origin.as_dict() == {"seed": 3, "alpha": 0.5, "corpus": {"files": ["a"]}, "名": "文"}
    assert read.training is not None
    assert repr(read.training) == repr(training)  # NaN is not equal to NaN
    assert (tmp_path / "m" / "training.jsonl").read_text().count("\n") == 2


def test_padded_rows_are_written_and_matrices_are_mapped(tmp_path: Path) -> None:
    padded = np.random.default_rng(0).normal(size=(20_000, 16)).astype(np.float32)
    words = [str(i) for i in range(20_000)]
    Embeddings(Vocab(words, np.zeros(20_000, np.int64)), padded[:, :10]).save(tmp_path / "m")
    read = w2v.load(tmp_path / "m")
    assert isinstance(read.vectors.base, np.memmap)
    assert not read.vectors.flags.writeable
    assert same_bits(np.ascontiguousarray(read.vectors), np.ascontiguousarray(padded[:, :10]))


def test_a_model_folder_is_replaced_and_the_older_parts_are_gone(tmp_path: Path) -> None:
    base = some_model()
    Embeddings(base.vocab, base.vectors, base.vectors).save(tmp_path / "m")
    older = w2v.load(tmp_path / "m")
    some_model(seed=1).save(tmp_path / "m")
    assert w2v.load(tmp_path / "m").context is None
    assert same_bits(w2v.load(tmp_path / "m").vectors, some_model(seed=1).vectors)
    assert same_bits(np.array(older.vectors), base.vectors)  # still mapped, still whole
    older.save(tmp_path / "m")
    assert same_bits(w2v.load(tmp_path / "m").vectors, base.vectors)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "sub"])
def test_nothing_but_a_model_folder_is_replaced(tmp_path: Path, name: str) -> None:
    some_model().save(tmp_path / "m")
    (tmp_path / "m" / name).mkdir() if name == "sub" else (tmp_path / "m" / name).write_text("mine")
    with pytest.raises(FormatError, match="holds other files"):
        some_model().save(tmp_path / "m")
    with pytest.raises(FormatError, match="holds other files"):
        check_model_target(tmp_path / "m")
    assert (tmp_path / "m" / name).exists()
    assert w2v.load(tmp_path / "m").words == some_model().words


def test_other_folders_and_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("mine")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "config.json").write_text("{}")
    for name in ("f", "d"):
        with pytest.raises(FormatError):
            some_model().save(tmp_path / name)
    assert (tmp_path / "f").read_text() == "mine"
    assert (tmp_path / "d" / "config.json").read_text() == "{}"
    (tmp_path / "empty").mkdir()
    some_model().save(tmp_path / "empty")
    some_model().save(tmp_path / "new" / "deep" / "m")


class DiskFull(OSError):
    """Stands for what a full disk raises."""


@pytest.mark.parametrize(
    "error", [DiskFull(28, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
def test_a_failure_midway_leaves_the_older_folder_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    some_model().save(tmp_path / "m")

    def fail(*_: Any) -> bytes:
        raise error

    monkeypatch.setattr("w2v.formats.folder.dump_vocab", fail)
    with pytest.raises(type(error)):
        some_model(seed=1).save(tmp_path / "m")
    with pytest.raises(type(error)):
        some_model(seed=1).save(tmp_path / "other")
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]
    assert same_bits(w2v.load(tmp_path / "m").vectors, some_model().vectors)


@pytest.mark.parametrize("failing", [1, 2])
def test_without_an_exchange_a_failure_while_renaming_brings_the_older_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    some_model().save(tmp_path / "m")
    rename, calls = Path.rename, []

    def flaky(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == failing:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr("w2v.files.atomic._exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", flaky)
    with pytest.raises(KeyboardInterrupt):
        some_model(seed=1).save(tmp_path / "m")
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]
    assert same_bits(w2v.load(tmp_path / "m").vectors, some_model().vectors)


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("older")

    def write_half(error: BaseException) -> None:
        with new_files(path, tmp_path / "g") as files:
            files[0].write(b"half of it")
            files[1].write(b"half of it")
            raise error

    for error in (DiskFull(28, "No space left on device"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            write_half(error)
    assert path.read_text() == "older"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]
    with new_files(path, tmp_path / "g") as files:
        files[0].write(b"newer")
    assert path.read_text() == "newer"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f", "g"]


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("older")
    (tmp_path / "link").symlink_to("real")
    with new_file(tmp_path / "link") as file:
        file.write(b"newer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "newer"
    with pytest.raises(IsADirectoryError), new_file(tmp_path):
        pass


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_leave_to_write_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="vectors"), new_file(tmp_path / "vectors"):
        pass
    with pytest.raises(PermissionError, match="model"), new_folder(tmp_path / "model", replaceable=bool):
        pass
    tmp_path.chmod(0o700)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _matrix(path: Path, matrix: Any, **options: Any) -> None:
    np.save(path, matrix, **options)


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no vocab": (lambda m: (m / "vocab.tsv").unlink(), r"m: .*vocab\.tsv is missing"),
    "no vectors": (lambda m: (m / "vectors.npy").unlink(), r"vectors\.npy is missing"),
    "config no JSON": (lambda m: _write(m / "config.json", "{"), "no model in this folder"),
    "config of another": (lambda m: _write(m / "config.json", "{}"), "no model in this folder"),
    "no version": (
        lambda m: _write(m / "config.json", '{"format": "w2v-model"}'),
        "expected a format_version",
    ),
    "newer version": (
        lambda m: _write(m / "config.json", '{"format": "w2v-model", "format_version": 99}'),
        r"config\.json: written in format version 99, .* install a newer w2v",
    ),
    "count missing": (
        lambda m: _write(m / "vocab.tsv", "a\t1\nb\n"),
        r"vocab\.tsv:2: expected word, tab, count",
    ),
    "two tabs": (
        lambda m: _write(m / "vocab.tsv", "a\tb\t1\n3\n"),
        r"vocab\.tsv:1: expected word, tab, count",
    ),
    "no count": (lambda m: _write(m / "vocab.tsv", "a\t1\nb\t-2\n"), r"vocab\.tsv:2: expected a count"),
    "underscore": (lambda m: _write(m / "vocab.tsv", "a\t1_0\n"), r"vocab\.tsv:1: expected a count"),
    "huge count": (lambda m: _write(m / "vocab.tsv", f"a\t{2**63}\n"), r"vocab\.tsv:1: expected a count"),
    "twice": (lambda m: _write(m / "vocab.tsv", "a\t1\nb\t1\na\t1\n"), r"vocab\.tsv:3: .* already in line 1"),
    "escape": (lambda m: _write(m / "vocab.tsv", "a\\q\t1\n"), r"vocab\.tsv:1: unknown escape"),
    "not UTF-8": (lambda m: (m / "vocab.tsv").write_bytes(b"a\t1\n\xff\t1\n"), r"vocab\.tsv:2: not UTF-8"),
    "too few words": (
        lambda m: _write(m / "vocab.tsv", "a\t1\n"),
        r"vectors\.npy: expected 1 rows, .* got 50",
    ),
    "objects": (
        lambda m: _matrix(m / "vectors.npy", np.array([[{}]] * 50, object), allow_pickle=True),
        r"vectors\.npy: .*never loaded",
    ),
    "float64": (lambda m: _matrix(m / "vectors.npy", np.zeros((50, 7))), "expected float32, got float64"),
    "integers": (lambda m: _matrix(m / "vectors.npy", np.zeros((50, 7), np.int32)), "expected a matrix of"),
    "a vector": (lambda m: _matrix(m / "vectors.npy", np.zeros(50, np.float32)), "expected a matrix of"),
    "cut short": (lambda m: os.truncate(m / "vectors.npy", 500), r"vectors\.npy: not a readable"),
    "empty": (lambda m: os.truncate(m / "vectors.npy", 0), r"vectors\.npy: not a readable"),
    "text": (lambda m: _write(m / "vectors.npy", "hello, world, hello"), r"vectors\.npy: not a readable"),
    "context": (
        lambda m: _matrix(m / "context.npy", np.zeros((50, 3), np.float32)),
        r"context\.npy: has shape \(50, 3\)",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_parts_are_named(tmp_path: Path, kind: str) -> None:
    some_model().save(tmp_path / "m")
    spoil, message = BROKEN[kind]
    spoil(tmp_path / "m")
    with pytest.raises(FormatError, match=message):
        w2v.load(tmp_path / "m")


def test_a_header_of_an_impossible_size_allocates_nothing(tmp_path: Path) -> None:
    some_model().save(tmp_path / "m")
    with (tmp_path / "m" / "vectors.npy").open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 300)}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(b"\0" * 1200)
    with pytest.raises(FormatError, match=r"vectors\.npy: not a readable"):
        w2v.load(tmp_path / "m")


def test_the_config_is_plain_json_with_its_version_first(tmp_path: Path) -> None:
    some_model().save(tmp_path / "m")
    assert list(json.loads((tmp_path / "m" / "config.json").read_text()))[:2] == ["format", "format_version"]


@pytest.mark.parametrize("kept_as", ["model", "torch"])
def test_what_cut_the_corpus_travels_with_the_model(tmp_path: Path, kept_as: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"new york": 0, "cat": 1, "?": 2}, "?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("|", "removed")
    tokenizer.save(str(tmp_path / "mine.json"))
    (tmp_path / "text.txt").write_text("new york|cat\n" * 20)
    settings: dict[str, Any] = {"vector_size": 4, "min_count": 1, "workers": 1, "sample": 0}
    mine = str(tmp_path / "mine.json")
    model = w2v.train(tmp_path / "text.txt", tokenizer=mine, cache_dir=tmp_path / "cache", **settings)
    if kept_as == "model":
        model.save(tmp_path / "m")
    else:
        model.save_as(tmp_path / "m", format="torch")
    (tmp_path / "mine.json").unlink()
    read = w2v.load(tmp_path / "m")
    assert read.origin.reading is not None
    assert read.origin.reading.files == {"tokenizer": (tmp_path / "m" / "tokenizer.json").read_bytes()}
    assert same_bits(w2v.text_vectors(read, ["new york|cat"]), w2v.text_vectors(model, [["new york", "cat"]]))
    read.save(tmp_path / "again")
    assert (tmp_path / "again" / "tokenizer.json").exists()
    read.save(tmp_path / "again")  # such a folder is known as a model and replaced


OLD = Path(__file__).parent / "data" / "written_by_0.1.0"


def test_a_model_folder_of_the_first_version_opens() -> None:
    model = w2v.load(OLD / "model")
    assert len(model) == 20
    assert model.vectors.shape == (20, 8)
    assert model.has_context_of_words
    assert model.origin.training["epochs"] == 2
    assert model.origin.is_lowercased
    assert model.training is not None
    assert [report.epoch for report in model.training.epochs] == [1, 2]


def test_a_torch_folder_of_the_first_version_opens() -> None:
    pytest.importorskip("torch")
    from w2v.pytorch import load_embedding

    embedding = load_embedding(OLD / "torch")
    model = w2v.load(OLD / "model")
    assert embedding.vocab.tokens == ["<pad>", "<unk>", *model.words]
    assert same_bits(embedding.weight.detach().numpy()[2:], np.array(model.vectors))
    assert not embedding.weight.requires_grad
    assert same_bits(w2v.load(OLD / "torch").vectors, model.vectors)
