"""Matrices in `.npy` files: written a block of rows at a time, opened memory-mapped, never with pickle."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from w2v.errors import FormatError

ROWS_AT_ONCE = 8192
# What numpy raises for a broken header, which it reads as a Python literal.
BROKEN = (ValueError, EOFError, OverflowError, MemoryError, SyntaxError, TypeError, TokenError)
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
        If it is no `.npy` file, is cut short, holds objects (a pickle) or no floats, or has another shape.
    """
    if not Path(path).is_file():
        raise FormatError(f"{path}: no such file")
    try:
        matrix = _load(path)
    except BROKEN as error:
        reason = "it holds Python objects, which are never loaded" if "allow_pickle" in str(error) else error
        raise FormatError(f"{path}: not a readable .npy file of numbers ({reason})") from None
    if matrix.ndim != 2 or matrix.dtype.name not in FLOATS:
        raise FormatError(
            f"{path}: expected a matrix of {', '.join(FLOATS)}, got {matrix.dtype} of shape {matrix.shape}"
        )
    if rows is not None and len(matrix) != rows:
        raise FormatError(f"{path}: expected {rows} rows, one a word, got {len(matrix)}")
    return matrix


def _load(path: str | Path) -> NDArray[Any]:
    """Map the file; an empty array cannot be mapped, and is read."""
    with Path(path).open("rb") as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    if 0 in shape or dtype.hasobject:
        return np.asarray(np.load(path, allow_pickle=False))
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
