"""Word similarity: correlation of cosines with human scores, with a bootstrap interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2v.embeddings import Embeddings
from w2v.evaluation.sets import PairSet
from w2v.vectors.scoring import Floats

_LEAST_PAIRS = 3
_LEVEL = 0.95


@dataclass(frozen=True)
class PairResult:
    """How well cosines agree with human scores on a set of word pairs.

    Attributes
    ----------
    name : str
    n_pairs : int
        All pairs in the file.
    n_known : int
        Those with both words in the vocabulary (all of them, if unknown ones count as similarity 0).
    spearman, pearson : float or None
        Correlations; None for fewer than 3 known pairs, or where one side is constant.
    interval : tuple of float, or None
        Spearman's 95 % bootstrap interval: resampled pairs, percentiles.
    """

    name: str
    n_pairs: int
    n_known: int
    spearman: float | None
    pearson: float | None
    interval: tuple[float, float] | None


def evaluate_pairs(
    model: Embeddings,
    pairs: PairSet,
    *,
    restrict_vocab: int = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
    n_bootstrap: int = 1000,
    seed: int = 1,
) -> PairResult:
    """Correlate cosines with human scores, with the same numbers as gensim's `evaluate_word_pairs`.

    Parameters
    ----------
    model : Embeddings
    pairs : PairSet
    restrict_vocab : int
        Only the first N words are known.
    case_insensitive : bool
        Compare words in upper case; of words that differ only in case, the first is used.
    dummy4unknown : bool
        Give pairs with unknown words the similarity 0, instead of leaving them out.
    n_bootstrap : int
        Resamples for the interval; 0 for none.
    seed : int
        Of the resampling.

    Returns
    -------
    PairResult
    """
    fold = str.upper if case_insensitive else str
    row_of: dict[str, int] = {}
    for row, word in enumerate(model.words[:restrict_vocab]):
        row_of.setdefault(fold(word), row)
    gold, scores, n_unknown = [], [], 0
    for first, second, score in pairs.pairs:
        rows = row_of.get(fold(first)), row_of.get(fold(second))
        if rows[0] is not None and rows[1] is not None:
            scores.append(_cosine(model.vectors[rows[0]], model.vectors[rows[1]]))
            gold.append(score)
        else:
            n_unknown += 1
            if dummy4unknown:
                scores.append(0.0)
                gold.append(score)
    n_known = len(gold) if n_unknown < len(pairs.pairs) else 0
    if n_known < _LEAST_PAIRS or len(set(gold)) == 1 or len(set(scores)) == 1:
        return PairResult(pairs.name, len(pairs.pairs), n_known, None, None, None)
    spearman, pearson = _correlations(gold, scores)
    interval = (
        bootstrap_interval(np.array(gold), np.array(scores), n_bootstrap, seed) if n_bootstrap else None
    )
    return PairResult(pairs.name, len(pairs.pairs), n_known, spearman, pearson, interval)


def _cosine(a: Floats, b: Floats) -> float:
    """Return the cosine as gensim computes it: both scaled in float64, rounded to float32, multiplied."""
    return float(np.dot(_unit(a), _unit(b)))


def _unit(vector: Floats) -> Floats:
    length = np.linalg.norm(vector.astype(np.float64))
    return np.asarray(vector * (1.0 / length), np.float32) if length > 0 else vector


def _correlations(gold: list[float], scores: list[float]) -> tuple[float, float]:
    from scipy import stats

    return float(stats.spearmanr(gold, scores)[0]), float(stats.pearsonr(gold, scores)[0])


def bootstrap_interval(
    gold: NDArray[np.float64], scores: NDArray[np.float64], n_samples: int, seed: int
) -> tuple[float, float]:
    """Return the percentile interval of Spearman's correlation over resampled pairs (Efron 1979).

    A resample is drawn with replacement; it is stored as the number of times each pair was drawn.
    """
    n = len(gold)
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_samples).astype(np.float64)
    a, b = _weighted_ranks(gold, draws), _weighted_ranks(scores, draws)
    a -= (draws * a).sum(axis=1, keepdims=True) / n
    b -= (draws * b).sum(axis=1, keepdims=True) / n
    spread = np.sqrt((draws * a * a).sum(axis=1) * (draws * b * b).sum(axis=1))
    with np.errstate(invalid="ignore"):
        correlations = (draws * a * b).sum(axis=1) / spread
    tail = (1 - _LEVEL) / 2
    low, high = np.nanquantile(correlations, [tail, 1 - tail])
    return float(low), float(high)


def _weighted_ranks(values: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the average rank of every value in every resample, shape (samples, n)."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=-np.inf))
    group_of = np.empty(len(values), np.int64)
    group_of[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))
    weights = np.add.reduceat(draws[:, order], starts, axis=1)
    ranks = np.cumsum(weights, axis=1) - (weights - 1) / 2
    return np.asarray(ranks[:, group_of])
