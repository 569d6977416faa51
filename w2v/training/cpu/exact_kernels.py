"""The exact kernels, one update a pair as in word2vec.c: the yardstick of the block kernels.

They have the signature of the block kernels; their draws stand in `draws`. Race (Hogwild, see there): workers
add to `w_in` and `w_out` without locks, and none has rows of its own.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls
# numba infers the types: one source serves float32 and float64.
from __future__ import annotations

import numpy as np

from w2v.system.addresses import address_of
from w2v.system.compiling import helper, kernel
from w2v.training.cpu.arguments import EXACT_SHIFT
from w2v.training.cpu.draws import draw_window, find_word, gather_job, is_frozen, random_bits
from w2v.training.cpu.lanes import LANES, fma, lane_sum, load_lanes, size_of, splat, store_lanes


@helper
def _dot(dtype_tag, n_bytes, a, b):
    total = splat(dtype_tag)
    for k in range(0, n_bytes, LANES * size_of(dtype_tag)):
        total = fma(load_lanes(dtype_tag, a + k), load_lanes(dtype_tag, b + k), total)
    return lane_sum(total)


@helper
def _add_scaled(dtype_tag, n_bytes, factor, source, target):
    for k in range(0, n_bytes, LANES * size_of(dtype_tag)):
        lanes = fma(splat(factor), load_lanes(dtype_tag, source + k), load_lanes(dtype_tag, target + k))
        store_lanes(target + k, lanes)


@helper
def _train_target(tables, settings, dtype_tag, row, update, target, alpha, state):
    """Train one row on one target word and K negatives of its own, one after the other, as word2vec.c does.

    A negative that is the target is left out. **Updates** `w_out`, the row at `update`. **Returns** the loss.
    """
    n_bytes = tables.w_out.strides[0]
    loss = 0.0
    for k in range(settings.negative + 1):
        word_id = np.int64(target)
        if k > 0:
            word_id = find_word(tables, random_bits(state) >> np.uint64(EXACT_SHIFT))
            if word_id == target:
                continue
        column = address_of(tables.w_out) + word_id * n_bytes
        x = _dot(dtype_tag, n_bytes, row, column)
        sign = np.float64(1) if k > 0 else np.float64(-1)
        decay = np.exp(-abs(np.float64(x)))
        sigmoid = 1 / (1 + decay) if x >= 0 else decay / (1 + decay)
        loss += max(sign * x, 0.0) + np.log1p(decay)
        factor = tables.w_out.dtype.type(alpha * ((k == 0) - sigmoid))
        _add_scaled(dtype_tag, n_bytes, factor, column, update)
        _add_scaled(dtype_tag, n_bytes, factor, row, column)
    return loss


@kernel
def train_skipgram_exact(tables, settings, layout, scratch, job):
    """Skip-gram pair by pair: each context's input vector predicts the centre (word2vec.c, TrainModelThread).

    **Updates** `w_in`, `w_out`, `scratch`. **Race** `w_in`, `w_out`; see the top of this file.
    """
    dtype_tag, dtype = layout.tail[0], tables.w_in.dtype.type
    n_bytes, update = tables.w_in.strides[0], address_of(scratch.update)
    ids, left, right = scratch.positions
    scratch.state[0] = job.seed
    n = gather_job(tables, settings, scratch.positions, scratch.state, job)
    begin = settings.window
    n_pairs = loss = 0.0
    for i in range(n):
        alpha = job.alpha_start + (job.alpha_stop - job.alpha_start) * i / n
        width = draw_window(settings, scratch.state)
        for j in range(i - min(left[i], width), i + min(right[i], width) + 1):
            if j != i:
                row = address_of(tables.w_in) + ids[begin + j] * n_bytes
                # Added after all K + 1 words, as word2vec.c (neu1e): they all see the row as it was.
                scratch.update[:] = dtype(0)
                loss += _train_target(
                    tables, settings, dtype_tag, row, update, ids[begin + i], alpha, scratch.state
                )
                if not is_frozen(tables.frozen, ids[begin + j]):
                    _add_scaled(dtype_tag, n_bytes, dtype(1), update, row)
                n_pairs += 1
    return n, n_pairs, loss


@kernel
def train_cbow_exact(tables, settings, layout, scratch, job):
    """CBOW centre by centre: the mean of the contexts' input vectors predicts the centre.

    **Updates** `w_in`, `w_out`, `scratch`. **Race** `w_in`, `w_out`; see the top of this file.
    """
    dtype_tag, dtype = layout.tail[0], tables.w_in.dtype.type
    n_bytes, update, mean = tables.w_in.strides[0], address_of(scratch.update), address_of(scratch.mean)
    ids, left, right = scratch.positions
    scratch.state[0] = job.seed
    n = gather_job(tables, settings, scratch.positions, scratch.state, job)
    begin = settings.window
    n_pairs = loss = 0.0
    for i in range(n):
        alpha = job.alpha_start + (job.alpha_stop - job.alpha_start) * i / n
        width = draw_window(settings, scratch.state)
        low, high = i - min(left[i], width), i + min(right[i], width)
        if low == high:
            continue
        scratch.update[:] = dtype(0)
        scratch.mean[:] = dtype(0)
        factor = dtype(1) / dtype(high - low)
        for j in range(low, high + 1):
            if j != i:
                row = address_of(tables.w_in) + ids[begin + j] * n_bytes
                _add_scaled(dtype_tag, n_bytes, factor, row, mean)
        loss += _train_target(tables, settings, dtype_tag, mean, update, ids[begin + i], alpha, scratch.state)
        n_pairs += 1
        for j in range(low, high + 1):
            if j != i and not is_frozen(tables.frozen, ids[begin + j]):
                row = address_of(tables.w_in) + ids[begin + j] * n_bytes
                _add_scaled(dtype_tag, n_bytes, factor if settings.corrected else dtype(1), update, row)
    return n, n_pairs, loss
