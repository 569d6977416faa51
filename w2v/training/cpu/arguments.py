"""What the kernels are called with: arrays and numbers in named tuples, and the constants of their layout."""

from __future__ import annotations

from typing import Any, NamedTuple

CACHE_LINE = 64  # bytes
NEAR_BYTES = 16_384  # half of a first-level cache
SLOTS = 512  # a power of 2: chains of target words
EXACT_SHIFT = 16  # the exact kernels draw negatives with 48 random bits
SHARED_BLOCKS = 64  # a worker's own rows are shared after so many blocks
EDGE = 16  # spare positions around a job's tokens and columns, so that whole tiles may be read past the end


class Tables(NamedTuple):
    """What all workers share.

    Attributes
    ----------
    tokens : ndarray of int32, shape (N,)
        Raw tokens; an id of V or more is out of vocabulary.
    offsets : ndarray of int64, shape (S + 1,)
        Sentence borders in `tokens`.
    keep : ndarray of uint32, shape (V,)
        A token is kept if 32 random bits are at most this.
    cdf, guide, guide_shift
        Of the negative sampler; see `w2v.training.sampling.NegativeSampler`.
    w_in, w_out : ndarray of float, shape (V, padded D), C-contiguous
        Modified in place, by all workers at once.
    """

    tokens: Any
    offsets: Any
    keep: Any
    cdf: Any
    guide: Any
    guide_shift: Any
    w_in: Any
    w_out: Any


class Plan(NamedTuple):
    """Settings of a run, int64.

    Attributes
    ----------
    window, negative : int
        Most words between centre and context; K negatives a pair.
    shrink, corrected : int
        0 or 1: windows shrink at random; CBOW's gradient is divided by the number of contexts.
    block, block_negatives : int
        B positions (even) and M shared negatives (even) a block.
    workers, own_rows : int
        Threads; block kernels: of how many words, the most frequent ones, each has its own rows.
    """

    window: int
    negative: int
    shrink: int
    corrected: int
    block: int
    block_negatives: int
    workers: int
    own_rows: int


class Shape(NamedTuple):
    """How a row is cut for the registers: `n_wide` parts of `len(wide)` lanes, then one of `len(tail)` lanes.

    The tuples hold zeros of the weights' dtype: their type tells the compiler both dtype and length.
    """

    wide: Any
    n_wide: int
    tail: Any


class Job(NamedTuple):
    """A run of raw tokens.

    Attributes
    ----------
    start, stop : int
        tokens[start:stop]; N at most.
    sentence : int
        The sentence that holds token `start`.
    alpha_start, alpha_stop : float
        Learning rate at either end; it changes in a line between them.
    seed : int
        uint64, of the job's random draws.
    """

    start: int
    stop: int
    sentence: int
    alpha_start: float
    alpha_stop: float
    seed: Any


class Scratch(NamedTuple):
    """One worker's memory, made once. n is the longest job; B, M and the window w as in `Plan`.

    A block has B rows (skip-gram: input vectors; CBOW: means of them) and M + B + 2w columns (its negatives,
    then the targets of all rows in text order; CBOW: one target a row, so M + B).

    Attributes
    ----------
    state : ndarray of uint64, shape (1,)
        Of the random generator.
    ids : ndarray of int32, shape (n + spare,)
        The job's kept tokens; position 0 stands at `w + EDGE`.
    left, right : ndarray of int32, shape (n + spare,)
        Contexts on either side of a position, within the window and the sentence.
    low, high : ndarray of int32, shape (n + spare,)
        CBOW: the contexts on either side within the window drawn.
    negatives : ndarray of int32, shape (blocks of the longest job and one more, times M)
        Of all blocks of the job, one after the other.
    rows, columns, contexts : ndarray of int64
        Addresses of the block's rows and columns; CBOW: of the B + 2w inputs around it.
    ahead : ndarray of int64, shape (M + 2B,)
        Addresses of rows that the next block will need.
    logits : ndarray of float, shape (B, M + 2w + 3 + spare)
        Logits; then minus the gradients of the loss, times alpha. A row has those of the negatives, of
        nothing, of its 2w + 1 places of targets (CBOW: of 1), of nothing.
    hits : ndarray of float, shaped as `logits`
        Weight of those pairs of a row whose target is the negative itself; mostly 0.
    latest : ndarray of int32, shape (SLOTS,)
        The last place in `ids` so far whose target word has these low bits.
    earlier : ndarray of int32, shape (n + spare,)
        The place before, with the same low bits.
    left_weights, right_weights : ndarray of float, shape (w + 1, M % LANES + 2w + 3 + spare)
        Weights of a row's targets when k contexts stand on that side: a pair's weight is the product. In the
        order of `logits`, from the last whole lanes of negatives on.
    negative_lanes : ndarray of float, shape (M % LANES + 2w + 3 + spare,)
        In the same order: K / M for negatives, 0 for all others.
    left_totals, right_totals : ndarray of float, shape (w + 1,)
        Their sums: a row's pairs.
    updates : ndarray of float, shape (B, widest part)
        Minus the gradients of the rows, times alpha, for one part of the dimensions.
    full_rows : ndarray of float, shape (B, padded D)
        CBOW: the block's rows, means of contexts. Exact kernels: an update and a mean.
    sums : ndarray of float, shape (B + 2w + 1, widest part)
        CBOW: running sums over the contexts, for one part of the dimensions.
    own_in, own_out : ndarray of float, shape (own_rows, padded D)
        This worker's copies of the first rows of `w_in` and `w_out`.
    old_in, old_out : ndarray of float, shape (own_rows, padded D)
        What these were when they were last shared.
    """

    state: Any
    ids: Any
    left: Any
    right: Any
    low: Any
    high: Any
    negatives: Any
    rows: Any
    columns: Any
    contexts: Any
    ahead: Any
    logits: Any
    hits: Any
    latest: Any
    earlier: Any
    left_weights: Any
    right_weights: Any
    left_totals: Any
    right_totals: Any
    negative_lanes: Any
    updates: Any
    full_rows: Any
    sums: Any
    own_in: Any
    own_out: Any
    old_in: Any
    old_out: Any
