"""Compiling in another process while the corpus is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from w2v.config import TrainConfig
from w2v.system.processes import usable_cores
from w2v.training import ahead

FIRST_RUN = """
from w2v.config import TrainConfig
from w2v.training.ahead import compile_kernel, compiled_meanwhile, is_missing
from w2v.training.cpu.block_kernels import train_cbow_block

config = TrainConfig(model="cbow", vector_size=8)
assert is_missing(config)
with compiled_meanwhile(config) as child:
    assert child is not None
assert child.returncode == 0
assert not is_missing(config)
compile_kernel(config)
assert sum(train_cbow_block.stats.cache_hits.values()) == 1
assert not train_cbow_block.stats.cache_misses
with compiled_meanwhile(config) as child:
    assert child is None
"""


@pytest.mark.skipif(usable_cores() == 1, reason="there is no core for another process")
def test_the_other_process_leaves_what_training_calls(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('a file of a stranger')")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    command = [sys.executable, "-P" if sys.version_info >= (3, 11) else "-I", "-c", FIRST_RUN]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_other_process_ends_when_reading_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "is_missing", lambda config: True)
    monkeypatch.setattr(ahead, "usable_cores", lambda: 2)
    with pytest.raises(ValueError, match="unreadable"), ahead.compiled_meanwhile(TrainConfig()) as child:
        raise ValueError("unreadable")
    assert child is not None
    assert child.returncode is not None


def test_one_core_compiles_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "is_missing", lambda config: True)
    monkeypatch.setattr(ahead, "usable_cores", lambda: 1)
    with ahead.compiled_meanwhile(TrainConfig()) as child:
        assert child is None


NO_CACHE = """
import sys
import numba.core.caching

def refuse(locator):
    raise OSError("read-only")

numba.core.caching._CacheLocator.ensure_cache_path = refuse
from w2v.cli import main
main()
"""


def test_training_does_without_a_place_for_compiled_code(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("we eat rice\nwe eat bread\n" * 100)
    options = ["--min-count", "1", "--sample", "0", "--vector-size", "8", "--epochs", "1", "--no-cache"]
    arguments = ["train", str(tmp_path / "text.txt"), "-o", str(tmp_path / "model"), *options]
    done = subprocess.run([sys.executable, "-c", NO_CACHE, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
    assert (tmp_path / "model" / "vectors.npy").exists()
