"""The command compare: what it asks of the library, what it prints, when it exits 1 and 2."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from w2v import Embeddings, Vocab
from w2v.cli import cli
from w2v.cli.output import width
from w2v.comparison.compare import TrainingComparison
from w2v.comparison.profile import Score
from w2v.comparison.spread import Measure
from w2v.comparison.text import SharedText
from w2v.comparison.trainer_process import TrainerRun
from w2v.comparison.weights import VocabularyCheck
from w2v.config import TrainConfig


def run_of(trainer: str, seed: int, rate: float) -> TrainerRun:
    return TrainerRun(
        trainer, "1.2", seed, 1.0, 2.0, 0.5, 30.0, 0.1, 900, 700, rate, rate, 50, 300, 34.0, 33.0, 200_000_000
    )


def report(**changes: Any) -> TrainingComparison:
    measures = (
        Measure("loss a pair", (2.5, 2.4, 2.6), (2.51, 2.52, 2.5), 3, False),
        Measure("wordsim353", (0.5, 0.51, 0.52), (0.6, 0.61, 0.62), 3, known=(300, 353)),
        Measure(
            "neighbour overlap@10", (0.5, 0.51, 0.52), (0.5,) * 9, 3, is_agreement=True, own=(0.6, 0.6, 0.7)
        ),
        Measure(
            "Procrustes residual", (0.2, 0.21, 0.22), (0.3,) * 9, 3, False, is_agreement=True, own=(0.1,) * 3
        ),
    )
    runs = tuple(
        run_of(trainer, seed, rate)
        for seed in (1, 2, 3)
        for trainer, rate in (("gensim", 1000.0 + seed), ("w2v", 10_000.0))
    )
    made = TrainingComparison(
        SharedText(Path("text.txt"), 300, 20, 2, False),
        asdict(TrainConfig(model="cbow", alpha=0.1, epochs=3, workers=1)),
        0.025,
        5,
        (1, 2, 3),
        VocabularyCheck(50, 290, (), (), ()),
        measures,
        (Score("simlex999", "similarity", None, 2, 999),),
        runs,
        1.001,
    )
    return replace(made, **changes)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text("a b c\nb c d\n" * 20)
    return str(path)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command asks of the library, which answers with the report under "answer"."""
    seen: dict[str, Any] = {"answer": report()}

    def compare_training(corpus: Any, **options: Any) -> TrainingComparison:
        seen.update(options, corpus=corpus)
        answer: TrainingComparison = seen["answer"]
        return answer

    monkeypatch.setattr("w2v.comparison.compare.compare_training", compare_training)
    return seen


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *arguments])


def test_options_reach_the_library(asked: dict[str, Any], corpus: str, tmp_path: Path) -> None:
    result = run(
        *(corpus, "--model", "cbow", "--cbow-update", "original", "--kernel", "exact", "--min-count", "2"),
        *("--seeds", "4", "--seed", "9", "--keep", str(tmp_path / "kept"), "--pairs", "wordsim353"),
    )
    assert result.exit_code == 0, result.stderr
    train = asked["train"]
    assert (train.model, train.cbow_update, train.kernel, train.seed) == ("cbow", "original", "exact", 9)
    assert train.workers == 1
    assert (asked["min_count"], asked["seeds"], asked["keep"]) == (2, 4, tmp_path / "kept")
    assert [one.name for one in asked["sets"].pairs] == ["wordsim353"]
    assert asked["sets"].analogies == ()
    assert list(asked["corpus"].vocab.words) == ["b", "c", "a", "d"]  # all words, whatever min_count
    assert list(asked["origin"]) == [Path(corpus)]


def test_the_report_is_one_screen_with_everything_on_it(asked: dict[str, Any], corpus: str) -> None:
    result = run(corpus)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) <= 32
    assert max(map(width, lines)) < 200
    text = " ".join(result.stdout.split())
    for part in (
        "gensim 1.2 and w2v 1.2",
        "300 words in 20 sentences, written out as w2v read CORPUS",
        "2 of more than 1,000 words cut there",
        "the same 50 words with the same counts, 290 tokens",
        "alpha 0.025 (gensim) and 0.1 (w2v), to 0.0001; workers 1; seeds 1 to 3",
        "corrected update",
        "loss a pair (lower is better) 2.5000 ± 0.1000 2.5100 ± 0.0100 +0.0100 ± 0.3513 inside",
        "wordsim353 0.5100 ± 0.0100 0.6100 ± 0.0100 +0.1000 ± 0.0351 better 300 of 353",
        "simlex999: not judged, only 2 of 999 known",
        "neighbour overlap@10 0.5100 ± 0.0100 0.5000 ± 0.0000 -0.0100 ± 0.0351 inside 0.6333 ± 0.0577",
        "± 0.0351 farther 0.1000 ± 0.0000",
        "words/s of training 1,002 10,000 10.0 x",
        "peak memory of the process, MB 200 200 1.0 x",
        "Verdict: w2v is inside gensim's own spread on 2 of 4 measures; outside, better: wordsim353 (by "
        "0.1000); outside, farther: Procrustes residual (by 0.0900).",
    ):
        assert part in text, part


