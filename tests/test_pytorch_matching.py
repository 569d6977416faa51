"""Rows for someone else's vocabulary: lists, JSON, tokenizer.json, torchtext; what matches, what does not."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vector_strategies import same_bits

from w2v import ConfigError, Embeddings, FormatError, Vocab

pytest.importorskip("torch")
import torch

from w2v.formats.foreign import match, read_foreign
from w2v.pytorch import from_embedding, load_embedding, match_vocabulary, save_embedding

WORDS = ["the", "cat", "Paris", "paris", "STRASSE", "日本", "ing"]
VECTORS = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
MODEL = Embeddings(Vocab(WORDS, np.arange(7, 0, -1)), VECTORS)
THEIRS = ["[PAD]", "cat", "zebra", "PARIS", "the", "[UNK]", "straße"]


class Torchtext:
    """A vocabulary as torchtext's."""

    def get_itos(self) -> list[str]:
        return list(THEIRS)


def test_row_i_is_their_word_i() -> None:
    embedding, report = match_vocabulary(MODEL, THEIRS, unknown_init="zero")
    assert list(embedding.vocab.tokens) == THEIRS
    assert embedding.vocab.n_specials == 0
    assert embedding.padding_idx == 0
    assert embedding.vocab.unknown_id == 5
    assert same_bits(embedding.weight[[1, 4]].numpy(), VECTORS[[1, 0]])
    assert not embedding.weight[[0, 2, 3, 5, 6]].any()
    assert (report.n_tokens, report.exact, report.folded, report.unmatched) == (5, 2, 0, 3)
    assert report.unmatched_examples == ("zebra", "PARIS", "straße")
    assert embedding.vocab.counts is not None
    assert embedding.vocab.counts.tolist() == [0, 6, 0, 0, 7, 0, 0]


def test_case_folding_takes_the_most_frequent_word() -> None:
    embedding, report = match_vocabulary(MODEL, THEIRS, fold_case=True)
    assert same_bits(embedding.weight[[3, 6]].numpy(), VECTORS[[2, 4]])
    assert (report.exact, report.folded, report.unmatched) == (2, 2, 1)
    assert report.folded_examples == (("PARIS", "Paris"), ("straße", "STRASSE"))
    assert str(report) == (
        "5 tokens: 2 matched exactly (40.0 %), 2 after case folding (40.0 %), 1 not at all (20.0 %): 'zebra'"
    )
    np.testing.assert_allclose(embedding.weight[2].numpy(), VECTORS[[1, 2, 0, 4]].mean(axis=0), atol=1e-6)


TEXT = ["the cat sat in Paris", "the singing cat", "a cat in 日本", "Paris and paris"] * 50

PIECES = [
    (piece, -1.0) for piece in ("<unk>", "▁", "▁the", "▁cat", "▁Paris", "▁日本", "paris", "ing", "s", "a")
]


