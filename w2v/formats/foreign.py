"""Vocabularies of others (lists, JSON, tokenizer.json, objects), and the rows of a model for their tokens."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from w2v.errors import ConfigError, FormatError, W2VError
from w2v.files.json_objects import parse_object, tokens_in_order
from w2v.vectors.vocab import Vocab
from w2v.vectors.vocab_files import read_words

_LOG = logging.getLogger(__name__)
_PADDINGS = ("<pad>", "[PAD]", "<PAD>", "<|pad|>")
_N_EXAMPLES = 5
# What tells the tokens of SentencePiece and of byte-level BPE, where only the tokens are known: the marks of
# word starts in front of some part of them, or nearly all of the 256 letters that stand for bytes.
_MARK, _BYTE_BLANK, _END = "\u2581", "\u0120", "</w>"
_SHARE_OF_MARKED = 0.05
_MANY_LETTERS = 200
_SPECIAL = re.compile(r"<.*>|\[.*\]")
_UNKNOWNS = ("<unk>", "[UNK]", "<UNK>", "<|unk|>")


@runtime_checkable
class HasItos(Protocol):
    """A vocabulary as torchtext's: `get_itos()` gives the tokens in the order of their ids."""

    def get_itos(self) -> list[str]:
        """Return the tokens."""


Foreign: TypeAlias = "str | Path | Sequence[str] | Mapping[str, int] | HasItos"


@dataclass(frozen=True)
class ForeignVocabulary:
    """Someone else's tokens.

    Attributes
    ----------
    tokens : sequence of str, length R
        Token i has the id i.
    words : sequence of str or None, length R
        The word that each token spells, without the marks of its tokenizer; None where it is a piece from
        within a word.
    padding_id, unknown_id : int or None
        Where those tokens are, if there are any.
    """

    tokens: Sequence[str]
    words: Sequence[str | None]
    padding_id: int | None
    unknown_id: int | None


def read_foreign(
    vocabulary: Foreign, *, padding: str | None = None, unknown: str | None = None
) -> ForeignVocabulary:
    """Read someone else's vocabulary.

    Parameters
    ----------
    vocabulary : path-like, sequence of str, mapping of str to int, or object with `get_itos()`
        A file is, by its content, a list of words (one a line, or word, tab, count), JSON `{word: id}` or
        `[word, ...]`, or a Hugging Face `tokenizer.json` of any model (WordLevel, WordPiece, BPE, Unigram).
        Of the latter the marks of word starts are taken off to find the word, and of other vocabularies where
        many tokens have one.
    padding, unknown : str, optional
        Their tokens; by default what the tokenizer names, or the first usual name that is there.

    Raises
    ------
    FormatError
        If a file is none of these.
    ConfigError
        If ids are not 0 to R - 1, each once, or a token that was named is not there.
    """
    words: Sequence[str | None] | None = None
    if isinstance(vocabulary, str | Path):
        tokens, words, named = _read_file(Path(vocabulary))
        padding, unknown = padding or named.get("padding"), unknown or named.get("unknown")
        where = str(vocabulary)
    else:
        tokens, where = _tokens_of_object(vocabulary), "the vocabulary"
    index = _checked_index(tokens, where)
    if words is None and (spelt := _marks_of(tokens)) is not None:
        _LOG.info("%s: its tokens are pieces of words, marked as by a tokenizer of subwords", where)
        words = [spelt(token) for token in tokens]
    return ForeignVocabulary(
        tokens,
        tokens if words is None else words,
        _find(index, padding, _PADDINGS, where),
        _find(index, unknown, _UNKNOWNS, where),
    )


def _tokens_of_object(vocabulary: Any) -> Sequence[str]:
    if isinstance(vocabulary, HasItos):
        return list(vocabulary.get_itos())
    if isinstance(vocabulary, Mapping):
        return tokens_in_order(vocabulary, "the vocabulary", ConfigError)
    if isinstance(vocabulary, Sequence):
        return list(vocabulary)
    raise ConfigError(
        "expected a vocabulary: a file, a list of words, a mapping from word to id or an object with "
        f"get_itos(); got {type(vocabulary).__name__}"
    )


def _checked_index(tokens: Sequence[Any], where: str) -> dict[str, int]:
    index: dict[str, int] = {}
    for row, token in enumerate(tokens):
        if not isinstance(token, str):
            raise ConfigError(f"{where}: expected tokens of type str, got {token!r} at {row}")
        if index.setdefault(token, row) != row:
            raise ConfigError(f"{where}: {token!r} stands twice, at {index[token]} and at {row}")
    return index


