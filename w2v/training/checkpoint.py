"""Checkpoints: a folder with the weights of an unfinished run and where it stands, so that it can go on.

`w_in.npy` and `w_out.npy`, float32; `config.json`: position, totals and reports, what the run is (corpus,
settings, vocabulary, start), and checksums. Written whole or not at all, never with pickle.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.config import TrainConfig
from w2v.corpus.ids.encoded_corpus import EncodedCorpus
from w2v.errors import ConfigError, FormatError, W2VError
from w2v.files.atomic import bring_back, check_folder, new_folder, read_as_one, remove_folder
from w2v.files.json_objects import dump_json, is_object_with, parse_object
from w2v.files.npy import open_matrix, row_blocks, write_matrix
from w2v.training.engine import Totals
from w2v.training.trainer import RunState
from w2v.training.weights import Weights
from w2v.vectors.training_report import EpochReport

_log = logging.getLogger(__name__)
KIND = "w2v-checkpoint"
FORMAT_VERSION = 1  # also to be raised when jobs, seeds or kernels change: a run could not go on as it began
CONFIG, W_IN, W_OUT = "config.json", "w_in.npy", "w_out.npy"
_FILES = frozenset((CONFIG, W_IN, W_OUT))
_BEGIN_AGAIN = "--no-resume (in Python: resume=False) begins again"


@dataclass(frozen=True, eq=False)
class _Contents:
    """What the `config.json` of a checkpoint says."""

    run: Mapping[str, Any]
    epochs: int
    state: RunState
    checksum: int


class Checkpoints:
    """Where one run keeps its checkpoint, and how often it writes it.

    Parameters
    ----------
    path : path-like
        The folder; each checkpoint replaces the one before.
    every : float
        Minutes of training between two, more than 0.
    resume : bool, optional
        True: go on with the checkpoint that is there, if there is one; False: delete it and begin again;
        None: a checkpoint that is there is an error.
    """

    def __init__(self, path: str | Path, *, every: float = 5.0, resume: bool | None = None) -> None:
        if not every > 0:
            raise ConfigError(f"the minutes between two checkpoints must be more than 0; got {every:g}")
        self.path = Path(path)
        self._seconds = 60 * every
        self._resume = resume
        self._run: dict[str, Any] = {}
        self._epochs = 0
        self._written: RunState | None = None
        self._last = time.monotonic()
        self._copies: list[NDArray[Any]] = []
        self._writer: threading.Thread | None = None

    def check(self) -> None:
        """Raise an error now if `begin` would refuse what is there; quick, before the corpus is read.

        Raises
        ------
        ConfigError
            If there is an unfinished run and `resume` is None.
        FormatError
            If something else is there, the checkpoint is broken, or another version of w2v wrote it.
        """
        if self._is_there() and self._resume is not False:
            contents = read_as_one(self.path, lambda: _read_config(self.path))
            if self._resume is None:
                raise ConfigError(
                    f"{self.path}: an unfinished run is here ({_place(contents)}); --resume (in Python: "
                    f"resume=True) goes on with it, {_BEGIN_AGAIN}"
                )

    def begin(
        self, corpus: EncodedCorpus, config: TrainConfig, weights: Weights | None
    ) -> tuple[Weights | None, RunState]:
        """Return what a run starts from: the checkpoint, or the weights given, from the beginning.

        Parameters
        ----------
        corpus : EncodedCorpus
        config : TrainConfig
            Resolved.
        weights : Weights, optional
            As the run began, with its frozen rows; overwritten by those of the checkpoint. None: fresh ones.

        Raises
        ------
        ConfigError
            If corpus, settings, vocabulary, given vectors or frozen rows are not those of the checkpoint;
            the error names what differs. The number of workers may differ.
        FormatError
        """
        self._run = _describe(corpus, config, weights)
        self._epochs = config.epochs or 0
        self.check()
        if not self._is_there():
            if self._resume:
                _log.info("no checkpoint in %s: training begins at the beginning", self.path)
        elif self._resume:
            return self._open(corpus, config, weights)
        else:
            self.remove()
        self._last = time.monotonic()
        return weights, RunState()

    def _open(
        self, corpus: EncodedCorpus, config: TrainConfig, weights: Weights | None
    ) -> tuple[Weights, RunState]:
        contents, *matrices = read_checkpoint(self.path)
        _check_same(self.path, contents.run, self._run)
        if contents.run["workers"] != config.workers:
            _log.warning("the run had %d workers, and has %d now", contents.run["workers"], config.workers)
        n_in = len(corpus.vocab)
        if weights is None:
            weights = Weights.zeros(n_in, config.objective.output_rows(n_in), config.vector_size)
        for target, matrix in zip((weights.w_in, weights.w_out), matrices, strict=True):
            if matrix.shape != (len(target), config.vector_size):
                raise FormatError(f"{self.path}: broken: a matrix has shape {matrix.shape}")
            target[:, : config.vector_size] = matrix
        _log.info("going on from %s: %s", self.path, _place(contents))
        self._written = contents.state
        self._last = time.monotonic()
        return weights, contents.state

    def after_round(self, state: RunState, weights: Weights) -> None:
        """Begin to write a checkpoint, if it is time: copy the weights, which a thread writes.

        If that fails (a full disk), it is logged; the checkpoint before stays, and training goes on.
        """
        if time.monotonic() - self._last < self._seconds or state.epoch == self._epochs:
            return
        if self._writer is not None and self._writer.is_alive():
            return
        matrices = [matrix[:, : weights.vector_size] for matrix in (weights.w_in, weights.w_out)]
        if not self._copies:  # kept: the system takes ten times as long to find this memory as to fill it
            self._copies = [np.empty(matrix.shape, matrix.dtype) for matrix in matrices]
        for copy, matrix in zip(self._copies, matrices, strict=True):
            np.copyto(copy, matrix)
        self._writer = threading.Thread(target=self._try_to_write, args=(state, *self._copies))
        self._writer.start()
        self._last = time.monotonic()

    def stop(self, state: RunState, weights: Weights) -> bool:
        """Write a checkpoint of a run that is stopped; return whether the one that is there holds it."""
        self.close()
        if state == RunState():
            return False
        w_in, w_out = (matrix[:, : weights.vector_size] for matrix in (weights.w_in, weights.w_out))
        return state == self._written or self._try_to_write(state, w_in, w_out)

    def close(self) -> None:
        """Wait until nothing is being written."""
        if self._writer is not None:
            self._writer.join()

    def remove(self) -> None:
        """Delete the checkpoint: the run has ended, and its model is safe."""
        self.close()
        if self._is_there():
            remove_folder(self.path)

    def _is_there(self) -> bool:
        """Say whether there is a checkpoint; raise FormatError if something else has its name."""
        bring_back(self.path)
        if self.path.exists():
            check_folder(self.path, replaceable=_is_only_checkpoint)
        return is_checkpoint(self.path)

    def _try_to_write(self, state: RunState, w_in: NDArray[Any], w_out: NDArray[Any]) -> bool:
        try:
            _write(self.path, self._run, self._epochs, state, w_in, w_out)
        except (OSError, W2VError) as error:
            _log.warning("the checkpoint could not be written: %s", error)
            return False
        self._written = state
        return True


def is_checkpoint(path: str | Path) -> bool:
    """Say whether a folder is a checkpoint, by the mark in its `config.json`."""
    return is_object_with(Path(path) / CONFIG, "format", KIND)


def _is_only_checkpoint(path: Path) -> bool:
    return is_checkpoint(path) and {entry.name for entry in path.iterdir()} <= _FILES


def _place(contents: _Contents) -> str:
    if contents.state.epoch == contents.epochs:
        return f"all {contents.epochs} epochs are done"
    return f"in epoch {contents.state.epoch + 1} of {contents.epochs}"


def _describe(corpus: EncodedCorpus, config: TrainConfig, weights: Weights | None) -> dict[str, Any]:
    """Return what a run is: equal values mean that one can go on where the other stopped."""
    settings = dataclasses.asdict(config)
    workers = settings.pop("workers")
    words = "\0".join(corpus.vocab.words).encode(errors="surrogatepass")
    digest = hashlib.sha256(words + corpus.vocab.counts.tobytes()).hexdigest()
    return {
        "corpus": {
            "fingerprint": corpus.fingerprint,
            "tokens": corpus.n_tokens,
            "sentences": corpus.n_sentences,
        },
        "configuration": settings,
        "vocabulary": {"words": len(corpus.vocab), "digest": digest},
        "start": _start(weights),
        "workers": workers,
    }


def _start(weights: Weights | None) -> dict[str, str]:
    """Describe given vectors and frozen rows by their number and a checksum."""
    given = frozen = "none"
    if weights is not None and weights.given is not None:
        given = f"{weights.given.sum():,} ({_checksum(weights.w_in, weights.w_out):08x})"
    if weights is not None and weights.frozen is not None:
        frozen = f"{weights.frozen.sum():,} ({zlib.crc32(weights.frozen.tobytes()):08x})"
    return {"given vectors": given, "frozen rows": frozen}


def _check_same(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise ConfigError for the first group of facts that differs: the others may follow from it."""
    for group in ("corpus", "configuration", "vocabulary", "start"):
        names = sorted({*then[group], *now[group]})
        pairs = [(name, then[group].get(name), now[group].get(name)) for name in names]
        if changes := [f"{name} was {old} and is {new}" for name, old, new in pairs if old != new]:
            raise ConfigError(
                f"{path}: this run cannot go on with another {group}: {', '.join(changes)}; {_BEGIN_AGAIN}"
            )


