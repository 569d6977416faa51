"""An encoded corpus written out as text again."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from w2v.corpus.ids import scan_kernels as kernels
from w2v.corpus.ids.encoded_corpus import EncodedCorpus, sentence_ranges
from w2v.errors import CorpusError


def write_sentences(corpus: EncodedCorpus, file: BinaryIO) -> None:
    """Write all words of a corpus as text, with a space between words, a sentence a line.

    Parameters
    ----------
    corpus : EncodedCorpus
    file : binary file

    Raises
    ------
    CorpusError
        If a word holds white space, so that it would be read back as several words.
    """
    types = corpus.types
    for word in types.words():
        if word.split() != [word]:
            raise CorpusError(f"the word {word[:60]!r} holds white space, so it cannot stand in text")
    lengths = np.diff(types.offsets)
    for first, last in sentence_ranges(corpus.offsets):
        tokens = corpus.type_ids[corpus.offsets[first] : corpus.offsets[last]]
        out = np.empty(int(lengths[tokens].sum()) + len(tokens), np.uint8)
        n_bytes = kernels.put_sentences(
            corpus.type_ids, corpus.offsets, first, last, types.blob, types.offsets, out
        )
        file.write(out[:n_bytes].data)
