"""Files of vectors: one module a format, each reading and writing; see `w2v.formats.folder` for our own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from w2v.errors import ConfigError
from w2v.formats.options import ReadOptions, WriteOptions

if TYPE_CHECKING:
    from w2v.embeddings import Embeddings
    from w2v.formats.base import Format


def load(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - what everyone calls it
    top: int | None = None,
    words: Iterable[str] | None = None,
    skip_bad: bool = False,
    unescape: bool = False,
) -> Embeddings:
    """Open vectors of any format.

    Parameters
    ----------
    path : path-like
        A model folder, or a file or folder of any format in `w2v.formats.registry`; files may be packed
        with gzip, bzip2, xz or Zstandard.
    format : str, optional
        The name of the format; by default the content tells.
    top : int, optional
        Keep only the first N rows.
    words : iterable of str, optional
        Keep only these words.
    skip_bad : bool
        Leave out bad rows (too short or long, NaN, a word twice) and log how many, instead of raising.
    unescape : bool
        Undo the escapes that `save_as(..., escape=True)` wrote.

    Returns
    -------
    Embeddings
        float32. Memory-mapped and read-only where the format allows: model folder, npy, safetensors.

    Raises
    ------
    FormatError
        If it is broken or no vectors at all: with file, line or byte, what was expected and what is there.
    FileNotFoundError
        If nothing is there.

    Examples
    --------
    >>> model = w2v.load("glove.6B.100d.txt", top=50_000)  # doctest: +SKIP
    """
    from w2v.formats.registry import format_named, format_of_content
    from w2v.formats.source import open_source

    wanted = None if words is None else frozenset(words)
    options = ReadOptions(top, wanted, skip_bad, unescape)
    with open_source(path) as source:
        kind = format_of_content(source) if format is None else format_named(format)
        return kind.read(source, options)


def save_as(
    model: Embeddings,
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - what everyone calls it
    dtype: str = "float32",
    escape: bool = False,
) -> None:
    """Write vectors in any format: whole, or not at all.

    Parameters
    ----------
    model : Embeddings
    path : path-like
        Where to; a suffix such as `.gz` packs the text and binary formats.
    format : str, optional
        The name of the format; by default the suffix of `path` tells.
    dtype : {"float32", "float16"}
        float16 is for npy, safetensors and huggingface.
    escape : bool
        Write words that the format cannot carry with escapes, instead of raising; see
        `w2v.formats.options.WriteOptions`.

    Raises
    ------
    FormatError
        If the format cannot carry a word or a number, or something else is at `path`; nothing is written.
    ConfigError
        If the format is not known, only read, or has no float16.
    """
    kind = writer_for(path, format=format, dtype=dtype)
    if kind.write is not None:
        kind.write(model, Path(path), WriteOptions(dtype, escape))


def writer_for(path: str | Path, *, format: str | None = None, dtype: str = "float32") -> Format:  # noqa: A002
    """Return the format that `save_as` would write, or raise ConfigError as it would."""
    from w2v.files.compression import split_suffix
    from w2v.formats.registry import WRITABLE, format_named, format_of_suffix

    path = Path(path)
    kind = format_of_suffix(path) if format is None else format_named(format)
    if kind.write is None:
        raise ConfigError(f"{kind.name} is only read; write one of {', '.join(WRITABLE)}")
    if dtype != "float32" and not kind.carries_float16:
        raise ConfigError(f"{kind.name} has no {dtype}; npy, safetensors and huggingface do")
    if split_suffix(path)[1] is not None and not kind.carries_packing:
        raise ConfigError(f"{path}: {kind.name} is not packed; leave out the suffix {path.suffix}")
    return kind
