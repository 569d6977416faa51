"""Printing of commands: aligned columns, also with wide characters, and JSON."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from w2v.errors import W2VError


def shown(word: str) -> str:
    """Return a word as it may be printed: control letters, which could steer the terminal, are escaped."""
    if word.isprintable() and word:
        return word
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in word) or '""'


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian wide letters two, accents none."""
    columns = 0
    for letter in text:
        if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
            continue
        columns += 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1
    return columns


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Fill a text up to a number of columns."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if right else text + blanks


def print_table(
    rows: Iterable[Sequence[str]], *, header: Sequence[str] = (), right: Sequence[int] = (), indent: int = 0
) -> None:
    """Print rows of text in aligned columns; the columns numbered in `right` are set to the right."""
    table = [list(header)] if header else []
    table += [list(row) for row in rows]
    if not table:
        return
    widths = [max(map(width, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [
            pad(cell, columns, right=i in right)
            for i, (cell, columns) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo(" " * indent + "  ".join(cells).rstrip())


def print_json(value: Any) -> None:
    """Print one JSON document in UTF-8: lone surrogates are escaped, NaN and infinity are null."""
    text = json.dumps(_without_nan(value), ensure_ascii=False, indent=2, allow_nan=False)
    click.echo(text.encode(errors="backslashreplace"))


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return value


def plural(n: int, noun: str, many: str | None = None) -> str:
    """Return a number with its noun: 1 worker, 2 workers, 12,345 words, 2 corpora."""
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"


def duration(seconds: float) -> str:
    """Return a measured time: under 0.1 s, 2.3 s, 83 s."""
    if seconds < 0.05:
        return "under 0.1 s"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds:,.0f} s"


def rough_duration(seconds: float) -> str:
    """Return an estimated time: 1 s (the least), 83 s, 7 min, 2.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def size(n_bytes: float) -> str:
    """Return a size: 312 bytes, 12 kB, 3.4 MB, 250 MB."""
    if n_bytes < 1000:
        return plural(round(n_bytes), "byte")
    if n_bytes < 1e6:
        return f"{n_bytes / 1e3:.0f} kB"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 1e8 else f"{n_bytes / 1e6:,.0f} MB"


def one_line(error: Exception) -> str:
    """Return an error's text on one line; an error of the system with the file it is about."""
    if isinstance(error, OSError) and not isinstance(error, W2VError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror[:1].lower()}{error.strerror[1:]}"
    return " ".join(str(error).split("\n"))
