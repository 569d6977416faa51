"""The schedule of a run: jobs, workers, learning rate, reports. The arithmetic is in the kernels."""

from __future__ import annotations

import functools
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.corpus.ids.encoded_corpus import EncodedCorpus
from w2v.errors import CorpusError, TrainingError
from w2v.system import compiling
from w2v.training.cpu import block_kernels as kernels
from w2v.training.cpu import exact_kernels
from w2v.training.cpu.arguments import (
    EXACT_SHIFT,
    BlockScratch,
    ExactScratch,
    Job,
    KernelSettings,
    RowLayout,
    Tables,
)
from w2v.training.cpu.memory import (
    initial_weights,
    make_block_scratch,
    make_exact_scratch,
    make_layout,
    make_settings,
    own_rows,
    pack_rows,
)
from w2v.training.sampling import NegativeSampler, keep_thresholds
from w2v.vectors.training_report import EpochReport, TrainingReport
from w2v.vectors.vocab import Vocab

_KERNELS = {
    ("sg", "block"): kernels.train_skipgram_block,
    ("sg", "exact"): exact_kernels.train_skipgram_exact,
    ("cbow", "block"): kernels.train_cbow_block,
    ("cbow", "exact"): exact_kernels.train_cbow_exact,
}
# Tokens a job: some milliseconds of work, so that handing out jobs costs nothing and Ctrl-C ends soon; fewer
# where the corpus is small, so that all workers have some.
_MOST_JOB_TOKENS = {"block": 16_384, "exact": 2_048}
_FEWEST_JOB_TOKENS, _FEWEST_JOBS = 1_024, 64
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Progress:
    """Where a run stands: tokens done and to do (raw, all epochs), learning rate, mean loss a pair so far."""

    tokens: int
    total_tokens: int
    alpha: float
    loss: float


ProgressCallback = Callable[[Progress], None]
ReportCallback = Callable[[EpochReport], None]


@dataclass(frozen=True)
class TrainedWeights:
    """What a run leaves: w_in and w_out, float32, shape (V, D) each, and the report."""

    w_in: NDArray[np.float32]
    w_out: NDArray[np.float32]
    report: TrainingReport


def train_weights(
    corpus: EncodedCorpus,
    config: TrainConfig,
    *,
    on_progress: ProgressCallback | None = None,
    on_report: ReportCallback | None = None,
) -> TrainedWeights:
    """Train on an encoded corpus.

    Parameters
    ----------
    corpus : EncodedCorpus
    config : TrainConfig
    on_progress : callable, optional
        Called about ten times a second, from the calling thread.
    on_report : callable, optional
        Called after each epoch.

    Raises
    ------
    CorpusError
        If no sentence keeps two words, so that there is nothing to train.
    TrainingError
        If weights stop being finite.
    """
    run = _Run.prepare(corpus, config.resolved(corpus.n_tokens))
    reports: list[EpochReport] = []
    for epoch in range(run.epochs):
        report = _run_epoch(run, epoch, on_progress)
        if report.pairs == 0:
            raise CorpusError(_nothing_to_train(corpus, config))
        reports.append(report)
        if on_report is not None:
            on_report(report)
    w_in, w_out = (pack_rows(matrix, config.vector_size) for matrix in (run.tables.w_in, run.tables.w_out))
    return TrainedWeights(w_in, w_out, TrainingReport(tuple(reports)))


def is_missing(config: TrainConfig) -> bool:
    """Say whether a run's kernel could be kept compiled, and is not, whatever the vector size."""
    return compiling.is_missing(_KERNELS[config.model, config.kernel])


def compile_kernel(config: TrainConfig) -> None:
    """Compile the kernel of a run, or load it from the cache; it depends on model, kernel and vector size."""
    vocab = Vocab(["a", "b"], np.ones(2, np.int64))
    tokens, offsets = np.arange(2, dtype=np.int32), np.array([0, 2], np.int64)
    _Run.prepare(EncodedCorpus.from_ids(vocab, tokens, offsets), config.resolved(2))


