"""A benchmark as a picture: speed, whole jobs, quality, gensim and w2v side by side."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from w2v.comparison.bench import BenchReport
from w2v.comparison.side_by_side import TRAINERS
from w2v.comparison.spread import deviation, mean
from w2v.comparison.trainer_process import medians
from w2v.files.figures import new_figure, write_figure
from w2v.objectives import TITLES

Bars = Sequence[float]

_COLORS = {"gensim": "#9a9a9a", "w2v": "#1f6fb4"}
_WIDTH = 0.38


def write_plot(report: BenchReport, path: Path) -> None:
    """Write the picture.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    has_quality = any(job.quality for job in report.jobs)
    parts = ((_draw_speed, report.speed), (_draw_jobs, report.jobs), (_draw_quality, has_quality))
    drawings = [draw for draw, is_there in parts if is_there]
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
    labels = [f"{TITLES[pairs.model]}\n{pairs.workers} worker(s)" for pairs in report.speed]
    rates = [cast(Bars, medians("words_per_second", pairs.gensim, pairs.w2v)) for pairs in report.speed]
    _draw_bars(axes, labels, rates)
    for i, pairs in enumerate(report.speed):
        place = i + _WIDTH / 2, rates[i][1]
        axes.annotate(f"{statistics.median(pairs.ratios):.1f} x", place, ha="center", va="bottom")
    axes.set_title("raw words a second of training")


def _draw_jobs(axes: Any, report: BenchReport) -> None:
    seconds = [cast(Bars, medians("wall_seconds", job.gensim, job.w2v)) for job in report.jobs]
    _draw_bars(axes, [TITLES[job.model] for job in report.jobs], seconds)
    for i, job in enumerate(report.jobs):
        cold = job.cold.wall_seconds
        axes.plot([i, i + _WIDTH], [cold, cold], color="black", linewidth=1)
        axes.annotate("cold", (i + _WIDTH / 2, cold), ha="center", va="bottom", fontsize=8)
    axes.set_title("whole job, seconds")


def _draw_quality(axes: Any, report: BenchReport) -> None:
    measures = [(job.model, one) for job in report.jobs for one in job.quality]
    labels = [f"{TITLES[model]}\n{one.name.partition(',')[0]}" for model, one in measures]
    means = [(mean(one.gensim), mean(one.w2v)) for _, one in measures]
    spreads = [
        (deviation(one.gensim), deviation(one.w2v)) if one.n_seeds > 1 else (0.0, 0.0) for _, one in measures
    ]
    _draw_bars(axes, labels, means, spreads)
    axes.tick_params(axis="x", labelrotation=60)
    axes.set_title("quality, mean and standard deviation")


def _draw_bars(
    axes: Any, labels: Sequence[str], values: Sequence[Bars], spreads: Sequence[Bars] | None = None
) -> None:
    """Draw two bars a label: gensim's and w2v's value, with their spread."""
    for i, name in enumerate(TRAINERS):
        places = [label + (i - 0.5) * _WIDTH for label in range(len(labels))]
        spread = [pair[i] for pair in spreads] if spreads else None
        heights = [pair[i] for pair in values]
        axes.bar(places, heights, _WIDTH, yerr=spread, label=name, color=_COLORS[name], capsize=2)
    axes.set_xticks(range(len(labels)), labels, fontsize=8)
    axes.legend(frameon=False, fontsize=8)
