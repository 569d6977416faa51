"""Files and folders that appear whole or not at all: written under another name, synced, put in place.

A folder that replaces another one takes its name in one step: the two names are exchanged (Linux, macOS).
Where the file system cannot, the older folder steps aside first, so that for a moment there is none: if the
process dies then, the next one that reads or saves gives the older one its name back. Where the target is a
mount point, or lies in a lower layer of a container, its files are moved in one by one, the one that marks it
(`config.json`) last.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from w2v.errors import FormatError, W2VError
from w2v.files.temporary import claim, new_name, remove_leftovers, temporary_folder

_PREFIX, _SUFFIX = ".w2v-", ".tmp"
_MARK = "config.json"
_READS = 1000
_RETRY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT)
Result = TypeVar("Result")


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
        with _named(targets[0].path):
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
        self.temporary = self.path
        if self.is_plain:
            self.temporary = self.path.with_name(new_name(_PREFIX, _SUFFIX))
        self.file: BinaryIO | None = None

    def open(self) -> BinaryIO:
        if self.is_plain:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self.path.parent, _PREFIX, _SUFFIX)
        try:
            self.file = self.temporary.open("xb" if self.is_plain else "wb")
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(self.path)) from error
        if self.is_plain and not claim(self.file.fileno(), self.temporary):
            self.file.close()  # another process has taken it for a leftover before it was locked
            return self.open()
        return self.file

    def sync(self) -> None:
        assert self.file is not None  # noqa: S101 - opened before the block ran
        self.file.flush()
        if self.is_plain:
            os.fsync(self.file.fileno())

    def publish(self) -> None:
        if self.is_plain:
            if sys.platform == "win32" and self.file is not None:
                self.file.close()  # elsewhere it stays open, which keeps the lock
            self.temporary.replace(self.path)
            _sync_folder(self.path.parent)

    def clean_up(self) -> None:
        if self.file is not None:
            with contextlib.suppress(OSError):
                self.file.close()
        if self.is_plain:
            with contextlib.suppress(OSError):  # as where its folder is a file, which `open` has said
                self.temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _named(path: Path, n_bytes: int = 0) -> Iterator[None]:
    """Give an error of the system that names no file the name of what was to be written, and its size."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None or isinstance(error, W2VError):
            raise
        size = f" ({n_bytes / 1e6:,.0f} MB are to be written)" if n_bytes else ""
        raise type(error)(error.errno, f"{error.strerror}{size}", str(path)) from error


@contextlib.contextmanager
def new_folder(path: str | Path, *, replaceable: Callable[[Path], bool], n_bytes: int = 0) -> Iterator[Path]:
    """Make a folder that takes its name, in one step, only when the block ends well.

    Parameters
    ----------
    path : path-like
        The final name. Missing parent folders are made.
    replaceable : callable
        Says of an existing, non-empty folder whether it may be replaced (that is, deleted).
    n_bytes : int
        About what will be written.

    Yields
    ------
    Path
        An empty temporary folder on the same disk, to be filled. What processes that died have left beside
        it is removed.

    Raises
    ------
    FormatError
        If `path` is a file, or a folder that must not be replaced or cannot be written, or there is no room;
        raised before anything is written.
    OSError
        If something cannot be written. On this and on any other exception, Ctrl-C included, the temporary
        folder is removed and an older folder is untouched.
    """
    target = check_folder(path, replaceable=replaceable, n_bytes=n_bytes)
    home = target if os.path.ismount(target) else target.parent
    home.mkdir(parents=True, exist_ok=True)
    with _named(target, n_bytes), temporary_folder(home, _PREFIX, _SUFFIX, 0o777) as temporary:
        yield temporary
        _sync_tree(temporary)
        _put_in_place(temporary, target, replaceable)


def check_folder(path: str | Path, *, replaceable: Callable[[Path], bool], n_bytes: int = 0) -> Path:
    """Return the real path of a folder to be written; raise FormatError now if that would fail later."""
    target = _resolved(path)
    bring_back(target)
    if target.is_dir():
        if os.path.ismount(target):
            remove_leftovers(target, _PREFIX, _SUFFIX)
        names = os.listdir(target)  # noqa: PTH208 - only the names
        if names and not replaceable(target):
            raise FormatError(
                f"{path}: the folder is there already and holds other files than the ones to be replaced; "
                "choose another name"
            )
        locked = [name for name in names if _is_locked(target / name)]
        if locked or not os.access(target, os.W_OK | os.X_OK):
            what = f"{locked[0]} in it" if locked else "the folder"
            raise FormatError(f"{path}: {what} is write-protected; choose another name or allow writing")
    _check_room(path, target if os.path.ismount(target) else target.parent, n_bytes)
    return target


