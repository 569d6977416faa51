"""A folder with an embedding for PyTorch, as `w2v export --to torch` writes it: read here without torch.

In it: `embedding.safetensors` (`weight`, R rows), `vocab.json` (`{token: row}`), `config.json` (settings,
origin) and, where known, `counts.npy` (R corpus counts, int64). `w2v.pytorch` writes it and loads it as
an `nn.Embedding`; read as vectors, it gives the words without the padding, unknown and special rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.embeddings import Embeddings
from w2v.errors import FormatError
from w2v.files.npy import BROKEN
from w2v.formats.base import Format
from w2v.formats.options import ReadOptions, WriteOptions
from w2v.formats.rows import from_matrix
from w2v.formats.safetensors_file import open_tensor, read_header
from w2v.formats.source import Source

KIND = "w2v-torch"
FORMAT_VERSION = 1
WEIGHT, VOCAB, CONFIG, COUNTS = "embedding.safetensors", "vocab.json", "config.json", "counts.npy"
TENSOR = "weight"
_FILES = {WEIGHT, VOCAB, CONFIG, COUNTS}


@dataclass(frozen=True)
class TorchFolder:
    """What such a folder holds but for the numbers.

    Attributes
    ----------
    path : Path
    tokens : list of str, length R
    padding_id, unknown_id : int or None
    n_specials : int
        Rows before the words.
    counts : ndarray of int64, shape (R,), or None
    config : mapping
        Everything in `config.json`.
    """

    path: Path
    tokens: list[str]
    padding_id: int | None
    unknown_id: int | None
    n_specials: int
    counts: NDArray[np.int64] | None
    config: Mapping[str, Any]

    @property
    def reading(self) -> Mapping[str, Any] | None:
        """How the corpus of the model was read."""
        reading = self.config.get("reading")
        return reading if isinstance(reading, Mapping) else None

    @property
    def word_rows(self) -> list[int]:
        """The rows of words: those behind the specials, without padding and unknown wherever they stand."""
        left_out = {self.padding_id, self.unknown_id}
        return [row for row in range(self.n_specials, len(self.tokens)) if row not in left_out]


def is_torch_folder(path: str | Path) -> bool:
    """Say whether a path is such a folder, by the mark in its `config.json`."""
    try:
        config = json.loads((Path(path) / CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == KIND


def is_only_torch_folder(path: str | Path) -> bool:
    """Say whether a folder is one and holds nothing else, so that it may be replaced."""
    return is_torch_folder(path) and {entry.name for entry in Path(path).iterdir()} <= _FILES


def read_parts(path: str | Path) -> TorchFolder:
    """Read everything but the weight.

    Raises
    ------
    FormatError
        If a part is missing or broken, the parts disagree, or a newer version of w2v wrote it.
    """
    folder = Path(path)
    config = _read_json(folder / CONFIG)
    version = config.get("format_version")
    if config.get("format") != KIND or not isinstance(version, int):
        raise FormatError(f"{folder / CONFIG}: not the config.json of an embedding that w2v saved")
    if version > FORMAT_VERSION:
        raise FormatError(
            f"{folder / CONFIG}: written in format version {version}, but this w2v reads up to "
            f"{FORMAT_VERSION}; install a newer w2v"
        )
    tokens = _in_order(_read_json(folder / VOCAB), folder / VOCAB)
    n_specials = _row(config, "n_specials", len(tokens) + 1, folder)
    return TorchFolder(
        folder,
        tokens,
        _row(config, "padding_id", len(tokens), folder),
        _row(config, "unknown_id", len(tokens), folder),
        n_specials or 0,
        _read_counts(folder / COUNTS, len(tokens)),
        config,
    )


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FormatError(f"{path.parent}: the folder is incomplete: {path.name} is missing")
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise FormatError(f"{path}: expected a JSON object, got {type(value).__name__}")
    return value


def _in_order(ids: Mapping[str, Any], path: Path) -> list[str]:
    if not all(type(row) is int for row in ids.values()) or set(ids.values()) != set(range(len(ids))):
        raise FormatError(f"{path}: expected the rows 0 to {len(ids) - 1}, each once")
    return sorted(ids, key=ids.__getitem__)


def _row(config: Mapping[str, Any], name: str, limit: int, folder: Path) -> int | None:
    row = config.get(name)
    if row is not None and not (type(row) is int and 0 <= row < limit):
        raise FormatError(f"{folder / CONFIG}: expected {name} to be 0 to {limit - 1} or null, got {row!r}")
    return row


def _read_counts(path: Path, n_rows: int) -> NDArray[np.int64] | None:
    if not path.is_file():
        return None
    try:
        # Mapped, so that a header cannot promise more than the file holds; nothing at all cannot be mapped.
        counts = np.array(np.load(path, mmap_mode="r" if n_rows else None, allow_pickle=False))
    except (*BROKEN, OSError) as error:
        raise FormatError(f"{path}: not a readable .npy file of numbers ({error})") from None
    if counts.shape != (n_rows,) or counts.dtype != np.int64 or (counts < 0).any():
        raise FormatError(f"{path}: expected {n_rows} counts, int64, one a row; got {counts.shape}")
    return counts


def detects(source: Source) -> bool:
    """Say whether a source is such a folder."""
    return source.is_folder and is_torch_folder(source.path)


def read(source: Source, options: ReadOptions) -> Embeddings:
    """Read the words and their vectors."""
    folder = read_parts(source.path)
    path = folder.path / WEIGHT
    if not path.is_file():
        raise FormatError(f"{source}: the folder is incomplete: {WEIGHT} is missing")
    stored = read_header(path)
    if TENSOR not in stored.tensors:
        raise FormatError(f"{path}: expected a tensor named {TENSOR!r}")
    matrix = open_tensor(path, stored, TENSOR)
    if len(matrix) != len(folder.tokens):
        raise FormatError(
            f"{source}: {WEIGHT} has {len(matrix)} rows, but {VOCAB} {len(folder.tokens)} tokens"
        )
    rows = folder.word_rows
    is_tail = not rows or rows[-1] - rows[0] == len(rows) - 1
    index: Any = slice(rows[0], rows[-1] + 1) if rows and is_tail else rows
    words = [folder.tokens[row] for row in rows]
    counts = None if folder.counts is None else folder.counts[index]
    model = from_matrix(words, counts, matrix[index], source, options, FORMAT.name)
    settings = {"lowercase": folder.config.get("lowercase"), "provenance": folder.config.get("provenance")}
    config = {**model.config, "embedding": settings}
    if folder.reading is not None:
        config["reading"] = folder.reading
    return replace(model, config=config)


def write(model: Embeddings, path: Path, options: WriteOptions) -> None:
    """Write a model with the default rows, to be loaded frozen; `w2v.pytorch` has all the options."""
    import torch

    from w2v.pytorch import load_embedding, save_embedding

    save_embedding(load_embedding(model, dtype=getattr(torch, options.dtype)), path)


FORMAT = Format(
    "torch", "PyTorch folder (nn.Embedding)", (".torch",), detects, read, write, carries_float16=True
)
