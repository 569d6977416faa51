"""Vocabularies of others: lists, JSON, tokenizer.json and objects; and the word that each token spells."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from w2v.errors import ConfigError, FormatError
from w2v.formats.word_list import read_words

_PADDINGS = ("<pad>", "[PAD]", "<PAD>", "<|pad|>")
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
        return _in_order(vocabulary, "the vocabulary")
    if isinstance(vocabulary, Sequence):
        return list(vocabulary)
    raise ConfigError(
        "expected a vocabulary: a file, a list of words, a mapping from word to id or an object with "
        f"get_itos(); got {type(vocabulary).__name__}"
    )


def _in_order(ids: Mapping[str, int], where: str) -> list[str]:
    """Return the tokens in the order of their ids, which must be 0 to R - 1, each once."""
    tokens: list[str | None] = [None] * len(ids)
    for token, token_id in ids.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int | np.integer):
            raise ConfigError(f"{where}: expected a whole number as id of {token!r}, got {token_id!r}")
        if not 0 <= token_id < len(ids):
            raise ConfigError(
                f"{where}: {len(ids)} tokens must have the ids 0 to {len(ids) - 1}, each once; "
                f"{token!r} has {token_id}"
            )
        if tokens[token_id] is not None:
            raise ConfigError(f"{where}: {tokens[token_id]!r} and {token!r} both have the id {token_id}")
        tokens[token_id] = token
    return [token for token in tokens if token is not None]


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
        return _in_order(value, str(path)), None, {}
    try:
        tokens = _in_order(_ids_of_tokenizer(value), str(path))
        spelt = _speller(value)
        words = [spelt(token) for token in tokens]
        return tokens, words, _named_specials(value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, ConfigError):
            raise
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
    if "ByteLevel" in kinds:
        letters = _byte_letters()
        return lambda token: _bytes_spelt(token, letters)
    if "Metaspace" in kinds:
        mark = "\u2581"
        added = {token["content"] for token in tokenizer.get("added_tokens") or ()}
        return lambda token: (
            token if token in added else token[1:] if token.startswith(mark) and len(token) > 1 else None
        )
    return lambda token: token


def _kinds(part: Any) -> set[str]:
    """Return the types of a part of a tokenizer and of what it is made up of."""
    if not isinstance(part, Mapping):
        return set()
    kinds = {str(part.get("type"))}
    for inner in (*(part.get("pretokenizers") or ()), *(part.get("decoders") or ())):
        kinds |= _kinds(inner)
    return kinds


def _byte_letters() -> dict[str, int]:
    """Return the byte that each letter of byte-level BPE stands for.

    Bytes with a printable Latin-1 letter are that letter; the others are U+0100 and following, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def _bytes_spelt(token: str, letters: Mapping[str, int]) -> str | None:
    """Return the text of a token of byte-level BPE, without the blank in front; None for half a character."""
    if not all(letter in letters for letter in token):
        return token
    try:
        text = bytes(letters[letter] for letter in token).decode()
    except UnicodeDecodeError:
        return None
    return text.removeprefix(" ") or None
