"""Files and folders that appear whole or not at all: written under another name, synced, renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from w2v.errors import FormatError


@contextlib.contextmanager
def new_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open one file that takes its name only when the block ends well; see `new_files`."""
    with new_files(path) as (file,):
        yield file


@contextlib.contextmanager
def new_files(*paths: str | Path) -> Iterator[tuple[BinaryIO, ...]]:
    """Open files that belong together and take their names only when the block ends well.

    Parameters
    ----------
    *paths : path-like
        The final names. Files that are there already are replaced; a device or a pipe is written directly.
        Missing parent folders are made.

    Yields
    ------
    tuple of binary file, in the order of `paths`

    Raises
    ------
    OSError
        If a file cannot be written. On this and on any other exception, Ctrl-C included, the temporary
        files are removed and the older files are untouched.
    """
    with contextlib.ExitStack() as stack:
        targets = [_Target(Path(path)) for path in paths]
        for target in targets:
            stack.callback(target.clean_up)
        yield tuple(target.open() for target in targets)
        for target in targets:
            target.sync()
        for target in targets:
            target.publish()


class _Target:
    """One file in the making."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(path))
        self.is_plain = not path.exists() or path.is_file()
        self.path = Path(os.path.realpath(path)) if self.is_plain else path
        self.temporary = _beside(self.path) if self.is_plain else self.path
        self.file: BinaryIO | None = None

    def open(self) -> BinaryIO:
        if self.is_plain:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.file = self.temporary.open("xb" if self.is_plain else "wb")
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(self.path)) from error
        return self.file

    def sync(self) -> None:
        assert self.file is not None  # noqa: S101 - opened before the block ran
        self.file.flush()
        if self.is_plain:
            os.fsync(self.file.fileno())
        self.file.close()

    def publish(self) -> None:
        if self.is_plain:
            self.temporary.replace(self.path)
            _sync_folder(self.path.parent)

    def clean_up(self) -> None:
        if self.file is not None:
            with contextlib.suppress(OSError):
                self.file.close()
        if self.is_plain:
            self.temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: str | Path, *, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """Make a folder that takes its name only when the block ends well.

    Parameters
    ----------
    path : path-like
        The final name. Missing parent folders are made.
    replaceable : callable
        Says of an existing, non-empty folder whether it may be replaced (that is, deleted).

    Yields
    ------
    Path
        An empty temporary folder beside `path`, to be filled.

    Raises
    ------
    FormatError
        If `path` is a file, or a folder that must not be replaced; raised before anything is written.
    OSError
        If something cannot be written. On this and on any other exception, Ctrl-C included, the temporary
        folder is removed and an older folder is untouched.
    """
    target = check_folder(path, replaceable=replaceable)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(target)
    try:
        try:
            temporary.mkdir()
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(target)) from error
        yield temporary
        _sync_tree(temporary)
        check_folder(target, replaceable=replaceable)
        _put_in_place(temporary, target)
    finally:
        if temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)


def check_folder(path: str | Path, *, replaceable: Callable[[Path], bool]) -> Path:
    """Return the real path of a folder to be written, or raise FormatError if something else is there."""
    target = Path(os.path.realpath(path))
    if not target.exists():
        return target
    if not target.is_dir():
        raise FormatError(f"{path}: a file of this name is there already; choose another name or remove it")
    if any(target.iterdir()) and not replaceable(target):
        raise FormatError(
            f"{path}: the folder is there already and holds other files than the ones to be replaced; "
            "choose another name"
        )
    return target


def _put_in_place(temporary: Path, target: Path) -> None:
    """Rename the new folder to the target's name; an older one steps aside and comes back if that fails."""
    if not target.exists():
        temporary.rename(target)
        _sync_folder(target.parent)
        return
    aside = _beside(target)
    try:
        target.rename(aside)
        temporary.rename(target)
        _sync_folder(target.parent)
    finally:
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(target)


def _beside(path: Path) -> Path:
    return path.parent / f".w2v-{secrets.token_hex(6)}.tmp"


def _sync_tree(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir():
            _sync_tree(entry)
        else:
            with entry.open("rb") as file:
                os.fsync(file.fileno())
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable; systems that cannot sync a folder are left alone."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
