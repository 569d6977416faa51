"""Scores vectors against each other by four metrics, block by block, and finds the best rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.config import METRICS, SIMILARITIES
from w2v.errors import ConfigError

ROWS_AT_ONCE = 4096
_FEW_QUERIES = 4

Floats = NDArray[np.float32]


def check_metric(metric: str) -> None:
    """Raise ConfigError unless the metric is one of `METRICS`."""
    if metric not in METRICS:
        raise ConfigError(f"metric must be one of {', '.join(METRICS)}; got {metric!r}")


def row_slices(n_rows: int, at_once: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """Yield the slices that cut n rows into blocks; a block of vectors stays in the processor's cache."""
    for start in range(0, n_rows, at_once):
        yield slice(start, min(start + at_once, n_rows))


def row_norms(vectors: NDArray[Any]) -> Floats:
    """Return the L2 norm of every row, float32, shape (V,)."""
    norms = np.empty(len(vectors), np.float32)
    for rows in row_slices(len(vectors)):
        norms[rows] = np.sqrt(np.einsum("ij,ij->i", vectors[rows], vectors[rows]))
    return norms


def score_rows(vectors: Floats, queries: Floats, metric: str, norms: Floats | None = None) -> Floats:
    """Score every row against every query.

    Parameters
    ----------
    vectors : ndarray of float32, shape (V, D)
        Read once, from first to last; may be memory-mapped.
    queries : ndarray of float32, shape (Q, D)
    metric : {"cosine", "dot", "euclidean", "manhattan"}
    norms : ndarray of float32, shape (V,), optional
        L2 norms of the rows, where they are known; for cosine.

    Returns
    -------
    ndarray of float32, shape (Q, V)
        Similarities, or distances for the last two. The cosine with a zero vector is 0.
    """
    check_metric(metric)
    scores = np.empty((len(queries), len(vectors)), np.float32)
    if metric == "cosine":
        queries = unit_rows(queries)
    for rows in row_slices(len(vectors)):
        block = vectors[rows]
        if metric in SIMILARITIES:
            scores[:, rows] = _products(queries, block)
            if metric == "cosine":
                lengths = norms[rows] if norms is not None else np.sqrt(np.einsum("ij,ij->i", block, block))
                scores[:, rows] /= np.where(lengths > 0, lengths, 1)
        else:
            order = 2 if metric == "euclidean" else 1
            for query, out in zip(queries, scores, strict=True):
                out[rows] = np.linalg.norm(block - query, ord=order, axis=1)
    return scores


def _products(queries: Floats, block: Floats) -> Floats:
    """Return the inner products of queries and rows, shape (Q, n).

    For a few queries memory bandwidth is the limit; BLAS threads would only spin.
    """
    if len(queries) > _FEW_QUERIES:
        return np.asarray(queries @ block.T)
    return np.array([np.einsum("ij,j->i", block, query) for query in queries], np.float32)


def unit_rows(vectors: NDArray[Any]) -> Floats:
    """Return rows scaled to length 1, float32; rows of zeros, or too long for float32, become zeros."""
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def best_rows(scores: Floats, n: int, metric: str) -> NDArray[np.int64]:
    """Return the rows of the n nearest, nearest first, ties in row order.

    Parameters
    ----------
    scores : ndarray of float32, shape (V,)
    n : int
    metric : {"cosine", "dot", "euclidean", "manhattan"}

    Returns
    -------
    ndarray of int64, shape (min(n, V),)
    """
    n = min(n, len(scores))
    if n <= 0:
        return np.empty(0, np.int64)
    distances = -scores if metric in SIMILARITIES else scores
    bound = np.partition(distances, n - 1)[n - 1]
    candidates = np.flatnonzero(distances <= bound)
    return candidates[np.argsort(distances[candidates], kind="stable")][:n]
