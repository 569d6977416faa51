"""A file or a folder to be read: its first bytes, to tell what it is, and then all of its bytes, unpacked."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from w2v.errors import FormatError
from w2v.files.compression import HEAD_BYTES as PACKING_BYTES
from w2v.files.compression import is_broken, packing_of, unpacked

HEAD_BYTES = 1 << 20
WINDOW_BYTES = 1 << 23
LONGEST_ROW = 1 << 26


class Source:
    """A file of vectors, opened once, read from its first byte to its last.

    Attributes
    ----------
    path : Path
    is_folder : bool
    packing : str or None
        Name of the compression; None for a plain file.
    head : bytes
        The first bytes of the content, unpacked, at most `HEAD_BYTES`; empty for a folder.
    size : int or None
        Bytes of the content; None when only reading tells (packed files, pipes, folders).
    """

    def __init__(self, path: Path, raw: BinaryIO | None, size: int | None) -> None:
        self.path = path
        self.is_folder = raw is None
        self.packing = None
        self.head = b""
        self._left = memoryview(b"")
        if raw is None:
            self.size = None
            return
        first = raw.peek(PACKING_BYTES)[:PACKING_BYTES]  # type: ignore[attr-defined]
        self.packing = packing_of(first)
        self.size = None if self.packing else size
        self._file = unpacked(raw, self.packing)
        head = bytearray(HEAD_BYTES)
        self.head = bytes(head[: self._fill(memoryview(head))])
        self._left = memoryview(self.head)

    def __str__(self) -> str:
        return str(self.path)

    def plain_path(self) -> Path:
        """Return the path of a file that is to be memory-mapped, or say that it must be unpacked first."""
        if self.packing is not None or self.size is None:
            what = f"packed by {self.packing}" if self.packing else "not a plain file"
            raise FormatError(f"{self}: {what}; a matrix that is mapped into memory must be unpacked first")
        return self.path

    def read_into(self, buffer: memoryview) -> int:
        """Fill a buffer with the next bytes; return how many there were, fewer only at the end."""
        n = min(len(buffer), len(self._left))
        buffer[:n] = self._left[:n]
        self._left = self._left[n:]
        return n + self._fill(buffer[n:])

    def _fill(self, buffer: memoryview) -> int:
        """Fill a buffer from the file; one call of `readinto` may give less."""
        done = 0
        try:
            while done < len(buffer) and (n := self._file.readinto(buffer[done:])):  # type: ignore[attr-defined]
                done += n
        except Exception as error:
            if is_broken(error):
                raise FormatError(f"{self}: broken or cut short: {self.packing} says {error}") from None
            raise
        return done


@contextmanager
def open_source(path: str | Path) -> Iterator[Source]:
    """Open a file or folder for reading.

    Raises
    ------
    FileNotFoundError
        If there is none.
    FormatError
        If it is packed and the packing is broken.
    """
    path = Path(path)
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        yield Source(path, None, None)
        return
    with path.open("rb") as raw:
        yield Source(path, raw, status.st_size if stat.S_ISREG(status.st_mode) else None)


def part_of(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder; FormatError where there is none."""
    path = folder / name
    if not path.is_file():
        state = "a folder, not a file" if path.is_dir() else "missing"
        raise FormatError(f"{folder}: the folder is incomplete: {name} is {state}")
    return path


class Window:
    """A window that slides over the bytes of a source.

    Attributes
    ----------
    data : bytearray
        The bytes; `data[start:stop]` are unread, and there is room for one more after them.
    array : ndarray of uint8
        The same bytes.
    offset : int
        Where `data[0]` lies in the content of the source.
    is_last : bool
        The source has ended: no byte comes after these.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.start = self.stop = self.offset = 0
        self.is_last = False
        # A small file takes a small window: 8 MB of zeros would take longer than to read it.
        self._allot(WINDOW_BYTES if source.size is None else min(WINDOW_BYTES, max(4096, source.size + 1)))
        self.slide(0)

    def _allot(self, size: int) -> None:
        self.data = bytearray(size + 1)
        self.array = np.frombuffer(self.data, np.uint8)

    def slide(self, start: int) -> bool:
        """Drop the bytes before `start` and read on; say whether there was anything more to read."""
        if self.is_last:
            self.start = start
            return False
        rest = bytes(memoryview(self.data)[start : self.stop])
        if len(rest) >= len(self.data) - 1:
            if len(rest) >= LONGEST_ROW:
                where = f"{self.source}: byte {self.offset + start}"
                raise FormatError(f"{where}: a row of more than {len(rest):,} bytes; these are not vectors")
            self._allot(2 * len(rest))
        self.offset += start
        self.data[: len(rest)] = rest
        room = memoryview(self.data)[len(rest) : len(self.data) - 1]
        n = self.source.read_into(room)
        self.start, self.stop, self.is_last = 0, len(rest) + n, n < len(room)
        return True
