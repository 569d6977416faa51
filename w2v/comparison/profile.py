"""What a comparison needs to know of one model, and how much two models agree. Vectors stay behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from w2v.comparison.loss import LossSample, mean_loss
from w2v.comparison.spread import Measure
from w2v.embeddings import Embeddings
from w2v.errors import ConfigError
from w2v.evaluation import AnalogySet, PairSet, evaluate_analogies, evaluate_pairs, read_analogies, read_pairs
from w2v.evaluation.inspection import rank_correlation
from w2v.evaluation.sets import ANALOGY_SETS, PAIR_SETS
from w2v.vectors.rotation import best_rotation
from w2v.vectors.scoring import unit_rows

ANALOGY_WORDS = 30_000
N_NEIGHBORS = 10
_CANDIDATES = 30_000
_FREQUENT = 10_000
_QUERIES = 1_000
_QUERIES_AT_ONCE = 250
_WORD_PAIRS = 100_000
_FEWEST_KNOWN = 30
_FEWEST_WORDS = N_NEIGHBORS + 2

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Score:
    """A model's result on one test set.

    Attributes
    ----------
    name : str
    kind : {"analogies", "similarity"}
        The value is the accuracy of 3CosAdd, or Spearman's correlation.
    value : float or None
    n_known, n : int
        Questions whose words are all known, and all questions.
    """

    name: str
    kind: str
    value: float | None
    n_known: int
    n: int

    @property
    def title(self) -> str:
        """The name, and among how many words answers are sought."""
        return f"{self.name}, top {ANALOGY_WORDS:,}" if self.kind == "analogies" else self.name

    @property
    def is_telling(self) -> bool:
        """Whether enough questions are known to say anything."""
        return self.value is not None and self.n_known >= _FEWEST_KNOWN


@dataclass(frozen=True)
class EvaluationSets:
    """Sets of analogies and of word pairs."""

    analogies: tuple[AnalogySet, ...]
    pairs: tuple[PairSet, ...]

    @classmethod
    def read(
        cls, analogies: Iterable[str | Path] | None = None, pairs: Iterable[str | Path] | None = None
    ) -> EvaluationSets:
        """Read the sets named; when none is, all that gensim carries."""
        analogies, pairs = tuple(analogies or ()), tuple(pairs or ())
        if not analogies and not pairs:
            analogies, pairs = tuple(ANALOGY_SETS), tuple(PAIR_SETS)
        return cls(tuple(map(read_analogies, analogies)), tuple(map(read_pairs, pairs)))

    def scores(self, model: Embeddings) -> tuple[Score, ...]:
        """Answer all sets; analogies among the first 30,000 words."""
        scores = []
        for analogies in self.analogies:
            total = evaluate_analogies(model, analogies, restrict_vocab=ANALOGY_WORDS).total
            scores.append(
                Score(analogies.name, "analogies", total.accuracy, total.n_known, total.n_questions)
            )
        for pairs in self.pairs:
            found = evaluate_pairs(model, pairs, n_bootstrap=0)
            scores.append(Score(pairs.name, "similarity", found.spearman, found.n_known, found.n_pairs))
        return tuple(scores)


def measure_scores(
    gensim: Sequence[tuple[Score, ...]], w2v: Sequence[tuple[Score, ...]]
) -> tuple[tuple[Measure, ...], tuple[Score, ...]]:
    """Turn the scores of runs, one tuple a seed, into measures; apart, the sets that tell nothing."""
    measures, too_few = [], []
    for i, score in enumerate(gensim[0]):
        theirs, ours = ([run[i] for run in runs] for runs in (gensim, w2v))
        if not all(one.is_telling for one in (*theirs, *ours)):
            too_few.append(score)
            continue
        a, b = (tuple(cast(float, one.value) for one in scores) for scores in (theirs, ours))
        measures.append(Measure(score.title, a, b, len(a), known=(score.n_known, score.n)))
    return tuple(measures), tuple(too_few)


@dataclass(frozen=True, eq=False)
class Probe:
    """Which words are looked at; the same ones in every model.

    Attributes
    ----------
    queries : ndarray of int64, shape (Q,)
        Up to 1,000 of the 10,000 most frequent words, whose neighbours are sought among the first 30,000.
    first, second : ndarray of int64, shape (P,)
        100,000 random pairs of the 10,000 most frequent words.
    """

    queries: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def draw(cls, n_words: int) -> Probe:
        """Draw the words, always the same ones for a vocabulary of that size.

        Raises
        ------
        ConfigError
            If there are too few words to have neighbours.
        """
        if n_words < _FEWEST_WORDS:
            raise ConfigError(f"only {n_words} words to compare; at least {_FEWEST_WORDS} are needed")
        rng = np.random.default_rng(n_words)
        n = min(n_words, _FREQUENT)
        queries = np.sort(rng.permutation(n)[:_QUERIES])
        first = rng.integers(0, n, _WORD_PAIRS)
        second = (first + rng.integers(1, n, _WORD_PAIRS)) % n  # never the same word twice
        return cls(queries, first, second)


@dataclass(frozen=True, eq=False)
class Profile:
    """What is kept of a model.

    Attributes
    ----------
    scores : tuple of Score
    neighbors : ndarray of int64, shape (Q, 10)
        The nearest words of the probe's queries by cosine.
    similarities : ndarray of float32, shape (P,)
        Cosines of the probe's pairs.
    units : ndarray of float32, shape (n, D)
        The vectors of the 10,000 most frequent words, scaled to length 1.
    loss : float or None
        Mean loss a prediction; see `w2v.comparison.loss`.
    """

    scores: tuple[Score, ...]
    neighbors: NDArray[np.int64]
    similarities: Floats
    units: Floats
    loss: float | None = None


def make_profile(
    model: Embeddings, probe: Probe, sets: EvaluationSets, sample: LossSample | None = None
) -> Profile:
    """Look at a model whose rows are in the order that all models have; with a sample, also at its loss."""
    units = unit_rows(model.vectors[:_CANDIDATES])
    return Profile(
        sets.scores(model),
        _nearest(units, probe.queries),
        np.einsum("ij,ij->i", units[probe.first], units[probe.second]),
        units[:_FREQUENT].copy(),
        None if sample is None else mean_loss(sample, model.vectors, cast(Floats, model.context)),
    )


def _nearest(units: Floats, queries: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.empty((len(queries), N_NEIGHBORS), np.int64)
    for first in range(0, len(queries), _QUERIES_AT_ONCE):
        rows = queries[first : first + _QUERIES_AT_ONCE]
        scores = units[rows] @ units.T
        scores[np.arange(len(rows)), rows] = -np.inf
        found[first : first + len(rows)] = np.argpartition(-scores, N_NEIGHBORS, axis=1)[:, :N_NEIGHBORS]
    return found


def neighbor_overlap(a: Profile, b: Profile) -> float:
    """Return the share of the ten nearest words that two models have in common, 0 to 1."""
    is_shared = (a.neighbors[:, :, np.newaxis] == b.neighbors[:, np.newaxis, :]).any(axis=2)
    return float(is_shared.mean())


def similarity_correlation(a: Profile, b: Profile) -> float:
    """Return Spearman's correlation of two models' cosines over the probe's pairs."""
    return rank_correlation(a.similarities, b.similarities)


def procrustes_residual(a: Profile, b: Profile) -> float:
    """Return how far apart the frequent words stay after the best rotation of one space onto the other.

    The root of the mean squared distance of unit vectors: 0 for equal spaces, the square root of 2 for
    unrelated ones. The narrower space is filled up with zeros (Schoenemann 1966).
    """
    size = max(a.units.shape[1], b.units.shape[1])
    first, second = (
        np.pad(one.units.astype(np.float64), ((0, 0), (0, size - one.units.shape[1]))) for one in (a, b)
    )
    rotation = best_rotation([(first, second)])
    return float(np.sqrt(np.square(first @ rotation - second).sum(axis=1).mean()))
