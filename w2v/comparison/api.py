"""The Python API of comparison with gensim: `w2v.compare`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from w2v.api import split_settings
from w2v.comparison.compare import TrainingComparison, compare_training
from w2v.comparison.profile import EvaluationSets
from w2v.comparison.spread import FEWEST_SEEDS
from w2v.config import Settings, VocabConfig
from w2v.errors import ConfigError

if TYPE_CHECKING:
    from w2v.corpus import PathLike, Source


def compare(
    corpus: Source,
    *,
    seeds: int = FEWEST_SEEDS,
    analogies: Iterable[str | Path] | None = None,
    pairs: Iterable[str | Path] | None = None,
    keep: PathLike | None = None,
    cache_dir: PathLike | None = None,
    cache: bool = True,
    **settings: Any,
) -> TrainingComparison:
    """Train gensim and w2v on the same text with the same settings, and compare what comes of it.

    Each trains `seeds` times, by turns, in processes of their own. Vectors are not compared one by one: see
    `w2v.comparison`.

    Parameters
    ----------
    corpus : path-like, sequence of path-like, or iterable of sequences of str
        As for `w2v.train`.
    seeds : int
        At least 3.
    analogies, pairs : iterable of str or path-like, optional
        Test sets; see `w2v.evaluation.evaluate`.
    keep : path-like, optional
        A new folder for the text and all models.
    cache_dir, cache
        Where encoded files are kept for the next run, and whether; see `w2v.corpus.encode`.
    **settings
        As for `w2v.train`, without max_vocab, which gensim does not have. `workers` is 1 unless given: see
        `w2v.comparison.compare.compare_training`.

    Returns
    -------
    TrainingComparison
        `measures`, each with a `verdict`; `runs` with times and memory; `is_inside` for the whole.

    Raises
    ------
    ConfigError
        If a setting is unknown, out of range, or one that gensim cannot follow.
    CorpusError
        If the corpus cannot be read or leaves nothing to train.

    Examples
    --------
    >>> import w2v
    >>> found = w2v.compare("corpus.txt", model="sg", kernel="exact")  # doctest: +SKIP
    >>> [(one.name, one.verdict) for one in found.measures]  # doctest: +SKIP
    """
    from w2v.corpus import encode

    corpus_config, phrases, vocab_config, train_config = split_settings(
        cast(Settings, {"workers": 1, **settings})
    )
    if vocab_config.max_vocab is not None:
        raise ConfigError("gensim cannot keep exactly max_vocab words; choose min_count instead")
    sets = EvaluationSets.read(analogies, pairs)
    encoded = encode(
        corpus,
        corpus=corpus_config,
        vocab=VocabConfig(min_count=1),
        phrases=phrases,
        cache_dir=cache_dir,
        cache=cache,
    )
    return compare_training(
        encoded,
        min_count=vocab_config.min_count,
        train=train_config,
        seeds=seeds,
        sets=sets,
        keep=keep,
        origin=corpus,
    )
