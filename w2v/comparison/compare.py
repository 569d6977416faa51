"""gensim and w2v trained on the same text with the same settings, and compared: `compare_training`."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from w2v.comparison.loss import LossSample, draw_sample, mean_loss
from w2v.comparison.profile import (
    EvaluationSets,
    Probe,
    Profile,
    Score,
    make_profile,
    measure_scores,
    neighbor_overlap,
    procrustes_residual,
    similarity_correlation,
)
from w2v.comparison.spread import FEWEST_SEEDS, Measure
from w2v.comparison.text import SharedText, write_text
from w2v.comparison.trainer_process import TRAINERS, Job, Run, run_job
from w2v.comparison.weights import VocabularyCheck, check_vocabulary, in_order, read_weights, shared_words
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, PathLike
from w2v.errors import ConfigError
from w2v.vectors.vocab import Vocab, keep_probabilities

GENSIM_ALPHA = 0.025

Say = Callable[[str], None]


@dataclass(frozen=True)
class TrainingComparison:
    """What came of training with both.

    Attributes
    ----------
    text : SharedText
    settings : mapping
        The fields of `TrainConfig`, as w2v trained.
    gensim_alpha : float
        gensim's learning rate at the start; w2v's is among the settings.
    min_count : int
    seeds : tuple of int
    vocabulary : VocabularyCheck
    measures : tuple of Measure
        Those of quality, then the agreements.
    too_few : tuple of Score
        Test sets of which too few questions are known to say anything.
    runs : tuple of Run
        In the order in which they ran: gensim and w2v by turns.
    gensim_share : float
        Words gensim trained on, of those that subsampling leaves: about 1, unless gensim lost some.
    """

    text: SharedText
    settings: Mapping[str, Any]
    gensim_alpha: float
    min_count: int
    seeds: tuple[int, ...]
    vocabulary: VocabularyCheck
    measures: tuple[Measure, ...]
    too_few: tuple[Score, ...]
    runs: tuple[Run, ...]
    gensim_share: float

    @property
    def is_inside(self) -> bool:
        """Whether the vocabularies are the same and w2v is worse on no measure than gensim's own spread."""
        return self.vocabulary.is_same and not any(one.verdict == "worse" for one in self.measures)

    def runs_of(self, trainer: str) -> tuple[Run, ...]:
        """Return the runs of "gensim" or "w2v", in the order of the seeds."""
        return tuple(run for run in self.runs if run.trainer == trainer)


def compare_training(
    corpus: EncodedCorpus,
    *,
    min_count: int = VocabConfig.min_count,
    train: TrainConfig | None = None,
    seeds: int = FEWEST_SEEDS,
    sets: EvaluationSets | None = None,
    keep: PathLike | None = None,
    origin: object = None,
    say: Say = lambda line: None,
) -> TrainingComparison:
    """Train gensim and w2v N times each, by turns, each time in a process of its own, and compare.

    Parameters
    ----------
    corpus : EncodedCorpus
        With all of its words: encoded with a min_count of 1.
    min_count : int
        For both trainers.
    train : TrainConfig, optional
        For both; by default with one worker, because gensim's `corpus_file` lets the learning rate fall less
        the more workers there are. Where alpha is None each takes its own default.
    seeds : int
        N, at least 3. The seeds are train.seed and those that follow it.
    sets : EvaluationSets, optional
        By default those that gensim carries.
    keep : path-like, optional
        A folder for the text and all models; it must not be there yet, or be empty.
    origin : path-like or sequence of path-like, optional
        What the corpus was read from, to say whether the text that both read is the same bytes.
    say : callable, optional
        Called with a line of text when a run is done.

    Returns
    -------
    TrainingComparison

    Raises
    ------
    ConfigError
        If gensim cannot follow a setting, or a word cannot be written for it.
    CorpusError
        If there is nothing to train.
    """
    train = train or TrainConfig(workers=1)
    if seeds < FEWEST_SEEDS:
        raise ConfigError(f"seeds must be at least {FEWEST_SEEDS} to know gensim's own spread; got {seeds}")
    if train.sample == 1:
        raise ConfigError("gensim takes a sample of 1 for a count; give a lower one, or 0")
    chosen = most_frequent(corpus, min_count)
    config = train.resolved(corpus.n_tokens)
    gensim_alpha = train.alpha or max(GENSIM_ALPHA, train.min_alpha)
    sets = sets or EvaluationSets.read()
    with _folder(keep) as folder:
        text = write_text(corpus, folder / "text.txt", origin)
        work = _Work(chosen, text, config, gensim_alpha, min_count, sets, folder, keep is not None, say)
        return work.compare(range(config.seed, config.seed + seeds))


def most_frequent(corpus: EncodedCorpus, min_count: int) -> EncodedCorpus:
    """Return a corpus that holds all words with the vocabulary that `min_count` leaves."""
    n_words = int((corpus.vocab.counts >= min_count).sum())
    if n_words == 0:
        highest = int(corpus.vocab.counts.max())
        raise ConfigError(f"no word occurs {min_count} times (most frequent: {highest}); lower min_count")
    vocab = Vocab(list(corpus.vocab.words[:n_words]), corpus.vocab.counts[:n_words])
    return dataclasses.replace(corpus, vocab=vocab)


