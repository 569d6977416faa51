"""Analogies, answered together: the words that occur in questions are compared with all words once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.config import ANALOGY_METHODS
from w2v.embeddings import Embeddings
from w2v.errors import ConfigError
from w2v.evaluation.sets import AnalogySet
from w2v.vectors.scoring import Floats, row_slices, unit_rows

_TOP = 5  # gensim looks at the five nearest words that are not in the question
_KEPT = _TOP + 3
_BLOCK_BYTES = 1 << 25
_NEAR_TIE = 4e-6  # float32 cosines of up to three words, summed in any order, differ by less

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class AnalogyScore:
    """How many analogies of a section, or of a whole set, were answered correctly.

    Attributes
    ----------
    section : str
    n_questions : int
        All questions in the file.
    n_known : int
        Those whose four words are all in the vocabulary (all of them, if unknown ones count as wrong).
    n_correct : int
    """

    section: str
    n_questions: int
    n_known: int
    n_correct: int

    @property
    def accuracy(self) -> float | None:
        """Share of correct answers among the known questions; None if none is known."""
        return self.n_correct / self.n_known if self.n_known else None


@dataclass(frozen=True)
class AnalogyResult:
    """The scores of a set of analogies, for each section and in total."""

    name: str
    method: str
    sections: tuple[AnalogyScore, ...]
    total: AnalogyScore


def evaluate_analogies(
    model: Embeddings,
    questions: AnalogySet,
    *,
    method: str = "3CosAdd",
    restrict_vocab: int = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> AnalogyResult:
    """Answer a set of analogies, with the same numbers as gensim's `evaluate_word_analogies`.

    Parameters
    ----------
    model : Embeddings
    questions : AnalogySet
    method : {"3CosAdd", "3CosMul"}
        Mikolov et al. 2013, Levy & Goldberg 2014. (gensim's evaluation has only the first.)
    restrict_vocab : int
        Only the first N words are known, in questions and as answers.
    case_insensitive : bool
        Compare words in upper case; of words that differ only in case, the first is used.
    dummy4unknown : bool
        Count questions with unknown words as wrong, instead of leaving them out.

    Returns
    -------
    AnalogyResult
    """
    if method not in ANALOGY_METHODS:
        raise ConfigError(f"method must be one of {', '.join(ANALOGY_METHODS)}; got {method!r}")
    table = _Words(model, restrict_vocab, case_insensitive)
    asked = [
        (number, table.rows(question))
        for number, (_, questions_of_one) in enumerate(questions.sections)
        for question in questions_of_one
    ]
    known = [(number, rows) for number, rows in asked if rows is not None]
    section_of = np.array([number for number, _ in known], np.int64)
    rows = np.array([rows for _, rows in known], np.int64).reshape(-1, 4)
    is_right = table.canonical_or_none(_answers(table, rows, method)) == rows[:, 3]
    scores = []
    for number, (title, all_of_one) in enumerate(questions.sections):
        here = section_of == number
        n_known = len(all_of_one) if dummy4unknown else int(here.sum())
        scores.append(AnalogyScore(title, len(all_of_one), n_known, int(is_right[here].sum())))
    return AnalogyResult(questions.name, method, tuple(scores), _total(scores))


def _total(scores: Sequence[AnalogyScore]) -> AnalogyScore:
    columns = zip(*((score.n_questions, score.n_known, score.n_correct) for score in scores), strict=True)
    return AnalogyScore("all", *map(sum, columns))


class _Words:
    """The known words: the row of each, and which rows differ only in case."""

    def __init__(self, model: Embeddings, restrict_vocab: int, case_insensitive: bool) -> None:
        words = model.words[:restrict_vocab]
        self.vectors = model.vectors[:restrict_vocab]
        self.fold = str.upper if case_insensitive else str
        folded = [self.fold(word) for word in words]
        self.row_of: dict[str, int] = {}
        for row, word in enumerate(folded):
            self.row_of.setdefault(word, row)
        self.canonical = np.array([self.row_of[word] for word in folded], np.int64)

    def rows(self, words: Sequence[str]) -> list[int] | None:
        """Return the rows of the words of a question; None if one is not known."""
        rows = [self.row_of.get(self.fold(word), -1) for word in words]
        return None if -1 in rows else rows

    def canonical_or_none(self, rows: Ids) -> Ids:
        """Return the first row of the same word; -1 stays."""
        return np.where(rows < 0, -1, self.canonical[rows]) if len(self.canonical) else rows


def _answers(table: _Words, rows: Ids, method: str) -> Ids:
    """Return the row of each answer, int64, shape (Q,); -1 where there is none."""
    if not len(rows):
        return np.empty(0, np.int64)
    scores, best = _best_of_all(table.vectors, rows, method)
    is_input = (best[:, :, np.newaxis] == rows[:, np.newaxis, :3]).any(axis=2)
    is_input |= best < 0
    is_same = (table.canonical_or_none(best)[:, :, np.newaxis] == rows[:, np.newaxis, :3]).any(axis=2)
    free = ~is_input & ~is_same
    first, second = _first(free), _first(free & (np.cumsum(free, axis=1) > 1))
    every = np.arange(len(rows))
    answers = np.where(free[every, first], best[every, first], -1)
    if method == "3CosAdd":
        is_near = scores[every, first] - scores[every, second] <= _NEAR_TIE
        is_late = np.cumsum(~is_input, axis=1)[every, first] > _TOP
        unsure = is_near | is_late | ~free[every, second]
        if unsure.any():
            _decide(answers, np.flatnonzero(unsure), table, rows)
    return answers


def _decide(answers: Ids, unsure: Ids, table: _Words, rows: Ids) -> None:
    exact = _AsGensim(table)
    for question in unsure:
        answers[question] = exact.answer(rows[question, :3])


def _first(mask: NDArray[np.bool_]) -> Ids:
    """Return the first true column of each row; 0 where there is none."""
    return np.asarray(np.argmax(mask, axis=1))


def _best_of_all(vectors: Floats, rows: Ids, method: str) -> tuple[Floats, Ids]:
    """Return scores and rows of the K best answers to each question, best first, both of shape (Q, K)."""
    from w2v.evaluation.analogy_kernels import keep_best

    asked, places = np.unique(rows[:, :3], return_inverse=True)
    questions = np.ascontiguousarray(places.reshape(-1, 3), np.int64)
    asked_units = unit_rows(vectors[asked])
    scores = np.full((len(rows), _KEPT), -np.inf, np.float32)
    best = np.full((len(rows), _KEPT), -1, np.int64)
    for block in _blocks(len(vectors), len(asked)):
        similarities = asked_units @ unit_rows(vectors[block]).T
        keep_best(similarities, questions, block.start, method == "3CosMul", scores, best)
    return scores, best


def _blocks(n_rows: int, n_asked: int) -> Iterator[slice]:
    return row_slices(n_rows, max(256, _BLOCK_BYTES // (4 * n_asked)))


class _AsGensim:
    """Answer 3CosAdd questions one by one with gensim's order of operations, for near ties.

    There the answer depends on the last bit, so the same operations are done on the same types.
    """

    def __init__(self, table: _Words) -> None:
        self.table = table
        self.vectors = np.ascontiguousarray(table.vectors)
        self.norms = np.linalg.norm(self.vectors, axis=1)

    def answer(self, inputs: Ids) -> int:
        """Return the row of the answer to "inputs[0] is to inputs[1] as inputs[2] is to"; -1 for none."""
        a, b, c = inputs.tolist()
        mean = np.zeros(self.vectors.shape[1], self.vectors.dtype)
        for row, weight in ((b, np.float64(1)), (c, np.float64(1)), (a, np.float64(-1))):
            mean += weight * (self.vectors[row] / self.norms[row])
        unit = _unit(mean / np.float64(3))
        distances = -(np.dot(self.vectors, unit) / self.norms)
        best = _best(distances, _KEPT)
        best = best[~np.isin(best, inputs)][:_TOP]
        free = best[~np.isin(self.table.canonical[best], inputs)]
        chosen = free if len(free) else best[-1:]
        return int(chosen[0]) if len(chosen) else -1


def _unit(vector: NDArray[np.floating[Any]]) -> Floats:
    length = np.linalg.norm(vector.astype(np.float64))
    return np.asarray(vector * (1.0 / length) if length > 0 else vector, np.float32)


def _best(distances: Floats, n: int) -> Ids:
    """Return the n smallest, in the order in which numpy's partition leaves ties, as gensim does."""
    if n >= len(distances):
        return np.argsort(distances)[:n]
    smallest = np.argpartition(distances, n)[:n]
    return np.asarray(smallest[np.argsort(distances[smallest])])
