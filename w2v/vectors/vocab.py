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
    counts : ndarray of int64, shape (V,)
        Occurrences in the corpus, in tokens; 0 for a word of a given vocabulary that the corpus lacks.

    Raises
    ------
    ConfigError
        If a word occurs twice, or the two lengths differ.
    """

    words: Sequence[str]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.words) != len(self.counts):
            raise ConfigError(f"a vocabulary of {len(self.words)} words has {len(self.counts)} counts")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

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
