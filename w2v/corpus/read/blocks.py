"""Read corpus files one after the other, in a thread of its own, as blocks of UTF-8."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import stat
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from w2v.config import CorpusConfig
from w2v.corpus.read.files import TextFile
from w2v.corpus.read.kinds import Kind, kind_of
from w2v.corpus.read.markup import markup_advice
from w2v.corpus.read.opened_file import OpenedFile, Tally, open_file
from w2v.errors import CorpusError

_BLOCKS_AHEAD = 4
_AWAKE_SECONDS = 0.1
_TICK_NS = 20_000_000  # file times advance every 1 to 10 ms on Linux
_log = logging.getLogger(__name__)


class Block(NamedTuple):
    """A part of a file's text in UTF-8; an empty text file has one empty block.

    Attributes
    ----------
    file : TextFile
    kind : Kind
        That of the file.
    data : bytes
        Cut anywhere; a page where the kind has pages.
    skipped : int
        Bytes of a byte-order mark before the text.
    position : int
        Bytes of the file on disk read so far.
    """

    file: TextFile
    kind: Kind
    data: bytes
    skipped: int
    position: int


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
        False: UTF-8 text may be passed on as it is; the caller checks that it is valid.

    Raises
    ------
    CorpusError
        If a file is not text, is damaged, or cannot be decoded; with its name and the place.
    OSError
        If a file cannot be read.
    """
    return _ahead(_read_file(file, config, tally, block_bytes, validate) for file in files)


def kind_of_file(file: TextFile, config: CorpusConfig) -> Kind:
    """Tell the kind of a regular file by its beginning."""
    with open_file(file) as raw:
        return kind_of(OpenedFile(raw, file.name, config, Tally(), 0))


def _ahead(parts: Iterator[Iterator[Block]]) -> Generator[Block, None, None]:
    """Run the iterators in a thread; it stops when the caller stops."""
    blocks: queue.Queue[Block | BaseException | None] = queue.Queue(_BLOCKS_AHEAD)
    stopped = threading.Event()

    def put(item: Block | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                blocks.put(item, timeout=_AWAKE_SECONDS)
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

    def get() -> Block | BaseException | None:
        # Awake a few times a second: a signal that comes just before the main thread falls asleep would wait
        # for the next block, which a silent pipe never sends.
        while True:
            with contextlib.suppress(queue.Empty):
                return blocks.get(timeout=_AWAKE_SECONDS)

    # A daemon: a read from a silent pipe must not hold up the end of the process.
    threading.Thread(target=run, name="w2v-reader", daemon=True).start()
    try:
        while (block := get()) is not None:
            if isinstance(block, BaseException):
                raise block
            yield block
    finally:
        stopped.set()


def _read_file(
    file: TextFile, config: CorpusConfig, tally: Tally, block_bytes: int, validate: bool
) -> Iterator[Block]:
    with open_file(file) as raw:
        status = None if file.is_url else _settled_status(raw)
        opened = OpenedFile(raw, file.name, config, tally, block_bytes)
        kind = kind_of(opened)
        if config.weights_field is not None and (kind.is_plain or kind.page_text is not None):
            raise CorpusError(f"{file.name}: {kind.name} has no records, and so no field for weights_field")
        tally.kinds[kind.name] += 1
        tally.file_name = file.name
        is_first = kind.page_text is None
        for data in kind.read(opened, validate):
            if is_first and (advice := markup_advice(data)):
                tally.note("markup", advice)
            is_first = False
            yield Block(file, kind, data, opened.skipped, opened.position)
        is_whole = status is not None and file.path is not None and stat.S_ISREG(status.st_mode)
        if status is not None and is_whole and not _is_same(status, os.fstat(raw.fileno())):
            _log.warning("%s changed while it was read", file.name)
            is_whole = False
        tally.statuses.append(status if is_whole else None)


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
