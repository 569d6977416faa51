"""Files of vectors: one module a format, each reading and writing; see `w2v.formats.folder` for our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from w2v.errors import ConfigError
from w2v.formats.options import ReadOptions, WriteOptions

if TYPE_CHECKING:
    from w2v.formats.base import Format
    from w2v.vectors.word_vectors import WordVectors


def read_vectors(path: str | Path, options: ReadOptions, *, format: str | None = None) -> WordVectors:  # noqa: A002
    """Read vectors of any format; `w2v.load` describes it."""
    from w2v.files.atomic import bring_back, read_as_one
    from w2v.formats.registry import format_named, format_of_content
    from w2v.formats.source import open_source

    def read() -> WordVectors:
        with open_source(path) as source:
            kind = format_of_content(source) if format is None else format_named(format)
            return kind.read(source, options)

    bring_back(path)
    return read_as_one(path, read) if Path(path).is_dir() else read()


def save_as(
    model: WordVectors,
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - what everyone calls it
    dtype: str = "float32",
    escape: bool = False,
) -> None:
    """Write vectors in any format: whole, or not at all.

    Parameters
    ----------
    model : WordVectors
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
    assert kind.write is not None  # noqa: S101 - writer_for has refused formats that are only read
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
