"""Test sets of analogies and word pairs: those inside the gensim package, and files in the usual formats."""

from __future__ import annotations

import importlib.util
import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from w2v.errors import FormatError

_LOG = logging.getLogger(__name__)

ANALOGY_SETS = {"questions-words": "questions-words.txt"}
PAIR_SETS = {"wordsim353": "wordsim353.tsv", "simlex999": "simlex999.txt"}

Question = tuple[str, str, str, str]


@dataclass(frozen=True)
class AnalogySet:
    """Questions "a is to b as c is to d", in named sections.

    Attributes
    ----------
    name : str
    sections : tuple of (str, tuple of questions)
    """

    name: str
    sections: tuple[tuple[str, tuple[Question, ...]], ...]


@dataclass(frozen=True)
class PairSet:
    """Pairs of words with human scores.

    Attributes
    ----------
    name : str
    pairs : tuple of (str, str, float)
    """

    name: str
    pairs: tuple[tuple[str, str, float], ...]


def read_analogies(source: str | Path) -> AnalogySet:
    """Read a set of analogies.

    Parameters
    ----------
    source : str or path-like
        "questions-words" (Mikolov et al. 2013), or a file with four words per line and section lines
        `: name`. Other lines are left out and logged.

    Raises
    ------
    FormatError
        If there is no question in it, or it is not UTF-8.
    """
    path, name = _resolve(source, ANALOGY_SETS)
    sections: list[tuple[str, list[Question]]] = []
    odd = []
    for number, line in _lines(path):
        words = line.split()
        if line.startswith(":"):
            sections.append((line[1:].strip(), []))
        elif len(words) == 4:
            if not sections:
                sections.append(("", []))
            sections[-1][1].append((words[0], words[1], words[2], words[3]))
        elif words and not line.startswith("#"):
            odd.append(number)
    _report_odd(path, odd, "four words or ': section'")
    if not any(questions for _, questions in sections):
        raise FormatError(f"{path}: no analogy in it; expected lines of four words")
    return AnalogySet(name, tuple((title, tuple(questions)) for title, questions in sections))


def read_pairs(source: str | Path) -> PairSet:
    """Read a set of word pairs.

    Parameters
    ----------
    source : str or path-like
        "wordsim353" (Finkelstein et al. 2002), "simlex999" (Hill et al. 2015), or a file with lines of word,
        word and score, separated by tabs, else commas, else spaces; white space around the fields is ignored.
        Lines that begin with # are comments. A first line without a number is taken as a header; other lines
        are left out and logged.

    Raises
    ------
    FormatError
        If there is no pair in it, or it is not UTF-8.
    """
    path, name = _resolve(source, PAIR_SETS)
    pairs = []
    odd = []
    for number, line in _lines(path):
        if not line or line.startswith("#"):
            continue
        pair = _pair(line)
        if pair is not None:
            pairs.append(pair)
        elif number > 1:
            odd.append(number)
    _report_odd(path, odd, "word, word, score")
    if not pairs:
        raise FormatError(f"{path}: no pair in it; expected lines of word, word, score")
    return PairSet(name, tuple(pairs))


def _pair(line: str) -> tuple[str, str, float] | None:
    separator = "\t" if "\t" in line else "," if line.count(",") == 2 else None
    fields = [field.strip() for field in line.split(separator)]
    try:
        first, second, score = fields[0], fields[1], float(fields[2])
    except (IndexError, ValueError):
        return None
    return (first, second, score) if first and second and math.isfinite(score) and len(fields) == 3 else None


def _resolve(source: str | Path, known: dict[str, str]) -> tuple[Path, str]:
    """Return the file of a set and its name; an existing file with that name is preferred."""
    path = Path(source)
    if path.exists() or str(source) not in known:
        return path, path.stem
    package = importlib.util.find_spec("gensim")  # found without importing gensim, which takes a second
    if package is None or package.origin is None:
        raise FileNotFoundError(2, "the sets are part of gensim, which is not installed", str(source))
    return Path(package.origin).parent / "test" / "test_data" / known[str(source)], str(source)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 at byte {error.start} of the file") from None
    for number, line in enumerate(text.split("\n"), 1):
        yield number, line.strip()


def _report_odd(path: Path, odd: list[int], expected: str) -> None:
    if odd:
        _LOG.warning(
            "%s: left out %d lines that are not %s, the first is line %d", path, len(odd), expected, odd[0]
        )
