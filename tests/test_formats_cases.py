"""Files of vectors that were once read wrongly, refused for no reason, or named wrongly."""

from __future__ import annotations

import gzip
import json
import logging
import pickle
import resource
import shlex
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import write_fasttext
from gensim.models import FastText
from gensim.test.utils import datapath
from hypothesis import given
from hypothesis import strategies as st
from vector_strategies import embeddings, plain_word, same_bits, some_model

import w2v
from w2v import ConfigError, Embeddings, FormatError, Vocab
from w2v.formats.registry import FORMATS, READABLE
from w2v.vectors.origin import Origin, Reading
from w2v.vectors.vocab_files import read_word_list


def text_of(model: Embeddings) -> str:
    rows = (" ".join([word, *map(str, row)]) for word, row in zip(model.words, model.vectors, strict=True))
    return "\n".join([f"{len(model)} {model.vector_size}", *rows, ""])


# -- text or binary ---------------------------------------------------------------------------------------


def test_a_first_word_with_a_blank_does_not_make_a_text_binary(tmp_path: Path) -> None:
    model = some_model(5, 300)
    words = ["rua São", *model.words[1:]]
    (tmp_path / "v").write_text(text_of(Embeddings(Vocab(words, model.counts), model.vectors)))
    read = w2v.load(tmp_path / "v")
    assert read.origin.source["format"] == "word2vec"
    assert read.words == words
    assert same_bits(read.vectors, model.vectors)


@pytest.mark.parametrize("first", ["rua São".encode(), b"S\xe3o", b"S\xe3o S\xe3o", "ção ção ção".encode()])
@pytest.mark.parametrize("dimensions", [10, 50, 300])
def test_a_fault_in_the_first_row_of_a_text_is_a_fault_of_the_text(
    tmp_path: Path, first: bytes, dimensions: int
) -> None:
    model = some_model(5, dimensions)
    lines = text_of(model).encode().split(b"\n")
    lines[1] = b" ".join([first, *lines[1].split(b" ")[2:]])  # a number too few
    (tmp_path / "v").write_bytes(b"\n".join(lines))
    with pytest.raises(FormatError, match="v:2: expected"):
        w2v.load(tmp_path / "v")
    assert w2v.load(tmp_path / "v", skip_bad=True).words == model.words[1:]


