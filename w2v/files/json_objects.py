"""JSON objects, with support for numpy numbers and for words that are not valid UTF-8."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from w2v.errors import FormatError, W2VError

BROKEN = (ValueError, RecursionError)


def dump_json(value: object, indent: int | None = None) -> bytes:
    """Return JSON in UTF-8, with a newline at the end; a lone surrogate becomes its escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain) + "\n"
    return text.encode(errors="backslashreplace")


def _plain(value: object) -> Any:
    """Convert numpy scalars, arrays, mappings and paths to types that JSON has."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def parse_object(data: bytes, where: str | Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises
    ------
    FormatError
        If it is no JSON, or JSON of another kind; `where` names the place.
    """
    try:
        value = json.loads(data)
    except BROKEN as error:
        raise FormatError(f"{where}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise FormatError(f"{where}: expected a JSON object, got {type(value).__name__}")
    return value


def is_object_with(path: Path, name: str, value: object = None) -> bool:
    """Say whether a file is a JSON object in which `name` has this value (None: any); never raises."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, *BROKEN):
        return False
    return isinstance(content, dict) and name in content and (value is None or content[name] == value)


def check_version(config: Mapping[str, Any], where: Path, newest: int) -> None:
    """Raise FormatError if `format_version` is no version, or one that only a newer w2v reads."""
    version = config.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FormatError(f"{where}: expected a format_version of 1 or more, got {version!r}")
    if version > newest:
        raise FormatError(
            f"{where}: written in format version {version}, but this w2v reads up to {newest}; "
            "install a newer w2v"
        )


def tokens_in_order(
    ids: Mapping[str, Any], where: str | Path, error: type[W2VError] = FormatError
) -> list[str]:
    """Return the tokens of a map from token to id in the order of their ids.

    Raises
    ------
    FormatError, or the `error` given
        If ids are not the whole numbers 0 to R - 1, each once.
    """
    tokens: list[str | None] = [None] * len(ids)
    for token, token_id in ids.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int | np.integer):
            raise error(f"{where}: expected a whole number as id of {token!r}, got {token_id!r}")
        if not 0 <= token_id < len(ids):
            raise error(
                f"{where}: {len(ids)} tokens must have the ids 0 to {len(ids) - 1}, each once; "
                f"{token!r} has {token_id}"
            )
        if tokens[token_id] is not None:
            raise error(f"{where}: {tokens[token_id]!r} and {token!r} both have the id {token_id}")
        tokens[token_id] = token
    return [token for token in tokens if token is not None]
