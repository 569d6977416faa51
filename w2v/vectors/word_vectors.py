"""What every format reads and writes: words, their vectors, and their origin. No queries, no files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from w2v.errors import ConfigError
from w2v.vectors.origin import Origin
from w2v.vectors.training_report import TrainingReport
from w2v.vectors.vocab import Vocab

Model = TypeVar("Model", bound="WordVectors")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A static embedding matrix with its vocabulary.

    Parameters
    ----------
    vocab : Vocab
        V words; row i of `vectors` belongs to word i.
    vectors : ndarray of float32, shape (V, D)
        The input vectors (w_in, gensim's syn0). May be memory-mapped and read-only. Other real numbers are
        converted; D is at least 1.
    context : ndarray of float32, shape (C, D), optional
        The output vectors (w_out, gensim's syn1neg), if they were kept; with negative sampling one per word.
    origin : Origin
        Settings, corpus fingerprint, versions, seed.
    training : TrainingReport, optional
        What training measured, epoch by epoch, of a model that w2v trained.

    Raises
    ------
    ConfigError
        If `vectors` does not have one row a word or holds no real numbers, or `context` has another number of
        dimensions.
    """

    vocab: Vocab
    vectors: NDArray[np.float32]
    context: NDArray[np.float32] | None = None
    origin: Origin = field(default_factory=Origin)
    training: TrainingReport | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", _as_float32(self.vectors, "vectors"))
        if self.context is not None:
            object.__setattr__(self, "context", _as_float32(self.context, "context"))
        if len(self.vectors) != len(self.vocab):
            raise ConfigError(
                f"vectors has shape {self.vectors.shape}, but the vocabulary has {len(self.vocab)} words"
            )
        if self.context is not None and self.context.shape[1:] != self.vectors.shape[1:]:
            raise ConfigError(
                f"context has shape {self.context.shape}, but vectors have {self.vector_size} dimensions"
            )

    @property
    def words(self) -> Sequence[str]:
        """The words in row order."""
        return self.vocab.words

    @property
    def counts(self) -> NDArray[np.int64]:
        """Corpus counts in row order, int64, shape (V,)."""
        return self.vocab.counts

    @property
    def vector_size(self) -> int:
        """D, the number of dimensions."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.vocab)

    @property
    def has_context_of_words(self) -> bool:
        """Whether there is one context vector per word."""
        return self.context is not None and len(self.context) == len(self)

    def rows(self: Model, selection: slice | Sequence[int]) -> Model:
        """Return the vectors of some rows only, in the order given; a slice is a view, a list a copy.

        Context vectors are kept if there is one per word.
        """
        index: Any = selection
        if isinstance(selection, slice):
            words = list(self.words[selection])
        else:
            words = [self.words[word_id] for word_id in selection]
            index = np.asarray(selection, np.int64)
        context = self.context[index] if self.context is not None and self.has_context_of_words else None
        vocab = Vocab(words, self.counts[index])
        return replace(self, vocab=vocab, vectors=self.vectors[index], context=context, training=None)


def _as_float32(matrix: NDArray[Any], name: str) -> NDArray[np.float32]:
    """Return a matrix as float32: the same where it is that, else a copy."""
    array = np.asarray(matrix)
    if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] == 0:
        raise ConfigError(
            f"{name} must be a matrix of real numbers, got {array.dtype} of shape {array.shape}"
        )
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False)
