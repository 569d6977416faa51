"""SIMD for numba: some numbers (`Lanes`) and runs of them (rows) as values, read from addresses.

Sixteen numbers where the processor has AVX-512, eight elsewhere; LLVM turns them into the machine's own
vector registers. For the training kernels only.

Types travel as values here. numba infers what a function returns from the types of its arguments, and an
address is an int64 whatever stands there. So who reads from one also passes a tag, of which only the type
counts: `dtype_tag`, a number, tells the dtype of the lanes; `part_width`, a tuple of such numbers, also tells
how many lanes a part of a row has. As that is known when the kernel is compiled, the part can stay in
registers.

This is LLVM code written by hand, and addresses are not checked: `NUMBA_BOUNDSCHECK` cannot see it, and
`NUMBA_DISABLE_JIT` cannot run it. `tests/test_kernels.py` stands in: the kernels against brute force in
Python, with rows of several lengths, with eight and with sixteen lanes; guards around each array; and their
gradients.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import models, register_model

from w2v.system.addresses import make_prefetch
from w2v.system.compiling import intrinsic

# What numba compiles for, which environment variables may set. AVX-512 has registers twice as wide (skip-gram
# 30 % faster, CBOW 16 %) and twice as many (4 %, 3 %).
_HAS_AVX512 = "+avx512f" in cpu_target.target_context.codegen().magic_tuple()[-1].split(",")
LANES = 16 if _HAS_AVX512 else 8
# Most lanes of a part of a row. Two rows of a part are kept in registers, beside a factor for each, and the
# column that they share: 2 * 6 + 3 of the 16 of AVX2. Of the 32 of AVX-512, parts of 14 lanes are slower.
WIDEST = 10 if _HAS_AVX512 else 6
# Into L2, as L1 is full of the current block. A prefetch for writing takes the row from the other cores, so
# that it moves between them once, not twice: two workers 13 % faster on AVX2 (Zen 3), 2 to 5 % slower on
# AVX-512 (Emerald Rapids).
prefetch = make_prefetch(level=2, for_writing=not _HAS_AVX512)
_Function = Callable[..., Any]
_I8_POINTER = ir.IntType(8).as_pointer()
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)

# Least-squares fits on Chebyshev nodes over [0, 1], highest power first. One degree more for each costs 3 %
# of skip-gram's speed; the errors of these are far below the noise of the samples.
_EXP2 = (0.013683983, 0.051717736, 0.24162132, 0.69296956, 1.0000036)  # relative error 4e-6
_LOG1P_OVER_X = (-0.023979573, 0.10150005, -0.2102937, 0.32529515, -0.4993726, 0.99999183)  # 7e-6 in log1p


class _LanesType(types.Type):
    """numba's type of `LANES` numbers of one dtype."""

    def __init__(self, dtype: types.Float) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: _LanesType) -> None:
        super().__init__(manager, lanes, _vector(lanes.dtype))


def _vector(dtype: types.Float) -> ir.VectorType:
    return ir.VectorType(ir.FloatType() if dtype == types.float32 else ir.DoubleType(), LANES)


def _row_type(part_width: types.UniTuple) -> types.UniTuple:
    return types.UniTuple(_LanesType(part_width.dtype), part_width.count)


def _lane_bytes(dtype: types.Float) -> int:
    return LANES * int(dtype.bitwidth) // 8


def _pointer(builder: Any, address: Any, n_bytes: int, kind: ir.Type) -> Any:
    place = builder.gep(builder.inttoptr(address, _I8_POINTER), [_I64(n_bytes)])
    return builder.bitcast(place, kind.as_pointer())


def _load(builder: Any, address: Any, n_bytes: int, kind: ir.Type) -> Any:
    # Logits begin anywhere in a row. That rows of weights begin at a cache line gains nothing measurable.
    return builder.load(_pointer(builder, address, n_bytes, kind), align=4)


def _store(builder: Any, value: Any, address: Any, n_bytes: int) -> None:
    builder.store(value, _pointer(builder, address, n_bytes, value.type), align=4)


def _shuffle(builder: Any, a: Any, b: Any, order: Iterable[int]) -> Any:
    places = list(order)
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(places)), places))


def _splat(builder: Any, number: Any, vector: ir.VectorType) -> Any:
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, _I32(0))
    return _shuffle(builder, first, first, [0] * LANES)


