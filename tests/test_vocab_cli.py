"""`w2v vocab`, `w2v corpus` and the options made from the config classes."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from w2v.cli import cli
from w2v.cli.options import config_options, make_config
from w2v.config import CorpusConfig, TrainConfig, VocabConfig, _Checked, setting
from w2v.errors import ConfigError
from w2v.vectors.vocab_files import read_vocab

TEXT = "The cat the dog the cat\n\nthe\tend \\ of\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return path


def test_vocab_writes_words_and_counts(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "vocab.tsv"
    done = run("vocab", text, "--min-count", 1, "-o", output)
    assert (done.exit_code, done.stdout) == (0, "")
    assert output.read_text() == "the\t3\ncat\t2\nThe\t1\ndog\t1\nend\t1\n\\\\\t1\nof\t1\n"
    assert "10 tokens in 2 sentences" in done.stderr
    assert "Wrote 7 words" in done.stderr
    printed = run("vocab", text, "--min-count", 1)
    assert printed.stdout == output.read_text()


def test_numbers_of_numpy_are_settings() -> None:
    config = TrainConfig(vector_size=np.int64(10), alpha=np.float32(0.5), shrink_windows=np.bool_(False))  # type: ignore[arg-type]
    assert (config.vector_size, config.alpha, config.shrink_windows) == (10, 0.5, False)
    assert all(type(value) in (int, float, bool) for value in (config.vector_size, config.alpha))
    with pytest.raises(ConfigError, match=r"number of type int; got 1\.5"):
        TrainConfig(vector_size=np.float64(1.5))


def test_words_may_be_given_without_counts(text: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    for content in ("cat\nthe\n", "cat 1\nthe 9\n", "cat\t1\nthe\t9\n"):
        words.write_text(content)
        assert run("vocab", text, "--vocab", words).stdout == "cat\t2\nthe\t3\n"
    words.write_text("")
    assert "no words in this file" in run("vocab", text, "--vocab", words).stderr


def test_vocab_options(text: Path, tmp_path: Path) -> None:
    assert run("vocab", text, "--lowercase", "--max-vocab", 2, "--min-count", 1).stdout == "the\t4\ncat\t2\n"
    assert run("vocab", text, text, "--min-count", 4, "--no-cache").stdout == "the\t6\ncat\t4\n"
    output = tmp_path / "vocab.tsv"
    run("vocab", text, "--min-count", 2, "-o", output)
    other = tmp_path / "other.txt"
    other.write_text("cat mouse cat")
    done = run("vocab", other, "--vocab", output)
    assert done.stdout == "the\t0\ncat\t2\n"
    assert read_vocab(output).words == ["the", "cat"]


def test_vocab_json(text: Path, tmp_path: Path) -> None:
    found = json.loads(run("vocab", text, "--min-count", 2, "--json").stdout)
    assert found["vocab"] == [{"word": "the", "count": 3}, {"word": "cat", "count": 2}]
    numbers = json.loads(run("vocab", text, "--min-count", 2, "--json", "-o", tmp_path / "v").stdout)
    assert "vocab" not in numbers
    assert (numbers["tokens"], numbers["known_tokens"], numbers["types"], numbers["words"]) == (10, 5, 7, 2)
    assert (numbers["blank_lines"], numbers["files"], numbers["bytes"]) == (1, 1, len(TEXT))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing"], 1, "Error: missing: no such file or directory"),
        (["{text}"], 1, 'Error: no word occurs 5 times (most frequent: 3, "the"); lower --min-count'),
        (["{text}", "--min-count", "0"], 2, "not in the range"),
        (["{text}", "--encoding", "klingon"], 2, "encoding must be a text encoding"),
        (["{text}", "--errors", "ignore"], 2, "not one of"),
        (["{text}", "--vocab", "{text}", "--max-vocab", "3"], 2, "leave out --max-vocab"),
        (["{text}", "--vocab", "{text}"], 1, "corpus.txt:1: expected word, tab, count"),
        ([], 2, "Usage"),
    ],
)
def test_errors_are_one_line(arguments: list[str], code: int, message: str, text: Path) -> None:
    done = run("vocab", *(argument.format(text=text) for argument in arguments))
    assert done.exit_code == code
    assert message in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_failed_run_leaves_an_older_vocabulary_alone(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "vocab.tsv"
    output.write_text("older\t1\n")
    text.write_bytes(b"fine\nbad \xff\n")
    done = run("vocab", text, "-o", output)
    assert done.exit_code == 1
    assert f"{text}:2: not UTF-8 at byte 9" in done.stderr
    assert output.read_text() == "older\t1\n"
    replaced = run("vocab", text, "--errors", "replace", "--min-count", 1)
    assert replaced.stdout == "fine\t1\nbad\t1\n\ufffd\t1\n"
    assert "1 undecodable byte sequences replaced" in replaced.stderr


def test_standard_input_of_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from w2v.cli import main; main()", "vocab", "-", "--min-count", "1"],
        input=b"b a b",
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"b\t2\na\t1\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_run_that_waits_for_a_pipe(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from w2v.cli import main; main()",
        "vocab",
        "-",
        "--cache-dir",
        str(tmp_path),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not list(tmp_path.glob("*/tmp-*/tokens.i32")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == b"\nStopped.\n"
        assert process.wait() == 130
    assert list(tmp_path.glob("*/tmp-*")) == []


def test_corpus_cache_lists_and_clears(text: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert "0 encoded corpora" in run("corpus", "cache", "--cache-dir", cache).stdout
    run("vocab", text, "--min-count", 1, "--cache-dir", cache)
    listed = run("corpus", "cache", "--cache-dir", cache).stdout
    assert "1 encoded corpus, " in listed
    assert str(text) in listed
    found = json.loads(run("corpus", "cache", "--cache-dir", cache, "--json").stdout)
    assert found["corpora"][0]["n_tokens"] == 10
    assert "Removed" in run("corpus", "cache", "--cache-dir", cache, "--clear").stderr
    assert "0 encoded corpora" in run("corpus", "cache", "--cache-dir", cache).stdout


def test_corpus_demo_writes_the_whole_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "w2v.corpus.tools.demo.articles", lambda: iter(["A first sentence.", "A second one."])
    )
    done = run("corpus", "demo", "-o", tmp_path / "demo.txt")
    assert "Wrote 6 words in 2 sentences of 2 Wikipedia articles" in done.stderr
    assert (tmp_path / "demo.txt").read_text() == "a first sentence\na second one\n"

    def broken() -> Iterator[str]:
        yield "A third sentence."
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("w2v.corpus.tools.demo.articles", broken)
    assert run("corpus", "demo", "-o", tmp_path / "demo.txt").exit_code == 1
    assert (tmp_path / "demo.txt").read_text() == "a first sentence\na second one\n"
    assert len(list(tmp_path.iterdir())) == 1


@dataclass(frozen=True)
class Example(_Checked):
    whole: int = setting(3, "A whole number.", low=1, high=9)
    maybe: int | None = setting(None, "Perhaps a number.", low=1)
    part: float = setting(0.5, "Above zero.", above=0, high=1)
    flag: bool = setting(True, "Yes or no.")
    kind: str = setting("a", "One of two.", choices=("a", "b"))


def options(*arguments: str, config: type = Example, **settings: Any) -> Result:
    @click.command()
    @config_options(config, **settings)
    def command(**values: Any) -> None:
        click.echo(repr(make_config(config, values)))

    return CliRunner().invoke(command, arguments)


def test_options_come_from_the_fields() -> None:
    assert options().stdout.strip() == repr(Example())
    given = options("--whole", "9", "--maybe", "2", "--part", "1", "--no-flag", "--kind", "b")
    assert given.stdout.strip() == repr(Example(9, 2, 1.0, False, "b"))
    for wrong in (
        ["--whole", "0"],
        ["--whole", "10"],
        ["--part", "0"],
        ["--kind", "c"],
        ["--maybe", "x"],
        ["--part", "nan"],
    ):
        assert options(*wrong).exit_code == 2
    assert options("--flag", leave_out=["flag"]).exit_code == 2


@pytest.mark.parametrize("config", [CorpusConfig, VocabConfig, TrainConfig])
def test_every_setting_is_an_option_with_help_and_default(config: type) -> None:
    assert options(config=config).stdout.strip() == repr(config())
    text = " ".join(options("--help", config=config).stdout.split())
    flags = [f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(config)]
    places = [text.index(flag) for flag in [*flags, "--help"]]
    assert places == sorted(places)
