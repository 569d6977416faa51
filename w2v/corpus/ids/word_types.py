"""The distinct words of a text, called types: their bytes and counts, and a dict that numbers tokens."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v.errors import CorpusError

MAX_TYPES = 2**31 - 1


class Types(NamedTuple):
    """Distinct words: word i is blob[offsets[i]:offsets[i + 1]] in UTF-8 and occurs counts[i] times."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def from_words(cls, words: Iterable[str], counts: NDArray[np.int64]) -> Types:
        """Encode words.

        Raises
        ------
        CorpusError
            If a word holds a lone surrogate.
        """
        try:
            encoded = [word.encode() for word in words]
        except UnicodeEncodeError as error:
            raise CorpusError(f"the token {error.object!r} has a lone surrogate, which is no text") from None
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return cls(np.frombuffer(b"".join(encoded), np.uint8), _offsets(lengths), counts)

    def words(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Decode the words start..stop."""
        stop = len(self.counts) if stop is None else stop
        first = int(self.offsets[start])
        data = self.blob[first : self.offsets[stop]].tobytes()
        borders = (self.offsets[start : stop + 1] - first).tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(borders)]

    def take(self, rows: NDArray[np.int64]) -> Types:
        """Return the words of these rows, in their order."""
        from w2v.corpus.ids.scan_kernels import gather_words

        offsets = _offsets(np.diff(self.offsets)[rows])
        blob = np.empty(offsets[-1], np.uint8)
        gather_words(self.blob, self.offsets, rows, blob)
        return Types(blob, offsets, self.counts[rows])


def _offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


class Numbering(dict[str, int]):
    """Map each token to the id of the word it becomes, -1 if it is dropped.

    Parameters
    ----------
    word_of : callable
        From a token to its word, "" to drop it; called once for each distinct token.
    """

    def __init__(self, word_of: Callable[[str], str]) -> None:
        self._word_of = word_of
        self.words: dict[str, int] = {}

    def __missing__(self, token: str) -> int:
        word = self._word_of(token)
        word_id = self.words.setdefault(word, len(self.words)) if word else -1
        if word_id >= MAX_TYPES:
            raise CorpusError(f"the corpus has over {MAX_TYPES} distinct words, more than int32 ids can name")
        self[token] = word_id
        return word_id

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the ids of the tokens that stay."""
        ids = list(map(self.__getitem__, tokens))
        return [word_id for word_id in ids if word_id >= 0] if -1 in ids else ids
