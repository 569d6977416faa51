"""Saving: killed at every file operation, read while another process writes, targets that cannot be."""

from __future__ import annotations

import errno
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import w2v
from w2v import Embeddings, FormatError, Vocab
from w2v.files.temporary import remove_leftovers, temporary_folder
from w2v.formats.folder import check_model_target, rescue

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, SIGKILL and an exchange of names")


def model_of(number: int, n_words: int = 50) -> Embeddings:
    """A model all of whose parts tell its number."""
    vectors = np.full((n_words, 4), number, np.float32)
    vocab = Vocab([f"w{number}_{i}" for i in range(n_words)], np.full(n_words, number))
    return Embeddings(vocab, vectors, vectors)


def number_of(path: Path) -> int:
    """The number of the model at a path, after all of its parts were seen to agree on it."""
    model = w2v.load(path)
    number = int(model.counts[0])
    assert model.words[0] == f"w{number}_0"
    assert model.context is not None
    assert (np.array(model.vectors) == number).all()
    assert (np.array(model.context) == number).all()
    return number


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    body = f"from tests.test_files_atomic import *\n{textwrap.dedent(code)}"
    command = [sys.executable, "-c", body, *map(str, arguments)]
    root = Path(__file__).parent.parent
    result = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=300)
    assert result.returncode == 0, result.stderr
    return result


@LINUX
@pytest.mark.parametrize("has_exchange", [True, False])
def test_a_save_killed_at_any_file_operation_leaves_the_older_model_or_the_newer(
    tmp_path: Path, has_exchange: bool
) -> None:
    # A child dies at the n-th operation on files in the folder: n grows until it lives to the end.
    result = run(
        """
        import os
        import signal
        import w2v.files.atomic
        folder, has_exchange = Path(sys.argv[1]), sys.argv[2] == "True"
        if not has_exchange:
            w2v.files.atomic._exchange = lambda one, other: False
        model_of(1).save(folder / "m")
        state = {"left": 10**9, "is_child": False}

        def count(event, args):
            touches = any(str(folder) in str(part) for part in args)
            is_file = event == "open" or event.startswith(("os.", "shutil.", "ctypes.call_function"))
            if state["is_child"] and is_file and (touches or event.startswith("ctypes.call")):
                state["left"] -= 1
                if state["left"] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        seen, n = set(), 0
        while True:
            n += 1
            child = os.fork()
            if child == 0:
                state.update(left=n, is_child=True)
                model_of(2).save(folder / "m")
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert (folder / "m").exists() or not has_exchange, n
            number = number_of(folder / "m")
            assert number in (1, 2), n
            seen.add(number)
            model_of(1).save(folder / "m")
            names = [entry.name for entry in folder.iterdir()]
            assert names == ["m"], (n, names)
            if os.waitstatus_to_exitcode(status) == 0:
                break
        print(n, *sorted(seen))
        """,
        tmp_path,
        has_exchange,
    )
    n, *seen = map(int, result.stdout.split())
    assert n > 20
    assert seen == [1, 2]


@LINUX
def test_a_model_is_read_as_one_while_others_write_it_and_the_last_save_wins(tmp_path: Path) -> None:
    model_of(0).save(tmp_path / "m")
    code = """
        import itertools
        from tests.test_files_atomic import *
        folder, writer = Path(sys.argv[1]), int(sys.argv[2])
        for turn in itertools.count(1):
            model_of(10 * turn + writer).save(folder / "m")
            if (folder / "enough").exists():
                break
        model_of(writer).save(folder / "m")
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    root = Path(__file__).parent.parent
    writers = [subprocess.Popen([*command, str(number)], cwd=root) for number in (1, 2)]
    seen: set[int] = set()
    while len(seen) < 100 and all(writer.poll() is None for writer in writers):
        seen.add(number_of(tmp_path / "m"))
    (tmp_path / "enough").touch()
    while any(writer.poll() is None for writer in writers):
        number_of(tmp_path / "m")
    assert [writer.wait() for writer in writers] == [0, 0]
    assert number_of(tmp_path / "m") in (1, 2)
    (tmp_path / "enough").unlink()
    model_of(7).save(tmp_path / "m")
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_leftovers_of_the_living_and_of_others_stay(tmp_path: Path) -> None:
    with temporary_folder(tmp_path, ".w2v-", ".tmp") as mine:
        (tmp_path / ".w2v-dead.tmp").mkdir()
        (tmp_path / ".w2v-file.tmp").write_text("half")
        (tmp_path / ".w2v-other").write_text("not ours")
        (tmp_path / ".w2v-link.tmp").symlink_to(tmp_path)
        remove_leftovers(tmp_path, ".w2v-", ".tmp")
        names = {entry.name for entry in tmp_path.iterdir()}
        assert names == {mine.name, ".w2v-other", ".w2v-link.tmp"}
    assert not mine.exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("file/deep/m", "file is a file, not a folder"),
        ("file", "a file of this name is there already"),
        ("loop", "a link that leads back to itself"),
    ],
)
def test_a_target_that_cannot_be_is_refused_before_training(tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FormatError, match=message):
        check_model_target(tmp_path / place)
    assert {entry.name for entry in tmp_path.iterdir()} == {"file", "loop"}


def test_a_target_without_room_or_rights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FormatError, match=r"m: needs 9,000,000,000 MB, but only [\d,]+ MB are free there"):
        check_model_target(tmp_path / "m", 9 * 10**15)
    monkeypatch.setattr("w2v.files.atomic._is_locked", lambda path: path.name == "vocab.tsv")
    model_of(1).save(tmp_path / "m")
    with pytest.raises(FormatError, match=r"vocab\.tsv in it is write-protected"):
        model_of(2).save(tmp_path / "m")
    assert number_of(tmp_path / "m") == 1

    def refuse(dir: Path) -> None:  # noqa: A002 - tempfile calls it so
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("w2v.files.atomic.tempfile.TemporaryFile", refuse)
    with pytest.raises(FormatError, match=r"other: cannot be written \(permission denied"):
        check_model_target(tmp_path / "other")


def test_a_full_disk_names_path_and_size_and_the_weights_go_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("w2v.formats.folder.write_matrix", full)
        with pytest.raises(OSError, match=r"No space left on device \(1 MB are to be written\): '.*/m'"):
            model_of(1, 20_000).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing" / "file"))
    (tmp_path / "missing").write_text("so nothing can be below it")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert number_of(rescue(model_of(3))) == 3
    assert len(list((tmp_path / "home").iterdir())) == 1


def test_a_folder_that_cannot_be_renamed_is_filled_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "mounted"
    target.mkdir()
    monkeypatch.setattr("w2v.files.atomic.os.path.ismount", lambda path: Path(path) == target)
    for number in (1, 2):
        model_of(number).save(target)
        assert number_of(target) == number
    assert [entry.name for entry in tmp_path.iterdir()] == ["mounted"]
    assert not [entry for entry in target.iterdir() if entry.name.startswith(".")]
