"""Text into ids: files and token lists, read once, become a memory-mapped stream that a cache keeps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from w2v.config import CorpusConfig, PhraseConfig, VocabConfig
from w2v.corpus.ids.encoded_corpus import CorpusReport, EncodedCorpus, ReadingProgress
from w2v.errors import CorpusError
from w2v.vectors.vocab import Vocab

__all__ = ["CorpusReport", "EncodedCorpus", "ReadingProgress", "Source", "encode"]

PathLike: TypeAlias = "str | os.PathLike[str]"
Source: TypeAlias = "PathLike | Sequence[PathLike] | Iterable[Sequence[str]] | EncodedCorpus"


def encode(
    source: Source,
    *,
    corpus: CorpusConfig | None = None,
    vocab: VocabConfig | Vocab | None = None,
    phrases: PhraseConfig | None = None,
    workers: int | None = None,
    cache_dir: PathLike | None = None,
    cache: bool = True,
    progress: ReadingProgress | None = None,
    weights: Iterable[float] | None = None,
) -> EncodedCorpus:
    """Read a corpus once and encode it as ids.

    Parameters
    ----------
    source : path-like, sequence of path-like, or iterable of sequences of str
        Files, folders (read to any depth in sorted order, hidden files left out), URLs, or "-" for standard
        input: text, JSONL, CSV, TSV, Parquet or Wikipedia dumps, plain or packed (gzip, bzip2, xz,
        Zstandard; known by content). Unless `corpus` says otherwise a line is a sentence, and tokens are
        separated as by `str.split()`. Or sentences from Python, each a list of tokens: any iterable, also a
        generator, is read once. An `EncodedCorpus` is returned as it is.
    corpus : CorpusConfig, optional
        How text is read and cut into tokens. Of sentences from Python, whose tokens are there already, only
        `lowercase` is used.
    vocab : VocabConfig or Vocab, optional
        Which words get a row: the most frequent ones, or a given vocabulary's in their order.
    phrases : PhraseConfig, optional
        Which neighbouring words are joined to one.
    workers : int, optional
        Processes that cut text into tokens where that is slower than reading; by default one per core. The
        result does not depend on it.
    cache_dir : path-like, optional
        Where encoded files are kept, so that the next run starts at once; by default the user's cache folder.
        Standard input and sentences from Python are not kept.
    cache : bool
        False: keep nothing; files that are needed meanwhile lie in the system's temporary folder.
    progress : callable, optional
        Called while files are read, with the bytes of the files read so far and all bytes (None if not
        known).
    weights : iterable of float, optional
        One a sentence from Python, 0 to 1,000: a sentence of weight 2 is read twice, 1.3 once and with
        probability 0.3 once more (`corpus.weights_seed`), 0 not at all. Records in files have
        `corpus.weights_field`.

    Returns
    -------
    EncodedCorpus

    Raises
    ------
    CorpusError
        If the source is no text, cannot be decoded, or holds no word to keep.
    OSError
        If a file cannot be read, or the cache not be written.

    Examples
    --------
    >>> from w2v.config import VocabConfig
    >>> from w2v.corpus import encode
    >>> encode([["to", "be", "or"], ["not", "to", "be"]], vocab=VocabConfig(min_count=1))
    EncodedCorpus(6 tokens, 2 sentences, 4 of 4 words)
    """
    if isinstance(source, EncodedCorpus):
        if weights is not None:
            raise CorpusError("weights must be given when a corpus is encoded; this one is encoded already")
        return source
    from w2v.corpus.ids.build_corpus import encode_source
    from w2v.corpus.ids.cache import open_cache
    from w2v.system.processes import usable_cores

    return encode_source(
        source,
        corpus or CorpusConfig(),
        VocabConfig() if vocab is None else vocab,
        cache=open_cache(cache_dir, keep=cache),
        progress=progress,
        phrases=phrases,
        workers=usable_cores() if workers is None else workers,
        weights=weights,
    )
