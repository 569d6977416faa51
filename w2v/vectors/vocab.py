"""The vocabulary: words and their counts, row i is word i. No files and no text here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from w2v.errors import ConfigError

_SCANS = 16


@dataclass(frozen=True, eq=False)
class Vocab:
    """Words in row order with their corpus counts.

    Parameters
    ----------
    words : sequence of str, length V
        Row i is word i. Distinct. A trained vocabulary is sorted by falling count, ties by first appearance
        in the corpus.
    counts : ndarray of int64, or whole numbers, shape (V,)
        Occurrences in the corpus, in tokens; 0 for a word of a given vocabulary that the corpus lacks.

    Raises
    ------
    ConfigError
        If a word occurs twice or is no str, counts are no whole numbers, or the two lengths differ.
    """

    words: Sequence[str]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if isinstance(self.words, str):
            raise ConfigError(f"expected a list of words, got the text {self.words[:40]!r}")
        if isinstance(self.words, np.ndarray):
            object.__setattr__(self, "words", self.words.tolist())
        if strange := next((kind for kind in set(map(type, self.words)) if not issubclass(kind, str)), None):
            raise ConfigError(f"expected words of type str, got {strange.__name__}")
        object.__setattr__(self, "counts", _as_counts(self.counts))
        if len(self.words) != len(self.counts):
            raise ConfigError(f"a vocabulary of {len(self.words)} words has {len(self.counts)} counts")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self.index

    def find(self, word: str) -> int | None:
        """Return the row of a word, or None; see `_Rows` for what it costs."""
        return self._rows.find(word)

    @property
    def index(self) -> dict[str, int]:
        """Map from word to row, built at first use."""
        return self._rows.index

    @cached_property
    def _rows(self) -> _Rows:
        return _Rows(self.words)


def _as_counts(counts: NDArray[np.int64] | Sequence[int]) -> NDArray[np.int64]:
    """Return counts as int64, shape (V,); the same array where it is that."""
    array = np.asarray(counts)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ConfigError(
            f"expected one whole number a word as counts, got {array.dtype} of shape {array.shape}"
        )
    with np.errstate(over="ignore"):
        array = array.astype(np.int64, copy=False)
    if array.size and array.min() < 0:
        raise ConfigError(f"a count is {array.min()}; expected 0 to 2 ** 63 - 1")
    return array


def keep_probabilities(counts: NDArray[np.int64], sample: float) -> NDArray[np.float64]:
    """Return the probability with which a token of each word survives subsampling.

    A word of relative frequency f is kept with probability min(1, (sqrt(f / sample) + 1) * sample / f), as in
    word2vec.c and gensim; Mikolov et al. 2013b, section 2.3, has a slightly different formula.

    Parameters
    ----------
    counts : ndarray of int64, shape (V,)
    sample : float
        0 keeps every token.

    Returns
    -------
    ndarray of float64, shape (V,)
    """
    if sample == 0:
        return np.ones(len(counts))
    scaled = np.maximum(counts, 1) / (sample * counts.sum())
    kept: NDArray[np.float64] = np.minimum(1.0, (np.sqrt(scaled) + 1) / scaled)
    return kept


class _Rows:
    """The row of each word.

    The first few lookups scan the list: for 1 M words a scan takes at most 0.01 s, building the index 0.4 s.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._n_scans = 0
        self._index: dict[str, int] | None = None

    def find(self, word: str) -> int | None:
        if self._index is not None or self._n_scans == _SCANS:
            return self.index.get(word)
        self._n_scans += 1
        try:
            return self._words.index(word)
        except ValueError:
            return None

    @property
    def index(self) -> dict[str, int]:
        if self._index is None:
            index = {word: word_id for word_id, word in enumerate(self._words)}
            if len(index) != len(self._words):
                seen: set[str] = set()
                twice = next(word for word in self._words if word in seen or seen.add(word))  # type: ignore[func-returns-value]
                raise ConfigError(f"the word {twice!r} stands twice in the vocabulary")
            self._index = index
        return self._index
