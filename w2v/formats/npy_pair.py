"""A `.npy` matrix and, beside it, its words: `NAME.npy` and `NAME.vocab.tsv` (word, tab, count).

Read with any of the usual names for the list of words, which may be one word a line. Any token survives.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.files.atomic import new_files
from w2v.files.npy import open_matrix, write_matrix
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.rows import from_matrix
from w2v.formats.source import Source
from w2v.vectors.vocab_files import dump_vocab, read_words
from w2v.vectors.word_vectors import WordVectors

_SUFFIXES = (".vocab.tsv", ".words.txt", ".vocab", ".txt", ".words")
_NAMES = ("vocab.tsv", "words.txt", "vocab.txt")


def find_words(source: Source) -> tuple[list[str], NDArray[np.int64] | None]:
    """Read the words beside the matrix of a source, and their counts where the list has them.

    Raises
    ------
    FormatError
        If no list of words is there.
    """
    path = source.path
    candidates = [path.with_suffix(suffix) for suffix in _SUFFIXES] + [path.parent / name for name in _NAMES]
    for candidate in candidates:
        if candidate.is_file() and candidate != path:
            return read_words(candidate)
    names = ", ".join(candidate.name for candidate in candidates)
    raise FormatError(
        f"{source}: a matrix without words; expected a list of them beside it, named one of {names}"
    )


def detects(source: Source) -> bool:
    """Say whether a source is a `.npy` file."""
    return source.head.startswith(b"\x93NUMPY")


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Open a `.npy` matrix, memory-mapped where it is float32, and read its words."""
    matrix = open_matrix(source.plain_path())
    words, counts = find_words(source)
    return from_matrix(words, counts, matrix, source, options, FORMAT.name)


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write the matrix and its vocabulary file."""
    with new_files(path, path.with_suffix(_SUFFIXES[0])) as (matrix_file, word_file):
        write_matrix(matrix_file, model.vectors, options.dtype)
        word_file.write(dump_vocab(model.vocab))


FORMAT = Format("npy", "NumPy matrix and word list", (".npy",), detects, read, write, carries_float16=True)
