"""Advice on words that do not look like words: text that was not cut, or that the tokenizer does not know."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from w2v.config import CorpusConfig
from w2v.corpus.ids.word_types import Types
from w2v.corpus.tokens.tokenizers import tokenizer_of

_SAMPLE = 4_000
_LONG_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{6,}")
_PUNCTUATED = re.compile(r"[^\W\d_]{2,}[.,;:!?]|[^\W\d_]+[。，；：！？]")
_UNCUT_SHARE = 0.1
_PUNCTUATED_SHARE = 0.05
# Characters that are frequent and differ in the two scripts.
_TRADITIONAL = frozenset("個們來時說國這對會為學過還經當從發開實現點問頭機電長間門書車東語無與義見話題區員讓")
_SIMPLIFIED = frozenset("个们来时说国这对会为学过还经当从发开实现点问头机电长间门书车东语无与义见话题区员让")


def text_advice(types: Types, config: CorpusConfig) -> list[str]:
    """Say what to change if the words look like those of another kind of text.

    Parameters
    ----------
    types : Types
        In falling order of count. Some thousand evenly spaced tokens are looked at.
    config : CorpusConfig
        How the text was read.
    """
    totals = np.cumsum(types.counts)
    tokens = np.linspace(0, totals[-1] - 1, min(int(totals[-1]), _SAMPLE)).astype(np.int64)
    rows = np.searchsorted(totals, tokens, side="right").tolist()
    words = [types.words(row, row + 1)[0] for row in rows]
    tokenizer, advice = tokenizer_of(config), None
    if tokenizer.splits_at_spaces:
        advice = _uncut_advice(words)
    elif tokenizer.has_dictionary and not (config.t2s or config.s2t):
        advice = _script_advice(words)
    return [] if advice is None else [advice]


def _script_advice(words: list[str]) -> str | None:
    text = "".join(words)
    if sum(map(text.count, _TRADITIONAL)) <= sum(map(text.count, _SIMPLIFIED)):
        return None
    return (
        "the text is in traditional characters, which the dictionary of --tokenizer jieba does not have, so "
        "that words are cut apart: turn it into simplified ones with --t2s"
    )


def _uncut_advice(words: list[str]) -> str | None:
    """Say what to change if the words between white space look like text that was never cut into words."""
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
