"""MediaWiki dumps: prose out of markup, dumps straight into a corpus, the command."""

from __future__ import annotations

import bz2
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from w2v.cli import cli
from w2v.config import CorpusConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.corpus.read.wiki import page_text
from w2v.errors import CorpusError

ALL = VocabConfig(min_count=1)
PAGE = """{{Infobox|name=Nobody {{nested}}}}
'''Nobody''' was a [[Greece|Greek]] sailor.<ref>A note.</ref> He&nbsp;slept.
== Life ==
* a [[list]] item
{| class="wikitable"
| a cell
|}
[[File:Nobody.jpg|thumb|A caption.]] [[Category:Sailors]]
-{zh-hans:软件;zh-hant:軟體}-很重要。
----
"""


def dump(*pages: tuple[int, str]) -> bytes:
    body = "".join(
        f"<page><title>T{number}</title><ns>{ns}</ns><id>{number}</id>"
        f"<revision><text>{text.replace('&', '&amp;').replace('<', '&lt;')}</text></revision></page>"
        for number, (ns, text) in enumerate(pages)
    )
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo></siteinfo>'
    return f"{head}{body}</mediawiki>".encode()


DUMP = dump(
    (0, PAGE),
    (1, "A talk page."),
    (0, "#REDIRECT [[T0]]"),
    (0, "#重定向 [[T0]]"),
    (0, "{{disambig}} many"),
    (0, "Last page."),
)


def read(path: Path, **config: Any) -> tuple[EncodedCorpus, list[str]]:
    corpus = encode(path, corpus=CorpusConfig(**config), vocab=ALL, cache=False, workers=1)
    rows = [corpus.vocab.words[i] for i in corpus.tokens]
    return corpus, [" ".join(rows[a:b]) for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False)]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes], Path]:
    def write_file(name: str, data: bytes) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write_file


Write = Callable[[str, bytes], Path]


def test_the_prose_of_a_page() -> None:
    assert page_text(PAGE).split("\n") == [
        "Nobody was a Greek sailor. He slept.",
        "a list item",
        "软件很重要。",
    ]


@pytest.mark.parametrize(
    "markup",
    [
        "<ref>",
        "<ref ",
        "<math>",
        "<nowiki ",
        "<",
        "{{",
        "{|",
        "<!--",
        "[[File:",
        "[http://a ",
        "[abc://a ",
        "\n[[Image|a|b|c|d|e|f|g|h",
        "\n[[ab:c]]",
        "[[Category:",
        "{{lang|",
        "-{",
    ],
)
def test_markup_that_is_never_closed_takes_no_time(markup: str) -> None:
    page_text("")  # the first call imports gensim
    started = time.process_time()
    found = page_text(f"Before.\n{markup * 5_000}\nAfter.\n")
    assert time.process_time() - started < 1
    assert found.startswith("Before.")


def test_links_keep_their_words() -> None:
    text = "See [http://a.b/c?d the site] and [https://x.y] or ([[Greece|Greek]], [[Rome]]).\n[[de:Seite]]"
    assert page_text(text) == "See the site and or (Greek, Rome)."
    assert page_text("[[Image processing]] and [[file system|files]]") == "Image processing and files"


def test_a_dump_is_known_by_content_and_cut_into_words(write: Write) -> None:
    corpus, found = read(write("dump.txt", bz2.compress(DUMP)))
    assert found == ["Nobody was a Greek sailor He slept", "a list item", "软 件 很 重 要", "Last page"]
    assert corpus.reading["tokenizer"] == "words"
    assert corpus.report.kinds == {"wiki": 1}
    assert corpus.report.bytes == len(DUMP)
    assert read(write("dump.xml", DUMP), tokenizer="whitespace")[1][-1] == "Last page."
    _, whole = read(write("dump.xml", DUMP), sentences="none")
    assert [len(page.split()) for page in whole] == [15, 2]


def test_a_dump_in_a_mixed_folder(write: Write, tmp_path: Path) -> None:
    write("1.txt", b"first line.\n")
    write("2.xml", DUMP)
    assert read(tmp_path)[1][0] == "first line."
    assert read(tmp_path)[1][-1] == "Last page."


@pytest.mark.parametrize("damage", ["cut", "no dump", "text"])
def test_damaged_dumps(damage: str, write: Write) -> None:
    data = {"cut": DUMP[:-40], "no dump": b"<mediawiki><page></page></mediawiki>", "text": b"just text"}[
        damage
    ]
    with pytest.raises(CorpusError, match=r"dump\.xml: .*MediaWiki dump"):
        read(write("dump.xml", data), format="wiki")


def test_an_entity_bomb_is_refused(write: Write) -> None:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "lol " * 100}">' for i in range(9))
    text = f"<!DOCTYPE x [{entities}]><mediawiki><page><title>&e8;</title></page></mediawiki>"
    with pytest.raises(CorpusError, match=r"dump\.xml: not the XML"):
        read(write("dump.xml", text.encode()), format="wiki")


def test_the_command(write: Write, tmp_path: Path) -> None:
    path, output = write("dump.xml.bz2", bz2.compress(DUMP)), tmp_path / "text"
    done = CliRunner().invoke(cli, ["corpus", "wiki", str(path), "-o", str(output)])
    assert done.exit_code == 0
    assert output.read_text() == (
        "Nobody was a Greek sailor. He slept.\na list item\n软件很重要。\nLast page.\n"
    )
    split = CliRunner().invoke(
        cli, ["corpus", "wiki", str(path), "-o", str(output), "--tokenizer", "words", "--sentences", "split"]
    )
    assert split.exit_code == 0
    assert output.read_text().startswith("Nobody was a Greek sailor\nHe slept\n")
