"""Open text files, unpack and decode them: bytes of any packing and encoding in, blocks of UTF-8 out."""

from __future__ import annotations

import codecs
import contextlib
import io
import logging
import os
import queue
import stat
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

from w2v.config import CorpusConfig
from w2v.corpus.read.files import TextFile
from w2v.corpus.read.guess_encoding import advice_on
from w2v.corpus.read.records import RecordError, kind_of, parquet_texts, texts_of
from w2v.corpus.read.remote import as_corpus_error, open_url
from w2v.corpus.read.tally import Tally
from w2v.corpus.read.wiki import Rejoined, pages
from w2v.errors import CorpusError, W2VError
from w2v.files.compression import HEAD_BYTES as PACKING_BYTES
from w2v.files.compression import is_broken, packing_of, unpacked

_HEAD_BYTES = 8192
_BLOCKS_AHEAD = 4
_TICK_NS = 20_000_000  # file times advance every 1 to 10 ms on Linux
_log = logging.getLogger(__name__)
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NO_TEXT = {
    b"PK\x03\x04": "a zip archive, or a document that is one (docx, xlsx, epub); take the text out first",
    b"%PDF-": "a PDF; take the text out first, for example with pdftotext",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it first",
    b"Rar!\x1a\x07": "a rar archive; unpack it first",
    b"\x04\x22\x4d\x18": "packed with lz4; pack it with zstd or gzip, or unpack it",
    b"\x1f\x9d": "packed with compress (.Z); pack it with zstd or gzip, or unpack it",
    b"LZIP": "packed with lzip; pack it with xz or zstd, or unpack it",
    b"version https://git-lfs.github.com/spec/": "a Git LFS pointer, not the file itself; run git lfs pull",
}


def is_scanned_as_is(config: CorpusConfig) -> bool:
    """Say whether tokens stand between white space and lines are sentences: the scanner's fast path."""
    return (
        config.tokenizer in (None, "whitespace")
        and config.normalize == "none"
        and config.numbers == "keep"
        and config.sentences == "line"
        and not (config.t2s or config.s2t or config.drop_punctuation)
    )


class Block(NamedTuple):
    """A part of a text in UTF-8.

    `skipped` is how many bytes of a byte-order mark stood before the text; `position` how many bytes of the
    file on disk are read so far. `kind` is that of the file; of a Wikipedia dump ("wiki") each block is the
    wikitext of one page. An empty text file has one empty block.
    """

    file: TextFile
    data: bytes
    skipped: int
    position: int
    kind: str = "text"


def read_blocks(
    files: Sequence[TextFile], config: CorpusConfig, tally: Tally, *, block_bytes: int, validate: bool = False
) -> Generator[Block, None, None]:
    """Read files one after the other in a thread of its own, a few blocks ahead.

    Parameters
    ----------
    files : sequence of TextFile
    config : CorpusConfig
    tally : Tally
        Modified in place; complete when the iterator has ended.
    block_bytes : int
        Bytes read at once.
    validate : bool
        False: whoever takes the blocks of a UTF-8 text sees for himself whether they are valid.

    Raises
    ------
    CorpusError
        If a file is not text, is damaged, or cannot be decoded; with its name and the place.
    OSError
        If a file cannot be read.
    """
    return _ahead(_read_file(_Reading(file, config, tally, block_bytes, validate)) for file in files)


