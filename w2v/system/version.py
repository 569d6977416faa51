"""The version of w2v."""

__version__ = "0.1.0"
