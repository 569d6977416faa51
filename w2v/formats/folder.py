"""The model folder, w2v's own format: everything a model has, each part in a file that other tools can read.

`vectors.npy` and, where kept, `context.npy` (V, D) float32; `vocab.tsv` (word, count); `config.json`
(settings and origin of the vectors); `training.jsonl` (one report of training a line); `tokenizer.json` or
`user_dict.txt`, where they cut the corpus. Written whole or not at all, opened memory-mapped, never with
pickle.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.files.atomic import check_folder, new_folder
from w2v.files.json_objects import check_version, dump_json, is_object_with, parse_object
from w2v.files.npy import open_matrix, write_matrix
from w2v.files.temporary import new_name
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.rows import check_finite, good_rows, prune, rows_not_finite
from w2v.formats.source import Source, part_of
from w2v.vectors.origin import FILE_NAMES, Origin, Reading
from w2v.vectors.training_report import TrainingReport
from w2v.vectors.vocab import Vocab
from w2v.vectors.vocab_files import dump_vocab, read_vocab
from w2v.vectors.word_vectors import WordVectors

_LOG = logging.getLogger(__name__)
KIND = "w2v-model"
FORMAT_VERSION = 1
VECTORS, CONTEXT, VOCAB, CONFIG, TRAINING = (
    "vectors.npy",
    "context.npy",
    "vocab.tsv",
    "config.json",
    "training.jsonl",
)
_FILES = frozenset((VECTORS, CONTEXT, VOCAB, CONFIG, TRAINING, *FILE_NAMES.values()))


def write_folder(model: WordVectors, path: str | Path) -> None:
    """Write a model folder: whole, or not at all.

    Parameters
    ----------
    model : WordVectors
        The matrices may be strided views; they are written a block of rows at a time.
    path : path-like
        The folder. A model folder that is there already is replaced.

    Raises
    ------
    FormatError
        If something else than a model folder is there.
    """
    check_finite(model)
    with new_folder(path, replaceable=is_only_model, n_bytes=_size(model)) as folder:
        for name, matrix in ((VECTORS, model.vectors), (CONTEXT, model.context)):
            if matrix is not None:
                with (folder / name).open("wb") as file:
                    write_matrix(file, matrix)
        (folder / VOCAB).write_bytes(dump_vocab(model.vocab))
        (folder / CONFIG).write_bytes(_config_bytes(model.origin))
        if model.training is not None:
            (folder / TRAINING).write_bytes(b"".join(map(dump_json, model.training.lines)))
        if model.origin.reading is not None:
            model.origin.reading.write_files(folder)


def _size(model: WordVectors) -> int:
    return model_bytes(model.vocab, model.vector_size, 1 if model.context is None else 2)


def read_folder(path: str | Path) -> WordVectors:
    """Open a model folder; the matrices are memory-mapped and read-only.

    Raises
    ------
    FormatError
        If a part is missing or broken, the parts disagree, or a newer version of w2v wrote the folder.
    """
    folder = Path(path)
    config = _read_config(folder / CONFIG)
    vocab = read_vocab(part_of(folder, VOCAB))
    vectors = _float32(folder / VECTORS, len(vocab))
    context = _float32(folder / CONTEXT) if (folder / CONTEXT).exists() else None
    if context is not None and context.shape[1] != vectors.shape[1]:
        raise FormatError(f"{folder / CONTEXT}: has shape {context.shape}, but {VECTORS} {vectors.shape}")
    origin = Origin.from_dict(config, Reading.read_files(folder))
    return WordVectors(vocab, vectors, context, origin, _read_report(folder / TRAINING))


def is_model_folder(path: str | Path) -> bool:
    """Say whether a folder is a w2v model, by the mark in its `config.json`."""
    return is_object_with(Path(path) / CONFIG, "format", KIND)


def is_only_model(path: str | Path) -> bool:
    """Say whether a folder is a w2v model and holds nothing else, so that it may be replaced."""
    return is_model_folder(path) and {entry.name for entry in Path(path).iterdir()} <= _FILES


def check_model_target(path: str | Path, n_bytes: int = 0) -> None:
    """Raise FormatError now if `write_folder` would fail later: ask before a long training.

    Parameters
    ----------
    path : path-like
    n_bytes : int
        About what the model will take; see `model_bytes`.
    """
    check_folder(path, replaceable=is_only_model, n_bytes=n_bytes)


def model_bytes(vocab: Vocab, vector_size: int, n_matrices: int = 2) -> int:
    """Return about how many bytes a model folder takes: matrices of float32, and the words."""
    letters = sum(map(len, vocab.words[:1000])) / min(1000, max(1, len(vocab)))
    return len(vocab) * (4 * vector_size * n_matrices + round(3 * letters) + 8)


def rescue(model: WordVectors) -> Path:
    """Write a model where there is room: the folder for temporary files, the home folder, the working one.

    For a model that cost time, when the place where it should go cannot be written after all.

    Returns
    -------
    Path
        The new model folder.

    Raises
    ------
    OSError, FormatError
        If none of these can be written either; as the last one failed.
    """
    name = new_name("w2v-rescued-", "")
    for place in (Path(tempfile.gettempdir()), Path.home()):
        with contextlib.suppress(OSError, FormatError):
            write_folder(model, place / name)
            return place / name
    write_folder(model, Path.cwd() / name)
    return Path.cwd() / name


def _float32(path: Path, rows: int | None = None) -> NDArray[np.float32]:
    matrix = open_matrix(part_of(path.parent, path.name), rows=rows)
    if matrix.dtype != np.float32:
        raise FormatError(f"{path}: expected float32, got {matrix.dtype}")
    return matrix


def _config_bytes(origin: Origin) -> bytes:
    marks = {"format": KIND, "format_version": FORMAT_VERSION}
    return dump_json({**marks, **origin.as_dict(), **marks}, indent=2)


def _read_config(path: Path) -> dict[str, Any]:
    config = parse_object(part_of(path.parent, path.name).read_bytes(), path)
    if config.get("format") != KIND:
        raise FormatError(f"{path}: not the config.json of a w2v model")
    check_version(config, path, FORMAT_VERSION)
    return {name: value for name, value in config.items() if name not in ("format", "format_version")}


def _read_report(path: Path) -> TrainingReport | None:
    """Read the reports of training; of a file that is cut short, those before the cut."""
    if not path.exists():
        return None
    data = part_of(path.parent, path.name).read_bytes()
    lines: list[dict[str, Any]] = []
    try:
        for number, line in enumerate(data.splitlines(), 1):
            lines.append(parse_object(line, f"{path}:{number}"))
    except FormatError as error:
        _LOG.warning("%s; kept the %d reports before it", error, len(lines))
    return TrainingReport.from_lines(lines) if lines else None


def _detects(source: Source) -> bool:
    return source.is_folder and is_model_folder(source.path)


def _read(source: Source, options: ReadOptions) -> WordVectors:
    model = read_folder(source.path)
    if options.words is None and not options.skip_bad:
        model = prune(model, source, options)
    matrices = [model.vectors]
    if model.context is not None and model.has_context_of_words:
        matrices.append(model.context)
    elif model.context is not None and (rows := rows_not_finite(model.context)):
        raise FormatError(f"{source}: row {rows[0] + 1} of {CONTEXT} holds NaN or infinity")
    kept, _ = good_rows(model.words, matrices, source, options)
    return prune(model if kept is None else model.rows(kept), source, options)


def _write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    write_folder(model, path)


FORMAT = Format("folder", "w2v model folder", ("",), _detects, _read, _write, places=("folder",))
