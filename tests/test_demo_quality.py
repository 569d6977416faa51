"""On real text, too, every model learns: the demo corpus, judged by WordSim-353."""

from __future__ import annotations

from pathlib import Path

import pytest

from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.embeddings import Embeddings
from w2v.evaluation.pairs import evaluate_pairs
from w2v.evaluation.sets import read_pairs
from w2v.training.model import train_model
from w2v.training.weights import Weights


@pytest.fixture(scope="module")
def corpus(demo_text: Path) -> EncodedCorpus:
    return encode(demo_text, vocab=VocabConfig(min_count=8))


def wordsim(model: Embeddings) -> float:
    score = evaluate_pairs(model, read_pairs("wordsim353"))
    assert score.n_known > 150
    assert score.spearman is not None
    return score.spearman


@pytest.mark.parametrize("model", ["sg", "cbow"])
def test_the_block_kernel_learns_from_real_text(corpus: EncodedCorpus, model: str) -> None:
    """Three seeds of each gave 0.39 to 0.48; the exact kernel 0.43."""
    trained = train_model(corpus, TrainConfig(model=model, window=8, epochs=40, workers=2))
    assert wordsim(trained) > 0.33


def test_untrained_vectors_fail_the_same_check(corpus: EncodedCorpus) -> None:
    n_words = len(corpus.vocab)
    w_in, _ = Weights.fresh(n_words, n_words, 100, seed=1).pack()
    untrained = Embeddings(corpus.vocab, w_in)
    assert abs(wordsim(untrained)) < 0.25
