"""Cutting text into tokens: white space, Unicode words, single characters, jieba, Hugging Face, a callable.

A tokenizer is *local* if white space always ends a token, so that cutting each distinct word between white
space once is cutting the text. `describe` writes down what was used, and `make_cutter` makes from that what
does the same to the words a person types.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from w2v.config import CorpusConfig
from w2v.corpus.tokens.normalize import opencc_version, text_normalizer, token_rule
from w2v.errors import ConfigError, CorpusError, MissingExtraError
from w2v.vectors.origin import FILE_NAMES, Reading
from w2v.vectors.vocab import Vocab

# Hyphens join, unlike in UAX #29. The characters below stand for scripts written without spaces.
_HYPHENS = frozenset("-\u2010\u2011")
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u30a1-\u30fa"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_CHARS = re.compile(rf"[{_NO_SPACES}][\u0300-\u036f\u0e31\u0e34-\u0e4e\u3099\u309a\u30fc]*|[^{_NO_SPACES}]+")
_HAS_NO_SPACES = re.compile(f"[{_NO_SPACES}]").search
_READING_FIELDS = ("normalize", "t2s", "s2t", "lowercase", "numbers")
# Only in front of a frequency is a blank clearly part of the word.
_USER_DICT_LINE = re.compile(r"(\S+(?=\s+[A-Za-z]+$|$)|.+?(?=\s+\d))(?:\s+(\d+))?(?:\s+[A-Za-z]+)?")


Cut: TypeAlias = Callable[[Sequence[str]], Iterable[Iterable[str]]]
"""Cuts lines, without line breaks, into tokens. Blank ones among them are dropped later."""


class Tokenizer(NamedTuple):
    """How texts become tokens.

    Attributes
    ----------
    make_cut : callable
        Makes what cuts, of a config and of the files that stand for those on disk (see `Reading`). Raises
        MissingExtraError if the package is not installed, CorpusError if a file cannot be used.
    is_local : bool
        Whether a white space always ends a token.
    splits_at_spaces : bool
        Whether the tokens are just what stands between white space.
    has_dictionary : bool
        Whether words are looked up in a dictionary of simplified Chinese, which also has capitals, as in T恤.
        So not the text is lower-cased or turned into traditional characters, but the tokens are.
    drops_punctuation : bool
        The default of `drop_punctuation`.
    runs_in_processes : bool
        Whether several processes can share the work.
    package : (str, str or None), optional
        The package that cuts, and the extra of w2v that installs it.
    """

    make_cut: Callable[[CorpusConfig, Mapping[str, bytes]], Cut]
    is_local: bool = False
    splits_at_spaces: bool = False
    has_dictionary: bool = False
    drops_punctuation: bool = False
    runs_in_processes: bool = True
    package: tuple[str, str | None] | None = None


def tokenizer_of(config: CorpusConfig) -> Tokenizer:
    """Return the tokenizer that a config names."""
    if callable(config.tokenizer):
        return _CALLABLE
    return TOKENIZERS.get(config.tokenizer or "whitespace", _HUGGING_FACE)


def is_cut_at_spaces_only(config: CorpusConfig) -> bool:
    """Say whether tokens are just what stands between white space, and lines are sentences."""
    return (
        tokenizer_of(config).splits_at_spaces
        and config.normalize == "none"
        and config.numbers == "keep"
        and config.sentences == "line"
        and not (config.t2s or config.s2t or config.drop_punctuation)
    )


def describe(config: CorpusConfig) -> dict[str, Any]:
    """Write down, for a model's `config.json` and as a key of the cache, how text is read.

    Packages stand with their versions, files with their SHA-256.
    """
    reading = {name: getattr(config, name) for name in config.__dataclass_fields__}
    function, tokenizer = config.tokenizer, tokenizer_of(config)
    if callable(function):
        reading["tokenizer"] = f"callable {getattr(function, '__qualname__', type(function).__qualname__)}"
    if tokenizer.package is not None:
        reading["tokenizer_package"] = _package(*tokenizer.package)
    if tokenizer is _HUGGING_FACE:
        reading["tokenizer_sha256"] = _digest(str(function))
    if config.user_dict is not None:
        reading["user_dict_sha256"] = _digest(config.user_dict)
    if config.t2s or config.s2t:
        reading["opencc"] = opencc_version()
    if config.s2t and tokenizer.has_dictionary:
        reading["opencc"] += " after cutting"  # in version 0.1.0 before it
    if not config.skip_bad_records:
        del reading["skip_bad_records"]  # so that what version 0.1.0 has read is found in the cache
    if config.weights_field is None:
        del reading["weights_field"], reading["weights_seed"]
    if config.sentences == "split":
        reading["sentences_package"] = _package("sentencex")
    return reading


def read_files(reading: Mapping[str, Any]) -> Reading:
    """Return how a corpus was read together with the files that cut it, to be kept with a model.

    Parameters
    ----------
    reading : mapping
        What `describe` returned.

    Raises
    ------
    CorpusError
        If a file is gone or has changed since.
    """
    names = [name for name in FILE_NAMES if f"{name}_sha256" in reading]
    return Reading(reading, {name: _read_file(Reading(reading), name) for name in names})


def make_cutter(reading: Reading) -> Callable[[str], list[str]]:
    """Make what cuts a text as the corpus of a model was cut.

    Parameters
    ----------
    reading : Reading
        Without the content of a `tokenizer.json` or user dictionary, as models before version 0.2 have it,
        the file is taken from where it lay.

    Returns
    -------
    callable
        From a text to its tokens.

    Raises
    ------
    ConfigError
        If the corpus was cut by a Python callable.
    CorpusError
        If a file that is needed is gone or has changed.
    MissingExtraError
        If the tokenizer's package is not installed.
    """
    settings = reading.settings
    name = settings.get("tokenizer")
    if isinstance(name, str) and name.startswith("callable "):
        raise ConfigError(f"the words were cut by the Python {name}; cut the text by it yourself")
    names = (*_READING_FIELDS, "drop_punctuation", "tokenizer", "user_dict")
    config = CorpusConfig(**{key: settings[key] for key in names if key in settings})
    files = {key: _read_file(reading, key) for key in FILE_NAMES if f"{key}_sha256" in settings}
    cutter = Cutter(config, files)
    return lambda text: cutter.tokens([" ".join(text.splitlines())])[0]


def _read_file(reading: Reading, name: str) -> bytes:
    """Return the content of a file that cut the corpus, as it was then."""
    path, digest = reading.settings.get(name), reading.settings.get(f"{name}_sha256")
    data = reading.files.get(name)
    if data is None:
        with contextlib.suppress(OSError):
            data = Path(str(path)).read_bytes()
    if data is None or hashlib.sha256(data).hexdigest() != digest:
        state = "gone" if data is None else "not the one it was then"
        raise CorpusError(
            f"{path}: this file cut the corpus, but it is {state}; put it back, or give lists of tokens"
        )
    return data


def vocabulary_word(word: str, vocab: Vocab, reading: Reading | None) -> str:
    """Return the word of a vocabulary that a person means: as typed if it is there, or as the corpus was cut.

    Parameters
    ----------
    word : str
        Several tokens in it are tried as a phrase.
    vocab : Vocab
    reading : Reading, optional
        That of the model.

    Returns
    -------
    str
        The word as it is if it is found in no way.

    Raises
    ------
    CorpusError
        If the word is not there as typed, and the file that cut the corpus is gone.
    """
    if vocab.find(word) is not None:
        return word
    try:
        tokens = text_cutter(vocab, reading)(word)
    except (ConfigError, MissingExtraError):
        tokens = word.split()
    found = (reading or Reading({})).phrase_delimiter.join(tokens)
    return found if found and vocab.find(found) is not None else word


def text_cutter(words: Container[str], reading: Reading | None) -> Callable[[str], list[str]]:
    """Make what cuts texts as the corpus of a model was cut, and joins the phrases of its vocabulary.

    Parameters
    ----------
    words : container of str
        Of the model.
    reading : Reading, optional
        That of the model; without it texts are cut as by `str.split()`.

    Returns
    -------
    callable
        From a text to its tokens; raises as `make_cutter` does.
    """
    if reading is None:
        return str.split
    made = cache(functools.partial(make_cutter, reading))  # at the first text: token lists need none
    most = 2**reading.phrase_passes

    def cut(text: str) -> list[str]:
        tokens = made()(text)
        return _joined(tokens, words, reading.phrase_delimiter, most) if most > 1 else tokens

    return cut


def _joined(tokens: Sequence[str], words: Container[str], delimiter: str, most: int) -> list[str]:
    """Join the longest runs of at most `most` tokens that are words of the vocabulary, from left to right."""
    joined, start = [], 0
    while start < len(tokens):
        stop = min(start + most, len(tokens))
        while stop > start + 1 and delimiter.join(tokens[start:stop]) not in words:
            stop -= 1
        joined.append(delimiter.join(tokens[start:stop]))
        start = stop
    return joined


class Cutter:
    """A tokenizer with the normalisation before it and the rule for tokens after it."""

    def __init__(self, config: CorpusConfig, files: Mapping[str, bytes] | None = None) -> None:
        self.tokenizer = tokenizer_of(config)
        self._cut = self.tokenizer.make_cut(config, files or {})
        after = self.tokenizer.has_dictionary
        drops = config.drop_punctuation
        drops = self.tokenizer.drops_punctuation if drops is None else drops
        self.normalize = text_normalizer(
            config, s2t=config.s2t and not after, lowercase=config.lowercase and not after
        )
        self.rule = token_rule(
            config,
            s2t=config.s2t and after,
            lowercase=config.lowercase and after,
            drop_punctuation=drops,
        )

    def cut(self, lines: Sequence[str]) -> Iterable[Iterable[str]]:
        """Cut lines into tokens to which `rule` has yet to be applied; blank ones may be among them."""
        if self.normalize is not None and lines:
            lines = self.normalize("\n".join(lines)).split("\n")
        return self._cut(lines)

    def decide(self, token: str) -> str:
        """Return what a token becomes; "" if it is to be dropped."""
        if not token or token.isspace():
            return ""
        return token if self.rule is None else self.rule(token)

    def tokens(self, lines: Sequence[str]) -> list[list[str]]:
        """Cut lines into the tokens that stay."""
        return [[kept for token in line if (kept := self.decide(token))] for line in self.cut(lines)]


def _cut_at_spaces(lines: Sequence[str]) -> Iterable[list[str]]:
    return map(str.split, lines)


def _cut_words(lines: Sequence[str]) -> Iterable[list[str]]:
    from unicode_segmentation_rs import split_word_bounds

    for line in lines:
        # The common case by far: one plain word.
        if line.isalpha() and line.isascii():
            yield [line]
        else:
            yield _joined_at_hyphens(split_word_bounds(line.replace("\u2019", "'")))


def _joined_at_hyphens(pieces: Sequence[str]) -> list[str]:
    """Join pieces such as self, -, governed; strip underscores, which UAX #29 counts as letters."""
    words: list[str] = []
    can_join = False
    for position, piece in enumerate(pieces):
        if piece.isspace():
            can_join = False
            continue
        if can_join:
            words[-1] += piece
            can_join = False
        elif piece in _HYPHENS and words and _is_before_word(pieces, position):
            words[-1] += "-"
            can_join = True
        else:
            words.append(piece if piece.isalnum() else piece.strip("_") or piece)
    return words


