"""The weight of an embedding: rows copied once from a model, and rows initialised here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from w2v.errors import ConfigError, FormatError
from w2v.pytorch.options import TableOptions
from w2v.vectors.scoring import row_slices

# How to initialise a row that is not in the model.
ZERO, MEAN, RANDOM = -1, -2, -3
_ROWS_AT_ONCE = 1024
INITS = {"mean": MEAN, "zero": ZERO, "random": RANDOM}


def init_code(unknown_init: str) -> int:
    """Return the code of an `unknown_init`, or raise ConfigError."""
    if unknown_init not in INITS:
        raise ConfigError(f"unknown_init must be one of {', '.join(INITS)}; got {unknown_init!r}")
    return INITS[unknown_init]


def build_table(
    vectors: NDArray[np.floating[Any]],
    sources: NDArray[np.int64],
    options: TableOptions,
) -> Tensor:
    """Build the weight of an embedding; each row is copied once, block by block.

    Parameters
    ----------
    vectors : ndarray of float, shape (V, D)
        Unchanged; may be memory-mapped.
    sources : ndarray of int64, shape (R,)
        The row of `vectors` to copy, or ZERO, MEAN (of the copied rows) or RANDOM (normal, with mean and
        standard deviation of the copied rows in each dimension).
    options : TableOptions
        Copied rows are multiplied by `scale` first. Mean and deviation are taken after that. Then rows longer
        than `cut_now` are scaled down to it. Random rows are drawn in row order. Default dtype: float32.

    Returns
    -------
    Tensor, shape (R, D)

    Raises
    ------
    FormatError
        If a row is not finite, or too large for the dtype.
    """
    dtype, cut = options.dtype or torch.float32, options.cut_now
    dimensions = vectors.shape[1]
    weight = torch.empty((len(sources), dimensions), dtype=dtype, device=options.device)
    moments = _Moments(dimensions)
    scratch = np.empty((min(len(sources), _ROWS_AT_ONCE), dimensions), np.float32)
    for rows in row_slices(len(sources), _ROWS_AT_ONCE):
        taken = np.flatnonzero(sources[rows] >= 0)
        if not len(taken):
            continue
        in_place = _as_array(weight[rows]) if len(taken) == len(weight[rows]) else None
        values = scratch[: len(taken)] if in_place is None else in_place
        from_rows = sources[rows][taken]
        with np.errstate(over="ignore"):
            np.multiply(
                _take(vectors, from_rows), options.scale, out=values, dtype=np.float32, casting="unsafe"
            )
        _check_range(values, from_rows, dtype)
        moments.add(values)
        _cut(values, cut)
        if in_place is None:
            _put(weight[rows], taken, values)
    _make_up(weight, sources, moments, np.random.default_rng(options.seed), cut)
    return weight


class _Moments:
    """Sums over the copied rows, for their mean and standard deviation."""

    def __init__(self, dimensions: int) -> None:
        self.n = 0
        self._sum = np.zeros(dimensions)
        self._squares = np.zeros(dimensions)

    def add(self, values: NDArray[np.float32]) -> None:
        self.n += len(values)
        self._sum += values.sum(axis=0, dtype=np.float64)
        self._squares += np.einsum("ij,ij->j", values, values)

    @property
    def mean(self) -> NDArray[np.float64]:
        return self._sum / max(1, self.n)

    @property
    def deviation(self) -> NDArray[np.float64]:
        return np.sqrt(np.maximum(0, self._squares / max(1, self.n) - self.mean**2))


def _take(vectors: NDArray[np.floating[Any]], rows: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
    """Return rows; a view if they are consecutive, which saves a copy."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return vectors[rows[0] : rows[-1] + 1]
    return vectors[rows]


def _check_range(values: NDArray[np.float32], from_rows: NDArray[np.int64], dtype: torch.dtype) -> None:
    most = min(torch.finfo(dtype).max, float(np.finfo(np.float32).max))
    # Checked without building a mask; a NaN makes both comparisons false.
    if values.min(initial=0.0) >= -most and values.max(initial=0.0) <= most:
        return
    bad = int(np.argmin((np.abs(values) <= most).all(axis=1)))
    if np.isnan(values[bad]).any() or dtype == torch.float32:
        raise FormatError(f"row {from_rows[bad]} of the model holds NaN or infinity")
    raise FormatError(
        f"row {from_rows[bad]} of the model has a number too large for {str(dtype).removeprefix('torch.')} "
        f"(the most is {most:,.0f})"
    )


def _cut(values: NDArray[np.float32], cut: float | None) -> None:
    if cut is not None:
        lengths = np.sqrt(np.einsum("ij,ij->i", values, values, dtype=np.float64))
        values *= (cut / np.maximum(lengths, cut))[:, np.newaxis].astype(np.float32)


def _as_array(block: Tensor) -> NDArray[np.float32] | None:
    """Return rows of the tensor as a writable array, if they are float32 on the CPU."""
    return block.numpy() if block.dtype == torch.float32 and block.device.type == "cpu" else None


def _put(block: Tensor, places: NDArray[np.int64], values: NDArray[np.float32]) -> None:
    block[torch.from_numpy(places).to(block.device)] = torch.from_numpy(values).to(block)


def _make_up(
    weight: Tensor,
    sources: NDArray[np.int64],
    moments: _Moments,
    rng: np.random.Generator,
    cut: float | None,
) -> None:
    """Initialise the rows that are not in the model."""
    shape = (1, weight.shape[1])
    made: dict[int, Callable[[], NDArray[np.float64]]] = {
        ZERO: lambda: np.zeros(shape),
        MEAN: lambda: moments.mean[np.newaxis],
        RANDOM: lambda: rng.normal(moments.mean, moments.deviation)[np.newaxis],
    }
    for row in np.flatnonzero(sources < 0).tolist():
        values = made[int(sources[row])]().astype(np.float32)
        _cut(values, cut)
        weight[row] = torch.from_numpy(values[0]).to(weight)
