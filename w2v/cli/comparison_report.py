"""How the results of compare and bench are printed: as tables, and as JSON."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from w2v.cli.output import plural, print_table, shown
from w2v.comparison.side_by_side import TRAINERS
from w2v.comparison.spread import deviation, mean
from w2v.comparison.trainer_process import medians
from w2v.config import TrainConfig
from w2v.objectives import TITLES, objective_of

if TYPE_CHECKING:
    from w2v.comparison.bench import BenchReport, SpeedPairs, WholeJobs
    from w2v.comparison.compare import ModelComparison, TrainingComparison
    from w2v.comparison.profile import Score
    from w2v.comparison.spread import Measure
    from w2v.comparison.trainer_process import TrainerRun
    from w2v.comparison.weights import VocabularyCheck

_NAMED = 3
_WHOLE = 0.98

Costs = tuple[tuple[str, str, float, bool], ...]


# ---------------------------------------------------------------------------------------------- two models


def print_models(sources: Sequence[Path], found: ModelComparison) -> None:
    """Print how two embeddings differ."""
    rows = [(shown(str(source)), f"{n:,} words") for source, n in zip(sources, found.n_words, strict=True)]
    print_table([*rows, ("in both", f"{found.n_shared:,} words; all that follows is about these")])
    click.echo()
    table = [(a.title, _value(a), _value(b), f"{_of(a.n_known, a.n)} known") for a, b in found.scores]
    print_table(table, header=("", "MODEL", "OTHER", ""), right=(1, 2))
    click.echo()
    rows = [
        ("neighbour overlap@10", f"{found.neighbor_overlap:.4f}"),
        ("rank correlation of similarities", f"{found.similarity_correlation:.4f}"),
        ("Procrustes residual (0 to 1.41)", f"{found.procrustes_residual:.4f}"),
    ]
    print_table(rows, right=(1,))


def _value(score: Score) -> str:
    return "-" if score.value is None else f"{score.value:.4f}"


# ---------------------------------------------------------------------------------------------- training


def comparison_dict(found: TrainingComparison) -> dict[str, Any]:
    """Return a comparison as JSON has it."""
    rest = asdict(found)
    rest["text"]["path"] = str(found.text.path)
    rest["vocabulary"]["is_same"] = found.vocabulary.is_same
    rest["measures"] = list(map(_measure_dict, found.measures))
    rest["too_few_known"] = rest.pop("too_few")
    return {"is_inside": found.is_inside, **rest}


def _measure_dict(one: Measure) -> dict[str, Any]:
    """Return a measure with its difference and verdict; None where there is no spread."""
    has_spread = one.n_seeds > 1
    margin, verdict = (one.margin, one.verdict) if has_spread else (None, None)
    return {**asdict(one), "difference": one.difference, "margin": margin, "verdict": verdict}


def print_comparison(found: TrainingComparison) -> None:
    """Print a comparison on one screen."""
    theirs, ours = (found.runs_of(trainer) for trainer in TRAINERS)
    click.echo(f"gensim {theirs[0].version} and w2v {ours[0].version}, trained on the same text")
    print_table(_description(found))
    click.echo()
    quality = [_judged_row(one, _known(one)) for one in found.measures if not one.is_agreement]
    header = ("mean of the seeds ± sd", "gensim", "w2v", "difference", "gensim's spread", "verdict", "known")
    print_table(quality, header=header, right=(1, 2, 3, 4))
    for score in found.too_few:
        click.echo(f"{shown(score.name)}: not judged, only {_of(score.n_known, score.n)} known")
    click.echo()
    agreements = [_judged_row(one, _spread(one.own)) for one in found.measures if one.is_agreement]
    header = ("mean of pairs of runs ± sd", "gensim-gensim", "w2v-gensim", *header[3:6], "w2v-w2v")
    print_table(agreements, header=header, right=(1, 2, 3, 4, 6))
    click.echo()
    costs = [_cost_row(*cost) for cost in _medians(_COSTS, theirs, ours)]
    print_table(costs, header=("median of the runs", "gensim", "w2v", "better by"), right=(1, 2, 3))
    click.echo(f"\n{_conclusion(found)}")
    click.echo(
        f"(inside: no further from gensim's mean than the mean of {len(found.seeds)} more gensim runs would "
        "fall 95 times of 100)"
    )


def _description(found: TrainingComparison) -> Iterator[tuple[str, str]]:
    text, config = found.text, TrainConfig(**found.settings)
    origin = (
        "byte for byte CORPUS" if text.is_corpus else "written out as w2v read CORPUS, one sentence a line"
    )
    cut = f"; {text.n_cut:,} of more than 1,000 words cut there" if text.n_cut else ""
    yield "text", f"{text.tokens:,} words in {text.sentences:,} sentences, {origin}{cut}"
    yield "both", f"{config.model}, {_settings(config, found.min_count)}, epochs {config.epochs}"
    alphas = f"alpha {found.gensim_alpha:g} (gensim) and {config.alpha:g} (w2v)"
    if config.alpha == found.gensim_alpha:
        alphas = f"alpha {config.alpha:g}"
    seeds = f"{found.seeds[0]} to {found.seeds[-1]}"
    yield "", f"{alphas}, to {config.min_alpha:g}; workers {config.workers}; seeds {seeds}"
    update = f", {config.cbow_update} update" if config.objective.averages_contexts else ""
    yield "w2v", _kernel(config, str(config.block_negatives)) + update
    yield "vocabulary", _vocabulary_line(found.vocabulary)
    if found.gensim_share < _WHOLE:
        yield "NOTE", f"gensim trained on only {found.gensim_share:.1%} of the words that it should"


def _settings(config: TrainConfig, min_count: int) -> str:
    return (
        f"{config.vector_size} dimensions, window {config.window}, {config.negative} negatives, "
        f"sample {config.sample:g}, min_count {min_count}"
    )


def _kernel(config: TrainConfig, negatives: str) -> str:
    block = f", {config.block_size} positions, {negatives} negatives a block"
    return f"{config.kernel} kernel" + (block if config.objective.works_in_blocks else "")


def _vocabulary_line(check: VocabularyCheck) -> str:
    if check.is_same:
        return f"the same {check.n_words:,} words with the same counts, {check.n_tokens:,} tokens in all"
    parts = []
    for name, words in (("gensim", check.only_gensim), ("w2v", check.only_w2v)):
        if words:
            parts.append(f"only {name} has {_some(f'{shown(w)} ({n:,})' for w, n in words)}")
    if check.other_count:
        some = _some(f"{shown(word)} (gensim {a:,}, w2v {b:,})" for word, a, b in check.other_count)
        parts.append(f"counts differ of {some}")
    return f"NOT THE SAME: {'; '.join(parts)}; {check.n_words:,} words are the same"


def _some(words: Iterable[str]) -> str:
    words = list(words)
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more


def _judged_row(one: Measure, last: str) -> tuple[str, ...]:
    name = shown(one.name) + ("" if one.higher_is_better else " (lower is better)")
    return name, *_means(one), f"± {one.margin:.4f}", _verdict(one), last


def _means(one: Measure) -> tuple[str, str, str]:
    return _spread(one.gensim), _spread(one.w2v), f"{one.difference:+.4f}"


def _spread(values: tuple[float, ...]) -> str:
    return f"{mean(values):.4f}" + (f" ± {deviation(values):.4f}" if len(values) > 1 else "")


def _known(one: Measure) -> str:
    return _of(*one.known) if one.known else ""


def _of(n_known: int, n: int) -> str:
    return f"{n_known:,} of {n:,}"


def _verdict(one: Measure) -> str:
    """Name the verdict; two models that do not agree are no worse for it."""
    words = {"better": "closer", "worse": "farther"} if one.is_agreement else {}
    return words.get(one.verdict, one.verdict)


# Title, field of `TrainerRun`, unit, whether more is better.
_COSTS: Costs = (
    ("words/s of training", "words_per_second", 1, True),
    ("wall time of the process, s", "wall_seconds", 1, False),
    ("CPU time of the process, s", "cpu_seconds", 1, False),
    ("peak memory of the process, MB", "peak_bytes", 1e6, False),
)


def _medians(costs: Costs, *groups: Sequence[TrainerRun]) -> Iterator[tuple[str, bool, list[float]]]:
    """Yield title, flag and the median of each group, for all costs that are known."""
    for title, quantity, unit, flag in costs:
        values = medians(quantity, *groups)
        if values is not None:
            yield title, flag, [value / unit for value in values]


def _cost_row(title: str, higher_is_better: bool, values: Sequence[float]) -> tuple[str, ...]:
    theirs, ours = values
    ratio = ours / theirs if higher_is_better else theirs / ours
    digits = 0 if theirs >= 100 else 1
    return title, f"{theirs:,.{digits}f}", f"{ours:,.{digits}f}", f"{ratio:.1f} x"


def _conclusion(found: TrainingComparison) -> str:
    n_inside = sum(one.verdict == "inside" for one in found.measures)
    parts = [f"inside gensim's own spread on {n_inside} of {len(found.measures)} measures"]
    for verdict in ("better", "worse", "closer", "farther"):
        names = [
            f"{shown(one.name)} (by {abs(one.difference):.4f})"
            for one in found.measures
            if _verdict(one) == verdict
        ]
        if names:
            parts.append(f"outside, {verdict}: {', '.join(names)}")
    if not found.vocabulary.is_same:
        parts.append("the vocabularies are not the same")
    return f"Verdict: w2v is {'; '.join(parts)}."


# ---------------------------------------------------------------------------------------------- benchmark


def bench_dict(found: BenchReport) -> dict[str, Any]:
    """Return a benchmark as JSON has it."""
    speed = [{**asdict(pairs), "ratios": pairs.ratios, "cpu_ratio": pairs.cpu_ratio} for pairs in found.speed]
    jobs = [{**asdict(job), "quality": list(map(_measure_dict, job.quality))} for job in found.jobs]
    return {**asdict(found), "speed": speed, "jobs": jobs}


def print_bench(found: BenchReport) -> None:
    """Print a benchmark."""
    print_table(_circumstances(found))
    if found.speed:
        _print_speed(found.speed, found.part_tokens)
    if found.jobs:
        _print_jobs(found.jobs, TrainConfig(**found.settings))
    if any(job.quality for job in found.jobs):
        _print_quality(found.jobs)


def _circumstances(found: BenchReport) -> Iterator[tuple[str, str]]:
    machine, config = found.machine, TrainConfig(**found.settings)
    loads = [f"{value:.2f}" for value in (machine.load_before, machine.load_after) if value is not None]
    yield "machine", f"{shown(machine.processor)}, {machine.cores} cores, load {' to '.join(loads)}"
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    yield "versions", f"{versions}; {machine.blas_threads} thread for BLAS"
    counts = f"{found.tokens:,} words in {found.sentences:,} sentences"
    yield "text", f"{counts}, vocabulary {found.vocabulary:,}"
    yield "both", _settings(config, found.min_count)
    alphas = (f"{TITLES[m]} {a:g} (gensim), {b:g} (w2v)" for m, (a, b) in found.alphas.items())
    yield "alpha", "; ".join(alphas)
    yield "w2v", _kernel(config, " or ".join(_negatives(config, found.alphas)))


def _negatives(config: TrainConfig, models: Iterable[str]) -> Iterator[str]:
    for model in models:
        objective = objective_of(model, config.kernel)
        yield f"{config.block_negatives or objective.block_negatives} ({objective.title})"


def _print_speed(speed: Sequence[SpeedPairs], n_words: int) -> None:
    n_pairs = len(speed[0].gensim)
    click.echo(f"\nraw words/s of training on the first {n_words:,} words; median of {n_pairs} pairs")
    header = ("", "gensim", "w2v", "ratio", "lowest", "highest", "by CPU time")
    print_table(map(_speed_row, speed), header=header, right=range(1, 7), indent=2)
    for line in _scaling(speed):
        click.echo(f"  {line}")
    groups = ([run for pairs in speed for run in getattr(pairs, name)] for name in TRAINERS)
    theirs, ours = cast("list[float]", medians("read_seconds", *groups))
    click.echo(
        f"  reading and counting all of the text: gensim {theirs:.2f} s, w2v {ours:.2f} s, "
        f"{theirs / ours:.1f} x"
    )


def _speed_row(pairs: SpeedPairs) -> tuple[str, ...]:
    rates = medians("words_per_second", pairs.gensim, pairs.w2v) or ()
    ratios = pairs.ratios
    return (
        f"{TITLES[pairs.model]}, {plural(pairs.workers, 'worker')}",
        *(f"{rate:,.0f}" for rate in rates),
        f"{statistics.median(ratios):.1f} x",
        f"{min(ratios):.1f}",
        f"{max(ratios):.1f}",
        f"{pairs.cpu_ratio:.1f} x" if pairs.cpu_ratio is not None else "-",
    )


def _scaling(speed: Sequence[SpeedPairs]) -> Iterator[str]:
    """Say what more workers bring, in each round by itself."""
    alone = {pairs.model: pairs for pairs in speed if pairs.workers == 1}
    for pairs in speed:
        if pairs.workers > 1:
            gains = []
            for name in TRAINERS:
                both = zip(getattr(pairs, name), getattr(alone[pairs.model], name), strict=True)
                gain = statistics.median(a.words_per_second / b.words_per_second for a, b in both)
                gains.append(f"{name} {gain:.2f} x")
            yield f"{TITLES[pairs.model]}, {pairs.workers} workers against one: {', '.join(gains)}"


def _print_jobs(jobs: Sequence[WholeJobs], config: TrainConfig) -> None:
    click.echo(
        f"\nwhole jobs on all of the text, epochs {config.epochs}, {plural(config.workers, 'worker')}: "
        f"seconds, median of {len(jobs[0].gensim)}; cold: nothing compiled yet, done while reading"
    )
    for job in jobs:
        header = (TITLES[job.model], "gensim", "w2v", "ratio", "w2v, cold", "ratio")
        print_table(_job_rows(job), header=header, right=range(1, 6), indent=2)


# Title, field of `TrainerRun`, unit, whether the ratio says something: both do this in the same place.
_PARTS_OF_JOBS: Costs = (
    ("import", "import_seconds", 1, False),
    ("read and count", "read_seconds", 1, True),
    ("prepare, compile", "prepare_seconds", 1, False),
    ("train", "train_seconds", 1, True),
    ("save", "save_seconds", 1, False),
    ("wall time of the process", "wall_seconds", 1, True),
    ("CPU time of the process", "cpu_seconds", 1, True),
    ("peak memory, MB", "peak_bytes", 1e6, True),
)


def _job_rows(job: WholeJobs) -> Iterator[tuple[str, ...]]:
    for title, has_ratio, (theirs, *ours) in _medians(_PARTS_OF_JOBS, job.gensim, job.w2v, (job.cold,)):
        cells = ((f"{value:.2f}", f"{theirs / value:.1f} x" if has_ratio else "") for value in ours)
        yield title, f"{theirs:.2f}", *itertools.chain(*cells)


def _print_quality(jobs: Sequence[WholeJobs]) -> None:
    n = len(jobs[0].gensim)
    rows = [
        (f"{TITLES[job.model]}, {shown(one.name)}", *_means(one), _in_deviations(one), _known(one))
        for job in jobs
        for one in job.quality
    ]
    click.echo(f"\nquality of these jobs: {f'mean of {n} seeds ± sd' if n > 1 else 'one seed'}")
    header = ("", "gensim", "w2v", "difference", "in sd of gensim", "known")
    print_table(rows, header=header, right=range(1, 6), indent=2)


def _in_deviations(one: Measure) -> str:
    spread = deviation(one.gensim) if one.n_seeds > 1 else 0
    return f"{one.difference / spread:+.1f}" if spread else "-"
