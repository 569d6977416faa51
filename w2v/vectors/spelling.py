"""The words of a vocabulary that are spelt most like a given one, by edit distance, in any script."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Sequence

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

_FIRST_IDEOGRAPHIC = "\u2e80"
_LONGEST_PIECE = 20


def nearest_spellings(word: str, words: Sequence[str], index: Container[str], n: int) -> list[str]:
    """Return up to n words that differ from `word` by a few letters, best first.

    A letter added, dropped or changed, or two neighbours swapped, counts as one (optimal string alignment);
    up to a third of the letters may differ, but at least one. Other letter cases and other Unicode forms of
    the word come first, ties in row order, so that frequent words come before rare ones. Where none is like
    it, the longest pieces of it that are words are given: a text may not have been cut into words.

    Parameters
    ----------
    word : str
    words : sequence of str, length V
        1 M words take some 0.5 s.
    index : container of str
        The same words, for quick look-up.
    n : int
    """
    forms = [unicodedata.normalize(form, word) for form in ("NFC", "NFKC", "NFD")]
    forms += [variant for form in forms for variant in (form.lower(), form.title(), form.upper())]
    found = list(dict.fromkeys(form for form in forms if form in index))
    most = max(1, len(word) // 3)
    lowered = [other.lower() for other in words]
    near = extract(
        word.lower(), lowered, scorer=OSA.distance, score_cutoff=most, limit=n + len(found)
    )  # ties in row order
    found = list(dict.fromkeys(found + [words[row] for _, _, row in near]))
    return (found or _pieces(word, index))[:n]


def _pieces(word: str, index: Container[str]) -> list[str]:
    """Return the parts of a word that are words, long ones first; two letters are a word in Chinese only."""
    shortest = 2 if any(letter >= _FIRST_IDEOGRAPHIC for letter in word) else 4
    lengths = range(min(len(word) - 1, _LONGEST_PIECE), shortest - 1, -1)
    parts = (word[start : start + length] for length in lengths for start in range(len(word) - length + 1))
    return list(dict.fromkeys(part for part in parts if part in index))