def _constant(vector: ir.VectorType, number: float) -> Any:
    # LLVM takes no constant of type float that float32 cannot hold.
    return ir.Constant(vector, [float(np.float32(number))] * LANES)


def _call(builder: Any, name: str, *args: Any) -> Any:
    vector = args[0].type
    suffix = "f32" if isinstance(vector.element, ir.FloatType) else "f64"
    kind = ir.FunctionType(vector, [vector] * len(args))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}{suffix}")
    return builder.call(function, args)


def _polynomial(builder: Any, x: Any, coefficients: Sequence[float]) -> Any:
    value = _constant(x.type, coefficients[0])
    for coefficient in coefficients[1:]:
        value = _call(builder, "fma", value, x, _constant(x.type, coefficient))
    return value


@intrinsic
def size_of(_context: Any, dtype_tag: Any) -> Any:
    """Return the bytes of a number, int64, known to the compiler (an array's itemsize is not)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _I64(int(signature.args[0].bitwidth) // 8)

    return types.int64(dtype_tag), generate


@intrinsic
def load_int(_context: Any, address: Any) -> Any:
    """Return the int64 at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _load(builder, args[0], 0, _I64)

    return types.int64(types.int64), generate


@intrinsic
def load_lanes(_context: Any, dtype_tag: Any, address: Any) -> Any:
    """Return the lanes at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _load(builder, args[1], 0, _vector(signature.args[0]))

    return _LanesType(dtype_tag)(dtype_tag, types.int64), generate


@intrinsic
def store_lanes(_context: Any, address: Any, lanes: Any) -> Any:
    """Write lanes to an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _store(builder, args[1], args[0], 0)
        return context.get_dummy_value()

    return types.void(types.int64, lanes), generate


@intrinsic
def splat(_context: Any, number: Any) -> Any:
    """Return lanes that all hold one number."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0], _vector(signature.args[0]))

    return _LanesType(number)(number), generate


@intrinsic
def fma(_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "fma", *args)

    return a(a, b, c), generate


@intrinsic
def multiply(_context: Any, a: Any, b: Any) -> Any:
    """Return a * b, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return a(a, b), generate


@intrinsic
def subtract(_context: Any, a: Any, b: Any) -> Any:
    """Return a - b, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(*args)

    return a(a, b), generate


@intrinsic
def lane_sum(_context: Any, lanes: Any) -> Any:
    """Return the sum of the lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        two = _halve(builder, args[0], 2)
        return builder.fadd(*(builder.extract_element(two, _I32(i)) for i in (0, 1)))

    return lanes.dtype(lanes), generate


def _fold(builder: Any, x: Any, y: Any, low: Sequence[int], high: Sequence[int]) -> Any:
    return builder.fadd(_shuffle(builder, x, y, low), _shuffle(builder, x, y, high))


def _halve(builder: Any, lanes: Any, n: int) -> Any:
    """Add the upper half of the lanes to the lower one until there are n."""
    while lanes.type.count > n:
        half = lanes.type.count // 2
        lanes = _fold(builder, lanes, lanes, range(half), range(half, 2 * half))
    return lanes


def _sums(builder: Any, four: Sequence[Any]) -> Any:
    """Return the four sums of four times all lanes.

    Within each run of four lanes: four lanes of each of four -> two of each of two -> one of each.
    """

    def fold_runs(x: Any, y: Any, order: Sequence[int]) -> Any:
        """Add lanes of both, `order` within each run (y's from LANES on), and those two further."""
        low = [run + place for run in range(0, LANES, 4) for place in order]
        return _fold(builder, x, y, low, [place + 2 for place in low])

    pairs = [fold_runs(x, y, (0, LANES, 1, LANES + 1)) for x, y in (four[:2], four[2:])]
    return _halve(builder, fold_runs(pairs[0], pairs[1], (0, 1, LANES, LANES + 1)), 4)


