"""Rows on their way from a file into a matrix: checked, pruned, bad ones refused or counted."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from w2v.errors import FormatError
from w2v.files.escapes import unescape
from w2v.formats.base import ReadOptions
from w2v.formats.source import Source
from w2v.vectors.origin import Origin
from w2v.vectors.vocab import Vocab
from w2v.vectors.word_vectors import WordVectors

_LOG = logging.getLogger(__name__)
MOST_DIMENSIONS = 1_000_000
_BLOCK_BYTES = 1 << 26
_ROWS_AT_ONCE = 8192


class RowCollector:
    """Gather rows, block by block, so that no more than the matrix and one block are ever held.

    Parameters
    ----------
    source : Source
    dimensions : int
        D, the length of every row.
    options : ReadOptions
    promised : int, optional
        How many rows the header promises.
    least_bytes : int
        The fewest bytes that a row can take in the file; with the size of a plain file they tell, before
        anything is allocated, whether the promise can be true.
    """

    def __init__(
        self,
        source: Source,
        dimensions: int,
        options: ReadOptions,
        *,
        promised: int | None = None,
        least_bytes: int = 1,
    ) -> None:
        self.source = source
        self.dimensions = dimensions
        self.options = options
        self.promised = promised
        self.words: list[str] = []
        self.skipped: Counter[str] = Counter()
        self.n_seen = 0
        self._first_row: dict[str, int] = {}
        self._blocks: list[NDArray[np.float32]] = []
        self._n_used = 0
        self._check_promise(least_bytes)

    def _check_promise(self, least_bytes: int) -> None:
        check_dimensions(self.source, self.dimensions)
        size = self.source.size
        if self.promised is not None and size is not None and self.promised * least_bytes > size:
            raise FormatError(
                f"{self.source}: the header promises {self.promised:,} rows of {self.dimensions:,} numbers, "
                f"at least {self.promised * least_bytes:,} bytes, but the file has {size:,}"
            )

    @property
    def is_done(self) -> bool:
        """All rows that were asked for are there; the rest of the file is of no interest."""
        return self.options.top is not None and len(self.words) >= self.options.top

    def room(self) -> NDArray[np.float32]:
        """Return free rows, float32, shape (n >= 1, D), to be filled from the first one on."""
        if not self._blocks or self._n_used == len(self._blocks[-1]):
            self._blocks.append(np.empty((self._block_rows(), self.dimensions), np.float32))
            self._n_used = 0
        return self._blocks[-1][self._n_used :]

    def _block_rows(self) -> int:
        """One block for all rows where their number is sure; memory that is not filled costs nothing."""
        at_once = max(1, _BLOCK_BYTES // (4 * self.dimensions))
        if self.promised is None or self.source.size is None or self._blocks:
            return at_once
        most = [self.promised, self.options.top, len(self.options.words) if self.options.words else None]
        return max(1, min(n for n in most if n is not None))

    def take(self, words: Sequence[str | None], where: Callable[[int], str], *, is_finite: bool) -> None:
        """Accept the rows that were filled in, one a word.

        Parameters
        ----------
        words : sequence of str or None
            None for a word that is not UTF-8.
        where : callable
            Says where in the file row i of these lies.
        is_finite : bool
            Whether the numbers are known to be finite.
        """
        rows = self.room()[: len(words)]
        finite = None if is_finite or np.isfinite(rows).all() else np.asarray(np.isfinite(rows).all(axis=1))
        kept = []
        for i, word in enumerate(words):
            if self.is_done:
                break
            self.n_seen += 1
            if self._is_good(word, i, where, finite is None or bool(finite[i])):
                kept.append(i)
        if len(kept) < len(words):
            rows[: len(kept)] = rows[kept]
        self._n_used += len(kept)

    def _is_good(self, word: str | None, i: int, where: Callable[[int], str], is_finite: bool) -> bool:
        if self.promised is not None and self.n_seen > self.promised:
            self.bad("beyond the header's count", where(i), f"expected the end after {self.promised} rows")
            return False
        if word is None:
            self.bad("not UTF-8", where(i), "the word is not UTF-8")
            return False
        if "\r" in word or "\n" in word:
            self.bad("line break", where(i), f"a line break stands within the word {word!r}")
            return False
        if self.options.unescape:
            word = unescape(word, where(i))
        if not is_finite:
            self.bad("not finite", where(i), f"the vector of {word!r} holds NaN or infinity")
            return False
        first = self._first_row.setdefault(word, self.n_seen)
        if first != self.n_seen:
            self.bad("duplicate word", where(i), f"the word {word!r} stands already in row {first}")
            return False
        if self.options.words is not None and word not in self.options.words:
            return False
        self.words.append(word)
        return True

    def bad(self, kind: str, where: str, message: str) -> None:
        """Refuse a bad row, or count it where bad rows are to be skipped."""
        if not self.options.skip_bad:
            raise FormatError(f"{where}: {message} ('w2v convert --skip-bad' leaves bad rows out)")
        self.skipped[kind] += 1

    def bad_row(self, kind: str, where: str, message: str) -> None:
        """Refuse or count a row that could not even be taken apart."""
        self.n_seen += 1
        self.bad(kind, where, message)

    def finish(self, format_name: str) -> WordVectors:
        """Check the header's promise, report what was skipped, and hand over words and matrix."""
        if self.promised is not None and self.n_seen < self.promised and not self.is_done:
            message = f"{self.source}: the header promises {self.promised} rows, the file has {self.n_seen}"
            if not self.options.skip_bad:
                raise FormatError(
                    f"{message}; is it cut short? ('w2v convert --skip-bad' takes what is there)"
                )
            _LOG.warning("%s", message)
        report_skipped(self.source, self.skipped)
        vocab = Vocab(self.words, np.zeros(len(self.words), np.int64))
        found = origin(self.source, format_name, self.skipped)
        return check_pruned(WordVectors(vocab, self._matrix(), origin=found), self.source, self.options)

    def _matrix(self) -> NDArray[np.float32]:
        """Join the blocks, giving each back as soon as it is copied."""
        n = len(self.words)
        if self._n_used == 0 and len(self._blocks) > 1:
            self._blocks.pop()
            self._n_used = len(self._blocks[-1])
        if len(self._blocks) <= 1:
            return self.room()[:0] if n == 0 else self._blocks[0][:n]
        matrix = np.empty((n, self.dimensions), np.float32)
        stop = n
        while self._blocks:
            block = self._blocks.pop()[: self._n_used]
            matrix[stop - len(block) : stop] = block
            stop -= len(block)
            self._n_used = len(self._blocks[-1]) if self._blocks else 0
        return matrix


