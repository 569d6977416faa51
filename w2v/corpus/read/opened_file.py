"""Open corpus files, unpack and decode them: bytes of any packing and encoding in, UTF-8 out."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO

from w2v.config import CorpusConfig
from w2v.corpus.read.files import TextFile
from w2v.corpus.read.guess_encoding import encoding_advice
from w2v.corpus.read.remote import as_corpus_error, open_url
from w2v.errors import CorpusError, W2VError
from w2v.files.compression import HEAD_BYTES as PACKING_BYTES
from w2v.files.compression import is_broken, packing_of, unpacked
from w2v.files.signatures import signature_of

HEAD_BYTES = 8192
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_ADVICE = {
    "a zip archive": "unpack it; from a document that is one (docx, xlsx, epub) take the text out",
    "a tar archive": "unpack it and give the folder",
    "a PDF document": "take the text out first, for example with pdftotext",
}


class RecordError(Exception):
    """A record cannot be read, in a line counted from 1; `open_file` puts the name of the file before it."""

    def __init__(self, line: int | None, what: str) -> None:
        super().__init__(f" {what}" if line is None else f"{line}: {what}")
        self.line, self.what = line, what


@dataclass
class Tally:
    """What has been read so far.

    A status is None for what is not a regular file, and for a file that changed while it was read.
    """

    file_name: str = ""
    bytes: int = 0
    replaced: int = 0
    skipped: int = 0
    repeats: int = 0
    weighted_out: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    statuses: list[os.stat_result | None] = field(default_factory=list)
    _notes: dict[str, str] = field(default_factory=dict)
    _files_noted: dict[str, set[str]] = field(default_factory=dict)

    def note(self, subject: str, text: str, line: int | None = None) -> None:
        """Remember what looks wrong in the file that is being read; of each subject the first text."""
        place = self.file_name if line is None else f"{self.file_name}:{line}"
        self._notes.setdefault(subject, f"{place}: {text}")
        self._files_noted.setdefault(subject, set()).add(self.file_name)

    def skip(self, error: RecordError, n_records: int = 1) -> None:
        """Count records that are left out."""
        self.skipped += n_records
        self.note("skipped", f"{error.what}; records like this are left out", error.line)

    def weigh(self, times: int) -> None:
        """Count a text that is read several times, or not at all, because of its weight."""
        self.repeats += max(0, times - 1)
        self.weighted_out += times == 0

    @property
    def notes(self) -> list[str]:
        """What looks wrong, a line each."""
        more = {subject: len(names) - 1 for subject, names in self._files_noted.items()}
        return [
            text + (f" (the same in {more[subject]:,} more files)" if more[subject] else "")
            for subject, text in self._notes.items()
        ]


class OpenedFile:
    """A file that is being read: its beginning, and its unpacked bytes from the first to the last.

    Parameters
    ----------
    raw : buffered binary file
        As it lies on disk.
    name : str
        For error messages.
    config : CorpusConfig
    tally : Tally
        Modified in place while the file is read.
    block_bytes : int
        Bytes read at once.

    Attributes
    ----------
    packing : str or None
        How the file is packed.
    head : bytes
        The unpacked beginning, `HEAD_BYTES` at least if there are so many.
    skipped : int
        Bytes of a byte-order mark before the text, once it is being decoded.
    """

    def __init__(
        self, raw: BinaryIO, name: str, config: CorpusConfig, tally: Tally, block_bytes: int
    ) -> None:
        self.raw, self.name, self.config, self.tally = raw, name, config, tally
        self.packing = packing_of(raw.peek(PACKING_BYTES)[:PACKING_BYTES])  # type: ignore[attr-defined]
        self._source = unpacked(raw, self.packing)
        self._block_bytes = block_bytes
        self.head = self._unread = _read_full(self._source, max(HEAD_BYTES, block_bytes))
        self.skipped = 0

    @cached_property
    def starts(self) -> list[bytes]:
        """The first `HEAD_BYTES` as they are and, if another encoding than UTF-8 is set, as UTF-8."""
        starts = [self.head[:HEAD_BYTES].removeprefix(codecs.BOM_UTF8)]
        if not _is_utf8(self.config):
            with contextlib.suppress(UnicodeError):
                text = codecs.getincrementaldecoder(self.config.encoding)("replace").decode(starts[0])
                starts.append(text.removeprefix("\ufeff").encode(errors="replace"))
        return starts

    @property
    def position(self) -> int:
        """Bytes on disk read so far; 0 where that cannot be known."""
        return self.raw.tell() if self.raw.seekable() else 0

    def read(self, n_bytes: int = -1) -> bytes:
        """Read the next bytes, `n_bytes` at most; all that are left by default."""
        if self._unread:
            n_bytes = len(self._unread) if n_bytes < 0 else n_bytes
            data, self._unread = self._unread[:n_bytes], self._unread[n_bytes:]
        else:
            data = self._source.read(n_bytes)
        self.tally.bytes += len(data)
        return data

    def decoded(self, *, validate: bool) -> Iterator[bytes]:
        """Yield the text as UTF-8 in blocks cut anywhere, without a byte-order mark; one block at least.

        Parameters
        ----------
        validate : bool
            False: UTF-8 may be passed on as it is; the caller checks that it is valid.
        """
        _refuse_other_kinds(self.head, self.packing, self.name)
        is_utf8 = _is_utf8(self.config)
        if is_utf8:
            _refuse_other_unicode(self.head, self.name)
            self.skipped = len(codecs.BOM_UTF8) if self.head.startswith(codecs.BOM_UTF8) else 0
            self.read(self.skipped)
        passes = is_utf8 and self.config.errors == "strict" and not validate
        decoder = None if passes else _Decoder(self.name, self.config, self.tally, self.skipped)
        position, is_last = self.skipped, False
        while not is_last:
            data = self.read(self._block_bytes)
            is_last = not data
            text = data if decoder is None else decoder.decode(data, final=is_last)
            yield self._without_nul(text, position)
            position += len(text)

    def _without_nul(self, text: bytes, position: int) -> bytes:
        """Treat a NUL as a byte that cannot be decoded, for it stands in no text."""
        if (place := text.find(b"\0")) < 0:
            return text
        if self.config.errors == "strict":
            raise CorpusError(
                f"{self.name}: byte {position + place} is NUL, so this file is binary or damaged; if it is "
                "UTF-16 text, pass --encoding utf-16-le or utf-16-be (or --errors replace)"
            )
        self.tally.replaced += text.count(b"\0")
        return text.replace(b"\0", "\ufffd".encode())


@contextlib.contextmanager
def open_file(file: TextFile) -> Iterator[BinaryIO]:
    """Open a file for reading; an error inside the block gets the file's name.

    Raises
    ------
    CorpusError
        If the file cannot be unpacked, a record cannot be read, or a URL cannot be reached.
    OSError
        If the file cannot be read.
    """
    with _open(file) as raw:
        try:
            yield raw
        except RecordError as error:
            raise CorpusError(f"{file.name}:{error}") from None
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
    """The file object of a transport as a raw stream for `io.BufferedReader`."""

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


def _with_name(error: Exception, file: TextFile) -> Exception:
    """Give an error of reading the file's name."""
    if file.is_url and not is_broken(error) and not isinstance(error, W2VError):
        return as_corpus_error(file.name, error)
    if is_broken(error) or (isinstance(error, OSError) and error.errno is None):
        return CorpusError(f"{file.name}: the packed data is damaged or cut short ({error})")
    if isinstance(error, OSError) and error.filename is None:
        return type(error)(error.errno, error.strerror, file.name)
    return error


