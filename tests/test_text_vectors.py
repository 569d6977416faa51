"""Sentence vectors in numpy: each pooling against the formula written out in plain loops."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from vector_strategies import some_model

import w2v
from w2v import ConfigError, Embeddings, Vocab, pooling
from w2v.pooling import common_component, text_vectors
from w2v.vectors.origin import Origin

MODEL = some_model(40, 6)
WORDS = list(MODEL.words)


def naive(sentence: list[str], how: str, a: float = 1e-3) -> NDArray[np.float64]:
    """Pool the vectors of one sentence, in float64."""
    known = [word for word in sentence if word in MODEL.vocab]
    rows = [MODEL[word].astype(np.float64) for word in known]
    if not rows:
        return np.zeros(MODEL.vector_size)
    if how == "max":
        return np.asarray(np.max(rows, axis=0))
    if how == "mean":
        return np.asarray(np.mean(rows, axis=0))
    shares = [MODEL.counts[MODEL.word_id(word)] / MODEL.counts.sum() for word in known]
    weighted = [a / (a + share) * row for share, row in zip(shares, rows, strict=True)]
    return np.asarray(np.mean(weighted, axis=0))


def naive_sif(sentences: list[list[str]], a: float = 1e-3) -> NDArray[np.float64]:
    means = np.array([naive(sentence, "sif", a) for sentence in sentences])
    first = np.linalg.svd(means, full_matrices=False)[2][0]
    return np.asarray(means - np.outer(means @ first, first))


some_sentences = st.lists(
    st.lists(st.sampled_from([*WORDS[:12], "nowhere", ""]), max_size=6), min_size=3, max_size=8
)


@given(some_sentences, st.sampled_from(["mean", "max"]), st.integers(1, 9))
def test_mean_and_max_are_the_formula(sentences: list[list[str]], how: str, at_once: int) -> None:
    before, pooling._TOKENS_AT_ONCE = pooling._TOKENS_AT_ONCE, at_once
    try:
        vectors = text_vectors(MODEL, iter(sentences), pooling=how)
    finally:
        pooling._TOKENS_AT_ONCE = before
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(sentences), MODEL.vector_size)
    for row, sentence in zip(vectors, sentences, strict=True):
        np.testing.assert_allclose(row, naive(sentence, how), atol=1e-6)


@pytest.mark.parametrize("a", [1e-3, 1e-1])
def test_sif_is_the_paper(a: float) -> None:
    rng = np.random.default_rng(3)
    sentences = [list(rng.choice([*WORDS, "nowhere"], size=rng.integers(1, 9))) for _ in range(30)]
    vectors = text_vectors(MODEL, sentences, pooling="sif", a=a)
    np.testing.assert_allclose(vectors, naive_sif(sentences, a), atol=1e-6)


def test_sif_leaves_nothing_along_the_shared_direction() -> None:
    sentences = [WORDS[i : i + 3] for i in range(20)]
    component = common_component(MODEL, sentences)
    assert abs(np.linalg.norm(component) - 1) < 1e-6
    assert component[np.argmax(np.abs(component))] > 0
    vectors = text_vectors(MODEL, sentences, pooling="sif")
    assert np.abs(vectors @ component).max() < 1e-7
    assert np.linalg.norm(vectors, axis=1).min() > 1e-3


def test_the_direction_of_training_serves_for_one_sentence() -> None:
    sentences = [WORDS[i : i + 3] for i in range(20)]
    component = common_component(MODEL, sentences)
    alone = text_vectors(MODEL, [sentences[4]], pooling="sif", component=5 * component)
    np.testing.assert_allclose(alone[0], text_vectors(MODEL, sentences, pooling="sif")[4], atol=1e-7)
    with pytest.raises(ConfigError, match=r"only one of these has a known word.*component="):
        text_vectors(MODEL, [sentences[4], ["nowhere"]], pooling="sif")


@pytest.mark.parametrize("how", ["mean", "max", "sif"])
def test_sentences_without_a_known_word_are_zero_and_reported(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    sentences = ["", WORDS[0], "nowhere", f"{WORDS[1]} {WORDS[2]}"]
    with caplog.at_level(logging.WARNING, "w2v"):
        vectors = text_vectors(MODEL, sentences, pooling=how)
    assert not vectors[[0, 2]].any()
    assert vectors[[1, 3]].any(axis=1).all()
    assert "2 of 4 sentences have no word that the model knows; their vectors are zero (sentence 0, 2)" in (
        caplog.text
    )
    assert text_vectors(MODEL, [], pooling=how).shape == (0, MODEL.vector_size)
    assert not text_vectors(MODEL, ["", "nowhere"], pooling=how).any()


def test_text_is_split_as_str_split_and_lower_cased_as_the_corpus_was() -> None:
    vectors = np.eye(2, dtype=np.float32)
    vocab = Vocab(["big", "cat"], np.array([3, 2]))
    plain = Embeddings(vocab, vectors)
    lowered = Embeddings(vocab, vectors, origin=Origin.from_dict({"corpus": {"lowercase": True}}))
    assert text_vectors(plain, ["big\u3000cat\xa0cat", "BIG cat"]).tolist() == [
        [np.float32(1 / 3), np.float32(2 / 3)],
        [0, 1],
    ]
    assert text_vectors(lowered, ["BIG cat", ["Big"]]).tolist() == [[0.5, 0.5], [1, 0]]


def test_a_memory_mapped_model_is_left_as_it_is(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m")
    model = w2v.load(tmp_path / "m")
    for how in ("mean", "max", "sif"):
        w2v.text_vectors(model, [WORDS[:3], WORDS[4:6]], pooling=how)
    assert (model.vectors == MODEL.vectors).all()


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("one text", "expected a list of sentences, got one str"),
        (b"bytes", "expected a list of sentences, got one bytes"),
        ({"a": 1}, "expected a list of sentences, got one dict"),
        (3, "expected a list of sentences, got one int"),
        ([["a", 3]], "sentence 0: expected tokens of type str, got int 3"),
        (["a", 3], "sentence 1: expected text or a list of tokens, got int"),
        (["a", b"b"], "sentence 1: expected text or a list of tokens, got bytes"),
    ],
)
def test_what_is_no_list_of_sentences_is_refused(sentences: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        text_vectors(MODEL, sentences)


def test_options_that_make_no_sense_are_refused() -> None:
    uncounted = Embeddings(Vocab(WORDS, np.zeros(len(WORDS), np.int64)), MODEL.vectors)
    cases: list[tuple[Embeddings, dict[str, Any], str]] = [
        (MODEL, {"pooling": "median"}, "pooling must be one of mean, max, sif"),
        (MODEL, {"pooling": "sif", "a": 0}, "a must be greater than 0"),
        (MODEL, {"component": np.ones(6)}, "component belongs to pooling 'sif'"),
        (MODEL, {"pooling": "sif", "component": np.ones(5)}, r"expected a component of shape \(6,\)"),
        (MODEL, {"pooling": "sif", "component": np.zeros(6)}, "of finite length greater than 0"),
        (uncounted, {"pooling": "sif"}, "needs the counts of the words"),
    ]
    for model, options, message in cases:
        with pytest.raises(ConfigError, match=message):
            text_vectors(model, [WORDS[:2], WORDS[2:4]], **options)
