"""Which tokens are kept and which words are drawn as negatives: tables in numpy, made once a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KEEP_ALWAYS = 2**32 - 1


def keep_thresholds(counts: NDArray[np.int64], sample: float) -> NDArray[np.uint32]:
    """Return how likely each word is to survive subsampling, as thresholds for 32 random bits.

    A word of relative frequency f is kept with probability min(1, (sqrt(f / sample) + 1) * sample / f), as in
    word2vec.c and gensim; Mikolov et al. 2013b, section 2.3, has a slightly different formula.

    Parameters
    ----------
    counts : ndarray of int64, shape (V,)
    sample : float
        0 keeps every token.

    Returns
    -------
    ndarray of uint32, shape (V,)
        A token is kept if 32 random bits are at most the threshold.
    """
    if sample == 0:
        return np.full(len(counts), KEEP_ALWAYS, np.uint32)
    return (keep_probabilities(counts, sample) * KEEP_ALWAYS).astype(np.uint32)


def keep_probabilities(counts: NDArray[np.int64], sample: float) -> NDArray[np.float64]:
    """Return the probability, float64 of shape (V,), with which each word survives subsampling."""
    if sample == 0:
        return np.ones(len(counts))
    scaled = np.maximum(counts, 1) / (sample * counts.sum())
    kept: NDArray[np.float64] = np.minimum(1.0, (np.sqrt(scaled) + 1) / scaled)
    return kept


@dataclass(frozen=True, eq=False)
class NegativeSampler:
    """Draws words by count ** exponent: inversion of the cumulative distribution, with a guide table.

    A point drawn uniformly from 0 <= point < scale belongs to the first word whose `cdf` is above it. The
    guide says where to begin looking, so that a draw takes one or two steps whatever V is.

    Parameters
    ----------
    cdf : ndarray of uint64, shape (V,)
        Cumulative distribution, scaled; cdf[V - 1] == scale.
    guide : ndarray of int32
        guide[point >> guide_shift] is the first word to look at.
    guide_shift : int
    """

    cdf: NDArray[np.uint64]
    guide: NDArray[np.int32]
    guide_shift: int

    @classmethod
    def build(cls, counts: NDArray[np.int64], exponent: float, scale: int) -> NegativeSampler:
        """Make the tables for counts of shape (V,); `scale` is at most 2**52."""
        weights = np.where(counts > 0, np.maximum(counts, 1).astype(np.float64) ** exponent, 0.0)
        cumulative = np.cumsum(weights)
        cdf = np.rint(cumulative * (scale / cumulative[-1])).astype(np.uint64)
        cdf[cumulative == cumulative[-1]] = scale
        shift = max(0, (scale - 1).bit_length() - max(8, min(22, len(counts).bit_length())))
        points = np.arange((scale - 1 >> shift) + 1, dtype=np.uint64) << np.uint64(shift)
        return cls(cdf, np.searchsorted(cdf, points, side="right").astype(np.int32), shift)
