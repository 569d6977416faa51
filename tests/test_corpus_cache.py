"""The cache: hits, changed files, damage, several processes, what crashed runs leave."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from w2v.config import CorpusConfig, VocabConfig
from w2v.corpus import CorpusReport, EncodedCorpus, encode
from w2v.corpus.ids import cache_entry
from w2v.corpus.ids.build_corpus import encode_source
from w2v.corpus.ids.cache import Cache, open_cache
from w2v.corpus.ids.cache_entry import open_entry
from w2v.files.temporary import temporary_folder
from w2v.vectors.vocab import Vocab

ALL = VocabConfig(min_count=1)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("a b c\nB a\n")
    return path


@pytest.fixture
def cache_dir(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def root_of(cache_dir: Path) -> Path:
    root = open_cache(cache_dir).root
    assert root is not None
    return root


def entries(cache_dir: Path) -> list[Path]:
    return list((root_of(cache_dir) / "entries").glob("*"))


def read(text: Path, cache_dir: Path, **config: bool) -> EncodedCorpus:
    return encode(text, corpus=CorpusConfig(**config), vocab=ALL, cache_dir=cache_dir)  # type: ignore[arg-type]


def test_the_second_run_finds_the_entry(text: Path, cache_dir: Path) -> None:
    first, second = read(text, cache_dir), read(text, cache_dir)
    assert (first.report.from_cache, second.report.from_cache) == (False, True)
    assert second.tokens.tolist() == first.tokens.tolist() == [0, 1, 2, 3, 0]
    assert second.offsets.tolist() == [0, 3, 5]
    assert (second.vocab.words, second.fingerprint) == (first.vocab.words, first.fingerprint)
    assert second.report == replace(first.report, from_cache=True)
    fewer = encode(text, vocab=VocabConfig(min_count=2), cache_dir=cache_dir)
    assert fewer.report.from_cache
    assert list(fewer.vocab.words) == ["a"]


def test_settings_have_entries_of_their_own(text: Path, cache_dir: Path) -> None:
    assert read(text, cache_dir).n_types == 4
    lowered = read(text, cache_dir, lowercase=True)
    assert (lowered.n_types, lowered.report.from_cache) == (3, False)
    assert len(entries(cache_dir)) == 2
    assert read(text, cache_dir, lowercase=True).report.from_cache


def test_a_changed_file_is_read_again(text: Path, cache_dir: Path) -> None:
    read(text, cache_dir)
    times = text.stat()
    text.write_text("a b d\nB a\n")
    os.utime(
        text, ns=(times.st_atime_ns, times.st_mtime_ns)
    )  # same size, same time: only the inode's time tells
    changed = read(text, cache_dir)
    assert not changed.report.from_cache
    assert "d" in changed.vocab


def test_equal_files_share_an_entry(text: Path, cache_dir: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_text("a b c\r\n\nB a")
    assert read(text, cache_dir).fingerprint == read(copy, cache_dir).fingerprint
    assert len(entries(cache_dir)) == 1
    assert read(copy, cache_dir).report.blank == 1
    assert read(text, cache_dir).report.blank == 0
    [entry] = open_cache(cache_dir).corpora()
    assert entry.files == [str(text), str(copy)] or entry.files == [str(copy), str(text)]
    assert (entry.n_tokens, entry.n_types) == (5, 4)


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    text: Path, cache_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text.write_text("a b c\n" * 1_000)

    def append(done: int, total: int | None) -> None:
        with text.open("a") as file:
            file.write("more\n")

    with caplog.at_level(logging.WARNING):
        # Few blocks are read ahead, so that the file is not at its end when the first one is counted.
        encode_source(text, CorpusConfig(), ALL, cache=open_cache(cache_dir), progress=append, block_bytes=64)
    assert "corpus.txt changed while it was read" in caplog.text
    assert entries(cache_dir) == []


@pytest.mark.parametrize(
    "name", ["tokens.i32", "offsets.i64", "words.utf8", "word_offsets.i64", "counts.i64", "meta.json"]
)
@pytest.mark.parametrize("damage", ["cut", "longer", "gone"])
def test_a_damaged_entry_is_made_again(name: str, damage: str, text: Path, cache_dir: Path) -> None:
    read(text, cache_dir)
    [entry] = entries(cache_dir)
    path = entry / name
    if damage == "gone":
        path.unlink()
    else:
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if damage == "cut" else data + b"12345678")
    again = read(text, cache_dir)
    assert not again.report.from_cache
    assert again.tokens.tolist() == [0, 1, 2, 3, 0]
    assert read(text, cache_dir).report.from_cache


FILES = [*cache_entry._DTYPES, "meta.json"]


def contents(entry: cache_entry.Entry, report: CorpusReport) -> tuple[object, ...]:
    arrays = [array.tolist() for array in (entry.types.counts, entry.tokens, entry.offsets)]
    return entry.types.words(), *arrays, entry.fingerprint, replace(report, from_cache=True)


@pytest.mark.parametrize("name", [*FILES, "record"])
def test_no_flipped_byte_is_taken_for_what_was_written(
    name: str, tmp_path: Path, cache_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = tmp_path / "corpus.txt"
    text.write_text("ä bb 世界 a\nB a bb bb\n")
    corpus = encode(text, vocab=ALL, cache_dir=cache_dir)
    [entry] = entries(cache_dir)
    [record] = (root_of(cache_dir) / "sources").glob("*")
    path = record if name == "record" else entry / name
    whole = path.read_bytes()
    cache, key = open_cache(cache_dir), record.stem
    expected = contents(corpus.entry, corpus.report)
    for place in range(len(whole)):
        for mask in (1, 16, 128):
            data = bytearray(whole)
            data[place] ^= mask
            path.write_bytes(data)
            caplog.clear()
            found = cache.find(key)
            assert len(caplog.records) == (found is None)
            assert found is None or contents(*found) == expected, (place, mask)
    for _ in range(2):
        again = read(text, cache_dir)
        assert contents(again.entry, again.report) == expected
    assert again.report.from_cache


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("tokens.i32", 1, 4),
        ("tokens.i32", 1, -1),
        ("offsets.i64", 0, 1),
        ("offsets.i64", 1, 0),
        ("offsets.i64", 1, 5),
        ("offsets.i64", 2, 6),
        ("word_offsets.i64", 0, 1),
        ("word_offsets.i64", 1, -1),
        ("word_offsets.i64", 2, 1),
        ("word_offsets.i64", 4, 3),
        ("counts.i64", 0, -(2**62)),
        ("counts.i64", 0, 2**62),
        ("counts.i64", 0, 1),
        ("counts.i64", 3, 0),
        ("counts.i64", 3, 2),
        ("words.utf8", 1, 0xFF),
        ("words.utf8", 1, 0x80),
    ],
)
def test_what_compiled_code_relies_on_is_checked_without_a_digest(
    name: str, place: int, value: int, text: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_entry, "_SMALL_BYTES", 0)
    monkeypatch.setattr(cache_entry, "_may_have_changed", lambda folder: False)
    read(text, cache_dir)
    [entry] = entries(cache_dir)
    assert open_entry(entry) is not None
    array = np.memmap(entry / name, cache_entry._DTYPES[name], "r+")
    array[place] = value
    array.flush()
    assert open_entry(entry) is None


def test_a_large_entry_is_compared_with_its_digest_when_it_may_have_changed(
    text: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests: list[Path | None] = []
    original = cache_entry._has_its_digest

    def has_its_digest(entry: cache_entry.Entry) -> bool:
        digests.append(entry.folder)
        return original(entry)

    monkeypatch.setattr(cache_entry, "_SMALL_BYTES", 0)
    monkeypatch.setattr(cache_entry, "_has_its_digest", has_its_digest)
    read(text, cache_dir)
    assert read(text, cache_dir).report.from_cache
    assert digests == []
    [entry] = entries(cache_dir)
    os.utime(entry / "meta.json", (0, 0))  # before the system started
    assert read(text, cache_dir).report.from_cache
    assert digests == [entry]
    assert read(text, cache_dir).report.from_cache  # checked by now
    assert digests == [entry]
    tokens = entry / "tokens.i32"
    data = bytearray(tokens.read_bytes())
    data[0], data[4] = data[4], data[0]
    tokens.write_bytes(data)
    again = read(text, cache_dir)
    assert (again.report.from_cache, again.tokens.tolist()) == (False, [0, 1, 2, 3, 0])


@pytest.mark.parametrize(
    "content", ["", "[]", "null", "{}", '{"fingerprint": 3, "report": {}}', "{", '{"report": []}']
)
def test_a_damaged_record_is_passed_over(content: str, text: Path, cache_dir: Path) -> None:
    read(text, cache_dir)
    [record] = (root_of(cache_dir) / "sources").glob("*")
    record.write_text(content)
    assert not read(text, cache_dir).report.from_cache
    assert read(text, cache_dir).report.from_cache


@pytest.mark.parametrize(
    "meta", ["[]", "null", '{"format_version": 1, "fingerprint": "x", "sizes": []}', '{"sizes": {}}']
)
def test_a_damaged_meta_file_is_passed_over(meta: str, text: Path, cache_dir: Path) -> None:
    read(text, cache_dir)
    [entry] = entries(cache_dir)
    (entry / "meta.json").write_text(meta)
    assert not read(text, cache_dir).report.from_cache
    assert open_cache(cache_dir).corpora()


def test_a_given_vocabulary_has_a_stream_of_its_own(text: Path, cache_dir: Path) -> None:
    vocab = Vocab(("c", "a"), np.zeros(2, np.int64))
    for _ in range(2):
        corpus = encode(text, vocab=vocab, cache_dir=cache_dir)
        assert corpus.tokens.tolist() == [1, 2, 0, 2, 1]
    [entry] = entries(cache_dir)
    [stream] = entry.glob("rows-*")
    whole = stream.read_bytes()
    flipped = (bytes(value ^ (at == place) for at, value in enumerate(whole)) for place in range(len(whole)))
    for damaged in (b"", b"1234", b"12345", whole + b"1234", whole[4:] + whole[:4], *flipped):
        stream.write_bytes(damaged)
        assert encode(text, vocab=vocab, cache_dir=cache_dir).tokens.tolist() == [1, 2, 0, 2, 1]
        assert stream.read_bytes() == whole


def test_the_cache_is_private(text: Path, cache_dir: Path) -> None:
    read(text, cache_dir)
    for folder in (root_of(cache_dir), *root_of(cache_dir).glob("*"), *entries(cache_dir)):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_two_processes_at_once(text: Path, cache_dir: Path) -> None:
    text.write_text("\n".join(f"w{number % 5000} w{number % 7}" for number in range(200_000)))
    code = (
        "import sys; from w2v.corpus import encode\n"
        "encode([['warm', 'up'] * 9], cache=False)\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "corpus = encode(sys.argv[1], cache_dir=sys.argv[2])\n"
        "print(corpus.fingerprint, int(corpus.tokens.sum()), len(corpus.vocab))\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    runs = [
        subprocess.Popen([sys.executable, "-c", code, text, cache_dir], **pipes)  # type: ignore[call-overload]
        for _ in range(2)
    ]
    assert [run.stdout.readline() for run in runs] == ["ready\n"] * 2
    for run in runs:
        run.stdin.write("go\n")
        run.stdin.flush()
    outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert outputs[0] == outputs[1] != ""
    assert len(entries(cache_dir)) == 1
    assert not list(root_of(cache_dir).glob("tmp-*"))


def test_the_second_of_two_entries_gives_way(text: Path, cache_dir: Path, tmp_path: Path) -> None:
    fingerprint = read(text, cache_dir).fingerprint
    [entry] = entries(cache_dir)
    shutil.copytree(entry, tmp_path / "made")
    shutil.rmtree(entry)
    cache = Cache(root_of(cache_dir))

    def publish() -> None:
        with cache.new_folder() as folder:
            shutil.copytree(tmp_path / "made", folder, dirs_exist_ok=True)
            assert cache.publish(folder, fingerprint) == entry

    publish()
    first = entry.stat().st_ino
    publish()
    assert entry.stat().st_ino == first
    (entry / "counts.i64").write_bytes(bytes(32))
    publish()  # a damaged one does not stay
    assert open_entry(entry) is not None
    assert not list(root_of(cache_dir).glob("tmp-*"))


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_is_an_error_and_leaves_nothing(text: Path, cache_dir: Path) -> None:
    text.write_text("some words " * 200_000)
    code = (
        "import resource, sys; from w2v.corpus import encode\n"
        "encode([['warm', 'up'] * 9], cache=False)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        "encode(sys.argv[1], cache_dir=sys.argv[2])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, text, cache_dir], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "File too large" in last
    assert str(cache_dir) in last
    assert [path for path in cache_dir.rglob("*") if path.is_file()] == []


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
@pytest.mark.parametrize("keep", [True, False])
def test_what_a_killed_run_left_is_removed_by_the_next(
    keep: bool, text: Path, cache_dir: Path, tmp_path: Path
) -> None:
    code = (
        "import os, signal, sys; from w2v.corpus import encode\n"
        "def sentences():\n"
        "    yield ['a'] * 9\n"
        "    if sys.argv[2] == 'die':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"encode(sentences(), cache_dir=sys.argv[1], cache={keep})\n"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    parent, prefix = (root_of(cache_dir), "tmp-") if keep else (temporary, "w2v-corpus-")

    def run(what: str) -> int:
        command = [sys.executable, "-c", code, str(cache_dir), what]
        return subprocess.run(command, env={**os.environ, "TMPDIR": str(temporary)}, check=False).returncode

    with temporary_folder(parent, prefix) as in_use:
        assert run("die") == -signal.SIGKILL
        assert len(list(parent.glob(f"{prefix}*"))) == 2
        assert run("live") == 0
        assert list(parent.glob(f"{prefix}*")) == [in_use]


def test_list_and_clear(text: Path, cache_dir: Path) -> None:
    read(text, cache_dir)
    cache = open_cache(cache_dir)
    assert [entry.files for entry in cache.corpora()] == [[str(text)]]
    assert cache.clear() > 0
    assert cache.corpora() == []
    assert not read(text, cache_dir).report.from_cache


def test_without_a_writable_default_cache_nothing_is_kept(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "file" / name)
    with caplog.at_level(logging.WARNING):
        assert encode(text, vocab=ALL).tokens.tolist() == [0, 1, 2, 3, 0]
    assert "no cache" in caplog.text
    with pytest.raises(NotADirectoryError):
        encode(text, vocab=ALL, cache_dir=tmp_path / "file")


def test_an_entry_of_the_first_version_opens() -> None:
    old = Path(__file__).parent / "data" / "written_by_0.1.0"
    entry = open_entry(old / "cache-entry")
    assert entry is not None
    read = encode(
        old / "text.txt", corpus=CorpusConfig(lowercase=True), vocab=VocabConfig(min_count=1), cache=False
    )
    assert read.tokens.tolist() == np.asarray(entry.tokens).tolist()
    assert read.offsets.tolist() == np.asarray(entry.offsets).tolist()
    assert read.fingerprint == entry.fingerprint
