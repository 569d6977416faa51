"""A corpus as ids, and the choice of the words that get a row. No text is read here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from w2v.config import VocabConfig
from w2v.corpus.ids.cache_entry import Entry, renumbered_tokens
from w2v.corpus.ids.word_types import Types
from w2v.errors import CorpusError
from w2v.vectors.vocab import Vocab

_WORDS_AT_ONCE = 1 << 16
_TOKENS_AT_ONCE = 1 << 18

ReadingProgress: TypeAlias = Callable[[int, "int | None"], None]
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
    skipped : int
        Records that were left out because they are bad (`skip_bad_records`).
    repeats : int
        Copies that weights have added: 2 for a record, or sentence from Python, that is read three times.
    weighted_out : int
        Records, or sentences from Python, that are not read because of their weight.
    kinds : dict of str to int
        How many files there were of each kind; see `w2v.corpus.read.kinds`.
    notes : list of str
        What looks wrong in the files, a line each, with their names.
    from_cache : bool
        Whether an earlier run had encoded the same files.
    """

    files: int = 0
    bytes: int = 0
    blank: int = 0
    replaced: int = 0
    skipped: int = 0
    repeats: int = 0
    weighted_out: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    from_cache: bool = False


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """A corpus as ids.

    Parameters
    ----------
    vocab : Vocab
        The V selected words with their counts in this corpus. Unless a vocabulary was given: in falling order
        of count, ties by first appearance.
    tokens : ndarray of int32, shape (N,)
        All tokens in text order, read-only, memory-mapped. An id below V is a row of the vocabulary; any
        other is a word that is not in it.
    offsets : ndarray of int64, shape (S + 1,)
        Sentence s is tokens[offsets[s]:offsets[s + 1]], read-only, memory-mapped. No sentence is empty.
    entry : Entry
        The corpus with all its words, from which `select` chooses.
    report : CorpusReport
    reading : mapping
        How the text was read: settings, versions of packages, digests of files; for a model's `config.json`,
        and for `w2v.corpus.tokens.tokenizers.make_cutter`.
    """

    vocab: Vocab
    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    entry: Entry
    report: CorpusReport
    reading: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_ids(
        cls, vocab: Vocab, tokens: NDArray[np.int32], offsets: NDArray[np.int64], fingerprint: str = ""
    ) -> EncodedCorpus:
        """Make a corpus of ids below V, without a text; the counts need not be those of the ids."""
        types = Types.from_words(vocab.words, vocab.counts)
        return cls(vocab, tokens, offsets, Entry(None, types, tokens, offsets, fingerprint), CorpusReport())

    @property
    def types(self) -> Types:
        """All distinct words of the text, in the vocabulary or not, in falling order of count."""
        return self.entry.types

    @property
    def type_ids(self) -> NDArray[np.int32]:
        """All tokens as rows of `types`: int32, shape (N,), read-only, memory-mapped."""
        return self.entry.tokens

    @property
    def fingerprint(self) -> str:
        """Digest of the words and sentences; the same text gives the same one from any kind of source."""
        return self.entry.fingerprint

    @property
    def n_types(self) -> int:
        """Distinct words of the text, in the vocabulary or not."""
        return len(self.types.counts)

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

    def select(self, vocab: VocabConfig | Vocab) -> EncodedCorpus:
        """Return the same corpus cut to another vocabulary; the text is not read again.

        Parameters
        ----------
        vocab : VocabConfig or Vocab
            How many of the most frequent words to take, or the words themselves in their order.

        Raises
        ------
        CorpusError
            If no word is left.
        """
        selected, tokens = select_words(self.entry, vocab)
        return replace(self, vocab=selected, tokens=tokens[: self.n_tokens])


def sentence_ranges(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut the sentences into ranges first..last of some thousand tokens, at least one sentence each."""
    n_sentences = len(offsets) - 1
    first = 0
    while first < n_sentences:
        last = int(np.searchsorted(offsets, offsets[first] + _TOKENS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), n_sentences)
        yield first, last
        first = last


def select_words(entry: Entry, vocab: VocabConfig | Vocab) -> tuple[Vocab, NDArray[np.int32]]:
    """Return the words of a corpus that get a row, and its tokens as rows of them; see `EncodedCorpus`."""
    if not isinstance(vocab, Vocab):
        return _most_frequent(entry.types, vocab), entry.tokens
    if not len(vocab):
        raise CorpusError("there are no words in the given vocabulary")
    row_of = np.empty(len(entry.types.counts), np.int32)
    for start in range(0, len(row_of), _WORDS_AT_ONCE):
        stop = min(start + _WORDS_AT_ONCE, len(row_of))
        row_of[start:stop] = [vocab.index.get(word, len(vocab)) for word in entry.types.words(start, stop)]
    counts = np.zeros(len(vocab) + 1, np.int64)
    counts[row_of] = entry.types.counts
    if not counts[:-1].any():
        raise CorpusError(f"none of the {len(vocab)} words of the given vocabulary is in the corpus")
    digest = hashlib.sha256("\0".join(vocab.words).encode(errors="surrogatepass"))
    return Vocab(vocab.words, counts[:-1].copy()), renumbered_tokens(entry, row_of, digest.hexdigest())


def _most_frequent(types: Types, config: VocabConfig) -> Vocab:
    n_words = int(np.searchsorted(-types.counts, -config.min_count, side="right"))
    if n_words == 0:
        [word] = types.words(0, 1)
        raise CorpusError(
            f'no word occurs {config.min_count} times (most frequent: {types.counts[0]}, "{word[:60]}"); '
            "lower --min-count"
        )
    if config.max_vocab is not None:
        n_words = min(n_words, config.max_vocab)
    return Vocab(types.words(0, n_words), np.array(types.counts[:n_words]))
