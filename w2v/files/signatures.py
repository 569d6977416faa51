"""What a file that w2v does not read is, by its first bytes: one table for texts and for vectors."""

from __future__ import annotations

from typing import NamedTuple


class Signature(NamedTuple):
    """The first bytes of a kind of file, its name, and what to do with it ("" where that depends)."""

    beginning: bytes
    name: str
    advice: str = ""


_REPACK = "unpack it, or pack it with gzip or zstd"
SIGNATURES = (
    Signature(
        b"version https://git-lfs.github.com/spec/", "a git-LFS pointer, not the file", "run git lfs pull"
    ),
    Signature(b"PK\x03\x04", "a zip archive", "unpack it first"),
    Signature(b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    Signature(b"Rar!\x1a\x07", "a RAR archive", "unpack it first"),
    Signature(b"\x04\x22\x4d\x18", "packed with lz4", _REPACK),
    Signature(b"\x1f\x9d", "packed with compress (.Z)", _REPACK),
    Signature(b"LZIP", "packed with lzip", _REPACK),
    Signature(b"%PDF-", "a PDF document"),
    Signature(b"\x89HDF", "an HDF5 file"),
    Signature(b"SQLite format 3\0", "an SQLite database"),
    Signature(b"PAR1", "a Parquet file"),
    Signature(b"GGUF", "a GGUF language model"),
)
_TAR_MARK = slice(257, 262)


def signature_of(head: bytes) -> Signature | None:
    """Return the signature that a file begins with; 512 bytes are enough."""
    if head[_TAR_MARK] == b"ustar":
        return Signature(b"", "a tar archive", "unpack it first")
    return next((entry for entry in SIGNATURES if head.startswith(entry.beginning)), None)
