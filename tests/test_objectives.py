"""The records of what can be trained, that nothing else asks for a model by name, and what training costs."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from w2v import objectives
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import encode
from w2v.errors import ConfigError
from w2v.objectives import KERNELS, MODELS, OBJECTIVES, Objective, objective_of
from w2v.training import resolve
from w2v.training.cost import estimate
from w2v.training.trainer import train_weights

PACKAGE = Path(objectives.__file__).parent


def test_models_and_kernels_are_named_in_one_module_only() -> None:
    names = {*MODELS, *KERNELS}
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value!r}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names and path.name != "objectives.py"
    ]
    assert found == []


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: f"{one.model}, {one.kernel}")
def test_a_record_names_functions_that_there_are(objective: Objective) -> None:
    for name in (objective.train, objective.tables, objective.scratch, objective.seconds):
        assert callable(resolve(name))
    assert objective_of(objective.model, objective.kernel) is objective
    assert TrainConfig(model=objective.model, kernel=objective.kernel).objective is objective


def test_a_pair_without_a_record_is_refused_with_the_kernels_there_are() -> None:
    with pytest.raises(ConfigError, match=r"'tree' does not train .* 'cbow'; its kernels: block, exact"):
        objective_of("cbow", "tree")


def test_the_record_says_how_many_rows_w_out_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more than there are words, as other losses have fewer or more."""
    other = replace(OBJECTIVES[0], output_rows=lambda n_words: n_words + 1)
    monkeypatch.setattr(TrainConfig, "objective", other)
    corpus = encode([["a", "b", "c"]] * 50, vocab=VocabConfig(min_count=1))
    trained = train_weights(corpus, TrainConfig(vector_size=8, epochs=1, workers=1, sample=0))
    assert trained.w_in.shape == (3, 8)
    assert trained.w_out.shape == (4, 8)
    assert trained.w_out[:3].any(axis=1).all()


def test_the_estimate_grows_with_what_costs() -> None:
    counts = np.array([1_000_000 // rank for rank in range(1, 5_001)], np.int64)
    n_tokens = int(counts.sum())

    def cost(**settings: Any) -> float:
        return estimate(counts, n_tokens, TrainConfig(epochs=5, **{"workers": 1, **settings})).seconds

    assert cost(workers=2) == pytest.approx(cost() / 2)
    assert cost() < cost(window=10) < cost(window=20)
    assert cost() < cost(vector_size=300)
    assert cost() < cost(block_negatives=48)
    assert cost() < cost(kernel="exact") < cost(kernel="exact", negative=15)
    assert cost(model="cbow") == cost(model="cbow", window=20)  # running sums
    big = estimate(counts, n_tokens, TrainConfig(vector_size=200))
    small = estimate(counts, n_tokens, TrainConfig(vector_size=100))
    assert big.memory_bytes - small.memory_bytes >= 2 * 4 * 100 * 5_000
    assert small.trained_tokens < n_tokens
