"""Decimal text to float32 and back, against exact arithmetic and against numpy."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from vector_strategies import floats

from w2v.formats.number_kernels import IS_ODD, NUMBER_BYTES, format_rows, parse_rows
from w2v.formats.text_rows import _exact_float32


def parse_fast(text: str) -> np.float32 | None:
    """Read one number with the compiled loop; None where it leaves it to the slow one."""
    data = np.frombuffer(text.encode() + b"\n", np.uint8)
    out, spans = np.empty((1, 1), np.float32), np.empty((1, 2), np.int64)
    n_rows, _, status = parse_rows(data, 0, len(data), False, out, spans)
    assert (n_rows == 0) == (status == IS_ODD)
    return out[0, 0] if n_rows else None


def parse(text: str) -> np.float32:
    fast = parse_fast(text)
    return np.float32(_exact_float32(text.encode(), 1)) if fast is None else fast


def nearest_float32(text: str) -> np.float32:
    """Round a decimal number to float32 by exact fractions, ties to even."""
    exact = Fraction(Decimal(text))
    guess = np.float32(float(text))
    with np.errstate(over="ignore", under="ignore"):
        near = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    near = [value for value in near if np.isfinite(value)]
    distance = [abs(Fraction(float(value)) - exact) for value in near]
    best = [value for value, away in zip(near, distance, strict=True) if away == min(distance)]
    return next((value for value in best if value.view(np.int32) % 2 == 0), best[0])


decimals = st.one_of(
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"[+-]?\.[0-9]{1,12}", fullmatch=True),
    floats.map(lambda value: repr(float(value))),
    floats.map(lambda value: f"{value:.6f}"),
)


@given(decimals)
@example("16777217")  # a tie, to even
@example("16777217.000000000000000000000000001")  # just above it
@example("16777216.999999999999999999999999999")
@example("1.00000005960464477539062500000001")  # float64 rounds it to a tie; above in truth
@example("0.000000000000000000000000000000000000000000001401298464324817")
@example("1e-46")
@example("3.4028234663852886e38")
@example("00000000000000000000000000001.5")
@example("-0")
@settings(max_examples=400)
def test_text_is_rounded_correctly(text: str) -> None:
    if abs(Decimal(text)) > Decimal("3.4028235e38"):
        return
    read, expected = parse(text), nearest_float32(text)
    assert read == expected
    assert np.signbit(read) == text.startswith("-")


@given(floats)
@settings(max_examples=300)
def test_the_fast_loop_reads_ordinary_numbers_itself(value: float) -> None:
    if 1e-30 < abs(value) < 1e7:  # beyond, seven digits can be a true tie
        assert parse_fast(f"{value:.7g}") is not None


@pytest.mark.parametrize(
    "text", ["", "-", "+.", ".", "e5", "1e", "1e+", "1.2.3", "1,5", "0x1", "１", "1_0", "--1"]
)
def test_what_is_no_number_is_left_to_the_slow_loop(text: str) -> None:
    assert parse_fast(text) is None


def write(values: list[float]) -> list[str]:
    matrix = np.array(values, np.float32).reshape(-1, 1)
    out = np.empty(len(matrix) * (NUMBER_BYTES + 1), np.uint8)
    n = format_rows(matrix, np.zeros(0, np.uint8), np.zeros(0, np.int64), ord(" "), out)
    return bytes(out[:n]).decode().split("\n")[:-1]


def significant(text: str) -> str:
    return text.lower().split("e")[0].replace(".", "").lstrip("-0").rstrip("0")


@given(floats)
@example(0.0)
@example(-0.0)
@example(9.999999e-5)
@example(9.9999998e15)
@example(1.1754943508222875e-38)
@example(1.401298464324817e-45)
@example(3.4028234663852886e38)
@settings(max_examples=500)
def test_written_numbers_read_back_and_are_as_short_as_numpys(value: float) -> None:
    (text,) = write([value])
    number = np.float32(value)
    assert len(text) < NUMBER_BYTES
    assert np.float32(text).tobytes() == number.tobytes()
    assert parse(text).tobytes() == number.tobytes()
    if 1.1754943508222875e-38 <= abs(value) < 2**24:
        assert len(significant(text)) <= len(significant(str(number)))


def test_written_numbers_over_all_sizes() -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 50_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    texts = write(values.tolist())
    assert np.array(texts).astype(np.float32).tobytes() == values.tobytes()


def test_layout_is_pythons() -> None:
    values = [0.0, 1.0, -1.5, 100.0, 0.0001, 0.00001, 1e15, 1e16, 123456.0, 0.5]
    assert write(values) == [repr(value) for value in values]
