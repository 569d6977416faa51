"""Temporary files and folders that go when their process is gone, however it ended.

A process holds a lock (`flock`) on each of its temporary files and folders, which the system gives back when
the process ends. Whoever makes the next one in the same place removes those that nobody holds any more. Where
there are no such locks (Windows, some network file systems), they are removed after a day.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_STALE_SECONDS = 24 * 3600
_ATTEMPTS = 100


@contextlib.contextmanager
def temporary_folder(parent: Path, prefix: str, suffix: str = "", mode: int = 0o700) -> Iterator[Path]:
    """Make a folder that is removed, if it is still there, when the block or the process ends.

    Parameters
    ----------
    parent : Path
        Where it is made; leftovers with the same beginning and end of their names are removed there first.
    prefix, suffix : str
        Of its name.
    mode : int
        Its rights, before the umask.
    """
    remove_leftovers(parent, prefix, suffix)
    folder, lock = _claimed(parent, prefix, suffix, mode)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _claimed(parent: Path, prefix: str, suffix: str, mode: int) -> tuple[Path, int | None]:
    for _ in range(_ATTEMPTS):
        folder = parent / new_name(prefix, suffix)
        folder.mkdir(mode)
        if fcntl is None:
            return folder, None
        with contextlib.suppress(FileNotFoundError):  # taken for a leftover before it was locked
            lock = os.open(folder, os.O_RDONLY)
            if claim(lock, folder):
                return folder, lock
            os.close(lock)
    raise OSError(f"{parent}: temporary folders are removed as soon as they are made")


def new_name(prefix: str, suffix: str) -> str:
    """Return a name that no other process chooses."""
    return f"{prefix}{secrets.token_hex(6)}{suffix}"


def claim(descriptor: int, path: Path) -> bool:
    """Lock an open file or folder; False if another process has already taken it for a leftover."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks here
        return True
    with contextlib.suppress(OSError):
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116 - follows no second look-up
    return False


def remove_leftovers(parent: Path, prefix: str, suffix: str = "") -> None:
    """Remove the temporary files and folders of dead processes; others' and those in use stay."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(suffix):
                with contextlib.suppress(OSError):
                    _remove_if_dead(entry)


def _remove_if_dead(entry: os.DirEntry[str]) -> None:
    status = entry.stat(follow_symlinks=False)
    if entry.is_symlink() or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        return
    if fcntl is None:
        is_dead = time.time() - status.st_mtime > _STALE_SECONDS
        if is_dead:
            _remove(entry)
        return
    descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(entry)
    except BlockingIOError:
        pass
    except OSError:  # no locks here
        if time.time() - status.st_mtime > _STALE_SECONDS:
            _remove(entry)
    finally:
        os.close(descriptor)


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        Path(entry.path).unlink(missing_ok=True)
