"""Every format of vectors: round trips, what is found by content, what is refused and how it is named."""

from __future__ import annotations

import contextlib
import gzip
import logging
import pickle
import shutil
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from vector_strategies import AWKWARD, any_word, embeddings, plain_word, same_bits, some_model

import w2v
from w2v import ConfigError, Embeddings, FormatError, Vocab
from w2v.formats.registry import FORMATS, READABLE, WRITABLE
from w2v.vectors.origin import Origin

CARRY_ANY_WORD = ("folder", "npy", "safetensors", "projector", "huggingface", "torch")
CARRY_COUNTS = CARRY_ANY_WORD
TEXTUAL = ("word2vec", "word2vec-bin", "glove")
SUFFIX = {name: FORMATS[name].suffixes[0] for name in WRITABLE}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@pytest.fixture
def model() -> Embeddings:
    return some_model()


def lines_of(model: Embeddings) -> list[str]:
    return [
        " ".join([word, *(repr(float(number)) for number in row)])
        for word, row in zip(model.words, model.vectors, strict=True)
    ]


# -- round trips ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CARRY_ANY_WORD)
@given(model=embeddings(any_word))
@example(model=Embeddings(Vocab(["a", "b"], np.array([2**63 - 1, 10**18])), np.ones((2, 1), np.float32)))
@settings(max_examples=60)
def test_any_word_and_count_survives(place: Path, name: str, model: Embeddings) -> None:
    path = place / f"any{SUFFIX[name]}"
    w2v.save_as(model, path, format=name)
    if name == "projector" and not len(model):
        return  # an empty table has no columns
    read = w2v.load(path)
    assert list(read.words) == list(model.words)
    assert read.counts.tolist() == model.counts.tolist()
    assert same_bits(np.ascontiguousarray(read.vectors), model.vectors)


@pytest.mark.parametrize("name", TEXTUAL)
@given(model=embeddings(plain_word))
def test_words_without_white_space_survive(place: Path, name: str, model: Embeddings) -> None:
    path = place / f"plain{SUFFIX[name]}"
    w2v.save_as(model, path, format=name)
    if name == "glove" and not len(model):
        return  # an empty file
    read = w2v.load(path, format=name)
    assert list(read.words) == list(model.words)
    assert same_bits(np.ascontiguousarray(read.vectors), model.vectors)


@pytest.mark.parametrize("name", TEXTUAL)
@given(model=embeddings(any_word))
def test_escaped_words_survive(place: Path, name: str, model: Embeddings) -> None:
    path = place / f"escaped{SUFFIX[name]}"
    w2v.save_as(model, path, format=name, escape=True)
    if name == "glove" and not len(model):
        return
    read = w2v.load(path, format=name, unescape=True)
    assert list(read.words) == list(model.words)
    assert same_bits(np.ascontiguousarray(read.vectors), model.vectors)


@pytest.mark.parametrize("name", WRITABLE)
def test_content_tells_the_format_whatever_the_name(tmp_path: Path, name: str, model: Embeddings) -> None:
    path = tmp_path / "vectors"
    w2v.save_as(model, path, format=name)
    if name == "npy":
        assert (tmp_path / "vectors.vocab.tsv").exists()
    read = w2v.load(path)
    assert name == "folder" or read.origin.source["format"] == name
    assert read.words == model.words
    assert same_bits(np.ascontiguousarray(read.vectors), model.vectors)
    assert (read.counts == model.counts).all() == (name in CARRY_COUNTS)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("name", TEXTUAL)
def test_packed_files_are_written_by_suffix_and_read_by_content(
    tmp_path: Path, name: str, suffix: str, model: Embeddings
) -> None:
    if suffix == ".zst":
        pytest.importorskip("backports.zstd")
    path = tmp_path / f"v{SUFFIX[name]}{suffix}"
    w2v.save_as(model, path)
    assert path.read_bytes()[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7", b"\x28\xb5")
    path.rename(tmp_path / "v.txt.packed")
    assert same_bits(w2v.load(tmp_path / "v.txt.packed").vectors, model.vectors)
    data = (tmp_path / "v.txt.packed").read_bytes()
    (tmp_path / "cut").write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError, match=r"cut: broken or cut short"):
        w2v.load(tmp_path / "cut")


@pytest.mark.parametrize("name", ["npy", "safetensors", "huggingface", "torch"])
def test_float16_goes_out_and_comes_in_as_float32(tmp_path: Path, name: str, model: Embeddings) -> None:
    path = tmp_path / f"v{SUFFIX[name]}"
    w2v.save_as(model, path, dtype="float16")
    read = w2v.load(path)
    assert same_bits(np.ascontiguousarray(read.vectors), model.vectors.astype(np.float16).astype(np.float32))
    huge = Embeddings(model.vocab, model.vectors * np.float32(1e6))
    with pytest.raises(FormatError, match="too large for float16"):
        w2v.save_as(huge, tmp_path / f"huge{SUFFIX[name]}", dtype="float16")
    assert not (tmp_path / f"huge{SUFFIX[name]}").exists()


