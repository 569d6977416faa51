"""Commands that write vectors in other formats: convert and export, one job with one list of options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from w2v.cli.model_options import model_argument
from w2v.cli.options import combined
from w2v.cli.output import plural
from w2v.cli.torch_export import CHECKPOINT, KINDS, check_installed, export_torch, take_options, torch_options
from w2v.formats.base import DTYPES

# The names of `w2v.formats.registry`, which is not imported for --help; a test compares them.
WRITABLE = (
    "folder",
    "word2vec",
    "word2vec-bin",
    "glove",
    "npy",
    "safetensors",
    "projector",
    "huggingface",
    "torch",
)
READABLE = (*WRITABLE, "fasttext-bin")

_options = combined(
    click.option(
        "--to",
        "to_format",
        type=click.Choice((*WRITABLE, CHECKPOINT)),
        help="Format to write.  [default: by the suffix of OUT]",
    ),
    click.option(
        "--from",
        "from_format",
        type=click.Choice(READABLE),
        help="Format to read.  [default: by content]",
    ),
    click.option(
        "--dtype",
        type=click.Choice((*DTYPES, "bfloat16")),
        default="float32",
        show_default=True,
        help="float16 is for npy, safetensors, huggingface, torch; bfloat16 for torch.",
    ),
    click.option("--top", type=click.IntRange(1), metavar="N", help="Keep only the first N words."),
    click.option(
        "--words",
        "word_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Keep only the words in this file, one a line (or word, tab, count).",
    ),
    click.option(
        "--read-counts",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Read the counts from lines `word count` (word2vec.c -save-vocab, gensim fvocab).",
    ),
    click.option(
        "--write-counts",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Also write the counts to such a file.",
    ),
    click.option("--context", is_flag=True, help="Write the context vectors (w_out) instead."),
    click.option("--skip-bad", is_flag=True, help="Leave out bad rows and count them, instead of stopping."),
    click.option(
        "--escape",
        is_flag=True,
        help=r"Escape words that word2vec or glove cannot hold (a space as \s).",
    ),
    click.option("--unescape", is_flag=True, help="Undo --escape in the words read."),
    torch_options,
)


@click.command(no_args_is_help=True)
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@_options
def convert(source: Path, target: Path, **options: Any) -> None:
    """Convert vectors from one format to another.

    The format of IN, packed (gzip, bzip2, xz, Zstandard) or not, is recognised by its content. The format of
    OUT is --to, or else follows from its suffix: .txt and .vec word2vec, .bin word2vec-bin, .npy,
    .safetensors, no suffix a model folder; .txt.gz and the like are packed. projector and huggingface write
    a folder.

    \b
    Example:
      w2v convert glove.6B.100d.txt my_model
      w2v convert GoogleNews-vectors-negative300.bin.gz top.npy --top 200000 --dtype float16
    """
    _convert(source, target, **options)


@click.command(no_args_is_help=True)
@model_argument
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    required=True,
    type=click.Path(path_type=Path),
    help="The file or folder to write.",
)
@_options
def export(model: Path, target: Path, **options: Any) -> None:
    """Write a model in the format of another tool: w2v convert, spelled with -o.

    \b
    Example:
      w2v export my_model --to word2vec-bin -o vectors.bin
      w2v export my_model --to huggingface -o my_static_model
      w2v export my_model --to torch -o my_embedding
    """
    _convert(model, target, **options)


def _convert(
    source: Path,
    target: Path,
    *,
    to_format: str | None,
    from_format: str | None,
    dtype: str,
    top: int | None,
    word_file: Path | None,
    read_counts: Path | None,
    write_counts: Path | None,
    context: bool,
    skip_bad: bool,
    escape: bool,
    unescape: bool,
    **options: Any,
) -> None:
    from w2v.embeddings import load
    from w2v.formats.registry import save_as, writer_for
    from w2v.vectors.vocab_files import read_words, with_counts
    from w2v.vectors.vocab_files import write_counts as write_count_file

    if to_format is None and target.suffix == ".pt":
        to_format = CHECKPOINT
    if to_format != CHECKPOINT:
        kind = writer_for(target, format=to_format, dtype=dtype)
        to_format = kind.name
    torch_values = take_options(options, to_format)
    check_installed(to_format)
    words = read_words(word_file)[0] if word_file is not None else None
    model = load(source, format=from_format, top=top, words=words, skip_bad=skip_bad, unescape=unescape)
    if read_counts is not None:
        model = with_counts(model, read_counts)
    if context and to_format not in KINDS:
        model = model.context_only()
    if write_counts is not None:
        write_count_file(model, write_counts)
    if to_format in KINDS:
        export_torch(model, target, to_format, torch_values, context=context, dtype=dtype)
        return
    save_as(model, target, format=kind.name, dtype=dtype, escape=escape)
    size = f"{plural(len(model), 'word')}, {plural(model.vector_size, 'dimension')}"
    click.echo(f"{target}: {size}, {kind.title}", err=True)
