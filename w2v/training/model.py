"""From an encoded corpus to a model: settings filled in, warnings, weights and origin put together."""

from __future__ import annotations

import dataclasses
import logging
import platform
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.corpus.ids.encoded_corpus import EncodedCorpus
from w2v.corpus.tokens.tokenizers import read_files
from w2v.embeddings import Embeddings
from w2v.errors import TrainingError, TrainingStoppedError
from w2v.system.version import __version__
from w2v.training.checkpoint import Checkpoints
from w2v.training.trainer import ProgressCallback, ReportCallback, RunState, RunStoppedError, train_weights
from w2v.training.weights import Weights
from w2v.vectors.origin import Origin
from w2v.vectors.training_report import EpochReport, TrainingReport
from w2v.vectors.vocab import keep_probabilities

_log = logging.getLogger(__name__)
_FEW_TOKENS = 1_000
_SMALL_SHARE = 0.2
EpochCallback = Callable[[EpochReport, Embeddings], object]


def train_model(
    corpus: EncodedCorpus,
    config: TrainConfig,
    *,
    weights: Weights | None = None,
    checkpoints: Checkpoints | None = None,
    on_progress: ProgressCallback | None = None,
    on_report: ReportCallback | None = None,
    on_epoch: EpochCallback | None = None,
) -> Embeddings:
    """Train a model on an encoded corpus.

    Parameters
    ----------
    corpus : EncodedCorpus
    config : TrainConfig
        Settings that are None are filled in for this corpus; see `TrainConfig.resolved`.
    weights : Weights, optional
        To begin with; trained in place, and lost afterwards. By default fresh ones.
    checkpoints : Checkpoints, optional
        Where the run is kept while it is unfinished, and where it may go on. The checkpoint stays when this
        returns: `Checkpoints.remove` is for when the model is safe.
    on_progress, on_report
        As for `w2v.training.trainer.train_weights`.
    on_epoch : callable, optional
        Called after each epoch with an `EpochReport` and the model so far, a copy. If it returns something
        true, training ends there.

    Returns
    -------
    Embeddings
        With `context`, `origin` and `training`.

    Raises
    ------
    ConfigError
        If the weights are of another shape than corpus and settings want.
    CorpusError
        If there is nothing to train.
    TrainingError
        If training diverges. The checkpoint is removed.
    TrainingStoppedError
        On Ctrl-C: it has the model as it was trained so far.
    """
    config = config.resolved(corpus.n_tokens)
    for line in training_warnings(corpus, config):
        _log.warning("%s", line)
    origin = describe_origin(corpus, config, weights)
    start = RunState()
    if checkpoints is not None:
        weights, start = checkpoints.begin(corpus, config, weights)

    def model_of(state: RunState, w_in: NDArray[np.float32], w_out: NDArray[np.float32]) -> Embeddings:
        return Embeddings(corpus.vocab, w_in, w_out, origin, TrainingReport(state.reports))

    def after_round(state: RunState, weights: Weights) -> bool:
        if on_epoch is not None and state.next_job == 0:
            copies = (m[:, : weights.vector_size].copy() for m in (weights.w_in, weights.w_out))
            if on_epoch(state.reports[-1], model_of(state, *copies)):
                return True
        if checkpoints is not None:
            checkpoints.after_round(state, weights)
        return False

    try:
        trained = train_weights(
            corpus,
            config,
            weights=weights,
            start=start,
            after_round=after_round,
            on_progress=on_progress,
            on_report=on_report,
        )
    except TrainingError:
        if checkpoints is not None:
            checkpoints.remove()
        raise
    except RunStoppedError as stopped:
        is_kept = checkpoints is not None and checkpoints.stop(stopped.state, stopped.weights)
        model = model_of(stopped.state, *stopped.weights.pack())
        raise TrainingStoppedError(model, is_kept) from stopped.__cause__
    finally:
        if checkpoints is not None:
            checkpoints.close()
    return Embeddings(corpus.vocab, trained.w_in, trained.w_out, origin, trained.report)


def training_warnings(corpus: EncodedCorpus, config: TrainConfig) -> list[str]:
    """Say where settings leave little to train, with the numbers and the option to change."""
    keep = keep_probabilities(corpus.vocab.counts, config.sample)
    n_known, n_kept = corpus.n_known_tokens, float(keep @ corpus.vocab.counts)
    lines = []
    if n_kept < _FEW_TOKENS or n_kept < _SMALL_SHARE * n_known:
        lines.append(
            f"of {corpus.n_tokens:,} tokens, {n_known:,} are of the {len(corpus.vocab):,} words in the "
            f"vocabulary, and subsampling (--sample {config.sample:g}) leaves about {n_kept:,.0f} an epoch; "
            "for so little, use more text or more --epochs, lower --min-count, or set --sample 0"
        )
    elif n_known < _SMALL_SHARE * corpus.n_tokens:
        lines.append(
            f"only {n_known:,} of {corpus.n_tokens:,} tokens are of the {len(corpus.vocab):,} words in the "
            "vocabulary; lower --min-count or raise --max-vocab"
        )
    if corpus.n_sentences == 1 and corpus.n_tokens > config.window and corpus.report.files:
        lines.append("the whole corpus is one line, so windows cross sentences; best is one sentence a line")
    return lines


def describe_origin(corpus: EncodedCorpus, config: TrainConfig, weights: Weights | None = None) -> Origin:
    """Return what a model tells of its origin: settings, corpus, how it was read, versions; no dates.

    With weights that were given, also how many words they had and how many rows are frozen.
    """
    start = {}
    if weights is not None:
        rows = {"given_words": weights.given, "frozen_words": weights.frozen}
        start = {name: int(mask.sum()) for name, mask in rows.items() if mask is not None}
    return Origin(
        other={"start": start} if start else {},
        training=dataclasses.asdict(config),
        corpus={
            "fingerprint": corpus.fingerprint,
            "tokens": corpus.n_tokens,
            "sentences": corpus.n_sentences,
            "types": corpus.n_types,
            "tokens_in_vocabulary": corpus.n_known_tokens,
            "replaced_byte_sequences": corpus.report.replaced,
        },
        reading=read_files(corpus.reading) if corpus.reading else None,
        versions={
            "w2v": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": version("numba"),
        },
    )
