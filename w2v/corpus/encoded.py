"""What the reader makes of a text: ids and sentence borders, memory-mapped. No reading here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from w2v.vocab import Vocab

Progress: TypeAlias = Callable[[int, "int | None"], None]
"""Called with the bytes of the files read so far, and with all their bytes (None if that is not known)."""


@dataclass(frozen=True)
class CorpusReport:
    """What was read.

    Parameters
    ----------
    files : int
        Files read; 0 for sentences from Python.
    bytes : int
        Bytes of unpacked text; 0 for sentences from Python.
    blank : int
        Lines (or sentences from Python) without a word. They are no sentences.
    replaced : int
        Byte sequences that could not be decoded and became U+FFFD (`errors="replace"`).
    from_cache : bool
        Whether an earlier run had encoded the same files.
    """

    files: int = 0
    bytes: int = 0
    blank: int = 0
    replaced: int = 0
    from_cache: bool = False


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """A corpus as ids.

    Parameters
    ----------
    vocab : Vocab
        The V selected words with their counts in this corpus. Unless a vocabulary was given: falling count,
        ties by first appearance.
    tokens : ndarray of int32, shape (N,)
        All tokens in text order, read-only, memory-mapped. An id below V is a row of the vocabulary; any
        other is a word that is not in it.
    offsets : ndarray of int64, shape (S + 1,)
        Sentence s is tokens[offsets[s]:offsets[s + 1]], read-only, memory-mapped. No sentence is empty.
    n_types : int
        Distinct words before selection.
    fingerprint : str
        Digest of the words and sentences; the same text gives the same one from any kind of source.
    report : CorpusReport
    """

    vocab: Vocab
    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    n_types: int
    fingerprint: str
    report: CorpusReport

    @property
    def n_tokens(self) -> int:
        """N, all tokens of the text, in the vocabulary or not."""
        return len(self.tokens)

    @property
    def n_sentences(self) -> int:
        """S, the sentences with at least one token."""
        return len(self.offsets) - 1

    @cached_property
    def n_known_tokens(self) -> int:
        """How many of the tokens are in the vocabulary."""
        return int(self.vocab.counts.sum())

    def __repr__(self) -> str:
        return (
            f"EncodedCorpus({self.n_tokens} tokens, {self.n_sentences} sentences, "
            f"{len(self.vocab)} of {self.n_types} words)"
        )
