"""Commands around corpora: corpus demo, corpus cache."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from w2v.cli.model_options import json_option
from w2v.cli.output import print_json, print_table, shown

if TYPE_CHECKING:
    from w2v.corpus.cache import CachedCorpus


@click.group(no_args_is_help=True)
def corpus() -> None:
    """Make a corpus to try things on; look at the cache.

    \b
    Example:
      w2v corpus demo -o demo.txt
      w2v corpus cache
    """


@corpus.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The file to write.",
)
def demo(output: Path) -> None:
    """Write a small corpus of real English: the prose of a hundred Wikipedia articles.

    It comes from an excerpt of a Wikipedia dump that the gensim package carries, so nothing is downloaded.
    One sentence a line, lower-cased words, no punctuation. The text is Wikipedia's, under CC BY-SA 3.0.

    \b
    Example:
      w2v corpus demo -o demo.txt
    """
    from w2v.corpus.demo import write_demo
    from w2v.formats.atomic import new_file

    with new_file(output) as file:
        made = write_demo(file)
    click.echo(
        f"Wrote {made.words:,} words in {made.sentences:,} sentences of {made.articles:,} Wikipedia articles "
        f"to {output}",
        err=True,
    )


@corpus.command()
@click.option("--clear", is_flag=True, help="Remove all entries.")
@click.option("--cache-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="Another cache folder.")
@json_option
def cache(clear: bool, cache_dir: Path | None, as_json: bool) -> None:
    """List the encoded corpora that are kept for the next run, or remove them.

    Each takes four bytes a word of its text, and is made again when it is needed.

    \b
    Example:
      w2v corpus cache
      w2v corpus cache --clear
    """
    from w2v.corpus.cache import open_cache

    store = open_cache(cache_dir)
    if clear:
        n_bytes = store.clear()
        click.echo(f"Removed {n_bytes / 1e6:,.1f} MB from {store.root}", err=True)
    found = store.corpora()
    if as_json:
        print_json({"folder": str(store.root), "corpora": [entry._asdict() for entry in found]})
    elif not clear:
        _print_corpora(found, store.root)


def _print_corpora(found: list[CachedCorpus], root: Path | None) -> None:
    click.echo(f"{len(found)} encoded corpora, {sum(one.n_bytes for one in found) / 1e6:,.1f} MB, in {root}")
    print_table(
        (
            (
                f"{one.n_bytes / 1e6:,.1f} MB",
                f"{one.n_tokens:,}",
                f"{one.n_types:,}",
                datetime.fromtimestamp(one.last_used).strftime("%Y-%m-%d %H:%M"),
                ", ".join(map(shown, one.files[:3])) + (", ..." if len(one.files) > 3 else ""),
            )
            for one in found
        ),
        header=("size", "tokens", "words", "last used", "files") if found else (),
        right=(0, 1, 2),
    )
