"""The block kernels: skip-gram and CBOW with negative sampling.

One call trains one job, a run of raw tokens, and returns (tokens kept, pairs, loss). Names: `w_in` (V, D) is
word2vec's syn0, `w_out` (V, D) its syn1neg; rows are padded with zeros to whole lanes (of 16 numbers with
AVX-512, else of 8). All four kernels have one signature, `kernel(tables, plan, shape, scratch, job)`.

Race (Hogwild, Recht et al. 2011). Workers add to `w_in` and `w_out` without locks. A worker may read a row
that another is writing, or lose an addition to it; rows are many and updates small, so the loss of a few
changes nothing that can be measured, but two runs with several workers are not bit-equal. Frequent words,
whose rows would travel between cores all the time, are different: each worker has its own copy of these rows,
and every some blocks moves the shared ones by its share, one by the number of workers, of what it added.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls
# numba infers the types: one source serves float32 and float64.
from __future__ import annotations

import numpy as np

from w2v.system.compiling import helper, kernel
from w2v.training.cpu.arguments import CACHE_LINE, EDGE, NEAR_BYTES, SHARED_BLOCKS, SLOTS
from w2v.training.cpu.draws import draw_width, find_word, gather_job, random_bits
from w2v.training.cpu.lanes import (
    LANES,
    add_row,
    address_of,
    fma,
    lane_sum,
    load_int,
    load_lanes,
    load_row,
    multiply,
    multiply_2_by_2,
    multiply_2_by_4,
    multiply_2_by_6,
    plus_scaled,
    plus_scaled_2,
    prefetch,
    sigmoid_softplus,
    size_of,
    splat,
    store_lanes,
    store_row,
    subtract,
    zero_row,
)


@helper
def _draw_negatives(tables, plan, scratch, n_blocks):
    """Draw the negatives of all blocks of a job: M each, one from each of M equal strata of the distribution.

    A stratum gives one to every block: points at equal distances from a random one, in random order. So a job
    sees the distribution nearly as it is (less variance), and tables are read in order (fewer cache misses).
    """
    n_negatives, step = plan.block_negatives, np.uint64(2**32) // np.uint64(max(n_blocks, 1))
    for m in range(n_negatives):
        offset = random_bits(scratch.state) >> np.uint64(32)
        for k in range(n_blocks):
            point = (offset + np.uint64(k) * step) & np.uint64(0xFFFFFFFF)
            word_id = find_word(tables, (np.uint64(m) << np.uint64(32)) | point)
            bits = random_bits(scratch.state) >> np.uint64(32)
            other = np.int64((bits * np.uint64(k + 1)) >> np.uint64(32))  # shuffled as they come
            scratch.negatives[k * n_negatives + m] = scratch.negatives[other * n_negatives + m]
            scratch.negatives[other * n_negatives + m] = word_id


@helper
def _prepare_job(tables, plan, scratch, n):
    _draw_negatives(tables, plan, scratch, -(-n // plan.block))
    for slot in range(SLOTS):
        scratch.latest[slot] = -1


@helper
def _point_at_rows(weights, own, ids, first, n, addresses, begin):
    """Write the addresses of words' rows: of the worker's own copy where it has one."""
    base, own_base, n_own, n_bytes = address_of(weights), address_of(own), len(own), weights.strides[0]
    for i in range(n):
        word_id = ids[first + i]
        addresses[begin + i] = (own_base if word_id < n_own else base) + word_id * n_bytes


@helper
def _share_rows(zero, weights, own, old, share):
    """Give all workers this one's share of what it added to its own rows, and take what the others added.

    **Updates** `weights`, `own`, and `old`, which is what `own` was after the last call. **Race** `weights`.
    """
    theirs, mine, before, part = address_of(weights), address_of(own), address_of(old), splat(share)
    for k in range(0, len(own) * own.strides[0], size_of(zero) * LANES):
        added = subtract(load_lanes(zero, mine + k), load_lanes(zero, before + k))
        lanes = fma(part, added, load_lanes(zero, theirs + k))
        store_lanes(theirs + k, lanes)
        store_lanes(mine + k, lanes)
        store_lanes(before + k, lanes)


@helper
def _share_all(tables, plan, scratch, zero):
    share = tables.w_in.dtype.type(1) / tables.w_in.dtype.type(plan.workers)
    _share_rows(zero, tables.w_in, scratch.own_in, scratch.old_in, share)
    _share_rows(zero, tables.w_out, scratch.own_out, scratch.old_out, share)


@helper
def _look_ahead(tables, plan, scratch, negatives, inputs, targets):
    """Note which rows the next block will need: its negatives, inputs and targets, by their first places."""
    ahead, block = scratch.ahead, plan.block
    _point_at_rows(
        tables.w_out, scratch.own_out, scratch.negatives, negatives, plan.block_negatives, ahead, 0
    )
    _point_at_rows(tables.w_in, scratch.own_in, scratch.ids, inputs, block, ahead, plan.block_negatives)
    begin = plan.block_negatives + block
    _point_at_rows(tables.w_out, scratch.own_out, scratch.ids, targets, block, ahead, begin)


@helper
def _prefetch_rows(scratch, begin, end):
    """Ask to write some of the rows ahead: a few at a time, as few cache misses can be under way."""
    n_bytes = scratch.full_rows.strides[0]
    for i in range(begin, min(end, len(scratch.ahead))):
        row = scratch.ahead[i]
        for line in range(row, row + n_bytes, CACHE_LINE):
            prefetch(line)


@helper
def _multiply_pair(zero, n_bytes, rows, columns, n_columns, out, out_bytes):
    """Write the logits of two rows against `n_columns` columns, an even number."""
    size = size_of(zero)
    c = 0
    while c + 6 <= n_columns:
        multiply_2_by_6(zero, n_bytes, rows, columns + 8 * c, out + size * c, out_bytes)
        c += 6
    if c + 4 == n_columns:
        multiply_2_by_4(zero, n_bytes, rows, columns + 8 * c, out + size * c, out_bytes)
    elif c + 2 == n_columns:
        multiply_2_by_2(zero, n_bytes, rows, columns + 8 * c, out + size * c, out_bytes)


@helper
def _multiply_block(zero, plan, scratch, band):
    """Write the logits of each row against all negatives and against its own targets.

    Row i has the targets i .. i + band of the block; two rows at a time share theirs and one more on either
    side: so the logits of a row are those of M negatives, of target i - 1 or nothing, and of its own targets.
    """
    logits, n_bytes = scratch.logits, scratch.full_rows.strides[0]
    size, out_bytes = size_of(zero), logits.strides[0]
    columns = address_of(scratch.columns)
    targets = columns + 8 * plan.block_negatives
    first_target = size * (plan.block_negatives + 1)
    rows, out = address_of(scratch.rows), address_of(logits)
    # As many negatives at a time as leave room for the rows in the first-level cache.
    n_negatives = plan.block_negatives
    width = n_negatives if n_negatives * n_bytes <= NEAR_BYTES else np.int64(6)
    for begin in range(0, n_negatives, width):
        n, place = min(width, n_negatives - begin), out + size * begin
        for i in range(0, plan.block, 2):
            near = rows + 8 * i
            _multiply_pair(zero, n_bytes, near, columns + 8 * begin, n, place + i * out_bytes, out_bytes)
    for i in range(0, plan.block, 2):
        place = out + i * out_bytes + first_target
        _multiply_pair(zero, n_bytes, rows + 8 * i, targets + 8 * i, band + 2, place, out_bytes - size)


@helper
def _note_targets(scratch, begin, end):
    """Chain the places of target words, latest first, by the low bits of their ids."""
    for c in range(begin, end):
        slot = scratch.ids[c] & (SLOTS - 1)
        scratch.earlier[c] = scratch.latest[slot]
        scratch.latest[slot] = c


@helper
def _weigh_hits(plan, scratch, band, targets, negatives, first):
    """Weigh the pairs whose target is a negative: word2vec.c draws no such negatives for them.

    **Updates** `hits`.
    """
    for m in range(plan.block_negatives):
        word_id = scratch.negatives[negatives + m]
        c = scratch.latest[word_id & (SLOTS - 1)]
        while c >= targets:
            if scratch.ids[c] == word_id:
                for i in range(max(c - targets - band, 0), min(c - targets + 1, plan.block)):
                    left, right = scratch.left[first + i], scratch.right[first + i]
                    place = plan.block_negatives % LANES + 1 + c - targets - i
                    weight = scratch.left_weights[left, place] * scratch.right_weights[right, place]
                    scratch.hits[i, m] += weight
            c = scratch.earlier[c]


@helper
def _differentiate_block(zero, plan, scratch, band, first, alpha):
    """Turn logits into minus the gradients of the loss, times alpha. **Returns** (pairs, loss).

    The loss of a pair is softplus(-x) for its target and K / M softplus(x) for each of the M negatives
    that is not the target: in the mean, K negatives a pair (Mikolov et al. 2013b, equation 4). **Updates**
    `logits`; clears `hits`.
    """
    logits = scratch.logits
    size = size_of(zero)
    rate, fall, loss, none = splat(alpha), splat(-alpha), splat(zero), splat(zero)
    share = splat(logits.dtype.type(plan.negative) / logits.dtype.type(plan.block_negatives))
    mixed = size * (plan.block_negatives // LANES * LANES)
    end = mixed + size * (plan.block_negatives % LANES + band + 3)
    n_pairs = 0.0
    for i in range(plan.block):
        left, right = scratch.left[first + i], scratch.right[first + i]
        left_weights = address_of(scratch.left_weights) + left * scratch.left_weights.strides[0] - mixed
        right_weights = address_of(scratch.right_weights) + right * scratch.right_weights.strides[0] - mixed
        row_pairs = scratch.left_totals[left] + scratch.right_totals[right]
        n_pairs += row_pairs
        row, hits = (
            address_of(logits) + i * logits.strides[0],
            address_of(scratch.hits) + i * logits.strides[0],
        )
        pairs = splat(row_pairs)
        for k in range(0, mixed, size * LANES):
            weight = multiply(share, subtract(pairs, load_lanes(zero, hits + k)))
            store_lanes(hits + k, none)
            sigmoid, softplus = sigmoid_softplus(load_lanes(zero, row + k))
            loss = fma(weight, softplus, loss)
            store_lanes(row + k, multiply(multiply(fall, weight), sigmoid))
        shares = address_of(scratch.negative_lanes) - mixed
        for k in range(mixed, end, size * LANES):
            target = multiply(load_lanes(zero, left_weights + k), load_lanes(zero, right_weights + k))
            weight = subtract(pairs, load_lanes(zero, hits + k))
            store_lanes(hits + k, none)
            both = fma(load_lanes(zero, shares + k), weight, target)
            x = load_lanes(zero, row + k)
            sigmoid, softplus = sigmoid_softplus(x)
            loss = subtract(fma(both, softplus, loss), multiply(target, x))
            store_lanes(row + k, multiply(rate, subtract(target, multiply(both, sigmoid))))
    return n_pairs, np.float64(lane_sum(loss))


@helper
def _update_part(width, part, shape, plan, scratch, band):
    """Do the backward pass for one part of the dimensions, `len(width)` lanes.

    **Updates** the columns in `w_out`; the rows' updates go to `updates`. **Race** `w_out`, see above.
    """
    rows, columns = address_of(scratch.rows), address_of(scratch.columns)
    logits, n_bytes = address_of(scratch.logits), scratch.logits.strides[0]
    size = size_of(width[0])
    offset = part * len(shape.wide) * LANES * size
    updates, update_bytes = address_of(scratch.updates), scratch.updates.strides[0]
    n_negatives = plan.block_negatives
    first_target = size * (n_negatives + 1)
    n_turns = (shape.n_wide + 1) * (plan.block // 2)
    n_ahead = (len(scratch.ahead) + n_turns - 1) // n_turns
    ahead = part * (plan.block // 2) * n_ahead
    for i in range(0, plan.block, 2):
        _prefetch_rows(scratch, ahead, ahead + n_ahead)
        ahead += n_ahead
        a = b = zero_row(width)
        g = logits + i * n_bytes
        for c in range(n_negatives):
            column = load_int(columns + 8 * c) + offset
            a, b = plus_scaled_2(a, b, g + size * c, g + n_bytes + size * c, column)
        g += first_target
        for c in range(band + 2):
            column = load_int(columns + 8 * (n_negatives + i + c)) + offset
            a, b = plus_scaled_2(a, b, g + size * c, g + n_bytes + size * (c - 1), column)
        store_row(updates + i * update_bytes, a)
        store_row(updates + (i + 1) * update_bytes, b)
    for c in range(0, n_negatives + plan.block + band, 2):
        begin, end, step = 0, plan.block, n_bytes
        g = logits + size * c
        if c >= n_negatives:
            begin, end = max(c - n_negatives - band, 0), min(c - n_negatives + 2, plan.block)
            step = n_bytes - size
            g += size + begin * step
        a = b = zero_row(width)
        for i in range(begin, end):
            a, b = plus_scaled_2(a, b, g, g + size, load_int(rows + 8 * i) + offset)
            g += step
        # One after the other: both may be the same word.
        add_row(load_int(columns + 8 * c) + offset, a)
        add_row(load_int(columns + 8 * c + 8) + offset, b)


@helper
def _score_block(tables, plan, shape, scratch, band, first, alpha):
    """Do the forward pass for the block of positions from `first` on, whose rows stand in `rows`.

    **Updates** `columns`, `logits`, which become minus the gradients, times alpha. **Returns** (pairs, loss).
    """
    negatives = first // plan.block * plan.block_negatives
    zero = shape.tail[0]
    targets = plan.window + EDGE + first - band // 2
    _point_at_rows(
        tables.w_out,
        scratch.own_out,
        scratch.negatives,
        negatives,
        plan.block_negatives,
        scratch.columns,
        0,
    )
    n_targets = plan.block + band + 2
    _point_at_rows(
        tables.w_out, scratch.own_out, scratch.ids, targets, n_targets, scratch.columns, plan.block_negatives
    )
    _multiply_block(zero, plan, scratch, band)
    _note_targets(scratch, targets + (band if first > 0 else 0), targets + plan.block + band)
    _weigh_hits(plan, scratch, band, targets, negatives, first)
    return _differentiate_block(zero, plan, scratch, band, first, alpha)


@helper
def _update_inputs(width, offset, plan, scratch):
    """Add the updates to the block's inputs. **Updates** `w_in`. **Race** `w_in`, see above."""
    rows, updates = address_of(scratch.rows), address_of(scratch.updates)
    for i in range(plan.block):
        add_row(load_int(rows + 8 * i) + offset, load_row(width, updates + i * scratch.updates.strides[0]))


