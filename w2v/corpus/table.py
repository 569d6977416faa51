"""The table of types, and the scanner that feeds it text in blocks; `w2v.corpus.scan` has the loops."""

from __future__ import annotations

import itertools
import os
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from w2v.corpus import scan
from w2v.errors import CorpusError

_SLICE_BYTES = 1 << 17
MAX_TYPES = 2**31 - 1
_FIRST_CAPACITY = 1 << 15
_LINES_AT_ONCE = 1 << 16
_Scalar = TypeVar("_Scalar", bound=np.generic)


class Types(NamedTuple):
    """Distinct words: word i is blob[offsets[i]:offsets[i + 1]] in UTF-8; counts[i] occurrences."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]

    def words(self, start: int, stop: int) -> list[str]:
        """Decode the words start..stop."""
        first = int(self.offsets[start])
        data = self.blob[first : self.offsets[stop]].tobytes()
        borders = (self.offsets[start : stop + 1] - first).tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(borders)]


class Sink(Protocol):
    """Takes what the scanner finds, in text order."""

    def write(self, token_ids: NDArray[np.int32], sentence_ends: NDArray[np.int64]) -> None:
        """Take type ids, and the sentence ends among them counted in tokens from the very start."""


class Scanner:
    """Number the words of UTF-8 text that arrives in blocks of any size.

    Parameters
    ----------
    sink : Sink
    slice_bytes : int
        Most bytes handed to the compiled loops at once.
    """

    def __init__(self, sink: Sink, *, slice_bytes: int = _SLICE_BYTES) -> None:
        self._sink = sink
        self._slice_bytes = slice_bytes
        self._state = np.zeros(scan.N_STATE, np.int64)
        self._text = np.zeros(2 * slice_bytes + scan.PADDING, np.uint8)
        self._end = 0
        most_words = slice_bytes // 2 + 2
        self._words = np.empty((most_words, scan.N_COLUMNS), np.uint64)
        self._token_ids = np.empty(most_words, np.int32)
        self._sentence_ends = np.empty(most_words, np.int64)
        # Whoever wrote the text must not know the key of the hash.
        self._key = np.frombuffer(os.urandom(16), np.uint64) | np.uint64(1)
        self._offsets = np.zeros(1, np.int64)
        self._counts = np.zeros(0, np.int64)
        self._blob = np.zeros(8 * _FIRST_CAPACITY, np.uint8)
        self._grow_table(_FIRST_CAPACITY)
        self._name = ""
        self._before = 0
        self._lines_before = 0

    @property
    def n_tokens(self) -> int:
        """Tokens read so far."""
        return int(self._state[scan.N_TOKENS])

    @property
    def n_blank(self) -> int:
        """Lines without a word so far."""
        return int(self._state[scan.N_BLANK])

    @property
    def types(self) -> Types:
        """The types so far, in order of first appearance (views, valid until more text is read)."""
        n_types = self._state[scan.N_TYPES]
        return Types(
            self._blob[: self._offsets[n_types]], self._offsets[: n_types + 1], self._counts[:n_types]
        )

    def start_file(self, name: str, skipped: int = 0) -> None:
        """Begin another text; `name` and the `skipped` bytes before its first block serve error messages."""
        self._name = name
        self._before = skipped - self._end
        self._lines_before = int(self._state[scan.N_LINES])

    def end_file(self) -> None:
        """End the text: a last line without a newline is a sentence too."""
        if self._end and self._text[self._end - 1] != ord("\n"):
            self.feed(b"\n")

    def feed(self, data: bytes) -> None:
        """Read on.

        Raises
        ------
        CorpusError
            If the text is not UTF-8; with file, line and byte.
        """
        block = np.frombuffer(data, np.uint8)
        for start in range(0, len(block), self._slice_bytes):
            self._append(block[start : start + self._slice_bytes])
            self._scan()

    def _append(self, part: NDArray[np.uint8]) -> None:
        """Put a slice behind the unfinished word of the last one, which moves to the front of the buffer."""
        word_start = int(self._state[scan.WORD_START])
        if word_start:
            kept = self._end - word_start
            self._text[:kept] = self._text[word_start : self._end]
            self._state[scan.POSITION] -= word_start
            self._state[scan.WORD_START] = 0
            self._before += word_start
            self._end = kept
        if (needed := self._end + len(part) + scan.PADDING) > len(self._text):
            self._text = _resized(self._text, 2 * needed)
        self._text[self._end : self._end + len(part)] = part
        self._end += len(part)
        self._text[self._end] = ord(" ")

    def _scan(self) -> None:
        is_valid, n_words, n_ends = scan.split_words(
            self._text, self._end, self._state, self._key, self._words, self._sentence_ends
        )
        if not is_valid:
            raise self._invalid_utf8()
        n_numbered = 0
        while True:
            n_numbered = scan.number_words(
                self._text,
                self._words,
                n_numbered,
                n_words,
                self._state,
                self._slots,
                self._offsets,
                self._counts,
                self._blob,
                self._token_ids,
            )
            if n_numbered == n_words:
                break
            self._make_room(int(self._words[n_numbered, scan.STOP] - self._words[n_numbered, scan.START]))
        self._sink.write(self._token_ids[:n_words], self._sentence_ends[:n_ends])

    def _make_room(self, n_bytes: int) -> None:
        """Make room for another type of n_bytes."""
        n_types = int(self._state[scan.N_TYPES])
        if n_types == len(self._counts):
            self._grow_table(2 * n_types)
        else:
            needed = int(self._offsets[n_types]) + n_bytes + scan.PADDING
            self._blob = _resized(self._blob, max(2 * len(self._blob), needed))

    def _grow_table(self, capacity: int) -> None:
        n_types = int(self._state[scan.N_TYPES])
        if n_types >= MAX_TYPES:
            raise CorpusError(
                f"the corpus has more than {MAX_TYPES} distinct words, more than an int32 id can name"
            )
        self._counts = _resized(self._counts, capacity)
        self._offsets = _resized(self._offsets, capacity + 1)
        self._slots = np.zeros((2 * capacity, 2), np.uint64)
        scan.fill_slots(self._slots, self._offsets, n_types, self._blob, self._key)

    def _invalid_utf8(self) -> CorpusError:
        position = int(self._state[scan.POSITION])
        line = int(self._state[scan.N_LINES]) - self._lines_before + 1
        return CorpusError(
            f"{self._name}:{line}: not UTF-8 at byte {self._before + position} of the text "
            f"(0x{self._text[position]:02X}); say which --encoding it has, or pass --errors replace"
        )


def _resized(array: NDArray[_Scalar], length: int) -> NDArray[_Scalar]:
    """Copy a one-dimensional array into a longer one; the rest is zero."""
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


def lowered(types: Types) -> tuple[Types, NDArray[np.int32]]:
    """Lower-case the types rather than the text, which gives the same words and is much less work.

    Parameters
    ----------
    types : Types
        In order of first appearance, without white space inside.

    Returns
    -------
    Types
        The lower-cased types, in order of first appearance.
    ndarray of int32, shape (n_types,)
        Which of them each type became.
    """
    collected = _Collector()
    scanner = Scanner(collected)
    for start in range(0, len(types.counts), _LINES_AT_ONCE):
        stop = min(start + _LINES_AT_ONCE, len(types.counts))
        lines = np.empty(types.offsets[stop] - types.offsets[start] + stop - start, np.uint8)
        scan.put_in_lines(types.blob, types.offsets, start, stop, lines)
        scanner.feed(lines.tobytes().decode().lower().encode())
    merged = np.concatenate(collected.token_ids)
    counts = np.zeros(len(scanner.types.counts), np.int64)
    np.add.at(counts, merged, types.counts)
    return scanner.types._replace(counts=counts), merged


class _Collector:
    """Keep the ids in memory."""

    def __init__(self) -> None:
        self.token_ids: list[NDArray[np.int32]] = []

    def write(self, token_ids: NDArray[np.int32], sentence_ends: NDArray[np.int64]) -> None:
        self.token_ids.append(token_ids.copy())
