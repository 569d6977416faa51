"""Compiling with numba: all options that w2v compiles with, and where compiled code is kept.

Kernels are called from Python and kept for the next process; helpers are called by kernels only and become
part of their code. Wrappers that nothing calls are left out, because they take long to compile: the one for C
of both, and the one for Python of helpers.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from numba import extending, njit

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_njit: Any = njit  # its stub lacks the options for wrappers


def _kernels(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles a function at its first call, or loads it if it was kept.

    numba looks at `NUMBA_CACHE_DIR`, at the folder of the source and at the user's cache; in a container
    without a writable home it finds none, and refuses to compile with its cache.
    """
    compiled = functools.partial(_njit, nogil=True, no_cfunc_wrapper=True, **options)

    def decorate(function: Any) -> Any:
        try:
            return compiled(cache=True)(function)
        except RuntimeError:
            _tell_there_is_no_cache()
            return compiled()(function)

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
