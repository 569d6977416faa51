"""Reading files: packings, encodings, byte-order marks, what is refused, and where an error is."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2v.config import CorpusConfig
from w2v.corpus.read.blocks import read_blocks
from w2v.corpus.read.files import TextFile
from w2v.corpus.read.opened_file import OpenedFile, Tally
from w2v.errors import CorpusError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = "the quick brown fox\njumps over\n" * 400
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
}


def read(
    path: Path, *, encoding: str = "utf-8", errors: str = "strict", block_bytes: int = 1 << 16
) -> tuple[str, Tally]:
    tally = Tally()
    config = CorpusConfig(encoding=encoding, errors=errors)
    blocks = read_blocks([TextFile(path.name, path)], config, tally, block_bytes=block_bytes)
    return b"".join(block.data for block in blocks).decode(), tally


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write_file(data: bytes) -> Path:
        path = tmp_path / "corpus.txt"
        path.write_bytes(data)
        return path

    return write_file


Write = Callable[[bytes], Path]


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_files_are_known_by_content(packing: str, write: Write) -> None:
    path = write(PACKINGS[packing](TEXT.encode()))
    text, tally = read(path)
    assert text == TEXT
    assert tally.bytes == len(TEXT)


@pytest.mark.parametrize("packing", PACKINGS)
def test_all_members_of_a_packed_file_are_read(packing: str, write: Write) -> None:
    pack = PACKINGS[packing]
    assert read(write(pack(b"one\n") + pack(b"") + pack(b"two\n")))[0] == "one\ntwo\n"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("change", [1, ord("a"), None])
def test_a_second_member_that_is_damaged_is_an_error(packing: str, change: int | None, write: Write) -> None:
    """Python's readers of bzip2, xz and Zstandard would end there in silence."""
    first, second = PACKINGS[packing](b"one\n" * 9), bytearray(PACKINGS[packing](b"two\n" * 9))
    second[0] = second[0] ^ 1 if change is None else change
    with pytest.raises(CorpusError, match=r"^corpus.txt: the packed data is damaged or cut short"):
        read(write(first + second))
    for rest in (b"B", b"garbage", bytes(99_999) + b"x"):
        with pytest.raises(CorpusError, match=r"^corpus.txt: the packed data is damaged or cut short"):
            read(write(first + rest))


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("n_bytes", [4, 512, 200_000])
def test_padding_behind_a_member_is_passed_over(packing: str, n_bytes: int, write: Write) -> None:
    pack, padding = PACKINGS[packing], bytes(n_bytes)
    assert read(write(pack(b"one\n") + padding))[0] == "one\n"
    assert read(write(pack(b"one\n") + padding + pack(b"two\n") + padding))[0] == "one\ntwo\n"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_packed_file_cut_short_is_an_error(packing: str, kept: float, write: Write) -> None:
    data = PACKINGS[packing]("\n".join(str(number**3) for number in range(20_000)).encode())
    with pytest.raises(CorpusError, match=r"^corpus.txt: the packed data is damaged or cut short"):
        read(write(data[: int(len(data) * kept)]))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_damaged_packed_file_is_an_error(packing: str, write: Write) -> None:
    data = bytearray(PACKINGS[packing]("\n".join(str(number**3) for number in range(20_000)).encode()))
    data[len(data) // 2 : len(data) // 2 + 40] = bytes(40)
    with pytest.raises(CorpusError, match=r"^corpus.txt: "):
        read(write(bytes(data)))


def test_a_bomb_is_read_in_blocks(write: Write) -> None:
    path = write(gzip.compress(b"a " * 20_000_000))
    blocks = read_blocks([TextFile("bomb", path)], CorpusConfig(), Tally(), block_bytes=1 << 16)
    assert max(len(block.data) for block in blocks) <= 1 << 16


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    return buffer.getvalue()


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", "words")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_tar(), "tar archive"),
        (gzip.compress(_tar()), r"tar archive \(packed with gzip\)"),
        (_zip(), "zip archive"),
        (gzip.compress(gzip.compress(b"a")), r"packed twice \(gzip in gzip\)"),
        (b"%PDF-1.7\n", "PDF"),
        (b"PAR1....", "Parquet"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "byte 7 is NUL"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "git lfs pull"),
        ("text".encode("utf-16"), "pass --encoding utf-16"),
        ("text".encode("utf-32"), "pass --encoding utf-32"),
        ("text".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_what_is_no_text_is_refused_by_name(data: bytes, message: str, write: Write) -> None:
    with pytest.raises(CorpusError, match=rf"^corpus.txt: .*{message}"):
        read(write(data))


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32-le"])
def test_a_byte_order_mark_is_removed(encoding: str, write: Write) -> None:
    mark = "\ufeff" if encoding not in ("utf-8-sig", "utf-16") else ""
    assert read(write((mark + "hello\ufeff\n").encode(encoding)), encoding=encoding)[0] == "hello\ufeff\n"


@pytest.mark.parametrize(
    "encoding",
    ["gb18030", "gbk", "big5", "shift_jis", "euc_kr", "iso2022_jp", "utf-16", "utf-7", "cp1252", "koi8-r"],
)
@pytest.mark.parametrize("block_bytes", [1, 2, 3, 5, 1000])
def test_an_encoding_is_decoded_across_block_borders(encoding: str, block_bytes: int, write: Write) -> None:
    text = "".join(
        letter
        for letter in "héllo wörld Привет 你好 世界 日本語 テスト 한국어 €\n" * 7
        if letter.encode(encoding, "ignore")
    )
    assert read(write(text.encode(encoding)), encoding=encoding, block_bytes=block_bytes)[0] == text


@given(
    st.sampled_from(
        ["gb18030", "gbk", "big5", "shift_jis", "euc_kr", "utf-16-le", "ascii", "cp1252", "utf-8"]
    ),
    st.lists(
        st.one_of(st.sampled_from([b"a", b"\n", b"\n\x00", b"\xe9", b"\xc4\xe3"]), st.binary(max_size=3))
    ),
    st.integers(1, 7),
)
@settings(max_examples=150, deadline=None)
def test_undecodable_bytes_fail_where_python_fails(
    encoding: str, parts: list[bytes], block_bytes: int
) -> None:
    data = b"x" * 4 + b"".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenedFile, "_without_nul", lambda self, text, position: text)
        patch.setattr("w2v.corpus.read.opened_file._open", lambda file: _Opened(data))
        patch.setattr("w2v.corpus.read.blocks._settled_status", lambda file: Path(__file__).stat())
        patch.setattr("w2v.corpus.read.blocks.os.fstat", lambda file: Path(__file__).stat())
        path = Path("corpus.txt")
        replaced, tally = read(path, encoding=encoding, errors="replace", block_bytes=block_bytes)
        assert replaced == data.decode(encoding, "replace")
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            assert tally.replaced > 0
            if encoding == "utf-8":  # the scanner's task, which has its own test
                return
            line = data[: error.start].decode(encoding).count("\n") + 1
            with pytest.raises(
                CorpusError, match=rf"^corpus.txt:{line}: not {encoding} at byte {error.start} "
            ):
                read(path, encoding=encoding, block_bytes=block_bytes)
        else:
            assert tally.replaced == 0
            assert read(path, encoding=encoding, block_bytes=block_bytes)[0] == text


class _Opened(io.BufferedReader):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))

    def fileno(self) -> int:
        return -1


def test_replaced_sequences_are_counted(write: Write) -> None:
    text, tally = read(write(b"a \xff b\n\xe4\xb8 c \xed\xa0\x80\n"), errors="replace")
    assert text == "a \ufffd b\n\ufffd c \ufffd\ufffd\ufffd\n"
    assert tally.replaced == 5


def test_lone_surrogates_from_a_codec_are_refused(write: Write) -> None:
    with pytest.raises(CorpusError, match="lone surrogates"):
        read(write(rb"a \ud800 b"), encoding="unicode_escape")


def test_reading_stops_with_the_reader(write: Write) -> None:
    before = set(threading.enumerate())
    blocks = read_blocks([TextFile("a", write(b"word " * 100_000))], CorpusConfig(), Tally(), block_bytes=64)
    next(blocks)
    [reader] = [thread for thread in set(threading.enumerate()) - before if thread.name == "w2v-reader"]
    blocks.close()
    reader.join()
