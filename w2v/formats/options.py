"""What one can ask of a reader or a writer of vectors."""

from __future__ import annotations

from dataclasses import dataclass

from w2v.errors import ConfigError

DTYPES = ("float32", "float16")


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file of vectors.

    Parameters
    ----------
    top : int, optional
        Keep only the first N rows (of the `words`, where given).
    words : frozenset of str, optional
        Keep only these words, in the order of the file.
    skip_bad : bool
        Leave bad rows out, count them and log how many there were, where the default is an error.
    unescape : bool
        Undo `WriteOptions.escape`.
    """

    top: int | None = None
    words: frozenset[str] | None = None
    skip_bad: bool = False
    unescape: bool = False

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 1:
            raise ConfigError(f"top must be at least 1; got {self.top}")


@dataclass(frozen=True)
class WriteOptions:
    r"""How to write a file of vectors.

    Parameters
    ----------
    dtype : {"float32", "float16"}
        float16 is for npy, safetensors and huggingface.
    escape : bool
        Write words that the format cannot carry with escapes, where the default is an error. It is for
        word2vec, word2vec-bin and glove: a space is written as `\s`, an empty word as `\e`, tab, newline,
        carriage return and backslash as `\t`, `\n`, `\r`, `\\`, anything else as `\u000B`.
    """

    dtype: str = "float32"
    escape: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ConfigError(f"dtype must be one of {', '.join(DTYPES)}; got {self.dtype!r}")
