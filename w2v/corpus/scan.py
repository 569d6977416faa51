"""Split UTF-8 bytes into words and number them: all compiled code of the reader. No files, no Python strings.

The words are found exactly where `str.split()` finds them. Each distinct word (type) gets an id in order of
first appearance, by an open-addressing hash table with linear probing. The hash is SipHash-1-3 under a secret
key, because the words come from strangers; the ids do not depend on the key.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

U8: TypeAlias = NDArray[np.uint8]
I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
U64: TypeAlias = NDArray[np.uint64]

_JIT: dict[str, Any] = {"nogil": True, "cache": True}

PADDING = 8
"""Bytes that must exist behind the text and behind the word blob: words are loaded 8 bytes at a time."""

# Positions in the `state` array that `scan` reads and writes.
POSITION, WORD_START, N_TYPES, N_TOKENS, SENTENCE_START, N_LINES, N_BLANK, N_STATE = range(8)

DONE, NEED_ROOM, INVALID_UTF8 = 0, 1, 2

_WORD, _SPACE, _NEWLINE, _MULTIBYTE = 0, 1, 2, 3
_INVALID, _INCOMPLETE = 0, -1


def _byte_kinds() -> U8:
    kinds = np.zeros(256, np.uint8)
    kinds[[ord(space) for space in "\t\v\f\r\x1c\x1d\x1e\x1f "]] = _SPACE
    kinds[ord("\n")] = _NEWLINE
    kinds[0x80:] = _MULTIBYTE
    return kinds


_KINDS = _byte_kinds()
_LOW_BYTES = np.array([(1 << (8 * n)) - 1 for n in range(8)], np.uint64)
_0X21_EACH = np.uint64(0x2121212121212121)
_HIGH_BITS = np.uint64(0x8080808080808080)
_LONG_WORD = np.uint64(1 << 63)
_SIP0 = np.uint64(0x736F6D6570736575)
_SIP1 = np.uint64(0x646F72616E646F6D)
_SIP2 = np.uint64(0x6C7967656E657261)
_SIP3 = np.uint64(0x7465646279746573)


def _load_u64_maker(typing_context: Any, array: Any, index: Any) -> Any:
    """Load 8 bytes at any alignment, the first byte lowest (all platforms of numba are little-endian)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(array, types.intp), codegen


