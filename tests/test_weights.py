"""Weights: fresh ones, those that begin at given vectors, and rows that stay as they are."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from w2v.errors import ConfigError
from w2v.training.weights import Weights
from w2v.vectors.vocab import Vocab
from w2v.vectors.word_vectors import WordVectors


def given_vectors(words: str, vector_size: int = 10, context_rows: int | None = None) -> WordVectors:
    random = np.random.default_rng(4)
    n_rows = len(words) if context_rows is None else context_rows
    vectors, context = (
        random.normal(0, 0.3, (n, vector_size)).astype(np.float32) for n in (len(words), n_rows)
    )
    return WordVectors(Vocab(list(words), np.ones(len(words), np.int64)), vectors, context)


def vocab_of(n_words: int, shared: str = "") -> Vocab:
    words = [*shared, *(f"new{i}" for i in range(n_words - len(shared)))]
    return Vocab(words, np.ones(n_words, np.int64))


def test_fresh_weights_are_uniform_and_the_padding_is_zero() -> None:
    weights = Weights.fresh(5_000, 4_999, 10, seed=1)
    assert weights.w_out.shape == (4_999, weights.w_in.shape[1])
    assert not weights.w_out.any()
    assert not weights.w_in[:, 10:].any()
    tenths = np.sort(weights.w_in[:, :10].ravel() * 10)[::5_000]
    np.testing.assert_allclose(tenths, np.linspace(-1, 0.8, 10), atol=0.03)


def test_fresh_weights_are_the_same_for_a_seed() -> None:
    """The bits, too: a model of a seed must not change."""
    w_in, w_out = Weights.fresh(2, 2, 4, seed=1).pack()
    drawn = np.random.default_rng(1).random((2, 4), np.float32)
    np.testing.assert_array_equal(w_in, (2 * drawn - 1) / 4)
    assert w_in.shape == w_out.shape == (2, 4)
    assert w_in.dtype == np.float32


def test_shared_words_begin_at_given_vectors_in_both_matrices(caplog: pytest.LogCaptureFixture) -> None:
    given, vocab = given_vectors("xcbay"), vocab_of(2_000, "abc")
    with caplog.at_level(logging.INFO, "w2v"):
        weights = Weights.from_vectors(vocab, given, vector_size=10, seed=1, n_out=2_000)
    assert "3 of 2,000 words begin at given vectors" in caplog.text
    assert weights.given is not None
    assert np.flatnonzero(weights.given).tolist() == [0, 1, 2]
    assert weights.frozen is None
    w_in, w_out = weights.pack()
    for row, word in enumerate("abc"):
        source = given.vocab.index[word]
        np.testing.assert_array_equal(w_in[row], given.vectors[source])
        np.testing.assert_array_equal(w_out[row], given.context[source])  # type: ignore[index]
    assert not w_out[3:].any()


@pytest.mark.parametrize("scale", [0.001, 1.0, 50.0])
def test_other_rows_begin_at_a_scale_that_fits(scale: float) -> None:
    given, vocab = given_vectors("abcdefghij"), vocab_of(3_000, "abcdefghij")
    given = WordVectors(given.vocab, given.vectors * np.float32(scale))
    w_in, w_out = Weights.from_vectors(vocab, given, vector_size=10, seed=1, n_out=3_000).pack()
    lengths = [np.sqrt(np.square(part).mean()) for part in (w_in[:10], w_in[10:])]
    assert lengths[1] == pytest.approx(0.02 * lengths[0], rel=0.02)
    assert not w_out.any(), "without context vectors w_out is fresh"


@pytest.mark.parametrize("zeros", [True, False], ids=["given vectors of zeros", "no shared word"])
def test_without_a_given_scale_fresh_rows_keep_theirs(zeros: bool) -> None:
    given, vocab = given_vectors("ab"), vocab_of(5, "ab" if zeros else "")
    given = WordVectors(given.vocab, given.vectors * np.float32(0))
    weights = Weights.from_vectors(vocab, given, vector_size=10, seed=1, n_out=5)
    np.testing.assert_array_equal(weights.w_in[2:], Weights.fresh(5, 5, 10, seed=1).w_in[2:])
    assert weights.w_in[0].any() != zeros


def test_context_is_left_where_its_rows_are_no_words() -> None:
    """As of hierarchical softmax, which has one row fewer than words."""
    given, vocab = given_vectors("abc", context_rows=2), vocab_of(3, "abc")
    assert not Weights.from_vectors(vocab, given, vector_size=10, seed=1, n_out=3).w_out.any()
    whole = given_vectors("abc")
    assert not Weights.from_vectors(vocab, whole, vector_size=10, seed=1, n_out=2).w_out.any()


def test_another_width_is_an_error_that_names_both() -> None:
    with pytest.raises(ConfigError, match="vectors have 10 dimensions, and vector_size is 300"):
        Weights.from_vectors(vocab_of(5), given_vectors("ab"), vector_size=300, seed=1, n_out=5)


def test_frozen_rows_are_a_mask_of_the_words() -> None:
    weights = Weights.fresh(5, 5, 10, seed=1)
    rows = np.array([True, False, False, True, False])
    assert weights.freeze(rows).frozen is rows
    for wrong in (rows[:4], np.array([0, 3])):
        with pytest.raises(ConfigError, match="frozen must be a bool for each of the 5 words"):
            weights.freeze(wrong)
