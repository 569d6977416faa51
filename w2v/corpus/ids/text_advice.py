"""Advice on words that do not look like words: text that has not been cut."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from w2v.corpus.ids.word_types import Types

_SAMPLE = 4_000
_LONG_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{6,}")
_PUNCTUATED = re.compile(r"[^\W\d_]{2,}[.,;:!?]|[^\W\d_]+[。，；：！？]")
_UNCUT_SHARE = 0.1
_PUNCTUATED_SHARE = 0.05


def uncut_text_advice(types: Types) -> str | None:
    """Say what to change if the words between white space look like text that was never cut into words.

    Parameters
    ----------
    types : Types
        In falling order of count. Some thousand evenly spaced tokens are looked at.
    """
    totals = np.cumsum(types.counts)
    tokens = np.linspace(0, totals[-1] - 1, min(int(totals[-1]), _SAMPLE)).astype(np.int64)
    rows = np.searchsorted(totals, tokens, side="right").tolist()
    words = [types.words(row, row + 1)[0] for row in rows]
    uncut = _share(words, _LONG_RUN.search)
    if uncut > _UNCUT_SHARE:
        return (
            f"{uncut:.0%} of the words hold 6 or more Chinese characters in a row: the text looks "
            "unsegmented; cut it into words with --tokenizer jieba (or into characters with "
            "--tokenizer chars)"
        )
    punctuated = _share(words, _PUNCTUATED.fullmatch)
    if punctuated > _PUNCTUATED_SHARE:
        return (
            f'{punctuated:.0%} of the words end in punctuation, so that "end" and "end." are two: the text '
            "looks untokenised; try --tokenizer words"
        )
    return None


def _share(words: list[str], found: Callable[[str], object]) -> float:
    return sum(found(word) is not None for word in words) / len(words)