@given(embeddings(plain_word.filter(lambda word: "\r" not in word), most=8), st.booleans())
def test_text_and_binary_are_told_apart(
    tmp_path_factory: pytest.TempPathFactory, model: Embeddings, is_text: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / ("t.txt" if is_text else "t.bin")
    model.save_as(path)
    if len(model):
        read = w2v.load(path)
        assert read.origin.source["format"] == ("word2vec" if is_text else "word2vec-bin")
        assert same_bits(read.vectors, model.vectors)


def test_words_with_blanks_are_read_where_the_header_tells_the_dimensions(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("3 2\nNew York 1 2\nthe 3 4\n. . . 5 6\n")
    read = w2v.load(tmp_path / "v")
    assert read.words == ["New York", "the", ". . ."]
    assert read.vectors.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("lines", [" the 1 2\nof 3 4\n", " the 1 2\n of 3 4\n", "the 1 2\n of 3 4\n"])
def test_a_blank_in_front_of_a_line_of_glove(tmp_path: Path, lines: str) -> None:
    (tmp_path / "v").write_text(lines)
    read = w2v.load(tmp_path / "v")
    assert read.words == ["the", "of"]
    assert read.vectors.tolist() == [[1, 2], [3, 4]]


def test_an_empty_first_word_of_glove_is_told_by_the_next_line(tmp_path: Path) -> None:
    (tmp_path / "v").write_text(" 0.5 2\nof 3 4\n")
    assert w2v.load(tmp_path / "v").words == ["", "of"]


# -- fastText ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_old", [False, True])
def test_packed_fasttext_models_are_read(tmp_path: Path, is_old: bool) -> None:
    write_fasttext(tmp_path, is_old=is_old)
    plain = w2v.load(tmp_path / "v.bin")
    (tmp_path / "v.bin.gz").write_bytes(gzip.compress((tmp_path / "v.bin").read_bytes()))
    packed = w2v.load(tmp_path / "v.bin.gz")
    assert plain.words == packed.words == ["</s>", "cat", "中文"]
    assert same_bits(plain.vectors, packed.vectors)
    assert plain.origin.source["format"] == packed.origin.source["format"] == "fasttext-bin"


def test_the_end_of_a_sentence_has_no_ngrams(tmp_path: Path) -> None:
    write_fasttext(tmp_path, is_old=False)
    rows = np.linspace(-1, 1, 7 * 3, dtype=np.float32).reshape(7, 3)
    read = w2v.load(tmp_path / "v.bin")
    assert same_bits(read["</s>"].reshape(1, 3), rows[:1])
    assert not np.array_equal(read["cat"], rows[1])


@pytest.mark.parametrize(("least", "most"), [(-1, 6), (0, 0), (3, 0), (4, 3)])
def test_a_fasttext_model_without_ngrams(tmp_path: Path, least: int, most: int) -> None:
    write_fasttext(tmp_path, is_old=False)
    data = bytearray((tmp_path / "v.bin").read_bytes())
    struct.pack_into("<2i", data, 8 + 9 * 4, least, most)
    (tmp_path / "v.bin").write_bytes(data)
    rows = np.linspace(-1, 1, 7 * 3, dtype=np.float32).reshape(7, 3)
    assert same_bits(w2v.load(tmp_path / "v.bin").vectors, rows[:3])


def test_words_that_are_not_utf8_in_a_fasttext_model() -> None:
    with pytest.raises(FormatError, match="row 2: the word is not UTF-8"):
        w2v.load(datapath("cp852_fasttext.bin"))
    read = w2v.load(datapath("cp852_fasttext.bin"), skip_bad=True)
    assert len(read) == 102
    assert read.origin.source["skipped_rows"] == {"not UTF-8": 69}


def test_a_fasttext_model_cut_in_its_last_matrix(tmp_path: Path) -> None:
    whole = Path(datapath("lee_fasttext_new.bin")).read_bytes()
    (tmp_path / "v.bin").write_bytes(whole[:-1000])
    with pytest.raises(FormatError, match="is the file cut short"):
        w2v.load(tmp_path / "v.bin")


# -- what is no vectors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["model", "vectors", "KeyedVectors"])
def test_the_command_for_a_pickle_of_gensim_works(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "it's mine" / 'a "model".kv'
    path.parent.mkdir()
    trained = FastText([["a", "b", "c"]] * 5, vector_size=4, min_count=1, bucket=10, workers=1)
    saved: Any = {"model": trained, "vectors": trained.wv, "KeyedVectors": some_model().to_gensim()}[kind]
    saved.save(str(path))
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, None)
    with pytest.raises(FormatError, match="a Python pickle") as caught:
        w2v.load(path)
    command = shlex.split(str(caught.value).split("trust it: ")[1])
    subprocess.run([sys.executable, *command[1:]], cwd=tmp_path, check=True)
    expected = some_model().words if kind == "KeyedVectors" else trained.wv.index_to_key
    assert list(w2v.load(tmp_path / "vectors.bin").words) == list(expected)


@pytest.mark.parametrize("text", ["《围城》是一部小说。" * 500, "It was a dark night.\n", "e\u0301" * 3000])
def test_a_text_is_to_be_trained_on(tmp_path: Path, text: str) -> None:
    (tmp_path / "some text").write_text(text)
    message = "begins with .*If this is text, train on it first: w2v train '.*some text' -o my_model"
    with pytest.raises(FormatError, match=message) as caught:
        w2v.load(tmp_path / "some text")
    assert text[:3] in str(caught.value)


@pytest.mark.parametrize("path", ["https://example.org/v", Path("https://example.org/v"), "s3://b/v"])
def test_an_address_is_no_file(path: str | Path) -> None:
    with pytest.raises(FormatError, match=r"(https://example|s3://b).*: an address, not a file"):
        w2v.load(path)


@pytest.mark.parametrize("name", READABLE)
def test_a_file_given_as_a_folder_and_a_folder_given_as_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("some text\n")
    (tmp_path / "folder").mkdir()
    for path in ("file", "folder"):
        with pytest.raises(FormatError):
            w2v.load(tmp_path / path, format=name)
    other = "folder" if FORMATS[name].places == ("file",) else "file"
    if len(FORMATS[name].places) == 1:
        with pytest.raises(FormatError, match=f"{other}: a {other}, but this format is a"):
            w2v.load(tmp_path / other, format=name)


def test_names_that_no_file_has() -> None:
    with pytest.raises(FormatError, match="zero byte"):
        w2v.load("a\0b")
    with pytest.raises(FileNotFoundError):
        w2v.load("C:/models/x")
    with pytest.raises(ConfigError, match="top must be at least 1; got '1'"):
        w2v.load("nowhere", top="1")  # type: ignore[arg-type]


def test_text_in_utf16_is_named(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("1 2\na 1 2\n", encoding="utf-16")
    with pytest.raises(FormatError, match="text in UTF-16"):
        w2v.load(tmp_path / "v")


def test_a_long_header_of_npy_is_not_taken_for_a_pickle(tmp_path: Path) -> None:
    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" + b" " * 20_000 + b"\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + np.ones((1, 2), "<f4").tobytes()
    (tmp_path / "v.npy").write_bytes(data)
    (tmp_path / "v.words.txt").write_text("a\n")
    with pytest.raises(FormatError, match="Header info length") as caught:
        w2v.load(tmp_path / "v.npy")
    assert "objects" not in str(caught.value)
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize(
    "ids", [[0, None], [None, None], [0, "1"], [0, 1.0], [0, True], [0, [1]], [0, 2], [1, 1]]
)
def test_ids_of_a_tokenizer_that_are_none(tmp_path: Path, ids: list[Any]) -> None:
    w2v.save_as(some_model(2), tmp_path / "hf", format="huggingface")
    path = tmp_path / "hf" / "tokenizer.json"
    tokenizer = json.loads(path.read_bytes())
    tokenizer["model"]["vocab"] = dict(zip("ab", ids, strict=True))
    path.write_text(json.dumps(tokenizer))
    with pytest.raises(
        FormatError, match=r"tokenizer\.json: .*(as id of|must have the ids|both have the id)"
    ):
        w2v.load(tmp_path / "hf")


def test_a_config_that_is_not_json_is_named(tmp_path: Path) -> None:
    some_model().save(tmp_path / "m")
    (tmp_path / "m" / "config.json").write_text('{"format": "w2v-model", ')
    with pytest.raises(FormatError, match=r"no model in this folder \(config\.json: not JSON"):
        w2v.load(tmp_path / "m")
    (tmp_path / "m" / "config.json").write_text('{"format": "other"}')
    with pytest.raises(FormatError, match=r"no model in this folder \(config\.json has the format 'other'\)"):
        w2v.load(tmp_path / "m")


# -- what is lost is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tokenizer": "jieba", "t2s": True}, "tokenizer jieba, t2s"),
        (
            {"tokenizer": "words", "normalize": "nfkc", "numbers": "zero"},
            "tokenizer words, normalize nfkc, numbers",
        ),
        ({"tokenizer": None, "phrases": {"phrases": 2}}, "phrases"),
        ({"tokenizer": "whitespace", "normalize": "none", "lowercase": True}, None),
        ({}, None),
    ],
)
def test_the_hugging_face_folder_says_how_its_tokenizer_differs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, settings: dict[str, Any], said: str | None
) -> None:
    model = Embeddings(some_model().vocab, some_model().vectors, origin=Origin(reading=Reading(settings)))
    with caplog.at_level(logging.WARNING, "w2v"):
        model.save_as(tmp_path / "hf", format="huggingface")
    assert ("only split text at white space" in caplog.text) == (said is not None)
    assert said is None or said in caplog.text


