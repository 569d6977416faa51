"""Commands that ask a model: info, neighbors, analogy, similarity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2v.cli.model_options import (
    as_in_model,
    change_options,
    json_option,
    metric_option,
    model_argument,
    open_model,
    restrict_option,
)
from w2v.cli.output import print_json, print_table, shown

if TYPE_CHECKING:
    from w2v.embeddings import Embeddings, Neighbor
    from w2v.evaluation.inspection import FrequencyReport, NormReport
    from w2v.vectors.training_report import TrainingReport

top_option = click.option(
    "-n", "--top", type=click.IntRange(1), default=10, show_default=True, help="How many words to show."
)


@click.command(no_args_is_help=True)
@model_argument
@click.argument("words", nargs=-1, required=True)
@top_option
@metric_option
@restrict_option()
@change_options
@json_option
def neighbors(
    model: Path,
    words: tuple[str, ...],
    top: int,
    metric: str,
    restrict_vocab: int | None,
    center: bool,
    all_but_the_top: int | None,
    as_json: bool,
) -> None:
    """Show the nearest words of each WORD.

    MODEL is a model folder or a file of any format that `w2v convert` reads. The answers for the words that
    it knows come first; then one that it does not know is an error.

    \b
    Example:
      w2v neighbors my_model king queen
      w2v neighbors glove.6B.100d.txt king -n 5 --metric dot --restrict-vocab 50000
    """
    embeddings = open_model(model, center=center, all_but_the_top=all_but_the_top)
    words = as_in_model(embeddings, *words)
    known = [word for word in words if word in embeddings]
    found = embeddings.neighbors_of_all(known, top, metric=metric, restrict_vocab=restrict_vocab)
    if as_json and known:
        results = [
            {"word": word, "neighbors": _as_dicts(near)} for word, near in zip(known, found, strict=True)
        ]
        print_json({"metric": metric, "results": results})
    elif not as_json:
        for word, near in zip(known, found, strict=True):
            click.echo(f"{shown(word)} ({metric})")
            _print_neighbors(near)
    for word in words:  # the first that is not known is the error; the answers for the others are out
        embeddings.word_id(word)


@click.command(no_args_is_help=True)
@model_argument
@click.argument("a")
@click.argument("b")
@click.argument("c")
@top_option
@metric_option
@restrict_option()
@change_options
@json_option
def analogy(
    model: Path,
    a: str,
    b: str,
    c: str,
    top: int,
    metric: str,
    restrict_vocab: int | None,
    center: bool,
    all_but_the_top: int | None,
    as_json: bool,
) -> None:
    """Solve an analogy: A is to B as C is to the answer.

    The answers are the words nearest to B - A + C (3CosAdd), without the three words themselves.

    \b
    Example:
      w2v analogy my_model man king woman
    """
    embeddings = open_model(model, center=center, all_but_the_top=all_but_the_top)
    a, b, c = as_in_model(embeddings, a, b, c)
    answers = embeddings.analogy(a, b, c, top, metric=metric, restrict_vocab=restrict_vocab)
    if as_json:
        print_json({"a": a, "b": b, "c": c, "metric": metric, "answers": _as_dicts(answers)})
        return
    click.echo(f"{shown(a)} is to {shown(b)} as {shown(c)} is to ({metric})")
    _print_neighbors(answers)


@click.command(no_args_is_help=True)
@model_argument
@click.argument("a")
@click.argument("b")
@metric_option
@change_options
@json_option
def similarity(
    model: Path, a: str, b: str, metric: str, center: bool, all_but_the_top: int | None, as_json: bool
) -> None:
    """Score two words against each other.

    Cosine and dot are similarities, euclidean and manhattan distances.

    \b
    Example:
      w2v similarity my_model king queen --metric euclidean
    """
    embeddings = open_model(model, center=center, all_but_the_top=all_but_the_top)
    a, b = as_in_model(embeddings, a, b)
    score = embeddings.similarity(a, b, metric=metric)
    if as_json:
        print_json({"a": a, "b": b, "metric": metric, "score": score})
    else:
        click.echo(f"{score:.4f}")


def _as_dicts(near: Iterable[Neighbor]) -> list[dict[str, Any]]:
    return [neighbor._asdict() for neighbor in near]


def _print_neighbors(near: Iterable[Neighbor]) -> None:
    print_table([(shown(word), f"{score:.4f}") for word, score in near], right=(1,), indent=2)


@click.command(no_args_is_help=True)
@model_argument
@json_option
def info(model: Path, as_json: bool) -> None:
    """Describe a model.

    Words, dimensions, settings, the loss of each epoch, and what norms and frequency do in its neighbours:
    cosine is not always similarity.

    \b
    Example:
      w2v info my_model
    """
    from w2v.evaluation.inspection import report_frequency, report_norms

    embeddings = open_model(model)
    norms, frequency = report_norms(embeddings), report_frequency(embeddings)
    if as_json:
        print_json(
            {
                "words": len(embeddings),
                "dimensions": embeddings.vector_size,
                "tokens": int(embeddings.counts.sum()),
                "context": embeddings.context is not None,
                "config": embeddings.origin.as_dict(),
                "training": embeddings.training.lines if embeddings.training else [],
                "norms": asdict(norms) if norms else None,
                "frequency": [asdict(report) for report in frequency],
            }
        )
        return
    _print_description(model, embeddings)
    _print_training(embeddings.training)
    if norms is not None:
        _print_norms(norms)
    if frequency:
        _print_frequency(frequency)


def _print_description(path: Path, model: Embeddings) -> None:
    first, last = model.words[:5], model.words[-3:] if len(model) > 5 else ()
    words = ", ".join(map(shown, first)) + (f", …, {', '.join(map(shown, last))}" if last else "")
    tokens = f"{int(model.counts.sum()):,} in the corpus" if model.counts.any() else "counts not known"
    rows = [
        ("model", str(path)),
        ("words", f"{len(model):,} ({words})"),
        ("tokens", tokens),
        ("dimensions", str(model.vector_size)),
        ("context vectors", "kept" if model.context is not None else "none"),
    ]
    print_table(rows + [(key, _in_line(value)) for key, value in model.origin.as_dict().items()])


def _in_line(value: Any) -> str:
    """Return a setting, or a group of them, on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_in_line(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_in_line, value))
    return f"{value:,}" if type(value) is int and abs(value) >= 10_000 else shown(str(value))


