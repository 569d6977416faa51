r"""Files of words and their counts: ours, lists of words, and counts as other tools write them.

Ours has a line a word, `word<TAB>count`, in row order, UTF-8. Any token survives: backslash, tab, newline and
carriage return are written as `\\`, `\t`, `\n`, `\r`, and a lone surrogate, which UTF-8 cannot hold, as
`\uDC80`; so is a byte-order mark.
"""

from __future__ import annotations

import logging
from codecs import BOM_UTF8
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.files.atomic import new_file
from w2v.files.escapes import escape, unescape, words_for_fields
from w2v.vectors.vocab import Vocab
from w2v.vectors.word_vectors import Model, WordVectors

_LOG = logging.getLogger(__name__)
_TAB, _NEWLINE = 9, 10


def write_vocab(vocab: Vocab, path: str | Path) -> None:
    """Write a vocabulary file: whole, or not at all."""
    with new_file(path) as file:
        file.write(dump_vocab(vocab))


def read_vocab(path: str | Path) -> Vocab:
    """Read a vocabulary file.

    Raises
    ------
    FormatError
        With file and line, where a line is not `word<TAB>count`, a count is no whole number of at most 64
        bits, a word stands twice or holds a carriage return, or the text is not UTF-8.
    """
    text = _read_text(path)
    _check_lines(text.encode(), path)
    fields = text.replace("\n", "\t").split("\t")
    words = fields[:-1:2]
    if "\\" in text:
        words = [unescape(word, f"{path}:{line}") for line, word in enumerate(words, 1)]
    return _distinct(Vocab(words, _counts(fields[1::2], path)), path)


def read_word_list(path: str | Path) -> Vocab:
    """Read words that someone has chosen, in one of three forms, which the content tells.

    They are our vocabulary file (a tab in its first line), lines `word count`, or one word a line (the counts
    are 0). Blank lines are passed over.

    Raises
    ------
    FormatError
        As `read_vocab`; or if there are no words.
    """
    lines = read_lines(path)
    if lines and "\t" in lines[0]:
        return read_vocab(path)
    rows = [(number, line.strip(" ").split(" ")) for number, line in enumerate(lines, 1) if line.strip(" ")]
    if not rows:
        raise FormatError(f"{path}: no words in this file")
    n_fields = len(rows[0][1])
    for number, row in rows:
        if len(row) != n_fields or n_fields > 2 or not (n_fields == 1 or is_count(row[1])):
            raise FormatError(
                f"{path}:{number}: expected word, tab, count (or in every line a word and a count, or a word "
                f"alone); got {lines[number - 1][:60]!r}"
            )
    counts = [int(row[1]) if n_fields == 2 else 0 for _, row in rows]
    return _distinct(Vocab([row[0] for _, row in rows], np.array(counts, np.int64)), path)


