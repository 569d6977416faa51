"""gensim and w2v trained on the same text, and compared: the measures, the rule, the processes, the whole."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import w2v
from w2v import ConfigError, CorpusError, Embeddings, Vocab, W2VError
from w2v.comparison.compare import TrainingComparison
from w2v.comparison.loss import LossSample, draw_sample, mean_loss
from w2v.comparison.profile import (
    EvaluationSets,
    Probe,
    make_profile,
    neighbor_overlap,
    procrustes_residual,
    similarity_correlation,
)
from w2v.comparison.spread import Measure
from w2v.comparison.text import write_text
from w2v.comparison.trainer_process import run_python
from w2v.comparison.weights import check_vocabulary
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode

N_CLUSTERS = 8
CLUSTER = 12
NO_SETS = EvaluationSets((), ())


def sentences_of_clusters(n: int = 1200, length: int = 12, seed: int = 0) -> list[list[str]]:
    """Sentences each of which takes its words from one cluster, and some from a common stock."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        cluster = rng.integers(N_CLUSTERS)
        own = [f"c{cluster}w{w}" for w in rng.integers(CLUSTER, size=length)]
        made.append([word if rng.random() < 0.8 else f"stock{rng.integers(20)}" for word in own])
    return made


def pairs_file(path: Path) -> Path:
    """Pairs of words of one cluster (score 1) and of two (score 0)."""
    same = [f"c{c}w{i}\tc{c}w{i + 1}\t1" for c in range(N_CLUSTERS) for i in range(6)]
    other = [f"c{c}w{i}\tc{(c + 3) % N_CLUSTERS}w{i}\t0" for c in range(N_CLUSTERS) for i in range(6)]
    path.write_text("\n".join(same + other))
    return path


def whole(sentences: list[list[str]]) -> EncodedCorpus:
    return encode(sentences, vocab=VocabConfig(min_count=1))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> TrainingComparison:
    """The real thing, small: six trainings in processes of their own."""
    folder = tmp_path_factory.mktemp("compare")
    corpus = folder / "corpus.txt"
    corpus.write_text("".join(" ".join(words) + "\n" for words in sentences_of_clusters()))
    return w2v.compare(
        corpus,
        pairs=[pairs_file(folder / "pairs.tsv")],
        keep=folder / "kept",
        cache=False,
        kernel="exact",
        vector_size=12,
        epochs=3,
        sample=0,
        alpha=0.05,
        seed=7,
    )


# ---------------------------------------------------------------------------------------------- the whole


def test_both_count_and_train_the_same_words(compared: TrainingComparison) -> None:
    assert compared.vocabulary.is_same
    assert compared.vocabulary.n_words == N_CLUSTERS * CLUSTER + 20
    assert compared.text.is_corpus
    assert (compared.text.tokens, compared.text.sentences, compared.text.n_cut) == (14_400, 1_200, 0)
    for run in compared.runs:
        assert (run.words, run.corpus_tokens, run.vocabulary) == (3 * 14_400, 14_400, 116)
        # gensim leaves out what goes beyond 10,000 words in a batch, of which it fills two here.
        assert run.kept_words == (3 * (14_400 - 8) if run.trainer == "gensim" else None)
    assert compared.gensim_share == pytest.approx(1, abs=0.001)


def test_runs_take_turns_and_their_costs_are_consistent(compared: TrainingComparison) -> None:
    order = [(run.trainer, run.seed) for run in compared.runs]
    assert order == [("gensim", 7), ("w2v", 7), ("w2v", 8), ("gensim", 8), ("gensim", 9), ("w2v", 9)]
    assert compared.seeds == (7, 8, 9)
    for run in compared.runs:
        parts = (
            run.import_seconds,
            run.read_seconds,
            run.prepare_seconds,
            run.train_seconds,
            run.save_seconds,
        )
        assert all(part >= 0 for part in parts)
        assert 0 < sum(parts) < run.wall_seconds
        assert run.words_per_second == pytest.approx(run.words / run.train_seconds)
        if hasattr(os, "wait4"):
            assert run.peak_bytes is not None
            assert 20e6 < run.peak_bytes < 2e9
            assert run.cpu_seconds is not None
            assert run.cpu_seconds > 0


