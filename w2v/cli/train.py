"""The command that trains: train."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from w2v.cli.options import config_options, corpus_options, make_config, read_corpus
from w2v.config import TrainConfig

if TYPE_CHECKING:
    from w2v.corpus import EncodedCorpus
    from w2v.embeddings import Embeddings
    from w2v.training.trainer import TrainingProgress
    from w2v.vectors.training_report import EpochReport, TrainingReport


@click.command(no_args_is_help=True)
@corpus_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="MODEL",
    help="The model folder to write; a model that is there already is replaced.",
)
@config_options(TrainConfig)
@click.option("--dry-run", is_flag=True, help="Read the corpus, say what training would take, and stop.")
def train(output: Path, dry_run: bool, **values: Any) -> None:
    """Train word vectors on a CORPUS and write a model folder.

    CORPUS is text, one sentence a line, tokens separated by white space, unless --tokenizer and others say
    how to cut it: files (also packed with gzip, bzip2, xz or zstd), folders, or - for standard input.

    \b
    Example:
      w2v train corpus.txt -o model
      w2v train texts/ -o model --tokenizer words --lowercase --vector-size 300 --epochs 10
      zcat *.gz | w2v train - -o model --model cbow --max-vocab 200000
      w2v train corpus.txt -o model --dry-run
    """
    from w2v.formats.folder import check_model_target
    from w2v.training.ahead import compiled_meanwhile
    from w2v.training.model import train_model

    config = make_config(TrainConfig, values)
    check_model_target(output)
    with contextlib.nullcontext() if dry_run else compiled_meanwhile(config):
        corpus = read_corpus(values)
    config = config.resolved(corpus.n_tokens)
    click.echo(f"Training: {_describe(config)}", err=True)
    if dry_run:
        _tell_estimate(corpus, config)
        return
    started = time.perf_counter()
    with _TrainingBar() as bar:
        model = train_model(corpus, config, on_progress=bar.update, on_report=bar.report)
    model.save(output)
    seconds = time.perf_counter() - started
    click.echo(f"Wrote {output}: {_summary(model)}, {seconds:.1f} s with compiling and saving", err=True)


def _summary(model: Embeddings) -> str:
    report = cast("TrainingReport", model.training)
    return (
        f"{len(model):,} words, {model.vector_size} dimensions; {report.tokens:,} words in "
        f"{report.seconds:.1f} s ({report.words_per_second:,.0f} words/s)"
    )


def _tell_estimate(corpus: EncodedCorpus, config: TrainConfig) -> None:
    from w2v.training.cost import estimate
    from w2v.training.model import training_warnings

    for line in training_warnings(corpus, config):
        click.echo(f"Warning: {line}", err=True)
    cost = estimate(corpus.vocab.counts, corpus.n_tokens, config)
    click.echo(
        f"About {cost.seconds:,.0f} s on {config.workers} cores like those it was measured on, "
        f"{cost.memory_bytes / 1e6:,.0f} MB of memory, {cost.disk_bytes / 1e6:,.0f} MB for the model; "
        f"{cost.trained_tokens:,} of {corpus.n_tokens:,} tokens an epoch are left to train on",
        err=True,
    )


def _describe(config: TrainConfig) -> str:
    return (
        f"{config.model}, {config.vector_size} dimensions, window {config.window}, {config.negative} "
        f"negatives, {config.epochs} epochs, alpha {config.alpha:g}, {config.kernel} kernel, "
        f"{config.workers} workers, seed {config.seed}"
    )


class _TrainingBar:
    """A bar over the words of all epochs, on a terminal, and a line an epoch."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> _TrainingBar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, progress: TrainingProgress) -> None:
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                total=progress.total_tokens,
                desc="Training",
                unit=" words",
                unit_scale=True,
                leave=False,
                disable=None,
            )
        self._bar.set_postfix_str(f"alpha {progress.alpha:.4f}, loss {progress.loss:.4f}", refresh=False)
        self._bar.update(progress.tokens - self._bar.n)

    def report(self, report: EpochReport) -> None:
        if self._bar is not None:
            self._bar.clear()
        click.echo(
            f"Epoch {report.epoch}: loss {report.loss:.4f}, alpha {report.alpha:.4f}, "
            f"{report.words_per_second:,.0f} words/s, {report.seconds:.1f} s",
            err=True,
        )
