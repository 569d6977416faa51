"""The command that trains: train."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from w2v.cli.options import config_options, corpus_options, make_config, reading_of, tell_corpus
from w2v.cli.output import duration, one_line, plural, rough_duration, size
from w2v.config import TrainConfig
from w2v.errors import FormatError

if TYPE_CHECKING:
    from w2v.api import Plan
    from w2v.corpus import EncodedCorpus
    from w2v.embeddings import Embeddings
    from w2v.vectors.training_report import EpochReport, TrainingReport


@click.command(no_args_is_help=True)
@corpus_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="MODEL",
    help="The model folder to write; an older model there is replaced.",
)
@config_options(TrainConfig)
@click.option("--dry-run", is_flag=True, help="Read the corpus, estimate time, memory and disk, and stop.")
def train(output: Path, dry_run: bool, **values: Any) -> None:
    """Train word vectors on a CORPUS and write a model folder.

    CORPUS is files of text, JSONL, CSV, TSV, Parquet or Wikipedia dumps (also packed with gzip, bzip2, xz or
    zstd), folders, URLs, or - for standard input. Each line is a sentence, and tokens are separated by white
    space, unless --sentences and --tokenizer say otherwise.

    \b
    Example:
      w2v train corpus.txt -o model
      w2v train texts/ -o model --tokenizer words --lowercase --vector-size 300 --epochs 10
      zcat *.gz | w2v train - -o model --model cbow --max-vocab 200000
      w2v train corpus.txt -o model --dry-run
    """
    from w2v.api import plan_training, train_on
    from w2v.formats.folder import check_model_target, model_bytes

    config, reading = make_config(TrainConfig, values), reading_of(values)
    check_model_target(output)
    if dry_run:
        _tell_plan(plan_training(reading, config))
        return
    started = time.perf_counter()

    def begin(corpus: EncodedCorpus, resolved: TrainConfig) -> None:
        nonlocal started
        tell_corpus(corpus)
        click.echo(f"Training: {_describe(resolved)}", err=True)
        check_model_target(output, model_bytes(corpus.vocab, resolved.vector_size))
        started = time.perf_counter()

    model = train_on(reading, config, on_start=begin, on_report=_tell_epoch)
    place = _save(model, output)
    seconds = time.perf_counter() - started
    click.echo(f"Wrote {place}: {_summary(model)}, {duration(seconds)} with compiling and saving", err=True)


def _save(model: Embeddings, output: Path) -> Path:
    """Save a model that cost time; if that fails, ask for another place, or choose one and exit 1."""
    from w2v.formats.folder import rescue

    while (problem := _problem_of_saving(model, output)) is not None:
        click.echo(f"Error: {problem}", err=True)
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            break
        answer = click.prompt(
            "Save the model where (empty: anywhere)", default="", show_default=False, err=True
        )
        if not answer:
            break
        output = Path(answer)
    else:
        return output
    click.echo(f"The model is saved in {rescue(model)} instead.", err=True)
    sys.exit(1)


def _problem_of_saving(model: Embeddings, output: Path) -> str | None:
    try:
        model.save(output)
    except (OSError, FormatError) as error:
        return one_line(error)
    return None


def _summary(model: Embeddings) -> str:
    report = cast("TrainingReport", model.training)
    shape = f"{plural(len(model), 'word')}, {plural(model.vector_size, 'dimension')}"
    speed = f"{duration(report.seconds)} ({report.words_per_second:,.0f} words/s)"
    return f"{shape}; {plural(report.tokens, 'word')} in {speed}"


def _tell_plan(plan: Plan) -> None:
    tell_corpus(plan.corpus)
    click.echo(f"Training: {_describe(plan.config)}", err=True)
    for line in plan.warnings:
        click.echo(f"Warning: {line}", err=True)
    cost = plan.cost
    click.echo(
        f"About {rough_duration(cost.seconds)} on {plural(plan.config.workers, 'core')} like those it was "
        f"measured on, {size(cost.memory_bytes)} of memory, {size(cost.disk_bytes)} for the model; "
        f"{cost.trained_tokens:,} of {plan.corpus.n_tokens:,} tokens an epoch are left to train on",
        err=True,
    )


def _describe(config: TrainConfig) -> str:
    return (
        f"{config.model}, {plural(config.vector_size, 'dimension')}, window {config.window}, "
        f"{plural(config.negative, 'negative')}, {plural(config.epochs or 1, 'epoch')}, "
        f"alpha {config.alpha:g}, {config.kernel} kernel, {plural(config.workers, 'worker')}, "
        f"seed {config.seed}"
    )


def _tell_epoch(report: EpochReport) -> None:
    click.echo(
        f"Epoch {report.epoch}: loss {report.loss:.4f}, alpha {report.alpha:.4g}, "
        f"{report.words_per_second:,.0f} words/s, {duration(report.seconds)}",
        err=True,
    )
