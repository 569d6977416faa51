"""Words that a format can carry: the others are refused by name before a byte is written, or escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from w2v.errors import FormatError
from w2v.files.escapes import FIELD_BREAKERS, escape
from w2v.formats.options import WriteOptions

_REFUSED = re.compile("[ \t\n\r\v\f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def words_for_fields(words: Sequence[str], format_name: str, options: WriteOptions) -> Sequence[str]:
    """Return the words as they are written in a format whose words end at a space.

    Raises
    ------
    FormatError
        If a word is empty, holds white space of ASCII, or is no Unicode text, and is not to be escaped.
    """
    if options.escape:
        return [escape(word, FIELD_BREAKERS) for word in words]
    refused = [word for word in words if not word or _REFUSED.search(word)]
    _refuse(refused, format_name, "words that are empty or hold white space; --escape writes them escaped")
    return words


def words_for_utf8(words: Sequence[str], format_name: str) -> Sequence[str]:
    """Return the words if UTF-8 can hold them all; a lone surrogate it cannot."""
    _refuse(
        [word for word in words if _SURROGATE.search(word)], format_name, "words that are not Unicode text"
    )
    return words


def _refuse(words: Sequence[str], format_name: str, what: str) -> None:
    if words:
        shown = ", ".join(ascii(word) if _SURROGATE.search(word) else repr(word) for word in words[:5])
        more = f" and {len(words) - 5} more" if len(words) > 5 else ""
        raise FormatError(f"{format_name} cannot carry {what}; got {shown}{more}")
