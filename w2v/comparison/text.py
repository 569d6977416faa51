"""An encoded corpus written out as the one text file that gensim and w2v both read."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2v.corpus import EncodedCorpus
from w2v.corpus.tools.write_text import write_sentences
from w2v.files.atomic import new_file

# word2vec.c's limit. gensim's is 10,000, but it trains on no more than 10,000 words of a batch, and puts one
# sentence too many into it: of sentences of 10,000 words it left out a third (505,654 words of Chinese).
LONGEST_SENTENCE = 1_000


@dataclass(frozen=True)
class SharedText:
    """The text that both trainers read.

    Attributes
    ----------
    path : Path
    tokens, sentences : int
    n_cut : int
        Sentences of more than 1,000 tokens, cut there for both.
    is_corpus : bool
        Whether it is, byte for byte, the one file that the corpus consists of.
    """

    path: Path
    tokens: int
    sentences: int
    n_cut: int
    is_corpus: bool


def write_text(corpus: EncodedCorpus, path: Path, origin: object = None) -> SharedText:
    """Write all words of the corpus, a sentence a line, with a space between words.

    Parameters
    ----------
    corpus : EncodedCorpus
    path : Path
    origin : object, optional
        What the corpus was read from.

    Raises
    ------
    CorpusError
        If a word holds white space, where gensim would cut it.
    """
    offsets = cut_sentences(corpus.offsets)
    with new_file(path) as file:
        write_sentences(replace(corpus, offsets=offsets), file)
    n_cut = int((np.diff(corpus.offsets) > LONGEST_SENTENCE).sum())
    return SharedText(path, corpus.n_tokens, len(offsets) - 1, n_cut, _is_same_file(path, origin))


def cut_sentences(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return sentence borders with further ones, every 1,000 tokens of a sentence."""
    lengths = np.diff(offsets)
    if not len(lengths) or lengths.max() <= LONGEST_SENTENCE:
        return np.asarray(offsets)
    pieces = [
        np.arange(offsets[s], offsets[s + 1], LONGEST_SENTENCE, dtype=np.int64) for s in range(len(lengths))
    ]
    return np.concatenate([*pieces, offsets[-1:]])


def _is_same_file(path: Path, origin: object) -> bool:
    if isinstance(origin, Sequence) and not isinstance(origin, str) and len(origin) == 1:
        origin = origin[0]
    if not isinstance(origin, str | os.PathLike) or not Path(origin).is_file():
        return False
    return filecmp.cmp(path, origin, shallow=False)
