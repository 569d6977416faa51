"""Commands around corpora: corpus stats, wiki, fetch, demo, cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2v.cli.model_options import json_option
from w2v.cli.options import read_everything, reading_options, weights_report
from w2v.cli.output import plural, print_json, print_table, rough_duration, shown, size

if TYPE_CHECKING:
    from w2v.corpus import EncodedCorpus
    from w2v.corpus.ids.cache import CachedCorpus
    from w2v.corpus.tools.fetch import PublicCorpus
    from w2v.corpus.tools.stats import CorpusStats
    from w2v.training.cost import Estimate


output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The file to write.",
)


@click.group(no_args_is_help=True)
def corpus() -> None:
    """Describe, fetch or make a corpus; manage the cache.

    \b
    Example:
      w2v corpus stats corpus.txt
      w2v corpus demo -o demo.txt
    """


@corpus.command(no_args_is_help=True)
@reading_options
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Plot Zipf's law to a png, svg or pdf."
)
@json_option
def stats(plot: Path | None, as_json: bool, **values: Any) -> None:
    """Describe a CORPUS before training: sizes, coverage, Zipf's law, what training will cost.

    CORPUS and the reading options are those of w2v train.

    \b
    Example:
      w2v corpus stats corpus.txt --lowercase
      w2v corpus stats zh.txt --tokenizer jieba --plot zipf.png
    """
    from w2v.config import TrainConfig
    from w2v.corpus.tools.stats import corpus_advice, describe_corpus, plot_zipf
    from w2v.training.cost import estimate

    encoded = read_everything(values)
    described = describe_corpus(encoded)
    counts = encoded.vocab.counts
    cost = estimate(counts[counts >= 5], encoded.n_tokens, TrainConfig())
    hints = corpus_advice(described)
    if plot is not None:
        plot_zipf(counts, plot)
        click.echo(f"Wrote {plot}", err=True)
    if as_json:
        report = asdict(encoded.report)
        print_json(
            {
                "read": {key: value for key, value in report.items() if key != "from_cache"},
                "encoding": values["encoding"],
                **_plain(asdict(described)),
                "estimate": cost._asdict(),
                "advice": hints,
            }
        )
    else:
        _print_stats(encoded, described, cost, values["encoding"])
        for hint in hints:
            click.echo(f"* {hint}")


@corpus.command(no_args_is_help=True)
@reading_options
@output_option
def wiki(output: Path, **values: Any) -> None:
    """Extract the text of a MediaWiki dump (pages-articles.xml.bz2), one paragraph a line.

    Redirects, disambiguation pages, headings, tables, notes and templates are left out; gensim's wikicorpus
    strips the markup, on all cores. The text is not tokenized unless --tokenizer says how. w2v train can also
    read a dump directly.

    \b
    Example:
      w2v corpus wiki enwiki-latest-pages-articles.xml.bz2 -o text
      w2v corpus wiki dump.xml.bz2 --tokenizer words --lowercase --sentences split -o text
    """
    from w2v.corpus.tools.write_text import write_sentences
    from w2v.files.atomic import new_file

    tokenizer = values["tokenizer"] or "whitespace"
    encoded = read_everything(values, format="wiki", tokenizer=tokenizer)
    with new_file(output) as file:
        write_sentences(encoded, file)
    read = f"{plural(encoded.n_tokens, 'word')} in {plural(encoded.n_sentences, 'line')}"
    click.echo(f"Wrote {read} to {output}", err=True)


@corpus.command()
@click.argument("name", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Copy the packed file there (default: leave it in gensim's folder, ~/gensim-data).",
)
@json_option
def fetch(name: str | None, output: Path | None, as_json: bool) -> None:
    """Download a public corpus such as text8 from gensim's data repository; without a NAME, list them.

    Licence and size are shown first. The path of the file goes to standard output; w2v train reads the file
    as it is. A file that is already there is not downloaded again.

    \b
    Example:
      w2v corpus fetch
      w2v train $(w2v corpus fetch text8) -o model
    """
    from w2v.corpus.tools.fetch import fetch as fetch_corpus
    from w2v.corpus.tools.fetch import find_corpus, list_corpora

    if name is None:
        _print_public(list_corpora(), as_json)
        return
    found = find_corpus(name)
    click.echo(f"{found.name}: {found.description}", err=True)
    click.echo(f"  size {size(found.n_bytes)} (packed)", err=True)
    click.echo(f"  licence {found.licence}", err=True)
    for more in found.more:
        click.echo(f"  see {shown(more)}", err=True)
    path = fetch_corpus(found, output)
    if as_json:
        print_json({**found._asdict(), "path": str(path)})
    else:
        click.echo(str(path))


@corpus.command()
@output_option
def demo(output: Path) -> None:
    """Write a small corpus of real English: the prose of a hundred Wikipedia articles.

    It comes from an excerpt of a Wikipedia dump inside the gensim package, so nothing is downloaded.
    One sentence a line, lower-cased words, no punctuation. The text is Wikipedia's, under CC BY-SA 3.0.

    \b
    Example:
      w2v corpus demo -o demo.txt
    """
    from w2v.corpus.tools.demo import write_demo
    from w2v.files.atomic import new_file

    with new_file(output) as file:
        made = write_demo(file)
    click.echo(
        f"Wrote {plural(made.words, 'word')} in {plural(made.sentences, 'sentence')} of "
        f"{plural(made.articles, 'Wikipedia article')} to {output}",
        err=True,
    )


@corpus.command()
@click.option("--clear", is_flag=True, help="Remove all entries.")
@click.option("--cache-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="Another cache folder.")
@json_option
def cache(clear: bool, cache_dir: Path | None, as_json: bool) -> None:
    """List the encoded corpora that are kept for the next run, or remove them.

    An entry takes four bytes a word of text. One that was removed is made again when it is needed.

    \b
    Example:
      w2v corpus cache
      w2v corpus cache --clear
    """
    from w2v.corpus.ids.cache import open_cache

    store = open_cache(cache_dir)
    if clear:
        n_bytes = store.clear()
        click.echo(f"Removed {size(n_bytes)} from {store.root}", err=True)
    found = store.corpora()
    if as_json:
        print_json({"folder": str(store.root), "corpora": [entry._asdict() for entry in found]})
    elif not clear:
        _print_corpora(found, store.root)


def _print_corpora(found: list[CachedCorpus], root: Path | None) -> None:
    number = plural(len(found), "encoded corpus", "encoded corpora")
    click.echo(f"{number}, {size(sum(one.n_bytes for one in found))}, in {root}")
    print_table(
        (
            (
                size(one.n_bytes),
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


def _print_public(corpora: Sequence[PublicCorpus], as_json: bool) -> None:
    if as_json:
        print_json([corpus._asdict() for corpus in corpora])
        return
    rows = [(corpus.name, size(corpus.n_bytes), shown(corpus.licence[:60])) for corpus in corpora]
    print_table(rows, header=("name", "size", "licence"), right=(1,))


def _print_stats(encoded: EncodedCorpus, stats: CorpusStats, cost: Estimate, encoding: str) -> None:
    from w2v.corpus.tools.stats import zipf_chart

    report = encoded.report
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(report.kinds.items()))
    words = ", ".join(f"{shown(word)} {count:,}" for word, count in stats.most_frequent)
    rows = [
        ("files", f"{report.files:,} ({kinds}), {size(report.bytes)} unpacked, {encoding}"),
        ("sentences", f"{stats.sentences:,}, and {plural(report.blank, 'blank line')}"),
        ("tokens", f"{stats.tokens:,}"),
        ("a sentence", f"{stats.mean_sentence:.1f} tokens on average, {stats.longest_sentence:,} at most"),
        ("words", f"{stats.types:,}, of which {stats.once:,} occur once"),
        ("most frequent", words),
    ]
    if report.replaced:
        rows.append(("replaced", f"{report.replaced:,} undecodable byte sequences"))
    rows += [("weights", line) for line in weights_report(report)]
    if report.skipped:
        rows.append(("left out", plural(report.skipped, "bad record")))
    print_table(rows)
    click.echo()
    print_table(
        [(f"{row.min_count}", f"{row.words:,}", f"{row.tokens:.1%}") for row in stats.coverage],
        header=("min_count", "words", "tokens"),
        right=(0, 1, 2),
    )
    click.echo()
    print_table(
        [(f"{row.sample:g}", f"{row.tokens:.1%}") for row in stats.subsampling],
        header=("sample", "tokens left (min_count 5)"),
        right=(0, 1),
    )
    exponent = "" if stats.zipf_exponent != stats.zipf_exponent else f", exponent {stats.zipf_exponent:.2f}"
    click.echo(f"\nZipf's law: occurrences over rank{exponent}")
    click.echo(zipf_chart(encoded.vocab.counts))
    click.echo()
    _print_cost(cost)


def _print_cost(cost: Estimate) -> None:
    click.echo("training with the defaults, estimated")
    rows = [
        ("words", f"{cost.words:,}"),
        ("tokens an epoch", f"{cost.trained_tokens:,} after min_count and subsampling"),
        ("memory", size(cost.memory_bytes)),
        ("model", f"{size(cost.disk_bytes)} on disk"),
        ("time", f"{rough_duration(cost.seconds)} on this machine's cores, give or take half"),
    ]
    print_table(rows, indent=2)


def _plain(value: Any) -> Any:
    """Make JSON of what may hold NaN."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
