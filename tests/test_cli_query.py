"""The commands info, neighbors, analogy, similarity and evaluate, as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from vector_strategies import some_model

from w2v import Embeddings, Vocab
from w2v.cli import cli
from w2v.cli.output import pad, print_json, shown, width
from w2v.vectors.origin import Origin
from w2v.vectors.training_report import TrainingReport

WORDS = ["king", "queen", "man", "woman", "中国", "ﾅ", "e\u0301t\u0301", "a\nb\x1b[31m"]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
    config = {"training": {"model": "sg", "epochs": 2}, "tokens": 12_345, "files": ["a.txt", "b.txt"]}
    lines = [{"epoch": 1, "loss": 2.5, "alpha": 0.02}, {"epoch": 2, "loss": 2.25, "alpha": 0.01}]
    counts = np.array([90, 80, 70, 60, 50, 40, 30, 20])
    training = TrainingReport.from_lines(lines)
    Embeddings(Vocab(WORDS, counts), vectors, vectors, Origin.from_dict(config), training).save(
        tmp_path / "m"
    )
    return str(tmp_path / "m")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_neighbors_prints_aligned_columns_for_each_word(folder: str) -> None:
    result = run("neighbors", folder, "king", "中国", "-n", "7")
    assert (result.exit_code, result.stderr) == (0, "")
    blocks = result.stdout.split("中国 (cosine)\n")
    assert blocks[0].startswith("king (cosine)\n")
    rows = blocks[0].splitlines()[1:]
    assert len(rows) == 7
    assert len({width(row) for row in rows}) == 1
    assert any("a\\nb\\x1b[31m" in row for row in rows)
    assert "\x1b" not in result.stdout


def test_neighbors_as_json(folder: str) -> None:
    result = run("neighbors", folder, "king", "queen", "-n", "2", "--metric", "euclidean", "--json")
    found = json.loads(result.stdout)
    assert found["metric"] == "euclidean"
    assert [one["word"] for one in found["results"]] == ["king", "queen"]
    near = found["results"][0]["neighbors"]
    assert [set(one) for one in near] == [{"word", "score"}] * 2
    assert near[0]["score"] <= near[1]["score"]


def test_restrict_center_and_all_but_the_top_change_the_answer(folder: str) -> None:
    plain = json.loads(run("neighbors", folder, "king", "--json").stdout)["results"][0]["neighbors"]
    few = json.loads(run("neighbors", folder, "king", "--json", "--restrict-vocab", "3").stdout)
    assert {one["word"] for one in few["results"][0]["neighbors"]} == {"queen", "man"}
    for option in (["--center"], ["--all-but-the-top", "2"]):
        changed = json.loads(run("neighbors", folder, "king", "--json", *option).stdout)
        assert changed["results"][0]["neighbors"] != plain
        assert run("similarity", folder, "king", "queen", *option).exit_code == 0


def test_analogy_and_similarity(folder: str) -> None:
    result = run("analogy", folder, "man", "king", "woman", "-n", "2")
    assert result.stdout.startswith("man is to king as woman is to (cosine)\n  ")
    answers = json.loads(run("analogy", folder, "man", "king", "woman", "--json").stdout)
    assert (answers["a"], answers["b"], answers["c"]) == ("man", "king", "woman")
    assert {"man", "king", "woman"}.isdisjoint(one["word"] for one in answers["answers"])
    assert run("similarity", folder, "king", "king").stdout == "1.0000\n"
    found = json.loads(run("similarity", folder, "king", "queen", "--metric", "dot", "--json").stdout)
    assert set(found) == {"a", "b", "metric", "score"}


@pytest.mark.parametrize(
    "arguments",
    [("neighbors", "kign"), ("analogy", "man", "kign", "woman"), ("similarity", "king", "kign")],
)
def test_an_unknown_word_is_one_line_with_suggestions_and_exit_1(
    folder: str, arguments: tuple[str, ...]
) -> None:
    result = run(arguments[0], folder, *arguments[1:])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: 'kign' is not in the vocabulary; nearest spellings: king\n"


def test_wrong_usage_is_exit_2(folder: str) -> None:
    assert run("neighbors", folder, "king", "--metric", "cos").exit_code == 2
    assert run("neighbors", folder, "king", "-n", "0").exit_code == 2
    assert run("similarity", folder, "king").exit_code == 2
    assert run("neighbors").exit_code == 2


def test_a_missing_or_foreign_model_is_one_line_and_exit_1(tmp_path: Path) -> None:
    (tmp_path / "page.bin").write_text("<html>")
    for path, words in ((tmp_path / "no", "no such file"), (tmp_path / "page.bin", "a web page")):
        result = run("info", str(path))
        assert result.exit_code == 1
        assert words in result.stderr
        assert result.stderr.count("\n") == 1


def test_info_tells_what_is_known(folder: str) -> None:
    out = run("info", folder).stdout
    for piece in (
        "8 (king, queen",
        "440 in the corpus",
        "model sg, epochs 2",
        "12,345",
        "a.txt b.txt",
        "kept",
    ):
        assert piece in out
    assert "epoch  loss  alpha" in out
    assert "    2  2.25   0.01" in out
    assert "rank correlation with count" in out
    assert "\x1b" not in out
    found = json.loads(run("info", folder, "--json").stdout)
    assert (found["words"], found["dimensions"], found["tokens"], found["context"]) == (8, 4, 440, True)
    assert found["config"]["training"] == {"model": "sg", "epochs": 2}
    assert [line["loss"] for line in found["training"]] == [2.5, 2.25]
    assert found["frequency"] == []


def test_info_shows_what_frequency_does(tmp_path: Path) -> None:
    some_model(400, 8).save(tmp_path / "m")
    out = run("info", str(tmp_path / "m")).stdout
    assert "the 10 nearest of 100 rare words among 400 words" in out
    assert "in the rarest quarter" in out
    found = json.loads(run("info", str(tmp_path / "m"), "--json").stdout)
    assert [one["metric"] for one in found["frequency"]] == ["cosine", "dot"]


def test_every_command_takes_any_format(tmp_path: Path) -> None:
    model = some_model()
    model.save_as(tmp_path / "v.txt.gz")
    path = str(tmp_path / "v.txt.gz")
    expected = [word for word, _ in model.neighbors(model.words[0])]
    found = json.loads(run("neighbors", path, model.words[0], "--json").stdout)
    assert [one["word"] for one in found["results"][0]["neighbors"]] == expected
    assert run("info", path).exit_code == 0


def test_evaluate_prints_a_table_and_json(tmp_path: Path) -> None:
    model = some_model()
    model.save(tmp_path / "m")
    words = model.words
    (tmp_path / "pairs.txt").write_text("".join(f"{words[i]}\t{words[i + 9]}\t{i}\n" for i in range(20)))
    (tmp_path / "analogies.txt").write_text(f": 节\n{' '.join(words[:4])}\nx y z q\n")
    arguments = ["evaluate", str(tmp_path / "m"), "--pairs", str(tmp_path / "pairs.txt")]
    arguments += ["--analogies", str(tmp_path / "analogies.txt")]
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    assert "analogies (3CosAdd)" in result.stdout
    assert "pairs" in result.stdout
    found = json.loads(run(*arguments, "--json").stdout)
    total = found["analogies"][0]["total"]
    assert (total["n_questions"], total["n_known"]) == (2, 1)
    assert found["analogies"][0]["sections"][0]["section"] == "节"
    assert found["pairs"][0]["n_known"] == 20
    assert len(found["pairs"][0]["interval"]) == 2
    unknown = run("evaluate", str(tmp_path / "m"))
    assert unknown.exit_code == 1
    assert "no question of questions-words" in unknown.stderr


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("中国", 4), ("e\u0301", 1), ("ﾅ", 1), ("Ａ", 2), ("👩‍👩", 4), ("", 0)]
)
def test_widths_on_a_terminal(text: str, columns: int) -> None:
    assert width(text) == columns
    assert width(pad(text, 9)) == width(pad(text, 9, right=True)) == 9


def test_json_stays_json_without_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [float("nan"), (1.5, float("inf"))], "b\ud800": "\ud800", "c": 3})
    assert json.loads(capsys.readouterr().out) == {"a": [None, [1.5, None]], "b\ud800": "\ud800", "c": 3}


def test_control_letters_are_shown_escaped() -> None:
    assert shown("a\x1b[0m\n\u202e") == "a\\x1b[0m\\n\\u202e"
    assert shown("") == '""'
    assert shown("汉 字") == "汉 字"
    assert shown("\ud800") == "\\ud800"


def test_an_unknown_word_does_not_cancel_the_others(folder: str) -> None:
    result = run("neighbors", folder, "king", "kink", "man", "-n", "1")
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == [
        "king (cosine)",
        "man (cosine)",
    ]
    assert "'kink' is not in the vocabulary; nearest spellings: king" in result.stderr
    answers = run("neighbors", folder, "king", "kink", "--json")
    assert answers.exit_code == 1
    assert [found["word"] for found in json.loads(answers.stdout)["results"]] == ["king"]
    alone = run("neighbors", folder, "kink", "--json")
    assert (alone.exit_code, alone.stdout) == (1, "")
