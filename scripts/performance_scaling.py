"""How speed changes with each setting: the curves of docs/performance.md, as markdown, JSON and a picture.

    python scripts/performance_scaling.py --json docs/scaling.json --plot docs/scaling.png

Words are drawn from a Zipf distribution (Zipf-Mandelbrot, exponent 1, offset 2.7), independently: memory and
arithmetic do not know that the text has no meaning, and every vocabulary has the same shape. One setting is
changed at a time; all kinds come up in every round, so that a change of the machine meets them all.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from w2v.comparison.bench import Machine, load
from w2v.config import TrainConfig
from w2v.corpus import EncodedCorpus
from w2v.training.model import train_model
from w2v.vectors.vocab import Vocab

N_TOKENS = 1_000_000
SENTENCE = 25
NOMINAL_TOKENS = 200_000_000  # of the text whose counts the vocabulary has
EPOCHS = 3
VOCABULARY = 71_000
SWEEPS: dict[str, tuple[int, ...]] = {
    "vector_size": (50, 100, 200, 300, 400, 500),
    "window": (2, 5, 10, 15, 20),
    "vocabulary": (71_000, 140_000, 250_000, 500_000),
    "block_size": (8, 16, 24, 32, 48),
    "block_negatives": (8, 16, 24, 32, 48),
    "workers": (1, 2, 4, 8, 16),
}
MODELS = ("sg", "cbow")


@dataclasses.dataclass(frozen=True)
class Point:
    """One kind of run: a model, the setting that is changed, and its value."""

    model: str
    setting: str
    value: int


def zipf_corpus(n_words: int) -> EncodedCorpus:
    """Return sentences of words drawn independently, with the counts of a long text."""
    shares = 1 / (np.arange(n_words) + 2.7)
    shares /= shares.sum()
    edges = np.cumsum(shares)
    tokens = np.searchsorted(edges, np.random.default_rng(1).random(N_TOKENS) * edges[-1]).astype(np.int32)
    offsets = np.arange(0, N_TOKENS + 1, SENTENCE, dtype=np.int64)
    counts = np.maximum(1, np.rint(NOMINAL_TOKENS * shares)).astype(np.int64)
    words = [str(word) for word in range(n_words)]
    return EncodedCorpus.from_ids(Vocab(words, counts), tokens, offsets, "zipf")


def points(cores: int, only: Sequence[str]) -> Iterator[Point]:
    """Yield all kinds of runs; the base itself stands in every sweep."""
    for model in MODELS:
        for setting, values in SWEEPS.items():
            for value in values:
                if setting in only and (setting != "workers" or value <= cores):
                    yield Point(model, setting, value)


def speed(point: Point, corpora: dict[int, EncodedCorpus]) -> tuple[float, float]:
    """Return raw words a second of wall time and of CPU time, the first epoch left out."""
    settings: dict[str, Any] = {"model": point.model, "epochs": EPOCHS, "workers": 1}
    n_words = VOCABULARY
    if point.setting == "vocabulary":
        n_words = point.value
    else:
        settings[point.setting] = point.value
    if n_words not in corpora:
        corpora[n_words] = zipf_corpus(n_words)
    clock: list[tuple[float, float]] = []
    train_model(
        corpora[n_words],
        TrainConfig(**settings),
        on_report=lambda report: clock.append((time.perf_counter(), time.process_time())),
    )
    words = (EPOCHS - 1) * N_TOKENS
    return words / (clock[-1][0] - clock[0][0]), words / (clock[-1][1] - clock[0][1])


def measure(kinds: Sequence[Point], repeats: int) -> list[dict[str, Any]]:
    """Run all kinds `repeats` times; return one record a kind with the medians."""
    corpora: dict[int, EncodedCorpus] = {}
    rates: dict[Point, list[tuple[float, float]]] = {point: [] for point in kinds}
    for turn in range(repeats):
        for point in kinds:
            rates[point].append(speed(point, corpora))
            print(f"round {turn + 1}: {point}: {rates[point][-1][0]:,.0f} words/s", flush=True)
    return [
        {
            **dataclasses.asdict(point),
            "words_per_second": statistics.median(wall for wall, _ in found),
            "lowest": min(wall for wall, _ in found),
            "highest": max(wall for wall, _ in found),
            "words_per_cpu_second": statistics.median(cpu for _, cpu in found),
        }
        for point, found in rates.items()
    ]


def print_tables(records: Sequence[dict[str, Any]]) -> None:
    for setting in SWEEPS:
        values = sorted({record["value"] for record in records if record["setting"] == setting})
        if not values:
            continue
        print(f"\n| {setting} | " + " | ".join(f"{value:,}" for value in values) + " |")
        print("|---|" + "---|" * len(values))
        for model in MODELS:
            for title, name in (("", "words_per_second"), (", CPU time", "words_per_cpu_second")):
                found = {
                    r["value"]: r[name] for r in records if (r["model"], r["setting"]) == (model, setting)
                }
                cells = " | ".join(f"{found[value] / 1e6:.2f}" for value in values)
                print(f"| {model}, M words/s{title} | {cells} |")


def write_plot(records: Sequence[dict[str, Any]], machine: Machine, path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    settings = [setting for setting in SWEEPS if any(record["setting"] == setting for record in records)]
    figure = Figure(figsize=(3.6 * min(3, len(settings)), 3.0 * -(-len(settings) // 3)), layout="constrained")
    grid = list(figure.subplots(-(-len(settings) // 3), min(3, len(settings)), squeeze=False).flat)
    for axes in grid[len(settings) :]:
        axes.remove()
    for axes, setting in zip(grid, settings, strict=False):
        for model, color in zip(MODELS, ("#1f6fb4", "#d9822b"), strict=True):
            found = [r for r in records if (r["model"], r["setting"]) == (model, setting)]
            x = [record["value"] for record in found]
            axes.plot(x, [r["words_per_second"] / 1e6 for r in found], "o-", color=color, label=model, ms=3)
            by_cpu = [record["words_per_cpu_second"] / 1e6 for record in found]
            axes.plot(x, by_cpu, ":", color=color, label=f"{model}, a second of CPU time")
            low, high = ([record[name] / 1e6 for record in found] for name in ("lowest", "highest"))
            axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
        axes.set(xlabel=setting, ylabel="M raw words/s", ylim=(0, None))
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.suptitle(
        f"{machine.processor}, {machine.cores} cores; median, lowest, highest of the rounds", fontsize=9
    )
    figure.savefig(path, dpi=130)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--only", nargs="*", choices=list(SWEEPS), default=list(SWEEPS))
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--json", type=Path, help="write every number there")
    options.add_argument("--plot", type=Path, help="write the picture there")
    given = options.parse_args()
    machine = Machine.look()
    records = measure(list(points(machine.cores, given.only)), given.repeats)
    machine = dataclasses.replace(machine, load_after=load())
    loads = " to ".join(f"{value:.1f}" for value in (machine.load_before, machine.load_after) if value)
    print(f"\n{machine.processor}, {machine.cores} cores, load {loads or 'not known'}")
    print_tables(records)
    if given.json:
        document = {"machine": dataclasses.asdict(machine), "points": records}
        given.json.write_text(json.dumps(document, indent=1) + "\n")
    if given.plot:
        write_plot(records, machine, given.plot)


if __name__ == "__main__":
    main()
