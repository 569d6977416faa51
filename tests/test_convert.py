"""The commands convert and export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from vector_strategies import same_bits, some_model

import w2v
from w2v import Embeddings
from w2v.cli import cli


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = some_model()
    Embeddings(model.vocab, model.vectors, model.vectors * 2).save(tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("o.txt", "word2vec"),
        ("o.vec", "word2vec"),
        ("o.txt.gz", "word2vec"),
        ("o.bin", "word2vec-bin"),
        ("o.bin.xz", "word2vec-bin"),
        ("o.glove", "glove"),
        ("o.npy", "npy"),
        ("o.safetensors", "safetensors"),
        ("other", None),
    ],
)
def test_the_suffix_of_the_target_tells_the_format(folder: Path, target: str, name: str | None) -> None:
    result = run("convert", folder, folder.parent / target)
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"{target}: 50 words, 7 dimensions" in result.stderr
    read = w2v.load(folder.parent / target)
    assert read.origin.source.get("format") == name
    assert same_bits(np.ascontiguousarray(read.vectors), some_model().vectors)


@pytest.mark.parametrize("name", ["word2vec", "glove", "projector", "huggingface", "folder"])
def test_export_is_the_same_job(folder: Path, name: str) -> None:
    result = run("export", folder, "--to", name, "-o", folder.parent / "o")
    assert result.exit_code == 0, result.stderr
    assert w2v.load(folder.parent / "o").words == some_model().words


def test_options_prune_cast_and_pick_the_context(folder: Path) -> None:
    words = folder.parent / "words.txt"
    words.write_text(f"{some_model().words[5]}\n{some_model().words[2]}\nnowhere\n", encoding="utf-8")
    out = folder.parent / "o.npy"
    result = run("convert", folder, out, "--words", words, "--context", "--dtype", "float16")
    assert result.exit_code == 0
    assert "lacks 1 of the 3 words: 'nowhere'" in result.stderr
    assert np.load(out).dtype == np.float16
    read = w2v.load(out)
    assert list(read.words) == [some_model().words[2], some_model().words[5]]
    expected = (some_model().vectors[[2, 5]] * 2).astype(np.float16)
    assert (read.vectors == expected).all()
    run("convert", folder, out, "--top", "3")
    assert len(w2v.load(out)) == 3
    assert (
        run("convert", out, folder.parent / "p", "--context").stderr
        == "Error: the model has no context vectors\n"
    )


def test_bad_rows_are_counted_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("3 2\na 1 2\nb 1\nc nan 1\n")
    result = run("convert", tmp_path / "v.txt", tmp_path / "o")
    assert result.exit_code == 1
    assert (
        "v.txt:3: expected 2 numbers, got 1 ('w2v convert --skip-bad' leaves bad rows out)" in result.stderr
    )
    assert not (tmp_path / "o").exists()
    result = run("convert", tmp_path / "v.txt", tmp_path / "o", "--skip-bad")
    assert result.exit_code == 0
    assert "left out 2 bad rows (1 wrong number of fields, 1 not finite)" in result.stderr
    assert list(w2v.load(tmp_path / "o").words) == ["a"]


def test_words_with_blanks_are_refused_or_escaped_and_come_back(tmp_path: Path) -> None:
    model = some_model(3)
    words = ["New York", "a\tb", "fine\\"]
    Embeddings(w2v.Vocab(words, model.counts), model.vectors).save(tmp_path / "m")
    result = run("convert", tmp_path / "m", tmp_path / "o.txt")
    assert result.exit_code == 1
    assert "'New York', 'a\\tb'" in result.stderr
    assert "--escape" in result.stderr
    assert not (tmp_path / "o.txt").exists()
    assert run("convert", tmp_path / "m", tmp_path / "o.txt", "--escape").exit_code == 0
    assert (tmp_path / "o.txt").read_text().splitlines()[1].startswith("New\\sYork ")
    assert run("convert", tmp_path / "o.txt", tmp_path / "back", "--unescape").exit_code == 0
    assert list(w2v.load(tmp_path / "back").words) == words


def test_counts_travel_in_a_file_of_their_own(folder: Path) -> None:
    from gensim.models import KeyedVectors

    out, counts = folder.parent / "o.bin", folder.parent / "counts"
    assert run("convert", folder, out, "--write-counts", counts).exit_code == 0
    kv = KeyedVectors.load_word2vec_format(str(out), fvocab=str(counts), binary=True)
    assert [kv.get_vecattr(word, "count") for word in some_model().words] == some_model().counts.tolist()
    assert not w2v.load(out).counts.any()
    assert run("convert", out, folder.parent / "back", "--read-counts", counts).exit_code == 0
    assert w2v.load(folder.parent / "back").counts.tolist() == some_model().counts.tolist()
    counts.write_text(f"{some_model().words[0]}\t7\nother 8\n", encoding="utf-8")
    result = run("convert", out, folder.parent / "back", "--read-counts", counts)
    assert "lacks 49 of the 50 words; their count is 0" in result.stderr
    assert w2v.load(folder.parent / "back").counts.tolist() == [7] + [0] * 49
    for content, message in (
        ("other 8\n", "none of the 50 words"),
        ("a 1\nb\n", ":2: expected a word and a count"),
    ):
        counts.write_text(content)
        assert message in run("convert", out, folder.parent / "x", "--read-counts", counts).stderr
        assert not (folder.parent / "x").exists()


def test_the_format_can_be_said_for_both_sides(folder: Path) -> None:
    out = folder.parent / "o.dat"
    assert run("convert", folder, out).exit_code == 1
    assert run("convert", folder, out, "--to", "word2vec-bin").exit_code == 0
    assert run("convert", out, folder.parent / "p", "--from", "word2vec-bin").exit_code == 0
    result = run("convert", out, folder.parent / "q", "--from", "word2vec")
    assert result.exit_code == 1
    assert "o.dat:2: " in result.stderr
    assert run("convert", folder, out, "--to", "fasttext-bin").exit_code == 2


def test_a_file_can_be_converted_onto_itself(folder: Path) -> None:
    assert run("convert", folder, folder).exit_code == 0
    read = w2v.load(folder)
    assert read.context is not None
    assert same_bits(np.ascontiguousarray(read.vectors), some_model().vectors)
    out = folder.parent / "o.txt"
    run("convert", folder, out)
    assert run("convert", out, out, "--to", "glove").exit_code == 0
    assert w2v.load(out).words == some_model().words


def test_standard_output_takes_the_vectors(folder: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "w2v.cli", "convert", str(folder), "/dev/stdout", "--to", "glove"]
    code = "import sys; from w2v.cli import main; sys.argv = ['w2v', *sys.argv[1:]]; main()"
    done = subprocess.run([sys.executable, "-c", code, *command[3:]], capture_output=True, check=True)
    assert done.stdout.count(b"\n") == 50
    assert b"50 words" in done.stderr
