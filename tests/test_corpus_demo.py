"""The demo corpus: what is stripped from wikitext, where sentences end, and how clean the whole is."""

from __future__ import annotations

import io
import re

import pytest

from w2v.corpus.tools.demo import sentences_of, split_sentences, write_demo

WIKITEXT = """
{{Infobox person|name=Nobody {{nowrap|nested template}}|born={{birth date|1900|1|1}}}}
[[File:Nobody.jpg|thumb|200px|A caption with a [[link|nested link]] of a sentence. And more.]]
'''Nobody''' was a [[Greece|Greek]] [[mathematician]] of the ''19th century''.<ref>A note. See there.</ref>
He walked {{convert|1,200|km|mi}} to sea&nbsp;&ndash; O'Brien's friends <!-- who? -->wept.<ref name="x" />
{| class="wikitable" style="align: center"
! header of a table that is long. !! another
|-
| a cell of the table. || bgcolor="red" | another cell.
{|
| a nested table that is long.
|}
|}
== Life ==
* a list item that is a sentence of its own.
: an indented line that is a sentence of its own.
Mr. J. R. Smith met him at No. 5 in St. Petersburg. "Was it good?" Nobody said so, i.e. never.
The U.S. Army left<br/>early.
<math>x = y</math> <gallery>
Image:a.jpg|A gallery caption is here.
</gallery>
=== See also the sub-section ===
The sub-section's first line stays here [http://example.com with a link].
== References ==
The back matter should not be there at all.
== Legacy ==
The legacy is told in these words.
[[Category:People]] [[fr:Personne]]
"""


def test_only_prose_is_left() -> None:
    assert [" ".join(words) for words in sentences_of(WIKITEXT)] == [
        "nobody was a greek mathematician of the 19th century",
        "he walked 1200 km to sea o'brien friends wept",
        "mr j r smith met him at no 5 in st petersburg",
        "was it good",
        "nobody said so i.e. never",
        "the u.s. army left early",
        "the sub section first line stays here with a link",
        "the legacy is told in these words",
    ]


def test_unclosed_markup_does_no_harm() -> None:
    for start in ("[[File:a.jpg|", "{|", "{{a", "<ref>", "<!--", "[[", "<math>", "{{{{"):
        for sentence in sentences_of(f"The first line is whole.\n{start}\nThe last line is open."):
            assert not re.search(r"[\[\]{}|<>=]", " ".join(sentence))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? four.", ["One.", "Two!", "Three? four."]),
        ("Dr. No met J. Bond. He ran.", ["Dr. No met J. Bond.", "He ran."]),
        ("At 3.5 m. Then etc. Nothing.", ["At 3.5 m. Then etc. Nothing."]),
        ('He said "Stop." She did.', ['He said "Stop."', "She did."]),
        ("In 1999. Vols. 2 of 3.", ["In 1999.", "Vols. 2 of 3."]),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_the_demo_corpus_is_clean_prose() -> None:
    file = io.BytesIO()
    made, text = write_demo(file), file.getvalue().decode()
    lines = text.splitlines()
    words = text.split()
    assert (made.articles, made.sentences, made.words) == (100, len(lines), len(words))
    assert 380_000 < made.words < 520_000
    assert all(len(line.split()) > 2 for line in lines)
    assert re.fullmatch(r"[^\W_]+(?:['.][^\W_]+)*\.?", words[0])
    assert not re.search(r"[^\w'. \n]|_", text)
    assert text == text.lower()
    for residue in (
        "px",
        "nbsp",
        "bgcolor",
        "colspan",
        "http",
        "www",
        "isbn",
        "jpg",
        "svg",
        "br",
        "flagicon",
        "cite web",
    ):
        assert f" {residue} " not in text
    assert words.count("s") < len(words) / 4000
    assert "anarchism is a political philosophy that advocates self governed societies" in lines[0]
