"""Weights of records and of sentences: how many times each is read."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import w2v
from w2v.cli import cli
from w2v.config import CorpusConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.corpus.read.sentence_weights import times_of
from w2v.errors import CorpusError

ALL = VocabConfig(min_count=1)
TEXTS = ["a b c", "b c", "d"]


def encoded(source: Any, *, weights: Any = None, workers: int = 1, **config: Any) -> EncodedCorpus:
    settings = CorpusConfig(**config)
    return encode(source, corpus=settings, vocab=ALL, cache=False, workers=workers, weights=weights)


def sentences_of(corpus: EncodedCorpus) -> list[str]:
    words = [corpus.vocab.words[i] for i in corpus.tokens]
    return [" ".join(words[a:b]) for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False)]


def write(path: Path, weights: list[Any], texts: list[str] = TEXTS) -> Path:
    """Write records as JSONL or CSV, by the suffix."""
    rows = list(zip(texts, weights, strict=True))
    if path.suffix == ".jsonl":
        lines = [json.dumps({"text": text, "meta": {"w": weight}}) for text, weight in rows]
    else:
        lines = ["meta.w,text", *(f"{weight},{text}" for text, weight in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
@pytest.mark.parametrize("tokenizer", ["whitespace", "words"])
def test_a_weight_of_two_is_the_record_twice(name: str, tokenizer: str, tmp_path: Path) -> None:
    weighted = encoded(write(tmp_path / name, [2, 0, 3.0]), weights_field="meta.w", tokenizer=tokenizer)
    twice = encoded([["a", "b", "c"]] * 2 + [["d"]] * 3)
    assert sentences_of(weighted) == sentences_of(twice)
    assert dict(zip(weighted.vocab.words, weighted.vocab.counts.tolist(), strict=True)) == {
        "a": 2, "b": 2, "c": 2, "d": 3,
    }  # fmt: skip
    assert (weighted.report.repeats, weighted.report.weighted_out) == (3, 1)


def test_a_parquet_file(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"w": [2.0, 0.0, 1.0], "text": TEXTS}), path)
    assert sentences_of(encoded(path, weights_field="w")) == ["a b c", "a b c", "d"]
    with pytest.raises(CorpusError, match="name the one with the weight by --weights-field"):
        encoded(path, weights_field="v")


def test_weights_of_lists_count_in_training_as_repeats() -> None:
    sentences = [text.split() for text in TEXTS]
    found = encoded(sentences, weights=np.array([2, 0, 3]))
    assert sentences_of(found) == ["a b c", "a b c", "d", "d", "d"]
    assert (found.report.repeats, found.report.weighted_out) == (3, 1)
    settings: dict[str, Any] = {"vector_size": 4, "min_count": 1, "sample": 0, "workers": 1, "epochs": 2}
    weighted = w2v.train(sentences, weights=[2, 1, 3], **settings)
    repeated = w2v.train([sentences[i] for i in (0, 0, 1, 2, 2, 2)], **settings)
    assert weighted.words == repeated.words
    np.testing.assert_array_equal(weighted.vectors, repeated.vectors)


def test_a_fraction_is_a_chance() -> None:
    times = [times_of(1.3, 1, 1, number) for number in range(10_000)]
    assert set(times) == {1, 2}
    assert abs(np.mean(times) - 1.3) < 4 * math.sqrt(0.3 * 0.7 / 10_000)  # four standard errors
    assert times == [times_of("1.3", 1, 1, number) for number in range(10_000)]
    for other in ((2, 1), (1, 2)):  # another seed, another file
        assert times != [times_of(1.3, *other, number) for number in range(10_000)]


def test_the_draw_is_the_same_for_any_number_of_readers(tmp_path: Path) -> None:
    texts = [f"t{i} x" for i in range(300)]
    for name in ("a.jsonl", "b.jsonl"):
        write(tmp_path / name, [0.5] * 300, texts)
    options: dict[str, Any] = {"weights_field": "meta.w", "tokenizer": "words"}
    found = [encoded(tmp_path, workers=workers, **options) for workers in (1, 2)]
    assert sentences_of(found[0]) == sentences_of(found[1])
    n = [times_of(0.5, 1, file, line) for file in (1, 2) for line in range(1, 301)]
    assert found[0].n_sentences == sum(n)
    assert sentences_of(encoded(tmp_path, **options, weights_seed=2)) != sentences_of(found[0])


def test_the_cache_knows_the_weights(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [2, 1, 0.5])

    def read(**config: Any) -> EncodedCorpus:
        return encode(path, corpus=CorpusConfig(**config), vocab=ALL, cache_dir=tmp_path / "cache")

    assert read().n_sentences == 3
    first = read(weights_field="meta.w")
    assert not first.report.from_cache
    again = read(weights_field="meta.w")
    assert again.report.from_cache
    assert (again.report.repeats, again.report.weighted_out) == (1, first.report.weighted_out)
    assert not read(weights_field="meta.w", weights_seed=5).report.from_cache
    assert read().report.from_cache


BAD = [-1, "nan", "inf", "much", "", 1001, "1e999"]


@pytest.mark.parametrize("weight", [*BAD, None, True, [1]], ids=repr)
def test_a_bad_weight_is_an_error_with_its_place(weight: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [1, weight, 1])
    with pytest.raises(CorpusError, match=r"x\.jsonl:2: the weight must be a number from 0 to 1,000; got"):
        encoded(path, weights_field="meta.w")
    with pytest.raises(CorpusError, match="sentence 2: the weight must be a number from 0 to 1,000"):
        encoded([["a"], ["b"]], weights=[1, weight])
    found = encoded(path, weights_field="meta.w", skip_bad_records=True)
    assert (sentences_of(found), found.report.skipped) == (["a b c", "d"], 1)


@pytest.mark.parametrize("weight", BAD)
def test_a_bad_weight_in_a_table(weight: Any, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"x\.csv:3: the weight must be a number"):
        encoded(write(tmp_path / "x.csv", [1, weight, 1]), weights_field="meta.w")


def test_a_missing_weight(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [1, 1, 1])
    with pytest.raises(CorpusError, match=r"x\.jsonl:1: no field 'v'.*weight by --weights-field"):
        encoded(path, weights_field="v")
    table = write(tmp_path / "x.csv", [1, 1, 1])
    with pytest.raises(CorpusError, match=r"x\.csv:1: no field 'v'.*weight by --weights-field"):
        encoded(table, weights_field="v")


def test_numbers_of_every_kind() -> None:
    assert [times_of(one, 1, 1, 1) for one in (2, 2.0, "2", Decimal(2), np.float32(2), np.int64(2))] == [
        2
    ] * 6


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1], "1 weights and more sentences"), ([1] * 3, "more weights"), (5, "list")],
)
def test_as_many_weights_as_sentences(weights: Any, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        encoded([["a"], ["b"]], weights=weights)


def test_weights_where_there_can_be_none(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("a b\n")
    with pytest.raises(CorpusError, match="text has no records"):
        encoded(path, weights_field="w")
    with pytest.raises(CorpusError, match="weights are for sentences from Python"):
        encoded(path, weights=[1])
    with pytest.raises(CorpusError, match="weights_field is for records"):
        encoded([["a"]], weights_field="w")
    with pytest.raises(CorpusError, match="not read because of their weight"):
        encoded([["a"]], weights=[0])
    with pytest.raises(CorpusError, match="encoded already"):
        encode(encoded([["a"]]), weights=[1])


def test_the_command_reports_weights(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [3, 0, 1])
    options = [
        "--weights-field",
        "meta.w",
        "--no-cache",
        "--min-count",
        "1",
        "--vector-size",
        "4",
        "--sample",
        "0",
    ]
    result = CliRunner().invoke(cli, ["train", str(path), "-o", str(tmp_path / "m"), *options])
    assert result.exit_code == 0, result.output
    assert "2 repeats by weight, 1 record not read because of its weight" in result.stderr
    assert w2v.load(tmp_path / "m").origin.as_dict()["reading"]["weights_field"] == "meta.w"
