"""Tokens of someone else's vocabulary matched with the words of a model, and a report of how many were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2v.formats.foreign import ForeignVocabulary
from w2v.vectors.vocab import Vocab

_N_EXAMPLES = 5


@dataclass(frozen=True)
class MatchReport:
    """How many tokens of someone else's vocabulary a model knows.

    Attributes
    ----------
    n_tokens : int
        All of them but the padding and the unknown token.
    exact : int
        Are words of the model.
    folded : int
        Are words of the model in another letter case.
    unmatched : int
        Are none.
    folded_examples : tuple of (str, str)
        The first few, each with the model's word.
    unmatched_examples : tuple of str
        The first few.
    """

    n_tokens: int
    exact: int
    folded: int
    unmatched: int
    folded_examples: tuple[tuple[str, str], ...] = ()
    unmatched_examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{n:,} {name} ({100 * n / max(1, self.n_tokens):.1f} %)"
            for n, name in (
                (self.exact, "matched exactly"),
                (self.folded, "after case folding"),
                (self.unmatched, "not at all"),
            )
        ]
        shown = ", ".join(map(repr, self.unmatched_examples)) + (
            ", …" if self.unmatched > _N_EXAMPLES else ""
        )
        return f"{self.n_tokens:,} tokens: {', '.join(parts)}" + (f": {shown}" if self.unmatched else "")


def match(
    vocab: Vocab, foreign: ForeignVocabulary, *, fold_case: bool, unmatched: int
) -> tuple[NDArray[np.int64], MatchReport]:
    """Find the row of the model for each token of someone else's vocabulary.

    Parameters
    ----------
    vocab : Vocab
        Of the model.
    foreign : ForeignVocabulary
    fold_case : bool
        Whether a token that is no word of the model takes the row of the first, most frequent word that is
        equal to it after `str.casefold`.
    unmatched : int
        What to write where there is none.

    Returns
    -------
    ndarray of int64, shape (R,)
    MatchReport
        The padding and the unknown token are not in its numbers.
    """
    get = vocab.index.get
    rows = np.array([unmatched if word is None else get(word, unmatched) for word in foreign.words], np.int64)
    counted = np.ones(len(rows), np.bool_)
    for special in (foreign.padding_id, foreign.unknown_id):
        if special is not None:
            counted[special] = False
    exact = int(np.count_nonzero((rows >= 0) & counted))
    folded: list[int] = []
    if fold_case:
        open_rows = np.flatnonzero((rows < 0) & counted).tolist()
        found = _fold(vocab, foreign.words, open_rows)
        folded = list(found)
        rows[folded] = list(found.values())
    lacking = np.flatnonzero((rows < 0) & counted).tolist()
    return rows, MatchReport(
        int(counted.sum()),
        exact,
        len(folded),
        len(lacking),
        tuple((foreign.tokens[i], vocab.words[int(rows[i])]) for i in folded[:_N_EXAMPLES]),
        tuple(foreign.tokens[i] for i in lacking[:_N_EXAMPLES]),
    )


def _fold(vocab: Vocab, words: Sequence[str | None], open_rows: list[int]) -> dict[int, int]:
    """Return, for those of some tokens that have one, the first word of the model equal but for case."""
    wanted: dict[str, int | None] = {
        word.casefold(): None for i in open_rows if (word := words[i]) is not None
    }
    for row, word in enumerate(vocab.words):
        folded = word.casefold()
        if folded in wanted and wanted[folded] is None:
            wanted[folded] = row
    found = {}
    for i in open_rows:
        word = words[i]
        row_found = None if word is None else wanted[word.casefold()]
        if row_found is not None:
            found[i] = row_found
    return found