def test_measures_are_of_three_runs_and_their_pairs(compared: TrainingComparison) -> None:
    names = [one.name for one in compared.measures]
    assert names == [
        "loss a pair",
        "pairs",
        "neighbour overlap@10",
        "rank correlation of similarities",
        "Procrustes residual",
    ]
    for one in compared.measures:
        assert len(one.gensim) == 3
        assert len(one.w2v) == (9 if one.is_agreement else 3)
        assert len(one.own) == (3 if one.is_agreement else 0)
    assert len(set(compared.measures[0].gensim)) == len(set(compared.measures[0].w2v)) == 3  # seeds tell
    assert compared.is_inside == all(one.verdict != "worse" for one in compared.measures)


def test_both_have_learnt_the_clusters(compared: TrainingComparison) -> None:
    loss, pairs, *_ = compared.measures
    assert max(loss.gensim + loss.w2v) < 0.9 * 6 * math.log(2)  # untrained: 6 ln 2
    assert min(pairs.gensim + pairs.w2v) > 0.7  # Spearman; untrained: about 0
    assert pairs.known == (96, 96)
    # The exact kernel does what gensim does: within 2 % (7 seeds of each: 0.5 % apart at most).
    assert np.mean(loss.w2v) == pytest.approx(np.mean(loss.gensim), rel=0.02)


def test_kept_models_open_and_agree_with_the_report(compared: TrainingComparison) -> None:
    kept = compared.text.path.parent
    assert {path.name for path in kept.iterdir()} == {
        "text.txt",
        *(f"{trainer}-seed-{seed}" for trainer in ("gensim", "w2v") for seed in (7, 8, 9)),
    }
    theirs, ours = w2v.load(kept / "gensim-seed-7"), w2v.load(kept / "w2v-seed-7")
    assert sorted(theirs.words) == sorted(ours.words)
    assert theirs.context is not None
    found = w2v.compare_models(ours, theirs, sets=NO_SETS)
    overlap = next(one for one in compared.measures if one.name == "neighbour overlap@10")
    assert found.neighbor_overlap == pytest.approx(overlap.w2v[0])


# ---------------------------------------------------------------------------------------------- the rule


def test_margin_is_the_spread_of_a_mean_of_further_runs() -> None:
    one = Measure("m", (1.0, 2.0, 3.0), (2.0, 2.0, 2.0), 3)
    assert one.margin == pytest.approx(4.3027 * 1.0 * math.sqrt(2 / 3), rel=1e-4)  # Student's t of 2, 97.5 %
    five = Measure("m", (1.0, 2.0, 3.0, 4.0, 5.0), (3.0,) * 5, 5)
    assert five.margin == pytest.approx(2.7764 * math.sqrt(2.5) * math.sqrt(2 / 5), rel=1e-4)


@pytest.mark.parametrize(
    ("shift", "higher_is_better", "verdict"),
    [
        (0.0, True, "inside"),
        (3.5, True, "inside"),
        (3.6, True, "better"),
        (-3.6, True, "worse"),
        (3.6, False, "worse"),
        (-3.6, False, "better"),
    ],
)
def test_verdict_knows_its_direction(shift: float, higher_is_better: bool, verdict: str) -> None:
    ours = (2.0 + shift,) * 3
    assert Measure("m", (1.0, 2.0, 3.0), ours, 3, higher_is_better).verdict == verdict


def test_equal_numbers_are_inside_though_there_is_no_spread() -> None:
    assert Measure("m", (0.5,) * 3, (0.5,) * 3, 3).verdict == "inside"
    assert Measure("m", (0.5,) * 3, (0.4,) * 3, 3).verdict == "worse"


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("share", [0.0, 1.0, 3.0])
def test_five_in_a_hundred_are_outside_by_chance(n: int, share: float) -> None:
    """Runs of one and the same trainer, and pairs of them with effects of runs (share) and of pairs (1)."""
    rng = np.random.default_rng(5)
    n_trials = 1000
    outside = {"runs": 0, "pairs": 0}
    for _ in range(n_trials):
        a, b = rng.normal(size=(2, n))
        outside["runs"] += Measure("m", tuple(a), tuple(b), n).verdict != "inside"
        within = tuple(share * (x + y) + rng.normal() for x, y in itertools.combinations(a, 2))
        across = tuple(share * (x + y) + rng.normal() for x, y in itertools.product(a, b))
        outside["pairs"] += Measure("m", within, across, n, is_agreement=True).verdict != "inside"
    assert 0.035 < outside["runs"] / n_trials < 0.07
    assert outside["pairs"] / n_trials < 0.07


# ---------------------------------------------------------------------------------------------- loss


