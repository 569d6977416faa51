"""Runs that are stopped or killed and go on: same bytes, older parts whole, other runs refused."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import w2v
from w2v.cli import cli
from w2v.errors import ConfigError, FormatError, TrainingError, TrainingStoppedError
from w2v.files.npy import write_matrix
from w2v.training.checkpoint import Checkpoints, is_checkpoint, read_checkpoint
from w2v.vectors.training_report import EpochReport

ALWAYS = 1e-9  # minutes: a checkpoint after each round


@pytest.fixture(scope="module")
def sentences() -> list[list[str]]:
    """2,000 words by Zipf's law; 40 jobs an epoch."""
    random = np.random.default_rng(3)
    share = 1 / np.arange(1, 2_001)
    ids = random.choice(2_000, 40_000, p=share / share.sum())
    return [[f"w{i}" for i in line] for line in ids.reshape(-1, 10)]


@pytest.fixture(autouse=True)
def _small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("w2v.training.engine._JOBS_A_ROUND", 9)


def train(sentences: Any, **changes: Any) -> w2v.Embeddings:
    values = {"vector_size": 12, "min_count": 2, "epochs": 3, "workers": 1, "checkpoint_every": ALWAYS}
    return w2v.train(sentences, **{**values, **changes})


def assert_same(one: w2v.Embeddings, other: w2v.Embeddings) -> None:
    assert one.vectors.tobytes() == other.vectors.tobytes()
    assert one.context is not None
    assert other.context is not None
    assert one.context.tobytes() == other.context.tobytes()
    assert one.training is not None
    assert other.training is not None
    assert one.training.loss == other.training.loss


def stop_after(n: int) -> Callable[[object], None]:
    """Return a callback that is Ctrl-C at its n-th call."""
    calls = iter(range(1, n + 1))

    def callback(*_: object) -> None:
        if next(calls) == n:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize("model", ["sg", "cbow"])
@pytest.mark.parametrize("kernel", ["block", "exact"])
@pytest.mark.parametrize(
    "callbacks",
    [{"on_progress": stop_after}, {"on_report": stop_after}, {"on_epoch": stop_after}],
    ids=["in a round", "between epochs", "while evaluating"],
)
def test_a_run_stopped_by_ctrl_c_ends_in_the_same_bytes(
    sentences: Any, tmp_path: Path, model: str, kernel: str, callbacks: Any
) -> None:
    folder, settings = tmp_path / "m.checkpoint", {"model": model, "kernel": kernel}
    stops = {name: stop(2) for name, stop in callbacks.items()}
    with pytest.raises(TrainingStoppedError) as stopped:
        train(sentences, checkpoint=folder, **settings, **stops)
    assert stopped.value.is_kept
    assert isinstance(stopped.value, KeyboardInterrupt)
    stopped.value.model.save(tmp_path / "so far")
    assert w2v.load(tmp_path / "so far").words == stopped.value.model.words
    assert_same(train(sentences, checkpoint=folder, resume=True, **settings), train(sentences, **settings))
    assert not folder.exists()


TRACED = tuple(str(Path("training", f"{name}.py")) for name in ("trainer", "engine", "model", "checkpoint"))


class CtrlC:
    """Ctrl-C at the n-th line of the modules that keep the state of a run."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.endswith(TRACED):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def test_ctrl_c_may_come_at_any_line(sentences: Any, tmp_path: Path) -> None:
    """No job is lost or done twice; the lines are those of two epochs, 37 apart."""
    whole = train(sentences, epochs=2)
    n_stopped = 0
    for n in range(60, 3_000, 37):
        folder = tmp_path / str(n)
        before = sys.gettrace()
        sys.settrace(CtrlC(n))
        try:
            train(sentences, epochs=2, checkpoint=folder)
            break
        except KeyboardInterrupt:
            n_stopped += 1
        finally:
            sys.settrace(before)
        assert_same(train(sentences, epochs=2, checkpoint=folder, resume=True), whole)
    else:
        pytest.fail("the lines do not reach the end of the run")
    assert n_stopped > 20


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_dozen_kills(tmp_path: Path) -> None:
    script = Path(__file__).parent.parent / "scripts" / "kill_and_resume.py"
    command = [sys.executable, str(script), str(tmp_path), "--kills", "12", "--seed", "2"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    counts = json.loads(result.stdout)
    assert counts["kills"] == 12
    assert counts["finished"] >= 1


KILLED = """
import os, signal, sys
import w2v.training.checkpoint as checkpoint
from w2v.cli import cli

