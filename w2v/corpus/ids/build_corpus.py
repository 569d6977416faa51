"""From a source to an entry, read once or found in the cache, and from an entry to an `EncodedCorpus`."""

from __future__ import annotations

import dataclasses
import logging
import os
import stat
from collections.abc import Generator, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from w2v.config import CorpusConfig, PhraseConfig, VocabConfig
from w2v.corpus.ids.cache import Cache, signature
from w2v.corpus.ids.cache_entry import Entry, StreamWriter, finish_entry, open_entry
from w2v.corpus.ids.encoded_corpus import CorpusReport, EncodedCorpus, ReadingProgress, select_words
from w2v.corpus.ids.parts import cut_into_parts
from w2v.corpus.ids.pool import encode_parts
from w2v.corpus.ids.python_sentences import EXAMPLE, encode_sentences, shown, weighted_sentences
from w2v.corpus.ids.scanner import Scanner, TypeTable, lowered
from w2v.corpus.ids.text_advice import text_advice
from w2v.corpus.ids.word_types import Types
from w2v.corpus.read.blocks import Block, kind_of_file, read_blocks
from w2v.corpus.read.files import TextFile, find_files, read_twice
from w2v.corpus.read.kinds import KINDS, TEXT, Kind
from w2v.corpus.read.opened_file import Tally
from w2v.corpus.read.remote import is_url
from w2v.corpus.tokens.tokenizers import describe, is_cut_at_spaces_only
from w2v.errors import CorpusError
from w2v.vectors.vocab import Vocab

_BLOCK_BYTES = 1 << 20
_WORDS_AT_ONCE = 1 << 16
_log = logging.getLogger(__name__)


def encode_source(
    source: Any,
    config: CorpusConfig,
    vocab: VocabConfig | Vocab,
    *,
    cache: Cache,
    progress: ReadingProgress | None,
    phrases: PhraseConfig | None = None,
    workers: int = 1,
    block_bytes: int = _BLOCK_BYTES,
    weights: Iterable[Any] | None = None,
) -> EncodedCorpus:
    """See `w2v.corpus.encode`; `block_bytes` is how much is read at once, for tests."""
    paths = _as_paths(source)
    _check_weights(weights, config, is_files=paths is not None)
    files = find_files(paths) if paths is not None else []
    if (twice := read_twice(files)) is not None:
        _log.warning("%s", twice)
    kind = _first_kind(files, config)
    if config.tokenizer is None:
        config = replace(config, tokenizer=kind.tokenizer)
    reading = describe(config)
    if (key := _key_now(files, config, reading)) and (found := cache.find(key)):
        return _finished(*found, vocab, config, reading, phrases, cache)
    with cache.new_folder() as folder:
        if paths is None:
            report, place = _encode_python(source, weights, config, folder), folder
        else:
            as_is = is_cut_at_spaces_only(config) and kind.page_text is None
            reader = _FilesReader(files, config, as_is, reading, cache, progress, workers, block_bytes)
            report, place = reader.encode(folder)
        entry = open_entry(place)
        if entry is None:
            raise CorpusError(f"{place}: something has removed or damaged the encoded corpus; run again")
        return _finished(entry, report, vocab, config, reading, phrases, cache)


def _check_weights(weights: Any, config: CorpusConfig, *, is_files: bool) -> None:
    if is_files and weights is not None:
        raise CorpusError("weights are for sentences from Python; for records in files name a weights_field")
    if not is_files and config.weights_field is not None:
        raise CorpusError("weights_field is for records in files; pass weights of sentences as weights=")


def _first_kind(files: Sequence[TextFile], config: CorpusConfig) -> Kind:
    """Return the kind of the first file, which decides how all are read; TEXT if it can be read only once."""
    if config.format != "auto":
        return KINDS[config.format]
    return kind_of_file(files[0], config) if files and files[0].size is not None else TEXT


def _finished(
    entry: Entry,
    report: CorpusReport,
    vocab: VocabConfig | Vocab,
    config: CorpusConfig,
    reading: Mapping[str, Any],
    phrases: PhraseConfig | None,
    cache: Cache,
) -> EncodedCorpus:
    """Join phrases, cut to the vocabulary, and give advice on what was read."""
    for advice in (*report.notes, *text_advice(entry.types, config)):
        _log.warning("%s", advice)
    joined: AbstractContextManager[Entry] = nullcontext(entry)
    if phrases is not None and phrases.phrases:
        from w2v.corpus.phrases import joined_entry

        joined = joined_entry(entry, phrases, cache)
        reading = {**reading, "phrases": dataclasses.asdict(phrases)}
    with joined as entry:
        selected, tokens = select_words(entry, vocab)
        if (n_absent := np.count_nonzero(selected.counts == 0)) > 0:
            word = selected.words[int(np.argmin(selected.counts))]
            _log.warning(
                "%s of the %s words of the given vocabulary are not in the corpus, such as %r: training "
                "leaves their vectors as they begin",
                f"{n_absent:,}",
                f"{len(selected):,}",
                word,
            )
        return EncodedCorpus(selected, tokens, entry.offsets, entry, report, reading)


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
        if isinstance(part, str) and part != "-" and not is_url(part) and not os.path.lexists(part):
            raise CorpusError(
                f"{shown(part)} is neither a file nor a folder; tokens from Python look like {EXAMPLE}"
            )
    return source


def _key_now(files: Sequence[TextFile], config: CorpusConfig, reading: Mapping[str, Any]) -> str | None:
    """Return the cache key of files; None if one is a pipe or a URL, of which no change would show."""
    statuses = [file.path.stat() for file in files if file.path is not None]
    if (
        not files
        or callable(config.tokenizer)
        or len(statuses) < len(files)
        or not all(stat.S_ISREG(status.st_mode) for status in statuses)
    ):
        return None
    return signature(files, statuses, reading)


