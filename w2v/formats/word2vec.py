"""word2vec's files, text and binary: a line `V D`, then of each word the word, a blank and D numbers.

Text, which fastText's `.vec` is too, has a line a word, written with the fewest digits that read back as the
same float32; words with blanks are read, since the header says how many numbers follow. Binary has float32,
little-endian; word2vec.c ends each row with a newline and gensim does not: both are read, and rows are
written without. Words that are empty or hold white space are refused when writing, or escaped on demand.
Counts and context vectors are not carried.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from w2v.errors import FormatError
from w2v.files.compression import new_packed_file
from w2v.files.escapes import words_for_fields
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.rows import RowCollector
from w2v.formats.source import HEAD_BYTES, Source, Window
from w2v.formats.text_rows import decode_words, read_lines, write_lines
from w2v.vectors.word_vectors import WordVectors

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*(?:\n|$)")
_NUMBERS = re.compile(rb"[0-9eE+. \tinfatyINFATY\r-]+")
_LETTERS_OF_NUMBERS = b"0123456789eE+-. \t\r\n"
_NO_TEXT = re.compile(rb"[^\t\n\r\x20-\x7e]")
_ROWS_AT_ONCE = 4096


class Header(NamedTuple):
    """What the first line says, and the byte after it."""

    n_rows: int
    dimensions: int
    end: int


def find_header(source: Source) -> Header | None:
    """Return the header, or None where the file does not begin with one."""
    hit = _HEADER.match(source.head)
    return Header(int(hit[1]), int(hit[2]), hit.end()) if hit else None


def _read_header(source: Source) -> Header:
    """Return the header, or raise FormatError."""
    header = find_header(source)
    if header is None:
        line = source.head[:60].split(b"\n")[0].decode(errors="replace")
        raise FormatError(f"{source}:1: expected the numbers of words and of dimensions, got {line!r}")
    return header


def _is_text(source: Source, header: Header) -> bool:
    """Say whether the rows are decimal numbers, by the bytes that follow the first word.

    Numbers are text. So is anything of which more than half could stand in a number (a word with a blank, a
    line with a fault); of the bytes of float32 few could. Bytes that no text of numbers has are binary, and
    anything else is if all rows fit.
    """
    rest = source.head[header.end :]
    numbers = rest[rest.find(b" ") + 1 :][: 4 * header.dimensions]
    line = numbers.split(b"\n")[0]
    if not rest.strip() or _NUMBERS.fullmatch(line):
        return True
    if _fits_binary(source.head, header):
        return False
    n_of_numbers = len(numbers) - len(numbers.translate(None, _LETTERS_OF_NUMBERS))
    return 2 * n_of_numbers > len(numbers) or not _NO_TEXT.search(numbers)


def _fits_binary(head: bytes, header: Header) -> bool:
    """Say whether a file that is all in its head is made of V binary rows and nothing else."""
    at = header.end
    for _ in range(header.n_rows):
        space = head.find(b" ", at)
        if space < 0 or space + 4 * header.dimensions >= len(head):
            return False
        at = space + 1 + 4 * header.dimensions
    return len(head) < HEAD_BYTES and not head[at:].strip(b"\n")


def _detects_text(source: Source) -> bool:
    """Say whether a source is word2vec text."""
    header = find_header(source)
    return header is not None and _is_text(source, header)


def _read_text(source: Source, options: ReadOptions) -> WordVectors:
    """Read word2vec text."""
    n_rows, dimensions, end = _read_header(source)
    collector = RowCollector(source, dimensions, options, promised=n_rows, least_bytes=2 * dimensions)
    read_lines(source, collector, first_line=2, skip_bytes=end, spaces_in_words=True)
    return collector.finish(TEXT.name)


def _write_text(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write word2vec text, packed if the suffix says so."""
    words = words_for_fields(model.words, TEXT.title, escaped=options.escape)
    with new_packed_file(path) as file:
        file.write(f"{len(model)} {model.vector_size}\n".encode())
        write_lines(file, model.vectors, words)


def _detects_binary(source: Source) -> bool:
    """Say whether a source is word2vec binary."""
    header = find_header(source)
    return header is not None and not _is_text(source, header)


def _read_binary(source: Source, options: ReadOptions) -> WordVectors:
    """Read word2vec binary."""
    from w2v.formats.number_kernels import IS_FULL, split_rows

    n_rows, dimensions, end = _read_header(source)
    collector = RowCollector(source, dimensions, options, promised=n_rows, least_bytes=4 * dimensions + 1)
    window = Window(source)
    window.start = end
    while not collector.is_done:
        room = collector.room()[:_ROWS_AT_ONCE]
        spans = np.empty((len(room), 2), np.int64)
        first_row = collector.n_seen + 1
        n, start, status = split_rows(window.array, window.start, window.stop, room.view(np.uint8), spans)

        def where(i: int, offset: int = window.offset, row: int = first_row, spans=spans) -> str:  # type: ignore[no-untyped-def]
            return f"{source}: row {row + i} (byte {offset + int(spans[i, 0])})"

        collector.take(decode_words(window.data, spans[:n]), where, is_finite=False)
        window.start = start
        if status != IS_FULL and not window.slide(start):
            _check_rest(window, collector)
            break
    return collector.finish(BINARY.name)


def _check_rest(window: Window, collector: RowCollector) -> None:
    """Make sure that nothing but newlines follows the last whole row."""
    rest = bytes(memoryview(window.data)[window.start : window.stop]).lstrip(b"\n")
    if not rest:
        return
    row, at = collector.n_seen + 1, window.offset + window.stop - len(rest)
    expected = f"a word, a space and {4 * collector.dimensions} bytes of numbers"
    message = f"expected {expected}, got {len(rest)} bytes and the end of the file"
    if collector.promised is not None and collector.n_seen >= collector.promised:
        message = f"expected the end after {collector.promised} rows, got {len(rest)} bytes more"
    if not collector.options.skip_bad:
        raise FormatError(f"{collector.source}: row {row} (byte {at}): {message}; is it cut short?")
    collector.skipped["cut short"] += 1


def _write_binary(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write word2vec binary, packed if the suffix says so."""
    words = words_for_fields(model.words, BINARY.title, escaped=options.escape)
    with new_packed_file(path) as file:
        file.write(f"{len(model)} {model.vector_size}\n".encode())
        for start in range(0, len(model), _ROWS_AT_ONCE):
            rows = np.ascontiguousarray(model.vectors[start : start + _ROWS_AT_ONCE], "<f4")
            pairs = zip(words[start : start + len(rows)], rows, strict=True)
            file.write(b"".join(b"%b %b" % (word.encode(), row.tobytes()) for word, row in pairs))


TEXT = Format(
    "word2vec",
    "word2vec text",
    (".txt", ".vec", ".w2v"),
    _detects_text,
    _read_text,
    _write_text,
    carries_packing=True,
)
BINARY = Format(
    "word2vec-bin",
    "word2vec binary",
    (".bin",),
    _detects_binary,
    _read_binary,
    _write_binary,
    carries_packing=True,
)
