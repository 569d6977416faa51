"""How other processes of this package are started."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

_BOOTSTRAP = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from {} import main; main()"


def python_command(module: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that calls a module's `main` in a new process.

    It finds the modules that this process has found, also in a checkout that is not installed, and none that
    only happen to lie in the working folder.
    """
    paths = json.dumps([path for path in sys.path if isinstance(path, str)])
    return [sys.executable, "-I", "-c", _BOOTSTRAP.format(module), paths, *arguments]
