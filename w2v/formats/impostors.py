"""Files that are often taken for vectors: each is named for what it is, with what to do, and never loaded."""

from __future__ import annotations

import codecs
import json
import re
import shlex

from w2v.files.signatures import Signature, signature_of
from w2v.formats.source import Source

_CLASS = re.compile(rb"\b(\w*KeyedVectors|FastText|Word2Vec|Doc2Vec)\b")
_LOADED = {b"FastText": "FastText", b"Word2Vec": "Word2Vec", b"Doc2Vec": "Doc2Vec"}
_MATRIX_ADVICE = "write its matrix as .npy with a list of words beside it"
_ADVICE = {"an HDF5 file": _MATRIX_ADVICE, "a Parquet file": _MATRIX_ADVICE}
_SAMPLE = 4096
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_HTML = re.compile(rb"\s*<(!doctype html|html|head|body|\?xml)", re.IGNORECASE)
_COUNTS = re.compile(rb"([^\t\n ]+[\t ]\d+\r?\n){1,3}")
_TEXT_PICKLE = re.compile(
    rb"\([dlt]p?\d*\n|c(copy_reg|numpy|gensim|collections|__builtin__|builtins)[\w.]*\n"
)


def name_impostor(source: Source) -> str:
    """Say what a file is that no format has recognised."""
    head = source.head
    if not head:
        return "empty (0 bytes); was it written or fetched to the end?"
    if head[0] == 0x80 and head[1:2] in (b"\2", b"\3", b"\4", b"\5"):
        return _pickle(source)
    if _is_utf16(head[:_SAMPLE]):
        return "text in UTF-16; vectors are read in UTF-8: iconv -f utf-16 -t utf-8"
    if signature := signature_of(head):
        return _of_signature(signature, head)
    if _HTML.match(head):
        return "a web page (HTML), not vectors; the address probably led to a page about the file"
    if head.lstrip()[:1] in (b"{", b"["):
        return "JSON, not vectors"
    if _COUNTS.match(head):
        return "a list of words with counts, not vectors"
    if _TEXT_PICKLE.match(head):
        return _pickle(source)
    return f"no format of vectors that w2v knows; it begins with {_shown(source)}"


def _is_utf16(head: bytes) -> bool:
    if head[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return False
    try:
        return not _CONTROL.search(head[: len(head) // 2 * 2].decode("utf-16"))
    except UnicodeDecodeError as error:
        return error.start >= _SAMPLE - 4


def _pickle(source: Source) -> str:
    """Name the class whose object comes first, and the command that takes its vectors out."""
    found = _CLASS.search(source.head)
    kind = _LOADED.get(found[1] if found else b"", "KeyedVectors")
    vectors = f"{kind}.load({json.dumps(str(source))}){'.wv' if kind in _LOADED.values() else ''}"
    code = f'from gensim.models import {kind}; {vectors}.save_word2vec_format("vectors.bin", binary=True)'
    return (
        "a Python pickle, which can run any code when it is loaded, so w2v never does. If it is gensim's and "
        f"you trust it: python -c {shlex.quote(code)}"
    )


def _of_signature(signature: Signature, head: bytes) -> str:
    name, advice = signature.name, signature.advice or _ADVICE.get(signature.name)
    if name == "a zip archive" and b"data.pkl" in head:
        return (
            "a PyTorch checkpoint, which holds a pickle; w2v never loads one. Save its weight as safetensors "
            "or as .npy with a list of words beside it"
        )
    if name == "a zip archive" and b".npy" in head:
        return "an .npz archive; save its matrix as .npy with a list of words beside it"
    return f"{name}; {advice}" if advice else name


def _shown(source: Source) -> str:
    """Show how a file begins; one that is a text may be meant to be trained on."""
    try:
        text = source.head[:_SAMPLE].decode()
    except UnicodeDecodeError as error:
        text = source.head[: error.start].decode() if error.start > _SAMPLE - 4 else ""
    if not text or _CONTROL.search(text):
        return repr(source.head[:24])[1:]
    advice = f"w2v train {shlex.quote(str(source))} -o my_model"
    return f"{text[:24]!r}. If this is text, train on it first: {advice}"