@pytest.mark.parametrize("name", ["folder", "word2vec", "word2vec-bin", "glove", "projector"])
def test_formats_without_float16_say_so(tmp_path: Path, name: str, model: Embeddings) -> None:
    with pytest.raises(ConfigError, match=f"{name} has no float16"):
        w2v.save_as(model, tmp_path / "v", format=name, dtype="float16")
    assert not list(tmp_path.iterdir())


def test_float64_is_cast_and_column_order_does_not_matter(tmp_path: Path, model: Embeddings) -> None:
    for matrix in (
        model.vectors.astype(np.float64),
        np.asfortranarray(model.vectors),
        model.vectors.astype(">f4"),
    ):
        np.save(tmp_path / "v.npy", matrix)
        (tmp_path / "v.words.txt").write_text("\n".join(model.words), encoding="utf-8")
        read = w2v.load(tmp_path / "v.npy")
        assert same_bits(read.vectors, model.vectors)
        assert read.vectors.flags.c_contiguous
        assert read.words == model.words


# -- pruning ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITABLE)
def test_top_and_words_prune(
    tmp_path: Path, name: str, model: Embeddings, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / f"v{SUFFIX[name]}"
    w2v.save_as(model, path, format=name)
    top = w2v.load(path, top=7)
    assert list(top.words) == list(model.words[:7])
    assert same_bits(np.ascontiguousarray(top.vectors), model.vectors[:7])
    wanted = [model.words[9], model.words[3], "nowhere"]
    few = w2v.load(path, words=wanted)
    assert list(few.words) == [model.words[3], model.words[9]]
    assert same_bits(np.ascontiguousarray(few.vectors), model.vectors[[3, 9]])
    assert "lacks 1 of the 3 words: 'nowhere'" in caplog.text
    assert list(w2v.load(path, words=wanted, top=1).words) == [model.words[3]]
    assert len(w2v.load(path, top=1000)) == len(model)
    with pytest.raises(FormatError, match="none of the 1 words"):
        w2v.load(path, words=["nowhere"])
    with pytest.raises(ConfigError, match="top"):
        w2v.load(path, top=0)


# -- what formats cannot carry ----------------------------------------------------------------------------

CANNOT = [word for word in AWKWARD if not word or set(word) & set(" \t\n\r\v\f")]


@pytest.mark.parametrize("name", TEXTUAL)
@pytest.mark.parametrize("word", [*CANNOT, "\udc80"])
def test_words_that_cannot_be_carried_are_refused_by_name(tmp_path: Path, name: str, word: str) -> None:
    model = Embeddings(Vocab(["fine", word], np.zeros(2, np.int64)), np.ones((2, 3), np.float32))
    (tmp_path / "v").write_text("older")
    with pytest.raises(FormatError) as caught:
        w2v.save_as(model, tmp_path / "v", format=name)
    assert (ascii(word) if word == "\udc80" else repr(word)) in str(caught.value)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["older"]


@pytest.mark.parametrize("name", [*TEXTUAL, "projector"])
def test_numbers_that_are_not_finite_are_refused_by_name(
    tmp_path: Path, name: str, model: Embeddings
) -> None:
    vectors = model.vectors.copy()
    vectors[4, 2] = np.nan
    with pytest.raises(FormatError, match=f"the vector of '{model.words[4]}' holds NaN"):
        w2v.save_as(Embeddings(model.vocab, vectors), tmp_path / "v", format=name)
    assert not list(tmp_path.iterdir())


def test_lone_surrogates_are_refused_by_tokenizer_json(tmp_path: Path) -> None:
    model = Embeddings(Vocab(["\udc80"], np.zeros(1, np.int64)), np.ones((1, 3), np.float32))
    with pytest.raises(FormatError, match="udc80"):
        w2v.save_as(model, tmp_path / "v", format="huggingface")
    for name in ("folder", "npy", "safetensors", "projector"):
        w2v.save_as(model, tmp_path / f"v{SUFFIX[name]}", format=name)
        assert list(w2v.load(tmp_path / f"v{SUFFIX[name]}").words) == ["\udc80"]


# -- broken files -----------------------------------------------------------------------------------------


def _binary(rows: list[tuple[bytes, list[float]]], header: bytes, end: bytes = b"") -> bytes:
    return header + b"".join(word + b" " + struct.pack(f"<{len(row)}f", *row) + end for word, row in rows)


ROWS: list[tuple[bytes, list[float]]] = [
    (b"a", [0.1, -0.2, 3e-5]),
    (b"b", [1.0, 2.0, 3.0]),
    ("中".encode(), [4, 5, 6]),
]
TEXT = b"3 3\na 0.1 -0.2 3e-5\nb 1 2 3\n\xe4\xb8\xad 4 5 6\n"

BROKEN: dict[str, tuple[bytes, str]] = {
    "short row": (b"2 3\na 1 2 3\nb 1 2\n", r"v:3: expected 3 numbers, got 2"),
    "long row": (b"2 3\na 1 2 3\nb 1 2 3 4\n", r"v:3: expected 3 numbers, got 4"),
    "no number": (b"2 3\na 1 2 3\nb 1 x 3\n", r"v:3: expected a number in column 2, got 'x'"),
    "hexadecimal": (b"2 3\na 1 2 3\nb 1 0x1 3\n", r"v:3: expected a number in column 2, got '0x1'"),
    "nan": (b"2 3\na 1 2 3\nb 1 nan 3\n", r"v:3: number 2 is nan"),
    "infinity": (b"2 3\na 1 2 3\nb 1 2 -Inf\n", r"v:3: number 3 is -Inf"),
    "too large": (b"2 3\na 1 2 3\nb 1 2 1e39\n", r"v:3: number 3 is 1e39, too large"),
    "duplicate": (b"3 3\na 1 2 3\nb 1 2 3\na 1 2 3\n", r"v:4: the word 'a' stands already in row 1"),
    "not UTF-8": (b"2 3\na 1 2 3\n\xff\xfe 1 2 3\n", r"v:3: the word is not UTF-8"),
    "too few rows": (b"3 3\na 1 2 3\nb 1 2 3\n", r"v: the header promises 3 rows, the file has 2"),
    "too many rows": (b"1 3\na 1 2 3\nb 1 2 3\n", r"v:3: expected the end after 1 rows"),
    "row too long": (b"1 3\nNew 4 1 2 3\n", r"v:2: expected 3 numbers, got 4"),
    "no dimensions": (b"1 0\na\n", "dimensions, got 0"),
    "GloVe short row": (b"a 1.5 2 3\nb 1 2\n", r"v:2: expected 3 numbers, got 2"),
    "GloVe long row": (b"a 1.5 2 3\nb 1 2 3 4\n", r"v:2: expected 3 numbers, got 4"),
    "GloVe no number": (b"a 1.5 2 3\nb 1 x 3\n", r"v:2: expected a number in column 2, got 'x'"),
    "GloVe duplicate": (b"a 1.5 2\nb 1 2\na 1 2\n", r"v:3: the word 'a' stands already in row 1"),
    "binary NaN": (
        _binary([*ROWS[:1], (b"b", [1, float("nan"), 2])], b"2 3\n"),
        r"v: row 2 \(byte 18\): .*NaN",
    ),
    "binary duplicate": (
        _binary([*ROWS[:2], ROWS[0]], b"3 3\n"),
        r"v: row 3 \(byte 32\): the word 'a' stands",
    ),
    "binary not UTF-8": (
        _binary([*ROWS[:1], (b"\xff", [1, 2, 3])], b"2 3\n"),
        r"v: row 2 \(byte 18\): .*UTF-8",
    ),
    "binary cut": (_binary(ROWS, b"3 3\n")[:-2], r"v: row 3 \(byte 32\): .*got 14 bytes"),
    "binary rest": (_binary(ROWS, b"2 3\n") * 1, r"v: row 3 .*: expected the end after 2 rows"),
    "binary few rows": (_binary(ROWS, b"4 3\n") + b"\n" * 20, "the header promises 4 rows, the file has 3"),
    "binary many rows": (_binary([*ROWS, (b"d" * 99, [1, 2, 3])], b"3 3\n"), "expected the end after 3 rows"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files_are_named_with_place_expected_and_found(tmp_path: Path, kind: str) -> None:
    content, message = BROKEN[kind]
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        w2v.load(tmp_path / "v")
    (tmp_path / "v").write_bytes(gzip.compress(content))
    with pytest.raises(FormatError, match=message):
        w2v.load(tmp_path / "v")


def test_bad_rows_are_left_out_and_counted_on_demand(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        b"a 1 2 3",
        b"b 1 2",
        b"c 1 nan 3",
        b"a 4 5 6",
        b"\xff 1 2 3",
        b"d 7 8 9",
        b"e x y z",
        b"f 1 2 3 4",
    ]
    (tmp_path / "v").write_bytes(b"8 3\n" + b"\n".join(rows))
    read = w2v.load(tmp_path / "v", skip_bad=True)
    assert list(read.words) == ["a", "d"]
    assert read.vectors.tolist() == [[1, 2, 3], [7, 8, 9]]
    assert read.origin.source["skipped_rows"] == {
        "wrong number of fields": 2,
        "not finite": 1,
        "duplicate word": 1,
        "not UTF-8": 1,
        "not a number": 1,
    }
    assert "left out 6 bad rows (2 wrong number of fields, " in caplog.text


def test_bad_rows_of_binary_and_matrices_are_left_out_too(tmp_path: Path) -> None:
    rows: list[tuple[bytes, list[float]]] = [*ROWS, (b"n", [1, float("inf"), 2]), (b"b", [7, 8, 9])]
    (tmp_path / "v").write_bytes(_binary(rows, b"6 3\n") + b"cut 12")
    binary = w2v.load(tmp_path / "v", skip_bad=True)
    assert list(binary.words) == ["a", "b", "中"]
    np.save(tmp_path / "v.npy", np.array([row for _, row in rows], np.float32))
    (tmp_path / "v.words.txt").write_text("a\nb\n中\nn\nb\n", encoding="utf-8")
    matrix = w2v.load(tmp_path / "v.npy", skip_bad=True)
    assert matrix.words == binary.words
    assert same_bits(matrix.vectors, binary.vectors)
    with pytest.raises(FormatError, match="row 4: the vector of 'n' holds NaN or infinity"):
        w2v.load(tmp_path / "v.npy")


@pytest.mark.parametrize(
    "content", [b"1000000000000 300\n" + b"a" * 99, b"1000000000000 300\na " + b"\1" * 1200]
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_header_that_promises_the_moon_allocates_nothing(
    tmp_path: Path, content: bytes, pack: Callable[[bytes], bytes]
) -> None:
    w2v.save_as(some_model(), tmp_path / "warm.bin")
    w2v.load(tmp_path / "warm.bin")
    (tmp_path / "v").write_bytes(pack(content))
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"promises 1,?000,?000,?000,?000 rows|expected 300|is it cut"):
            w2v.load(tmp_path / "v")
        assert tracemalloc.get_traced_memory()[1] < 100e6  # one block of rows, one window of bytes
    finally:
        tracemalloc.stop()


def test_a_row_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("w2v.formats.source.LONGEST_ROW", 1 << 20)
    monkeypatch.setattr("w2v.formats.source.WINDOW_BYTES", 1 << 16)
    for header in (b"3 3\na 1 2 3\n", b"3 3\na " + b"\1" * 12):
        (tmp_path / "v").write_bytes(gzip.compress(header + b"x" * (3 << 20)))
        with pytest.raises(FormatError, match="these are not vectors"):
            w2v.load(tmp_path / "v")


def test_rows_cross_the_borders_of_windows_and_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = some_model(1000, 11)
    for name in TEXTUAL:
        w2v.save_as(model, tmp_path / f"v{SUFFIX[name]}.gz")
    monkeypatch.setattr("w2v.formats.source.HEAD_BYTES", 1000)
    monkeypatch.setattr("w2v.formats.source.WINDOW_BYTES", 500)
    monkeypatch.setattr("w2v.formats.rows._BLOCK_BYTES", 44 * 37)
    for name in TEXTUAL:
        read = w2v.load(tmp_path / f"v{SUFFIX[name]}.gz", format=name)
        assert read.words == model.words
        assert same_bits(read.vectors, model.vectors)


# -- variants that other tools write ----------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_binary_with_and_without_newline_after_a_row(tmp_path: Path, end: bytes) -> None:
    (tmp_path / "v").write_bytes(_binary(ROWS, b"3 3\n", end))
    read = w2v.load(tmp_path / "v")
    assert list(read.words) == ["a", "b", "中"]
    assert same_bits(read.vectors, np.array([row for _, row in ROWS], np.float32))


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.rstrip(b"\n"),
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.replace(b"\n", b" \n"),
        TEXT.replace(b" ", b"\t"),
        TEXT + b"\n\n",
        b"\xef\xbb\xbf" + TEXT,
        TEXT.split(b"\n", 1)[1],
        TEXT.replace(b"1 2 3", b"+1.000 2. .3e1"),
    ],
)
def test_text_as_other_tools_lay_it_out(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "v").write_bytes(text)
    read = w2v.load(tmp_path / "v")
    assert list(read.words) == ["a", "b", "中"]
    assert same_bits(read.vectors, np.array([row for _, row in ROWS], np.float32))


def test_glove_words_with_spaces_are_counted_from_the_right(tmp_path: Path) -> None:
    (tmp_path / "g").write_bytes(
        b"the 0.1 0.2\n. . . 0.3 0.4\nat name@domain.com 0.5 0.6\n  x 0.7 0.8\n 1 2\n"
    )
    read = w2v.load(tmp_path / "g")
    assert list(read.words) == ["the", ". . .", "at name@domain.com", "x", ""]
    assert read.vectors[1:3].tolist() == np.array([[0.3, 0.4], [0.5, 0.6]], np.float32).tolist()


def test_gensim_reads_what_w2v_writes_and_the_reverse(tmp_path: Path, model: Embeddings) -> None:
    from gensim.models import KeyedVectors

    for name, options in (("word2vec", {}), ("word2vec-bin", {"binary": True})):
        w2v.save_as(model, tmp_path / "v", format=name)
        kv = KeyedVectors.load_word2vec_format(str(tmp_path / "v"), **options)
        assert kv.index_to_key == model.words
        assert same_bits(kv.vectors, model.vectors)
    kv = model.to_gensim()
    for binary in (False, True):
        kv.save_word2vec_format(str(tmp_path / "k"), binary=binary)
        read = w2v.load(tmp_path / "k")
        assert read.words == model.words
        assert same_bits(read.vectors, model.vectors)


def test_gensim_in_memory_both_ways(model: Embeddings) -> None:
    kv = model.to_gensim()
    assert [kv.get_vecattr(word, "count") for word in model.words] == model.counts.tolist()
    kv.vectors[0] = 0  # a copy
    assert model.vectors[0].any()
    back = w2v.from_gensim(model.to_gensim())
    assert back.words == model.words
    assert back.counts.tolist() == model.counts.tolist()
    assert same_bits(back.vectors, model.vectors)
    nearest = [word for word, _ in model.to_gensim().most_similar(model.words[0], topn=5)]
    assert nearest == [word for word, _ in back.neighbors(model.words[0], 5)]
    without = Embeddings(Vocab(model.words, np.zeros(len(model), np.int64)), model.vectors).to_gensim()
    assert "count" not in without.expandos
    with pytest.raises(ConfigError, match="expected gensim vectors"):
        w2v.from_gensim([1, 2])


def test_a_trained_gensim_model_brings_counts_and_context() -> None:
    from gensim.models import Word2Vec

    sentences = [["a", "b", "c", "中文"], ["a", "b"], ["a"]] * 3
    trained = Word2Vec(sentences, vector_size=4, min_count=1, workers=1, seed=1)
    read = w2v.from_gensim(trained)
    assert dict(zip(read.words, read.counts.tolist(), strict=True)) == {"a": 9, "b": 6, "c": 3, "中文": 3}
    assert read.context is not None
    assert same_bits(read.context, trained.syn1neg)


@pytest.mark.parametrize(
    "name", ["lee_fasttext_new.bin", "crime-and-punishment.bin", "lee_fasttext.bin", "non_ascii_fasttext.bin"]
)
def test_fasttext_models_are_read_as_gensim_reads_them(name: str) -> None:
    from gensim.models.fasttext import load_facebook_vectors
    from gensim.test.utils import datapath

    expected = load_facebook_vectors(datapath(name))
    if "</s>" in expected.key_to_index:  # to which fastText itself adds no n-grams
        expected.vectors[expected.key_to_index["</s>"]] = expected.vectors_vocab[
            expected.key_to_index["</s>"]
        ]
    read = w2v.load(datapath(name))
    assert read.origin.source["format"] == "fasttext-bin"
    assert list(read.words) == expected.index_to_key
    assert same_bits(read.vectors, expected.vectors)
    assert len(w2v.load(datapath(name), top=5)) == 5
    with pytest.raises(ConfigError, match="only read"):
        w2v.save_as(read, "nowhere", format="fasttext-bin")


@pytest.mark.parametrize(
    ("at", "layout", "value", "message"),
    [
        (4, "<i", 99, "expected version"),
        (8, "<i", 2**30, "expected a matrix|cannot be right"),
        (36, "<i", 3, "a classifier"),
        (40, "<i", 2**31 - 1, "expected a matrix"),
        (64, "<i", 2**31 - 1, "words only|cannot be right"),
        (68, "<i", 2**31 - 1, "words only|cannot be right"),
    ],
)
def test_fasttext_headers_are_not_trusted(
    tmp_path: Path, at: int, layout: str, value: int, message: str
) -> None:
    from gensim.test.utils import datapath

    whole = Path(datapath("crime-and-punishment.bin")).read_bytes()
    data = bytearray(whole)
    struct.pack_into(layout, data, at, value)
    (tmp_path / "v.bin").write_bytes(data)
    with pytest.raises(FormatError, match=f"a fastText model that cannot be read: .*({message})"):
        w2v.load(tmp_path / "v.bin")
    for length in (10, 60, 1000, 3000, len(whole) // 2):
        (tmp_path / "v.bin").write_bytes(whole[:length])
        with pytest.raises(FormatError, match="a fastText model that cannot be read"):
            w2v.load(tmp_path / "v.bin")


def test_the_safetensors_package_opens_our_files_and_we_its(tmp_path: Path, model: Embeddings) -> None:
    package = pytest.importorskip("safetensors.numpy")
    w2v.save_as(model, tmp_path / "v.safetensors")
    assert same_bits(package.load_file(tmp_path / "v.safetensors")["vectors"], model.vectors)
    for matrix in (model.vectors, model.vectors.astype(np.float64), model.vectors.astype(np.float16)):
        package.save_file({"embedding.weight": matrix, "bias": np.zeros(3)}, tmp_path / "w.safetensors")
        (tmp_path / "w.words.txt").write_text("\n".join(model.words), encoding="utf-8")
        read = w2v.load(tmp_path / "w.safetensors")
        assert read.words == model.words
        assert same_bits(read.vectors, matrix.astype(np.float32))
    package.save_file({"a": model.vectors, "b": model.vectors}, tmp_path / "w.safetensors")
    with pytest.raises(FormatError, match="expected a tensor named"):
        w2v.load(tmp_path / "w.safetensors")


def _safetensors(header: bytes, data: bytes = b"\0" * 24) -> bytes:
    return struct.pack("<Q", len(header)) + header + data


@pytest.mark.parametrize(
    "content",
    [
        _safetensors(b'{"vectors": {"dtype": "F32", "shape": [1000000000000, 3], "data_offsets": [0, 24]}}'),
        _safetensors(b'{"vectors": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 2400]}}'),
        _safetensors(b'{"vectors": {"dtype": "F32", "shape": [-2, -3], "data_offsets": [0, 24]}}'),
        _safetensors(b'{"vectors": {"dtype": "F32", "shape": [2, 3], "data_offsets": [-8, 16]}}'),
        _safetensors(b'{"vectors": {"dtype": "F32", "shape": [2.0, 3], "data_offsets": [0, 24]}}'),
        _safetensors(b'{"vectors": {"dtype": "BF16", "shape": [4, 3], "data_offsets": [0, 24]}}'),
        _safetensors(b'{"vectors": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}'),
        _safetensors(b'{"vectors": 3}'),
        _safetensors(b'{"vectors": ' + b"[" * 5000 + b"]" * 5000 + b"}"),
        _safetensors(b"{}"),
        struct.pack("<Q", 99_999) + b"{}",
        _safetensors(
            b'{"__metadata__": {"words": "{}"}, '
            b'"vectors": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}'
        ),
        _safetensors(
            b'{"__metadata__": {"words": "[\\"a\\"]"}, '
            b'"vectors": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}'
        ),
    ],
)
def test_broken_safetensors_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "v.safetensors").write_bytes(content)
    with pytest.raises(FormatError, match=r"v\.safetensors"):
        w2v.load(tmp_path / "v.safetensors")


def test_matrices_need_words_and_as_many(tmp_path: Path, model: Embeddings) -> None:
    np.save(tmp_path / "v.npy", model.vectors)
    with pytest.raises(FormatError, match=r"a matrix without words; .*v\.vocab\.tsv"):
        w2v.load(tmp_path / "v.npy")
    (tmp_path / "v.words.txt").write_text("a\nb\n")
    with pytest.raises(FormatError, match="expected a word for each of the 50 rows, got 2"):
        w2v.load(tmp_path / "v.npy")
    (tmp_path / "v.npy.gz").write_bytes(gzip.compress((tmp_path / "v.npy").read_bytes()))
    with pytest.raises(FormatError, match=r"packed by gzip; .* must be unpacked"):
        w2v.load(tmp_path / "v.npy.gz")
    with pytest.raises(ConfigError, match=r"npy is not packed; leave out the suffix \.gz"):
        w2v.save_as(model, tmp_path / "o.npy.gz")


def test_projector_tables_have_a_row_a_word_and_readable_labels(tmp_path: Path) -> None:
    words = [word for word in AWKWARD if word != "\x00"]
    vectors = np.random.default_rng(0).normal(size=(len(words), 3)).astype(np.float32)
    w2v.save_as(Embeddings(Vocab(words, np.arange(len(words))), vectors), tmp_path / "p", format="projector")
    table = (tmp_path / "p" / "vectors.tsv").read_text(encoding="utf-8").splitlines()
    labels = (tmp_path / "p" / "metadata.tsv").read_text(encoding="utf-8").splitlines()
    assert len(table) == len(words)
    assert labels[0] == "word\tcount"
    assert len(labels) == len(words) + 1
    assert all(line.count("\t") == 1 for line in labels)
    assert all(line.count("\t") == 2 for line in table)
    assert labels[1 + words.index("中文")] == f"中文\t{words.index('中文')}"
    assert labels[1 + words.index("a\tb")].startswith("a\\tb\t")
    assert list(w2v.load(tmp_path / "p" / "vectors.tsv").words) == words
    (tmp_path / "p" / "metadata.tsv").write_text("only\nthree\nlabels\\o/\n", encoding="utf-8")
    with pytest.raises(FormatError, match=f"a label for each of the {len(words)} rows .* got 3"):
        w2v.load(tmp_path / "p")


def test_folders_of_others_are_not_replaced(tmp_path: Path, model: Embeddings) -> None:
    for name in ("projector", "huggingface"):
        path = tmp_path / name
        w2v.save_as(model, path, format=name)
        w2v.save_as(model, path, format=name)
        (path / "notes.txt").write_text("mine")
        with pytest.raises(FormatError, match="holds other files"):
            w2v.save_as(model, path, format=name)
        assert (path / "notes.txt").read_text() == "mine"
    with pytest.raises(FormatError, match="holds other files"):
        model.save(tmp_path / "huggingface")


# -- Hugging Face -----------------------------------------------------------------------------------------


def test_the_hugging_face_folder_maps_row_to_word(tmp_path: Path, model: Embeddings) -> None:
    import json

    lowered = Embeddings(model.vocab, model.vectors, origin=Origin.from_dict({"corpus": {"lowercase": True}}))
    w2v.save_as(lowered, tmp_path / "hf", format="huggingface")
    tokenizer = json.loads((tmp_path / "hf" / "tokenizer.json").read_text(encoding="utf-8"))
    assert tokenizer["model"]["vocab"] == {**model.vocab.index, "[UNK]": len(model)}
    assert tokenizer["model"]["unk_token"] == "[UNK]"
    assert tokenizer["normalizer"] == {"type": "Lowercase"}
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert config["normalize"] is False
    package = pytest.importorskip("safetensors.numpy")
    rows = package.load_file(tmp_path / "hf" / "model.safetensors")["embeddings"]
    assert same_bits(rows, np.vstack([model.vectors, np.zeros((1, 7), np.float32)]))


def test_a_vocabulary_with_the_unknown_word_in_it(tmp_path: Path) -> None:
    words = ["[UNK]", "[[UNK]]", "a"]
    model = Embeddings(Vocab(words, np.arange(3)), np.ones((3, 2), np.float32))
    w2v.save_as(model, tmp_path / "hf", format="huggingface")
    assert list(w2v.load(tmp_path / "hf").words) == words
    assert "[[[UNK]]]" in (tmp_path / "hf" / "tokenizer.json").read_text()


def test_model2vec_gives_the_same_vectors(tmp_path: Path, model: Embeddings) -> None:
    model2vec = pytest.importorskip("model2vec")
    for dtype in ("float32", "float16"):
        w2v.save_as(model, tmp_path / dtype, format="huggingface", dtype=dtype)
        static = model2vec.StaticModel.from_pretrained(tmp_path / dtype)
        expected = model.vectors.astype(dtype)
        assert (static.encode(list(model.words)) == expected).all()
        pair = f"{model.words[0]} {model.words[1]} unheard-of"
        assert np.allclose(static.encode([pair])[0], expected[:2].mean(axis=0), atol=1e-3)
        static.save_pretrained(tmp_path / f"again-{dtype}")
        again = w2v.load(tmp_path / f"again-{dtype}")
        assert list(again.words[:-1]) == list(model.words)
        assert (again.vectors[:-1] == expected).all()


def test_sentence_transformers_gives_the_same_vectors(tmp_path: Path, model: Embeddings) -> None:
    package = pytest.importorskip("sentence_transformers")
    w2v.save_as(model, tmp_path / "hf", format="huggingface")
    encoder = package.SentenceTransformer(str(tmp_path / "hf"), device="cpu")
    assert (encoder.encode(list(model.words)) == model.vectors).all()
    module = encoder[0]
    assert type(module).__name__ == "StaticEmbedding"
    assert (module.embedding.weight.detach().numpy()[:-1] == model.vectors).all()
    encoder.save(str(tmp_path / "again"))
    again = w2v.load(tmp_path / "again")
    assert list(again.words[:-1]) == list(model.words)


# -- what is no vectors -----------------------------------------------------------------------------------

IMPOSTORS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", r"empty \(0 bytes\)"),
    "pickle": (pickle.dumps({"a": 1}, protocol=4), "a Python pickle, .*never"),
    "old pickle": (pickle.dumps({"a": 1}, protocol=0), "a Python pickle, .*never"),
    "HTML": (b"\n<!DOCTYPE html><html><body>404</body></html>", r"a web page \(HTML\)"),
    "git-LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
    "zip": (b"PK\x03\x04" + b"\0" * 60, "a zip archive; unpack it"),
    "torch": (b"PK\x03\x04" + b"\0" * 26 + b"archive/data.pkl" + b"\0" * 60, "a PyTorch checkpoint"),
    "npz": (b"PK\x03\x04" + b"\0" * 26 + b"vectors.npy" + b"\0" * 60, r"an \.npz archive"),
    "tar": (b"vectors.txt".ljust(257, b"\0") + b"ustar\x0000", "a tar archive; unpack it"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + b"\0" * 60, "an HDF5 file"),
    "JSON": (b'{"a": [1, 2]}', "JSON, not vectors"),
    "counts": (b"the\t10\nof\t7\n", "a list of words with counts"),
    "counts of word2vec.c": (b"the 10\nof 7\n", "a list of words with counts"),
    "prose": (b"It was a dark and stormy night.\n", "no format of vectors that w2v knows; it begins with"),
    "noise": (bytes(range(255, 0, -1)), "no format of vectors that w2v knows"),
}