@pytest.mark.parametrize("kind", ["bytes", "unigram", "bpe", "wordpiece"])
@pytest.mark.parametrize("given", ["mapping", "list", "json"])
def test_tokens_without_their_tokenizer_match_as_with_it(tmp_path: Path, kind: str, given: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    models, trainers, splits = tokenizers.models, tokenizers.trainers, tokenizers.pre_tokenizers
    model, trainer, split = {
        "bytes": (models.BPE(), trainers.BpeTrainer, splits.ByteLevel(add_prefix_space=True)),
        "unigram": (models.Unigram(PIECES, 0, False), None, splits.Metaspace()),
        "bpe": (models.BPE(end_of_word_suffix="</w>"), trainers.BpeTrainer, splits.Whitespace()),
        "wordpiece": (models.WordPiece(), trainers.WordPieceTrainer, splits.Whitespace()),
    }[kind]
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = split
    if trainer is not None:
        options: dict[str, Any] = {"end_of_word_suffix": "</w>"} if kind == "bpe" else {}
        special = ["<pad>", "<unk>"]
        made = trainer(vocab_size=300, show_progress=False, special_tokens=special, **options)
        tokenizer.train_from_iterator(TEXT, made)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ids = tokenizer.get_vocab()
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    tokens: Any = {"mapping": ids, "list": sorted(ids, key=ids.get), "json": tmp_path / "vocab.json"}[given]
    expected, expected_report = match_vocabulary(MODEL, tmp_path / "tokenizer.json", unknown_init="zero")
    found, report = match_vocabulary(MODEL, tokens, unknown_init="zero")
    assert report.exact == expected_report.exact >= 3
    assert torch.equal(found.weight, expected.weight)


def test_a_few_words_with_a_mark_make_no_tokenizer() -> None:
    words = ["Ġ", "▁x", "Ġħ", *(f"word{i}" for i in range(100))]
    model = Embeddings(Vocab(words, np.zeros(103, np.int64)), np.ones((103, 2), np.float32))
    assert match_vocabulary(model, words).report.exact == 103


def test_random_rows_differ_and_repeat() -> None:
    first = match_vocabulary(MODEL, THEIRS, unknown_init="random", seed=3).embedding.weight
    again = match_vocabulary(MODEL, THEIRS, unknown_init="random", seed=3).embedding.weight
    assert torch.equal(first, again)
    assert not torch.equal(first[2], first[3])
    assert not first[0].any()


@pytest.mark.parametrize(
    "kind", ["list", "mapping", "torchtext", "lines", "counts", "json", "json list", "bom"]
)
def test_every_kind_of_vocabulary_gives_the_same(tmp_path: Path, kind: str) -> None:
    ids = {token: row for row, token in enumerate(THEIRS)}
    shuffled = dict(sorted(ids.items(), key=lambda item: item[0][::-1]))
    path = tmp_path / "vocabulary"
    sources: dict[str, Any] = {"list": THEIRS, "mapping": shuffled, "torchtext": Torchtext()}
    texts = {
        "lines": "\n".join(THEIRS) + "\n",
        "counts": "".join(f"{token}\t{9 - row}\n" for token, row in ids.items()),
        "json": json.dumps(shuffled),
        "json list": json.dumps(THEIRS, ensure_ascii=False),
        "bom": "\ufeff" + json.dumps(shuffled, ensure_ascii=False),
    }
    if kind in texts:
        path.write_text(texts[kind], encoding="utf-8")
    embedding, report = match_vocabulary(MODEL, sources.get(kind, path), fold_case=True)
    expected, expected_report = match_vocabulary(MODEL, THEIRS, fold_case=True)
    assert list(embedding.vocab.tokens) == THEIRS
    assert torch.equal(embedding.weight, expected.weight)
    assert report == expected_report


def tokenizer(model: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {"version": "1.0", "added_tokens": [], "model": model, **parts}


def ids_of(*tokens: str) -> dict[str, int]:
    return {token: row for row, token in enumerate(tokens)}


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        pytest.param(
            tokenizer({"type": "WordLevel", "vocab": ids_of("[UNK]", "cat", "the"), "unk_token": "[UNK]"}),
            [None, 1, 0],
            id="WordLevel",
        ),
        pytest.param(
            tokenizer(
                {"type": "WordPiece", "vocab": ids_of("[PAD]", "cat", "##ing", "ing", "##")},
                added_tokens=[{"id": 5, "content": "[CLS]"}, {"id": 0, "content": "[PAD]"}],
            ),
            [None, 1, None, 6, None, None],
            id="WordPiece",
        ),
        pytest.param(
            tokenizer(
                {"type": "BPE", "vocab": ids_of("ĠPar", "ĠParis", "the", "Ġæ", "ĠæĹ¥æľ¬", "Ġ", "paris")},
                pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]},
            ),
            [None, 2, 0, None, 5, None, 3],
            id="byte-level BPE",
        ),
        pytest.param(
            tokenizer(
                {"type": "Unigram", "vocab": [["<pad>", 0], ["▁cat", 1], ["ing", 2], ["▁", 3], ["▁日本", 4]]},
                decoder={"type": "Metaspace"},
            ),
            [None, 1, None, None, 5],
            id="Unigram",
        ),
    ],
)  # fmt: skip
def test_tokenizers_of_every_kind(tmp_path: Path, content: dict[str, Any], rows: list[int | None]) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    embedding, report = match_vocabulary(MODEL, path, unknown_init="zero")
    assert len(embedding.vocab) == len(rows)
    for row, word_id in enumerate(rows):
        expected = np.zeros(4, np.float32) if word_id is None else VECTORS[word_id]
        assert same_bits(embedding.weight[row].numpy(), expected), embedding.vocab.tokens[row]
    assert report.exact == sum(word_id is not None for word_id in rows)


