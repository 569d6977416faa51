"""Compressed files (gzip, bzip2, xz, Zstandard): read by content, written by suffix."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from w2v.errors import MissingExtraError
from w2v.files.atomic import new_file

SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
HEAD_BYTES = 10
_READ_BYTES = 1 << 16
_BROKEN = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def packing_of(head: bytes) -> str | None:
    """Name the packing of a file by its first `HEAD_BYTES` bytes; None for a plain file."""
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith(b"BZh") and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    return None


def split_suffix(path: Path) -> tuple[Path, str | None]:
    """Return the path without a packing suffix, and the packing that the suffix stands for."""
    packing = SUFFIXES.get(path.suffix.lower())
    return (path.with_suffix("") if packing else path), packing


def unpacked(file: BinaryIO, packing: str | None) -> BinaryIO:
    """Return a file that reads the unpacked bytes of `file`; an error of it is told by `is_broken`.

    A packed file may consist of several members; NUL bytes behind a member are padding.
    """
    if packing is None:
        return file
    if packing == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
    return io.BufferedReader(_Members(file, _DECOMPRESSORS[packing]))


class _Members(io.RawIOBase):
    """Unpack the members of a file one after the other.

    The readers of Python's bz2 and lzma, and that of zstd, end in silence at bytes that begin no member.
    """

    def __init__(self, file: BinaryIO, new_decompressor: Callable[[], Any]) -> None:
        self._file, self._new_decompressor = file, new_decompressor
        self._member = new_decompressor()
        self._unread = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            if self._member.eof and not self._begin_member():
                return 0
            packed_data = b""
            if self._member.needs_input:
                packed_data, self._unread = self._unread or self._file.read(_READ_BYTES), b""
                if not packed_data:
                    raise EOFError("the file ends inside a packed stream")
            data = self._member.decompress(packed_data, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _begin_member(self) -> bool:
        """Pass over padding; return False at the end of the file."""
        rest = self._member.unused_data
        while not (rest := rest.lstrip(b"\0")):
            rest = self._file.read(_READ_BYTES)
            if not rest:
                return False
        self._member, self._unread = self._new_decompressor(), rest
        return True


@contextmanager
def packed(file: BinaryIO, packing: str | None) -> Iterator[BinaryIO]:
    """Yield a file that compresses into `file`, which stays open."""
    if packing is None:
        yield file
        return
    if packing == "gzip":
        # No time and no name in the header: the same vectors give the same bytes.
        writer: Any = gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0)
    elif packing == "bzip2":
        writer = bz2.BZ2File(file, "wb")
    elif packing == "xz":
        writer = lzma.LZMAFile(file, "wb", preset=3)  # noqa: SIM115 - closed below
    else:
        writer = _zstd().ZstdFile(file, "wb")
    with writer:
        yield cast(BinaryIO, writer)


@contextmanager
def new_packed_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file that takes its name when the block ends well, and is packed as its suffix says."""
    with new_file(path) as raw, packed(raw, split_suffix(Path(path))[1]) as file:
        yield file


def is_broken(error: BaseException) -> bool:
    """Say whether an error of reading means that the packed stream is damaged or cut short."""
    is_bzip2 = type(error) is OSError and error.errno is None  # "Invalid data stream"
    return isinstance(error, _BROKEN) or is_bzip2 or type(error).__name__ == "ZstdError"


def _zstd() -> Any:
    """Return Python's own module for Zstandard (3.14) or its backport."""
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(module, "zstd") from None


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
    "zstd": lambda: _zstd().ZstdDecompressor(),
}
