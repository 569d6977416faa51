"""The two matrices that training changes: fresh or begun at given vectors, and which rows stay fixed."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from w2v.errors import ConfigError
from w2v.training.cpu.memory import aligned_zeros, make_layout, pack_rows, row_length
from w2v.vectors.vocab import Vocab
from w2v.vectors.word_vectors import WordVectors

_log = logging.getLogger(__name__)
_ROWS_AT_ONCE = 65_536
# Root mean square of fresh rows, as a share of that of given ones. Long rows would keep much of the random
# numbers that they began with. 3 M words after 3 M others, skip-gram, new words that occur 5 to 9 times: of
# their 10 neighbours 28 % are those of a training on both texts at a share of 0.01, 26 % at 0.1, 3 % at 1.
_FRESH_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of a run. Rows are padded with zeros, as the kernels want them; `pack` drops the padding.

    Parameters
    ----------
    w_in : ndarray of float32, shape (V, padded D), C-contiguous
        Input vectors: word2vec's syn0. Modified in place by training.
    w_out : ndarray of float32, shape (R, padded D), C-contiguous
        Output vectors: word2vec's syn1neg. R follows from the objective; with negative sampling it is V.
        Modified in place by training.
    vector_size : int
        D.
    frozen : ndarray of bool, shape (V,), optional
        Rows of w_in that training leaves as they are, to the bit; None: no row.
    given : ndarray of bool, shape (V,), optional
        Rows of w_in that began at given vectors; None: no row.

    Raises
    ------
    ConfigError
        If `frozen` does not have one entry a row of w_in.
    """

    w_in: NDArray[Any]
    w_out: NDArray[Any]
    vector_size: int
    frozen: NDArray[np.bool_] | None = None
    given: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        frozen, n_words = self.frozen, len(self.w_in)
        if frozen is not None and (frozen.dtype != bool or frozen.shape != (n_words,)):
            raise ConfigError(
                f"frozen must be a bool for each of the {n_words} words; got {frozen.dtype} of shape "
                f"{frozen.shape}"
            )

    @classmethod
    def fresh(
        cls, n_in: int, n_out: int, vector_size: int, seed: int, dtype: DTypeLike = np.float32
    ) -> Weights:
        """Return w_in, uniform in (-1, 1) / D, and w_out, zero.

        As gensim (`prep_vectors`). word2vec.c (InitNet) draws from half as wide a range, which trains a
        little slower: the loss stays 0.1 % (skip-gram) to 0.7 % (CBOW) higher.
        """
        weights = cls.zeros(n_in, n_out, vector_size, dtype)
        generator = np.random.default_rng(seed)
        for begin in range(0, n_in, _ROWS_AT_ONCE):
            rows = weights.w_in[begin : begin + _ROWS_AT_ONCE, :vector_size]
            rows[:] = (2 * generator.random(rows.shape, np.float32) - 1) / vector_size
        return weights

    @classmethod
    def zeros(cls, n_in: int, n_out: int, vector_size: int, dtype: DTypeLike = np.float32) -> Weights:
        """Return weights to be filled."""
        length = row_length(make_layout(vector_size, dtype))
        w_in, w_out = (aligned_zeros(n_rows, length, dtype) for n_rows in (n_in, n_out))
        return cls(w_in, w_out, vector_size)

    @classmethod
    def from_vectors(
        cls,
        vocab: Vocab,
        vectors: WordVectors,
        context: WordVectors | None = None,
        *,
        vector_size: int,
        seed: int,
        n_out: int,
    ) -> Weights:
        """Begin at vectors that exist. How many words they have of the vocabulary is logged.

        Words of the vocabulary that `vectors` has begin there, in w_out too if it has one context vector a
        word and w_out one row a word. `context` takes the place of these context vectors. All other rows of
        w_in are drawn as fresh ones, scaled to a fiftieth of the root mean square of the given rows; all
        other rows of w_out are zero.

        Parameters
        ----------
        vocab : Vocab
            V words, the rows of w_in.
        vectors : WordVectors
            Words in any order, also others.
        context : WordVectors, optional
            Output vectors: its context vectors if it has one a word, else its vectors.
        vector_size : int
            D of the run.
        seed : int
        n_out : int
            Rows of w_out.

        Returns
        -------
        Weights
            `given` says which rows began at given vectors; `freeze` takes it.

        Raises
        ------
        ConfigError
            If the vectors have another number of dimensions, or context vectors are given for an objective
            whose output rows are no words.
        """
        for part in (vectors, context):
            if part is not None and part.vector_size != vector_size:
                raise ConfigError(
                    f"the given vectors have {part.vector_size} dimensions, and vector_size is {vector_size}"
                )
        weights = cls.fresh(len(vocab), n_out, vector_size, seed)
        sources = _rows_of(vocab, vectors)
        given = sources >= 0
        _copy_rows(vectors.vectors, sources, weights.w_in)
        if context is not None:
            if n_out != len(vocab):
                raise ConfigError("context vectors are given, but the output rows of this model are no words")
            sources, matrix = _rows_of(vocab, context), _context_of(context)
            _copy_rows(context.vectors if matrix is None else matrix, sources, weights.w_out)
            _log.info("%s context vectors are given", f"{(sources >= 0).sum():,}")
        elif (matrix := _context_of(vectors)) is not None and n_out == len(vocab):
            _copy_rows(matrix, sources, weights.w_out)
        length = _root_mean_square(weights.w_in[:, :vector_size], given)
        if length > 0:
            weights.w_in[~given] *= np.float32(_FRESH_SHARE * length * math.sqrt(3) * vector_size)
        _log.info("%s of %s words begin at given vectors", f"{given.sum():,}", f"{len(vocab):,}")
        return replace(weights, given=given)

    def freeze(self, rows: NDArray[np.bool_]) -> Weights:
        """Return the same weights, some rows of whose w_in, bool of shape (V,), stay as they are."""
        return replace(self, frozen=rows)

    @property
    def largest(self) -> float:
        """The greatest absolute value of all weights."""
        return float(max(np.abs(bound(m)) for m in (self.w_in, self.w_out) for bound in (np.max, np.min)))

    def pack(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return w_in of shape (V, D) and w_out of shape (R, D) in the same memory; the weights are lost."""
        return pack_rows(self.w_in, self.vector_size), pack_rows(self.w_out, self.vector_size)


def _rows_of(vocab: Vocab, vectors: WordVectors) -> NDArray[np.int64]:
    """Return the row of each word of the vocabulary among the vectors, -1 where there is none."""
    index = vectors.vocab.index
    return np.array([index.get(word, -1) for word in vocab.words], np.int64)


def _context_of(vectors: WordVectors) -> NDArray[np.float32] | None:
    return vectors.context if vectors.has_context_of_words else None


def _copy_rows(matrix: NDArray[Any], sources: NDArray[np.int64], target: NDArray[Any]) -> None:
    """Copy row `sources[i]` of a matrix, if that is not -1, to row i of the padded target."""
    for begin in range(0, len(sources), _ROWS_AT_ONCE):
        part = sources[begin : begin + _ROWS_AT_ONCE]
        rows = np.flatnonzero(part >= 0)
        target[begin + rows, : matrix.shape[1]] = matrix[part[rows]]


def _root_mean_square(matrix: NDArray[Any], chosen: NDArray[np.bool_]) -> float:
    """Return the root mean square of all numbers in the chosen rows; 0 if there are none."""
    total = 0.0
    for begin in range(0, len(matrix), _ROWS_AT_ONCE):
        part = slice(begin, begin + _ROWS_AT_ONCE)
        total += float(np.square(matrix[part][chosen[part]], dtype=np.float64).sum())
    return math.sqrt(total / max(1, int(chosen.sum()) * matrix.shape[1]))
