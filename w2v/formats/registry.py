"""All formats of vectors, found by name, by content or by suffix; vectors read and written in any of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from w2v.errors import ConfigError, FormatError
from w2v.files.atomic import bring_back, read_as_one
from w2v.files.compression import split_suffix
from w2v.files.json_objects import parse_object
from w2v.formats import (
    fasttext_bin,
    folder,
    glove,
    huggingface,
    npy_pair,
    projector,
    safetensors_file,
    torch_folder,
    word2vec,
)
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.impostors import name_impostor
from w2v.formats.rows import check_finite
from w2v.formats.source import Source, open_source
from w2v.vectors.word_vectors import WordVectors

# In the order in which they are looked for: the plainest marks first.
FORMATS: dict[str, Format] = {
    kind.name: kind
    for kind in (
        folder.FORMAT,
        torch_folder.FORMAT,
        huggingface.FORMAT,
        npy_pair.FORMAT,
        fasttext_bin.FORMAT,
        safetensors_file.FORMAT,
        word2vec.BINARY,
        word2vec.TEXT,
        projector.FORMAT,
        glove.FORMAT,
    )
}
READABLE = tuple(FORMATS)
WRITABLE = tuple(name for name, kind in FORMATS.items() if kind.write is not None)


def format_named(name: str) -> Format:
    """Return the format of a name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if name not in FORMATS:
        raise ConfigError(f"format must be one of {', '.join(FORMATS)}; got {name!r}")
    return FORMATS[name]


def format_of_content(source: Source) -> Format:
    """Return the format of a source, by its content.

    Raises
    ------
    FormatError
        If it is none that w2v knows; the message says what it is instead.
    """
    for kind in FORMATS.values():
        if kind.detects(source):
            return kind
    if source.is_folder:
        raise FormatError(
            f"{source}: no model in this folder{_fault_of_config(source.path)}; expected config.json of a "
            "w2v model or saved embedding, model.safetensors with tokenizer.json, or vectors.tsv with "
            "metadata.tsv"
        )
    raise FormatError(f"{source}: {name_impostor(source)}")


def _fault_of_config(folder: Path) -> str:
    path = folder / "config.json"
    if not path.is_file():
        return ""
    try:
        kind = parse_object(path.read_bytes(), path.name).get("format")
    except FormatError as error:
        return f" ({error})"
    if kind == "w2v-checkpoint":
        return " (an unfinished run of w2v train; the same command with --resume goes on with it)"
    return f" (config.json has the format {kind!r})"


def format_of_suffix(path: Path) -> Format:
    """Return the format that the suffix of a file to be written makes plain; none stands for a model folder.

    Raises
    ------
    ConfigError
        If the suffix leaves it open.
    """
    suffix = split_suffix(path)[0].suffix.lower()
    for kind in FORMATS.values():
        if kind.write is not None and suffix in kind.suffixes:
            return kind
    raise ConfigError(
        f"{path}: the suffix {suffix!r} does not tell the format; give one of {', '.join(WRITABLE)}"
    )


def read_vectors(path: str | Path, options: ReadOptions, *, format: str | None = None) -> WordVectors:  # noqa: A002
    """Read vectors of any format; `w2v.load` describes it."""
    if "\0" in str(path):
        raise FormatError(f"{str(path)!r}: a name with a zero byte, which no file has")
    # A Path has lost one of the two slashes.
    if (address := re.match(r"(\w{2,}):/{1,3}(?=\w)", str(path))) and not os.path.exists(path):  # noqa: PTH110
        rest = str(path)[address.end() :]
        raise FormatError(f"{address[1]}://{rest}: an address, not a file; fetch it first, as by curl -O")

    def read() -> WordVectors:
        with open_source(path) as source:
            kind = format_of_content(source) if format is None else format_named(format)
            place = "folder" if source.is_folder else "file"
            if place not in kind.places:
                raise FormatError(f"{source}: a {place}, but this format is a {kind.places[0]}: {kind.title}")
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
        `w2v.formats.base.WriteOptions`.

    Raises
    ------
    FormatError
        If the format cannot carry a word or a number, or something else is at `path`; nothing is written.
    ConfigError
        If the format is not known, only read, or has no float16.
    """
    kind = writer_for(path, format=format, dtype=dtype)
    assert kind.write is not None  # noqa: S101 - writer_for has refused formats that are only read
    check_finite(model)
    kind.write(model, Path(path), WriteOptions(dtype, escape))


def writer_for(path: str | Path, *, format: str | None = None, dtype: str = "float32") -> Format:  # noqa: A002
    """Return the format that `save_as` would write, or raise an error as it would."""
    path = Path(path)
    if "\0" in str(path):
        raise FormatError(f"{str(path)!r}: a path cannot have a NUL character")
    kind = format_of_suffix(path) if format is None else format_named(format)
    if kind.write is None:
        raise ConfigError(f"{kind.name} is only read; write one of {', '.join(WRITABLE)}")
    if dtype != "float32" and not kind.carries_float16:
        raise ConfigError(f"{kind.name} has no {dtype}; npy, safetensors and huggingface do")
    if split_suffix(path)[1] is not None and not kind.carries_packing:
        raise ConfigError(f"{path}: {kind.name} is not packed; leave out the suffix {path.suffix}")
    return kind
