"""Run one command and write down what it cost. A program of its own, started as `python -I -S launcher.py`.

It is small on purpose: Linux counts the memory of the process that starts a program into that program's
peak, so the starter must need less than any command it measures.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any


def main() -> int:
    """Run `argv[2:]`, write seconds and bytes to the JSON file `argv[1]`, and exit as the command did."""
    report, *command = sys.argv[1:]
    started = time.perf_counter()
    child = subprocess.Popen(command)

    def stop(*_: object) -> None:
        child.kill()

    signal.signal(signal.SIGTERM, stop)
    code, cost = _wait(child)
    cost["wall_seconds"] = time.perf_counter() - started
    with open(report, "w") as file:  # noqa: PTH123 - pathlib would be memory for nothing
        json.dump(cost, file)
    return code if code >= 0 else 128 - code


def _wait(child: subprocess.Popen[bytes]) -> tuple[int, dict[str, Any]]:
    if not hasattr(os, "wait4"):  # Windows
        return child.wait(), {"cpu_seconds": None, "peak_bytes": None}
    _, status, usage = os.wait4(child.pid, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    cost = {"cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * unit}
    return os.waitstatus_to_exitcode(status), cost


if __name__ == "__main__":
    sys.exit(main())