def brute_loss(sample: LossSample, w_in: NDArray[np.float32], w_out: NDArray[np.float32]) -> float:
    total = 0.0
    for p, target in enumerate(sample.targets.tolist()):
        contexts = sample.contexts[sample.starts[p] : sample.starts[p + 1]]
        h = sum(w_in[c].astype(float) for c in contexts) / len(contexts)
        total -= math.log(1 / (1 + math.exp(-float(h @ w_out[target]))))
        for negative in sample.negatives[p].tolist():
            if negative != target:
                total -= math.log(1 / (1 + math.exp(float(h @ w_out[negative]))))
    return total / len(sample.targets)


@pytest.mark.parametrize("model", ["sg", "cbow"])
def test_loss_is_that_of_the_definition(model: str) -> None:
    corpus = whole(sentences_of_clusters(40))
    sample = draw_sample(corpus, corpus.vocab, TrainConfig(model=model, window=3, sample=0))
    rng = np.random.default_rng(0)
    w_in, w_out = rng.normal(size=(2, len(corpus.vocab), 6)).astype(np.float32)
    assert mean_loss(sample, w_in, w_out) == pytest.approx(brute_loss(sample, w_in, w_out), rel=1e-12)
    if model == "cbow":
        assert np.diff(sample.starts).max() == 6
    else:
        assert (np.diff(sample.starts) == 1).all()


@pytest.mark.parametrize("shrink", [True, False])
def test_sample_holds_the_pairs_of_the_windows(shrink: bool) -> None:
    sentences = [["a", "b", "c", "d"], ["x", "y"], ["z"]] * 2000
    corpus = whole(sentences)
    config = TrainConfig(window=2, sample=0, shrink_windows=shrink)
    sample = draw_sample(corpus, corpus.vocab, config)
    words = corpus.vocab.words
    pairs = Counter(zip((words[i] for i in sample.contexts), (words[i] for i in sample.targets), strict=True))
    near = {("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")}
    far = {("a", "c"), ("b", "d")}
    both_ways = {pair for a, b in near | far for pair in ((a, b), (b, a))}
    assert set(pairs) == both_ways
    n_near, n_far = (sum(pairs[pair] + pairs[pair[::-1]] for pair in group) for group in (near, far))
    # 8 near and 4 far pairs; a window of 1 or 2 by chance holds a far one half of the times.
    assert n_far / n_near == pytest.approx(0.25 if shrink else 0.5, rel=0.05)


def test_sample_is_always_the_same_and_leaves_out_unknown_words() -> None:
    corpus = whole([["a", "b", "rare", "c"]] + [["a", "b", "c"]] * 50)
    chosen = corpus.select(VocabConfig(min_count=2))
    assert list(chosen.vocab.words) == ["a", "b", "c"]
    config = TrainConfig(sample=0, window=1, negative=2)
    sample, again = (draw_sample(chosen, chosen.vocab, config) for _ in range(2))
    assert (sample.contexts == again.contexts).all()
    assert sample.negatives.shape == (len(sample.targets), 2)
    for rows in (sample.contexts, sample.targets, sample.negatives):
        assert set(rows.ravel().tolist()) == {0, 1, 2}
    assert len(sample.targets) == 51 * 4  # "b" and "c" stand side by side where "rare" is left out


def test_negatives_follow_the_exponent() -> None:
    corpus = whole([["a"] * 16 + ["b"]] * 3000)
    sample = draw_sample(corpus, corpus.vocab, TrainConfig(sample=0, ns_exponent=0.5))
    assert (sample.negatives == 0).mean() == pytest.approx(4 / 5, abs=0.01)


# ---------------------------------------------------------------------------------------------- agreement


def embeddings(vectors: NDArray[np.floating]) -> Embeddings:
    words = [f"w{i}" for i in range(len(vectors))]
    counts = np.arange(len(vectors), 0, -1)
    return Embeddings(Vocab(words, counts), vectors.astype(np.float32))


def test_agreement_does_not_see_a_rotation() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(400, 8))
    rotation, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    found = w2v.compare_models(embeddings(vectors), embeddings(vectors @ rotation), sets=NO_SETS)
    assert found.neighbor_overlap == 1
    assert found.similarity_correlation == pytest.approx(1)
    assert found.procrustes_residual < 1e-3


