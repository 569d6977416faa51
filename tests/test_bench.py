"""The benchmark beside gensim: small real runs whose numbers must fit together; no speed is asserted."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from w2v import ConfigError, CorpusError
from w2v.cli import cli
from w2v.cli.output import width
from w2v.comparison.bench import BenchReport, bench
from w2v.comparison.bench_plot import write_plot
from w2v.comparison.profile import EvaluationSets
from w2v.comparison.trainer_process import TrainerRun, run_job
from w2v.config import TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode


def small_corpus() -> EncodedCorpus:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(60)]
    sentences = [[words[i] for i in rng.integers(60, size=10)] for _ in range(500)]
    sentences[3] = ["rare", *sentences[3][1:]]
    return encode(sentences, vocab=VocabConfig(min_count=1))


@pytest.fixture(scope="module")
def compiled() -> Iterator[list[dict[str, int]]]:
    """Files of compiled code after each whole job of w2v, and when they were written (ns)."""
    found: list[dict[str, int]] = []

    def run_and_look(trainer: str, *job: Any, numba_cache: Path | None = None) -> TrainerRun:
        run = run_job(trainer, *job, numba_cache=numba_cache)
        if trainer == "w2v" and numba_cache is not None:
            found.append({path.name: path.stat().st_mtime_ns for path in numba_cache.rglob("*.nb?")})
        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("w2v.comparison.side_by_side.run_job", run_and_look)
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, compiled: list[dict[str, int]]) -> BenchReport:
    pairs = tmp_path_factory.mktemp("sets") / "pairs.tsv"
    pairs.write_text("\n".join(f"w{i}\tw{i + 1}\t{i % 7}" for i in range(50)))
    return bench(
        small_corpus(),
        train=TrainConfig(kernel="exact", vector_size=8, epochs=2, workers=2, seed=4, alpha=0.05),
        min_count=2,
        models=["sg"],
        repeats=1,
        words=2_001,
        seeds=2,
        sets=EvaluationSets.read(pairs=[pairs]),
    )


def test_speed_pairs_differ_in_the_trainer_only(report: BenchReport) -> None:
    assert [(pairs.model, pairs.workers) for pairs in report.speed] == [("sg", 1), ("sg", 2)]
    assert report.part_tokens == 2_010  # whole sentences
    for pairs in report.speed:
        (theirs,), (ours,) = pairs.gensim, pairs.w2v
        assert (theirs.trainer, ours.trainer) == ("gensim", "w2v")
        assert theirs.words == 2_010  # once over the beginning of the text,
        assert ours.words == 5 * 2_010  # or several times
        for run in (theirs, ours):
            assert (run.corpus_tokens, run.vocabulary) == (5_000, 60)  # counted in all of it
            assert run.words_per_second == pytest.approx(run.words / run.train_seconds)
        assert pairs.ratios == (ours.words_per_second / theirs.words_per_second,)


def test_whole_jobs_are_whole(report: BenchReport, compiled: list[dict[str, int]]) -> None:
    (job,) = report.jobs
    assert [run.seed for run in job.gensim] == [run.seed for run in job.w2v] == [4, 5]
    for run in (*job.gensim, *job.w2v, job.cold):
        assert run.words == 2 * 5_000
        parts = (
            run.import_seconds,
            run.read_seconds,
            run.prepare_seconds,
            run.train_seconds,
            run.save_seconds,
        )
        assert 0 < sum(parts) < run.wall_seconds
    # The first job of w2v compiles all of its code, and the others find it.
    cold, *warm = compiled
    assert any("train_skipgram_exact" in name for name in cold)
    assert warm == [cold, cold]


def test_quality_is_of_these_jobs(report: BenchReport) -> None:
    (one,) = report.jobs[0].quality
    assert (one.name, one.known, one.n_seeds) == ("pairs", (50, 50), 2)
    assert len(set(one.gensim)) == len(set(one.w2v)) == 2


def test_report_says_what_was_measured_and_where(report: BenchReport) -> None:
    assert (report.tokens, report.sentences, report.vocabulary, report.min_count) == (5_000, 500, 60, 2)
    assert report.settings["vector_size"] == 8
    assert report.alphas == {"sg": (0.05, 0.05)}
    assert report.machine.cores >= 1
    assert report.machine.processor
    assert {"w2v", "gensim", "numba", "numpy", "python"} <= set(report.machine.versions)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"models": ["glove"]}, "models must be of sg, cbow; got glove"),
        ({"what": []}, "what must be of speed, jobs; got none"),
        ({"train": TrainConfig(sample=1.0)}, "sample of 1"),
        ({"min_count": 10_000}, "no word occurs 10000 times"),
    ],
)
def test_settings_out_of_range(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, CorpusError), match=message):
        bench(small_corpus(), **changes)


# ---------------------------------------------------------------------------------------------- the command


@pytest.fixture
def asked(report: BenchReport, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command asks of the library, which answers with the report under "answer"."""
    seen: dict[str, Any] = {"answer": report}

    def answer(corpus: Any, **options: Any) -> BenchReport:
        seen.update(options, corpus=corpus)
        found: BenchReport = seen["answer"]
        return found

    monkeypatch.setattr("w2v.comparison.bench.bench", answer)
    return seen


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text("a b c\nb c d\n" * 20)
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *arguments])