def _products(builder: Any, dtype: types.Float, n_bytes: Any, rows: list[Any], columns: list[Any]) -> Any:
    """Return the lanes of the products of all rows with all columns, given by their addresses."""
    vector = _vector(dtype)
    # Variables in memory only here: LLVM keeps them in registers, and no phi nodes need be written.
    places = [[cgutils.alloca_once(builder, vector) for _ in columns] for _ in rows]
    for place in itertools.chain(*places):
        builder.store(ir.Constant(vector, None), place)
    step = _I64(_lane_bytes(dtype))
    with cgutils.for_range_slice(builder, _I64(0), n_bytes, step, _I64) as (k, _):
        loaded = [_load(builder, builder.add(row, k), 0, vector) for row in rows]
        # One column at a time: the rows stay in two registers, the sums in twelve, and one is left for it.
        for j, column in enumerate(columns):
            y = _load(builder, builder.add(column, k), 0, vector)
            for x, line in zip(loaded, places, strict=True):
                builder.store(_call(builder, "fma", x, y, builder.load(line[j])), line[j])
    return [[builder.load(place) for place in line] for line in places]


def _make_multiply(n_columns: int) -> Any:
    """Return an intrinsic that writes the products of two rows with 2, 4 or 6 columns.

    Its arguments: `dtype_tag`; the bytes of a row; `rows` and `columns`, addresses of addresses; `out` and
    `below`, as one row's products go to `out`, the other's to `out + below`.
    """

    def generate(_context: Any, builder: Any, signature: Any, args: Any) -> Any:
        dtype = signature.args[0]
        _, n_bytes, row_places, column_places, out, out_bytes = args
        rows = [_load(builder, row_places, 8 * i, _I64) for i in range(2)]
        columns = [_load(builder, column_places, 8 * j, _I64) for j in range(n_columns)]
        first, second = _products(builder, dtype, n_bytes, rows, columns)
        below = builder.add(out, out_bytes)
        # Sums over lanes four at a time: their folds share instructions, and one store writes all four.
        if n_columns >= 4:
            _store(builder, _sums(builder, first[:4]), out, 0)
            _store(builder, _sums(builder, second[:4]), below, 0)
        if n_columns % 4:
            rest = _sums(builder, first[-2:] + second[-2:])
            place = (n_columns - 2) * int(dtype.bitwidth) // 8
            _store(builder, _shuffle(builder, rest, rest, (0, 1)), out, place)
            _store(builder, _shuffle(builder, rest, rest, (2, 3)), below, place)
        return _context.get_dummy_value()

    @intrinsic
    def multiply_2_by(
        _context: Any, dtype_tag: Any, n_bytes: Any, rows: Any, columns: Any, out: Any, below: Any
    ) -> Any:
        return types.void(dtype_tag, *[types.int64] * 5), generate

    return multiply_2_by


# Twelve sums hide the latency of a multiply-add better than eight, and fit the 16 registers of AVX2. In the
# 32 of AVX-512, tiles of 2 x 12 are no faster.
multiply_2_by_6 = _make_multiply(6)
multiply_2_by_4 = _make_multiply(4)
multiply_2_by_2 = _make_multiply(2)


@intrinsic
def sigmoid_softplus(_context: Any, x: Any) -> Any:
    """Return 1 / (1 + exp(-x)) and log(1 + exp(x)), lane by lane; NaN and infinity show in the second.

    float32: within 1e-6 and 7e-6 of the exact values, by polynomials; float64: exact to rounding.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        logit = args[0]
        zero, one = (_constant(logit.type, number) for number in (0.0, 1.0))
        # exp(-|x|) serves both functions and both signs.
        magnitude = _call(builder, "fabs", logit)
        decay = _exp_of_minus(builder, magnitude)  # in (0, 1]: nothing overflows
        denominator = builder.fadd(one, decay)
        upper = builder.fdiv(one, denominator)
        is_negative = builder.fcmp_ordered("<", logit, zero)
        sigmoid = builder.select(is_negative, builder.fmul(decay, upper), upper)
        softplus = builder.fadd(builder.select(is_negative, zero, logit), _log1p(builder, decay))
        return context.make_tuple(builder, signature.return_type, [sigmoid, softplus])

    return types.UniTuple(x, 2)(x), generate


def _exp_of_minus(builder: Any, x: Any) -> Any:
    """exp(-x) for x >= 0: 2 ** n by its exponent bits times 2 ** fraction by a polynomial."""
    vector = x.type
    if not isinstance(vector.element, ir.FloatType):
        return _call(builder, "exp", builder.fmul(x, _constant(vector, -1.0)))
    power = builder.fmul(x, _constant(vector, -1.4426950408889634))  # log2(e)
    # Below -126 the exponent has no bits. maxnum turns NaN into -126, but softplus adds the logit itself.
    power = _call(builder, "maxnum", power, _constant(vector, -126.0))
    whole = _call(builder, "floor", power)
    fraction = _polynomial(builder, builder.fsub(power, whole), _EXP2)
    integers = ir.VectorType(_I32, LANES)
    exponent = builder.add(builder.fptosi(whole, integers), ir.Constant(integers, [127] * LANES))
    bits = builder.shl(exponent, ir.Constant(integers, [23] * LANES))
    return builder.fmul(fraction, builder.bitcast(bits, vector))


def _log1p(builder: Any, x: Any) -> Any:
    """log(1 + x) for x in [0, 1]: x times a polynomial, so that it is exact where x vanishes."""
    if not isinstance(x.type.element, ir.FloatType):
        return _call(builder, "log", builder.fadd(x, _constant(x.type, 1.0)))
    return builder.fmul(x, _polynomial(builder, x, _LOG1P_OVER_X))


@intrinsic
def zero_row(_context: Any, part_width: Any) -> Any:
    """Return a row of zeros: as many lanes as `part_width` has numbers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(context.get_value_type(signature.return_type), None)

    return _row_type(part_width)(part_width), generate