def _trailing_zeros_maker(typing_context: Any, value: Any) -> Any:
    """Count the zero bits below the lowest set bit of a uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


_load_u64: Any = intrinsic(_load_u64_maker)
_trailing_zeros: Any = intrinsic(_trailing_zeros_maker)


@njit(**_JIT)
def _rotate(x: Any, n: int) -> Any:
    return (x << np.uint64(n)) | (x >> np.uint64(64 - n))


@njit(**_JIT)
def _sip_round(v0: Any, v1: Any, v2: Any, v3: Any) -> Any:
    v0 += v1
    v2 += v3
    v1 = _rotate(v1, 13) ^ v0
    v3 = _rotate(v3, 16) ^ v2
    v0 = _rotate(v0, 32)
    v2 += v1
    v0 += v3
    v1 = _rotate(v1, 17) ^ v2
    v3 = _rotate(v3, 21) ^ v0
    v2 = _rotate(v2, 32)
    return v0, v1, v2, v3


@njit(**_JIT)
def _hash_word(data: U8, start: int, stop: int, key: U64) -> Any:
    """Hash bytes start..stop by SipHash-1-3; return the hash and the last block (length and left-over bytes).

    **Reference** Aumasson and Bernstein 2012, "SipHash: a fast short-input PRF", with 1 and 3 rounds.
    """
    v0, v1, v2, v3 = key[0] ^ _SIP0, key[1] ^ _SIP1, key[0] ^ _SIP2, key[1] ^ _SIP3
    position = start
    while stop - position >= 8:
        block = _load_u64(data, position)
        v3 ^= block
        v0, v1, v2, v3 = _sip_round(v0, v1, v2, v3)
        v0 ^= block
        position += 8
    last = _load_u64(data, position) & _LOW_BYTES[stop - position]
    last |= np.uint64(stop - start) << np.uint64(56)
    v3 ^= last
    v0, v1, v2, v3 = _sip_round(v0, v1, v2, v3)
    v0 ^= last
    v2 ^= np.uint64(0xFF)
    for _ in range(3):
        v0, v1, v2, v3 = _sip_round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3, last


@njit(**_JIT)
def _equal(a: U8, a_start: int, b: U8, b_start: int, n_bytes: int) -> bool:
    """Compare n_bytes >= 8 bytes, 8 at a time; the last 8 may overlap the ones before."""
    for offset in range(0, n_bytes - 8, 8):
        if _load_u64(a, a_start + offset) != _load_u64(b, b_start + offset):
            return False
    return bool(_load_u64(a, a_start + n_bytes - 8) == _load_u64(b, b_start + n_bytes - 8))


@njit(**_JIT)
def _char_width(text: U8, position: int, end: int) -> int:
    """Return the bytes of the multi-byte character at `position`: 0 if invalid, -1 if the text ends inside.

    **Reference** The Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
    """
    lead = text[position]
    if lead < 0xC2 or lead > 0xF4:
        return _INVALID
    width = 2 + (lead >= 0xE0) + (lead >= 0xF0)
    low, high = 0x80, 0xBF
    if lead == 0xE0:
        low = 0xA0
    elif lead == 0xED:
        high = 0x9F
    elif lead == 0xF0:
        low = 0x90
    elif lead == 0xF4:
        high = 0x8F
    for offset in range(1, width):
        if position + offset >= end:
            return _INCOMPLETE
        byte = text[position + offset]
        if byte < low or byte > high:
            return _INVALID
        low, high = 0x80, 0xBF
    return width


@njit(**_JIT)
def _is_wide_space(text: U8, position: int) -> bool:
    """Tell whether the valid multi-byte character at `position` is white space to `str.split()`."""
    lead, second = text[position], text[position + 1]
    if lead == 0xC2:
        return second == 0x85 or second == 0xA0
    if lead == 0xE1:
        return second == 0x9A and text[position + 2] == 0x80
    if lead == 0xE2:
        third = text[position + 2]
        if second == 0x80:
            return third <= 0x8A or 0xA8 <= third <= 0xA9 or third == 0xAF
        return second == 0x81 and third == 0x9F
    return lead == 0xE3 and second == 0x80 and text[position + 2] == 0x80


@njit(**_JIT)
def _find_slot(slots: U64, offsets: I64, blob: U8, text: U8, start: int, stop: int, key: U64) -> Any:
    """Find the slot of the word text[start:stop], or the empty one that awaits it; and its slot key.

    The key of a word under 8 bytes is the word itself with its length, so equal keys are equal words; a
    longer one's is its hash with the top bit set, and its bytes are compared.
    """
    word_hash, slot_key = _hash_word(text, start, stop, key)
    n_bytes = stop - start
    if n_bytes >= 8:
        slot_key = word_hash | _LONG_WORD
    mask = len(slots) - 1
    slot = np.int64(word_hash & np.uint64(mask))
    while slots[slot, 1] != 0:
        if slots[slot, 0] == slot_key:
            word_id = np.int64(slots[slot, 1]) - 1
            first = offsets[word_id]
            if n_bytes < 8 or (
                offsets[word_id + 1] - first == n_bytes and _equal(blob, first, text, start, n_bytes)
            ):
                break
        slot = (slot + 1) & mask
    return slot, slot_key


@njit(**_JIT)
def scan(
    text: U8,
    end: int,
    state: I64,
    slots: U64,
    offsets: I64,
    counts: I64,
    blob: U8,
    key: U64,
    token_ids: I32,
    sentence_ends: I64,
) -> Any:
    """Give each word of text[position:end] its id, and note where sentences end.

    Parameters
    ----------
    text : ndarray of uint8
        UTF-8; text[end] is a space, and PADDING bytes exist behind `end`. A word that the end cuts is left
        for the next call, so a text must end in a newline.
    end : int
    state : ndarray of int64, shape (N_STATE,)
        Where the scan stands; modified in place.
    slots : ndarray of uint64, shape (2**k, 2)
        Hash table of (slot key, type id + 1); 0 marks an empty slot. At most half are ever filled.
    offsets, counts : ndarray of int64, shapes (2**(k-1) + 1,) and (2**(k-1),)
        Type i is blob[offsets[i]:offsets[i+1]] and occurred counts[i] times.
    blob : ndarray of uint8
    key : ndarray of uint64, shape (2,)
    token_ids : ndarray of int32
        Takes the type ids; room for one a 2 bytes of new text, and one more.
    sentence_ends : ndarray of int64
        Takes, for each sentence with a word, the number of tokens read from the very start to its end.

    Returns
    -------
    (int, int, int)
        DONE, NEED_ROOM (grow the table and call again: the scan stands before the word that has no room) or
        INVALID_UTF8 (at `state[POSITION]`); how many token_ids; how many sentence_ends.

    **Updates** state, slots, offsets, counts, blob, token_ids, sentence_ends.
    """
    position, word_start, n_types = state[POSITION], state[WORD_START], state[N_TYPES]
    n_tokens, sentence_start = state[N_TOKENS], state[SENTENCE_START]
    n_ids, n_ends, status = 0, 0, DONE
    while True:
        block = _load_u64(text, position)
        special = (((block - _0X21_EACH) & ~block) | block) & _HIGH_BITS
        if special == 0:
            position += 8
            continue
        position += _trailing_zeros(special) >> 3
        if position >= end:
            break
        kind = _KINDS[text[position]]
        width = 1
        if kind == _WORD:
            position += 1
            continue
        if kind == _MULTIBYTE:
            width = _char_width(text, position, end)
            if width <= 0:
                status = INVALID_UTF8 if width == _INVALID else DONE
                break
            if not _is_wide_space(text, position):
                position += width
                continue
        if position > word_start:
            slot, slot_key = _find_slot(slots, offsets, blob, text, word_start, position, key)
            word_id = np.int64(slots[slot, 1]) - 1
            if word_id < 0:
                first, n_bytes = offsets[n_types], position - word_start
                if n_types == len(counts) or first + n_bytes + PADDING > len(blob):
                    position, status = word_start, NEED_ROOM
                    break
                blob[first : first + n_bytes] = text[word_start:position]
                offsets[n_types + 1] = first + n_bytes
                word_id = n_types
                n_types += 1
                slots[slot, 0], slots[slot, 1] = slot_key, np.uint64(n_types)
            counts[word_id] += 1
            token_ids[n_ids] = word_id
            n_ids += 1
        position += width
        word_start = position
        if kind == _NEWLINE:
            state[N_LINES] += 1
            if n_tokens + n_ids > sentence_start:
                sentence_start = n_tokens + n_ids
                sentence_ends[n_ends] = sentence_start
                n_ends += 1
            else:
                state[N_BLANK] += 1
    state[POSITION], state[WORD_START], state[N_TYPES] = position, word_start, n_types
    state[N_TOKENS], state[SENTENCE_START] = n_tokens + n_ids, sentence_start
    return status, n_ids, n_ends


@njit(**_JIT)
def fill_slots(slots: U64, offsets: I64, n_types: int, blob: U8, key: U64) -> None:
    """Enter the first n_types types into an empty table.

    **Updates** slots.
    """
    mask = len(slots) - 1
    for word_id in range(n_types):
        start, stop = offsets[word_id], offsets[word_id + 1]
        word_hash, slot_key = _hash_word(blob, start, stop, key)
        if stop - start >= 8:
            slot_key = word_hash | _LONG_WORD
        slot = np.int64(word_hash & np.uint64(mask))
        while slots[slot, 1] != 0:
            slot = (slot + 1) & mask
        slots[slot, 0], slots[slot, 1] = slot_key, np.uint64(word_id + 1)


@njit(**_JIT)
def gather_words(blob: U8, offsets: I64, order: I64, out: U8) -> None:
    """Copy words in another order, one behind the other: first word order[0], then word order[1], ...

    **Updates** out.
    """
    end = 0
    for word_id in order:
        start = offsets[word_id]
        n_bytes = offsets[word_id + 1] - start
        out[end : end + n_bytes] = blob[start : start + n_bytes]
        end += n_bytes


@njit(**_JIT)
def put_in_lines(blob: U8, offsets: I64, start: int, stop: int, out: U8) -> None:
    """Copy the words start..stop, each followed by a newline.

    **Updates** out.
    """
    end = 0
    for word_id in range(start, stop):
        first = offsets[word_id]
        n_bytes = offsets[word_id + 1] - first
        out[end : end + n_bytes] = blob[first : first + n_bytes]
        out[end + n_bytes] = np.uint8(10)
        end += n_bytes + 1