def read_words(path: Path) -> tuple[list[str], NDArray[np.int64] | None]:
    """Read the words of rows: our vocabulary file if the first line has a tab, else one word a line."""
    lines = read_lines(path)
    if lines and "\t" in lines[0]:
        vocab = read_vocab(path)
        return list(vocab.words), vocab.counts
    return lines, None


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a text.

    Raises
    ------
    FormatError
        With file and line, where a carriage return stands within a line, or the text is not UTF-8.
    """
    return _read_text(path).split("\n")[:-1]


def _read_text(path: str | Path) -> str:
    """Read UTF-8 without a byte-order mark, of which each line ends with a newline alone."""
    data = Path(path).read_bytes().removeprefix(BOM_UTF8).replace(b"\r\n", b"\n").removesuffix(b"\r")
    if data and not data.endswith(b"\n"):
        data += b"\n"
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{path}:{line}: not UTF-8 at byte {error.start} of the file") from None
    if "\r" in text:
        line = text.count("\n", 0, text.index("\r")) + 1
        raise FormatError(f"{path}:{line}: a carriage return stands within the line")
    return text


def dump_vocab(vocab: Vocab) -> bytes:
    """Return the bytes of the vocabulary file."""
    pairs = zip(vocab.words, vocab.counts.tolist(), strict=True)
    return "".join(f"{escape(word)}\t{count}\n" for word, count in pairs).encode()


def _check_lines(data: bytes, path: str | Path) -> None:
    """Make sure that tabs and newlines alternate, so that every line has one tab."""
    codes = np.frombuffer(data, np.uint8)
    separators = codes[(codes == _TAB) | (codes == _NEWLINE)]
    if len(separators) % 2 == 0 and (separators[::2] == _TAB).all() and (separators[1::2] == _NEWLINE).all():
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.count(b"\t") != 1:
            raise FormatError(
                f"{path}:{number}: expected word, tab, count; got {line[:60].decode(errors='replace')!r}"
            )


def _counts(fields: list[str], path: str | Path) -> NDArray[np.int64]:
    if all(fields) and _is_digits("".join(fields)):
        try:
            return np.array(list(map(int, fields)), np.int64)
        except (OverflowError, ValueError):  # more than 64 bits, or more digits than Python reads
            pass
    line, text = next((line, text) for line, text in enumerate(fields, 1) if not is_count(text))
    raise FormatError(f"{path}:{line}: expected a count (a whole number of 64 bits), got {text[:40]!r}")


def _is_digits(text: str) -> bool:
    return not text or (text.isascii() and text.isdigit())


def is_count(text: str) -> bool:
    """Say whether a text is a whole number of at most 64 bits, without a sign."""
    return bool(text) and _is_digits(text) and len(text) <= 19 and int(text) < 2**63


def _distinct(vocab: Vocab, path: str | Path) -> Vocab:
    # Different hashes mean different words; to sort them takes a third of the time that a set of words takes.
    hashes = np.sort(np.fromiter(map(hash, vocab.words), np.int64, len(vocab)))
    if not (hashes[1:] == hashes[:-1]).any():
        return vocab
    first_line: dict[str, int] = {}
    for line, word in enumerate(vocab.words, 1):
        if first_line.setdefault(word, line) != line:
            raise FormatError(f"{path}:{line}: the word {word!r} stands already in line {first_line[word]}")
    return vocab


def with_counts(model: Model, path: str | Path) -> Model:
    """Return a model with the counts of a file; the words that the file lacks get 0, and are logged.

    Parameters
    ----------
    model : WordVectors
    path : path-like
        Lines of a word, a blank or a tab, and a count.

    Raises
    ------
    FormatError
        If a line is something else, or no word of the model is there.
    """
    counts = _read_counts(Path(path))
    found = [counts.get(word) for word in model.words]
    n_missing = found.count(None)
    if n_missing == len(model) > 0:
        raise FormatError(f"{path}: holds none of the {len(model)} words of the model")
    if n_missing:
        _LOG.warning("%s: lacks %d of the %d words; their count is 0", path, n_missing, len(model))
    known = np.array([count or 0 for count in found], np.int64)
    return replace(model, vocab=Vocab(model.words, known))


def write_counts(model: WordVectors, path: str | Path) -> None:
    """Write lines `word count`: whole, or not at all. Words that hold blanks are refused."""
    words = words_for_fields(model.words, "a file of counts")
    lines = (f"{word} {count}\n" for word, count in zip(words, model.counts.tolist(), strict=True))
    with new_file(path) as file:
        file.write("".join(lines).encode())


def _read_counts(path: Path) -> dict[str, int]:
    counts = {}
    for number, line in enumerate(read_lines(path), 1):
        word, _, count = line.replace("\t", " ").rstrip(" ").rpartition(" ")
        if not (word and is_count(count)):
            raise FormatError(f"{path}:{number}: expected a word and a count, got {line[:60]!r}")
        counts[word] = int(count)
    return counts
