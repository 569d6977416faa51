"""From a model, or any file of vectors, to a `WordEmbedding`: with its own vocabulary or someone else's."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from w2v.embeddings import Embeddings
from w2v.errors import ConfigError
from w2v.formats.foreign import Foreign, MatchReport, match, read_foreign
from w2v.formats.torch_folder import PADDING, UNKNOWN
from w2v.pytorch.embedding import WordEmbedding
from w2v.pytorch.options import TableOptions
from w2v.pytorch.saving import is_saved_embedding, open_saved
from w2v.pytorch.table import RANDOM, ZERO, build_table, init_code
from w2v.pytorch.vocabulary import Vocabulary

_LOG = logging.getLogger(__name__)


class Matched(NamedTuple):
    """What `match_vocabulary` makes."""

    embedding: WordEmbedding
    report: MatchReport


def load_embedding(
    model: Embeddings | str | Path,
    *,
    freeze: bool | None = None,
    padding: str | None = PADDING,
    unknown: str | None = UNKNOWN,
    specials: Sequence[str] = (),
    unknown_init: str = "mean",
    context: bool = False,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    sparse: bool | None = None,
    max_norm: float | None = None,
    scale: float = 1.0,
    seed: int = 0,
) -> WordEmbedding:
    """Load word vectors as an `nn.Embedding`.

    Rows: 0 `padding`, all zeros; 1 `unknown`; then `specials` in their order; then the words of the model.
    So word i of the model is row i + `vocab.n_specials`. With None a row is left out, and the rows below it
    move up. If the model itself has a word with the name of `unknown` or of a special token, the row of that
    word is used.

    Parameters
    ----------
    model : Embeddings or path-like
        A trained model, or a file or folder of any format that `w2v.load` opens, or a folder written by
        `save_embedding` or `w2v export --to torch`. Such a folder keeps its rows, dtype and settings; only
        `freeze`, `dtype`, `device`, `sparse`, `max_norm` and `scale` may be given with it.
    freeze : bool, optional
        Whether the weights stay fixed in training. Default: True; for a saved embedding, as it was saved.
    padding : str or None
        Token of the padding row, which is `padding_idx` and stays zero.
    unknown : str or None
        Token whose row is used for unknown words.
    specials : sequence of str
        More tokens, such as "<cls>". Their rows are initialised as "random", so each is different.
    unknown_init : {"mean", "zero", "random"}
        The row of `unknown`: mean of all word vectors, zeros, or drawn from a normal with their mean and
        standard deviation in each dimension.
    context : bool
        Load the context vectors (w_out, gensim's syn1neg) instead, for an output layer.
    dtype : torch.dtype, optional
        Default: float32; for a saved embedding, as it was saved.
    device : optional
        Device of the weight.
    sparse : bool, optional
        Sparse gradients, for SGD, SparseAdam or Adagrad. Default: False, or as the embedding was saved.
    max_norm : float, optional
        Rows longer than this are scaled down to it. For a frozen table this is done once, at loading; for a
        trained one `nn.Embedding` does it whenever rows are looked up.
    scale : float
        Multiplies the vectors, once, at loading.
    seed : int
        Of the random rows.

    Returns
    -------
    WordEmbedding
        An `nn.Embedding` on its own copy of the vectors. Its `vocab` turns sentences into ids.

    Raises
    ------
    ConfigError
        If a token occurs twice, or an option is out of range or does not apply to this source.
    FormatError, FileNotFoundError
        As in `w2v.load`; and if a vector is not finite, or too large for the dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from w2v import Embeddings, Vocab
    >>> from w2v.pytorch import load_embedding
    >>> model = Embeddings(Vocab(["big", "cat"], np.array([3, 2])), np.eye(2, dtype=np.float32))
    >>> embedding = load_embedding(model)
    >>> embedding
    WordEmbedding(4, 2, padding_idx=0)
    >>> ids, mask = embedding.vocab.encode(["big big cat", "small cat"])
    >>> ids
    tensor([[2, 2, 3],
            [1, 3, 0]])
    """
    options = TableOptions(freeze, dtype, device, sparse, max_norm, scale, seed)
    if isinstance(model, str | Path) and is_saved_embedding(model):
        changed = (padding, unknown, tuple(specials), unknown_init, context, seed)
        if changed != (PADDING, UNKNOWN, (), "mean", False, 0):
            raise ConfigError(
                f"{model}: a saved embedding has its rows already; padding, unknown, specials, unknown_init, "
                "context and seed are for models"
            )
        return open_saved(model, options)
    source = _open(model, context=context)
    front = _front(source, padding, unknown, specials)
    codes = {padding: ZERO, unknown: init_code(unknown_init)}
    codes_of_front = [codes.get(token, RANDOM) for token in front]
    rows = np.concatenate([np.array(codes_of_front, np.int64), np.arange(len(source))])
    vocab = _vocabulary(source, front, padding, unknown)
    return _make(source, vocab, rows, options, table="context" if context else "vectors")


def match_vocabulary(
    model: Embeddings | str | Path,
    vocabulary: Foreign,
    *,
    fold_case: bool = False,
    padding: str | None = None,
    unknown: str | None = None,
    unknown_init: str = "mean",
    freeze: bool = True,
    context: bool = False,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    sparse: bool = False,
    max_norm: float | None = None,
    scale: float = 1.0,
    seed: int = 0,
) -> Matched:
    """Load word vectors as an `nn.Embedding` for someone else's vocabulary: row i is their token i.

    Parameters
    ----------
    model : Embeddings or path-like
        A trained model, or a file or folder of any format that `w2v.load` opens.
    vocabulary : path-like, sequence of str, mapping of str to int, or object with `get_itos()`
        Tokens in the order of their ids, or with their ids, which must be 0 to R - 1, each once. A file is
        a list of words, JSON `{word: id}` or `[word, ...]`, or a Hugging Face `tokenizer.json`. Marks for the
        start of a word are removed before matching; pieces from inside words match nothing.
    fold_case : bool
        If a token is not a word of the model, use the most frequent word that differs only in letter case.
    padding, unknown : str, optional
        Their tokens. Default: those that tokenizer.json names, else `<pad>`, `[PAD]` and the like, if they
        are there. The padding row is zero and `padding_idx`.
    unknown_init : {"mean", "zero", "random"}
        Rows of tokens that are not words of the model. Mean and deviation are those of the matched rows.
    freeze, context, dtype, device, sparse, max_norm, scale, seed
        As in `load_embedding`.

    Returns
    -------
    Matched
        `embedding` and `report`: how many tokens matched exactly, after case folding, and not at all.

    Raises
    ------
    ConfigError
        If an id is missing or occurs twice, or no token is a word of the model.
    FormatError, FileNotFoundError
        If a file cannot be read as a model or a vocabulary.
    """
    options = TableOptions(freeze, dtype, device, sparse, max_norm, scale, seed)
    foreign = read_foreign(vocabulary, padding=padding, unknown=unknown)
    source = _open(model, context=context)
    rows, report = match(source.vocab, foreign, fold_case=fold_case, unmatched=init_code(unknown_init))
    if report.n_tokens and report.unmatched == report.n_tokens:
        raise ConfigError(
            f"none of the {report.n_tokens} tokens is a word of the model: "
            f"{', '.join(map(repr, report.unmatched_examples))}; are these the right two?"
        )
    if foreign.padding_id is not None:
        rows[foreign.padding_id] = ZERO
    counts = np.where(rows >= 0, source.counts[np.maximum(rows, 0)], 0) if source.counts.any() else None
    vocab = Vocabulary(foreign.tokens, foreign.padding_id, foreign.unknown_id, counts=counts)
    embedding = _make(source, vocab, rows, options, table="context" if context else "vectors")
    return Matched(embedding, report)


def _open(model: Embeddings | str | Path, *, context: bool) -> Embeddings:
    if isinstance(model, str | Path):
        from w2v.embeddings import load

        model = load(model)
    if not isinstance(model, Embeddings):
        raise ConfigError(
            f"expected a model or the path of one, got {type(model).__name__}; gensim's go through "
            "w2v.from_gensim"
        )
    return model.context_only() if context else model


def _front(model: Embeddings, padding: str | None, unknown: str | None, specials: Sequence[str]) -> list[str]:
    """Return the tokens that go before the words."""
    if isinstance(specials, str):
        raise ConfigError(f"specials must be a list of tokens; got the text {specials!r}")
    named = [token for token in (padding, unknown, *specials) if token is not None]
    twice = next((token for i, token in enumerate(named) if token in named[:i]), None)
    if twice is not None:
        raise ConfigError(f"the special token {twice!r} is named twice")
    rows = {token: model.vocab.find(token) for token in named}
    if padding is not None and rows[padding] is not None:
        raise ConfigError(
            f"the model has the word {padding!r} itself, in row {rows[padding]}; name another token, "
            "such as padding='[PAD]'"
        )
    if used := [token for token in named if rows[token] is not None]:
        _LOG.info("words of the model are used as special tokens: %s", ", ".join(map(repr, used)))
    return [token for token in named if rows[token] is None]


def _vocabulary(model: Embeddings, front: list[str], padding: str | None, unknown: str | None) -> Vocabulary:
    def place(token: str | None) -> int | None:
        if token is None:
            return None
        return front.index(token) if token in front else len(front) + model.word_id(token)

    counts = None
    if model.counts.any():
        counts = np.concatenate([np.zeros(len(front), np.int64), model.counts])
    return Vocabulary(
        [*front, *model.words],
        place(padding),
        place(unknown),
        len(front),
        lowercase=model.origin.is_lowercased,
        reading=model.origin.reading,
        counts=counts,
    )


def _make(
    model: Embeddings, vocab: Vocabulary, rows: NDArray[np.int64], options: TableOptions, *, table: str
) -> WordEmbedding:
    return WordEmbedding(
        build_table(model.vectors, rows, options),
        vocab,
        freeze=options.is_frozen,
        sparse=bool(options.sparse),
        max_norm=options.max_norm_in_forward,
        scale=options.scale,
        provenance={"table": table, "model": model.origin.as_dict()},
    )
