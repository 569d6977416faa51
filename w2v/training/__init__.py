"""Training: an encoded corpus and settings become an embedding matrix."""

from __future__ import annotations

import importlib
from typing import Any


def resolve(name: str) -> Any:
    """Return the function that a record of `w2v.objectives` names: "module:function" below this package."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"{__name__}.{module}"), function)
