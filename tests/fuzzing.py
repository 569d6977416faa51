"""Damage done to small valid files, and what must hold whatever a reader makes of it.

A target writes valid files into a folder and reads them. Each round damages one of them and reads again: the
reader succeeds, and what it gives is sane, or it raises W2VError (FileNotFoundError where a file was taken
away); anything else is a failure. `tests/test_fuzz.py` runs some seeded rounds, `scripts/fuzz` as many as
there is time for. A new kind of file is one more `Target` in `TARGETS`.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import struct
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from vector_strategies import some_model

import w2v
from w2v import Embeddings
from w2v.config import CorpusConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.corpus.ids.cache import Cache
from w2v.corpus.ids.cache_entry import FORMAT_VERSION
from w2v.corpus.ids.encoded_corpus import select_words
from w2v.errors import CorpusError, W2VError
from w2v.vectors.origin import Origin, Reading
from w2v.vectors.training_report import EpochReport, TrainingReport
from w2v.vectors.vocab import Vocab

Files = Mapping[str, bytes]
OLD = Path(__file__).parent / "data" / "written_by_0.1.0"


@dataclass(frozen=True)
class Target:
    """A kind of file.

    Attributes
    ----------
    name : str
    write : callable
        Writes valid files into an empty folder.
    read : callable
        Reads them from such a folder; raises AssertionError where what it gets is not sane.
    """

    name: str
    write: Callable[[Path], None]
    read: Callable[[Path], None]


@dataclass(frozen=True)
class Failure:
    """A round that went wrong: run `rounds(target, seed, seed + 1, folder)` to see it again."""

    target: str
    seed: int
    reason: str


# -- vectors ----------------------------------------------------------------------------------------------


def check_vectors(model: Embeddings) -> None:
    """Raise AssertionError unless a model is what every query relies on."""
    assert model.vectors.dtype == np.float32
    assert model.vectors.shape == (len(model.words), model.vector_size)
    assert model.counts.shape == (len(model.words),)
    assert model.counts.dtype == np.int64
    assert model.vector_size >= 1
    assert np.isfinite(model.vectors).all()
    assert (model.counts >= 0).all()
    assert len(set(model.words)) == len(model.words)
    assert all(isinstance(word, str) for word in model.words)
    if model.context is not None:
        assert model.context.shape[1] == model.vector_size
        assert np.isfinite(model.context).all()
    json.dumps(model.origin.as_dict(), default=str)
    if model.training is not None:
        assert len(model.training.loss) == len(model.training.lines)
    if len(model):
        model.neighbors(model.words[0], 3)


def read_vectors(folder: Path, name: str) -> None:
    """Read vectors twice: as they are, and without bad rows."""
    try:
        check_vectors(w2v.load(folder / name))
    finally:
        check_vectors(w2v.load(folder / name, skip_bad=True))


def full_model() -> Embeddings:
    """Return a model with all the parts that one can have."""
    model = some_model(12, 3)
    report = TrainingReport((EpochReport(1, 99, 0.05, 2.0, 300.0, 0.1, 990.0),) * 2)
    settings: dict[str, Any] = {"tokenizer": "words", "lowercase": True, "phrases": {"phrases": 1}}
    origin = Origin(training={"epochs": 2}, reading=Reading(settings), versions={"w2v": "0"})
    return replace(model, context=model.vectors * 2, origin=origin, training=report)


def write_vectors(folder: Path, name: str, format: str | None) -> None:  # noqa: A002 - as everywhere
    """Write a model in a format."""
    full_model().save_as(folder / name, format=format)


def write_int8(folder: Path) -> None:
    """Write what quantizers make: bytes, and one scale a row."""
    header = {
        "__metadata__": {"words": '["a", "b"]'},
        "vectors": {"dtype": "I8", "shape": [2, 4], "data_offsets": [0, 8]},
        "scale": {"dtype": "F32", "shape": [2, 1], "data_offsets": [8, 16]},
    }
    text = json.dumps(header).encode()
    data = np.array([0.5, 2], "<f4").tobytes()
    (folder / "v.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(8)) + data)


def write_fasttext(folder: Path, *, is_old: bool) -> None:
    """Write a fastText model of three words and four buckets, of today or of 2016."""
    words, dimensions, n_buckets = ["</s>", "cat", "中文"], 3, 4
    settings = (dimensions, 5, 1, 1, 5, 1, 2, 2, n_buckets, 3, 6, 100, 1e-4)
    data = b"" if is_old else struct.pack("<2i", 793712314, 12)
    data += struct.pack("<12id", *settings) + struct.pack("<3iq", len(words), len(words), 0, 99)
    data += b"" if is_old else struct.pack("<q", 0)
    data += b"".join(word.encode() + struct.pack("<bqb", 0, 9, 0) for word in words)
    for n_rows in (len(words) + n_buckets, len(words)):
        matrix = np.linspace(-1, 1, n_rows * dimensions, dtype="<f4")
        data += (b"" if is_old else b"\0") + struct.pack("<2q", n_rows, dimensions) + matrix.tobytes()
    (folder / "v.bin").write_bytes(data)


def write_packed(folder: Path, pack: Callable[[bytes], bytes]) -> None:
    """Write word2vec text, packed."""
    write_vectors(folder, "v.txt", None)
    (folder / "v").write_bytes(pack((folder / "v.txt").read_bytes()))
    (folder / "v.txt").unlink()


def copy_old_model(folder: Path) -> None:
    """Copy a model folder of the first version."""
    shutil.copytree(OLD / "model", folder / "v")


def read_torch(folder: Path) -> None:
    """Read a torch folder as vectors and as an `nn.Embedding`."""
    from w2v.pytorch import from_embedding, load_embedding

    try:
        check_vectors(w2v.load(folder / "v.torch"))
    finally:
        embedding = load_embedding(folder / "v.torch")
        assert embedding.weight.isfinite().all()
        assert len(embedding.weight) == len(embedding.vocab.tokens)
        assert len(set(embedding.vocab.tokens)) == len(embedding.vocab.tokens)
        check_vectors(from_embedding(embedding))


def match_tokenizer(folder: Path) -> None:
    """Read the tokenizer.json of a folder as someone else's vocabulary."""
    from w2v.formats.foreign import match, read_foreign

    foreign = read_foreign(folder / "v.hf" / "tokenizer.json")
    assert len(foreign.tokens) == len(foreign.words)
    rows, _ = match(some_model(12, 3).vocab, foreign, fold_case=True, unmatched=-1)
    assert len(rows) == len(foreign.tokens)


