"""The comparisons: gensim and w2v trained on the same text, with a verdict, and any two embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from w2v.api import Reading, split_settings
from w2v.comparison.loss import draw_sample
from w2v.comparison.profile import (
    EvaluationSets,
    Probe,
    Profile,
    Score,
    make_profile,
    measure_scores,
    neighbor_overlap,
    procrustes_residual,
    similarity_correlation,
)
from w2v.comparison.side_by_side import TRAINERS, Say, SideBySide, side_by_side
from w2v.comparison.spread import FEWEST_SEEDS, Measure
from w2v.comparison.text import SharedText
from w2v.comparison.trainer_process import TrainerRun
from w2v.comparison.weights import VocabularyCheck, check_vocabulary, in_order, shared_words
from w2v.config import Settings, TrainConfig, VocabConfig
from w2v.corpus import EncodedCorpus, PathLike
from w2v.embeddings import Embeddings
from w2v.errors import ConfigError
from w2v.vectors.vocab import keep_probabilities

if TYPE_CHECKING:
    from w2v.corpus import Source


@dataclass(frozen=True)
class TrainingComparison:
    """What came of training with both.

    Attributes
    ----------
    text : SharedText
    settings : mapping
        The fields of `TrainConfig`, as w2v trained.
    gensim_alpha : float
        gensim's learning rate at the start; w2v's is among the settings.
    min_count : int
    seeds : tuple of int
    vocabulary : VocabularyCheck
    measures : tuple of Measure
        Those of quality, then the agreements.
    too_few : tuple of Score
        Test sets of which too few questions are known to say anything.
    runs : tuple of TrainerRun
        In the order in which they ran: gensim and w2v take turns.
    gensim_share : float
        Words gensim trained on, of those that subsampling leaves: about 1, unless gensim lost some.
    """

    text: SharedText
    settings: Mapping[str, Any]
    gensim_alpha: float
    min_count: int
    seeds: tuple[int, ...]
    vocabulary: VocabularyCheck
    measures: tuple[Measure, ...]
    too_few: tuple[Score, ...]
    runs: tuple[TrainerRun, ...]
    gensim_share: float

    @property
    def is_inside(self) -> bool:
        """Whether the vocabularies are the same and w2v is worse on no measure than gensim's own spread."""
        return self.vocabulary.is_same and not any(one.verdict == "worse" for one in self.measures)

    def runs_of(self, trainer: str) -> tuple[TrainerRun, ...]:
        """Return the runs of "gensim" or "w2v", in the order of the seeds."""
        return tuple(run for run in self.runs if run.trainer == trainer)


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

    Each trains `seeds` times; they take turns, each in a process of its own. Vectors are not compared one by
    one: see `w2v.comparison`.

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
        `compare_training`.

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
    corpus_config, phrases, vocab_config, train_config = split_settings(
        cast(Settings, {"workers": 1, **settings})
    )
    if vocab_config.max_vocab is not None:
        raise ConfigError("gensim cannot keep exactly max_vocab words; choose min_count instead")
    sets = EvaluationSets.read(analogies, pairs)
    reading = Reading(corpus, corpus_config, vocab_config, phrases, cache_dir, cache, bar=False)
    return compare_training(
        reading.read(),
        min_count=vocab_config.min_count,
        train=train_config,
        seeds=seeds,
        sets=sets,
        keep=keep,
        origin=corpus,
    )


def compare_training(
    corpus: EncodedCorpus,
    *,
    min_count: int = VocabConfig.min_count,
    train: TrainConfig | None = None,
    seeds: int = FEWEST_SEEDS,
    sets: EvaluationSets | None = None,
    keep: PathLike | None = None,
    origin: object = None,
    say: Say = lambda line: None,
) -> TrainingComparison:
    """Do what `compare` does with a corpus that has been read.

    Parameters
    ----------
    corpus : EncodedCorpus
    train : TrainConfig, optional
        For both; by default with one worker, because gensim's `corpus_file` lets the learning rate fall less
        the more workers there are. Where alpha is None, each takes its own default.
    seeds : int
        N. The seeds are train.seed and those that follow it.
    sets : EvaluationSets, optional
        By default those that gensim carries.
    min_count, keep, origin, say
        See `side_by_side`.
    """
    train = train or TrainConfig(workers=1)
    if seeds < FEWEST_SEEDS:
        raise ConfigError(f"seeds must be at least {FEWEST_SEEDS} to know gensim's own spread; got {seeds}")
    sets = sets or EvaluationSets.read()
    with side_by_side(corpus, train, min_count=min_count, keep=keep, origin=origin, say=say) as both:
        return _compare(both, range(train.seed, train.seed + seeds), sets, keep)


