"""gensim and w2v by turns on the same text: training speed in pairs, and whole jobs with their quality."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from w2v.comparison.compare import GENSIM_ALPHA, most_frequent
from w2v.comparison.machine import BenchReport, Machine, SpeedPairs, WholeJobs, load
from w2v.comparison.profile import EvaluationSets, Score, measure_scores
from w2v.comparison.text import SharedText, cut_sentences, write_text
from w2v.comparison.trainer_process import TRAINERS, Job, Run, TextPart, run_job
from w2v.comparison.weights import in_order, read_weights, shared_words
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus
from w2v.errors import ConfigError
from w2v.objectives import MODELS

PARTS = ("speed", "jobs")
# Passes over the text of a speed pair: w2v would be done with one before the clock has said much.
_PASSES = {"gensim": 1, "w2v": 5}

Say = Callable[[str], None]


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
        With all of its words: encoded with a min_count of 1.
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
        If a word cannot be written for gensim, or a number is out of range.
    CorpusError
        If there is nothing to train.
    """
    _check(repeats, seeds, words, models, what)
    machine = Machine.look()
    given = train or TrainConfig()
    config = given.resolved(corpus.n_tokens)
    unresolved = replace(config, block_negatives=given.block_negatives)  # None: each model's own default
    if config.sample == 1:
        raise ConfigError("gensim takes a sample of 1 for a count; give a lower one, or 0")
    chosen = most_frequent(corpus, min_count)
    with tempfile.TemporaryDirectory(prefix="w2v-bench-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        text = write_text(corpus, folder / "text.txt")
        part = _write_part(corpus, words, folder / "part.txt")
        work = _Work(replace(unresolved, alpha=given.alpha), chosen, text, part, min_count, folder, say)
        speed = work.speed(models, repeats) if "speed" in what else ()
        jobs = tuple(work.jobs(model, seeds, sets) for model in models) if "jobs" in what else ()
    return BenchReport(
        machine=replace(machine, load_after=load()),
        settings=dataclasses.asdict(unresolved),
        alphas={model: work.alphas(model) for model in models},
        min_count=min_count,
        tokens=text.tokens,
        sentences=text.sentences,
        vocabulary=len(chosen.vocab),
        part_tokens=part.tokens,
        speed=tuple(speed),
        jobs=jobs,
    )


def _check(repeats: int, seeds: int, words: int, models: Collection[str], what: Collection[str]) -> None:
    for name, value in (("repeats", repeats), ("seeds", seeds), ("words", words)):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1; got {value}")
    for name, given, known in (("models", models, MODELS), ("what", what, PARTS)):
        if not given or not set(given) <= set(known):
            raise ConfigError(f"{name} must be of {', '.join(known)}; got {', '.join(given) or 'none'}")


def _write_part(corpus: EncodedCorpus, words: int, path: Path) -> TextPart:
    """Write the first sentences, `words` words or a few more."""
    offsets = cut_sentences(corpus.offsets)
    n_sentences = min(int(np.searchsorted(offsets, words)), len(offsets) - 1)
    offsets = offsets[: n_sentences + 1]
    part = replace(corpus, tokens=corpus.tokens[: int(offsets[-1])], offsets=offsets)
    written = write_text(part, path)
    return TextPart(str(path), written.sentences, written.tokens)


@dataclass
class _Work:
    """What the runs of one benchmark share; in `config`, None stands for each model's own default."""

    config: TrainConfig
    corpus: EncodedCorpus
    text: SharedText
    part: TextPart
    min_count: int
    folder: Path
    say: Say

    def alphas(self, model: str) -> tuple[float, float]:
        """Return gensim's and w2v's learning rate at the start."""
        ours = replace(self.config, model=model).resolved(self.text.tokens).alpha
        return self.config.alpha or max(GENSIM_ALPHA, self.config.min_alpha), cast(float, ours)

    def speed(self, models: Collection[str], repeats: int) -> list[SpeedPairs]:
        """Run pairs; all kinds come up in every round, so that a change of the machine meets them all."""
        kinds = list(itertools.product(models, sorted({1, self.config.workers})))
        runs: dict[tuple[str, str, int], list[Run]] = {}
        for turn in range(repeats):
            for model, workers in kinds:
                for trainer in TRAINERS if turn % 2 == 0 else TRAINERS[::-1]:
                    run = self._run(trainer, model, workers=workers, epochs=_PASSES[trainer], part=self.part)
                    runs.setdefault((trainer, model, workers), []).append(run)
                    self.say(f"{_title(trainer, model, workers)}: {run.words_per_second:,.0f} words/s")
        return [
            SpeedPairs(model, workers, *(tuple(runs[trainer, model, workers]) for trainer in TRAINERS))
            for model, workers in kinds
        ]

    def jobs(self, model: str, seeds: int, sets: EvaluationSets | None) -> WholeJobs:
        """Run whole jobs with a cache of compiled code of their own: empty at w2v's first, filled later."""
        runs: dict[str, list[Run]] = {trainer: [] for trainer in TRAINERS}
        scores: dict[str, list[tuple[Score, ...]]] = {trainer: [] for trainer in TRAINERS}
        sets = sets or EvaluationSets.read()
        with tempfile.TemporaryDirectory(prefix="w2v-compiled-", ignore_cleanup_errors=True) as cache:
            cold = self._run("w2v", model, numba_cache=Path(cache))
            self.say(f"{_title('w2v', model, self.config.workers)}, cold: {cold.wall_seconds:.1f} s")
            for i, seed in enumerate(range(self.config.seed, self.config.seed + seeds)):
                places = {trainer: self.folder / f"{trainer}-{model}-{seed}" for trainer in TRAINERS}
                for trainer in TRAINERS if i % 2 == 0 else TRAINERS[::-1]:
                    run = self._run(trainer, model, seed=seed, place=places[trainer], numba_cache=Path(cache))
                    runs[trainer].append(run)
                    title = _title(trainer, model, self.config.workers)
                    self.say(f"{title}, seed {seed}: {run.wall_seconds:.1f} s")
                for trainer, found in self._scores(places, sets).items():
                    scores[trainer].append(found)
        quality, _ = measure_scores(scores["gensim"], scores["w2v"])
        return WholeJobs(model, tuple(runs["gensim"]), tuple(runs["w2v"]), cold, quality)

    def _scores(self, places: Mapping[str, Path], sets: EvaluationSets) -> dict[str, tuple[Score, ...]]:
        """Evaluate the models of one seed on the words that all have, and remove them."""
        models = {trainer: read_weights(trainer, place) for trainer, place in places.items()}
        vocab = shared_words(self.corpus.vocab, [model.vocab for model in models.values()])
        scores = {trainer: sets.scores(in_order(model, vocab)) for trainer, model in models.items()}
        for place in places.values():
            shutil.rmtree(place)
        return scores

    def _run(
        self,
        trainer: str,
        model: str,
        *,
        workers: int | None = None,
        epochs: int | None = None,
        seed: int | None = None,
        part: TextPart | None = None,
        place: Path | None = None,
        numba_cache: Path | None = None,
    ) -> Run:
        alpha = self.alphas(model)[TRAINERS.index(trainer)]
        config = replace(
            self.config,
            model=model,
            alpha=alpha,
            workers=workers or self.config.workers,
            epochs=epochs or self.config.epochs,
            seed=self.config.seed if seed is None else seed,
        )
        job = Job(str(self.text.path), dataclasses.asdict(config), self.min_count, part, save=part is None)
        run = run_job(trainer, job, place or self.folder / "job", numba_cache=numba_cache)
        shutil.rmtree(self.folder / "job", ignore_errors=True)
        return run


def _title(trainer: str, model: str, workers: int) -> str:
    return f"{trainer}, {model}, {_workers(workers)}"


def _workers(n: int) -> str:
    return "1 worker" if n == 1 else f"{n} workers"
