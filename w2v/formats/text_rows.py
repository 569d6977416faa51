"""Lines of decimal numbers, with a word in front or without: the rows of all text formats."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from decimal import Decimal
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v.formats.rows import RowCollector
from w2v.formats.source import Source, Window

_FIELD = re.compile(rb"[^ \t]+")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_ROWS_AT_ONCE = 4096


class _BadLine(Exception):  # noqa: N818 - caught here, never seen
    """A line that is no row: the kind of its fault, and a message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def read_lines(
    source: Source,
    collector: RowCollector,
    *,
    first_line: int = 1,
    skip_bytes: int = 0,
    has_word: bool = True,
    spaces_in_words: bool = False,
) -> None:
    """Read all lines of a source into a collector.

    Parameters
    ----------
    source : Source
    collector : RowCollector
    first_line : int
        The number of the first line to read, for messages.
    skip_bytes : int
        Where it begins. A byte-order mark at the beginning of the file is passed over.
    has_word : bool
        Whether a word stands before the numbers; without, rows are named by their number.
    spaces_in_words : bool
        Whether a word may have spaces and tabs inside: the last D fields are the numbers and all before is
        the word. Where all fields but the first are numbers, there is no telling, and the line is bad.

    Raises
    ------
    FormatError
        With file and line, at the first bad row (unless bad rows are skipped).
    """
    from w2v.formats.number_kernels import IS_ODD, parse_rows

    window = Window(source)
    window.start = skip_bytes
    if skip_bytes == 0 and window.data.startswith(BOM_UTF8):
        window.start = len(BOM_UTF8)
    line = first_line
    while True:
        stop = _end_of_lines(window)
        while window.start < stop and not collector.is_done:
            room = collector.room()[:_ROWS_AT_ONCE]
            spans = np.empty((len(room), 2), np.int64)
            n, start, status = parse_rows(window.array, window.start, stop, has_word, room, spans)
            words = decode_words(window.data, spans[:n]) if has_word else _numbers(collector, n)
            collector.take(words, lambda i, line=line: f"{source}:{line + i}", is_finite=True)  # type: ignore[misc]
            line, window.start = line + n, start
            if status == IS_ODD and not collector.is_done:
                end = window.data.index(b"\n", start)
                text = bytes(memoryview(window.data)[start:end])
                _read_odd_line(text, f"{source}:{line}", collector, has_word, spaces_in_words)
                line, window.start = line + 1, end + 1
        if collector.is_done or not window.slide(window.start):
            return


def _end_of_lines(window: Window) -> int:
    """Return where the last whole line of the window ends; the file's last line may lack its newline."""
    if window.is_last and window.stop > window.start and window.data[window.stop - 1] != 10:
        window.data[window.stop] = 10
        window.stop += 1
    return window.data.rfind(b"\n", window.start, window.stop) + 1


def decode_words(data: bytearray, spans: NDArray[np.int64]) -> list[str | None]:
    """Return the words at some spans of bytes; None for one that is not UTF-8."""
    pairs = spans.tolist()
    try:
        return [data[start:stop].decode() for start, stop in pairs]
    except UnicodeDecodeError:
        return [_decoded(bytes(data[start:stop])) for start, stop in pairs]


def _decoded(word: bytes) -> str | None:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return None


def _numbers(collector: RowCollector, n: int) -> list[str]:
    return [str(row) for row in range(collector.n_seen, collector.n_seen + n)]


def _read_odd_line(
    line: bytes, where: str, collector: RowCollector, has_word: bool, spaces_in_words: bool
) -> None:
    """Read a line that the fast loop left: blank, a word with spaces, a number near a tie, or bad."""
    if not line.strip(b" \t\r"):
        return
    try:
        word, numbers = split_line(line, collector.dimensions, has_word, spaces_in_words)
        row = [_exact_float32(number, column) for column, number in enumerate(numbers, 1)]
    except _BadLine as bad:
        collector.bad_row(bad.kind, where, str(bad))
        return
    collector.room()[0] = row
    words = [_decoded(word)] if has_word else _numbers(collector, 1)
    collector.take(words, lambda _: where, is_finite=True)


