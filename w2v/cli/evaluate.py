"""The command evaluate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2v.cli.model_options import change_options, json_option, model_argument, open_model, restrict_option
from w2v.cli.output import print_json, print_table, shown
from w2v.config import ANALOGY_METHODS

if TYPE_CHECKING:
    from w2v.evaluation import AnalogyResult, AnalogyScore, PairResult


@click.command(no_args_is_help=True)
@model_argument
@click.option(
    "--analogies",
    multiple=True,
    metavar="FILE",
    help="Lines of four words, and ': section'; or questions-words. Repeatable.",
)
@click.option(
    "--pairs",
    multiple=True,
    metavar="FILE",
    help="Lines of word, word, score; or wordsim353, simlex999. Repeatable.",
)
@click.option(
    "--method",
    type=click.Choice(ANALOGY_METHODS),
    default="3CosAdd",
    show_default=True,
    help="How analogies are scored.",
)
@restrict_option(300_000)
@click.option(
    "--case-sensitive",
    is_flag=True,
    help="Distinguish 'Apple' from 'apple'; otherwise the first of them is used.",
)
@click.option(
    "--dummy4unknown",
    is_flag=True,
    help="Count questions with unknown words as wrong, pairs as similarity 0.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the bootstrap interval."
)
@change_options
@json_option
def evaluate(
    model: Path,
    analogies: tuple[str, ...],
    pairs: tuple[str, ...],
    method: str,
    restrict_vocab: int,
    case_sensitive: bool,
    dummy4unknown: bool,
    seed: int,
    center: bool,
    all_but_the_top: int | None,
    as_json: bool,
) -> None:
    """Evaluate vectors on analogies and word similarity.

    The numbers are those of gensim's evaluate_word_analogies and evaluate_word_pairs.

    Without --analogies and --pairs: Google's analogies, WordSim-353 and SimLex-999. Questions with words that
    are not in the vocabulary are left out, as gensim does; how many were known is shown.

    \b
    Example:
      w2v evaluate my_model --restrict-vocab 30000
      w2v evaluate zh_model --analogies ca8.txt --pairs wordsim-240.txt --json
    """
    from w2v.evaluation import evaluate as run

    given = bool(analogies or pairs)
    found = run(
        open_model(model, center=center, all_but_the_top=all_but_the_top),
        analogies=analogies if given else None,
        pairs=pairs if given else None,
        method=method,
        restrict_vocab=restrict_vocab,
        case_insensitive=not case_sensitive,
        dummy4unknown=dummy4unknown,
        seed=seed,
    )
    if as_json:
        print_json(
            {"analogies": list(map(_as_dict, found.analogies)), "pairs": list(map(asdict, found.pairs))}
        )
        return
    for result in found.analogies:
        _print_analogies(result)
    if found.pairs:
        _print_pairs(found.pairs)


def _as_dict(result: AnalogyResult) -> dict[str, Any]:
    scores = [{**asdict(score), "accuracy": score.accuracy} for score in (*result.sections, result.total)]
    return {"name": result.name, "method": result.method, "sections": scores[:-1], "total": scores[-1]}


def _print_analogies(result: AnalogyResult) -> None:
    click.echo(f"{shown(result.name)} ({result.method})")
    header = ("section", "accuracy", "correct", "known", "questions")
    rows = [_score_row(score) for score in (*result.sections, result.total)]
    print_table(rows, header=header, right=(1, 2, 3, 4), indent=2)
    click.echo()


def _score_row(score: AnalogyScore) -> tuple[str, ...]:
    accuracy = "-" if score.accuracy is None else f"{score.accuracy:.4f}"
    return shown(score.section), accuracy, str(score.n_correct), str(score.n_known), str(score.n_questions)


def _print_pairs(results: tuple[PairResult, ...]) -> None:
    header = ("word similarity", "Spearman", "95% interval", "Pearson", "known", "pairs")
    rows = [
        (
            shown(result.name),
            _correlation(result.spearman),
            " .. ".join(map(_correlation, result.interval)) if result.interval else "-",
            _correlation(result.pearson),
            str(result.n_known),
            str(result.n_pairs),
        )
        for result in results
    ]
    print_table(rows, header=header, right=(1, 2, 3, 4, 5))


def _correlation(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