def _is_before_word(pieces: Sequence[str], position: int) -> bool:
    """Say whether a hyphen stands between two letters or digits of scripts with spaces."""
    if position == 0 or position + 1 == len(pieces):
        return False
    before, after = pieces[position - 1][-1], pieces[position + 1][0]
    if not before.isalnum() or not after.isalnum():
        return False
    return not _HAS_NO_SPACES(before) and not _HAS_NO_SPACES(after)


def _cut_chars(lines: Sequence[str]) -> Iterable[list[str]]:
    for words in _cut_words(lines):
        if any(map(_HAS_NO_SPACES, words)):
            yield [letters for word in words for letters in _CHARS.findall(word)]
        else:
            yield words


def _callable_cut(config: CorpusConfig, files: Mapping[str, bytes]) -> Cut:
    function: Any = config.tokenizer

    def cut(lines: Sequence[str]) -> Iterable[list[str]]:
        for line in lines:
            tokens = function(line)
            if isinstance(tokens, str):
                raise CorpusError(f"the tokenizer returned the str {tokens[:40]!r}; expected a list of str")
            tokens = list(tokens)
            for token in tokens:
                if not isinstance(token, str):
                    raise CorpusError(f"the tokenizer returned {token!r} among its tokens; expected str only")
            yield tokens

    return cut


