"""The block kernels: skip-gram and CBOW with negative sampling, many pairs at once.

One call trains one job, a run of raw tokens, and returns (tokens kept, pairs, loss). Names: `w_in` (V, D) is
word2vec's syn0, `w_out` (V, D) its syn1neg; rows are padded with zeros to whole lanes (of 16 numbers with
AVX-512, else of 8). All four kernels have one signature, `kernel(tables, settings, layout, scratch, job)`.

A block is B positions of the job's kept tokens. Its rows are their input vectors (CBOW: the means of their
contexts). Its columns are output vectors: M negatives, shared by all rows, then the targets of all rows in
text order. Row i has the targets i .. i + band, itself in the middle; band is 2w for a window w (CBOW: 0, as
the centre itself is the target). With B = 4, w = 2 and M = 6, the block being a b c d:

    text      ..  p  q  a  b  c  d  r  s  ..
    rows                0  1  2  3
    targets       0  1  2  3  4  5  6  7
    columns   n n n n n n  0  1  2  3  4  5  6  7

Logits are computed for two rows at a time, which share the loads of their columns. Two rows have band + 2
targets together, one more than each of them. The logit of the one too many stands in a gap and has weight 0:
so all rows have the same shape, and no loop asks where a row's targets end. The rows of `logits` (`hits` has
the same columns; the tables of `weights` begin at the last whole lanes of negatives):

           M negatives   gap   2w + 1 targets    gap
    row 0  n n n n n n    .    0  1 |2| 3   4    (5)    together they have the targets 0 to 5
    row 1  n n n n n n   (0)   1  2 |3| 4   5     .
    row 2  n n n n n n    .    2  3 |4| 5   6    (7)    2 to 7
    row 3  n n n n n n   (2)   3  4 |5| 6   7     .

    |t|  the position itself: weight 0 for skip-gram, for CBOW the only target
    (t)  a target of the other row only: weight 0         .  never written, weight 0

A target of weight p and logit x adds p softplus(-x) to the loss. A negative of logit x adds softplus(x),
times K / M, times the p of all the row's targets together less `hits`: the p of those that are this very
word. From the loss follow its gradients, which overwrite `logits` (with the other sign, times alpha).

Race (Hogwild, Recht et al. 2011). Workers add to `w_in` and `w_out` without locks. A worker may read a row
that another is writing, or lose an addition to it; rows are many and updates small, so the loss of a few
changes nothing that can be measured, but two runs with several workers are not bit-equal. Of the most
frequent words each worker has its own rows (`own_rows`).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls
# numba infers the types: one source serves float32 and float64.
from __future__ import annotations

import numpy as np

from w2v.system.addresses import address_of
from w2v.system.compiling import helper, kernel
from w2v.training.cpu.arguments import BLOCKS_BETWEEN_SHARES, CACHE_LINE, NEAR_BYTES, SLOTS
from w2v.training.cpu.draws import draw_negatives, draw_window, gather_job, is_frozen
from w2v.training.cpu.lanes import (
    LANES,
    add_row,
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
from w2v.training.cpu.own_rows import point_at_rows, share_own_rows


@helper
def _prepare_job(tables, settings, scratch, n):
    draw_negatives(tables, settings, scratch.negatives, scratch.state, -(-n // settings.block_size))
    for slot in range(SLOTS):
        scratch.chains.latest[slot] = -1


@helper
def _look_ahead(tables, settings, scratch, negatives, inputs, targets):
    """Note the rows that the next block needs and this one does not: negatives, inputs and targets.

    Each from a first place on. Frequent rows are in the cache already, but leaving them out gains nothing.
    """
    slots, own, ids, ahead = tables.own_slots, scratch.own, scratch.positions.ids, scratch.block.ahead
    n, n_negatives = settings.block_size, settings.block_negatives
    point_at_rows(slots, tables.w_out, own.w_out, scratch.negatives, negatives, n_negatives, ahead, 0)
    point_at_rows(slots, tables.w_in, own.w_in, ids, inputs, n, ahead, n_negatives)
    point_at_rows(slots, tables.w_out, own.w_out, ids, targets, n, ahead, n_negatives + n)


@helper
def _prefetch_rows(ahead, n_bytes, begin, end):
    """Prefetch some of the rows ahead."""
    for i in range(begin, min(end, len(ahead))):
        row = ahead[i]
        for line in range(row, row + n_bytes, CACHE_LINE):
            prefetch(line)


@helper
def _multiply_rows(dtype_tag, n_bytes, rows, columns, n_columns, out, out_bytes):
    """Write the logits of two rows against `n_columns` columns, an even number."""
    size = size_of(dtype_tag)
    c = 0
    # Tiles of 2 x 6, and one of 2 x 4 or 2 x 2 for the rest: eight loads for twelve multiply-adds.
    while c + 6 <= n_columns:
        multiply_2_by_6(dtype_tag, n_bytes, rows, columns + 8 * c, out + size * c, out_bytes)
        c += 6
    if c + 4 == n_columns:
        multiply_2_by_4(dtype_tag, n_bytes, rows, columns + 8 * c, out + size * c, out_bytes)
    elif c + 2 == n_columns:
        multiply_2_by_2(dtype_tag, n_bytes, rows, columns + 8 * c, out + size * c, out_bytes)


@helper
def _multiply_block(dtype_tag, settings, block, n_bytes, band):
    """Write the logits of all rows against all negatives, and of each two rows against their targets."""
    size, out_bytes = size_of(dtype_tag), block.logits.strides[0]
    columns, n_negatives = address_of(block.columns), settings.block_negatives
    targets = columns + 8 * n_negatives
    first_target = size * (n_negatives + 1)
    rows, out = address_of(block.rows), address_of(block.logits)
    # Where all negatives would push the rows out of the L1 cache, all rows meet six of them (a tile), then
    # the next six: 5 % faster at 300 dimensions, together with the spread of the prefetches.
    n_at_once = n_negatives if n_negatives * n_bytes <= NEAR_BYTES else np.int64(6)
    for begin in range(0, n_negatives, n_at_once):
        n, tile, place = min(n_at_once, n_negatives - begin), columns + 8 * begin, out + size * begin
        for i in range(0, settings.block_size, 2):
            _multiply_rows(dtype_tag, n_bytes, rows + 8 * i, tile, n, place + i * out_bytes, out_bytes)
    for i in range(0, settings.block_size, 2):
        # The second row's targets begin one later, so its logits are written one place further left.
        place = out + i * out_bytes + first_target
        _multiply_rows(dtype_tag, n_bytes, rows + 8 * i, targets + 8 * i, band + 2, place, out_bytes - size)


@helper
def _note_targets(chains, ids, begin, end):
    """Chain the places of target words, latest first, by the low bits of their ids."""
    for c in range(begin, end):
        slot = ids[c] & (SLOTS - 1)
        chains.earlier[c] = chains.latest[slot]
        chains.latest[slot] = c


@helper
def _weigh_hits(settings, scratch, band, targets, negatives, first):
    """Weigh the pairs whose target is a negative: word2vec.c draws no such negatives for them.

    Few negatives are targets, so a search mostly ends at once (3 % faster than comparing all). Chains are
    never cut: the first place before the block's targets ends it. **Updates** `hits`.
    """
    positions, chains, weights = scratch.positions, scratch.chains, scratch.weights
    for m in range(settings.block_negatives):
        word_id = scratch.negatives[negatives + m]
        c = chains.latest[word_id & (SLOTS - 1)]
        while c >= targets:
            if positions.ids[c] == word_id:  # other words may have the same low bits
                for i in range(max(c - targets - band, 0), min(c - targets + 1, settings.block_size)):
                    left, right = positions.left[first + i], positions.right[first + i]
                    place = settings.block_negatives % LANES + 1 + c - targets - i
                    scratch.block.hits[i, m] += weights.left[left, place] * weights.right[right, place]
            c = chains.earlier[c]


@helper
def _differentiate_block(dtype_tag, settings, scratch, band, first, alpha):
    """Turn logits into minus the gradients of the loss, times alpha. **Returns** (pairs, loss).

    The loss of a pair is softplus(-x) for its target and K / M softplus(x) for each of the M negatives
    that is not the target: in the mean, K negatives a pair (Mikolov et al. 2013b, equation 4). **Updates**
    `logits`; clears `hits`.
    """
    positions, weights = scratch.positions, scratch.weights
    logits, n_bytes, size = scratch.block.logits, scratch.block.logits.strides[0], size_of(dtype_tag)
    dtype = logits.dtype.type
    zeros, rate, fall = splat(dtype(0)), splat(alpha), splat(-alpha)
    # The loss stays in lanes all through the block: one sum over lanes a block, not one a row.
    loss = zeros
    share = splat(dtype(settings.negative) / dtype(settings.block_negatives))
    # From here on negatives and targets share lanes; the tables of weights begin here, too.
    mixed = size * (settings.block_negatives // LANES * LANES)
    end = mixed + size * (settings.block_negatives % LANES + band + 3)
    shares = address_of(weights.negatives) - mixed
    n_pairs = 0.0
    for i in range(settings.block_size):
        left, right = positions.left[first + i], positions.right[first + i]
        left_weights = address_of(weights.left) + left * weights.left.strides[0] - mixed
        right_weights = address_of(weights.right) + right * weights.right.strides[0] - mixed
        row_pairs = weights.left_totals[left] + weights.right_totals[right]
        n_pairs += row_pairs
        row = address_of(logits) + i * n_bytes
        hits = address_of(scratch.block.hits) + i * n_bytes
        pairs = splat(row_pairs)
        for k in range(0, mixed, size * LANES):
            weight = multiply(share, subtract(pairs, load_lanes(dtype_tag, hits + k)))
            store_lanes(hits + k, zeros)
            sigmoid, softplus = sigmoid_softplus(load_lanes(dtype_tag, row + k))
            loss = fma(weight, softplus, loss)
            store_lanes(row + k, multiply(multiply(fall, weight), sigmoid))
        for k in range(mixed, end, size * LANES):
            target = multiply(
                load_lanes(dtype_tag, left_weights + k), load_lanes(dtype_tag, right_weights + k)
            )
            weight = subtract(pairs, load_lanes(dtype_tag, hits + k))
            store_lanes(hits + k, zeros)
            # softplus(-x) = softplus(x) - x, so that one formula serves targets and negatives: a weight on
            # softplus(x), less the target's weight on x.
            both = fma(load_lanes(dtype_tag, shares + k), weight, target)
            x = load_lanes(dtype_tag, row + k)
            sigmoid, softplus = sigmoid_softplus(x)
            loss = subtract(fma(both, softplus, loss), multiply(target, x))
            store_lanes(row + k, multiply(rate, subtract(target, multiply(both, sigmoid))))
    return n_pairs, np.float64(lane_sum(loss))


@helper
def _update_part(part_width, part, layout, settings, block, n_bytes, band):
    """Do the backward pass for one part of the dimensions, `len(part_width)` lanes.

    A part of two rows fits the registers: each sum is written once, however many columns enter it.
    **Updates** the columns in `w_out`; the rows' updates go to `updates`. **Race** `w_out`.
    """
    rows, columns = address_of(block.rows), address_of(block.columns)
    logits, logit_bytes = address_of(block.logits), block.logits.strides[0]
    size, n_negatives = size_of(part_width[0]), settings.block_negatives
    offset = part * len(layout.wide) * LANES * size
    updates, update_bytes = address_of(block.updates), block.updates.strides[0]
    # A core has few cache misses under way at a time, so each turn prefetches a few rows (6 % faster than all
    # at once), and all parts take their turns.
    n_turns = (layout.n_wide + 1) * (settings.block_size // 2)
    n_ahead = (len(block.ahead) + n_turns - 1) // n_turns
    ahead = part * (settings.block_size // 2) * n_ahead
    # Rows before columns, as their updates come from the columns that the logits saw.
    for i in range(0, settings.block_size, 2):
        _prefetch_rows(block.ahead, n_bytes, ahead, ahead + n_ahead)
        ahead += n_ahead
        a = b = zero_row(part_width)
        g = logits + i * logit_bytes
        for c in range(n_negatives):
            column = load_int(columns + 8 * c) + offset
            a, b = plus_scaled_2(a, b, g + size * c, g + logit_bytes + size * c, column)
        g += size * (n_negatives + 1)
        for c in range(band + 2):  # the targets of both rows; in the gaps stand zeros
            column = load_int(columns + 8 * (n_negatives + i + c)) + offset
            a, b = plus_scaled_2(a, b, g + size * c, g + logit_bytes + size * (c - 1), column)
        store_row(updates + i * update_bytes, a)
        store_row(updates + (i + 1) * update_bytes, b)
    for c in range(0, n_negatives + settings.block_size + band, 2):
        begin, end, step = 0, settings.block_size, logit_bytes
        g = logits + size * c
        if c >= n_negatives:
            # Only the rows around have these two targets; each next row has them one place further left.
            begin = max(c - n_negatives - band, 0)
            end = min(c - n_negatives + 2, settings.block_size)
            step = logit_bytes - size
            g += size + begin * step
        a = b = zero_row(part_width)
        for i in range(begin, end):
            a, b = plus_scaled_2(a, b, g, g + size, load_int(rows + 8 * i) + offset)
            g += step
        # One after the other: both may be the same word.
        add_row(load_int(columns + 8 * c) + offset, a)
        add_row(load_int(columns + 8 * c + 8) + offset, b)


@helper
def _score_block(tables, settings, layout, scratch, band, first, alpha):
    """Do the forward pass for the block of positions from `first` on, whose rows stand in `rows`.

    **Updates** `columns`, `logits`, which become minus the gradients, times alpha. **Returns** (pairs, loss).
    """
    n_negatives, n_targets = settings.block_negatives, settings.block_size + band
    negatives = first // settings.block_size * n_negatives
    targets = settings.window + first - band // 2
    slots, own, ids, columns = tables.own_slots, scratch.own, scratch.positions.ids, scratch.block.columns
    point_at_rows(slots, tables.w_out, own.w_out, scratch.negatives, negatives, n_negatives, columns, 0)
    point_at_rows(slots, tables.w_out, own.w_out, ids, targets, n_targets, columns, n_negatives)
    _multiply_block(layout.tail[0], settings, scratch.block, tables.w_in.strides[0], band)
    # The block before has noted the targets that both have.
    _note_targets(
        scratch.chains, ids, targets + (band if first > 0 else 0), targets + settings.block_size + band
    )
    _weigh_hits(settings, scratch, band, targets, negatives, first)
    return _differentiate_block(layout.tail[0], settings, scratch, band, first, alpha)


@helper
def _update_inputs(part_width, offset, tables, settings, block, ids, first):
    """Add the updates to the block's inputs, for one part. **Updates** `w_in`. **Race** `w_in`."""
    rows, updates, n_bytes = address_of(block.rows), address_of(block.updates), block.updates.strides[0]
    place = settings.window + first
    for i in range(settings.block_size):
        if not is_frozen(tables.frozen, ids[place + i]):
            add_row(load_int(rows + 8 * i) + offset, load_row(part_width, updates + i * n_bytes))


