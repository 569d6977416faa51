"""One encoded corpus on disk: written as ids of first appearance, then put in the order of the vocabulary.

A folder holds `tokens.i32` (N,), `offsets.i64` (S + 1,), the types in falling order of count as `words.utf8`,
`word_offsets.i64` and `counts.i64`, and `meta.json`, which is written last. A vocabulary of the most frequent
words is a prefix of that order, so one folder serves every min_count and max_vocab.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v.corpus.ids.encoded_corpus import Types

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
    """An encoded corpus, memory-mapped: `types` in falling order of count, and `tokens` as rows of them."""

    folder: Path
    types: Types
    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    fingerprint: str


def finish_entry(folder: Path, types: Types, merged: NDArray[np.int32] | None = None) -> str:
    """Bring a written stream into the order of falling counts and write the types and `meta.json`.

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
    ranked = _in_order(types, order)
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
        arrays = {name: map_array(folder / name, dtype) for name, dtype in _DTYPES.items()}
        blob = map_array(folder / "words.utf8", np.uint8)
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


def write_stream(entry: Entry, path: Path, row_of: NDArray[np.int32]) -> None:
    """Write the entry's tokens in another numbering: row_of[rank], int32, shape (n_types,)."""
    with _naming(entry.folder), path.open("xb") as file:
        for start in range(0, len(entry.tokens), _BLOCK):
            file.write(row_of[entry.tokens[start : start + _BLOCK]].data)
        file.flush()
        os.fsync(file.fileno())


def map_array(path: Path, dtype: Any) -> NDArray[Any]:
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


def _in_order(types: Types, order: NDArray[np.int64]) -> Types:
    from w2v.corpus.ids.scan import gather_words

    offsets = np.zeros(len(order) + 1, np.int64)
    np.cumsum(np.diff(types.offsets)[order], out=offsets[1:])
    blob = np.empty(offsets[-1], np.uint8)
    gather_words(types.blob, types.offsets, order, blob)
    return Types(blob, offsets, types.counts[order])


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