def _print_training(training: TrainingReport | None) -> None:
    if training is None or not training.epochs:
        return
    click.echo("\ntraining, by epoch")
    columns = ("epoch", "loss", "alpha", "words_per_second")
    rows = [[_number(getattr(report, name)) for name in columns] for report in training.epochs]
    print_table(rows, header=columns, right=range(len(columns)), indent=2)


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


def _print_norms(norms: NormReport) -> None:
    click.echo("\nnorms (L2)")
    rows = [
        ("mean, median", f"{norms.mean:.3f}, {norms.median:.3f}"),
        ("lowest, highest", f"{norms.low:.3f}, {norms.high:.3f}"),
    ]
    if norms.n_zero:
        rows.append(("zero vectors", str(norms.n_zero)))
    if norms.count_correlation is not None:
        rows.append(("rank correlation with count", f"{norms.count_correlation:+.2f}"))
    print_table(rows, indent=2)


def _print_frequency(reports: Iterable[FrequencyReport]) -> None:
    reports = list(reports)
    n_queries, n_words = reports[0].n_queries, reports[0].n_candidates
    click.echo(f"\nfrequency: the 10 nearest of {n_queries} rare words among {n_words:,} words")
    rows = [
        (
            report.metric,
            f"{report.rare_share:.0%}",
            f"{report.frequent_share:.0%}",
            f"{report.hub_share:.0%}",
        )
        for report in reports
    ]
    rows.append(("if frequency played no part", "25%", "10%", ""))
    header = ("", "in the rarest quarter", "in the most frequent tenth", "taken by 1% of words")
    print_table(rows, header=header, right=(1, 2, 3), indent=2)
