"""Text cut part by part: one process or several, any place of the cuts, sentences, the cache."""

from __future__ import annotations

import _thread
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2v.config import CorpusConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.corpus.ids import parts as parts_module
from w2v.corpus.ids.parts import Part, PartEncoder, pack, unpack
from w2v.corpus.ids.pool import encode_parts
from w2v.corpus.read.blocks import Block, _ahead
from w2v.corpus.read.kinds import TEXT
from w2v.errors import CorpusError

ALL = VocabConfig(min_count=1)
PIECES = ["北京", "大学", "。", "cat", "’s", "-", "T恤"]
CHINESE = "我来到北京清华大学，他是计算机科学家。\n\n这是第二句话！T恤？\n"
ENGLISH = "The self-governed O'Brien's cat sat, e.g. on Mr. Smith's mat. It slept!\nDr. Smith came.  \n\n"


def decoded(corpus: EncodedCorpus) -> list[list[str]]:
    rows = [corpus.vocab.words[i] for i in corpus.tokens]
    return [rows[a:b] for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False)]


def read(path: Path, workers: int = 1, **config: Any) -> EncodedCorpus:
    return encode(path, corpus=CorpusConfig(**config), vocab=ALL, cache=False, workers=workers)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "PART_BYTES", 2_000)
    monkeypatch.setattr(parts_module, "_MOST_BYTES", 4_000)