def _write(
    path: Path,
    run: Mapping[str, Any],
    epochs: int,
    state: RunState,
    w_in: NDArray[np.float32],
    w_out: NDArray[np.float32],
) -> None:
    with new_folder(path, replaceable=_is_only_checkpoint, n_bytes=w_in.nbytes + w_out.nbytes) as folder:
        for name, matrix in ((W_IN, w_in), (W_OUT, w_out)):
            with (folder / name).open("wb") as file:
                write_matrix(file, matrix)
        content = {
            "format": KIND,
            "format_version": FORMAT_VERSION,
            "run": run,
            "epochs": epochs,
            "state": dataclasses.asdict(state),
            "checksum": _checksum(w_in, w_out),
        }
        (folder / CONFIG).write_bytes(dump_json(content, indent=2))


def read_checkpoint(path: Path) -> tuple[_Contents, NDArray[Any], NDArray[Any]]:
    """Open a checkpoint and its matrices, memory-mapped, and check all of it.

    Raises
    ------
    FormatError
        If a part is missing, cut short or damaged, or the version of the format is another one.
    """

    def read() -> tuple[_Contents, NDArray[Any], NDArray[Any]]:
        return _read_config(path), open_matrix(path / W_IN), open_matrix(path / W_OUT)

    contents, w_in, w_out = read_as_one(path, read)
    if contents.checksum != _checksum(w_in, w_out):
        raise FormatError(f"{path}: damaged: the checksum of the matrices is another one; {_BEGIN_AGAIN}")
    return contents, w_in, w_out


