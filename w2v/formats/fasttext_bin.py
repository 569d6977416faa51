"""fastText's own `.bin`, read only: the vectors of its words, each the mean of its row and its n-grams' rows.

Also read: packed files, and those of 2016, which lack the magic number. What the header says is compared with
the sizes that are there before anything is allocated, and the matrix is mapped, so that only the words' rows
are held in memory. A word's n-grams are found as gensim finds them; `</s>` has none, as in fastText.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.formats.base import Format, ReadOptions
from w2v.formats.rows import from_matrix
from w2v.formats.source import Source
from w2v.vectors.word_vectors import WordVectors

_MAGIC = 793712314
_VERSIONS = (11, 12)
_SUPERVISED = 3
_END_OF_SENTENCE = "</s>"
_WORDS_AT_ONCE = 1024
_LONGEST_NGRAM = 1000
_COPY_BYTES = 1 << 20


class _Header(NamedTuple):
    """The settings at the beginning; n-grams have `least` to `most` letters; there are none if it is < 0."""

    dimensions: int
    window: int
    epochs: int
    min_count: int
    negatives: int
    word_ngrams: int
    loss: int
    model: int
    n_buckets: int
    least: int
    most: int
    update_rate: int
    sample: float


_SETTINGS = "<12id"


def detects(source: Source) -> bool:
    """Say whether a source is a fastText model; one of 2016 is told by settings that make sense."""
    head = source.head
    if head[:4] == struct.pack("<i", _MAGIC):
        return True
    if len(head) < 76:
        return False
    header = _Header(*struct.unpack_from(_SETTINGS, head))
    n_entries, n_words, n_labels, n_tokens = struct.unpack_from("<3iq", head, 56)
    return (
        0 < header.dimensions <= 10_000
        and min(header.window, header.epochs, header.min_count, header.negatives, header.word_ngrams) >= 0
        and header.loss in (1, 2, 3)
        and header.model in (1, 2, 3)
        and header.n_buckets >= 0
        and 0 <= header.most <= _LONGEST_NGRAM
        and 0 <= header.sample <= 1
        and 0 < n_entries == n_words + n_labels <= n_tokens
    )


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Read the vectors of the words."""
    with _plain_file(source) as file:
        parts = _Parts(file, str(source))
        n = len(parts.words) if options.words or options.skip_bad else options.top
        words, counts = parts.words[:n], parts.counts[:n]
        return from_matrix(words, counts, _vectors(parts, words), source, options, FORMAT.name)


