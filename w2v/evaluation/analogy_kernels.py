"""The compiled loop that finds the best answers of many analogies in one block of the vocabulary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from w2v.system.compiling import score_kernel

_PIECE = 256


@score_kernel
def keep_best(
    similarities: NDArray[np.float32],
    questions: NDArray[np.int64],
    first_row: int,
    is_product: bool,
    scores: NDArray[np.float32],
    rows: NDArray[np.int64],
) -> None:
    """Score the words of one block as answers to every question and keep the best K of each.

    3CosAdd is b - a + c; 3CosMul (Levy & Goldberg 2014) is b * c / (a + 0.000001), cosines shifted to 0..1.

    Parameters
    ----------
    similarities : ndarray of float32, shape (U, n)
        Cosines of the U words that occur in questions with the n words of the block.
    questions : ndarray of int64, shape (Q, 3)
        The words a, b, c, as row numbers of `similarities`.
    first_row : int
        The row of the block's first word in the vocabulary.
    is_product : bool
        3CosMul instead of 3CosAdd.
    scores : ndarray of float32, shape (Q, K), modified in place
        The best scores so far, highest first.
    rows : ndarray of int64, shape (Q, K), modified in place
        Their rows in the vocabulary.
    """
    n = similarities.shape[1]
    n_kept = scores.shape[1]
    piece = np.empty(_PIECE, np.float32)
    half = np.float32(0.5)
    for question in range(len(questions)):
        a = similarities[questions[question, 0]]
        b = similarities[questions[question, 1]]
        c = similarities[questions[question, 2]]
        kept = scores[question]
        kept_rows = rows[question]
        for start in range(0, n, _PIECE):
            length = min(_PIECE, n - start)
            most = np.float32(-np.inf)
            for i in range(length):
                if is_product:
                    positive = (half + half * b[start + i]) * (half + half * c[start + i])
                    piece[i] = positive / (half + half * a[start + i] + np.float32(0.000001))
                else:
                    piece[i] = b[start + i] - a[start + i] + c[start + i]
                most = max(most, piece[i])
            if most <= kept[n_kept - 1]:
                continue
            for i in range(length):
                if piece[i] > kept[n_kept - 1]:
                    place = n_kept - 1
                    while place > 0 and kept[place - 1] < piece[i]:
                        kept[place] = kept[place - 1]
                        kept_rows[place] = kept_rows[place - 1]
                        place -= 1
                    kept[place] = piece[i]
                    kept_rows[place] = first_row + start + i
