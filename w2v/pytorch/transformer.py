"""The input layer of a Transformer on pretrained vectors, and the output layer tied to it."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from w2v.errors import ConfigError
from w2v.pytorch.embedding import look_up

POSITIONS = ("sinusoidal", "learned")
# Of learned positions and segments: Devlin et al. 2019, their released code.
_INIT_DEVIATION = 0.02


class TransformerEmbedding(nn.Module):
    """The input layer of a Transformer: token + position + segment.

    With token vectors e(t), x(i) = project(e(t_i)) · sqrt(d_model) + position(i) + segment(s_i), then layer
    normalisation, then dropout. Every part except the token vectors is optional.

    - Vaswani et al. 2017, sections 3.4 and 3.5, is the default: scaled tokens, sinusoidal positions, dropout.
    - Devlin et al. 2019 (BERT): `scale=False, positions="learned", n_segments=2, layer_norm=True`.
    - Lan et al. 2020 (ALBERT), section 3.1: vectors narrower than the model, V x E, are projected, E x H.
      Here positions and segments are added after the projection, at the width of the model.

    Parameters
    ----------
    embedding : nn.Embedding of R rows, width E
        Used as it is, frozen or not; not copied.
    d_model : int, optional
        H, the width of the model; by default E. If it is not E, token vectors are projected by a linear map
        without bias. If H > E it starts with orthonormal columns, which preserves lengths and inner products
        of the pretrained vectors; if H < E with orthonormal rows times sqrt(E / H), which preserves them on
        average. Padding stays zero.
    max_length : int
        The longest sequence, in tokens, if there are positions.
    positions : {"sinusoidal", "learned"} or None
    scale : bool
        Multiply token vectors by sqrt(d_model). This is meant for rows of length about 1: a sinusoidal
        position has length sqrt(d_model / 2). Rows that w2v has trained are longer; load them with
        `scale=1 / model.norms.mean()`, or set this to False.
    n_segments : int
        Rows of the segment table; 0 means no segments.
    layer_norm : bool
        With eps = 1e-12, as BERT.
    dropout : float
        Probability that an entry is set to zero in training.

    Raises
    ------
    ConfigError
        If an option is out of range.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from w2v.pytorch import TransformerEmbedding
    >>> layer = TransformerEmbedding(nn.Embedding(100, 16, padding_idx=0), d_model=64)
    >>> layer(torch.ones(2, 7, dtype=torch.int64)).shape
    torch.Size([2, 7, 64])
    """

    position_table: Tensor | nn.Parameter | None

    def __init__(
        self,
        embedding: nn.Embedding,
        d_model: int | None = None,
        *,
        max_length: int = 512,
        positions: str | None = "sinusoidal",
        scale: bool = True,
        n_segments: int = 0,
        layer_norm: bool = False,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        width = embedding.embedding_dim
        self.d_model = width if d_model is None else d_model
        _check(self.d_model, max_length, positions, n_segments, dropout)
        like = embedding.weight
        self.embedding = embedding
        self.max_length = max_length
        self.token_scale = math.sqrt(self.d_model) if scale else 1.0
        self.projection = None if self.d_model == width else _near_isometry(width, self.d_model, like)
        self.positions = positions
        if positions == "learned":
            self.position_table = nn.Parameter(_normal(max_length, self.d_model, like))
        else:
            table = None
            if positions == "sinusoidal":
                table = sinusoidal_positions(max_length, self.d_model).to(like)
            self.register_buffer("position_table", table, persistent=False)
        self.segment_table = None
        if n_segments:
            self.segment_table = nn.Parameter(_normal(n_segments, self.d_model, like))
        self.layer_norm = nn.LayerNorm(self.d_model, eps=1e-12).to(like) if layer_norm else None
        self.dropout = nn.Dropout(dropout)

    def extra_repr(self) -> str:
        """Return what `repr` shows of it."""
        return f"d_model={self.d_model}, max_length={self.max_length}, positions={self.positions!r}"

    def forward(self, ids: Tensor, segments: Tensor | None = None) -> Tensor:
        """Embed a batch of sequences.

        Parameters
        ----------
        ids : Tensor of int64, shape (batch, length)
            0 <= id < R, length <= max_length. Positions are counted from the left, padding included.
        segments : Tensor of int64, shape (batch, length), optional
            0 <= segment < n_segments; by default all 0.

        Returns
        -------
        Tensor, shape (batch, length, d_model)

        Raises
        ------
        ConfigError
            If the sequence is too long, or the shapes do not match.
        TokenIdError
            If a token or segment id is out of range, on the CPU.
        """
        if ids.dim() != 2:
            raise ConfigError(f"expected ids of shape (batch, length), got {tuple(ids.shape)}")
        length = ids.shape[1]
        if self.position_table is not None and length > self.max_length:
            raise ConfigError(
                f"the sequences have {length} tokens, but there are positions for {self.max_length}; cut "
                "them (encode(..., max_length=...)) or raise max_length"
            )
        x: Tensor = self.embedding(ids)
        if self.projection is not None:
            x = self.projection(x)
        x = x * self.token_scale
        if self.position_table is not None:
            x = x + self.position_table[:length]
        x = self._add_segments(x, ids, segments)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        output: Tensor = self.dropout(x)
        return output

    def _add_segments(self, x: Tensor, ids: Tensor, segments: Tensor | None) -> Tensor:
        if self.segment_table is None:
            if segments is not None:
                raise ConfigError("segments were given to a layer with n_segments=0")
            return x
        if segments is None:
            return x + self.segment_table[0]
        if segments.shape != ids.shape:
            raise ConfigError(f"expected segments of shape {tuple(ids.shape)}, got {tuple(segments.shape)}")
        return x + look_up(segments, self.segment_table)

    def logits(self, hidden: Tensor) -> Tensor:
        """Score every token with the tied table: hidden · Eᵀ, through the projection if there is one.

        Parameters
        ----------
        hidden : Tensor, shape (*, d_model)

        Returns
        -------
        Tensor, shape (*, R)
            Before softmax. With a projection P (H x E), this is (hidden · P) · Eᵀ. The logit of padding is 0,
            and its row gets no gradient.
        """
        if self.projection is not None:
            hidden = functional.linear(hidden, self.projection.weight.T)
        return _tied(hidden, self.embedding.weight, self.embedding.padding_idx)


class OutputHead(nn.Module):
    """An output layer that shares the weight of an embedding: logits h · Eᵀ of every token.

    Parameters
    ----------
    embedding : nn.Embedding of R rows, width D
        For example `load_embedding(model, context=True)`.
    """

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding

    def forward(self, hidden: Tensor) -> Tensor:
        """Return logits, shape (*, R), of hidden states, shape (*, D); the padding token's is 0."""
        return _tied(hidden, self.embedding.weight, self.embedding.padding_idx)


