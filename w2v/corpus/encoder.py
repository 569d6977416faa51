"""From a source to an entry, read once or found in the cache, and from an entry to an `EncodedCorpus`."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Mapping, Sequence, Set
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2v.config import CorpusConfig, VocabConfig
from w2v.corpus.cache import Cache, signature
from w2v.corpus.encoded import CorpusReport, EncodedCorpus, Progress
from w2v.corpus.entry import Entry, StreamWriter, finish_entry, map_array, open_entry, write_stream
from w2v.corpus.files import TextFile, find_files
from w2v.corpus.sentences import EXAMPLE, encode_sentences, shown
from w2v.corpus.table import Scanner, lowered
from w2v.corpus.text import Tally, read_blocks
from w2v.errors import CorpusError
from w2v.vocab import Vocab

_BLOCK_BYTES = 1 << 20
_WORDS_AT_ONCE = 1 << 16


def encode_source(
    source: Any,
    config: CorpusConfig,
    vocab: VocabConfig | Vocab,
    *,
    cache: Cache,
    progress: Progress | None,
    block_bytes: int = _BLOCK_BYTES,
) -> EncodedCorpus:
    """Do what `w2v.corpus.encode` promises; `block_bytes` is how much is read at once, for tests."""
    paths = _as_paths(source)
    files = find_files(paths) if paths is not None else []
    if (key := _key_now(files, config)) and (found := cache.find(key)):
        return select(found[0], vocab, found[1])
    with cache.new_folder() as folder:
        if paths is None:
            report, place = _encode_python(source, config, folder), folder
        else:
            report, place = _encode_files(files, config, folder, cache, progress, block_bytes)
        entry = open_entry(place)
        if entry is None:
            raise CorpusError(f"{place}: something has removed or damaged the encoded corpus; run again")
        return select(entry, vocab, report)


def select(entry: Entry, vocab: VocabConfig | Vocab, report: CorpusReport) -> EncodedCorpus:
    """Cut an encoded corpus to a vocabulary.

    Parameters
    ----------
    entry : Entry
    vocab : VocabConfig or Vocab
        Which of the most frequent words to take, or the words themselves in their order.
    report : CorpusReport

    Raises
    ------
    CorpusError
        If no word is left.
    """
    if isinstance(vocab, Vocab):
        tokens, selected = _renumbered(entry, vocab)
    else:
        tokens, selected = entry.tokens, _most_frequent(entry, vocab)
    n_types = len(entry.types.counts)
    return EncodedCorpus(selected, tokens, entry.offsets, n_types, entry.fingerprint, report)


def _as_paths(source: Any) -> Sequence[str | os.PathLike[str]] | None:
    """Return the names of the files in a source, or None if it is sentences from Python."""
    if isinstance(source, str | os.PathLike):
        return [source]
    if isinstance(source, bytes | Mapping | Set) or not hasattr(source, "__iter__"):
        raise CorpusError(f"a corpus is files or lists of tokens such as {EXAMPLE}; got {shown(source)}")
    if not isinstance(source, list | tuple) or not source:
        return None
    if not all(isinstance(part, str | os.PathLike) for part in source):
        return None
    for part in source:
        if isinstance(part, str) and part != "-" and not os.path.lexists(part):
            raise CorpusError(
                f"{shown(part)} is neither a file nor a folder; tokens from Python look like {EXAMPLE}"
            )
    return source


def _key_now(files: Sequence[TextFile], config: CorpusConfig) -> str | None:
    """Return the cache key of files; None if not all are regular ones, so that nothing tells them apart."""
    statuses = [file.path.stat() for file in files if file.path is not None]
    if (
        not files
        or len(statuses) < len(files)
        or not all(stat.S_ISREG(status.st_mode) for status in statuses)
    ):
        return None
    return signature(files, statuses, config)


def _encode_files(
    files: Sequence[TextFile],
    config: CorpusConfig,
    folder: Path,
    cache: Cache,
    progress: Progress | None,
    block_bytes: int,
) -> tuple[CorpusReport, Path]:
    """Read files into an entry, and keep it in the cache if a later run can know it again."""
    tally = Tally()
    with StreamWriter(folder) as writer:
        scanner = Scanner(writer)
        _scan(files, config, tally, scanner, progress, block_bytes)
    report = CorpusReport(len(files), tally.bytes, scanner.n_blank, tally.replaced)
    if writer.n_tokens == 0:
        names = ", ".join(file.name for file in files[:3]) + (", ..." if len(files) > 3 else "")
        raise CorpusError(f"{names}: no word in {report.bytes} bytes ({report.blank} blank lines)")
    types, merged = lowered(scanner.types) if config.lowercase else (scanner.types, None)
    fingerprint = finish_entry(folder, types, merged)
    statuses = [status for status in tally.statuses if status is not None]
    if not cache.keeps or len(statuses) < len(files):
        return report, folder
    place = cache.publish(folder, fingerprint)
    cache.remember(signature(files, statuses, config), fingerprint, report, files)
    return report, place


def _scan(
    files: Sequence[TextFile],
    config: CorpusConfig,
    tally: Tally,
    scanner: Scanner,
    progress: Progress | None,
    block_bytes: int,
) -> None:
    sizes = [file.size for file in files]
    total = sum(size for size in sizes if size is not None) if None not in sizes else None
    current, done, position = None, 0, 0
    with closing(read_blocks(files, config, tally, block_bytes=block_bytes)) as blocks:
        for block in blocks:
            if block.file is not current:
                if current is not None:
                    scanner.end_file()
                current, done = block.file, done + position
                scanner.start_file(block.file.name, block.skipped)
            scanner.feed(block.data)
            position = block.position
            if progress is not None:
                progress(done + position, total)
    scanner.end_file()


def _encode_python(sentences: Any, config: CorpusConfig, folder: Path) -> CorpusReport:
    with StreamWriter(folder) as writer:
        types, n_blank = encode_sentences(sentences, writer, lowercase=config.lowercase)
    if writer.n_tokens == 0:
        raise CorpusError(f"no words in the sentences from Python: {n_blank} sentences, all empty")
    finish_entry(folder, types)
    return CorpusReport(blank=n_blank)


def _most_frequent(entry: Entry, config: VocabConfig) -> Vocab:
    counts = entry.types.counts
    n_words = int(np.searchsorted(-counts, -config.min_count, side="right"))
    if n_words == 0:
        [word] = entry.types.words(0, 1)
        raise CorpusError(
            f'no word occurs {config.min_count} times (most frequent: {counts[0]}, "{word[:60]}"); '
            "lower --min-count"
        )
    if config.max_vocab is not None:
        n_words = min(n_words, config.max_vocab)
    return Vocab(entry.types.words(0, n_words), np.array(counts[:n_words]))


def _renumbered(entry: Entry, given: Vocab) -> tuple[NDArray[np.int32], Vocab]:
    """Return the tokens as rows of a given vocabulary (V for all others), and it with its counts here."""
    n_types, n_words = len(entry.types.counts), len(given)
    row_of = np.empty(n_types, np.int32)
    for start in range(0, n_types, _WORDS_AT_ONCE):
        stop = min(start + _WORDS_AT_ONCE, n_types)
        row_of[start:stop] = [given.index.get(word, n_words) for word in entry.types.words(start, stop)]
    counts = np.zeros(n_words + 1, np.int64)
    counts[row_of] = entry.types.counts
    if not counts[:-1].any():
        raise CorpusError(f"none of the {n_words} words of the given vocabulary is in the corpus")
    counts = counts[:-1].copy()
    digest = hashlib.sha256("\0".join(given.words).encode(errors="surrogatepass"))
    path = entry.folder / f"rows-{digest.hexdigest()}.i32"
    if not path.exists() or path.stat().st_size != entry.tokens.nbytes:
        temporary = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        try:
            write_stream(entry, temporary, row_of)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    return map_array(path, np.int32), Vocab(given.words, counts)
