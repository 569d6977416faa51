"""Files of vectors: one module a format, each reading and writing; see `w2v.formats.folder` for our own."""

from __future__ import annotations

from pathlib import Path

from w2v.embeddings import Embeddings
from w2v.formats.folder import read_folder


def load(path: str | Path) -> Embeddings:
    """Open a model folder."""
    return read_folder(path)
