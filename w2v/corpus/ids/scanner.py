"""The table of types, and the scanner that feeds it text in blocks; the loops are in `scan_kernels`."""

from __future__ import annotations

import os
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from w2v.corpus.ids import scan_kernels as kernels
from w2v.corpus.ids.word_types import MAX_TYPES, Types
from w2v.corpus.read.guess_encoding import encoding_advice
from w2v.errors import CorpusError

_SLICE_BYTES = 1 << 17
_FIRST_CAPACITY = 1 << 15
_LINES_AT_ONCE = 1 << 16
_ADVICE_BYTES = 4096
_Scalar = TypeVar("_Scalar", bound=np.generic)


class TypeTable:
    """The types met so far, numbered in order of first appearance, with their counts."""

    def __init__(self) -> None:
        # Secret, so that no text can be made of words that collide.
        self.key = np.frombuffer(os.urandom(16), np.uint64) | np.uint64(1)
        self._state = np.zeros(kernels.N_STATE, np.int64)
        self._offsets = np.zeros(1, np.int64)
        self._counts = np.zeros(0, np.int64)
        self._blob = np.zeros(8 * _FIRST_CAPACITY, np.uint8)
        self._grow(_FIRST_CAPACITY)

    @property
    def types(self) -> Types:
        """The types so far (views, valid until more are entered)."""
        n_types = self._state[kernels.N_TYPES]
        return Types(
            self._blob[: self._offsets[n_types]], self._offsets[: n_types + 1], self._counts[:n_types]
        )

    def number(
        self, text: NDArray[np.uint8], words: NDArray[np.uint64], n_words: int, token_ids: NDArray[np.int32]
    ) -> None:
        """Put the ids of n_words hashed words of a text into `token_ids` and count each once.

        New words are entered. `words` is as `kernels.split_words` leaves it.
        """
        n_numbered = 0
        while True:
            n_numbered = kernels.number_words(
                text,
                words,
                n_numbered,
                n_words,
                self._state,
                self._slots,
                self._offsets,
                self._counts,
                self._blob,
                token_ids,
            )
            if n_numbered == n_words:
                return
            self._make_room(int(words[n_numbered, kernels.STOP] - words[n_numbered, kernels.START]))

    def merge(self, types: Types) -> NDArray[np.int32]:
        """Enter distinct types with their counts; return their ids here, int32, shape (n_types,)."""
        n_types = len(types.counts)
        padded = np.zeros(len(types.blob) + kernels.PADDING, np.uint8)
        padded[: len(types.blob)] = types.blob
        words = np.empty((n_types, kernels.N_COLUMNS), np.uint64)
        kernels.hash_types(padded, types.offsets, self.key, words)
        ids = np.empty(n_types, np.int32)
        self.number(padded, words, n_types, ids)
        np.add.at(self._counts, ids, types.counts - 1)
        return ids

    def _make_room(self, n_bytes: int) -> None:
        """Make room for another type of n_bytes."""
        n_types = int(self._state[kernels.N_TYPES])
        if n_types == len(self._counts):
            self._grow(2 * n_types)
        else:
            needed = int(self._offsets[n_types]) + n_bytes + kernels.PADDING
            self._blob = _resized(self._blob, max(2 * len(self._blob), needed))

    def _grow(self, capacity: int) -> None:
        n_types = int(self._state[kernels.N_TYPES])
        if n_types >= MAX_TYPES:
            raise CorpusError(
                f"the corpus has more than {MAX_TYPES} distinct words, more than an int32 id can name"
            )
        self._counts = _resized(self._counts, capacity)
        self._offsets = _resized(self._offsets, capacity + 1)
        self._slots = np.zeros((2 * capacity, 2), np.uint64)
        kernels.fill_slots(self._slots, self._offsets, n_types, self._blob, self.key)


