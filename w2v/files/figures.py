"""Pictures drawn by matplotlib, which is an optional package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from w2v.errors import ConfigError, MissingExtraError
from w2v.files.atomic import new_file

_SUFFIXES = (".png", ".svg", ".pdf")


def check_figure(path: Path) -> None:
    """Raise now if a figure could not be written to a path later: call this before a long computation.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ConfigError
        If the suffix is that of another kind of file.
    """
    new_figure(1, 1)
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path}: a plot is written as .png, .svg or .pdf")


def new_figure(width: float, height: float) -> Any:
    """Return an empty matplotlib figure, its size in inches, that needs no display.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    return Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Any, path: Path) -> None:
    """Write a figure as what the suffix of the path says, PNG if it has none: whole, or not at all."""
    with new_file(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower() or "png", dpi=150)
