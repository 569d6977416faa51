"""What can be trained: one record for each pair of a model and a kernel. Nothing else asks for them by name.

A record names its functions as "module:function" below `w2v.training`; training imports them when a run needs
them, so settings and command line load no kernels. A new objective is a kernel, one record here, and a test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from w2v.errors import ConfigError


def one_row_a_word(n_words: int) -> int:
    """Return V: w_out has a row for every word."""
    return n_words


def loss_of_sampling(negative: int) -> float:
    """Return the loss a pair while w_out is zero: ln 2 for the target and for each of K negatives."""
    return (negative + 1) * math.log(2)


# How many updates the block kernels add to a row before they look at it again. Up to here the default rate
# trains; on the demo corpus, skip-gram has weights of 10 at 150 and diverges at 200, CBOW at 50.
_MOST_UPDATES_SKIPGRAM, _MOST_UPDATES_CBOW, _MOST_BLOCK_SIZE = 100, 20, 128


def full_rate(negative: int, window: int, block_size: int) -> float:
    """Return 1: an update a pair is stable at any setting."""
    return 1.0


def skipgram_block_rate(negative: int, window: int, block_size: int) -> float:
    """Return the share of the default rate at which all pairs of a block times K negatives are stable."""
    return min(1.0, _MOST_UPDATES_SKIPGRAM / (negative * window * max(1.0, block_size / _MOST_BLOCK_SIZE)))


def cbow_block_rate(negative: int, window: int, block_size: int) -> float:
    """Do the same for CBOW: a position is one pair, whatever the window."""
    return min(1.0, _MOST_UPDATES_CBOW / (negative * max(1.0, block_size / _MOST_BLOCK_SIZE)))


@dataclass(frozen=True)
class Objective:
    """How one model is trained by one kernel.

    Attributes
    ----------
    model, kernel : str
        Values of the settings `model` and `kernel`.
    title : str
        The model's name in reports.
    train : str
        The kernel, called as `train(tables, settings, layout, scratch, job)`; returns tokens kept, pairs and
        loss.
    tables : str
        Makes what all threads share, called as `tables(corpus, config, settings, weights)`.
    scratch : str
        Makes one thread's memory, called as `scratch(settings, layout, longest_job)`.
    seconds : str
        The cost model, called as `seconds(config)`; returns seconds a trained token on one core.
    output_rows : callable
        Rows of w_out for V words.
    alphas : mapping
        Learning rate at the start where `alpha` is None, by `cbow_update`.
    rate : callable
        Called as `rate(negative, window, block_size)`; returns the share of that learning rate to begin with.
    untrained_loss : callable
        Called as `untrained_loss(negative)`; returns the loss a pair before training.
    block_negatives : int
        Negatives shared by a block where `block_negatives` is None.
    most_job_tokens : int
        Raw tokens a job on large corpora: some milliseconds of work.
    averages_contexts : bool
        Whether the mean of all contexts predicts a word; otherwise each context predicts it for itself.
    works_in_blocks : bool
        Whether many positions are trained at once, with shared negatives.
    gensim : mapping or None
        What gensim's `Word2Vec` is called with for the same model; None if gensim does not have it.
    """

    model: str
    kernel: str
    title: str
    train: str
    tables: str
    scratch: str
    seconds: str
    output_rows: Callable[[int], int]
    alphas: Mapping[str, float]
    rate: Callable[[int, int, int], float]
    untrained_loss: Callable[[int], float]
    block_negatives: int
    most_job_tokens: int
    averages_contexts: bool
    works_in_blocks: bool
    gensim: Mapping[str, int] | None


_SKIPGRAM_BLOCK = Objective(
    model="sg",
    kernel="block",
    title="skip-gram",
    train="cpu.block_kernels:train_skipgram_block",
    tables="sampling:block_tables",
    scratch="cpu.memory:skipgram_block_scratch",
    seconds="cost:skipgram_block_seconds",
    output_rows=one_row_a_word,
    alphas={"corrected": 0.025, "original": 0.025},
    rate=skipgram_block_rate,
    untrained_loss=loss_of_sampling,
    block_negatives=24,
    most_job_tokens=16_384,
    averages_contexts=False,
    works_in_blocks=True,
    gensim={"sg": 1},
)
_SKIPGRAM_EXACT = replace(
    _SKIPGRAM_BLOCK,
    kernel="exact",
    train="cpu.exact_kernels:train_skipgram_exact",
    rate=full_rate,
    tables="sampling:exact_tables",
    scratch="cpu.memory:exact_scratch",
    seconds="cost:skipgram_exact_seconds",
    most_job_tokens=2_048,
    works_in_blocks=False,
)
_CBOW_BLOCK = Objective(
    model="cbow",
    kernel="block",
    title="CBOW",
    train="cpu.block_kernels:train_cbow_block",
    tables="sampling:block_tables",
    scratch="cpu.memory:cbow_block_scratch",
    seconds="cost:cbow_block_seconds",
    output_rows=one_row_a_word,
    alphas={"corrected": 0.12, "original": 0.025},
    rate=cbow_block_rate,
    untrained_loss=loss_of_sampling,
    block_negatives=16,
    most_job_tokens=16_384,
    averages_contexts=True,
    works_in_blocks=True,
    gensim={"sg": 0},
)
_CBOW_EXACT = replace(
    _CBOW_BLOCK,
    kernel="exact",
    train="cpu.exact_kernels:train_cbow_exact",
    rate=full_rate,
    tables="sampling:exact_tables",
    scratch="cpu.memory:exact_scratch",
    seconds="cost:cbow_exact_seconds",
    most_job_tokens=2_048,
    works_in_blocks=False,
)
# The first is the default.
OBJECTIVES = (_SKIPGRAM_BLOCK, _SKIPGRAM_EXACT, _CBOW_BLOCK, _CBOW_EXACT)
MODELS = tuple(dict.fromkeys(one.model for one in OBJECTIVES))
KERNELS = tuple(dict.fromkeys(one.kernel for one in OBJECTIVES))
TITLES = {one.model: one.title for one in OBJECTIVES}


def objective_of(model: str, kernel: str) -> Objective:
    """Return the record of a model and a kernel.

    Raises
    ------
    ConfigError
        If the kernel does not train that model.
    """
    for one in OBJECTIVES:
        if (one.model, one.kernel) == (model, kernel):
            return one
    known = ", ".join(one.kernel for one in OBJECTIVES if one.model == model)
    raise ConfigError(f"the kernel {kernel!r} does not train the model {model!r}; its kernels: {known}")
