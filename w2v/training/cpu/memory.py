"""The layout of rows, padded to whole registers, and each worker's scratch."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from w2v.config import TrainConfig
from w2v.training.cpu.arguments import (
    CACHE_LINE,
    SLOTS,
    Block,
    BlockScratch,
    CbowSums,
    ExactScratch,
    KernelSettings,
    OwnRows,
    PairWeights,
    Positions,
    RowLayout,
    TargetChains,
)
from w2v.training.cpu.lanes import LANES, WIDEST

_ROWS_AT_ONCE = 65_536
_SAME_SETS = 2_048  # bytes: half of what lies in one way of all sets of an L1 cache
# Words that are in nearly every block; of a small vocabulary fewer, as own rows learn a little slower. 512 in
# place of 128 are 2 to 4 % slower.
_OWN_ROWS = 128
_WORDS_AN_OWN_ROW = 256


def make_settings(config: TrainConfig, workers: int, n_words: int) -> KernelSettings:
    """Turn resolved settings into those of the kernels."""
    has_own_rows = workers > 1 and config.objective.works_in_blocks
    return KernelSettings(
        window=config.window,
        negative=config.negative,
        shrink=int(config.shrink_windows),
        corrected=int(config.cbow_update == "corrected"),
        block_size=config.block_size,
        block_negatives=cast(int, config.block_negatives),
        workers=workers,
        own_rows=min(_OWN_ROWS, n_words // _WORDS_AN_OWN_ROW) if has_own_rows else 0,
    )


def make_layout(vector_size: int, dtype: DTypeLike = np.float32) -> RowLayout:
    """Cut a row of D numbers, padded to whole lanes, into the parts that the kernels pass fastest.

    Two rows of fewer than 4 lanes do not hide the latency of a multiply-add: 100 dimensions in parts of 4, 4
    and 5 lanes (of 8) are 4 % faster than in 5, 5 and 3.
    """
    n_lanes = -(-vector_size // LANES)
    cuts = [(n_lanes, n_lanes)]
    if n_lanes > WIDEST:
        both = itertools.product(range(4, WIDEST + 1), range(1, WIDEST + 1))
        cuts = [(wide, tail) for wide, tail in both if (n_lanes - tail) % wide == 0]
    wide, tail = min(cuts, key=lambda cut: (n_lanes - cut[1]) // cut[0] * _cost(cut[0]) + _cost(cut[1]))
    zero = np.dtype(dtype).type(0)
    return RowLayout((zero,) * wide, (n_lanes - tail) // wide, (zero,) * tail)


def _cost(n_lanes: int) -> float:
    """Return about how long a multiply-add of two rows of a part takes, a lane in registers being 1."""
    return max(n_lanes, 4) + 0.7


def row_length(layout: RowLayout) -> int:
    """Return the numbers in a padded row.

    Rows of 2048 bytes would all fall on the same few sets of the L1 cache, so lanes are added: skip-gram is
    16 % faster at 512 dimensions. Rows of 512 or 1024 bytes gain nothing by that.
    """
    n_lanes = len(layout.wide) * layout.n_wide + len(layout.tail)
    n_bytes = n_lanes * LANES * layout.tail[0].itemsize
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


def skipgram_block_scratch(settings: KernelSettings, layout: RowLayout, longest_job: int) -> BlockScratch:
    """Allocate one worker's memory for jobs of up to `longest_job` tokens; a row has 2w + 1 targets."""
    weights = _skipgram_weights(settings, layout.tail[0].dtype)
    return _block_scratch(settings, layout, longest_job, 2 * settings.window, weights, None)


def cbow_block_scratch(settings: KernelSettings, layout: RowLayout, longest_job: int) -> BlockScratch:
    """Allocate one worker's memory for jobs of up to `longest_job` tokens; a row has one target."""
    dtype, length = layout.tail[0].dtype, row_length(layout)
    n_positions = _n_positions(settings, longest_job)
    size, n_contexts = settings.block_size, settings.block_size + 2 * settings.window
    sums = CbowSums(
        low=_own_zeros(n_positions, np.int32),
        high=_own_zeros(n_positions, np.int32),
        contexts=_own_zeros(n_contexts, np.int64),
        running=aligned_zeros(n_contexts + 1, _widest(layout), dtype),
        means=aligned_zeros(size, length, dtype),
    )
    return _block_scratch(settings, layout, longest_job, 0, _cbow_weights(settings, dtype), sums)


