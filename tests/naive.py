"""Brute-force float64 word2vec with the kernels' own draws: plain loops, written from the papers.

Each function trains one job in place on (V, D) float64 matrices and returns (tokens kept, pairs, loss).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
_MASK = 2**64 - 1


class SplitMix64:
    """The generator of Steele et al. 2014 in Python integers."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def bits(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def bits_32(self) -> int:
        return self.bits() >> 32


@dataclass
class Job:
    """The settings of a run and the tokens of one job."""

    sentences: list[list[int]]
    keep: NDArray[np.uint32]
    cdf: NDArray[np.uint64]
    window: int
    negative: int
    shrink: bool
    alpha_start: float
    alpha_stop: float
    seed: int
    block_size: int = 0
    block_negatives: int = 0
    corrected: bool = True
    frozen: frozenset[int] = frozenset()  # words whose rows of w_in stay as they are


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def softplus(x: float) -> float:
    return float(np.log1p(np.exp(-abs(x))) + max(x, 0.0))


def subsample(job: Job, random: SplitMix64) -> list[list[int]]:
    """Return the kept tokens of each sentence."""
    return [
        [token for token in sentence if token < len(job.keep) and random.bits_32() <= job.keep[token]]
        for sentence in job.sentences
    ]


def draw_width(job: Job, random: SplitMix64) -> int:
    return 1 + (random.bits_32() * job.window >> 32) if job.shrink else job.window


def draw_negative(job: Job, random: SplitMix64) -> int:
    return int(np.searchsorted(job.cdf, random.bits() >> 16, side="right"))


def draw_block_negatives(job: Job, random: SplitMix64, n_blocks: int) -> list[list[int]]:
    """Return the negatives of each block: of every stratum equally spaced points, shuffled (Durstenfeld)."""
    strata = []
    for m in range(job.block_negatives):
        offset, step = random.bits_32(), 2**32 // max(n_blocks, 1)
        words: list[int] = []
        for k in range(n_blocks):
            point = (m << 32) | ((offset + k * step) % 2**32)
            words.append(int(np.searchsorted(job.cdf, point, side="right")))
            other = random.bits_32() * (k + 1) >> 32
            words[k], words[other] = words[other], words[k]
        strata.append(words)
    return [[words[k] for words in strata] for k in range(n_blocks)]


def alpha_at(job: Job, position: int, n: int) -> float:
    return job.alpha_start + (job.alpha_stop - job.alpha_start) * position / n


def _train_target(
    job: Job, w_out: Matrix, row: Matrix, target: int, alpha: float, random: SplitMix64
) -> tuple[Matrix, float]:
    """Train one row on a target and K negatives in turn; return the row's update and the loss."""
    update, loss = np.zeros_like(row), 0.0
    for k in range(job.negative + 1):
        word = target if k == 0 else draw_negative(job, random)
        if k > 0 and word == target:
            continue
        x = float(row @ w_out[word])
        loss += softplus(x) if k else softplus(-x)
        error = (k == 0) - sigmoid(x)
        update += alpha * error * w_out[word]
        w_out[word] += alpha * error * row
    return update, loss


def skipgram_exact(job: Job, w_in: Matrix, w_out: Matrix) -> tuple[int, float, float]:
    random = SplitMix64(job.seed)
    sentences = subsample(job, random)
    n, position, pairs, loss = sum(map(len, sentences)), 0, 0, 0.0
    for sentence in sentences:
        for i, centre in enumerate(sentence):
            alpha, width = alpha_at(job, position, n), draw_width(job, random)
            position += 1
            for j in range(max(0, i - width), min(len(sentence), i + width + 1)):
                if j != i:
                    context = sentence[j]
                    update, pair_loss = _train_target(job, w_out, w_in[context].copy(), centre, alpha, random)
                    if context not in job.frozen:
                        w_in[context] += update
                    pairs, loss = pairs + 1, loss + pair_loss
    return n, pairs, loss


def cbow_exact(job: Job, w_in: Matrix, w_out: Matrix) -> tuple[int, float, float]:
    random = SplitMix64(job.seed)
    sentences = subsample(job, random)
    n, position, pairs, loss = sum(map(len, sentences)), 0, 0, 0.0
    for sentence in sentences:
        for i, centre in enumerate(sentence):
            alpha, width = alpha_at(job, position, n), draw_width(job, random)
            position += 1
            near = range(max(0, i - width), min(len(sentence), i + width + 1))
            contexts = [sentence[j] for j in near if j != i]
            if contexts:
                mean = w_in[contexts].mean(axis=0)
                update, pair_loss = _train_target(job, w_out, mean, centre, alpha, random)
                for context in contexts:
                    if context not in job.frozen:
                        w_in[context] += update / len(contexts) if job.corrected else update
                pairs, loss = pairs + 1, loss + pair_loss
    return n, pairs, loss


