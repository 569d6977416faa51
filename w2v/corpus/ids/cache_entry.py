"""One encoded corpus on disk: written as ids of first appearance, then put in the order of the vocabulary.

A folder holds `tokens.i32` (N,), `offsets.i64` (S + 1,), the types in falling order of count as `words.utf8`,
`word_offsets.i64` and `counts.i64`, and `meta.json`, which is written last. A vocabulary of the most frequent
words is a prefix of that order, so one folder serves every min_count and max_vocab.

What is opened is checked: always what compiled code relies on (ids in range, offsets that rise, words that
are UTF-8), which takes some 20 ms for 17 M tokens; and all bytes by their SHA-256, unless the entry is large,
no file of it was changed since it was last checked, and the system has not been restarted since.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2v.corpus.ids.word_types import Types
from w2v.files.atomic import new_file
from w2v.files.json_objects import BROKEN

FORMAT_VERSION = 1
_META = "meta.json"
_DTYPES = {
    "tokens.i32": np.int32,
    "offsets.i64": np.int64,
    "words.utf8": np.uint8,
    "word_offsets.i64": np.int64,
    "counts.i64": np.int64,
}
_BLOCK = 1 << 18
_SMALL_BYTES = 1 << 24  # SHA-256 reads them in some 10 ms
_log = logging.getLogger(__name__)


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
    digest = _digest(ranked)
    with _naming(folder):
        _write(folder / "word_offsets.i64", ranked.offsets)
        _write(folder / "words.utf8", ranked.blob)
        _write(folder / "counts.i64", ranked.counts)
        _renumber(folder / "tokens.i32", rank if merged is None else rank[merged], digest)
        _add_file(folder / "offsets.i64", digest)
        return _write_meta(folder, f"sha256:{digest.hexdigest()}")


def _write_meta(folder: Path, fingerprint: str) -> str:
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    meta = {"format_version": FORMAT_VERSION, "fingerprint": fingerprint, "sizes": sizes}
    _write(folder / _META, np.frombuffer(json.dumps(meta, indent=1).encode(), np.uint8))
    return fingerprint


def _digest(types: Types) -> Any:
    """Begin the digest of an entry, to which the bytes of its tokens and offsets have to be added."""
    header = f"w2v corpus: {len(types.counts)} types, {types.counts.sum()} tokens\n"
    digest = hashlib.sha256(header.encode())
    digest.update(types.offsets.data)
    digest.update(types.blob.data)
    return digest


def open_entry(folder: Path, *, check_all: bool = False) -> Entry | None:
    """Open an entry; None if it is incomplete, damaged, or of another version.

    Parameters
    ----------
    folder : Path
    check_all : bool
        Compare the SHA-256 in any case.
    """
    meta = read_meta(folder)
    if meta is None:
        return None
    try:
        arrays = {name: _map_array(folder / name, dtype) for name, dtype in _DTYPES.items()}
        may_have_changed = _may_have_changed(folder)
    except (OSError, ValueError):
        return None
    types = Types(arrays["words.utf8"], arrays["word_offsets.i64"], arrays["counts.i64"])
    entry = Entry(folder, types, arrays["tokens.i32"], arrays["offsets.i64"], meta["fingerprint"])
    if not _is_in_bounds(entry):
        return None
    if check_all or may_have_changed or sum(meta["sizes"].values()) <= _SMALL_BYTES:
        if not _has_its_digest(entry):
            return None
        if may_have_changed:
            with contextlib.suppress(OSError):
                os.utime(folder / _META)  # checked until now
    return entry


def _may_have_changed(folder: Path) -> bool:
    """Say whether the system was started, or a file changed, after `meta.json` was written or touched."""
    checked = (folder / _META).stat().st_mtime_ns
    # Where the monotonic clock stands still in sleep, or begins with something else, the result is later.
    started = time.time_ns() - time.monotonic_ns()
    changed = max((folder / name).stat().st_ctime_ns for name in _DTYPES)
    return checked < max(started, changed)


def _is_in_bounds(entry: Entry) -> bool:
    """Check what compiled code relies on."""
    types, n_tokens, n_types = entry.types, len(entry.tokens), len(entry.types.counts)
    return bool(
        len(types.offsets) == n_types + 1
        and _rises(types.offsets, len(types.blob))
        and _rises(entry.offsets, n_tokens)
        and n_tokens >= types.counts[0]
        and (types.counts[1:] <= types.counts[:-1]).all()
        and types.counts[-1] > 0
        and types.counts.sum() == n_tokens
        and entry.tokens.view(np.uint32).max() < n_types  # a negative id is a large one here
        and _are_words(types)
    )


def _rises(offsets: NDArray[np.int64], end: int) -> bool:
    return bool(offsets[0] == 0 and offsets[-1] == end and (offsets[1:] > offsets[:-1]).all())


def _are_words(types: Types) -> bool:
    """Say whether the words are UTF-8, each for itself."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(types.blob), _BLOCK):
            decoder.decode(types.blob[start : start + _BLOCK].tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return bool((types.blob[types.offsets[:-1]] & 0xC0 != 0x80).all())


def _has_its_digest(entry: Entry) -> bool:
    """Compare all bytes of an entry with its fingerprint, which leaves out only the counts."""
    digest = _digest(entry.types)
    digest.update(entry.tokens.data)
    digest.update(entry.offsets.data)
    if entry.fingerprint != f"sha256:{digest.hexdigest()}":
        return False
    counts = np.zeros(len(entry.types.counts), np.int64)
    for start in range(0, len(entry.tokens), _BLOCK):
        counts += np.bincount(entry.tokens[start : start + _BLOCK], minlength=len(counts))
    return bool((counts == entry.types.counts).all())


def read_meta(folder: Path) -> dict[str, Any] | None:
    """Read an entry's `meta.json`; None if it is missing or does not fit the files beside it."""
    try:
        meta: dict[str, Any] = json.loads((folder / _META).read_bytes())
        if meta["format_version"] != FORMAT_VERSION or not isinstance(meta["fingerprint"], str):
            return None
        if meta["sizes"] == {name: (folder / name).stat().st_size for name in _DTYPES}:
            return meta
    except (OSError, KeyError, TypeError, *BROKEN):
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
    if (kept := _kept_rows(path, entry.tokens, row_of)) is not None:
        return kept
    with new_file(path) as file:
        _write_renumbered(file, entry.tokens, row_of)
    return _map_array(path, np.int32)


def _kept_rows(path: Path, tokens: NDArray[np.int32], row_of: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Return the renumbered tokens that an earlier run has written, if they are still right."""
    try:
        rows = _map_array(path, np.int32)
    except FileNotFoundError:
        return None
    except ValueError:
        rows = np.empty(0, np.int32)
    blocks = range(0, len(tokens), _BLOCK)
    if len(rows) == len(tokens) and all(
        np.array_equal(rows[start : start + _BLOCK], row_of.take(tokens[start : start + _BLOCK]))
        for start in blocks
    ):
        return rows
    _log.warning("a damaged file of the cache is made again: %s", path)
    return None


def _write_renumbered(file: Any, tokens: NDArray[np.int32], row_of: NDArray[np.int32]) -> None:
    for start in range(0, len(tokens), _BLOCK):
        file.write(row_of.take(tokens[start : start + _BLOCK]).data)
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