class Sink(Protocol):
    """Receives what the scanner finds, in text order."""

    def write(self, token_ids: NDArray[np.int32], sentence_ends: NDArray[np.int64]) -> None:
        """Receive type ids, and the sentence ends among them, counted in tokens from the first text on."""


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
        self._state = np.zeros(kernels.N_STATE, np.int64)
        self._text = np.zeros(2 * slice_bytes + kernels.PADDING, np.uint8)
        self._end = 0
        most_words = slice_bytes // 2 + 2
        self._words = np.empty((most_words, kernels.N_COLUMNS), np.uint64)
        self._token_ids = np.empty(most_words, np.int32)
        self._sentence_ends = np.empty(most_words, np.int64)
        self._table = TypeTable()
        self._name = ""
        self._before = 0
        self._lines_before = 0

    @property
    def n_tokens(self) -> int:
        """Tokens read so far."""
        return int(self._state[kernels.N_TOKENS])

    @property
    def n_blank(self) -> int:
        """Lines without a word so far."""
        return int(self._state[kernels.N_BLANK])

    @property
    def types(self) -> Types:
        """The types so far, in order of first appearance (views, valid until more text is read)."""
        return self._table.types

    def start_file(self, name: str, skipped: int = 0) -> None:
        """Begin another text; `name` and the `skipped` bytes before its first block serve error messages."""
        self._name = name
        self._before = skipped - self._end
        self._lines_before = int(self._state[kernels.N_LINES])

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
        """Append a slice to the unfinished word of the last one, which moves to the front of the buffer."""
        word_start = int(self._state[kernels.WORD_START])
        if word_start:
            kept = self._end - word_start
            self._text[:kept] = self._text[word_start : self._end]
            self._state[kernels.POSITION] -= word_start
            self._state[kernels.WORD_START] = 0
            self._before += word_start
            self._end = kept
        if (needed := self._end + len(part) + kernels.PADDING) > len(self._text):
            self._text = _resized(self._text, 2 * needed)
        self._text[self._end : self._end + len(part)] = part
        self._end += len(part)
        self._text[self._end] = ord(" ")

    def _scan(self) -> None:
        is_valid, n_words, n_ends = kernels.split_words(
            self._text, self._end, self._state, self._table.key, self._words, self._sentence_ends
        )
        if not is_valid:
            raise self._invalid_utf8()
        self._table.number(self._text, self._words, n_words, self._token_ids)
        self._sink.write(self._token_ids[:n_words], self._sentence_ends[:n_ends])

    def _invalid_utf8(self) -> CorpusError:
        position = int(self._state[kernels.POSITION])
        line = int(self._state[kernels.N_LINES]) - self._lines_before + 1
        around = self._text[max(position - _ADVICE_BYTES, 0) : self._end].tobytes()
        return CorpusError(
            f"{self._name}:{line}: not UTF-8 at byte {self._before + position} of the text "
            f"(0x{self._text[position]:02X}); {encoding_advice(around)}"
        )


def _resized(array: NDArray[_Scalar], length: int) -> NDArray[_Scalar]:
    """Copy a one-dimensional array into a longer one; the rest is zero."""
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


def lowered(types: Types) -> tuple[Types, NDArray[np.int32]]:
    """Lower-case the types instead of the text: the same words for much less work.

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
    collected = Collector()
    scanner = Scanner(collected)
    for start in range(0, len(types.counts), _LINES_AT_ONCE):
        stop = min(start + _LINES_AT_ONCE, len(types.counts))
        lines = np.empty(types.offsets[stop] - types.offsets[start] + stop - start, np.uint8)
        kernels.put_in_lines(types.blob, types.offsets, start, stop, lines)
        scanner.feed(lines.tobytes().decode().lower().encode())
    merged, _ = collected.arrays()
    counts = np.zeros(len(scanner.types.counts), np.int64)
    np.add.at(counts, merged, types.counts)
    return scanner.types._replace(counts=counts), merged


class Collector:
    """Keep what the scanner finds in memory."""

    def __init__(self) -> None:
        self._token_ids: list[NDArray[np.int32]] = []
        self._sentence_ends: list[NDArray[np.int64]] = []

    def write(self, token_ids: NDArray[np.int32], sentence_ends: NDArray[np.int64]) -> None:
        """Keep copies."""
        self._token_ids.append(token_ids.copy())
        self._sentence_ends.append(sentence_ends.copy())

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return all ids and all sentence ends."""
        ids = np.concatenate([np.zeros(0, np.int32), *self._token_ids])
        return ids, np.concatenate([np.zeros(0, np.int64), *self._sentence_ends])
