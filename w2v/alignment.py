"""Rotates the vectors of one model onto those of another, so that words of two periods can be compared."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v.embeddings import Embeddings, load
from w2v.errors import ConfigError
from w2v.vectors.rotation import Doubles, best_rotation, rotated, unit_doubles
from w2v.vectors.scoring import row_slices

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FREQUENT = 10_000

_log = logging.getLogger(__name__)


class Moved(NamedTuple):
    """A word and the cosine of its two vectors, the old one and the new one, after the rotation."""

    word: str
    cosine: float


@dataclass(frozen=True)
class Cosines:
    """Cosines of the old and the new vector of each shared word.

    Attributes
    ----------
    mean : float
    quantiles : tuple of float
        At `QUANTILES`: 5, 25, 50, 75 and 95 %.
    """

    mean: float
    quantiles: tuple[float, ...]

    @classmethod
    def of(cls, values: Doubles) -> Cosines:
        """Sum up cosines, float64, shape (n,), n at least 1."""
        return cls(float(values.mean()), tuple(map(float, np.quantile(values, QUANTILES))))


@dataclass(frozen=True, eq=False)
class Alignment:
    """A model that was rotated onto another one.

    Attributes
    ----------
    model : Embeddings
        All words of the new model, vectors and context vectors rotated; `model.origin.postprocessing` says
        onto what.
    rotation : ndarray of float64, shape (D, D)
        Orthogonal; `new.vectors @ rotation` are the vectors of `model`.
    n_shared, n_fitted : int
        Words of both models with vectors that are not zero, and how many of them the rotation was fitted on.
    before, after : Cosines
        Of the shared words.
    moved : list of Moved
        Words that are frequent in both models, the lowest cosine after the rotation first.
    """

    model: Embeddings
    rotation: Doubles
    n_shared: int
    n_fitted: int
    before: Cosines
    after: Cosines
    moved: list[Moved]


def align(
    old: Embeddings | str | Path,
    new: Embeddings | str | Path,
    *,
    top: int | None = None,
    show: int = 10,
    frequent: int = FREQUENT,
) -> Alignment:
    """Rotate the vectors of a new model onto those of an old one (Hamilton et al. 2016).

    The rotation is the orthogonal matrix that brings the unit vectors of the shared words as near to each
    other as possible (orthogonal Procrustes, Schoenemann 1966), computed in float64. It is fitted on rows of
    length 1, as is usual, without centring, and applied to the rows as they are. There is no scaling:
    lengths, and cosines and dot products within the new model, stay, also those of vectors with context
    vectors, which are rotated by the same matrix. It may contain a reflection.

    Parameters
    ----------
    old, new : Embeddings or path-like
        Models of the same number of dimensions; files may have any format.
    top : int, optional
        Fit on the N most frequent shared words only: those that come first in both models.
    show : int
        How many words `moved` contains.
    frequent : int
        Words that are among the first N (most frequent) rows of both models can be in `moved`.

    Returns
    -------
    Alignment

    Raises
    ------
    ConfigError
        If the numbers of dimensions differ, no word is shared, or an option is out of range.

    Examples
    --------
    >>> found = w2v.align("model_1900", "model_1990", top=20_000)  # doctest: +SKIP
    >>> found.model.save("model_1990_aligned")  # doctest: +SKIP
    """
    for name, value, low in (("top", top, 1), ("show", show, 0), ("frequent", frequent, 1)):
        if value is not None and value < low:
            raise ConfigError(f"{name} must be at least {low}; got {value}")
    path = None if isinstance(old, Embeddings) else str(old)
    old, new = (one if isinstance(one, Embeddings) else load(one) for one in (old, new))
    if old.vector_size != new.vector_size:
        raise ConfigError(
            f"the old model has {old.vector_size} dimensions, the new one {new.vector_size}; "
            "only models of the same number can be aligned"
        )
    shared = _shared_rows(old, new)
    fitted = shared[:top]
    if len(fitted) < old.vector_size:
        _log.warning(
            "the rotation is fitted on %d words in %d dimensions, which do not determine it; the cosines "
            "after it are too high",
            len(fitted),
            old.vector_size,
        )
    rotation = best_rotation((b, a) for a, b in _unit_blocks(old, new, fitted))
    before = _cosines(old, new, shared, np.eye(len(rotation)))
    after = _cosines(old, new, shared, rotation)
    done = {"path": path, "corpus": dict(old.origin.corpus), "shared_words": len(shared)}
    return Alignment(
        _rotated_model(new, rotation, {**done, "fitted_words": len(fitted)}),
        rotation,
        len(shared),
        len(fitted),
        Cosines.of(before),
        Cosines.of(after),
        _moved(new, shared, after, show, frequent),
    )


def _shared_rows(old: Embeddings, new: Embeddings) -> NDArray[np.int64]:
    """Return the old and the new row of each shared word, shape (n, 2); frequent in both models first."""
    found = ((old.vocab.find(word), row) for row, word in enumerate(new.words))
    pairs = np.array([pair for pair in found if pair[0] is not None], np.int64).reshape(-1, 2)
    if len(pairs) == 0:
        raise ConfigError(
            f"no word is in both models ({len(old):,} and {len(new):,} words); were both corpora cut and "
            "lower-cased in the same way?"
        )
    is_usable = np.logical_and(*(_are_usable(one, pairs[:, i]) for i, one in enumerate((old, new))))
    if not is_usable.any():
        raise ConfigError(f"all {len(pairs):,} shared words have a vector of zeros in one of the models")
    pairs = pairs[is_usable]
    return pairs[np.argsort(pairs.max(axis=1), kind="stable")]


def _are_usable(model: Embeddings, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    norms = model.norms[rows]
    return np.asarray((norms > 0) & ~np.isnan(norms))


def _unit_blocks(
    old: Embeddings, new: Embeddings, pairs: NDArray[np.int64]
) -> Iterator[tuple[Doubles, Doubles]]:
    """Yield the unit vectors of pairs of rows, a block at a time: memory is needed for one block only."""
    for block in row_slices(len(pairs)):
        rows = pairs[block]
        yield unit_doubles(old.vectors[rows[:, 0]]), unit_doubles(new.vectors[rows[:, 1]])


def _cosines(old: Embeddings, new: Embeddings, pairs: NDArray[np.int64], rotation: Doubles) -> Doubles:
    blocks = _unit_blocks(old, new, pairs)
    return np.concatenate([np.einsum("ij,ij->i", first, second @ rotation) for first, second in blocks])


def _rotated_model(new: Embeddings, rotation: Doubles, done: dict[str, Any]) -> Embeddings:
    context = None if new.context is None else rotated(new.context, rotation)
    postprocessing = {**new.origin.postprocessing, "aligned_to": done}
    origin = replace(new.origin, postprocessing=postprocessing)
    return replace(new, vectors=rotated(new.vectors, rotation), context=context, origin=origin)


def _moved(
    new: Embeddings, pairs: NDArray[np.int64], cosines: Doubles, show: int, frequent: int
) -> list[Moved]:
    n_frequent = int(np.count_nonzero(pairs.max(axis=1) < frequent))  # they come first
    order = np.argsort(cosines[:n_frequent], kind="stable")[:show]
    return [Moved(new.words[int(pairs[i, 1])], float(cosines[i])) for i in order]
