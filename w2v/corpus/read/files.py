"""Which files a corpus consists of, in reading order: names, folders, standard input. Nothing is read."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from w2v.corpus.read.remote import check_url, is_url
from w2v.errors import CorpusError

STDIN = "-"
_STDIN_NAME = "standard input"
_CORPUS = 'a corpus is files, or lists of tokens such as [["hello", "world"]]'


@dataclass(frozen=True)
class TextFile:
    """A file to read; `path` is None for standard input and for a URL, which is the name itself."""

    name: str
    path: Path | None

    @property
    def is_url(self) -> bool:
        """Whether the name is a URL."""
        return self.path is None and self.name != _STDIN_NAME

    @property
    def size(self) -> int | None:
        """Bytes on disk; None for standard input, pipes and URLs."""
        if self.path is None:
            return None
        status = self.path.stat()
        return status.st_size if stat.S_ISREG(status.st_mode) else None


def find_files(sources: Sequence[str | os.PathLike[str]]) -> list[TextFile]:
    """List the files of a corpus in reading order.

    Parameters
    ----------
    sources : sequence of path-like
        Files, folders (searched to any depth, in sorted order, hidden files and folders left out), URLs,
        and the str "-" for standard input.

    Raises
    ------
    FileNotFoundError
        If a name does not exist.
    CorpusError
        If there is nothing to read.
    """
    if not sources:
        raise CorpusError("no corpus: give at least one file, folder, or - for standard input")
    return [file for source in sources for file in _files_of(source)]


def read_twice(files: Sequence[TextFile]) -> str | None:
    """Say which file stands in a corpus more than once, under one name or several; None if none does."""
    first: dict[tuple[int, int] | str, str] = {}
    twice = []
    for file in files:
        status = None if file.path is None else file.path.stat()
        key = file.name if status is None else (status.st_dev, status.st_ino)
        if key not in first:
            first[key] = file.name
        else:
            twice.append(f"{file.name} is the same as {first[key]}" if first[key] != file.name else file.name)
    if not twice:
        return None
    more = f" (and {len(twice) - 1:,} more)" if len(twice) > 1 else ""
    return f"the corpus has the same text more than once: {twice[0]}{more}"


def _files_of(source: str | os.PathLike[str]) -> Iterator[TextFile]:
    if source == STDIN:  # a path of this name is a file, as ./- is
        yield TextFile(_STDIN_NAME, None)
        return
    if isinstance(source, str) and is_url(source):
        check_url(source)
        yield TextFile(source, None)
        return
    path = Path(source)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, ValueError, OSError) as error:
        raise _not_found(source, error) from None
    if not is_folder:
        yield TextFile(str(path), path)
        return
    files = list(_walk(path, set()))
    if not files:
        raise CorpusError(f"{path}: the folder has no files but hidden ones")
    yield from files


def _walk(folder: Path, seen: set[tuple[int, int]]) -> Iterator[TextFile]:
    """Yield the regular files below a folder; each real folder once, so that looping links do no harm."""
    status = folder.stat()
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _walk(path, seen)
        elif path.is_file():
            yield TextFile(str(path), path)


def _not_found(source: str | os.PathLike[str], error: Exception) -> Exception:
    """Tell a mistyped name from a text given where a name belongs."""
    text = os.fspath(source)
    if isinstance(error, OSError) and error.errno not in (errno.ENOENT, errno.ENAMETOOLONG, errno.ENOTDIR):
        return error
    if len(text) > 255 or "\n" in text or "\0" in text:
        return CorpusError(f"{text[:40]!r}... is no file name; {_CORPUS}")
    if isinstance(source, str) and len(text.split()) > 1:
        return CorpusError(f"{text!r} is neither a file nor a folder; {_CORPUS}")
    what = os.strerror(errno.ENOENT) + (f"; {_CORPUS}" if isinstance(source, str) else "")
    return FileNotFoundError(errno.ENOENT, what, text)
