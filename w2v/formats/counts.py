"""Counts in a file beside vectors: lines `word count`, as word2vec.c's -save-vocab and gensim's fvocab."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from w2v.errors import FormatError
from w2v.files.atomic import new_file
from w2v.formats.options import WriteOptions
from w2v.formats.word_checks import words_for_fields
from w2v.vectors.vocab import Vocab
from w2v.vectors.word_vectors import Model, WordVectors

_LOG = logging.getLogger(__name__)


def with_counts(model: Model, path: str | Path) -> Model:
    """Return a model with the counts of a file; the words that the file lacks get 0, and are logged.

    Parameters
    ----------
    model : WordVectors
    path : path-like
        Lines of a word, a blank or a tab, and a count.

    Raises
    ------
    FormatError
        If a line is something else, or no word of the model is there.
    """
    counts = _read(Path(path))
    found = [counts.get(word) for word in model.words]
    n_missing = found.count(None)
    if n_missing == len(model) > 0:
        raise FormatError(f"{path}: holds none of the {len(model)} words of the model")
    if n_missing:
        _LOG.warning("%s: lacks %d of the %d words; their count is 0", path, n_missing, len(model))
    known = np.array([count or 0 for count in found], np.int64)
    return replace(model, vocab=Vocab(model.words, known))


def write_counts(model: WordVectors, path: str | Path) -> None:
    """Write lines `word count`: whole, or not at all. Words that hold blanks are refused."""
    words = words_for_fields(model.words, "a file of counts", WriteOptions())
    lines = (f"{word} {count}\n" for word, count in zip(words, model.counts.tolist(), strict=True))
    with new_file(path) as file:
        file.write("".join(lines).encode())


def _read(path: Path) -> dict[str, int]:
    counts = {}
    for number, line in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        word, _, count = line.replace(b"\t", b" ").rstrip(b" ").rpartition(b" ")
        if not (word and count.isdigit() and len(count) < 19):
            shown = line[:60].decode(errors="replace")
            raise FormatError(f"{path}:{number}: expected a word and a count, got {shown!r}")
        try:
            counts[word.decode()] = int(count)
        except UnicodeDecodeError:
            raise FormatError(f"{path}:{number}: the word is not UTF-8") from None
    return counts
