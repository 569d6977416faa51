"""`w2v corpus stats`: the numbers, the chart, the estimate, the advice; `w2v corpus fetch` and its server."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from w2v.cli import cli
from w2v.config import VocabConfig
from w2v.corpus import encode
from w2v.corpus.tools.fetch import fetch, find_corpus
from w2v.corpus.tools.stats import corpus_advice, describe_corpus, plot_zipf, zipf_chart
from w2v.errors import CorpusError


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def zipfian(n_types: int = 2_000) -> list[list[str]]:
    words = [f"w{rank}" for rank in range(1, n_types + 1) for _ in range(max(1, 20_000 // rank))]
    return [words[start : start + 20] for start in range(0, len(words), 20)]


def test_numbers() -> None:
    corpus = encode(zipfian(), vocab=VocabConfig(min_count=1))
    stats = describe_corpus(corpus)
    counts = corpus.vocab.counts
    assert stats.tokens == counts.sum()
    assert (stats.types, stats.longest_sentence) == (2_000, 20)
    assert stats.zipf_exponent == pytest.approx(1, abs=0.02)
    assert stats.most_frequent[0] == ("w1", 20_000)
    for row in stats.coverage:
        assert row.words == (counts >= row.min_count).sum()
        assert row.tokens == pytest.approx(counts[counts >= row.min_count].sum() / counts.sum())
    lefts = [row.tokens for row in stats.subsampling]
    assert lefts == sorted(lefts, reverse=True)
    assert 0 < lefts[-1] < 0.2 < lefts[0] <= 1


def test_the_chart_falls_from_left_to_right() -> None:
    lines = zipf_chart(np.array([1000 // rank for rank in range(1, 1001)], np.int64), width=40).split("\n")
    columns = [min(line.index("*"), 99) for line in lines if "*" in line]
    assert columns == sorted(columns)
    assert columns[0] == 13
    assert "1,000" in lines[0]
    assert "rank 1,000" in lines[-1]
    for counts in ([1], [5], [3, 3, 3], [1, 1]):
        assert "*" in zipf_chart(np.array(counts, np.int64))


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot_zipf(np.array([9, 3, 1], np.int64), tmp_path / "zipf.png")
    assert (tmp_path / "zipf.png").read_bytes().startswith(b"\x89PNG")
    plot_zipf(np.array([1], np.int64), tmp_path / "zipf.svg")
    assert b"<svg" in (tmp_path / "zipf.svg").read_bytes()


def test_advice() -> None:
    def hints(sentences: list[list[str]]) -> str:
        return " ".join(corpus_advice(describe_corpus(encode(sentences, vocab=VocabConfig(min_count=1)))))

    assert "a single sentence" in hints([["a"] * 2_000])
    assert "little context" in hints([["a"]] * 100)
    assert "min_count 5 drops 100%" in hints([[f"w{i}" for i in range(50)] for _ in range(2)])
    assert "are few" in hints([["a"] * 10])


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(map(" ".join, zipfian(300))))
    shown = run("corpus", "stats", path)
    assert shown.exit_code == 0
    for part in ("1 text", "min_count", "Zipf's law", "memory", "blank lines", "w1 20,000"):
        assert part in shown.stdout
    found = json.loads(run("corpus", "stats", path, "--json", "--tokenizer", "words").stdout)
    assert found["types"] == 300
    assert found["read"]["kinds"] == {"text": 1}
    assert found["estimate"]["words"] == 300
    path.write_text("a b\n")
    assert json.loads(run("corpus", "stats", path, "--json").stdout)["zipf_exponent"] is None


TEXT = gzip.compress(b"anarchism originated as a term of abuse\n")


class _Repository(BaseHTTPRequestHandler):
    data = TEXT
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        facts = {
            "description": "Some  words.",
            "file_name": "little.gz",
            "file_size": len(TEXT),
            "license": "CC BY-SA",
            "read_more": ["https://example.org"],
            "checksum": hashlib.md5(TEXT, usedforsecurity=False).hexdigest(),
            "parts": 1,
        }
        listing = {"corpora": {"little": facts, "__testing": facts}, "models": {}}
        answers = {
            "/list.json": json.dumps(listing).encode(),
            "/little/__init__.py": b"raise SystemExit('strangers code')",
            "/little/little.gz": self.data,
        }
        answer = answers.get(self.path)
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Length", str(len(answer or b"")))
        self.end_headers()
        self.wfile.write(answer or b"")

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Repository]]:
    from gensim import downloader

    _Repository.asked, _Repository.data = [], TEXT
    with ThreadingHTTPServer(("127.0.0.1", 0), _Repository) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(downloader, "DATA_LIST_URL", f"{url}/list.json")
        monkeypatch.setattr(downloader._load_info, "__defaults__", (f"{url}/list.json", "utf-8"))
        monkeypatch.setattr(downloader, "DOWNLOAD_BASE_URL", url)
        monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path / "gensim-data"))
        yield _Repository
        server.shutdown()
        thread.join()


def test_fetch(repository: type[_Repository], tmp_path: Path) -> None:
    listed = run("corpus", "fetch")
    assert "little" in listed.stdout
    assert "__testing" not in listed.stdout
    done = run("corpus", "fetch", "little")
    assert done.exit_code == 0
    assert "licence CC BY-SA" in done.stderr
    assert "Some words." in done.stderr
    path = Path(done.stdout.strip())
    assert path.read_bytes() == TEXT
    repository.asked.clear()
    copied = run("corpus", "fetch", "little", "-o", tmp_path / "copy.gz")
    assert copied.stdout.strip() == str(tmp_path / "copy.gz")
    assert (tmp_path / "copy.gz").read_bytes() == TEXT
    assert set(repository.asked) == {"/list.json"}  # the file was there already
    assert encode(path, vocab=VocabConfig(min_count=1), cache=False).n_tokens == 7


def test_what_cannot_be_fetched(repository: type[_Repository], tmp_path: Path) -> None:
    unknown = run("corpus", "fetch", "text9")
    assert (unknown.exit_code, "no corpus 'text9' to fetch; there are little" in unknown.stderr) == (1, True)
    repository.data = TEXT[:-1] + b"x"
    with pytest.raises(CorpusError, match="wrong checksum"):
        fetch(find_corpus("little"))
    assert not list((tmp_path / "gensim-data").glob("little*"))


def test_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from gensim import downloader

    monkeypatch.setattr(downloader._load_info, "__defaults__", ("http://127.0.0.1:1/list.json", "utf-8"))
    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    done = run("corpus", "fetch", "text8")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: cannot reach gensim's data repository")
    assert len(done.stderr.splitlines()) == 1
