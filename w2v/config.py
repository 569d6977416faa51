"""Every setting with its default, range and help: the one place where library and command line read them."""

from __future__ import annotations

import codecs
import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

from w2v.errors import ConfigError
from w2v.objectives import KERNELS, MODELS, Objective, objective_of
from w2v.system.processes import usable_cores


def setting(
    default: Any,
    help: str,  # noqa: A002 - the word click uses
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] = (),
    is_file: bool = False,
) -> Any:
    """Declare a dataclass field with its help and its range (`low` and `high` included, `above` excluded)."""
    limits = {"low": low, "high": high, "above": above, "choices": choices, "is_file": is_file}
    return dataclasses.field(default=default, metadata={"help": help, **limits})


class _Checked:
    """Base of the config classes: every declared range is checked once, when the object is made."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # a number of numpy
                object.__setattr__(self, field.name, value := value.item())
            if value is not None:
                _check(field.name, value, field.metadata, str(field.type).split(" ")[0])


def _check(name: str, value: Any, limits: Any, kind: str) -> None:
    if limits["choices"] and value not in limits["choices"]:
        raise ConfigError(f"{name} must be one of {', '.join(limits['choices'])}; got {_shown(value)}")
    if kind in ("int", "float"):
        _check_number(name, value, limits, kind)
    elif kind == "bool" and not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False; got {_shown(value)}")
    elif kind == "str":
        _check_text(name, value, may_be_bytes=limits["is_file"])


def _check_number(name: str, value: Any, limits: Any, kind: str) -> None:
    if not isinstance(value, (int, float) if kind == "float" else int) or isinstance(value, bool):
        raise ConfigError(f"{name} must be a number of type {kind}; got {_shown(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{name} must be finite; got {value!r}")
    low, high, above = limits["low"], limits["high"], limits["above"]
    if low is not None and value < low:
        raise ConfigError(f"{name} must be at least {low}; got {_shown(value)}")
    if high is not None and value > high:
        raise ConfigError(f"{name} must be at most {high}; got {_shown(value)}")
    if above is not None and value <= above:
        raise ConfigError(f"{name} must be greater than {above}; got {_shown(value)}")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ConfigError(f"{name} must be a number of 64 bits; got {_shown(value)}")


def _check_text(name: str, value: Any, *, may_be_bytes: bool) -> None:
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a str; got {_shown(value)}")
    # In the name of a file, lone surrogates stand for bytes that are not UTF-8.
    if "\0" in value or (not may_be_bytes and any("\ud800" <= letter <= "\udfff" for letter in value)):
        raise ConfigError(f"{name} must be text; got {_shown(value)}")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True)
class VocabConfig(_Checked):
    """Which words get a row."""

    min_count: int = setting(5, "Drop words that occur less often than this.", low=1)
    max_vocab: int | None = setting(None, "Keep only the N most frequent words.", low=1)


_TOKENS_TO_READ = 85_000_000


@dataclass(frozen=True)
class TrainConfig(_Checked):
    """Settings of one training run; names are gensim's.

    `alpha` and `epochs` follow from the model and the size of the corpus where they are None: `resolved`.
    """

    model: str = setting(MODELS[0], "Skip-gram or continuous bag of words.", choices=MODELS)
    kernel: str = setting(
        KERNELS[0],
        "block: many pairs at once, negatives shared (fast); exact: one update a pair, as word2vec.c.",
        choices=KERNELS,
    )
    vector_size: int = setting(100, "Dimensions of the vectors.", low=1, high=65_536)
    window: int = setting(5, "Most words between centre and context.", low=1, high=1_000)
    shrink_windows: bool = setting(
        True, "Random window widths, 1..window (skip-gram blocks: their average); otherwise fixed."
    )
    negative: int = setting(5, "Negative samples per pair.", low=1, high=1_000)
    ns_exponent: float = setting(0.75, "Negatives are drawn by count ** ns_exponent.", low=-10, high=10)
    sample: float = setting(
        1e-3, "Subsample words of a higher relative frequency; 0 keeps all.", low=0, high=1
    )
    alpha: float | None = setting(
        None,
        "Learning rate at the start (default: by model; less for many negatives or wide windows).",
        above=0,
        high=10,
    )
    min_alpha: float = setting(1e-4, "Learning rate at the end.", low=0, high=10)
    epochs: int | None = setting(
        None, "Passes over the corpus (default: by its size, 5 to 30).", low=1, high=1_000_000
    )
    workers: int = setting(usable_cores(), "Training threads.", low=1, high=1_024)
    seed: int = setting(1, "Seed of every random draw.", low=0, high=2**63 - 1)
    block_size: int = setting(32, "Positions per block (block kernel; even).", low=2, high=1_024)
    block_negatives: int | None = setting(
        None, "Negatives shared by a block (block kernel; even; default: by model).", low=2, high=1_024
    )
    cbow_update: str = setting(
        "corrected",
        "corrected: the gradient of the mean (Irsoy et al. 2020); original: word2vec.c's and gensim's.",
        choices=("corrected", "original"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("block_size", "block_negatives"):
            value = getattr(self, name)
            if value is not None and value % 2:
                raise ConfigError(f"{name} must be even; got {value}")
        if self.alpha is not None and self.min_alpha > self.alpha:
            raise ConfigError(f"min_alpha must be at most alpha, {self.alpha:g}; got {self.min_alpha:g}")
        objective_of(self.model, self.kernel)

    @property
    def objective(self) -> Objective:
        """The record of this model and kernel."""
        return objective_of(self.model, self.kernel)

    def resolved(self, n_tokens: int) -> TrainConfig:
        """Fill in what depends on the model and on a corpus of `n_tokens` raw tokens.

        The values are those that did best on real text of 1 to 17 million words: docs/performance.md.
        """
        alpha, min_alpha, epochs = self.alpha, self.min_alpha, self.epochs
        if alpha is None:
            share = self.objective.rate(self.negative, self.window, self.block_size)
            if min_alpha == type(self).min_alpha:
                min_alpha *= share
            alpha = max(share * self.objective.alphas[self.cbow_update], min_alpha)
        if epochs is None:
            epochs = max(5, min(30, round(_TOKENS_TO_READ / n_tokens)))
        negatives = self.block_negatives or self.objective.block_negatives
        return dataclasses.replace(
            self, alpha=alpha, min_alpha=min_alpha, epochs=epochs, block_negatives=negatives
        )


# How two vectors are scored; the first two of them are similarities, the others distances.
METRICS = ("cosine", "dot", "euclidean", "manhattan")
SIMILARITIES = METRICS[:2]
ANALOGY_METHODS = ("3CosAdd", "3CosMul")

# What w2v.corpus.read.kinds and w2v.corpus.tokens.tokenizers have a record of; tests hold that they agree.
CORPUS_FORMATS = ("text", "jsonl", "csv", "tsv", "parquet", "wiki")
TOKENIZERS = ("whitespace", "words", "chars", "jieba")

TokenizerChoice: TypeAlias = "str | Callable[[str], Iterable[str]] | None"


@dataclass(frozen=True)
class CorpusConfig(_Checked):
    """How text is read and cut into words."""

    format: str = setting(
        "auto",
        "Kind of the files; auto recognises it by content (CSV and TSV by name).",
        choices=("auto", *CORPUS_FORMATS),
    )
    field: str = setting("text", "Field or column with the text, in JSONL, CSV, TSV and Parquet.")
    weights_field: str | None = setting(
        None,
        "Field or column with a weight, 0 to 1000: a record of weight 2 is read twice, one of 1.3 once and "
        "by chance once more, one of 0 not at all.",
    )
    weights_seed: int = setting(1, "Seed of the chance for fractions of weights.", low=0)
    tokenizer: TokenizerChoice = setting(  # noqa: RUF009 - a field, as the others
        None,
        "whitespace, words, chars, jieba, or a Hugging Face tokenizer.json (default: whitespace; words for a "
        "Wikipedia dump).",
    )
    user_dict: str | None = setting(
        None, "More words for jieba, one per line: word, or word and frequency.", is_file=True
    )
    normalize: str = setting("none", "Unicode normalisation of the text.", choices=("none", "nfc", "nfkc"))
    t2s: bool = setting(False, "Turn traditional Chinese into simplified (OpenCC).")
    s2t: bool = setting(False, "Turn simplified Chinese into traditional (OpenCC).")
    lowercase: bool = setting(False, "Lower-case the words, as Python's str.lower.")
    drop_punctuation: bool | None = setting(
        None, "Drop tokens of punctuation and symbols only (default: yes for words, chars and jieba)."
    )
    numbers: str = setting(
        "keep", "Numbers: keep, drop, or zero (each digit becomes 0).", choices=("keep", "drop", "zero")
    )
    sentences: str = setting(
        "line",
        "A sentence is a line; or split: also end it at sentence ends; or none: a whole file or record.",
        choices=("line", "split", "none"),
    )
    language: str = setting("en", "Language code whose abbreviations --sentences split knows.")
    encoding: str = setting("utf-8", "Text encoding of the files, any that Python knows.")
    errors: str = setting(
        "strict",
        "strict: text that cannot be decoded is an error; replace: it becomes U+FFFD, counted and reported.",
        choices=("strict", "replace"),
    )
    skip_bad_records: bool = setting(
        False, "Leave out records that cannot be read or lack the field; they are counted and reported."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_text_encoding(self.encoding):
            raise ConfigError(
                "encoding must be a text encoding that Python knows, such as gb18030, utf-16 or latin-1; "
                f"got {self.encoding!r}"
            )
        if self.t2s and self.s2t:
            raise ConfigError("t2s and s2t are opposites; choose one")
        if self.user_dict is not None and self.tokenizer != "jieba":
            raise ConfigError("user_dict is for the tokenizer jieba")
        _check_tokenizer(self.tokenizer)


def _check_tokenizer(tokenizer: Any) -> None:
    if tokenizer is None or tokenizer in TOKENIZERS or callable(tokenizer):
        return
    if not isinstance(tokenizer, str) or not tokenizer.endswith(".json") or "\0" in tokenizer:
        names = ", ".join(TOKENIZERS)
        raise ConfigError(f"tokenizer must be one of {names}, or a tokenizer.json; got {_shown(tokenizer)}")


@dataclass(frozen=True)
class PhraseConfig(_Checked):
    """Which words that stand together become one, such as new_york; names are those of gensim's Phrases."""

    phrases: int = setting(0, "Number of passes, each joins two words; 0 joins none.", low=0, high=10)
    phrase_min_count: int = setting(5, "Join words that occur together at least this often.", low=1)
    phrase_threshold: float = setting(
        10.0, "Join words that score above this; npmi scores lie between -1 and 1.", low=-1
    )
    phrase_scoring: str = setting(
        "default",
        "default: Mikolov et al. 2013, as word2phrase; npmi: Bouma 2009.",
        choices=("default", "npmi"),
    )
    phrase_delimiter: str = setting("_", "String between joined words; '' for Chinese.")
    phrase_connectors: str = setting(
        "none",
        "Words that may be inside a phrase but not at its ends: none, en, zh, or a file, one word per line.",
        is_file=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        threshold = self.phrase_threshold
        if self.phrase_scoring == "npmi" and not -1 < threshold < 1:
            raise ConfigError(
                f"npmi scores lie between -1 and 1, so phrase_threshold must too (try 0.5); got {threshold:g}"
            )
        if self.phrase_scoring == "default" and threshold <= 0:
            raise ConfigError(
                f"phrase_threshold must be greater than 0 for the default scoring; got {threshold:g}"
            )


def _is_text_encoding(name: str) -> bool:
    try:
        codecs.getincrementaldecoder(name)
        b"a".decode(name)
    except UnicodeError:  # a lone "a" is half a character in UTF-16
        return True
    except (LookupError, TypeError, ValueError):
        return False
    return True


class Settings(TypedDict, total=False):
    """All fields of the config classes, for `w2v.train(**settings)`; a test compares them."""

    model: str
    kernel: str
    vector_size: int
    window: int
    shrink_windows: bool
    negative: int
    ns_exponent: float
    sample: float
    alpha: float | None
    min_alpha: float
    epochs: int | None
    workers: int
    seed: int
    block_size: int
    block_negatives: int | None
    cbow_update: str
    min_count: int
    max_vocab: int | None
    format: str
    field: str
    weights_field: str | None
    weights_seed: int
    tokenizer: TokenizerChoice
    user_dict: str | None
    normalize: str
    t2s: bool
    s2t: bool
    lowercase: bool
    drop_punctuation: bool | None
    numbers: str
    sentences: str
    language: str
    encoding: str
    errors: str
    skip_bad_records: bool
    phrases: int
    phrase_min_count: int
    phrase_threshold: float
    phrase_scoring: str
    phrase_delimiter: str
    phrase_connectors: str