def split_line(
    line: bytes, dimensions: int, has_word: bool, spaces_in_words: bool
) -> tuple[bytes, Sequence[bytes]]:
    """Split a line into its word and the text of its numbers."""
    spans = [hit.span() for hit in _FIELD.finditer(line.rstrip(b" \t\r"))]
    fields = [line[start:stop] for start, stop in spans]
    if len(fields) == dimensions and (not has_word or line[:1] in (b" ", b"\t")):
        return b"", fields
    n_numbers = len(fields) - has_word
    is_long = n_numbers > dimensions
    if is_long and spaces_in_words and has_word:
        is_long = all(map(_is_number, fields[1:]))
    if n_numbers < dimensions or is_long:
        raise _BadLine("wrong number of fields", f"expected {dimensions} numbers, got {n_numbers}")
    if n_numbers > dimensions and not spaces_in_words:
        raise _BadLine("wrong number of fields", f"expected {dimensions} numbers, got {n_numbers}")
    return line[spans[0][0] : spans[-dimensions - 1][1]], fields[-dimensions:]


def _is_number(field: bytes) -> bool:
    return bool(_NUMBER.fullmatch(field) or _NOT_FINITE.fullmatch(field))


def count_numbers(line: bytes) -> int:
    """Return how many fields at the end of a line are numbers, the first field never being one."""
    fields = _FIELD.findall(line.rstrip(b" \t\r"))[1:]
    n = 0
    while n < len(fields) and _is_number(fields[-1 - n]):
        n += 1
    return n


def _exact_float32(text: bytes, column: int) -> float:
    """Return the float32 nearest to a decimal number, ties to even, whatever its length or size."""
    if not _NUMBER.fullmatch(text):
        if _NOT_FINITE.fullmatch(text):
            raise _BadLine("not finite", f"number {column} is {text.decode()}")
        shown = text[:40].decode(errors="replace")
        raise _BadLine("not a number", f"expected a number in column {column}, got {shown!r}")
    double = float(text)
    with np.errstate(over="ignore"):
        nearest = np.float32(double)
    if not np.isfinite(nearest):
        raise _BadLine("not finite", f"number {column} is {text[:40].decode()}, too large for float32")
    with np.errstate(over="ignore", under="ignore"):
        other = np.nextafter(nearest, np.float32(np.inf if float(nearest) < double else -np.inf))
    if float(nearest) != double and (float(nearest) + float(other)) / 2 == double:
        # `double` is a tie, but the text, of which it is a rounding, may not be.
        exact = Decimal(text.decode())
        if exact != Decimal(double):
            return float(max(nearest, other) if exact > Decimal(double) else min(nearest, other))
    return float(nearest)


def write_lines(
    file: BinaryIO, matrix: NDArray[np.float32], words: Sequence[str] | None, *, separator: str = " "
) -> None:
    """Write lines of numbers, the fewest digits that read back as the same float32, after a word or alone.

    Parameters
    ----------
    file : binary file
    matrix : ndarray of float32, shape (V, D)
        Finite.
    words : sequence of str, length V, optional
        Already such that the format can carry them.
    separator : str
        One ASCII letter between two fields.
    """
    from w2v.formats.number_kernels import NUMBER_BYTES, format_rows

    at_once = max(1, (1 << 22) // (NUMBER_BYTES * max(1, matrix.shape[1])))
    for start in range(0, len(matrix), at_once):
        rows = np.ascontiguousarray(matrix[start : start + at_once], np.float32)
        encoded = [word.encode() for word in words[start : start + at_once]] if words is not None else []
        ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
        letters = np.frombuffer(b"".join(encoded), np.uint8)
        out = np.empty(len(letters) + len(rows) * (rows.shape[1] * NUMBER_BYTES + 1), np.uint8)
        file.write(out[: format_rows(rows, letters, ends, ord(separator), out)].data)