@contextmanager
def _folder(keep: PathLike | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="w2v-compare-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
        return
    folder = Path(keep)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigError(f"{folder}: the folder to keep everything in is not empty; choose another name")
    yield folder


@dataclass
class _Work:
    """What the steps of one comparison share."""

    corpus: EncodedCorpus
    text: SharedText
    config: TrainConfig
    gensim_alpha: float
    min_count: int
    sets: EvaluationSets
    folder: Path
    keeps: bool
    say: Say

    def compare(self, seeds: range) -> TrainingComparison:
        """Train by turns, look at every model as it is made, and put the measures together."""
        runs: list[Run] = []
        vocabularies: dict[str, Vocab] = {}
        profiles: dict[str, list[Profile]] = {trainer: [] for trainer in TRAINERS}
        looks = None
        for i, seed in enumerate(seeds):
            for trainer in TRAINERS if i % 2 == 0 else TRAINERS[::-1]:
                runs.append(self._train(trainer, seed))
                vocabularies.setdefault(trainer, read_weights(trainer, self._place(trainer, seed)).vocab)
            if looks is None:
                check = check_vocabulary(vocabularies["gensim"], vocabularies["w2v"])
                looks = _Looks.prepare(self.corpus, self.config, self.sets, list(vocabularies.values()))
            for trainer in TRAINERS:
                profiles[trainer].append(looks.profile(trainer, self._place(trainer, seed)))
                self._put_away(trainer, seed)
        quality, too_few = measure_scores(
            *([one.scores for one in profiles[trainer]] for trainer in TRAINERS)
        )
        return TrainingComparison(
            text=self.text,
            settings=dataclasses.asdict(self.config),
            gensim_alpha=self.gensim_alpha,
            min_count=self.min_count,
            seeds=tuple(seeds),
            vocabulary=check,
            measures=(_losses(profiles, self.config), *quality, *_agreements(profiles)),
            too_few=too_few,
            runs=tuple(runs),
            gensim_share=self._gensim_share(runs),
        )

    def _gensim_share(self, runs: Sequence[Run]) -> float:
        kept = [run.kept_words for run in runs if run.kept_words is not None]
        counts = self.corpus.vocab.counts
        expected = float(keep_probabilities(counts, self.config.sample) @ counts)
        return sum(kept) / len(kept) / (expected * cast(int, self.config.epochs))

    def _place(self, trainer: str, seed: int) -> Path:
        return self.folder / f"job-{trainer}-{seed}"

    def _put_away(self, trainer: str, seed: int) -> None:
        """Remove a model; where everything is kept, leave a model folder that every command takes."""
        place = self._place(trainer, seed)
        if self.keeps:
            read_weights(trainer, place).save(self.folder / f"{trainer}-seed-{seed}")
        shutil.rmtree(place)

    def _train(self, trainer: str, seed: int) -> Run:
        settings = dataclasses.asdict(dataclasses.replace(self.config, seed=seed))
        if trainer == "gensim":
            settings["alpha"] = self.gensim_alpha
        job = Job(str(self.text.path), settings, self.min_count)
        run = run_job(trainer, job, self._place(trainer, seed))
        self.say(f"{trainer}, seed {seed}: {run.wall_seconds:.1f} s, {run.words_per_second:,.0f} words/s")
        return run


@dataclass(frozen=True)
class _Looks:
    """How every model is looked at: the words that both trainers have, in w2v's order."""

    vocab: Vocab
    probe: Probe
    sets: EvaluationSets
    sample: LossSample

    @classmethod
    def prepare(
        cls,
        corpus: EncodedCorpus,
        config: TrainConfig,
        sets: EvaluationSets,
        vocabularies: Sequence[Vocab],
    ) -> _Looks:
        vocab = shared_words(corpus.vocab, vocabularies)
        return cls(vocab, Probe.draw(len(vocab)), sets, draw_sample(corpus, vocab, config))

    def profile(self, trainer: str, folder: Path) -> Profile:
        model = in_order(read_weights(trainer, folder), self.vocab)
        loss = mean_loss(self.sample, model.vectors, cast(Any, model.context))
        return make_profile(model, self.probe, self.sets, loss)


def _losses(profiles: Mapping[str, list[Profile]], config: TrainConfig) -> Measure:
    theirs, ours = (tuple(cast(float, one.loss) for one in profiles[trainer]) for trainer in TRAINERS)
    name = "loss a word" if config.objective.averages_contexts else "loss a pair"
    return Measure(name, theirs, ours, len(theirs), higher_is_better=False)


_AGREEMENTS: tuple[tuple[str, Callable[[Profile, Profile], float], bool], ...] = (
    ("neighbour overlap@10", neighbor_overlap, True),
    ("rank correlation of similarities", similarity_correlation, True),
    ("Procrustes residual", procrustes_residual, False),
)


def _agreements(profiles: Mapping[str, list[Profile]]) -> Iterable[Measure]:
    theirs, ours = (profiles[trainer] for trainer in TRAINERS)
    for name, agreement, higher_is_better in _AGREEMENTS:
        yield Measure(
            name,
            tuple(itertools.starmap(agreement, itertools.combinations(theirs, 2))),
            tuple(itertools.starmap(agreement, itertools.product(ours, theirs))),
            len(theirs),
            higher_is_better,
            is_agreement=True,
            own=tuple(itertools.starmap(agreement, itertools.combinations(ours, 2))),
        )
