"""The command bench."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from w2v.cli.model_options import json_option
from w2v.cli.options import config_options, make_config, read_everything, reading_options
from w2v.cli.output import print_json, print_table, shown
from w2v.config import TrainConfig, VocabConfig
from w2v.objectives import MODELS, TITLES, objective_of

if TYPE_CHECKING:
    from w2v.comparison.machine import BenchReport, SpeedPairs, WholeJobs
    from w2v.comparison.spread import Measure
    from w2v.comparison.trainer_process import Run

_PARTS = ("speed", "jobs")
_QUICK = {"repeats": 2, "words": 200_000, "seeds": 1, "epochs": 1}


@click.command(no_args_is_help=True)
@reading_options
@config_options(VocabConfig, leave_out=("max_vocab",))  # gensim does not keep exactly N words
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
@click.option("--analogies", multiple=True, metavar="FILE", help="As for w2v evaluate. Repeatable.")
@click.option("--pairs", multiple=True, metavar="FILE", help="As for w2v evaluate. Repeatable.")
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

    gensim trains by its fastest way (corpus_file). Both run by turns with the same settings, each in a
    process of its own with one thread for BLAS, never two at once: keep the machine quiet meanwhile.

    Speed is in raw words a second of training with 1 worker and with --workers; reading, counting and
    compiling are apart. Whole jobs are all that a user waits for, from starting Python to the saved model.

    \b
    Example:
      w2v bench --quick
      w2v bench corpus.txt --plot bench.png
      w2v bench corpus.txt --what speed --model sg --vector-size 300 --repeats 7 --json
    """
    from w2v.comparison.bench import bench as run
    from w2v.comparison.bench_plot import write_plot
    from w2v.comparison.profile import EvaluationSets
    from w2v.files.figures import check_figure

    if not sources and not quick:
        raise click.UsageError("give a CORPUS, or --quick for the demo corpus")
    if plot is not None:
        check_figure(plot)
    if quick:
        values |= {name: _QUICK[name] for name in _QUICK if not _is_given(name)}
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
            say=lambda line: click.echo(line, err=True),
        )
    if plot is not None:
        write_plot(found, plot)
        click.echo(f"Wrote {plot}", err=True)
    if as_json:
        print_json(_as_dict(found))
    else:
        _print_report(found)


# Every other command on a corpus needs one; this one has the demo corpus.
bench.params[0].required = False
bench.params[0].metavar = "[CORPUS...]"


def _is_given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _demo(folder: Path) -> Path:
    from w2v.corpus.tools.demo import write_demo

    path = folder / "demo.txt"
    with path.open("wb") as file:
        write_demo(file)
    return path


def _as_dict(found: BenchReport) -> dict[str, Any]:
    speed = [{**asdict(pairs), "ratios": pairs.ratios, "cpu_ratio": pairs.cpu_ratio} for pairs in found.speed]
    jobs = []
    for job in found.jobs:
        quality = [{**asdict(one), **_judged(one)} for one in job.quality]
        jobs.append({**asdict(job), "quality": quality})
    return {**asdict(found), "speed": speed, "jobs": jobs}


def _judged(one: Measure) -> dict[str, Any]:
    """Return difference and verdict; None where there is no spread."""
    if one.n_seeds < 2:
        return {"difference": one.difference, "margin": None, "verdict": None}
    return {"difference": one.difference, "margin": one.margin, "verdict": one.verdict}


def _print_report(found: BenchReport) -> None:
    _print_heading(found)
    if found.speed:
        _print_speed(found)
    if found.jobs:
        _print_jobs(found)
    if any(job.quality for job in found.jobs):
        _print_quality(found)


def _block(config: TrainConfig, models: Iterable[str]) -> str:
    negatives = {m: config.block_negatives or objective_of(m, config.kernel).block_negatives for m in models}
    shares = " or ".join(f"{n} ({TITLES[m]})" for m, n in negatives.items())
    return f"{config.block_size} positions, {shares} negatives a block"


def _print_heading(found: BenchReport) -> None:
    machine, config = found.machine, TrainConfig(**found.settings)
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    loads = [f"{value:.2f}" for value in (machine.load_before, machine.load_after) if value is not None]
    kernel = f"{config.kernel} kernel"
    if config.objective.works_in_blocks:
        kernel += f", {_block(config, found.alphas)}"
    alphas = "; ".join(
        f"{TITLES[model]} {theirs:g} (gensim), {ours:g} (w2v)"
        for model, (theirs, ours) in found.alphas.items()
    )
    print_table(
        [
            ("machine", f"{shown(machine.processor)}, {machine.cores} cores, load {' to '.join(loads)}"),
            ("versions", f"{versions}; {machine.blas_threads} thread for BLAS"),
            (
                "text",
                f"{found.tokens:,} words in {found.sentences:,} sentences, vocabulary {found.vocabulary:,}",
            ),
            (
                "both",
                f"{config.vector_size} dimensions, window {config.window}, {config.negative} negatives, "
                f"sample {config.sample:g}, min_count {found.min_count}",
            ),
            ("alpha", alphas),
            ("w2v", kernel),
        ]
    )


