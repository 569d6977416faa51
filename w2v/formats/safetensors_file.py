"""safetensors: one file with the matrix `vectors`, and `words` and `counts`, two JSON lists, in its metadata.

The layout (8 bytes of length, a JSON header, the numbers) is read and written here, not with the package: so
the matrix is mapped into memory instead of copied, written a block of rows at a time, and needs nothing
installed. The tests open the files with the package. Any token survives; context vectors are not carried.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.files.atomic import new_file
from w2v.files.npy import row_blocks
from w2v.formats.base import Format, ReadOptions, WriteOptions
from w2v.formats.npy_pair import find_words
from w2v.formats.rows import from_matrix
from w2v.formats.source import Source
from w2v.vectors.word_vectors import WordVectors

_LOG = logging.getLogger(__name__)
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1"}
_ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}
DTYPE_NAMES = {"float64": "F64", "float32": "F32", "float16": "F16"}
_LONGEST_HEADER = 100_000_000  # what the package reads
MATRIX_NAMES = ("vectors", "embeddings", "embedding.weight", "embedding", "weight")


class Tensor(NamedTuple):
    """A matrix to be written: its dtype as safetensors calls it, its shape, and its rows in blocks."""

    dtype: str
    shape: tuple[int, int]
    blocks: Iterable[NDArray[Any]]

    @classmethod
    def of(cls, matrix: NDArray[Any], dtype: str) -> Tensor:
        """Return a matrix cast to a numpy dtype, a block at a time."""
        return cls(DTYPE_NAMES[dtype], matrix.shape, row_blocks(matrix, dtype))


class StoredTensors(NamedTuple):
    """The header of a file: its metadata, and of each tensor dtype, shape and place."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, tuple[str, tuple[int, ...], int]]


