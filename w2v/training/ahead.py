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

from w2v.config import TrainConfig
from w2v.system.processes import python_command, usable_cores
from w2v.training.trainer import compile_kernel, is_missing


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


def main() -> None:
    """Compile the kernel for the settings in the JSON object `argv[1]`."""
    compile_kernel(TrainConfig(**json.loads(sys.argv[1])))