@pytest.mark.parametrize("kind", IMPOSTORS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_impostors_are_named_for_what_they_are(
    tmp_path: Path, kind: str, pack: Callable[[bytes], bytes]
) -> None:
    content, message = IMPOSTORS[kind]
    (tmp_path / "vectors.bin").write_bytes(pack(content))
    with pytest.raises(FormatError, match=message):
        w2v.load(tmp_path / "vectors.bin")


def test_a_gensim_pickle_is_never_loaded_and_the_way_out_works(
    tmp_path: Path, model: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex
    import subprocess
    import sys

    model.to_gensim().save(str(tmp_path / "kv"))

    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle was loaded")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    with pytest.raises(FormatError) as caught:
        w2v.load(tmp_path / "kv")
    command = shlex.split(str(caught.value).split("trust it: ")[1])
    subprocess.run([sys.executable, *command[1:]], cwd=tmp_path, check=True)
    assert w2v.load(tmp_path / "vectors.bin").words == model.words


def test_a_missing_file_and_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        w2v.load(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="no model in this folder"):
        w2v.load(tmp_path)


@pytest.mark.parametrize("given", ["word2vec", "word2vec-bin", "glove", "safetensors", "npy", "huggingface"])
@pytest.mark.parametrize("actual", ["word2vec", "word2vec-bin", "glove", "npy", "safetensors"])
def test_a_file_read_as_another_kind_is_refused(
    tmp_path: Path, given: str, actual: str, model: Embeddings
) -> None:
    if given == actual:
        return
    path = tmp_path / f"v{SUFFIX[actual]}"
    w2v.save_as(model, path, format=actual)
    with pytest.raises(FormatError):
        w2v.load(path, format=given)


@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.parametrize("packing", ["", ".bz2", ".xz"])
@given(data=st.data())
@settings(max_examples=30)
def test_damaged_files_are_read_or_refused_and_nothing_else(
    place: Path, name: str, packing: str, data: st.DataObject
) -> None:
    if packing and name not in TEXTUAL:
        return
    whole = place / f"whole{SUFFIX[name]}{packing}"
    if not whole.exists():
        w2v.save_as(some_model(9, 3), whole, format=name)
    damaged = place / f"damaged{SUFFIX[name]}{packing}"
    files = [whole]
    if whole.is_dir():
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(whole, damaged)
        files = sorted(whole.iterdir())
    elif name == "npy":
        shutil.copy(whole.with_suffix(".vocab.tsv"), damaged.with_suffix(".vocab.tsv"))
    file = data.draw(st.sampled_from(files))
    content = bytearray(file.read_bytes())
    start = data.draw(st.integers(0, len(content) - 1))
    stop = data.draw(st.one_of(st.just(start), st.integers(start, min(start + 8, len(content)))))
    content[start:stop] = data.draw(st.binary(max_size=8))
    target = damaged / file.name if whole.is_dir() else damaged
    target.write_bytes(content[: data.draw(st.one_of(st.none(), st.integers(0, len(content))))])
    for skip_bad in (False, True):
        with contextlib.suppress(w2v.W2VError):
            w2v.load(damaged, skip_bad=skip_bad)


def test_suffixes_that_leave_the_format_open_are_refused(tmp_path: Path, model: Embeddings) -> None:
    with pytest.raises(ConfigError, match=r"the suffix '\.dat' does not tell the format; give one of folder"):
        w2v.save_as(model, tmp_path / "v.dat")
    with pytest.raises(ConfigError, match="format must be one of"):
        w2v.load(tmp_path, format="nonsense")
    assert not list(tmp_path.iterdir())


def test_skipped_rows_are_logged_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("w2v").addHandler(handler := logging.NullHandler())
    try:
        (tmp_path / "v").write_bytes(b"2 3\na 1 2 3\nb 1 2\n")
        w2v.load(tmp_path / "v", skip_bad=True)
    finally:
        logging.getLogger("w2v").removeHandler(handler)
    assert capsys.readouterr() == ("", "")


def test_names_of_formats() -> None:
    from w2v.cli import convert

    assert set(convert.WRITABLE) == set(WRITABLE)
    assert set(convert.READABLE) == set(READABLE)
