"""Click options made from the config dataclasses, and the arguments of every command that reads a corpus."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from w2v.cli.output import plural
from w2v.config import CorpusConfig, PhraseConfig, VocabConfig
from w2v.errors import ConfigError

if TYPE_CHECKING:
    from w2v.api import Reading
    from w2v.corpus import CorpusReport, EncodedCorpus
    from w2v.vectors.vocab import Vocab

Command = TypeVar("Command", bound=Callable[..., Any])
Config = TypeVar("Config")


def config_options(config: type, *, leave_out: Collection[str] = ()) -> Callable[[Command], Command]:
    """Return a decorator that gives a command one option a field of a config class.

    Name, type, range, default and help come from the field; a bool becomes `--x / --no-x`.
    """

    def decorate(command: Command) -> Command:
        for field in reversed(dataclasses.fields(config)):
            if field.name not in leave_out:
                command = _option(field)(command)
        return command

    return decorate


def combined(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command several arguments and options, in this order in its help."""

    def decorate(command: Command) -> Command:
        for one in reversed(decorators):
            command = one(command)
        return command

    return decorate


def make_config(config: type[Config], values: Mapping[str, Any]) -> Config:
    """Build a config from parsed options; other values are passed over.

    Raises
    ------
    click.UsageError
        If the config refuses the values.
    """
    names = {field.name for field in dataclasses.fields(config)}  # type: ignore[arg-type]
    try:
        return config(**{name: value for name, value in values.items() if name in names})
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def is_given(name: str) -> bool:
    """Return whether a parameter of the command that runs stands on its command line."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _as_sources(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> list[str | Path]:
    """Make paths of what are neither URLs, from which a Path would take a slash, nor standard input."""
    from w2v.corpus.read.files import STDIN
    from w2v.corpus.read.remote import is_url

    return [value if value == STDIN or is_url(value) else Path(value) for value in values]


def reading_options_with(metavar: str, *, required: bool = True) -> Callable[[Command], Command]:
    """Return a decorator for the argument `sources` and the options of reading; see `read_everything`."""
    return combined(
        click.argument("sources", nargs=-1, required=required, metavar=metavar, callback=_as_sources),
        config_options(CorpusConfig),
        config_options(PhraseConfig),
        click.option(
            "--read-workers",
            type=click.IntRange(1),
            metavar="N",
            help="Processes for the slower tokenizers (default: one a core).",
        ),
        click.option(
            "--cache-dir",
            type=click.Path(path_type=Path),
            metavar="FOLDER",
            help="Folder that keeps encoded corpora for later runs (default: the user's cache folder).",
        ),
        click.option("--no-cache", is_flag=True, help="Keep nothing for the next run."),
    )


reading_options = reading_options_with("CORPUS...")


def corpus_options(command: Command) -> Command:
    """Give a command the arguments CORPUS... and all options of reading; `read_corpus` takes them."""
    select = click.option(
        "--vocab",
        "vocab_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Take the words from a file, in its order: word, tab, count (as w2v vocab writes), or word and "
        "count, or words alone.",
    )
    return reading_options(config_options(VocabConfig)(select(command)))


def read_corpus(values: Mapping[str, Any]) -> EncodedCorpus:
    """Read the corpus that the options of `corpus_options` describe; a progress bar goes to stderr."""
    return _read(reading_of(values))


def read_everything(values: Mapping[str, Any], **changes: Any) -> EncodedCorpus:
    """Read the corpus that the options of `reading_options` describe, with all its words.

    `changes` take the place of options.
    """
    return _read(_reading({**values, **changes}, VocabConfig(min_count=1)))


def _read(reading: Reading) -> EncodedCorpus:
    corpus = reading.read()
    tell_corpus(corpus)
    return corpus


def reading_of(values: Mapping[str, Any]) -> Reading:
    """Return what the options of `corpus_options` describe, still to be read."""
    return _reading(values, _vocab(values))


def _reading(values: Mapping[str, Any], vocab: VocabConfig | Vocab) -> Reading:
    from w2v.api import Reading

    return Reading(
        list(values["sources"]),
        make_config(CorpusConfig, values),
        vocab,
        make_config(PhraseConfig, values),
        cache_dir=values["cache_dir"],
        cache=not values["no_cache"],
        workers=values["read_workers"],
    )


def tell_corpus(corpus: EncodedCorpus) -> None:
    """Say in a line on standard error what was read."""
    click.echo(f"Corpus: {describe(corpus)}", err=True)


def weights_report(report: CorpusReport) -> list[str]:
    """Say what weights did: one line, or none."""
    if not report.repeats and not report.weighted_out:
        return []
    its = "its weight" if report.weighted_out == 1 else "their weight"
    repeats = plural(report.repeats, "repeat")
    return [f"{repeats} by weight, {plural(report.weighted_out, 'record')} not read because of {its}"]


def describe(corpus: EncodedCorpus) -> str:
    """Say in a line what was read."""
    report = corpus.report
    known = 100 * corpus.n_known_tokens / corpus.n_tokens
    parts = [
        f"{plural(corpus.n_tokens, 'token')} in {plural(corpus.n_sentences, 'sentence')}",
        f"{len(corpus.vocab):,} of {corpus.n_types:,} words kept, {known:.1f} % of the tokens",
    ]
    if report.replaced:
        parts.append(f"{report.replaced:,} undecodable byte sequences replaced")
    if report.skipped:
        parts.append(f"{plural(report.skipped, 'bad record')} left out")
    parts += weights_report(report)
    return "; ".join(parts) + (" (from the cache)" if report.from_cache else "")


def _vocab(values: Mapping[str, Any]) -> VocabConfig | Vocab:
    if values["vocab_file"] is None:
        return make_config(VocabConfig, values)
    for field in dataclasses.fields(VocabConfig):
        if is_given(field.name):
            raise click.UsageError(f"--vocab says which words to take; leave out {_flag(field.name)}")
    from w2v.vectors.vocab_files import read_word_list

    return read_word_list(values["vocab_file"])


def _option(field: dataclasses.Field[Any]) -> Callable[[Command], Command]:
    kind, limits = str(field.type), field.metadata
    settings: dict[str, Any] = {
        "default": field.default,
        "show_default": field.default is not None,
        "help": limits["help"],
    }
    if kind.startswith("bool"):
        return click.option(f"{_flag(field.name)}/{_flag('no_' + field.name)}", field.name, **settings)
    if limits["choices"]:
        settings["type"] = click.Choice(limits["choices"])
    elif "int" in kind:
        settings["type"] = click.IntRange(limits["low"], limits["high"])
    elif "float" in kind:
        is_open = limits["above"] is not None
        low = limits["above"] if is_open else limits["low"]
        settings["type"] = click.FloatRange(low, limits["high"], min_open=is_open)
    return click.option(_flag(field.name), field.name, **settings)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
