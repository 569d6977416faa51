r"""Words in text formats: those that a format cannot store raise an error that names them, or are escaped.

Backslash, tab, newline, carriage return and space are `\\`, `\t`, `\n`, `\r` and `\s`, the empty word is
`\e`, and any other letter, a lone surrogate for instance, is its UTF-16 code: `\uDC80`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from w2v.errors import FormatError

_SHORT = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", " ": "\\s", "": "\\e"}
_LONG = {escaped[1]: letter for letter, escaped in _SHORT.items()}
_REFUSED = re.compile("[ \t\n\r\v\f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)
# A byte-order mark is escaped too: at the start of a file it would be taken for one.
LINE_BREAKERS = re.compile("[\\\\\t\n\r\ufeff\ud800-\udfff]")
FIELD_BREAKERS = re.compile("[\\\\\t\n\r\v\f \ud800-\udfff]")
LABEL_BREAKERS = re.compile("[\\\\\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029\ufeff\ud800-\udfff]")


def escape(word: str, breakers: re.Pattern[str] = LINE_BREAKERS) -> str:
    """Return a word with the letters that `breakers` finds escaped."""
    if not word and breakers is FIELD_BREAKERS:
        return _SHORT[""]
    return breakers.sub(lambda hit: _SHORT.get(hit[0]) or f"\\u{ord(hit[0]):04X}", word)


def unescape(word: str, where: str | None) -> str:
    """Return the word that was escaped.

    Parameters
    ----------
    word : str
    where : str or None
        Where the word stands, for the error; None leaves unknown escapes as they are.

    Raises
    ------
    FormatError
        If a backslash begins no known escape.
    """

    def original(hit: re.Match[str]) -> str:
        if len(hit[1]) == 5:
            return chr(int(hit[1][1:], 16))
        if hit[1] not in _LONG:
            if where is None:
                return hit[0]
            raise FormatError(f"{where}: unknown escape {hit[0]!r}; a backslash itself is written as two")
        return _LONG[hit[1]]

    return _ESCAPE.sub(original, word) if "\\" in word else word


def words_for_fields(words: Sequence[str], format_name: str, *, escaped: bool = False) -> Sequence[str]:
    """Return the words as they are written in a format whose words end at a space.

    Raises
    ------
    FormatError
        If a word is empty, holds white space of ASCII, or is no Unicode text, and is not to be escaped.
    """
    if escaped:
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
