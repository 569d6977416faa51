"""What a run starts from: vectors that exist, and rows that stay as they are."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.errors import ConfigError
from w2v.formats.base import ReadOptions
from w2v.formats.registry import read_vectors
from w2v.training.weights import Weights
from w2v.vectors.vocab import Vocab
from w2v.vectors.vocab_files import read_words
from w2v.vectors.word_vectors import WordVectors

_log = logging.getLogger(__name__)
GIVEN = "init"
Vectors: TypeAlias = "str | Path | WordVectors"
Frozen: TypeAlias = "str | Path | Iterable[str]"


@dataclass(frozen=True)
class Start:
    """Given vectors and frozen rows; by default there are none.

    Parameters
    ----------
    init : path-like or WordVectors, optional
        Words that it has begin at its vectors; if it has context vectors, also in w_out.
    init_context : path-like or WordVectors, optional
        Where w_out begins instead: its context vectors if it has them, else its vectors. Needs `init`.
    freeze : "init", path-like, or iterable of str, optional
        Words whose rows of w_in stay as they are, to the bit: all that begin at given vectors, those in a
        file (one a line, or a vocabulary file), or those given.
    freeze_top : int
        Freeze the rows of the N most frequent words, too.

    Raises
    ------
    ConfigError
        If `init` is missing where another value needs it, or `freeze_top` is negative.
    FileNotFoundError
        If a file is missing.
    """

    init: Vectors | None = None
    init_context: Vectors | None = None
    freeze: Frozen | None = None
    freeze_top: int = 0

    def __post_init__(self) -> None:
        if self.init is None and self.init_context is not None:
            raise ConfigError("--init-context needs --init: vectors for the words themselves")
        if self.init is None and self.freeze == GIVEN:
            raise ConfigError("--freeze init keeps the vectors given by --init, which is missing")
        if self.freeze_top < 0:
            raise ConfigError(f"freeze_top must be at least 0; got {self.freeze_top}")
        for path in (self.init, self.init_context, None if self.freeze == GIVEN else self.freeze):
            if isinstance(path, str | Path):
                Path(path).stat()  # now, and not after the corpus is read

    def weights(self, vocab: Vocab, config: TrainConfig) -> Weights | None:
        """Return the weights that a run with these words begins with; None: fresh ones.

        Raises
        ------
        ConfigError
            If the vectors have another number of dimensions, or hold no word of the vocabulary, or no word
            that is to be frozen is in it.
        FormatError
            If a file is broken.
        """
        n_words, seed, vector_size = len(vocab), config.seed, config.vector_size
        n_out = config.objective.output_rows(n_words)
        if self.init is not None:
            context = None if self.init_context is None else _vectors(self.init_context)
            weights = Weights.from_vectors(
                vocab, _vectors(self.init), context, vector_size=vector_size, seed=seed, n_out=n_out
            )
            if weights.given is None or not weights.given.any():
                raise ConfigError(f"the given vectors have none of the {n_words:,} words of the vocabulary")
        elif self.freeze is None and not self.freeze_top:
            return None
        else:
            weights = Weights.fresh(n_words, n_out, vector_size, seed)
        frozen = self._frozen(vocab, weights)
        if not frozen.any():
            return weights
        _log.info("%s of %s words stay as they are", f"{frozen.sum():,}", f"{n_words:,}")
        return weights.freeze(frozen)

    def _frozen(self, vocab: Vocab, weights: Weights) -> NDArray[np.bool_]:
        """Return which rows of w_in stay as they are: bool, shape (V,)."""
        frozen = np.zeros(len(vocab), bool)
        frozen[np.argsort(-vocab.counts, kind="stable")[: self.freeze_top]] = True
        if self.freeze is None:
            return frozen
        if self.freeze == GIVEN:
            assert weights.given is not None  # noqa: S101 - checked when this was made
            return frozen | weights.given
        words = read_words(Path(self.freeze))[0] if isinstance(self.freeze, str | Path) else list(self.freeze)
        rows = [row for word in words if (row := vocab.index.get(word)) is not None]
        if not rows:
            raise ConfigError(f"none of the {len(words):,} words to freeze is in the vocabulary")
        frozen[rows] = True
        return frozen


def _vectors(source: Vectors) -> WordVectors:
    return source if isinstance(source, WordVectors) else read_vectors(source, ReadOptions())
