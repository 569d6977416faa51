"""What a format of vectors is to the rest of w2v, and what one can ask of its reader and its writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

from w2v.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from w2v.formats.source import Source
    from w2v.vectors.word_vectors import WordVectors

DTYPES = ("float32", "float16")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file of vectors.

    Parameters
    ----------
    top : int, optional
        Keep only the first N rows (of the `words`, where given).
    words : frozenset of str, optional
        Keep only these words, in the order of the file.
    skip_bad : bool
        Leave bad rows out, count them and log how many there were, where the default is an error.
    unescape : bool
        Undo `WriteOptions.escape`.
    """

    top: int | None = None
    words: frozenset[str] | None = None
    skip_bad: bool = False
    unescape: bool = False

    def __post_init__(self) -> None:
        if self.top is not None and not (isinstance(self.top, Integral) and self.top >= 1):
            raise ConfigError(f"top must be at least 1; got {self.top!r}")


@dataclass(frozen=True)
class WriteOptions:
    r"""How to write a file of vectors.

    Parameters
    ----------
    dtype : {"float32", "float16"}
        float16 is for npy, safetensors and huggingface.
    escape : bool
        Write words that the format cannot carry with escapes, where the default is an error. It is for
        word2vec, word2vec-bin and glove: a space is written as `\s`, an empty word as `\e`, tab, newline,
        carriage return and backslash as `\t`, `\n`, `\r`, `\\`, anything else as `\u000B`.
    """

    dtype: str = "float32"
    escape: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ConfigError(f"dtype must be one of {', '.join(DTYPES)}; got {self.dtype!r}")


@dataclass(frozen=True)
class Format:
    """A format of vectors.

    Attributes
    ----------
    name : str
        As given to `--to` and `--from`.
    title : str
        What people call it.
    suffixes : tuple of str
        Of the files it writes; the empty suffix stands for a folder.
    detects : callable
        Says whether a source holds it, by its first bytes.
    read : callable
        Makes embeddings of a source. Raises FormatError where it is broken.
    write : callable or None
        Writes embeddings to a path, whole or not at all. None where w2v only reads.
    places : tuple of "file" and "folder"
        What holds it.
    carries_float16 : bool
        Whether the numbers may be written as float16.
    carries_packing : bool
        Whether a suffix such as `.gz` packs the file.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    detects: Callable[[Source], bool]
    read: Callable[[Source, ReadOptions], WordVectors]
    write: Callable[[WordVectors, Path, WriteOptions], None] | None
    places: tuple[str, ...] = ("file",)
    carries_float16: bool = False
    carries_packing: bool = False
