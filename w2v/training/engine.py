"""One round of jobs on this machine's cores: each thread takes the next job, and all change the same weights.

Another engine (one that adds the changes of a round in job order, or one for several machines) has the same
two parts: `jobs_a_round`, and `run`, after which the weights hold all that the round's jobs have learnt.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
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

    def run(self, jobs: Sequence[Job], totals: Totals, watch: Callable[[Totals], None]) -> Totals:
        """Train a round of jobs.

        Parameters
        ----------
        jobs : sequence of Job
            Handed out in this order.
        totals : Totals
            Of the epoch so far. One thread adds the jobs to them one by one, so the sums do not depend on
            where an epoch is cut into rounds.
        watch : callable
            Called with the totals about ten times a second and at the end, from the calling thread. If it
            raises, or on Ctrl-C, threads end after the job that they are at.

        Returns
        -------
        Totals
            Of the epoch, with this round.

        Raises
        ------
        NonFiniteLossError
        """
        sums = np.zeros((len(self.scratches), len(totals)))  # each thread adds to its own row
        sums[0] = totals
        queue = _JobQueue(jobs)
        with ThreadPoolExecutor(len(sums), thread_name_prefix="w2v") as pool:
            threads = [
                pool.submit(self._work, queue, scratch, own)
                for scratch, own in zip(self.scratches, sums, strict=True)
            ]
            try:
                _watch(threads, lambda: watch(Totals(*sums.sum(axis=0).tolist())))
            finally:
                queue.close()
                wait(threads)
        return Totals(*sums.sum(axis=0).tolist())

    def _work(self, queue: _JobQueue, scratch: Scratch, sums: NDArray[np.float64]) -> None:
        """Do jobs until there are none."""
        while (job := queue.take()) is not None:
            _, pairs, loss = self.kernel(self.tables, self.settings, self.layout, scratch, job)
            sums += (job.stop - job.start, pairs, loss)
            if not math.isfinite(loss):
                raise NonFiniteLossError(job.alpha_start)


class _JobQueue:
    """Gives every job to one thread."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = iter(jobs)
        self._lock = threading.Lock()

    def take(self) -> Job | None:
        """Return the next job, or None if there is none."""
        with self._lock:
            return next(self._jobs, None)

    def close(self) -> None:
        """Give no more jobs."""
        with self._lock:
            self._jobs = iter(())


def _watch(threads: list[Future[None]], tell: Callable[[], None]) -> None:
    """Wait for the threads, tell how far they are, raise the first error."""
    waiting: set[Future[None]] = set(threads)
    while waiting:
        done, waiting = wait(threads, _POLL_SECONDS, FIRST_EXCEPTION)
        for thread in done:
            thread.result()
        tell()
