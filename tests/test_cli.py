"""The command line as a whole: help everywhere, with an example, and every command in the README."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from w2v.cli import cli
from w2v.cli.output import duration, plural, rough_duration, size

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


def test_numbers_read_as_people_write_them() -> None:
    assert [plural(n, "worker") for n in (0, 1, 2000)] == ["0 workers", "1 worker", "2,000 workers"]
    assert plural(2, "encoded corpus", "encoded corpora") == "2 encoded corpora"
    assert [duration(s) for s in (0.01, 2.34, 83.4, 1234)] == ["under 0.1 s", "2.3 s", "83 s", "1,234 s"]
    assert [rough_duration(s) for s in (0.01, 83.4, 420, 9000)] == ["1 s", "83 s", "7 min", "2.5 h"]
    sizes = [size(n) for n in (0, 1, 12_000, 3_400_000, 2_500_000_000)]
    assert sizes == ["0 bytes", "1 byte", "12 kB", "3.4 MB", "2,500 MB"]
