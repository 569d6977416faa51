"""Records with a field of text: JSONL, CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from w2v.config import CorpusConfig
from w2v.corpus.read.opened_file import HEAD_BYTES, OpenedFile, RecordError, Tally
from w2v.corpus.read.sentence_weights import times_of
from w2v.errors import CorpusError, MissingExtraError

_MOST_LETTERS = 1 << 28
_LETTERS_AT_ONCE = 1 << 20
_ROWS_AT_ONCE = 256
_RECORDS_COUNTED = 10_000
_JSON_OBJECT = re.compile(rb'\s*\{\s*"')
_JSON_ARRAY = re.compile(rb'\s*\[\s*\{\s*"')
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_LINE_END = re.compile("\r?\n|\r(?=[^\n])")

Record: TypeAlias = "tuple[int, Any, Any]"
"""The number of a line or row, the value of its field, or the `RecordError` that it is, and its weight."""


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
    if suffix in ("jsonl", "ndjson") or _has_objects(head):
        return True
    if _JSON_ARRAY.match(head):
        raise RecordError(
            None,
            "a JSON array; make it one object a line, for example with jq -c '.[]', "
            "or read it as it is with --format text",
        )
    return False


def _has_objects(head: bytes) -> bool:
    """Say whether the first line or most lines are JSON objects: the first one may be broken."""
    *lines, last = [line for line in head.split(b"\n") if line.strip()] or [b""]
    if not lines and _JSON_OBJECT.match(last) and len(last) >= HEAD_BYTES // 2:
        return True  # the line is longer than the head
    are_objects = list(map(_is_object, [*lines, last]))
    return are_objects[0] or 2 * sum(are_objects) > len(lines) + are_objects[-1]


def _is_object(line: bytes) -> bool:
    try:
        return _JSON_OBJECT.match(line) is not None and isinstance(json.loads(line), dict)
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
        Modified in place: what is replaced or left out, and notes.

    Raises
    ------
    RecordError
    """
    return _texts(_json_fields(_lines(parts), config, tally), config, tally)


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
        return _texts(_delimited_fields(_lines(parts), config, self, tally), config, tally)


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
    field, weights = opened.config.field, opened.config.weights_field
    try:
        table = parquet.ParquetFile(opened.raw)
        names = table.schema_arrow.names
        if field not in names:
            raise RecordError(None, _no_field(field, names))
        if weights is not None and weights not in names:
            raise RecordError(None, _no_field(weights, names, "weight", "--weights-field"))
        _note_twice(names, field, opened.tally)
        texts = _parquet_values(table, field)
        numbers = itertools.repeat(1) if weights is None else _parquet_values(table, weights)
        records = ((i, text, weight) for i, (text, weight) in enumerate(zip(texts, numbers, strict=False), 1))
        for text in _texts(records, opened.config, opened.tally):
            data = text.encode()
            opened.tally.bytes += len(data)
            yield data
    except (ArrowException, OSError, MemoryError, ValueError, LookupError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise RecordError(None, f"a damaged Parquet file ({error})") from None


def _parquet_values(table: Any, field: str) -> Iterator[Any]:
    for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=[field]):
        column = batch.column(0)
        try:
            yield from column.to_pylist()
        except UnicodeDecodeError:  # nothing makes a writer of Parquet see to it that its strings are text
            yield from column.cast(_binary_of(column.type)).to_pylist()


def _binary_of(kind: Any) -> Any:
    """Return the type of bytes that corresponds to a type of strings or of lists of strings."""
    from pyarrow import binary, large_binary, large_list, list_, types

    if types.is_large_list(kind):
        return large_list(_binary_of(kind.value_type))
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        return list_(_binary_of(kind.value_type))
    return large_binary() if types.is_large_string(kind) else binary()


def _lines(parts: Iterable[str]) -> Iterator[str]:
    """Cut into lines at line feeds only, which stay on them."""
    rest = ""
    for part in _newlines(parts):
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


