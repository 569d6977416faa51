"""Evaluation of embeddings: analogies and word similarity, with the same numbers as gensim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from w2v.embeddings import Embeddings
from w2v.errors import ConfigError
from w2v.evaluation.analogies import AnalogyResult, AnalogyScore, evaluate_analogies
from w2v.evaluation.pairs import PairResult, evaluate_pairs
from w2v.evaluation.sets import ANALOGY_SETS, PAIR_SETS, AnalogySet, PairSet, read_analogies, read_pairs

__all__ = [
    "AnalogyResult",
    "AnalogyScore",
    "AnalogySet",
    "Evaluation",
    "PairResult",
    "PairSet",
    "evaluate",
    "evaluate_analogies",
    "evaluate_pairs",
    "read_analogies",
    "read_pairs",
]


@dataclass(frozen=True)
class Evaluation:
    """All results of one evaluation.

    Attributes
    ----------
    analogies : tuple of AnalogyResult
    pairs : tuple of PairResult
    """

    analogies: tuple[AnalogyResult, ...]
    pairs: tuple[PairResult, ...]


def evaluate(
    model: Embeddings,
    *,
    analogies: Iterable[str | Path] | None = None,
    pairs: Iterable[str | Path] | None = None,
    method: str = "3CosAdd",
    restrict_vocab: int = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
    n_bootstrap: int = 1000,
    seed: int = 1,
) -> Evaluation:
    """Evaluate embeddings on analogies and on word similarity.

    The defaults, and the numbers, are those of gensim's `evaluate_word_analogies` and `evaluate_word_pairs`.

    Parameters
    ----------
    model : Embeddings
    analogies : iterable of str or path-like, optional
        Names of sets ("questions-words") or files; see `w2v.evaluation.sets.read_analogies`.
    pairs : iterable of str or path-like, optional
        Names of sets ("wordsim353", "simlex999") or files; see `w2v.evaluation.sets.read_pairs`.
        If neither is given, all named sets are used.
    method : {"3CosAdd", "3CosMul"}
        Formula for analogies.
    restrict_vocab : int
        Only the first (most frequent) N words are known.
    case_insensitive : bool
        Compare words in upper case; of words that differ only in case, the first is used.
    dummy4unknown : bool
        Count questions with unknown words as wrong, and pairs as similarity 0, instead of leaving them out.
    n_bootstrap, seed : int
        Number of resamples for the interval of word similarity, and their seed.

    Returns
    -------
    Evaluation

    Raises
    ------
    ConfigError
        If the vocabulary knows no question of any set; the score would be undefined, not 0.
    FormatError
        If a file is not a test set.

    Examples
    --------
    >>> from w2v.evaluation import evaluate
    >>> evaluate(model, pairs=["wordsim353"]).pairs[0].spearman  # doctest: +SKIP
    """
    if restrict_vocab < 1:
        raise ConfigError(f"restrict_vocab must be at least 1; got {restrict_vocab}")
    if analogies is None and pairs is None:
        analogies, pairs = ANALOGY_SETS, PAIR_SETS
    analogy_sets = [read_analogies(source) for source in analogies or ()]
    pair_sets = [read_pairs(source) for source in pairs or ()]
    same = {
        "restrict_vocab": restrict_vocab,
        "case_insensitive": case_insensitive,
        "dummy4unknown": dummy4unknown,
    }
    found = Evaluation(
        tuple(evaluate_analogies(model, one, method=method, **same) for one in analogy_sets),  # type: ignore[arg-type]
        tuple(
            evaluate_pairs(model, one, n_bootstrap=n_bootstrap, seed=seed, **same)  # type: ignore[arg-type]
            for one in pair_sets
        ),
    )
    _refuse_unknown(model, found)
    return found


def _refuse_unknown(model: Embeddings, found: Evaluation) -> None:
    results = [(one.name, one.total.n_questions, one.total.n_known) for one in found.analogies]
    results += [(one.name, one.n_pairs, one.n_known) for one in found.pairs]
    if not any(n_known for _, _, n_known in results):
        sets = ", ".join(f"{name} ({n})" for name, n, _ in results)
        raise ConfigError(
            f"the {len(model)} words of the vocabulary answer no question of {sets}; "
            "is this the right language, or restrict_vocab too small?"
        )