def test_reports_of_training_are_read_up_to_a_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    some_model().save(tmp_path / "m")
    (tmp_path / "m" / "training.jsonl").write_text('{"epoch": 1, "loss": 2.5}\n{"epoch": 2, "lo')
    read = w2v.load(tmp_path / "m")
    assert read.training is not None
    assert read.training.loss == [2.5]
    assert "training.jsonl:2: not JSON" in caplog.text
    assert "kept the 1 reports before it" in caplog.text
    (tmp_path / "m" / "training.jsonl").write_text("[]\n")
    assert w2v.load(tmp_path / "m").training is None


# -- a full disk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["o.torch", "o.pt", "o.hf", "o.npy", "o.txt.gz", "o.projector", "o"])
def test_a_disk_that_is_full_is_said_in_one_line(tmp_path: Path, target: str) -> None:
    if target in ("o.torch", "o.pt"):
        pytest.importorskip("torch")
    some_model(3000, 50).save(tmp_path / "m")
    command = [sys.executable, "-m", "w2v", "export", str(tmp_path / "m"), "-o", str(tmp_path / target)]
    limit = 100_000  # a file that outgrows it fails as on a full disk
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: {tmp_path / target}: file too large")
    assert done.stderr.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


# -- words that someone has chosen ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words", "counts"),
    [
        ("the\t10\nof\t7\n", ["the", "of"], [10, 7]),
        ("the 10\nof 7\n", ["the", "of"], [10, 7]),
        ("the\r\nof\r\n\r\n", ["the", "of"], [0, 0]),
        ("\ufeff中文", ["中文"], [0]),
        ("a\\\\b\t1\n", ["a\\b"], [1]),
        ("10\n7\n", ["10", "7"], [0, 0]),
        (f"the {2**63 - 1}\n", ["the"], [2**63 - 1]),
    ],
)
def test_three_forms_of_word_lists(tmp_path: Path, text: str, words: list[str], counts: list[int]) -> None:
    (tmp_path / "words").write_bytes(text.encode())
    read = read_word_list(tmp_path / "words")
    assert list(read.words) == words
    assert read.counts.tolist() == counts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no words in this file"),
        ("\n \n", "no words in this file"),
        ("the 10\nof\n", r":2: expected word, tab, count"),
        ("the\nof 10\n", r":2: expected word, tab, count"),
        ("one line of text\n", r":1: expected word, tab, count"),
        ("the -1\n", r":1: expected word, tab, count"),
        (f"the {2**63}\n", r":1: expected word, tab, count"),
        ("the\nof\nthe\n", r":3: the word 'the' stands already in line 1"),
        ("the\rof\n", r":1: a carriage return stands within the line"),
        ("the\n\udcff\n", r":2: not UTF-8"),
    ],
)
def test_word_lists_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "words").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FormatError, match=message):
        read_word_list(tmp_path / "words")


