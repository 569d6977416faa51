"""Records with a field of text: JSONL, CSV, TSV and Parquet; and how the kind of a file is told."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from w2v.config import CorpusConfig
from w2v.corpus.read.tally import Tally
from w2v.errors import CorpusError, MissingExtraError

PARQUET_MAGIC = b"PAR1"
_MOST_LETTERS = 1 << 28
_LETTERS_AT_ONCE = 1 << 20
_ROWS_AT_ONCE = 256
_JSON_OBJECT = re.compile(rb'\s*\{\s*"')
_JSON_ARRAY = re.compile(rb'\s*\[\s*\{\s*"')
_SURROGATE = re.compile("[\ud800-\udfff]")
_DELIMITERS = {"csv": ",;\t|", "tsv": "\t"}
_PACKED = re.compile(r"\.(gz|bz2|xz|zst)$", re.IGNORECASE)


class RecordError(Exception):
    """A record is no good, in a line counted from 1; the reader adds the file's name before."""

    def __init__(self, line: int | None, what: str) -> None:
        super().__init__(f" {what}" if line is None else f"{line}: {what}")


def kind_of(head: bytes, name: str, config: CorpusConfig) -> str:
    """Name the kind of a file: text, jsonl, csv, tsv, parquet or wiki.

    Parameters
    ----------
    head : bytes
        The unpacked beginning.
    name : str
        Its name tells CSV and TSV, which no content does.
    config : CorpusConfig
        Its `format`, unless "auto", overrides.
    """
    if config.format != "auto":
        return config.format
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    start = head.removeprefix(b"\xef\xbb\xbf")
    if re.match(rb"\s*(<\?xml[^>]*>\s*)?<mediawiki\b", start):
        return "wiki"
    suffix = _suffix(name)
    if suffix in ("csv", "tsv"):
        return suffix
    if suffix in ("jsonl", "ndjson") or _begins_with_object(start):
        return "jsonl"
    if _JSON_ARRAY.match(start):
        raise CorpusError(
            f"{name}: a JSON array; make it one object a line, for example with jq -c '.[]', "
            "or read it as it is with --format text"
        )
    return "text"


def _suffix(name: str) -> str:
    path = urlsplit(name).path if "://" in name else name
    return _PACKED.sub("", path).rpartition(".")[2].lower()


def _begins_with_object(head: bytes) -> bool:
    if not _JSON_OBJECT.match(head):
        return False
    line, newline, _ = head.lstrip().partition(b"\n")
    if not newline and len(head) >= 8192:
        return True  # the line goes on behind the head
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def texts_of(kind: str, parts: Iterable[str], config: CorpusConfig, tally: Tally) -> Iterator[str]:
    """Yield the text of records, each record ending in a line break.

    Parameters
    ----------
    kind : {"jsonl", "csv", "tsv"}
    parts : iterable of str
        The decoded file, cut anywhere.
    config : CorpusConfig
        Its `field` names the column; with `sentences="none"` a record stays on one line.
    tally : Tally
        Modified in place: lone surrogates that are replaced.

    Raises
    ------
    RecordError
    """
    lines = _lines(parts)
    fields = _json_fields(lines, config.field) if kind == "jsonl" else _csv_fields(lines, config.field, kind)
    return _blocks(_as_lines(text, number, config, tally) for number, text in fields)


def parquet_texts(file: BinaryIO, config: CorpusConfig, tally: Tally) -> Iterator[str]:
    """Yield the text of a Parquet file's records; see `texts_of`. `file` must be seekable."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    try:
        table = parquet.ParquetFile(file)
        names = table.schema_arrow.names
        if config.field not in names:
            raise RecordError(None, _no_field(config.field, names))
        values = _parquet_values(table, config.field)
        texts = ((row, _as_text(value, row, config.field)) for row, value in enumerate(values, 1))
        yield from _blocks(_as_lines(text, row, config, tally) for row, text in texts)
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


def _csv_fields(lines: Iterator[str], field: str, kind: str) -> Iterator[tuple[int, str]]:
    # The limit is one of the whole process; the bound on a line, above, is what protects here.
    csv.field_size_limit(max(csv.field_size_limit(), min(_MOST_LETTERS, sys.maxsize)))
    header_line = next(lines, None)
    if header_line is None:
        return
    delimiter, header, column = _find_column(header_line, field, kind)
    rows = csv.reader(lines, delimiter=delimiter, quoting=_quoting(kind), strict=True)
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
        raise RecordError(rows.line_num + 1, f"not {kind.upper()} ({error})") from None


def _find_column(line: str, field: str, kind: str) -> tuple[str, list[str], int]:
    headers = {}
    for delimiter in _DELIMITERS[kind]:
        try:
            header = next(csv.reader([line], delimiter=delimiter, quoting=_quoting(kind)), [])
        except csv.Error:
            continue
        names = [name.strip() for name in header]
        if field in names:
            return delimiter, header, names.index(field)
        headers[delimiter] = header
    delimiter = max(headers, key=lambda key: len(headers[key]), default=_DELIMITERS[kind][0])
    header = headers.get(delimiter, [])
    if field.isascii() and field.isdigit() and 1 <= int(field) <= len(header):
        return delimiter, header, int(field) - 1
    raise RecordError(1, _no_field(field, header) + "; a number is a column of a file without header")


def _quoting(kind: str) -> Any:
    """Quotes mean something in CSV; in TSV they are text, as IANA's definition of it says."""
    return csv.QUOTE_MINIMAL if kind == "csv" else csv.QUOTE_NONE


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


def _blocks(texts: Iterable[str]) -> Iterator[str]:
    gathered: list[str] = []
    n_letters = 0
    for text in texts:
        gathered.append(text)
        n_letters += len(text)
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
