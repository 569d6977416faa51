"""What all kernels share: random draws, subsampling, and which rows are frozen.

Draws. A job has a generator of its own (SplitMix64, Steele et al. 2014), so what it draws depends on its seed
alone, never on which worker runs it. In this order: one draw a token of the vocabulary (subsampling); then,
for the exact kernels, at each centre one draw for the window (if it shrinks) and K draws a pair (CBOW: a
centre) for the negatives; for the block kernels one draw a centre for the windows (CBOW, if they shrink),
then for each of M strata one draw and one more a block for the negatives.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls
# numba infers the types: one source serves float32 and float64.
from __future__ import annotations

import numpy as np

from w2v.system.compiling import helper


@helper
def random_bits(state):
    """Return 64 random bits and move the state, uint64 of shape (1,), on (SplitMix64)."""
    # A literal without np.uint64 would make the sum a float or signed number.
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@helper
def draw_window(settings, state):
    """Return a window, 1 .. settings.window, or settings.window itself if windows do not shrink."""
    if not settings.shrink:
        return settings.window
    # The upper half of a product with 32 random bits is below `window`, without a division (Lemire 2019).
    return np.int64(((random_bits(state) >> np.uint64(32)) * np.uint64(settings.window)) >> np.uint64(32)) + 1


@helper
def find_word(tables, point):
    """Return the word in whose stretch of the cumulative distribution a point lies."""
    # The guide leads to the word or some words before it: one or two steps, where a bisection of the table
    # would take a cache miss a step.
    word_id = tables.guide[np.int64(point >> tables.guide_shift)]
    while tables.cdf[word_id] <= point:
        word_id += 1
    return np.int64(word_id)


@helper
def draw_negatives(tables, settings, negatives, state, n_blocks):
    """Draw the negatives of all blocks of a job: M each, one from each of M equal strata of the distribution.

    A stratum gives one to every block: points at equal distances from a random one, in random order. So a job
    sees the distribution nearly as it is (less variance), and the tables are read in order: 5 to 10 % faster
    than block by block, by fewer cache misses and mispredicted branches.
    """
    n_negatives, step = settings.block_negatives, np.uint64(2**32) // np.uint64(max(n_blocks, 1))
    for m in range(n_negatives):
        offset = random_bits(state) >> np.uint64(32)
        for k in range(n_blocks):
            point = (offset + np.uint64(k) * step) & np.uint64(0xFFFFFFFF)
            word_id = find_word(tables, (np.uint64(m) << np.uint64(32)) | point)
            # Shuffled as they come (Fisher-Yates, inside out): a second pass would miss the cache again.
            bits = random_bits(state) >> np.uint64(32)
            other = np.int64((bits * np.uint64(k + 1)) >> np.uint64(32))
            negatives[k * n_negatives + m] = negatives[other * n_negatives + m]
            negatives[other * n_negatives + m] = word_id


@helper
def is_frozen(frozen, word_id):
    """Say whether a row of `w_in` keeps its bytes. Then it must not be written: -0.0 + 0.0 is 0.0."""
    return len(frozen) > 0 and frozen[word_id] != 0


@helper
def gather_job(tables, settings, positions, state, job):
    """Subsample a job's tokens into one run that crosses sentence ends (Mikolov et al. 2013b, 2.3).

    **Updates** `positions`; behind the run stand positions of word 0 without contexts, enough to fill the
    last block. **Returns** n, the tokens kept.
    """
    ids, left, right = positions
    first = settings.window
    n = 0
    token_pos, sentence = job.start, job.sentence
    while token_pos < job.stop:
        end = min(tables.offsets[sentence + 1], job.stop)
        begin = n
        for place in range(token_pos, end):
            token = tables.tokens[place]
            # Written whether it is kept or not: then the draw decides by an addition, not by a branch.
            ids[first + n] = token
            if token < len(tables.keep):
                n += np.uint32(random_bits(state) >> np.uint64(32)) <= tables.keep[token]
        # Only now are the sentence's neighbours known, as words are dropped before windows are cut.
        for i in range(begin, n):
            left[i] = min(i - begin, settings.window)
            right[i] = min(n - 1 - i, settings.window)
        token_pos = end
        sentence += 1
    # The last block has its full size, like all others, and its targets lie beyond it.
    for i in range(first + n, first + n + 2 * settings.block_size + settings.window):
        ids[i] = 0
    for i in range(n, n + settings.block_size):
        left[i] = right[i] = 0
    return n
