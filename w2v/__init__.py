"""w2v: train static word vectors fast, and use them in PyTorch."""

from __future__ import annotations

import lazy_loader

from w2v.system.version import __version__ as __version__

# The names stand in `__init__.pyi`. Each is imported at its first use, so that `w2v --help` is light.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__.remove("pytorch")  # needs an extra, so it does not come with `from w2v import *`
