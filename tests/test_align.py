"""Rotating one model onto another, and the command align."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray

import w2v
from w2v import Embeddings, Vocab
from w2v.cli import cli
from w2v.vectors.rotation import best_rotation

WORDS = [f"w{i}" for i in range(40)]


def run(*arguments: str | Path | int) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def model_of(words: list[str], vectors: NDArray[np.floating], *, context: bool = False) -> Embeddings:
    counts = np.arange(len(words), 0, -1) * 10
    rows = vectors.astype(np.float32)
    return Embeddings(Vocab(words, counts), rows, rows[::-1] * 2 if context else None)


def turn(seed: int, size: int = 6) -> NDArray[np.float64]:
    matrix = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]
    return np.asarray(matrix, np.float64)


@pytest.fixture
def pair() -> tuple[Embeddings, Embeddings]:
    """Return a model and itself turned, with other lengths, two words exchanged, and words of its own."""
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(40, 6))
    changed = vectors.copy()
    changed[[3, 4]] = -vectors[[3, 4]]
    changed *= rng.uniform(0.5, 2, size=(40, 1))
    words = [*WORDS[:39], "only_new"]
    return model_of(WORDS, vectors), model_of(words, changed @ turn(2), context=True)


def test_a_turned_model_is_turned_back(pair: tuple[Embeddings, Embeddings]) -> None:
    old, _ = pair
    new = Embeddings(old.vocab, (old.vectors @ turn(5)).astype(np.float32))
    found = w2v.align(old, new)
    np.testing.assert_allclose(found.model.vectors, old.vectors, atol=1e-5)
    np.testing.assert_allclose(found.rotation, turn(5).T, atol=1e-5)
    assert found.after.mean == pytest.approx(1)
    assert found.before.mean < 0.9


def test_the_rotation_is_that_of_scipy() -> None:
    from scipy.linalg import orthogonal_procrustes

    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 50, 6))
    blocks = [(first[:20], second[:20]), (first[20:], second[20:])]
    np.testing.assert_allclose(best_rotation(blocks), orthogonal_procrustes(first, second)[0], atol=1e-9)


def test_it_is_fitted_on_unit_rows_and_nothing_is_scaled(pair: tuple[Embeddings, Embeddings]) -> None:
    from scipy.linalg import orthogonal_procrustes

    old, new = pair
    found = w2v.align(old, new)
    units = [one.vectors[:39] / np.linalg.norm(one.vectors[:39], axis=1, keepdims=True) for one in (new, old)]
    np.testing.assert_allclose(found.rotation, orthogonal_procrustes(*units)[0], atol=1e-5)
    assert found.model.words == new.words
    assert (found.n_shared, found.n_fitted) == (39, 39)
    np.testing.assert_allclose(found.model.norms, new.norms, rtol=1e-5)
    assert new.context is not None
    assert found.model.context is not None
    products = new.vectors @ new.context.T
    np.testing.assert_allclose(found.model.vectors @ found.model.context.T, products, atol=1e-4)


def test_words_that_changed_moved_most(pair: tuple[Embeddings, Embeddings]) -> None:
    found = w2v.align(*pair, show=3)
    assert {word.word for word in found.moved[:2]} == {"w3", "w4"}
    cosines = [word.cosine for word in found.moved]
    assert cosines == sorted(cosines)
    assert len(cosines) == 3
    few = w2v.align(*pair, frequent=4).moved
    assert few[0].word == "w3"
    assert {word.word for word in few} == {"w0", "w1", "w2", "w3"}


def test_top_fits_on_words_that_are_frequent_in_both() -> None:
    vectors = np.random.default_rng(3).normal(size=(40, 6))
    changed = vectors.copy()
    changed[20:] = vectors[20:][::-1]
    old = model_of(WORDS, vectors)
    new = model_of(WORDS, changed @ turn(4))
    found = w2v.align(old, new, top=20)
    assert found.n_fitted == 20
    np.testing.assert_allclose(found.model.vectors[:20], vectors[:20], atol=1e-5)
    assert np.abs(w2v.align(old, new).model.vectors[:20] - vectors[:20]).max() > 0.1


def test_a_vector_of_zeros_is_no_shared_word(pair: tuple[Embeddings, Embeddings]) -> None:
    old, new = pair
    vectors = new.vectors.copy()
    vectors[7] = 0
    found = w2v.align(old, Embeddings(new.vocab, vectors))
    assert found.n_shared == 38
    assert not found.model.vectors[7].any()
    with pytest.raises(w2v.ConfigError, match="all 39 shared words have a vector of zeros"):
        w2v.align(old, Embeddings(new.vocab, vectors * 0))


def test_few_words_are_warned_of(
    pair: tuple[Embeddings, Embeddings], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        w2v.align(*pair, top=6)
        assert not caplog.records
        w2v.align(*pair, top=5)
    assert "fitted on 5 words in 6 dimensions" in caplog.text


def test_what_cannot_be_aligned_is_an_error(pair: tuple[Embeddings, Embeddings]) -> None:
    old, new = pair
    narrow = Embeddings(new.vocab, new.vectors[:, :5])
    with pytest.raises(w2v.ConfigError, match="the old model has 6 dimensions, the new one 5"):
        w2v.align(old, narrow)
    with pytest.raises(w2v.ConfigError, match="no word is in both models"):
        w2v.align(old, model_of([f"x{i}" for i in range(40)], new.vectors))
    with pytest.raises(w2v.ConfigError, match="top must be at least 1; got 0"):
        w2v.align(old, new, top=0)


def test_the_command(pair: tuple[Embeddings, Embeddings], tmp_path: Path) -> None:
    old, new = pair
    old.save_as(tmp_path / "old.txt")
    new.save(tmp_path / "new")
    result = run("align", tmp_path / "old.txt", tmp_path / "new", "-o", tmp_path / "out", "--show", 2)
    assert result.exit_code == 0, result.output
    assert "39 shared words, fitted on 39" in result.stdout
    assert "moved most" in result.stdout
    assert "w3" in result.stdout
    out = w2v.load(tmp_path / "out")
    assert out.origin.postprocessing["aligned_to"]["path"] == str(tmp_path / "old.txt")
    np.testing.assert_allclose(out.vectors, w2v.align(old, new).model.vectors, atol=1e-4)
    assert out.context is not None
    result = run("align", tmp_path / "old.txt", tmp_path / "new", "-o", tmp_path / "out.vec", "--json")
    assert json.loads(result.stdout)["n_shared"] == 39
    assert w2v.load(tmp_path / "out.vec").vector_size == 6


def test_an_error_writes_nothing(pair: tuple[Embeddings, Embeddings], tmp_path: Path) -> None:
    old, new = pair
    old.save(tmp_path / "old")
    Embeddings(new.vocab, new.vectors[:, :5]).save(tmp_path / "new")
    result = run("align", tmp_path / "old", tmp_path / "new", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: the old model has 6 dimensions")
    assert not (tmp_path / "out").exists()
