"""The trainer: jobs, workers, learning rate, reports, errors; and that what it trains is learnt."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.test.utils import common_texts as COMMON_TEXTS
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import w2v
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.errors import ConfigError, CorpusError, TrainingError
from w2v.objectives import MODELS
from w2v.training.cpu.lanes import LANES, WIDEST
from w2v.training.cpu.memory import make_layout, pack_rows, row_length
from w2v.training.engine import HogwildEngine, Totals
from w2v.training.jobs import Schedule
from w2v.training.sampling import NegativeSampler, keep_thresholds
from w2v.training.trainer import RunState, TrainingProgress, train_weights
from w2v.training.weights import Weights
from w2v.vectors.vocab import keep_probabilities
from w2v.vectors.word_vectors import WordVectors

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


def fresh(corpus: EncodedCorpus, seed: int = 1) -> Weights:
    n_words = len(corpus.vocab)
    return Weights.fresh(n_words, n_words, 16, seed)


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
    w_in, _ = fresh(planted).pack()
    assert cluster_purity(planted.vocab.words, w_in) < 0.4


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


@pytest.mark.parametrize("sentences", [COMMON_TEXTS, COMMON_TEXTS * 5], ids=["once", "five times"])
def test_an_epoch_without_a_pair_ends_no_run(sentences: list[list[str]], tmp_path: Path) -> None:
    """Subsampling at 1e-3 leaves few words of so small a corpus: in some epochs no two in a sentence."""
    model = w2v.train(sentences, min_count=1, epochs=30, workers=1, vector_size=8)
    assert model.training is not None
    empty = [report.pairs == 0 for report in model.training.epochs]
    assert len(empty) == 30
    assert any(empty) or sentences is not COMMON_TEXTS
    assert not all(empty)
    assert [math.isnan(loss) for loss in model.training.loss] == empty
    assert np.isfinite(model.vectors).all()
    model.save(tmp_path / "model")
    assert "NaN" not in (tmp_path / "model" / "training.jsonl").read_text()
    again = w2v.load(tmp_path / "model").training
    assert again is not None
    assert [math.isnan(loss) for loss in again.loss] == empty


def test_no_epoch_with_a_pair_is_an_error_at_the_end() -> None:
    reports: list[Any] = []
    with pytest.raises(CorpusError, match="nothing to train"):
        w2v.train([["a", "b"]], min_count=1, sample=1e-9, epochs=5, vector_size=8, on_report=reports.append)
    assert len(reports) == 4


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
    seen: list[TrainingProgress] = []
    train_weights(planted, settings(), on_progress=seen.append)
    assert seen[-1].tokens == seen[-1].total_tokens == 2 * planted.n_tokens
    assert seen[-1].alpha == pytest.approx(settings().min_alpha)


def test_an_error_in_a_callback_stops_the_workers(planted: EncodedCorpus) -> None:
    def fail(_: TrainingProgress) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        train_weights(planted, settings(kernel="exact", epochs=50), on_progress=fail)


@pytest.fixture
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of 5 jobs; the planted corpus has 24."""
    monkeypatch.setattr("w2v.training.engine._JOBS_A_ROUND", 5)


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize("workers", [1, 3])
def test_after_each_round_a_hook_sees_where_the_run_stands(planted: EncodedCorpus, workers: int) -> None:
    states: list[RunState] = []
    losses: list[float] = []

    def look(state: RunState, weights: Weights) -> None:
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("w2v")]
        assert np.isfinite(weights.w_in).all()
        states.append(state)

    report = train_weights(
        planted,
        settings(workers=workers),
        after_round=look,
        on_report=lambda one: losses.append(one.loss),
    ).report
    ends = list(range(5 * workers, 24, 5 * workers))
    assert [(state.epoch, state.next_job) for state in states] == [
        *((0, end) for end in ends),
        (1, 0),
        *((1, end) for end in ends),
        (2, 0),
    ]
    assert states[0].totals.tokens > 0
    assert states[-1].reports == report.epochs
    assert losses == report.loss
    assert report.tokens == 2 * planted.n_tokens


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize("model", ["sg", "cbow"])
@pytest.mark.parametrize("kernel", ["block", "exact"])
@pytest.mark.parametrize("stop", [1, 5, 7])
def test_a_run_that_was_stopped_ends_in_the_same_bytes(
    planted: EncodedCorpus, model: str, kernel: str, stop: int
) -> None:
    """One worker; rounds of 5 jobs, so that round 5 ends the first epoch of two."""
    config = settings(model=model, kernel=kernel)
    states: list[tuple[RunState, Weights]] = []

    def save(state: RunState, weights: Weights) -> None:
        states.append((state, Weights(weights.w_in.copy(), weights.w_out.copy(), weights.vector_size)))

    whole = train_weights(planted, config, after_round=save)
    state, weights = states[stop - 1]
    assert (state.next_job == 0) == (stop == 5)
    again = train_weights(planted, config, weights=weights, start=state)
    np.testing.assert_array_equal(again.w_in, whole.w_in)
    np.testing.assert_array_equal(again.w_out, whole.w_out)
    assert again.report.loss == whole.report.loss
    assert [one.pairs for one in again.report.epochs] == [one.pairs for one in whole.report.epochs]