def _read_config(path: Path) -> _Contents:
    content = parse_object((path / CONFIG).read_bytes(), path / CONFIG)
    version = content.get("format_version")
    if version != FORMAT_VERSION:
        raise FormatError(
            f"{path}: a checkpoint in format version {version}, but this w2v goes on from version "
            f"{FORMAT_VERSION} only; finish it with the w2v that wrote it, or {_BEGIN_AGAIN}"
        )
    try:
        return _Contents(content["run"], content["epochs"], _state_of(content["state"]), content["checksum"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{path / CONFIG}: broken ({error}); {_BEGIN_AGAIN}") from None


def _state_of(values: Mapping[str, Any]) -> RunState:
    reports = tuple(EpochReport.from_line(line, number) for number, line in enumerate(values["reports"], 1))
    epoch, next_job, seconds = int(values["epoch"]), int(values["next_job"]), float(values["seconds"])
    return RunState(epoch, next_job, Totals(*map(float, values["totals"])), seconds, reports)


def _checksum(*matrices: NDArray[Any]) -> int:
    """Return the CRC-32 of matrices, in C order, one after the other."""
    checksum = 0
    for matrix in matrices:
        for block in row_blocks(matrix, np.float32):
            checksum = zlib.crc32(block.data, checksum)
    return checksum
