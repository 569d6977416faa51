"""The command line: each command parses, makes a config, calls the library once and prints."""

from __future__ import annotations

import _thread
import difflib
import importlib
import io
import logging
import os
import signal
import sys
import threading
from typing import Any

import click

from w2v.cli.output import one_line
from w2v.errors import W2VError
from w2v.system.version import __version__

_LATER_SECONDS = 0.05
_COMMANDS: dict[str, str] = {
    "train": "w2v.cli.train:train",
    "vocab": "w2v.cli.vocab:vocab",
    "phrases": "w2v.cli.phrases:phrases",
    "info": "w2v.cli.query:info",
    "neighbors": "w2v.cli.query:neighbors",
    "analogy": "w2v.cli.query:analogy",
    "similarity": "w2v.cli.query:similarity",
    "evaluate": "w2v.cli.evaluate:evaluate",
    "compare": "w2v.cli.compare:compare",
    "bench": "w2v.cli.compare:bench",
    "convert": "w2v.cli.convert:convert",
    "export": "w2v.cli.convert:export",
    "align": "w2v.cli.align:align",
    "corpus": "w2v.cli.corpus:corpus",
}


class _Commands(click.Group):
    """Commands are imported when they are needed; library errors become one line and exit 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (W2VError, OSError) as error:
            if ctx.params.get("debug") or isinstance(error, BrokenPipeError):  # click handles the latter
                raise
            click.echo(f"Error: {one_line(error)}", err=True)
            ctx.exit(1)
        except _Terminated:
            click.echo("\nStopped.", err=True)
            ctx.exit(128 + signal.SIGTERM)
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            ctx.exit(128 + signal.SIGINT)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] == "help":  # w2v help, w2v help train
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if args and args[0] not in _COMMANDS and (near := difflib.get_close_matches(args[0], _COMMANDS, 2)):
            ctx.fail(f"No such command '{args[0]}'. Did you mean {' or '.join(near)}?")
        return super().resolve_command(ctx, args)


class _Terminated(KeyboardInterrupt):
    """SIGTERM: as Ctrl-C, so that temporary files go and an older model stays."""


def _terminate(*_: object) -> None:
    raise _Terminated


def _raise_again(swallowed: Any) -> None:
    """Let a signal come once more if its exception was lost, in a callback of LLVM or a finalizer.

    A little later and from a thread, as here it would be lost again.
    """
    if not issubclass(swallowed.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(swallowed)
        return
    number = signal.SIGTERM if issubclass(swallowed.exc_type, _Terminated) else signal.SIGINT
    timer = threading.Timer(_LATER_SECONDS, _thread.interrupt_main, (number,))
    timer.daemon = True
    timer.start()


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, prog_name="w2v")
def cli(debug: bool) -> None:
    """Train static word vectors fast, and use them in PyTorch."""
    logging.getLogger("w2v").handlers = [_ToStderr()]
    logging.getLogger("w2v.training").setLevel(logging.INFO)  # what a run starts from


class _ToStderr(logging.Handler):
    """What the library logs, a line each on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno == logging.INFO:
            click.echo(text[:1].upper() + text[1:], err=True)
        else:
            click.echo(f"{record.levelname.capitalize()}: {text}", err=True)


def _prepare_output() -> None:
    """Print UTF-8 into files and pipes, as all files of w2v are; escape what a terminal cannot show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        is_given = sys.stdout.isatty() or os.environ.get("PYTHONIOENCODING")
        sys.stdout.reconfigure(encoding=None if is_given else "utf-8", errors="backslashreplace")


def main() -> None:
    """Run the command line; Ctrl-C exits 130, SIGTERM 143."""
    _prepare_output()
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _raise_again
    try:
        cli(standalone_mode=True)
    except _Terminated:
        sys.exit(128 + signal.SIGTERM)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