def _find(index: Mapping[str, int], name: str | None, usual: Sequence[str], where: str) -> int | None:
    if name is None:
        return next((index[token] for token in usual if token in index), None)
    if name not in index:
        raise ConfigError(f"{where}: has no token {name!r}")
    return index[name]


def _read_file(path: Path) -> tuple[Sequence[str], Sequence[str | None] | None, dict[str, str]]:
    """Return the tokens of a file, the words they spell if that differs, and the special tokens it names."""
    if path.stat().st_size == 0:
        raise FormatError(f"{path}: empty (0 bytes)")
    with path.open("rb") as file:
        first = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if first in (b"{", b"["):
        try:
            value = json.loads(path.read_bytes().decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            if path.suffix == ".json":
                raise FormatError(f"{path}: not JSON ({error})") from None
        else:
            return _tokens_of_json(value, path)
    return read_words(path)[0], None, {}


def _tokens_of_json(
    value: Any, path: Path
) -> tuple[Sequence[str], Sequence[str | None] | None, dict[str, str]]:
    if isinstance(value, list):
        return value, None, {}
    model = value.get("model")
    if not isinstance(model, Mapping):
        return tokens_in_order(value, path, ConfigError), None, {}
    with _named_as_tokenizer(path):
        tokens = tokens_in_order(_ids_of_tokenizer(value), path, ConfigError)
        spelt = _speller(value)
        return tokens, [spelt(token) for token in tokens], _named_specials(value)


def read_tokenizer(path: Path) -> list[str]:
    """Read the tokens of a Hugging Face `tokenizer.json`, in the order of their ids.

    Raises
    ------
    FormatError
        If it is none, or ids are not 0 to R - 1, each once.
    """
    tokenizer = parse_object(path.read_bytes(), path)
    with _named_as_tokenizer(path):
        return tokens_in_order(_ids_of_tokenizer(tokenizer), path)


@contextmanager
def _named_as_tokenizer(path: Path) -> Iterator[None]:
    """Say of which file it is that something within it is missing or of another type."""
    try:
        yield
    except W2VError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(
            f"{path}: not a tokenizer with a vocabulary ({type(error).__name__}: {error})"
        ) from None


def _ids_of_tokenizer(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    vocab = tokenizer["model"]["vocab"]
    if isinstance(vocab, list):  # Unigram: pieces with their log-probabilities
        vocab = {piece: token_id for token_id, (piece, _) in enumerate(vocab)}
    added = {token["content"]: token["id"] for token in tokenizer.get("added_tokens") or ()}
    return {**vocab, **added}


def _named_specials(tokenizer: Mapping[str, Any]) -> dict[str, str]:
    named = {}
    if isinstance(unknown := tokenizer["model"].get("unk_token"), str):
        named["unknown"] = unknown
    if isinstance(padding := (tokenizer.get("padding") or {}).get("pad_token"), str):
        named["padding"] = padding
    ids = _ids_of_tokenizer(tokenizer)
    return {role: token for role, token in named.items() if token in ids}


def _speller(tokenizer: Mapping[str, Any]) -> Callable[[str], str | None]:
    """Return what tells the word that a token spells; None for a piece from within a word."""
    model = tokenizer["model"]
    kinds = _kinds(tokenizer.get("pre_tokenizer")) | _kinds(tokenizer.get("decoder"))
    if model.get("type") == "WordPiece":
        prefix = model.get("continuing_subword_prefix") or "##"
        return lambda token: None if token.startswith(prefix) and token != prefix else token
    if end := model.get("end_of_word_suffix"):
        return lambda token: token.removesuffix(end) if token.endswith(end) else None
    if "ByteLevel" in kinds:
        return _spelt_by_bytes
    if "Metaspace" in kinds:
        added = {token["content"] for token in tokenizer.get("added_tokens") or ()}
        return lambda token: token if token in added else _spelt_by_mark(token)
    return lambda token: token


def _marks_of(tokens: Sequence[str]) -> Callable[[str], str | None] | None:
    """Return the same for tokens alone, where many begin with a mark of word starts; None where few do."""
    least = max(1, len(tokens) * _SHARE_OF_MARKED)
    if sum(token.startswith(_MARK) for token in tokens) >= least:
        return lambda token: token if _SPECIAL.fullmatch(token) else _spelt_by_mark(token)
    if sum(token.endswith(_END) for token in tokens) >= least:
        return lambda token: token.removesuffix(_END) if token.endswith(_END) else None
    n_letters = len(_LETTERS.keys() & set(tokens))
    if n_letters >= _MANY_LETTERS or sum(token.startswith(_BYTE_BLANK) for token in tokens) >= least:
        return _spelt_by_bytes
    return None


def _kinds(part: Any) -> set[str]:
    """Return the types of a part of a tokenizer and of what it is made up of."""
    if not isinstance(part, Mapping):
        return set()
    kinds = {str(part.get("type"))}
    for inner in (*(part.get("pretokenizers") or ()), *(part.get("decoders") or ())):
        kinds |= _kinds(inner)
    return kinds


def _spelt_by_mark(token: str) -> str | None:
    return token[1:] if token.startswith(_MARK) and len(token) > 1 else None


def _spelt_by_bytes(token: str) -> str | None:
    """Return the text of a token of byte-level BPE, without the blank in front; None for half a character."""
    if not all(letter in _LETTERS for letter in token):
        return token
    try:
        text = bytes(_LETTERS[letter] for letter in token).decode()
    except UnicodeDecodeError:
        return None
    return text.removeprefix(" ") or None


def _byte_letters() -> dict[str, int]:
    """Return the byte that each letter of byte-level BPE stands for.

    Bytes with a printable Latin-1 letter are that letter; the others are U+0100 and following, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_LETTERS = _byte_letters()


@dataclass(frozen=True)
class MatchReport:
    """How many tokens of someone else's vocabulary a model knows.

    Attributes
    ----------
    n_tokens : int
        All of them but the padding and the unknown token.
    exact : int
        Are words of the model.
    folded : int
        Are words of the model in another letter case.
    unmatched : int
        Are none.
    folded_examples : tuple of (str, str)
        The first few, each with the model's word.
    unmatched_examples : tuple of str
        The first few.
    """

    n_tokens: int
    exact: int
    folded: int
    unmatched: int
    folded_examples: tuple[tuple[str, str], ...] = ()
    unmatched_examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{n:,} {name} ({100 * n / max(1, self.n_tokens):.1f} %)"
            for n, name in (
                (self.exact, "matched exactly"),
                (self.folded, "after case folding"),
                (self.unmatched, "not at all"),
            )
        ]
        shown = ", ".join(map(repr, self.unmatched_examples)) + (
            ", …" if self.unmatched > _N_EXAMPLES else ""
        )
        return f"{self.n_tokens:,} tokens: {', '.join(parts)}" + (f": {shown}" if self.unmatched else "")


def match(
    vocab: Vocab, foreign: ForeignVocabulary, *, fold_case: bool, unmatched: int
) -> tuple[NDArray[np.int64], MatchReport]:
    """Find the row of the model for each token of someone else's vocabulary.

    Parameters
    ----------
    vocab : Vocab
        Of the model.
    foreign : ForeignVocabulary
    fold_case : bool
        Whether a token that is no word of the model takes the row of the first, most frequent word that is
        equal to it after `str.casefold`.
    unmatched : int
        What to write where there is none.

    Returns
    -------
    ndarray of int64, shape (R,)
    MatchReport
        The padding and the unknown token are not in its numbers.
    """
    get = vocab.index.get
    rows = np.array([unmatched if word is None else get(word, unmatched) for word in foreign.words], np.int64)
    counted = np.ones(len(rows), np.bool_)
    for special in (foreign.padding_id, foreign.unknown_id):
        if special is not None:
            counted[special] = False
    exact = int(np.count_nonzero((rows >= 0) & counted))
    folded: list[int] = []
    if fold_case:
        open_rows = np.flatnonzero((rows < 0) & counted).tolist()
        found = _fold(vocab, foreign.words, open_rows)
        folded = list(found)
        rows[folded] = list(found.values())
    lacking = np.flatnonzero((rows < 0) & counted).tolist()
    return rows, MatchReport(
        int(counted.sum()),
        exact,
        len(folded),
        len(lacking),
        tuple((foreign.tokens[i], vocab.words[int(rows[i])]) for i in folded[:_N_EXAMPLES]),
        tuple(foreign.tokens[i] for i in lacking[:_N_EXAMPLES]),
    )


def _fold(vocab: Vocab, words: Sequence[str | None], open_rows: list[int]) -> dict[int, int]:
    """Return, for those of some tokens that have one, the first word of the model equal but for case."""
    wanted: dict[str, int | None] = {
        word.casefold(): None for i in open_rows if (word := words[i]) is not None
    }
    for row, word in enumerate(vocab.words):
        folded = word.casefold()
        if folded in wanted and wanted[folded] is None:
            wanted[folded] = row
    found = {}
    for i in open_rows:
        word = words[i]
        row_found = None if word is None else wanted[word.casefold()]
        if row_found is not None:
            found[i] = row_found
    return found
