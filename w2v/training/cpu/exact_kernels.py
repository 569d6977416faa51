"""The exact kernels, one update a pair as in word2vec.c: the yardstick. Signature: `block_kernels`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls
# numba infers the types: one source serves float32 and float64.
from __future__ import annotations

import numpy as np

from w2v.system.compiling import helper, kernel
from w2v.training.cpu.arguments import EDGE, EXACT_SHIFT
from w2v.training.cpu.draws import draw_width, find_word, gather_job, random_bits
from w2v.training.cpu.lanes import LANES, address_of, fma, lane_sum, load_lanes, size_of, splat, store_lanes


@helper
def _dot(zero, n_bytes, a, b):
    total = splat(zero)
    for k in range(0, n_bytes, LANES * size_of(zero)):
        total = fma(load_lanes(zero, a + k), load_lanes(zero, b + k), total)
    return lane_sum(total)


@helper
def _add_scaled(zero, n_bytes, factor, source, target):
    for k in range(0, n_bytes, LANES * size_of(zero)):
        lanes = fma(splat(factor), load_lanes(zero, source + k), load_lanes(zero, target + k))
        store_lanes(target + k, lanes)


@helper
def _train_target(tables, plan, zero, row, update, target, alpha, state):
    """Train one row on one target word and K negatives of its own, one after the other, as word2vec.c does.

    A negative that is the target is left out. **Updates** `w_out`, the row at `update`. **Returns** the loss.
    """
    n_bytes = tables.w_out.strides[0]
    loss = 0.0
    for k in range(plan.negative + 1):
        word_id = np.int64(target)
        if k > 0:
            word_id = find_word(tables, random_bits(state) >> np.uint64(EXACT_SHIFT))
            if word_id == target:
                continue
        column = address_of(tables.w_out) + word_id * n_bytes
        x = _dot(zero, n_bytes, row, column)
        sign = np.float64(1) if k > 0 else np.float64(-1)
        decay = np.exp(-abs(np.float64(x)))
        sigmoid = 1 / (1 + decay) if x >= 0 else decay / (1 + decay)
        loss += max(sign * x, 0.0) + np.log1p(decay)
        factor = tables.w_out.dtype.type(alpha * ((k == 0) - sigmoid))
        _add_scaled(zero, n_bytes, factor, column, update)
        _add_scaled(zero, n_bytes, factor, row, column)
    return loss


@kernel
def train_skipgram_exact(tables, plan, shape, scratch, job):
    """Skip-gram pair by pair: each context's input vector predicts the centre (word2vec.c, TrainModelThread).

    **Updates** `w_in`, `w_out`, `scratch`. **Race** `w_in`, `w_out`, see above.
    """
    zero = shape.tail[0]
    n_bytes = tables.w_in.strides[0]
    scratch.state[0] = job.seed
    n = gather_job(tables, plan, scratch, job)
    begin = plan.window + EDGE
    update = address_of(scratch.full_rows)
    n_pairs = loss = 0.0
    for i in range(n):
        alpha = job.alpha_start + (job.alpha_stop - job.alpha_start) * i / n
        width = draw_width(plan, scratch.state)
        for j in range(i - min(scratch.left[i], width), i + min(scratch.right[i], width) + 1):
            if j != i:
                row = address_of(tables.w_in) + scratch.ids[begin + j] * n_bytes
                scratch.full_rows[0] = zero
                loss += _train_target(
                    tables, plan, zero, row, update, scratch.ids[begin + i], alpha, scratch.state
                )
                _add_scaled(zero, n_bytes, zero + tables.w_in.dtype.type(1), update, row)
                n_pairs += 1
    return n, n_pairs, loss


@kernel
def train_cbow_exact(tables, plan, shape, scratch, job):
    """CBOW centre by centre: the mean of the contexts' input vectors predicts the centre.

    **Updates** `w_in`, `w_out`, `scratch`. **Race** `w_in`, `w_out`, see above.
    """
    zero, dtype = shape.tail[0], tables.w_in.dtype.type
    n_bytes = tables.w_in.strides[0]
    scratch.state[0] = job.seed
    n = gather_job(tables, plan, scratch, job)
    begin = plan.window + EDGE
    update, mean = address_of(scratch.full_rows), address_of(scratch.full_rows) + scratch.full_rows.strides[0]
    n_pairs = loss = 0.0
    for i in range(n):
        alpha = job.alpha_start + (job.alpha_stop - job.alpha_start) * i / n
        width = draw_width(plan, scratch.state)
        low, high = i - min(scratch.left[i], width), i + min(scratch.right[i], width)
        if low == high:
            continue
        scratch.full_rows[0:2] = zero
        factor = dtype(1) / dtype(high - low)
        for j in range(low, high + 1):
            if j != i:
                row = address_of(tables.w_in) + scratch.ids[begin + j] * n_bytes
                _add_scaled(zero, n_bytes, factor, row, mean)
        loss += _train_target(tables, plan, zero, mean, update, scratch.ids[begin + i], alpha, scratch.state)
        n_pairs += 1
        for j in range(low, high + 1):
            if j != i:
                row = address_of(tables.w_in) + scratch.ids[begin + j] * n_bytes
                _add_scaled(zero, n_bytes, factor if plan.corrected else dtype(1), update, row)
    return n, n_pairs, loss
