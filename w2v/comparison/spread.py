"""When two trainers differ by more than one of them differs from itself: means, spread and a rule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
FEWEST_SEEDS = 3  # two runs of gensim have one agreement between them, and one number has no spread


@dataclass(frozen=True)
class Measure:
    """One measure of N runs of gensim and N of w2v, or of pairs of runs.

    Attributes
    ----------
    name : str
    gensim : tuple of float
        One number a run of gensim; for an agreement, one a pair of runs of gensim.
    w2v : tuple of float
        One a run of w2v; for an agreement, one a pair of a w2v and a gensim run.
    n_seeds : int
        N.
    higher_is_better : bool
    is_agreement : bool
        Whether it is of pairs of runs.
    own : tuple of float
        For an agreement: one number a pair of runs of w2v. For information only.
    known : (int, int), optional
        Of a test set: questions known, and all questions.
    """

    name: str
    gensim: tuple[float, ...]
    w2v: tuple[float, ...]
    n_seeds: int
    higher_is_better: bool = True
    is_agreement: bool = False
    own: tuple[float, ...] = ()
    known: tuple[int, int] | None = None

    @property
    def difference(self) -> float:
        """w2v's mean less gensim's."""
        return mean(self.w2v) - mean(self.gensim)

    @property
    def margin(self) -> float:
        """How far from gensim's mean the mean of N further gensim runs would fall 95 times of 100.

        t * s * sqrt(2 / N), with gensim's own standard deviation s and Student's t of N - 1 degrees of
        freedom. For an agreement s is that of the pairs of gensim runs; they share runs, and for N >= 3 the
        margin is then a little too wide, never too narrow (each pair's value is taken as the sum of an effect
        of either run and of one of the pair).
        """
        from scipy.stats import t

        quantile = float(t.ppf(0.5 + LEVEL / 2, self.n_seeds - 1))
        return quantile * deviation(self.gensim) * math.sqrt(2 / self.n_seeds)

    @property
    def verdict(self) -> str:
        """Return "inside" gensim's own spread, or where outside of it: "better" or "worse"."""
        if abs(self.difference) <= self.margin + 1e-12:
            return "inside"
        return "better" if (self.difference > 0) == self.higher_is_better else "worse"


def mean(values: tuple[float, ...]) -> float:
    """Return the mean."""
    return float(np.mean(values))


def deviation(values: tuple[float, ...]) -> float:
    """Return the standard deviation of a sample (n - 1)."""
    return float(np.std(values, ddof=1))
