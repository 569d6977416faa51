"""What a benchmark measured, and the machine it ran on."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from w2v.comparison.spread import Measure
from w2v.comparison.trainer_process import Run
from w2v.system.processes import usable_cores
from w2v.system.version import __version__


@dataclass(frozen=True)
class Machine:
    """Where a benchmark ran.

    Attributes
    ----------
    processor : str
    cores : int
        That this process may use.
    versions : mapping of str to str
    blas_threads : int
        Of each trainer: they have threads of their own.
    load_before, load_after : float or None
        Processes waiting to run, the mean of a minute; a busy machine shows.
    """

    processor: str
    cores: int
    versions: Mapping[str, str]
    blas_threads: int
    load_before: float | None
    load_after: float | None

    @classmethod
    def look(cls) -> Machine:
        """Look at this machine."""
        packages = {name: version(name) for name in ("gensim", "numba", "numpy", "scipy")}
        versions = {"w2v": __version__, "python": platform.python_version(), **packages}
        return cls(_processor(), usable_cores(), versions, 1, load(), None)


def load() -> float | None:
    """Return the mean load of the last minute, or None where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@dataclass(frozen=True)
class SpeedPairs:
    """Pairs of runs that differ in nothing but the trainer, one right after the other.

    Attributes
    ----------
    model : {"sg", "cbow"}
    workers : int
    gensim, w2v : tuple of Run
        Pair i is gensim[i] and w2v[i].
    """

    model: str
    workers: int
    gensim: tuple[Run, ...]
    w2v: tuple[Run, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """w2v's raw words a second of training over gensim's, a pair."""
        return tuple(
            b.words_per_second / a.words_per_second for a, b in zip(self.gensim, self.w2v, strict=True)
        )

    @property
    def cpu_ratio(self) -> float | None:
        """The same by CPU time, which other people's work on the machine changes little: ratio of medians."""
        rates = [
            [run.words_per_cpu_second for run in runs if run.words_per_cpu_second is not None]
            for runs in (self.gensim, self.w2v)
        ]
        return statistics.median(rates[1]) / statistics.median(rates[0]) if all(rates) else None


@dataclass(frozen=True)
class WholeJobs:
    """Whole jobs of one model: import, read, count, compile, train, save.

    Attributes
    ----------
    model : {"sg", "cbow"}
    gensim, w2v : tuple of Run
        One a seed; w2v's compiled code was there already.
    cold : Run
        w2v's first, with nothing compiled yet.
    quality : tuple of Measure
        One value a seed; empty where quality was not asked for.
    """

    model: str
    gensim: tuple[Run, ...]
    w2v: tuple[Run, ...]
    cold: Run
    quality: tuple[Measure, ...]


@dataclass(frozen=True)
class BenchReport:
    """All of a benchmark.

    Attributes
    ----------
    machine : Machine
    settings : mapping
        The fields of `TrainConfig`; `model`, `workers` and `alpha` differ from run to run.
    alphas : mapping of str to (float, float)
        gensim's and w2v's learning rate at the start, by model.
    min_count, tokens, sentences, vocabulary : int
        Of the text that both read.
    part_tokens : int
        Raw words of the beginning of the text on which the speed pairs train.
    speed : tuple of SpeedPairs
    jobs : tuple of WholeJobs
    """

    machine: Machine
    settings: Mapping[str, Any]
    alphas: Mapping[str, tuple[float, float]]
    min_count: int
    tokens: int
    sentences: int
    vocabulary: int
    part_tokens: int
    speed: tuple[SpeedPairs, ...]
    jobs: tuple[WholeJobs, ...]