def _ahead(parts: Iterator[Iterator[Block]]) -> Generator[Block, None, None]:
    """Run the iterators in a thread; it stops when the caller stops."""
    blocks: queue.Queue[Block | BaseException | None] = queue.Queue(_BLOCKS_AHEAD)
    stopped = threading.Event()

    def put(item: Block | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                blocks.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    def run() -> None:
        try:
            for part in parts:
                for block in part:
                    put(block)
                    if stopped.is_set():
                        return
            put(None)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            put(error)

    # A daemon: a read from a silent pipe must not hold up the end of the process.
    threading.Thread(target=run, name="w2v-reader", daemon=True).start()
    try:
        while (block := blocks.get()) is not None:
            if isinstance(block, BaseException):
                raise block
            yield block
    finally:
        stopped.set()


class _Reading(NamedTuple):
    """A file that is being read, and how."""

    file: TextFile
    config: CorpusConfig
    tally: Tally
    block_bytes: int
    validate: bool


def _read_file(reading: _Reading) -> Iterator[Block]:
    file, tally = reading.file, reading.tally
    with _open(file) as raw:
        status = None if file.is_url else _settled_status(raw)
        try:
            for data, skipped, kind in _read_any(raw, reading):
                yield Block(file, data, skipped, _position(raw), kind)
        except RecordError as error:
            raise CorpusError(f"{file.name}:{error}") from None
        except Exception as error:
            raise _with_name(error, file) from error
        is_whole = status is not None and file.path is not None and stat.S_ISREG(status.st_mode)
        if status is not None and is_whole and not _is_same(status, os.fstat(raw.fileno())):
            _log.warning("%s changed while it was read", file.name)
            is_whole = False
        tally.statuses.append(status if is_whole else None)


def _read_any(raw: BinaryIO, reading: _Reading) -> Iterator[tuple[bytes, int, str]]:
    """Yield UTF-8, the bytes of a byte-order mark before it, and the kind of the file."""
    file, config, tally = reading.file, reading.config, reading.tally
    packing = packing_of(raw.peek(PACKING_BYTES)[:PACKING_BYTES])  # type: ignore[attr-defined]
    source = unpacked(raw, packing)
    head = _read_full(source, max(_HEAD_BYTES, reading.block_bytes))
    kind = kind_of(head, file.name, config)
    tally.kinds[kind] += 1
    if kind == "parquet":
        if packing is not None or not raw.seekable():
            raise CorpusError(f"{file.name}: a Parquet file must be a file on disk that is not packed")
        raw.seek(0)
        for text in parquet_texts(raw, config, tally):
            data = text.encode()
            tally.bytes += len(data)
            yield data, 0, kind
    elif kind == "wiki":
        yield from ((page.encode(), 0, kind) for page in pages(Rejoined(head, source, tally), file.name))
    else:
        decoded = _decode(head, source, packing, reading, validate=reading.validate or kind != "text")
        if kind == "text":
            yield from ((data, skipped, kind) for data, skipped in decoded)
        else:
            parts = (data.decode() for data, _ in decoded)
            yield from ((text.encode(), 0, kind) for text in texts_of(kind, parts, config, tally))


def kind_of_file(file: TextFile, config: CorpusConfig) -> str:
    """Name the kind of a regular file by its beginning; see `records.kind_of`."""
    with _open(file) as raw:
        try:
            packing = packing_of(raw.peek(PACKING_BYTES)[:PACKING_BYTES])  # type: ignore[attr-defined]
            return kind_of(_read_full(unpacked(raw, packing), _HEAD_BYTES), file.name, config)
        except Exception as error:
            raise _with_name(error, file) from error


def _open(file: TextFile) -> BinaryIO:
    if file.is_url:
        opened = open_url(file.name)
        return opened if hasattr(opened, "peek") else io.BufferedReader(_AsRaw(opened))
    if file.path is None:
        return open(0, "rb", closefd=False)  # a descriptor, not a path
    return file.path.open("rb")


class _AsRaw(io.RawIOBase):
    """Whatever a transport gives, as what `io.BufferedReader` wants."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()


def _position(raw: BinaryIO) -> int:
    return raw.tell() if raw.seekable() else 0


def _settled_status(file: BinaryIO) -> os.stat_result:
    """Return a file's status; a change within the same tick of the clock would not show, so let that pass."""
    status = os.fstat(file.fileno())
    if 0 <= time.time_ns() - status.st_ctime_ns < _TICK_NS:
        time.sleep(_TICK_NS / 1e9)
        status = os.fstat(file.fileno())
    return status


def _is_same(before: os.stat_result, after: os.stat_result) -> bool:
    return all(
        getattr(before, name) == getattr(after, name) for name in ("st_size", "st_mtime_ns", "st_ctime_ns")
    )


def _with_name(error: Exception, file: TextFile) -> Exception:
    """Give an error of reading the file's name."""
    if file.is_url and not is_broken(error) and not isinstance(error, W2VError):
        return as_corpus_error(file.name, error)
    if is_broken(error) or (isinstance(error, OSError) and error.errno is None):
        return CorpusError(f"{file.name}: the packed data is damaged or cut short ({error})")
    if isinstance(error, OSError) and error.filename is None:
        return type(error)(error.errno, error.strerror, file.name)
    return error


def _decode(
    head: bytes, source: BinaryIO, packing: str | None, reading: _Reading, *, validate: bool
) -> Iterator[tuple[bytes, int]]:
    """Yield UTF-8 and how many bytes of a byte-order mark went before it."""
    file, config, tally, block_bytes, _ = reading
    _refuse_other_kinds(head, packing, file.name)
    tally.bytes += len(head)
    is_utf8 = codecs.lookup(config.encoding).name in ("utf-8", "utf-8-sig")
    if is_utf8:
        _refuse_other_unicode(head, file.name)
    skipped = len(codecs.BOM_UTF8) if is_utf8 and head.startswith(codecs.BOM_UTF8) else 0
    is_valid_enough = is_utf8 and config.errors == "strict" and not validate
    decoder = None if is_valid_enough else _Decoder(file.name, config, tally, skipped)
    is_first = True
    for data in _blocks(head[skipped:], source, tally, block_bytes):
        text = data if decoder is None else decoder.decode(data)
        if is_first:
            _refuse_nul(text[:_HEAD_BYTES], file.name)
        yield text, skipped
        is_first = False
    if decoder is not None:
        yield decoder.decode(b"", final=True), skipped


def _read_full(source: BinaryIO, n_bytes: int) -> bytes:
    """Read n_bytes, or all there is; one read of a pipe may give less."""
    parts = []
    while n_bytes and (data := source.read(n_bytes)):
        parts.append(data)
        n_bytes -= len(data)
    return b"".join(parts)


def _blocks(head: bytes, source: BinaryIO, tally: Tally, block_bytes: int) -> Iterator[bytes]:
    for start in range(0, max(len(head), 1), block_bytes):
        yield head[start : start + block_bytes]
    while data := source.read(block_bytes):
        tally.bytes += len(data)
        yield data


def _refuse_other_kinds(head: bytes, packing: str | None, name: str) -> None:
    wrapper = f" (packed with {packing})" if packing else ""
    for magic, advice in _NO_TEXT.items():
        if head.startswith(magic):
            raise CorpusError(f"{name}: not text but {advice}{wrapper}")
    if head[257:262] == b"ustar":
        raise CorpusError(f"{name}: not text but a tar archive{wrapper}; unpack it and give the folder")
    if (inner := packing_of(head[:PACKING_BYTES])) is not None:
        raise CorpusError(f"{name}: packed twice ({inner} in {packing}); unpack it once")


def _refuse_other_unicode(head: bytes, name: str) -> None:
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            raise CorpusError(f"{name}: not UTF-8 but {encoding.upper()}; pass --encoding {encoding}")


def _refuse_nul(head: bytes, name: str) -> None:
    if (position := head.find(b"\0")) >= 0:
        raise CorpusError(
            f"{name}: byte {position} is NUL, so this is a binary file; if it is UTF-16 text, "
            "pass --encoding utf-16-le or utf-16-be"
        )


class _Decoder:
    """Decode a text block by block and encode it as UTF-8."""

    def __init__(self, name: str, config: CorpusConfig, tally: Tally, skipped: int) -> None:
        errors = "strict" if config.errors == "strict" else _COUNTING
        self._decoder = codecs.getincrementaldecoder(config.encoding)(errors)
        self._name, self._encoding, self._tally = name, config.encoding, tally
        self._n_bytes, self._n_lines, self._is_first = skipped, 0, True

    def decode(self, data: bytes, *, final: bool = False) -> bytes:
        state = self._decoder.getstate()
        _replaced.count = 0
        try:
            text = self._decoder.decode(data, final)
            self._tally.replaced += _replaced.count
            if self._is_first and text:
                text, self._is_first = text.removeprefix("\ufeff"), False
            self._n_bytes += len(data)
            self._n_lines += text.count("\n")
            return text.encode()
        except UnicodeDecodeError as error:
            raise self._error(error, data, state) from None
        except UnicodeEncodeError:
            raise CorpusError(
                f"{self._name}: {self._encoding} gives lone surrogates, which are no text"
            ) from None
        except UnicodeError as error:  # such as UTF-16 without a byte-order mark
            raise CorpusError(f"{self._name}: not {self._encoding} ({error}); {advice_on(data)}") from None

    def _error(self, error: UnicodeDecodeError, data: bytes, state: tuple[bytes, int]) -> CorpusError:
        pending = len(error.object) - len(data)
        position = self._n_bytes - pending + error.start
        with contextlib.suppress(UnicodeError):
            self._decoder.setstate(state)
            self._n_lines += self._decoder.decode(data[: max(error.start - pending, 0)]).count("\n")
        return CorpusError(
            f"{self._name}:{self._n_lines + 1}: not {self._encoding} at byte {position} of the text "
            f"({error.reason}); {advice_on(error.object[max(error.start - _HEAD_BYTES, 0) :])}"
        )


class _Replaced(threading.local):
    count = 0


# Python's registry of error handlers is global and gives them no context, so each thread counts for itself.
_replaced = _Replaced()
_COUNTING = "w2v.count_and_replace"


def _count_and_replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # noqa: S101 - used for decoding only
    _replaced.count += 1
    return "\ufffd", error.end


codecs.register_error(_COUNTING, _count_and_replace)
