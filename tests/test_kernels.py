"""The kernels against brute force with the same draws, and their gradients against finite differences."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import naive
import numpy as np
import pytest
from numpy.typing import NDArray

from w2v.training.cpu import block_kernels as kernels
from w2v.training.cpu import exact_kernels
from w2v.training.cpu.arguments import Job, Plan, Tables
from w2v.training.cpu.lanes import LANES
from w2v.training.cpu.memory import aligned_zeros, make_scratch, make_shape, row_length
from w2v.training.sampling import NegativeSampler, keep_thresholds

KERNELS = {
    ("sg", "exact"): (exact_kernels.train_skipgram_exact, naive.skipgram_exact),
    ("sg", "block"): (kernels.train_skipgram_block, naive.skipgram_block),
    ("cbow", "exact"): (exact_kernels.train_cbow_exact, naive.cbow_exact),
    ("cbow", "block"): (kernels.train_cbow_block, naive.cbow_block),
}
ALL_KERNELS = pytest.mark.parametrize(("model", "kernel"), KERNELS)
VOCAB, SEED = 23, 11


class Case:
    """One job on made text: words 0..22 by falling count, 23 and more out of vocabulary."""

    def __init__(
        self,
        model: str,
        kernel: str,
        *,
        lengths: tuple[int, ...] = (7, 1, 40, 2, 1, 1, 90, 25, 3),
        vector_size: int = 20,
        window: int = 3,
        negative: int = 4,
        shrink: bool = True,
        corrected: bool = True,
        block: int = 6,
        sample: float = 0.05,
        alpha: tuple[float, float] = (0.2, 0.1),
        dtype: type = np.float64,
        words: int = VOCAB,
        block_negatives: int = 16,
        workers: int = 1,
        own_rows: int = 0,
    ) -> None:
        random = np.random.default_rng(3)
        tokens = np.minimum(random.geometric(0.15, sum(lengths)) - 1, words + 2).astype(np.int32)
        self.offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        counts = np.bincount(tokens, minlength=words)[:words] + 1
        scale = block_negatives << 32 if kernel == "block" else 1 << 48
        sampler = NegativeSampler.build(counts, 0.75, scale)
        self.kernel, self.oracle = KERNELS[model, kernel]
        self.shape = make_shape(vector_size, dtype)
        self.plan = Plan(
            window, negative, int(shrink), int(corrected), block, block_negatives, workers, own_rows
        )
        self.weights = random.normal(0, vector_size**-0.5, (2, words, vector_size))
        self.w_in, self.w_out = (aligned_zeros(words, row_length(self.shape), dtype) for _ in range(2))
        for padded, weights in zip((self.w_in, self.w_out), self.weights, strict=True):
            padded[:, :vector_size] = weights
        keep = keep_thresholds(counts, sample)
        self.tables = Tables(
            tokens,
            self.offsets,
            keep,
            sampler.cdf,
            sampler.guide,
            np.uint64(sampler.guide_shift),
            self.w_in,
            self.w_out,
        )
        self.scratch = make_scratch(self.plan, self.shape, len(tokens), model=model)
        self.job = Job(0, len(tokens), 0, *alpha, np.uint64(SEED))
        self.naive_job = naive.Job(
            [list(map(int, tokens[a:b])) for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True)],
            keep,
            sampler.cdf,
            window,
            negative,
            shrink,
            *alpha,
            SEED,
            block,
            block_negatives,
            corrected,
        )

    def run(self) -> tuple[int, float, float]:
        n, pairs, loss = self.kernel(self.tables, self.plan, self.shape, self.scratch, self.job)
        return int(n), float(pairs), float(loss)


@ALL_KERNELS
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"shrink": False, "window": 1},
        {"vector_size": 250, "window": 5, "block": 16},
        {"vector_size": 256},
        {"vector_size": 61, "corrected": False, "sample": 0.0},
        {"window": 40, "negative": 1, "block": 2},
        {"words": 3, "sample": 0.0},
        {"block_negatives": 20, "words": 5},
        {"block_negatives": 2, "block": 8, "alpha": (0.02, 0.01)},
        {"block_negatives": 30, "window": 2},
        {"own_rows": 5},
        {"own_rows": VOCAB, "vector_size": 165},
        {"lengths": (1, 1, 1)},
        {"lengths": (2,)},
    ],
    ids=str,
)
def test_kernel_equals_brute_force(model: str, kernel: str, settings: dict[str, Any]) -> None:
    case = Case(model, kernel, **settings)
    expected = case.oracle(case.naive_job, *case.weights)
    assert case.run() == pytest.approx(expected, rel=1e-9)
    for padded, weights in zip((case.w_in, case.w_out), case.weights, strict=True):
        np.testing.assert_allclose(padded[:, : weights.shape[1]], weights, rtol=1e-9, atol=1e-12)
        assert not padded[:, weights.shape[1] :].any(), "the padding is no longer zero"


@ALL_KERNELS
def test_float32_stays_close_to_float64(model: str, kernel: str) -> None:
    case = Case(model, kernel, vector_size=100, dtype=np.float32)
    expected = case.oracle(case.naive_job, *case.weights)
    assert case.run() == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(case.w_in[:, :100], case.weights[0], atol=2e-5)
    np.testing.assert_allclose(case.w_out[:, :100], case.weights[1], atol=2e-5)


@pytest.mark.skipif(LANES == 8, reason="this is what all other tests use here")
def test_kernels_of_eight_lanes_equal_brute_force() -> None:
    test = f"{__file__}::{test_kernel_equals_brute_force.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test, "-k", "165 or 61"]
    variables = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma"}
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("." * 8)


def assert_update_is_the_gradient(case: Case, alpha: float, *, atol: float) -> None:
    """Compare what the kernel adds to every parameter with central differences of the loss it returns."""
    before = case.w_in.copy(), case.w_out.copy()

    def loss() -> float:
        kept = case.w_in.copy(), case.w_out.copy()
        value = case.run()[2]
        case.w_in[:], case.w_out[:] = kept
        return value

    gradients = [naive.numerical_gradient(loss, matrix) for matrix in (case.w_in, case.w_out)]
    case.run()
    for old, new, gradient in zip(before, (case.w_in, case.w_out), gradients, strict=True):
        np.testing.assert_allclose((old - new) / alpha, gradient, atol=atol)


@pytest.mark.parametrize("model", ["sg", "cbow"])
def test_update_of_a_block_is_the_gradient_of_its_loss(model: str) -> None:
    """Every parameter, by central differences of the loss that the kernel itself returns."""
    alpha = 1e-3
    settings: dict[str, Any] = {"lengths": (7, 5), "vector_size": 6, "block": 12, "sample": 0.0}
    case = Case(model, "block", alpha=(alpha, alpha), **settings)
    assert_update_is_the_gradient(case, alpha, atol=1e-7)


@pytest.mark.parametrize("model", ["sg", "cbow"])
def test_update_of_one_pair_is_the_gradient_of_its_loss(model: str) -> None:
    """The exact kernels move after every score, so the first pair alone has the plain gradient.

    Two words, one window: the first pair is trained with a vanishing learning rate for all but it.
    """
    settings: dict[str, Any] = {"lengths": (2,), "vector_size": 6, "sample": 0.0, "window": 1}
    alpha = 1e-6
    case = Case(model, "exact", alpha=(alpha, alpha), **settings)
    assert_update_is_the_gradient(case, alpha, atol=1e-4)


@ALL_KERNELS
def test_not_a_number_shows_in_the_loss(model: str, kernel: str) -> None:
    case = Case(model, kernel, dtype=np.float32)
    case.w_out[:] = np.nan
    assert np.isnan(case.run()[2])


def test_a_job_may_begin_and_end_inside_sentences() -> None:
    whole, part = Case("sg", "block", sample=0.0), Case("sg", "block", sample=0.0)
    part.job = part.job._replace(start=20, stop=100, sentence=2)
    n, _, _ = part.run()
    whole_tokens: NDArray[np.int32] = whole.tables.tokens
    assert n == np.count_nonzero(whole_tokens[20:100] < VOCAB)


@pytest.mark.parametrize("model", ["sg", "cbow"])
def test_own_rows_move_the_shared_ones_by_the_share_of_the_worker(model: str) -> None:
    """Between two calls a worker's own rows go the way of a single worker; then half of it is kept of two."""
    one, two = (Case(model, "block", workers=workers, own_rows=5) for workers in (1, 2))
    start = one.w_in.copy(), one.w_out.copy()
    one.run(), two.run()
    for before, whole, half in zip(start, (one.w_in, one.w_out), (two.w_in, two.w_out), strict=True):
        assert np.abs(whole[:5] - before[:5]).max() > 1e-3
        np.testing.assert_allclose(half[:5] - before[:5], (whole[:5] - before[:5]) / 2, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(half[5:], whole[5:])


def test_negatives_of_a_job_follow_the_distribution_each_block_from_all_strata() -> None:
    case = Case("sg", "block", sample=0.0)
    n_negatives, cdf = case.plan.block_negatives, case.tables.cdf
    found = np.zeros(VOCAB)
    for seed in range(300):
        case.job = case.job._replace(seed=np.uint64(seed))
        n = case.run()[0]
        n_blocks = -(-n // case.plan.block)
        drawn = case.scratch.negatives[: n_blocks * n_negatives].reshape(n_blocks, n_negatives)
        first, last = (np.searchsorted(cdf, np.arange(n_negatives) + end << 32, "right") for end in (0, 1))
        assert ((first <= drawn) & (drawn <= last)).all()
        found += np.bincount(drawn.ravel(), minlength=VOCAB)
    wanted = np.diff(cdf.astype(np.float64), prepend=0) / cdf[-1]
    np.testing.assert_allclose(found / found.sum(), wanted, atol=2e-3)
    assert len({tuple(block) for block in drawn}) > n_blocks // 2
