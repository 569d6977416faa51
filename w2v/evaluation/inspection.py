"""What norms and frequency do in embeddings: cosine is not always similarity (`w2v info` prints this)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2v.config import SIMILARITIES
from w2v.embeddings import Embeddings
from w2v.vectors.scoring import best_rows, score_rows

_MOST_CANDIDATES = 50_000
_N_QUERIES = 500
_TOP = 10
_FEWEST_WORDS = 100


@dataclass(frozen=True)
class NormReport:
    """L2 norms of the rows.

    Attributes
    ----------
    mean, median, low, high : float
    n_zero : int
        Rows that are all zeros.
    count_correlation : float or None
        Spearman's correlation of norm and count; None where all counts, or all norms, are the same.
    """

    mean: float
    median: float
    low: float
    high: float
    n_zero: int
    count_correlation: float | None


@dataclass(frozen=True)
class FrequencyReport:
    """What the ten nearest words of rare words are: how much frequency decides what is near.

    Rare words are the rarest quarter (by count, or by row if there are no counts).

    Attributes
    ----------
    metric : str
    n_queries, n_candidates : int
        How many rare words were queried, evenly spaced, and among how many words.
    rare_share : float
        Share of the neighbours that are rare themselves; 0.25 if frequency played no part.
    frequent_share : float
        Share of the neighbours that belong to the most frequent tenth; 0.1 if frequency played no part.
    hub_share : float
        Share of the neighbours that come from the 1 % of words that are neighbours most often.
    """

    metric: str
    n_queries: int
    n_candidates: int
    rare_share: float
    frequent_share: float
    hub_share: float


def report_norms(model: Embeddings) -> NormReport | None:
    """Describe the norms; None for a model without words."""
    if not len(model):
        return None
    norms = model.norms
    is_telling = len(np.unique(model.counts)) > 1 and len(np.unique(norms)) > 1
    return NormReport(
        float(norms.mean(dtype=np.float64)),
        float(np.median(norms)),
        float(norms.min()),
        float(norms.max()),
        int((norms == 0).sum()),
        rank_correlation(norms, model.counts) if is_telling else None,
    )


def report_frequency(model: Embeddings) -> tuple[FrequencyReport, ...]:
    """Describe the neighbours of rare words, by cosine and by dot product; empty for under 100 words.

    At most 500 rare words are queried, among at most 50,000 evenly spaced words, so it takes a second.
    """
    if len(model) < _FEWEST_WORDS:
        return ()
    by_rank = np.argsort(-model.counts, kind="stable")
    by_rank = by_rank[np.linspace(0, len(model) - 1, min(len(model), _MOST_CANDIDATES)).astype(np.int64)]
    vectors = np.ascontiguousarray(model.vectors[by_rank])
    n = len(vectors)
    queries = np.unique(np.linspace(0.75 * n, n - 1, _N_QUERIES).astype(np.int64))
    return tuple(_report(vectors, queries, metric) for metric in SIMILARITIES)


def _report(vectors: NDArray[np.float32], queries: NDArray[np.int64], metric: str) -> FrequencyReport:
    scores = score_rows(vectors, vectors[queries], metric)
    scores[np.arange(len(queries)), queries] = -np.inf
    neighbors = np.array([best_rows(row, _TOP, metric) for row in scores])
    n = len(vectors)
    times = np.sort(np.bincount(neighbors.ravel(), minlength=n))[::-1]
    return FrequencyReport(
        metric,
        len(queries),
        n,
        float((neighbors >= 0.75 * n).mean()),
        float((neighbors < 0.1 * n).mean()),
        float(times[: max(1, n // 100)].sum() / times.sum()),
    )


def rank_correlation(a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    """Return Spearman's correlation, ties at their average rank; NaN where one side is constant."""
    with np.errstate(invalid="ignore"):
        return float(np.corrcoef(average_ranks(a), average_ranks(b))[0, 1])


def average_ranks(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the rank of each value from 0 up, equal values at the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts + 1) / 2)[inverse])
