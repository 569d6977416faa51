"""The command line as a whole: help everywhere, with an example, and every command in the README."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import w2v
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


@pytest.mark.parametrize(
    ("environment", "encoding"),
    [
        ({"PYTHONIOENCODING": "cp1252"}, "cp1252"),
        ({"PYTHONIOENCODING": "gbk"}, "gbk"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "utf-8"),
    ],
    ids=["cp1252", "gbk", "C"],
)
def test_every_command_prints_words_in_any_locale(
    environment: dict[str, str], encoding: str, tmp_path: Path
) -> None:
    text = "北京 大学 😀 café\n" * 30
    (tmp_path / "text").write_text(text)
    model = w2v.train(tmp_path / "text", vector_size=8, epochs=1, min_count=1, sample=0)
    model.save(tmp_path / "model")
    commands: list[list[str]] = [
        ["neighbors", "model", "北京"],
        ["analogy", "model", "北京", "大学", "café"],
        ["info", "model"],
        ["phrases", "text", "--phrase-threshold", "0.01"],
        ["corpus", "stats", "text"],
        ["vocab", "text", "-o", "words.tsv"],
        ["neighbors", "model", "没有"],
        ["vocab", "没有.txt"],
        ["neighbors", "model", "北京", "--json"],
    ]
    code = (
        "import sys, json; from w2v.cli import cli, main\n"
        "for sys.argv[1:] in json.loads(sys.argv[1]):\n"
        "    try: main()\n"
        "    except SystemExit as end: print(end.code)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, json.dumps(commands)],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    assert (run.returncode, b"Traceback" in run.stderr) == (0, False), run.stderr
    printed, answer = run.stdout[: run.stdout.index(b"{")], run.stdout[run.stdout.index(b"{") :]
    lines = printed.decode(encoding).splitlines()
    assert [line for line in lines if line in ("0", "1")] == ["0", "0", "0", "0", "0", "0", "1", "1"]
    assert ("北京" if encoding != "cp1252" else "\\u5317\\u4eac") in lines[0]
    words = [found["word"] for found in json.loads(answer.decode()[:-2])["results"][0]["neighbors"]]
    assert sorted(words) == sorted(["大学", "😀", "café"])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_whose_exception_is_lost_comes_again(number: signal.Signals, code: int) -> None:
    """As in a callback of LLVM, which loads compiled code: what a finalizer raises goes nowhere."""
    script = (
        "import signal, time, w2v.api\n"
        "class Swallows:\n"
        f"    def __del__(self): signal.raise_signal({number.value})\n"
        "def read(*arguments, **options):\n"
        "    Swallows()\n"
        "    for _ in range(600): time.sleep(0.05)\n"
        "w2v.api.Reading.read = read\n"
        "from w2v.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script, "vocab", "-"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (code, b"\nStopped.\n")