def _resolved(path: str | Path) -> Path:
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise FormatError(f"{path}: a link that leads back to itself; choose another name or remove it")
    if target.exists() and not target.is_dir():
        raise FormatError(f"{path}: a file of this name is there already; choose another name or remove it")
    return target


def _is_locked(path: Path) -> bool:
    return not os.access(path, os.W_OK) and path.exists()  # another process may just remove it


def _check_room(path: str | Path, folder: Path, n_bytes: int) -> None:
    """See that a file can be made where a folder will be, and that there is room for it."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise FormatError(f"{path}: {folder} is a file, not a folder; choose another name")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise FormatError(f"{path}: cannot be written ({str(error.strerror).lower()}: {folder})") from None
    if free < n_bytes:
        raise FormatError(
            f"{path}: needs {n_bytes / 1e6:,.0f} MB, but only {free / 1e6:,.0f} MB are free there; "
            "make room or choose another place"
        )


def _put_in_place(temporary: Path, target: Path, replaceable: Callable[[Path], bool]) -> None:
    """Give the new folder the target's name; an older one there gets the temporary name."""
    if os.path.ismount(target):
        _fill(temporary, target)
        return
    for _ in range(_READS):
        try:
            if target.exists() and any(target.iterdir()):
                check_folder(target, replaceable=replaceable)
                _swap(temporary, target)
            else:
                _rename(temporary, target)
            break
        except OSError as error:  # another process was first, or has just removed its own
            if error.errno not in _RETRY:
                raise
    _sync_folder(target.parent)


def _rename(temporary: Path, target: Path) -> None:
    if sys.platform == "win32" and target.exists():
        target.rmdir()
    temporary.rename(target)


def _swap(temporary: Path, target: Path) -> None:
    if _exchange(temporary, target):
        return
    aside = _aside(target)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        target.rename(aside)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EBUSY):
            raise
        _fill(temporary, target)
        return
    try:
        temporary.rename(target)
    finally:
        bring_back(target)
    shutil.rmtree(aside, ignore_errors=True)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.w2v-old")


def bring_back(path: str | Path) -> None:
    """Give an older folder its name again, if a process died between taking it away and the new one's."""
    target = Path(os.path.realpath(path))
    if not target.exists() and _aside(target).exists():
        with contextlib.suppress(OSError):
            _aside(target).rename(target)


def remove_folder(path: str | Path) -> None:
    """Delete a folder, so that it is never there in part: it loses its name first, where it can."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(new_name(_PREFIX, _SUFFIX))
    try:
        target.rename(temporary)
    except OSError:
        temporary = target
    shutil.rmtree(temporary, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system or the file system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    library = ctypes.CDLL(None, use_errno=True) if sys.platform != "win32" else None
    if sys.platform == "linux" and hasattr(library, "renameat2"):
        at_cwd, exchange = -100, 2
        code = library.renameat2(at_cwd, names[0], at_cwd, names[1], exchange)  # type: ignore[union-attr]
    elif sys.platform == "darwin" and hasattr(library, "renamex_np"):
        swap = 2
        code = library.renamex_np(names[0], names[1], swap)
    else:
        return False
    if code == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EBUSY, errno.EPERM):
        return False
    raise OSError(number, os.strerror(number), str(other))


def _fill(temporary: Path, target: Path) -> None:
    """Move files into a folder that cannot be renamed; without its mark it is no model in between."""
    (target / _MARK).unlink(missing_ok=True)
    new = {entry.name for entry in temporary.iterdir()}
    for entry in list(target.iterdir()):
        if entry.name not in new and entry != temporary:
            entry.unlink()
    for name in sorted(new, key=lambda name: name == _MARK):
        (temporary / name).replace(target / name)
    _sync_folder(target)


def read_as_one(path: str | Path, read: Callable[[], Result]) -> Result:
    """Read a folder so that all parts are of one save, also while other processes replace it.

    Parameters
    ----------
    path : path-like
    read : callable
        Opens all parts. Called again if the folder was replaced meanwhile.
    """
    for _ in range(_READS):
        before = _identity(path)
        error: Exception | None = None
        try:
            result = read()
        except (OSError, W2VError) as raised:
            error = raised
        if _identity(path) == before:
            if error is not None:
                raise error
            return result
    raise FormatError(f"{path}: another process replaces this folder all the time; try again later")


def _identity(path: str | Path) -> tuple[int, ...] | None:
    """Return what tells a folder from the one that replaces it; inode numbers are used again at once."""
    with contextlib.suppress(OSError):
        status = Path(path).stat()
        return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
    return None


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
