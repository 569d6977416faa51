"""Files that are damaged at random are read or refused, and never anything else; see `fuzzing`."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from fuzzing import TARGETS, rounds, valid_files

ROUNDS = 300


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "w2v")


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    needed = {"torch": "torch", "parquet": "pyarrow", "parquet of lists": "pyarrow"}
    if name in needed:
        pytest.importorskip(needed[name])
    (tmp_path / "files").mkdir()
    failures = [failure for failure in rounds(TARGETS[name], 0, ROUNDS, tmp_path / "files") if failure]
    assert not failures, f"{len(failures)} of {ROUNDS} rounds; seed {failures[0].seed}: {failures[0].reason}"


def test_every_format_is_among_the_targets() -> None:
    from w2v.corpus.read.kinds import KINDS
    from w2v.formats.registry import READABLE

    assert {*READABLE, *KINDS} <= set(TARGETS)


def test_the_valid_files_are_all_seen(tmp_path: Path) -> None:
    files = valid_files(TARGETS["folder"], tmp_path)
    assert set(files) == {
        f"v/{name}" for name in ("config.json", "context.npy", "training.jsonl", "vectors.npy", "vocab.tsv")
    }
