"""The process in which w2v trains: what `w2v train` does, with a clock."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from w2v.corpus import EncodedCorpus
    from w2v.vectors.training_report import EpochReport, TrainingReport


def main() -> None:
    """Do the job in the JSON file `argv[1]` and write its times to `result.json` in the job's folder."""
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_bytes())
    folder = Path(job["folder"])
    times = [time.perf_counter()]
    from w2v.config import CorpusConfig, TrainConfig, VocabConfig
    from w2v.corpus import encode
    from w2v.system.version import __version__
    from w2v.training.ahead import compiled_meanwhile
    from w2v.training.model import train_model

    times.append(time.perf_counter())
    config = TrainConfig(**job["settings"])
    with compiled_meanwhile(config):
        corpus = encode(
            [job["text"]["path"]],
            corpus=CorpusConfig(format="text", tokenizer="whitespace"),
            vocab=VocabConfig(min_count=job["min_count"]),
            cache=False,
        )
    times.append(time.perf_counter())
    part = first_sentences(corpus, job["part"]["sentences"])
    clock = _EpochClock()
    model = train_model(part, config, on_report=clock)
    times.append(time.perf_counter())
    if job["save"]:
        model.save(folder / "model")
    times.append(time.perf_counter())
    report = cast("TrainingReport", model.training)
    result = {
        "version": __version__,
        "import_seconds": times[1] - times[0],
        "read_seconds": times[2] - times[1],
        "prepare_seconds": times[3] - times[2] - report.seconds,
        "train_seconds": report.seconds,
        "save_seconds": times[4] - times[3],
        "words": report.tokens,
        "kept_words": None,
        "words_per_second": report.words_per_second,
        "words_per_cpu_second": clock.words_per_cpu_second(),
        "vocabulary": len(model),
        "corpus_tokens": corpus.n_tokens,
    }
    (folder / "result.json").write_text(json.dumps(result))


def first_sentences(corpus: EncodedCorpus, n_sentences: int) -> EncodedCorpus:
    """Return the beginning of a corpus with the vocabulary and the counts of the whole, as gensim's has."""
    offsets = corpus.offsets[: n_sentences + 1]
    return dataclasses.replace(corpus, tokens=corpus.tokens[: int(offsets[-1])], offsets=offsets)


class _EpochClock:
    """CPU time of the epochs after the first, whose start the trainer does not tell."""

    def __init__(self) -> None:
        self._cpu: list[float] = []
        self._words = 0

    def __call__(self, report: EpochReport) -> None:
        if self._cpu:
            self._words += report.tokens
        self._cpu.append(time.process_time())

    def words_per_cpu_second(self) -> float | None:
        """Return raw words a second of CPU time, all threads together; None for a single epoch."""
        if len(self._cpu) < 2 or self._cpu[-1] == self._cpu[0]:
            return None
        return self._words / (self._cpu[-1] - self._cpu[0])
