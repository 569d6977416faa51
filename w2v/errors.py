"""Every error w2v raises on purpose; the command line prints them as one line and exits 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class W2VError(Exception):
    """Base of all errors that w2v raises on purpose; its text says what, where, got, and what to do."""


class ConfigError(W2VError, ValueError):
    """A setting is out of range, or two settings contradict each other."""


class CorpusError(W2VError, ValueError):
    """The text cannot be read, decoded or turned into anything to train on."""


class FormatError(W2VError, ValueError):
    """A file of vectors is broken, or not of the kind it was taken for."""


class TrainingError(W2VError, ArithmeticError):
    """Training cannot go on: the weights are no longer finite."""


class TrainingStoppedError(KeyboardInterrupt):
    """Training was stopped by Ctrl-C; what was trained so far is kept.

    Parameters
    ----------
    model : Embeddings
        As it was trained so far; it can be saved.
    is_kept : bool
        Whether a checkpoint has this state, so that training can go on.
    """

    def __init__(self, model: Any, is_kept: bool) -> None:
        super().__init__("training was stopped; `model` of this error is what was trained so far")
        self.model = model
        self.is_kept = is_kept


class UnknownWordError(W2VError, KeyError):
    """A word is not in the vocabulary.

    Parameters
    ----------
    word : str
        The word that was asked for.
    suggestions : sequence of str
        Words of the vocabulary with the nearest spelling, best first.
    """

    def __init__(self, word: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(word, tuple(suggestions))
        self.word = word
        self.suggestions = tuple(suggestions)

    def __str__(self) -> str:
        hint = f"; nearest spellings: {', '.join(self.suggestions)}" if self.suggestions else ""
        return f"{self.word!r} is not in the vocabulary{hint}"


class TokenIdError(W2VError, IndexError):
    """A token id is outside the table.

    Parameters
    ----------
    token_id : int
        The first id that has no row.
    place : tuple of int
        Where in the tensor of ids it stands.
    n_rows : int
        R, the rows of the table; ids run from 0 to R - 1.
    """

    def __init__(self, token_id: int, place: tuple[int, ...], n_rows: int) -> None:
        super().__init__(token_id, place, n_rows)
        self.token_id = token_id
        self.place = place
        self.n_rows = n_rows

    def __str__(self) -> str:
        where = f" at {list(self.place)}" if self.place else ""
        return (
            f"id {self.token_id}{where} is out of range: the table has {self.n_rows} rows, "
            f"ids run from 0 to {self.n_rows - 1}"
        )


class MissingExtraError(W2VError, ImportError):
    """An optional package is not installed.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str
        The extra of w2v that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; install it with: pip install {package}")
        self.package = package
        self.extra = extra
