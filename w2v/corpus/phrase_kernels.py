"""Count and join neighbouring words: all compiled code of the phrases. No strings, no scores.

A pair is (first word, connectors between, last word). The connectors are the number of a node in a tree of
connector words: node 0 is the empty run, and each further connector leads to a child. So a pair is three
int32 whatever words lie between them, and pairs are counted in one open-addressing hash table.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from w2v.corpus.ids.scan_kernels import I32, I64, U64, prefetch
from w2v.system.addresses import address_of
from w2v.system.compiling import byte_helper, byte_kernel

Flags: TypeAlias = NDArray[np.bool_]

# Columns of a table: the pair's first and last word; the connectors between and a count or number (0: empty).
WORDS, COUNT, N_COLUMNS = range(3)
COUNT_BITS = np.uint64(40)
COUNT_MASK = np.uint64((1 << 40) - 1)
MOST_NODES = (1 << 24) - 1

# Positions in the `state` array.
SENTENCE, POSITION, N_PAIRS, N_NODES, N_STATE = range(5)

_AHEAD = 24
_SHIFT = np.uint64(32)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_2 = np.uint64(0xD6E8FEB86659FD93)
_NONE = np.int64(-1)


@byte_helper
def _key(first: int, last: int) -> Any:
    return (np.uint64(first) << _SHIFT) | np.uint64(last)


@byte_helper
def _slot_of(words: Any, between: Any, mask: Any) -> Any:
    """Return the first slot to try for a pair; ids are ranks by count, so no text can make them collide."""
    mixed = (words ^ (between * _MULTIPLIER_2)) * _MULTIPLIER
    mixed ^= mixed >> _SHIFT
    mixed *= _MULTIPLIER_2
    return (mixed ^ (mixed >> _SHIFT)) & mask


@byte_kernel
def find(table: U64, words: Any, between: Any) -> Any:
    """Return the slot of a pair, or the empty one where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = _slot_of(words, between, mask)
    while table[slot, COUNT] != 0:
        if table[slot, WORDS] == words and table[slot, COUNT] >> COUNT_BITS == between:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@byte_helper
def _child(nodes: U64, node: int, connector: int, state: I64) -> Any:
    """Return the node that a connector leads to from a node; a new one if need be.

    **Updates** nodes, state.
    """
    slot = find(nodes, _key(node, connector), np.uint64(0))
    if nodes[slot, COUNT] == 0:
        nodes[slot, WORDS] = _key(node, connector)
        state[N_NODES] += 1
        nodes[slot, COUNT] = np.uint64(state[N_NODES])
    return np.int64(nodes[slot, COUNT])


@byte_kernel
def find_pairs(
    tokens: I32,
    offsets: I64,
    is_connector: Flags,
    nodes: U64,
    state: I64,
    pairs: U64,
) -> int:
    """List the pairs of the next tokens in text order.

    Parameters
    ----------
    tokens : ndarray of int32, shape (N,)
    offsets : ndarray of int64, shape (S + 1,)
    is_connector : ndarray of bool, shape (n_types,)
    nodes : ndarray of uint64, shape (2**k, N_COLUMNS)
        The tree of connectors: (parent, connector) -> node.
    state : ndarray of int64, shape (N_STATE,)
        Position of the reader, which stops when `pairs` is full or the tree needs more room.
    pairs : ndarray of uint64, shape (n, N_COLUMNS)
        Filled with the words of each pair, and the connectors between them.

    Returns
    -------
    int
        Pairs found; 0 at the end of the tokens, or when the tree is half full.

    **Updates** nodes, state, pairs.
    """
    n_found = 0
    sentence, position = state[SENTENCE], state[POSITION]
    while sentence < len(offsets) - 1:
        stop = offsets[sentence + 1]
        # A pair may begin before the place where the last call stopped: go back to its first word.
        first, between = _NONE, np.int64(0)
        while position < stop:
            word = np.int64(tokens[position])
            if not is_connector[word]:
                if first >= 0:
                    if n_found == len(pairs):
                        break
                    pairs[n_found, WORDS] = _key(first, word)
                    pairs[n_found, COUNT] = np.uint64(between)
                    n_found += 1
                first, between = word, np.int64(0)
                state[POSITION] = position
            elif first >= 0:
                if 2 * (state[N_NODES] + 1) >= len(nodes):
                    break
                between = _child(nodes, between, word, state)
            position += 1
        if position < stop:
            state[SENTENCE] = sentence
            return n_found
        sentence += 1
        position = stop
        state[POSITION] = position
    state[SENTENCE] = sentence
    return n_found


