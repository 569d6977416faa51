"""The cache: hits, changed files, damage, several processes, what crashed runs leave."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from w2v.config import CorpusConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.corpus.ids.cache import Cache, open_cache
from w2v.corpus.ids.cache_entry import open_entry
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
    text.write_text("a b c\n" * 1_000_000)

    def append(done: int, total: int | None) -> None:
        with text.open("a") as file:
            file.write("more\n")

    with caplog.at_level(logging.WARNING):
        encode(text, vocab=ALL, cache_dir=cache_dir, progress=append)
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
    stream.write_bytes(b"1234")
    assert encode(text, vocab=vocab, cache_dir=cache_dir).tokens.tolist() == [1, 2, 0, 2, 1]


def test_the_cache_is_private(text: Path, cache_dir: Path) -> None:
    read(text, cache_dir)
    for folder in (root_of(cache_dir), *root_of(cache_dir).glob("*"), *entries(cache_dir)):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_two_processes_at_once(text: Path, cache_dir: Path) -> None:
    text.write_text("\n".join(f"w{number % 5000} w{number % 7}" for number in range(200_000)))
    code = (
        "import sys, time; from w2v.corpus import encode\n"
        "while time.time() < float(sys.argv[3]): pass\n"
        "corpus = encode(sys.argv[1], cache_dir=sys.argv[2])\n"
        "print(corpus.fingerprint, int(corpus.tokens.sum()), len(corpus.vocab))\n"
    )
    start = str(time.time() + 1.5)
    runs = [
        subprocess.Popen([sys.executable, "-c", code, text, cache_dir, start], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert outputs[0] == outputs[1] != b""
    assert len(entries(cache_dir)) == 1
    assert not list(root_of(cache_dir).glob("tmp-*"))


def test_the_second_of_two_entries_gives_way(text: Path, cache_dir: Path) -> None:
    cache = Cache(root_of(cache_dir))
    with cache.new_folder() as first, cache.new_folder() as second:
        for folder, content in ((first, b"1"), (second, b"2")):
            (folder / "data").write_bytes(content)
            meta = {"format_version": 1, "fingerprint": "sha256:ab", "sizes": {"data": 1}}
            (folder / "meta.json").write_text(json.dumps(meta))
        assert cache.publish(first, "sha256:ab") == cache.publish(second, "sha256:ab")
    [entry] = entries(cache_dir)
    assert (entry / "data").read_bytes() == b"1"


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


def test_what_a_crashed_run_left_is_removed_after_a_day(text: Path, cache_dir: Path) -> None:
    root = root_of(cache_dir)
    for name, hours in (("tmp-old", 25), ("tmp-new", 1)):
        (root / name).mkdir()
        (root / name / "tokens.i32").write_bytes(b"1234")
        then = time.time() - 3600 * hours
        os.utime(root / name / "tokens.i32", (then, then))
        os.utime(root / name, (then, then))
    read(text, cache_dir)
    assert [path.name for path in root.glob("tmp-*")] == ["tmp-new"]


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
