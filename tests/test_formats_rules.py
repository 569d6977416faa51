"""One rule for all formats: what stands at the edges of a file is taken, or refused, alike everywhere."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fuzzing import write_fasttext, write_int8
from numpy.typing import NDArray
from vector_strategies import same_bits, some_model

import w2v
from w2v import Embeddings
from w2v.errors import FormatError

MODEL = some_model(4, 3)
BOM = b"\xef\xbb\xbf"
Change = Callable[[bytes], bytes]
FILES = {
    "folder": "v", "word2vec": "v.txt", "word2vec-bin": "v.bin", "glove": "v.glove", "npy": "v.npy",
    "safetensors": "v.safetensors", "projector": "v.projector", "huggingface": "v.hf", "torch": "v.torch",
    "fasttext-bin": "v.bin",
}  # fmt: skip


def write(name: str, folder: Path) -> Path:
    """Write a small model in a format; return what `w2v.load` takes."""
    if name == "fasttext-bin":
        write_fasttext(folder, is_old=False)
    else:
        w2v.save_as(MODEL, folder / FILES[name], format=name)
    return folder / FILES[name]


def change(folder: Path, name: str, changed: Change) -> None:
    path = folder / name
    path.write_bytes(changed(path.read_bytes()))


def insert(text: bytes, before: bytes = b"") -> Change:
    """Return what puts bytes before others, or at the beginning."""

    def changed(data: bytes) -> bytes:
        at = data.index(before)
        return data[:at] + text + data[at:]

    return changed


def exchange(old: bytes, new: bytes) -> Change:
    def changed(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new, 1)

    return changed


def append(text: bytes) -> Change:
    return lambda data: data + text


WORD = MODEL.words[1].encode()
WITH_TEXT = {
    "folder": ("v/vocab.tsv", "v/config.json"),
    "word2vec": ("v.txt",),
    "word2vec-bin": ("v.bin",),
    "glove": ("v.glove",),
    "npy": ("v.vocab.tsv",),
    "projector": ("v.projector/vectors.tsv", "v.projector/metadata.tsv"),
    "huggingface": ("v.hf/tokenizer.json", "v.hf/vocab.tsv", "v.hf/config.json"),
    "torch": ("v.torch/vocab.json", "v.torch/config.json"),
}


@pytest.mark.parametrize(
    ("name", "file"), [(name, file) for name, files in WITH_TEXT.items() for file in files]
)
def test_a_byte_order_mark_at_the_beginning_is_passed_over(tmp_path: Path, name: str, file: str) -> None:
    path = write(name, tmp_path)
    change(tmp_path, file, insert(BOM))
    read = w2v.load(path)
    assert list(read.words) == list(MODEL.words)
    assert same_bits(np.array(read.vectors), MODEL.vectors)


def test_a_word_may_begin_with_a_byte_order_mark_in_every_format(tmp_path: Path) -> None:
    model = Embeddings(w2v.Vocab(["\ufeffa", "b"], np.array([2, 1])), MODEL.vectors[:2])
    for name in [name for name in FILES if name != "fasttext-bin"]:
        w2v.save_as(model, tmp_path / FILES[name], format=name)
        assert list(w2v.load(tmp_path / FILES[name]).words) == list(model.words), name


# Bytes put before, or in place of, the second word, and whether `--skip-bad` leaves just that row out.
BAD_WORDS: dict[str, tuple[str, bool]] = {
    "folder": ("v/vocab.tsv", False),
    "word2vec": ("v.txt", True),
    "word2vec-bin": ("v.bin", True),
    "glove": ("v.glove", True),
    "npy": ("v.vocab.tsv", False),
    "projector": ("v.projector/metadata.tsv", False),
    "huggingface": ("v.hf/vocab.tsv", False),
    "fasttext-bin": ("v.bin", True),
}


@pytest.mark.parametrize("name", [*BAD_WORDS, "torch", "safetensors"])
def test_a_word_that_is_not_utf8(tmp_path: Path, name: str) -> None:
    path = write(name, tmp_path)
    file, can_skip = BAD_WORDS.get(name, (f"{FILES[name]}{'/vocab.json' if name == 'torch' else ''}", False))
    word = "中文".encode() if name == "fasttext-bin" else WORD
    if name == "safetensors":  # ASCII: JSON in JSON
        word = b"\\\\u4e2d"
    change(tmp_path, file, exchange(word, b"\xff" + word[1:]))
    with pytest.raises(FormatError, match=r"not UTF-8|utf-8"):
        w2v.load(path)
    if can_skip:
        assert len(w2v.load(path, skip_bad=True)) == (2 if name == "fasttext-bin" else 3)
    else:
        with pytest.raises(FormatError):
            w2v.load(path, skip_bad=True)


@pytest.mark.parametrize("name", [name for name in BAD_WORDS if name != "fasttext-bin"])
def test_a_carriage_return_within_a_row(tmp_path: Path, name: str) -> None:
    path = write(name, tmp_path)
    file, can_skip = BAD_WORDS[name]
    change(tmp_path, file, exchange(WORD, WORD[:-1] + b"\r" + WORD[-1:]))
    with pytest.raises(FormatError, match=r"a (carriage return|line break) stands within the"):
        w2v.load(path)
    if can_skip:
        assert len(w2v.load(path, skip_bad=True)) == 3


@pytest.mark.parametrize("name", ["word2vec", "glove", "npy", "folder", "projector"])
def test_a_carriage_return_before_a_newline_is_part_of_it(tmp_path: Path, name: str) -> None:
    path = write(name, tmp_path)
    change(tmp_path, BAD_WORDS[name][0], lambda data: data.replace(b"\n", b"\r\n"))
    assert list(w2v.load(path).words) == list(MODEL.words)


# What makes vectors of no dimensions of those of a format.
NO_DIMENSIONS: dict[str, tuple[str, Change]] = {
    "folder": ("v/vectors.npy", lambda _: npy(np.empty((4, 0), np.float32))),
    "npy": ("v.npy", lambda _: npy(np.empty((4, 0), np.float32))),
    "word2vec": ("v.txt", lambda _: b"1 0\na\n"),
    "word2vec-bin": ("v.bin", lambda _: b"1 0\na "),
    "safetensors": ("v.safetensors", lambda data: no_dimensions(data, "vectors")),
    "huggingface": ("v.hf/model.safetensors", lambda data: no_dimensions(data, "embeddings")),
    "torch": ("v.torch/embedding.safetensors", lambda data: no_dimensions(data, "weight")),
    "fasttext-bin": ("v.bin", lambda data: data[:8] + b"\0\0\0\0" + data[12:]),
}


def npy(matrix: NDArray[np.float32]) -> bytes:
    header = {"descr": "<f4", "fortran_order": False, "shape": matrix.shape}
    text = f"{header}".encode()
    text += b" " * (53 - len(text) % 64 % 53) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + matrix.tobytes()


def no_dimensions(data: bytes, tensor: str) -> bytes:
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header[tensor] = {"dtype": "F32", "shape": [header[tensor]["shape"][0], 0], "data_offsets": [0, 0]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize("name", NO_DIMENSIONS)
def test_vectors_have_at_least_one_dimension(tmp_path: Path, name: str) -> None:
    path = write(name, tmp_path)
    change(tmp_path, *NO_DIMENSIONS[name])
    with pytest.raises(FormatError, match=r"dimensions, got 0|0 dimensions"):
        w2v.load(path)


ENDS = {
    "folder": ("v/vectors.npy", b"\0"),
    "npy": ("v.npy", b"\0"),
    "word2vec": ("v.txt", b"more 1 2 3\n"),
    "word2vec-bin": ("v.bin", b"x"),
    "safetensors": ("v.safetensors", b"\0"),
    "huggingface": ("v.hf/model.safetensors", b"\0"),
    "torch": ("v.torch/embedding.safetensors", b"\0"),
    "fasttext-bin": ("v.bin", b"\0"),
}


@pytest.mark.parametrize("name", ENDS)
def test_nothing_follows_the_last_number(tmp_path: Path, name: str) -> None:
    path = write(name, tmp_path)
    file, text = ENDS[name]
    change(tmp_path, file, append(text))
    with pytest.raises(FormatError, match=r"follow|expected the end|more"):
        w2v.load(path)


@pytest.mark.parametrize("name", ENDS)
def test_a_file_that_is_cut_by_a_byte(tmp_path: Path, name: str) -> None:
    if name == "word2vec":
        pytest.skip("the last digit of a text may be cut off; what is left is a number")
    path = write(name, tmp_path)
    change(tmp_path, ENDS[name][0], lambda data: data[:-1])
    with pytest.raises(FormatError):
        w2v.load(path)


@pytest.mark.parametrize("name", ["folder", "torch"])
@pytest.mark.parametrize("version", [True, "1", None, 0, 1.5, [1]])
def test_the_version_is_a_whole_number(tmp_path: Path, name: str, version: object) -> None:
    path = write(name, tmp_path)
    config = json.loads((path / "config.json").read_bytes())
    (path / "config.json").write_text(json.dumps({**config, "format_version": version}))
    with pytest.raises(FormatError, match="expected a format_version of 1 or more"):
        w2v.load(path)


PARTS = {
    "folder": ("vectors.npy", "vocab.tsv", "context.npy", "training.jsonl"),
    "torch": ("embedding.safetensors", "vocab.json", "counts.npy"),
    "huggingface": ("model.safetensors", "tokenizer.json"),
    "projector": ("vectors.tsv", "metadata.tsv"),
}


@pytest.mark.parametrize(("name", "part"), [(name, part) for name, parts in PARTS.items() for part in parts])
def test_a_folder_where_a_file_is_expected(tmp_path: Path, name: str, part: str) -> None:
    path = write(name, tmp_path)
    (path / part).unlink(missing_ok=True)
    (path / part).mkdir()
    with pytest.raises(FormatError, match=r"a folder, not a file|no model in this folder"):
        w2v.load(path)


def test_a_folder_with_the_name_of_a_file_of_vectors(tmp_path: Path) -> None:
    for name in ("v.npy", "v.txt", "v.safetensors"):
        (tmp_path / name).mkdir()
        with pytest.raises(FormatError, match="no model in this folder"):
            w2v.load(tmp_path / name)
        with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
            w2v.save_as(MODEL, tmp_path / name)


NAN = struct.pack("<f", float("nan"))
LAST_NUMBER = {
    "folder": "v/vectors.npy",
    "npy": "v.npy",
    "word2vec-bin": "v.bin",
    "safetensors": "v.safetensors",
    "torch": "v.torch/embedding.safetensors",
    "word2vec": "v.txt",
    "glove": "v.glove",
    "projector": "v.projector/vectors.tsv",
}


@pytest.mark.parametrize("name", LAST_NUMBER)
def test_a_number_that_is_not_finite_is_named_or_its_row_left_out(tmp_path: Path, name: str) -> None:
    path = write(name, tmp_path)
    is_text = name in ("word2vec", "glove", "projector")
    last = str(MODEL.vectors[-1, -1]).encode()
    change(tmp_path, LAST_NUMBER[name], exchange(last, b"nan") if is_text else lambda data: data[:-4] + NAN)
    with pytest.raises(FormatError, match=r"NaN or infinity|is nan"):
        w2v.load(path)
    assert list(w2v.load(path, skip_bad=True).words) == list(MODEL.words[:-1])


@pytest.mark.parametrize("name", [name for name in FILES if name != "fasttext-bin"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_not_written(tmp_path: Path, name: str, bad: float) -> None:
    vectors = MODEL.vectors.copy()
    vectors[2, 1] = bad
    model = Embeddings(MODEL.vocab, vectors)
    with pytest.raises(FormatError, match=f"the vector of {model.words[2]!r} holds NaN or infinity"):
        w2v.save_as(model, tmp_path / FILES[name], format=name)
    assert not list(tmp_path.iterdir())


def test_context_vectors_are_checked_too(tmp_path: Path) -> None:
    context = MODEL.vectors.copy()
    Embeddings(MODEL.vocab, MODEL.vectors, context).save(tmp_path / "m")
    change(tmp_path, "m/context.npy", lambda data: data[:-4] + NAN)
    with pytest.raises(FormatError, match=r"row 4: .* holds NaN or infinity"):
        w2v.load(tmp_path / "m")
    assert len(w2v.load(tmp_path / "m", skip_bad=True)) == 3
    assert len(w2v.load(tmp_path / "m", top=3)) == 3
    context[1, 1] = np.inf
    with pytest.raises(FormatError, match="holds NaN or infinity; it is not written"):
        Embeddings(MODEL.vocab, MODEL.vectors, context).save(tmp_path / "n")


def test_int8_is_read_with_its_scale(tmp_path: Path) -> None:
    write_int8(tmp_path)
    expected = np.arange(8, dtype=np.float32).reshape(2, 4) * np.array([[0.5], [2]], np.float32)
    assert same_bits(w2v.load(tmp_path / "v.safetensors").vectors, expected)
    change(tmp_path, "v.safetensors", exchange(b'"scale"', b'"other"'))
    assert same_bits(
        w2v.load(tmp_path / "v.safetensors").vectors, np.arange(8, dtype=np.float32).reshape(2, 4)
    )


def test_a_nul_in_a_path_is_an_error() -> None:
    with pytest.raises(FormatError, match="NUL"):
        w2v.save_as(MODEL, "a\0b.txt")
