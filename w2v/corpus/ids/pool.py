"""Encode parts in several processes, in order.

The processes run `main` and talk over pipes; nothing is pickled. They are not those of multiprocessing, which
import the caller's main module again, so that a script without `if __name__ == "__main__"` would start itself
over and over. Nor are they loky's, which import modules from the working folder, live on when this process is
killed, and need two more processes that track them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, TypeVar

from w2v.config import CorpusConfig
from w2v.corpus.ids.parts import EncodedPart, Part, PartEncoder, pack, unpack
from w2v.corpus.read.kinds import KINDS
from w2v.errors import CorpusError, W2VError
from w2v.system.processes import python_command

_START_SECONDS = 2.0  # about what it takes to start them, with numba
Tag = TypeVar("Tag")


def encode_parts(
    parts: Iterable[tuple[Tag, Part]],
    config: CorpusConfig,
    *,
    workers: int,
    alone_seconds: float = _START_SECONDS,
) -> Generator[tuple[Tag, Part, EncodedPart], None, None]:
    """Encode parts and yield them in their order.

    Parameters
    ----------
    parts : iterable of (tag, Part)
        Read a few ahead of what is yielded, never as a whole.
    config : CorpusConfig
    workers : int
        Processes.
    alone_seconds : float
        Parts are encoded in this process for so long before others are started: a short text needs none.
    """
    encoder = PartEncoder(config)
    source = iter(parts)
    runs_here = workers < 2 or not encoder.runs_in_processes or not sys.executable
    seconds = 0.0
    for tag, part in source:
        if not runs_here and seconds >= alone_seconds:
            yield from _in_processes(itertools.chain([(tag, part)], source), config, workers)
            return
        started = time.perf_counter()
        encoded = encoder.encode(part)
        seconds += time.perf_counter() - started
        yield tag, part, encoded


def _in_processes(
    parts: Iterable[tuple[Tag, Part]], config: CorpusConfig, workers: int
) -> Iterator[tuple[Tag, Part, EncodedPart]]:
    idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
    processes: list[_Process] = []
    executor = ThreadPoolExecutor(workers, thread_name_prefix="w2v-tokenizer")

    def run(part: Part) -> EncodedPart:
        process = idle.get()
        try:
            return process.encode(part)
        finally:
            idle.put(process)

    try:
        for _ in range(workers):
            processes.append(_Process(config))
            idle.put(processes[-1])
        pending: deque[tuple[Tag, Part, Future[EncodedPart]]] = deque()
        for tag, part in parts:
            pending.append((tag, part, executor.submit(run, part)))
            if len(pending) > workers + 1:
                yield _finished(pending.popleft())
        while pending:
            yield _finished(pending.popleft())
    finally:
        for process in processes:
            process.kill()
        executor.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            process.close()


def _finished(item: tuple[Tag, Part, Future[EncodedPart]]) -> tuple[Tag, Part, EncodedPart]:
    tag, part, future = item
    return tag, part, future.result()


class _Process:
    """One process that encodes parts, one after the other."""

    def __init__(self, config: CorpusConfig) -> None:
        command = python_command(__name__, [])
        # In a session of its own it is not reached by Ctrl-C in the terminal; this process ends it.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        try:
            self._send(json.dumps(dataclasses.asdict(config)).encode() + b"\n")
        except CorpusError:
            self.close()
            raise

    def encode(self, part: Part) -> EncodedPart:
        header = {"kind": part.kind.name, "ends_file": part.ends_file, "n_bytes": len(part.data)}
        self._send(json.dumps(header).encode() + b"\n", part.data)
        output = self._process.stdout
        assert output is not None  # noqa: S101 - it is a pipe
        line = output.readline()
        if not line:
            raise self._ended()
        answer = json.loads(line)
        if "error" in answer:
            raise CorpusError(answer["error"]) if answer["expected"] else RuntimeError(answer["error"])
        data = output.read(sum(answer["sizes"]))
        if len(data) < sum(answer["sizes"]):
            raise self._ended()
        return unpack(answer, data)

    def _send(self, *data: bytes) -> None:
        stream = self._process.stdin
        assert stream is not None  # noqa: S101 - it is a pipe
        try:
            stream.writelines(data)
            stream.flush()
        except (BrokenPipeError, ValueError):
            raise self._ended() from None

    def _ended(self) -> CorpusError:
        code = self._process.wait()
        return CorpusError(f"a tokenizer process ended by itself (exit code {code}; out of memory?)")

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()


def main() -> None:
    """Encode parts that arrive on standard input until it ends; Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a package prints must not mix with the results
    try:
        encoder = PartEncoder(CorpusConfig(**json.loads(source.readline())))
        while line := source.readline():
            header = json.loads(line)
            part = Part(source.read(header["n_bytes"]), KINDS[header["kind"]], header["ends_file"], 0)
            _answer(target, encoder, part)
    except BrokenPipeError:
        pass


def _answer(target: BinaryIO, encoder: PartEncoder, part: Part) -> None:
    try:
        header, data = pack(encoder.encode(part))
    except Exception as error:  # noqa: BLE001 - raised again in the parent
        is_expected = isinstance(error, W2VError)
        text = str(error) if is_expected else f"{type(error).__name__}: {error}"
        header, data = json.dumps({"error": text, "expected": is_expected}).encode() + b"\n", []
    target.write(header)
    target.writelines(data)
    target.flush()
