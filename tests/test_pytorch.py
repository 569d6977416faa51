"""Word vectors as an nn.Embedding: rows, dtypes, freezing, padding, training; what stays and what changes."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vector_strategies import same_bits, some_model

import w2v
from w2v import ConfigError, Embeddings, FormatError, TokenIdError, Vocab
from w2v.vectors.origin import Origin

pytest.importorskip("torch")
import torch
from torch import Tensor, nn

from w2v.pytorch import WordEmbedding, from_embedding, load_embedding

torch.set_num_threads(1)  # the tables are tiny, and threads wait for each other on a busy machine

MODEL = some_model(40, 6)
WORDS = list(MODEL.words)
WITH_CONTEXT = Embeddings(MODEL.vocab, MODEL.vectors, MODEL.vectors * np.float32(-2))


def bits(tensor: Tensor) -> bytes:
    return tensor.detach().contiguous().view(torch.uint8).numpy().tobytes()


# -- rows -------------------------------------------------------------------------------------------------


def test_row_i_is_word_i_behind_the_special_rows() -> None:
    embedding = load_embedding(MODEL, specials=["<cls>", "<sep>"])
    assert isinstance(embedding, nn.Embedding)
    assert list(embedding.vocab.tokens) == ["<pad>", "<unk>", "<cls>", "<sep>", *WORDS]
    assert embedding.vocab.n_specials == 4
    assert embedding.padding_idx == embedding.vocab.padding_id == 0
    assert embedding.vocab.unknown_id == 1
    assert (embedding.num_embeddings, embedding.embedding_dim) == (44, 6)
    assert same_bits(embedding.weight[4:].numpy(), MODEL.vectors)
    for i, word in enumerate(WORDS):
        ids, _ = embedding.vocab.encode([[word]])
        assert ids.tolist() == [[i + 4]]
        assert same_bits(embedding(ids)[0, 0].numpy(), MODEL[word])


@pytest.mark.parametrize("padding", ["<pad>", None])
@pytest.mark.parametrize("unknown", ["<unk>", None])
def test_special_rows_can_be_left_out(padding: str | None, unknown: str | None) -> None:
    embedding = load_embedding(MODEL, padding=padding, unknown=unknown)
    front = [token for token in (padding, unknown) if token is not None]
    assert list(embedding.vocab.tokens) == [*front, *WORDS]
    assert embedding.padding_idx == (0 if padding else None)
    assert embedding.vocab.unknown_id == (front.index(unknown) if unknown else None)
    assert same_bits(embedding.weight[len(front) :].numpy(), MODEL.vectors)


def test_the_unknown_row_starts_as_it_was_asked() -> None:
    def row(how: str, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.asarray(load_embedding(MODEL, unknown_init=how, seed=seed).weight[1].numpy())

    np.testing.assert_allclose(row("mean"), MODEL.vectors.mean(axis=0), atol=1e-6)
    assert not row("zero").any()
    assert same_bits(row("random"), row("random"))
    assert not same_bits(row("random"), row("random", seed=1))


def test_random_rows_have_mean_and_deviation_of_the_vectors() -> None:
    rng = np.random.default_rng(0)
    spread = np.array([0.1, 1.0, 5.0])
    vectors = (rng.normal(size=(3000, 3)) * spread + [0, 10, -3]).astype(np.float32)
    model = Embeddings(Vocab([str(i) for i in range(3000)], np.ones(3000, np.int64)), vectors)
    specials = [f"<{i}>" for i in range(2000)]
    drawn = load_embedding(model, specials=specials).weight[2:2002].numpy()
    assert len(np.unique(drawn, axis=0)) == 2000
    # The standard error of a mean of 2,000 is 0.022 deviations, of a deviation 0.016.
    np.testing.assert_allclose(drawn.mean(axis=0), vectors.mean(axis=0), atol=0.1 * spread.max())
    np.testing.assert_allclose(drawn.std(axis=0) / vectors.std(axis=0), 1, atol=0.08)


def test_a_word_of_the_model_serves_as_unknown_token() -> None:
    model = Embeddings(Vocab(["a", "<unk>", "b"], np.array([3, 2, 1])), MODEL.vectors[:3])
    embedding = load_embedding(model)
    assert list(embedding.vocab.tokens) == ["<pad>", "a", "<unk>", "b"]
    assert (embedding.vocab.n_specials, embedding.vocab.unknown_id) == (1, 2)
    assert same_bits(embedding.weight[2].numpy(), MODEL.vectors[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": WORDS[3]}, "the model has the word .* itself, in row 3; name another token"),
        ({"padding": "<x>", "unknown": "<x>"}, "'<x>' is named twice"),
        ({"specials": ["<x>", "<x>"]}, "'<x>' is named twice"),
        ({"specials": "<x>"}, "specials must be a list of tokens"),
        ({"unknown_init": "ones"}, "unknown_init must be one of mean, zero, random"),
        ({"scale": 0}, "scale must be a finite number greater than 0"),
        ({"scale": float("inf")}, "scale must be a finite number"),
        ({"max_norm": -1.0}, "max_norm must be a finite number greater than 0"),
        ({"dtype": torch.int64}, r"dtype must be one of real numbers.*torch\.int64"),
        ({"context": True}, "the model has no context vectors"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_embedding(MODEL, **options)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected a model.*got list.*from_gensim"):
        load_embedding([1, 2])  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        load_embedding(tmp_path / "nothing")


def test_the_context_table() -> None:
    embedding = load_embedding(WITH_CONTEXT, context=True)
    assert same_bits(embedding.weight[2:].numpy(), MODEL.vectors * np.float32(-2))
    assert embedding.provenance["table"] == "context"


def test_no_words_at_all() -> None:
    model = Embeddings(Vocab([], np.zeros(0, np.int64)), np.zeros((0, 3), np.float32))
    embedding = load_embedding(model)
    assert embedding(embedding.vocab.encode(["a b"])[0]).tolist() == [[[0.0] * 3] * 2]


# -- numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.float32, ">f4"])
def test_any_source_becomes_a_float32_copy(dtype: Any) -> None:
    source: Any = MODEL.vectors.astype(dtype)
    source.flags.writeable = False
    embedding = load_embedding(Embeddings(MODEL.vocab, source), freeze=False)
    assert embedding.weight.dtype == torch.float32
    assert same_bits(embedding.weight.detach()[2:].numpy(), source.astype(np.float32))
    assert not np.shares_memory(embedding.weight.detach().numpy(), source)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_dtype_can_be_asked_for(dtype: torch.dtype) -> None:
    embedding = load_embedding(MODEL, dtype=dtype)
    assert embedding.weight.dtype == dtype
    assert torch.equal(embedding.weight[2:], torch.from_numpy(MODEL.vectors.copy()).to(dtype))
    assert not embedding.weight[0].any()


def test_more_rows_than_a_block() -> None:
    model = some_model(3000, 3)
    for dtype in (torch.float32, torch.float64):
        embedding = load_embedding(model, dtype=dtype)
        assert (embedding.weight[2:].numpy() == model.vectors).all()
        np.testing.assert_allclose(embedding.weight[1].numpy(), model.vectors.mean(axis=0), atol=1e-6)


def test_numbers_that_are_none_or_too_large_are_named() -> None:
    for value, dtype, message in (
        (np.nan, None, "row 7 of the model holds NaN or infinity"),
        (np.inf, None, "row 7 of the model holds NaN or infinity"),
        (1e300, None, "row 7 of the model holds NaN or infinity"),
        (70_000.0, torch.float16, r"row 7 .* too large for float16 \(the most is 65,504\)"),
    ):
        vectors: Any = MODEL.vectors.astype(np.float64)
        vectors[7, 2] = value
        with pytest.raises(FormatError, match=message):
            load_embedding(Embeddings(MODEL.vocab, vectors), dtype=dtype)


def test_scale_multiplies_once() -> None:
    embedding = load_embedding(MODEL, scale=2.5)
    assert same_bits(embedding.weight[2:].numpy(), MODEL.vectors * np.float32(2.5))
    np.testing.assert_allclose(embedding.weight[1].numpy(), 2.5 * MODEL.vectors.mean(axis=0), atol=1e-6)
    assert embedding.scale == 2.5


def test_max_norm_cuts_a_frozen_table_once_and_a_trained_one_in_use() -> None:
    frozen = load_embedding(MODEL, max_norm=1.5)
    lengths = np.linalg.norm(MODEL.vectors, axis=1)
    assert lengths.min() < 1.5 < lengths.max()
    cut = np.linalg.norm(frozen.weight[2:].numpy(), axis=1)
    np.testing.assert_allclose(cut, np.minimum(lengths, 1.5), rtol=1e-5)
    before = bits(frozen.weight)
    frozen(torch.arange(42))
    assert bits(frozen.weight) == before
    trained = load_embedding(MODEL, max_norm=1.5, freeze=False)
    assert same_bits(trained.weight.detach()[2:].numpy(), MODEL.vectors)
    with torch.no_grad():
        assert trained(torch.arange(42)).norm(dim=1).max() < 1.5 + 1e-5
    assert not trained.weight[0].any()


# -- ids --------------------------------------------------------------------------------------------------


def test_ids_at_the_edges() -> None:
    embedding = load_embedding(MODEL)
    rows = len(embedding.vocab)
    assert not embedding(torch.tensor(0)).any()
    assert same_bits(embedding(torch.tensor(rows - 1)).numpy(), MODEL.vectors[-1])
    for bad in (rows, -1):
        ids = torch.tensor([[0, 1], [2, bad]])
        message = (
            rf"id {bad} at \[1, 1\] is out of range: the table has {rows} rows, ids run from 0 to {rows - 1}"
        )
        with pytest.raises(TokenIdError, match=message) as caught:
            embedding(ids)
        assert isinstance(caught.value, IndexError)
        assert (caught.value.token_id, caught.value.place) == (bad, (1, 1))
        with pytest.raises(TokenIdError, match=f"id {bad} at"):
            embedding.vocab.check_ids(ids)
        with pytest.raises(TokenIdError, match=f"id {bad} at"):
            embedding.vocab.decode(ids)
    embedding.vocab.check_ids(torch.arange(rows))


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0)])
def test_empty_batches(shape: tuple[int, int]) -> None:
    embedding = load_embedding(MODEL)
    assert embedding(torch.zeros(shape, dtype=torch.int64)).shape == (*shape, 6)
    embedding.vocab.check_ids(torch.zeros(shape, dtype=torch.int64))


# -- training ---------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.05, weight_decay=0.3),
    "AdamW amsgrad": lambda parameters: torch.optim.AdamW(
        parameters, lr=0.05, weight_decay=0.3, amsgrad=True
    ),
    "SGD momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=0.1),
    "SGD nesterov": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True),
    "Adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=0.05, weight_decay=0.1),
    "RMSprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.01, momentum=0.9, weight_decay=0.1),
}
SPARSE_OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "SparseAdam": lambda parameters: torch.optim.SparseAdam(parameters, lr=0.05),
    "Adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=0.05),
}


def train(
    embedding: nn.Embedding, optimizer: Callable[[Any], torch.optim.Optimizer], steps: int = 100
) -> None:
    """Fit a linear classifier on the mean of padded sentences; the class is the parity of the first id."""
    torch.manual_seed(0)
    linear = nn.Linear(embedding.embedding_dim, 2)
    trained = [parameter for parameter in embedding.parameters() if parameter.requires_grad]
    optimizers: list[torch.optim.Optimizer] = [torch.optim.SGD(linear.parameters(), lr=0.05)]
    if trained:
        optimizers.append(optimizer(trained))
    losses = []
    for _ in range(steps):
        ids = torch.randint(1, embedding.num_embeddings, (16, 5))
        ids[:, 3:] = 0
        loss = nn.functional.cross_entropy(linear(embedding(ids).mean(dim=1)), ids[:, 0] % 2)
        for each in optimizers:
            each.zero_grad()
        torch.autograd.backward(loss)
        for each in optimizers:
            each.step()
        losses.append(loss.item())
    assert np.isfinite(losses).all()


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_the_padding_row_stays_zero_while_the_others_learn(name: str) -> None:
    embedding = load_embedding(MODEL, freeze=False)
    before = embedding.weight.detach().clone()
    train(embedding, OPTIMIZERS[name])
    assert bits(embedding.weight[0]) == bytes(4 * 6)
    assert (embedding.weight[1:] != before[1:]).any(dim=1).all()


@pytest.mark.parametrize("name", list(SPARSE_OPTIMIZERS))
# torch's own Adagrad makes sparse tensors without saying whether they are to be checked.
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_the_padding_row_stays_zero_with_sparse_gradients(name: str) -> None:
    embedding = load_embedding(MODEL, freeze=False, sparse=True)
    before = embedding.weight.detach().clone()
    train(embedding, SPARSE_OPTIMIZERS[name])
    assert embedding.weight.grad is not None
    assert embedding.weight.grad.is_sparse
    assert bits(embedding.weight[0]) == bytes(4 * 6)
    assert (embedding.weight[1:] != before[1:]).any(dim=1).all()


@pytest.mark.parametrize("name", ["AdamW", "SGD momentum"])
def test_a_frozen_table_stays_bit_for_bit_even_among_the_parameters_of_an_optimizer(name: str) -> None:
    embedding = load_embedding(MODEL)
    before = bits(embedding.weight)
    linear = nn.Linear(6, 2)
    optimizer = OPTIMIZERS[name]([*embedding.parameters(), *linear.parameters()])
    for _ in range(100):
        ids = torch.randint(0, 42, (16, 5))
        loss = nn.functional.cross_entropy(linear(embedding(ids).mean(dim=1)), ids[:, 0] % 2)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
    assert embedding.weight.grad is None
    assert bits(embedding.weight) == before


def test_fine_tuning_leaves_model_and_files_as_they_are(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m")
    model = w2v.load(tmp_path / "m")
    original = MODEL.vectors.copy()
    for source in (MODEL, model):
        embedding = load_embedding(source, freeze=False, max_norm=0.5)
        train(embedding, OPTIMIZERS["AdamW"], steps=20)
        with torch.no_grad():
            embedding.weight.fill_(7)
    assert same_bits(MODEL.vectors, original)
    assert same_bits(np.array(w2v.load(tmp_path / "m").vectors), original)


def test_gradients_reach_the_rows_that_were_used_and_no_padding() -> None:
    embedding = load_embedding(MODEL, freeze=False)
    embedding(torch.tensor([[2, 5, 0]])).sum().backward()
    assert embedding.weight.grad is not None
    assert embedding.weight.grad.abs().sum(dim=1).nonzero().flatten().tolist() == [2, 5]
    frozen = load_embedding(MODEL)
    assert not frozen(torch.tensor([[2]])).requires_grad


# -- copies, casts and state -------------------------------------------------------------------------------


@pytest.mark.parametrize("freeze", [True, False])
def test_freeze_and_padding_survive_state_dict_and_copies(freeze: bool) -> None:
    network = nn.Sequential(load_embedding(MODEL, freeze=freeze), nn.Linear(6, 2))
    buffer = io.BytesIO()
    torch.save(network.state_dict(), buffer)
    buffer.seek(0)
    state = torch.load(buffer, weights_only=True)
    assert list(state) == ["0.weight", "1.weight", "1.bias"]
    for assign in (False, True):
        other = nn.Sequential(load_embedding(MODEL, freeze=freeze, unknown_init="zero"), nn.Linear(6, 2))
        other.load_state_dict(state, assign=assign)
        _check_same(other[0], network[0], freeze)
    _check_same(copy.deepcopy(network)[0], network[0], freeze)
    plain = nn.Embedding(42, 6, padding_idx=0)
    plain.load_state_dict(load_embedding(MODEL).state_dict())
    assert not plain.weight[0].any()


def _check_same(embedding: nn.Module, original: nn.Module, freeze: bool) -> None:
    assert isinstance(embedding, WordEmbedding)
    assert isinstance(original, WordEmbedding)
    assert embedding.padding_idx == 0
    assert embedding.weight.requires_grad == (not freeze)
    assert bits(embedding.weight) == bits(original.weight)
    assert embedding.weight.data_ptr() != original.weight.data_ptr()
    assert not embedding.weight[0].any()


def test_a_deep_copy_shares_the_vocabulary_but_not_the_weight() -> None:
    embedding = load_embedding(MODEL, freeze=False)
    other = copy.deepcopy(embedding)
    assert other.vocab is embedding.vocab
    with torch.no_grad():
        other.weight.add_(1)
    assert same_bits(embedding.weight.detach()[2:].numpy(), MODEL.vectors)


@pytest.mark.parametrize(
    "change",
    [
        lambda module: module.half(),
        lambda module: module.to(torch.bfloat16),
        lambda module: module.double(),
        lambda module: module.to("meta"),
        lambda module: module.to("meta").to_empty(device="cpu"),
    ],
)
@pytest.mark.parametrize("freeze", [True, False])
def test_casts_and_devices_keep_padding_and_freeze(
    change: Callable[[nn.Module], nn.Module], freeze: bool
) -> None:
    embedding = change(load_embedding(MODEL, freeze=freeze))
    assert isinstance(embedding, WordEmbedding)
    assert embedding.padding_idx == 0
    assert embedding.weight.requires_grad == (not freeze)
    assert embedding.weight.shape == (42, 6)
    if not embedding.weight.is_meta and embedding.weight.dtype != torch.float32:
        assert not embedding.weight[0].any()
        assert (embedding(torch.tensor([[2]])) == embedding.weight[2]).all()


def test_a_table_made_on_the_meta_device() -> None:
    embedding = load_embedding(MODEL, device="meta")
    assert embedding.weight.is_meta
    assert embedding(torch.zeros((2, 3), dtype=torch.int64, device="meta")).shape == (2, 3, 6)


# -- bags -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
def test_a_bag_pools_the_same_rows_without_padding(mode: str) -> None:
    embedding = load_embedding(MODEL, freeze=False)
    bag = embedding.bag(mode)
    assert isinstance(bag, nn.EmbeddingBag)
    assert bag.weight is embedding.weight
    sentences = [WORDS[:3], [WORDS[5]], [], [*WORDS[7:9], "nowhere"]]
    ids, _ = embedding.vocab.encode(sentences)
    pooled = bag(ids).detach()
    for row, sentence in zip(pooled, sentences, strict=True):
        rows = embedding.weight[[embedding.vocab.token_id(word) for word in sentence]].detach()
        if not sentence:
            assert not row.any()
            continue
        expected = {"mean": rows.mean(0), "sum": rows.sum(0), "max": rows.amax(0)}[mode]
        torch.testing.assert_close(row, expected)
    bag(ids).sum().backward()
    assert embedding.weight.grad is not None
    assert not embedding.weight.grad[0].any()
    with pytest.raises(ConfigError, match="mode must be one of mean, sum, max"):
        embedding.bag("median")


def test_a_bag_agrees_with_text_vectors() -> None:
    embedding = load_embedding(MODEL)
    sentences = [WORDS[:3], [], WORDS[2:9]]
    pooled = embedding.bag()(embedding.vocab.encode(sentences).ids)
    np.testing.assert_allclose(pooled.numpy(), w2v.text_vectors(MODEL, sentences), atol=1e-6)


# -- the way back -----------------------------------------------------------------------------------------


def test_fine_tuned_weights_come_back_as_a_model() -> None:
    embedding = load_embedding(MODEL, freeze=False, specials=["<cls>"])
    with torch.no_grad():
        embedding.weight[embedding.vocab.token_id(WORDS[3])] = embedding.weight[
            embedding.vocab.token_id(WORDS[8])
        ]
    model = from_embedding(embedding)
    assert list(model.words) == WORDS
    assert (model.counts == MODEL.counts).all()
    assert model.neighbors(WORDS[3], 1)[0].word == WORDS[8]
    assert model.vectors.dtype == np.float32
    with torch.no_grad():
        embedding.weight.fill_(0)
    assert model.vectors.any()
    untouched = [i for i in range(40) if i != 3]
    assert same_bits(model.vectors[untouched], MODEL.vectors[untouched])


def test_the_way_back_from_any_embedding(tmp_path: Path) -> None:
    plain = nn.Embedding(3, 4).to(torch.bfloat16)
    for vocab in (["a", "b", "c"], Vocab(["a", "b", "c"], np.array([3, 2, 1]))):
        model = from_embedding(plain, vocab)
        assert list(model.words) == ["a", "b", "c"]
        assert torch.equal(torch.from_numpy(model.vectors), plain.weight.detach().float())
        model.save(tmp_path / "m")
        assert list(w2v.load(tmp_path / "m").words) == ["a", "b", "c"]
    with pytest.raises(ConfigError, match="give vocab="):
        from_embedding(plain)
    with pytest.raises(ConfigError, match="3 rows need as many tokens, got 1"):
        from_embedding(plain, ["a"])
    with torch.no_grad():
        plain.weight[1, 2] = float("nan")
    with pytest.raises(ConfigError, match="row 1 of the embedding holds NaN"):
        from_embedding(plain, ["a", "b", "c"])


def test_a_lower_cased_model_stays_one() -> None:
    model = Embeddings(MODEL.vocab, MODEL.vectors, origin=Origin.from_dict({"corpus": {"lowercase": True}}))
    assert load_embedding(model).vocab.lowercase
    assert from_embedding(load_embedding(model)).origin.is_lowercased
    assert not from_embedding(load_embedding(MODEL)).origin.is_lowercased


# -- compiled and exported ---------------------------------------------------------------------------------


def test_export_and_autocast() -> None:
    embedding = load_embedding(MODEL)
    ids = torch.tensor([[2, 5, 0], [1, 0, 0]])
    batch = torch.export.Dim("batch")
    program = torch.export.export(embedding, (ids,), dynamic_shapes=({0: batch},))
    assert torch.equal(program.module()(ids[:1]), embedding(ids[:1]))
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(embedding(ids), embedding.weight[ids])


def test_compiled_without_a_break() -> None:
    embedding = load_embedding(MODEL, freeze=False)
    ids = torch.tensor([[2, 5, 0], [1, 0, 0]])
    compiled = torch.compile(embedding, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(ids), embedding(ids))
    compiled(ids).sum().backward()
    assert embedding.weight.grad is not None
    assert not embedding.weight.grad[0].any()
    assert embedding.weight.grad[2].any()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("options", [{}, {"padding": None, "freeze": False}])
def test_torch_script(options: dict[str, Any]) -> None:
    from w2v.pytorch import OutputHead

    embedding = load_embedding(MODEL, **options)
    ids = torch.tensor([[2, 1], [0, 3]])
    assert torch.equal(torch.jit.script(embedding)(ids), embedding(ids))
    head = OutputHead(embedding)
    assert torch.equal(torch.jit.script(head)(embedding(ids)), head(embedding(ids)))
