"""Evaluation: gensim's numbers to the last digit, the usual formats, no result where nothing is known."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2v import ConfigError, Embeddings, FormatError, Vocab
from w2v.evaluation import (
    AnalogySet,
    PairSet,
    evaluate,
    evaluate_analogies,
    evaluate_pairs,
    read_analogies,
    read_pairs,
)
from w2v.evaluation.pairs import bootstrap_interval


def model_of(words: list[str], vectors: Any) -> Embeddings:
    return Embeddings(Vocab(words, np.arange(len(words), 0, -1)), np.asarray(vectors, np.float32))


def structured_model(seed: int = 0, n_pairs: int = 120) -> Embeddings:
    """Return words w0... and their partners v0..., shifted by one direction; some in two cases."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n_pairs, 60))
    shift = rng.normal(size=60)
    words = [f"w{i}" for i in range(n_pairs)] + [f"v{i}" for i in range(n_pairs)]
    vectors = np.vstack([base, base + shift + rng.normal(size=base.shape) * 1.3])
    twins = [f"W{i}" for i in range(0, n_pairs, 3)] + [f"V{i}" for i in range(0, n_pairs, 4)]
    near = [vectors[words.index(word.lower())] + rng.normal(size=60) * 0.3 for word in twins]
    model = model_of(words + twins, np.vstack([vectors, near]))
    return model.rows(rng.permutation(len(model)).tolist())


def analogy_file(path: Path, seed: int = 1, n: int = 400) -> Path:
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(n):
        if number % 100 == 0:
            lines.append(f": section {number // 100}")
        a, b = rng.integers(0, 130, 2)
        lines.append(f"w{a} v{a} W{b} V{b}" if number % 5 else f"v{a} W{a} v{b} w{b}")
    lines += ["only three words", ": empty", "w1 v1 w1 v1", "w1 w1 w2 w2", "w1 v1 w2 w1"]
    path.write_text("\n".join(lines) + "\n")
    return path


def gensim_sections(
    model: Embeddings, path: Path, **options: Any
) -> tuple[float, list[tuple[str, int, int]]]:
    score, sections = model.to_gensim().evaluate_word_analogies(str(path), **options)
    return float(score), [
        (section["section"], len(section["correct"]), len(section["correct"]) + len(section["incorrect"]))
        for section in sections
    ]


@pytest.mark.parametrize("case_insensitive", [True, False])
@pytest.mark.parametrize("restrict_vocab", [300_000, 200, 7])
@pytest.mark.parametrize("dummy4unknown", [True, False])
def test_analogies_are_gensims(
    tmp_path: Path, case_insensitive: bool, restrict_vocab: int, dummy4unknown: bool
) -> None:
    path = analogy_file(tmp_path / "analogies.txt")
    options = {
        "case_insensitive": case_insensitive,
        "restrict_vocab": restrict_vocab,
        "dummy4unknown": dummy4unknown,
    }
    for seed in range(3):
        model = structured_model(seed)
        score, sections = gensim_sections(model, path, **options)
        ours = evaluate_analogies(model, read_analogies(path), **options)  # type: ignore[arg-type]
        assert [(one.section, one.n_correct, one.n_known) for one in ours.sections] == sections[:-1]
        assert (ours.total.n_correct, ours.total.n_known) == sections[-1][1:]
        assert (ours.total.accuracy or 0.0) == score
    if restrict_vocab > 200 and case_insensitive:
        assert 0.1 < score < 0.95  # neither all right nor all wrong: the comparison says something


def test_near_ties_are_decided_as_gensim_does(tmp_path: Path) -> None:
    path = analogy_file(tmp_path / "analogies.txt")
    base = structured_model()
    doubled = base.vectors.copy()
    half = len(doubled) // 2
    doubled[half : 2 * half] = doubled[:half]  # every answer has a twin with the same vector
    model = Embeddings(base.vocab, doubled)
    score, sections = gensim_sections(model, path)
    ours = evaluate_analogies(model, read_analogies(path))
    assert [(one.section, one.n_correct, one.n_known) for one in ours.sections] == sections[:-1]
    assert ours.total.accuracy == score
    assert score > 0