def from_matrix(
    words: Sequence[str | None],
    counts: NDArray[np.int64] | None,
    matrix: NDArray[np.floating[Any]],
    source: Source,
    options: ReadOptions,
    format_name: str,
) -> WordVectors:
    """Make vectors of words and a matrix that come from another program: checked, cast to float32, pruned.

    Parameters
    ----------
    words : sequence of str or None, length V
        None for a word that is not UTF-8.
    counts : ndarray of int64, shape (V,), optional
    matrix : ndarray of float16, float32 or float64, shape (V, D)
        May be memory-mapped.
    source : Source
    options : ReadOptions
    format_name : str

    Raises
    ------
    FormatError
        If a row is bad (see `good_rows`; unless bad rows are skipped), or there is not one word a row.
    """
    if len(words) != len(matrix):
        raise FormatError(
            f"{source}: expected a word for each of the {len(matrix)} rows, got {len(words)} words"
        )
    check_dimensions(source, matrix.shape[1])
    if options.words is None and options.top is not None and not options.skip_bad:
        words, matrix = words[: options.top], matrix[: options.top]
        counts = None if counts is None else counts[: options.top]
    with np.errstate(over="ignore"):  # infinity is found below
        matrix = np.ascontiguousarray(matrix, np.float32)
    kept, skipped = good_rows(words, [matrix], source, options)
    if counts is None:
        counts = np.zeros(len(words), np.int64)
    if kept is not None:
        words, counts, matrix = [words[row] for row in kept], counts[kept], matrix[kept]
    vocab = Vocab(cast("Sequence[str]", words), counts)
    model = WordVectors(vocab, matrix, origin=origin(source, format_name, skipped))
    return prune(model, source, options)