def vector_targets() -> Iterator[Target]:
    """Yield the formats of vectors, and the ways in which they are packed or vary."""
    files = {
        "folder": "v", "word2vec": "v.txt", "word2vec-bin": "v.bin", "glove": "v.glove", "npy": "v.npy",
        "safetensors": "v.safetensors", "projector": "v.projector", "huggingface": "v.hf",
    }  # fmt: skip
    for name, file in files.items():
        yield Target(name, partial(write_vectors, name=file, format=name), partial(read_vectors, name=file))
    yield Target("model of 0.1.0", copy_old_model, partial(read_vectors, name="v"))
    yield Target("int8", write_int8, partial(read_vectors, name="v.safetensors"))
    for name, is_old in (("fasttext-bin", False), ("fastText of 2016", True)):
        yield Target(name, partial(write_fasttext, is_old=is_old), partial(read_vectors, name="v.bin"))
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        yield Target(pack.__module__, partial(write_packed, pack=pack), partial(read_vectors, name="v"))
    hf = partial(write_vectors, name="v.hf", format="huggingface")
    yield Target("tokenizer.json", hf, match_tokenizer)
    yield Target("torch", partial(write_vectors, name="v.torch", format="torch"), read_torch)


# -- corpora ----------------------------------------------------------------------------------------------

LINES = ["the cat sat on the mat", "我们 在 研究 语言", "naïve café 😀", "the end of the text"]
EVERY_WORD = VocabConfig(min_count=1)


def check_corpus(corpus: EncodedCorpus) -> None:
    """Raise AssertionError unless a corpus is what the kernels rely on."""
    words, offsets = corpus.vocab.words, corpus.offsets
    assert len(set(words)) == len(words) == corpus.n_types
    assert not any("\0" in word or not word.strip() for word in words)
    assert "".join(words).encode()
    assert corpus.vocab.counts.tolist() == np.bincount(corpus.tokens, minlength=len(words)).tolist()
    assert (np.diff(corpus.vocab.counts) <= 0).all()
    assert (offsets[0], offsets[-1]) == (0, corpus.n_tokens)
    assert (np.diff(offsets) > 0).all()


def read_corpus(folder: Path, name: str, **settings: Any) -> None:
    """Read a file as it is, and then with what is bad replaced or left out, cut into words."""
    lenient = {"errors": "replace", "skip_bad_records": True, "tokenizer": "words", "sentences": "none"}
    with patch("w2v.corpus.read.blocks._settled_status", lambda file: os.fstat(file.fileno())):  # no waiting
        try:
            config = CorpusConfig(**settings)
            check_corpus(encode(folder / name, corpus=config, vocab=EVERY_WORD, cache=False))
        finally:
            config = CorpusConfig(**lenient, **settings)  # type: ignore[arg-type]
            check_corpus(encode(folder / name, corpus=config, vocab=EVERY_WORD, cache=False))