def test_options_reach_the_library(asked: dict[str, Any], corpus: str) -> None:
    result = run(
        *(corpus, "--what", "speed", "--model", "cbow", "--repeats", "7", "--words", "500", "--seeds", "2"),
        *("--vector-size", "30", "--min-count", "3", "--workers", "3", "--pairs", "simlex999"),
    )
    assert result.exit_code == 0, result.stderr
    assert (asked["what"], asked["models"]) == (("speed",), ("cbow",))
    assert (asked["repeats"], asked["words"], asked["seeds"], asked["min_count"]) == (7, 500, 2, 3)
    assert (asked["train"].vector_size, asked["train"].workers) == (30, 3)
    assert [one.name for one in asked["sets"].pairs] == ["simlex999"]
    assert list(asked["corpus"].vocab.words) == ["b", "c", "a", "d"]


def test_quick_takes_the_demo_corpus_and_little_of_everything(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("w2v.corpus.tools.demo.write_demo", lambda file: file.write(b"the demo\n" * 9))
    assert run("--quick", "--repeats", "3").exit_code == 0
    assert list(asked["corpus"].vocab.words) == ["the", "demo"]
    assert (asked["repeats"], asked["words"], asked["seeds"], asked["train"].epochs) == (3, 200_000, 1, 1)
    assert asked["sets"] == EvaluationSets((), ())
    assert (asked["what"], asked["models"]) == (("speed", "jobs"), ("sg", "cbow"))


def test_table_has_every_number_with_its_circumstances(asked: dict[str, Any], corpus: str) -> None:
    result = run(corpus)
    assert result.exit_code == 0, result.stderr
    assert max(map(width, result.stdout.splitlines())) < 130
    text = " ".join(result.stdout.split())
    found = asked["answer"]
    one, two = found.speed
    job = found.jobs[0]
    for part in (
        "1 thread for BLAS",
        f"gensim {found.machine.versions['gensim']}",
        "5,000 words in 500 sentences, vocabulary 60",
        "8 dimensions, window 5, 5 negatives, sample 0.001, min_count 2",
        "skip-gram 0.05 (gensim), 0.05 (w2v)",
        "raw words/s of training on the first 2,010 words; median of 1 pairs",
        f"skip-gram, 1 worker {one.gensim[0].words_per_second:,.0f} {one.w2v[0].words_per_second:,.0f} "
        f"{one.ratios[0]:.1f} x {one.ratios[0]:.1f} {one.ratios[0]:.1f}",
        "skip-gram, 2 workers against one: gensim "
        f"{two.gensim[0].words_per_second / one.gensim[0].words_per_second:.2f} x, w2v "
        f"{two.w2v[0].words_per_second / one.w2v[0].words_per_second:.2f} x",
        "whole jobs on all of the text, epochs 2, 2 workers: seconds, median of 2",
        f"wall time of the process {statistics.median(run.wall_seconds for run in job.gensim):.2f} "
        f"{statistics.median(run.wall_seconds for run in job.w2v):.2f}",
        "skip-gram, pairs",
        "50 of 50",
    ):
        assert part in text, part


def test_json_has_every_run(asked: dict[str, Any], corpus: str) -> None:
    found = json.loads(run(corpus, "--json").stdout)
    assert found["speed"][0]["ratios"] == list(asked["answer"].speed[0].ratios)
    assert found["speed"][1]["workers"] == 2
    assert found["jobs"][0]["cold"]["trainer"] == "w2v"
    assert len(found["jobs"][0]["w2v"]) == 2
    assert found["jobs"][0]["quality"][0]["verdict"] in ("inside", "better", "worse")
    assert found["machine"]["blas_threads"] == 1


def test_one_seed_has_no_spread(asked: dict[str, Any], corpus: str, report: BenchReport) -> None:
    job = report.jobs[0]
    alone = replace(job.quality[0], gensim=(0.5,), w2v=(0.25,), n_seeds=1)
    only = replace(job, gensim=job.gensim[:1], w2v=job.w2v[:1], quality=(alone,))
    asked["answer"] = replace(report, speed=(), jobs=(only,))
    assert "skip-gram, pairs 0.5000 0.2500 -0.2500 - 50 of 50" in " ".join(run(corpus).stdout.split())
    assert json.loads(run(corpus, "--json").stdout)["jobs"][0]["quality"][0]["verdict"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "give a CORPUS, or --quick"),
        (["{corpus}", "--plot", "x.txt"], 1, "x.txt: a plot is written as .png, .svg or .pdf"),
        (["{corpus}", "--repeats", "0"], 2, "--repeats"),
        (["{corpus}", "--what", "all"], 2, "--what"),
    ],
)
def test_wrong_usage(
    arguments: list[str], code: int, message: str, corpus: str, asked: dict[str, Any]
) -> None:
    result = run("--model", "sg", *(argument.format(corpus=corpus) for argument in arguments))
    assert result.exit_code == code
    assert message in result.stderr
    assert "corpus" not in asked