def _read_full(source: BinaryIO, n_bytes: int) -> bytes:
    """Read n_bytes, or all there is; one read of a pipe may give less."""
    parts = []
    while n_bytes and (data := source.read(n_bytes)):
        parts.append(data)
        n_bytes -= len(data)
    return b"".join(parts)


def _refuse_other_kinds(head: bytes, packing: str | None, name: str) -> None:
    wrapper = f" (packed with {packing})" if packing else ""
    if (signature := signature_of(head)) is not None:
        advice = _ADVICE.get(signature.name, signature.advice)
        raise CorpusError(
            f"{name}: not text but {signature.name}{wrapper}" + (f"; {advice}" if advice else "")
        )
    if (inner := packing_of(head[:PACKING_BYTES])) is not None:
        raise CorpusError(f"{name}: packed twice ({inner} in {packing}); unpack it once")


def _refuse_other_unicode(head: bytes, name: str) -> None:
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            raise CorpusError(f"{name}: not UTF-8 but {encoding.upper()}; pass --encoding {encoding}")


def _is_utf8(config: CorpusConfig) -> bool:
    return codecs.lookup(config.encoding).name in ("utf-8", "utf-8-sig")


class _Decoder:
    """Decode a text block by block and encode it as UTF-8."""

    def __init__(self, name: str, config: CorpusConfig, tally: Tally, skipped: int) -> None:
        errors = "strict" if config.errors == "strict" else _COUNTING
        self._decoder = codecs.getincrementaldecoder(config.encoding)(errors)
        self._name, self._encoding, self._tally = name, config.encoding, tally
        self._n_bytes, self._n_lines, self._is_first = skipped, 0, True
        self._last = b""

    def decode(self, data: bytes, *, final: bool = False) -> bytes:
        state = self._decoder.getstate()
        _replaced.count = 0
        try:
            text = self._decoder.decode(data, final)
            self._tally.replaced += _replaced.count
            if self._is_first and text:
                text, self._is_first = text.removeprefix("\ufeff"), False
            self._n_bytes, self._last = self._n_bytes + len(data), data
            self._n_lines += text.count("\n")
            return text.encode()
        except UnicodeDecodeError as error:
            raise self._error(error, data, state) from None
        except UnicodeEncodeError:
            raise CorpusError(
                f"{self._name}: {self._encoding} gives lone surrogates, which are no text"
            ) from None
        except UnicodeError as error:  # such as UTF-16 without a byte-order mark
            raise CorpusError(
                f"{self._name}: not {self._encoding} ({error}); {encoding_advice(data)}"
            ) from None

    def _error(self, error: UnicodeDecodeError, data: bytes, state: tuple[bytes, int]) -> CorpusError:
        pending = len(error.object) - len(data)
        position = self._n_bytes - pending + error.start
        with contextlib.suppress(UnicodeError):
            self._decoder.setstate(state)
            self._n_lines += self._decoder.decode(data[: max(error.start - pending, 0)]).count("\n")
        around = self._last[: len(self._last) - pending][-HEAD_BYTES:] + error.object
        return CorpusError(
            f"{self._name}:{self._n_lines + 1}: not {self._encoding} at byte {position} of the text "
            f"({error.reason}); {encoding_advice(around[max(error.start - HEAD_BYTES, 0) :])}"
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