def _newlines(parts: Iterable[str]) -> Iterator[str]:
    """Turn carriage returns into newlines where the first line ends in one alone, as on old Macs."""
    parts, start = iter(parts), ""
    for part in parts:
        start += part
        if _LINE_END.search(start) or len(start) > _LETTERS_AT_ONCE:
            break
    end = _LINE_END.search(start)
    is_old = end is not None and end[0] == "\r"
    for part in itertools.chain([start], parts):
        yield part.replace("\r", "\n") if is_old else part


def _json_fields(lines: Iterable[str], config: CorpusConfig, tally: Tally) -> Iterator[Record]:
    field, weights = config.field, config.weights_field
    names = {field, *field.split(".")}
    if weights is not None:
        names |= {weights, *weights.split(".")}
    quoted = [json.dumps(name, ensure_ascii=False) for name in names]
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        hook = None
        if any(line.count(name) > 1 for name in quoted):
            hook = partial(_object, names=names, number=number, tally=tally)
        try:
            record = json.loads(line, object_pairs_hook=hook)
            text = _look_up(record, field, number)
            weight = 1
            if weights is not None:
                weight = _look_up(record, weights, number, "weight", "--weights-field")
            yield number, text, weight
        except RecordError as error:
            yield number, error, 1
        except (ValueError, RecursionError) as error:
            message = f"not a JSON object a line ({error}); --format text reads it as it is"
            yield number, RecordError(number, message), 1


def _object(pairs: list[tuple[str, Any]], names: set[str], number: int, tally: Tally) -> dict[str, Any]:
    """Make an object as `json.loads` does, and note a name that stands in it twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        given = [name for name, _ in pairs]
        for name in names:
            if given.count(name) > 1:
                tally.note("key", f"the key {name!r} stands twice in an object; the last one is read", number)
    return made


def _look_up(record: Any, field: str, number: int, what: str = "text", option: str = "--field") -> Any:
    """Return a field; a name with dots that is no field itself goes down into nested objects."""
    if not isinstance(record, dict):
        raise RecordError(number, f"expected a JSON object, got {_named(record)}")
    if field in record:
        return record[field]
    value: Any = record
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            raise RecordError(number, _no_field(field, list(record), what, option))
        value = value[name]
    return value


def _as_text(value: Any, number: int, config: CorpusConfig, tally: Tally) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return _decoded(value, number, config, tally)
    if isinstance(value, list) and all(isinstance(part, str | bytes) for part in value):
        return " ".join(_as_text(part, number, config, tally) for part in value)  # tokens
    if isinstance(value, RecordError):
        raise value
    raise RecordError(number, f"expected text in {config.field!r}, got {_named(value)}")


def _decoded(data: bytes, number: int, config: CorpusConfig, tally: Tally) -> str:
    """Decode a string of a Parquet file, which is UTF-8 if its writer saw to it."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if config.errors == "strict":
            what = f"not UTF-8 at byte {error.start} of the text; pass --errors replace"
            raise RecordError(number, what) from None
        text = data.decode(errors="replace")
        tally.replaced += text.count("\ufffd") - data.count("\ufffd".encode())
        return text


def _delimited_fields(
    lines: Iterator[str], config: CorpusConfig, kind: Delimited, tally: Tally
) -> Iterator[Record]:
    field = config.field
    # The limit of csv is global and low; `_MOST_LETTERS` bounds the lines here.
    csv.field_size_limit(max(csv.field_size_limit(), min(_MOST_LETTERS, sys.maxsize)))
    header_line = next(lines, None)
    if header_line is None:
        return
    delimiter, header, column = _find_column(header_line, field, kind)
    names = [name.strip() for name in header]
    _note_twice(names, field, tally)
    weight_column = _weight_column(names, config.weights_field, has_names=field in names)
    rows = csv.reader(lines, delimiter=delimiter, quoting=kind.quoting, strict=True)
    if field not in names:  # a number: there is no header line
        yield 1, header[column], 1 if weight_column is None else header[weight_column]
    while (row := _next_row(rows, len(header), kind)) is not None:
        if isinstance(row, RecordError):
            yield rows.line_num + 1, row, 1
        elif row:
            yield rows.line_num + 1, row[column], 1 if weight_column is None else row[weight_column]