def test_plot_is_a_picture(asked: dict[str, Any], corpus: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "bench.png"
    assert run(corpus, "--plot", str(path)).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_plot_draws_the_medians(report: BenchReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure_module = pytest.importorskip("matplotlib.figure")
    figures: list[Any] = []

    def keep(*sizes: Any, **options: Any) -> Any:
        figures.append(new_figure(*sizes, **options))
        return figures[-1]

    new_figure = figure_module.Figure
    monkeypatch.setattr(figure_module, "Figure", keep)
    slow = replace(report.speed[0].w2v[0], words_per_second=1.0)
    fast = replace(slow, words_per_second=9.0)
    pairs = replace(report.speed[0], gensim=(slow, slow, slow), w2v=(fast, slow, fast))
    write_plot(replace(report, speed=(pairs,), jobs=()), tmp_path / "plot.svg")
    (axes,) = figures[0].axes
    assert [bar.get_height() for bar in axes.patches] == [1.0, 9.0]
    assert [text.get_text() for text in axes.texts] == ["9.0 x"]


def test_ratio_by_cpu_time_needs_both(report: BenchReport) -> None:
    pairs = report.speed[0]

    def with_rate(run: TrainerRun, rate: float | None) -> TrainerRun:
        return replace(run, words_per_cpu_second=rate)

    both = replace(pairs, gensim=(with_rate(pairs.gensim[0], 2.0),), w2v=(with_rate(pairs.w2v[0], 8.0),))
    assert both.cpu_ratio == 4
    assert replace(both, w2v=(with_rate(pairs.w2v[0], None),)).cpu_ratio is None
