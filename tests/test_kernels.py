"""The kernels against brute force with the same draws, and their gradients against finite differences."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import naive
import numpy as np
import pytest
from numpy.typing import NDArray

from w2v.objectives import objective_of
from w2v.training import resolve
from w2v.training.cpu import block_kernels as kernels
from w2v.training.cpu import exact_kernels
from w2v.training.cpu.arguments import NOT_OWN, Job, KernelSettings, Tables
from w2v.training.cpu.lanes import LANES
from w2v.training.cpu.memory import aligned_zeros, make_layout, row_length
from w2v.training.cpu.own_rows import choose_own_words
from w2v.training.sampling import NegativeSampler, keep_thresholds

KERNELS = {
    ("sg", "exact"): (exact_kernels.train_skipgram_exact, naive.skipgram_exact),
    ("sg", "block"): (kernels.train_skipgram_block, naive.skipgram_block),
    ("cbow", "exact"): (exact_kernels.train_cbow_exact, naive.cbow_exact),
    ("cbow", "block"): (kernels.train_cbow_block, naive.cbow_block),
}
ALL_KERNELS = pytest.mark.parametrize(("model", "kernel"), KERNELS)
VOCAB, SEED = 23, 11


def with_guards(value: Any, guards: list[NDArray[Any]]) -> Any:
    """Copy an array, or all arrays of nested tuples, so that each lies between guards.

    Kernels use addresses, which nothing checks. A guard that is not as it was has been written; a NaN that
    was read shows in the results.
    """
    if isinstance(value, tuple):
        return type(value)(*(with_guards(each, guards) for each in value))
    if not isinstance(value, np.ndarray):
        return value
    n = 1024 // value.itemsize
    memory = aligned_zeros(1, value.size + 2 * n, value.dtype)[0]
    memory[:] = np.nan if value.dtype.kind == "f" else 99
    inside = memory[n : n + value.size].reshape(value.shape)
    inside[:] = value
    guards += [memory[:n], memory[n + value.size :]]
    return inside


class Case:
    """One job on made text: words 0..22 by falling count, 23 and more out of vocabulary.

    With `is_given`, a vocabulary given in another order: the most frequent words come last. Of the frozen
    words, the first one's vector is -0.0.
    """

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
        block_size: int = 6,
        sample: float = 0.05,
        alpha: tuple[float, float] = (0.2, 0.1),
        dtype: type = np.float64,
        words: int = VOCAB,
        block_negatives: int = 16,
        workers: int = 1,
        n_own_rows: int = 0,
        is_given: bool = False,
        frozen: tuple[int, ...] = (),
    ) -> None:
        random = np.random.default_rng(3)
        tokens = np.minimum(random.geometric(0.15, sum(lengths)) - 1, words + 2).astype(np.int32)
        if is_given:
            tokens = np.where(tokens < words, words - 1 - tokens, tokens)
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        counts = np.bincount(tokens, minlength=words)[:words] + 1
        scale = block_negatives << 32 if kernel == "block" else 1 << 48
        sampler = NegativeSampler.build(counts, 0.75, scale)
        keep = keep_thresholds(counts, sample)
        self.kernel, self.oracle = KERNELS[model, kernel]
        self.layout = make_layout(vector_size, dtype)
        self.settings = KernelSettings(
            window, negative, int(shrink), int(corrected), block_size, block_negatives, workers, n_own_rows
        )
        self.weights = random.normal(0, vector_size**-0.5, (2, words, vector_size))
        self.weights[0, list(frozen[:1])] = -0.0
        padded = aligned_zeros(2 * words, row_length(self.layout), dtype).reshape(2, words, -1)
        padded[..., :vector_size] = self.weights
        self.guards: list[NDArray[Any]] = []
        own_words, own_slots = choose_own_words(counts, n_own_rows)
        tables = Tables(
            tokens=tokens,
            offsets=offsets,
            keep=keep,
            cdf=sampler.cdf,
            guide=sampler.guide,
            guide_shift=np.uint64(sampler.guide_shift),
            w_in=padded[0],
            w_out=padded[1],
            frozen=np.isin(np.arange(words if frozen else 0), frozen).astype(np.uint8),
            own_words=own_words,
            own_slots=own_slots,
        )
        self.tables: Tables = with_guards(tables, self.guards)
        self.w_in, self.w_out = self.tables.w_in, self.tables.w_out
        make_scratch = resolve(objective_of(model, kernel).scratch)
        scratch: Any = make_scratch(self.settings, self.layout, len(tokens))
        self.scratch = with_guards(scratch, self.guards)
        self.job = Job(0, len(tokens), 0, *alpha, np.uint64(SEED))
        self.naive_job = naive.Job(
            [list(map(int, tokens[a:b])) for a, b in itertools.pairwise(offsets)],
            keep,
            sampler.cdf,
            window,
            negative,
            shrink,
            *alpha,
            SEED,
            block_size,
            block_negatives,
            corrected,
            frozenset(frozen),
        )

    def run(self) -> tuple[int, float, float]:
        guards, kept = [guard.tobytes() for guard in self.guards], self.frozen_bytes()
        n, pairs, loss = self.kernel(self.tables, self.settings, self.layout, self.scratch, self.job)
        assert [guard.tobytes() for guard in self.guards] == guards, "written outside an array"
        assert self.frozen_bytes() == kept
        return int(n), float(pairs), float(loss)

    def frozen_bytes(self) -> bytes:
        return bytes(self.w_in[np.flatnonzero(self.tables.frozen)].tobytes())


@ALL_KERNELS
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"shrink": False, "window": 1},
        {"vector_size": 250, "window": 5, "block_size": 16},
        {"vector_size": 256},
        {"vector_size": 61, "corrected": False, "sample": 0.0},
        {"window": 40, "negative": 1, "block_size": 2},
        {"words": 3, "sample": 0.0},
        {"words": 165, "sample": 0.0},  # all tokens are kept, so the scratch is full
        {"block_negatives": 20, "words": 5},
        {"block_negatives": 2, "block_size": 8, "alpha": (0.02, 0.01)},
        {"block_negatives": 30, "window": 2},
        {"n_own_rows": 5},
        {"n_own_rows": VOCAB, "vector_size": 165},
        {"n_own_rows": 5, "is_given": True},
        {"frozen": (0, 2, 3, 22)},
        {"frozen": (1, 20, 22), "n_own_rows": 4, "is_given": True, "corrected": False},
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


EIGHT_LANES = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma"}


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param(EIGHT_LANES, marks=pytest.mark.skipif(LANES == 8, reason="as in all other tests here")),
        {"NUMBA_BOUNDSCHECK": "1"},
    ],
    ids=str,
)
def test_kernels_compiled_otherwise_equal_brute_force(variables: dict[str, str]) -> None:
    test = f"{__file__}::{test_kernel_equals_brute_force.__name__}"
    chosen = "165 or 61 or frozen"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test, "-k", chosen]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("." * 20)


@ALL_KERNELS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frozen_rows_keep_their_bytes(model: str, kernel: str, dtype: type) -> None:
    """Also among the own rows of two workers, and with padding; all rows that are not frozen move."""
    frozen = (1, 0, 22)
    case = Case(
        model, kernel, vector_size=61, dtype=dtype, frozen=frozen, sample=0.0, workers=2, n_own_rows=5
    )
    before = case.w_in.copy()
    case.run()
    assert np.signbit(case.w_in[1, :61]).all()
    moved = (case.w_in != before).any(axis=1)
    assert not moved[list(frozen)].any()
    assert moved[np.isin(np.arange(VOCAB), case.tables.tokens) & (case.tables.frozen == 0)].all()


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
    settings: dict[str, Any] = {"lengths": (7, 5), "vector_size": 6, "block_size": 12, "sample": 0.0}
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


@pytest.mark.parametrize("is_given", [False, True])
@pytest.mark.parametrize("model", ["sg", "cbow"])
def test_own_rows_move_the_shared_ones_by_the_share_of_the_worker(model: str, is_given: bool) -> None:
    """Between two calls a worker's own rows go the way of a single worker; then half of it is kept of two."""
    one, two = (Case(model, "block", workers=w, n_own_rows=5, is_given=is_given) for w in (1, 2))
    own = np.isin(np.arange(VOCAB), one.tables.own_words)
    start = one.w_in.copy(), one.w_out.copy()
    one.run(), two.run()
    for before, whole, half in zip(start, (one.w_in, one.w_out), (two.w_in, two.w_out), strict=True):
        moved = whole[own] - before[own]
        assert np.abs(moved).max() > 1e-3
        np.testing.assert_allclose(half[own] - before[own], moved / 2, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(half[~own], whole[~own])


@pytest.mark.parametrize(
    ("counts", "words"), [([9, 7, 7, 5], [0, 1]), ([1, 5, 9, 5], [2, 1]), ([7, 9, 1, 0], [1, 0])]
)
def test_own_rows_are_those_of_the_most_frequent_words(counts: list[int], words: list[int]) -> None:
    own_words, slots = choose_own_words(np.array(counts), 2)
    assert own_words.tolist() == words
    if len(slots) == 0:
        assert words == [0, 1]
    else:
        assert [np.flatnonzero(slots == slot).item() for slot in range(2)] == words
        assert np.count_nonzero(slots == NOT_OWN) == len(counts) - 2


def test_negatives_of_a_job_follow_the_distribution_each_block_from_all_strata() -> None:
    case = Case("sg", "block", sample=0.0)
    n_negatives, cdf = case.settings.block_negatives, case.tables.cdf
    found = np.zeros(VOCAB)
    for seed in range(300):
        case.job = case.job._replace(seed=np.uint64(seed))
        n = case.run()[0]
        n_blocks = -(-n // case.settings.block_size)
        drawn = case.scratch.negatives[: n_blocks * n_negatives].reshape(n_blocks, n_negatives)
        first, last = (np.searchsorted(cdf, np.arange(n_negatives) + end << 32, "right") for end in (0, 1))
        assert ((first <= drawn) & (drawn <= last)).all()
        found += np.bincount(drawn.ravel(), minlength=VOCAB)
    wanted = np.diff(cdf.astype(np.float64), prepend=0) / cdf[-1]
    np.testing.assert_allclose(found / found.sum(), wanted, atol=2e-3)
    assert len({tuple(block) for block in drawn}) > n_blocks // 2
