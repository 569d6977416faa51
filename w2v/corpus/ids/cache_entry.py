"""One encoded corpus on disk: written as ids of first appearance, then put in the order of the vocabulary.

A folder holds `tokens.i32` (N,), `offsets.i64` (S + 1,), the types in falling order of count as `words.utf8`,
`word_offsets.i64` and `counts.i64`, and `meta.json`, which is written last. A vocabulary of the most frequent
words is a prefix of that order, so one folder serves every min_count and max_vocab.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v.corpus.ids.word_types import Types

FORMAT_VERSION = 1
_META = "meta.json"
_DTYPES = {
    "tokens.i32": np.int32,
    "offsets.i64": np.int64,
    "word_offsets.i64": np.int64,
    "counts.i64": np.int64,
}
_BLOCK = 1 << 18


class StreamWriter:
    """Append ids and sentence borders to an entry's folder while the text is read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokens: BinaryIO = (folder / "tokens.i32").open("xb")
        self._offsets: BinaryIO = (folder / "offsets.i64").open("xb")
        self._offsets.write(bytes(8))
        self.n_tokens = 0
        self.n_sentences = 0

    def __enter__(self) -> StreamWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _naming(self._folder):
            self._tokens.close()
            self._offsets.close()

    def write(self, token_ids: NDArray[np.int32], sentence_ends: NDArray[np.int64]) -> None:
        """Append type ids, and sentence ends counted in tokens from the start."""
        with _naming(self._folder):
            self._tokens.write(token_ids.data)
            self._offsets.write(sentence_ends.data)
        self.n_tokens += len(token_ids)
        self.n_sentences += len(sentence_ends)


@dataclass(frozen=True, eq=False)
class Entry:
    """An encoded corpus with all its words, memory-mapped.

    Attributes
    ----------
    folder : Path or None
        Its place in the cache, or a temporary folder that may be gone; None for a corpus made of ids.
    types : Types
        In falling order of count.
    tokens : ndarray of int32, shape (N,)
        Rows of `types`.
    offsets : ndarray of int64, shape (S + 1,)
    fingerprint : str
    """

    folder: Path | None
    types: Types
    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    fingerprint: str


def finish_entry(folder: Path, types: Types, merged: NDArray[np.int32] | None = None) -> str:
    """Renumber a written stream by falling count and write the types and `meta.json`.

    Parameters
    ----------
    folder : Path
        What a `StreamWriter` wrote.
    types : Types
        In order of first appearance.
    merged : ndarray of int32, optional
        The row in `types` of each id in the stream, where they differ.

    Returns
    -------
    str
        The fingerprint.
    """
    order = np.argsort(-types.counts, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    ranked = types.take(order)
    n_tokens = int(types.counts.sum())
    digest = hashlib.sha256(f"w2v corpus: {len(order)} types, {n_tokens} tokens\n".encode())
    with _naming(folder):
        for name, array in (("word_offsets.i64", ranked.offsets), ("words.utf8", ranked.blob)):
            digest.update(array.data)
            _write(folder / name, array)
        _write(folder / "counts.i64", ranked.counts)
        _renumber(folder / "tokens.i32", rank if merged is None else rank[merged], digest)
        _add_file(folder / "offsets.i64", digest)
        return _write_meta(folder, f"sha256:{digest.hexdigest()}")


def _write_meta(folder: Path, fingerprint: str) -> str:
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    meta = {"format_version": FORMAT_VERSION, "fingerprint": fingerprint, "sizes": sizes}
    _write(folder / _META, np.frombuffer(json.dumps(meta, indent=1).encode(), np.uint8))
    return fingerprint


def open_entry(folder: Path) -> Entry | None:
    """Open an entry; None if it is incomplete, of another version, or its sizes are wrong."""
    meta = read_meta(folder)
    if meta is None:
        return None
    try:
        arrays = {name: _map_array(folder / name, dtype) for name, dtype in _DTYPES.items()}
        blob = _map_array(folder / "words.utf8", np.uint8)
    except (OSError, ValueError):
        return None
    types = Types(blob, arrays["word_offsets.i64"], arrays["counts.i64"])
    if len(types.offsets) != len(types.counts) + 1 or types.offsets[-1] != len(blob):
        return None
    return Entry(folder, types, arrays["tokens.i32"], arrays["offsets.i64"], meta["fingerprint"])


def read_meta(folder: Path) -> dict[str, Any] | None:
    """Read an entry's `meta.json`; None if it is missing or does not fit the files beside it."""
    try:
        meta: dict[str, Any] = json.loads((folder / _META).read_bytes())
        if meta["format_version"] != FORMAT_VERSION or not isinstance(meta["fingerprint"], str):
            return None
        if all((folder / name).stat().st_size == size for name, size in meta["sizes"].items()):
            return meta
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None


def renumbered_tokens(entry: Entry, row_of: NDArray[np.int32], name: str) -> NDArray[np.int32]:
    """Return the entry's tokens in another numbering, mapped from a file that later calls find again.

    Parameters
    ----------
    entry : Entry
        Its folder keeps the file; where that is gone or never was, a temporary file serves.
    row_of : ndarray of int32, shape (n_types,)
        The new id of each type.
    name : str
        Of the numbering.
    """
    if entry.folder is None or not entry.folder.exists():
        with tempfile.TemporaryFile() as file:
            _write_renumbered(file, entry.tokens, row_of)
            return np.asarray(np.memmap(file, np.int32, "r"))
    path = entry.folder / f"rows-{name}.i32"
    if not path.exists() or path.stat().st_size != entry.tokens.nbytes:
        temporary = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        try:
            with _naming(entry.folder), temporary.open("xb") as file:
                _write_renumbered(file, entry.tokens, row_of)
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    return _map_array(path, np.int32)


def _write_renumbered(file: Any, tokens: NDArray[np.int32], row_of: NDArray[np.int32]) -> None:
    for start in range(0, len(tokens), _BLOCK):
        file.write(row_of[tokens[start : start + _BLOCK]].data)
    file.flush()


def _map_array(path: Path, dtype: Any) -> NDArray[Any]:
    """Map a file as a read-only array."""
    return np.asarray(np.memmap(path, dtype, "r"))


@contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Give an error of writing, such as a full disk, the name of the folder."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise type(error)(error.errno, error.strerror, str(folder)) from error


def _renumber(path: Path, row_of: NDArray[np.int32], digest: Any) -> None:
    """Replace each id in the file by row_of[id], in place, and add the new ids to the digest."""
    block = np.empty(_BLOCK, np.int32)
    with path.open("rb") as old, path.open("r+b") as new:
        while n_bytes := old.readinto(block.data):
            rows = row_of[block[: n_bytes // 4]]
            digest.update(rows.data)
            new.write(rows.data)


def _add_file(path: Path, digest: Any) -> None:
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)


def _write(path: Path, array: NDArray[Any]) -> None:
    with path.open("xb") as file:
        file.write(array.data)
