"""What all threads share: weights, and tables of subsampling and negative sampling; made once a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.corpus.ids.encoded_corpus import EncodedCorpus
from w2v.training.cpu.arguments import EXACT_SHIFT, KernelSettings, Tables
from w2v.training.cpu.own_rows import choose_own_words
from w2v.training.weights import Weights
from w2v.vectors.vocab import keep_probabilities

KEEP_ALWAYS = 2**32 - 1


def block_tables(
    corpus: EncodedCorpus, config: TrainConfig, settings: KernelSettings, weights: Weights
) -> Tables:
    """Make the tables of the block kernels, which draw one negative from each of M parts of 32 bits."""
    return _make_tables(corpus, config, settings, weights, settings.block_negatives << 32)


def exact_tables(
    corpus: EncodedCorpus, config: TrainConfig, settings: KernelSettings, weights: Weights
) -> Tables:
    """Make the tables of the exact kernels, which draw every negative with 48 random bits."""
    return _make_tables(corpus, config, settings, weights, 1 << 64 - EXACT_SHIFT)


def _make_tables(
    corpus: EncodedCorpus, config: TrainConfig, settings: KernelSettings, weights: Weights, scale: int
) -> Tables:
    sampler = NegativeSampler.build(corpus.vocab.counts, config.ns_exponent, scale)
    own_words, own_slots = choose_own_words(corpus.vocab.counts, settings.own_rows)
    frozen = np.zeros(0, bool) if weights.frozen is None else weights.frozen
    return Tables(
        tokens=_read_only(corpus.tokens),
        offsets=_read_only(corpus.offsets),
        keep=keep_thresholds(corpus.vocab.counts, config.sample),
        cdf=sampler.cdf,
        guide=sampler.guide,
        guide_shift=np.uint64(sampler.guide_shift),
        w_in=weights.w_in,
        w_out=weights.w_out,
        frozen=frozen.astype(np.uint8),
        own_words=own_words,
        own_slots=own_slots,
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a plain read-only view: one array type, so that the kernels are compiled once."""
    view: NDArray[Any] = np.asarray(array).view()
    view.flags.writeable = False
    return view


def keep_thresholds(counts: NDArray[np.int64], sample: float) -> NDArray[np.uint32]:
    """Return how likely each word is to survive subsampling, as thresholds for 32 random bits.

    Returns
    -------
    ndarray of uint32, shape (V,)
        A token is kept if 32 random bits are at most the threshold.
    """
    return (keep_probabilities(counts, sample) * KEEP_ALWAYS).astype(np.uint32)


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