@kernel
def train_skipgram_block(tables, plan, shape, scratch, job):
    """Skip-gram by blocks: B input vectors against their targets and M shared negatives.

    Shared negatives as in Ji et al. 2016 (pWord2Vec). Shrinking windows enter by their mean: all targets
    within the window are used, at distance d with weight (window - d + 1) / window, not with that chance.

    **Updates** `w_in`, `w_out`, `scratch`. **Race** `w_in`, `w_out`, see above.
    """
    zero = shape.tail[0]
    scratch.state[0] = job.seed
    n = gather_job(tables, plan, scratch, job)
    begin, band = plan.window + EDGE, 2 * plan.window
    part_bytes = len(shape.wide) * LANES * size_of(zero)
    n_pairs = loss = 0.0
    _prepare_job(tables, plan, scratch, n)
    for first in range(0, n, plan.block):
        if first % (SHARED_BLOCKS * plan.block) == 0:
            _share_all(tables, plan, scratch, zero)
        negatives = (first // plan.block + 1) * plan.block_negatives
        ahead = begin + first + plan.block
        _look_ahead(tables, plan, scratch, negatives, ahead, ahead + plan.window)
        _point_at_rows(tables.w_in, scratch.own_in, scratch.ids, begin + first, plan.block, scratch.rows, 0)
        alpha = tables.w_in.dtype.type(job.alpha_start + (job.alpha_stop - job.alpha_start) * first / n)
        block_pairs, block_loss = _score_block(tables, plan, shape, scratch, band, first, alpha)
        for part in range(shape.n_wide):
            _update_part(shape.wide, part, shape, plan, scratch, band)
            _update_inputs(shape.wide, part * part_bytes, plan, scratch)
        _update_part(shape.tail, shape.n_wide, shape, plan, scratch, band)
        _update_inputs(shape.tail, shape.n_wide * part_bytes, plan, scratch)
        n_pairs += block_pairs
        loss += block_loss
    _share_all(tables, plan, scratch, zero)
    return n, n_pairs, loss


@helper
def _draw_windows(plan, scratch, n):
    """Draw a window for every centre. **Updates** `low`, `high`; `left` becomes 1 where contexts are."""
    for i in range(n):
        width = draw_width(plan, scratch.state)
        scratch.low[i] = min(scratch.left[i], width)
        scratch.high[i] = min(scratch.right[i], width)
        scratch.left[i] = scratch.low[i] + scratch.high[i] > 0
        scratch.right[i] = 0
    for i in range(n, n + plan.block):
        scratch.low[i] = scratch.high[i] = 0


@helper
def _average_contexts(width, offset, plan, scratch, first):
    """Write the mean of each centre's contexts, for one part of the dimensions: differences of running sums.

    `contexts` holds the addresses of the inputs from `window` places before the block on. The cost does not
    depend on the window. **Updates** `full_rows`, `sums`.
    """
    dtype = scratch.full_rows.dtype.type
    means, mean_bytes = address_of(scratch.full_rows) + offset, scratch.full_rows.strides[0]
    sums, n_bytes = address_of(scratch.sums), scratch.sums.strides[0]
    total = zero_row(width)
    store_row(sums, total)
    for c in range(plan.block + 2 * plan.window):
        total = plus_scaled(total, dtype(1), scratch.contexts[c] + offset)
        store_row(sums + (c + 1) * n_bytes, total)
    for i in range(plan.block):
        low, high = scratch.low[first + i], scratch.high[first + i]
        centre = plan.window + i
        mean = zero_row(width)
        if low + high > 0:
            factor = dtype(1) / dtype(low + high)
            mean = plus_scaled(mean, factor, sums + (centre + high + 1) * n_bytes)
            mean = plus_scaled(mean, -factor, sums + (centre - low) * n_bytes)
            mean = plus_scaled(mean, -factor, scratch.contexts[centre] + offset)
        store_row(means + i * mean_bytes, mean)


@helper
def _update_contexts(width, offset, plan, scratch, first, n):
    """Add each centre's update to all its contexts, for one part of the dimensions: running sums again.

    `corrected`: the update of the mean, divided by the number of contexts, which is the gradient (Irsoy et
    al. 2020); else undivided, as word2vec.c. **Updates** `w_in`. **Race** `w_in`, see above.
    """
    dtype = scratch.full_rows.dtype.type
    updates = address_of(scratch.updates)
    sums, n_bytes = address_of(scratch.sums), scratch.sums.strides[0]
    n_contexts = plan.block + 2 * plan.window
    for c in range(n_contexts + 1):
        store_row(sums + c * n_bytes, zero_row(width))
    for i in range(plan.block):
        low, high = scratch.low[first + i], scratch.high[first + i]
        factor = dtype(0)
        if low + high > 0:
            factor = dtype(1) / dtype(low + high) if plan.corrected else dtype(1)
        update = plus_scaled(zero_row(width), factor, updates + i * n_bytes)
        store_row(updates + i * n_bytes, update)
        add_row(sums + (plan.window + i - low) * n_bytes, update)
        add_row(
            sums + (plan.window + i + high + 1) * n_bytes,
            plus_scaled(zero_row(width), dtype(-1), updates + i * n_bytes),
        )
    total = zero_row(width)
    for c in range(n_contexts):
        total = plus_scaled(total, dtype(1), sums + c * n_bytes)
        i = c - plan.window
        if 0 <= i < plan.block:  # a centre is not its own context
            add_row(scratch.contexts[c] + offset, plus_scaled(total, dtype(-1), updates + i * n_bytes))
        elif 0 <= first + i < n:
            add_row(scratch.contexts[c] + offset, total)


@kernel
def train_cbow_block(tables, plan, shape, scratch, job):
    """CBOW by blocks: the means of B contexts against their centres and M shared negatives.

    **Updates** `w_in`, `w_out`, `scratch`. **Race** `w_in`, `w_out`, see above.
    """
    zero = shape.tail[0]
    scratch.state[0] = job.seed
    n = gather_job(tables, plan, scratch, job)
    _draw_windows(plan, scratch, n)
    begin, band = plan.window + EDGE, np.int64(0)
    part_bytes = len(shape.wide) * LANES * size_of(zero)
    for i in range(plan.block):
        scratch.rows[i] = address_of(scratch.full_rows) + i * scratch.full_rows.strides[0]
    n_pairs = loss = 0.0
    _prepare_job(tables, plan, scratch, n)
    for first in range(0, n, plan.block):
        if first % (SHARED_BLOCKS * plan.block) == 0:
            _share_all(tables, plan, scratch, zero)
        negatives = (first // plan.block + 1) * plan.block_negatives
        ahead = begin + first + plan.block
        _look_ahead(tables, plan, scratch, negatives, ahead + plan.window, ahead)
        contexts, n_contexts = begin + first - plan.window, plan.block + 2 * plan.window
        _point_at_rows(tables.w_in, scratch.own_in, scratch.ids, contexts, n_contexts, scratch.contexts, 0)
        for part in range(shape.n_wide):
            _average_contexts(shape.wide, part * part_bytes, plan, scratch, first)
        _average_contexts(shape.tail, shape.n_wide * part_bytes, plan, scratch, first)
        alpha = tables.w_in.dtype.type(job.alpha_start + (job.alpha_stop - job.alpha_start) * first / n)
        block_pairs, block_loss = _score_block(tables, plan, shape, scratch, band, first, alpha)
        for part in range(shape.n_wide):
            _update_part(shape.wide, part, shape, plan, scratch, band)
            _update_contexts(shape.wide, part * part_bytes, plan, scratch, first, n)
        _update_part(shape.tail, shape.n_wide, shape, plan, scratch, band)
        _update_contexts(shape.tail, shape.n_wide * part_bytes, plan, scratch, first, n)
        n_pairs += block_pairs
        loss += block_loss
    _share_all(tables, plan, scratch, zero)
    return n, n_pairs, loss
