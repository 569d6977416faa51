"""Advice on text that is full of tags: their names and attributes would become words."""

from __future__ import annotations

import re

_LOOKED_AT = 1 << 16
_FEW_TAGS = 5
_DOCUMENT = re.compile(rb"\s*<(?:!doctype\s+html|html|\?xml)\b", re.IGNORECASE)
_WIKIEXTRACTOR = re.compile(rb'\s*<doc\s+id="')
# Not every <word>: language models' corpora have <unk>, <s> and </s>.
_TAG = re.compile(rb"</(?!s>)[A-Za-z][\w:-]*\s*>|<[A-Za-z][\w:-]*\s+[\w:-]+\s*=\s*[\"'][^<>]*>")


def markup_advice(data: bytes) -> str | None:
    """Say what to do if the beginning of a text is markup; None if it is not."""
    data = data[:_LOOKED_AT]
    if _WIKIEXTRACTOR.match(data):
        return (
            "looks like output of wikiextractor, whose <doc> lines become words: run it with --json, or "
            "take out the lines that begin with <doc or </doc"
        )
    tags = _TAG.findall(data)
    if not _DOCUMENT.match(data) and len(tags) < _FEW_TAGS:
        return None
    shown = b" ".join(tags[:2])[:60].decode(errors="replace")
    return f"has tags in its text ({shown}), which become words: take the text out of the markup first"
