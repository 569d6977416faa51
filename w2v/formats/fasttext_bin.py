"""fastText's own `.bin`, read only: the vectors of its words, with their n-grams in; read by gensim's loader.

That loader takes what the file's header says on trust. So the header, the dictionary and the sizes are walked
through here first: a file that cannot be what it says is refused before anything is allocated.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, NoReturn

import numpy as np

from w2v.errors import FormatError
from w2v.formats.base import Format, ReadOptions
from w2v.formats.rows import from_matrix
from w2v.formats.source import Source
from w2v.vectors.word_vectors import WordVectors

_MAGIC = struct.pack("<i", 793712314)
_VERSIONS = (11, 12)
_SUPERVISED = 3


def detects(source: Source) -> bool:
    """Say whether a source is a fastText model."""
    return source.head.startswith(_MAGIC)


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Read the vectors of the words."""
    path = source.plain_path().absolute()
    with path.open("rb") as file:
        _Walk(file, str(source), source.size or 0).check()
    from gensim.models.fasttext import load_facebook_vectors

    try:
        with np.errstate(all="ignore"):  # NaN in the file is found below
            kv = load_facebook_vectors(str(path))
    except (ValueError, NotImplementedError, AssertionError, EOFError, struct.error, UnicodeError) as error:
        raise FormatError(f"{source}: gensim cannot read this fastText model ({error})") from None
    counts = np.asarray(kv.expandos["count"], np.int64) if "count" in kv.expandos else None
    return from_matrix(list(kv.index_to_key), counts, kv.vectors, source, options, FORMAT.name)


class _Walk:
    """One pass over the file, up to the matrix, that compares what is said with what is there."""

    def __init__(self, file: BinaryIO, name: str, size: int) -> None:
        self.file = file
        self.name = name
        self.size = size

    def check(self) -> None:
        _, version, *settings = self._unpack("<14id")[:-1]
        dimensions, model, bucket = settings[0], settings[7], settings[8]
        if version not in _VERSIONS:
            self._refuse(f"expected version {' or '.join(map(str, _VERSIONS))}, got {version}")
        if model == _SUPERVISED:
            self._refuse("a classifier, not word vectors; train with skipgram or cbow")
        n_entries, n_words, n_labels, _, n_pruned = self._unpack("<3i2q")
        if n_labels or n_entries != n_words or n_pruned > 0:
            self._refuse(f"expected words only, got {n_labels} labels and {max(n_pruned, 0)} pruned n-grams")
        if not (0 < n_words * 10 <= self.size and dimensions > 0 and bucket >= 0):
            self._refuse(
                f"{n_words:,} words, {dimensions:,} dimensions and {bucket:,} buckets cannot be right"
            )
        self._walk_dictionary(n_words)
        (is_quantized,) = self._unpack("<?")
        n_rows, n_columns = self._unpack("<2q") if not is_quantized else self._refuse("quantized (.ftz)")
        if (n_rows, n_columns) != (n_words + bucket, dimensions):
            self._refuse(
                f"expected a matrix of {n_words + bucket} x {dimensions}, got {n_rows} x {n_columns}"
            )
        if n_rows * n_columns * 4 > self.size - self.file.tell():
            self._refuse(f"the matrix takes {n_rows * n_columns * 4:,} bytes; is the file cut short?")

    def _walk_dictionary(self, n_words: int) -> None:
        """Pass over n entries: a word, a zero byte, its count (8 bytes) and its kind (1 byte)."""
        rest, done = b"", 0
        while done < n_words:
            chunk = self.file.read(1 << 20)
            data, at = rest + chunk, 0
            while done < n_words and (end := data.find(b"\0", at)) >= 0 and end + 10 <= len(data):
                at, done = end + 10, done + 1
            rest = data[at:]
            if done < n_words and (not chunk or len(rest) > 1 << 22):
                self._refuse(f"the dictionary ends after {done} of {n_words} words; is the file cut short?")
        self.file.seek(-len(rest), 1)

    def _unpack(self, layout: str) -> tuple[int, ...]:
        data = self.file.read(struct.calcsize(layout))
        if len(data) < struct.calcsize(layout):
            self._refuse("ends within its header")
        return struct.unpack(layout, data)

    def _refuse(self, reason: str) -> NoReturn:
        raise FormatError(f"{self.name}: a fastText model that cannot be read: {reason}")


FORMAT = Format("fasttext-bin", "fastText model (read only)", (), detects, read, None)
