"""Two embeddings that are there already, compared on the words they share: `compare_models`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from w2v.comparison.profile import (
    EvaluationSets,
    Probe,
    Score,
    make_profile,
    neighbor_overlap,
    procrustes_residual,
    similarity_correlation,
)
from w2v.embeddings import Embeddings
from w2v.vectors.vocab import Vocab


@dataclass(frozen=True)
class ModelComparison:
    """How two embeddings differ.

    Attributes
    ----------
    n_words, n_shared : (int, int), int
        Words of each, and those that both have; all that follows is about the latter.
    scores : tuple of (Score, Score)
        The two results on every test set; both answer the same questions.
    neighbor_overlap : float
        Share of the ten nearest words, by cosine, that both have; see `Probe` for the words asked.
    similarity_correlation : float
        Spearman's correlation of the cosines of random pairs of frequent words.
    procrustes_residual : float
        Distance of frequent words' unit vectors after the best rotation; 0 if equal, 1.41 if unrelated.
    """

    n_words: tuple[int, int]
    n_shared: int
    scores: tuple[tuple[Score, Score], ...]
    neighbor_overlap: float
    similarity_correlation: float
    procrustes_residual: float


def compare_models(
    model: Embeddings, other: Embeddings, *, sets: EvaluationSets | None = None
) -> ModelComparison:
    """Compare two embeddings on the words they share, in the order (of frequency) of the first.

    Parameters
    ----------
    model, other : Embeddings
        Their dimensions may differ.
    sets : EvaluationSets, optional
        By default those that gensim carries.

    Raises
    ------
    ConfigError
        If they share fewer than 12 words.

    Examples
    --------
    >>> import w2v
    >>> w2v.compare_models(w2v.load("mine"), w2v.load("theirs.bin")).neighbor_overlap  # doctest: +SKIP
    """
    words = [word for word in model.words if word in other.vocab.index]
    probe = Probe.draw(len(words))
    sets = sets or EvaluationSets.read()
    first, second = (make_profile(_shared(one, words), probe, sets) for one in (model, other))
    return ModelComparison(
        (len(model), len(other)),
        len(words),
        tuple(zip(first.scores, second.scores, strict=True)),
        neighbor_overlap(first, second),
        similarity_correlation(first, second),
        procrustes_residual(first, second),
    )


def _shared(model: Embeddings, words: list[str]) -> Embeddings:
    rows = [model.vocab.index[word] for word in words]
    if rows == list(range(len(model))):
        return model
    vocab = Vocab(words, np.asarray(model.counts)[rows])
    return replace(model, vocab=vocab, vectors=model.vectors[rows], context=None, training=None)