def test_a_tokenizer_names_its_special_tokens(tmp_path: Path) -> None:
    content = tokenizer(
        {
            "type": "WordLevel",
            "vocab": ids_of("cat", "nothing", "blank", "<pad>", "the"),
            "unk_token": "nothing",
        },
        padding={"pad_token": "blank", "pad_id": 2},
    )
    (tmp_path / "t.json").write_text(json.dumps(content))
    embedding = match_vocabulary(MODEL, tmp_path / "t.json").embedding
    assert (embedding.padding_idx, embedding.vocab.unknown_id) == (2, 1)
    embedding = match_vocabulary(MODEL, tmp_path / "t.json", padding="<pad>", unknown="cat").embedding
    assert (embedding.padding_idx, embedding.vocab.unknown_id) == (3, 0)
    with pytest.raises(ConfigError, match=r"t\.json: has no token 'absent'"):
        match_vocabulary(MODEL, tmp_path / "t.json", padding="absent")


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ({"cat": 0, "the": 2}, "2 tokens must have the ids 0 to 1, each once; 'the' has 2"),
        ({"cat": 0, "the": 0}, "'cat' and 'the' both have the id 0"),
        ({"cat": 0, "the": -1}, "'the' has -1"),
        ({"cat": 0, "the": 10**12}, "'the' has 1000000000000"),
        ({"cat": 0, "the": True}, "expected a whole number as id of 'the', got True"),
        ({"cat": 0, "the": "1"}, "expected a whole number as id of 'the', got '1'"),
        (["cat", "the", "cat"], "'cat' stands twice, at 0 and at 2"),
        (["cat", 3], "expected tokens of type str, got 3 at 1"),
        (["dog", "mouse"], "none of the 2 tokens is a word of the model: 'dog', 'mouse'"),
        (7, "expected a vocabulary: .*; got int"),
    ],
)
def test_vocabularies_with_gaps_or_doubles_are_refused(vocabulary: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        match_vocabulary(MODEL, vocabulary)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"empty \(0 bytes\)"),
        ('{"cat": 0,', "not JSON"),
        ('{"model": {"type": "BPE"}}', "not a tokenizer with a vocabulary"),
        ('{"model": {"vocab": [1, 2]}}', "not a tokenizer with a vocabulary"),
        ('{"model": {"vocab": {"a": 0}}, "added_tokens": [3]}', "not a tokenizer with a vocabulary"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_files_that_are_no_vocabulary_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "v.json").write_text(content)
    with pytest.raises(FormatError, match=message):
        match_vocabulary(MODEL, tmp_path / "v.json")


def test_a_list_of_words_may_begin_with_a_bracket(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\ncat\n")
    embedding = match_vocabulary(MODEL, tmp_path / "vocab.txt").embedding
    assert list(embedding.vocab.tokens) == ["[PAD]", "[UNK]", "cat"]


def test_saved_and_brought_back(tmp_path: Path) -> None:
    embedding, _ = match_vocabulary(MODEL, THEIRS, freeze=False, fold_case=True)
    save_embedding(embedding, tmp_path / "e")
    read = load_embedding(tmp_path / "e")
    assert list(read.vocab.tokens) == THEIRS
    assert (read.padding_idx, read.vocab.unknown_id, read.vocab.n_specials) == (0, 5, 0)
    assert torch.equal(read.weight, embedding.weight)
    assert read.weight.requires_grad
    assert list(from_embedding(read).words) == ["cat", "zebra", "PARIS", "the", "straße"]


def test_fifty_thousand_words_match_in_under_a_second(tmp_path: Path) -> None:
    draw = random.Random(0)
    words = [f"word{i}" for i in range(200_000)]
    vocab = Vocab(words, np.arange(200_000, 0, -1))
    theirs = [f"{draw.choice(('word', 'Word', 'none'))}{i}" for i in draw.sample(range(200_000), 50_000)]
    (tmp_path / "v.json").write_text(json.dumps(ids_of(*theirs)))
    start = time.process_time()
    rows, report = match(vocab, read_foreign(tmp_path / "v.json"), fold_case=True, unmatched=-1)
    assert time.process_time() - start < 1
    assert report.n_tokens == 50_000
    for row, token in zip(rows.tolist(), theirs, strict=True):
        assert row == (-1 if token.startswith("none") else int(token[4:]))
