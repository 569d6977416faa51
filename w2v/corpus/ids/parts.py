"""Parts of a text: the unit of work of tokenizers that are slower than reading, and the result of each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v.config import CorpusConfig
from w2v.corpus.ids.word_types import Numbering, Types
from w2v.corpus.read.blocks import Block
from w2v.corpus.read.kinds import Kind
from w2v.corpus.tokens.tokenizers import Cutter

PART_BYTES = 1 << 22
_PAGE_BYTES = 1 << 20  # of pages, whose markup takes long to strip
_MOST_BYTES = 2 * PART_BYTES
_SENTENCE_ENDS = tuple(mark.encode() for mark in " 。！？；，、.")
_PAGE_END = b"\0"  # which no text of a page holds
_CACHED_TOKENS = 1 << 18
_KNOWN_WORDS = 1 << 20


class Part(NamedTuple):
    """A part of one file: UTF-8 cut at a line break, or somewhere in a line that is longer than a part.

    Attributes
    ----------
    data : bytes
    kind : Kind
        That of the file. Where it has pages, `data` is whole pages with a NUL after each.
    ends_file : bool
    position : int
        Bytes of the file on disk read so far.
    """

    data: bytes
    kind: Kind
    ends_file: bool
    position: int


class EncodedPart(NamedTuple):
    """A part as ids: its types in order of first appearance, and its tokens as ids of them.

    `sentence_ends` counts tokens from the start of the part; tokens after the last end belong to a sentence
    that goes on in the next part.
    """

    types: Types
    token_ids: NDArray[np.int32]
    sentence_ends: NDArray[np.int64]
    n_blank: int


def cut_into_parts(blocks: Iterator[Block]) -> Iterator[tuple[Block, Part]]:
    """Join the blocks of files to parts; each comes with the last block in it."""
    gathered = bytearray()
    last: Block | None = None
    for block in blocks:
        if last is not None and block.file is not last.file:
            yield last, Part(bytes(gathered), last.kind, True, last.position)
            gathered = bytearray()
        gathered += block.data
        if block.kind.page_text is not None:
            gathered += _PAGE_END
        last = block
        if cut := _place_to_cut(gathered, block.kind):
            yield block, Part(bytes(gathered[:cut]), block.kind, False, block.position)
            del gathered[:cut]
    if last is not None:
        yield last, Part(bytes(gathered), last.kind, True, last.position)


def _place_to_cut(data: bytearray, kind: Kind) -> int:
    """Return the end of a part; 0 to wait for more text."""
    if kind.page_text is not None:
        return len(data) if len(data) >= _PAGE_BYTES else 0
    if len(data) < PART_BYTES:
        return 0
    if (newline := data.rfind(b"\n")) >= 0:
        return newline + 1
    if len(data) < _MOST_BYTES:
        return 0
    for mark in _SENTENCE_ENDS:
        if (place := data.rfind(mark)) >= 0:
            return place + len(mark)
    place = len(data) - 1
    while data[place] & 0xC0 == 0x80:
        place -= 1
    return place


class PartEncoder:
    """Encodes parts, each by itself, so that any number of processes gives the same."""

    def __init__(self, config: CorpusConfig) -> None:
        self._cutter = Cutter(config)
        self._sentences, self._language = config.sentences, config.language
        self._known: dict[str, tuple[str, ...]] = {}
        self._decide = lru_cache(_CACHED_TOKENS)(self._cutter.decide)
        self.runs_in_processes = self._cutter.tokenizer.runs_in_processes

    def encode(self, part: Part) -> EncodedPart:
        """Cut a part into tokens and number them."""
        text = self._text(part)
        if self._cutter.tokenizer.is_local:
            return self._encode_words(text, is_open=self._is_open(part, text))
        return self._encode_lines(text, is_open=self._is_open(part, text))

    def _is_open(self, part: Part, text: str) -> bool:
        """Say whether the last sentence of a part goes on in the next one."""
        return not part.ends_file and part.kind.page_text is None and not text.endswith("\n")

    def _text(self, part: Part) -> str:
        """Return the text, one sentence a line."""
        text = part.data.decode()
        if part.kind.page_text is not None:
            pages = [part.kind.page_text(page) for page in text.split(_PAGE_END.decode())[:-1]]
            if self._sentences == "none":
                pages = [" ".join(page.split("\n")) for page in pages]
            text = "".join(f"{page}\n" for page in pages if page)
        elif part.kind.is_plain and self._sentences == "none":
            return " ".join(text.split("\n"))
        return self._split(text) if self._sentences == "split" else text

    def _split(self, text: str) -> str:
        """End lines at sentence ends too."""
        from sentencex import segment

        lines = text.split("\n")
        split = (
            " ".join(sentence.split("\n")) + "\n"
            for line in lines[:-1]
            for sentence in (segment(self._language, line) if line else [line])
        )
        rest = "\n".join(segment(self._language, lines[-1])) if lines[-1] else ""
        return "".join(split) + rest

    def _encode_words(self, text: str, *, is_open: bool) -> EncodedPart:
        """Cut each distinct word between white space only once, and copy its tokens wherever it occurs."""
        # Imported here: the processes of jieba do not need numba, which takes long to load.
        from w2v.corpus.ids.scan_kernels import expand
        from w2v.corpus.ids.scanner import Collector, Scanner

        collected = Collector()
        scanner = Scanner(collected)
        scanner.feed(text.encode())
        if is_open:
            scanner.feed(b" ")  # the part was cut after a token
        else:
            scanner.end_file()
        words = scanner.types.words()
        pieces = self._pieces(words)
        starts = np.zeros(len(words) + 1, np.int64)
        np.cumsum([len(tokens) for tokens in pieces], out=starts[1:])
        ids: dict[str, int] = {}  # most tokens are new here, where a `Numbering` would be slower
        numbers = [ids.setdefault(token, len(ids)) for tokens in pieces for token in tokens]
        token_ids, ends = collected.arrays()
        out = np.empty(int((np.diff(starts) * scanner.types.counts).sum()), np.int32)
        out_ends = np.empty(len(ends), np.int64)
        n_out, n_ends = expand(token_ids, ends, np.array(numbers, np.int32), starts, out, out_ends)
        n_blank = scanner.n_blank + len(ends) - n_ends
        return _encoded(ids, out[:n_out], out_ends[:n_ends], n_blank)

    def _pieces(self, words: list[str]) -> list[tuple[str, ...]]:
        """Return the tokens of words that hold no white space."""
        known = self._known
        if len(known) > _KNOWN_WORDS:
            known.clear()
        unknown = [word for word in words if word not in known]
        for word, tokens in zip(unknown, self._cutter.cut(unknown), strict=True):
            known[word] = tuple(kept for token in tokens if (kept := self._decide(token)))
        return [known[word] for word in words]

    def _encode_lines(self, text: str, *, is_open: bool) -> EncodedPart:
        lines = text.split("\n")
        if not lines[-1] and not is_open:
            lines.pop()
        numbering = Numbering(self._decide)
        ids: list[int] = []
        ends: list[int] = []
        n_lines = 0
        for tokens in self._cutter.cut(lines):
            n_ids = len(ids)
            ids += numbering.ids(tokens)
            n_lines += 1
            if len(ids) > n_ids and not (is_open and n_lines == len(lines)):
                ends.append(len(ids))
        n_blank = n_lines - is_open - len(ends)
        return _encoded(numbering.words, np.array(ids, np.int32), np.array(ends, np.int64), n_blank)


def _encoded(
    words: Collection[str], token_ids: NDArray[np.int32], ends: NDArray[np.int64], n_blank: int
) -> EncodedPart:
    types = Types.from_words(words, np.bincount(token_ids, minlength=len(words)))
    return EncodedPart(types, token_ids, ends, n_blank)


_DTYPES = (np.uint8, np.int64, np.int64, np.int32, np.int64)


def pack(encoded: EncodedPart) -> tuple[bytes, list[bytes]]:
    """Return an encoded part as a line of JSON and the bytes that follow it, for a pipe."""
    arrays = zip((*encoded.types, encoded.token_ids, encoded.sentence_ends), _DTYPES, strict=True)
    data = [np.ascontiguousarray(array, dtype).tobytes() for array, dtype in arrays]
    header = {"sizes": [len(array) for array in data], "n_blank": encoded.n_blank}
    return json.dumps(header).encode() + b"\n", data


def unpack(header: dict[str, Any], data: bytes) -> EncodedPart:
    """Undo `pack`."""
    arrays, start = [], 0
    for size, dtype in zip(header["sizes"], _DTYPES, strict=True):
        arrays.append(np.frombuffer(data[start : start + size], dtype))
        start += size
    blob, offsets, counts, token_ids, ends = arrays
    return EncodedPart(Types(blob, offsets, counts), token_ids, ends, header["n_blank"])
