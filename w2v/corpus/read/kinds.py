"""All kinds of corpus files: how each is recognised and how its text is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from w2v.config import CorpusConfig
from w2v.corpus.read import records, wiki
from w2v.corpus.read.opened_file import OpenedFile, Tally

_PACKED = re.compile(r"\.(gz|bz2|xz|zst)$", re.IGNORECASE)


@dataclass(frozen=True)
class Kind:
    """A kind of corpus file.

    Attributes
    ----------
    name : str
        As given to `--format`; also listed in `w2v.config.CORPUS_FORMATS`.
    detects : callable
        Says whether a file is of this kind, by its unpacked beginning (some kB, cut anywhere) and the
        lower-case suffix of its name.
    read : callable
        Yields the text of an opened file in UTF-8, in blocks. Its second argument says whether the blocks
        must be valid UTF-8 already; only plain text may pass on what is not.
    is_plain : bool
        Whether the text is the file itself, not records or pages in it. With `sentences="none"` a plain file
        is one sentence; `read` sees to it that a record is one line then.
    page_text : callable or None
        For files of pages in some markup: from a page, which is a block, to its text, a paragraph a line.
        Blocks are not stripped while reading because that is slow: it is done on several cores.
    tokenizer : str
        The default: what suits the texts that are found in such files.
    """

    name: str
    detects: Callable[[bytes, str], bool]
    read: Callable[[OpenedFile, bool], Iterator[bytes]]
    is_plain: bool = False
    page_text: Callable[[str], str] | None = None
    tokenizer: str = "whitespace"


def kind_of(opened: OpenedFile) -> Kind:
    """Return the kind of a file: what the config's `format` says, or the first that its beginning fits."""
    if opened.config.format != "auto":
        return KINDS[opened.config.format]
    suffix = _suffix(opened.name)
    return next(
        kind for kind in KINDS.values() if any(kind.detects(start, suffix) for start in opened.starts)
    )


def _suffix(name: str) -> str:
    path = urlsplit(name).path if "://" in name else name
    return _PACKED.sub("", path).rpartition(".")[2].lower()


def _read_text(opened: OpenedFile, validate: bool) -> Iterator[bytes]:
    return opened.decoded(validate=validate)


def _read_records(
    texts: Callable[[Iterable[str], CorpusConfig, Tally], Iterator[str]], opened: OpenedFile, validate: bool
) -> Iterator[bytes]:
    parts = (data.decode() for data in opened.decoded(validate=True))
    return (text.encode() for text in texts(parts, opened.config, opened.tally))


TEXT = Kind("text", lambda head, suffix: True, _read_text, is_plain=True)
# In the order in which a file is tested: what is plain to see first, text last.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("parquet", records.begins_as_parquet, records.read_parquet),
        Kind("wiki", wiki.begins_as_dump, wiki.read_pages, page_text=wiki.page_text, tokenizer="words"),
        *(
            Kind(dialect.name, dialect.has_suffix, partial(_read_records, dialect.texts))
            for dialect in (records.CSV, records.TSV)
        ),
        Kind("jsonl", records.begins_as_jsonl, partial(_read_records, records.json_texts)),
        TEXT,
    )
}