def _compare(
    both: SideBySide, seeds: range, sets: EvaluationSets, keep: PathLike | None
) -> TrainingComparison:
    """Train with each seed, keep a profile of each model, and make the measures of all profiles."""
    config = both.config("w2v")
    all_runs: list[TrainerRun] = []
    profiles: dict[str, list[Profile]] = {trainer: [] for trainer in TRAINERS}
    for seed, runs, models in both.models(seeds):
        if not all_runs:
            check = check_vocabulary(models["gensim"].vocab, models["w2v"].vocab)
            vocab = shared_words(both.corpus.vocab, [model.vocab for model in models.values()])
            probe, sample = Probe.draw(len(vocab)), draw_sample(both.corpus, vocab, config)
        all_runs += runs.values()
        for trainer in TRAINERS:
            profiles[trainer].append(make_profile(in_order(models[trainer], vocab), probe, sets, sample))
            if keep is not None:
                models[trainer].save(Path(keep) / f"{trainer}-seed-{seed}")
    quality, too_few = measure_scores(*([one.scores for one in profiles[trainer]] for trainer in TRAINERS))
    return TrainingComparison(
        text=both.text,
        settings=asdict(config),
        gensim_alpha=cast(float, both.config("gensim").alpha),
        min_count=both.min_count,
        seeds=tuple(seeds),
        vocabulary=check,
        measures=(_losses(profiles, config), *quality, *_agreements(profiles)),
        too_few=too_few,
        runs=tuple(all_runs),
        gensim_share=_gensim_share(all_runs, both.corpus, config),
    )


def _gensim_share(runs: Iterable[TrainerRun], corpus: EncodedCorpus, config: TrainConfig) -> float:
    kept = [run.kept_words for run in runs if run.kept_words is not None]
    counts = corpus.vocab.counts
    expected = float(keep_probabilities(counts, config.sample) @ counts)
    return sum(kept) / len(kept) / (expected * cast(int, config.epochs))


def _losses(profiles: Mapping[str, list[Profile]], config: TrainConfig) -> Measure:
    theirs, ours = (tuple(cast(float, one.loss) for one in profiles[trainer]) for trainer in TRAINERS)
    name = "loss a word" if config.objective.averages_contexts else "loss a pair"
    return Measure(name, theirs, ours, len(theirs), higher_is_better=False)


_AGREEMENTS: tuple[tuple[str, Callable[[Profile, Profile], float], bool], ...] = (
    ("neighbour overlap@10", neighbor_overlap, True),
    ("rank correlation of similarities", similarity_correlation, True),
    ("Procrustes residual", procrustes_residual, False),
)


def _agreements(profiles: Mapping[str, list[Profile]]) -> Iterator[Measure]:
    theirs, ours = (profiles[trainer] for trainer in TRAINERS)
    for name, agreement, higher_is_better in _AGREEMENTS:
        yield Measure(
            name,
            tuple(starmap(agreement, combinations(theirs, 2))),
            tuple(starmap(agreement, product(ours, theirs))),
            len(theirs),
            higher_is_better,
            is_agreement=True,
            own=tuple(starmap(agreement, combinations(ours, 2))),
        )


@dataclass(frozen=True)
class ModelComparison:
    """How two embeddings differ.

    Attributes
    ----------
    n_words, n_shared : (int, int), int
        Words of each, and those that both have; all that follows is about the latter.
    scores : tuple of (Score, Score)
        The two results on every test set; both answer the same questions.
    neighbor_overlap : float
        Share of the ten nearest words, by cosine, that both have; see `Probe` for the words asked.
    similarity_correlation : float
        Spearman's correlation of the cosines of random pairs of frequent words.
    procrustes_residual : float
        Distance of frequent words' unit vectors after the best rotation; 0 if equal, 1.41 if unrelated.
    """

    n_words: tuple[int, int]
    n_shared: int
    scores: tuple[tuple[Score, Score], ...]
    neighbor_overlap: float
    similarity_correlation: float
    procrustes_residual: float


def compare_models(
    model: Embeddings, other: Embeddings, *, sets: EvaluationSets | None = None
) -> ModelComparison:
    """Compare two embeddings on the words they share, in the order (of frequency) of the first.

    Parameters
    ----------
    model, other : Embeddings
        Their dimensions may differ.
    sets : EvaluationSets, optional
        By default those that gensim carries.

    Raises
    ------
    ConfigError
        If they share fewer than 12 words.

    Examples
    --------
    >>> import w2v
    >>> w2v.compare_models(w2v.load("mine"), w2v.load("theirs.bin")).neighbor_overlap  # doctest: +SKIP
    """
    vocab = shared_words(model.vocab, [other.vocab])
    probe = Probe.draw(len(vocab))
    sets = sets or EvaluationSets.read()
    # Context vectors are not looked at: no copy of them is made.
    both = (in_order(replace(one, context=None), vocab) for one in (model, other))
    first, second = (make_profile(one, probe, sets) for one in both)
    return ModelComparison(
        (len(model), len(other)),
        len(vocab),
        tuple(zip(first.scores, second.scores, strict=True)),
        neighbor_overlap(first, second),
        similarity_correlation(first, second),
        procrustes_residual(first, second),
    )
