"""Vectors of sentences without a network: mean, maximum, or SIF-weighted mean of the word vectors.

SIF is smooth inverse frequency, Arora, Liang and Ma 2017, "A Simple but Tough-to-Beat Baseline for Sentence
Embeddings". No torch here; `w2v.pytorch` has an `nn.EmbeddingBag`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.corpus.tokens.tokenizers import text_cutter
from w2v.embeddings import Embeddings
from w2v.errors import ConfigError

_LOG = logging.getLogger(__name__)
_TOKENS_AT_ONCE = 1 << 15
POOLINGS = ("mean", "max", "sif")

Floats = NDArray[np.float32]


def text_vectors(
    model: Embeddings,
    sentences: Iterable[str | Sequence[str]],
    *,
    pooling: str = "mean",
    a: float = 1e-3,
    component: NDArray[np.floating[Any]] | None = None,
) -> Floats:
    """Turn each sentence into one vector.

    Parameters
    ----------
    model : Embeddings
    sentences : iterable of str or of sequences of str, length n
        Text is cut into tokens as the model's corpus was (by default as by `str.split()`). Read once.
    pooling : {"mean", "max", "sif"}
        Over the vectors of the tokens that the model knows: their mean, their maximum in each dimension, or
        their mean weighted by a / (a + p(word)), p being the word's share of the model's counts, less its
        projection on the direction that all sentences share.
    a : float
        The parameter of "sif"; the paper takes 1e-3 to 1e-4.
    component : ndarray of float, shape (D,), optional
        For "sif": the shared direction, where it is to be that of other sentences (those of training, say),
        from `common_component`. By default it is found from these sentences.

    Returns
    -------
    ndarray of float32, shape (n, D)
        A sentence without a known token has a row of zeros; how many there are is logged.

    Raises
    ------
    ConfigError
        If `sentences` is one text, an option is out of range, or for "sif" the model has no counts, or a
        single sentence is given without `component`: its own direction is all it has.

    Examples
    --------
    >>> import numpy as np
    >>> from w2v import Embeddings, Vocab
    >>> from w2v.pooling import text_vectors
    >>> model = Embeddings(Vocab(["big", "cat"], np.array([3, 2])), np.eye(2, dtype=np.float32))
    >>> text_vectors(model, ["big big cat", "", "cat zebra"])
    array([[0.6666667 , 0.33333334],
           [0.        , 0.        ],
           [0.        , 1.        ]], dtype=float32)
    """
    if pooling not in POOLINGS:
        raise ConfigError(f"pooling must be one of {', '.join(POOLINGS)}; got {pooling!r}")
    if component is not None and pooling != "sif":
        raise ConfigError(f"component belongs to pooling 'sif', not to {pooling!r}")
    if pooling != "sif":
        return _pool(model, sentences, pooling, None)
    vectors = _pool(model, sentences, "mean", _sif_weights(model, a))
    direction = _direction(vectors) if component is None else _checked_direction(component, model)
    return vectors - (vectors @ direction)[:, np.newaxis] * direction


def common_component(
    model: Embeddings, sentences: Iterable[str | Sequence[str]], *, a: float = 1e-3
) -> Floats:
    """Find the direction that SIF takes out: the first right singular vector of the weighted means.

    Returns
    -------
    ndarray of float32, shape (D,)
        Of length 1; the sign is such that the entry of greatest size is positive.

    Raises
    ------
    ConfigError
        As `text_vectors`.
    """
    return _direction(_pool(model, sentences, "mean", _sif_weights(model, a)))


def tokens_of(
    sentences: Iterable[str | Sequence[str]],
    *,
    lowercase: bool = False,
    cut: Callable[[str], list[str]] = str.split,
) -> Iterator[list[str]]:
    """Yield the tokens of each sentence: text is split by `cut`, token lists stay as they are.

    Raises
    ------
    ConfigError
        If `sentences` is itself a text, or a sentence or token is something else than text.
    """
    if isinstance(sentences, str | bytes | Mapping) or not isinstance(sentences, Iterable):
        raise ConfigError(
            f"expected a list of sentences, got one {type(sentences).__name__}; put a single one in a list"
        )
    for number, sentence in enumerate(sentences):
        tokens = cut(sentence) if isinstance(sentence, str) else _token_list(sentence, number)
        yield [token.lower() for token in tokens] if lowercase else tokens


def _token_list(sentence: Any, number: int) -> list[str]:
    if isinstance(sentence, bytes | Mapping) or not isinstance(sentence, Iterable):
        raise ConfigError(
            f"sentence {number}: expected text or a list of tokens, got {type(sentence).__name__}"
        )
    tokens = list(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise ConfigError(
                f"sentence {number}: expected tokens of type str, got {type(token).__name__} {token!r}"
            )
    return tokens


def _pool(
    model: Embeddings,
    sentences: Iterable[str | Sequence[str]],
    pooling: str,
    weights: Floats | None,
) -> Floats:
    tokens = tokens_of(
        sentences, lowercase=model.origin.is_lowercased, cut=text_cutter(model.vocab, model.origin.reading)
    )
    blocks = [
        _pool_block(model, ids, lengths, pooling, weights) for ids, lengths in _id_blocks(model, tokens)
    ]
    vectors = np.concatenate([vectors for vectors, _ in blocks]) if blocks else _zeros(model, 0)
    lengths = np.concatenate([lengths for _, lengths in blocks]) if blocks else np.zeros(0, np.int64)
    _report_unknown(lengths)
    return vectors


def _id_blocks(
    model: Embeddings, sentences: Iterable[list[str]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the ids of the known tokens of some sentences, one after the other, and how many each has."""
    index = model.vocab.index
    ids: list[int] = []
    lengths: list[int] = []
    for tokens in sentences:
        known = [index[token] for token in tokens if token in index]
        ids += known
        lengths.append(len(known))
        if len(ids) >= _TOKENS_AT_ONCE:
            yield np.array(ids, np.int64), np.array(lengths, np.int64)
            ids, lengths = [], []
    if lengths:
        yield np.array(ids, np.int64), np.array(lengths, np.int64)


