"""What the reader makes of a text: types, ids and sentence borders. No reading here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from w2v.vectors.vocab import Vocab

Progress: TypeAlias = Callable[[int, "int | None"], None]
"""Called with the bytes of the files read so far, and with all their bytes (None if that is not known)."""


MAX_TYPES = 2**31 - 1


class Types(NamedTuple):
    """Distinct words: word i is blob[offsets[i]:offsets[i + 1]] in UTF-8; counts[i] occurrences."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]

    def words(self, start: int, stop: int) -> list[str]:
        """Decode the words start..stop."""
        first = int(self.offsets[start])
        data = self.blob[first : self.offsets[stop]].tobytes()
        borders = (self.offsets[start : stop + 1] - first).tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(borders)]


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
    kinds : dict of str to int
        How many files there were of each kind: text, jsonl, csv, tsv, parquet, wiki.
    from_cache : bool
        Whether an earlier run had encoded the same files.
    """

    files: int = 0
    bytes: int = 0
    blank: int = 0
    replaced: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
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
    reading : mapping
        How the text was read: settings, versions of packages, digests of files; for a model's `config.json`,
        and for `w2v.corpus.tokens.tokenizers.from_config`.
    """

    vocab: Vocab
    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    n_types: int
    fingerprint: str
    report: CorpusReport
    reading: Mapping[str, Any] = field(default_factory=dict)

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
