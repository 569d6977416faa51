"""Embeddings: words with their vectors, and the questions one asks of them. No training, no files."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v.errors import ConfigError, UnknownWordError
from w2v.vocab import Vocab

if TYPE_CHECKING:
    from pathlib import Path

    from w2v.train.report import TrainingReport

METRICS = ("cosine", "dot", "euclidean", "manhattan")
_ROWS_AT_ONCE = 4096


class Neighbor(NamedTuple):
    """A word and its score: a similarity (cosine, dot: higher is nearer) or a distance (lower is nearer)."""

    word: str
    score: float


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A static embedding matrix with its vocabulary.

    Parameters
    ----------
    vocab : Vocab
        V words; row i of every matrix belongs to word i.
    vectors : ndarray of float32, shape (V, D)
        The input vectors (w_in, gensim's syn0). May be memory-mapped and read-only.
    context : ndarray of float32, shape (V, D), optional
        The output vectors (w_out, gensim's syn1neg), where they were kept.
    config : mapping, optional
        How the vectors came to be: settings, corpus fingerprint, versions, seed.
    training : TrainingReport, optional
        What training measured; present on a freshly trained model.
    history : sequence of mapping, optional
        The reports of training, one a line of `training.jsonl`, of a model that was read from its folder.

    Raises
    ------
    ConfigError
        If a matrix does not have one row a word.
    """

    vocab: Vocab
    vectors: NDArray[np.float32]
    context: NDArray[np.float32] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    training: TrainingReport | None = None
    history: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        for name in ("vectors", "context"):
            matrix = getattr(self, name)
            if matrix is not None and (matrix.ndim != 2 or len(matrix) != len(self.vocab)):
                raise ConfigError(
                    f"{name} has shape {matrix.shape}, but the vocabulary has {len(self.vocab)} words"
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

    def __contains__(self, word: object) -> bool:
        return word in self.vocab

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        """Return the vector of a word, float32, shape (D,)."""
        return np.asarray(self.vectors[self.word_id(word)])

    def __repr__(self) -> str:
        return f"Embeddings({len(self)} words, {self.vector_size} dimensions)"

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        """L2 norm of every row, float32, shape (V,); computed once, a block of rows at a time."""
        norms = np.empty(len(self), np.float32)
        for start in range(0, len(self), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            norms[rows] = np.linalg.norm(self.vectors[rows], axis=1)
        return norms

    def rows(self, selection: slice | Sequence[int]) -> Embeddings:
        """Return the embeddings of some rows only, in the order given; a slice is a view, a list a copy."""
        if isinstance(selection, slice):
            words, index = list(self.words[selection]), selection
        else:
            words = [self.words[word_id] for word_id in selection]
            index = np.asarray(selection, np.int64)
        context = None if self.context is None else self.context[index]
        vocab = Vocab(words, self.counts[index])
        return replace(self, vocab=vocab, vectors=self.vectors[index], context=context, training=None)

    def word_id(self, word: str) -> int:
        """Return the row of a word.

        Raises
        ------
        UnknownWordError
            If the word has no row; the error names the nearest spellings.
        """
        try:
            return self.vocab.index[word]
        except KeyError:
            raise UnknownWordError(word, self.nearest_spellings(word)) from None

    def nearest_spellings(self, word: str, n: int = 3) -> list[str]:
        """Return up to n words of the vocabulary that are spelt like `word`, best first."""
        folded = word.casefold()
        exact = [known for known in (folded, word.title(), word.upper()) if known in self.vocab.index]
        near = (known for known in self.words if abs(len(known) - len(word)) <= 2)
        return list(dict.fromkeys(exact + difflib.get_close_matches(folded, near, n=n, cutoff=0.7)))[:n]

    def neighbors(
        self,
        query: str | NDArray[np.floating[Any]],
        n: int = 10,
        *,
        metric: str = "cosine",
        exclude: Iterable[str] = (),
    ) -> list[Neighbor]:
        """Find the words nearest to a word or to a vector.

        Parameters
        ----------
        query : str or ndarray of float, shape (D,)
            A word of the vocabulary (left out of its own neighbours), or any vector.
        n : int
            How many neighbours.
        metric : {"cosine", "dot", "euclidean", "manhattan"}
            Similarities are sorted falling, distances (L2, L1) rising.
        exclude : iterable of str
            Words to leave out.

        Returns
        -------
        list of Neighbor, length min(n, V - excluded)
            Nearest first; equal scores in row order.

        Raises
        ------
        UnknownWordError
            If the query word has no row.
        """
        left_out = {self.vocab.index[word] for word in exclude if word in self.vocab.index}
        if isinstance(query, str):
            left_out.add(self.word_id(query))
            vector = self[query]
        else:
            vector = np.asarray(query, np.float32)
            if vector.shape != (self.vector_size,):
                raise ConfigError(f"expected a vector of shape ({self.vector_size},), got {vector.shape}")
        scores = self.scores(vector, metric=metric)
        order = _best(scores if metric in ("cosine", "dot") else -scores, n + len(left_out))
        return [Neighbor(self.words[i], float(scores[i])) for i in order if i not in left_out][:n]

    def scores(self, vector: NDArray[np.float32], *, metric: str = "cosine") -> NDArray[np.float32]:
        """Score every word against a vector.

        Parameters
        ----------
        vector : ndarray of float32, shape (D,)
        metric : {"cosine", "dot", "euclidean", "manhattan"}

        Returns
        -------
        ndarray of float32, shape (V,)
            Similarities, or distances for the last two. The cosine with a zero vector is 0.
        """
        if metric not in METRICS:
            raise ConfigError(f"metric must be one of {', '.join(METRICS)}; got {metric!r}")
        scores = np.empty(len(self), np.float32)
        for start in range(0, len(self), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            block = self.vectors[rows]
            if metric in ("cosine", "dot"):
                scores[rows] = block @ vector
            else:
                scores[rows] = np.linalg.norm(block - vector, ord=2 if metric == "euclidean" else 1, axis=1)
        if metric == "cosine":
            lengths = self.norms * np.linalg.norm(vector)
            np.divide(scores, lengths, out=scores, where=lengths > 0)
        return scores

    def analogy(self, a: str, b: str, c: str, n: int = 10, *, metric: str = "cosine") -> list[Neighbor]:
        """Answer "a is to b as c is to ?" by 3CosAdd (Mikolov et al. 2013): nearest to b - a + c.

        For cosine the three vectors are first scaled to length 1, as in the paper; the other metrics take
        them as they are. The three words are left out of the answers.
        """
        a_vector, b_vector, c_vector = (self[word] for word in (a, b, c))
        if metric == "cosine":
            a_vector, b_vector, c_vector = (_unit(vector) for vector in (a_vector, b_vector, c_vector))
        return self.neighbors(b_vector - a_vector + c_vector, n, metric=metric, exclude=(a, b, c))

    def similarity(self, a: str, b: str, *, metric: str = "cosine") -> float:
        """Score two words against each other: a similarity, or a distance for euclidean and manhattan."""
        pair = Embeddings(Vocab((b,), np.zeros(1, np.int64)), self[b][np.newaxis])
        return float(pair.scores(self[a], metric=metric)[0])

    def save(self, path: str | Path) -> None:
        """Write a model folder: whole, or not at all. An existing model folder at `path` is replaced."""
        from w2v.formats.folder import write_folder

        write_folder(self, path)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(vector)
    return np.asarray(vector / length, np.float32) if length > 0 else vector


def _best(scores: NDArray[np.float32], n: int) -> NDArray[np.int64]:
    """Return the rows of the n highest scores, highest first, ties in row order."""
    n = min(n, len(scores))
    if n <= 0:
        return np.empty(0, np.int64)
    bound = np.partition(scores, len(scores) - n)[len(scores) - n]
    candidates = np.flatnonzero(scores >= bound)
    return candidates[np.argsort(-scores[candidates], kind="stable")][:n]
