"""The command that counts words: vocab."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2v.cli.model_options import json_option
from w2v.cli.options import corpus_options, read_corpus
from w2v.cli.output import plural, print_json

if TYPE_CHECKING:
    from w2v.corpus import EncodedCorpus


@click.command(no_args_is_help=True)
@corpus_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write (default: standard output).",
)
@json_option
def vocab(output: Path | None, as_json: bool, **values: Any) -> None:
    """Count the words of a CORPUS and write them, most frequent first: word, tab, count.

    CORPUS is files of text, JSONL, CSV, TSV, Parquet or Wikipedia dumps (also packed with gzip, bzip2, xz or
    zstd), folders, URLs, or - for standard input. Each line is a sentence, and tokens are separated by white
    space, unless --sentences and --tokenizer say otherwise.

    \b
    Example:
      w2v vocab corpus.txt -o vocab.tsv --min-count 5
      zcat *.gz | w2v vocab - --lowercase --max-vocab 50000 -o vocab.tsv
      w2v vocab zh.jsonl --tokenizer jieba
      w2v vocab other.txt --vocab vocab.tsv
    """
    from w2v.vectors.vocab_files import dump_vocab, write_vocab

    corpus = read_corpus(values)
    if output is not None:
        write_vocab(corpus.vocab, output)
        click.echo(f"Wrote {plural(len(corpus.vocab), 'word')} to {output}", err=True)
    if as_json:
        print_json(_summary(corpus, with_words=output is None))
    elif output is None:
        click.echo(dump_vocab(corpus.vocab), nl=False)


def _summary(corpus: EncodedCorpus, *, with_words: bool) -> dict[str, Any]:
    numbers = {
        "tokens": corpus.n_tokens,
        "known_tokens": corpus.n_known_tokens,
        "sentences": corpus.n_sentences,
        "types": corpus.n_types,
        "words": len(corpus.vocab),
        "files": corpus.report.files,
        "bytes": corpus.report.bytes,
        "blank_lines": corpus.report.blank,
        "replaced": corpus.report.replaced,
        "skipped_records": corpus.report.skipped,
        "repeats_by_weight": corpus.report.repeats,
        "records_not_read_by_weight": corpus.report.weighted_out,
        "fingerprint": corpus.fingerprint,
    }
    if not with_words:
        return numbers
    pairs = zip(corpus.vocab.words, corpus.vocab.counts.tolist(), strict=True)
    return {**numbers, "vocab": [{"word": word, "count": count} for word, count in pairs]}
