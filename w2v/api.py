"""The Python API of training: `w2v.train`. The command line calls the same functions."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from w2v.config import CorpusConfig, PhraseConfig, TrainConfig, VocabConfig
from w2v.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from w2v.config import Settings
    from w2v.corpus import EncodedCorpus, PathLike, Source
    from w2v.embeddings import Embeddings
    from w2v.training.checkpoint import Checkpoints
    from w2v.training.cost import Estimate
    from w2v.training.model import EpochCallback
    from w2v.training.start import Frozen, Start, Vectors
    from w2v.training.trainer import ProgressCallback, ReportCallback
    from w2v.vectors.training_report import EpochReport
    from w2v.vectors.vocab import Vocab

_log = logging.getLogger(__name__)


def train(
    corpus: Source,
    *,
    vocab: Vocab | None = None,
    cache_dir: PathLike | None = None,
    cache: bool = True,
    progress: bool | None = None,
    on_progress: ProgressCallback | None = None,
    on_report: ReportCallback | None = None,
    on_epoch: EpochCallback | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: float = 5.0,
    resume: bool | None = None,
    init: Vectors | None = None,
    init_context: Vectors | None = None,
    freeze: Frozen | None = None,
    freeze_top: int = 0,
    weights: Iterable[float] | None = None,
    **settings: Unpack[Settings],
) -> Embeddings:
    """Train word vectors.

    Each epoch is logged at level INFO by the logger `w2v`.

    Parameters
    ----------
    corpus : path-like, sequence of path-like, or iterable of sequences of str
        Text files or folders, one sentence a line; or sentences, each a list of tokens (a generator is read
        once). See `w2v.corpus.encode`.
    vocab : Vocab, optional
        Words to train, in this order, instead of the most frequent ones.
    cache_dir, cache
        Where encoded files are kept for the next run, and whether; see `w2v.corpus.encode`.
    progress : bool, optional
        Whether bars for reading and training are drawn; by default where a person watches: on a terminal, or
        in a notebook.
    on_progress : callable, optional
        Called about ten times a second with a `TrainingProgress`: `tokens` and `total_tokens` of all epochs,
        `alpha`, `loss`.
    on_report : callable, optional
        Called after each epoch with an `EpochReport`: `epoch`, `loss`, `alpha`, `words_per_second`, and
        `seconds`.
    on_epoch : callable, optional
        Called after each epoch with an `EpochReport` and the model so far, an `Embeddings` of its own (both
        matrices are copied), to save or evaluate it. If it returns something true, training ends there.
    checkpoint : path-like, optional
        A folder that keeps the unfinished run, so that it can go on after the process has died; deleted when
        training ends. Written every `checkpoint_every` minutes of training, and on Ctrl-C.
    checkpoint_every : float
        Minutes.
    resume : bool, optional
        What to do with a checkpoint that is there. True: go on (from the beginning, if there is none);
        False: begin again; None: raise an error. With one worker, a run that goes on ends in the same bytes
        as one that was never stopped; with several, in a model of the same quality.
    init : path-like or Embeddings, optional
        Words that these vectors have begin there, also in the context matrix, if they have one.
    init_context : path-like or Embeddings, optional
        Where the context matrix begins instead.
    freeze : "init", path-like, or iterable of str, optional
        Words whose vectors stay as they are, to the bit: those that `init` has, those in a file (one a line),
        or those given.
    freeze_top : int
        Keep the vectors of the N most frequent words as they are, too.
    weights : iterable of float, optional
        One a sentence, of sentences given as lists: weight 2 counts as if the sentence stood there twice, a
        fraction is drawn by chance, once for all epochs; see `w2v.corpus.encode`.
    **settings
        Fields of `w2v.config`: `TrainConfig` (`model`, `vector_size`, `window`, `epochs`, `workers`, ...),
        `VocabConfig` (`min_count`, `max_vocab`), `CorpusConfig` (`lowercase`, `tokenizer`, ...) and
        `PhraseConfig` (`phrases`, ...).

    Returns
    -------
    Embeddings
        With `words`, `vectors`, `counts`, `neighbors(...)`, `save(path)`, and `training` (`seconds`,
        `tokens`, `words_per_second`, `loss`).

    Raises
    ------
    ConfigError
        If a setting is unknown or out of range.
    CorpusError
        If the corpus cannot be read or leaves nothing to train.
    TrainingError
        If training diverges.
    TrainingStoppedError
        On Ctrl-C while training: a KeyboardInterrupt whose `model` is what was trained so far.

    Examples
    --------
    >>> import w2v
    >>> sentences = [["we", "eat", "rice"], ["we", "eat", "bread"]] * 50
    >>> model = w2v.train(sentences, vector_size=10, min_count=1, sample=0, workers=1)
    >>> model.words[:2]
    ['we', 'eat']
    """
    corpus_config, phrases, vocab_config, train_config = split_settings(settings)
    if vocab is not None and vocab_config != VocabConfig():
        raise ConfigError("a given vocab says which words to take; leave out min_count and max_vocab")
    words = vocab_config if vocab is None else vocab
    reading = Reading(corpus, corpus_config, words, phrases, cache_dir, cache, progress, weights=weights)
    from w2v.training.checkpoint import Checkpoints
    from w2v.training.start import Start

    checkpoints = None
    if checkpoint is not None:
        checkpoints = Checkpoints(Path(checkpoint), every=checkpoint_every, resume=resume)
    model = train_on(
        reading,
        train_config,
        start=Start(init, init_context, freeze, freeze_top),
        checkpoints=checkpoints,
        on_progress=on_progress,
        on_report=on_report,
        on_epoch=on_epoch,
    )
    if checkpoints is not None:
        checkpoints.remove()
    return model


class Reading(NamedTuple):
    """A corpus that is to be read, and how; the fields are the arguments of `w2v.corpus.encode`.

    `bar` says whether a progress bar is drawn (None: where a person watches).
    """

    source: Source
    corpus: CorpusConfig
    vocab: VocabConfig | Vocab
    phrases: PhraseConfig | None = None
    cache_dir: PathLike | None = None
    cache: bool = True
    bar: bool | None = None
    workers: int | None = None
    weights: Iterable[float] | None = None

    def read(self) -> EncodedCorpus:
        """Read the corpus, or find it in the cache."""
        from w2v.corpus import encode
        from w2v.progress import ReadingBar

        with ReadingBar(self.bar) as bar:
            return encode(
                self.source,
                corpus=self.corpus,
                vocab=self.vocab,
                phrases=self.phrases,
                workers=self.workers,
                cache_dir=self.cache_dir,
                cache=self.cache,
                progress=bar.update,
                weights=self.weights,
            )


StartCallback = Callable[["EncodedCorpus", TrainConfig], None]


def train_on(
    reading: Reading,
    config: TrainConfig,
    *,
    start: Start | None = None,
    checkpoints: Checkpoints | None = None,
    on_start: StartCallback | None = None,
    on_progress: ProgressCallback | None = None,
    on_report: ReportCallback | None = None,
    on_epoch: EpochCallback | None = None,
) -> Embeddings:
    """Read a corpus and train on it: all that `w2v.train` and `w2v train` do.

    Parameters
    ----------
    reading : Reading
    config : TrainConfig
    start : Start, optional
        Given vectors and frozen rows.
    checkpoints : Checkpoints, optional
        The checkpoint stays when this returns: `Checkpoints.remove` is for when the model is safe.
    on_start : callable, optional
        Called when the corpus is read, with it and the settings, of which none is None any more.
    on_progress, on_report, on_epoch : callable, optional
        As for `w2v.train`.
    """
    from w2v.corpus import EncodedCorpus
    from w2v.progress import TrainingBar
    from w2v.training.ahead import compiled_meanwhile
    from w2v.training.model import train_model

    if checkpoints is not None:
        checkpoints.check()
    is_read = isinstance(reading.source, EncodedCorpus)
    with contextlib.nullcontext() if is_read else compiled_meanwhile(config):
        corpus = reading.read()
    config = config.resolved(corpus.n_tokens)
    if on_start is not None:
        on_start(corpus, config)
    weights = start.weights(corpus.vocab, config) if start is not None else None
    with TrainingBar(reading.bar) as bar:

        def show(progress: Any) -> None:
            bar.update(progress)
            if on_progress is not None:
                on_progress(progress)

        def tell(report: EpochReport) -> None:
            bar.clear()
            _log.info(
                "epoch %d: loss %.4f, alpha %.4f, %.0f words/s",
                report.epoch,
                report.loss,
                report.alpha,
                report.words_per_second,
            )
            if on_report is not None:
                on_report(report)

        return train_model(
            corpus,
            config,
            weights=weights,
            checkpoints=checkpoints,
            on_progress=show,
            on_report=tell,
            on_epoch=on_epoch,
        )


class Plan(NamedTuple):
    """What training would take.

    Attributes
    ----------
    corpus : EncodedCorpus
    config : TrainConfig
        The settings, of which none is None any more.
    warnings : list of str
        Where settings leave little to train.
    cost : Estimate
    """

    corpus: EncodedCorpus
    config: TrainConfig
    warnings: list[str]
    cost: Estimate


def plan_training(reading: Reading, config: TrainConfig) -> Plan:
    """Read a corpus and estimate what training on it would take."""
    from w2v.training.cost import estimate
    from w2v.training.model import training_warnings

    corpus = reading.read()
    config = config.resolved(corpus.n_tokens)
    cost = estimate(corpus.vocab.counts, corpus.n_tokens, config)
    return Plan(corpus, config, training_warnings(corpus, config), cost)


def split_settings(settings: Settings) -> tuple[CorpusConfig, PhraseConfig, VocabConfig, TrainConfig]:
    """Give each setting to the config that has it."""
    left: dict[str, Any] = dict(settings)
    configs = []
    for kind in (CorpusConfig, PhraseConfig, VocabConfig, TrainConfig):
        names = [field.name for field in dataclasses.fields(kind)]
        configs.append(kind(**{name: left.pop(name) for name in names if name in left}))
    if left:
        raise ConfigError(f"unknown settings: {', '.join(sorted(left))}; see w2v.config for those there are")
    return tuple(configs)  # type: ignore[return-value]