def test_rounds_do_not_change_what_one_worker_trains(
    planted: EncodedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = train_weights(planted, settings())
    monkeypatch.setattr("w2v.training.engine._JOBS_A_ROUND", 1)
    many = train_weights(planted, settings())
    np.testing.assert_array_equal(one.w_in, many.w_in)
    assert one.report.loss == many.report.loss


def test_a_small_corpus_is_one_round_an_epoch(planted: EncodedCorpus) -> None:
    rounds: list[RunState] = []
    train_weights(planted, settings(epochs=3), after_round=lambda state, weights: rounds.append(state))
    assert [state.epoch for state in rounds] == [1, 2, 3]


def test_a_hook_that_fails_ends_the_run(planted: EncodedCorpus) -> None:
    def fail(state: RunState, weights: Weights) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        train_weights(planted, settings(), after_round=fail)


def test_training_goes_on_from_weights_handed_in(planted: EncodedCorpus) -> None:
    """The first epoch's loss is lower than from fresh weights, and fresh ones handed in are the default."""
    default, handed = (
        train_weights(planted, settings()),
        train_weights(planted, settings(), weights=fresh(planted)),
    )
    np.testing.assert_array_equal(default.w_in, handed.w_in)
    trained = WordVectors(planted.vocab, default.w_in, default.w_out)
    weights = Weights.from_vectors(planted.vocab, trained, vector_size=16, seed=1, n_out=len(planted.vocab))
    went_on = train_weights(planted, settings(), weights=weights)
    assert went_on.report.loss[0] < default.report.loss[0] - 0.02


def test_weights_of_another_shape_are_refused(planted: EncodedCorpus) -> None:
    with pytest.raises(ConfigError, match="72 input rows, 72 output rows and 16 dimensions"):
        train_weights(planted, settings(vector_size=20), weights=fresh(planted))
    with pytest.raises(ConfigError, match="72 input rows, 71 output rows"):
        train_weights(planted, settings(), weights=Weights.fresh(72, 71, 16, 1))


def test_every_job_is_done_once_whatever_the_threads(planted: EncodedCorpus) -> None:
    """Jobs of one sentence each: 16 threads want the next one all the time."""
    schedule = Schedule(settings().resolved(planted.n_tokens), planted.offsets, planted.offsets)
    config = settings(workers=16, kernel="exact").resolved(planted.n_tokens)
    engine = HogwildEngine.prepare(planted, config, fresh(planted), schedule)
    seen: list[Totals] = []
    work = engine.new_round(schedule.jobs(0, 0, schedule.n_jobs), Totals(5, 6, 7))
    engine.run(work, seen.append)
    assert work.totals.tokens == 5 + planted.n_tokens
    assert work.n_taken == schedule.n_jobs
    assert not work.is_running
    assert seen[-1] == work.totals


@pytest.fixture(scope="module")
def many_words() -> EncodedCorpus:
    """2,000 words by Zipf's law, so that several workers have own rows of the most frequent ones."""
    random = np.random.default_rng(6)
    share = 1 / np.arange(1, 2_001)
    ids = random.choice(2_000, 60_000, p=share / share.sum())
    ids[:2_000] = np.arange(2_000)
    return encode([[f"w{i}" for i in line] for line in ids.reshape(-1, 10)], vocab=VocabConfig(min_count=1))


@pytest.mark.parametrize("model", ["sg", "cbow"])
@pytest.mark.parametrize("kernel", ["block", "exact"])
@pytest.mark.parametrize("workers", [1, 3])
def test_frozen_rows_are_the_same_bits_after_training(
    many_words: EncodedCorpus, model: str, kernel: str, workers: int
) -> None:
    """Also of the most frequent words, and of -0.0, which is equal to 0.0 but other bits."""
    config = settings(model=model, kernel=kernel, workers=workers)
    weights = Weights.fresh(len(many_words.vocab), len(many_words.vocab), 16, seed=1)
    frozen = np.arange(len(many_words.vocab)) % 3 == 0
    weights.w_in[frozen, :4] = -0.0
    before = weights.w_in[:, :16].copy()
    trained = train_weights(many_words, config, weights=weights.freeze(frozen))
    np.testing.assert_array_equal(trained.w_in.view(np.uint32)[frozen], before.view(np.uint32)[frozen])
    assert (trained.w_in != before).any(axis=1)[~frozen].all()
    assert trained.w_out.any(axis=1).all()


def test_settings_of_all_kinds_go_to_their_config_and_others_are_named() -> None:
    model = w2v.train(
        planted_sentences(100), min_count=2, lowercase=True, vector_size=15, epochs=1, workers=1
    )
    assert model.vectors.shape == (len(model.words), 15)
    assert model.origin.training["vector_size"] == 15
    with pytest.raises(ConfigError, match="unknown settings: vectorsize"):
        w2v.train([["a"]], vectorsize=7)  # type: ignore[call-arg]


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
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([*command, *options], check=True, env=environment, capture_output=True)
    for name in ("vectors.npy", "context.npy", "vocab.tsv", "config.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


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


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "extreme",
    [
        {"negative": 1000},
        {"negative": 50},
        {"window": 1000},
        {"window": 30},
        {"block_size": 1024},
        {"block_negatives": 2},
        {"negative": 1000, "window": 1000, "block_size": 1024, "block_negatives": 2},
        {"negative": 20, "window": 10, "sample": 0},
        {"negative": 1, "vector_size": 1},
    ],
)
def test_every_allowed_setting_trains_at_its_default_rate(demo_text: Path, model: str, extreme: Any) -> None:
    # Long lines, so that a wide window is one; a tenth of the corpus.
    tokens = demo_text.read_text().split()[:40_000]
    lines = [tokens[start : start + 2000] for start in range(0, len(tokens), 2000)]
    trained = w2v.train(lines, **{"model": model, "epochs": 2, "workers": 1, "vector_size": 20, **extreme})
    assert trained.training is not None
    first, second = trained.training.loss
    assert second < first < (extreme.get("negative", 5) + 1) * np.log(2)
    assert np.abs(trained.vectors).max() < 20


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "cbow", "alpha": 1.0}, "training diverges in epoch 1: .*; lower --alpha .now 1"),
        ({"model": "cbow", "alpha": 0.5, "negative": 20}, "lower --alpha"),
        ({"model": "sg", "alpha": 0.3}, "lower --alpha"),
        ({"model": "cbow", "kernel": "exact", "alpha": 10.0}, "lower --alpha"),
    ],
)
def test_training_that_diverges_says_so(demo_text: Path, settings: Any, message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        w2v.train(demo_text, epochs=2, workers=1, **settings)
