"""The Python of docs/pytorch.md runs as it stands, and that of the Chinese page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_pages import FOLDER, blocks

from w2v import Embeddings, Vocab
from w2v.cli import cli

pytest.importorskip("torch")
import torch

WORDS = ["the", "a", "king", "spoke", "queen", "sang", "国王", "开口", "说话", "一位", "女王"]
PAGES = {"pytorch.md": "king", "pytorch.zh.md": "国王"}


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs_in_order(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 16)).astype(np.float32)
    model = Embeddings(Vocab(WORDS, np.arange(len(WORDS), 0, -1)), vectors, vectors[::-1].copy())
    model.save(tmp_path / "my_model")
    monkeypatch.chdir(tmp_path)
    code = blocks((FOLDER / "docs" / page).read_text(encoding="utf-8"), "python")
    assert len(code) == 9
    names: dict[str, object] = {}
    for block in code:
        exec(compile(block, page, "exec"), names)  # noqa: S102
    assert "3 tokens: 1 matched exactly (33.3 %), 1 after case folding" in capsys.readouterr().out
    network, ids = names["network"], names["ids"]
    assert isinstance(network, torch.nn.Sequential)
    assert network(ids).shape == (2, 2)
    assert CliRunner().invoke(cli, ["neighbors", "my_embedding", PAGES[page]]).exit_code == 0