def write(tmp_path: Path, text: str, name: str = "corpus.txt") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("tokenizer", ["jieba", "words", "chars"])
def test_processes_give_what_one_gives(
    tokenizer: str, tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tokenizer == "jieba":
        pytest.importorskip("rjieba")
    monkeypatch.setattr("w2v.corpus.ids.pool._START_SECONDS", 0.0)
    monkeypatch.setattr(encode_parts, "__kwdefaults__", {"alone_seconds": 0.0})
    text = "".join(f"{CHINESE}word{number} {ENGLISH}" for number in range(300))
    path = write(tmp_path, text)
    alone = read(path, tokenizer=tokenizer, lowercase=True)
    together = read(path, workers=3, tokenizer=tokenizer, lowercase=True)
    assert together.fingerprint == alone.fingerprint
    assert together.report == alone.report
    assert list(together.vocab.words) == list(alone.vocab.words)
    assert together.vocab.counts.tolist() == np.bincount(together.tokens).tolist()
    monkeypatch.setattr(parts_module, "PART_BYTES", 1 << 22)
    assert read(path, tokenizer=tokenizer, lowercase=True).fingerprint == alone.fingerprint


def parts_of(n: int) -> list[tuple[int, Part]]:
    return [(number, Part(f"word{number} and more\n".encode(), TEXT, True, 0)) for number in range(n)]


def test_order_is_kept_and_reading_stays_near() -> None:
    taken: list[int] = []

    def source() -> Any:
        for number, part in parts_of(50):
            taken.append(number)
            yield number, part

    found = []
    for number, _, encoded in encode_parts(
        source(), CorpusConfig(tokenizer="words"), workers=2, alone_seconds=0
    ):
        found.append((number, encoded.types.words(0, 1)))
        assert taken[-1] - number <= 4
    assert found == [(number, [f"word{number}"]) for number in range(50)]


def test_an_error_in_a_process_comes_through() -> None:
    parts = parts_of(4)
    parts[2] = (2, Part(b"\xff\n", TEXT, True, 0))
    with pytest.raises(RuntimeError, match="UnicodeDecodeError"):
        list(encode_parts(parts, CorpusConfig(tokenizer="words"), workers=2, alone_seconds=0))


@pytest.mark.parametrize("code", ["exit(3)", "import sys; sys.stdin.readline(); sys.exit(3)"])
def test_a_process_that_dies_is_an_error(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    command = [sys.executable, "-c", code]
    monkeypatch.setattr("w2v.corpus.ids.pool.python_command", lambda module, arguments: command)
    with pytest.raises(CorpusError, match="ended by itself"):
        list(encode_parts(parts_of(4), CorpusConfig(tokenizer="words"), workers=2, alone_seconds=0))


def test_a_process_that_dies_before_it_is_told_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", "exit(3)"], **options)
        process.wait()
        return process

    monkeypatch.setattr("w2v.corpus.ids.pool.subprocess", SimpleNamespace(Popen=start, PIPE=subprocess.PIPE))
    with pytest.raises(CorpusError, match="ended by itself"):
        list(encode_parts(parts_of(4), CorpusConfig(tokenizer="words"), workers=2, alone_seconds=0))


def test_a_script_without_a_guard(tmp_path: Path) -> None:
    """What multiprocessing cannot do: the processes must not run the caller's script again."""
    write(tmp_path, "cats, dogs\n" * 2_000)
    script = tmp_path / "script.py"
    script.write_text(
        "print('started')\n"
        "import w2v.corpus.ids.parts, w2v.corpus.ids.pool\n"
        "w2v.corpus.ids.parts.PART_BYTES = 1000\n"
        "w2v.corpus.ids.pool.encode_parts.__kwdefaults__['alone_seconds'] = 0\n"
        "from w2v.config import CorpusConfig\n"
        f"corpus = w2v.corpus.encode({str(tmp_path / 'corpus.txt')!r}, cache=False, workers=2,\n"
        "    corpus=CorpusConfig(tokenizer='words'))\n"
        "print(corpus.n_tokens)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["started", "4000"]
    assert done.stderr == ""


def test_ctrl_c_leaves_no_process() -> None:
    """The processes write to the same pipe of errors, so it ends only when they have ended too."""
    code = (
        "import os; os.setpgrp()\n"
        "import w2v.corpus.ids.parts, w2v.corpus.ids.pool as pool\n"
        "w2v.corpus.ids.parts.PART_BYTES = 100\n"
        "pool.encode_parts.__kwdefaults__['alone_seconds'] = 0\n"
        "encode, seen = pool._Process.encode, set()\n"
        "def encode_and_tell(process, part):\n"
        "    encoded = encode(process, part)\n"
        "    if id(process) not in seen:\n"
        "        seen.add(id(process))\n"
        "        os.write(1, b'.')\n"
        "    return encoded\n"
        "pool._Process.encode = encode_and_tell\n"
        "from w2v.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "vocab", "-", "--tokenizer", "words", "--read-workers", "2"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdin.write(b"cats, dogs and birds\n" * 400_000)  # and no end
        run.stdin.flush()
        assert run.stdout.read(2) == b".."  # both have encoded something
        os.killpg(run.pid, signal.SIGINT)
        assert run.stderr.read() == b"\nStopped.\n"
        assert run.wait() == 130


def test_a_signal_just_before_a_wait_is_not_lost() -> None:
    """`interrupt_main` notes a signal and wakes nobody: as one that comes when the wait is about to begin."""
    ended = threading.Event()
    was_heard: list[bool] = []

    def silent_pipe() -> Iterator[Block]:
        while sys._current_frames()[threading.main_thread().ident or 0].f_code.co_name != "wait":
            pass
        _thread.interrupt_main()
        was_heard.append(ended.wait(10))
        yield from ()

    with pytest.raises(KeyboardInterrupt):
        list(_ahead(iter([silent_pipe()])))
    ended.set()
    while not was_heard:
        pass
    assert was_heard == [True]


@given(
    st.lists(
        st.sampled_from(["北京", "大学", "。", " ", "\n", "cat", "’s", "-", "\u3000", "T恤"]), max_size=80
    ),
    st.sampled_from(["words", "whitespace", "jieba"]),
    st.sampled_from(["line", "none", "split"]),
)
@settings(max_examples=60)
def test_parts_cut_at_lines_give_the_whole(pieces: list[str], tokenizer: str, sentences: str) -> None:
    if tokenizer == "jieba":
        pytest.importorskip("rjieba")
    encoder = PartEncoder(CorpusConfig(tokenizer=tokenizer, sentences=sentences, normalize="nfkc"))
    text = "".join(pieces)
    whole = encoder.encode(Part(text.encode(), TEXT, True, 0))
    words: list[str] = []
    ends: list[int] = []
    n_before = n_blank = 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        is_last = number == len(lines)
        part = Part((line if is_last else f"{line}\n").encode(), TEXT, is_last, 0)
        found = encoder.encode(part)
        words += [found.types.words(0, len(found.types.counts))[i] for i in found.token_ids]
        ends += (n_before + found.sentence_ends).tolist()
        n_before += len(found.token_ids)
        n_blank += found.n_blank
    assert words == [whole.types.words(0, len(whole.types.counts))[i] for i in whole.token_ids]
    if sentences != "none":
        assert ends == whole.sentence_ends.tolist()
        assert n_blank == whole.n_blank
    counts = np.bincount(whole.token_ids, minlength=len(whole.types.counts))
    assert whole.types.counts.tolist() == counts.tolist()
    header, data = pack(whole)
    again = unpack(json.loads(header), b"".join(data))
    for name in ("blob", "offsets", "counts"):
        assert getattr(again.types, name).tolist() == getattr(whole.types, name).tolist()
    assert again.token_ids.tolist() == whole.token_ids.tolist()
    assert again.sentence_ends.tolist() == whole.sentence_ends.tolist()


@pytest.mark.parametrize("tokenizer", ["words", "jieba"])
def test_a_line_longer_than_a_part_stays_one_sentence(
    tokenizer: str, tmp_path: Path, small_parts: None
) -> None:
    if tokenizer == "jieba":
        pytest.importorskip("rjieba")
    path = write(tmp_path, "cats sleep " * 5_000 + "\nend")
    corpus = read(path, tokenizer=tokenizer)
    assert np.diff(corpus.offsets).tolist() == [10_000, 1]
    dense = write(tmp_path, "北京大学，" * 10_000, "dense.txt")
    corpus = read(dense, tokenizer=tokenizer)
    assert corpus.n_sentences == 1
    assert "".join(decoded(corpus)[0]) == "北京大学" * 10_000
    record = write(tmp_path, '{"text": "' + "cats sleep " * 5_000 + '"}\n{"text": "end"}', "a.jsonl")
    assert np.diff(read(record, tokenizer=tokenizer).offsets).tolist() == [10_000, 1]


def test_sentences_are_split_or_not(tmp_path: Path) -> None:
    path = write(tmp_path, ENGLISH + "今天天气好！你呢？我很好。\n")
    found = decoded(read(path, tokenizer="words", sentences="split"))
    assert [sentence[0] for sentence in found] == ["The", "It", "Dr", "今", "你", "我"]
    assert found[0][-3:] == ["Mr", "Smith's", "mat"]
    assert len(decoded(read(path, tokenizer="words"))) == 3
    whitespace = decoded(read(path, sentences="split"))
    assert whitespace[1] == ["It", "slept!"]
    other = write(tmp_path, "b c\n", "other.txt")
    both = encode([path, other], corpus=CorpusConfig(sentences="none"), vocab=ALL, cache=False)
    assert [len(sentence) for sentence in decoded(both)] == [16, 2]


def test_blank_lines_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "a b\n\n...\n \nc\n")
    assert read(path, tokenizer="words").report.blank == 3
    assert read(path).report.blank == 2


def test_only_punctuation_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no word in 8 bytes \(2 blank lines\)"):
        read(write(tmp_path, "...\n!!!\n"), tokenizer="words")


def test_undecodable_bytes_are_found_before_tokenizing(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"fine\ntw\xe9 words\n")
    with pytest.raises(CorpusError, match=r"corpus\.txt:2: not utf-8 at byte 7 "):
        read(path, tokenizer="words")
    corpus = read(path, tokenizer="words", errors="replace", drop_punctuation=False)
    assert corpus.report.replaced == 1


def test_settings_are_part_of_the_cache_key(tmp_path: Path) -> None:
    path, cache = write(tmp_path, "The cat, the dog.\n"), tmp_path / "cache"
    configs: list[dict[str, Any]] = [
        {},
        {"tokenizer": "words"},
        {"tokenizer": "words", "lowercase": True},
        {"tokenizer": "words", "drop_punctuation": False},
        {"sentences": "split"},
        {"numbers": "drop"},
    ]
    for expected in (False, True):
        for config in configs:
            corpus = encode(path, corpus=CorpusConfig(**config), vocab=ALL, cache_dir=cache)
            assert corpus.report.from_cache is expected
            assert corpus.reading["tokenizer"] == config.get("tokenizer", "whitespace")


def test_a_callable_is_used_and_not_cached(tmp_path: Path) -> None:
    path, cache = write(tmp_path, "a-b c\nd-e\n"), tmp_path / "cache"
    config = CorpusConfig(tokenizer=lambda line: line.replace("-", " ").split(), lowercase=True)
    for _ in range(2):
        corpus = encode(path, corpus=config, vocab=ALL, cache_dir=cache)
        assert decoded(corpus) == [["a", "b", "c"], ["d", "e"]]
        assert not corpus.report.from_cache
    surrogate = CorpusConfig(tokenizer=lambda line: ["\ud800"])
    with pytest.raises(CorpusError, match="lone surrogate"):
        encode(path, corpus=surrogate, vocab=ALL)


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    path = write(tmp_path, "cat, dog\n" * 1000)
    calls: list[tuple[int, int | None]] = []
    encode(
        [path, path],
        corpus=CorpusConfig(tokenizer="words"),
        progress=lambda done, total: calls.append((done, total)),
    )
    size = path.stat().st_size
    assert calls == [(size, 2 * size), (2 * size, 2 * size)]
