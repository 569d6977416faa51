"""Tokens into ids and back: padding, truncation, unknown tokens, batches of nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vector_strategies import any_word

from w2v import ConfigError, TokenIdError, UnknownWordError

pytest.importorskip("torch")
import torch

from w2v.pytorch import Batch, Vocabulary

VOCAB = Vocabulary(["<pad>", "<unk>", "the", "cat", "sat"], 0, 1, 2)


def naive(sentences: list[list[str]], length: int, truncate: str, pad: str) -> tuple[list[Any], list[Any]]:
    """Encode token by token."""
    ids, mask = [], []
    for sentence in sentences:
        kept = sentence[:length] if truncate == "right" else sentence[max(0, len(sentence) - length) :]
        row = [VOCAB.tokens.index(token) if token in VOCAB.tokens else 1 for token in kept]
        filling = [0] * (length - len(row))
        ids.append(row + filling if pad == "right" else filling + row)
        real = [True] * len(row)
        mask.append(real + [False] * len(filling) if pad == "right" else [False] * len(filling) + real)
    return ids, mask


@given(
    st.lists(st.lists(st.sampled_from(["the", "cat", "sat", "dog", ""]), max_size=5), max_size=4),
    st.integers(1, 6),
    st.sampled_from(["right", "left"]),
    st.sampled_from(["right", "left"]),
    st.booleans(),
)
def test_encode_is_padding_and_cutting_by_hand(
    sentences: list[list[str]], max_length: int, truncate: str, pad: str, fixed: bool
) -> None:
    batch = VOCAB.encode(sentences, max_length=max_length, truncate=truncate, pad=pad, fixed_length=fixed)
    length = max_length if fixed else min(max_length, max(map(len, sentences), default=0))
    ids, mask = naive(sentences, length, truncate, pad)
    assert batch.ids.shape == batch.mask.shape == (len(sentences), length)
    assert (batch.ids.dtype, batch.mask.dtype) == (torch.int64, torch.bool)
    assert batch.ids.tolist() == ids
    assert batch.mask.tolist() == mask
    assert batch.n_truncated == sum(max(0, len(sentence) - max_length) for sentence in sentences)
    assert ((batch.ids == 1) & batch.mask).sum() == batch.n_unknown


def test_a_batch_is_a_pair_that_says_what_was_lost() -> None:
    batch = VOCAB.encode(["the dog sat", "dog\u3000bird", ""])
    ids, mask = batch
    assert ids.tolist() == [[2, 1, 4], [1, 1, 0], [0, 0, 0]]
    assert mask.sum(dim=1).tolist() == [3, 2, 0]
    assert batch.unknown == {"dog": 2, "bird": 1}
    assert batch.n_unknown == 3
    assert len(batch) == 2
    assert batch[0] is batch.ids
    assert batch[-1] is batch.mask
    for other in (batch.to("cpu"), pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch)):  # noqa: S301
        assert isinstance(other, Batch)
        assert torch.equal(other.ids, ids)
        assert torch.equal(other.mask, mask)
        assert (other.unknown, other.n_truncated) == (batch.unknown, 0)


def collate(batch: list[tuple[str, int]]) -> dict[str, Any]:
    texts, labels = zip(*batch, strict=True)
    return {"text": VOCAB.encode(texts), "labels": torch.tensor(labels), "more": [VOCAB.encode(texts)]}


def test_a_batch_among_other_values_is_pinned_and_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils.data import DataLoader
    from torch.utils.data._utils.pin_memory import pin_memory

    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())  # needs a GPU
    for values in DataLoader([("the dog", 1), ("cat", 0)], batch_size=2, collate_fn=collate):  # type: ignore[arg-type]
        pinned = pin_memory([values, (1, values["text"])])  # type: ignore[no-untyped-call]
        for batch in (pinned[0]["text"], pinned[0]["more"][0], pinned[1][1]):
            assert isinstance(batch, Batch)
            assert torch.equal(batch.ids, values["text"].ids)
            assert batch.ids is not values["text"].ids
            assert batch.unknown == {"dog": 1}
        # transformers.Trainer makes tuples, lists and mappings anew from their values.
        assert not isinstance(values["text"], tuple | list | Mapping)
        moved = values["text"].to(torch.device("meta"), non_blocking=True)
        assert moved.ids.is_meta
        assert moved.mask.is_meta


@pytest.mark.parametrize(
    ("sentences", "shape"), [([], (0, 0)), ([""], (1, 0)), ([[], []], (2, 0)), (["", "cat"], (2, 1))]
)
def test_batches_of_nothing(sentences: list[Any], shape: tuple[int, int]) -> None:
    ids, mask = VOCAB.encode(sentences)
    assert ids.shape == mask.shape == shape
    assert VOCAB.encode(iter(sentences)).ids.shape == shape
    assert VOCAB.encode(sentences, max_length=3, fixed_length=True).ids.shape == (shape[0], 3)
    assert len(VOCAB.decode(ids)) == shape[0]


@given(st.lists(any_word, min_size=1, max_size=9, unique=True), st.data())
def test_any_token_comes_back(tokens: list[str], data: st.DataObject) -> None:
    vocab = Vocabulary(["<pad>", *(token for token in tokens if token != "<pad>")], 0, None, 1)
    sentences = data.draw(st.lists(st.lists(st.sampled_from(vocab.tokens[1:]), max_size=4), max_size=4))
    assert vocab.decode(vocab.encode(sentences).ids) == sentences


def test_what_is_no_list_of_sentences_is_refused() -> None:
    for sentences in ("one text", b"bytes", {"a": 1}, 3, [["a", 3]], [3], [["the"], None]):
        with pytest.raises(ConfigError, match="expected"):
            VOCAB.encode(sentences)  # type: ignore[arg-type]


def test_a_token_without_a_row_and_without_an_unknown_row_is_named() -> None:
    vocab = Vocabulary(["<pad>", "the"], 0, None, 1)
    assert vocab.encode(["the", ""]).ids.tolist() == [[1], [0]]
    with pytest.raises(UnknownWordError, match="'dog' is not in the vocabulary"):
        vocab.encode(["the dog"])
    with pytest.raises(UnknownWordError, match="'dog'"):
        vocab.token_id("dog")
    assert VOCAB.token_id("dog") == 1


def test_different_lengths_need_a_padding_row() -> None:
    vocab = Vocabulary(["the", "cat"])
    assert vocab.encode(["the cat", "cat the"]).ids.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ConfigError, match=r"of 1 to 2 tokens.*no padding row; load it with padding='<pad>'"):
        vocab.encode(["the cat", "cat"])
    with pytest.raises(ConfigError, match="no padding row"):
        vocab.encode(["the"], max_length=2, fixed_length=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "max_length must be at least 1"),
        ({"fixed_length": True}, "fixed_length needs max_length"),
        ({"truncate": "middle"}, "truncate must be one of right, left"),
        ({"pad": "top"}, "pad must be one of right, left"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        VOCAB.encode(["the"], **options)


def test_lower_case_where_the_model_is() -> None:
    vocab = Vocabulary(["the", "cat"], lowercase=True)
    assert vocab.encode(["The CAT", ["THE", "cat"]]).ids.tolist() == [[0, 1], [0, 1]]


def test_tokens_that_are_named_as_special_are_those() -> None:
    assert VOCAB.padding == "<pad>"
    assert VOCAB.unknown == "<unk>"
    assert Vocabulary(["a"]).padding is None
    assert Vocabulary(["a"]).unknown is None
    assert "cat" in VOCAB
    assert "dog" not in VOCAB


def test_a_vocabulary_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match="padding_id is 2, but there are 2 rows"):
        Vocabulary(["a", "b"], 2)
    with pytest.raises(ConfigError, match="unknown_id is -1"):
        Vocabulary(["a", "b"], 0, -1)
    with pytest.raises(ConfigError, match="n_specials is 3"):
        Vocabulary(["a", "b"], n_specials=3)
    with pytest.raises(ConfigError, match="2 rows have 1 counts"):
        Vocabulary(["a", "b"], counts=np.array([1]))
    with pytest.raises(ConfigError, match="the token 'a' stands twice, in rows 0 and 2"):
        Vocabulary(["a", "b", "a"]).encode(["a"])


def test_decode_takes_lists_of_ids() -> None:
    assert VOCAB.decode([[2, 4], [0, 3]]) == VOCAB.decode(torch.tensor([[2, 4], [0, 3]]))
    for ids in ([[1], [2, 3]], [["cat"]], [[None]], 3):
        with pytest.raises(ConfigError, match="expected ids of shape"):
            VOCAB.decode(ids)  # type: ignore[arg-type]


def test_decode_and_check_name_the_place() -> None:
    with pytest.raises(TokenIdError, match=r"id 5 at \[1, 0\] is out of range: the table has 5 rows"):
        VOCAB.decode(torch.tensor([[0, 4], [5, 9]]))
    with pytest.raises(ConfigError, match=r"expected ids of shape \(batch, length\), got \(2,\)"):
        VOCAB.decode(torch.tensor([0, 1]))
    with pytest.raises(TokenIdError, match="id -3 is out of range"):
        VOCAB.check_ids(torch.tensor(-3))
