"""The Python API of training: `w2v.train`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from w2v.config import CorpusConfig, PhraseConfig, TrainConfig, VocabConfig
from w2v.errors import ConfigError

if TYPE_CHECKING:
    from w2v.corpus import PathLike, Source
    from w2v.embeddings import Embeddings
    from w2v.training.trainer import ProgressCallback, ReportCallback
    from w2v.vectors.vocab import Vocab


def train(
    corpus: Source,
    *,
    vocab: Vocab | None = None,
    cache_dir: PathLike | None = None,
    cache: bool = True,
    on_progress: ProgressCallback | None = None,
    on_report: ReportCallback | None = None,
    **settings: Any,
) -> Embeddings:
    """Train word vectors.

    Parameters
    ----------
    corpus : path-like, sequence of path-like, or iterable of sequences of str
        Text files or folders, one sentence a line; or sentences, each a list of tokens (a generator is read
        once). See `w2v.corpus.encode`.
    vocab : Vocab, optional
        Words to train, in this order, instead of the most frequent ones.
    cache_dir, cache
        Where encoded files are kept for the next run, and whether; see `w2v.corpus.encode`.
    on_progress, on_report : callable, optional
        Called with a `TrainingProgress` about ten times a second, with an `EpochReport` after each epoch.
    **settings
        Fields of `w2v.config`: `TrainConfig` (`model`, `vector_size`, `window`, `epochs`, `workers`, ...),
        `VocabConfig` (`min_count`, `max_vocab`), `CorpusConfig` (`lowercase`, `tokenizer`, ...) and
        `PhraseConfig` (`phrases`, ...).

    Returns
    -------
    Embeddings
        With `words`, `vectors`, `counts`, `neighbors(...)`, `save(path)`, and `training` (`seconds`,
        `tokens`, `words_per_second`, `loss`).

    Raises
    ------
    ConfigError
        If a setting is unknown or out of range.
    CorpusError
        If the corpus cannot be read or leaves nothing to train.
    TrainingError
        If weights stop being finite.

    Examples
    --------
    >>> import w2v
    >>> sentences = [["we", "eat", "rice"], ["we", "eat", "bread"]] * 50
    >>> model = w2v.train(sentences, vector_size=10, min_count=1, sample=0, workers=1)
    >>> model.words[:2]
    ['we', 'eat']
    """
    from w2v.corpus import encode
    from w2v.training.model import train_model

    corpus_config, phrases, vocab_config, train_config = split_settings(settings)
    if vocab is not None and vocab_config != VocabConfig():
        raise ConfigError("a given vocab says which words to take; leave out min_count and max_vocab")
    encoded = encode(
        corpus,
        corpus=corpus_config,
        vocab=vocab or vocab_config,
        phrases=phrases,
        cache_dir=cache_dir,
        cache=cache,
    )
    return train_model(encoded, train_config, on_progress=on_progress, on_report=on_report)


def split_settings(
    settings: dict[str, Any],
) -> tuple[CorpusConfig, PhraseConfig, VocabConfig, TrainConfig]:
    """Give each setting to the config that has it."""
    left = dict(settings)
    configs = []
    for kind in (CorpusConfig, PhraseConfig, VocabConfig, TrainConfig):
        names = [field.name for field in dataclasses.fields(kind)]
        configs.append(kind(**{name: left.pop(name) for name in names if name in left}))
    if left:
        raise ConfigError(f"unknown settings: {', '.join(sorted(left))}; see w2v.config for those there are")
    return tuple(configs)  # type: ignore[return-value]
