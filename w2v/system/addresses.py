"""Addresses of arrays, and prefetches of what stands there, for kernels.

What a kernel reads or writes at an address is not checked: `NUMBA_BOUNDSCHECK` sees indices of arrays only.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from w2v.system.compiling import intrinsic

_BYTE = ir.IntType(8).as_pointer()
_I32 = ir.IntType(32)


@intrinsic
def address_of(_context: Any, array: Any) -> Any:
    """Return the address of an array's first element, int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), generate


def make_prefetch(*, level: int, for_writing: bool) -> Any:
    """Return an intrinsic that prefetches the cache line at an address, int64, into a cache (1: L1, 2: L2).

    A prefetch for writing also takes the line away from the other cores, as the write itself would.
    """

    @intrinsic
    def prefetch(_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [_BYTE, _I32, _I32, _I32])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            place, is_data = builder.inttoptr(args[0], _BYTE), 1
            builder.call(function, [place, _I32(int(for_writing)), _I32(4 - level), _I32(is_data)])
            return context.get_dummy_value()

        return types.void(types.int64), generate

    return prefetch
