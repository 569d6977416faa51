"""The cache of encoded corpora, in a folder that only its owner can read.

`entries/<digest>/` holds one encoded corpus under the digest of its content; `sources/<key>.json` says
which one belongs to a list of files read with certain settings. The key covers each file's path, size, times
and inode, so that a changed file is read again. `tmp-*` are corpora that are being read; those of processes
that died are removed when the next one is read. A finished entry is renamed, so several processes can read
the same corpus at once: the entry of the first one stays. A damaged one is passed over and replaced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from w2v.corpus.ids.cache_entry import FORMAT_VERSION, Entry, open_entry, read_meta
from w2v.corpus.ids.encoded_corpus import CorpusReport
from w2v.corpus.read.files import TextFile
from w2v.errors import ConfigError
from w2v.files.atomic import new_file
from w2v.files.json_objects import BROKEN
from w2v.files.temporary import new_name, remove_leftovers, temporary_folder

_NEW = "tmp-"
_FINGERPRINT = re.compile("sha256:[0-9a-f]{64}")
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
        """Open the entry of files read earlier.

        None if they were not read yet, or if the entry is damaged, which is logged: it has to be made again.
        """
        if self.root is None or (record := _read_record(self._record(key))) is None:
            return None
        folder = self._entry(record.fingerprint)
        entry = open_entry(folder)
        if entry is None or entry.fingerprint != record.fingerprint:
            if folder.exists():
                _log.warning("a damaged entry of the cache is made again: %s", folder)
            return None
        with contextlib.suppress(OSError):
            os.utime(folder)
        return entry, dataclasses.replace(record.report, from_cache=True)

    def new_folder(self) -> AbstractContextManager[Path]:
        """Make an empty folder for one entry; if it is still there when the block ends it is removed.

        Open memory maps outlive that (on Windows the folder does too, until a later run clears it away).
        """
        if self.root is None:
            return temporary_folder(Path(tempfile.gettempdir()), "w2v-corpus-")
        return temporary_folder(self.root, _NEW)

    def publish(self, folder: Path, fingerprint: str) -> Path:
        """Move a finished entry to its place, unless one is there already; return the place."""
        for path in folder.iterdir():
            with path.open("r+b") as file:
                os.fsync(file.fileno())  # so that after a power cut the sizes are right
        target = self._entry(fingerprint)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        if target.exists() and open_entry(target, check_all=True) is None:
            damaged = target.parents[1] / new_name(_NEW, "")
            with contextlib.suppress(OSError):  # another process was first
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
        with new_file(target) as file:
            file.write(json.dumps({**record, "sha256": _sha256_of(record)}, indent=1).encode())

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
        remove_leftovers(self.root, _NEW)
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
            if (record := _read_record(path)) is not None:
                known = names.setdefault(record.fingerprint, [])
                known.extend(name for name in record.files if name not in known)
        return names


class _Record(NamedTuple):
    """Which entry belongs to some files, and what was reported when they were read."""

    fingerprint: str
    report: CorpusReport
    files: list[str]


def _read_record(path: Path) -> _Record | None:
    """Read what `Cache.remember` wrote; None if there is nothing, or if it is damaged, which is logged."""
    try:
        content = json.loads(path.read_bytes())
        digest = content.pop("sha256", None)  # version 0.1.0 wrote none
        report, files = CorpusReport(**content["report"]), content["files"]
        if (
            digest in (None, _sha256_of(content))
            and _FINGERPRINT.fullmatch(content["fingerprint"])
            and all(type(value) is type(_NO_REPORT[name]) for name, value in vars(report).items())
            and all(isinstance(name, str) for name in files)
        ):
            return _Record(content["fingerprint"], report, list(files))
    except OSError:
        return None
    except (TypeError, KeyError, AttributeError, *BROKEN):
        pass
    _log.warning("a damaged record of the cache is passed over: %s", path)
    return None


_NO_REPORT = vars(CorpusReport())


def _sha256_of(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def open_cache(cache_dir: str | os.PathLike[str] | None, *, keep: bool = True) -> Cache:
    """Open the cache in a folder, by default the user's own; the folder is made if need be.

    If the default folder cannot be written there is no cache, with a warning; for a given one it is an error.
    """
    if not keep:
        return Cache(None)
    if cache_dir is not None and "\0" in os.fsdecode(cache_dir):
        raise ConfigError(f"cache_dir must be a path; got {cache_dir!r}")
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