def write_bytes(folder: Path, name: str, data: bytes) -> None:
    """Write a file."""
    (folder / name).write_bytes(data)


def write_parquet(folder: Path) -> None:
    """Write lines as a column of strings, and as one of lists of strings."""
    from pyarrow import parquet, table

    columns = {"text": [*LINES, None], "tokens": [line.split() for line in (*LINES, "")]}
    parquet.write_table(table(columns), folder / "c.parquet")


def corpus_targets() -> Iterator[Target]:
    """Yield the kinds of corpora, some packed or in other encodings."""
    text = "\n".join(LINES) + "\n"
    jsonl = "".join(json.dumps({"id": n, "text": line}) + "\n" for n, line in enumerate(LINES)).encode()
    csv = "id,text\n" + "".join(f'{n},"{line}, ""so"""\n' for n, line in enumerate(LINES))
    tsv = "id\ttext\n" + "".join(f'{n}\t"{line}\n' for n, line in enumerate(LINES))
    page = "<page><title>T</title><ns>0</ns><id>1</id><revision><text>{}</text></revision></page>"
    pages = "".join(map(page.format, ("''The'' [[cat|cats]].\n* {{lang|fr|a}}", *LINES)))
    dump = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{pages}</mediawiki>'
    files = {
        "text": ("c.txt", text.encode()), "jsonl": ("c.jsonl", jsonl), "csv": ("c.csv", csv.encode()),
        "tsv": ("c.tsv", tsv.encode()), "wiki": ("c.xml", dump.encode()),
        "text in gzip": ("c.gz", gzip.compress(text.encode()) * 2),
        "text in bzip2": ("c.bz2", bz2.compress(text.encode()) * 2),
        "text in xz": ("c.xz", lzma.compress(text.encode()) + bytes(64) + lzma.compress(text.encode())),
    }  # fmt: skip
    for name, (file, data) in files.items():
        read = partial(read_corpus, name=file)
        yield Target(name, partial(write_bytes, name=file, data=data), read)
    for encoding in ("utf-16", "gb18030"):
        read = partial(read_corpus, name="c", encoding=encoding)
        encoded = jsonl.decode().encode(encoding)
        yield Target(f"jsonl in {encoding}", partial(write_bytes, name="c", data=encoded), read)
    yield Target("parquet", write_parquet, partial(read_corpus, name="c.parquet"))
    yield Target("parquet of lists", write_parquet, partial(read_corpus, name="c.parquet", field="tokens"))
    yield Target("cache", write_cache, read_cache)


def write_cache(folder: Path) -> None:
    """Write the entry of a corpus into a cache, with its tokens as rows of another vocabulary."""
    (folder / "c").write_text("\n".join(LINES))
    encode(folder / "c", vocab=_CHOSEN, cache_dir=folder)
    (folder / "c").unlink()


def read_cache(folder: Path) -> None:
    """Look the entry up: it is found as it was, or not at all."""
    root = folder / f"corpus-{FORMAT_VERSION}"
    for record in root.glob("sources/*"):
        if (found := Cache(root).find(record.stem)) is None:
            raise CorpusError("not in the cache")
        expected = encode([line.split() for line in LINES], vocab=_CHOSEN, cache=False)
        assert found[0].fingerprint == expected.fingerprint
        assert found[0].types.words() == expected.types.words()
        for name in ("tokens", "offsets"):
            assert getattr(found[0], name).tolist() == getattr(expected.entry, name).tolist()
        assert found[0].types.counts.tolist() == expected.types.counts.tolist()
        assert select_words(found[0], _CHOSEN)[1].tolist() == expected.tokens.tolist()


_CHOSEN = Vocab(("cat", "the", "语言"), np.zeros(3, np.int64))
TARGETS = {target.name: target for target in (*vector_targets(), *corpus_targets())}

# -- damage -----------------------------------------------------------------------------------------------

_INTEGERS = (0, 1, -1, 2, 255, 1000, 2**31 - 1, -(2**31), 2**31, 2**32, 2**62, 2**63 - 1, -(2**63))
_TEXTS = (
    b"0", b"-1", b"1e999", b"nan", b"inf", b"1" * 400, b"9" * 20, b" ", b"\t", b"\n", b"\r", b"\r\n", b"\0",
    b"\xff", b"\xef\xbb\xbf", b"\xc3", "中".encode(), b"\\", b"\\u", b'"', b"{", b"]", b",", b"null", b"true",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2, 10**30, 1.5, float("nan"), "", "x", "\ud800", [], {}, [1], {"a": 1}, [[]],
    ["a", "b"], [0, 8], [-8, 16],
)  # fmt: skip


