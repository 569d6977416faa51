"""The demo corpus: prose of a hundred English Wikipedia articles, from the dump excerpt gensim carries."""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from w2v.corpus.read.wiki import plain_text

_DUMP = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"


class DemoCorpus(NamedTuple):
    """What went into the demo corpus."""

    articles: int
    sentences: int
    words: int


_QUOTES = re.compile(r"'{2,}")
_HEADING = re.compile(r"^(={2,6})\s*(.*?)\s*\1\s*$")
_BACK_MATTER = re.compile(
    r"references|external links|see also|further reading|notes|bibliography|footnotes|sources|citations|"
    r"publications|(selected |major )?works|gallery|books|filmography|discography",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"^(?!\d+ [A-Z]|[A-Z]\d+\b)[^\s*#:;|!{}=].*[.!?:][\"'”’)]*$")
_SENTENCE_END = re.compile(r"([.!?])[\"'”’)]*\s+(?=[\"'“‘(]*[A-Z0-9À-ÖØ-Þ])")
_ABBREVIATION = re.compile(
    r"(\b([A-Za-z]|[A-Z][a-z]?\.[A-Z]|Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Rev|Gen|Brig|Bvt|Maj|Col|Capt|Lt|Sgt|Adm|Gov|Sen|"
    r"Rep|Mt|Ft|[Nn]os?|vs|cf|ca|c|fl|etc|al|[Vv]ols?|pp?|eds?|trans|approx|est|Inc|Ltd|Co|Corp|Bros|Cir|Jan|Feb|"
    r"Mar|Apr|Aug|Sept?|Oct|Nov|Dec|i\.e|e\.g|viz|[Oo]p)|\.[A-Za-z]|([,:;(]|\band) ?\d)\.$"
)
_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|\d+(?:\.\d+)+|[^\W_]+(?:'[^\W_]+)*")
_APOSTROPHE = re.compile("[’ʼ´`]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_POSSESSIVE = re.compile(r"(?<=[\w.])'s\b|(?<=s)'(?=\s)|(?<=\w)\(s\)")


def write_demo(file: BinaryIO) -> DemoCorpus:
    """Write the demo corpus: one sentence a line, lower-cased words, no punctuation, always the same."""
    n_articles = n_sentences = n_words = 0
    for text in articles():
        n_articles += 1
        for words in sentences_of(text):
            file.write((" ".join(words) + "\n").encode())
            n_sentences += 1
            n_words += len(words)
    return DemoCorpus(n_articles, n_sentences, n_words)


def articles() -> Iterator[str]:
    """Yield the wikitext of all articles in the dump but redirects and disambiguation pages."""
    from gensim.corpora.wikicorpus import extract_pages
    from gensim.test.utils import datapath

    with bz2.open(datapath(_DUMP)) as dump:
        for _, text, _ in extract_pages(dump, ("0",)):
            if not text.lstrip().upper().startswith("#REDIRECT") and "{{disambig" not in text.lower():
                yield text


def sentences_of(wikitext: str) -> Iterator[list[str]]:
    """Yield the words of each sentence in an article's prose.

    Prose is what stands in paragraphs: no headings, lists, tables, captions, notes and back matter.
    """
    for paragraph in _paragraphs(plain_text(wikitext)):
        for sentence in split_sentences(paragraph):
            words = _words(sentence)
            if len(words) > 2:
                yield words


def split_sentences(paragraph: str) -> list[str]:
    """Split running English prose behind . ! ? before a capital or digit, but not behind an abbreviation."""
    sentences, start = [], 0
    for end in _SENTENCE_END.finditer(paragraph):
        if not _ABBREVIATION.search(paragraph[start : end.start() + 1]):
            sentences.append(paragraph[start : end.end()].strip())
            start = end.end()
    return [*sentences, paragraph[start:]]


def _paragraphs(text: str) -> Iterator[str]:
    is_back_matter = False
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            if len(heading[1]) == 2:
                is_back_matter = _BACK_MATTER.fullmatch(heading[2]) is not None
        elif not is_back_matter and _PARAGRAPH.match(line := _QUOTES.sub("", line).strip()):
            yield line


def _words(sentence: str) -> list[str]:
    text = _APOSTROPHE.sub("'", sentence)
    text = _POSSESSIVE.sub("", _THOUSANDS.sub("", text))
    return _WORD.findall(text.lower())
