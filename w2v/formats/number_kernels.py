"""Compiled loops over the bytes of vector files: decimal rows to float32 and back, and rows of binary files.

Nothing here knows of files or of errors: a row that is not plainly right is left to the caller, which reads
it slowly and says what is wrong with it.
"""

# mypy: no-warn-return-any
from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from w2v.system.compiling import byte_helper, byte_kernel

_TAB, _NEWLINE, _RETURN, _SPACE = 9, 10, 13, 32
_PLUS, _MINUS, _POINT, _ZERO, _E = 43, 45, 46, 48, 101
_POWERS = np.array([float(f"1e{exponent}") for exponent in range(64)])
_MOST_DIGITS = 19  # all of them fit a uint64
_SMALLEST_NORMAL, _LARGEST = 1.1754944e-38, 3.4028234e38
_HALF, _LOW_BITS, _MARGIN = 1 << 28, (1 << 29) - 1, 8
NEEDS_MORE, IS_FULL, IS_ODD = 0, 1, 2


@byte_helper
def _is_surely_rounded(value: float) -> bool:
    """Say whether a float64 that is wrong by some units in the last place still rounds to the right float32.

    It does when it is not next to the middle between two float32, which its lowest 29 bits show.
    """
    low = np.float64(value).view(np.int64) & np.int64(_LOW_BITS)
    return abs(low - np.int64(_HALF)) > _MARGIN


@byte_helper
def _scaled(digits: float, exponent: int) -> float:
    """Return digits * 10 ** exponent, wrong by at most two units in the last place."""
    return digits * _POWERS[exponent] if exponent >= 0 else digits / _POWERS[-exponent]


@byte_helper
def _parse_number(data: NDArray[np.uint8], start: int) -> tuple[float, int]:
    """Read the decimal number at `start`; return its float32 value, as a float64, and where it ends.

    The end is -1 when there is no number, or when it takes more than float64 arithmetic to round it rightly
    (a near tie, or beyond float32's normal range). The value is correctly rounded: half to even.
    """
    at = start
    is_negative = data[at] == _MINUS
    if is_negative or data[at] == _PLUS:
        at += 1
    digits = np.uint64(0)
    n_digits = 0
    exponent = 0
    first = at
    n_points = 0
    while True:
        digit = np.int64(data[at]) - _ZERO
        if 0 <= digit <= 9:
            if n_digits < _MOST_DIGITS:
                digits = digits * np.uint64(10) + np.uint64(digit)
                n_digits += digits != np.uint64(0)
                exponent -= n_points
            else:
                exponent += 1 - n_points
        elif data[at] == _POINT and n_points == 0:
            n_points = 1
        else:
            break
        at += 1
    if at - first - n_points <= 0:
        return 0.0, -1
    if data[at] | 32 == _E:
        at += 1
        is_small = data[at] == _MINUS
        if is_small or data[at] == _PLUS:
            at += 1
        power = 0
        first = at
        while _ZERO <= data[at] <= _ZERO + 9:
            power = min(power * 10 + np.int64(data[at]) - _ZERO, 99_999)
            at += 1
        if at == first:
            return 0.0, -1
        exponent += -power if is_small else power
    value = 0.0
    if digits != np.uint64(0):
        if abs(exponent) >= len(_POWERS):
            return 0.0, -1
        value = _scaled(np.float64(digits), exponent)
        if not (_SMALLEST_NORMAL <= value <= _LARGEST and _is_surely_rounded(value)):
            return 0.0, -1
    return (-value if is_negative else value), at


