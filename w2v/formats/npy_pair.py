"""A `.npy` matrix and, beside it, its words: `NAME.npy` and `NAME.vocab.tsv` (word, tab, count).

Read with any of the usual names for the list of words, which may be one word a line. Any token survives.
"""

from __future__ import annotations

from pathlib import Path

from w2v.files.atomic import new_files
from w2v.files.npy import open_matrix, write_matrix
from w2v.formats.base import Format
from w2v.formats.options import ReadOptions, WriteOptions
from w2v.formats.rows import from_matrix
from w2v.formats.source import Source
from w2v.formats.word_list import find_words, plain_file, word_list_for
from w2v.vectors.vocab_tsv import dump_vocab
from w2v.vectors.word_vectors import WordVectors


def detects(source: Source) -> bool:
    """Say whether a source is a `.npy` file."""
    return source.head.startswith(b"\x93NUMPY")


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Open a `.npy` matrix, memory-mapped where it is float32, and read its words."""
    matrix = open_matrix(plain_file(source))
    words, counts = find_words(source)
    return from_matrix(words, counts, matrix, source, options, FORMAT.name)


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write the matrix and its vocabulary file."""
    with new_files(path, word_list_for(path)) as (matrix_file, word_file):
        write_matrix(matrix_file, model.vectors, options.dtype)
        word_file.write(dump_vocab(model.vocab))


FORMAT = Format("npy", "NumPy matrix and word list", (".npy",), detects, read, write, carries_float16=True)
