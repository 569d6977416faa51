"""GloVe text: a line `word number number ...` a word, and no header.

The first line tells how many numbers a row has; a byte-order mark before it is passed over. Some published
files (glove.840B) have words with spaces; the last D fields are the numbers, and all before them is the word,
unless every field but the first is a number: such a line is too long, not a word with spaces.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path

from w2v.files.compression import new_packed_file
from w2v.files.escapes import words_for_fields
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.rows import RowCollector
from w2v.formats.source import Source
from w2v.formats.text_rows import count_numbers, read_lines, write_lines
from w2v.formats.word2vec import find_header
from w2v.vectors.word_vectors import WordVectors

_LINES_LOOKED_AT = 10
_MARK = BOM_UTF8.decode()


def detects(source: Source) -> bool:
    """Say whether a source is GloVe text; lines `word 5` are taken for counts, not for vectors."""
    line = _first_row(source)
    n_numbers = count_numbers(line)
    if b"\0" in line or find_header(source) is not None:
        return False
    return n_numbers > 1 or (n_numbers == 1 and not line.split()[-1].isdigit())


def _first_row(source: Source) -> bytes:
    """Return the first line with a word for sure: one that begins with a blank may lack it."""
    lines = source.head.removeprefix(BOM_UTF8).split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT]
    return next((line for line in lines if line.strip() and line[:1] not in (b" ", b"\t")), lines[0])


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Read GloVe text."""
    collector = RowCollector(source, count_numbers(_first_row(source)), options)
    read_lines(source, collector, spaces_in_words=True)
    return collector.finish(FORMAT.name)


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write GloVe text, packed if the suffix says so."""
    words = words_for_fields(model.words, FORMAT.title, escaped=options.escape)
    with new_packed_file(path) as file:
        if words and words[0].startswith(_MARK):
            file.write(BOM_UTF8)  # else the word's own would be taken for that of the file
        write_lines(file, model.vectors, words)


FORMAT = Format("glove", "GloVe text", (".glove",), detects, read, write, carries_packing=True)
