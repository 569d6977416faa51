"""How other processes of this package are started, and how many can run at once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

_BOOTSTRAP = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from {} import main; main()"


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def python_command(module: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that calls a module's `main` in a new process.

    It finds the modules that this process has found, also in a checkout that is not installed, and none that
    only happen to lie in the working folder.
    """
    paths = json.dumps([path for path in sys.path if isinstance(path, str)])
    return [sys.executable, "-I", "-c", _BOOTSTRAP.format(module), paths, *arguments]
