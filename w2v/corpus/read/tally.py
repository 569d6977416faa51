"""What has been read so far."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """What has been read so far; a status is None for what is no regular file, or changed meanwhile."""

    bytes: int = 0
    replaced: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    statuses: list[os.stat_result | None] = field(default_factory=list)
