"""w2v: train static word vectors fast, and use them in PyTorch."""

from __future__ import annotations

__version__ = "0.1.0"
