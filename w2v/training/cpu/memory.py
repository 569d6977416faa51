"""The arrays of a run: weights padded to whole registers, and each worker's scratch."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from w2v.config import TrainConfig
from w2v.training.cpu.arguments import CACHE_LINE, EDGE, SLOTS, Plan, Scratch, Shape
from w2v.training.cpu.lanes import LANES, WIDEST

_ROWS_AT_ONCE = 65_536
_SAME_SETS = 2_048  # bytes: half of what the sets of a first-level cache hold
# Words that are in nearly every block; of a small vocabulary fewer, as own rows learn a little slower.
_OWN_ROWS = 128
_WORDS_AN_OWN_ROW = 256


def make_plan(config: TrainConfig, workers: int, n_words: int) -> Plan:
    """Turn resolved settings into the kernels' plan."""
    has_own_rows = workers > 1 and config.kernel == "block"
    return Plan(
        window=config.window,
        negative=config.negative,
        shrink=int(config.shrink_windows),
        corrected=int(config.cbow_update == "corrected"),
        block=config.block_size,
        block_negatives=cast(int, config.block_negatives),
        workers=workers,
        own_rows=min(_OWN_ROWS, n_words // _WORDS_AN_OWN_ROW) if has_own_rows else 0,
    )


def make_shape(vector_size: int, dtype: DTypeLike = np.float32) -> Shape:
    """Cut a row of D numbers, padded to whole lanes, into the parts that the kernels pass fastest.

    Two rows of fewer than 4 lanes do not hide the latency of a multiply-add.
    """
    n_lanes = -(-vector_size // LANES)
    cuts = [(n_lanes, n_lanes)]
    if n_lanes > WIDEST:
        both = itertools.product(range(4, WIDEST + 1), range(1, WIDEST + 1))
        cuts = [(wide, tail) for wide, tail in both if (n_lanes - tail) % wide == 0]
    wide, tail = min(cuts, key=lambda cut: (n_lanes - cut[1]) // cut[0] * _cost(cut[0]) + _cost(cut[1]))
    zero = np.dtype(dtype).type(0)
    return Shape((zero,) * wide, (n_lanes - tail) // wide, (zero,) * tail)


def _cost(n_lanes: int) -> float:
    """Return about how long a multiply-add of two rows of a part takes, a lane in registers being 1."""
    return max(n_lanes, 4) + 0.7


def row_length(shape: Shape) -> int:
    """Return the numbers in a padded row.

    Rows of 2048 bytes would all fall on the same few sets of the first-level cache, so lanes are added: 16 %
    faster at 512 dimensions.
    """
    n_lanes = len(shape.wide) * shape.n_wide + len(shape.tail)
    n_bytes = n_lanes * LANES * shape.tail[0].itemsize
    return LANES * (n_lanes + int(n_bytes % _SAME_SETS == 0))


def aligned_zeros(n_rows: int, n_columns: int, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return zeros of shape (n_rows, n_columns) that begin at a cache line."""
    itemsize = np.dtype(dtype).itemsize
    spare = CACHE_LINE // itemsize
    memory = np.zeros(n_rows * n_columns + spare, dtype)
    begin = -memory.ctypes.data % CACHE_LINE // itemsize
    return memory[begin : begin + n_rows * n_columns].reshape(n_rows, n_columns)


def _own_zeros(n: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return n zeros in cache lines of their own: writing them must not slow another worker's reading."""
    whole = -(-n * np.dtype(dtype).itemsize // CACHE_LINE) * CACHE_LINE // np.dtype(dtype).itemsize
    return aligned_zeros(1, whole, dtype)[0, :n]


def initial_weights(
    n_words: int, vector_size: int, shape: Shape, seed: int, dtype: DTypeLike = np.float32
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return w_in, uniform in (-1, 1) / D, and w_out, zero: both (V, padded D).

    As gensim (`prep_vectors`). word2vec.c (InitNet) draws from half as wide a range, which trains a little
    slower: the loss stays 0.1 % (skip-gram) to 0.7 % (CBOW) higher.
    """
    w_in, w_out = (aligned_zeros(n_words, row_length(shape), dtype) for _ in range(2))
    generator = np.random.default_rng(seed)
    for begin in range(0, n_words, _ROWS_AT_ONCE):
        rows = w_in[begin : begin + _ROWS_AT_ONCE, :vector_size]
        rows[:] = (2 * generator.random(rows.shape, np.float32) - 1) / vector_size
    return w_in, w_out


def pack_rows(padded: NDArray[Any], vector_size: int) -> NDArray[Any]:
    """Drop the padding, in place: the rows move together in their own memory.

    Returns
    -------
    ndarray, shape (V, vector_size), C-contiguous
        A view of `padded`'s memory, whose contents are lost.
    """
    n_words = len(padded)
    flat = padded.reshape(-1)
    for begin in range(0, n_words, _ROWS_AT_ONCE):
        rows = padded[begin : begin + _ROWS_AT_ONCE, :vector_size].copy()
        flat[begin * vector_size : begin * vector_size + rows.size] = rows.reshape(-1)
    return flat[: n_words * vector_size].reshape(n_words, vector_size)


def make_scratch(plan: Plan, shape: Shape, longest_job: int, *, model: str) -> Scratch:
    """Allocate one worker's memory for jobs of up to `longest_job` tokens."""
    dtype = shape.tail[0].dtype
    block, n_negatives, window = plan.block, plan.block_negatives, plan.window
    n_positions = longest_job + 2 * (window + EDGE) + 2 * block + EDGE
    n_columns = n_negatives + block + 2 * window + EDGE
    widest = LANES * max(len(shape.wide), len(shape.tail))
    band = 2 * window if model == "sg" else 0
    n_mixed = _n_mixed(plan, band)
    n_logits = n_negatives // LANES * LANES + n_mixed
    negative_lanes = aligned_zeros(1, n_mixed, dtype)[0]
    negative_lanes[: n_negatives % LANES] = plan.negative / n_negatives
    own_in, own_out, old_in, old_out = (
        aligned_zeros(plan.own_rows, row_length(shape), dtype) for _ in range(4)
    )
    ids, left, right, low, high, earlier = (_own_zeros(n_positions, np.int32) for _ in range(6))
    return Scratch(
        state=_own_zeros(1, np.uint64),
        ids=ids,
        left=left,
        right=right,
        low=low,
        high=high,
        negatives=_own_zeros((longest_job // block + 2) * n_negatives, np.int32),
        rows=_own_zeros(block, np.int64),
        columns=_own_zeros(n_columns, np.int64),
        contexts=_own_zeros(n_columns, np.int64),
        ahead=_own_zeros(n_negatives + 2 * block, np.int64),
        logits=aligned_zeros(block, n_logits, dtype),
        hits=aligned_zeros(block, n_logits, dtype),
        latest=_own_zeros(SLOTS, np.int32),
        earlier=earlier,
        negative_lanes=negative_lanes,
        updates=aligned_zeros(block, widest, dtype),
        full_rows=aligned_zeros(block, row_length(shape), dtype),
        sums=aligned_zeros(block + 2 * window + 1, widest, dtype),
        own_in=own_in,
        own_out=own_out,
        old_in=old_in,
        old_out=old_out,
        **(_skipgram_weights if model == "sg" else _cbow_weights)(plan, dtype),
    )


def _skipgram_weights(plan: Plan, dtype: DTypeLike) -> dict[str, NDArray[Any]]:
    """Weigh a row's targets by distance: the chance that a window drawn at random holds them."""
    window, first = plan.window, plan.block_negatives % LANES + 1
    near = np.arange(1, window + 1)
    weights = (window - near + 1) / window if plan.shrink else np.ones(window)
    reached = np.tril(np.ones((window + 1, window)), -1) * weights  # [k, d - 1]: distance d within k contexts
    left, right = (np.zeros((window + 1, _n_mixed(plan, 2 * window)), dtype) for _ in range(2))
    before, after = slice(first, first + window), slice(first + window + 1, first + 2 * window + 1)
    left[:, before] = reached[:, ::-1]
    left[:, after] = right[:, before] = 1
    right[:, after] = reached
    totals = reached.sum(axis=1).astype(dtype)
    return {
        "left_weights": left,
        "right_weights": right,
        "left_totals": totals,
        "right_totals": totals.copy(),
    }


def _cbow_weights(plan: Plan, dtype: DTypeLike) -> dict[str, NDArray[Any]]:
    """Weigh a row's one target: 1 if the centre has contexts (`left` is 1 then), else 0."""
    first = plan.block_negatives % LANES + 1
    left, right = (np.zeros((2, _n_mixed(plan, 0)), dtype) for _ in range(2))
    left[1, first] = right[0, first] = 1
    return {
        "left_weights": left,
        "right_weights": right,
        "left_totals": np.array([0, 1], dtype),
        "right_totals": np.zeros(2, dtype),
    }


def _n_mixed(plan: Plan, band: int) -> int:
    """Return the logits behind a row's whole lanes of negatives: the others, its targets, two more."""
    return LANES * -(-(plan.block_negatives % LANES + band + 3) // LANES)
