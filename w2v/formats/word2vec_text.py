"""word2vec text, which fastText's `.vec` is too: a line `V D`, then a line `word number number ...` a word.

Written with the fewest digits that read back as the same float32. Words that are empty or hold white space
are refused, or escaped on demand. Counts and context vectors are not carried.
"""

from __future__ import annotations

from pathlib import Path

from w2v.formats.base import Format, new_packed_file
from w2v.formats.options import ReadOptions, WriteOptions
from w2v.formats.rows import RowCollector
from w2v.formats.source import Source
from w2v.formats.text_rows import check_finite, read_lines, write_lines
from w2v.formats.word2vec_header import find_header, is_text, read_header
from w2v.formats.word_checks import words_for_fields
from w2v.vectors.word_vectors import WordVectors


def detects(source: Source) -> bool:
    """Say whether a source is word2vec text."""
    header = find_header(source)
    return header is not None and is_text(source, header)


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Read word2vec text."""
    n_rows, dimensions, end = read_header(source)
    collector = RowCollector(source, dimensions, options, promised=n_rows, least_bytes=2 * dimensions)
    read_lines(source, collector, first_line=2, skip_bytes=end)
    return collector.finish(FORMAT.name)


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write word2vec text, packed if the suffix says so."""
    words = words_for_fields(model.words, FORMAT.title, options)
    check_finite(model.vectors, model.words)
    with new_packed_file(path) as file:
        file.write(f"{len(model)} {model.vector_size}\n".encode())
        write_lines(file, model.vectors, words)


FORMAT = Format(
    "word2vec", "word2vec text", (".txt", ".vec", ".w2v"), detects, read, write, carries_packing=True
)