@byte_kernel
def count_pairs(pairs: U64, first: int, stop: int, table: U64, state: I64) -> int:
    """Count the pairs first..stop of a list.

    Returns
    -------
    int
        `stop`, or the pair for which the table, which is kept at most two thirds full, has no room.

    **Updates** table, state[N_PAIRS].
    """
    mask = np.uint64(len(table) - 1)
    for number in range(first, stop):
        if number + _AHEAD < stop:
            ahead = _slot_of(pairs[number + _AHEAD, WORDS], pairs[number + _AHEAD, COUNT], mask)
            prefetch(address_of(table) + np.int64(ahead) * N_COLUMNS * 8)
        slot = find(table, pairs[number, WORDS], pairs[number, COUNT])
        if table[slot, COUNT] == 0:
            if 3 * (state[N_PAIRS] + 1) > 2 * len(table):
                return number
            table[slot, WORDS] = pairs[number, WORDS]
            table[slot, COUNT] = pairs[number, COUNT] << COUNT_BITS
            state[N_PAIRS] += 1
        table[slot, COUNT] += np.uint64(1)
    return stop


@byte_kernel
def rehash(old: U64, new: U64, at_least: int) -> int:
    """Enter the pairs of one table that were counted so often into an empty one; return how many.

    **Updates** new.
    """
    n_entered = 0
    for number in range(len(old)):
        if (old[number, COUNT] & COUNT_MASK) >= np.uint64(at_least) and old[number, COUNT] != 0:
            slot = find(new, old[number, WORDS], old[number, COUNT] >> COUNT_BITS)
            new[slot, WORDS] = old[number, WORDS]
            new[slot, COUNT] = old[number, COUNT]
            n_entered += 1
    return n_entered


@byte_kernel
def join_phrases(
    tokens: I32,
    offsets: I64,
    first_sentence: int,
    last_sentence: int,
    is_connector: Flags,
    nodes: U64,
    phrases: U64,
    n_types: int,
    out: I32,
    out_ends: I64,
) -> int:
    """Replace phrases by ids n_types, n_types + 1, ..., from left to right, as gensim does.

    Parameters
    ----------
    tokens, offsets, is_connector, nodes : see `find_pairs`
    first_sentence, last_sentence : int
    phrases : ndarray of uint64, shape (2**k, N_COLUMNS)
        Table of the pairs to join; the count is the number of the phrase + 1.
    n_types : int
    out : ndarray of int32
        Room for all tokens of the sentences.
    out_ends : ndarray of int64, shape (last_sentence - first_sentence,)
        Filled with the end of each sentence in `out`.

    Returns
    -------
    int
        Tokens written.

    **Updates** out, out_ends.
    """
    n_out = 0
    for sentence in range(first_sentence, last_sentence):
        first_pos, between = _NONE, np.int64(0)
        for position in range(offsets[sentence], offsets[sentence + 1]):
            word = tokens[position]
            if is_connector[word]:
                if first_pos < 0:
                    out[n_out] = word
                    n_out += 1
                elif between >= 0:
                    slot = find(nodes, _key(between, np.int64(word)), np.uint64(0))
                    between = np.int64(nodes[slot, COUNT]) if nodes[slot, COUNT] != 0 else _NONE
                continue
            if first_pos >= 0:
                words = _key(np.int64(tokens[first_pos]), np.int64(word))
                slot = find(phrases, words, np.uint64(max(between, 0)))
                if between >= 0 and phrases[slot, COUNT] != 0:
                    out[n_out] = n_types + np.int64(phrases[slot, COUNT] & COUNT_MASK) - 1
                    n_out += 1
                    first_pos, between = _NONE, np.int64(0)
                    continue
                for kept in range(first_pos, position):
                    out[n_out] = tokens[kept]
                    n_out += 1
            first_pos, between = np.int64(position), np.int64(0)
        if first_pos >= 0:
            for kept in range(first_pos, offsets[sentence + 1]):
                out[n_out] = tokens[kept]
                n_out += 1
        out_ends[sentence - first_sentence] = n_out
    return n_out
