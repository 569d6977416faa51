"""The first line of word2vec files, `V D`, and how text and binary rows after it are told apart."""

from __future__ import annotations

import re
from typing import NamedTuple

from w2v.errors import FormatError
from w2v.formats.source import HEAD_BYTES, Source

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*(?:\n|$)")
_NUMBERS = re.compile(rb"[0-9eE+. \tinfatyINFATY\r-]+")
_NO_TEXT = re.compile(rb"[^\t\n\r\x20-\x7e]")


class Header(NamedTuple):
    """What the first line says, and the byte after it."""

    n_rows: int
    dimensions: int
    end: int


def find_header(source: Source) -> Header | None:
    """Return the header, or None where the file does not begin with one."""
    hit = _HEADER.match(source.head)
    return Header(int(hit[1]), int(hit[2]), hit.end()) if hit else None


def read_header(source: Source) -> Header:
    """Return the header, or raise FormatError."""
    header = find_header(source)
    if header is None:
        line = source.head[:60].split(b"\n")[0].decode(errors="replace")
        raise FormatError(f"{source}:1: expected the numbers of words and of dimensions, got {line!r}")
    return header


def is_text(source: Source, header: Header) -> bool:
    """Say whether the rows are decimal numbers, by the bytes that follow the first word.

    Numbers are text. Bytes that no text of numbers has are binary. Anything else is a broken text, or
    binary numbers that happen to look like letters; then it is binary if all rows fit.
    """
    rest = source.head[header.end :]
    numbers = rest[rest.find(b" ") + 1 :][: 4 * header.dimensions]
    line = numbers.split(b"\n")[0]
    if not rest.strip() or _NUMBERS.fullmatch(line):
        return True
    return not (_NO_TEXT.search(numbers) or _fits_binary(source.head, header))


def _fits_binary(head: bytes, header: Header) -> bool:
    """Say whether a file that is all in its head is made of V binary rows and nothing else."""
    at = header.end
    for _ in range(header.n_rows):
        space = head.find(b" ", at)
        if space < 0 or space + 4 * header.dimensions >= len(head):
            return False
        at = space + 1 + 4 * header.dimensions
    return len(head) < HEAD_BYTES and not head[at:].strip(b"\n")