@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`:DeprecationWarning")
def test_the_product_method_is_gensims_one_question_at_a_time(tmp_path: Path) -> None:
    model = structured_model()
    kv = model.to_gensim()
    path = analogy_file(tmp_path / "analogies.txt")
    questions = read_analogies(path)
    ours = evaluate_analogies(model, questions, method="3CosMul", case_insensitive=False)
    n_correct = 0
    for _, asked in questions.sections:
        for a, b, c, d in asked:
            if all(word in model for word in (a, b, c, d)):
                n_correct += kv.most_similar_cosmul([b, c], [a], topn=1)[0][0] == d
    assert ours.total.n_correct == n_correct > 0
    added = evaluate_analogies(model, questions, case_insensitive=False)
    assert added.total.n_correct != n_correct
    with pytest.raises(ConfigError, match="method must be one of"):
        evaluate_analogies(model, questions, method="cosmul")


def pair_file(path: Path, n: int = 150) -> Path:
    rng = np.random.default_rng(5)
    lines = ["# a comment"]
    for _ in range(n):
        a, b = rng.integers(0, 130, 2)
        lines.append(f"w{a}\tV{b}\t{rng.integers(0, 30) / 3:.2f}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("case_insensitive", [True, False])
@pytest.mark.parametrize("restrict_vocab", [300_000, 200])
@pytest.mark.parametrize("dummy4unknown", [True, False])
def test_word_similarity_is_gensims(
    tmp_path: Path, case_insensitive: bool, restrict_vocab: int, dummy4unknown: bool
) -> None:
    path = pair_file(tmp_path / "pairs.tsv")
    options = {
        "case_insensitive": case_insensitive,
        "restrict_vocab": restrict_vocab,
        "dummy4unknown": dummy4unknown,
    }
    for seed in range(3):
        model = structured_model(seed)
        pearson, spearman, unknown = model.to_gensim().evaluate_word_pairs(str(path), **options)
        ours = evaluate_pairs(model, read_pairs(path), **options)  # type: ignore[arg-type]
        assert ours.spearman == spearman[0]
        assert ours.pearson == pearson[0]
        if not dummy4unknown:
            assert 100 * (1 - ours.n_known / ours.n_pairs) == pytest.approx(unknown)


def test_the_sets_inside_gensim_are_the_default_and_equal_its_own_reading() -> None:
    from gensim.test.utils import datapath

    rng = np.random.default_rng(0)
    questions = read_analogies("questions-words")
    words = list(
        dict.fromkeys(word.lower() for _, asked in questions.sections for line in asked for word in line)
    )
    words += [word for pair in read_pairs("wordsim353").pairs for word in pair[:2]]
    words = list(dict.fromkeys(words))[::2]
    model = model_of(words, rng.normal(size=(len(words), 10)))
    found = evaluate(model)
    assert [one.name for one in found.analogies] == ["questions-words"]
    assert [one.name for one in found.pairs] == ["wordsim353", "simlex999"]
    assert found.analogies[0].total.n_questions == 19_544
    assert [one.n_pairs for one in found.pairs] == [353, 999]
    kv = model.to_gensim()
    assert found.analogies[0].total.accuracy == kv.evaluate_word_analogies(datapath("questions-words.txt"))[0]
    for one, name in zip(found.pairs, ("wordsim353.tsv", "simlex999.txt"), strict=True):
        pearson, spearman, _ = kv.evaluate_word_pairs(datapath(name))
        assert (one.pearson, one.spearman) == (pearson[0], spearman[0])
        assert one.interval is not None
        assert one.interval[0] < spearman[0] < one.interval[1]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=8, max_size=15).filter(
        lambda pairs: len({a for a, _ in pairs}) > 2 and len({b for _, b in pairs}) > 2
    )
)
@settings(max_examples=20)
def test_the_bootstrap_interval_is_that_of_plain_resampling(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats

    gold, scores = np.array(pairs, np.float64).T
    low, high = bootstrap_interval(gold, scores, 50, seed=3)
    draws = np.random.default_rng(3).multinomial(len(gold), np.full(len(gold), 1 / len(gold)), size=50)
    values = []
    for draw in draws:
        a, b = np.repeat(gold, draw), np.repeat(scores, draw)
        if len(set(a)) > 1 and len(set(b)) > 1:
            values.append(stats.spearmanr(a, b)[0])
    assert (low, high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-9)


def test_the_interval_covers_the_truth_and_hangs_on_the_seed_only() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=300)
    scores = gold + rng.normal(size=300)
    first = bootstrap_interval(gold, scores, 500, seed=1)
    assert first == bootstrap_interval(gold, scores, 500, seed=1)
    assert first != bootstrap_interval(gold, scores, 500, seed=2)
    assert first[0] < 0.69 < first[1]  # Spearman of a normal pair of correlation 1 / sqrt(2)
    assert first[1] - first[0] < 0.2


def test_nothing_known_is_an_error_and_not_zero(tmp_path: Path) -> None:
    model = model_of(["猫", "狗", "鱼"], np.eye(3))
    with pytest.raises(
        ConfigError, match=r"the 3 words .* no question of questions-words \(19544\), wordsim353"
    ):
        evaluate(model)
    with pytest.raises(ConfigError, match="no question of simlex999"):
        evaluate(model, pairs=["simlex999"], dummy4unknown=True)
    pairs = tmp_path / "zh.txt"
    pairs.write_text("猫 狗 3\n狗 鱼 2\n猫 鱼 1\n")
    found = evaluate(model, pairs=["simlex999", pairs])
    assert (found.pairs[0].spearman, found.pairs[0].n_known) == (None, 0)
    assert found.pairs[1].n_known == 3
    with pytest.raises(ConfigError, match="restrict_vocab must be at least 1"):
        evaluate(model, restrict_vocab=0)


def test_a_section_without_known_questions_has_no_accuracy() -> None:
    model = model_of(["a", "b", "c", "d"], np.random.default_rng(0).normal(size=(4, 3)))
    questions = AnalogySet("set", (("known", (("a", "b", "c", "d"),)), ("unknown", (("x", "y", "z", "q"),))))
    result = evaluate_analogies(model, questions)
    assert [one.accuracy for one in result.sections] == [1.0, None]
    assert (result.total.n_questions, result.total.n_known, result.total.accuracy) == (2, 1, 1.0)


def test_too_few_or_constant_pairs_have_no_correlation() -> None:
    model = model_of(["a", "b", "c", "d"], np.random.default_rng(0).normal(size=(4, 3)))
    few = evaluate_pairs(model, PairSet("few", (("a", "b", 1.0), ("a", "c", 2.0))))
    assert (few.n_known, few.spearman, few.interval) == (2, None, None)
    flat = evaluate_pairs(model, PairSet("flat", (("a", "b", 1.0), ("a", "c", 1.0), ("b", "c", 1.0))))
    assert flat.spearman is None


def test_analogy_files_as_people_have_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "ca8.txt"
    path.write_bytes(
        "\ufeff: A\r\n大 大大 人 人人\r\n\r\n# note\r\n: B c\r\nx  y\tz q \r\none two\r\n".encode()
    )
    questions = read_analogies(path)
    assert questions.name == "ca8"
    assert questions.sections == (("A", (("大", "大大", "人", "人人"),)), ("B c", (("x", "y", "z", "q"),)))
    assert "left out 1 lines that are not four words or ': section', the first is line 7" in caplog.text
    path.write_text("a b c d\n")
    assert read_analogies(path).sections == (("", (("a", "b", "c", "d"),)),)
    path.write_text(": nothing\n")
    with pytest.raises(FormatError, match=r"ca8\.txt: no analogy in it"):
        read_analogies(path)
    path.write_bytes(b": a\n\xff\n")
    with pytest.raises(FormatError, match="not UTF-8 at byte 4"):
        read_analogies(path)
    with pytest.raises(FileNotFoundError):
        read_analogies(tmp_path / "nowhere.txt")


def test_pair_files_as_people_have_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "pairs"
    path.write_bytes(
        "word1\tword2\tmean\r\n钻 \t 现金\t4.58 \r\n# x\r\n\r\na b\tc\t1\r\nd\te\r\nf\tg\tnan\r\n".encode()
    )
    assert read_pairs(path).pairs == (("钻", "现金", 4.58), ("a b", "c", 1.0))
    assert "left out 2 lines that are not word, word, score, the first is line 6" in caplog.text
    path.write_text("Word 1,Word 2,Human (mean)\ntiger,cat,7.35\n")
    assert read_pairs(path).pairs == (("tiger", "cat", 7.35),)
    path.write_text("tiger  cat 7.35\n")
    assert read_pairs(path).pairs == (("tiger", "cat", 7.35),)
    path.write_text("nothing here\n")
    with pytest.raises(FormatError, match="no pair in it"):
        read_pairs(path)


def test_results_are_plain_enough_for_json() -> None:
    pairs = PairSet("p", tuple((f"w{i}", f"v{i}", i % 7) for i in range(20)))
    result = evaluate_pairs(structured_model(), pairs)
    assert json.loads(json.dumps(asdict(result)))["n_known"] == 20
