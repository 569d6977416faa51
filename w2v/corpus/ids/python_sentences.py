"""Sentences from Python: any iterable of token lists, read once."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.corpus.ids.cache_entry import StreamWriter
from w2v.corpus.ids.word_types import Numbering, Types
from w2v.corpus.read.opened_file import Tally
from w2v.corpus.read.sentence_weights import times_of
from w2v.errors import CorpusError

_TOKENS_AT_ONCE = 1 << 16
_NOTHING = object()
EXAMPLE = '[["hello", "world"], ["second", "sentence"]]'


class _Words:
    """Check tokens from Python and turn them into words; remember one with white space inside."""

    def __init__(self, *, lowercase: bool) -> None:
        self._lowercase = lowercase
        self.spaced = ""

    def __call__(self, token: Any) -> str:
        word = _checked(token)
        if not self.spaced and any(map(str.isspace, word)):
            self.spaced = word
        return word.lower() if self._lowercase else word


def encode_sentences(sentences: Iterable[Any], writer: StreamWriter, *, lowercase: bool) -> tuple[Types, int]:
    """Write the ids of all tokens.

    Parameters
    ----------
    sentences : iterable of sequences of str
        Read once, and never held in memory as a whole.
    writer : StreamWriter
    lowercase : bool

    Returns
    -------
    Types
        In order of first appearance.
    int
        Sentences without a token.

    Raises
    ------
    CorpusError
        If a sentence is no list of tokens, or a token is no text.
    """
    words = _Words(lowercase=lowercase)
    numbering = Numbering(words)
    counts = np.zeros(0, np.int64)
    ids, ends, n_blank = array("i"), array("q"), 0
    for number, sentence in enumerate(sentences, 1):
        if len(ids) >= _TOKENS_AT_ONCE:
            counts = _flush(writer, ids, ends, counts, len(numbering.words))
            ids, ends = array("i"), array("q")
        n_ids = len(ids)
        ids.extend(_ids(sentence, number, numbering))
        if len(ids) > n_ids:
            ends.append(writer.n_tokens + len(ids))
        else:
            n_blank += 1
    counts = _flush(writer, ids, ends, counts, len(numbering.words))
    if words.spaced:
        _warn_of_spaces(words.spaced)
    return Types.from_words(numbering.words, counts[: len(numbering.words)]), n_blank


def weighted_sentences(
    sentences: Iterable[Any], weights: Iterable[Any], seed: int, tally: Tally
) -> Iterator[Any]:
    """Yield each sentence as many times as its weight says; see `times_of`.

    Raises
    ------
    CorpusError
        If a weight is no number from 0 to 1,000, or there are not as many weights as sentences.
    """
    if isinstance(weights, str) or not hasattr(weights, "__iter__"):
        raise CorpusError(f"weights must be a list of numbers, one a sentence; got {shown(weights)}")
    for number, (sentence, weight) in enumerate(zip_longest(sentences, weights, fillvalue=_NOTHING), 1):
        if sentence is _NOTHING or weight is _NOTHING:
            more, fewer = ("weights", "sentences") if sentence is _NOTHING else ("sentences", "weights")
            raise CorpusError(f"there are {number - 1:,} {fewer} and more {more}; give one weight a sentence")
        try:
            times = times_of(weight, seed, 0, number)
        except CorpusError as error:
            raise CorpusError(f"sentence {number}: {error}") from None
        tally.weigh(times)
        yield from repeat(sentence, times)


def _ids(sentence: Any, number: int, numbering: Numbering) -> list[int]:
    try:
        return numbering.ids(_tokens(sentence))
    except CorpusError as error:
        raise CorpusError(f"sentence {number}: {error}") from None
    except TypeError as error:  # a token that cannot be hashed, such as a list
        raise CorpusError(f"sentence {number} has a token that is no str ({error})") from None


def _flush(
    writer: StreamWriter, ids: array[int], ends: array[int], counts: NDArray[np.int64], n_types: int
) -> NDArray[np.int64]:
    """Write the gathered ids; return the counts with them added, at least n_types long."""
    token_ids = np.array(ids, np.int32)
    writer.write(token_ids, np.array(ends, np.int64))
    if n_types > len(counts):
        counts = np.concatenate((counts, np.zeros(2 * n_types - len(counts), np.int64)))
    np.add.at(counts, token_ids, 1)
    return counts


def _tokens(sentence: Any) -> Sequence[Any]:
    if isinstance(sentence, list | tuple):
        return sentence
    if isinstance(sentence, np.ndarray) and sentence.ndim == 1:
        return sentence.tolist()  # type: ignore[no-any-return]
    if isinstance(sentence, str):
        advice = "split it into tokens, or pass the text as a file"
    else:
        advice = "make it a list of str"
    raise CorpusError(
        f"expected a list of tokens, got {shown(sentence)}; {advice}. A corpus looks like {EXAMPLE}"
    )


def _checked(token: Any) -> str:
    if not isinstance(token, str):
        raise CorpusError(f"expected tokens of type str, got {shown(token)}")
    if not token:
        raise CorpusError("a token is empty; leave empty tokens out")
    try:
        token.encode()
    except UnicodeEncodeError:
        raise CorpusError(f"the token {shown(token)} has a lone surrogate, which is no text") from None
    return str(token)


def shown(value: Any) -> str:
    """Describe a value in an error message."""
    text = repr(value)
    return f"the {type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _warn_of_spaces(word: str) -> None:
    warnings.warn(
        f"tokens with white space inside are taken as they are, such as {shown(word)}; "
        "if these are sentences, split them into tokens",
        UserWarning,
        stacklevel=2,
    )
