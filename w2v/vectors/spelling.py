"""The words of a vocabulary that are spelt most like a given one, by edit distance, in any script."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from w2v.system.compiling import byte_kernel

_FIRST_IDEOGRAPHIC = "\u2e80"
_LONGEST_PIECE = 20


def nearest_spellings(word: str, words: Sequence[str], index: Container[str], n: int) -> list[str]:
    """Return up to n words that differ from `word` by few letters, best first.

    A letter added, dropped or changed, or two neighbours swapped, counts as one (optimal string alignment);
    up to a third of the letters may differ, but at least one. Other letter cases and other Unicode forms of
    the word come first, ties in row order, so that frequent words come before rare ones. Where none is like
    it, the longest pieces of it that are words are given: a text may not have been cut into words.

    Parameters
    ----------
    word : str
    words : sequence of str, length V
        1 M words take some 0.2 s.
    index : container of str
        The same words, for quick look-up.
    n : int
    """
    forms = [unicodedata.normalize(form, word) for form in ("NFC", "NFKC", "NFD")]
    forms += [variant for form in forms for variant in (form.lower(), form.title(), form.upper())]
    found = list(dict.fromkeys(form for form in forms if form in index))
    most = max(1, len(word) // 3)
    distances = _distances(word, words, most)
    near = np.flatnonzero(distances <= most)
    order = near[np.argsort(distances[near], kind="stable")][: n + len(found)]
    found = list(dict.fromkeys(found + [words[row] for row in order]))
    return (found or _pieces(word, index))[:n]


def _pieces(word: str, index: Container[str]) -> list[str]:
    """Return the parts of a word that are words, long ones first; two letters are a word in Chinese only."""
    shortest = 2 if any(letter >= _FIRST_IDEOGRAPHIC for letter in word) else 4
    lengths = range(min(len(word) - 1, _LONGEST_PIECE), shortest - 1, -1)
    parts = (word[start : start + length] for length in lengths for start in range(len(word) - length + 1))
    return list(dict.fromkeys(part for part in parts if part in index))


def _distances(word: str, words: Sequence[str], most: int) -> NDArray[np.int8]:
    """Return the edit distance to each word, letter case apart; `most` + 1 stands for all that is more."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    text = "".join(words)
    lowered = text.lower()
    if len(lowered) == len(text):  # a few letters, as the dotted capital I, become two
        text = lowered
    out = np.empty(len(words), np.int8)
    _fill_distances(_letters(word.lower()), _letters(text), np.cumsum(lengths), most, out)
    return out


def _letters(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


@byte_kernel
def _fill_distances(
    word: NDArray[np.uint32],
    text: NDArray[np.uint32],
    ends: NDArray[np.int64],
    most: int,
    out: NDArray[np.int8],
) -> None:
    """Fill in the optimal string alignment distance to each piece of `text`, cut off at `most` + 1."""
    n = len(word)
    rows = np.empty((3, n + 1), np.int64)
    start = 0
    for piece in range(len(ends)):
        length = ends[piece] - start
        out[piece] = most + 1
        if abs(length - n) <= most:
            before, last, this = rows[0], rows[1], rows[2]
            for j in range(n + 1):
                last[j] = j
            for i in range(1, length + 1):
                letter = text[start + i - 1]
                this[0] = i
                least = i
                for j in range(1, n + 1):
                    cost = min(last[j - 1] + (letter != word[j - 1]), last[j] + 1, this[j - 1] + 1)
                    if i > 1 and j > 1 and letter == word[j - 2] and text[start + i - 2] == word[j - 1]:
                        cost = min(cost, before[j - 2] + 1)
                    this[j] = cost
                    least = min(least, cost)
                before, last, this = last, this, before
                # A swap reaches back two rows, so one row above the limit is not yet the end.
                if least > most + 1:
                    break
            else:
                out[piece] = min(last[n], most + 1)
        start = ends[piece]