def _weight_column(names: list[str], weights: str | None, *, has_names: bool) -> int | None:
    """Return the column of the weights: by name, or by number in a file without header."""
    if weights is None:
        return None
    if has_names and weights in names:
        return names.index(weights)
    if not has_names and weights.isascii() and weights.isdigit() and 1 <= int(weights) <= len(names):
        return int(weights) - 1
    raise RecordError(1, _no_field(weights, names, "weight", "--weights-field"))


def _next_row(rows: Any, n_columns: int, kind: Delimited) -> list[str] | RecordError | None:
    """Return the next row of a csv.reader, or what is wrong with it; None at the end."""
    try:
        row: list[str] | None = next(rows, None)
    except csv.Error as error:
        bad = RecordError(rows.line_num + 1, f"not {kind.name.upper()} ({error})")
        if str(error) == "unexpected end of data":  # a quote that is not closed: the rest would be lost
            raise bad from None
        return bad
    if row and len(row) != n_columns:
        what = f"expected {n_columns} columns as in the first line, got {len(row)}"
        return RecordError(rows.line_num + 1, what)
    return row


def _note_twice(names: list[str], field: str, tally: Tally) -> None:
    if (n_columns := names.count(field)) > 1:
        tally.note("column", f"{n_columns} columns have the name {field!r}; the first is read")


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
    """End a record's text by a line break; JSON can escape what no text can hold."""
    if (not text.isascii() or "\0" in text) and (found := _NO_TEXT.search(text)):
        if config.errors == "strict":
            what = "a NUL" if found[0] == "\0" else "a lone surrogate"
            raise RecordError(number, f"{what}, which is no text; pass --errors replace")
        text, n_replaced = _NO_TEXT.subn("\ufffd", text)
        tally.replaced += n_replaced
    if config.sentences == "none":
        text = " ".join(text.split("\n"))
    return f"{text}\n"


def _texts(records: Iterable[Record], config: CorpusConfig, tally: Tally) -> Iterator[str]:
    """Join the texts of records into blocks; those that are bad are left out, or the first is an error."""
    file_number = tally.kinds.total()  # the same whatever else goes on: files are read one after the other

    def as_lines(record: Record) -> tuple[str, int] | RecordError:
        number, value, weight = record
        try:
            text = _as_lines(_as_text(value, number, config, tally), number, config, tally)
            if config.weights_field is None:
                return text, 1
            return text, times_of(weight, config.weights_seed, file_number, number)
        except RecordError as error:
            return error
        except CorpusError as error:
            return RecordError(number, str(error))

    records = iter(records)
    gathered: list[str] = []
    n_letters = 0
    for n_records, found in enumerate(map(as_lines, records), 1):
        if isinstance(found, RecordError):
            if not config.skip_bad_records:
                raise _counted(found, n_records, map(as_lines, records))
            tally.skip(found)
            continue
        text, times = found
        tally.weigh(times)
        for _ in range(times):
            gathered.append(text)
            n_letters += len(text)
            if n_letters >= _LETTERS_AT_ONCE:
                yield "".join(gathered)
                gathered, n_letters = [], 0
    if gathered:
        yield "".join(gathered)


def _counted(error: RecordError, n_records: int, more: Iterator[Any]) -> RecordError:
    """Add to the first error how many of the records up to there, and of some thousand more, are bad."""
    n_bad = 1
    with suppress(Exception):  # the first error is the one to tell
        for text in itertools.islice(more, _RECORDS_COUNTED):
            n_records += 1
            n_bad += isinstance(text, RecordError)
    if n_bad == n_records:
        return error
    counted = f"{n_bad:,} of the first {n_records:,} records are bad; --skip-bad-records leaves them out"
    return RecordError(error.line, f"{error.what} ({counted})")


def _no_field(field: str, names: Iterable[Any], what: str = "text", option: str = "--field") -> str:
    shown = ", ".join(str(name)[:40] for name in list(names)[:12])
    return f"no field {field!r}, but {shown or 'none at all'}; name the one with the {what} by {option}"


def _named(value: Any) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"
