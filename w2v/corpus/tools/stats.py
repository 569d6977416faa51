"""A look at a corpus before training: sizes, coverage, Zipf's law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v.corpus.ids.encoded_corpus import EncodedCorpus
from w2v.files.figures import new_figure, write_figure
from w2v.vectors.vocab import keep_probabilities

MIN_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100)
SAMPLES = (1e-2, 1e-3, 1e-4, 1e-5)
_FITTED_RANKS = 10_000


class Coverage(NamedTuple):
    """What a min_count leaves: words, and the share of the tokens that are theirs."""

    min_count: int
    words: int
    tokens: float


class Subsampling(NamedTuple):
    """What a `sample` leaves: the share of the tokens, on average."""

    sample: float
    tokens: float


@dataclass(frozen=True)
class CorpusStats:
    """What `describe_corpus` found.

    Attributes
    ----------
    tokens, types, sentences : int
    longest_sentence : int
        In tokens.
    mean_sentence : float
        In tokens.
    once : int
        Types that occur once.
    zipf_exponent : float
        s in frequency ~ 1 / rank ** s, fitted to the first 10,000 ranks; near 1 for natural language.
    most_frequent : tuple of (str, int)
    coverage : tuple of Coverage
    subsampling : tuple of Subsampling
        Among the words that occur 5 times or more.
    """

    tokens: int
    types: int
    sentences: int
    longest_sentence: int
    mean_sentence: float
    once: int
    zipf_exponent: float
    most_frequent: tuple[tuple[str, int], ...]
    coverage: tuple[Coverage, ...]
    subsampling: tuple[Subsampling, ...]


def describe_corpus(corpus: EncodedCorpus) -> CorpusStats:
    """Describe a corpus with all its words, in the vocabulary or not."""
    counts = corpus.types.counts
    lengths = np.diff(corpus.offsets)
    return CorpusStats(
        corpus.n_tokens,
        corpus.n_types,
        corpus.n_sentences,
        int(lengths.max()),
        float(lengths.mean()),
        int((counts == 1).sum()),
        _zipf_exponent(counts),
        tuple(zip(corpus.types.words(0, min(10, len(counts))), counts[:10].tolist(), strict=True)),
        tuple(_coverage(counts, min_count) for min_count in MIN_COUNTS),
        tuple(Subsampling(sample, _kept(counts[counts >= 5], sample)) for sample in SAMPLES),
    )


def corpus_advice(stats: CorpusStats) -> list[str]:
    """Say what looks wrong, and what to change."""
    lines = []
    if stats.sentences == 1 and stats.tokens > 1000:
        lines.append("the text is a single sentence: put a line break behind each, or try --sentences split")
    if stats.mean_sentence < 3:
        lines.append(
            f"a sentence has {stats.mean_sentence:.1f} tokens on average, so there is little context: is a "
            "line a word, or was the text never cut into words (--tokenizer)?"
        )
    five = next(row for row in stats.coverage if row.min_count == 5)
    if five.tokens < 0.8:
        lines.append(
            f"min_count 5 drops {1 - five.tokens:.0%} of the tokens: lower --min-count, or cut and "
            "lower-case the text (--tokenizer, --lowercase)"
        )
    if stats.tokens < 1_000_000:
        lines.append(f"{stats.tokens:,} tokens are few: good vectors need some millions, and more --epochs")
    return lines


def zipf_chart(counts: NDArray[np.int64], *, width: int = 60, height: int = 12) -> str:
    """Draw frequency over rank, both logarithmic, for a terminal.

    Parameters
    ----------
    counts : ndarray of int64, shape (V,)
        In falling order.
    """
    most, ranks = math.log10(counts[0]) or 1, math.log10(len(counts)) or 1
    columns = [min(len(counts), round(10 ** (ranks * x / (width - 1)))) for x in range(width)]
    rows = [round((height - 1) * math.log10(counts[rank - 1]) / most) for rank in columns]
    lines = []
    for row in range(height - 1, -1, -1):
        label = f"{10 ** (most * row / (height - 1)):>11,.0f} " if row % 4 == (height - 1) % 4 else " " * 12
        lines.append(label + "|" + "".join("*" if at == row else " " for at in rows).rstrip())
    lines.append(" " * 12 + "+" + "-" * width)
    lines.append(" " * 12 + " 1" + f"rank {len(counts):,}".rjust(width - 1))
    return "\n".join(lines)


def plot_zipf(counts: NDArray[np.int64], path: Path) -> None:
    """Draw frequency over rank into a picture, whose suffix says which kind: png, svg, pdf.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    figure = new_figure(6, 4)
    axes = figure.add_subplot()
    ranks = np.unique(np.geomspace(1, len(counts), 1000).astype(np.int64))
    axes.loglog(ranks, counts[ranks - 1], ".", markersize=3)
    axes.loglog(ranks, counts[0] / ranks, "-", linewidth=0.8, label="1 / rank")
    axes.set(xlabel="rank", ylabel="occurrences")
    axes.legend()
    write_figure(figure, path)


def _coverage(counts: NDArray[np.int64], min_count: int) -> Coverage:
    kept = counts[counts >= min_count]
    return Coverage(min_count, len(kept), float(kept.sum() / counts.sum()))


def _kept(counts: NDArray[np.int64], sample: float) -> float:
    if not len(counts):
        return 0.0
    return float((keep_probabilities(counts, sample) * counts).sum() / counts.sum())


def _zipf_exponent(counts: NDArray[np.int64]) -> float:
    counts = counts[: min(_FITTED_RANKS, int((counts > 1).sum()))]
    if len(counts) < 10:
        return math.nan
    ranks = np.unique(np.geomspace(1, len(counts), 200).astype(np.int64))
    slope = np.polyfit(np.log(ranks), np.log(counts[ranks - 1]), 1)[0]
    return float(-slope)
