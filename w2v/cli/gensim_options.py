"""What the commands that train gensim too have in common: options that they refuse."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.core import ParameterSource

NOT_FOR_GENSIM = ("vocab_file", "max_vocab")


def is_given(name: str) -> bool:
    """Say whether an option of the current command stands on the command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse_given(is_refused: Callable[[str], bool], why: str) -> None:
    """Raise click.UsageError for an option on the command line whose name is refused."""
    for option in click.get_current_context().command.params:
        if is_refused(str(option.name)) and is_given(str(option.name)):
            raise click.UsageError(f"{option.opts[0]} {why}")
