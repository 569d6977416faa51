"""Options of an embedding table that do not depend on its rows: dtype, device, scale, max_norm and others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from w2v.errors import ConfigError


@dataclass(frozen=True)
class TableOptions:
    """Options that `load_embedding` and `match_vocabulary` share; `load_embedding` explains them.

    Raises
    ------
    ConfigError
        If one is out of range.
    """

    freeze: bool | None = None
    dtype: torch.dtype | None = None
    device: torch.device | str | None = None
    sparse: bool | None = None
    max_norm: float | None = None
    scale: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("scale", "max_norm"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ConfigError(f"{name} must be a finite number greater than 0; got {value!r}")
        if self.dtype is not None and not self.dtype.is_floating_point:
            raise ConfigError(f"dtype must be one of real numbers, such as torch.float32; got {self.dtype}")

    def or_else(self, *, freeze: bool, sparse: bool, max_norm: float | None) -> TableOptions:
        """Return the options with these values in place of None."""
        return replace(
            self,
            freeze=freeze if self.freeze is None else self.freeze,
            sparse=sparse if self.sparse is None else self.sparse,
            max_norm=max_norm if self.max_norm is None else self.max_norm,
        )

    @property
    def is_frozen(self) -> bool:
        """Whether the weight is frozen, as it is by default."""
        return self.freeze is None or self.freeze

    @property
    def cut_now(self) -> float | None:
        """The greatest length of a row, applied at loading: only for frozen tables.

        `nn.Embedding` shortens rows in its forward pass, by writing into the weight; a frozen table must not
        be written to.
        """
        return self.max_norm if self.is_frozen else None

    @property
    def max_norm_in_forward(self) -> float | None:
        """The `max_norm` that `nn.Embedding` applies in its forward pass: only for trained tables."""
        return None if self.is_frozen else self.max_norm
