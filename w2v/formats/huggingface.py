"""A folder as on the Hugging Face Hub, which model2vec, sentence-transformers and tokenizers open.

`model.safetensors` (`embeddings`, V + 1 rows), `tokenizer.json` (word level: text is split at white space,
row i is word i), `config.json` (model2vec's: no normalisation, no cut of long texts), `modules.json` (so that
`SentenceTransformer(folder)` works) and `vocab.tsv` (word, count). The last row is all zeros and belongs to
the unknown word, which model2vec leaves out of its means and sentence-transformers counts as a zero.

Folders of model2vec and of sentence-transformers' StaticEmbedding are read too; their tokens are the words.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.files.atomic import new_folder
from w2v.files.escapes import words_for_utf8
from w2v.files.json_objects import dump_json, is_object_with
from w2v.files.npy import row_blocks
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.foreign import read_tokenizer
from w2v.formats.rows import from_matrix
from w2v.formats.safetensors_file import (
    DTYPE_NAMES,
    Tensor,
    find_matrix,
    open_tensor,
    read_header,
    write_tensors,
)
from w2v.formats.source import Source
from w2v.vectors.vocab_files import dump_vocab, read_vocab
from w2v.vectors.word_vectors import WordVectors

_LOG = logging.getLogger(__name__)
_MODEL, _TOKENIZER, _CONFIG, _MODULES, _VOCAB = (
    "model.safetensors",
    "tokenizer.json",
    "config.json",
    "modules.json",
    "vocab.tsv",
)
_FILES = {_MODEL, _TOKENIZER, _CONFIG, _MODULES, _VOCAB}
# Settings of `CorpusConfig` that leave a word as it is.
_PLAIN = {"normalize": "none", "numbers": "keep"}
_NESTED = "0_StaticEmbedding"


def detects(source: Source) -> bool:
    """Say whether a source is a folder with a model and a tokenizer."""
    return source.is_folder and _model_folder(source.path) is not None


def _model_folder(path: Path) -> Path | None:
    folders = (path, path / _NESTED)
    return next((folder for folder in folders if _has(folder, _MODEL) and _has(folder, _TOKENIZER)), None)


def _has(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Read a folder of tokenizer and matrix; the row of the unknown word that `write` added is left out."""
    folder = _model_folder(source.path)
    if folder is None:
        raise FormatError(f"{source}: expected a folder with {_MODEL} and {_TOKENIZER}")
    path = folder / _MODEL
    stored = read_header(path)
    if {"mapping", "weights"} & stored.tensors.keys():
        raise FormatError(f"{path}: a quantized model2vec model, whose rows are not vectors of words")
    matrix = open_tensor(path, stored, find_matrix(path, stored))
    words = read_tokenizer(folder / _TOKENIZER)
    counts = None
    if _is_ours(folder):
        vocab = read_vocab(folder / _VOCAB)
        if list(vocab.words) != words[: len(vocab)] or len(words) != len(vocab) + 1:
            raise FormatError(f"{folder}: {_VOCAB} and {_TOKENIZER} have different words")
        if len(matrix) == len(words):
            words, matrix, counts = words[:-1], matrix[:-1], vocab.counts
    return from_matrix(words, counts, matrix, source, options, FORMAT.name)


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write the folder: whole, or not at all; one that w2v wrote before is replaced."""
    words = words_for_utf8(model.words, "tokenizer.json")
    split = [word for word in words if not word or word.split() != [word]]
    if split:
        _LOG.warning(
            "%d words hold white space, %r for one: they have rows, but no text is split into them",
            len(split),
            split[0],
        )
    if lost := _not_carried(model):
        _LOG.warning(
            "the corpus was read with %s, but readers of this folder only split text at white space: give "
            "them text that is cut in the same way, with blanks between words; what they do not find as a "
            "word has a vector of zeros",
            ", ".join(lost),
        )
    unknown = _free_name(model)
    config = _config(model, options)
    modules = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]
    with new_folder(path, replaceable=_is_only_ours) as folder:
        with (folder / _MODEL).open("wb") as file:
            shape = (len(model) + 1, model.vector_size)
            tensor = Tensor(DTYPE_NAMES[options.dtype], shape, _with_zero_row(model.vectors, options.dtype))
            write_tensors(file, {"embeddings": tensor}, {"format": "pt"})
        (folder / _TOKENIZER).write_bytes(
            dump_json(_tokenizer([*words, unknown], unknown, model.origin.is_lowercased), indent=1)
        )
        (folder / _CONFIG).write_bytes(dump_json(config, indent=1))
        (folder / _MODULES).write_bytes(dump_json(modules, indent=1))
        (folder / _VOCAB).write_bytes(dump_vocab(model.vocab))


def _not_carried(model: WordVectors) -> list[str]:
    """Return the settings of reading that a tokenizer.json which splits at white space does not do."""
    if model.origin.reading is None:
        return []
    settings = model.origin.reading.settings
    lost = [f"tokenizer {name}"] if (name := settings.get("tokenizer")) not in (None, "whitespace") else []
    lost += [
        f"{name} {value}" for name, plain in _PLAIN.items() if (value := settings.get(name, plain)) != plain
    ]
    lost += [name for name in ("t2s", "s2t", "drop_punctuation") if settings.get(name)]
    return lost + (["phrases"] if model.origin.reading.phrase_passes else [])


def _free_name(model: WordVectors) -> str:
    """Return a name for the unknown word that no word has."""
    name = "[UNK]"
    while name in model.vocab:
        name = f"[{name}]"
    return name


def _with_zero_row(vectors: NDArray[np.float32], dtype: str) -> Iterator[NDArray[Any]]:
    yield from row_blocks(vectors, dtype)
    yield np.zeros((1, vectors.shape[1]), dtype)


def _tokenizer(tokens: list[str], unknown: str, lowercase: bool) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"} if lowercase else None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {token: token_id for token_id, token in enumerate(tokens)},
            "unk_token": unknown,
        },
    }


def _config(model: WordVectors, options: WriteOptions) -> dict[str, Any]:
    return {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": model.vector_size,
        "max_length": None,
        "normalize": False,
        "embedding_dtype": options.dtype,
        "w2v": {"words": len(model)},
    }


def _is_ours(folder: Path) -> bool:
    return is_object_with(folder / _CONFIG, "w2v") and _has(folder, _VOCAB)


def _is_only_ours(folder: Path) -> bool:
    return _is_ours(folder) and {entry.name for entry in folder.iterdir()} <= _FILES


FORMAT = Format(
    "huggingface",
    "Hugging Face folder (model2vec, sentence-transformers)",
    (".hf",),
    detects,
    read,
    write,
    places=("folder",),
    carries_float16=True,
)
