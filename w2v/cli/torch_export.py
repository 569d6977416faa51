"""The options and the work of `--to torch` and `--to torch-pt`, for convert and export."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from w2v.cli.options import combined
from w2v.cli.output import plural, shown
from w2v.errors import MissingExtraError

if TYPE_CHECKING:
    from w2v.embeddings import Embeddings
    from w2v.pytorch import WordEmbedding

CHECKPOINT = "torch-pt"
KINDS = ("torch", CHECKPOINT)
_OPTIONS = (
    click.option(
        "--freeze/--trainable",
        default=True,
        show_default=True,
        help="torch: whether the embedding is frozen.",
    ),
    click.option(
        "--padding",
        metavar="TOKEN",
        default="<pad>",
        show_default=True,
        help="torch: padding, row 0, all zeros.",
    ),
    click.option("--no-padding", is_flag=True, help="torch: no row for padding."),
    click.option(
        "--unknown", metavar="TOKEN", default="<unk>", show_default=True, help="torch: unknown words, row 1."
    ),
    click.option("--no-unknown", is_flag=True, help="torch: no row for unknown words."),
    click.option(
        "--special",
        "specials",
        metavar="TOKEN",
        multiple=True,
        help="torch: an extra token, with a row before the words. Repeatable.",
    ),
    click.option(
        "--unknown-init",
        type=click.Choice(("mean", "zero", "random")),
        default="mean",
        show_default=True,
        help="torch: how rows of tokens without a vector begin.",
    ),
    click.option(
        "--matching",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="torch: rows for this vocabulary instead: a word list, JSON {word: id}, or tokenizer.json.",
    ),
    click.option("--fold-case", is_flag=True, help="torch: with --matching, try other letter cases too."),
    click.option(
        "--scale",
        type=click.FloatRange(0, min_open=True),
        default=1.0,
        show_default=True,
        help="torch: multiply the vectors by this.",
    ),
    click.option(
        "--max-norm",
        type=click.FloatRange(0, min_open=True),
        help="torch: shorten longer rows to this L2 norm.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="torch: seed of random rows."
    ),
)
torch_options = combined(*_OPTIONS)
_NAMES = tuple(option(click.Command("")).params[0].name for option in _OPTIONS)


def take_options(values: dict[str, Any], kind: str) -> dict[str, Any]:
    """Take these options out of all that were parsed.

    Raises
    ------
    click.UsageError
        If one was given for another format, or two contradict each other.
    """
    taken = {name: values.pop(name) for name in _NAMES}
    context = click.get_current_context()
    given = [name for name in _NAMES if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given and kind not in KINDS:
        raise click.UsageError(f"{_flag(given[0])} is for --to {' and --to '.join(KINDS)}, not for {kind}")
    if taken["matching"] is None and taken["fold_case"]:
        raise click.UsageError("--fold-case needs --matching")
    rows = [name for name in ("no_padding", "no_unknown", "specials") if name in given]
    if taken["matching"] is not None and rows:
        raise click.UsageError(f"{_flag(rows[0])} does not go with --matching, whose tokens are all the rows")
    for name in ("padding", "unknown"):
        is_default_of_matched = taken["matching"] is not None and name not in given
        if taken.pop(f"no_{name}") or is_default_of_matched:
            taken[name] = None
    return taken


def check_installed(kind: str) -> None:
    """Raise MissingExtraError now, rather than after a long reading, if torch is not there."""
    if kind in KINDS:
        importlib.import_module("w2v.pytorch")
    if kind == "torch" and importlib.util.find_spec("safetensors") is None:
        raise MissingExtraError("safetensors", "torch")


def export_torch(
    model: Embeddings, target: Path, kind: str, options: Mapping[str, Any], *, context: bool, dtype: str
) -> None:
    """Write an embedding and say what it is."""
    import torch

    from w2v.pytorch import load_embedding, match_vocabulary, save_checkpoint, save_embedding

    left = dict(options)
    vocabulary, fold_case = left.pop("matching"), left.pop("fold_case")
    left.update(context=context, dtype=getattr(torch, dtype))
    if vocabulary is None:
        embedding = load_embedding(model, **left)
    else:
        left.pop("specials")
        embedding, report = match_vocabulary(model, vocabulary, fold_case=fold_case, **left)
        click.echo(f"{vocabulary}: {report}", err=True)
    save = save_checkpoint if kind == CHECKPOINT else save_embedding
    save(embedding, target)
    click.echo(f"{target}: {_described(embedding)}", err=True)


def _described(embedding: WordEmbedding) -> str:
    vocab = embedding.vocab
    places = [
        f"{shown(token)} is row {row}"
        for token, row in ((vocab.padding, vocab.padding_id), (vocab.unknown, vocab.unknown_id))
        if token is not None
    ]
    places.append(f"words from row {vocab.n_specials}")
    state = "trainable" if embedding.weight.requires_grad else "frozen"
    size = f"{plural(embedding.num_embeddings, 'row')}, {plural(embedding.embedding_dim, 'dimension')}"
    return f"{size} ({', '.join(places)}), {state}"


def _flag(name: str) -> str:
    return {"specials": "--special", "freeze": "--freeze"}.get(name, "--" + name.replace("_", "-"))