def test_agreement_of_unrelated_and_of_noisy_models() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(400, 8))
    unrelated = w2v.compare_models(embeddings(vectors), embeddings(rng.normal(size=(400, 8))), sets=NO_SETS)
    noisy = w2v.compare_models(
        embeddings(vectors), embeddings(vectors + 0.3 * rng.normal(size=(400, 8))), sets=NO_SETS
    )
    assert unrelated.neighbor_overlap < 0.06  # 10 of 399 by chance
    assert abs(unrelated.similarity_correlation) < 0.1
    assert unrelated.procrustes_residual > 1.2
    assert 0.2 < noisy.neighbor_overlap < 0.9
    assert 0.8 < noisy.similarity_correlation < 0.99
    assert (
        0.2 < noisy.procrustes_residual < 0.5
    )  # noise of 0.3 a coordinate is 0.29 of a unit vector's length


def test_neighbours_are_those_of_the_model_itself() -> None:
    model = embeddings(np.random.default_rng(2).normal(size=(50, 5)))
    probe = Probe.draw(50)
    profile = make_profile(model, probe, NO_SETS)
    for row, found in zip(probe.queries.tolist(), profile.neighbors.tolist(), strict=True):
        assert {model.words[i] for i in found} == {near.word for near in model.neighbors(model.words[row])}


def test_measures_by_brute_force() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(3)
    models = [embeddings(rng.normal(size=(60, 4)) + np.arange(4)) for _ in range(2)]
    probe = Probe.draw(60)
    a, b = (make_profile(model, probe, NO_SETS) for model in models)
    shared = [len(set(x) & set(y)) for x, y in zip(a.neighbors.tolist(), b.neighbors.tolist(), strict=True)]
    assert neighbor_overlap(a, b) == pytest.approx(sum(shared) / (10 * len(shared)))
    assert similarity_correlation(a, b) == pytest.approx(
        spearmanr(a.similarities, b.similarities)[0], abs=1e-9
    )
    turned = [procrustes_residual(a, b)]
    for _ in range(200):  # no rotation at random comes nearer
        rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
        turned.append(float(np.sqrt(np.square(a.units @ rotation - b.units).sum(axis=1).mean())))
    assert min(turned) == turned[0]


def test_only_shared_words_count_whatever_their_order_and_dimensions() -> None:
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(100, 6))
    model = embeddings(vectors)
    order = rng.permutation(100)
    wider = np.pad(vectors[order], ((0, 0), (0, 3)))
    words = [f"w{i}" for i in order] + ["only here"]
    other = Embeddings(
        Vocab(words, np.ones(101, np.int64)), np.vstack([wider, np.ones((1, 9))]).astype(np.float32)
    )
    found = w2v.compare_models(model, other, sets=NO_SETS)
    assert (found.n_words, found.n_shared) == ((100, 101), 100)
    assert found.neighbor_overlap == 1
    assert found.procrustes_residual < 1e-3


def test_too_few_shared_words_are_an_error() -> None:
    model = embeddings(np.ones((30, 2)))
    other = Embeddings(Vocab(["w0", "x"], np.ones(2, np.int64)), np.ones((2, 2), np.float32))
    with pytest.raises(ConfigError, match="only 1 words to compare; at least 12"):
        w2v.compare_models(model, other, sets=NO_SETS)


# ---------------------------------------------------------------------------------------------- the text


def test_gensim_reads_the_written_text_as_w2v_read_the_corpus(tmp_path: Path) -> None:
    from gensim.models.word2vec import LineSentence

    sentences = [["中国", "e\u0301", "x" * 300], ["a\u200bb", "\ufeff", '"q"'], ["only"]]
    text = write_text(whole(sentences), tmp_path / "text.txt")
    assert list(LineSentence(str(text.path))) == sentences
    assert (text.tokens, text.sentences, text.is_corpus) == (7, 3, False)
    read = encode(text.path, vocab=VocabConfig(min_count=1), cache=False)
    assert list(read.vocab.words) == [word for sentence in sentences for word in sentence]


def test_long_sentences_are_cut_for_both(tmp_path: Path) -> None:
    from gensim.models.word2vec import LineSentence

    long = [f"w{i % 9}" for i in range(2_500)]
    text = write_text(whole([["a"], long, ["b"]]), tmp_path / "text.txt")
    assert (text.n_cut, text.sentences, text.tokens) == (1, 5, 2_502)
    lines = [line.split() for line in text.path.read_text().splitlines()]
    assert [len(line) for line in lines] == [1, 1_000, 1_000, 500, 1]
    assert [word for line in lines[1:-1] for word in line] == long
    assert list(LineSentence(str(text.path))) == lines


