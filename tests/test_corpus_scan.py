"""The scanner against Python's own split, on awkward text and at any border of its slices."""

from __future__ import annotations

import itertools
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from w2v.corpus.ids.scanner import Scanner, lowered
from w2v.errors import CorpusError

WHITE_SPACE = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
AWKWARD = "aAbß語ıİΣσς'-\u200b\ufeff\x00\x1b\x7f\u0300é🜁𐀀\udbff\udc00"
letters = st.sampled_from([letter for letter in AWKWARD if not 0xD800 <= ord(letter) < 0xE000])
texts = st.lists(
    st.one_of(st.sampled_from(WHITE_SPACE), st.just("\n"), letters, st.text(letters, max_size=20)),
    max_size=60,
).map("".join)


class Collected:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.ends: list[int] = []

    def write(self, token_ids: NDArray[np.int32], sentence_ends: NDArray[np.int64]) -> None:
        self.ids += token_ids.tolist()
        self.ends += sentence_ends.tolist()


def read(data: bytes, slice_bytes: int, *, key: int | None = None) -> tuple[Scanner, list[list[str]]]:
    sink = Collected()
    scanner = Scanner(sink, slice_bytes=slice_bytes)
    if key is not None:
        scanner._table.key[:] = key
    scanner.start_file("text")
    scanner.feed(data)
    scanner.end_file()
    words = scanner.types.words(0, len(scanner.types.counts))
    borders = [0, *sink.ends]
    assert len(sink.ids) == borders[-1] == scanner.n_tokens
    return scanner, [[words[i] for i in sink.ids[a:b]] for a, b in itertools.pairwise(borders)]


def split(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n") if line.split()]


@given(texts, st.integers(1, 40))
@example("".join(f"a{space}" for space in WHITE_SPACE), 3)
@settings(max_examples=300, deadline=None)
def test_words_are_those_of_split(text: str, slice_bytes: int) -> None:
    scanner, sentences = read(text.encode(), slice_bytes)
    assert sentences == split(text)
    counts = Counter(word for sentence in sentences for word in sentence)
    assert scanner.types.words(0, len(counts)) == list(counts)  # in order of first appearance
    assert scanner.types.counts.tolist() == list(counts.values())
    n_lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    assert scanner.n_blank == n_lines - len(sentences)


def test_every_character_alone() -> None:
    codes = [*range(0x3100), *range(0x3100, 0xD800, 16), *range(0xE000, sys.maxunicode + 1, 64)]
    text = "".join(f"x{chr(code)}y\n" for code in codes)
    assert read(text.encode(), 1 << 12)[1] == split(text)


@pytest.mark.parametrize("key", [None, 0])  # under the key 0 all hashes are equal
def test_words_that_differ_in_one_byte_stay_apart(key: int | None) -> None:
    words = ["w" * length for length in (*range(1, 34), 100, 255, 256, 257, 300)]
    words += [word[:at] + "x" + word[at + 1 :] for word in words for at in range(min(len(word), 34))]
    words += [word + "\0" * n for word in ("w", "ww", "w" * 8) for n in (1, 2)]
    text = " ".join(words + words)
    assert read(text.encode(), 1 << 10, key=key)[1] == split(text)


def test_the_table_grows() -> None:
    text = "\n".join(f"word{number} common" for number in range(100_000))
    scanner, sentences = read(text.encode(), 1 << 16)
    assert len(scanner.types.counts) == 100_001
    assert sentences[99_999] == ["word99999", "common"]


def test_more_types_than_ids_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("w2v.corpus.ids.scanner.MAX_TYPES", 1 << 15)
    with pytest.raises(CorpusError, match="more than 32768 distinct words"):
        read(" ".join(map(str, range(40_000))).encode(), 1 << 12)


def test_a_word_larger_than_every_buffer() -> None:
    word = "é" * 300_000
    scanner, sentences = read(f"a {word} b {word}\n".encode(), 1 << 10)
    assert sentences == [["a", word, "b", word]]
    assert scanner.types.counts.tolist() == [1, 2, 1]


@given(st.lists(st.one_of(letters.map(str.encode), st.binary(max_size=4), st.just(b"\n"))), st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_invalid_bytes_are_found_where_python_finds_them(parts: list[bytes], slice_bytes: int) -> None:
    data = b"".join(parts)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        with pytest.raises(CorpusError, match=rf"^text:{line}: not UTF-8 at byte {error.start} "):
            read(data, slice_bytes)
    else:
        read(data, slice_bytes)


@pytest.mark.parametrize(
    "bad",
    [
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xe0\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xf8",
        b"\x80",
        b"\xe4\xb8",
        b"\xff",
    ],
)
def test_malformed_utf8_is_refused(bad: bytes) -> None:
    with pytest.raises(CorpusError, match=r"text:2: not UTF-8 at byte 5 .*--encoding"):
        read(b"ok\nab" + bad + b" c", 64)


@given(texts)
@settings(max_examples=200, deadline=None)
def test_lowering_the_types_is_lowering_the_text(text: str) -> None:
    sink = Collected()
    scanner = Scanner(sink)
    scanner.feed(text.encode())
    scanner.end_file()
    if not sink.ids:
        return
    types, merged = lowered(scanner.types)
    words = types.words(0, len(types.counts))
    assert [words[merged[i]] for i in sink.ids] == text.lower().split()
    assert types.counts.tolist() == list(Counter(text.lower().split()).values())
    assert words == list(dict.fromkeys(text.lower().split()))