def write_tensors(file: BinaryIO, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write matrices, one after the other."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    for name, tensor in tensors.items():
        end = offset + tensor.shape[0] * tensor.shape[1] * _ITEM_BYTES[tensor.dtype]
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_HEADER:
        raise FormatError(
            f"the words take {len(text):,} bytes, more than a safetensors header holds; write npy"
        )
    file.write(struct.pack("<Q", len(text)) + text)
    for tensor in tensors.values():
        file.writelines(block.data for block in tensor.blocks)


def read_header(path: Path) -> StoredTensors:
    """Read and check the header of a safetensors file.

    Raises
    ------
    FormatError
        If it is no such header, or a tensor lies outside the file.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
        if not 2 <= length <= min(_LONGEST_HEADER, size - 8):
            raise FormatError(f"{path}: expected a header of 2 to {size - 8} bytes, got {length:,}")
        text = file.read(length)
    try:
        header = json.loads(text)
        metadata = header.pop("__metadata__", {})
        places = {name: _checked(entry, 8 + length, size) for name, entry in header.items()}
        if not all(isinstance(value, str) for value in metadata.values()):
            raise ValueError("metadata that is not text")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"{path}: broken safetensors header ({error})") from None
    if (end := max((end for *_, end in places.values()), default=8 + length)) != size:
        raise FormatError(f"{path}: {size - end:,} bytes follow the last tensor")
    tensors = {name: (dtype, shape, start) for name, (dtype, shape, start, _) in places.items()}
    return StoredTensors(metadata, tensors)


def _checked(entry: Mapping[str, Any], begin: int, size: int) -> tuple[str, tuple[int, ...], int, int]:
    """Return dtype, shape, begin and end of one tensor, once they are known to fit the file."""
    dtype, shape, (start, stop) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, start, stop)):
        raise ValueError("a length or a place that is no whole number")
    if not start <= stop <= size - begin:
        raise ValueError(
            f"a tensor at bytes {start} to {stop}, but the file holds {size - begin} after its header"
        )
    if dtype in _DTYPES:
        n_bytes = np.dtype(_DTYPES[dtype]).itemsize
        for length in shape:
            n_bytes *= length
        if n_bytes != stop - start:
            raise ValueError(
                f"a tensor of shape {shape} and {dtype} takes {n_bytes} bytes, got {stop - start}"
            )
    return dtype, shape, begin + start, begin + stop


def open_tensor(path: Path, stored: StoredTensors, name: str) -> NDArray[np.floating[Any]]:
    """Open one matrix, memory-mapped and read-only; bfloat16 and int8 with its scale are read as float32."""
    dtype, shape, _ = stored.tensors[name]
    if dtype not in _DTYPES or len(shape) != 2:
        raise FormatError(
            f"{path}: expected {name!r} to be a matrix of {', '.join(_DTYPES)}, got {dtype} {shape}"
        )
    matrix = _mapped(path, stored, name)
    if dtype == "BF16":
        return _from_bfloat16(matrix)
    if dtype == "I8":
        return _scaled(path, stored, name, matrix)
    return matrix if matrix.flags.aligned else matrix.copy()


def _mapped(path: Path, stored: StoredTensors, name: str) -> NDArray[Any]:
    dtype, shape, offset = stored.tensors[name]
    if 0 in shape:
        return np.empty(shape, _DTYPES[dtype])
    return np.asarray(np.memmap(path, _DTYPES[dtype], mode="r", offset=offset, shape=shape))


def _scaled(path: Path, stored: StoredTensors, name: str, matrix: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return quantized vectors times their scale: one number, one a row or one a dimension.

    Without a scale, as model2vec writes them, they are known up to a factor.
    """
    names = (f"{name}_scale", f"{name}.scale", "scale", "scales")
    found = next((other for other in names if other in stored.tensors), None)
    if found is None:
        _LOG.info("%s: int8 without a scale: the vectors are known up to a factor", path)
        return matrix.astype(np.float32)
    dtype, shape, _ = stored.tensors[found]
    rows, dimensions = matrix.shape
    if dtype not in ("F64", "F32", "F16") or shape not in (
        (),
        (1,),
        (1, 1),
        (rows,),
        (rows, 1),
        (dimensions,),
        (1, dimensions),
    ):
        raise FormatError(
            f"{path}: expected {found!r} to be one number, one a row or one a dimension, got {dtype} {shape}"
        )
    scale = _mapped(path, stored, found).astype(np.float32)
    return matrix * (scale[:, np.newaxis] if shape == (rows,) else scale)


def _from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return the numbers of bfloat16, which numpy does not know: the upper half of a float32."""
    matrix = np.empty(bits.shape, np.uint32)
    np.left_shift(bits, 16, out=matrix, dtype=np.uint32)
    return matrix.view(np.float32)


def find_matrix(path: Path, stored: StoredTensors) -> str:
    """Return the name of the tensor that holds the vectors: one of the usual names, or the only matrix."""
    for name in MATRIX_NAMES:
        if name in stored.tensors:
            return name
    matrices = [name for name, (_, shape, _) in stored.tensors.items() if len(shape) == 2]
    if len(matrices) != 1:
        raise FormatError(
            f"{path}: expected a tensor named {', '.join(MATRIX_NAMES)} or a single matrix, got "
            f"{', '.join(list(stored.tensors)[:10]) or 'none'}"
        )
    return matrices[0]


def detects(source: Source) -> bool:
    """Say whether a source is safetensors: a length, and that many bytes of JSON."""
    return source.head[8:9] == b"{" and struct.unpack("<Q", source.head[:8])[0] <= _LONGEST_HEADER


def read(source: Source, options: ReadOptions) -> WordVectors:
    """Open a safetensors file; the words are in its metadata, or in a list beside it."""
    path = source.plain_path()
    stored = read_header(path)
    matrix = open_tensor(path, stored, find_matrix(path, stored))
    if "words" not in stored.metadata:
        words, counts = find_words(source)
        return from_matrix(words, counts, matrix, source, options, FORMAT.name)
    words = _json_list(path, stored, "words", str)
    numbers = _json_list(path, stored, "counts", int) if "counts" in stored.metadata else [0] * len(words)
    if len(numbers) != len(words) or not all(0 <= number < 2**63 for number in numbers):
        raise FormatError(f"{path}: expected {len(words)} counts of 64 bits, one a word")
    return from_matrix(words, np.array(numbers, np.int64), matrix, source, options, FORMAT.name)


def _json_list(path: Path, stored: StoredTensors, key: str, kind: type) -> list[Any]:
    try:
        values = json.loads(stored.metadata[key])
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: the metadata {key!r} is not JSON ({error})") from None
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        raise FormatError(f"{path}: expected the metadata {key!r} to be a list of {kind.__name__}")
    return values


def write(model: WordVectors, path: Path, options: WriteOptions) -> None:
    """Write the matrices with words and counts."""
    metadata = {"words": json.dumps(list(model.words)), "counts": json.dumps(model.counts.tolist())}
    with new_file(path) as file:
        write_tensors(file, {"vectors": Tensor.of(model.vectors, options.dtype)}, metadata)


FORMAT = Format("safetensors", "safetensors", (".safetensors",), detects, read, write, carries_float16=True)
