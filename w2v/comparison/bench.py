"""The benchmark beside gensim: training speed in pairs of runs, and whole jobs with their quality."""

from __future__ import annotations

import itertools
import os
import platform
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from w2v.comparison.profile import EvaluationSets, Score, measure_scores
from w2v.comparison.side_by_side import TRAINERS, Say, SideBySide, in_turns, side_by_side
from w2v.comparison.spread import Measure
from w2v.comparison.text import SharedText, cut_sentences, write_text
from w2v.comparison.trainer_process import TrainerRun, medians
from w2v.comparison.w2v_job import first_sentences
from w2v.comparison.weights import in_order, shared_words
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus
from w2v.errors import ConfigError
from w2v.objectives import MODELS
from w2v.system.processes import usable_cores
from w2v.system.version import __version__

PARTS = ("speed", "jobs")
# Passes over the text of a speed pair: w2v would be done with one before the clock has said much.
_PASSES = {"gensim": 1, "w2v": 5}


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
    gensim, w2v : tuple of TrainerRun
        Pair i is gensim[i] and w2v[i].
    """

    model: str
    workers: int
    gensim: tuple[TrainerRun, ...]
    w2v: tuple[TrainerRun, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """w2v's raw words a second of training over gensim's, a pair."""
        return tuple(
            b.words_per_second / a.words_per_second for a, b in zip(self.gensim, self.w2v, strict=True)
        )

    @property
    def cpu_ratio(self) -> float | None:
        """The same by CPU time, which other people's work on the machine changes little: ratio of medians."""
        rates = medians("words_per_cpu_second", self.gensim, self.w2v)
        return None if rates is None else rates[1] / rates[0]


@dataclass(frozen=True)
class WholeJobs:
    """Whole jobs of one model: import, read, count, compile, train, save.

    Attributes
    ----------
    model : {"sg", "cbow"}
    gensim, w2v : tuple of TrainerRun
        One a seed; w2v's compiled code was there already.
    cold : TrainerRun
        w2v's first, with nothing compiled yet.
    quality : tuple of Measure
        One value a seed; empty where quality was not asked for.
    """

    model: str
    gensim: tuple[TrainerRun, ...]
    w2v: tuple[TrainerRun, ...]
    cold: TrainerRun
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


def bench(
    corpus: EncodedCorpus,
    *,
    train: TrainConfig | None = None,
    min_count: int = VocabConfig.min_count,
    models: Collection[str] = MODELS,
    what: Collection[str] = PARTS,
    repeats: int = 5,
    words: int = 2_000_000,
    seeds: int = 3,
    sets: EvaluationSets | None = None,
    say: Say = lambda line: None,
) -> BenchReport:
    """Measure gensim, by its fastest way (`corpus_file`), and w2v, each run in a process of its own.

    Parameters
    ----------
    corpus : EncodedCorpus
    train : TrainConfig, optional
        For both; its `model` is passed over. Speed is measured with one worker and with `workers`.
    min_count : int
    models : collection of {"sg", "cbow"}
    what : collection of {"speed", "jobs"}
        Pairs of runs on the beginning of the text, and whole jobs on all of it.
    repeats : int
        Pairs a model and number of workers.
    words : int
        Raw words of that beginning, rounded up to a whole sentence. Both count words in all of the text.
    seeds : int
        Whole jobs of each trainer.
    sets : EvaluationSets, optional
        For the quality of the jobs; with empty sets there is none.
    say : callable, optional
        Called with a line of text when a run is done.

    Raises
    ------
    ConfigError
        If a number is out of range, or gensim cannot follow a setting.
    CorpusError
        If no word is left, or a word cannot be written for gensim.
    """
    _check(repeats, seeds, words, models, what)
    machine = Machine.look()
    train = train or TrainConfig()
    with side_by_side(corpus, train, min_count=min_count, say=say) as both:
        part = _write_part(corpus, words, both.folder / "part.txt")
        speed = _speed(both, part, models, repeats) if "speed" in what else ()
        jobs = [_whole_jobs(both, model, seeds, sets) for model in models] if "jobs" in what else ()
    return BenchReport(
        machine=replace(machine, load_after=load()),
        # block_negatives stay None where each model has its own default.
        settings=asdict(replace(both.config("w2v"), block_negatives=train.block_negatives)),
        alphas={model: _alphas(both, model) for model in models},
        min_count=min_count,
        tokens=both.text.tokens,
        sentences=both.text.sentences,
        vocabulary=len(both.corpus.vocab),
        part_tokens=part.tokens,
        speed=tuple(speed),
        jobs=tuple(jobs),
    )


def _check(repeats: int, seeds: int, words: int, models: Collection[str], what: Collection[str]) -> None:
    for name, value in (("repeats", repeats), ("seeds", seeds), ("words", words)):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1; got {value}")
    for name, given, known in (("models", models, MODELS), ("what", what, PARTS)):
        if not given or not set(given) <= set(known):
            raise ConfigError(f"{name} must be of {', '.join(known)}; got {', '.join(given) or 'none'}")


def _alphas(both: SideBySide, model: str) -> tuple[float, float]:
    theirs, ours = (cast(float, both.config(trainer, model=model).alpha) for trainer in TRAINERS)
    return theirs, ours


def _write_part(corpus: EncodedCorpus, words: int, path: Path) -> SharedText:
    """Write the first sentences, `words` words or a few more."""
    offsets = cut_sentences(corpus.offsets)
    n_sentences = min(int(np.searchsorted(offsets, words)), len(offsets) - 1)
    return write_text(first_sentences(replace(corpus, offsets=offsets), n_sentences), path)


def _speed(both: SideBySide, part: SharedText, models: Collection[str], repeats: int) -> list[SpeedPairs]:
    """Run pairs; all kinds come up in every round, so that a change of the machine meets them all."""
    kinds = list(itertools.product(models, sorted({1, both.train.workers})))
    runs: dict[tuple[str, str, int], list[TrainerRun]] = {}
    for _, order in in_turns(range(repeats)):
        for (model, workers), trainer in itertools.product(kinds, order):
            run = both.run(trainer, part=part, model=model, workers=workers, epochs=_PASSES[trainer])
            runs.setdefault((trainer, model, workers), []).append(run)
    return [
        SpeedPairs(model, workers, *(tuple(runs[trainer, model, workers]) for trainer in TRAINERS))
        for model, workers in kinds
    ]


def _whole_jobs(both: SideBySide, model: str, seeds: int, sets: EvaluationSets | None) -> WholeJobs:
    """Run whole jobs with a cache of compiled code of their own: empty at w2v's first, filled later."""
    sets = sets or EvaluationSets.read()
    train = replace(both.train, model=model)
    all_runs: list[Mapping[str, TrainerRun]] = []
    scores: list[dict[str, tuple[Score, ...]]] = []
    with tempfile.TemporaryDirectory(prefix="w2v-compiled-", ignore_cleanup_errors=True) as cache:
        both = replace(both, train=train, numba_cache=Path(cache))
        cold = both.run("w2v", note=", cold")
        for _, runs, models in both.models(range(train.seed, train.seed + seeds)):
            vocab = shared_words(both.corpus.vocab, [one.vocab for one in models.values()])
            scores.append({name: sets.scores(in_order(one, vocab)) for name, one in models.items()})
            all_runs.append(runs)
    quality, _ = measure_scores(*([found[trainer] for found in scores] for trainer in TRAINERS))
    theirs, ours = (tuple(runs[trainer] for runs in all_runs) for trainer in TRAINERS)
    return WholeJobs(model, theirs, ours, cold, quality)
