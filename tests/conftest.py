"""Settings of all tests."""

from __future__ import annotations

import logging
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from w2v.corpus.tools.demo import write_demo

# The first example of a compiled loop waits for the compiler; the same examples every time.
settings.register_profile("w2v", deadline=None, derandomize=True)
settings.load_profile("w2v")


# A shell starts jobs in the background with Ctrl-C ignored, and their children would ignore it too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _own_folders_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Do for fixtures of modules what the next two do for each test."""
    folder: Path = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield
    assert not list(folder.glob("w2v-*"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tests out of the user's cache folder."""
    folder: Path = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))


@pytest.fixture(autouse=True)
def _own_temporary_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Give each test a folder for temporary files of its own, in which nothing of w2v's may be left."""
    folder: Path = tmp_path_factory.mktemp("tmp")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.glob("w2v-*"))


@pytest.fixture(autouse=True)
def _own_log_handlers() -> Iterator[None]:
    """Take away what a command put on the logger: the next test may look at standard error."""
    before = list(logging.getLogger("w2v").handlers)
    yield
    logging.getLogger("w2v").handlers = before


@pytest.fixture(scope="session")
def demo_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the demo corpus, made once for all tests."""
    path: Path = tmp_path_factory.mktemp("demo") / "demo.txt"
    with path.open("wb") as file:
        write_demo(file)
    return path
