"""The words beside a bare matrix: a vocabulary file (word, tab, count), or one word a line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.formats.source import Source
from w2v.vectors.vocab_tsv import read_vocab

_SUFFIXES = (".vocab.tsv", ".words.txt", ".vocab", ".txt", ".words")
_NAMES = ("vocab.tsv", "words.txt", "vocab.txt")


def word_list_for(matrix: Path) -> Path:
    """Return where the words of a matrix are written."""
    return matrix.with_suffix(_SUFFIXES[0])


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


def read_words(path: Path) -> tuple[list[str], NDArray[np.int64] | None]:
    """Read a list of words, with counts if its first line has a tab."""
    data = path.read_bytes()
    if b"\t" in data.split(b"\n", 1)[0]:
        vocab = read_vocab(path)
        return list(vocab.words), vocab.counts
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{path}:{line}: not UTF-8 at byte {error.start} of the file") from None
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines], None


def plain_file(source: Source) -> Path:
    """Return the path of a source that is to be memory-mapped, or say that it must be unpacked first."""
    if source.packing is not None or source.size is None:
        what = f"packed by {source.packing}" if source.packing else "not a plain file"
        raise FormatError(f"{source}: {what}; a matrix that is mapped into memory must be unpacked first")
    return source.path
