"""The model folder, w2v's own format: everything a model has, each part in a file that other tools can read.

`vectors.npy` and, where kept, `context.npy` (V, D) float32; `vocab.tsv` (word, count); `config.json`
(settings and origin of the vectors); `training.jsonl` (one report of training a line). Written whole or not
at all, opened memory-mapped, never with pickle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.embeddings import Embeddings
from w2v.errors import FormatError
from w2v.files.atomic import check_folder, new_folder
from w2v.files.npy import open_matrix, write_matrix
from w2v.formats.base import Format
from w2v.formats.options import ReadOptions, WriteOptions
from w2v.formats.rows import prune
from w2v.formats.source import Source
from w2v.vectors.vocab import Vocab
from w2v.vectors.vocab_tsv import dump_vocab, read_vocab

KIND = "w2v-model"
FORMAT_VERSION = 1
VECTORS, CONTEXT, VOCAB, CONFIG, TRAINING = (
    "vectors.npy",
    "context.npy",
    "vocab.tsv",
    "config.json",
    "training.jsonl",
)
_FILES = frozenset((VECTORS, CONTEXT, VOCAB, CONFIG, TRAINING))


def write_folder(model: Embeddings, path: str | Path) -> None:
    """Write a model folder: whole, or not at all.

    Parameters
    ----------
    model : Embeddings
        The matrices may be strided views; they are written a block of rows at a time.
    path : path-like
        The folder. A model folder that is there already is replaced.

    Raises
    ------
    FormatError
        If something else than a model folder is there.
    """
    with new_folder(path, replaceable=is_only_model) as folder:
        for name, matrix in ((VECTORS, model.vectors), (CONTEXT, model.context)):
            if matrix is not None:
                with (folder / name).open("wb") as file:
                    write_matrix(file, matrix)
        (folder / VOCAB).write_bytes(dump_vocab(model.vocab))
        (folder / CONFIG).write_bytes(_config_bytes(model.config))
        if lines := model.training.lines if model.training is not None else model.history:
            (folder / TRAINING).write_bytes(b"".join(_json_line(line) for line in lines))


def read_folder(path: str | Path) -> Embeddings:
    """Open a model folder; the matrices are memory-mapped and read-only.

    Raises
    ------
    FormatError
        If a part is missing or broken, the parts disagree, or a newer version of w2v wrote the folder.
    """
    folder = Path(path)
    config = _read_config(folder / CONFIG)
    vocab = read_vocab(_part(folder, VOCAB))
    vectors = _float32(folder / VECTORS, vocab)
    context = _float32(folder / CONTEXT, vocab) if (folder / CONTEXT).exists() else None
    if context is not None and context.shape != vectors.shape:
        raise FormatError(f"{folder / CONTEXT}: has shape {context.shape}, but {VECTORS} {vectors.shape}")
    return Embeddings(vocab, vectors, context, config, history=_read_lines(folder / TRAINING))


def is_model_folder(path: str | Path) -> bool:
    """Say whether a folder is a w2v model, by the mark in its `config.json`."""
    try:
        config = json.loads((Path(path) / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == KIND


def is_only_model(path: str | Path) -> bool:
    """Say whether a folder is a w2v model and holds nothing else, so that it may be replaced."""
    return is_model_folder(path) and {entry.name for entry in Path(path).iterdir()} <= _FILES


def check_model_target(path: str | Path) -> None:
    """Raise FormatError now if `write_folder` would refuse this path later: ask before a long training."""
    check_folder(path, replaceable=is_only_model)


def _part(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise FormatError(f"{folder}: the model folder is incomplete: {name} is missing")
    return folder / name


def _float32(path: Path, vocab: Vocab) -> NDArray[np.float32]:
    matrix = open_matrix(_part(path.parent, path.name), rows=len(vocab))
    if matrix.dtype != np.float32:
        raise FormatError(f"{path}: expected float32, got {matrix.dtype}")
    return matrix


def _config_bytes(config: Mapping[str, Any]) -> bytes:
    marks = {"format": KIND, "format_version": FORMAT_VERSION}
    return _json_line({**marks, **config, **marks}, indent=2)


def _json_line(value: Mapping[str, Any], indent: int | None = None) -> bytes:
    text = json.dumps(dict(value), ensure_ascii=False, indent=indent, default=_plain) + "\n"
    return text.encode(errors="backslashreplace")  # a lone surrogate becomes its JSON escape


def _plain(value: object) -> Any:
    """Turn what JSON does not know (numpy scalars, arrays, paths) into what it does."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)


def _read_config(path: Path) -> dict[str, Any]:
    config = _read_json(_part(path.parent, path.name).read_bytes(), str(path))
    if config.pop("format", None) != KIND:
        raise FormatError(f"{path}: not the config.json of a w2v model")
    version = config.pop("format_version", None)
    if not isinstance(version, int) or version < 1:
        raise FormatError(f"{path}: expected a format_version of 1 or more, got {version!r}")
    if version > FORMAT_VERSION:
        raise FormatError(
            f"{path}: written in format version {version}, but this w2v reads up to {FORMAT_VERSION}; "
            "install a newer w2v"
        )
    return config


def _read_lines(path: Path) -> Sequence[Mapping[str, Any]]:
    if not path.exists():
        return ()
    lines = path.read_bytes().splitlines()
    return tuple(_read_json(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip())


def _read_json(data: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise FormatError(f"{where}: expected a JSON object, got {type(value).__name__}")
    return value


def _detects(source: Source) -> bool:
    return source.is_folder and is_model_folder(source.path)


def _read(source: Source, options: ReadOptions) -> Embeddings:
    return prune(read_folder(source.path), source, options)


def _write(model: Embeddings, path: Path, options: WriteOptions) -> None:
    write_folder(model, path)


FORMAT = Format("folder", "w2v model folder", ("",), _detects, _read, _write)
