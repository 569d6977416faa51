"""Phrases: those of gensim at the same settings, passes, connectors, collisions, the command."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from gensim.models.phrases import ENGLISH_CONNECTOR_WORDS, Phrases
from hypothesis import example, given, settings
from hypothesis import strategies as st

from w2v.cli import cli
from w2v.config import PhraseConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.corpus import phrases as phrases_module
from w2v.corpus.phrases import connector_words, count_pairs, find_phrases
from w2v.errors import ConfigError, CorpusError

ALL = VocabConfig(min_count=1)
WORDS = ["new", "york", "bank", "of", "the", "america", "city", "a", "is", "b", "c", "d"]
sentences_strategy = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), min_size=1, max_size=30
)


def read(source: Any, **config: Any) -> EncodedCorpus:
    return encode(source, vocab=ALL, phrases=PhraseConfig(**config) if config else None, cache=False)


def decoded(corpus: EncodedCorpus) -> list[list[str]]:
    rows = [corpus.vocab.words[i] for i in corpus.tokens]
    return [rows[a:b] for a, b in pairwise(corpus.offsets)]


def check_against_gensim(
    sentences: list[list[str]], connectors: str, scoring: str, threshold: float, min_count: int, passes: int
) -> None:
    config = {
        "phrases": passes,
        "phrase_connectors": connectors,
        "phrase_scoring": scoring,
        "phrase_threshold": threshold,
        "phrase_min_count": min_count,
    }
    expected: Any = sentences
    for number in range(passes):
        model = Phrases(
            expected,
            min_count=min_count,
            threshold=threshold,
            scoring=scoring,
            connector_words=ENGLISH_CONNECTOR_WORDS if connectors == "en" else frozenset(),
        )
        mine = find_phrases(
            read(sentences, **{**config, "phrases": number}) if number else read(sentences),
            PhraseConfig(**config),  # type: ignore[arg-type]
        )
        theirs = model.find_phrases(expected)
        scores = {"_".join(phrase.words): phrase.score for phrase in mine}
        # gensim lists those that win from left to right; what it would score is in its vocabulary.
        assert {name: scores[name] for name in theirs} == pytest.approx(theirs)
        assert {phrase.occurrences for phrase in mine} <= set(model.vocab.values())
        expected = [model[sentence] for sentence in expected]
    joined = read(sentences, **config)
    assert decoded(joined) == expected
    assert joined.vocab.counts.tolist() == np.bincount(joined.tokens).tolist()
    assert sorted(joined.vocab.counts, reverse=True) == joined.vocab.counts.tolist()


@given(
    sentences_strategy,
    st.sampled_from(["none", "en"]),
    st.sampled_from([("default", 0.1), ("default", 1.0), ("npmi", 0.3), ("npmi", -0.5)]),
    st.integers(1, 3),
)
@example([["new", "york"]] * 4 + [["bank", "of", "the", "america"]] * 4, "en", ("default", 0.1), 1)
@example([["of", "the", "of", "new", "of"]] * 3, "en", ("npmi", -0.9), 1)
@settings(max_examples=120)
def test_phrases_are_gensims(
    sentences: list[list[str]], connectors: str, scoring: tuple[str, float], min_count: int
) -> None:
    check_against_gensim(sentences, connectors, *scoring, min_count, 1)


@given(sentences_strategy, st.sampled_from(["none", "en"]))
@settings(max_examples=40)
def test_passes_are_gensims(sentences: list[list[str]], connectors: str) -> None:
    check_against_gensim(sentences, connectors, "default", 0.1, 1, 3)


@pytest.mark.parametrize("connectors", ["none", "en"])
def test_a_longer_text_in_small_pieces(connectors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases_module, "_PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(phrases_module, "_TOKENS_AT_ONCE", 11)
    monkeypatch.setattr("w2v.corpus.ids.encoded_corpus._TOKENS_AT_ONCE", 11)
    monkeypatch.setattr(phrases_module, "_FIRST_SLOTS", 4)
    generator = np.random.default_rng(1)
    words = [*WORDS, *(f"w{number}" for number in range(200))]
    sentences = [[words[i] for i in generator.zipf(1.3, 15) if i < len(words)] for _ in range(400)]
    check_against_gensim([s for s in sentences if s], connectors, "default", 1.0, 2, 2)


def test_a_score_at_the_threshold_joins_nothing() -> None:
    corpus = read([["new", "york"]] * 9 + [["a", "b", "c"]])
    best = find_phrases(corpus, PhraseConfig(phrases=1, phrase_threshold=0.1))[0]
    assert best.words == ("new", "york")
    assert find_phrases(corpus, PhraseConfig(phrases=1, phrase_threshold=best.score)) == []


def test_many_runs_of_connectors(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    names = sorted(ENGLISH_CONNECTOR_WORDS)
    sentences = [["x", *generator.choice(names, 6).tolist(), "y"] for _ in range(1500)]
    check_against_gensim(sentences * 2, "en", "default", 1e-9, 1, 1)
    monkeypatch.setattr("w2v.corpus.phrase_kernels.MOST_NODES", 100)
    with pytest.raises(CorpusError, match="too many different runs"):
        read(sentences, phrases=1, phrase_connectors="en")


def test_rare_pairs_are_forgotten_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases_module, "_FIRST_SLOTS", 64)
    monkeypatch.setattr(phrases_module, "_MOST_SLOTS", 64)
    sentences = [["new", "york", f"a{number}"] for number in range(500)]
    corpus = read(sentences)
    pairs = count_pairs(corpus.tokens, corpus.offsets, np.zeros(corpus.n_types, np.bool_))
    assert len(pairs.table) == 64
    counts = pairs.table[:, 1].astype(np.int64)
    assert counts.max() == 500


def test_a_phrase_that_is_a_word_already_shares_its_row() -> None:
    sentences = [["北京", "大学"]] * 6 + [["北京大学", "好"]] * 3 + [["x", "y", "z"]]
    config = {"phrases": 1, "phrase_delimiter": "", "phrase_threshold": 0.1, "phrase_min_count": 4}
    corpus = read(sentences, **config)
    assert corpus.vocab.words[0] == "北京大学"
    assert corpus.vocab.counts[0] == 9
    assert len(set(corpus.vocab.words)) == len(corpus.vocab.words)


def test_connector_words(tmp_path: Path) -> None:
    assert "of" in connector_words("en")
    assert "的" in connector_words("zh")
    (tmp_path / "words.txt").write_text("\ufeffund\noder\n")
    assert connector_words(str(tmp_path / "words.txt")) == {"und", "oder"}
    with pytest.raises(ConfigError, match="there is no file 'french'"):
        connector_words("french")


def test_chinese_without_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "zh.txt"
    path.write_text("战争 与 和平 是 书\n" * 8 + "一 二 三 四 五 六\n" * 3)
    corpus = read(
        path, phrases=1, phrase_connectors="zh", phrase_delimiter="", phrase_threshold=0.5, phrase_min_count=1
    )
    assert decoded(corpus)[0][0] == "战争与和平"


def test_joined_corpora_are_cached(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("new york is big\n" * 10 + "a b c d e f g\n")
    config = PhraseConfig(phrases=2, phrase_threshold=0.1)
    runs = [encode(path, vocab=ALL, phrases=config, cache_dir=tmp_path / "cache") for _ in range(2)]
    n_entries = len(list((tmp_path / "cache").glob("*/entries/*")))
    assert n_entries == 2
    assert runs[0].fingerprint == runs[1].fingerprint != read(path).fingerprint
    assert decoded(runs[0]) == decoded(runs[1])
    assert runs[0].reading["phrases"]["phrases"] == 2
    other = PhraseConfig(phrases=2, phrase_threshold=1e6)
    encode(path, vocab=ALL, phrases=other, cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*/tmp-*"))


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("New York City, is big.\n" * 10 + "a b c d e f g\n")
    arguments = ["phrases", str(path), "--tokenizer", "words", "--lowercase", "--phrase-threshold", "0.5"]
    listed = CliRunner().invoke(cli, arguments)
    assert listed.stdout.split("\n")[0].split()[:3] == ["city", "is", "10"] or "new york" in listed.stdout
    found = json.loads(CliRunner().invoke(cli, [*arguments, "--phrases", "2", "--json"]).stdout)
    assert {line["pass"] for line in found} == {1, 2}
    assert found[0]["occurrences"] == 10
    output = tmp_path / "out.txt"
    done = CliRunner().invoke(cli, [*arguments, "--phrases", "2", "-o", str(output)])
    assert done.exit_code == 0
    assert output.read_text() == "new_york_city_is big\n" * 10 + "a b c d e f g\n"
    bad = CliRunner().invoke(cli, ["phrases", str(path), "--phrase-connectors", "nope"])
    assert (bad.exit_code, "no file 'nope'" in bad.stderr) == (1, True)


def test_words_with_white_space_cannot_be_written(tmp_path: Path) -> None:
    from w2v.corpus.tools.write_text import write_sentences

    with pytest.warns(UserWarning, match="white space"):
        corpus = read([["a b", "c"]])
    with (tmp_path / "x").open("wb") as file, pytest.raises(CorpusError, match="'a b' holds white space"):
        write_sentences(corpus, file)
