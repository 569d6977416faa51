"""WordEmbedding: an `nn.Embedding` that carries its vocabulary; its bags, and the way back to a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.jit import is_scripting  # type: ignore[attr-defined]
from torch.nn import functional

from w2v.embeddings import Embeddings
from w2v.errors import ConfigError
from w2v.pytorch.vocabulary import Vocabulary, check_ids
from w2v.vectors.origin import Origin
from w2v.vectors.vocab import Vocab

_ROWS_AT_ONCE = 8192
BAG_MODES = ("mean", "sum", "max")


class WordEmbedding(nn.Embedding):
    """An `nn.Embedding` that carries its vocabulary and names an id that is out of range.

    Everything else is as in `nn.Embedding`: parameters, `state_dict`, results. The padding row stays zero
    because of `padding_idx`: its gradient is zero, and weight decay of zero is zero. A frozen table has
    `requires_grad` False; optimizers skip it, and `load_state_dict` does not change the flag.

    Parameters
    ----------
    weight : Tensor of float, shape (R, D)
        Becomes the parameter; not copied.
    vocab : Vocabulary
        Its R tokens.
    freeze : bool
    sparse : bool
        Whether gradients are sparse tensors; works with SGD, SparseAdam and Adagrad.
    max_norm : float, optional
        As in `nn.Embedding`: longer rows are scaled down to this length, in place, when they are looked up.
    scale : float
        What the vectors were multiplied by when they were loaded, for the record.
    provenance : mapping, optional
        Where the vectors come from, for the record.
    """

    def __init__(
        self,
        weight: Tensor,
        vocab: Vocabulary,
        *,
        freeze: bool,
        sparse: bool = False,
        max_norm: float | None = None,
        scale: float = 1.0,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        rows, dimensions = weight.shape
        if rows != len(vocab):
            raise ConfigError(f"a table of {rows} rows has a vocabulary of {len(vocab)} tokens")
        super().__init__(rows, dimensions, vocab.padding_id, max_norm=max_norm, sparse=sparse, device="meta")
        self.weight = nn.Parameter(weight, requires_grad=not freeze)
        self.vocab = vocab
        self.scale = scale
        self.provenance = dict(provenance or {})

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the name in nn.Embedding
        """Look up the rows of ids.

        Parameters
        ----------
        input : Tensor of int, any shape (*)
            0 <= id < R.

        Returns
        -------
        Tensor, shape (*, D)

        Raises
        ------
        TokenIdError
            If an id is out of range, on the CPU; see `Vocabulary.check_ids` for accelerators.
        """
        if is_scripting():  # TorchScript knows no super()
            return functional.embedding(
                input, self.weight, self.padding_idx, self.max_norm, self.norm_type, sparse=self.sparse
            )
        if torch.compiler.is_compiling():
            return super().forward(input)
        with _named_ids(input, self.num_embeddings):
            return super().forward(input)

    def bag(self, mode: str = "mean") -> nn.EmbeddingBag:
        """Return an `nn.EmbeddingBag` on the same weight, not a copy: one vector a sentence.

        Parameters
        ----------
        mode : {"mean", "sum", "max"}
            How the vectors of a sentence are pooled. Padding is ignored: a mean is over real tokens, and a
            sentence that is all padding gives zeros.
        """
        if mode not in BAG_MODES:
            raise ConfigError(f"mode must be one of {', '.join(BAG_MODES)}; got {mode!r}")
        bag = nn.EmbeddingBag(
            self.num_embeddings,
            self.embedding_dim,
            mode=mode,
            max_norm=self.max_norm,
            sparse=self.sparse,
            padding_idx=self.padding_idx,
            device="meta",
        )
        bag.weight = self.weight
        return bag


def look_up(ids: Tensor, table: Tensor) -> Tensor:
    """Return rows of a plain table, as `functional.embedding`, with an id that is out of range named."""
    if torch.compiler.is_compiling():
        return functional.embedding(ids, table)
    with _named_ids(ids, len(table)):
        return functional.embedding(ids, table)


@contextmanager
def _named_ids(ids: Tensor, n_rows: int) -> Iterator[None]:
    """Name the id when torch says only that some index is out of range."""
    try:
        yield
    except IndexError:
        check_ids(ids, n_rows)
        raise


def from_embedding(
    embedding: nn.Embedding, vocab: Vocabulary | Vocab | Sequence[str] | None = None
) -> Embeddings:
    """Turn an embedding table, such as a fine-tuned one, back into a w2v model.

    Parameters
    ----------
    embedding : nn.Embedding of R rows
    vocab : Vocabulary, Vocab or sequence of str, length R, optional
        Row i is token i; by default the embedding's own. Rows of padding, unknown and special tokens are left
        out.

    Returns
    -------
    Embeddings
        A float32 copy, on the CPU, with the counts of the vocabulary where it has them.

    Raises
    ------
    ConfigError
        If there is no vocabulary, it has another length than the table, or a number is not finite.
    """
    tokens = vocab if vocab is not None else getattr(embedding, "vocab", None)
    if tokens is None:
        raise ConfigError("a plain nn.Embedding does not know its words; give vocab=")
    if isinstance(tokens, str) or len(tokens) != embedding.num_embeddings:
        raise ConfigError(f"{embedding.num_embeddings} rows need as many tokens, got {len(tokens)}")
    vectors = embedding.weight.detach().to("cpu", torch.float32, copy=True).numpy()
    if (row := row_not_finite(embedding.weight)) is not None:
        raise ConfigError(f"row {row} of the embedding holds NaN or infinity; did its training diverge?")
    origin = Origin(source={"format": "torch", **getattr(embedding, "provenance", {})})
    if not isinstance(tokens, Vocabulary):
        words = tokens if isinstance(tokens, Vocab) else Vocab(list(tokens), np.zeros(len(tokens), np.int64))
        return Embeddings(words, vectors, origin=origin)
    source = {**origin.source, "lowercase": tokens.lowercase}
    return _words_only(tokens, vectors, Origin(source=source, reading=tokens.reading))


def row_not_finite(weight: Tensor) -> int | None:
    """Return the first row that holds NaN or infinity, or None."""
    for start in range(0, len(weight), _ROWS_AT_ONCE):
        finite = torch.isfinite(weight[start : start + _ROWS_AT_ONCE].float())
        if not finite.all():
            return start + int(finite.all(dim=1).logical_not().nonzero()[0])
    return None


def _words_only(vocab: Vocabulary, vectors: Any, origin: Origin) -> Embeddings:
    counts = np.zeros(len(vocab), np.int64) if vocab.counts is None else vocab.counts
    model = Embeddings(Vocab(vocab.tokens, counts), vectors, origin=origin)
    left_out = {vocab.padding_id, vocab.unknown_id}
    if left_out <= {None, *range(vocab.n_specials)}:
        return model.rows(slice(vocab.n_specials, None))
    return model.rows([row for row in range(vocab.n_specials, len(vocab)) if row not in left_out])
