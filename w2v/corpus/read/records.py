"""Records with a field of text: JSONL, CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from w2v.config import CorpusConfig
from w2v.corpus.read.opened_file import HEAD_BYTES, OpenedFile, RecordError, Tally
from w2v.errors import MissingExtraError

_MOST_LETTERS = 1 << 28
_LETTERS_AT_ONCE = 1 << 20
_ROWS_AT_ONCE = 256
_JSON_OBJECT = re.compile(rb'\s*\{\s*"')
_JSON_ARRAY = re.compile(rb'\s*\[\s*\{\s*"')
_SURROGATE = re.compile("[\ud800-\udfff]")


def begins_as_parquet(head: bytes, suffix: str) -> bool:
    """Say whether a file is Parquet; as all `Kind.detects`."""
    return head.startswith(b"PAR1")


def begins_as_jsonl(head: bytes, suffix: str) -> bool:
    """Say whether a file holds a JSON object a line.

    Raises
    ------
    RecordError
        If it is a JSON array, which could not be read in parts.
    """
    if suffix in ("jsonl", "ndjson") or _begins_with_object(head):
        return True
    if _JSON_ARRAY.match(head):
        raise RecordError(
            None,
            "a JSON array; make it one object a line, for example with jq -c '.[]', "
            "or read it as it is with --format text",
        )
    return False


def _begins_with_object(head: bytes) -> bool:
    if not _JSON_OBJECT.match(head):
        return False
    line, newline, _ = head.lstrip().partition(b"\n")
    if not newline and len(head) >= HEAD_BYTES:
        return True  # the line is longer than the head
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def json_texts(parts: Iterable[str], config: CorpusConfig, tally: Tally) -> Iterator[str]:
    """Yield the text of JSON records, each ending in a line break.

    Parameters
    ----------
    parts : iterable of str
        The decoded file, cut anywhere.
    config : CorpusConfig
        Its `field` names the text; with `sentences="none"` a record stays on one line.
    tally : Tally
        Modified in place: lone surrogates that are replaced.

    Raises
    ------
    RecordError
    """
    return _texts(_json_fields(_lines(parts), config.field), config, tally)


@dataclass(frozen=True)
class Delimited:
    """A kind of file with a record a line and delimiters between the fields; `quoting` is one of csv's."""

    name: str
    delimiters: str
    quoting: Any

    def has_suffix(self, head: bytes, suffix: str) -> bool:
        """Say whether a file is of this kind, which only its name can tell."""
        return suffix == self.name

    def texts(self, parts: Iterable[str], config: CorpusConfig, tally: Tally) -> Iterator[str]:
        """Yield the text of the records; see `json_texts`."""
        return _texts(_delimited_fields(_lines(parts), config.field, self), config, tally)


CSV = Delimited("csv", ",;\t|", csv.QUOTE_MINIMAL)
TSV = Delimited("tsv", "\t", csv.QUOTE_NONE)  # quotes are text in it, as IANA's definition says