def _pool_block(
    model: Embeddings,
    ids: NDArray[np.int64],
    lengths: NDArray[np.int64],
    pooling: str,
    weights: Floats | None,
) -> tuple[Floats, NDArray[np.int64]]:
    pooled = _zeros(model, len(lengths))
    filled = lengths > 0
    if not filled.any():
        return pooled, lengths
    # Sentences without a token have no part in it: `reduceat` would give them their neighbour's first token.
    starts = (np.cumsum(lengths) - lengths)[filled]
    rows = np.asarray(model.vectors[ids], np.float32)
    if pooling == "max":
        pooled[filled] = np.maximum.reduceat(rows, starts)
        return pooled, lengths
    if weights is not None:
        rows *= weights[ids, np.newaxis]
    sums = np.add.reduceat(rows, starts, dtype=np.float64)
    pooled[filled] = sums / lengths[filled, np.newaxis]
    return pooled, lengths


def _zeros(model: Embeddings, n: int) -> Floats:
    return np.zeros((n, model.vector_size), np.float32)


def _sif_weights(model: Embeddings, a: float) -> Floats:
    """Return a / (a + p(word)) for every word, float32, shape (V,)."""
    if not a > 0:
        raise ConfigError(f"a must be greater than 0; got {a!r}")
    total = model.counts.sum(dtype=np.float64)
    if not total > 0:
        raise ConfigError(
            "pooling 'sif' needs the counts of the words, which this model does not have; use 'mean'"
        )
    return np.asarray(a / (a + model.counts / total), np.float32)


def _direction(vectors: Floats) -> Floats:
    """Return the first right singular vector of the sentences, unit length, greatest entry positive."""
    n_filled = int(np.count_nonzero(vectors.any(axis=1)))
    if n_filled == 1:
        raise ConfigError(
            "pooling 'sif' takes out the direction that the sentences share, but only one of these has a "
            "known word, and nothing would be left of it; give more sentences, or component= of others"
        )
    moments = vectors.T.astype(np.float64) @ vectors
    direction = np.linalg.eigh(moments)[1][:, -1]
    sign = np.sign(direction[np.argmax(np.abs(direction))])
    return np.asarray(direction * sign, np.float32)


def _checked_direction(component: NDArray[np.floating[Any]], model: Embeddings) -> Floats:
    direction = np.asarray(component, np.float64)
    if direction.shape != (model.vector_size,):
        raise ConfigError(f"expected a component of shape ({model.vector_size},), got {direction.shape}")
    length = np.linalg.norm(direction)
    if not (np.isfinite(length) and length > 0):
        raise ConfigError(f"expected a component of finite length greater than 0, got {length}")
    return np.asarray(direction / length, np.float32)


def _report_unknown(lengths: NDArray[np.int64]) -> None:
    unknown = np.flatnonzero(lengths == 0)
    if len(unknown):
        shown = ", ".join(map(str, unknown[:5])) + (", …" if len(unknown) > 5 else "")
        _LOG.warning(
            "%d of %d sentences have no word that the model knows; their vectors are zero (sentence %s)",
            len(unknown),
            len(lengths),
            shown,
        )