def check_dimensions(source: Source, dimensions: int) -> None:
    """Raise FormatError if vectors have no number, or more than any have."""
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise FormatError(f"{source}: expected 1 to {MOST_DIMENSIONS:,} dimensions, got {dimensions:,}")


def good_rows(
    words: Sequence[str | None], matrices: Sequence[NDArray[np.float32]], source: Source, options: ReadOptions
) -> tuple[list[int] | None, Counter[str]]:
    """Return the rows to keep, None standing for all, and how many are bad, by kind; these are logged.

    A row is bad if its word is not UTF-8 or stands in an earlier row, or if a number in one of the matrices
    is NaN or infinite.

    Raises
    ------
    FormatError
        At the first bad row, unless bad rows are skipped.
    """
    bad: dict[int, tuple[str, str]] = {}
    for row in itertools.chain(*map(rows_not_finite, matrices)):
        bad[row] = ("not finite", f"the vector of {words[row]!r} holds NaN or infinity")
    if len(set(words)) < len(words) or None in words:
        first_row: dict[str, int] = {}
        for row, word in enumerate(words):
            if word is None:
                bad[row] = ("not UTF-8", "the word is not UTF-8")
            elif first_row.setdefault(word, row) != row:
                where = f"{word!r} stands already in row {first_row[word] + 1}"
                bad.setdefault(row, ("duplicate word", where))
    if bad and not options.skip_bad:
        row = min(bad)
        raise FormatError(
            f"{source}: row {row + 1}: {bad[row][1]} ('w2v convert --skip-bad' leaves bad rows out)"
        )
    skipped = Counter(kind for kind, _ in bad.values())
    report_skipped(source, skipped)
    return [row for row in range(len(words)) if row not in bad] if bad else None, skipped


def rows_not_finite(matrix: NDArray[np.float32]) -> list[int]:
    """Return the rows that hold NaN or infinity."""
    rows: list[int] = []
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        block = matrix[start : start + _ROWS_AT_ONCE]
        if not (finite := np.isfinite(block)).all():
            rows += (start + np.flatnonzero(~finite.all(axis=1))).tolist()
    return rows


def check_finite(model: WordVectors) -> None:
    """Refuse to write NaN and infinity, which no format of w2v reads."""
    for matrix in (model.vectors, model.context):
        if matrix is not None and (rows := rows_not_finite(matrix)):
            word = repr(model.words[rows[0]]) if len(matrix) == len(model) else f"row {rows[0]}"
            raise FormatError(f"the vector of {word} holds NaN or infinity; it is not written")


def origin(source: Source, format_name: str, skipped: Counter[str] | None = None) -> Origin:
    """Describe where vectors come from that have no config of their own."""
    described: dict[str, Any] = {"file": str(source), "format": format_name}
    if skipped:
        described["skipped_rows"] = dict(skipped)
    return Origin(source=described)


def report_skipped(source: Source, skipped: Counter[str]) -> None:
    """Log how many rows were left out, and why."""
    if skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in skipped.most_common())
        _LOG.warning("%s: left out %d bad rows (%s)", source, sum(skipped.values()), kinds)


def prune(model: WordVectors, source: Source, options: ReadOptions) -> WordVectors:
    """Keep only the rows that were asked for, of vectors that are already at hand."""
    if options.words is not None:
        kept = [word_id for word_id, word in enumerate(model.words) if word in options.words]
        model = model.rows(kept[: options.top])
    elif options.top is not None and options.top < len(model):
        model = model.rows(slice(options.top))
    return check_pruned(model, source, options)


def check_pruned(model: WordVectors, source: Source, options: ReadOptions) -> WordVectors:
    """Say which of the wanted words are missing; none at all is an error."""
    if options.words is None:
        return model
    missing = sorted(options.words.difference(model.words)) if options.top is None else []
    if options.words and not len(model):
        raise FormatError(f"{source}: holds none of the {len(options.words)} words that were asked for")
    if missing:
        shown = ", ".join(map(repr, missing[:5])) + (", …" if len(missing) > 5 else "")
        _LOG.warning("%s: lacks %d of the %d words: %s", source, len(missing), len(options.words), shown)
    return model
