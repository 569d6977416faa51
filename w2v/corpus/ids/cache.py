"""The cache of encoded corpora, in a folder that only its owner can read.

`entries/<digest>/` holds one encoded corpus under the digest of its content; `sources/<key>.json` says
which one belongs to a list of files read with certain settings. The key covers each file's path, size, times
and inode, so that a changed file is read again. `tmp-*` are corpora that are being read. A finished entry is
renamed, so several processes can read the same corpus at once: the entry of the first one stays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from w2v.corpus.ids.cache_entry import FORMAT_VERSION, Entry, open_entry, read_meta
from w2v.corpus.ids.encoded_corpus import CorpusReport
from w2v.corpus.read.files import TextFile

_STALE_SECONDS = 24 * 3600
_log = logging.getLogger(__name__)


class CachedCorpus(NamedTuple):
    """Facts on an entry, to be shown: sizes in bytes, the time of its last use in seconds since 1970."""

    fingerprint: str
    files: list[str]
    n_bytes: int
    n_tokens: int
    n_types: int
    last_used: float


class Cache:
    """Where encoded corpora are kept.

    Parameters
    ----------
    root : Path or None
        The folder; None keeps nothing, and puts what is being read into the system's temporary folder.
    """

    def __init__(self, root: Path | None) -> None:
        self.root = root

    @property
    def keeps(self) -> bool:
        """Whether anything is kept."""
        return self.root is not None

    def find(self, key: str) -> tuple[Entry, CorpusReport] | None:
        """Open the entry of files read earlier; None if they were not read yet, or the entry is damaged."""
        if self.root is None:
            return None
        try:
            record = json.loads(self._record(key).read_bytes())
            report = CorpusReport(**record["report"])
            folder = self._entry(str(record["fingerprint"]))
            entry = open_entry(folder)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        if entry is None:
            return None
        with contextlib.suppress(OSError):
            os.utime(folder)
        return entry, dataclasses.replace(report, from_cache=True)

    @contextmanager
    def new_folder(self) -> Iterator[Path]:
        """Make an empty folder for one entry; if it is still there when the block ends it is removed.

        Open memory maps outlive that (on Windows the folder does too, until a later run clears it away).
        """
        if self.root is None:
            folder = Path(tempfile.mkdtemp(prefix="w2v-"))
        else:
            self._remove_stale(_STALE_SECONDS)
            folder = self.root / f"tmp-{secrets.token_hex(8)}"
            folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, folder: Path, fingerprint: str) -> Path:
        """Move a finished entry to its place, unless one is there already; return the place."""
        for path in folder.iterdir():
            with path.open("r+b") as file:
                os.fsync(file.fileno())  # so that after a power cut the sizes are right
        target = self._entry(fingerprint)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        if target.exists() and read_meta(target) is None:
            damaged = target.with_name(f"tmp-{secrets.token_hex(8)}")
            target.rename(damaged)
            shutil.rmtree(damaged, ignore_errors=True)
        try:
            folder.rename(target)
        except OSError:
            if not target.exists():  # otherwise another process was first
                raise
        return target

    def remember(self, key: str, fingerprint: str, report: CorpusReport, files: Sequence[TextFile]) -> None:
        """Record which entry belongs to the files."""
        record = {
            "fingerprint": fingerprint,
            "report": dataclasses.asdict(report),
            "files": [str((file.path or Path(file.name)).absolute()) for file in files],
        }
        target = self._record(key)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = target.with_name(f"{target.name}-{secrets.token_hex(4)}")
        temporary.write_bytes(json.dumps(record, indent=1).encode(errors="surrogateescape"))
        temporary.replace(target)

    def corpora(self) -> list[CachedCorpus]:
        """List the entries, last used first."""
        if self.root is None:
            return []
        names = self._file_names()
        found = []
        for folder in (self.root / "entries").glob("*"):
            if (meta := read_meta(folder)) is None:
                continue
            found.append(
                CachedCorpus(
                    meta["fingerprint"],
                    names.get(meta["fingerprint"], []),
                    _n_bytes(folder),
                    meta["sizes"]["tokens.i32"] // 4,
                    meta["sizes"]["counts.i64"] // 8,
                    folder.stat().st_mtime,
                )
            )
        return sorted(found, key=lambda corpus: -corpus.last_used)

    def clear(self) -> int:
        """Remove all entries, and what crashed runs have left; return how many bytes were freed."""
        if self.root is None or not self.root.exists():
            return 0
        n_bytes = _n_bytes(self.root)
        for name in ("entries", "sources"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        self._remove_stale(600)
        return n_bytes - _n_bytes(self.root)

    def _entry(self, fingerprint: str) -> Path:
        assert self.root is not None  # noqa: S101 - callers check `keeps`
        return self.root / "entries" / fingerprint.rpartition(":")[2]

    def _record(self, key: str) -> Path:
        assert self.root is not None  # noqa: S101 - callers check `keeps`
        return self.root / "sources" / f"{key}.json"

    def _file_names(self) -> dict[str, list[str]]:
        assert self.root is not None  # noqa: S101 - callers check `keeps`
        names: dict[str, list[str]] = {}
        for path in (self.root / "sources").glob("*.json"):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                record = json.loads(path.read_bytes())
                known = names.setdefault(record["fingerprint"], [])
                known.extend(name for name in record["files"] if name not in known)
        return names

    def _remove_stale(self, seconds: float) -> None:
        """Remove what crashed runs have left: temporary folders to which nothing was written for a time."""
        assert self.root is not None  # noqa: S101 - callers check `keeps`
        for folder in self.root.glob("tmp-*"):
            with contextlib.suppress(OSError):
                last_write = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
                if time.time() - last_write > seconds:
                    shutil.rmtree(folder, ignore_errors=True)


def open_cache(cache_dir: str | os.PathLike[str] | None, *, keep: bool = True) -> Cache:
    """Open the cache in a folder, by default the user's own; the folder is made if need be.

    If the default folder cannot be written there is no cache, with a warning; for a given one it is an error.
    """
    if not keep:
        return Cache(None)
    base = platformdirs.user_cache_path("w2v") if cache_dir is None else Path(cache_dir)
    root = base / f"corpus-{FORMAT_VERSION}"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(root, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13), str(root))
    except OSError as error:
        if cache_dir is not None:
            raise
        _log.warning("no cache, the corpus will be read again the next time: %s", error)
        return Cache(None)
    return Cache(root)


def signature(
    files: Sequence[TextFile], statuses: Sequence[os.stat_result], reading: Mapping[str, Any]
) -> str:
    """Return the key of a list of regular files, as they are now, read in this way."""
    facts: list[Any] = [FORMAT_VERSION, dict(reading)]
    for file, status in zip(files, statuses, strict=True):
        path = os.path.realpath(file.path or "")
        times = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        facts.append((path, *times, status.st_ino, status.st_dev))
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _n_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
