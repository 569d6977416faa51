"""Where sharing negatives begins to hurt: the table of quality of docs/performance.md.

    python scripts/performance_quality.py corpus.txt --results quality.jsonl
    python scripts/performance_quality.py corpus.txt --results quality.jsonl --model cbow

Trains gensim, the exact kernel, and the block kernel with every block size, number of negatives and learning
rate (or some of these: --trainers), each with several seeds, and prints mean and standard deviation of loss,
analogies (top 30,000 words) and word similarity. Every result is added to the file at once; runs that are
there are not done again, unless the source of w2v.training has changed.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import hashlib
import itertools
import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import w2v.training
from w2v.comparison.loss import LossSample, draw_sample, mean_loss
from w2v.comparison.profile import EvaluationSets
from w2v.comparison.side_by_side import GENSIM_ALPHA
from w2v.comparison.text import SharedText, write_text
from w2v.comparison.trainer_process import TrainerJob, run_job
from w2v.comparison.weights import in_order, read_weights
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.embeddings import Embeddings
from w2v.training.model import train_model

Kind = dict[str, Any]
TRAINERS = ("gensim", "exact", "block")


def kinds(given: argparse.Namespace) -> Iterator[Kind]:
    """Yield what is trained: gensim, the exact kernel, the grid of blocks."""
    if "gensim" in given.trainers:
        yield {"trainer": "gensim", "alpha": GENSIM_ALPHA}
    if "exact" in given.trainers:
        for alpha in given.alphas:
            yield {"trainer": "exact", "alpha": alpha}
    if "block" in given.trainers:
        for block, negatives, alpha in itertools.product(given.blocks, given.negatives, given.alphas):
            yield {"trainer": "block", "alpha": alpha, "block_size": block, "block_negatives": negatives}


class Laboratory:
    """The corpus, how models of it are looked at, and the results so far."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self.given = given
        self.folder = folder
        self.everything = encode(given.corpus, vocab=VocabConfig(min_count=1))
        self.corpus: EncodedCorpus = self.everything.select(VocabConfig())
        self.base = TrainConfig(
            model=given.model, vector_size=given.vector_size, epochs=given.epochs, workers=given.workers
        )
        self.sample: LossSample = draw_sample(self.corpus, self.corpus.vocab, self.base)
        self.sets = EvaluationSets.read()
        sources = sorted(Path(w2v.training.__file__).parent.glob("*.py"))
        self.kernels = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
        self.results = self._old_results()

    def _old_results(self) -> dict[str, dict[str, Any]]:
        if self.given.results is None or not self.given.results.exists():
            return {}
        lines = [json.loads(line) for line in self.given.results.read_text().splitlines()]
        return {json.dumps(line["key"], sort_keys=True): line for line in lines}

    def result(self, kind: Kind, seed: int) -> dict[str, Any]:
        """Return the numbers of one run, done now unless it is known."""
        fixed = ("model", "vector_size", "epochs", "workers")
        key = {**kind, **{name: getattr(self.base, name) for name in fixed}, "seed": seed}
        key["corpus"] = self.everything.fingerprint
        if kind["trainer"] != "gensim":
            key["kernels"] = self.kernels
        name = json.dumps(key, sort_keys=True)
        if name not in self.results:
            self.results[name] = {"key": key, **self._run(kind, seed)}
            if self.given.results is not None:
                with self.given.results.open("a") as file:
                    file.write(json.dumps(self.results[name]) + "\n")
        return self.results[name]

    @functools.cached_property
    def text(self) -> SharedText:
        """The corpus as gensim reads it."""
        return write_text(self.everything, self.folder / "text.txt")

    def _run(self, kind: Kind, seed: int) -> dict[str, Any]:
        model, rate = self._train(kind, seed)
        numbers = {"loss": mean_loss(self.sample, model.vectors, model.context), "words_per_second": rate}
        return numbers | {score.name: score.value for score in self.sets.scores(model)}

    def _train(self, kind: Kind, seed: int) -> tuple[Embeddings, float]:
        config = dataclasses.replace(self.base, seed=seed, alpha=kind["alpha"])
        if kind["trainer"] == "gensim":
            job = TrainerJob(self.text, self.text, dataclasses.asdict(config), VocabConfig().min_count)
            run = run_job("gensim", job, self.folder / "job")
            return in_order(
                read_weights("gensim", self.folder / "job"), self.corpus.vocab
            ), run.words_per_second
        changes = {name: value for name, value in kind.items() if name.startswith("block_")}
        model = train_model(self.corpus, dataclasses.replace(config, kernel=kind["trainer"], **changes))
        assert model.training is not None
        return model, model.training.words_per_second


def print_row(kind: Kind, results: list[dict[str, Any]]) -> None:
    shape = f"B={kind['block_size']} M={kind['block_negatives']}" if kind["trainer"] == "block" else ""
    cells = [spread([result[name] for result in results]) for name in results[0] if name != "key"]
    print(f"| {kind['trainer']} {shape} | {kind['alpha']:g} | " + " | ".join(cells) + " |", flush=True)


def spread(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    mean = statistics.mean(known)
    if mean > 1000:  # words a second
        return f"{statistics.median(known):,.0f}"
    return f"{mean:.4f}" + (f" ± {statistics.stdev(known):.4f}" if len(known) > 1 else "")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("corpus", type=Path)
    options.add_argument("--model", choices=("sg", "cbow"), default="sg")
    options.add_argument("--trainers", choices=TRAINERS, nargs="+", default=TRAINERS)
    options.add_argument("--blocks", type=int, nargs="+", default=[8, 16, 24, 32])
    options.add_argument("--negatives", type=int, nargs="+", default=[8, 16, 24, 32])
    options.add_argument("--alphas", type=float, nargs="+", help="default: 0.025 (sg), 0.12 (cbow)")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--epochs", type=int, default=5)
    options.add_argument("--vector-size", type=int, default=100)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--results", type=Path, help="JSON lines, added to and taken up again")
    given = options.parse_args()
    given.alphas = given.alphas or [0.025 if given.model == "sg" else 0.12]
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(given, Path(folder))
        print(
            f"{given.model}, {laboratory.corpus!r}, epochs {given.epochs}, mean ± sd of {given.seeds} seeds\n"
        )
        columns = [
            "loss",
            "words/s",
            *(one.name for one in laboratory.sets.analogies + laboratory.sets.pairs),
        ]
        print("| | alpha | " + " | ".join(columns) + " |\n|---|---|" + "---|" * len(columns))
        for kind in kinds(given):
            print_row(kind, [laboratory.result(kind, seed) for seed in range(1, given.seeds + 1)])


if __name__ == "__main__":
    main()
