"""The trainer: jobs, workers, learning rate, reports, errors; and that what it trains is learnt."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import w2v
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.errors import ConfigError, CorpusError, TrainingError
from w2v.training.cpu.lanes import LANES, WIDEST
from w2v.training.cpu.memory import initial_weights, make_layout, pack_rows, row_length
from w2v.training.sampling import NegativeSampler, keep_probabilities, keep_thresholds
from w2v.training.trainer import Progress, job_borders, train_weights

N_CLUSTERS, WORDS_A_CLUSTER = 6, 12


def planted_sentences(n: int = 3_000) -> list[list[str]]:
    """Each sentence draws its words from one cluster: words of a cluster must end up near each other."""
    random = np.random.default_rng(5)
    clusters = random.integers(0, N_CLUSTERS, n)
    return [[f"c{cluster}w{w}" for w in random.integers(0, WORDS_A_CLUSTER, 8)] for cluster in clusters]


def cluster_purity(words: Any, vectors: NDArray[np.float32]) -> float:
    """Return the share of words whose nearest neighbour by cosine is of their own cluster."""
    clusters = np.array([word.split("w")[0] for word in words])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    return float((clusters[cosines.argmax(axis=1)] == clusters).mean())


@pytest.fixture(scope="module")
def planted() -> EncodedCorpus:
    return encode(planted_sentences(), vocab=VocabConfig(min_count=1))


def settings(**changes: Any) -> TrainConfig:
    values = {"vector_size": 16, "window": 3, "sample": 0.0, "epochs": 2, "workers": 1, "alpha": 0.05}
    return TrainConfig(**{**values, **changes})


@pytest.mark.parametrize("model", ["sg", "cbow"])
@pytest.mark.parametrize("kernel", ["block", "exact"])
@pytest.mark.parametrize("workers", [1, 3])
def test_planted_clusters_are_learnt(planted: EncodedCorpus, model: str, kernel: str, workers: int) -> None:
    """Five seeds of each gave a purity of 1.0 each time; chance is 0.15."""
    config = settings(model=model, kernel=kernel, workers=workers, epochs=4)
    trained = train_weights(planted, config)
    assert cluster_purity(planted.vocab.words, trained.w_in) > 0.95


def test_untrained_weights_fail_the_check_of_clusters(planted: EncodedCorpus) -> None:
    """Ten seeds gave a purity of 0.07 to 0.21."""
    w_in, _ = initial_weights(len(planted.vocab), 16, make_layout(16), seed=1)
    assert cluster_purity(planted.vocab.words, w_in[:, :16]) < 0.4


@pytest.mark.parametrize("update", ["corrected", "original"])
def test_both_updates_of_cbow_learn(planted: EncodedCorpus, update: str) -> None:
    trained = train_weights(planted, settings(model="cbow", cbow_update=update, epochs=4))
    assert cluster_purity(planted.vocab.words, trained.w_in) > 0.95


@pytest.mark.parametrize("model", ["sg", "cbow"])
@pytest.mark.parametrize("kernel", ["block", "exact"])
def test_one_worker_and_one_seed_are_bit_equal(planted: EncodedCorpus, model: str, kernel: str) -> None:
    runs = [train_weights(planted, settings(model=model, kernel=kernel, seed=seed)) for seed in (7, 7, 8)]
    for one, two in ((run.w_in, run.w_out) for run in runs[:1]):
        np.testing.assert_array_equal(one, runs[1].w_in)
        np.testing.assert_array_equal(two, runs[1].w_out)
    assert not np.array_equal(runs[0].w_in, runs[2].w_in)


@pytest.mark.parametrize("model", ["sg", "cbow"])
def test_loss_is_one_value_an_epoch_falls_and_does_not_depend_on_the_workers(
    planted: EncodedCorpus, model: str
) -> None:
    """Case 9. Eight seeds of each: 1 and 4 workers differ by at most 0.019; it falls by 0.026 or more."""
    runs = [settings(model=model, workers=workers, epochs=3) for workers in (1, 4)]
    losses = [train_weights(planted, run).report.loss for run in runs]
    for one, four in zip(*losses, strict=True):
        assert one == pytest.approx(four, abs=0.06)
    assert losses[0] == sorted(losses[0], reverse=True)
    assert len(losses[0]) == 3


def test_first_loss_is_that_of_guessing(planted: EncodedCorpus) -> None:
    """Untrained scores are 0, so a pair costs (1 + K) log 2, less the negatives that are the target."""
    report = train_weights(planted, settings(alpha=1e-7, min_alpha=1e-8, epochs=1, negative=5)).report
    hits = 5 * math.log(2) / (N_CLUSTERS * WORDS_A_CLUSTER)
    assert report.loss[0] == pytest.approx(6 * math.log(2) - hits, abs=0.01)


def test_every_token_is_trained_however_long_the_line() -> None:
    """Case 1: one line longer than any job. Pairs across the border of two jobs (6) are left out."""
    words = [f"w{i % 50}" for i in range(60_000)]
    corpus = encode([words], vocab=VocabConfig(min_count=1))
    report = train_weights(corpus, settings(window=2, shrink_windows=False, epochs=1)).report
    assert report.tokens == 60_000
    assert 4 * 60_000 - 6 * 64 <= report.epochs[0].pairs < 4 * 60_000


def test_generator_is_read_once_and_trained_three_epochs() -> None:
    """Case 3."""
    reads = itertools.count()

    def sentences() -> Iterator[list[str]]:
        next(reads)
        yield from planted_sentences(200)

    model = w2v.train(sentences(), min_count=1, epochs=3, vector_size=16, workers=1, sample=0)
    assert next(reads) == 1
    assert model.training is not None
    assert model.training.tokens == 3 * 200 * 8
    assert len(model.training.loss) == 3


@pytest.mark.parametrize("corpus", [["hello", "world"], [{"a": 1}], [1, 2], "no such file"])
def test_corpora_that_are_none_are_refused(corpus: Any) -> None:
    """Case 2."""
    with pytest.raises((CorpusError, OSError)):
        w2v.train(corpus, min_count=1)


@pytest.mark.parametrize("sentences", [[["a"], ["b"]] * 50, [["a"]]], ids=["one-word lines", "one word"])
def test_nothing_to_train_is_an_error_with_numbers(sentences: list[list[str]]) -> None:
    """Case 7."""
    with pytest.raises(CorpusError, match=r"nothing to train: no sentence keeps two .*--min-count"):
        w2v.train(sentences, min_count=1, vector_size=16)


def test_one_word_only_gives_finite_vectors() -> None:
    model = w2v.train([["a", "a", "a"]] * 10, min_count=1, sample=0, epochs=2, vector_size=16)
    assert np.isfinite(model.vectors).all()


def test_too_little_to_train_is_said_with_numbers(caplog: pytest.LogCaptureFixture) -> None:
    """Case 8: 90 tokens of two words, most of which subsampling drops."""
    with caplog.at_level(logging.WARNING, "w2v"), contextlib.suppress(CorpusError):  # or nothing is left
        w2v.train([["a", "b"] * 15] * 3, min_count=1, epochs=1, vector_size=16)
    assert "of 90 tokens, 90 are of the 2 words" in caplog.text
    assert "--sample" in caplog.text


def test_weights_that_are_not_finite_stop_the_run(planted: EncodedCorpus) -> None:
    with pytest.raises(TrainingError, match=r"no longer finite in epoch \d+ at a learning rate of .*--alpha"):
        train_weights(
            planted, settings(model="cbow", cbow_update="original", alpha=10.0, window=8, epochs=30)
        )


def test_progress_ends_at_the_total(planted: EncodedCorpus) -> None:
    seen: list[Progress] = []
    train_weights(planted, settings(), on_progress=seen.append)
    assert seen[-1].tokens == seen[-1].total_tokens == 2 * planted.n_tokens
    assert seen[-1].alpha == pytest.approx(settings().min_alpha)


def test_an_error_in_a_callback_stops_the_workers(planted: EncodedCorpus) -> None:
    def fail(_: Progress) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        train_weights(planted, settings(kernel="exact", epochs=50), on_progress=fail)


def test_settings_of_all_kinds_go_to_their_config_and_others_are_named() -> None:
    model = w2v.train(
        planted_sentences(100), min_count=2, lowercase=True, vector_size=15, epochs=1, workers=1
    )
    assert model.vectors.shape == (len(model.words), 15)
    assert model.origin.training["vector_size"] == 15
    with pytest.raises(ConfigError, match="unknown settings: vectorsize"):
        w2v.train([["a"]], vectorsize=7)


def test_negative_alpha_schedule_and_odd_blocks_are_refused() -> None:
    with pytest.raises(ConfigError, match="min_alpha must be at most alpha"):
        TrainConfig(alpha=0.01, min_alpha=0.02)
    with pytest.raises(ConfigError, match="block_size must be even"):
        TrainConfig(block_size=7)
    with pytest.raises(ConfigError, match="block_negatives must be even"):
        TrainConfig(block_negatives=13)
    with pytest.raises(ConfigError, match="window must be at least 1"):
        TrainConfig(window=0)


def test_hash_seeds_do_not_change_the_files(tmp_path: Path) -> None:
    """Case 12: two processes, two hash seeds, one worker: the same bytes."""
    text = tmp_path / "text.txt"
    text.write_text("\n".join(map(" ".join, planted_sentences(300))))
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "w2v", "train", str(text), "-o", str(tmp_path / seed)]
        options = ["--workers", "1", "--epochs", "1", "--vector-size", "16", "--no-cache"]
        subprocess.run([*command, *options], check=True, env={"PYTHONHASHSEED": seed}, capture_output=True)
    for name in ("vectors.npy", "context.npy", "vocab.tsv", "config.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@given(st.lists(st.integers(1, 90), min_size=1, max_size=60), st.integers(1, 50))
def test_jobs_cover_the_corpus_in_order(lengths: list[int], job_tokens: int) -> None:
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    borders = job_borders(offsets, job_tokens)
    sizes = np.diff(borders)
    assert borders[0] == 0
    assert borders[-1] == offsets[-1]
    assert (sizes > 0).all()
    assert sizes.max() <= 2 * job_tokens


def test_initial_weights_are_uniform_and_the_padding_is_zero() -> None:
    w_in, w_out = initial_weights(5_000, 10, make_layout(10), seed=1)
    assert not w_out.any()
    assert not w_in[:, 10:].any()
    tenths = np.sort(w_in[:, :10].ravel() * 10)[::5_000]
    np.testing.assert_allclose(tenths, np.linspace(-1, 0.8, 10), atol=0.03)


@given(st.integers(1, 900))
def test_rows_are_cut_into_parts_that_hold_them(vector_size: int) -> None:
    layout = make_layout(vector_size)
    assert vector_size <= row_length(layout) < vector_size + 2 * LANES
    assert row_length(layout) % 512 != 0
    assert max(len(layout.wide), len(layout.tail)) <= WIDEST


@given(st.integers(1, 40), st.integers(1, 40))
def test_packing_keeps_every_row(n_words: int, vector_size: int) -> None:
    padded = np.arange(n_words * 48, dtype=np.float32).reshape(n_words, 48)
    wanted = padded[:, :vector_size].copy()
    np.testing.assert_array_equal(pack_rows(padded, vector_size), wanted)


def test_subsampling_follows_the_formula() -> None:
    counts = np.array([50_000, 30_000, 900, 100, 1], np.int64)
    frequency = counts / counts.sum()
    wanted = np.minimum(1, (np.sqrt(frequency / 1e-3) + 1) * 1e-3 / frequency)
    np.testing.assert_allclose(keep_probabilities(counts, 1e-3), wanted)
    np.testing.assert_allclose(keep_thresholds(counts, 1e-3) / 2**32, wanted, atol=1e-9)
    assert (keep_thresholds(counts, 0) == 2**32 - 1).all()


@pytest.mark.parametrize("exponent", [0.75, 0.0, 1.0, -0.5])
@pytest.mark.parametrize("scale", [16 << 32, 24 << 32, 1 << 48])
def test_negatives_follow_the_distribution(exponent: float, scale: int) -> None:
    """Chi-square at a fixed seed, 200,000 draws; 1 in 10,000 fair samplers would fail."""
    counts = np.array([1000, 400, 400, 90, 33, 12, 5, 5, 1, 0, 1], np.int64)
    sampler = NegativeSampler.build(counts, exponent, scale)
    points = np.random.default_rng(9).integers(0, scale, 200_000).astype(np.uint64)
    drawn = np.searchsorted(sampler.cdf, points, side="right")
    observed = np.bincount(drawn, minlength=len(counts))
    weights = np.where(counts > 0, np.maximum(counts, 1.0) ** exponent, 0)
    expected = 200_000 * weights / weights.sum()
    assert observed[9] == 0
    mask = expected > 0
    chi_square = ((observed[mask] - expected[mask]) ** 2 / expected[mask]).sum()
    assert chi_square < 33.7  # 9 degrees of freedom
    guide = sampler.guide[(points >> np.uint64(sampler.guide_shift)).astype(np.int64)]
    assert (guide <= drawn).all(), "the guide begins behind the word"