@kernel
def train_skipgram_block(tables, settings, layout, scratch, job):
    """Skip-gram by blocks: B input vectors against their targets and M shared negatives.

    Shared negatives as in Ji et al. 2016 (pWord2Vec). Shrinking windows enter by their mean: all targets
    within the window are used, at distance d with weight (window - d + 1) / window, not with that chance. So
    all rows of a block have the same shape.

    **Updates** `w_in`, `w_out`, `scratch`. **Race** `w_in`, `w_out`; see the top of this file.
    """
    dtype_tag, n_bytes = layout.tail[0], tables.w_in.strides[0]
    ids, block = scratch.positions.ids, scratch.block
    scratch.state[0] = job.seed
    n = gather_job(tables, settings, scratch.positions, scratch.state, job)
    begin, band = settings.window, 2 * settings.window
    part_bytes = len(layout.wide) * LANES * size_of(dtype_tag)
    n_pairs = loss = 0.0
    _prepare_job(tables, settings, scratch, n)
    for first in range(0, n, settings.block_size):
        if first % (BLOCKS_BETWEEN_SHARES * settings.block_size) == 0:
            share_own_rows(tables, settings, scratch.own, dtype_tag)
        negatives = (first // settings.block_size + 1) * settings.block_negatives
        ahead = begin + first + settings.block_size
        _look_ahead(tables, settings, scratch, negatives, ahead, ahead + settings.window)
        point_at_rows(
            tables.own_slots,
            tables.w_in,
            scratch.own.w_in,
            ids,
            begin + first,
            settings.block_size,
            block.rows,
            0,
        )
        # One rate a block: within one it hardly changes.
        alpha = tables.w_in.dtype.type(job.alpha_start + (job.alpha_stop - job.alpha_start) * first / n)
        block_pairs, block_loss = _score_block(tables, settings, layout, scratch, band, first, alpha)
        # Inputs right after the columns of the same part: no faster than at the end, but the memory is small.
        for part in range(layout.n_wide):
            _update_part(layout.wide, part, layout, settings, block, n_bytes, band)
            _update_inputs(layout.wide, part * part_bytes, tables, settings, block, ids, first)
        _update_part(layout.tail, layout.n_wide, layout, settings, block, n_bytes, band)
        _update_inputs(layout.tail, layout.n_wide * part_bytes, tables, settings, block, ids, first)
        n_pairs += block_pairs
        loss += block_loss
    share_own_rows(tables, settings, scratch.own, dtype_tag)
    return n, n_pairs, loss


@helper
def _draw_windows(settings, positions, sums, state, n):
    """Draw a window for every centre. **Updates** `low`, `high`; `left` becomes 1 where contexts are."""
    for i in range(n):
        width = draw_window(settings, state)
        sums.low[i] = min(positions.left[i], width)
        sums.high[i] = min(positions.right[i], width)
        positions.left[i] = sums.low[i] + sums.high[i] > 0
        positions.right[i] = 0
    for i in range(n, n + settings.block_size):
        sums.low[i] = sums.high[i] = 0


@helper
def _average_contexts(part_width, offset, settings, sums, first):
    """Write the mean of each centre's contexts, for one part of the dimensions: differences of running sums.

    `contexts` holds the addresses of the inputs from `window` places before the block on. The cost does not
    depend on the window. **Updates** `means`, `running`.
    """
    dtype = sums.means.dtype.type
    means, mean_bytes = address_of(sums.means) + offset, sums.means.strides[0]
    running, n_bytes = address_of(sums.running), sums.running.strides[0]
    total = zero_row(part_width)
    store_row(running, total)
    for c in range(settings.block_size + 2 * settings.window):
        total = plus_scaled(total, dtype(1), sums.contexts[c] + offset)
        store_row(running + (c + 1) * n_bytes, total)
    for i in range(settings.block_size):
        low, high = sums.low[first + i], sums.high[first + i]
        centre = settings.window + i
        mean = zero_row(part_width)
        if low + high > 0:
            factor = dtype(1) / dtype(low + high)
            mean = plus_scaled(mean, factor, running + (centre + high + 1) * n_bytes)
            mean = plus_scaled(mean, -factor, running + (centre - low) * n_bytes)
            mean = plus_scaled(mean, -factor, sums.contexts[centre] + offset)
        store_row(means + i * mean_bytes, mean)


@helper
def _spread_updates(part_width, settings, block, sums, first):
    """Note each centre's update where its contexts begin, and minus it where they end. **Updates** `running`.

    `corrected`: the update of the mean, divided by the number of contexts, which is the gradient (Irsoy et
    al. 2020); else undivided, as word2vec.c.
    """
    dtype = sums.means.dtype.type
    updates, running, n_bytes = address_of(block.updates), address_of(sums.running), sums.running.strides[0]
    for c in range(settings.block_size + 2 * settings.window + 1):
        store_row(running + c * n_bytes, zero_row(part_width))
    for i in range(settings.block_size):
        low, high = sums.low[first + i], sums.high[first + i]
        factor = dtype(0)
        if low + high > 0:
            factor = dtype(1) / dtype(low + high) if settings.corrected else dtype(1)
        update = plus_scaled(zero_row(part_width), factor, updates + i * n_bytes)
        store_row(updates + i * n_bytes, update)
        add_row(running + (settings.window + i - low) * n_bytes, update)
        add_row(
            running + (settings.window + i + high + 1) * n_bytes,
            plus_scaled(zero_row(part_width), dtype(-1), updates + i * n_bytes),
        )


@helper
def _update_contexts(part_width, offset, tables, settings, scratch, first, n):
    """Add each centre's update to all its contexts, for one part of the dimensions: running sums again.

    **Updates** `w_in`. **Race** `w_in`.
    """
    sums, ids = scratch.sums, scratch.positions.ids
    dtype = sums.means.dtype.type
    updates, running, n_bytes = (
        address_of(scratch.block.updates),
        address_of(sums.running),
        sums.running.strides[0],
    )
    _spread_updates(part_width, settings, scratch.block, sums, first)
    total = zero_row(part_width)
    for c in range(settings.block_size + 2 * settings.window):
        total = plus_scaled(total, dtype(1), running + c * n_bytes)
        i = c - settings.window
        if is_frozen(tables.frozen, ids[first + c]):
            continue
        if 0 <= i < settings.block_size:  # a centre is not its own context
            add_row(sums.contexts[c] + offset, plus_scaled(total, dtype(-1), updates + i * n_bytes))
        elif 0 <= first + i < n:
            add_row(sums.contexts[c] + offset, total)


@kernel
def train_cbow_block(tables, settings, layout, scratch, job):
    """CBOW by blocks: the means of B contexts against their centres and M shared negatives.

    **Updates** `w_in`, `w_out`, `scratch`. **Race** `w_in`, `w_out`; see the top of this file.
    """
    dtype_tag, n_bytes = layout.tail[0], tables.w_in.strides[0]
    ids, block, sums = scratch.positions.ids, scratch.block, scratch.sums
    scratch.state[0] = job.seed
    n = gather_job(tables, settings, scratch.positions, scratch.state, job)
    _draw_windows(settings, scratch.positions, sums, scratch.state, n)
    begin, band = settings.window, np.int64(0)
    part_bytes = len(layout.wide) * LANES * size_of(dtype_tag)
    for i in range(settings.block_size):
        block.rows[i] = address_of(sums.means) + i * n_bytes
    n_pairs = loss = 0.0
    _prepare_job(tables, settings, scratch, n)
    for first in range(0, n, settings.block_size):
        if first % (BLOCKS_BETWEEN_SHARES * settings.block_size) == 0:
            share_own_rows(tables, settings, scratch.own, dtype_tag)
        negatives = (first // settings.block_size + 1) * settings.block_negatives
        ahead = begin + first + settings.block_size
        _look_ahead(tables, settings, scratch, negatives, ahead + settings.window, ahead)
        contexts, n_contexts = begin + first - settings.window, settings.block_size + 2 * settings.window
        point_at_rows(
            tables.own_slots, tables.w_in, scratch.own.w_in, ids, contexts, n_contexts, sums.contexts, 0
        )
        for part in range(layout.n_wide):
            _average_contexts(layout.wide, part * part_bytes, settings, sums, first)
        _average_contexts(layout.tail, layout.n_wide * part_bytes, settings, sums, first)
        alpha = tables.w_in.dtype.type(job.alpha_start + (job.alpha_stop - job.alpha_start) * first / n)
        block_pairs, block_loss = _score_block(tables, settings, layout, scratch, band, first, alpha)
        for part in range(layout.n_wide):
            _update_part(layout.wide, part, layout, settings, block, n_bytes, band)
            _update_contexts(layout.wide, part * part_bytes, tables, settings, scratch, first, n)
        _update_part(layout.tail, layout.n_wide, layout, settings, block, n_bytes, band)
        _update_contexts(layout.tail, layout.n_wide * part_bytes, tables, settings, scratch, first, n)
        n_pairs += block_pairs
        loss += block_loss
    share_own_rows(tables, settings, scratch.own, dtype_tag)
    return n, n_pairs, loss
