"""A folder with an embedding for PyTorch, as `w2v export --to torch` writes it: read here without torch.

In it: `embedding.safetensors` (`weight`, R rows), `vocab.json` (`{token: row}`), `config.json` (settings,
origin) and, where known, `counts.npy` (R corpus counts, int64). `w2v.pytorch` writes it and loads it as
an `nn.Embedding`; read as vectors, it gives the words without the padding, unknown and special rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.errors import ConfigError, FormatError
from w2v.files.atomic import new_folder
from w2v.files.json_objects import check_version, dump_json, is_object_with, parse_object, tokens_in_order
from w2v.files.npy import open_array, row_blocks
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.rows import from_matrix
from w2v.formats.safetensors_file import DTYPE_NAMES, Tensor, open_tensor, read_header, write_tensors
from w2v.formats.source import Source, part_of
from w2v.system.version import __version__
from w2v.vectors.origin import FILE_NAMES, Origin, Reading
from w2v.vectors.word_vectors import WordVectors

KIND = "w2v-torch"
FORMAT_VERSION = 1
WEIGHT, VOCAB, CONFIG, COUNTS = "embedding.safetensors", "vocab.json", "config.json", "counts.npy"
TENSOR = "weight"
_FILES = {WEIGHT, VOCAB, CONFIG, COUNTS, *FILE_NAMES.values()}
PADDING, UNKNOWN = "<pad>", "<unk>"


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
    def reading(self) -> Reading | None:
        """How the corpus of the model was read."""
        return Origin.from_dict(self.config, Reading.read_files(self.path)).reading

    @property
    def word_rows(self) -> list[int]:
        """The rows of words: those behind the specials, without padding and unknown wherever they stand."""
        left_out = {self.padding_id, self.unknown_id}
        return [row for row in range(self.n_specials, len(self.tokens)) if row not in left_out]


def is_torch_folder(path: str | Path) -> bool:
    """Say whether a path is such a folder, by the mark in its `config.json`."""
    return is_object_with(Path(path) / CONFIG, "format", KIND)


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
    config = _read_json(folder, CONFIG)
    if config.get("format") != KIND:
        raise FormatError(f"{folder / CONFIG}: not the config.json of an embedding that w2v saved")
    check_version(config, folder / CONFIG, FORMAT_VERSION)
    tokens = tokens_in_order(_read_json(folder, VOCAB), folder / VOCAB)
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


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    return parse_object(part_of(folder, name).read_bytes(), folder / name)


def _row(config: Mapping[str, Any], name: str, limit: int, folder: Path) -> int | None:
    row = config.get(name)
    if row is not None and not (type(row) is int and 0 <= row < limit):
        raise FormatError(f"{folder / CONFIG}: expected {name} to be 0 to {limit - 1} or null, got {row!r}")
    return row


def _read_counts(path: Path, n_rows: int) -> NDArray[np.int64] | None:
    if not path.exists():
        return None
    counts = np.array(open_array(path))
    if counts.shape != (n_rows,) or counts.dtype != np.int64 or (counts < 0).any():
        raise FormatError(f"{path}: expected {n_rows} counts, int64, one a row; got {counts.shape}")
    return counts


def detects(source: Source) -> bool:
    """Say whether a source is such a folder."""
    return source.is_folder and is_torch_folder(source.path)


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Read the words and their vectors."""
    folder = read_parts(source.path)
    path = part_of(folder.path, WEIGHT)
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
    settings = {name: folder.config.get(name) for name in ("lowercase", "provenance")}
    return replace(model, origin=replace(model.origin, embedding=settings, reading=folder.reading))


