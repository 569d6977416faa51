"""Compiling a kernel in another process, while this one reads the corpus.

A process compiles one thing at a time, and reading has kernels of its own: a first run waited for both.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from w2v.config import TrainConfig
from w2v.corpus.ids.encoded_corpus import EncodedCorpus
from w2v.system import compiling
from w2v.system.processes import python_command, usable_cores
from w2v.training import resolve
from w2v.training.engine import HogwildEngine
from w2v.training.jobs import Schedule
from w2v.training.weights import Weights
from w2v.vectors.vocab import Vocab


@contextlib.contextmanager
def compiled_meanwhile(config: TrainConfig) -> Iterator[subprocess.Popen[bytes] | None]:
    """Have a run's kernel compiled into numba's cache while the body runs, if it is not there.

    The other process (None if there is none) has ended when this is left. Should it fail, training compiles.
    """
    if usable_cores() == 1 or not is_missing(config):
        yield None
        return
    command = python_command(__name__, [json.dumps(dataclasses.asdict(config))])
    nothing = subprocess.DEVNULL
    child = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        yield child
        child.wait()
    finally:
        child.kill()
        child.wait()


def is_missing(config: TrainConfig) -> bool:
    """Say whether a run's kernel could be kept compiled, and is not, whatever the vector size."""
    return compiling.is_missing(resolve(config.objective.train))


def compile_kernel(config: TrainConfig) -> None:
    """Compile the kernel of a run, or load it from the cache; it depends on model, kernel and vector size."""
    config = config.resolved(2)
    vocab = Vocab(["a", "b"], np.ones(2, np.int64))
    tokens, offsets = np.arange(2, dtype=np.int32), np.array([0, 2], np.int64)
    corpus = EncodedCorpus.from_ids(vocab, tokens, offsets)
    weights = Weights.fresh(2, config.objective.output_rows(2), config.vector_size, config.seed)
    HogwildEngine.prepare(corpus, config, weights, Schedule.of(offsets, config))


def main() -> None:
    """Compile the kernel for the settings in the JSON object `argv[1]`."""
    compile_kernel(TrainConfig(**json.loads(sys.argv[1])))