@byte_kernel
def parse_rows(
    data: NDArray[np.uint8],
    start: int,
    stop: int,
    has_word: bool,
    out: NDArray[np.float32],
    spans: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Read lines `word number number ...` until one is odd, the output is full or the data ends.

    Parameters
    ----------
    data : ndarray of uint8
        Whole lines: `data[stop - 1]` is a newline.
    start, stop : int
        The part to read.
    has_word : bool
        Whether each line begins with a word; it ends at the first space or tab.
    out : ndarray of float32, shape (n, D), modified in place
    spans : ndarray of int64, shape (n, 2), modified in place
        Where each word begins and ends in `data`.

    Returns
    -------
    n_rows, position, status : int
        How many rows are good, where the first unread line begins, and NEEDS_MORE, IS_FULL or IS_ODD.
    """
    n_rows = 0
    while start < stop:
        if n_rows == len(out):
            return n_rows, start, IS_FULL
        at = start
        if has_word:
            while data[at] != _SPACE and data[at] != _TAB and data[at] != _NEWLINE:
                at += 1
            if at == start:
                return n_rows, start, IS_ODD
            spans[n_rows, 0] = start
            spans[n_rows, 1] = at
        for column in range(out.shape[1]):
            if (has_word or column > 0) and data[at] != _SPACE and data[at] != _TAB:
                return n_rows, start, IS_ODD
            while data[at] == _SPACE or data[at] == _TAB:
                at += 1
            value, at = _parse_number(data, at)
            if at < 0:
                return n_rows, start, IS_ODD
            out[n_rows, column] = value
        while data[at] == _SPACE or data[at] == _TAB or data[at] == _RETURN:
            at += 1
        if data[at] != _NEWLINE:
            return n_rows, start, IS_ODD
        n_rows += 1
        start = at + 1
    return n_rows, start, NEEDS_MORE


@byte_kernel
def split_rows(
    data: NDArray[np.uint8],
    start: int,
    stop: int,
    out: NDArray[np.uint8],
    spans: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Read rows `word, space, D float32` of a word2vec binary file until the output is full or the data ends.

    Newlines before a word are passed over: word2vec.c ends each row with one, gensim does not.

    Parameters
    ----------
    data : ndarray of uint8
    start, stop : int
        The part to read.
    out : ndarray of uint8, shape (n, 4 * D), modified in place
    spans : ndarray of int64, shape (n, 2), modified in place
        Where each word begins and ends in `data`.

    Returns
    -------
    n_rows, position, status : int
        How many rows were copied, where the first unread row begins, and NEEDS_MORE or IS_FULL.
    """
    n_rows = 0
    n_bytes = out.shape[1]
    while True:
        if n_rows == len(out):
            return n_rows, start, IS_FULL
        first = start
        while first < stop and data[first] == _NEWLINE:
            first += 1
        at = first
        while at < stop and data[at] != _SPACE:
            at += 1
        if at + 1 + n_bytes > stop:
            return n_rows, start, NEEDS_MORE
        spans[n_rows, 0] = first
        spans[n_rows, 1] = at
        out[n_rows] = data[at + 1 : at + 1 + n_bytes]
        n_rows += 1
        start = at + 1 + n_bytes


@byte_helper
def _shortest_digits(value: float) -> tuple[int, int]:
    """Return the fewest decimal digits that read back as the float32 `value` > 0, and the power of the first.

    At most 9, which are always enough. Numbers that would be read back near a tie may get a digit more than
    they need: one in ten million, and more from 2 ** 24 on; so may subnormal numbers.
    """
    exponent = math.floor(math.log10(value))
    for n_digits in range(6, 10):
        shift = n_digits - 1 - exponent
        digits = int(_scaled(value, shift) + 0.5)
        if n_digits == 9:
            break
        back = _scaled(float(digits), -shift)
        if back >= _SMALLEST_NORMAL and _is_surely_rounded(back) and np.float32(back) == value:
            break
    while digits % 10 == 0:
        digits //= 10
    n_digits = 0
    rest = digits
    while rest > 0:
        rest //= 10
        n_digits += 1
    # The logarithm may be wrong beside a power of ten; the digits themselves tell the true exponent.
    power = math.floor(math.log10(value / digits) + 0.5)
    return digits, power + n_digits - 1


@byte_helper
def _put_digits(digits: int, n_digits: int, out: NDArray[np.uint8], at: int) -> int:
    for place in range(at + n_digits - 1, at - 1, -1):
        out[place] = _ZERO + digits % 10
        digits //= 10
    return at + n_digits


@byte_helper
def _put_number(value: np.float32, out: NDArray[np.uint8], at: int) -> int:
    """Write a finite float32 as Python's repr would lay it out; return where it ends."""
    if math.copysign(1.0, value) < 0:
        out[at] = _MINUS
        at += 1
    if value == 0:
        out[at] = out[at + 2] = _ZERO
        out[at + 1] = _POINT
        return at + 3
    digits, exponent = _shortest_digits(abs(np.float64(value)))
    n_digits = 1
    power = 10
    while power <= digits:
        power *= 10
        n_digits += 1
    if -5 < exponent < 0:
        at = _put_digits(0, 1, out, at)
        out[at] = _POINT
        at = _put_digits(0, -exponent - 1, out, at + 1)
        return _put_digits(digits, n_digits, out, at)
    n_whole = min(exponent + 1, n_digits) if 0 <= exponent < 16 else 1
    n_parts = n_digits - n_whole
    fraction = digits % 10**n_parts
    at = _put_digits(digits // 10**n_parts, n_whole, out, at)
    if 0 <= exponent < 16:
        at = _put_digits(0, exponent + 1 - n_whole, out, at)
        out[at] = _POINT
        return _put_digits(fraction, max(n_parts, 1), out, at + 1)
    if n_parts > 0:
        out[at] = _POINT
        at = _put_digits(fraction, n_parts, out, at + 1)
    out[at] = _E
    out[at + 1] = _MINUS if exponent < 0 else _PLUS
    return _put_digits(abs(exponent), 2, out, at + 2)


NUMBER_BYTES = 20  # the longest number is -1234567890000000.0 with its separator


@byte_kernel
def format_rows(
    matrix: NDArray[np.float32],
    words: NDArray[np.uint8],
    ends: NDArray[np.int64],
    separator: int,
    out: NDArray[np.uint8],
) -> int:
    """Write lines `word number number ...`, with the fewest digits that read back as the same float32.

    Parameters
    ----------
    matrix : ndarray of float32, shape (n, D)
        Finite numbers.
    words : ndarray of uint8
        The bytes of all words one after the other.
    ends : ndarray of int64, shape (n,) or (0,)
        Where each word ends in `words`; empty when the lines have no words.
    separator : int
        The byte between two fields.
    out : ndarray of uint8, shape (at least len(words) + n * (D * NUMBER_BYTES + 1),), modified in place

    Returns
    -------
    int
        How many bytes were written.
    """
    at = 0
    first = 0
    for row in range(len(matrix)):
        if len(ends) > 0:
            for letter in words[first : ends[row]]:
                out[at] = letter
                at += 1
            first = ends[row]
        for column in range(matrix.shape[1]):
            if column > 0 or len(ends) > 0:
                out[at] = separator
                at += 1
            at = _put_number(matrix[row, column], out, at)
        out[at] = _NEWLINE
        at += 1
    return at