def damaged(files: Files, rng: random.Random) -> dict[str, bytes | None]:
    """Return the files with one to three faults; None for a file that is taken away."""
    result: dict[str, bytes | None] = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(sorted(result))
        data = result[name]
        if data is None or rng.random() < 0.02:
            result[name] = None
            continue
        if rng.random() < 0.4 and (changed := _other_json(data, rng)) is not None:
            result[name] = changed
            continue
        result[name] = rng.choice(_FAULTS)(data, rng, files[rng.choice(sorted(files))])
    return result


def _flip(data: bytes, rng: random.Random, _: bytes) -> bytes:
    at = rng.randrange(max(1, len(data)))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _number(data: bytes, rng: random.Random, _: bytes) -> bytes:
    at = rng.randrange(max(1, min(len(data), rng.choice((128, 1 << 20)))))
    number = rng.choice(_INTEGERS)
    layout = rng.choice("iq") if -(2**31) <= number < 2**31 else "q"
    packed = struct.pack(f"<{layout}", number)
    return data[:at] + packed + data[at + len(packed) :]


def _insert(data: bytes, rng: random.Random, _: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_TEXTS) + data[at + rng.choice((0, 0, 1, 4)) :]


def _cut(data: bytes, rng: random.Random, _: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _delete(data: bytes, rng: random.Random, _: bytes) -> bytes:
    start, stop = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[min(stop, start + rng.choice((1, 8, 1 << 20))) :]


def _double(data: bytes, rng: random.Random, _: bytes) -> bytes:
    start, stop = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:stop] + data[start:stop] * rng.choice((1, 1, 3)) + data[stop:]


def _splice(data: bytes, rng: random.Random, other: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _append(data: bytes, rng: random.Random, other: bytes) -> bytes:
    return data + rng.choice((b"\0", b"\n", b"x", b"\0" * 512, other))


_FAULTS = (_flip, _flip, _number, _insert, _insert, _cut, _delete, _double, _splice, _append)


def _other_json(data: bytes, rng: random.Random) -> bytes | None:
    """Return JSON, or the JSON behind the length in front of safetensors, with one value changed."""
    prefix, rest = b"", b""
    if data[8:9] == b"{":
        length = struct.unpack("<Q", data[:8])[0]
        prefix, data, rest = data[:8], data[8 : 8 + length], data[8 + length :]
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    text = json.dumps(_with_other_value(value, rng), ensure_ascii=rng.random() < 0.9)
    changed = text.encode(errors="surrogatepass")
    return (struct.pack("<Q", len(changed)) if prefix else b"") + changed + rest


def _with_other_value(value: Any, rng: random.Random) -> Any:
    """Replace a value somewhere, take one away, or give it another name."""
    if not value or not isinstance(value, dict | list) or rng.random() < 0.2:
        return rng.choice(_VALUES)
    key = rng.choice(sorted(value)) if isinstance(value, dict) else rng.randrange(len(value))
    fate = rng.random()
    copy = dict(value) if isinstance(value, dict) else list(value)
    if fate < 0.1:
        del copy[key]
    elif fate < 0.2 and isinstance(copy, dict):
        copy[rng.choice(("", "words", "weight", "\ud800", str(key) + "2"))] = copy.pop(key)
    else:
        copy[key] = _with_other_value(value[key], rng)
    return copy


# -- rounds -----------------------------------------------------------------------------------------------


def rounds(target: Target, first_seed: int, last_seed: int, folder: Path) -> Iterator[Failure | None]:
    """Damage and read, once a seed; yield what went wrong in each round, or None.

    Parameters
    ----------
    target : Target
    first_seed, last_seed : int
        The latter is not run.
    folder : Path
        Empty; of a round that failed the damaged files stay there until the next one.
    """
    files = valid_files(target, folder)
    for seed in range(first_seed, last_seed):
        rng = random.Random(zlib.crc32(target.name.encode()) + (seed << 32))
        put(damaged(files, rng), folder)
        yield _read(target, seed, folder)


def valid_files(target: Target, folder: Path) -> Files:
    """Write the valid files, see that they can be read, and return them by their path."""
    target.write(folder)
    target.read(folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def put(files: Mapping[str, bytes | None], folder: Path) -> None:
    """Make a folder hold these files and no others."""
    shutil.rmtree(folder)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if data is not None:
            (folder / name).write_bytes(data)


def _read(target: Target, seed: int, folder: Path) -> Failure | None:
    try:
        target.read(folder)
    except (W2VError, FileNotFoundError):
        return None
    except Exception:  # noqa: BLE001 - that is what is looked for
        return Failure(target.name, seed, traceback.format_exc())
    return None
