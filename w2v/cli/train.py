"""The command that trains: train."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from w2v.cli.options import combined, config_options, corpus_options, make_config, reading_of, tell_corpus
from w2v.cli.output import duration, one_line, plural, rough_duration, size
from w2v.config import TrainConfig
from w2v.errors import FormatError, TrainingStoppedError

if TYPE_CHECKING:
    from w2v.api import Plan
    from w2v.corpus import EncodedCorpus
    from w2v.embeddings import Embeddings
    from w2v.training.checkpoint import Checkpoints
    from w2v.training.model import EpochCallback
    from w2v.vectors.training_report import EpochReport, TrainingReport


_start_options = combined(
    click.option(
        "--init",
        type=click.Path(exists=True, path_type=Path),
        metavar="VECTORS",
        help="Words that these vectors have begin there: a model, or a file of any format.",
    ),
    click.option(
        "--init-context",
        type=click.Path(exists=True, path_type=Path),
        metavar="VECTORS",
        help="Where context vectors begin (default: at those of --init, if it has any).",
    ),
    click.option(
        "--freeze",
        metavar="init|FILE",
        help="Words whose vectors stay as they are: those of --init, or those in a file, one a line.",
    ),
    click.option(
        "--freeze-top",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="The vectors of the N most frequent words stay as they are.",
    ),
)

_checkpoint_options = combined(
    click.option(
        "--checkpoint-every",
        type=click.FloatRange(0),
        default=5.0,
        show_default=True,
        metavar="MINUTES",
        help="Keep the unfinished run in MODEL.checkpoint, also on Ctrl-C and SIGTERM; 0: never.",
    ),
    click.option(
        "--resume/--no-resume",
        default=None,
        help="Go on with an unfinished run, or begin again. With --workers 1 the model is the same, byte for "
        "byte, as of a run that was not stopped; with more workers, its quality is.",
    ),
    click.option("--keep-epochs", is_flag=True, help="Also write a model an epoch: MODEL.epoch-1, ..."),
)


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
@_start_options
@_checkpoint_options
@click.option("--dry-run", is_flag=True, help="Read the corpus, estimate time, memory and disk, and stop.")
def train(output: Path, dry_run: bool, keep_epochs: bool, **values: Any) -> None:
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
      w2v train corpus.txt -o model --resume
    """
    from w2v.api import plan_training, train_on
    from w2v.formats.folder import check_model_target, model_bytes
    from w2v.training.start import Start

    config, reading = make_config(TrainConfig, values), reading_of(values)
    check_model_target(output)
    if dry_run:
        _tell_plan(plan_training(reading, config))
        return
    start = Start(*(values[name] for name in ("init", "init_context", "freeze", "freeze_top")))
    checkpoints = _checkpoints(output, values["checkpoint_every"], values["resume"])
    started = time.perf_counter()

    def begin(corpus: EncodedCorpus, resolved: TrainConfig) -> None:
        nonlocal started
        tell_corpus(corpus)
        click.echo(f"Training: {_describe(resolved)}", err=True)
        check_model_target(output, model_bytes(corpus.vocab, resolved.vector_size))
        started = time.perf_counter()

    try:
        model = train_on(
            reading,
            config,
            start=start,
            checkpoints=checkpoints,
            on_start=begin,
            on_report=_tell_epoch,
            on_epoch=_epoch_keeper(output) if keep_epochs else None,
        )
    except TrainingStoppedError as stopped:
        if checkpoints is not None and stopped.is_kept:
            click.echo(f"\nKept in {checkpoints.path}; the same command with --resume goes on", err=True)
        raise stopped.__cause__ or stopped from None
    place = _save(model, output)
    if checkpoints is not None:
        checkpoints.remove()
    seconds = time.perf_counter() - started
    click.echo(f"Wrote {place}: {_summary(model)}, {duration(seconds)} with compiling and saving", err=True)


def _checkpoints(output: Path, minutes: float, resume: bool | None) -> Checkpoints | None:
    from w2v.training.checkpoint import Checkpoints

    if minutes == 0:
        if resume is not None:
            raise click.UsageError("--checkpoint-every 0 keeps no unfinished run; leave out --resume")
        return None
    return Checkpoints(_beside(output, "checkpoint"), every=minutes, resume=resume)


def _epoch_keeper(output: Path) -> EpochCallback:
    """Return what saves the model of each epoch; a disk that is full does not end the training."""

    def keep(report: EpochReport, model: Embeddings) -> None:
        if problem := _problem_of_saving(model, _beside(output, f"epoch-{report.epoch}")):
            click.echo(f"Warning: {problem}", err=True)

    return keep


def _beside(output: Path, suffix: str) -> Path:
    named = output.resolve() if output.name in ("", "..") else output
    return named.with_name(f"{named.name}.{suffix}")


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
