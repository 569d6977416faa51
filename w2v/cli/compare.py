"""The command compare."""

from __future__ import annotations

import statistics
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

if TYPE_CHECKING:
    from w2v.comparison.compare import TrainingComparison
    from w2v.comparison.models import ModelComparison
    from w2v.comparison.profile import EvaluationSets, Score
    from w2v.comparison.spread import Measure
    from w2v.comparison.trainer_process import Run
    from w2v.comparison.weights import VocabularyCheck

_FOR_MODELS = {"sources", "analogies", "pairs", "as_json"}
_NAMED = 3
_WHOLE = 0.98


@click.command(no_args_is_help=True)
@reading_options
@config_options(VocabConfig, leave_out=("max_vocab",))  # gensim does not keep exactly N words
@click.option(
    "--seeds", type=click.IntRange(3), default=3, show_default=True, help="Trainings of each, one a seed."
)
@click.option("--strict", is_flag=True, help="Exit 1 if w2v is worse than gensim's own spread.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep the text that both read and all models in a new folder.",
)
@click.option("--analogies", multiple=True, metavar="FILE", help="As for w2v evaluate. Repeatable.")
@click.option("--pairs", multiple=True, metavar="FILE", help="As for w2v evaluate. Repeatable.")
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Training threads of each. With several, gensim's learning rate falls less: docs/compare.md.",
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

    CORPUS, one file or folder: gensim and w2v train on the same text with the same settings, by turns, each
    in a process of its own, several times with other seeds. The verdict says for each measure whether w2v
    lies within gensim's own spread: two runs of gensim do not agree either.

    MODEL OTHER: two embeddings of any format are compared on the words they share.

    Vectors are not compared one by one. The loss does not change when a whole space is turned, so every
    training ends in another turn of it, and even two runs of gensim have unlike vectors for the same word.
    Compared are losses, answers, neighbours, similarities, and distances after the best rotation.

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
    from w2v.comparison.compare import compare_training

    found = compare_training(
        read_everything(values, sources=sources),
        min_count=make_config(VocabConfig, values).min_count,
        train=make_config(TrainConfig, values),
        seeds=seeds,
        sets=sets,
        keep=keep,
        origin=sources,
        say=lambda line: click.echo(line, err=True),
    )
    if as_json:
        print_json(_as_dict(found))
    else:
        _print_training(found)
    if strict and not found.is_inside:
        click.get_current_context().exit(1)


# The argument that every command on a corpus has also takes two embeddings here.
compare.params[0].metavar = "CORPUS | MODEL OTHER"


def _refuse_options_of_training() -> None:
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        if name not in _FOR_MODELS and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[0]} does not belong to a comparison of two embeddings")


def _refuse_model(source: Path) -> None:
    from w2v.formats.folder import is_model_folder

    if is_model_folder(source):
        raise click.UsageError(f"{source} is a model: name the other embeddings too, or give a corpus")


def _compare_models(sources: Sequence[Path], sets: EvaluationSets, *, as_json: bool) -> None:
    from w2v.comparison.models import compare_models
    from w2v.embeddings import load

    found = compare_models(load(sources[0]), load(sources[1]), sets=sets)
    if as_json:
        print_json({**asdict(found), "models": list(map(str, sources))})
    else:
        _print_models(sources, found)


def _print_models(sources: Sequence[Path], found: ModelComparison) -> None:
    rows = [(shown(str(source)), f"{n:,} words") for source, n in zip(sources, found.n_words, strict=True)]
    print_table([*rows, ("in both", f"{found.n_shared:,} words; all that follows is about these")])
    click.echo()
    table = [(_set_name(a), _value(a), _value(b), f"{a.n_known:,} of {a.n:,} known") for a, b in found.scores]
    print_table(table, header=("", "MODEL", "OTHER", ""), right=(1, 2))
    click.echo()
    rows = [
        ("neighbour overlap@10", f"{found.neighbor_overlap:.4f}"),
        ("rank correlation of similarities", f"{found.similarity_correlation:.4f}"),
        ("Procrustes residual (0 to 1.41)", f"{found.procrustes_residual:.4f}"),
    ]
    print_table(rows, right=(1,))


def _set_name(score: Score) -> str:
    from w2v.comparison.profile import ANALOGY_WORDS

    return f"{score.name}, top {ANALOGY_WORDS:,}" if score.kind == "analogies" else score.name


def _value(score: Score) -> str:
    return "-" if score.value is None else f"{score.value:.4f}"


def _as_dict(found: TrainingComparison) -> dict[str, Any]:
    measures = [
        {**asdict(one), "difference": one.difference, "margin": one.margin, "verdict": one.verdict}
        for one in found.measures
    ]
    return {
        "is_inside": found.is_inside,
        "text": {**asdict(found.text), "path": str(found.text.path)},
        "settings": found.settings,
        "gensim_alpha": found.gensim_alpha,
        "min_count": found.min_count,
        "seeds": found.seeds,
        "vocabulary": {**asdict(found.vocabulary), "is_same": found.vocabulary.is_same},
        "measures": measures,
        "too_few_known": [asdict(score) for score in found.too_few],
        "runs": [asdict(run) for run in found.runs],
        "gensim_share": found.gensim_share,
    }


