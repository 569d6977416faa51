"""What training will take, before it begins: time, memory, disk; an order of magnitude."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.training import resolve
from w2v.vectors.vocab import keep_probabilities

# Seconds a trained token, measured on one core at 2.6 GHz. Block kernels: one part whatever the settings, and
# one for each number of each column that a position meets. Exact kernels: D = 100, window 5, 5 negatives.
_BLOCK_SECONDS, _BLOCK_SECONDS_A_NUMBER = 60e-9, 0.13e-9
_SKIPGRAM_EXACT_SECONDS, _CBOW_EXACT_SECONDS = 3.2e-6, 0.8e-6
_CBOW_COLUMNS = 8  # what the running sums over the contexts cost, in columns
_SECONDS_A_TOKEN = 5e-9  # of reading a token, kept or not
_PADDING = 1.1
_BYTES_A_WORD = 300
_BASE_BYTES = 250e6
_SECONDS_TO_A_CHECKPOINT = 300  # by default; it takes a copy of the matrices


class Estimate(NamedTuple):
    """What training will take: an order of magnitude.

    Attributes
    ----------
    words : int
        Rows of the matrices.
    trained_tokens : int
        Tokens an epoch that are left after min_count and subsampling, on average.
    memory_bytes : int
        Most memory of the process.
    disk_bytes : int
        The model folder.
    seconds : float
        Training, without reading the text.
    """

    words: int
    trained_tokens: int
    memory_bytes: int
    disk_bytes: int
    seconds: float


def estimate(counts: NDArray[np.int64], n_tokens: int, config: TrainConfig) -> Estimate:
    """Estimate what training takes.

    Parameters
    ----------
    counts : ndarray of int64, shape (V,)
        Of the words that get a row.
    n_tokens : int
        N, all tokens of the text.
    config : TrainConfig
    """
    config = config.resolved(n_tokens)
    trained = float((keep_probabilities(counts, config.sample) * counts).sum())
    n_words = len(counts)
    n_rows = n_words + config.objective.output_rows(n_words)
    matrices = 4 * n_rows * config.vector_size
    epoch_seconds = trained * resolve(config.objective.seconds)(config) + n_tokens * _SECONDS_A_TOKEN
    seconds = cast(int, config.epochs) * epoch_seconds / config.workers
    memory = matrices * _PADDING + _BYTES_A_WORD * n_words + _BASE_BYTES
    if seconds > _SECONDS_TO_A_CHECKPOINT:
        memory += matrices
    return Estimate(
        words=n_words,
        trained_tokens=round(trained),
        memory_bytes=int(memory),
        disk_bytes=matrices + 12 * n_words,
        seconds=seconds,
    )


def skipgram_block_seconds(config: TrainConfig) -> float:
    """Return the seconds a trained token: each position meets M negatives and its 2w targets."""
    return _block_seconds(config, 2 * config.window + 2)


def cbow_block_seconds(config: TrainConfig) -> float:
    """Return the seconds a trained token; they do not depend on the window."""
    return _block_seconds(config, _CBOW_COLUMNS)


def _block_seconds(config: TrainConfig, more_columns: int) -> float:
    columns = cast(int, config.block_negatives) + more_columns
    return _BLOCK_SECONDS + _BLOCK_SECONDS_A_NUMBER * config.vector_size * columns


def skipgram_exact_seconds(config: TrainConfig) -> float:
    """Return the seconds a trained token: in proportion to the window."""
    return _exact_seconds(config, _SKIPGRAM_EXACT_SECONDS * (config.window / 5))


def cbow_exact_seconds(config: TrainConfig) -> float:
    """Return the seconds a trained token: summing the contexts is most of it."""
    return _exact_seconds(config, _CBOW_EXACT_SECONDS * (0.3 + 0.7 * config.window / 5))


def _exact_seconds(config: TrainConfig, seconds: float) -> float:
    """Scale what was measured with 100 dimensions and 5 negatives."""
    return seconds * (0.45 + 0.55 * config.vector_size / 100) * (0.2 + 0.8 * config.negative / 5)