def sinusoidal_positions(max_length: int, d_model: int) -> Tensor:
    """Return the positions of Vaswani et al. 2017, section 3.5.

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model)).

    Returns
    -------
    Tensor of float64, shape (max_length, d_model)
    """
    places = torch.arange(max_length, dtype=torch.float64)[:, None]
    rates = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10_000) / d_model))
    table = torch.empty((max_length, d_model), dtype=torch.float64)
    table[:, 0::2] = torch.sin(places * rates)
    table[:, 1::2] = torch.cos(places * rates[: d_model // 2])
    return table


def _check(d_model: int, max_length: int, positions: str | None, n_segments: int, dropout: float) -> None:
    for name, value, least in (
        ("d_model", d_model, 1),
        ("max_length", max_length, 1),
        ("n_segments", n_segments, 0),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigError(f"{name} must be a whole number of at least {least}; got {value!r}")
    if positions is not None and positions not in POSITIONS:
        raise ConfigError(f"positions must be one of {', '.join(POSITIONS)} or None; got {positions!r}")
    if not 0 <= dropout <= 1:
        raise ConfigError(f"dropout must be 0 to 1; got {dropout!r}")


def _normal(rows: int, d_model: int, like: Tensor) -> Tensor:
    return torch.empty((rows, d_model), dtype=like.dtype, device=like.device).normal_(0.0, _INIT_DEVIATION)


def _near_isometry(width: int, d_model: int, like: Tensor) -> nn.Linear:
    weight = torch.empty((d_model, width))
    nn.init.orthogonal_(weight, gain=math.sqrt(max(1.0, width / d_model)))
    projection = nn.Linear(width, d_model, bias=False, device="meta")
    projection.weight = nn.Parameter(weight.to(like))
    return projection


def _tied(hidden: Tensor, weight: Tensor, padding_id: int | None) -> Tensor:
    logits = functional.linear(hidden, weight)
    if padding_id is not None:
        # It is zero already, because the row is. Writing it stops the gradient, so the row stays zero.
        logits[..., padding_id] = 0
    return logits
