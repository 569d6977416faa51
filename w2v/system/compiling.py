"""Compiling with numba. Compiled code is kept for the next process, where there is a place for it."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from numba import njit

_log = logging.getLogger(__name__)


def cached_njit(**options: Any) -> Callable[[Any], Any]:
    """Return `numba.njit(cache=True, ...)`, without the cache where no folder for it may be written.

    numba looks at `NUMBA_CACHE_DIR`, at the folder of the source and at the user's cache; in a container
    without a writable home it finds none, and refuses to compile.
    """

    def decorate(function: Any) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:
            _tell_there_is_no_cache()
            return njit(**options)(function)

    return decorate


@functools.cache
def _tell_there_is_no_cache() -> None:
    _log.warning(
        "no folder for compiled code may be written, so every run compiles for some seconds; "
        "set NUMBA_CACHE_DIR to one that may"
    )
