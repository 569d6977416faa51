"""Tokenizers, normalisation, and cutting what a person types as the corpus was cut."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import w2v
from w2v import config as w2v_config
from w2v.cli import cli
from w2v.config import CorpusConfig
from w2v.corpus.tokens.tokenizers import (
    TOKENIZERS,
    Cutter,
    describe,
    make_cutter,
    read_files,
    text_cutter,
    vocabulary_word,
)
from w2v.errors import ConfigError, CorpusError
from w2v.vectors.origin import Reading
from w2v.vectors.vocab import Vocab

MIXED = st.text(
    st.sampled_from("aZé'’-_.,!1٣ 。，京北\u3000\u00a0\u200b\u00ad０Ａア﹐😀\u0301\u1e9b\t¨—ไท"), max_size=30
)


def cut(text: str, **config: Any) -> list[str]:
    return Cutter(CorpusConfig(**config)).tokens([text])[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The self-governed O'Brien’s cat.", ["The", "self-governed", "O'Brien's", "cat"]),
        ("3.14 or 1,200; don't - stop--now -", ["3.14", "or", "1,200", "don't", "stop", "now"]),
        ("U.S. e-mail (co‑op's) a/b", ["U.S", "e-mail", "co-op's", "a", "b"]),
        ("_emphasis_ snake_case __init__", ["emphasis", "snake_case", "init"]),
        ("naïve Größe cafe\u0301 Ελλάδα", ["naïve", "Größe", "cafe\u0301", "Ελλάδα"]),
        ("北京 2-3年 T-北", ["北", "京", "2-3", "年", "T", "北"]),
        ("20° 😀 ... ©", ["20", "°", "😀", "©"]),
        ("", []),
        (" \u3000\u00a0 ", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert cut(text, tokenizer="words") == words


def test_words_can_keep_punctuation() -> None:
    found = cut('He said: "No!"', tokenizer="words", drop_punctuation=False)
    assert found == ["He", "said", ":", '"', "No", "!", '"']


def test_chars() -> None:
    assert cut("我爱NLP，テスト－x2 ไท", tokenizer="chars") == [*"我爱", "NLP", *"テスト", "x2", *"ไท"]
    assert cut("か\u3099き", tokenizer="chars") == ["か\u3099", "き"]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, ["１２３ＡＢＣ", "x²", "３.5"]),
        ({"normalize": "nfkc"}, ["123ABC", "x2", "3.5"]),
        ({"normalize": "nfkc", "numbers": "zero"}, ["123ABC", "x2", "0.0"]),
        ({"normalize": "nfkc", "numbers": "drop", "lowercase": True}, ["123abc", "x2"]),
    ],
)
def test_normalisation(config: dict[str, Any], words: list[str]) -> None:
    assert cut("１２３ＡＢＣ\u3000x² ３.5", **config) == words


def test_normalisation_that_makes_spaces_leaves_no_blank_tokens() -> None:
    assert cut("a¨b \u00a8 c", normalize="nfkc") == ["a", "\u0308b", "\u0308", "c"]


@pytest.mark.parametrize("tokenizer", ["whitespace", "words", "chars", "jieba"])
@pytest.mark.parametrize("normalize", ["none", "nfc", "nfkc"])
@given(text=MIXED)
def test_no_token_is_blank(tokenizer: str, normalize: str, text: str) -> None:
    if tokenizer == "jieba":
        pytest.importorskip("rjieba")
    for token in cut(text, tokenizer=tokenizer, normalize=normalize):
        assert token.strip()
        assert token.split() == [token]


@given(MIXED)
def test_words_lose_no_letter(text: str) -> None:
    letters = [letter for letter in text.replace("’", "'") if letter.isalnum()]
    found = "".join(cut(text, tokenizer="words"))
    assert [letter for letter in found if letter.isalnum()] == letters


@given(st.lists(MIXED, max_size=5), st.sampled_from(["words", "chars", "whitespace"]))
def test_local_tokenizers_cut_words_as_they_cut_text(lines: list[str], tokenizer: str) -> None:
    cutter = Cutter(CorpusConfig(tokenizer=tokenizer, normalize="nfkc", lowercase=True))
    whole = cutter.tokens([" ".join(line.split()) for line in lines])
    in_words = [[token for word in cutter.tokens(line.split() or [""]) for token in word] for line in lines]
    assert whole == in_words


def test_numbers_and_punctuation_leave_words_alone() -> None:
    text = "in 1984 , -5 % 3,000.5 10:30 b2b COVID-19 ... ! × + 日"
    assert cut(text, numbers="drop", drop_punctuation=True) == ["in", "b2b", "COVID-19", "日"]
    zeroed = ["in", "0000", "-0", "0,000.0", "00:00", "b2b", "COVID-19", "日"]
    assert cut(text, numbers="zero", drop_punctuation=True) == zeroed


def test_jieba(tmp_path: Path) -> None:
    pytest.importorskip("rjieba")
    text = "我来到北京清华大学。T恤！"
    assert cut(text, tokenizer="jieba") == ["我", "来到", "北京", "清华大学", "T恤"]
    assert cut(text, tokenizer="jieba", lowercase=True)[-1] == "t恤"
    assert cut(text, tokenizer="jieba", drop_punctuation=False)[-3:] == ["。", "T恤", "！"]
    words = tmp_path / "dict.txt"
    words.write_text("\ufeff来到北京 99999 n\n\n妄想女友\n")
    assert "来到北京" in cut(text, tokenizer="jieba", user_dict=str(words))
    assert "妄想女友" in cut("他的妄想女友是谁", tokenizer="jieba", user_dict=str(words))
    words.write_text("Edu Trust认证 2000\n妄想女友 9999 n\n来到北京\n清华 大学 8 nt\n")
    assert "妄想女友" in cut("他的妄想女友是谁", tokenizer="jieba", user_dict=str(words))
    words.write_text("好 的 字 典 错 误\n")
    with pytest.raises(CorpusError, match=r"dict\.txt:1: expected word, frequency, tag"):
        cut(text, tokenizer="jieba", user_dict=str(words))
    words.write_bytes("词".encode("gbk"))
    with pytest.raises(CorpusError, match="must be UTF-8"):
        cut(text, tokenizer="jieba", user_dict=str(words))


def test_scripts() -> None:
    pytest.importorskip("opencc")
    assert cut("漢語 軟體 头发", t2s=True) == ["汉语", "软体", "头发"]
    assert cut("汉语 头发", s2t=True) == ["漢語", "頭髮"]
    with pytest.raises(ConfigError, match="opposites"):
        CorpusConfig(t2s=True, s2t=True)


def test_jieba_cuts_before_it_writes_in_traditional_characters(tmp_path: Path) -> None:
    pytest.importorskip("rjieba")
    pytest.importorskip("opencc")
    text = "我们正在研究自然语言处理技术"
    cut_first = cut("".join(text), tokenizer="jieba", s2t=True)
    assert cut_first == ["我們", "正在", "研究", "自然語言", "處理", "技術"]
    assert cut("T恤和头发", tokenizer="jieba", s2t=True, lowercase=True) == ["t恤", "和", "頭髮"]
    assert cut("臺灣的漢語詞彙", tokenizer="jieba", t2s=True) == ["台湾", "的", "汉语", "词汇"]
    assert cut("头发", tokenizer="chars", s2t=True) == ["頭", "髮"]
    readings = [reading_of(tokenizer=name, s2t=True)["opencc"] for name in ("jieba", "chars")]
    assert readings[0] != readings[1]  # what was read before this order is not found in the cache
    assert make_cutter(Reading(reading_of(tokenizer="jieba", s2t=True)))(text) == cut_first


@pytest.fixture
def tokenizer_json(tmp_path: Path) -> Path:
    tokenizers = pytest.importorskip("tokenizers")
    unknown = "[UNK]"
    words = {unknown: 0, "hello": 1, "wor": 2, "##ld": 3, ",": 4, "▁": 5}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(words, unk_token=unknown))
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.enable_truncation(2)
    made.enable_padding(length=8)
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    return path


def test_hugging_face(tokenizer_json: Path, tmp_path: Path) -> None:
    expected = ["hello", ",", "wor", "##ld", "[UNK]"]  # truncation and padding in the file play no part
    assert cut("hello, world x", tokenizer=str(tokenizer_json)) == expected
    assert cut("HELLO", tokenizer=str(tokenizer_json), lowercase=True) == ["hello"]
    with pytest.raises(FileNotFoundError):
        cut("a", tokenizer=str(tmp_path / "none.json"))
    for content in ("{}", "[", json.dumps({"model": {"type": "no"}})):
        (tmp_path / "bad.json").write_text(content)
        with pytest.raises(CorpusError, match=r"bad\.json: no tokenizer\.json"):
            cut("a", tokenizer=str(tmp_path / "bad.json"))


def test_a_callable() -> None:
    assert cut("a,b,,c", tokenizer=lambda text: text.split(",")) == ["a", "b", "c"]
    with pytest.raises(CorpusError, match="returned the str 'a'"):
        cut("a", tokenizer=lambda text: text)
    with pytest.raises(CorpusError, match="returned 3 among its tokens"):
        cut("a", tokenizer=lambda text: [3])


def test_every_tokenizer_of_the_config_has_a_record() -> None:
    assert tuple(TOKENIZERS) == w2v_config.TOKENIZERS


def test_unknown_tokenizers_are_refused() -> None:
    for name in ("spacy", "", 3):
        with pytest.raises(ConfigError, match="tokenizer must be one of"):
            CorpusConfig(tokenizer=name)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="user_dict is for"):
        CorpusConfig(user_dict="words.txt")


def reading_of(**config: Any) -> dict[str, Any]:
    """Return what would come back from a model's `config.json`."""
    stored: dict[str, Any] = json.loads(json.dumps(describe(CorpusConfig(**config))))
    return stored