@dataclass
class _Pair:
    """One row of a block against one target; `weight` is the share of the pair that is trained."""

    row: int
    target: int
    weight: float


def _block_gradient(
    job: Job, rows: Matrix, w_out: Matrix, pairs: list[_Pair], negatives: list[int]
) -> tuple[Matrix, Matrix, float]:
    """Return minus the gradients of rows and of w_out, and the loss, all at the block's first weights."""
    d_rows, d_out, loss = np.zeros_like(rows), np.zeros_like(w_out), 0.0
    share = job.negative / job.block_negatives
    for pair in pairs:
        scored = [(pair.target, 1.0, True)] + [(m, share, False) for m in negatives if m != pair.target]
        for word, weight, is_target in scored:
            x = float(rows[pair.row] @ w_out[word])
            loss += pair.weight * weight * softplus(-x if is_target else x)
            error = pair.weight * weight * (is_target - sigmoid(x))
            d_rows[pair.row] += error * w_out[word]
            d_out[word] += error * rows[pair.row]
    return d_rows, d_out, loss


def skipgram_block(job: Job, w_in: Matrix, w_out: Matrix) -> tuple[int, float, float]:
    random = SplitMix64(job.seed)
    flat = [(s, i, word) for s, words in enumerate(subsample(job, random)) for i, word in enumerate(words)]
    n, n_pairs, loss = len(flat), 0.0, 0.0
    drawn = draw_block_negatives(job, random, -(-n // job.block_size))
    for first, negatives in zip(range(0, n, job.block_size), drawn, strict=True):
        block = flat[first : first + job.block_size]
        pairs = [
            _Pair(b, word, (job.window - abs(i - j) + 1) / job.window if job.shrink else 1.0)
            for b, (s, i, _) in enumerate(block)
            for t, j, word in flat
            if s == t and 0 < abs(i - j) <= job.window
        ]
        rows = [word for _, _, word in block]
        d_rows, d_out, block_loss = _block_gradient(job, w_in[rows], w_out, pairs, negatives)
        alpha = alpha_at(job, first, n)
        w_out += alpha * d_out
        for word, update in zip(rows, d_rows, strict=True):
            if word not in job.frozen:
                w_in[word] += alpha * update
        n_pairs, loss = n_pairs + sum(pair.weight for pair in pairs), loss + block_loss
    return n, n_pairs, loss


def cbow_block(job: Job, w_in: Matrix, w_out: Matrix) -> tuple[int, float, float]:
    random = SplitMix64(job.seed)
    sentences = subsample(job, random)
    places = [(sentence, i) for sentence in sentences for i in range(len(sentence))]
    windows = [draw_width(job, random) for _ in places]
    n, n_pairs, loss = len(places), 0.0, 0.0
    drawn = draw_block_negatives(job, random, -(-n // job.block_size))
    for first, negatives in zip(range(0, n, job.block_size), drawn, strict=True):
        contexts = [
            [words[j] for j in range(max(0, i - width), min(len(words), i + width + 1)) if j != i]
            for (words, i), width in list(zip(places, windows, strict=True))[first : first + job.block_size]
        ]
        means = np.stack([w_in[c].mean(axis=0) if c else np.zeros(w_in.shape[1]) for c in contexts])
        pairs = [
            _Pair(b, words[i], 1.0)
            for b, (words, i) in enumerate(places[first : first + job.block_size])
            if contexts[b]
        ]
        d_rows, d_out, block_loss = _block_gradient(job, means, w_out, pairs, negatives)
        alpha = alpha_at(job, first, n)
        w_out += alpha * d_out
        for words, update in zip(contexts, d_rows, strict=True):
            for word in words:
                if word not in job.frozen:
                    w_in[word] += alpha * update / (len(words) if job.corrected else 1)
        n_pairs, loss = n_pairs + len(pairs), loss + block_loss
    return n, n_pairs, loss


def numerical_gradient(function, matrix: Matrix, *, step: float = 1e-5) -> Matrix:  # type: ignore[no-untyped-def]
    """Return the central differences of `function()` by every number of `matrix`, moved in place."""
    gradient = np.zeros_like(matrix)
    for place in np.ndindex(matrix.shape):
        number = matrix[place]
        matrix[place] = number + step
        above = function()
        matrix[place] = number - step
        below = function()
        matrix[place] = number
        gradient[place] = (above - below) / (2 * step)
    return gradient
