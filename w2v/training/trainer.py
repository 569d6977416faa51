"""A run: epochs of rounds of jobs, with reports, and a hook after each round. Arithmetic: the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.corpus.ids.encoded_corpus import EncodedCorpus
from w2v.errors import ConfigError, CorpusError, TrainingError
from w2v.training.engine import NO_TOTALS, HogwildEngine, NonFiniteLossError, Round, Totals
from w2v.training.jobs import Schedule
from w2v.training.weights import Weights
from w2v.vectors.training_report import EpochReport, TrainingReport

_LARGEST_WEIGHT = 1000.0  # of healthy vectors the largest is below 10


@dataclass(frozen=True)
class TrainingProgress:
    """Where a run stands: tokens done and to do (raw, all epochs), learning rate, mean loss a pair so far."""

    tokens: int
    total_tokens: int
    alpha: float
    loss: float


@dataclass(frozen=True)
class RunState:
    """Between two rounds: all that a run needs to go on, beside corpus, settings and weights.

    Attributes
    ----------
    epoch : int
        Of the next job; 0 is the first.
    next_job : int
        Its number in the epoch; see `w2v.training.jobs`.
    totals : Totals
        Of the epoch so far.
    seconds : float
        Wall time of the epoch so far.
    reports : tuple of EpochReport
        Of the epochs that are done.
    """

    epoch: int = 0
    next_job: int = 0
    totals: Totals = NO_TOTALS
    seconds: float = 0.0
    reports: tuple[EpochReport, ...] = ()


ProgressCallback = Callable[[TrainingProgress], None]
ReportCallback = Callable[[EpochReport], None]
RoundCallback = Callable[[RunState, Weights], "bool | None"]


class RunStoppedError(KeyboardInterrupt):
    """Ctrl-C, when all threads had ended: the run can go on from this state and these weights."""

    def __init__(self, state: RunState, weights: Weights) -> None:
        super().__init__()
        self.state = state
        self.weights = weights


@dataclass(frozen=True)
class TrainedWeights:
    """What a run leaves: w_in of shape (V, D), w_out with the rows of the objective, and the report."""

    w_in: NDArray[np.float32]
    w_out: NDArray[np.float32]
    report: TrainingReport


def train_weights(
    corpus: EncodedCorpus,
    config: TrainConfig,
    *,
    weights: Weights | None = None,
    start: RunState | None = None,
    after_round: RoundCallback | None = None,
    on_progress: ProgressCallback | None = None,
    on_report: ReportCallback | None = None,
) -> TrainedWeights:
    """Train on an encoded corpus.

    Parameters
    ----------
    corpus : EncodedCorpus
    config : TrainConfig
    weights : Weights, optional
        To begin with; trained in place, and lost afterwards. By default fresh ones.
    start : RunState, optional
        Go on from here, with the weights of then. With one worker the end is the same, to the bit, as if the
        run had not been stopped.
    after_round : callable, optional
        Called with the `RunState` and the weights after each round, when no thread is at work: the place for
        a checkpoint, or for an exchange with other machines. It may change the weights in place. If it
        returns something true, the run ends there.
    on_progress : callable, optional
        Called with a `TrainingProgress` about ten times a second, from the calling thread.
    on_report : callable, optional
        Called with an `EpochReport` after each epoch.

    Raises
    ------
    ConfigError
        If the weights are of another shape than corpus and settings want.
    CorpusError
        If in no epoch a sentence keeps two words, so that there is nothing to train.
    TrainingError
        If training diverges: weights that are not finite or absurdly large, a loss above the untrained one.
    RunStoppedError
        On Ctrl-C.
    """
    run = _TrainingRun.prepare(corpus, config.resolved(corpus.n_tokens), weights)
    state = start or RunState()
    last: tuple[RunState, Round] | None = None  # assigned in one step: Ctrl-C may come between any two
    try:
        while state.epoch < run.epochs:
            last = state, run.next_round(state)
            run.do_round(*last, on_progress)
            state = run.state_after(*last)
            if state.next_job == 0 and on_report is not None:
                on_report(state.reports[-1])
            if after_round is not None and after_round(state, run.weights):
                break
    except KeyboardInterrupt as interrupt:
        if last is not None:
            if last[1].is_running or not math.isfinite(last[1].totals.loss):  # nothing that could go on
                raise
            state = run.state_after(*last)
        raise RunStoppedError(state, run.weights) from interrupt
    return TrainedWeights(*run.weights.pack(), TrainingReport(state.reports))


@dataclass(frozen=True, eq=False)
class _TrainingRun:
    """What stays the same from round to round; the weights change in place."""

    corpus: EncodedCorpus
    config: TrainConfig
    weights: Weights
    schedule: Schedule
    engine: HogwildEngine

    @classmethod
    def prepare(cls, corpus: EncodedCorpus, config: TrainConfig, weights: Weights | None) -> _TrainingRun:
        """Make what is missing: weights, jobs, an engine."""
        n_in, size = len(corpus.vocab), config.vector_size
        n_out = config.objective.output_rows(n_in)
        weights = weights or Weights.fresh(n_in, n_out, size, config.seed)
        has = (len(weights.w_in), len(weights.w_out), weights.vector_size)
        if has != (n_in, n_out, size):
            raise ConfigError(
                f"the weights have {has[0]} input rows, {has[1]} output rows and {has[2]} dimensions, but "
                f"vocabulary and settings want {n_in}, {n_out} and {size}"
            )
        schedule = Schedule.of(corpus.offsets, config)
        engine = HogwildEngine.prepare(corpus, config, weights, schedule)
        return cls(corpus, config, weights, schedule, engine)

    @property
    def epochs(self) -> int:
        """Passes over the corpus."""
        return cast(int, self.config.epochs)

    def next_round(self, state: RunState) -> Round:
        """Return the jobs that follow a state."""
        end = min(state.next_job + self.engine.jobs_a_round, self.schedule.n_jobs)
        return self.engine.new_round(self.schedule.jobs(state.epoch, state.next_job, end), state.totals)

    def do_round(self, state: RunState, work: Round, on_progress: ProgressCallback | None) -> None:
        """Train a round."""

        def watch(totals: Totals) -> None:
            if on_progress is not None:
                on_progress(self._progress(state.epoch, totals))

        try:
            self.engine.run(work, watch)
        except NonFiniteLossError as error:
            raise TrainingError(self._not_finite(state.epoch, error.alpha)) from None

    def state_after(self, state: RunState, work: Round) -> RunState:
        """Return where the run stands after a round that began at `state`, also if that was cut short."""
        end, seconds = state.next_job + work.n_taken, state.seconds + work.seconds
        state = replace(state, next_job=end, totals=work.totals, seconds=seconds)
        return self._next_epoch(state) if end == self.schedule.n_jobs else state

    def _next_epoch(self, state: RunState) -> RunState:
        totals, seconds = state.totals, state.seconds
        pairs = totals.pairs + sum(report.pairs for report in state.reports)
        if pairs == 0 and (state.epoch + 1 == self.epochs or not _has_pairs(self.corpus)):
            raise CorpusError(_nothing_to_train(self.corpus, self.config))
        report = EpochReport(
            epoch=state.epoch + 1,
            tokens=int(totals.tokens),
            alpha=self.schedule.alpha(state.epoch, int(totals.tokens)),
            loss=totals.mean_loss,
            pairs=totals.pairs,
            seconds=seconds,
            words_per_second=totals.tokens / seconds,
        )
        self._check_course(report)
        return RunState(epoch=state.epoch + 1, reports=(*state.reports, report))

    def _check_course(self, report: EpochReport) -> None:
        """Raise TrainingError if the loss is above that of untrained vectors, or a weight absurdly large.

        Vectors that were given may begin with any loss.
        """
        untrained = self.config.objective.untrained_loss(self.config.negative)
        what = ""
        if report.loss > untrained and (report.epoch > 1 or self.weights.given is None):
            what = f"the loss is {report.loss:.4g}, above the {untrained:.4g} of untrained vectors"
        elif (largest := self.weights.largest) > _LARGEST_WEIGHT:
            what = f"a weight has grown to {largest:.3g}"
        if what:
            remedy = f"lower --alpha (now {self.config.alpha:g})"
            raise TrainingError(f"training diverges in epoch {report.epoch}: {what}; {remedy}")

    def _progress(self, epoch: int, totals: Totals) -> TrainingProgress:
        n_tokens, tokens = self.corpus.n_tokens, int(totals.tokens)
        return TrainingProgress(
            tokens=epoch * n_tokens + tokens,
            total_tokens=self.epochs * n_tokens,
            alpha=self.schedule.alpha(epoch, tokens),
            loss=totals.loss / max(totals.pairs, 1),
        )

    def _not_finite(self, epoch: int, alpha: float) -> str:
        where = f"in epoch {epoch + 1} at a learning rate of {alpha:.4g}"
        remedy = "lower --alpha"
        for matrix in (self.weights.w_in, self.weights.w_out):
            broken = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
            if len(broken) and len(matrix) == len(self.corpus.vocab):
                word = self.corpus.vocab.words[int(broken[0])]
                return f"the vector of {word!r} is no longer finite {where}; {remedy}"
        return f"the loss is no longer finite {where}; {remedy}"


def _has_pairs(corpus: EncodedCorpus) -> bool:
    """Say whether a sentence has two words of the vocabulary, which subsampling may keep in some epoch."""
    is_known = np.asarray(corpus.tokens) < len(corpus.vocab)
    return bool(np.add.reduceat(is_known, corpus.offsets[:-1], dtype=np.int64).max() > 1)


def _nothing_to_train(corpus: EncodedCorpus, config: TrainConfig) -> str:
    return (
        f"nothing to train: no sentence keeps two of the {len(corpus.vocab)} words of the vocabulary "
        f"({corpus.n_tokens:,} tokens in {corpus.n_sentences:,} sentences, {corpus.n_known_tokens:,} of them "
        f"in the vocabulary, sample {config.sample:g}); write whole sentences on a line, lower --min-count "
        "or set --sample 0"
    )
