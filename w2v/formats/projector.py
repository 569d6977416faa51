r"""TensorBoard's projector: a folder with `vectors.tsv`, `metadata.tsv` and the file that ties them together.

`tensorboard --logdir FOLDER` shows it; https://projector.tensorflow.org takes the two tables. `metadata.tsv`
has the columns word and count, with a line of names on top. Everything that ends a line or a field anywhere
is escaped in labels (`\t`, `\n`, `\u2028`, and the backslash as `\\`): both tables have a row a word.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.files.atomic import new_folder
from w2v.files.escapes import LABEL_BREAKERS, escape, unescape
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.rows import RowCollector, from_matrix
from w2v.formats.source import Source, open_source, part_of
from w2v.formats.text_rows import count_numbers, read_lines, write_lines
from w2v.vectors.vocab_files import is_count
from w2v.vectors.vocab_files import read_lines as read_text_lines
from w2v.vectors.word_vectors import WordVectors

_VECTORS, _METADATA, _CONFIG = "vectors.tsv", "metadata.tsv", "projector_config.pbtxt"
_HEADER = "word\tcount"
_CONFIG_TEXT = f'embeddings {{\n  tensor_path: "{_VECTORS}"\n  metadata_path: "{_METADATA}"\n}}\n'


def detects(source: Source) -> bool:
    """Say whether a source is the folder, or its table of numbers with the labels beside it."""
    folder = source.path if source.is_folder else source.path.parent
    if not (folder / _METADATA).is_file():
        return False
    if source.is_folder:
        return (folder / _VECTORS).is_file()
    line = _first_line(source)
    return b"\t" in line and count_numbers(b"0\t" + line) == len(line.split())


def _first_line(source: Source) -> bytes:
    return source.head.removeprefix(BOM_UTF8).split(b"\n", 1)[0]


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Read the two tables."""
    if source.is_folder:
        with open_source(part_of(source.path, _VECTORS)) as vectors:
            return read(vectors, options)
    collector = RowCollector(source, len(_first_line(source).split()), ReadOptions(skip_bad=options.skip_bad))
    read_lines(source, collector, has_word=False)
    numbers = collector.finish(FORMAT.name)
    words, counts = _read_labels(part_of(source.path.parent, _METADATA))
    if len(words) != collector.n_seen:
        raise FormatError(
            f"{source.path.parent / _METADATA}: expected a label for each of the {collector.n_seen} rows of "
            f"{source}, got {len(words)}"
        )
    rows = [int(number) for number in numbers.words]
    kept_counts = None if counts is None else counts[rows]
    return from_matrix(
        [words[row] for row in rows], kept_counts, numbers.vectors, source, options, FORMAT.name
    )


def _read_labels(path: Path) -> tuple[list[str], NDArray[np.int64] | None]:
    """Return the first column, and the counts where the second is ours."""
    lines = read_text_lines(path)
    if not lines or "\t" not in lines[0]:
        return [unescape(line, None) for line in lines], None
    header, rows = lines[0], [line.split("\t") for line in lines[1:]]
    words = [unescape(row[0], None) for row in rows]
    if header != _HEADER:
        return words, None
    for number, row in enumerate(rows, 2):
        if len(row) != 2 or not is_count(row[1]):
            raise FormatError(f"{path}:{number}: expected a word, a tab and a count, got {row!r}")
    return words, np.array([int(row[1]) for row in rows], np.int64)


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write the folder: whole, or not at all; one that holds nothing but these files is replaced."""
    counts = model.counts.tolist()
    labels = [
        f"{escape(word, LABEL_BREAKERS)}\t{count}\n" for word, count in zip(model.words, counts, strict=True)
    ]
    with new_folder(path, replaceable=_is_projector) as folder:
        with (folder / _VECTORS).open("wb") as file:
            write_lines(file, model.vectors, None, separator="\t")
        (folder / _METADATA).write_bytes(f"{_HEADER}\n{''.join(labels)}".encode())
        (folder / _CONFIG).write_text(_CONFIG_TEXT, encoding="utf-8")


def _is_projector(folder: Path) -> bool:
    return {entry.name for entry in folder.iterdir()} == {_VECTORS, _METADATA, _CONFIG}


FORMAT = Format(
    "projector",
    "TensorBoard projector folder",
    (".projector",),
    detects,
    read,
    write,
    places=("folder", "file"),
)
