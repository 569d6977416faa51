"""gensim's KeyedVectors, in memory, both ways: the same words in the same order, with their counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from w2v.errors import ConfigError
from w2v.vectors.origin import Origin
from w2v.vectors.vocab import Vocab
from w2v.vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from gensim.models import KeyedVectors


def to_gensim(model: WordVectors) -> KeyedVectors:
    """Make a gensim KeyedVectors of a model.

    Returns
    -------
    gensim.models.KeyedVectors
        Row i is word i. The vectors are a copy, so gensim may change them. The attribute `count` is there
        when any count is known (not 0).
    """
    from gensim.models import KeyedVectors

    kv = KeyedVectors(vector_size=model.vector_size, count=len(model), dtype=np.float32)
    kv.index_to_key = list(model.words)
    kv.key_to_index = dict(model.vocab.index)
    kv.vectors = np.array(model.vectors, np.float32, order="C")
    if model.counts.any():
        kv.allocate_vecattrs(attrs=["count"], types=[np.int64])
        kv.expandos["count"][:] = model.counts
    return kv


def from_gensim(vectors: Any) -> WordVectors:
    """Make a model of gensim vectors.

    Parameters
    ----------
    vectors : gensim.models.KeyedVectors, or a model that has them as `wv`
        Of a model with negative sampling the context vectors (syn1neg) are kept too.

    Returns
    -------
    WordVectors
        float32 copies, in gensim's order; counts as gensim has them (it makes up V, V - 1, ..., 1 for vectors
        that it read from a word2vec file), 0 where it has none.

    Raises
    ------
    ConfigError
        If the object has no vectors of words.
    """
    kv = getattr(vectors, "wv", vectors)
    words = getattr(kv, "index_to_key", None)
    if words is None or not all(isinstance(word, str) for word in words):
        raise ConfigError(f"expected gensim vectors of words, got {type(vectors).__name__}")
    counts = np.zeros(len(words), np.int64)
    known = kv.expandos.get("count")
    if known is not None:
        counts = np.array(known, np.int64)
    context = getattr(vectors, "syn1neg", None)
    if context is not None:
        context = np.array(context, np.float32, order="C")
    matrix = np.array(kv.vectors, np.float32, order="C")
    return WordVectors(Vocab(list(words), counts), matrix, context, Origin(source={"format": "gensim"}))