def _jieba_cut(config: CorpusConfig, files: Mapping[str, bytes]) -> Cut:
    package = _import("rjieba", "zh")
    if config.user_dict is None:
        return lambda lines: map(package.cut, lines)
    jieba = package.Jieba()
    for word, frequency in _user_words(config.user_dict, files.get("user_dict")):
        jieba.add_word(word, frequency, None)
    return lambda lines: map(jieba.cut, lines)


def _user_words(path: str, data: bytes | None) -> list[tuple[str, int | None]]:
    """Read a dictionary as jieba writes them: word, frequency and part of speech; the last two may lack."""
    words: list[tuple[str, int | None]] = []
    try:
        lines = (Path(path).read_bytes() if data is None else data).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: a user dictionary must be UTF-8 text ({error})") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _USER_DICT_LINE.fullmatch(line.strip())
        if match is None or len(match[2] or "") > 9:
            raise CorpusError(f"{path}:{number}: expected word, frequency, tag; got {line[:60]!r}")
        words.append((match[1], int(match[2]) if match[2] else None))
    return words


def _huggingface_cut(config: CorpusConfig, files: Mapping[str, bytes]) -> Cut:
    tokenizers, path = _import("tokenizers", "hf"), str(config.tokenizer)
    data = files.get("tokenizer")
    text = Path(path).read_bytes() if data is None else data  # a missing file stays FileNotFoundError
    try:
        tokenizer = tokenizers.Tokenizer.from_str(text.decode())
    except Exception as error:  # noqa: BLE001 - the package raises bare Exception
        raise CorpusError(f"{path}: no tokenizer.json that tokenizers can read ({error})") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def cut(lines: Sequence[str]) -> Iterable[list[str]]:
        encodings = tokenizer.encode_batch(lines, add_special_tokens=False)
        return (encoding.tokens for encoding in encodings)

    return cut


def _import(package: str, extra: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtraError(package, extra) from None


def _package(name: str, extra: str | None = None) -> str:
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        if extra is None:
            raise
        raise MissingExtraError(name, extra) from None


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _always(cut: Cut) -> Callable[[CorpusConfig, Mapping[str, bytes]], Cut]:
    return lambda config, files: cut


_UAX29 = ("unicode-segmentation-rs", None)
TOKENIZERS = {
    "whitespace": Tokenizer(_always(_cut_at_spaces), is_local=True, splits_at_spaces=True),
    "words": Tokenizer(_always(_cut_words), is_local=True, drops_punctuation=True, package=_UAX29),
    "chars": Tokenizer(_always(_cut_chars), is_local=True, drops_punctuation=True, package=_UAX29),
    "jieba": Tokenizer(_jieba_cut, has_dictionary=True, drops_punctuation=True, package=("rjieba", "zh")),
}
"""All tokenizers that have a name; `w2v.config.TOKENIZERS` lists the names too."""
_CALLABLE = Tokenizer(_callable_cut, runs_in_processes=False)
_HUGGING_FACE = Tokenizer(_huggingface_cut, runs_in_processes=False, package=("tokenizers", "hf"))
