"""w2v: train static word vectors fast, and use them in PyTorch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from w2v.system.version import __version__ as __version__

if TYPE_CHECKING:
    from w2v.api import train
    from w2v.comparison.api import compare
    from w2v.comparison.models import compare_models
    from w2v.embeddings import Embeddings, Neighbor, from_gensim, load
    from w2v.errors import (
        ConfigError,
        CorpusError,
        FormatError,
        MissingExtraError,
        TokenIdError,
        TrainingError,
        UnknownWordError,
        W2VError,
    )
    from w2v.formats.registry import save_as
    from w2v.pooling import text_vectors
    from w2v.vectors.vocab import Vocab

__all__ = [
    "ConfigError",
    "CorpusError",
    "Embeddings",
    "FormatError",
    "MissingExtraError",
    "Neighbor",
    "TokenIdError",
    "TrainingError",
    "UnknownWordError",
    "Vocab",
    "W2VError",
    "compare",
    "compare_models",
    "from_gensim",
    "load",
    "save_as",
    "text_vectors",
    "train",
]

_ERRORS = (
    "ConfigError",
    "CorpusError",
    "FormatError",
    "MissingExtraError",
    "TokenIdError",
    "TrainingError",
    "UnknownWordError",
    "W2VError",
)
# Imported at first use, so that `import w2v` and `w2v --help` are light.
_HOME = {
    **dict.fromkeys(_ERRORS, "w2v.errors"),
    "Embeddings": "w2v.embeddings",
    "Neighbor": "w2v.embeddings",
    "Vocab": "w2v.vectors.vocab",
    "compare": "w2v.comparison.api",
    "compare_models": "w2v.comparison.models",
    "from_gensim": "w2v.embeddings",
    "load": "w2v.embeddings",
    "save_as": "w2v.formats.registry",
    "text_vectors": "w2v.pooling",
    "train": "w2v.api",
}


def __getattr__(name: str) -> object:
    if name == "pytorch":  # a package, which needs torch
        return importlib.import_module("w2v.pytorch")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
