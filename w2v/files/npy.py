"""Matrices in `.npy` files: written a block of rows at a time, opened memory-mapped, never with pickle."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from w2v.errors import FormatError

ROWS_AT_ONCE = 8192
# What numpy raises for a broken header, which it reads as a Python literal.
_BROKEN = (ValueError, EOFError, OverflowError, MemoryError, SyntaxError, TypeError, TokenError)
FLOATS = ("float16", "float32", "float64")


def write_matrix(file: BinaryIO, matrix: NDArray[Any], dtype: DTypeLike = np.float32) -> None:
    """Write a matrix as `.npy`: in C order, cast to `dtype`; a strided view is not copied whole."""
    wanted = np.dtype(dtype).newbyteorder("<")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": wanted.str, "fortran_order": False, "shape": matrix.shape}
    )
    file.write(header.getvalue())
    file.writelines(block.data for block in row_blocks(matrix, wanted))


def row_blocks(matrix: NDArray[Any], dtype: DTypeLike) -> Iterator[NDArray[Any]]:
    """Yield a matrix block by block, contiguous and cast.

    Raises
    ------
    FormatError
        If a finite number becomes infinite in the narrower dtype.
    """
    for start in range(0, len(matrix), ROWS_AT_ONCE):
        rows = matrix[start : start + ROWS_AT_ONCE]
        with np.errstate(over="ignore"):
            block = np.ascontiguousarray(rows, dtype)
        if block.dtype.itemsize < rows.dtype.itemsize and np.isinf(block).any() and not np.isinf(rows).any():
            row = start + int(np.argmax(np.isinf(block).any(axis=1)))
            raise FormatError(f"row {row} has a number too large for {block.dtype.name} (the most is 65,504)")
        yield block


def open_matrix(path: str | Path, *, rows: int | None = None) -> NDArray[np.floating[Any]]:
    """Open a matrix of a `.npy` file, memory-mapped and read-only.

    Parameters
    ----------
    path : path-like
    rows : int, optional
        How many rows it must have.

    Returns
    -------
    ndarray of float16, float32 or float64, shape (V, D)

    Raises
    ------
    FormatError
        As `open_array`; or if it holds no floats or has another shape.
    """
    matrix = open_array(path)
    if matrix.ndim == 2 and matrix.shape[1] == 0:
        raise FormatError(f"{path}: expected vectors of at least one dimension, got 0 dimensions")
    if matrix.ndim != 2 or matrix.dtype.name not in FLOATS:
        raise FormatError(
            f"{path}: expected a matrix of {', '.join(FLOATS)}, got {matrix.dtype} of shape {matrix.shape}"
        )
    if rows is not None and len(matrix) != rows:
        raise FormatError(f"{path}: expected {rows} rows, one a word, got {len(matrix)}")
    return matrix


def open_array(path: str | Path) -> NDArray[Any]:
    """Open the numbers of a `.npy` file, memory-mapped and read-only.

    Raises
    ------
    FormatError
        If it is no `.npy` file, holds objects (a pickle), is cut short or goes on after the numbers.
    """
    if not Path(path).is_file():
        raise FormatError(f"{path}: {'a folder, not a file' if Path(path).is_dir() else 'no such file'}")
    try:
        with Path(path).open("rb") as file:
            return _mapped(file, *_read_header(file))
    except _BROKEN as error:
        reason = str(error).split("\n")[0]  # further lines of numpy's advise to trust pickles
        raise FormatError(f"{path}: not a readable .npy file of numbers ({reason})") from None


def _mapped(file: BinaryIO, shape: tuple[int, ...], is_fortran: bool, dtype: np.dtype[Any]) -> NDArray[Any]:
    start, size = file.tell(), file.seek(0, 2)
    n_bytes = math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never loaded")
    if start + n_bytes != size:
        raise ValueError(f"its header promises {n_bytes:,} bytes, shape {shape}, but {size - start:,} follow")
    if n_bytes == 0:  # nothing cannot be mapped
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(file, dtype, "r", start, shape, "F" if is_fortran else "C"))


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read what stands before the numbers: shape, whether columns follow each other, dtype."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"format version {version}")
    with warnings.catch_warnings():  # a header of Python 2, with long integers, is read more slowly
        warnings.simplefilter("ignore", UserWarning)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        return np.lib.format.read_array_header_2_0(file)
