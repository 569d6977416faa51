"""The commands that set w2v beside gensim: compare and bench."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2v.cli.model_options import json_option
from w2v.cli.options import (
    combined,
    config_options,
    is_given,
    make_config,
    read_everything,
    reading_options_with,
)
from w2v.cli.output import print_json
from w2v.config import TrainConfig, VocabConfig
from w2v.objectives import MODELS

if TYPE_CHECKING:
    from w2v.comparison.profile import EvaluationSets

_FORMODELS = {"sources", "analogies", "pairs", "as_json"}
_PARTS = ("speed", "jobs")
_QUICK = {"repeats": 2, "words": 200_000, "seeds": 1, "epochs": 1}
# gensim does not keep exactly N words.
_vocab_options = config_options(VocabConfig, leave_out=("max_vocab",))
_sets_options = combined(
    click.option("--analogies", multiple=True, metavar="FILE", help="As for w2v evaluate. Repeatable."),
    click.option("--pairs", multiple=True, metavar="FILE", help="As for w2v evaluate. Repeatable."),
)


@click.command(no_args_is_help=True)
@reading_options_with("CORPUS | MODEL OTHER")
@_vocab_options
@click.option(
    "--seeds",
    type=click.IntRange(3),
    default=3,
    show_default=True,
    help="Number of runs of each, with different seeds.",
)
@click.option("--strict", is_flag=True, help="Exit 1 if w2v is worse than gensim's own spread.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep the text that both read and all models in a new folder.",
)
@_sets_options
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Training threads of each. With several, gensim's learning rate falls too slowly: docs/compare.md.",
)
@config_options(TrainConfig, leave_out=("workers",))
@json_option
def compare(
    sources: tuple[Path, ...],
    seeds: int,
    strict: bool,
    keep: Path | None,
    analogies: tuple[str, ...],
    pairs: tuple[str, ...],
    as_json: bool,
    **values: Any,
) -> None:
    """Compare w2v with gensim on one CORPUS, or two embeddings: MODEL OTHER.

    CORPUS, one file or folder: gensim and w2v train on the same text with the same settings, taking turns,
    each in a process of its own, several times with other seeds. The verdict says for each measure whether
    w2v lies within gensim's own spread: two runs of gensim do not agree either.

    MODEL OTHER: two embeddings of any format are compared on the words they share.

    Vectors are not compared one by one: the loss does not change when the whole space is rotated, so every
    run ends in another rotation, and even two runs of gensim have unrelated vectors for a word. Compared are
    losses, answers, neighbours, similarities, and distances after the best rotation.

    \b
    Example:
      w2v compare corpus.txt --model cbow --cbow-update original --seeds 5
      w2v compare corpus.txt --kernel exact --strict
      w2v compare my_model GoogleNews-vectors-negative300.bin
    """
    from w2v.comparison.profile import EvaluationSets

    if len(sources) > 2:
        raise click.UsageError("give one CORPUS (put several files into a folder), or two embeddings")
    sets = EvaluationSets.read(analogies, pairs)
    if len(sources) == 2:
        _refuse_options_of_training()
        _compare_models(sources, sets, as_json=as_json)
        return
    _refuse_model(sources[0])
    from w2v.cli.comparison_report import comparison_dict, print_comparison
    from w2v.comparison.compare import compare_training

    found = compare_training(
        read_everything(values, sources=sources),
        min_count=make_config(VocabConfig, values).min_count,
        train=make_config(TrainConfig, values),
        seeds=seeds,
        sets=sets,
        keep=keep,
        origin=sources,
        say=_say,
    )
    if as_json:
        print_json(comparison_dict(found))
    else:
        print_comparison(found)
    if strict and not found.is_inside:
        click.get_current_context().exit(1)


def _refuse_options_of_training() -> None:
    for option in click.get_current_context().command.params:
        if option.name not in _FORMODELS and is_given(str(option.name)):
            raise click.UsageError(f"{option.opts[0]} does not belong to a comparison of two embeddings")


def _refuse_model(source: Path) -> None:
    from w2v.formats.folder import is_model_folder

    if is_model_folder(source):
        raise click.UsageError(f"{source} is a model: name the other embeddings too, or give a corpus")


def _compare_models(sources: Sequence[Path], sets: EvaluationSets, *, as_json: bool) -> None:
    from w2v.cli.comparison_report import print_models
    from w2v.comparison.compare import compare_models
    from w2v.embeddings import load

    found = compare_models(load(sources[0]), load(sources[1]), sets=sets)
    if as_json:
        print_json({**asdict(found), "models": list(map(str, sources))})
    else:
        print_models(sources, found)


@click.command(no_args_is_help=True)
@reading_options_with("[CORPUS...]", required=False)  # --quick has the demo corpus
@_vocab_options
@click.option(
    "--what",
    multiple=True,
    type=click.Choice(_PARTS),
    help="speed: pairs of runs on the beginning of the text; jobs: whole jobs and their quality (default: "
    "both). Repeatable.",
)
@click.option(
    "--model",
    type=click.Choice((*MODELS, "both")),
    default="both",
    show_default=True,
    help="Which model.",
)
@click.option(
    "--repeats", type=click.IntRange(1), default=5, show_default=True, help="Pairs of speed of each kind."
)
@click.option(
    "--words",
    type=click.IntRange(1),
    default=2_000_000,
    show_default=True,
    help="Words of the beginning of the text on which speed is measured.",
)
@click.option(
    "--seeds", type=click.IntRange(1), default=3, show_default=True, help="Whole jobs of each, one a seed."
)
@click.option(
    "--quick",
    is_flag=True,
    help="An answer in a minute, without quality; without CORPUS, on a corpus that gensim carries.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the result (.png, .svg, .pdf; needs matplotlib).",
)
@_sets_options
@config_options(TrainConfig, leave_out=("model",))
@json_option
def bench(
    sources: tuple[Path, ...],
    what: tuple[str, ...],
    model: str,
    quick: bool,
    plot: Path | None,
    analogies: tuple[str, ...],
    pairs: tuple[str, ...],
    as_json: bool,
    **values: Any,
) -> None:
    """Measure w2v beside gensim on a CORPUS.

    gensim trains by its fastest way (corpus_file). They take turns with the same settings, each in a
    process of its own with one thread for BLAS, never two at once: keep the machine quiet meanwhile.

    Speed is in raw words a second of training with 1 worker and with --workers; reading, counting and
    compiling are apart. Whole jobs are all that a user waits for, from starting Python to the saved model.

    \b
    Example:
      w2v bench --quick
      w2v bench corpus.txt --plot bench.png
      w2v bench corpus.txt --what speed --model sg --vector-size 300 --repeats 7 --json
    """
    from w2v.cli.comparison_report import bench_dict, print_bench
    from w2v.comparison.bench import bench as run
    from w2v.comparison.bench_plot import write_plot
    from w2v.comparison.profile import EvaluationSets
    from w2v.files.figures import check_figure

    if not sources and not quick:
        raise click.UsageError("give a CORPUS, or --quick for the demo corpus")
    if plot is not None:
        check_figure(plot)
    if quick:
        values |= {name: _QUICK[name] for name in _QUICK if not is_given(name)}
    has_quality = bool(analogies or pairs or not quick)
    sets = EvaluationSets.read(analogies, pairs) if has_quality else EvaluationSets((), ())
    with tempfile.TemporaryDirectory(prefix="w2v-") as folder:
        values["sources"] = sources or (_demo(Path(folder)),)
        found = run(
            read_everything(values),
            train=make_config(TrainConfig, values),
            min_count=make_config(VocabConfig, values).min_count,
            models=MODELS if model == "both" else (model,),
            what=what or _PARTS,
            repeats=values["repeats"],
            words=values["words"],
            seeds=values["seeds"],
            sets=sets,
            say=_say,
        )
    if plot is not None:
        write_plot(found, plot)
        click.echo(f"Wrote {plot}", err=True)
    if as_json:
        print_json(bench_dict(found))
    else:
        print_bench(found)


def _demo(folder: Path) -> Path:
    from w2v.corpus.tools.demo import write_demo

    path = folder / "demo.txt"
    with path.open("wb") as file:
        write_demo(file)
    return path


def _say(line: str) -> None:
    click.echo(line, err=True)
