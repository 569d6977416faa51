"""The command align: rotate one model onto another."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2v.cli.convert import WRITABLE
from w2v.cli.model_options import json_option
from w2v.cli.output import plural, print_json, print_table, shown

if TYPE_CHECKING:
    from w2v.alignment import Alignment


@click.command(no_args_is_help=True)
@click.argument("old", metavar="OLD", type=click.Path(path_type=Path))
@click.argument("new", metavar="NEW", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    required=True,
    type=click.Path(path_type=Path),
    help="The file or folder to write.",
)
@click.option(
    "--to",
    "to_format",
    type=click.Choice(WRITABLE),
    help="Format to write.  [default: by the suffix of OUT]",
)
@click.option(
    "--top", type=click.IntRange(1), metavar="N", help="Fit on the N most frequent shared words only."
)
@click.option(
    "--show",
    type=click.IntRange(0),
    metavar="N",
    default=10,
    show_default=True,
    help="Print the N words that moved most.",
)
@click.option(
    "--frequent",
    type=click.IntRange(1),
    metavar="N",
    default=10_000,
    show_default=True,
    help="Look for them among the first (most frequent) N words of both models.",
)
@json_option
def align(old: Path, new: Path, target: Path, to_format: str | None, as_json: bool, **options: Any) -> None:
    """Rotate the vectors of NEW onto those of OLD, to compare two periods or two corpora.

    Prints the cosines of the old and the new vectors of shared words before and after, and the words that
    moved most. The rotation is orthogonal Procrustes on unit vectors; context vectors are rotated, too.

    \b
    Example:
      w2v align model_1900 model_1990 -o model_1990_aligned
      w2v align old.txt new.bin -o aligned.txt --top 20000 --show 30
    """
    from w2v.alignment import align as align_models
    from w2v.formats.registry import save_as, writer_for

    kind = writer_for(target, format=to_format)
    found = align_models(old, new, **options)
    save_as(found.model, target, format=kind.name)
    if as_json:
        print_json(_as_dict(found))
    else:
        _print(found)
    size = f"{plural(len(found.model), 'word')}, {plural(found.model.vector_size, 'dimension')}"
    click.echo(f"{target}: {size}, {kind.title}", err=True)


def _as_dict(found: Alignment) -> dict[str, Any]:
    from w2v.alignment import QUANTILES

    return {
        "n_shared": found.n_shared,
        "n_fitted": found.n_fitted,
        "quantiles": QUANTILES,
        "before": asdict(found.before),
        "after": asdict(found.after),
        "moved": [word._asdict() for word in found.moved],
    }


def _print(found: Alignment) -> None:
    from w2v.alignment import QUANTILES

    click.echo(f"{plural(found.n_shared, 'shared word')}, fitted on {found.n_fitted:,}")
    rows = [
        (name, *(f"{value:.4f}" for value in (cosines.mean, *cosines.quantiles)))
        for name, cosines in (("before", found.before), ("after", found.after))
    ]
    header = ("cosine", "mean", *(f"{share:.0%}" for share in QUANTILES))
    print_table(rows, header=header, right=range(1, len(header)))
    if found.moved:
        click.echo("\nmoved most (cosine after)")
        print_table([(shown(word), f"{cosine:.4f}") for word, cosine in found.moved], right=(1,), indent=2)
