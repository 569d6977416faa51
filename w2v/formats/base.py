"""What a format of vectors is to the rest of w2v: a name, a test of content, a reader and a writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from w2v.files.atomic import new_file
from w2v.files.compression import packed, split_suffix
from w2v.formats.options import ReadOptions, WriteOptions
from w2v.formats.source import Source
from w2v.vectors.word_vectors import WordVectors


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
    carries_float16: bool = False
    carries_packing: bool = False


@contextmanager
def new_packed_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file that takes its name when the block ends well, and is packed as its suffix says."""
    with new_file(path) as raw, packed(raw, split_suffix(Path(path))[1]) as file:
        yield file
