"""What the kernels are called with: arrays and numbers in named tuples, and the constants of their layout.

numba has no classes that cost nothing, but it takes named tuples apart at compile time, nested ones too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

CACHE_LINE = 64  # bytes
NEAR_BYTES = 16_384  # half of an L1 cache
SLOTS = 512  # a power of 2: chains of target words
EXACT_SHIFT = 16  # the exact kernels draw negatives with 48 random bits
BLOCKS_BETWEEN_SHARES = 64  # a worker shares its own rows after so many blocks
NOT_OWN = 255  # in `Tables.own_slots`


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
    frozen : ndarray of uint8, shape (V,) or (0,)
        Rows of `w_in` whose bytes stay as they are: 1; the others 0. Empty: all rows are trained.
    own_words : ndarray of int32, shape (own_rows,)
        The words of which each worker has rows of its own (block kernels), most frequent first.
    own_slots : ndarray of uint8, shape (V,) or (0,)
        Where a word stands in `own_words`, or `NOT_OWN`. Empty if `own_words` are 0 .. own_rows - 1.
    """

    tokens: Any
    offsets: Any
    keep: Any
    cdf: Any
    guide: Any
    guide_shift: Any
    w_in: Any
    w_out: Any
    frozen: Any
    own_words: Any
    own_slots: Any


class KernelSettings(NamedTuple):
    """Settings of a run, int64.

    Attributes
    ----------
    window, negative : int
        Most words between centre and context; K negatives a pair.
    shrink, corrected : int
        0 or 1: windows shrink at random; CBOW's gradient is divided by the number of contexts.
    block_size, block_negatives : int
        B positions (even) and M shared negatives (even) a block.
    workers, own_rows : int
        Threads; block kernels: of how many words each of them has its own rows.
    """

    window: int
    negative: int
    shrink: int
    corrected: int
    block_size: int
    block_negatives: int
    workers: int
    own_rows: int


class RowLayout(NamedTuple):
    """How a row is cut for the registers: `n_wide` parts of `len(wide)` lanes, then one of `len(tail)` lanes.

    `wide` and `tail` are tuples of zeros of the weights' dtype: tags, passed for their type (see `lanes`).
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


# Scratch: one worker's memory, made once. n is the longest job; B, M and the window w are those of
# `KernelSettings`. The picture of a block and of its logits stands in `block_kernels`.


class Positions(NamedTuple):
    """The tokens of a job that subsampling kept, in one run that crosses sentence ends.

    Attributes
    ----------
    ids : ndarray of int32, shape (n + spare,)
        Position 0 stands at w, for the targets around the first block.
    left, right : ndarray of int32, shape (n + spare,)
        Contexts on either side of a position, within the window and the sentence.
    """

    ids: Any
    left: Any
    right: Any


class TargetChains(NamedTuple):
    """Finds the places of a word among a block's targets.

    Attributes
    ----------
    latest : ndarray of int32, shape (SLOTS,)
        The last place in `ids` so far whose word has these low bits.
    earlier : ndarray of int32, shape (n + spare,)
        The place before, with the same low bits.
    """

    latest: Any
    earlier: Any


class PairWeights(NamedTuple):
    """How much of each pair is trained, by the row's contexts on either side.

    Attributes
    ----------
    left, right : ndarray of float, shape (w + 1, M % LANES + 2w + 3 + spare)
        Factors for a row with k contexts on that side; a pair's weight is the product of both. In the order
        of a row of `logits`, from the last whole lanes of negatives on.
    left_totals, right_totals : ndarray of float, shape (w + 1,)
        The weights of the pairs on that side, summed.
    negatives : ndarray of float, shape (M % LANES + 2w + 3 + spare,)
        In the same order: K / M for negatives, 0 for all others.
    """

    left: Any
    right: Any
    left_totals: Any
    right_totals: Any
    negatives: Any


class Block(NamedTuple):
    """What the passes over one block hand on.

    Attributes
    ----------
    rows, columns : ndarray of int64, shape (B,) and (M + B + 2w,)
        Addresses.
    ahead : ndarray of int64, shape (M + 2B,)
        Addresses of rows that the next block will need.
    logits : ndarray of float, shape (B, M + 2w + 3 + spare)
        Logits; then minus the gradients of the loss, times alpha.
    hits : ndarray of float, shaped as `logits`
        Weight of those pairs of a row whose target is the negative itself; mostly 0.
    updates : ndarray of float, shape (B, widest part)
        Minus the gradients of the rows, times alpha, for one part of the dimensions.
    """

    rows: Any
    columns: Any
    ahead: Any
    logits: Any
    hits: Any
    updates: Any


class CbowSums(NamedTuple):
    """The sums of CBOW's contexts.

    Attributes
    ----------
    low, high : ndarray of int32, shape (n + spare,)
        Contexts on either side of each position within the window drawn for it.
    contexts : ndarray of int64, shape (B + 2w,)
        Addresses of the inputs from w positions before the block to w behind it.
    running : ndarray of float, shape (B + 2w + 1, widest part)
        Running sums over the contexts, for one part of the dimensions.
    means : ndarray of float, shape (B, padded D)
        The block's rows.
    """

    low: Any
    high: Any
    contexts: Any
    running: Any
    means: Any


class OwnRows(NamedTuple):
    """One worker's rows of the most frequent words.

    Attributes
    ----------
    w_in, w_out : ndarray of float, shape (own_rows, padded D)
        Copies of the rows of `Tables.own_words`.
    shared_in, shared_out : ndarray of float, shape (own_rows, padded D)
        What these were when they were last shared.
    """

    w_in: Any
    w_out: Any
    shared_in: Any
    shared_out: Any


class BlockScratch(NamedTuple):
    """Scratch of the block kernels.

    Attributes
    ----------
    state : ndarray of uint64, shape (1,)
        Of the random generator.
    negatives : ndarray of int32, shape (blocks of the longest job and one more, times M)
        Of all blocks of the job, one after the other.
    positions, chains, weights, block, own
        See their types.
    sums : CbowSums or None
        None for skip-gram.
    """

    state: Any
    negatives: Any
    positions: Positions
    chains: TargetChains
    weights: PairWeights
    block: Block
    own: OwnRows
    sums: CbowSums | None


class ExactScratch(NamedTuple):
    """Scratch of the exact kernels.

    Attributes
    ----------
    state : ndarray of uint64, shape (1,)
        Of the random generator.
    positions : Positions
    update, mean : ndarray of float, shape (padded D,)
        Of the row that is trained; CBOW's row itself, the mean of the contexts.
    """

    state: Any
    positions: Positions
    update: Any
    mean: Any