def _print_speed(found: BenchReport) -> None:
    n_pairs = len(found.speed[0].gensim)
    click.echo(
        f"\nraw words/s of training on the first {found.part_tokens:,} words; median of {n_pairs} pairs"
    )
    rows = [_speed_row(pairs) for pairs in found.speed]
    header = ("", "gensim", "w2v", "ratio", "lowest", "highest", "by CPU time")
    print_table(rows, header=header, right=range(1, 7), indent=2)
    for line in _scaling(found.speed):
        click.echo(f"  {line}")
    runs = [[run for pairs in found.speed for run in getattr(pairs, name)] for name in ("gensim", "w2v")]
    theirs, ours = (statistics.median(run.read_seconds for run in group) for group in runs)
    click.echo(
        f"  reading and counting all of the text: gensim {theirs:.2f} s, w2v {ours:.2f} s, "
        f"{theirs / ours:.1f} x"
    )


def _speed_row(pairs: SpeedPairs) -> tuple[str, ...]:
    theirs, ours = (
        statistics.median(run.words_per_second for run in runs) for runs in (pairs.gensim, pairs.w2v)
    )
    ratios = pairs.ratios
    by_cpu = f"{pairs.cpu_ratio:.1f} x" if pairs.cpu_ratio is not None else "-"
    return (
        f"{TITLES[pairs.model]}, {_workers(pairs.workers)}",
        f"{theirs:,.0f}",
        f"{ours:,.0f}",
        f"{statistics.median(ratios):.1f} x",
        f"{min(ratios):.1f}",
        f"{max(ratios):.1f}",
        by_cpu,
    )


def _scaling(speed: Sequence[SpeedPairs]) -> Iterable[str]:
    """Say what more workers bring, in each round by itself."""
    by_kind = {(pairs.model, pairs.workers): pairs for pairs in speed}
    for (model, workers), pairs in by_kind.items():
        if workers > 1:
            gains = [
                statistics.median(
                    many.words_per_second / one.words_per_second
                    for many, one in zip(getattr(pairs, name), getattr(by_kind[model, 1], name), strict=True)
                )
                for name in ("gensim", "w2v")
            ]
            yield (
                f"{TITLES[model]}, {workers} workers against one: gensim {gains[0]:.2f} x, "
                f"w2v {gains[1]:.2f} x"
            )


def _workers(n: int) -> str:
    return "1 worker" if n == 1 else f"{n} workers"


def _print_jobs(found: BenchReport) -> None:
    config = TrainConfig(**found.settings)
    n = len(found.jobs[0].gensim)
    click.echo(
        f"\nwhole jobs on all of the text, epochs {config.epochs}, {_workers(config.workers)}: "
        f"seconds, median of {n}; cold: nothing compiled yet, done while reading"
    )
    for job in found.jobs:
        header = (TITLES[job.model], "gensim", "w2v", "ratio", "w2v, cold", "ratio")
        print_table(_job_rows(job), header=header, right=range(1, 6), indent=2)


def _job_rows(job: WholeJobs) -> Iterable[tuple[str, ...]]:
    for title, attribute, scale in (
        ("import", "import_seconds", 1),
        ("read and count", "read_seconds", 1),
        ("prepare, compile", "prepare_seconds", 1),
        ("train", "train_seconds", 1),
        ("save", "save_seconds", 1),
        ("wall time of the process", "wall_seconds", 1),
        ("CPU time of the process", "cpu_seconds", 1),
        ("peak memory, MB", "peak_bytes", 1e6),
    ):
        values = [_middle(runs, attribute) for runs in (job.gensim, job.w2v, (job.cold,))]
        if any(value is None for value in values):
            continue
        theirs, warm, cold = (value / scale for value in values if value is not None)
        is_whole = "process" in title or "memory" in title or title == "read and count" or title == "train"
        warm_ratio, cold_ratio = (f"{theirs / ours:.1f} x" if is_whole else "" for ours in (warm, cold))
        yield title, f"{theirs:.2f}", f"{warm:.2f}", warm_ratio, f"{cold:.2f}", cold_ratio


def _middle(runs: Sequence[Run], attribute: str) -> float | None:
    values = [getattr(run, attribute) for run in runs]
    return None if None in values else float(statistics.median(values))


def _print_quality(found: BenchReport) -> None:
    n = len(found.jobs[0].gensim)
    rows = [(f"{TITLES[job.model]}, {shown(one.name)}", one) for job in found.jobs for one in job.quality]
    click.echo(f"\nquality of these jobs: {f'mean of {n} seeds ± sd' if n > 1 else 'one seed'}")
    header = ("", "gensim", "w2v", "difference", "in sd of gensim", "known")
    print_table(
        [(title, *_quality_cells(one)) for title, one in rows], header=header, right=range(1, 6), indent=2
    )


def _quality_cells(one: Measure) -> tuple[str, ...]:
    from w2v.comparison.spread import deviation, mean

    known = f"{one.known[0]:,} of {one.known[1]:,}" if one.known else ""
    difference = f"{one.difference:+.4f}"
    if one.n_seeds == 1:
        return f"{mean(one.gensim):.4f}", f"{mean(one.w2v):.4f}", difference, "-", known
    cells = [f"{mean(values):.4f} ± {deviation(values):.4f}" for values in (one.gensim, one.w2v)]
    spread = deviation(one.gensim)
    in_sd = f"{one.difference / spread:+.1f}" if spread else "-"
    return cells[0], cells[1], difference, in_sd, known
