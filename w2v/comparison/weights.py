"""What a trainer's process has left, read back: words, counts and weights, in an order common to all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from w2v.embeddings import Embeddings
from w2v.formats.folder import read_folder
from w2v.vectors.origin import Origin
from w2v.vectors.vocab import Vocab


def read_weights(trainer: str, folder: Path) -> Embeddings:
    """Open the weights that `run_job` left in a job's folder, memory-mapped."""
    if trainer == "w2v":
        return Embeddings.of(read_folder(folder / "model"))
    words = (folder / "words.txt").read_text("utf-8").split("\n")
    vectors, context, counts = (
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("vectors", "context", "counts")
    )
    return Embeddings(Vocab(words, np.asarray(counts)), vectors, context, Origin(source={"format": "gensim"}))


def in_order(model: Embeddings, vocab: Vocab) -> Embeddings:
    """Return the model with the rows of `vocab`'s words, in its order; all must be there."""
    if list(model.words) == list(vocab.words):
        return model
    rows = [model.vocab.index[word] for word in vocab.words]
    return replace(model.rows(rows), vocab=vocab)


def shared_words(vocab: Vocab, others: Sequence[Vocab]) -> Vocab:
    """Return the words of `vocab` that all the others have too, with its counts and in its order."""
    rows = [row for row, word in enumerate(vocab.words) if all(word in other.index for other in others)]
    return vocab if len(rows) == len(vocab) else Vocab([vocab.words[row] for row in rows], vocab.counts[rows])


@dataclass(frozen=True)
class VocabularyCheck:
    """Two vocabularies, word by word.

    Attributes
    ----------
    n_words, n_tokens : int
        Words with the same count in both, and the sum of their counts.
    only_gensim, only_w2v : tuple of (str, int)
        Words, with their counts, that only one of them has; most frequent first.
    other_count : tuple of (str, int, int)
        Words that both have, with gensim's count and w2v's, which differ.
    """

    n_words: int
    n_tokens: int
    only_gensim: tuple[tuple[str, int], ...]
    only_w2v: tuple[tuple[str, int], ...]
    other_count: tuple[tuple[str, int, int], ...]

    @property
    def is_same(self) -> bool:
        """Whether there is no difference."""
        return not (self.only_gensim or self.only_w2v or self.other_count)


def check_vocabulary(gensim: Vocab, w2v: Vocab) -> VocabularyCheck:
    """Compare words and counts."""
    theirs, ours = (dict(zip(one.words, one.counts.tolist(), strict=True)) for one in (gensim, w2v))
    both = [word for word in ours if word in theirs]
    same = [word for word in both if ours[word] == theirs[word]]
    return VocabularyCheck(
        len(same),
        sum(ours[word] for word in same),
        _missing(theirs, ours),
        _missing(ours, theirs),
        tuple((word, theirs[word], ours[word]) for word in both if ours[word] != theirs[word]),
    )


def _missing(here: dict[str, int], there: dict[str, int]) -> tuple[tuple[str, int], ...]:
    found = [(word, count) for word, count in here.items() if word not in there]
    return tuple(sorted(found, key=lambda one: -one[1]))
