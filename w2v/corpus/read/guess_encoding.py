"""Which encoding a text that is not UTF-8 seems to have: advice for an error message."""

from __future__ import annotations

import codecs

# Those that stand for all their relatives: GB18030 holds GBK and GB2312, cp1252 the printable Latin-1.
_LIKELY = ["gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1252", "cp1250", "cp1251", "koi8_r"]
_NAMES = {"gb18030": "GBK (gb18030)", "big5": "Big5", "cp1252": "Latin-1 (cp1252)"}
_MOST_BYTES = 1 << 16
_CONTINUATIONS = bytes(range(0x80, 0xC0))


def encoding_advice(data: bytes) -> str:
    """Say in half a sentence which --encoding fits a part of a text, as far as can be told."""
    name = guess_encoding(data)
    if name is None and _ends_inside_a_character(data):
        return "the text ends inside a character: is the file complete? --errors replace reads what is there"
    if name is None:
        return "say which --encoding it has, or pass --errors replace"
    return f"it looks like {_NAMES.get(name, name)}: pass --encoding {name} (or --errors replace)"


def guess_encoding(data: bytes) -> str | None:
    """Return the codec that fits a part of a text; None if none does, or it is plain or broken UTF-8."""
    data = _whole_lines(data[:_MOST_BYTES])
    if _is_mostly_utf8(data) or _ends_inside_a_character(data):
        return None
    from charset_normalizer import from_bytes

    for n_cut in range(min(4, len(data))):  # the last character may be cut
        part = data[: len(data) - n_cut]
        best = from_bytes(part, cp_isolation=_LIKELY, preemptive_behaviour=False).best()
        if best is not None and best.encoding in _LIKELY:
            return str(best.encoding)
    return None


def _whole_lines(data: bytes) -> bytes:
    """Leave out a first and a last line that may be cut inside a character, if others remain."""
    first, last = data.find(b"\n") + 1, data.rfind(b"\n")
    return data[first:last] if last - first > 100 else data


def _ends_inside_a_character(data: bytes) -> bool:
    """Say whether a text is UTF-8 but for its last character, which is cut."""
    data = data.lstrip(_CONTINUATIONS).rstrip(b"\n")  # a part of a text may begin inside a character
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    cut = data[len(text.encode()) :]
    if "\ufffd" in text or not cut:
        return False
    return not text.isascii() or len(cut) > 1 or cut in b"\xc2\xc3"  # else it may be the last letter of café


def _is_mostly_utf8(data: bytes) -> bool:
    """Say whether nearly all that is not ASCII decodes as UTF-8: then the rest is damage, not an encoding."""
    text = data.decode("utf-8", "replace")
    n_bad = text.count("\ufffd")
    return n_bad * 10 < sum(letter >= "\x80" for letter in text)
