"""Damage small files of every kind at random and read them, as tests/test_fuzz.py does, for some minutes.

    scripts/fuzz --minutes 10 --target npy --target torch

Each failure is printed with its target and seed, and its files are kept.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from fuzzing import TARGETS, rounds

ROUNDS_AT_ONCE = 200


def main() -> int:
    """Run all targets by turns until the time is over; return 1 if anything failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=100, help="of the first round; the tests have 0 and 1")
    parser.add_argument("--target", action="append", choices=TARGETS, help="by default all")
    options = parser.parse_args()
    logging.getLogger("w2v").setLevel(logging.CRITICAL)
    warnings.simplefilter("error")
    end = time.monotonic() + 60 * options.minutes
    n_rounds = n_failures = 0
    names = itertools.cycle(options.target or TARGETS)
    seeds = itertools.count(options.seed)
    while time.monotonic() < end:
        n_failures += run(next(names), next(seeds) * ROUNDS_AT_ONCE)
        n_rounds += ROUNDS_AT_ONCE
    print(f"{n_rounds:,} rounds, {n_failures} failures")
    return int(n_failures > 0)


def run(name: str, first: int) -> int:
    """Run some rounds of a target in a temporary folder; keep the files of those that fail."""
    n_failures = 0
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        for failure in rounds(TARGETS[name], first, first + ROUNDS_AT_ONCE, files):
            if failure is not None:
                n_failures += 1
                kept = Path(tempfile.mkdtemp(prefix="fuzz-")) / "files"
                files.rename(kept)
                files.mkdir()
                print(
                    f"{failure.target}, seed {failure.seed}, files in {kept}:\n{failure.reason}", flush=True
                )
    return n_failures


if __name__ == "__main__":
    sys.exit(main())
