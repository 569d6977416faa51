"""The Python of docs/pytorch.md runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from w2v import Embeddings, Vocab
from w2v.cli import cli

pytest.importorskip("torch")
import torch

PAGE = Path(__file__).parent.parent / "docs" / "pytorch.md"
WORDS = ["the", "a", "king", "spoke", "queen", "sang"]


def test_every_block_runs_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = np.random.default_rng(0).normal(size=(6, 16)).astype(np.float32)
    model = Embeddings(Vocab(WORDS, np.arange(60, 0, -10)), vectors, vectors[::-1].copy())
    model.save(tmp_path / "my_model")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 9
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
    assert "3 tokens: 1 matched exactly (33.3 %), 1 after case folding" in capsys.readouterr().out
    network, ids = names["network"], names["ids"]
    assert isinstance(network, torch.nn.Sequential)
    assert network(ids).shape == (2, 2)
    assert CliRunner().invoke(cli, ["neighbors", "my_embedding", "king"]).exit_code == 0
