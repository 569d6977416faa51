"""The Transformer's input layer against its formulas in plain torch; tied head; compiled, exported, cast."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from vector_strategies import some_model

from w2v import ConfigError, Embeddings, TokenIdError

pytest.importorskip("torch")
import torch
from torch import Tensor, nn

from w2v.pytorch import OutputHead, TransformerEmbedding, load_embedding
from w2v.pytorch.transformer import sinusoidal_positions

torch.set_num_threads(1)  # the tables are tiny, and threads wait for each other on a busy machine

MODEL = some_model(40, 8)
IDS = torch.tensor([[2, 5, 41, 0], [1, 7, 0, 0]])
SEGMENTS = torch.tensor([[0, 0, 1, 1], [0, 1, 0, 0]])


def layer(width: int | None = None, *, freeze: bool = True, **options: Any) -> TransformerEmbedding:
    torch.manual_seed(0)
    made = TransformerEmbedding(load_embedding(MODEL, freeze=freeze), width, **options)
    return made.eval()


def formula(made: TransformerEmbedding, ids: Tensor, segments: Tensor | None, *, scale: bool) -> Tensor:
    """Write the layer out, token by token, in float64."""
    rows = []
    for i, sequence in enumerate(ids.tolist()):
        for position, token in enumerate(sequence):
            x = made.embedding.weight[token].double()
            if made.projection is not None:
                x = made.projection.weight.double() @ x
            if scale:
                x = x * math.sqrt(made.d_model)
            if made.positions == "sinusoidal":
                x = x + positions_by_hand(position, made.d_model)
            elif made.positions == "learned":
                assert made.position_table is not None
                x = x + made.position_table[position].double()
            if made.segment_table is not None:
                x = x + made.segment_table[0 if segments is None else segments[i, position]].double()
            if made.layer_norm is not None:
                x = (x - x.mean()) / (x.var(unbiased=False) + 1e-12).sqrt()
                x = x * made.layer_norm.weight.double() + made.layer_norm.bias.double()
            rows.append(x)
    return torch.stack(rows).reshape(*ids.shape, made.d_model)


def positions_by_hand(position: int, d_model: int) -> Tensor:
    values = []
    for i in range(d_model):
        angle = position / 10000 ** (2 * (i // 2) / d_model)
        values.append(math.sin(angle) if i % 2 == 0 else math.cos(angle))
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("width", [None, 8, 20, 5])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", None])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(("n_segments", "given"), [(0, False), (2, False), (2, True)])
@pytest.mark.parametrize("layer_norm", [True, False])
def test_the_layer_is_its_formula(
    width: int | None, positions: str | None, scale: bool, n_segments: int, given: bool, layer_norm: bool
) -> None:
    made = layer(width, positions=positions, scale=scale, n_segments=n_segments, layer_norm=layer_norm)
    segments = SEGMENTS if given else None
    output = made(IDS, segments)
    assert output.shape == (2, 4, width or 8)
    assert output.dtype == torch.float32
    torch.testing.assert_close(
        output.double(), formula(made, IDS, segments, scale=scale), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("d_model", [1, 2, 7, 512])
def test_sinusoidal_positions_are_the_paper(d_model: int) -> None:
    table = sinusoidal_positions(30, d_model)
    expected = torch.stack([positions_by_hand(position, d_model) for position in range(30)])
    torch.testing.assert_close(table, expected, rtol=0, atol=1e-12)


def test_dropout_is_last_and_only_in_training() -> None:
    made = layer(20, dropout=0.5)
    still = made(IDS)
    torch.manual_seed(1)
    moved = made.train()(IDS)
    kept = moved != 0
    assert 0.3 < kept.float().mean() < 0.7
    torch.testing.assert_close(moved[kept], 2 * still[kept])


@pytest.mark.parametrize("width", [8, 9, 64])
def test_a_wider_projection_keeps_lengths_and_inner_products(width: int) -> None:
    made = layer(width, positions=None, scale=False)
    seen = made(torch.arange(42)[None])[0]
    table = made.embedding.weight
    torch.testing.assert_close(seen @ seen.T, table @ table.T, rtol=1e-4, atol=1e-4)
    assert not seen[0].any()


def test_a_narrower_projection_keeps_lengths_on_average() -> None:
    model = some_model(2000, 64)
    torch.manual_seed(0)
    made = TransformerEmbedding(load_embedding(model), 16, positions=None, scale=False).eval()
    seen = made(torch.arange(2, 2002)[None])[0]
    ratio = (seen**2).sum() / (made.embedding.weight[2:] ** 2).sum()
    # Standard deviation over the seeds of the projection: under 0.02.
    assert abs(ratio - 1) < 0.1
    assert made.projection is not None
    gram = made.projection.weight @ made.projection.weight.T
    torch.testing.assert_close(gram, torch.eye(16) * 4, rtol=0, atol=1e-4)


def test_learned_tables_are_drawn_as_in_bert() -> None:
    made = layer(256, positions="learned", n_segments=300)
    assert isinstance(made.position_table, nn.Parameter)
    assert isinstance(made.segment_table, nn.Parameter)
    for table in (made.position_table, made.segment_table):
        assert abs(table.mean()) < 1e-3
        assert abs(table.std() - 0.02) < 1e-3
    assert set(layer(20, n_segments=2).state_dict()) == {
        "embedding.weight",
        "projection.weight",
        "segment_table",
    }


# -- what is refused --------------------------------------------------------------------------------------


def test_too_long_a_sequence_is_refused() -> None:
    for positions in ("sinusoidal", "learned"):
        made = layer(max_length=4, positions=positions)
        assert made(IDS).shape == (2, 4, 8)
        with pytest.raises(ConfigError, match="have 5 tokens, but there are positions for 4"):
            made(torch.zeros((1, 5), dtype=torch.int64))
    endless = layer(max_length=4, positions=None)
    assert endless(torch.zeros((1, 5), dtype=torch.int64)).shape == (1, 5, 8)


def test_ids_and_segments_that_do_not_fit_are_named() -> None:
    made = layer(n_segments=2)
    with pytest.raises(TokenIdError, match=r"id 42 at \[0, 1\] is out of range: the table has 42 rows"):
        made(torch.tensor([[1, 42]]))
    with pytest.raises(TokenIdError, match=r"id 2 at \[0, 0\] is out of range: the table has 2 rows"):
        made(torch.tensor([[1, 2]]), torch.tensor([[2, 0]]))
    with pytest.raises(ConfigError, match=r"expected segments of shape \(2, 4\), got \(2, 3\)"):
        made(IDS, SEGMENTS[:, :3])
    with pytest.raises(ConfigError, match="n_segments=0"):
        layer()(IDS, SEGMENTS)
    with pytest.raises(ConfigError, match=r"expected ids of shape \(batch, length\), got \(4,\)"):
        made(IDS[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 0}, "d_model must be a whole number of at least 1"),
        ({"d_model": 2.0}, "d_model must be a whole number"),
        ({"max_length": 0}, "max_length must be a whole number of at least 1"),
        ({"n_segments": -1}, "n_segments must be a whole number of at least 0"),
        ({"positions": "rotary"}, "positions must be one of sinusoidal, learned or None"),
        ({"dropout": 1.5}, "dropout must be 0 to 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TransformerEmbedding(load_embedding(MODEL), **options)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0)])
def test_empty_batches(shape: tuple[int, int]) -> None:
    made = layer(20, n_segments=2, layer_norm=True)
    assert made(torch.zeros(shape, dtype=torch.int64)).shape == (*shape, 20)
    assert made.logits(torch.zeros((*shape, 20))).shape == (*shape, 42)


# -- the tied head ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [8, 20, 5])
def test_tied_logits_are_h_times_the_table_through_the_projection(width: int) -> None:
    made = layer(width)
    hidden = torch.randn(2, 4, width)
    back = hidden if made.projection is None else hidden @ made.projection.weight
    torch.testing.assert_close(made.logits(hidden), back @ made.embedding.weight.T)
    assert not made.logits(hidden)[..., 0].any()


def test_the_context_table_as_output_layer() -> None:
    model = Embeddings(MODEL.vocab, MODEL.vectors, MODEL.vectors[::-1].copy())
    head = OutputHead(load_embedding(model, context=True))
    hidden = torch.randn(3, 8)
    torch.testing.assert_close(head(hidden)[:, 2:], hidden @ torch.from_numpy(MODEL.vectors[::-1].copy()).T)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("width", [8, 20])
def test_a_language_model_with_tied_head_learns_and_its_padding_row_stays_zero(
    width: int, sparse: bool
) -> None:
    torch.manual_seed(0)
    embedding = load_embedding(MODEL, freeze=False, sparse=sparse)
    made = TransformerEmbedding(embedding, width, dropout=0.0)
    block = nn.TransformerEncoderLayer(width, 2, 16, dropout=0.0, batch_first=True)
    optimizer = torch.optim.AdamW([*made.parameters(), *block.parameters()], lr=0.01, weight_decay=0.3)
    before = embedding.weight.detach().clone()
    losses = []
    for _ in range(100):
        ids = torch.randint(1, 42, (8, 6))
        ids[:, 4:] = 0
        logits = made.logits(block(made(ids)))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    assert embedding.weight.detach()[0].numpy().tobytes() == bytes(4 * 8)
    assert (embedding.weight[1:] != before[1:]).any(dim=1).all()


def test_a_frozen_table_lets_the_rest_learn() -> None:
    made = layer(20, positions="learned", n_segments=2, layer_norm=True)
    torch.autograd.backward(made.logits(made(IDS, SEGMENTS)).square().sum())
    assert made.embedding.weight.grad is None
    for name, parameter in made.named_parameters():
        assert (parameter.grad is not None) == (name != "embedding.weight"), name


# -- copies, casts, compilers -----------------------------------------------------------------------------


def everything(**options: Any) -> TransformerEmbedding:
    return layer(20, n_segments=2, layer_norm=True, **options)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_state_and_copies(positions: str) -> None:
    made = everything(positions=positions)
    other = TransformerEmbedding(
        load_embedding(MODEL, unknown_init="zero"), 20, n_segments=2, layer_norm=True, positions=positions
    ).eval()
    other.load_state_dict(made.state_dict())
    for copied in (other, copy.deepcopy(made)):
        assert torch.equal(copied(IDS, SEGMENTS), made(IDS, SEGMENTS))
        assert not copied.embedding.weight.requires_grad
        assert copied.embedding.padding_idx == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_the_whole_layer_has_the_dtype_of_the_table(dtype: torch.dtype) -> None:
    made = TransformerEmbedding(load_embedding(MODEL, dtype=dtype), 20, n_segments=2, layer_norm=True).eval()
    assert made(IDS, SEGMENTS).dtype == dtype
    cast = everything().to(dtype)
    assert cast(IDS, SEGMENTS).dtype == dtype
    assert cast.embedding.padding_idx == 0
    torch.testing.assert_close(cast(IDS).float(), everything()(IDS), rtol=0.05, atol=0.05)
    assert everything().to("meta")(IDS.to("meta")).shape == (2, 4, 20)


def test_autocast_to_bfloat16() -> None:
    made = everything()
    with torch.autocast("cpu", torch.bfloat16):
        output = made(IDS, SEGMENTS)
        logits = made.logits(output)
    torch.testing.assert_close(output.float(), made(IDS, SEGMENTS), rtol=0.05, atol=0.05)
    assert logits.dtype == torch.bfloat16
    assert not logits[..., 0].any()


class WithHead(nn.Module):
    """Ids in, logits out."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = everything(freeze=False, max_length=16)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        """Return the logits."""
        return self.layer.logits(self.layer(ids, segments))


def test_compiled_without_a_break() -> None:
    made = WithHead()
    compiled = torch.compile(made, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(IDS, SEGMENTS), made(IDS, SEGMENTS))
    torch.autograd.backward(compiled(IDS, SEGMENTS).square().sum())
    gradient = made.layer.embedding.weight.grad
    assert gradient is not None
    assert not gradient[0].any()
    assert gradient[1:].any(dim=1).all()


def test_exported_with_any_batch_and_length() -> None:
    made = WithHead()
    shape = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=16)}
    program = torch.export.export(made, (IDS, SEGMENTS), dynamic_shapes=(shape, shape))
    for ids, segments in ((IDS, SEGMENTS), (IDS[:1, :3], SEGMENTS[:1, :3])):
        torch.testing.assert_close(program.module()(ids, segments), made(ids, segments))