def test_typed_words_are_cut_as_the_corpus_was() -> None:
    reading = reading_of(tokenizer="words", lowercase=True, normalize="nfkc")
    assert reading["tokenizer_package"].startswith("unicode-segmentation-rs ")
    assert make_cutter(Reading(reading))("Ｈello, World!\nyou") == ["hello", "world", "you"]
    assert make_cutter(Reading(reading_of()))("A b") == ["A", "b"]


def test_a_file_that_is_gone_or_changed_is_an_error_unless_its_content_was_kept(tmp_path: Path) -> None:
    pytest.importorskip("rjieba")
    words = tmp_path / "dict.txt"
    words.write_text("妄想女友 99999\n")
    settings = reading_of(tokenizer="jieba", user_dict=str(words))
    assert settings["tokenizer_package"].startswith("rjieba ")
    kept = read_files(settings)
    assert make_cutter(Reading(settings))("妄想女友") == ["妄想女友"]
    words.write_text("妄想 9\n")
    with pytest.raises(CorpusError, match=r"dict\.txt: this file cut the corpus, but it is not the one"):
        make_cutter(Reading(settings))
    words.unlink()
    vocab = Vocab(["妄想女友"], np.ones(1, np.int64))
    with pytest.raises(CorpusError, match="is gone"):
        make_cutter(Reading(settings))
    with pytest.raises(CorpusError, match="is gone"):
        read_files(settings)
    with pytest.raises(CorpusError, match="is gone"):
        vocabulary_word("妄想", vocab, Reading(settings))
    assert make_cutter(kept)("妄想女友") == ["妄想女友"]
    assert vocabulary_word("妄想女友", vocab, Reading(settings)) == "妄想女友"  # as typed: nothing to cut