@intrinsic
def load_row(_context: Any, part_width: Any, address: Any) -> Any:
    """Return the row at an address: as many lanes as `part_width` has numbers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = ir.Constant(context.get_value_type(signature.return_type), ir.Undefined)
        for k in range(signature.return_type.count):
            dtype = signature.return_type.dtype.dtype
            lanes = _load(builder, args[1], k * _lane_bytes(dtype), _vector(dtype))
            row = builder.insert_value(row, lanes, k)
        return row

    return _row_type(part_width)(part_width, types.int64), generate


@intrinsic
def add_row(_context: Any, address: Any, row: Any) -> Any:
    """Add a row to the numbers at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        dtype = signature.args[1].dtype.dtype
        # Read only when the sum is known: the sooner it is written back, the fewer additions are lost.
        for k in range(signature.args[1].count):
            place = k * _lane_bytes(dtype)
            old = _load(builder, args[0], place, _vector(dtype))
            _store(builder, builder.fadd(old, builder.extract_value(args[1], k)), args[0], place)
        return context.get_dummy_value()

    return types.void(types.int64, row), generate


@intrinsic
def store_row(_context: Any, address: Any, row: Any) -> Any:
    """Write a row to an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        dtype = signature.args[1].dtype.dtype
        for k in range(signature.args[1].count):
            _store(builder, builder.extract_value(args[1], k), args[0], k * _lane_bytes(dtype))
        return context.get_dummy_value()

    return types.void(types.int64, row), generate


@intrinsic
def plus_scaled(_context: Any, row: Any, factor: Any, address: Any) -> Any:
    """Return row + factor * (the row at an address)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _plus_scaled(builder, signature.args[0], [args[0]], [args[1]], args[2])[0]

    return row(row, row.dtype.dtype, types.int64), generate


@intrinsic
def plus_scaled_2(_context: Any, row_0: Any, row_1: Any, factor_0: Any, factor_1: Any, address: Any) -> Any:
    """Return row_0 + f_0 * r and row_1 + f_1 * r for the row r at an address; f_0, f_1 stand at addresses.

    Two rows share each load: 10 % to 20 % faster than one (78 to 85 against 69 GFLOP/s on a peak of 100).
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = _vector(signature.args[0].dtype.dtype).element
        factors = [_load(builder, factor, 0, number) for factor in args[2:4]]
        rows = _plus_scaled(builder, signature.args[0], args[:2], factors, args[4])
        return context.make_tuple(builder, signature.return_type, rows)

    return types.UniTuple(row_0, 2)(row_0, row_1, types.int64, types.int64, types.int64), generate


def _plus_scaled(builder: Any, kind: types.UniTuple, rows: Any, factors: Any, address: Any) -> list[Any]:
    dtype = kind.dtype.dtype
    splats = [_splat(builder, factor, _vector(dtype)) for factor in factors]
    sums = list(rows)
    for k in range(kind.count):
        loaded = _load(builder, address, k * _lane_bytes(dtype), _vector(dtype))
        for i, factor in enumerate(splats):
            lanes = _call(builder, "fma", factor, loaded, builder.extract_value(rows[i], k))
            sums[i] = builder.insert_value(sums[i], lanes, k)
    return sums
