"""The loss of any pair of weight matrices on the same pairs of words and the same negatives, in float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.corpus import EncodedCorpus
from w2v.vectors.vocab import Vocab, keep_probabilities

_TOKENS = 400_000
_PREDICTIONS = 100_000
_PREDICTIONS_AT_ONCE = 4096
_SEED = 20_130_116  # always the same pairs

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LossSample:
    """Predictions drawn from a corpus as training draws them: of a target from one context, or from several.

    Attributes
    ----------
    contexts : ndarray of int64, shape (C,)
        Rows of w_in, the contexts of all predictions one after the other.
    starts : ndarray of int64, shape (P + 1,)
        Prediction p is from contexts[starts[p]:starts[p + 1]]: one (skip-gram), or their mean (CBOW).
    targets : ndarray of int64, shape (P,)
        Rows of w_out.
    negatives : ndarray of int64, shape (P, K)
        Rows of w_out. One that is the target does not count, as in word2vec.c and gensim.
    """

    contexts: Ids
    starts: Ids
    targets: Ids
    negatives: Ids


def draw_sample(corpus: EncodedCorpus, vocab: Vocab, config: TrainConfig) -> LossSample:
    """Draw up to 100,000 predictions from random sentences, subsampled and windowed as in training.

    Parameters
    ----------
    corpus : EncodedCorpus
        With ids below `n_types`.
    vocab : Vocab
        Words of the corpus: row i of the weights belongs to its word i.
    config : TrainConfig
    """
    rng = np.random.default_rng(_SEED)
    tokens, sentence = _random_sentences(corpus, rng)
    row_of = np.full(corpus.n_types, -1)
    row_of[[corpus.vocab.index[word] for word in vocab.words]] = np.arange(len(vocab))
    keep = np.append(keep_probabilities(vocab.counts, config.sample), 0.0)  # the last, row -1, is no word
    rows = row_of[tokens]
    is_kept = rng.random(len(rows)) < keep[rows]
    tokens, sentence = rows[is_kept], sentence[is_kept]
    widths = np.full(len(tokens), config.window)
    if config.shrink_windows:
        widths = rng.integers(1, config.window + 1, len(tokens))
    context, target = _pairs(sentence, widths, config.window)
    is_first = np.diff(target, prepend=-1) != 0
    starts = np.flatnonzero(is_first) if config.objective.averages_contexts else np.arange(len(target))
    chosen = np.sort(rng.permutation(len(starts))[:_PREDICTIONS])
    ends = np.append(starts, len(target))[chosen + 1]
    lengths = ends - starts[chosen]
    borders = np.concatenate(([0], np.cumsum(lengths)))
    places = np.repeat(starts[chosen] - borders[:-1], lengths) + np.arange(borders[-1])
    targets = tokens[target[starts[chosen]]]
    weights = np.cumsum(vocab.counts.astype(np.float64) ** config.ns_exponent)
    negatives = np.searchsorted(weights, rng.random((len(targets), config.negative)) * weights[-1], "right")
    return LossSample(tokens[context[places]], borders, targets, negatives)


def _random_sentences(corpus: EncodedCorpus, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """Return tokens of random sentences, and the number of the sentence of each."""
    lengths = np.diff(corpus.offsets)
    order = rng.permutation(len(lengths))
    order = order[: int(np.searchsorted(np.cumsum(lengths[order]), _TOKENS)) + 1]
    parts = [corpus.tokens[corpus.offsets[s] : corpus.offsets[s + 1]] for s in order]
    return np.concatenate(parts).astype(np.int64), np.repeat(np.arange(len(order)), lengths[order])


def _pairs(sentence: Ids, widths: Ids, window: int) -> tuple[Ids, Ids]:
    """Return the places of contexts and of their centres, centre by centre."""
    contexts, centres = [], []
    every = np.arange(len(sentence))
    for distance in range(1, min(window, len(sentence) - 1) + 1):
        is_same = sentence[distance:] == sentence[:-distance]
        for centre, shift in ((every[distance:], -distance), (every[:-distance], distance)):
            found = centre[is_same & (widths[centre] >= distance)]
            centres.append(found)
            contexts.append(found + shift)
    context = np.concatenate(contexts) if contexts else np.empty(0, np.int64)
    centre = np.concatenate(centres) if centres else np.empty(0, np.int64)
    order = np.argsort(centre, kind="stable")
    return context[order], centre[order]


def mean_loss(sample: LossSample, w_in: NDArray[np.float32], w_out: NDArray[np.float32]) -> float:
    """Return the mean negative log-likelihood of a prediction, in nats (Mikolov et al. 2013b, equation 4).

    softplus(-x) of the target and softplus(x) of each negative, x the inner product of the input (the mean of
    the contexts' rows of w_in) and a row of w_out. NaN for an empty sample.
    """
    total = 0.0
    n = len(sample.targets)
    for first in range(0, n, _PREDICTIONS_AT_ONCE):
        part = slice(first, min(first + _PREDICTIONS_AT_ONCE, n))
        starts = sample.starts[part.start : part.stop + 1]
        rows = w_in[sample.contexts[starts[0] : starts[-1]]].astype(np.float64)
        inputs = np.add.reduceat(rows, starts[:-1] - starts[0], axis=0) / np.diff(starts)[:, np.newaxis]
        targets, negatives = sample.targets[part], sample.negatives[part]
        x = np.einsum("pd,pd->p", inputs, w_out[targets].astype(np.float64))
        y = np.einsum("pd,pkd->pk", inputs, w_out[negatives].astype(np.float64))
        total += float(np.logaddexp(0, -x).sum())
        total += float((np.logaddexp(0, y) * (negatives != targets[:, np.newaxis])).sum())
    return total / n if n else float("nan")
