"""gensim and w2v on one text with the same settings: they take turns, each job in a process of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from w2v.comparison.text import SharedText, write_text
from w2v.comparison.trainer_process import TrainerJob, TrainerRun, run_job
from w2v.comparison.weights import read_weights
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, PathLike
from w2v.embeddings import Embeddings
from w2v.errors import ConfigError

TRAINERS = ("gensim", "w2v")
GENSIM_ALPHA = 0.025

Say = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class SideBySide:
    """What all jobs of a comparison or benchmark share.

    Attributes
    ----------
    corpus : EncodedCorpus
        All the text, with the vocabulary that `min_count` leaves.
    text : SharedText
        The same, as both read it.
    train : TrainConfig
        As given. What is None is filled in for each job: the learning rate is then the trainer's own default.
    min_count : int
    folder : Path
        Where jobs leave their results, until the next job of the same trainer.
    say : callable
        Called with a line of text when a job is done.
    numba_cache : Path, optional
        Where compiled code is kept, instead of the usual place.
    """

    corpus: EncodedCorpus
    text: SharedText
    train: TrainConfig
    min_count: int
    folder: Path
    say: Say
    numba_cache: Path | None = None

    def config(self, trainer: str, **changes: Any) -> TrainConfig:
        """Return a trainer's settings, complete."""
        config = replace(self.train, **changes).resolved(self.text.tokens)
        if trainer == "w2v":
            return config
        if config.objective.gensim is None:
            raise ConfigError(f"gensim does not have the model {config.model!r}; choose another one")
        return replace(config, alpha=self.train.alpha or max(GENSIM_ALPHA, self.train.min_alpha))

    def run(
        self, trainer: str, *, part: SharedText | None = None, note: str = "", **changes: Any
    ) -> TrainerRun:
        """Train once and save the weights; on a part of the text, only train.

        Parameters
        ----------
        trainer : {"gensim", "w2v"}
        part : SharedText, optional
            Train on this beginning of the text. Words are counted in all of it.
        note : str
            For the line that says what the job took.
        **changes
            Settings other than those of `train`.
        """
        config = self.config(trainer, **changes)
        place = self.folder / trainer
        shutil.rmtree(place, ignore_errors=True)
        job = TrainerJob(self.text, part or self.text, asdict(config), self.min_count, save=part is None)
        run = run_job(trainer, job, place, numba_cache=self.numba_cache)
        self.say(
            f"{trainer}, {config.model}, workers {config.workers}, seed {config.seed}{note}: "
            f"{run.wall_seconds:.1f} s, {run.words_per_second:,.0f} words/s"
        )
        return run

    def models(
        self, seeds: Iterable[int]
    ) -> Iterator[tuple[int, dict[str, TrainerRun], dict[str, Embeddings]]]:
        """Train both with each seed; yield the seed, and by trainer the runs, in their order, and the models.

        Models are memory-mapped files, which are gone when the next seed is asked for.
        """
        for seed, order in in_turns(seeds):
            runs = {trainer: self.run(trainer, seed=seed) for trainer in order}
            models = {trainer: read_weights(trainer, self.folder / trainer) for trainer in TRAINERS}
            yield seed, runs, models
            models.clear()  # Windows removes no file that is still mapped


@contextmanager
def side_by_side(
    corpus: EncodedCorpus,
    train: TrainConfig,
    *,
    min_count: int,
    keep: PathLike | None = None,
    origin: object = None,
    say: Say = lambda line: None,
) -> Iterator[SideBySide]:
    """Write the text that both trainers read; all files of their jobs are removed at the end.

    Parameters
    ----------
    corpus : EncodedCorpus
    train : TrainConfig
    min_count : int
        For both, whatever the corpus was encoded with.
    keep : path-like, optional
        A folder where the text stays; it must not exist yet, or be empty.
    origin : path-like or sequence of path-like, optional
        What the corpus was read from, to say whether the text that both read is the same bytes.
    say : callable, optional
        Called with a line of text when a job is done.

    Raises
    ------
    ConfigError
        If gensim cannot follow a setting, or the folder to keep is not empty.
    CorpusError
        If no word is left, or a word cannot be written for gensim.
    """
    if train.sample == 1:
        raise ConfigError("gensim takes a sample of 1 for a count; give a lower one, or 0")
    chosen = corpus.select(VocabConfig(min_count=min_count))
    if keep is not None:
        _make_empty_folder(Path(keep))
    with tempfile.TemporaryDirectory(prefix="w2v-jobs-", dir=keep, ignore_cleanup_errors=True) as folder:
        text = write_text(corpus, Path(keep or folder) / "text.txt", origin)
        yield SideBySide(chosen, text, train, min_count, Path(folder), say)


def in_turns(rounds: Iterable[T]) -> Iterator[tuple[T, tuple[str, ...]]]:
    """Yield each round with the order of the trainers: gensim first, then w2v first, and so on."""
    for i, one in enumerate(rounds):
        yield one, TRAINERS if i % 2 == 0 else TRAINERS[::-1]


def _make_empty_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ConfigError(f"{folder}: the folder to keep everything in is not empty; choose another name")
