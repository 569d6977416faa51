"""All formats of vectors: found by name, by content, or by the suffix of a file to be written."""

from __future__ import annotations

from pathlib import Path

from w2v.errors import ConfigError, FormatError
from w2v.files.compression import split_suffix
from w2v.formats import (
    fasttext_bin,
    folder,
    glove,
    huggingface,
    npy_pair,
    projector,
    safetensors_file,
    torch_folder,
    word2vec_binary,
    word2vec_text,
)
from w2v.formats.base import Format
from w2v.formats.impostors import name_impostor
from w2v.formats.source import Source

# In the order in which they are looked for: the plainest marks first.
FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        folder,
        torch_folder,
        huggingface,
        npy_pair,
        fasttext_bin,
        safetensors_file,
        word2vec_binary,
        word2vec_text,
        projector,
        glove,
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
            f"{source}: no model in this folder; expected config.json of a w2v model or saved embedding, "
            "model.safetensors with tokenizer.json, or vectors.tsv with metadata.tsv"
        )
    raise FormatError(f"{source}: {name_impostor(source)}")


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
