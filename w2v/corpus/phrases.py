"""Phrases: words that occur together far more often than by chance are joined to one, such as new_york."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2v.config import PhraseConfig
from w2v.corpus import phrase_kernels as kernels
from w2v.corpus.ids.cache import Cache
from w2v.corpus.ids.cache_entry import Entry, StreamWriter, finish_entry, open_entry
from w2v.corpus.ids.encoded_corpus import CorpusReport, EncodedCorpus, sentence_ranges
from w2v.corpus.ids.scanner import TypeTable
from w2v.corpus.ids.word_types import Types
from w2v.errors import ConfigError, CorpusError

_PAIRS_AT_ONCE = 1 << 17
_TOKENS_AT_ONCE = 1 << 18
_FIRST_SLOTS = 1 << 18
_MOST_SLOTS = 1 << 27  # 2 GB; then the rarest pairs are forgotten, as in gensim after 40 M
_CHINESE_CONNECTORS = frozenset("的之与與和及或在于於而并並以从從对對为為是了")


class Phrase(NamedTuple):
    """A phrase with the words it is made of, how often it occurs and how it scored."""

    words: tuple[str, ...]
    occurrences: int
    score: float


class Pairs(NamedTuple):
    """Counted pairs: `table` and `nodes` as in `phrase_kernels`, and how many pairs they hold."""

    table: NDArray[np.uint64]
    nodes: NDArray[np.uint64]
    n_pairs: int


class Found(NamedTuple):
    """The pairs that are phrases: slots of the table of pairs, counts and scores, by falling score."""

    slots: NDArray[np.int64]
    counts: NDArray[np.int64]
    scores: NDArray[np.float64]


@contextmanager
def joined_entry(entry: Entry, config: PhraseConfig, cache: Cache) -> Iterator[Entry]:
    """Open an entry in which phrases are joined, from the cache if it was made before.

    The memory maps outlive the block, its folder need not.
    """
    facts = [entry.fingerprint, asdict(config), sorted(connector_words(config.phrase_connectors))]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    if found := cache.find(key):
        yield found[0]
        return
    with cache.new_folder() as folder:
        for number in range(config.phrases):
            place = folder / str(number)
            place.mkdir()
            fingerprint = _join(entry, config, place)
            made = open_entry(place)
            if made is None:
                raise CorpusError(f"{place}: something has removed or damaged the corpus; run again")
            entry = made
        if cache.keeps:
            published = open_entry(cache.publish(place, fingerprint))
            cache.remember(key, fingerprint, CorpusReport(), ())
            entry = published or entry
        yield entry


def find_phrases(corpus: EncodedCorpus, config: PhraseConfig) -> list[Phrase]:
    """List the phrases that one pass over a corpus would join, best score first.

    Parameters
    ----------
    corpus : EncodedCorpus
    config : PhraseConfig
    """
    types = corpus.types
    is_connector = _connector_flags(types, config)
    pairs = count_pairs(corpus.type_ids, corpus.offsets, is_connector)
    found = score_pairs(pairs, types.counts, is_connector, corpus.n_tokens, config)
    runs = _runs(pairs.nodes)
    return [
        Phrase(tuple(_words(types, _word_rows(pairs, slot, runs))), count, score)
        for slot, count, score in zip(
            found.slots.tolist(), found.counts.tolist(), found.scores.tolist(), strict=True
        )
    ]


def count_pairs(
    tokens: NDArray[np.int32], offsets: NDArray[np.int64], is_connector: NDArray[np.bool_]
) -> Pairs:
    """Count the pairs of neighbouring words in each sentence, with any connectors between them.

    Parameters
    ----------
    tokens : ndarray of int32, shape (N,)
    offsets : ndarray of int64, shape (S + 1,)
    is_connector : ndarray of bool, shape (n_types,)
    """
    state = np.zeros(kernels.N_STATE, np.int64)
    table = np.zeros((_FIRST_SLOTS, kernels.N_COLUMNS), np.uint64)
    nodes = np.zeros((1 << 10, kernels.N_COLUMNS), np.uint64)
    listed = np.empty((_PAIRS_AT_ONCE, kernels.N_COLUMNS), np.uint64)
    lowest = 1
    while state[kernels.SENTENCE] < len(offsets) - 1:
        n_listed = kernels.find_pairs(tokens, offsets, is_connector, nodes, state, listed)
        done = 0
        while (done := kernels.count_pairs(listed, done, n_listed, table, state)) < n_listed:
            lowest += len(table) >= _MOST_SLOTS
            table, n_pairs = _grown(table, lowest)
            state[kernels.N_PAIRS] = n_pairs
        if 2 * (state[kernels.N_NODES] + 1) >= len(nodes):
            if state[kernels.N_NODES] * 2 > kernels.MOST_NODES:
                raise CorpusError("too many different runs of connector words; give fewer connectors")
            nodes, _ = _grown(nodes, 1)
    return Pairs(table, nodes, int(state[kernels.N_PAIRS]))


def _grown(table: NDArray[np.uint64], lowest: int) -> tuple[NDArray[np.uint64], int]:
    """Return a table of twice the size, or of the same without pairs counted under `lowest` times."""
    n_slots = len(table) if lowest > 1 else 2 * len(table)
    larger = np.zeros((n_slots, kernels.N_COLUMNS), np.uint64)
    return larger, kernels.rehash(table, larger, lowest)


def score_pairs(
    pairs: Pairs,
    counts: NDArray[np.int64],
    is_connector: NDArray[np.bool_],
    n_tokens: int,
    config: PhraseConfig,
) -> Found:
    """Choose the pairs whose score is above the threshold.

    The score is `default`: (n_ab - min_count) / n_a / n_b * (types + pairs) of Mikolov et al. (2013), or
    `npmi`: ln(p_ab / p_a / p_b) / -ln(p_ab) of Bouma (2009), both just as gensim computes them.
    """
    pair_counts = (pairs.table[:, kernels.COUNT] & kernels.COUNT_MASK).astype(np.int64)
    slots = np.flatnonzero(pair_counts >= config.phrase_min_count)
    n_ab = pair_counts[slots].astype(np.float64)
    words = pairs.table[slots, kernels.WORDS]
    n_a = counts[(words >> np.uint64(32)).astype(np.int64)].astype(np.float64)
    n_b = counts[(words & np.uint64(0xFFFFFFFF)).astype(np.int64)].astype(np.float64)
    if config.phrase_scoring == "npmi":
        with np.errstate(divide="ignore", invalid="ignore"):
            p_ab = n_ab / n_tokens
            scores = np.log(p_ab / ((n_a / n_tokens) * (n_b / n_tokens))) / -np.log(p_ab)
    else:
        n_vocab = float((~is_connector).sum() + pairs.n_pairs)
        scores = (n_ab - config.phrase_min_count) / n_a / n_b * n_vocab
    chosen = np.flatnonzero(scores > config.phrase_threshold)
    # By score, then by words, so that the order in the table does not matter.
    between = pairs.table[slots, kernels.COUNT] >> kernels.COUNT_BITS
    chosen = chosen[np.lexsort((between[chosen], words[chosen], -scores[chosen]))]
    return Found(slots[chosen], pair_counts[slots[chosen]], scores[chosen])


def connector_words(name: str) -> frozenset[str]:
    """Return the connector words that "none", "en" or "zh" stand for, or those of a file, one a line."""
    if name == "none":
        return frozenset()
    if name == "en":
        from gensim.models.phrases import ENGLISH_CONNECTOR_WORDS

        return frozenset(ENGLISH_CONNECTOR_WORDS)
    if name == "zh":
        return _CHINESE_CONNECTORS
    try:
        return frozenset(Path(name).read_text("utf-8-sig").split())
    except FileNotFoundError:
        raise ConfigError(
            f"phrase_connectors must be none, en, zh or a file of words; there is no file {name!r}"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: connector words must be UTF-8 text ({error})") from None


def _join(entry: Entry, config: PhraseConfig, folder: Path) -> str:
    """Write an entry in which the phrases of one pass are joined; return its fingerprint."""
    is_connector = _connector_flags(entry.types, config)
    pairs = count_pairs(entry.tokens, entry.offsets, is_connector)
    found = score_pairs(pairs, entry.types.counts, is_connector, len(entry.tokens), config)
    phrases = _phrase_table(pairs, found)
    n_types = len(entry.types.counts)
    n_joined = np.zeros(n_types + len(found.slots), np.int64)
    with StreamWriter(folder) as writer:
        for first, last in sentence_ranges(entry.offsets):
            out = np.empty(int(entry.offsets[last] - entry.offsets[first]), np.int32)
            ends = np.empty(last - first, np.int64)
            n_out = kernels.join_phrases(
                entry.tokens,
                entry.offsets,
                first,
                last,
                is_connector,
                pairs.nodes,
                phrases,
                n_types,
                out,
                ends,
            )
            n_joined += np.bincount(out[:n_out], minlength=len(n_joined))
            writer.write(out[:n_out], writer.n_tokens + ends)
    types, merged = _joined_types(entry.types, pairs, found, n_joined, config.phrase_delimiter)
    return finish_entry(folder, types, merged)


def _phrase_table(pairs: Pairs, found: Found) -> NDArray[np.uint64]:
    """Return the hash table in which `join_phrases` looks up pairs."""
    n_slots = 1 << max(4, (2 * len(found.slots)).bit_length())
    chosen = pairs.table[found.slots].copy()
    numbers = np.arange(1, len(chosen) + 1, dtype=np.uint64)
    chosen[:, kernels.COUNT] &= ~kernels.COUNT_MASK
    chosen[:, kernels.COUNT] |= numbers
    table = np.zeros((n_slots, kernels.N_COLUMNS), np.uint64)
    kernels.rehash(chosen, table, 1)
    return table


def _joined_types(
    types: Types, pairs: Pairs, found: Found, counts: NDArray[np.int64], delimiter: str
) -> tuple[Types, NDArray[np.int32]]:
    """Return the types that are left and the phrases, equal words being one, and which each id became."""
    n_types = len(types.counts)
    runs = _runs(pairs.nodes)
    words_left, phrases_left = np.flatnonzero(counts[:n_types]), np.flatnonzero(counts[n_types:])
    names = [
        delimiter.join(_words(types, _word_rows(pairs, slot, runs)))
        for slot in found.slots[phrases_left].tolist()
    ]
    table = TypeTable()
    merged = np.zeros(len(counts), np.int32)
    merged[words_left] = table.merge(types._replace(counts=counts[:n_types]).take(words_left))
    merged[n_types + phrases_left] = table.merge(Types.from_words(names, counts[n_types + phrases_left]))
    return table.types, merged


def _connector_flags(types: Types, config: PhraseConfig) -> NDArray[np.bool_]:
    wanted = connector_words(config.phrase_connectors)
    flags = np.zeros(len(types.counts), np.bool_)
    if wanted:
        for start in range(0, len(flags), _TOKENS_AT_ONCE):
            stop = min(start + _TOKENS_AT_ONCE, len(flags))
            flags[start:stop] = [word in wanted for word in types.words(start, stop)]
    return flags


def _runs(nodes: NDArray[np.uint64]) -> dict[int, tuple[int, ...]]:
    """Return the connectors that each node stands for."""
    parents: dict[int, tuple[int, int]] = {}
    for words, number in nodes[nodes[:, kernels.COUNT] != 0].tolist():
        parents[number] = words >> 32, words & 0xFFFFFFFF
    runs: dict[int, tuple[int, ...]] = {0: ()}
    for node in sorted(parents):  # a child's number is above its parent's
        parent, connector = parents[node]
        runs[node] = (*runs[parent], connector)
    return runs


def _word_rows(pairs: Pairs, slot: int, runs: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    words, count = pairs.table[slot].tolist()
    return words >> 32, *runs[count >> int(kernels.COUNT_BITS)], words & 0xFFFFFFFF


def _words(types: Types, rows: Sequence[int]) -> list[str]:
    return [types.words(row, row + 1)[0] for row in rows]