@contextmanager
def _plain_file(source: Source) -> Iterator[BinaryIO]:
    """Open a source as a file with places; a packed one is unpacked into a temporary file."""
    if source.packing is None and source.size is not None:
        with source.path.open("rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        buffer = bytearray(_COPY_BYTES)
        while n := source.read_into(memoryview(buffer)):
            file.write(buffer[:n])
        file.seek(0)
        yield file


class _Parts:
    """The parts of a file, once they are known to fit together.

    Attributes
    ----------
    header : _Header
    words : list of str or None, length V
        None for a word that is not UTF-8.
    counts : ndarray of int64, shape (V,)
    matrix : ndarray of float32, shape (V + buckets, D)
        Mapped: the rows of the words, then those of the n-grams.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._size = file.seek(0, 2)
        file.seek(0)
        self._has_magic = self._unpack("<i")[0] == _MAGIC
        if not self._has_magic:
            file.seek(0)
        elif (version := self._unpack("<i")[0]) not in _VERSIONS:
            self._refuse(f"expected version {' or '.join(map(str, _VERSIONS))}, got {version}")
        self.header = _Header(*self._unpack(_SETTINGS))
        n_words = self._read_sizes()
        self.words, self.counts = self._read_dictionary(n_words)
        self.matrix = self._map_matrix()
        self._check_matrix_of_outputs()

    def _read_sizes(self) -> int:
        header = self.header
        n_entries, n_words, n_labels, _ = self._unpack("<3iq")
        n_pruned = self._unpack("<q")[0] if self._has_magic else 0
        if header.model == _SUPERVISED:
            self._refuse("a classifier, not word vectors; train with skipgram or cbow")
        if n_labels or n_entries != n_words or n_pruned > 0:
            self._refuse(f"expected words only, got {n_labels} labels and {max(n_pruned, 0)} pruned n-grams")
        if not 0 <= header.most <= _LONGEST_NGRAM:
            self._refuse(f"n-grams of up to {header.most} letters cannot be right")
        if not (0 < n_words * 10 <= self._size and header.dimensions > 0 and header.n_buckets >= 0):
            self._refuse(
                f"{n_words:,} words, {header.dimensions:,} dimensions and {header.n_buckets:,} "
                "buckets cannot be right"
            )
        return int(n_words)

    def _read_dictionary(self, n_words: int) -> tuple[list[str | None], NDArray[np.int64]]:
        """Read n entries: a word, a zero byte, its count (8 bytes) and its kind (1 byte)."""
        words: list[str | None] = []
        counts = np.empty(n_words, np.int64)
        rest = b""
        while len(words) < n_words:
            chunk = self._file.read(_COPY_BYTES)
            data, at = rest + chunk, 0
            while len(words) < n_words and (end := data.find(b"\0", at)) >= 0 and end + 10 <= len(data):
                counts[len(words)] = struct.unpack_from("<q", data, end + 1)[0]
                words.append(_decoded(data[at:end]))
                at = end + 10
            rest = data[at:]
            if len(words) < n_words and (not chunk or len(rest) > 1 << 22):
                self._refuse(
                    f"the dictionary ends after {len(words)} of {n_words} words; is the file cut short?"
                )
        self._file.seek(-len(rest), 1)
        if (counts < 0).any():
            self._refuse(f"the count of word {int(np.argmin(counts)) + 1} is {counts.min()}")
        return words, counts

    def _map_matrix(self) -> NDArray[np.float32]:
        n_rows, n_columns = self._shape()
        expected = (len(self.words) + self.header.n_buckets, self.header.dimensions)
        if (n_rows, n_columns) != expected:
            self._refuse(f"expected a matrix of {expected[0]} x {expected[1]}, got {n_rows} x {n_columns}")
        start = self._file.tell()
        n_bytes = self._check_room(n_rows, n_columns)
        matrix = np.memmap(self._file, "<f4", "r", start, (n_rows, n_columns))
        self._file.seek(start + n_bytes)
        return matrix

    def _check_matrix_of_outputs(self) -> None:
        """See that the second matrix, which is not needed, is whole and the last thing in the file."""
        n_bytes = self._check_room(*self._shape())
        n_left = self._size - self._file.tell() - n_bytes
        if n_left:
            self._refuse(f"{n_left:,} bytes follow the last matrix")

    def _shape(self) -> tuple[int, int]:
        if self._has_magic and self._unpack("<B")[0]:
            self._refuse("quantized (.ftz)")
        n_rows, n_columns = self._unpack("<2q")
        return n_rows, n_columns

    def _check_room(self, n_rows: int, n_columns: int) -> int:
        n_bytes = 4 * n_rows * n_columns
        if min(n_rows, n_columns) < 0 or n_bytes > self._size - self._file.tell():
            self._refuse(
                f"a matrix of {n_rows} x {n_columns} takes {n_bytes:,} bytes; is the file cut short?"
            )
        return n_bytes

    def _unpack(self, layout: str) -> tuple[int, ...]:
        data = self._file.read(struct.calcsize(layout))
        if len(data) < struct.calcsize(layout):
            self._refuse("ends too early; is the file cut short?")
        return struct.unpack(layout, data)

    def _refuse(self, reason: str) -> NoReturn:
        raise FormatError(f"{self._name}: a fastText model that cannot be read: {reason}")


def _decoded(word: bytes) -> str | None:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return None


def _vectors(parts: _Parts, words: list[str | None]) -> NDArray[np.float32]:
    """Return the mean of the rows of each word and its n-grams, float32, shape (len(words), D)."""
    vectors = np.array(parts.matrix[: len(words)], np.float32)
    for start in range(0, len(words), _WORDS_AT_ONCE):
        block = vectors[start : start + _WORDS_AT_ONCE]
        rows = [_rows_of_ngrams(word, parts) for word in words[start : start + _WORDS_AT_ONCE]]
        n_rows = np.fromiter(map(len, rows), np.int64, len(rows))
        with np.errstate(all="ignore"):  # NaN in the file is found later
            # One n-gram of every word at a time: sums in the order of fastText and gensim, to the last bit.
            for place in range(n_rows.max(initial=0)):
                having = np.flatnonzero(n_rows > place)
                block[having] += parts.matrix[[rows[i][place] for i in having.tolist()]]
            block /= (n_rows + 1)[:, np.newaxis].astype(np.float32)
    return vectors


def _rows_of_ngrams(word: str | None, parts: _Parts) -> list[int]:
    from gensim.models.fasttext import ft_ngram_hashes

    header = parts.header
    if word is None or word == _END_OF_SENTENCE or header.least < 0 or header.n_buckets == 0:
        return []
    buckets = ft_ngram_hashes(word, max(1, header.least), header.most, header.n_buckets)
    return [len(parts.words) + bucket for bucket in buckets]


FORMAT = Format("fasttext-bin", "fastText model (read only)", (), detects, read, None)