def _print_training(found: TrainingComparison) -> None:
    theirs, ours = (found.runs_of(trainer) for trainer in ("gensim", "w2v"))
    click.echo(f"gensim {theirs[0].version} and w2v {ours[0].version}, trained on the same text")
    print_table(_description(found))
    _print_quality(found)
    _print_agreements([one for one in found.measures if one.is_agreement])
    _print_costs(theirs, ours)
    click.echo(f"\n{_conclusion(found)}")
    click.echo(
        f"(inside: no further from gensim's mean than the mean of {len(found.seeds)} more gensim runs would "
        "fall 95 times of 100)"
    )


def _description(found: TrainingComparison) -> list[tuple[str, str]]:
    text, config = found.text, TrainConfig(**found.settings)
    origin = (
        "byte for byte CORPUS" if text.is_corpus else "written out as w2v read CORPUS, one sentence a line"
    )
    cut = f"; {text.n_cut:,} of more than 1,000 words cut there" if text.n_cut else ""
    both = (
        f"{config.model}, {config.vector_size} dimensions, window {config.window}, {config.negative} "
        f"negatives, sample {config.sample:g}, min_count {found.min_count}, epochs {config.epochs}"
    )
    kernel = f"{config.kernel} kernel"
    if config.objective.works_in_blocks:
        kernel += f", {config.block_size} positions, {config.block_negatives} negatives a block"
    if config.objective.averages_contexts:
        kernel += f", {config.cbow_update} update"
    alphas = f"alpha {found.gensim_alpha:g} (gensim) and {config.alpha:g} (w2v)"
    if config.alpha == found.gensim_alpha:
        alphas = f"alpha {config.alpha:g}"
    lost = []
    if found.gensim_share < _WHOLE:
        lost = [("NOTE", f"gensim trained on only {found.gensim_share:.1%} of the words that it should")]
    return [
        ("text", f"{text.tokens:,} words in {text.sentences:,} sentences, {origin}{cut}"),
        ("both", both),
        ("", f"{alphas}, to {config.min_alpha:g}; workers {config.workers}; seeds {_seeds(found.seeds)}"),
        ("w2v", kernel),
        ("vocabulary", _vocabulary_line(found.vocabulary)),
        *lost,
    ]


def _seeds(seeds: Sequence[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}"


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


def _print_quality(found: TrainingComparison) -> None:
    rows = [
        _row(one, f"{one.known[0]:,} of {one.known[1]:,}" if one.known else "")
        for one in found.measures
        if not one.is_agreement
    ]
    click.echo()
    header = ("mean of the seeds ± sd", "gensim", "w2v", "difference", "gensim's spread", "verdict", "known")
    print_table(rows, header=header, right=(1, 2, 3, 4))
    for score in found.too_few:
        click.echo(f"{shown(score.name)}: not judged, only {score.n_known:,} of {score.n:,} known")


def _print_agreements(measures: Iterable[Measure]) -> None:
    rows = [_row(one, _spread(one.own)) for one in measures]
    click.echo()
    header = (
        "mean of pairs of runs ± sd",
        "gensim-gensim",
        "w2v-gensim",
        "difference",
        "gensim's spread",
        "verdict",
        "w2v-w2v",
    )
    print_table(rows, header=header, right=(1, 2, 3, 4, 6))


def _row(one: Measure, last: str) -> tuple[str, ...]:
    name = shown(one.name) + ("" if one.higher_is_better else " (lower is better)")
    margin = f"± {one.margin:.4f}"
    return name, _spread(one.gensim), _spread(one.w2v), f"{one.difference:+.4f}", margin, _verdict(one), last


def _verdict(one: Measure) -> str:
    """Name the verdict; two models that do not agree are no worse for it."""
    return (
        {"better": "closer", "worse": "farther"}.get(one.verdict, "inside")
        if one.is_agreement
        else one.verdict
    )


def _spread(values: tuple[float, ...]) -> str:
    from w2v.comparison.spread import deviation, mean

    return f"{mean(values):.4f} ± {deviation(values):.4f}"


def _print_costs(theirs: Sequence[Run], ours: Sequence[Run]) -> None:
    rows = []
    for name, attribute, scale, higher_is_better in (
        ("words/s of training", "words_per_second", 1, True),
        ("wall time of the process, s", "wall_seconds", 1, False),
        ("CPU time of the process, s", "cpu_seconds", 1, False),
        ("peak memory of the process, MB", "peak_bytes", 1e6, False),
    ):
        a, b = (_median(getattr(run, attribute) for run in runs) for runs in (theirs, ours))
        if a is None or b is None:
            continue
        ratio = b / a if higher_is_better else a / b
        digits = 0 if a / scale >= 100 else 1
        rows.append((name, f"{a / scale:,.{digits}f}", f"{b / scale:,.{digits}f}", f"{ratio:.1f} x"))
    click.echo()
    print_table(rows, header=("median of the runs", "gensim", "w2v", "better by"), right=(1, 2, 3))


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


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
