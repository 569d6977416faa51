"""One round of jobs on this machine's cores: each thread takes the next job, and all change the same weights.

Another engine (one that adds the changes of a round in job order, or one for several machines) has the same
parts: `jobs_a_round`, `new_round`, and `run`, after which the weights hold all that the round's jobs have
learnt.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.corpus.ids.encoded_corpus import EncodedCorpus
from w2v.training import resolve
from w2v.training.cpu.arguments import BlockScratch, ExactScratch, Job, KernelSettings, RowLayout, Tables
from w2v.training.cpu.memory import make_layout, make_settings
from w2v.training.jobs import Schedule
from w2v.training.weights import Weights

# 5 to 20 seconds of work: at the end of a round threads wait for the last job, some milliseconds.
_JOBS_A_ROUND = 1_024
_POLL_SECONDS = 0.1


Scratch: TypeAlias = BlockScratch | ExactScratch


class Totals(NamedTuple):
    """What was trained since the epoch began: raw tokens, pairs, and the sum of their losses, in nats."""

    tokens: float = 0.0
    pairs: float = 0.0
    loss: float = 0.0

    @property
    def mean_loss(self) -> float:
        """Loss a pair; NaN if there is none."""
        return self.loss / self.pairs if self.pairs else math.nan


NO_TOTALS = Totals()


class NonFiniteLossError(ArithmeticError):
    """The loss of a job is infinite or not a number."""

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)
        self.alpha = alpha


class Round:
    """The jobs of a round: each is given to one thread, in order.

    Parameters
    ----------
    jobs : iterable of Job
    totals : Totals
        Of the epoch so far. One thread adds the jobs to them one by one, so the sums do not depend on where
        an epoch is cut into rounds.
    n_threads : int

    Attributes
    ----------
    n_taken : int
        Jobs that were given away. When the round does not run, all of them are done.
    threads : list of Future
    seconds : float
        Wall time.
    sums : ndarray of float64, shape (n_threads, 3)
        Totals; each thread adds to its own row.
    """

    def __init__(self, jobs: Iterable[Job], totals: Totals, n_threads: int) -> None:
        self.n_taken = 0
        self.threads: list[Future[None]] = []
        self.seconds = 0.0
        self.sums = np.zeros((n_threads, len(totals)))
        self.sums[0] = totals
        self._jobs = iter(jobs)
        self._lock = threading.Lock()

    def take(self) -> Job | None:
        """Return the next job, or None if there is none."""
        with self._lock:
            job = next(self._jobs, None)
            self.n_taken += job is not None
            return job

    def close(self) -> None:
        """Give no more jobs."""
        with self._lock:
            self._jobs = iter(())

    @property
    def is_running(self) -> bool:
        """Whether a thread may be at work."""
        return not all(thread.done() for thread in self.threads)

    @property
    def totals(self) -> Totals:
        """Of the epoch, with what this round has trained so far."""
        return Totals(*self.sums.sum(axis=0).tolist())


@dataclass(frozen=True, eq=False)
class HogwildEngine:
    """Threads that add to the weights without locks; see `w2v.training.cpu.block_kernels` for the races.

    Parameters
    ----------
    kernel : callable
        Compiled; of the objective.
    tables : Tables
        Shared by all threads.
    settings, layout
        What all kernel calls have in common.
    scratches : list of BlockScratch or ExactScratch
        One a thread.
    """

    kernel: Any
    tables: Tables
    settings: KernelSettings
    layout: RowLayout
    scratches: list[Scratch]

    @classmethod
    def prepare(
        cls, corpus: EncodedCorpus, config: TrainConfig, weights: Weights, schedule: Schedule
    ) -> HogwildEngine:
        """Make tables and scratch, and have the kernel compiled or loaded from the cache."""
        objective = config.objective
        n_threads = min(config.workers, schedule.n_jobs)
        settings = make_settings(config, n_threads, len(corpus.vocab))
        layout = make_layout(config.vector_size)
        tables = resolve(objective.tables)(corpus, config, settings, weights)
        make_scratch = resolve(objective.scratch)
        scratches = [make_scratch(settings, layout, schedule.longest_job) for _ in range(n_threads)]
        kernel = resolve(objective.train)
        kernel(tables, settings, layout, scratches[0], Job(0, 0, 0, 0.0, 0.0, np.uint64(0)))
        return cls(kernel, tables, settings, layout, scratches)

    @property
    def jobs_a_round(self) -> int:
        """Jobs that make up a round, unless the epoch ends before."""
        return _JOBS_A_ROUND * len(self.scratches)

    def new_round(self, jobs: Iterable[Job], totals: Totals) -> Round:
        """Return a round of jobs for these threads."""
        return Round(jobs, totals, len(self.scratches))

    def run(self, work: Round, watch: Callable[[Totals], None]) -> None:
        """Train a round of jobs.

        Parameters
        ----------
        work : Round
            Modified in place: after this, also on an error, it says which jobs were done and what they
            trained.
        watch : callable
            Called with the totals about ten times a second and at the end, from the calling thread. If it
            raises, or on Ctrl-C, threads end after the job that they are at.

        Raises
        ------
        NonFiniteLossError
        """
        started = time.perf_counter()
        with ThreadPoolExecutor(len(self.scratches), thread_name_prefix="w2v") as pool:
            try:
                for scratch, sums in zip(self.scratches, work.sums, strict=True):
                    work.threads.append(pool.submit(self._work, work, scratch, sums))
                _watch(work.threads, lambda: watch(work.totals))
            finally:
                work.close()
                wait(work.threads)
                work.seconds = time.perf_counter() - started

    def _work(self, work: Round, scratch: Scratch, sums: NDArray[np.float64]) -> None:
        """Do jobs until there are none."""
        while (job := work.take()) is not None:
            _, pairs, loss = self.kernel(self.tables, self.settings, self.layout, scratch, job)
            sums += (job.stop - job.start, pairs, loss)
            if not math.isfinite(loss):
                raise NonFiniteLossError(job.alpha_start)


def _watch(threads: list[Future[None]], tell: Callable[[], None]) -> None:
    """Wait for the threads, tell how far they are, raise the first error."""
    waiting: set[Future[None]] = set(threads)
    while waiting:
        done, waiting = wait(threads, _POLL_SECONDS, FIRST_EXCEPTION)
        for thread in done:
            thread.result()
        tell()
