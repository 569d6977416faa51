"""What is done to text before it is cut into tokens, and to the tokens after; no reading, no cutting."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from w2v.config import CorpusConfig
from w2v.errors import MissingExtraError

_NUMBER = re.compile(r"[+-]?\d+(?:[.,:/·'’-]\d+)*[%‰]?")
_DIGIT = re.compile(r"\d")
_HAS_DIGIT = re.compile(r"\d").search
_HAS_LETTER_OR_DIGIT = re.compile(r"[^\W_]").search


def text_normalizer(config: CorpusConfig, *, s2t: bool, lowercase: bool) -> Callable[[str], str] | None:
    """Return a function that normalises a text: NFC or NFKC, then the Chinese script, then lower case.

    None if nothing is to be done. Line breaks stay where they are.
    """
    steps: list[Callable[[str], str]] = []
    if config.normalize != "none":
        form: Any = config.normalize.upper()
        steps.append(functools.partial(unicodedata.normalize, form))
    if config.t2s or s2t:
        steps.append(_opencc("t2s" if config.t2s else "s2t").convert)
    if lowercase:
        steps.append(str.lower)
    if not steps:
        return None

    def normalize(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return normalize


def token_rule(
    config: CorpusConfig, *, s2t: bool, lowercase: bool, drop_punctuation: bool
) -> Callable[[str], str] | None:
    """Return a function from a token to what it becomes, "" to drop it; None if every token stays.

    Blank tokens are dropped by every rule.
    """
    if config.numbers == "keep" and not (s2t or lowercase or drop_punctuation):
        return None
    convert = _opencc("s2t").convert if s2t else None

    def rule(token: str) -> str:
        if drop_punctuation and is_punctuation(token):
            return ""
        if config.numbers != "keep" and _HAS_DIGIT(token) and _NUMBER.fullmatch(token):
            return "" if config.numbers == "drop" else _DIGIT.sub("0", token)
        if convert is not None:
            token = convert(token)
        return token.lower() if lowercase else token

    return rule


def is_punctuation(token: str) -> bool:
    """Say whether a token has neither letter nor digit nor pictorial symbol (an emoji, a degree sign)."""
    return not _HAS_LETTER_OR_DIGIT(token) and not any(
        unicodedata.category(letter) in _WORTHY for letter in token
    )


_WORTHY = frozenset(("So", "Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No"))


def opencc_version() -> str:
    """Return the version of OpenCC."""
    return str(_import_opencc().__version__)


def _opencc(name: str) -> Any:
    return _import_opencc().OpenCC(name)


def _import_opencc() -> Any:
    try:
        import opencc
    except ImportError:
        raise MissingExtraError("opencc", "zh") from None
    return opencc
