"""Each worker's own rows of the most frequent words.

All workers would write these rows all the time, and their cache lines would move from core to core. So each
worker trains a copy. Every few blocks it adds its share (one by the number of workers) of what the copy has
learned to the row that all share, and copies that row again: 13 % faster with two workers.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls
# numba infers the types: one source serves float32 and float64.
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from w2v.system.addresses import address_of
from w2v.system.compiling import helper
from w2v.training.cpu.arguments import NOT_OWN
from w2v.training.cpu.lanes import LANES, fma, load_lanes, size_of, splat, store_lanes, subtract


def choose_own_words(counts: NDArray[np.int64], n: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return `own_words` and `own_slots` of `Tables` for the n most frequent words, n < `NOT_OWN`.

    A given vocabulary may have any order. Only then is there a table: reading it makes CBOW 3 % slower.
    """
    words = np.argsort(-counts, kind="stable")[:n].astype(np.int32)
    slots = np.full(0 if (words == np.arange(n)).all() else len(counts), NOT_OWN, np.uint8)
    if len(slots):
        slots[words] = np.arange(n)
    return words, slots


@helper
def point_at_rows(slots, weights, own, ids, first, n, addresses, begin):
    """Write the addresses of words' rows: of the worker's own copy where it has one."""
    base, own_base, n_own, n_bytes = address_of(weights), address_of(own), len(own), weights.strides[0]
    if len(slots) == 0:
        for i in range(n):
            word_id = ids[first + i]
            addresses[begin + i] = (own_base if word_id < n_own else base) + word_id * n_bytes
    else:
        for i in range(n):
            word_id = ids[first + i]
            slot = np.int64(slots[word_id])
            addresses[begin + i] = base + word_id * n_bytes if slot == NOT_OWN else own_base + slot * n_bytes


@helper
def _share_rows(dtype_tag, words, weights, own, shared, share):
    """Give all workers this one's share of what it added to its own rows, and take what the others added.

    **Updates** `weights`, `own`, and `shared`, what `own` was after the last call. **Race** `weights`.
    """
    base, own_base, shared_base = address_of(weights), address_of(own), address_of(shared)
    n_bytes = weights.strides[0]
    minus = splat(-share)
    for slot in range(len(words)):
        row, begin = base + words[slot] * n_bytes, slot * n_bytes
        for k in range(0, n_bytes, size_of(dtype_tag) * LANES):
            mine, before = own_base + begin + k, shared_base + begin + k
            # Minus the share times minus the addition: where nothing was added, that is -0.0, the only number
            # whose addition leaves every number as it is. 0.0 would turn a frozen row's -0.0 into 0.0.
            subtracted = subtract(load_lanes(dtype_tag, before), load_lanes(dtype_tag, mine))
            lanes = fma(minus, subtracted, load_lanes(dtype_tag, row + k))
            store_lanes(row + k, lanes)
            store_lanes(mine, lanes)
            store_lanes(before, lanes)


@helper
def share_own_rows(tables, settings, own, dtype_tag):
    """Share all own rows of a worker. **Updates** `w_in`, `w_out`, `own`. **Race** `w_in`, `w_out`."""
    dtype = tables.w_in.dtype.type
    share = dtype(1) / dtype(settings.workers)
    _share_rows(dtype_tag, tables.own_words, tables.w_in, own.w_in, own.shared_in, share)
    _share_rows(dtype_tag, tables.own_words, tables.w_out, own.w_out, own.shared_out, share)