def read_parquet(opened: OpenedFile, validate: bool) -> Iterator[bytes]:
    """Yield the text of a Parquet file's records, each ending in a line break."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    if opened.packing is not None or not opened.raw.seekable():
        raise RecordError(None, "a Parquet file must be a file on disk that is not packed")
    opened.raw.seek(0)
    field = opened.config.field
    try:
        table = parquet.ParquetFile(opened.raw)
        names = table.schema_arrow.names
        if field not in names:
            raise RecordError(None, _no_field(field, names))
        values = enumerate(_parquet_values(table, field), 1)
        texts = ((row, _as_text(value, row, field)) for row, value in values)
        for text in _texts(texts, opened.config, opened.tally):
            data = text.encode()
            opened.tally.bytes += len(data)
            yield data
    except (ArrowException, OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise RecordError(None, f"a damaged Parquet file ({error})") from None


def _parquet_values(table: Any, field: str) -> Iterator[Any]:
    for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=[field]):
        yield from batch.column(0).to_pylist()


def _lines(parts: Iterable[str]) -> Iterator[str]:
    """Cut into lines at line feeds only, which stay on them."""
    rest = ""
    for part in parts:
        *lines, tail = part.split("\n")
        if lines:
            yield rest + lines[0] + "\n"
            yield from (f"{line}\n" for line in lines[1:])
            rest = tail
        else:
            rest += tail
        if len(rest) > _MOST_LETTERS:
            raise RecordError(None, f"a line of more than {_MOST_LETTERS:,} letters")
    if rest:
        yield rest


def _json_fields(lines: Iterable[str], field: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RecordError(
                number, f"not a JSON object a line ({error}); --format text reads it as it is"
            ) from None
        if not isinstance(record, dict):
            raise RecordError(number, f"expected a JSON object, got {_named(record)}")
        yield number, _as_text(_look_up(record, field, number), number, field)


def _look_up(record: dict[str, Any], field: str, number: int) -> Any:
    """Return a field; a name with dots that is no field itself goes down into nested objects."""
    if field in record:
        return record[field]
    value: Any = record
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            raise RecordError(number, _no_field(field, list(record)))
        value = value[name]
    return value


def _as_text(value: Any, number: int, field: str) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return " ".join(value)  # tokens
    raise RecordError(number, f"expected text in {field!r}, got {_named(value)}")


def _delimited_fields(lines: Iterator[str], field: str, kind: Delimited) -> Iterator[tuple[int, str]]:
    # The limit of csv is global and low; `_MOST_LETTERS` bounds the lines here.
    csv.field_size_limit(max(csv.field_size_limit(), min(_MOST_LETTERS, sys.maxsize)))
    header_line = next(lines, None)
    if header_line is None:
        return
    delimiter, header, column = _find_column(header_line, field, kind)
    rows = csv.reader(lines, delimiter=delimiter, quoting=kind.quoting, strict=True)
    if not any(name.strip() == field for name in header):  # a number: there is no header line
        yield 1, header[column]
    try:
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise RecordError(
                    rows.line_num + 1, f"expected {len(header)} columns as in the first line, got {len(row)}"
                )
            yield rows.line_num + 1, row[column]
    except csv.Error as error:
        raise RecordError(rows.line_num + 1, f"not {kind.name.upper()} ({error})") from None


def _find_column(line: str, field: str, kind: Delimited) -> tuple[str, list[str], int]:
    headers = {}
    for delimiter in kind.delimiters:
        try:
            header = next(csv.reader([line], delimiter=delimiter, quoting=kind.quoting), [])
        except csv.Error:
            continue
        names = [name.strip() for name in header]
        if field in names:
            return delimiter, header, names.index(field)
        headers[delimiter] = header
    delimiter = max(headers, key=lambda key: len(headers[key]), default=kind.delimiters[0])
    header = headers.get(delimiter, [])
    if field.isascii() and field.isdigit() and 1 <= int(field) <= len(header):
        return delimiter, header, int(field) - 1
    raise RecordError(1, _no_field(field, header) + "; a number is a column of a file without header")


def _as_lines(text: str, number: int, config: CorpusConfig, tally: Tally) -> str:
    """End a record's text by a line break; JSON can escape lone surrogates, which no text can hold."""
    if not text.isascii() and _SURROGATE.search(text):
        if config.errors == "strict":
            raise RecordError(number, "a lone surrogate, which is no text; pass --errors replace")
        text, n_replaced = _SURROGATE.subn("\ufffd", text)
        tally.replaced += n_replaced
    if config.sentences == "none":
        text = " ".join(text.split("\n"))
    return f"{text}\n"


def _texts(numbered: Iterable[tuple[int, str]], config: CorpusConfig, tally: Tally) -> Iterator[str]:
    """Join the texts of records, which come with the number of their line, into blocks."""
    gathered: list[str] = []
    n_letters = 0
    for number, text in numbered:
        gathered.append(_as_lines(text, number, config, tally))
        n_letters += len(gathered[-1])
        if n_letters >= _LETTERS_AT_ONCE:
            yield "".join(gathered)
            gathered, n_letters = [], 0
    if gathered:
        yield "".join(gathered)


def _no_field(field: str, names: Iterable[Any]) -> str:
    shown = ", ".join(str(name)[:40] for name in list(names)[:12])
    return f"no field {field!r}, but {shown or 'none at all'}; name the one with the text by --field"


def _named(value: Any) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"
