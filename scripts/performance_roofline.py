"""The roofline of this machine, and what the block kernels need and reach: a table of docs/performance.md.

    python scripts/performance_roofline.py corpus.txt

Measured with one core and with all: multiply-adds per second in registers, bytes per second of large arrays,
and bytes per second of whole rows in the order of a text's words. Counted from the settings: multiply-adds
and bytes of rows per raw word. Together they give the words per second that the machine allows; what training
reaches is printed beside it.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from w2v.comparison.bench import Machine
from w2v.config import TrainConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.system.addresses import address_of
from w2v.training.cpu.lanes import (
    LANES,
    add_row,
    fma,
    lane_sum,
    load_lanes,
    plus_scaled,
    splat,
    store_lanes,
    zero_row,
)
from w2v.training.cpu.memory import aligned_zeros, make_layout, row_length
from w2v.training.model import train_model
from w2v.vectors.vocab import keep_probabilities

CHAINS = 10  # independent sums: enough to hide the latency of a multiply-add, and they fit the registers
BIG_BYTES = 1 << 29  # far beyond any cache
N_PLACES = 200_000
SECONDS = 1.0
F32 = np.float32

_jit = njit(nogil=True, fastmath={"contract"})


@_jit
def multiply_adds(n, x, y):
    """Do 2 n CHAINS LANES multiply-adds: a * x + y on numbers that stay in registers."""
    x, y = splat(x), splat(y)
    a = b = c = d = e = f = g = h = i = j = y
    for _ in range(n):
        a, b, c, d, e = fma(a, x, y), fma(b, x, y), fma(c, x, y), fma(d, x, y), fma(e, x, y)
        f, g, h, i, j = fma(f, x, y), fma(g, x, y), fma(h, x, y), fma(i, x, y), fma(j, x, y)
        a, b, c, d, e = fma(a, x, x), fma(b, x, x), fma(c, x, x), fma(d, x, x), fma(e, x, x)
        f, g, h, i, j = fma(f, x, x), fma(g, x, x), fma(h, x, x), fma(i, x, x), fma(j, x, x)
    return (
        lane_sum(a) + lane_sum(b) + lane_sum(c) + lane_sum(d) + lane_sum(e)
        + lane_sum(f) + lane_sum(g) + lane_sum(h) + lane_sum(i) + lane_sum(j)
    )  # fmt: skip


@_jit
def read_all(array, zero):
    """Sum an array whose length is a multiple of 4 LANES."""
    base = address_of(array)
    step = LANES * array.itemsize
    one = splat(zero + F32(1))
    a = b = c = d = splat(zero)
    for k in range(0, len(array) * array.itemsize, 4 * step):
        a = fma(one, load_lanes(zero, base + k), a)
        b = fma(one, load_lanes(zero, base + k + step), b)
        c = fma(one, load_lanes(zero, base + k + 2 * step), c)
        d = fma(one, load_lanes(zero, base + k + 3 * step), d)
    return lane_sum(a) + lane_sum(b) + lane_sum(c) + lane_sum(d)


@_jit
def triad(out, first, second, zero):
    """Write first + 3 * second to out (McCalpin's STREAM triad)."""
    three = splat(zero + F32(3))
    step = LANES * out.itemsize
    for k in range(0, len(out) * out.itemsize, step):
        row = fma(three, load_lanes(zero, address_of(second) + k), load_lanes(zero, address_of(first) + k))
        store_lanes(address_of(out) + k, row)


@_jit
def add_to_rows(matrix, ids, layout):
    """Add a row to the rows of many words: each is read and written, as by the kernels."""
    base, n_bytes = address_of(matrix), matrix.strides[0]
    part = len(layout.wide) * LANES * matrix.itemsize
    small = F32(1e-9)
    for i in range(len(ids)):
        row = base + ids[i] * n_bytes
        for p in range(layout.n_wide):
            add_row(row + p * part, plus_scaled(zero_row(layout.wide), small, base + p * part))
        last = layout.n_wide * part
        add_row(row + last, plus_scaled(zero_row(layout.tail), small, base + last))


@dataclasses.dataclass(frozen=True)
class Rates:
    """What some cores do in a second: multiply-adds, bytes read, bytes of a triad, bytes of words' rows."""

    multiply_adds: float
    read: float
    triad: float
    rows: float


def measure(n_cores: int, vector_size: int, places: np.ndarray, n_words: int) -> Rates:
    """Measure with a thread a core; the best of several runs. Threads share the rows of words."""
    layout = make_layout(vector_size)
    n = BIG_BYTES // 4 // n_cores // (8 * LANES) * 8 * LANES
    arrays = [np.ones(n, F32) for _ in range(n_cores)]
    thirds = [np.split(array[: n // 24 * 24], 3) for array in arrays]
    matrix = aligned_zeros(n_words, row_length(layout))
    ids = np.array_split(places, n_cores)
    n_sums, zero = 3_000_000, F32(0)
    row_bytes = 2 * matrix.strides[0] * len(places) / n_cores
    return Rates(
        best(n_cores, 2 * CHAINS * LANES * n_sums, lambda _: multiply_adds(n_sums, F32(0.5), F32(1e-3))),
        best(n_cores, 4 * n, lambda core: read_all(arrays[core], zero)),
        best(n_cores, 4 * (n // 24 * 24), lambda core: triad(*thirds[core], zero)),
        best(n_cores, row_bytes, lambda core: add_to_rows(matrix, ids[core], layout)),
    )


def best(n_cores: int, amount: float, work: Callable[[int], Any]) -> float:
    """Return the highest amount a second, all cores together, over at least a second of runs."""
    work(0)
    rates: list[float] = []
    with ThreadPoolExecutor(n_cores) as pool:
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end or len(rates) < 3:
            started = time.perf_counter()
            list(pool.map(work, range(n_cores)))
            rates.append(n_cores * amount / (time.perf_counter() - started))
    return max(rates)


@dataclasses.dataclass(frozen=True)
class Need:
    """What a kept position costs: multiply-adds, and bytes of rows read and written if none is in a cache."""

    multiply_adds: float
    row_bytes: float


def need_of(config: TrainConfig) -> Need:
    """Count, from the settings, what the block kernels do for one position that subsampling keeps.

    Skip-gram: logits, updates of the rows and updates of the columns, each once for M negatives and the 2w
    targets. CBOW: the same for M negatives and one target, and running sums over the contexts, both ways. A
    block of B positions touches B inputs and B + 2w targets (CBOW: B + 2w contexts and B targets), and M
    negatives.
    """
    size = row_length(make_layout(config.vector_size))
    b, w = config.block_size, config.window
    m = config.block_negatives or config.objective.block_negatives
    if config.model == "sg":
        work = 3 * (m + 2 * w) * size
    else:
        sums = 2 * (b + 2 * w) / b + 6  # both ways: a running sum, then differences and updates of a row
        work = (3 * (m + 1) + sums) * size
    n_rows = (2 * b + 2 * w + m) / b
    return Need(work, 2 * n_rows * size * 4)


def reached(corpus: EncodedCorpus, config: TrainConfig, repeats: int) -> float:
    """Return raw words a second of training, the median of several runs."""
    runs = [train_model(corpus, config).training for _ in range(repeats)]
    return statistics.median(run.words_per_second for run in runs if run is not None)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("corpus", type=Path, help="real text: how much of it subsampling keeps, and speed")
    options.add_argument("--vector-size", type=int, default=100)
    options.add_argument("--repeats", type=int, default=3)
    given = options.parse_args()
    machine = Machine.look()
    corpus = encode(given.corpus)
    keep = keep_probabilities(corpus.vocab.counts, TrainConfig().sample)
    known = corpus.tokens[corpus.tokens < len(keep)][: 4 * N_PLACES]
    places = known[np.random.default_rng(0).random(len(known)) < keep[known]][:N_PLACES].astype(np.int64)
    cores = sorted({1, machine.cores})
    rates = {n: measure(n, given.vector_size, places, len(keep)) for n in cores}
    busy = "not known" if machine.load_before is None else f"{machine.load_before:.1f}"
    print(f"{machine.processor}, {machine.cores} cores, load {busy}\n")
    print_rates(rates)
    print_limits(corpus, rates, given.vector_size, given.repeats)


def print_rates(rates: dict[int, Rates]) -> None:
    print("| measured | " + " | ".join(f"{n} core{'s' * (n > 1)}" for n in rates) + " |")
    print("|---|" + "---|" * len(rates))
    for title, values in (
        (
            "multiply-adds in registers, float32 (1 multiply-add = 2 FLOP)",
            [r.multiply_adds / 1e9 for r in rates.values()],
        ),
        ("reading a large array", [r.read / 1e9 for r in rates.values()]),
        ("triad of large arrays (2 read, 1 written)", [r.triad / 1e9 for r in rates.values()]),
        (
            "adding to the rows of the words of a text (read and write)",
            [r.rows / 1e9 for r in rates.values()],
        ),
    ):
        unit = "G/s" if "multiply" in title else "GB/s"
        print(f"| {title} | " + " | ".join(f"{value:.1f} {unit}" for value in values) + " |")


def print_limits(corpus: EncodedCorpus, rates: dict[int, Rates], vector_size: int, repeats: int) -> None:
    counts = corpus.vocab.counts
    kept = float(keep_probabilities(corpus.vocab.counts, TrainConfig().sample) @ counts) / corpus.n_tokens
    print(f"\n{corpus.n_tokens:,} words, vocabulary {len(counts):,}; subsampling keeps {kept:.3f} of them\n")
    print(
        "| model | multiply-adds per raw word | bytes of rows per raw word | cores | limit by arithmetic | "
        "limit by rows | reached | share of the limit |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for model in ("sg", "cbow"):
        for n_cores, rate in rates.items():
            config = TrainConfig(model=model, vector_size=vector_size, epochs=2, workers=n_cores)
            need = need_of(config)
            by_work = rate.multiply_adds / (need.multiply_adds * kept)
            by_rows = rate.rows / (need.row_bytes * kept)
            speed = reached(corpus, config, repeats)
            print(
                f"| {model} | {need.multiply_adds * kept:,.0f} | {need.row_bytes * kept:,.0f} | {n_cores} | "
                f"{by_work / 1e6:.1f} M/s | {by_rows / 1e6:.1f} M/s | {speed / 1e6:.2f} M/s | "
                f"{speed / min(by_work, by_rows):.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
