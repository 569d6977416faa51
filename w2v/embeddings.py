"""Embeddings: words with their vectors, and the questions one asks of them. No training, no files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from w2v.config import METRICS
from w2v.errors import ConfigError, UnknownWordError
from w2v.formats.base import ReadOptions
from w2v.vectors.scoring import best_rows, check_metric, row_norms, score_rows, unit_rows
from w2v.vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from pathlib import Path

    from gensim.models import KeyedVectors

__all__ = ["METRICS", "Embeddings", "Neighbor"]


class Neighbor(NamedTuple):
    """A word and its score: a similarity (cosine, dot: higher is nearer) or a distance (lower is nearer)."""

    word: str
    score: float


@dataclass(frozen=True, eq=False)
class Embeddings(WordVectors):
    """Words with their vectors, ready for questions; see `WordVectors` for the parts it is made of."""

    def __contains__(self, word: object) -> bool:
        return word in self.vocab

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, word: str | Sequence[str]) -> NDArray[np.float32]:
        """Return the vector of a word, float32, shape (D,), or those of a list of n words, shape (n, D).

        All queries go through here.
        """
        if isinstance(word, list | tuple | np.ndarray):
            return np.asarray(self.vectors[np.array([self.word_id(one) for one in word], np.int64)])
        return np.asarray(self.vectors[self.word_id(cast(str, word))])

    def __repr__(self) -> str:
        return f"Embeddings({len(self)} words, {self.vector_size} dimensions)"

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        """L2 norm of every row, float32, shape (V,); computed once, a block of rows at a time."""
        return row_norms(self.vectors)

    def context_only(self) -> Embeddings:
        """Return embeddings whose vectors are the context vectors of this model.

        Raises
        ------
        ConfigError
            If the model has none.
        """
        if self.context is None:
            raise ConfigError("the model has no context vectors")
        if not self.has_context_of_words:
            raise ConfigError(f"the model has {len(self.context)} context vectors for {len(self)} words")
        return replace(self, vectors=self.context, context=None)

    def word_id(self, word: str) -> int:
        """Return the row of a word.

        Raises
        ------
        UnknownWordError
            If the word has no row; the error names the nearest spellings.
        ConfigError
            If it is no text.
        """
        if not isinstance(word, str):
            raise ConfigError(f"expected a word, got {type(word).__name__} {word!r:.40}")
        word_id = self.vocab.find(word)
        if word_id is None:
            raise UnknownWordError(word, self.nearest_spellings(word))
        return word_id

    def nearest_spellings(self, word: str, n: int = 3) -> list[str]:
        """Return up to n words of the vocabulary that are spelt like `word`, best first."""
        from w2v.vectors.spelling import nearest_spellings

        return nearest_spellings(word, self.words, self.vocab.index, n)

    def neighbors(
        self,
        query: str | NDArray[np.floating[Any]],
        n: int = 10,
        *,
        metric: str = "cosine",
        exclude: Iterable[str] = (),
        restrict_vocab: int | None = None,
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
        restrict_vocab : int, optional
            Look among the first N words only, the most frequent ones of a trained model.

        Returns
        -------
        list of Neighbor, length min(n, candidates)
            Nearest first; equal scores in row order.

        Raises
        ------
        UnknownWordError
            If the query word has no row.
        ConfigError
            If the query vector has another length than D, or n, the metric or `restrict_vocab` is no good.
        """
        vector = self[query] if isinstance(query, str) else query
        left_out = {exclude} if isinstance(exclude, str) else set(exclude)
        if isinstance(query, str):
            left_out.add(query)
        scores = self.scores(vector, metric=metric, restrict_vocab=restrict_vocab)
        return self._nearest(scores, n, metric, left_out)

    def neighbors_of_all(
        self, words: Sequence[str], n: int = 10, *, metric: str = "cosine", restrict_vocab: int | None = None
    ) -> list[list[Neighbor]]:
        """Find the neighbours of several words in one pass over the matrix; see `neighbors`."""
        if isinstance(words, str):
            raise ConfigError(f"words must be a list of words; got the text {words!r:.40}")
        if not words:
            return []
        queries = self[list(words)]
        scores = score_rows(self._candidates(restrict_vocab), queries, metric, self._known_norms())
        return [self._nearest(row, n, metric, {word}) for row, word in zip(scores, words, strict=True)]

    def scores(
        self,
        vector: NDArray[np.floating[Any]],
        *,
        metric: str = "cosine",
        restrict_vocab: int | None = None,
    ) -> NDArray[np.float32]:
        """Score every word against a vector.

        Parameters
        ----------
        vector : ndarray of float, shape (D,)
        metric : {"cosine", "dot", "euclidean", "manhattan"}
        restrict_vocab : int, optional
            Score the first N words only.

        Returns
        -------
        ndarray of float32, shape (V,) or (restrict_vocab,)
            Similarities, or distances for the last two. The cosine with a zero vector is 0.
        """
        vector = self._checked_vector(vector)
        candidates = self._candidates(restrict_vocab)
        return np.asarray(score_rows(candidates, vector[np.newaxis], metric, self._known_norms())[0])

    def _checked_vector(self, vector: Any) -> NDArray[np.float32]:
        if isinstance(vector, list | tuple) and any(isinstance(part, str) for part in vector):
            raise ConfigError(
                f"expected one word or one vector, got the list {vector!r:.60}; neighbors_of_all(words) "
                "answers for each word, and model[words].mean(axis=0) is their mean"
            )
        try:
            numbers = np.asarray(vector, np.float32)
        except (TypeError, ValueError):
            raise ConfigError(f"expected a word or a vector, got {type(vector).__name__}") from None
        if numbers.shape != (self.vector_size,):
            raise ConfigError(f"expected a vector of shape ({self.vector_size},), got {numbers.shape}")
        if not np.isfinite(numbers).all():
            raise ConfigError("the vector holds NaN or infinity")
        return numbers

    def _candidates(self, restrict_vocab: int | None) -> NDArray[np.float32]:
        if restrict_vocab is not None and restrict_vocab < 1:
            raise ConfigError(f"restrict_vocab must be at least 1; got {restrict_vocab}")
        return self.vectors[:restrict_vocab]

    def _known_norms(self) -> NDArray[np.float32] | None:
        """Return the norms if they are computed already: one query finds them on its only pass by itself."""
        return self.__dict__.get("norms")

    def _nearest(
        self, scores: NDArray[np.float32], n: int, metric: str, exclude: Iterable[str]
    ) -> list[Neighbor]:
        if n < 1:
            raise ConfigError(f"the number of neighbours must be at least 1; got {n}")
        left_out = {self.vocab.find(word) for word in exclude}
        order = best_rows(scores, n + len(left_out), metric).tolist()
        return [Neighbor(self.words[i], float(scores[i])) for i in order if i not in left_out][:n]

    def analogy(
        self,
        a: str,
        b: str,
        c: str,
        n: int = 10,
        *,
        metric: str = "cosine",
        restrict_vocab: int | None = None,
    ) -> list[Neighbor]:
        """Answer "a is to b as c is to ?" by 3CosAdd (Mikolov et al. 2013): nearest to b - a + c.

        For cosine the three vectors are first scaled to length 1, as in the paper; the other metrics take
        them as they are. The three words are left out of the answers. Parameters, order and errors are
        those of `neighbors`.
        """
        terms = self[[a, b, c]]
        if metric == "cosine":
            terms = unit_rows(terms)
        target = terms[1] - terms[0] + terms[2]
        return self.neighbors(target, n, metric=metric, exclude=(a, b, c), restrict_vocab=restrict_vocab)

    def similarity(self, a: str, b: str, *, metric: str = "cosine") -> float:
        """Score two words against each other: a similarity, or a distance for euclidean and manhattan."""
        check_metric(metric)
        return float(score_rows(self[[b]], self[[a]], metric)[0, 0])

    def centered(self) -> Embeddings:
        """Return embeddings without the mean vector, which all words share; without context vectors."""
        return self.without_top_components(0)

    def without_top_components(self, n: int | None = None) -> Embeddings:
        """Return embeddings without the mean and the n directions of greatest variance (Mu & Viswanath 2018).

        These directions tell frequency more than meaning. The matrix is new; context vectors are left out.

        Parameters
        ----------
        n : int, optional
            By default D / 100, rounded, but at least 1, as in the paper.
        """
        from w2v.vectors.postprocessing import without_mean_and_top

        n = max(1, round(self.vector_size / 100)) if n is None else n
        vectors = without_mean_and_top(self.vectors, n)
        done = {"centered": True, "components_taken_out": n}
        return replace(self, vectors=vectors, context=None, origin=replace(self.origin, postprocessing=done))

    def save(self, path: str | Path) -> None:
        """Write a model folder: whole, or not at all. An existing model folder at `path` is replaced."""
        from w2v.formats.folder import write_folder

        write_folder(self, path)

    def save_as(self, path: str | Path, **options: Any) -> None:
        """Write any other format, told by `format=` or by the suffix of `path`; see `w2v.save_as`."""
        from w2v.formats.registry import save_as

        save_as(self, path, **options)

    def to_gensim(self) -> KeyedVectors:
        """Return a gensim KeyedVectors with a copy of the vectors, and the counts where they are known."""
        from w2v.formats.gensim_vectors import to_gensim

        return to_gensim(self)

    @classmethod
    def of(cls, vectors: WordVectors) -> Embeddings:
        """Return embeddings that share everything with the vectors given."""
        return cls(**{field.name: getattr(vectors, field.name) for field in fields(WordVectors)})

    @classmethod
    def from_gensim(cls, vectors: Any) -> Embeddings:
        """Copy a gensim KeyedVectors, or a gensim model; see `w2v.from_gensim`."""
        return from_gensim(vectors)