write, left = checkpoint.write_matrix, [5]

def write_and_die(file, matrix):
    left[0] -= 1
    if left[0] == 0:
        file.write(b"half")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    write(file, matrix)

checkpoint.write_matrix = write_and_die
cli(sys.argv[1:])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_while_a_checkpoint_is_written(sentences: Any, tmp_path: Path) -> None:
    """The third checkpoint is half written: the second one is there, whole."""
    text = tmp_path / "text.txt"
    text.write_text("\n".join(map(" ".join, sentences)))
    command = ["train", "text.txt", "-o", "m", "--epochs", "200", "--workers", "1", "--vector-size", "12"]
    command += ["--cache-dir", "cache", "--checkpoint-every", "1e-9", "--resume"]
    for _ in range(2):
        process = subprocess.run([sys.executable, "-c", KILLED, *command], cwd=tmp_path, check=False)
        assert process.returncode == -9
        assert list(tmp_path.glob(".w2v-*.tmp"))
        contents, w_in, _ = read_checkpoint(tmp_path / "m.checkpoint")
        assert np.isfinite(w_in).all()
    assert contents.state.epoch > 2
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert CliRunner().invoke(cli, command).exit_code == 0
    whole = w2v.train(text, vector_size=12, epochs=200, workers=1)
    assert_same(w2v.load(tmp_path / "m"), whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "m", "text.txt"]


def unfinished(sentences: Any, folder: Path, **changes: Any) -> None:
    """Leave a checkpoint, by default of the seventh round or an earlier one."""
    with pytest.raises(TrainingStoppedError):
        train(sentences, checkpoint=folder, **{"on_progress": stop_after(7), **changes})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 8}, "with another configuration: window was 5 and is 8"),
        ({"seed": 2, "epochs": 4}, "epochs was 3 and is 4, seed was 1 and is 2"),
        ({"min_count": 5}, r"with another vocabulary: digest was .*, words was \d+ and is \d+"),
        ({"freeze_top": 7}, r"with another start: frozen rows was none and is 7 \("),
    ],
)
def test_another_run_is_refused_by_name(sentences: Any, tmp_path: Path, change: Any, message: str) -> None:
    folder = tmp_path / "c"
    unfinished(sentences, folder)
    with pytest.raises(FormatError, match="an unfinished run of w2v train"):
        w2v.load(folder)
    before = (folder / "config.json").read_bytes()
    with pytest.raises(ConfigError, match=message):
        train(sentences, checkpoint=folder, resume=True, **change)
    assert (folder / "config.json").read_bytes() == before


def test_a_changed_corpus_is_refused(sentences: Any, tmp_path: Path) -> None:
    unfinished(sentences, tmp_path / "c")
    with pytest.raises(ConfigError, match=r"another corpus: fingerprint was .* and is .*tokens was 40000"):
        train([*sentences, ["w1", "w2"]], checkpoint=tmp_path / "c", resume=True)


