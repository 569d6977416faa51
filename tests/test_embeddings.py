"""Queries against plain numpy, spellings against plain edit distance, and what is taken out of vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from vector_strategies import same_bits, some_model

import w2v
from w2v import ConfigError, Embeddings, UnknownWordError, Vocab
from w2v.embeddings import METRICS
from w2v.evaluation.inspection import average_ranks, rank_correlation, report_frequency, report_norms
from w2v.vectors.scoring import best_rows
from w2v.vectors.spelling import nearest_spellings


def naive_scores(
    vectors: NDArray[np.float32], query: NDArray[np.float32], metric: str
) -> NDArray[np.float64]:
    a, b = vectors.astype(np.float64), query.astype(np.float64)
    if metric == "dot":
        return np.asarray(a @ b)
    if metric == "cosine":
        lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b)
        return np.asarray(np.divide(a @ b, lengths, out=np.zeros(len(a)), where=lengths > 0))
    return np.asarray(np.linalg.norm(a - b, ord=2 if metric == "euclidean" else 1, axis=1))


def naive_order(scores: NDArray[np.float64], metric: str) -> list[int]:
    keys = scores if metric in ("euclidean", "manhattan") else -scores
    return [int(i) for i in np.argsort(keys, kind="stable")]


def tiny(words: str, vectors: list[list[float]], counts: list[int] | None = None) -> Embeddings:
    names = words.split()
    return Embeddings(
        Vocab(names, np.array(counts or [0] * len(names), np.int64)), np.array(vectors, np.float32)
    )


@pytest.mark.parametrize("metric", METRICS)
def test_scores_and_neighbours_are_numpys(metric: str) -> None:
    model = some_model(9_000, 13)
    model.vectors[77] = 0
    for word_id in (0, 77, 8_999):
        expected = naive_scores(model.vectors, model.vectors[word_id], metric)
        assert np.allclose(model.scores(model.vectors[word_id], metric=metric), expected, atol=2e-5)
        found = model.neighbors(model.words[word_id], 12, metric=metric)
        order = [i for i in naive_order(expected, metric) if i != word_id][:12]
        assert np.allclose([score for _, score in found], expected[order], atol=2e-5)
        if word_id != 77:
            assert [word for word, _ in found] == [model.words[i] for i in order]


@pytest.mark.parametrize("metric", METRICS)
def test_many_queries_at_once_are_the_same_as_one_at_a_time(metric: str) -> None:
    model = some_model(500, 13)
    words = model.words[:9]
    together = model.neighbors_of_all(words, 5, metric=metric, restrict_vocab=300)
    for word, near in zip(words, together, strict=True):
        alone = model.neighbors(word, 5, metric=metric, restrict_vocab=300)
        assert [name for name, _ in near] == [name for name, _ in alone]
        assert np.allclose([score for _, score in near], [score for _, score in alone], atol=1e-5)


def test_ties_stand_in_row_order_and_excluded_words_are_left_out() -> None:
    model = tiny("a b c d e", [[1, 0], [0, 1], [0, 1], [0, 1], [-1, 0]])
    assert [word for word, _ in model.neighbors("a", 3)] == ["b", "c", "d"]
    assert [word for word, _ in model.neighbors("a", 9, exclude=["c", "nowhere"])] == ["b", "d", "e"]
    assert [word for word, _ in model.neighbors("a", 9, restrict_vocab=2)] == ["b"]
    assert [word for word, _ in model.neighbors("e", 9, restrict_vocab=2)] == ["b", "a"]
    many = model.rows([0] + [1] * 99)
    assert best_rows(many.scores(np.array([0, 1])), 50, "cosine").tolist() == list(range(1, 51))
    vector = np.array([0, 2])
    assert model.neighbors(vector, 1) == [("b", 1.0)]


def test_a_zero_vector_has_cosine_zero_with_all() -> None:
    model = tiny("a b", [[1, 0], [0, 0]])
    assert model.neighbors("a", 1) == [("b", 0.0)]
    assert model.neighbors("b", 1) == [("a", 0.0)]
    assert model.similarity("a", "b") == 0
    assert model.neighbors(np.zeros(2), 2) == [("a", 0.0), ("b", 0.0)]


def test_similarity_of_all_metrics() -> None:
    model = tiny("a b", [[3, 4], [4, 3]])
    assert model.similarity("a", "b") == pytest.approx(24 / 25)
    assert model.similarity("a", "b", metric="dot") == pytest.approx(24)
    assert model.similarity("a", "b", metric="euclidean") == pytest.approx(2**0.5)
    assert model.similarity("a", "b", metric="manhattan") == pytest.approx(2)


def test_analogies_are_b_minus_a_plus_c_of_unit_vectors() -> None:
    model = tiny("man king woman queen far", [[1, 0, 0], [4, 4, 0], [0, 0, 2], [0.1, 3, 3], [-1, 0, 0]])
    assert model.analogy("man", "king", "woman", 1)[0].word == "queen"
    unit = model.vectors / np.linalg.norm(model.vectors, axis=1, keepdims=True)
    expected = naive_scores(model.vectors, unit[1] - unit[0] + unit[2], "cosine")
    found = model.analogy("man", "king", "woman")
    assert {word for word, _ in found} == {"queen", "far"}
    assert found[0].score == pytest.approx(expected[3], abs=1e-6)
    raw = naive_scores(model.vectors, model.vectors[1] - model.vectors[0] + model.vectors[2], "euclidean")
    near = model.analogy("man", "king", "woman", metric="euclidean")
    assert near[0].score == pytest.approx(min(raw[3], raw[4]), abs=1e-6)


def test_wrong_questions_are_refused_clearly() -> None:
    model = some_model()
    with pytest.raises(ConfigError, match="metric must be one of"):
        model.neighbors(model.words[0], metric="cos")
    with pytest.raises(ConfigError, match="metric must be one of"):
        model.similarity(model.words[0], model.words[1], metric="cos")
    with pytest.raises(ConfigError, match=r"shape \(7,\), got \(6,\)"):
        model.neighbors(np.zeros(6))
    with pytest.raises(ConfigError, match="at least 1"):
        model.neighbors(model.words[0], 0)
    with pytest.raises(ConfigError, match="restrict_vocab must be at least 1"):
        model.neighbors(model.words[0], restrict_vocab=0)
    with pytest.raises(ConfigError, match="no context vectors"):
        model.context_only()
    with pytest.raises(ConfigError, match="has shape"):
        Embeddings(model.vocab, model.vectors[1:])


def test_an_unknown_word_names_the_nearest_spellings() -> None:
    model = tiny("the wikipedia Paris", [[1, 0], [0, 1], [1, 1]])
    with pytest.raises(
        UnknownWordError, match="'wikpedia' is not in the vocabulary; nearest spellings: wikipedia"
    ):
        model.neighbors("wikpedia")
    with pytest.raises(UnknownWordError, match="nearest spellings: Paris"):
        model["paris"]
    with pytest.raises(UnknownWordError) as caught:
        model.word_id("xyzzy")
    assert caught.value.suggestions == ()


def test_look_ups_scan_at_first_and_then_use_the_index() -> None:
    model = some_model()
    for _ in range(2):
        assert [model.vocab.find(word) for word in model.words] == list(range(len(model)))
        assert model.vocab.find("nowhere") is None
    assert model.vocab._rows._index is not None


def naive_distance(a: str, b: str) -> int:
    """Optimal string alignment distance, the textbook table."""
    table = [[max(i, j) if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            )
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


letters = st.text("abc中文é", max_size=8)


@given(letters, st.lists(letters, max_size=8, unique=True))
@example("abc", ["acb", "cab"])
@example("abcabc中", ["bacabc", "bacacb中", "中abcabc"])
@settings(max_examples=300)
def test_spellings_are_ordered_by_edit_distance(word: str, words: list[str]) -> None:
    found = nearest_spellings(word, words, set(words), 4)
    most = max(1, len(word) // 3)
    near = [known for known in words if naive_distance(word, known) <= most]
    expected = sorted(near, key=lambda known: naive_distance(word, known))[:4]
    if not near:
        assert all(piece in word for piece in found)
        return
    assert [naive_distance(word, known) for known in found] == [
        naive_distance(word, known) for known in expected
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("word", "best"),
    [
        ("WIKIPEDIA", "wikipedia"),
        ("wikipeida", "wikipedia"),
        ("Ångström", "Ångström"),
        ("ＡＢＣ", "ABC"),
        ("自然语言处里", "自然语言处理"),
        ("İstanbul", "istanbul"),
    ],
)
def test_spellings_in_other_cases_forms_and_scripts(word: str, best: str) -> None:
    words = ["the", "wikipedia", "Ångström", "ABC", "自然", "自然语言处理", "istanbul", "İ"]
    assert nearest_spellings(word, words, set(words), 3)[0] == best


def test_pieces_are_suggested_where_no_word_is_like_it() -> None:
    words = ["语言", "自然", "处理", "言处", "queen", "een", "自"]
    assert nearest_spellings("自然语言处理", words, set(words), 9) == ["自然", "语言", "言处", "处理"]
    assert nearest_spellings("kingqueen", words, set(words), 9) == ["queen"]
    assert nearest_spellings("xyz", words, set(words), 9) == []


def test_the_mean_is_taken_out() -> None:
    base = some_model(5_000, 9)
    model = Embeddings(base.vocab, base.vectors + np.float32(3), base.vectors)
    before = model.vectors.copy()
    centered = model.centered()
    assert np.abs(centered.vectors.mean(axis=0)).max() < 1e-5
    assert np.allclose(centered.vectors, model.vectors - model.vectors.mean(axis=0), atol=1e-5)
    assert centered.context is None
    assert centered.words == model.words
    assert same_bits(model.vectors, before)


def test_leading_directions_are_taken_out() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4_000, 20))
    strong = np.linalg.qr(rng.normal(size=(20, 2)))[0].T
    vectors = noise + rng.normal(size=(4_000, 2)) * [50, 20] @ strong + 7
    model = Embeddings(
        Vocab([str(i) for i in range(4_000)], np.zeros(4_000, np.int64)), vectors.astype(np.float32)
    )
    cleaned = model.without_top_components(2)
    directions = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)[2][:2]
    assert np.abs(cleaned.vectors @ directions.T).max() < 1e-2
    centered = vectors - vectors.mean(axis=0)
    assert np.allclose(cleaned.vectors, centered - centered @ directions.T @ directions, atol=1e-2)
    assert model.without_top_components().origin.postprocessing["components_taken_out"] == 1
    for n in (-1, 20):
        with pytest.raises(ConfigError, match="expected 0 to 19 components"):
            model.without_top_components(n)
    with pytest.raises(ConfigError, match="no vectors"):
        model.rows([]).centered()


def test_rows_select_everything_alike() -> None:
    base = some_model()
    model = Embeddings(base.vocab, base.vectors, base.vectors * 2)
    picked = model.rows([4, 2])
    assert picked.words == [model.words[4], model.words[2]]
    assert picked.counts.tolist() == model.counts[[4, 2]].tolist()
    assert picked.context is not None
    assert same_bits(picked.context, model.vectors[[4, 2]] * np.float32(2))
    assert model.rows(slice(3)).vectors.base is not None
    assert same_bits(model.context_only().vectors, model.vectors * np.float32(2))


def test_small_properties() -> None:
    model = some_model()
    assert len(model) == 50
    assert model.words[3] in model
    assert "nowhere" not in model
    assert repr(model) == "Embeddings(50 words, 7 dimensions)"
    assert np.allclose(model.norms, np.linalg.norm(model.vectors, axis=1), atol=1e-6)
    assert "load" in dir(w2v)
    with pytest.raises(AttributeError, match="nothing"):
        w2v.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_norms_and_frequency_are_described() -> None:
    rng = np.random.default_rng(0)
    directions = 9 * np.eye(8)
    frequent = rng.normal(size=(100, 8)) + directions[0]
    rare = 0.1 * (rng.normal(size=(300, 8)) + directions[1])
    vectors = np.vstack([frequent, rare]).astype(np.float32)
    vectors[50] = 0
    model = Embeddings(Vocab([str(i) for i in range(400)], np.arange(400, 0, -1)), vectors)
    norms = report_norms(model)
    assert norms is not None
    assert norms.n_zero == 1
    assert norms.high == pytest.approx(np.linalg.norm(vectors, axis=1).max(), rel=1e-5)
    assert norms.count_correlation is not None
    assert norms.count_correlation > 0.4
    cosine, dot = report_frequency(model)
    assert (cosine.metric, dot.metric) == ("cosine", "dot")
    assert cosine.n_queries == 100
    assert cosine.n_candidates == 400
    assert cosine.frequent_share < 0.01
    assert 0.2 < cosine.rare_share < 0.5
    assert dot.hub_share > cosine.hub_share
    assert report_frequency(model.rows(slice(50))) == ()
    assert report_norms(model.rows([])) is None
    unknown = report_norms(tiny("a b", [[1, 0], [2, 0]]))
    assert unknown is not None
    assert unknown.count_correlation is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12))
def test_rank_correlation_is_scipys(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats

    a, b = np.array(pairs).T
    assert np.array_equal(average_ranks(a) + 1, stats.rankdata(a))
    if len(set(a)) > 1 and len(set(b)) > 1:
        assert rank_correlation(a, b) == pytest.approx(stats.spearmanr(a, b)[0], abs=1e-9)