def test_text_says_whether_it_is_the_corpus_itself(tmp_path: Path) -> None:
    plain, odd = tmp_path / "plain.txt", tmp_path / "odd.txt"
    plain.write_text("a b\nc d\n")
    odd.write_text("a  b\n\nc d")
    for path, is_same in ((plain, True), (odd, False)):
        corpus = encode(path, vocab=VocabConfig(min_count=1), cache=False)
        for origin in (path, [path], (str(path),)):
            assert write_text(corpus, tmp_path / "text.txt", origin).is_corpus == is_same
        assert not write_text(corpus, tmp_path / "text.txt", [path, path]).is_corpus


@pytest.mark.filterwarnings("ignore:tokens with white space inside")
@pytest.mark.parametrize("word", ["a b", "a\u3000b", "\x1c", "x\n"])
def test_words_with_white_space_are_refused_by_name(word: str, tmp_path: Path) -> None:
    corpus = whole([["fine", word]])
    with pytest.raises(CorpusError, match="holds white space") as raised:
        write_text(corpus, tmp_path / "text.txt")
    assert repr(word) in str(raised.value)
    assert not (tmp_path / "text.txt").exists()


def test_text_has_all_words_whatever_the_vocabulary(tmp_path: Path) -> None:
    text = write_text(encode([["a", "a", "b"]], vocab=VocabConfig(min_count=2)), tmp_path / "text.txt")
    assert (text.path.read_text(), text.tokens) == ("a a b\n", 3)


def test_differences_of_vocabularies_are_named() -> None:
    theirs = Vocab(["the", "of", "x", "y"], np.array([9, 5, 2, 3]))
    ours = Vocab(["the", "of", "z"], np.array([9, 4, 1]))
    check = check_vocabulary(theirs, ours)
    assert not check.is_same
    assert (check.n_words, check.n_tokens) == (1, 9)
    assert check.only_gensim == (("y", 3), ("x", 2))
    assert check.only_w2v == (("z", 1),)
    assert check.other_count == (("of", 5, 4),)
    assert check_vocabulary(theirs, theirs).is_same


# ---------------------------------------------------------------------------------------------- processes


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="no memory of child processes on this system")
def test_memory_is_that_of_the_process_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "small_job.py").write_text("def main():\n    pass\n")
    (tmp_path / "large_job.py").write_text("def main():\n    assert len(bytearray(b'x') * 300_000_000)\n")
    ours = bytearray(b"x") * 400_000_000  # this process is larger than both
    small, large = (run_python(name, []) for name in ("small_job", "large_job"))
    del ours
    assert small.peak_bytes is not None
    assert large.peak_bytes is not None
    assert small.peak_bytes < 60e6
    assert 300e6 < large.peak_bytes < 400e6


def test_one_thread_for_blas_and_a_cache_of_compiled_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "look_job.py").write_text(
        "import os, sys\ndef main():\n    open(sys.argv[1], 'w').write(' '.join(os.environ[name] for name in "
        "('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'NUMBA_CACHE_DIR')))\n"
    )
    run_python("look_job", [str(tmp_path / "out")], numba_cache=tmp_path / "compiled")
    assert (tmp_path / "out").read_text().split(" ", 2) == ["1", "1", str(tmp_path / "compiled")]


def test_a_process_that_fails_is_an_error_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "bad_job.py").write_text("def main():\n    raise SystemExit('no luck today')\n")
    with pytest.raises(W2VError, match="bad_job failed with exit code 1: no luck today"):
        run_python("bad_job", [])


def test_gensim_trains_in_a_process_without_w2v() -> None:
    """What w2v imports would count to gensim's time and memory."""
    code = "import sys, w2v.comparison.gensim_job; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    modules = set(found.stdout.split())
    ours = {name for name in modules if name.startswith("w2v.")}
    assert ours <= {"w2v.system", "w2v.system.version", "w2v.comparison", "w2v.comparison.gensim_job"}
    assert "numpy" not in modules


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_vocab": 100}, "max_vocab"),
        ({"sample": 1.0}, "sample of 1"),
        ({"seeds": 2}, "seeds must be at least 3"),
        ({"min_count": 10_000}, "no word occurs 10000 times"),
        ({"windows": 3}, "unknown settings: windows"),
    ],
)
def test_what_gensim_cannot_follow_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises((ConfigError, CorpusError), match=message):
        w2v.compare(sentences_of_clusters(20), **settings)  # type: ignore[arg-type]


def test_a_folder_to_keep_everything_in_must_be_new(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(ConfigError, match="not empty"):
        w2v.compare(sentences_of_clusters(20), keep=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
