"""A benchmark as a picture: speed, whole jobs, quality, gensim and w2v side by side."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from w2v.comparison.machine import BenchReport
from w2v.comparison.spread import deviation, mean
from w2v.files.figures import new_figure, write_figure
from w2v.objectives import TITLES

_NAMES = ("gensim", "w2v")
_COLORS = {"gensim": "#9a9a9a", "w2v": "#1f6fb4"}
_WIDTH = 0.38


def write_plot(report: BenchReport, path: Path) -> None:
    """Write the picture.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    drawings: list[Any] = []
    if report.speed:
        drawings.append(_draw_speed)
    if report.jobs:
        drawings.append(_draw_jobs)
    if any(job.quality for job in report.jobs):
        drawings.append(_draw_quality)
    figure = new_figure(5.2 * len(drawings), 4.2)
    for draw, axes in zip(drawings, figure.subplots(1, len(drawings), squeeze=False)[0], strict=True):
        draw(axes, report)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        f"gensim {report.machine.versions['gensim']} and w2v {report.machine.versions['w2v']}: "
        f"{report.settings['vector_size']} dimensions, window {report.settings['window']}, "
        f"{report.settings['negative']} negatives, {report.vocabulary:,} words, {report.machine.processor}",
        fontsize=9,
    )
    write_figure(figure, path)


def _draw_speed(axes: Any, report: BenchReport) -> None:
    labels = [f"{_model(pairs.model)}\n{pairs.workers} worker(s)" for pairs in report.speed]
    values = [
        [statistics.median(run.words_per_second for run in getattr(pairs, name)) for pairs in report.speed]
        for name in _NAMES
    ]
    _draw_bars(axes, labels, values)
    for i, pairs in enumerate(report.speed):
        axes.annotate(
            f"{statistics.median(pairs.ratios):.1f} x",
            (i + _WIDTH / 2, values[1][i]),
            ha="center",
            va="bottom",
        )
    axes.set_title("raw words a second of training")


def _draw_jobs(axes: Any, report: BenchReport) -> None:
    labels = [_model(job.model) for job in report.jobs]
    values = [
        [statistics.median(run.wall_seconds for run in getattr(job, name)) for job in report.jobs]
        for name in _NAMES
    ]
    _draw_bars(axes, labels, values)
    for i, job in enumerate(report.jobs):
        axes.plot([i, i + _WIDTH], [job.cold.wall_seconds] * 2, color="black", linewidth=1)
        axes.annotate("cold", (i + _WIDTH / 2, job.cold.wall_seconds), ha="center", va="bottom", fontsize=8)
    axes.set_title("whole job, seconds")


def _draw_quality(axes: Any, report: BenchReport) -> None:
    measures = [(job.model, one) for job in report.jobs for one in job.quality]
    labels = [f"{_model(model)}\n{one.name.partition(',')[0]}" for model, one in measures]
    values = [[mean(getattr(one, name)) for _, one in measures] for name in _NAMES]
    spreads = [
        [deviation(getattr(one, name)) if one.n_seeds > 1 else 0.0 for _, one in measures] for name in _NAMES
    ]
    _draw_bars(axes, labels, values, spreads)
    axes.tick_params(axis="x", labelrotation=60)
    axes.set_title("quality, mean and standard deviation")


def _draw_bars(
    axes: Any,
    labels: Sequence[str],
    values: Sequence[Sequence[float]],
    spreads: Sequence[Sequence[float] | None] = (None, None),
) -> None:
    for side, name, heights, spread in zip((-1, 1), _NAMES, values, spreads, strict=True):
        places = [i + side * _WIDTH / 2 for i in range(len(labels))]
        axes.bar(places, heights, _WIDTH, yerr=spread, label=name, color=_COLORS[name], capsize=2)
    axes.set_xticks(range(len(labels)), labels, fontsize=8)
    axes.legend(frameon=False, fontsize=8)


def _model(model: str) -> str:
    return TITLES[model]