def test_json_has_every_number(asked: dict[str, Any], corpus: str) -> None:
    found = json.loads(run(corpus, "--json").stdout)
    assert found["is_inside"] is False
    assert found["vocabulary"]["is_same"] is True
    assert found["settings"]["model"] == "cbow"
    assert [one["verdict"] for one in found["measures"]] == ["inside", "better", "inside", "worse"]
    assert found["measures"][0]["gensim"] == [2.5, 2.4, 2.6]
    assert found["measures"][1]["known"] == [300, 353]
    assert found["measures"][0]["margin"] == pytest.approx(0.35132, rel=1e-4)
    assert found["too_few_known"][0]["name"] == "simlex999"
    assert len(found["runs"]) == 6
    assert found["text"]["path"] == "text.txt"


def test_strict_exits_1_outside_the_spread_only(asked: dict[str, Any], corpus: str) -> None:
    assert run(corpus).exit_code == 0
    result = run(corpus, "--strict")
    assert result.exit_code == 1
    assert "Verdict:" in result.stdout
    good = tuple(one for one in report().measures if one.verdict != "worse")
    asked["answer"] = report(measures=good)  # one of them is better: no harm
    assert run(corpus, "--strict").exit_code == 0
    asked["answer"] = report(measures=good, vocabulary=VocabularyCheck(1, 1, (("x", 2),), (), ()))
    assert run(corpus, "--strict").exit_code == 1


def test_differences_of_the_vocabulary_are_named(asked: dict[str, Any], corpus: str) -> None:
    many = tuple((f"w{i}", 9 - i) for i in range(5))
    check = VocabularyCheck(40, 200, many, (("\x1b[31m", 1),), (("of", 7, 6),))
    asked["answer"] = report(vocabulary=check)
    result = run(corpus)
    assert (
        "NOT THE SAME: only gensim has w0 (9), w1 (8), w2 (7) and 2 more; only w2v has \\x1b[31m (1); "
        "counts differ of of (gensim 7, w2v 6); 40 words are the same"
    ) in result.stdout
    assert "the vocabularies are not the same." in result.stdout


def test_words_that_gensim_lost_are_told(asked: dict[str, Any], corpus: str) -> None:
    assert "NOTE" not in run(corpus).stdout
    asked["answer"] = report(gensim_share=0.667)
    assert "gensim trained on only 66.7% of the words that it should" in run(corpus).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{corpus}", "--max-vocab", "10"], "No such option"),
        (["{corpus}", "--seeds", "2"], "--seeds"),
        (["{corpus}", "{corpus}", "{corpus}"], "give one CORPUS"),
        (["{model}", "{model}", "--window", "3"], "--window does not belong to a comparison of two"),
        (["{model}", "{model}", "--strict"], "--strict does not belong"),
        (["{model}"], "is a model: name the other embeddings too"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], message: str, corpus: str, model: str) -> None:
    result = run(*(argument.format(corpus=corpus, model=model) for argument in arguments))
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.fixture
def model(tmp_path: Path) -> str:
    words = ["tiger", "cat", "king", "cabbage", "book", "paper", *(f"w{i}" for i in range(30))]
    vectors = np.random.default_rng(0).normal(size=(len(words), 4)).astype(np.float32)
    Embeddings(Vocab(words, np.arange(len(words), 0, -1)), vectors).save(tmp_path / "model")
    return str(tmp_path / "model")


def test_two_embeddings_of_any_format(model: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.bin")
    assert CliRunner().invoke(cli, ["convert", model, other]).exit_code == 0
    result = run(model, other)
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "36 words; all that follows is about these" in text
    assert "neighbour overlap@10 1.0000" in text
    assert "Procrustes residual (0 to 1.41) 0.0000" in text
    found = json.loads(run(model, other, "--json", "--pairs", "wordsim353").stdout)
    assert (found["n_words"], found["n_shared"], found["models"]) == ([36, 36], 36, [model, other])
    ((first, second),) = found["scores"]
    assert first == second
    assert first["n"] == 353


def test_a_corpus_in_place_of_the_other_embeddings_is_an_error(model: str, corpus: str) -> None:
    result = run(model, corpus)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert "corpus.txt" in result.stderr


def test_help_says_why_vectors_are_not_compared_one_by_one() -> None:
    text = " ".join(run("--help").stdout.split())
    assert "Vectors are not compared one by one" in text
    assert "Example: w2v compare corpus.txt" in text
