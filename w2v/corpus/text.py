"""Open text files, unpack and decode them: bytes of any packing and encoding in, blocks of UTF-8 out."""

from __future__ import annotations

import codecs
import contextlib
import logging
import os
import queue
import stat
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from w2v.compression import HEAD_BYTES as PACKING_BYTES
from w2v.compression import is_broken, packing_of, unpacked
from w2v.config import CorpusConfig
from w2v.corpus.files import TextFile
from w2v.errors import CorpusError

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
    b"PAR1": "a Parquet file; write its text column to a text file first",
    b"version https://git-lfs.github.com/spec/": "a Git LFS pointer, not the file itself; run git lfs pull",
}


class Block(NamedTuple):
    """A part of a text in UTF-8.

    `skipped` is how many bytes of a byte-order mark stood before the text; `position` how many bytes of the
    file on disk are read so far. An empty file has one empty block.
    """

    file: TextFile
    data: bytes
    skipped: int
    position: int


@dataclass
class Tally:
    """What has been read so far; a status is None for what is no regular file, or changed meanwhile."""

    bytes: int = 0
    replaced: int = 0
    statuses: list[os.stat_result | None] = field(default_factory=list)


def read_blocks(
    files: Sequence[TextFile], config: CorpusConfig, tally: Tally, *, block_bytes: int
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

    Raises
    ------
    CorpusError
        If a file is not text, is damaged, or cannot be decoded; with its name and the place.
    OSError
        If a file cannot be read.
    """
    return _ahead(_read_file(file, config, tally, block_bytes) for file in files)


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


def _read_file(file: TextFile, config: CorpusConfig, tally: Tally, block_bytes: int) -> Iterator[Block]:
    with _open(file) as raw:
        status = _settled_status(raw)
        try:
            packing = packing_of(raw.peek(PACKING_BYTES)[:PACKING_BYTES])  # type: ignore[attr-defined]
            for data, skipped in _decode(unpacked(raw, packing), packing, file, config, tally, block_bytes):
                yield Block(file, data, skipped, raw.tell() if raw.seekable() else 0)
        except Exception as error:
            raise _with_name(error, file) from error
        is_whole = file.path is not None and stat.S_ISREG(status.st_mode)
        if is_whole and not _is_same(status, os.fstat(raw.fileno())):
            _log.warning("%s changed while it was read", file.name)
            is_whole = False
        tally.statuses.append(status if is_whole else None)


def _open(file: TextFile) -> BinaryIO:
    if file.path is None:
        return open(0, "rb", closefd=False)  # a descriptor, not a path
    return file.path.open("rb")


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
    if is_broken(error) or (isinstance(error, OSError) and error.errno is None):
        return CorpusError(f"{file.name}: the packed data is damaged or cut short ({error})")
    if isinstance(error, OSError) and error.filename is None:
        return type(error)(error.errno, error.strerror, file.name)
    return error


def _decode(
    source: BinaryIO,
    packing: str | None,
    file: TextFile,
    config: CorpusConfig,
    tally: Tally,
    block_bytes: int,
) -> Iterator[tuple[bytes, int]]:
    """Yield UTF-8 and how many bytes of a byte-order mark went before it."""
    head = _read_full(source, max(_HEAD_BYTES, block_bytes))
    _refuse_other_kinds(head, packing, file.name)
    tally.bytes += len(head)
    is_utf8 = codecs.lookup(config.encoding).name in ("utf-8", "utf-8-sig")
    if is_utf8:
        _refuse_other_unicode(head, file.name)
    skipped = len(codecs.BOM_UTF8) if is_utf8 and head.startswith(codecs.BOM_UTF8) else 0
    decoder = None if is_utf8 and config.errors == "strict" else _Decoder(file.name, config, tally, skipped)
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

    def _error(self, error: UnicodeDecodeError, data: bytes, state: tuple[bytes, int]) -> CorpusError:
        pending = len(error.object) - len(data)
        position = self._n_bytes - pending + error.start
        with contextlib.suppress(UnicodeError):
            self._decoder.setstate(state)
            self._n_lines += self._decoder.decode(data[: max(error.start - pending, 0)]).count("\n")
        return CorpusError(
            f"{self._name}:{self._n_lines + 1}: not {self._encoding} at byte {position} of the text "
            f"({error.reason}); say which --encoding it has, or pass --errors replace"
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
