"""The command line as a whole: help everywhere, with an example, and every command in the README."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from w2v.cli import cli

README = Path(__file__).parent.parent / "README.md"


def commands(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command


ALL = [pytest.param(names, command, id=" ".join(names)) for names, command in commands(cli)]


@pytest.mark.parametrize(("names", "command"), ALL)
def test_every_command_has_help_with_an_example(names: tuple[str, ...], command: click.Command) -> None:
    result = CliRunner().invoke(cli, [*names, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"w2v {' '.join(names)} " in result.output
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name


@pytest.mark.parametrize(("names", "command"), ALL)
def test_every_command_stands_in_the_readme(names: tuple[str, ...], command: click.Command) -> None:
    assert f"w2v {' '.join(names)}" in README.read_text(), command.name
