"""`w2v train` as a user runs it: output, errors, Ctrl-C."""

from __future__ import annotations

import dataclasses
import errno
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import w2v
from w2v.cli import cli
from w2v.config import CorpusConfig, PhraseConfig, Settings, TrainConfig, VocabConfig
from w2v.progress import is_watched

SMALL = ["--vector-size", "16", "--workers", "1", "--min-count", "1", "--sample", "0"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat\nthe dog sat on the log\n" * 200)
    return path


def run(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [str(arg) for arg in args])
    return result.exit_code, result.output


def test_train_writes_a_model_and_tells_each_epoch(text: Path, tmp_path: Path) -> None:
    code, output = run("train", text, "-o", tmp_path / "model", "--epochs", 3, *SMALL)
    assert code == 0, output
    lines = [line for line in output.splitlines() if line.startswith("Epoch")]
    assert [line.split(":")[0] for line in lines] == ["Epoch 1", "Epoch 2", "Epoch 3"]
    assert all("loss" in line and "words/s" in line for line in lines)
    model = w2v.load(tmp_path / "model")
    assert model.words[0] == "the"
    assert model.vectors.shape == (7, 16)
    assert model.context is not None
    assert model.origin.training["epochs"] == 3
    assert model.training is not None
    assert len(model.training.epochs) == 3
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "vectors.npy",
        "context.npy",
        "vocab.tsv",
        "config.json",
        "training.jsonl",
    }


def test_train_and_the_python_api_give_the_same_vectors(text: Path, tmp_path: Path) -> None:
    assert run("train", text, "-o", tmp_path / "model", "--epochs", 2, *SMALL)[0] == 0
    same = w2v.train(text, vector_size=16, workers=1, min_count=1, sample=0.0, epochs=2)
    np.testing.assert_array_equal(w2v.load(tmp_path / "model").vectors, same.vectors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--min-count", "1000000"], "lower --min-count"),
        (["--window", "0"], "--window"),
        (["--alpha", "0.01", "--min-alpha", "0.02"], "min_alpha must be at most alpha"),
        (["--encoding", "utf-16"], "utf-16"),
    ],
)
def test_bad_settings_end_with_one_line_and_leave_the_older_model(
    text: Path, tmp_path: Path, change: list[str], message: str
) -> None:
    model = tmp_path / "model"
    assert run("train", text, "-o", model, "--epochs", 1, *SMALL)[0] == 0
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    code, output = run("train", text, "-o", model, *SMALL, *change)
    assert code in (1, 2)
    assert message in output
    assert "Traceback" not in output
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "text.txt"]


def test_an_output_that_is_no_model_is_refused_before_training(text: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years of work")
    code, output = run("train", text, "-o", precious, *SMALL)
    assert code == 1
    assert "Epoch" not in output
    assert (precious / "thesis.tex").read_text() == "years of work"


def cpu_seconds(pid: int) -> float:
    """Return the processor's time that a process has had, also if it has ended; 0 where /proc is missing."""
    status = Path(f"/proc/{pid}/stat")
    if not status.exists():
        return 0.0
    user, system = status.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    ("options", "left"),
    [([], ["m.checkpoint", "text.txt"]), (["--checkpoint-every", "0"], ["text.txt"])],
    ids=["checkpoint", "none"],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_end_within_a_second_and_leave_at_most_a_checkpoint(
    text: Path, tmp_path: Path, number: int, code: int, options: list[str], left: list[str]
) -> None:
    command = [sys.executable, "-m", "w2v", "train", str(text), "-o", str(tmp_path / "m"), "--no-cache"]
    process = subprocess.Popen(
        [*command, *SMALL, *options, "--epochs", "1000000"], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("Epoch 2"):
            break
    before = cpu_seconds(process.pid)
    process.send_signal(number)
    with process.stderr:
        told = process.stderr.read()
    # Of the processor's time, which other processes do not lengthen; it runs here on one core.
    assert cpu_seconds(process.pid) - before < 1
    assert process.wait() == code
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    assert ("m.checkpoint; the same command with --resume goes on" in told) == (not options)


def test_dry_run_tells_the_cost_and_writes_nothing(text: Path, tmp_path: Path) -> None:
    code, output = run("train", text, "-o", tmp_path / "model", "--dry-run", *SMALL)
    assert code == 0
    assert "About 1 s on 1 core like those" in output
    assert "MB of memory" in output
    assert "of 2,400 tokens an epoch are left" in output
    assert not (tmp_path / "model").exists()


def test_settings_are_those_of_the_configs() -> None:
    fields = [
        f for c in (TrainConfig, VocabConfig, CorpusConfig, PhraseConfig) for f in dataclasses.fields(c)
    ]
    assert {field.name: field.type for field in fields} == {
        name: kind.__forward_arg__ for name, kind in Settings.__annotations__.items()
    }


def test_a_target_below_a_file_is_refused_before_the_corpus_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    code, output = run("train", tmp_path / "no corpus here", "-o", tmp_path / "file" / "m", *SMALL)
    assert code == 1
    assert (
        output == f"Error: {tmp_path}/file/m: {tmp_path}/file is a file, not a folder; choose another name\n"
    )


def test_a_model_that_cannot_be_saved_is_saved_elsewhere(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = w2v.Embeddings.save

    def full(model: w2v.Embeddings, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(w2v.Embeddings, "save", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    code, output = run("train", text, "-o", tmp_path / "m", "--epochs", 1, *SMALL)
    [place] = (tmp_path / "elsewhere").iterdir()
    assert code == 1
    end = f"Error: {tmp_path}/m: no space left on device\nThe model is saved in {place} instead.\n"
    assert output.endswith(end)
    assert len(w2v.load(place)) == 7
    assert save is not w2v.Embeddings.save


def test_bars_and_the_log_of_the_python_api(
    text: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"vector_size": 4, "min_count": 1, "sample": 0.0, "workers": 1, "epochs": 2}
    with caplog.at_level(logging.INFO, "w2v"):
        w2v.train(text, progress=True, **settings)  # type: ignore[arg-type]
    drawn = capfd.readouterr()
    assert "Training" in drawn.err
    assert drawn.out == ""
    told = [record.getMessage() for record in caplog.records if record.name == "w2v.api"]
    assert [line.split(":")[0] for line in told] == ["epoch 1", "epoch 2"]
    w2v.train(text, **settings)  # type: ignore[arg-type]
    assert "Training" not in capfd.readouterr().err


def test_no_bar_where_there_is_no_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    assert not is_watched()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert is_watched()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["neighbour"], "No such command 'neighbour'. Did you mean neighbors?"),
        (["trian"], "Did you mean train?"),
        (["nothing-like-it"], "No such command 'nothing-like-it'."),
        (["help"], "Train static word vectors fast"),
        (["help", "train"], "Train word vectors on a CORPUS"),
        (["help", "corpus", "stats"], "Describe a CORPUS before training"),
    ],
)
def test_mistyped_commands_and_help(typed: list[str], answer: str) -> None:
    assert answer in run(*typed)[1]
