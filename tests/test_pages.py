"""The pages: two languages show the same code, links lead somewhere, commands have the options they show."""

from __future__ import annotations

import io
import itertools
import re
import shlex
import tokenize
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from w2v.cli import cli

FOLDER = Path(__file__).parent.parent
PAGES = sorted([*FOLDER.glob("*.md"), *FOLDER.glob("docs/*.md")])
CHINESE = [path for path in PAGES if path.name.endswith(".zh.md")]


def blocks(text: str, language: str | None = None) -> list[str]:
    """Return the fenced blocks of a page, of one language ("" for none) or of all."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for tag, code in found if language in (None, tag)]


def parts_of(code: str) -> list[str]:
    """Split a block into words, or Python into tokens, without comments."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
        compile(code, "page", "exec")
    except (SyntaxError, tokenize.TokenError):
        return [part for line in code.splitlines() for part in [*re.sub(r"\s+#.*", "", line).split(), "\n"]]
    return [token.string for token in tokens if token.type not in (tokenize.COMMENT, tokenize.NL)]


def is_chinese(text: str) -> bool:
    return re.search(r"[\u4e00-\u9fff]", text) is not None


@pytest.mark.parametrize("page", CHINESE, ids=lambda path: path.name)
def test_both_languages_show_the_same_code(page: Path) -> None:
    english = page.with_name(page.name.replace(".zh.md", ".md")).read_text(encoding="utf-8")
    pairs = itertools.zip_longest(blocks(english), blocks(page.read_text(encoding="utf-8")), fillvalue="")
    for ours, theirs in pairs:
        other = [
            mine if is_chinese(part) else part
            for mine, part in itertools.zip_longest(parts_of(ours), parts_of(theirs), fillvalue="")
        ]
        assert other == parts_of(ours)


def test_two_blocks_that_differ_are_found_out() -> None:
    assert blocks("```\na\n```\ntext\n```python\nb\n```\n") == ["a\n", "b\n"]
    assert parts_of("w2v train a.txt  # a text\n") == parts_of("w2v train a.txt   # 文本\n")
    assert parts_of("f(x)  # one\n") == parts_of("f(x)  # 一\n") != parts_of("f(y)\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        other = page.parent / name if name else page
        assert other.exists(), target
        assert not anchor or anchor in headings(other), target


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def commands(page: Path) -> Iterator[str]:
    """Yield the w2v commands in the blocks and in the prose of a page."""
    text = page.read_text(encoding="utf-8")
    lines = [line.removeprefix("$ ") for block in blocks(text, "") for line in block.splitlines()]
    lines += re.findall(r"`(w2v [^`]*)`", text)
    for line in lines:
        if re.match(r"w2v [a-z]+ (?!  )[^{]*$", line):
            yield line


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_have_the_options_they_show(page: Path) -> None:
    for line in commands(page):
        command: click.Command = cli
        words = shlex.split(line, comments=True)[1:]
        context = click.Context(cli)
        while isinstance(command, click.Group):
            name = words.pop(0)
            found = command.get_command(context, name)
            assert found is not None, line
            command, context = found, click.Context(found, parent=context)
            if not words:
                break
        command.make_parser(context).parse_args(words)


NEW = {"training/cpu/tree_kernels.py", "training/cpu/subword_kernels.py"}  # for the reader to write


def test_the_architecture_names_what_exists() -> None:
    text = (FOLDER / "docs" / "architecture.md").read_text(encoding="utf-8")
    roots = [FOLDER, FOLDER / "w2v", FOLDER / "w2v" / "corpus", FOLDER / "w2v" / "training"]
    names = re.findall(r"(?<![\w/])(?!docs/)((?:[a-z0-9_]+/)+[a-z_]+)(\.py)?((?:\.[A-Za-z_]+)*)", text)
    assert len(names) > 40
    for stem, suffix, attributes in names:
        if stem + suffix in NEW:
            continue
        places = [root / stem for root in roots if (root / f"{stem}.py").exists() or (root / stem).exists()]
        assert places, stem
        source = places[0].with_suffix(".py")
        for name in attributes.split(".")[1:]:
            assert re.search(rf"\b(def|class) {name}\b", source.read_text(encoding="utf-8")), (stem, name)
