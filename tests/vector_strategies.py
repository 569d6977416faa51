"""Words and matrices that hypothesis draws for the tests of vector files."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from w2v import Embeddings, Vocab

AWKWARD = (
    "",
    " ",
    "a b",
    " a",
    "a ",
    "a\tb",
    "a\nb",
    "a\r",
    "\r\n",
    "\\",
    "\\t",
    "\\s",
    "\\e",
    '"',
    "'",
    "#",
    "中文",
    "汉 字",
    "\u3000",
    "a\u3000b",
    "\u00a0",
    "\u2028",
    "\x85",
    "\x0b",
    "\x0c",
    "\x1c",
    "é",
    "e\u0301",
    "👩‍👩‍👧",
    "\ufeff",
    "\ufeffa",
    "0.5",
    "1",
    "1 2",
    "nan",
    "</s>",
    "[UNK]",
    "\x00",
    "ＡＢＣ１２３",
)
_LETTERS = st.characters(exclude_categories=["Cs"])
any_word = st.one_of(st.sampled_from(AWKWARD), st.text(_LETTERS, max_size=6))
plain_word = any_word.filter(lambda word: bool(word) and not set(word) & set(" \t\n\r\v\f"))
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def embeddings(draw: st.DrawFn, words: st.SearchStrategy[str] = any_word, most: int = 6) -> Embeddings:
    """Draw up to `most` words, a matrix of 1 to 4 columns of any finite float32, and counts."""
    drawn = draw(st.lists(words, max_size=most, unique=True))
    dimensions = draw(st.integers(1, 4))
    n = len(drawn) * dimensions
    numbers = draw(st.lists(floats, min_size=n, max_size=n))
    counts = draw(st.lists(st.integers(0, 2**63 - 1), min_size=len(drawn), max_size=len(drawn)))
    matrix = np.array(numbers, np.float32).reshape(len(drawn), dimensions)
    return Embeddings(Vocab(drawn, np.array(counts, np.int64)), matrix)


def same_bits(a: NDArray[np.float32], b: NDArray[np.float32]) -> bool:
    """Say whether two float32 matrices are equal to the last bit, the sign of zero included."""
    return a.dtype == b.dtype == np.float32 and a.shape == b.shape and a.tobytes() == b.tobytes()


def some_model(n_words: int = 50, dimensions: int = 7, seed: int = 0) -> Embeddings:
    """Return a model of random vectors with words of several scripts and falling counts."""
    stems = ("word", "中文", "слово", "e\u0301")
    words = [f"{stems[i % 4]}{i}" for i in range(n_words)]
    vectors = np.random.default_rng(seed).normal(size=(n_words, dimensions)).astype(np.float32)
    return Embeddings(Vocab(words, np.arange(n_words, 0, -1) * 3), vectors)
