"""The command that joins words which occur together: phrases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from w2v.cli.model_options import json_option
from w2v.cli.options import make_config, read_everything, reading_options
from w2v.cli.output import plural, print_json, print_table, shown
from w2v.config import PhraseConfig


@click.command(no_args_is_help=True)
@reading_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the text with the phrases joined, instead of the list.",
)
@click.option("-n", "--top", type=click.IntRange(1), metavar="N", help="List only the best N of each pass.")
@json_option
def phrases(output: Path | None, top: int | None, as_json: bool, **values: Any) -> None:
    """Find words that often occur together, such as new york, and join them: new_york.

    CORPUS is anything that w2v train reads; --phrases 2 finds phrases of up to four words. The list has one
    phrase a line: words, count, score. w2v train --phrases N joins them while it reads.

    \b
    Example:
      w2v phrases corpus.txt -n 20
      w2v phrases corpus.txt --phrases 2 --phrase-connectors en -o joined.txt
      w2v phrases zh.txt --tokenizer jieba --phrase-delimiter '' --phrase-connectors zh -o joined.txt
    """
    values["phrases"] = values["phrases"] or 1
    if output is not None:
        _write(output, values)
    else:
        _list(values, top, as_json)


def _write(output: Path, values: dict[str, Any]) -> None:
    from w2v.corpus.tools.write_text import write_sentences
    from w2v.files.atomic import new_file

    corpus = read_everything(values)
    with new_file(output) as file:
        write_sentences(corpus, file)
    written = f"{plural(corpus.n_tokens, 'token')} in {plural(corpus.n_sentences, 'sentence')}"
    click.echo(f"Wrote {written} to {output}", err=True)


def _list(values: dict[str, Any], top: int | None, as_json: bool) -> None:
    from w2v.corpus.phrases import find_phrases

    config = make_config(PhraseConfig, values)
    found = []
    for number in range(config.phrases):
        best = find_phrases(read_everything(values, phrases=number), config)[:top]
        found += [(number + 1, phrase) for phrase in best]
    if as_json:
        print_json([{"pass": number, **phrase._asdict()} for number, phrase in found])
    else:
        rows = [
            (" ".join(map(shown, phrase.words)), f"{phrase.occurrences}", f"{phrase.score:.4g}")
            for _, phrase in found
        ]
        print_table(rows, right=(1, 2))
