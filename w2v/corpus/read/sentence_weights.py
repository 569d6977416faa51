"""Weights of records and sentences: from a weight to how many times the text is read."""

from __future__ import annotations

import hashlib
import math
from decimal import Decimal
from typing import Any

from w2v.errors import CorpusError

LARGEST = 1000


def times_of(value: Any, seed: int, file_number: int, number: int) -> int:
    """Return how many times a text of some weight is read: its whole part, and by chance once more.

    The chance is the fraction. The draw is a hash of the three numbers, so it depends neither on processes
    nor on what was read before.

    Parameters
    ----------
    value : number, or str with a number
        The weight, 0 to `LARGEST`.
    seed, file_number, number : int
        The setting, the place of the file among all, and the line, row or sentence.

    Raises
    ------
    CorpusError
        If it is no such number; the message has no place.
    """
    weight = _as_weight(value)
    whole = math.floor(weight)
    if weight == whole:
        return whole
    digest = hashlib.blake2b(f"{seed} {file_number} {number}".encode(), digest_size=8).digest()
    return whole + (int.from_bytes(digest, "little") < (weight - whole) * 2.0**64)


def _as_weight(value: Any) -> float:
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    weight = math.nan
    if isinstance(value, int | float | Decimal | str) and not isinstance(value, bool):
        try:
            weight = float(value)
        except (ValueError, OverflowError):
            weight = math.nan
    if not 0 <= weight <= LARGEST:
        raise CorpusError(f"the weight must be a number from 0 to {LARGEST:,}; got {value!r:.40}")
    return weight
