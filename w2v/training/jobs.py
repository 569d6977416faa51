"""How a run is cut into jobs: their borders, seeds and learning rates.

All of it follows from the corpus and the settings: not from threads, time, or what was trained before. A run
that goes on where another stopped depends on that: the same epoch and job number must mean the same tokens,
the same random draws and the same learning rate. Whoever changes a result here changes what a seed gives, and
makes older checkpoints useless, so `w2v.training.checkpoint.FORMAT_VERSION` must rise; `tests/test_jobs.py`
holds the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.training.cpu.arguments import Job

# Handing out jobs must cost nothing, and Ctrl-C must end soon; but a small corpus has jobs for all threads.
_FEWEST_JOB_TOKENS, _FEWEST_JOBS = 1_024, 64


@dataclass(frozen=True, eq=False)
class Schedule:
    """The jobs of a run; job j of an epoch is the tokens from border j to border j + 1.

    Parameters
    ----------
    config : TrainConfig
        Resolved.
    offsets : ndarray of int64, shape (S + 1,)
        Sentence borders.
    borders : ndarray of int64, shape (J + 1,)
        See `job_borders`.
    """

    config: TrainConfig
    offsets: NDArray[np.int64]
    borders: NDArray[np.int64]

    @classmethod
    def of(cls, offsets: NDArray[np.int64], config: TrainConfig) -> Schedule:
        """Cut a corpus with sentences at `offsets` into jobs."""
        wanted = max(_FEWEST_JOB_TOKENS, int(offsets[-1]) // _FEWEST_JOBS)
        job_tokens = min(wanted, config.objective.most_job_tokens)
        return cls(config, offsets, job_borders(offsets, job_tokens))

    @property
    def n_jobs(self) -> int:
        """Jobs an epoch."""
        return len(self.borders) - 1

    @property
    def longest_job(self) -> int:
        """Raw tokens of the longest job."""
        return int(np.diff(self.borders).max())

    def alpha(self, epoch: int, token: int) -> float:
        """Return the learning rate at a token of an epoch, the first being 0."""
        share = (epoch + token / int(self.borders[-1])) / cast(int, self.config.epochs)
        return learning_rate(cast(float, self.config.alpha), self.config.min_alpha, share)

    def jobs(self, epoch: int, begin: int, end: int) -> list[Job]:
        """Return the jobs begin..end of an epoch."""
        seeds = job_seeds(self.config.seed, epoch, end)
        sentences = np.searchsorted(self.offsets, self.borders[begin:end], side="right") - 1
        return [
            Job(start, stop, int(sentence), self.alpha(epoch, start), self.alpha(epoch, stop), seed)
            for start, stop, sentence, seed in zip(
                self.borders[begin:end].tolist(),
                self.borders[begin + 1 : end + 1].tolist(),
                sentences,
                seeds[begin:],
                strict=True,
            )
        ]


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


def job_seeds(seed: int, epoch: int, n_jobs: int) -> NDArray[np.uint64]:
    """Return the seeds of the first `n_jobs` jobs of an epoch; of more jobs, the first have the same ones."""
    return np.random.SeedSequence((seed, epoch)).generate_state(n_jobs, np.uint64).astype(np.uint64)


def learning_rate(alpha: float, min_alpha: float, share: float) -> float:
    """Return the learning rate after a share of the run: it falls in a line with the raw tokens read."""
    return alpha + (min_alpha - alpha) * share
