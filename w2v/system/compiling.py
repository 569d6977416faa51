"""Compiling with numba: all options that w2v compiles with, and where compiled code is kept.

Kernels are called from Python and kept for the next process; helpers are called by kernels only and become
part of their code. Wrappers that nothing calls are left out, because they take long to compile: the one for C
of both, and the one for Python of helpers.

numba compares the source file of a kernel alone to see whether kept code is up to date. Here the names of
the files carry a digest of all sources that the kernel is made from, so that an edited helper counts, too.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from numba import config, extending, njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

from w2v.system.version import __version__

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_njit: Any = njit  # its type lacks the options for wrappers
_config: Any = config  # its variables are made from the environment
_IMPORT = re.compile(r"^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE)
TAG = "py{}{}".format(*sys.version_info) + getattr(sys, "abiflags", "")
"""Which Python code is compiled for, as it stands in the names of numba's files."""


def _kernels(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles a function at its first call, or loads it if it was kept.

    numba looks for a place at `NUMBA_CACHE_DIR`, at the folder of the source and at the user's cache. In a
    container without a writable home there is none; then every process compiles.
    """
    decorator = _njit(nogil=True, no_cfunc_wrapper=True, **options)

    def decorate(function: Any) -> Any:
        dispatcher = decorator(function)
        if hasattr(dispatcher, "_cache"):  # not with NUMBA_DISABLE_JIT
            try:
                cache: Any = FunctionCache(function)
            except RuntimeError:
                _tell_there_is_no_cache()
                return dispatcher
            cache._cache_file = _KeptCode(function, cache.cache_path)
            dispatcher._cache = cache
        return dispatcher

    return decorate


def _helpers(**options: Any) -> Callable[[_Function], _Function]:
    options |= {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    decorator: Callable[[_Function], _Function] = _njit(**options)
    return decorator


@functools.cache
def _tell_there_is_no_cache() -> None:
    _log.warning(
        "no folder for compiled code may be written, so every run compiles for some seconds; "
        "set NUMBA_CACHE_DIR to one that may"
    )


class _KeptCode:
    """The files of one function's compiled code: what numba's cache takes for its one index.

    numba has an index a function and numbers its data files. Processes that compile at the same time may take
    the same number for different code. Here every version and signature has files of its own names.
    """

    def __init__(self, function: Any, folder: str) -> None:
        source = Path(inspect.getfile(function))
        self.folder = Path(folder)
        self.name = f"{source.stem}.{function.__qualname__}"
        self.version = f"{self.name}-{source_digest(source)}"

    def load(self, key: Any) -> Any:
        """Return the code kept under a key of numba's, or None."""
        return self._file(key).load(key)

    def save(self, key: Any, data: Any) -> None:
        """Keep code, and remove what older sources have left."""
        self._file(key).save(key, data)
        for path in self.folder.glob(f"{self.name}-*.{TAG}.*"):
            if not path.name.startswith(self.version):
                with contextlib.suppress(OSError):  # another process has it open, or removed it
                    path.unlink()

    def has_any(self) -> bool:
        """Say whether there is code of these sources, for whatever types."""
        return any(self.folder.glob(f"{self.version}-*.{TAG}.nbi"))

    def _file(self, key: Any) -> Any:
        key_digest = _digest(repr((key, _config.BOUNDSCHECK)).encode())  # numba's key leaves the check out
        name = f"{self.version}-{key_digest}.{TAG}"
        return IndexDataCacheFile(str(self.folder), name, self.version)


def is_missing(function: Any) -> bool:
    """Say whether a kernel's code could be kept, and is not, for whatever types."""
    kept = getattr(getattr(function, "_cache", None), "_cache_file", None)
    return kept is not None and not kept.has_any()


@functools.cache
def source_digest(source: Path) -> str:
    """Return a digest of all that a module's compiled code is made from."""
    sources = [path.read_bytes() for path in sources_of(source)]  # none in a frozen or zipped program
    return _digest(b"".join([__version__.encode(), *sources]))


def sources_of(source: Path) -> list[Path]:
    """Return a module, the one at hand, and all modules of its package that they import, directly or not."""
    package = source.parent
    while (package.parent / "__init__.py").exists():
        package = package.parent
    found: set[Path] = set()
    waiting = [source, Path(__file__)]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found.add(path)
            waiting += _imported(path, package)
    return sorted(found)


def _imported(path: Path, package: Path) -> Iterator[Path]:
    """Yield the modules of a package that a module imports; all modules of a folder that it imports from.

    The lines are read and not parsed, which would take longer than loading a kernel.
    """
    for name in _IMPORT.findall(path.read_text(encoding="utf-8")):
        parts = name.split(".")
        place = package.parent.joinpath(*parts)
        if parts[0] == package.name:
            yield from place.glob("*.py") if place.is_dir() else [place.with_suffix(".py")]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


# Training. "reassoc" and "contract" let LLVM reorder sums; full fastmath would break the search for NaN.
# Without "_nrt", arrays' reference counts are left alone: they are atomic, and workers share the arrays.
_TRAINING: dict[str, Any] = {"fastmath": {"reassoc", "contract"}, "error_model": "numpy", "_nrt": False}
kernel: Callable[[Callable[..., Any]], Any] = _kernels(**_TRAINING)
helper: Callable[[Callable[..., Any]], Any] = _helpers(**_TRAINING)

# Bytes and ids: reading text, phrases, numbers in vector files.
byte_kernel = _kernels()
byte_helper = _helpers()

# Best of many scores. The order of additions does not matter there, nor the sign of a zero.
score_kernel = _kernels(fastmath={"reassoc", "contract", "nsz"})

# Functions given as LLVM code; their first argument is numba's typing context.
intrinsic: Callable[[Callable[..., Any]], Any] = extending.intrinsic