@dataclass(frozen=True)
class _Run:
    """All that stays the same during a run, and the workers' scratch."""

    corpus: EncodedCorpus
    config: TrainConfig
    kernel: Any
    tables: Tables
    settings: KernelSettings
    layout: RowLayout
    scratches: list[BlockScratch] | list[ExactScratch]
    borders: NDArray[np.int64]
    stop: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def prepare(cls, corpus: EncodedCorpus, config: TrainConfig) -> _Run:
        """Make tables, weights and scratch, and have the kernel compiled."""
        layout = make_layout(config.vector_size)
        wanted = max(_FEWEST_JOB_TOKENS, corpus.n_tokens // _FEWEST_JOBS)
        borders = job_borders(corpus.offsets, min(wanted, _MOST_JOB_TOKENS[config.kernel]))
        longest = int(np.diff(borders).max())
        workers = min(config.workers, len(borders) - 1)
        settings = make_settings(config, workers, len(corpus.vocab))
        kernel = _KERNELS[config.model, config.kernel]
        make_scratch: Callable[[], Any] = functools.partial(make_exact_scratch, settings, layout, longest)
        if config.kernel == "block":
            make_scratch = functools.partial(
                make_block_scratch, settings, layout, longest, model=config.model
            )
        run = cls(
            corpus=corpus,
            config=config,
            kernel=kernel,
            tables=make_tables(corpus, config, layout, settings.own_rows),
            settings=settings,
            layout=layout,
            scratches=[make_scratch() for _ in range(workers)],
            borders=borders,
        )
        nothing = Job(0, 0, 0, 0.0, 0.0, np.uint64(0))
        kernel(run.tables, settings, layout, run.scratches[0], nothing)
        return run

    @property
    def epochs(self) -> int:
        """Passes over the corpus."""
        return cast(int, self.config.epochs)

    def alpha(self, epoch: int, token: int) -> float:
        """Return the learning rate, falling in a line with the raw tokens read by all workers together."""
        done = (epoch + token / self.corpus.n_tokens) / self.epochs
        alpha = cast(float, self.config.alpha)
        return alpha + (self.config.min_alpha - alpha) * done

    def job(self, epoch: int, index: int, seed: np.uint64) -> Job:
        """Return a job of an epoch."""
        start, stop = int(self.borders[index]), int(self.borders[index + 1])
        sentence = int(np.searchsorted(self.corpus.offsets, start, side="right")) - 1
        return Job(start, stop, sentence, self.alpha(epoch, start), self.alpha(epoch, stop), seed)


def make_tables(corpus: EncodedCorpus, config: TrainConfig, layout: RowLayout, n_own_rows: int) -> Tables:
    """Make what all workers share: samplers' tables and initial weights."""
    counts = corpus.vocab.counts
    scale = cast(int, config.block_negatives) << 32 if config.kernel == "block" else 1 << 64 - EXACT_SHIFT
    sampler = NegativeSampler.build(counts, config.ns_exponent, scale)
    w_in, w_out = initial_weights(len(counts), config.vector_size, layout, config.seed)
    own_words, own_slots = own_rows(counts, n_own_rows)
    return Tables(
        tokens=_read_only(corpus.tokens),
        offsets=_read_only(corpus.offsets),
        keep=keep_thresholds(counts, config.sample),
        cdf=sampler.cdf,
        guide=sampler.guide,
        guide_shift=np.uint64(sampler.guide_shift),
        w_in=w_in,
        w_out=w_out,
        frozen=np.zeros(0, np.uint8),
        own_words=own_words,
        own_slots=own_slots,
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a plain read-only view: one array type, so that the kernels are compiled once."""
    view: NDArray[Any] = np.asarray(array).view()
    view.flags.writeable = False
    return view


def job_borders(offsets: NDArray[np.int64], job_tokens: int) -> NDArray[np.int64]:
    """Cut the corpus into jobs, at sentence ends where sentences are shorter than a job.

    Returns
    -------
    ndarray of int64, shape (J + 1,)
        Job j is tokens[borders[j]:borders[j + 1]]; none is longer than 2 * job_tokens. Pairs across a border
        inside a long sentence are not trained; every token is.
    """
    n_tokens = int(offsets[-1])
    wanted = np.arange(job_tokens, n_tokens, job_tokens, dtype=np.int64)
    ends = np.asarray(offsets)[np.searchsorted(offsets, wanted)]
    cuts = np.where(ends - wanted < job_tokens, ends, wanted)
    borders: NDArray[np.int64] = np.unique(np.concatenate(([0], cuts, [n_tokens])).astype(np.int64))
    return borders


def _run_epoch(run: _Run, epoch: int, on_progress: ProgressCallback | None) -> EpochReport:
    n_jobs, n_workers = len(run.borders) - 1, len(run.scratches)
    sequence = np.random.SeedSequence((run.config.seed, epoch))
    seeds = sequence.generate_state(n_jobs, np.uint64).astype(np.uint64)
    totals = np.zeros((n_workers, 3))  # tokens, pairs, loss; each worker adds to its own row
    jobs = iter(range(n_jobs))
    started = time.perf_counter()
    with ThreadPoolExecutor(n_workers, thread_name_prefix="w2v") as pool:
        workers = [
            pool.submit(_work, run, epoch, jobs, seeds, scratch, totals[w])
            for w, scratch in enumerate(run.scratches)
        ]
        try:
            _watch(run, epoch, workers, totals, on_progress)
        finally:
            run.stop.set()
            wait(workers)
            run.stop.clear()
    seconds = time.perf_counter() - started
    tokens, pairs, loss = (float(total) for total in totals.sum(axis=0))
    return EpochReport(
        epoch=epoch + 1,
        tokens=int(tokens),
        alpha=run.alpha(epoch, int(tokens)),
        loss=loss / pairs if pairs else math.nan,
        pairs=pairs,
        seconds=seconds,
        words_per_second=tokens / seconds,
    )


def _work(
    run: _Run,
    epoch: int,
    jobs: Iterator[int],
    seeds: NDArray[np.uint64],
    scratch: BlockScratch | ExactScratch,
    totals: NDArray[np.float64],
) -> None:
    """Do jobs until there are none; `next` on a shared iterator is atomic, so each is done once."""
    for index in jobs:
        if run.stop.is_set():
            return
        job = run.job(epoch, index, seeds[index])
        _, pairs, loss = run.kernel(run.tables, run.settings, run.layout, scratch, job)
        totals += (job.stop - job.start, pairs, loss)
        if not math.isfinite(loss):
            raise TrainingError(_not_finite(run, epoch, job.alpha_start))


def _watch(
    run: _Run,
    epoch: int,
    workers: list[Future[None]],
    totals: NDArray[np.float64],
    on_progress: ProgressCallback | None,
) -> None:
    """Wait for the workers, tell the progress, raise the first error."""
    n_tokens = run.corpus.n_tokens
    for _ in itertools.count():
        done, waiting = wait(workers, _POLL_SECONDS, FIRST_EXCEPTION)
        for worker in done:
            worker.result()
        if on_progress is not None:
            tokens, pairs, loss = totals.sum(axis=0)
            alpha = run.alpha(epoch, int(tokens))
            total = run.epochs * n_tokens
            on_progress(Progress(epoch * n_tokens + int(tokens), total, alpha, loss / max(pairs, 1)))
        if not waiting:
            return


def _not_finite(run: _Run, epoch: int, alpha: float) -> str:
    where = f"in epoch {epoch + 1} at a learning rate of {alpha:.4g}"
    advice = "lower --alpha"
    for matrix in (run.tables.w_in, run.tables.w_out):
        broken = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        if len(broken):
            word = run.corpus.vocab.words[int(broken[0])]
            return f"the vector of {word!r} is no longer finite {where}; {advice}"
    return f"the loss is no longer finite {where}; {advice}"


def _nothing_to_train(corpus: EncodedCorpus, config: TrainConfig) -> str:
    return (
        f"nothing to train: no sentence keeps two of the {len(corpus.vocab)} words of the vocabulary "
        f"({corpus.n_tokens:,} tokens in {corpus.n_sentences:,} sentences, {corpus.n_known_tokens:,} of them "
        f"in the vocabulary, sample {config.sample:g}); write whole sentences on a line, lower --min-count "
        "or set --sample 0"
    )
