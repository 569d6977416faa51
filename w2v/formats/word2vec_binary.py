"""word2vec binary: a line `V D`, then for each word the word, a space and D float32, little-endian.

word2vec.c ends each row with a newline and gensim does not; both are read, and rows are written without.
Words that are empty or hold white space are refused, or escaped on demand. Counts and context vectors are not
carried.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from w2v.errors import FormatError
from w2v.formats.base import Format, new_packed_file
from w2v.formats.options import ReadOptions, WriteOptions
from w2v.formats.rows import RowCollector
from w2v.formats.source import Source, Window
from w2v.formats.text_rows import check_finite, decode_words
from w2v.formats.word2vec_header import find_header, is_text, read_header
from w2v.formats.word_checks import words_for_fields
from w2v.vectors.word_vectors import WordVectors

_ROWS_AT_ONCE = 4096


def detects(source: Source) -> bool:
    """Say whether a source is word2vec binary."""
    header = find_header(source)
    return header is not None and not is_text(source, header)


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Read word2vec binary."""
    from w2v.formats.number_kernels import IS_FULL, split_rows

    n_rows, dimensions, end = read_header(source)
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
    return collector.finish(FORMAT.name)


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


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write word2vec binary, packed if the suffix says so."""
    words = words_for_fields(model.words, FORMAT.title, options)
    check_finite(model.vectors, model.words)
    with new_packed_file(path) as file:
        file.write(f"{len(model)} {model.vector_size}\n".encode())
        for start in range(0, len(model), _ROWS_AT_ONCE):
            rows = np.ascontiguousarray(model.vectors[start : start + _ROWS_AT_ONCE], "<f4")
            pairs = zip(words[start : start + len(rows)], rows, strict=True)
            file.write(b"".join(b"%b %b" % (word.encode(), row.tobytes()) for word, row in pairs))


FORMAT = Format("word2vec-bin", "word2vec binary", (".bin",), detects, read, write, carries_packing=True)
