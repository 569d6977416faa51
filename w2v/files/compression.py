"""Compressed files (gzip, bzip2, xz, Zstandard): read by content, written by suffix."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from w2v.errors import MissingExtraError
from w2v.files.atomic import new_file

SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
HEAD_BYTES = 10
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
    """Return a file that reads the unpacked bytes of `file`; an error of it is told by `is_broken`."""
    if packing == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
    if packing == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(file, "rb"))
    if packing == "xz":
        return cast(BinaryIO, lzma.LZMAFile(file, "rb"))
    if packing == "zstd":
        return cast(BinaryIO, _zstd_file(file, "rb"))
    return file


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
        writer = _zstd_file(file, "wb")
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


def _zstd_file(file: BinaryIO, mode: str) -> Any:
    """Open a Zstandard stream with Python's own module (3.14) or its backport."""
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(module).ZstdFile(file, mode)
    except ImportError:
        raise MissingExtraError(module, "zstd") from None