def load(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002 - what everyone calls it
    top: int | None = None,
    words: Iterable[str] | None = None,
    skip_bad: bool = False,
    unescape: bool = False,
) -> Embeddings:
    """Open vectors of any format.

    Parameters
    ----------
    path : path-like
        A model folder, or a file or folder of any format in `w2v.formats.registry`; files may be packed
        with gzip, bzip2, xz or Zstandard.
    format : str, optional
        The name of the format; by default the content tells.
    top : int, optional
        Keep only the first N rows.
    words : iterable of str, optional
        Keep only these words.
    skip_bad : bool
        Leave out bad rows (too short or long, NaN, a word twice) and log how many, instead of raising.
    unescape : bool
        Undo the escapes that `save_as(..., escape=True)` wrote.

    Returns
    -------
    Embeddings
        float32. Memory-mapped and read-only where the format allows: model folder, npy, safetensors.

    Raises
    ------
    FormatError
        If it is broken or no vectors at all: with file, line or byte, what was expected and what is there.
    FileNotFoundError
        If nothing is there.

    Examples
    --------
    >>> model = w2v.load("glove.6B.100d.txt", top=50_000)  # doctest: +SKIP
    """
    from w2v.formats.registry import read_vectors

    if isinstance(words, str):
        raise ConfigError(f"words must be a list of words; got the text {words!r:.40}")
    wanted = None if words is None else frozenset(words)
    options = ReadOptions(top, wanted, skip_bad, unescape)
    return Embeddings.of(read_vectors(path, options, format=format))


def from_gensim(vectors: Any) -> Embeddings:
    """Copy a gensim KeyedVectors, or a gensim model with its context vectors.

    Raises
    ------
    ConfigError
        If the object has no vectors of words.
    """
    from w2v.formats import gensim_vectors

    return Embeddings.of(gensim_vectors.from_gensim(vectors))
