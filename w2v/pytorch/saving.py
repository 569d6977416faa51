"""Embeddings in files: a folder of safetensors and JSON, and a `.pt` for `torch.load(weights_only=True)`."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from w2v.errors import ConfigError, FormatError, MissingExtraError
from w2v.files.atomic import new_file
from w2v.files.json_objects import dump_json
from w2v.formats.safetensors_file import Tensor as StoredTensor
from w2v.formats.source import part_of
from w2v.formats.torch_folder import (
    CONFIG,
    TENSOR,
    VOCAB,
    WEIGHT,
    Table,
    TorchFolder,
    is_torch_folder,
    read_parts,
    write_table,
)
from w2v.pytorch.embedding import WordEmbedding, row_not_finite
from w2v.pytorch.options import TableOptions
from w2v.pytorch.vocabulary import Vocabulary
from w2v.system.version import __version__

_LOG = logging.getLogger(__name__)

is_saved_embedding = is_torch_folder
# How safetensors calls a dtype, and one of the same size that numpy knows.
_STORED = {
    torch.float64: ("F64", torch.float64),
    torch.float32: ("F32", torch.float32),
    torch.float16: ("F16", torch.float16),
    torch.bfloat16: ("BF16", torch.int16),
    torch.float8_e4m3fn: ("F8_E4M3", torch.uint8),
    torch.float8_e5m2: ("F8_E5M2", torch.uint8),
}


def save_embedding(embedding: WordEmbedding, path: str | Path) -> None:
    """Write a folder that `load_embedding` reads: whole, or not at all.

    It contains `embedding.safetensors` (one tensor, `weight`, which `load_state_dict` of any `nn.Embedding`
    of its size accepts), `vocab.json` (`{token: row}`), `config.json` (freeze, padding, specials, scale,
    origin) and, if the counts of the words are known, `counts.npy`.

    Parameters
    ----------
    embedding : WordEmbedding
        On any device; of any dtype.
    path : path-like
        A folder that `save_embedding` wrote before is replaced.

    Raises
    ------
    FormatError
        If something else is there.
    ConfigError
        If the embedding is on the meta device and so has no numbers, one is NaN or infinite, safetensors does
        not have its dtype, or there is not one row a token (after `resize_token_embeddings`, say).
    """
    weight = _weight_to_save(embedding)
    if weight.dtype not in _STORED:
        raise ConfigError(f"safetensors cannot hold {weight.dtype}; convert the embedding, as by .float()")
    code, bits = _STORED[weight.dtype]
    rows, size = weight.shape
    write_table(path, _table(embedding), StoredTensor(code, (rows, size), [weight.view(bits).numpy()]))


def save_checkpoint(embedding: WordEmbedding, path: str | Path) -> None:
    """Write a `.pt` file that `torch.load(path, weights_only=True)` reads: whole, or not at all.

    It is a dict of `weight` (Tensor (R, D)), `tokens` (list of R str), `config` (as in `save_embedding`) and
    `counts` (Tensor of int64, or None). w2v does not read it back: a `.pt` file is a pickle.
    """
    weight, counts = _weight_to_save(embedding), embedding.vocab.counts
    content = {
        TENSOR: weight,
        "tokens": list(embedding.vocab.tokens),
        "counts": None if counts is None else torch.tensor(counts),
        "config": json.loads(dump_json(_table(embedding).config())),
    }
    with new_file(path) as file:
        try:
            torch.save(content, file)
        except RuntimeError as error:  # of its zip writer, which hides that the disk is full
            raise error.__context__ if isinstance(error.__context__, OSError) else error from None


def open_saved(path: str | Path, options: TableOptions) -> WordEmbedding:
    """Load a folder that `save_embedding` wrote; an option that is None keeps its saved value.

    Raises
    ------
    FormatError
        If it is incomplete or broken, or its parts disagree.
    """
    folder = read_parts(path)
    config = folder.config
    saved = options.or_else(
        freeze=_typed(folder, "freeze", bool),
        sparse=_typed(folder, "sparse", bool),
        max_norm=_typed(folder, "max_norm", float, int, type(None)),
    )
    weight = _copy_weight(folder, saved)
    vocab = Vocabulary(
        folder.tokens,
        folder.padding_id,
        folder.unknown_id,
        folder.n_specials,
        lowercase=config.get("lowercase") is True,
        reading=folder.reading,
        counts=folder.counts,
    )
    provenance = config.get("provenance")
    return WordEmbedding(
        weight,
        vocab,
        freeze=saved.is_frozen,
        sparse=bool(saved.sparse),
        max_norm=saved.max_norm_in_forward,
        scale=float(_typed(folder, "scale", float, int)) * options.scale,
        provenance=provenance if isinstance(provenance, Mapping) else {},
    )


def _typed(folder: TorchFolder, name: str, *kinds: type) -> Any:
    value = folder.config.get(name)
    if type(value) not in kinds:
        raise FormatError(f"{folder.path / CONFIG}: {name} is {value!r}, a {type(value).__name__}")
    return value


def _copy_weight(folder: TorchFolder, options: TableOptions) -> Tensor:
    """Copy the mapped weight once, into memory of its own."""
    try:
        from safetensors import SafetensorError, safe_open
    except ModuleNotFoundError:
        raise MissingExtraError("safetensors", "torch") from None

    path = part_of(folder.path, WEIGHT)
    try:
        with safe_open(path, framework="pt") as file:
            stored = file.get_tensor(TENSOR)
    except SafetensorError as error:
        raise FormatError(f"{path}: not readable as safetensors with a tensor {TENSOR!r} ({error})") from None
    if stored.dim() != 2 or len(stored) != len(folder.tokens) or not stored.is_floating_point():
        raise FormatError(
            f"{path}: expected real numbers in {len(folder.tokens)} rows, one a token of {VOCAB}; got "
            f"{stored.dtype} of shape {tuple(stored.shape)}"
        )
    if (row := row_not_finite(stored)) is not None:
        raise FormatError(f"{path}: the row of {folder.tokens[row]!r} holds NaN or infinity")
    weight = torch.empty(stored.shape, dtype=options.dtype or stored.dtype, device=options.device)
    weight.copy_(stored)
    if options.scale != 1:
        weight *= options.scale
    if options.cut_now is not None:
        weight.renorm_(2, 0, options.cut_now)
    if folder.padding_id is not None:
        weight[folder.padding_id] = 0
    return weight


def _weight_to_save(embedding: WordEmbedding) -> Tensor:
    """Return the weight on the CPU, contiguous, the padding row zero."""
    weight = embedding.weight.detach()
    if weight.is_meta:
        raise ConfigError("the embedding is on the meta device and has no numbers to save")
    if len(weight) != len(embedding.vocab):
        raise ConfigError(
            f"the table has {len(weight)} rows, but its vocabulary {len(embedding.vocab)} tokens; was it "
            "resized? Make a WordEmbedding of the new weight and a Vocabulary of all its tokens"
        )
    weight = weight.to("cpu").contiguous()
    if (row := row_not_finite(weight)) is not None:
        raise ConfigError(
            f"the row of {embedding.vocab.tokens[row]!r} holds NaN or infinity; it is not saved"
        )
    padding_id = embedding.padding_idx
    if padding_id is not None and weight[padding_id].any():
        _LOG.warning(
            "the padding row was no longer zero (was the weight used elsewhere, as in an output layer?); it "
            "is saved as zero"
        )
        weight = weight.clone()
        weight[padding_id] = 0
    return weight


def _table(embedding: WordEmbedding) -> Table:
    vocab, weight = embedding.vocab, embedding.weight
    return Table(
        vocab.tokens,
        vocab.padding_id,
        vocab.unknown_id,
        vocab.n_specials,
        embedding.embedding_dim,
        str(weight.dtype).removeprefix("torch."),
        vocab.counts,
        vocab.lowercase,
        vocab.reading,
        embedding.provenance,
        {"w2v": __version__, "torch": str(torch.__version__)},
        freeze=not weight.requires_grad,
        sparse=embedding.sparse,
        max_norm=embedding.max_norm,
        scale=embedding.scale,
    )
