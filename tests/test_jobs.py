"""Jobs: borders, seeds and learning rates. The numbers here are what resuming a run depends on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2v.config import TrainConfig
from w2v.training.jobs import Schedule, job_borders, job_seeds, learning_rate


@given(st.lists(st.integers(1, 90), min_size=1, max_size=60), st.integers(1, 50))
def test_jobs_cover_the_corpus_in_order(lengths: list[int], job_tokens: int) -> None:
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    borders = job_borders(offsets, job_tokens)
    sizes = np.diff(borders)
    assert borders[0] == 0
    assert borders[-1] == offsets[-1]
    assert (sizes > 0).all()
    assert sizes.max() <= 2 * job_tokens


def test_borders_stand_at_sentence_ends_unless_a_sentence_is_long() -> None:
    offsets = np.array([0, 3, 9, 12, 60, 64], np.int64)
    assert job_borders(offsets, 10).tolist() == [0, 12, 20, 30, 40, 50, 60, 64]


@pytest.mark.parametrize(
    ("n_tokens", "kernel", "n_jobs", "longest"),
    [
        (50_000, "block", 49, 1_024),
        (500_000, "block", 64, 7_815),
        (2_000_000, "block", 123, 16_384),
        (2_000_000, "exact", 977, 2_048),
    ],
)
def test_jobs_are_small_where_the_corpus_is(n_tokens: int, kernel: str, n_jobs: int, longest: int) -> None:
    schedule = Schedule.of(np.arange(n_tokens + 1, dtype=np.int64), TrainConfig(kernel=kernel))
    assert abs(schedule.n_jobs - n_jobs) <= 1
    assert schedule.longest_job == pytest.approx(longest, abs=16)


def test_seeds_depend_on_seed_epoch_and_number_only() -> None:
    assert job_seeds(1, 0, 3).tolist() == SEEDS
    assert job_seeds(1, 0, 1_000)[:3].tolist() == SEEDS
    seeds = [job_seeds(seed, epoch, 500) for seed in (1, 2) for epoch in (0, 1)]
    assert len(np.unique(np.concatenate(seeds))) == 2_000


SEEDS = [7434755675892716031, 10007452063617845036, 5266248848659119178]


def test_the_learning_rate_falls_in_a_line_to_its_end() -> None:
    config = TrainConfig(alpha=0.05, min_alpha=0.01, epochs=4)
    schedule = Schedule(config, np.array([0, 100]), np.array([0, 50, 100]))
    assert schedule.alpha(0, 0) == 0.05
    assert schedule.alpha(2, 0) == pytest.approx(0.03)
    assert schedule.alpha(3, 50) == pytest.approx(0.015)
    assert schedule.alpha(3, 100) == pytest.approx(0.01)
    assert learning_rate(1.0, 0.0, 0.25) == 0.75


def test_a_job_is_the_same_wherever_a_round_begins() -> None:
    offsets = np.arange(0, 60_001, 7, dtype=np.int64)
    schedule = Schedule.of(offsets, TrainConfig().resolved(60_000))
    jobs = schedule.jobs(1, 0, schedule.n_jobs)
    assert schedule.jobs(1, 3, 9) == jobs[3:9]
    assert [job.start for job in jobs[1:]] == [job.stop for job in jobs[:-1]]
    for job in jobs:
        assert offsets[job.sentence] <= job.start < offsets[job.sentence + 1]
        assert job.alpha_start == schedule.alpha(1, job.start) > job.alpha_stop == schedule.alpha(1, job.stop)
