"""Finds the rotation of one space of vectors onto another: orthogonal Procrustes. No words, no files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.vectors.scoring import Floats, row_slices

Doubles = NDArray[np.float64]


def best_rotation(blocks: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> Doubles:
    """Return the orthogonal matrix R that makes the squared distance of `source @ R` and `target` least.

    With U S V^T the singular value decomposition of source^T target, R is U V^T (Schoenemann 1966). R may
    contain a reflection; it never scales.

    Parameters
    ----------
    blocks : iterable of (source, target)
        Rows that belong together, a block at a time and at least one block: ndarrays of float, both of shape
        (n, D).

    Returns
    -------
    ndarray of float64, shape (D, D)
    """
    products = (source.astype(np.float64).T @ target.astype(np.float64) for source, target in blocks)
    total = next(iter(products))
    for product in products:
        total += product
    left, _, right = np.linalg.svd(total)
    return np.asarray(left @ right, np.float64)


def rotated(vectors: Floats, rotation: Doubles) -> Floats:
    """Return the rows times a rotation, float32, shape (V, D); products and sums are float64."""
    turned = np.empty((len(vectors), rotation.shape[1]), np.float32)
    for rows in row_slices(len(vectors)):
        turned[rows] = vectors[rows].astype(np.float64) @ rotation
    return turned


def unit_doubles(vectors: NDArray[Any]) -> Doubles:
    """Return rows scaled to length 1, float64; rows of zeros stay zeros."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float64)