def test_an_unfinished_run_is_not_lost_by_a_new_one(sentences: Any, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    unfinished(sentences, folder)
    with pytest.raises(ConfigError, match=r"unfinished run is here .in epoch \d of 3.; --resume"):
        train(sentences, checkpoint=folder)
    again = train(sentences, checkpoint=folder, resume=False, epochs=2)
    assert_same(again, train(sentences, epochs=2))
    assert not folder.exists()


def test_other_workers_may_go_on(sentences: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    unfinished(sentences, tmp_path / "c")
    model = train(sentences, checkpoint=tmp_path / "c", resume=True, workers=2)
    assert "the run had 1 workers, and has 2 now" in caplog.text
    assert model.training is not None
    assert len(model.training.epochs) == 3
    assert [one.tokens for one in model.training.epochs] == [40_000] * 3


def damage_config(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 9'))


def damage_state(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"next_job"', '"job"'))


def damage_matrix(folder: Path) -> None:
    data = bytearray((folder / "w_out.npy").read_bytes())
    data[-2] ^= 1
    (folder / "w_out.npy").write_bytes(data)


def cut_matrix(folder: Path) -> None:
    (folder / "w_in.npy").write_bytes((folder / "w_in.npy").read_bytes()[:-8])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_config, "format version 9, but this w2v goes on from version 1 only"),
        (damage_state, "broken .'next_job'"),
        (damage_matrix, "checksum"),
        (cut_matrix, "not a readable .npy file"),
    ],
)
def test_a_damaged_checkpoint_is_found_out(
    sentences: Any, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    unfinished(sentences, tmp_path / "c")
    damage(tmp_path / "c")
    with pytest.raises(FormatError, match=message):
        train(sentences, checkpoint=tmp_path / "c", resume=True)


def test_a_folder_of_something_else_is_left_alone(sentences: Any, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.tex").write_text("years of work")
    with pytest.raises(FormatError, match="holds other files"):
        train(sentences, checkpoint=tmp_path / "c", resume=False)
    assert (tmp_path / "c" / "thesis.tex").read_text() == "years of work"


def test_a_full_disk_does_not_end_the_run(
    sentences: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its fourth matrix does not fit: the first checkpoint stays, and training ends well."""
    written = []

    def fill(file: Any, matrix: Any) -> None:
        written.append(matrix)
        if len(written) >= 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_matrix(file, matrix)

    def look(report: EpochReport, snapshot: w2v.Embeddings) -> None:
        if report.epoch == 3:
            while not is_checkpoint(tmp_path / "c"):  # a thread is writing it
                time.sleep(0.01)
            contents, *_ = read_checkpoint(tmp_path / "c")
            assert (contents.state.epoch, contents.state.next_job) == (0, 9)

    monkeypatch.setattr("w2v.training.checkpoint.write_matrix", fill)
    model = train(sentences, checkpoint=tmp_path / "c", on_epoch=look)
    assert "the checkpoint could not be written" in caplog.text
    assert_same(model, train(sentences))


def test_a_run_that_diverges_leaves_no_checkpoint(sentences: Any, tmp_path: Path) -> None:
    with pytest.raises(TrainingError):
        train(sentences, checkpoint=tmp_path / "c", alpha=10.0, min_alpha=10.0, sample=0.0)
    assert not (tmp_path / "c").exists()


def test_on_epoch_sees_the_model_and_may_stop(sentences: Any, tmp_path: Path) -> None:
    seen: list[w2v.Embeddings] = []

    def look(report: EpochReport, snapshot: w2v.Embeddings) -> bool:
        snapshot.save(tmp_path / f"epoch-{report.epoch}")
        seen.append(snapshot)
        return report.epoch == 2

    model = train(sentences, on_epoch=look, epochs=5, checkpoint=tmp_path / "c")
    assert len(seen) == 2
    assert_same(model, seen[1])
    assert model.training is not None
    assert len(model.training.epochs) == 2
    assert_same(w2v.load(tmp_path / "epoch-1"), seen[0])
    assert not np.array_equal(seen[0].vectors, seen[1].vectors)
    assert not (tmp_path / "c").exists()


def test_minutes_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="minutes between two checkpoints"):
        Checkpoints(tmp_path, every=0)


@pytest.mark.parametrize("model", ["sg", "cbow"])
@pytest.mark.parametrize("kernel", ["block", "exact"])
@pytest.mark.parametrize("workers", [1, 2])
def test_frozen_rows_keep_their_bits_through_a_checkpoint(
    sentences: Any, tmp_path: Path, model: str, kernel: str, workers: int
) -> None:
    given = train(sentences[:500], epochs=1, min_count=1)
    settings = {"model": model, "kernel": kernel, "workers": workers, "init": given, "freeze": "init"}
    unfinished(sentences, tmp_path / "c", **settings)
    trained = train(sentences, checkpoint=tmp_path / "c", resume=True, **settings)
    shared = [word for word in trained.words if word in given]
    assert 0 < len(shared) < len(trained)
    for word in shared:
        assert trained[word].tobytes() == given[word].tobytes()
    if workers == 1:
        assert_same(trained, train(sentences, **settings))
    assert trained.origin.other["start"] == {"given_words": len(shared), "frozen_words": len(shared)}


def test_other_given_vectors_are_refused(sentences: Any, tmp_path: Path) -> None:
    one, other = (train(sentences[:500], epochs=1, min_count=1, seed=seed) for seed in (1, 2))
    unfinished(sentences, tmp_path / "c", init=one)
    with pytest.raises(ConfigError, match=r"another start: given vectors was [\d,]+ \(.*\) and is [\d,]+ \("):
        train(sentences, checkpoint=tmp_path / "c", resume=True, init=other)


def test_words_to_freeze_come_from_a_file_and_from_the_top(
    sentences: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = train(sentences, epochs=1)
    (tmp_path / "words.txt").write_text("w30\nnot-there\nw31\n")
    with caplog.at_level(logging.INFO, "w2v"):
        trained = train(sentences, init=given, freeze=tmp_path / "words.txt", freeze_top=2)
    assert "4 of" in caplog.text
    same = (trained.vectors == given.vectors).all(axis=1)
    assert {trained.words[row] for row in np.flatnonzero(same).tolist()} == {*given.words[:2], "w30", "w31"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"init": "given", "vector_size": 20}, "vectors have 12 dimensions, and vector_size is 20"),
        ({"freeze": "init"}, "given by --init, which is missing"),
        ({"init_context": "given"}, "--init-context needs --init"),
        ({"freeze": ["nothing"]}, "none of the 1 words to freeze is in the vocabulary"),
        ({"freeze_top": -1}, "freeze_top must be at least 0"),
        ({"init": "other"}, r"have none of the [\d,]+ words of the vocabulary"),
    ],
)
def test_a_start_that_makes_no_sense_is_refused(
    sentences: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    train(sentences, epochs=1).save("given")
    train([["a", "b"]] * 50, epochs=1, sample=0.0).save("other")
    with pytest.raises(ConfigError, match=message):
        train(sentences, **settings)


def test_context_vectors_may_come_from_elsewhere(sentences: Any, tmp_path: Path) -> None:
    given = train(sentences, epochs=1)
    both, separate = (
        train(sentences, init=init, init_context=context, epochs=1)
        for init, context in ((given, None), (given.context_only(), given))
    )
    assert both.context is not None
    assert separate.context is not None
    assert not np.array_equal(both.vectors, separate.vectors)
    given.save_as(tmp_path / "in.bin")
    given.context_only().save_as(tmp_path / "out.txt")
    files = train(sentences, init=tmp_path / "in.bin", init_context=tmp_path / "out.txt", epochs=1)
    assert_same(files, both)


def test_the_command_goes_on_and_keeps_epochs(demo_text: Path, tmp_path: Path) -> None:
    options = ["--workers", "1", "--vector-size", "12", "--epochs", "3"]
    model = tmp_path / "m"

    def run(*args: object) -> tuple[int, str]:
        result = CliRunner().invoke(cli, ["train", str(demo_text), *map(str, args), *options])
        return result.exit_code, result.output

    stop = {"on_progress": None, "on_report": stop_after(1)}
    unfinished(demo_text, tmp_path / "m.checkpoint", min_count=5, **stop)
    code, output = run("-o", model)
    assert code == 1
    assert "unfinished run is here (in epoch 2 of 3)" in output
    assert not model.exists()
    assert "leave out --resume" in run("-o", model, "--resume", "--checkpoint-every", 0)[1]
    code, output = run("-o", model, "--resume", "--keep-epochs")
    assert code == 0, output
    assert "Going on from" in output
    assert "Epoch 1" not in output
    names = sorted(path.name for path in tmp_path.iterdir())
    assert "m.checkpoint" not in names
    assert "m.epoch-3" in names
    assert_same(w2v.load(model), train(demo_text, min_count=5))
    code, output = run("-o", tmp_path / "n", "--init", model, "--freeze-top", 5, "--resume")
    assert code == 0
    assert "words begin at given vectors" in output
    assert "5 of 8,049 words stay as they are" in output
    assert "training begins at the beginning" in output
