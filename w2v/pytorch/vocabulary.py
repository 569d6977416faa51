"""The vocabulary of an embedding table: tokens into ids and back, in padded batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from w2v.corpus.tokens.tokenizers import text_cutter
from w2v.errors import ConfigError, TokenIdError, UnknownWordError
from w2v.pooling import tokens_of
from w2v.vectors.origin import Reading

_SIDES = ("right", "left")
_LACKING = -1


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentences as ids, and what was unknown or cut off; unpacks as `ids, mask`.

    It can be returned from a `DataLoader`'s collate function, alone or among other values (also with
    `pin_memory=True`): `DataLoader`, `transformers.Trainer` and Lightning call its `pin_memory` and `to`.

    Attributes
    ----------
    ids : Tensor of int64, shape (batch, length)
        0 <= id < rows of the table. `length` is that of the longest sentence, unless it was fixed.
    mask : Tensor of bool, shape (batch, length)
        True for tokens, False for padding.
    unknown : Counter of str
        Tokens without a row, and how often each occurred. They got the id of the unknown token.
    n_truncated : int
        Tokens that were cut off.
    """

    ids: Tensor
    mask: Tensor
    unknown: Counter[str] = field(default_factory=Counter)
    n_truncated: int = 0

    def __iter__(self) -> Iterator[Tensor]:
        yield from (self.ids, self.mask)

    def __getitem__(self, index: int) -> Tensor:
        return (self.ids, self.mask)[index]

    def __len__(self) -> int:
        return 2

    @property
    def n_unknown(self) -> int:
        """How many tokens have no row."""
        return self.unknown.total()

    def to(self, device: torch.device | str | int | None, *, non_blocking: bool = False) -> Batch:
        """Return the batch with its tensors on a device; None leaves them where they are."""
        if device is None:
            return self
        ids, mask = (tensor.to(device, non_blocking=non_blocking) for tensor in self)
        return replace(self, ids=ids, mask=mask)

    def pin_memory(self) -> Batch:
        """Return the batch with its tensors in pinned memory, from which copies to a GPU are faster."""
        ids, mask = (tensor.pin_memory() for tensor in self)
        return replace(self, ids=ids, mask=mask)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of a table, row i being token i.

    Parameters
    ----------
    tokens : sequence of str, length R
        Distinct, in row order: first `n_specials` special tokens, then the words of the model, so that
        word i of the model is row i + n_specials.
    padding_id : int, optional
        Row of the padding token.
    unknown_id : int, optional
        Row for every token that has no row of its own.
    n_specials : int
        Number of rows before the words.
    lowercase : bool
        Whether `encode` lower-cases the tokens, as the corpus of the model was.
    reading : Reading, optional
        How the corpus of the model was read: text is cut likewise. By default as by `str.split()`.
    counts : ndarray of int64, shape (R,), optional
        Corpus counts, in tokens; 0 for special tokens.

    Raises
    ------
    ConfigError
        If an id is out of range, or there is not one count a row.
    """

    tokens: Sequence[str]
    padding_id: int | None = None
    unknown_id: int | None = None
    n_specials: int = 0
    lowercase: bool = False
    reading: Reading | None = None
    counts: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for name in ("padding_id", "unknown_id"):
            row = getattr(self, name)
            if row is not None and not 0 <= row < len(self.tokens):
                raise ConfigError(f"{name} is {row}, but there are {len(self.tokens)} rows")
        if not 0 <= self.n_specials <= len(self.tokens):
            raise ConfigError(f"n_specials is {self.n_specials}, but there are {len(self.tokens)} rows")
        if self.counts is not None and len(self.counts) != len(self.tokens):
            raise ConfigError(f"{len(self.tokens)} rows have {len(self.counts)} counts")

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self.index

    def __repr__(self) -> str:
        places = f"padding_id={self.padding_id}, unknown_id={self.unknown_id}, n_specials={self.n_specials}"
        return f"Vocabulary({len(self)} tokens, {places})"

    def __deepcopy__(self, memo: object) -> Vocabulary:
        # Immutable, so copies of a network share it: a million words take 0.2 GB.
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def index(self) -> dict[str, int]:
        """Map from token to id, made at first use.

        Raises
        ------
        ConfigError
            If a token occurs twice.
        """
        index = {token: row for row, token in enumerate(self.tokens)}
        if len(index) != len(self.tokens):
            row, token = next((row, token) for row, token in enumerate(self.tokens) if index[token] != row)
            raise ConfigError(f"the token {token!r} stands twice, in rows {row} and {index[token]}")
        return index

    @cached_property
    def _cut(self) -> Callable[[str], list[str]]:
        """Split a text into tokens, as the corpus of the model was."""
        return text_cutter(self.index, self.reading)

    @property
    def padding(self) -> str | None:
        """The padding token."""
        return None if self.padding_id is None else self.tokens[self.padding_id]

    @property
    def unknown(self) -> str | None:
        """The token for words without a row."""
        return None if self.unknown_id is None else self.tokens[self.unknown_id]

    def token_id(self, token: str) -> int:
        """Return the id of a token, or that of the unknown token.

        Raises
        ------
        UnknownWordError
            If the token has no row and there is no unknown token.
        """
        row = self.index.get(token, self.unknown_id)
        if row is None:
            raise UnknownWordError(token)
        return row

    def encode(
        self,
        sentences: Iterable[str | Sequence[str]],
        *,
        max_length: int | None = None,
        truncate: str = "right",
        pad: str = "right",
        fixed_length: bool = False,
        device: torch.device | str | None = None,
    ) -> Batch:
        """Turn sentences into ids.

        Parameters
        ----------
        sentences : iterable of str or of sequences of str
            Text is split into tokens as the corpus of the model was (by default `str.split()`); token lists
            are used as they are.
        max_length : int, optional
            Longer sentences are cut to this number of tokens.
        truncate : {"right", "left"}
            The side that is cut off: "right" keeps the beginning.
        pad : {"right", "left"}
            The side that is padded to the length of the longest sentence.
        fixed_length : bool
            Pad to `max_length`, even if all sentences are shorter.
        device : optional
            Device of the tensors.

        Returns
        -------
        Batch
            Unpacks into `ids` (batch, length) int64 and `mask` (batch, length) bool. An empty list gives
            shape (0, 0), an empty sentence a row of padding. `unknown` counts the tokens without a row.

        Raises
        ------
        ConfigError
            If `sentences` is a single text, an option is out of range, or sentences have different lengths
            and the table has no padding row.
        UnknownWordError
            If a token has no row and there is no unknown token.
        """
        if max_length is not None and max_length < 1:
            raise ConfigError(f"max_length must be at least 1; got {max_length}")
        if fixed_length and max_length is None:
            raise ConfigError("fixed_length needs max_length")
        for name, side in (("truncate", truncate), ("pad", pad)):
            if side not in _SIDES:
                raise ConfigError(f"{name} must be one of {', '.join(_SIDES)}; got {side!r}")
        rows = list(tokens_of(sentences, lowercase=self.lowercase, cut=self._cut))
        n_truncated = 0
        if max_length is not None:
            n_truncated = sum(max(0, len(row) - max_length) for row in rows)
            cut = slice(max_length) if truncate == "right" else slice(-max_length, None)
            rows = [row[cut] for row in rows]
        length = max_length if fixed_length and max_length is not None else max(map(len, rows), default=0)
        ids, mask, unknown = self._fill(rows, length, pad)
        return Batch(torch.from_numpy(ids), torch.from_numpy(mask), unknown, n_truncated).to(device)

    def _fill(
        self, rows: list[list[str]], length: int, pad: str
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], Counter[str]]:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        if self.padding_id is None and (lengths != length).any():
            raise ConfigError(
                f"sentences of {lengths.min()} to {lengths.max()} tokens cannot be filled up to {length}: "
                "the table has no padding row; load it with padding='<pad>'"
            )
        positions = np.arange(length)
        mask = positions < lengths[:, np.newaxis]
        if pad == "left":
            mask = positions >= (length - lengths)[:, np.newaxis]
        get = self.index.get
        found = np.array([get(token, _LACKING) for row in rows for token in row], np.int64)
        unknown = self._count_unknown(rows, found)
        ids = np.full((len(rows), length), self.padding_id or 0, np.int64)
        ids[mask] = found
        return ids, mask, unknown

    def _count_unknown(self, rows: list[list[str]], found: NDArray[np.int64]) -> Counter[str]:
        """Count the tokens without a row, and replace their ids by that of the unknown token."""
        lacking = found == _LACKING
        if not lacking.any():
            return Counter()
        unknown = Counter(token for row in rows for token in row if token not in self.index)
        if self.unknown_id is None:
            raise UnknownWordError(next(iter(unknown)))
        found[lacking] = self.unknown_id
        return unknown

    def decode(self, ids: Tensor | Sequence[Sequence[int]]) -> list[list[str]]:
        """Turn ids back into tokens, without padding.

        Parameters
        ----------
        ids : Tensor of int, shape (batch, length)

        Returns
        -------
        list of list of str

        Raises
        ------
        TokenIdError
            If an id is out of range.
        ConfigError
            If `ids` has another number of dimensions.
        """
        if not isinstance(ids, Tensor):
            ids = _as_tensor(ids)
        if ids.dim() != 2:
            raise ConfigError(f"expected ids of shape (batch, length), got {tuple(ids.shape)}")
        self.check_ids(ids)
        return [[self.tokens[row] for row in rows if row != self.padding_id] for rows in ids.tolist()]

    def check_ids(self, ids: Tensor) -> None:
        """Raise TokenIdError, with id, position and range, if an id has no row.

        On the CPU the table does this by itself. On a GPU torch fails with a device-side assert that names no
        id, so call this first. It waits for the device.
        """
        check_ids(ids, len(self))


def _as_tensor(ids: Sequence[Sequence[int]]) -> Tensor:
    try:
        return torch.tensor(ids, dtype=torch.int64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"expected ids of shape (batch, length): {error}") from None


def check_ids(ids: Tensor, n_rows: int) -> None:
    """Raise TokenIdError if an id is not 0 to n_rows - 1."""
    bad = (ids < 0) | (ids >= n_rows)
    if bad.any():
        place = tuple(bad.nonzero()[0].tolist())
        raise TokenIdError(int(ids[place]), place, n_rows)