@dataclass(frozen=True)
class _FilesReader:
    """Reads files into an entry of the cache."""

    files: Sequence[TextFile]
    config: CorpusConfig
    as_is: bool
    reading: Mapping[str, Any]
    cache: Cache
    progress: ReadingProgress | None
    workers: int
    block_bytes: int

    def encode(self, folder: Path) -> tuple[CorpusReport, Path]:
        """Read into an entry, and keep it in the cache if a later run can know it again."""
        tally = Tally()
        with StreamWriter(folder) as writer:
            if self.as_is:
                types, n_blank = self._scan(writer, tally)
            else:
                types, n_blank = self._encode_parts(writer, tally)
        report = CorpusReport(
            files=len(self.files),
            bytes=tally.bytes,
            blank=n_blank,
            replaced=tally.replaced,
            skipped=tally.skipped,
            repeats=tally.repeats,
            weighted_out=tally.weighted_out,
            kinds=dict(tally.kinds),
            notes=tally.notes,
        )
        if writer.n_tokens == 0:
            raise CorpusError(self._no_word(report))
        merged = None
        if self.config.lowercase and self.as_is:
            types, merged = lowered(types)
        fingerprint = finish_entry(folder, types, merged)
        statuses = [status for status in tally.statuses if status is not None]
        if not self.cache.keeps or callable(self.config.tokenizer) or len(statuses) < len(self.files):
            return report, folder
        place = self.cache.publish(folder, fingerprint)
        self.cache.remember(signature(self.files, statuses, self.reading), fingerprint, report, self.files)
        return report, place

    def _no_word(self, report: CorpusReport) -> str:
        names = ", ".join(file.name for file in self.files[:3]) + (", ..." if len(self.files) > 3 else "")
        found = [f"{report.blank} blank lines"]
        if report.weighted_out:
            found.append(f"{report.weighted_out:,} records not read because of their weight")
        if report.skipped:
            found.append(f"{report.skipped:,} records left out; {report.notes[0]}")
        return f"{names}: no word in {report.bytes} bytes ({', '.join(found)})"

    def _blocks(self, tally: Tally) -> Generator[Block, None, None]:
        # The scanner finds invalid UTF-8 itself.
        return read_blocks(
            self.files, self.config, tally, block_bytes=self.block_bytes, validate=not self.as_is
        )

    def _scan(self, writer: StreamWriter, tally: Tally) -> tuple[Types, int]:
        """Find and number the words between white space; a line is a sentence."""
        scanner = Scanner(writer)
        bar = _Bytes(self.files, self.progress)
        current = None
        with closing(self._blocks(tally)) as blocks:
            for block in blocks:
                if block.file is not current:
                    if current is not None:
                        scanner.end_file()
                    current = block.file
                    scanner.start_file(block.file.name, block.skipped)
                page_text = block.kind.page_text
                data = f"{page_text(block.data.decode())}\n".encode() if page_text else block.data
                scanner.feed(data)
                bar.update(block.file, block.position)
        scanner.end_file()
        return scanner.types, scanner.n_blank

    def _encode_parts(self, writer: StreamWriter, tally: Tally) -> tuple[Types, int]:
        """Cut the text into tokens part by part, on several cores, and merge the results."""
        table, bar = TypeTable(), _Bytes(self.files, self.progress)
        n_blank = last_end = 0
        with closing(self._blocks(tally)) as blocks:
            encoded_parts = encode_parts(cut_into_parts(blocks), self.config, workers=self.workers)
            with closing(encoded_parts):
                for block, part, encoded in encoded_parts:
                    ends = writer.n_tokens + encoded.sentence_ends
                    last_end = int(ends[-1]) if len(ends) else last_end
                    n_tokens = writer.n_tokens + len(encoded.token_ids)
                    if part.ends_file and n_tokens > last_end:
                        ends, last_end = np.append(ends, n_tokens), n_tokens
                    writer.write(table.merge(encoded.types)[encoded.token_ids], ends)
                    n_blank += encoded.n_blank
                    bar.update(block.file, part.position)
        return table.types, n_blank


class _Bytes:
    """Counts the bytes of all files read so far for a progress bar."""

    def __init__(self, files: Sequence[TextFile], progress: ReadingProgress | None) -> None:
        self._progress = progress
        sizes = [file.size for file in files]
        self._total = sum(size for size in sizes if size is not None) if None not in sizes else None
        self._current: TextFile | None = None
        self._done = self._position = 0

    def update(self, file: TextFile, position: int) -> None:
        if file is not self._current:
            self._current, self._done, self._position = file, self._done + self._position, 0
        self._position = position
        if self._progress is not None:
            self._progress(self._done + position, self._total)


def _encode_python(
    sentences: Any, weights: Iterable[Any] | None, config: CorpusConfig, folder: Path
) -> CorpusReport:
    tally = Tally()
    if weights is not None:
        sentences = weighted_sentences(sentences, weights, config.weights_seed, tally)
    with StreamWriter(folder) as writer:
        types, n_blank = encode_sentences(sentences, writer, lowercase=config.lowercase)
    if writer.n_tokens == 0:
        left_out = f", {tally.weighted_out} not read because of their weight" if tally.weighted_out else ""
        raise CorpusError(f"no words in the sentences from Python: {n_blank} sentences, all empty{left_out}")
    finish_entry(folder, types)
    return CorpusReport(blank=n_blank, repeats=tally.repeats, weighted_out=tally.weighted_out)