def test_a_changed_dictionary_is_another_reading(tmp_path: Path) -> None:
    pytest.importorskip("rjieba")
    words = tmp_path / "dict.txt"
    words.write_text("一二 3\n")
    before = reading_of(tokenizer="jieba", user_dict=str(words))
    words.write_text("一二 4\n")
    assert reading_of(tokenizer="jieba", user_dict=str(words)) != before


def test_a_callable_cannot_come_back() -> None:
    reading = Reading(reading_of(tokenizer=str.split))
    with pytest.raises(ConfigError, match=r"by the Python callable str\.split"):
        make_cutter(reading)
    vocab = Vocab(["a"], np.ones(1, np.int64))
    assert vocabulary_word("A", vocab, reading) == "A"


def test_words_of_a_vocabulary() -> None:
    vocab = Vocab(["new_york", "cat", "New", "café", "new", "york"], np.ones(6, np.int64))
    phrases = {"phrases": {"phrases": 1, "phrase_delimiter": "_"}}
    reading = Reading(reading_of(tokenizer="words", lowercase=True, normalize="nfc") | phrases)
    for typed, found in [
        ("Cat", "cat"),
        ("New", "New"),  # as typed wins
        ("New York", "new_york"),
        ("cafe\u0301!", "café"),
        ("Dog", "Dog"),
        ("", ""),
    ]:
        assert vocabulary_word(typed, vocab, reading) == found
        assert vocabulary_word(typed, vocab, None) == (found if typed == found else typed)
    assert text_cutter(vocab, reading)("The New York cat.") == ["the", "new_york", "cat"]
    assert text_cutter(vocab, None)("The New") == ["The", "New"]


def test_composed_and_decomposed_are_one_word() -> None:
    assert cut(unicodedata.normalize("NFD", "café"), normalize="nfc") == ["café"]


def test_commands_and_text_vectors_take_words_as_typed(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("New York is a big city. The cat sat, purring!\n" * 30)
    settings: dict[str, Any] = {"tokenizer": "words", "lowercase": True, "phrases": 1}
    settings |= {"phrase_threshold": 0.01, "min_count": 1, "vector_size": 8, "epochs": 1, "workers": 1}
    model = w2v.train(corpus, cache=False, **settings)
    assert "new_york" in model
    model.save(tmp_path / "model")
    asked = ["similarity", str(tmp_path / "model"), "NEW YORK", "New York!"]
    done = CliRunner().invoke(cli, asked)
    assert (done.exit_code, done.stdout) == (0, "1.0000\n")
    typed = w2v.text_vectors(w2v.load(tmp_path / "model"), ["New York"])
    assert typed[0] == pytest.approx(model["new_york"])