# -- values made in Python --------------------------------------------------------------------------------


def vocab(words: Any, counts: Any) -> Vocab:
    return Vocab(words, counts)


def test_other_real_numbers_become_float32() -> None:
    model = Embeddings(vocab(["a", "b"], [2, 1]), np.array([[1, 2], [2, 1]], np.int8))
    assert model.vectors.dtype == np.float32
    assert model.counts.dtype == np.int64
    assert model.neighbors("a")[0].score == pytest.approx(0.8)
    assert Embeddings(vocab(("a",), np.array([1], np.uint8)), np.array([[0.5, 1]])).vector_size == 2
    assert list(vocab(np.array(["a", "b"]), [1, 2]).words) == ["a", "b"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: vocab("ab", [1, 2]),
        lambda: vocab(["a", 1], [1, 2]),
        lambda: vocab(["a"], [1.5]),
        lambda: vocab(["a"], [-1]),
        lambda: vocab(["a"], [2**63]),
        lambda: vocab(["a"], [[1]]),
        lambda: Embeddings(vocab(["a"], [1]), np.array([["x"]])),
        lambda: Embeddings(vocab(["a"], [1]), np.array([[1j]])),
        lambda: Embeddings(vocab(["a"], [1]), np.empty((1, 0), np.float32)),
        lambda: Embeddings(vocab(["a"], [1]), np.zeros(1, np.float32)),
        lambda: w2v.load("nowhere", words="abc"),
    ],
)
def test_values_that_are_none(make: Any) -> None:
    with pytest.raises(ConfigError, match=r"expected|must be|a count is"):
        make()


def test_several_words_at_once() -> None:
    model = some_model()
    assert list(model) == list(model.words)
    assert same_bits(model[[model.words[3], model.words[1]]], model.vectors[[3, 1]])
    assert model[[]].shape == (0, 7)
    assert model.neighbors(model[model.words[:2]].mean(axis=0), 1)
    with pytest.raises(ConfigError, match=r"got the list .* neighbors_of_all"):
        model.neighbors(model.words[:2])  # type: ignore[arg-type]
    assert ["a"] not in model
    for ask in (lambda: model.analogy(["b"], "a", "c"), lambda: model.neighbors_of_all("ab")):  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=r"expected a word, got list|got the text 'ab'"):
            ask()
    assert model.words[1] not in [
        near.word for near in model.neighbors(model.words[0], 49, exclude=model.words[1])
    ]


@pytest.mark.parametrize("query", [3, None, b"word", 1.5, {"a": 1}])
def test_what_is_no_word_is_named(query: Any) -> None:
    with pytest.raises(ConfigError, match=f"expected a word, got {type(query).__name__}"):
        some_model()[query]
    with pytest.raises(ConfigError, match="expected a"):
        some_model().neighbors(query)


def test_a_query_must_be_finite() -> None:
    with pytest.raises(ConfigError, match="the vector holds NaN or infinity"):
        some_model().neighbors(np.full(7, np.nan, np.float32))
