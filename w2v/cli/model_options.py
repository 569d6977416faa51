"""The MODEL argument and the options that several commands on vectors share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from w2v.config import METRICS

Command = TypeVar("Command", bound=Callable[..., Any])

model_argument = click.argument("model", type=click.Path(path_type=Path))
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def restrict_option(default: int | None = None) -> Callable[[Command], Command]:
    """Return the option --restrict-vocab with a default."""
    return click.option(
        "--restrict-vocab",
        type=click.IntRange(1),
        metavar="N",
        default=default,
        show_default=True,
        help="Look among the first (most frequent) N words only.",
    )


def metric_option(command: Command) -> Command:
    """Add the option --metric."""
    return click.option(
        "--metric",
        type=click.Choice(METRICS),
        default="cosine",
        show_default=True,
        help="Similarity or distance to use.",
    )(command)


def change_options(command: Command) -> Command:
    """Add the options --center and --all-but-the-top, which change the vectors before they are used."""
    command = click.option(
        "--all-but-the-top",
        type=click.IntRange(0),
        metavar="N",
        help="Subtract the mean and remove the N directions of greatest variance; usually dimensions / 100.",
    )(command)
    return click.option("--center", is_flag=True, help="Subtract the mean vector.")(command)


def open_model(path: Path, *, center: bool = False, all_but_the_top: int | None = None) -> Any:
    """Open vectors of any format, changed as the options say; returns Embeddings."""
    from w2v.embeddings import load

    model = load(path)
    if all_but_the_top is not None:
        return model.without_top_components(all_but_the_top)
    return model.centered() if center else model


def as_in_model(model: Any, *words: str) -> tuple[str, ...]:
    """Return words as the model has them: as typed, or else normalised as its corpus was."""
    from w2v.corpus.tokens.tokenizers import vocabulary_word

    return tuple(vocabulary_word(word, model.vocab, model.origin.reading) for word in words)
