"""Trainers run one at a time, each in a process of its own, so that time and memory are those of one job."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from w2v.comparison import launcher
from w2v.comparison.text import SharedText
from w2v.errors import W2VError
from w2v.objectives import objective_of
from w2v.system.processes import python_command

TRAINERS = ("gensim", "w2v")
PINNED = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class TrainerJob:
    """What a trainer is to do.

    Attributes
    ----------
    text : SharedText
        Words are counted in all of it.
    part : SharedText
        What is trained on: the text again, or a file with its beginning.
    settings : mapping
        The fields of `TrainConfig`, with alpha and epochs filled in.
    min_count : int
    save : bool
        Leave the weights in the job's folder.
    """

    text: SharedText
    part: SharedText
    settings: Mapping[str, Any]
    min_count: int
    save: bool = True


@dataclass(frozen=True)
class ProcessCost:
    """What a process took: seconds of wall and CPU time, bytes of peak memory (None where not known)."""

    wall_seconds: float
    cpu_seconds: float | None
    peak_bytes: int | None


@dataclass(frozen=True)
class TrainerRun:
    """One job of one trainer in a process of its own.

    Attributes
    ----------
    trainer, version : str
    seed : int
    import_seconds, read_seconds, prepare_seconds, train_seconds, save_seconds : float
        Wall time of the parts. gensim counts in `read_seconds` and sets up its weights there too; w2v's
        `prepare_seconds` are those of tables, weights and compiling.
    words : int
        Raw words trained, all epochs together.
    kept_words : int or None
        Those of them that subsampling left, as gensim counts them.
    words_per_second : float
        Raw words a second of the training loop.
    words_per_cpu_second : float or None
        Raw words a second of CPU time of all threads in the training loop.
    vocabulary, corpus_tokens : int
        V, and the raw tokens of the text.
    wall_seconds, cpu_seconds, peak_bytes
        Of the whole process; see `ProcessCost`.
    """

    trainer: str
    version: str
    seed: int
    import_seconds: float
    read_seconds: float
    prepare_seconds: float
    train_seconds: float
    save_seconds: float
    words: int
    kept_words: int | None
    words_per_second: float
    words_per_cpu_second: float | None
    vocabulary: int
    corpus_tokens: int
    wall_seconds: float
    cpu_seconds: float | None
    peak_bytes: int | None


def run_job(trainer: str, job: TrainerJob, folder: Path, *, numba_cache: Path | None = None) -> TrainerRun:
    """Have gensim or w2v do a job in a new process.

    Parameters
    ----------
    trainer : {"gensim", "w2v"}
    job : TrainerJob
    folder : Path
        Made for the job: `result.json` and, if asked for, the weights; see `w2v.comparison.weights`.
    numba_cache : Path, optional
        Where compiled code is kept, instead of the usual place.

    Raises
    ------
    W2VError
        If the process fails; the message has the last line it wrote to standard error.
    """
    folder.mkdir(parents=True, exist_ok=True)
    description = folder / "job.json"
    gensim = objective_of(job.settings["model"], job.settings["kernel"]).gensim
    description.write_text(json.dumps({**asdict(job), "folder": folder, "gensim": gensim}, default=str))
    cost = run_python(f"w2v.comparison.{trainer}_job", [str(description)], numba_cache=numba_cache)
    result = json.loads((folder / "result.json").read_bytes())
    return TrainerRun(trainer=trainer, seed=job.settings["seed"], **result, **asdict(cost))


def medians(quantity: str, *groups: Sequence[TrainerRun]) -> list[float] | None:
    """Return the median of a field of `TrainerRun` for each group of runs; None where it is not known."""
    values = [[getattr(run, quantity) for run in runs] for runs in groups]
    return None if any(None in group for group in values) else list(map(statistics.median, values))


def run_python(module: str, arguments: Sequence[str], *, numba_cache: Path | None = None) -> ProcessCost:
    """Call a module's `main` in a process of its own, with one thread for BLAS, and measure it."""
    environment = {**os.environ, **PINNED}
    if numba_cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(numba_cache)
    with tempfile.TemporaryDirectory(prefix="w2v-") as folder:
        report, errors = Path(folder) / "cost.json", Path(folder) / "stderr"
        command = [sys.executable, "-I", "-S", launcher.__file__, str(report)]
        command += python_command(module, arguments)
        with errors.open("wb") as stderr:
            code = _exit_code(command, environment, stderr)
        if code != 0:
            lines = errors.read_text("utf-8", "replace").strip().splitlines()
            raise W2VError(f"{module} failed with exit code {code}: {lines[-1] if lines else 'no message'}")
        return ProcessCost(**json.loads(report.read_bytes()))


def _exit_code(command: Sequence[str], environment: Mapping[str, str], stderr: Any) -> int:
    """Run a command; when this process is interrupted, the command is ended too."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        return process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