def _block_scratch(
    settings: KernelSettings,
    layout: RowLayout,
    longest_job: int,
    band: int,
    weights: PairWeights,
    sums: CbowSums | None,
) -> BlockScratch:
    dtype = layout.tail[0].dtype
    size, n_negatives = settings.block_size, settings.block_negatives
    n_positions = _n_positions(settings, longest_job)
    n_logits = n_negatives // LANES * LANES + _n_mixed(settings, band)
    return BlockScratch(
        state=_own_zeros(1, np.uint64),
        negatives=_own_zeros((longest_job // size + 2) * n_negatives, np.int32),
        positions=_positions(n_positions),
        chains=TargetChains(_own_zeros(SLOTS, np.int32), _own_zeros(n_positions, np.int32)),
        weights=weights,
        block=Block(
            rows=_own_zeros(size, np.int64),
            columns=_own_zeros(n_negatives + size + band, np.int64),
            ahead=_own_zeros(n_negatives + 2 * size, np.int64),
            logits=aligned_zeros(size, n_logits, dtype),
            hits=aligned_zeros(size, n_logits, dtype),
            updates=aligned_zeros(size, _widest(layout), dtype),
        ),
        own=OwnRows(*(aligned_zeros(settings.own_rows, row_length(layout), dtype) for _ in range(4))),
        sums=sums,
    )


def _widest(layout: RowLayout) -> int:
    """Return the numbers in the widest part of a row."""
    return LANES * max(len(layout.wide), len(layout.tail))


def exact_scratch(settings: KernelSettings, layout: RowLayout, longest_job: int) -> ExactScratch:
    """Allocate one worker's memory for jobs of up to `longest_job` tokens."""
    dtype, length = layout.tail[0].dtype, row_length(layout)
    return ExactScratch(
        state=_own_zeros(1, np.uint64),
        positions=_positions(_n_positions(settings, longest_job)),
        update=aligned_zeros(1, length, dtype)[0],
        mean=aligned_zeros(1, length, dtype)[0],
    )


def _n_positions(settings: KernelSettings, longest_job: int) -> int:
    return longest_job + 2 * (settings.window + settings.block_size)


def _positions(n: int) -> Positions:
    return Positions(*(_own_zeros(n, np.int32) for _ in range(3)))


def _pair_weights(
    settings: KernelSettings, left: NDArray[Any], right: NDArray[Any], left_totals: Any, right_totals: Any
) -> PairWeights:
    negatives = np.zeros(left.shape[1], left.dtype)
    negatives[: settings.block_negatives % LANES] = settings.negative / settings.block_negatives
    return PairWeights(
        left, right, np.array(left_totals, left.dtype), np.array(right_totals, left.dtype), negatives
    )


def _skipgram_weights(settings: KernelSettings, dtype: DTypeLike) -> PairWeights:
    """Weigh a row's targets by distance: the chance that a window drawn at random holds them."""
    window, first = settings.window, settings.block_negatives % LANES + 1
    near = np.arange(1, window + 1)
    weights = (window - near + 1) / window if settings.shrink else np.ones(window)
    reached = np.tril(np.ones((window + 1, window)), -1) * weights  # [k, d - 1]: distance d within k contexts
    left, right = (np.zeros((window + 1, _n_mixed(settings, 2 * window)), dtype) for _ in range(2))
    before, after = slice(first, first + window), slice(first + window + 1, first + 2 * window + 1)
    left[:, before] = reached[:, ::-1]
    left[:, after] = right[:, before] = 1
    right[:, after] = reached
    totals = reached.sum(axis=1)
    return _pair_weights(settings, left, right, totals, totals)


def _cbow_weights(settings: KernelSettings, dtype: DTypeLike) -> PairWeights:
    """Weigh a row's one target: 1 if the centre has contexts (`left` is 1 then), else 0."""
    first = settings.block_negatives % LANES + 1
    left, right = (np.zeros((2, _n_mixed(settings, 0)), dtype) for _ in range(2))
    left[1, first] = right[0, first] = 1
    return _pair_weights(settings, left, right, [0, 1], [0, 0])


def _n_mixed(settings: KernelSettings, band: int) -> int:
    """Return the logits of a row behind its whole lanes of negatives: other negatives, targets, two gaps."""
    return LANES * -(-(settings.block_negatives % LANES + band + 3) // LANES)