@dataclass(frozen=True)
class Table:
    """An embedding table to be written: its tokens, and how `nn.Embedding` is to use it.

    Attributes
    ----------
    tokens : sequence of str, length R
    padding_id, unknown_id : int or None
    n_specials : int
        Rows before the words.
    vector_size : int
    dtype : str
        Of the weight, as torch calls it.
    counts : ndarray of int64, shape (R,), or None
    lowercase : bool
    reading : Reading or None
        How the corpus of the model was read.
    provenance : mapping
        Where the weight comes from.
    versions : mapping of str to str
        Of the packages that wrote it.
    freeze, sparse, max_norm, scale
        As in `load_embedding`.
    """

    tokens: Sequence[str]
    padding_id: int | None
    unknown_id: int | None
    n_specials: int
    vector_size: int
    dtype: str
    counts: NDArray[np.int64] | None
    lowercase: bool
    reading: Reading | None
    provenance: Mapping[str, Any]
    versions: Mapping[str, str]
    freeze: bool = True
    sparse: bool = False
    max_norm: float | None = None
    scale: float = 1.0

    def config(self) -> dict[str, Any]:
        """Return the object for `config.json`."""
        return {
            "format": KIND,
            "format_version": FORMAT_VERSION,
            "rows": len(self.tokens),
            "vector_size": self.vector_size,
            "dtype": self.dtype,
            "freeze": self.freeze,
            "padding": None if self.padding_id is None else self.tokens[self.padding_id],
            "padding_id": self.padding_id,
            "unknown": None if self.unknown_id is None else self.tokens[self.unknown_id],
            "unknown_id": self.unknown_id,
            "specials": list(self.tokens[: self.n_specials]),
            "n_specials": self.n_specials,
            "lowercase": self.lowercase,
            "reading": None if self.reading is None else self.reading.settings,
            "sparse": self.sparse,
            "max_norm": self.max_norm,
            "scale": self.scale,
            "versions": self.versions,
            "provenance": self.provenance,
        }


def write_table(path: str | Path, table: Table, weight: Tensor) -> None:
    """Write a folder: whole, or not at all; one that is there already is replaced."""
    with new_folder(path, replaceable=is_only_torch_folder) as folder:
        with (folder / WEIGHT).open("wb") as file:
            write_tensors(file, {TENSOR: weight}, {"format": "pt"})
        (folder / VOCAB).write_bytes(dump_json({token: row for row, token in enumerate(table.tokens)}))
        (folder / CONFIG).write_bytes(dump_json(table.config(), indent=2))
        if table.counts is not None:
            np.save(folder / COUNTS, table.counts, allow_pickle=False)
        if table.reading is not None:
            table.reading.write_files(folder)


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write a model with the default rows, to be loaded frozen; `w2v.pytorch` has all the options.

    Row 0 is the padding, zeros; row 1 the unknown word, the mean of all, unless the model has that word.
    """
    if PADDING in model.vocab:
        raise ConfigError(f"the model has the word {PADDING!r} itself; 'w2v export --padding' names another")
    front = [PADDING, *([] if UNKNOWN in model.vocab else [UNKNOWN])]
    unknown_id = model.vocab.index.get(UNKNOWN)
    table = Table(
        [*front, *model.words],
        0,
        1 if unknown_id is None else unknown_id + 1,
        len(front),
        model.vector_size,
        options.dtype,
        np.concatenate([np.zeros(len(front), np.int64), model.counts]) if model.counts.any() else None,
        model.origin.is_lowercased,
        model.origin.reading,
        {"table": "vectors", "model": model.origin.as_dict()},
        {"w2v": __version__},
    )
    made = np.zeros((len(front), model.vector_size), np.float32)
    if len(front) > 1 and len(model):
        made[1] = model.vectors.mean(axis=0, dtype=np.float64)
    blocks = itertools.chain(row_blocks(made, options.dtype), row_blocks(model.vectors, options.dtype))
    write_table(
        path, table, Tensor(DTYPE_NAMES[options.dtype], (len(table.tokens), model.vector_size), blocks)
    )


FORMAT = Format(
    "torch",
    "PyTorch folder (nn.Embedding)",
    (".torch",),
    detects,
    read,
    write,
    places=("folder",),
    carries_float16=True,
)
