"""The names of the metrics, apart from the arithmetic, so that `w2v --help` needs no numpy."""

from __future__ import annotations

METRICS = ("cosine", "dot", "euclidean", "manhattan")
SIMILARITIES = ("cosine", "dot")
ANALOGY_METHODS = ("3CosAdd", "3CosMul")
