"""Records, kinds of files told by content, mixed folders, URLs, encodings guessed, advice."""

from __future__ import annotations

import gzip
import io
import json
import logging
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2v.config import CORPUS_FORMATS, CorpusConfig, VocabConfig
from w2v.corpus import EncodedCorpus, encode
from w2v.corpus.read.guess_encoding import guess_encoding
from w2v.corpus.read.kinds import KINDS, Kind
from w2v.corpus.read.opened_file import RecordError, Tally
from w2v.corpus.read.records import CSV, json_texts
from w2v.errors import CorpusError

ALL = VocabConfig(min_count=1)
Write = Callable[..., Path]


def read(source: Any, **config: Any) -> list[list[str]]:
    corpus = encoded(source, **config)
    words = corpus.vocab.words
    rows = [words[i] for i in corpus.tokens]
    return [rows[a:b] for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False)]


def encoded(source: Any, **config: Any) -> EncodedCorpus:
    return encode(source, corpus=CorpusConfig(**config), vocab=ALL, cache=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, data: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write_file


def test_every_format_of_the_config_has_a_record() -> None:
    assert set(KINDS) == set(CORPUS_FORMATS)
    assert list(KINDS)[-1] == "text"  # fits every file, so it is tried last


def test_one_record_adds_a_kind(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = Kind(
        "pages",
        detects=lambda head, suffix: head.startswith(b"%%"),
        read=lambda opened, validate: iter(opened.read().split(b"%%")[1:]),
        page_text=str.upper,
        tokenizer="words",
    )
    monkeypatch.setattr("w2v.corpus.read.kinds.KINDS", {"pages": pages, **KINDS})
    path = write("a.txt", "%%one, two\nthree%%four")
    assert read(path) == [["ONE", "TWO"], ["THREE"], ["FOUR"]]
    assert read(path, tokenizer="whitespace", sentences="none") == [["ONE,", "TWO", "THREE"], ["FOUR"]]
    assert encoded(path).report.kinds == {"pages": 1}


def test_json_lines(write: Write) -> None:
    lines = (
        '{"id": 1, "text": "a b\\nc"}\n\n{"text": null}\r\n'
        '{"text": ["d", "e"], "x": NaN}\n{"text": "\\u4e16"}'
    )
    for name in ("corpus.jsonl", "corpus.txt", "corpus.jsonl.gz"):
        data = gzip.compress(lines.encode()) if name.endswith("gz") else lines
        path = write(name, data)
        assert read(path) == [["a", "b"], ["c"], ["d", "e"], ["世"]]
        assert encoded(path).report.kinds == {"jsonl": 1}
    assert read(path, sentences="none") == [["a", "b", "c"], ["d", "e"], ["世"]]
    assert read(write("t.jsonl", '{"a": {"b.c": {"d": "deep"}, "b": "x"}}'), field="a.b") == [["x"]]
    assert read(write("text.txt", '{"text": "a b"}'), format="text") == [['{"text":', '"a', 'b"}']]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"body": "x", "title": "y"}', r"2: no field 'text', but body, title; .*--field"),
        ('{"text": 3}', r"2: expected text in 'text', got int '3'"),
        ("[1]", r"2: expected a JSON object, got list"),
        ("plain", r"2: not a JSON object a line"),
        ('{"text": "' + "\\ud800" + '"}', r"2: a lone surrogate.*--errors replace"),
        ('{"text": ' + "[" * 100_000 + "}", r"2: not a JSON object"),
        ('{"text": ' + "1" * 5000 + "}", r"2: "),
        ('{"text": "' + "a" * 10, r"2: not a JSON object"),
    ],
)
def test_json_that_is_no_record(line: str, message: str, write: Write) -> None:
    with pytest.raises(CorpusError, match=r"corpus\.jsonl:" + message):
        read(write("corpus.jsonl", '{"text": "fine"}\n' + line))


def test_a_lone_surrogate_can_be_replaced(write: Write) -> None:
    corpus = encoded(write("a.jsonl", '{"text": "x\\ud800 \\ud83d\\ude00"}'), errors="replace")
    assert list(corpus.vocab.words) == ["x\ufffd", "😀"]
    assert corpus.report.replaced == 1


def test_a_json_array_is_named(write: Write) -> None:
    with pytest.raises(CorpusError, match=r"a JSON array; .*jq -c"):
        read(write("a.json", '[\n {"text": "a"}]'))


def test_csv(write: Write) -> None:
    text = 'id,"text"\r\n1,"a, ""b""\nc"\r\n\r\n2,d\r\n'
    assert read(write("a.csv", text)) == [["a,", '"b"'], ["c"], ["d"]]
    assert read(write("a.csv", text), sentences="none") == [["a,", '"b"', "c"], ["d"]]
    assert read(write("b.csv", "id;text\n1;a b\n")) == [["a", "b"]]
    assert read(write("b.CSV.gz", gzip.compress(b"id\ttext\n1\ta b\n"))) == [["a", "b"]]
    assert read(write("c.csv", "1,a b\n2,c\n"), field="2") == [["a", "b"], ["c"]]
    assert read(write("c.txt", "id,text\n1,a b\n")) == [["id,text"], ["1,a", "b"]]
    assert read(write("c.txt", "id,text\n1,a b\n"), format="csv") == [["a", "b"]]
    assert read(write("d.csv", "\ufefftext,id\na,1\n")) == [["a"]]


def test_tsv_takes_quotes_as_text(write: Write) -> None:
    assert read(write("a.tsv", 'n\ttext\n1\t"so it begins\n2\tb\n')) == [['"so', "it", "begins"], ["b"]]


def test_a_long_field(write: Write) -> None:
    words = "word " * 100_000
    assert read(write("a.csv", f'text\n"{words}"\n')) == [words.split()]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,body\n1,a\n", r"1: no field 'text', but id, body; .*--field"),
        ("a.csv", "id,text\n1,a\n2,b,c\n", r"3: expected 2 columns .* got 3"),
        ("a.csv", 'id,text\n1,"never closed\n', r"\d: not CSV"),
        ("a.csv", 'id,text\n1,"a"b\n', r"2: not CSV"),
        ("a.tsv", "id\ttext\n1 a\n", r"2: expected 2 columns .* got 1"),
    ],
)
def test_bad_csv(name: str, text: str, message: str, write: Write) -> None:
    with pytest.raises(CorpusError, match=rf"a\.[ct]sv:{message}"):
        read(write(name, text))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)))
def test_what_csv_and_json_write_comes_back(texts: list[str]) -> None:
    import csv

    buffer = io.StringIO()
    csv.writer(buffer).writerows([["text", "n"], *([text, "1"] for text in texts)])
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    for texts_of, data in ((CSV.texts, buffer.getvalue()), (json_texts, lines)):
        for size in (1, 7, 10_000):
            parts = [data[at : at + size] for at in range(0, len(data), size)]
            found = "".join(texts_of(parts, CorpusConfig(), Tally()))
            assert found == "".join(f"{text}\n" for text in texts)


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("w2v.corpus.read.records._MOST_LETTERS", 1000)
    with pytest.raises(RecordError, match="a line of more than 1,000 letters"):
        list(json_texts(["x" * 400] * 9, CorpusConfig(), Tally()))


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"text": ["a b", None, "c\nd"] * 400, "n": list(range(1200))})
    path = tmp_path / "data"
    parquet.write_table(table, path, row_group_size=100)
    assert read(path) == [["a", "b"], ["c"], ["d"]] * 400
    assert encoded(path, tokenizer="words").report.kinds == {"parquet": 1}
    with pytest.raises(CorpusError, match=r"data: no field 'body', but text, n"):
        read(path, field="body")
    with pytest.raises(CorpusError, match=r"data:1: expected text in 'n', got int"):
        read(path, field="n")
    path.write_bytes(path.read_bytes()[:-100] + bytes(100))
    with pytest.raises(CorpusError, match=r"data: a damaged Parquet file"):
        read(path)
    path.write_bytes(gzip.compress(b"PAR1 and so on"))
    with pytest.raises(CorpusError, match=r"must be a file on disk that is not packed"):
        read(path)


def test_a_mixed_folder_is_one_corpus(write: Write, tmp_path: Path) -> None:
    write("1.txt.gz", gzip.compress(b"a b\nc"))
    write("2.jsonl", '{"text": "d"}\n')
    write("3.csv", "text\ne f\n")
    expected = [["a", "b"], ["c"], ["d"], ["e", "f"]]
    assert read(tmp_path) == expected
    assert read(tmp_path, tokenizer="words") == expected
    assert encoded(tmp_path).report.kinds == {"text": 1, "jsonl": 1, "csv": 1}


class _Server(BaseHTTPRequestHandler):
    files: dict[str, bytes]

    def do_GET(self) -> None:
        data = self.files.get(self.path)
        self.send_response(404 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    pytest.importorskip("requests")
    _Server.files = {"/a.txt": gzip.compress(b"a b\nc\n"), "/b.csv?x=1": b"text\nd\n"}
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_urls(url: str, tmp_path: Path) -> None:
    assert read([f"{url}/a.txt", f"{url}/b.csv?x=1"]) == [["a", "b"], ["c"], ["d"]]
    corpus = encode(f"{url}/a.txt", vocab=ALL, cache_dir=tmp_path)
    assert not corpus.report.from_cache
    assert list(tmp_path.glob("*/*")) == []
    with pytest.raises(CorpusError, match=rf"^{url}/none: cannot be read: .*404"):
        read(f"{url}/none")


@pytest.mark.parametrize("scheme", ["file", "ftp2", "javascript", "data"])
def test_other_schemes_are_refused(scheme: str) -> None:
    with pytest.raises(CorpusError, match=rf"cannot read from {scheme}://"):
        read(f"{scheme}:///etc/passwd")


def test_a_host_that_is_not_there() -> None:
    pytest.importorskip("requests")
    with pytest.raises(CorpusError, match=r"^http://127\.0\.0\.1:1/x: cannot be read"):
        read("http://127.0.0.1:1/x")


CHINESE = "《妄想女友》是2015年开始播放的电视剧，主演是第一次演出恋爱电视剧的演员。\n剧情概要如下：\n" * 3
TRADITIONAL = "臺灣的漢語詞彙，軟體與硬體的發展，對於經濟與社會有很大的影響。\n" * 3
FRENCH = "L'été dernier, Élise a été très fatiguée à cause de la chaleur.\n" * 3


@pytest.mark.parametrize(
    ("text", "encoding", "advised"),
    [
        (CHINESE, "gbk", "gb18030"),
        (TRADITIONAL, "big5", "big5"),
        (FRENCH, "latin-1", "cp1252"),
        ("Это русский текст для проверки кодировки.\n" * 3, "cp1251", "cp1251"),
        ("日本語のテキストをここに書きます。カタカナもあります。\n" * 3, "shift_jis", "shift_jis"),
    ],
)
@pytest.mark.parametrize("tokenizer", [None, "words"])
def test_the_encoding_that_fits_is_named(
    text: str, encoding: str, advised: str, tokenizer: str | None, write: Write
) -> None:
    path = write("corpus.txt", text.encode(encoding))
    message = rf"corpus\.txt:\d+: not utf-8 at byte \d+ of the text .*pass --encoding {advised} "
    with pytest.raises(CorpusError, match="(?i)" + message):
        read(path, tokenizer=tokenizer)
    assert read(path, encoding=advised, tokenizer="whitespace") == [
        line.split() for line in text.splitlines()
    ]


@pytest.mark.parametrize("encoding", ["gb18030", "big5"])
@pytest.mark.parametrize("newline", ["\n", " "])
def test_a_guess_from_the_middle_of_a_text(encoding: str, newline: str) -> None:
    text = (CHINESE if encoding == "gb18030" else TRADITIONAL).replace("\n", newline) * 3
    data = text.encode(encoding)
    for n_cut in range(5):
        assert guess_encoding(data[: len(data) - n_cut]) == encoding
    assert guess_encoding("这".encode("gbk") * 3) in ("gb18030", "big5", None)


def test_damaged_utf8_is_no_other_encoding(write: Write) -> None:
    data = CHINESE.encode() + b"\xed\xa0\x80 \n"
    assert guess_encoding(data) is None
    with pytest.raises(CorpusError, match="say which --encoding it has, or pass --errors replace"):
        read(write("corpus.txt", data))


def warnings_of(caplog: pytest.LogCaptureFixture, source: Path, **config: Any) -> str:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        encoded(source, **config)
    return caplog.text


def test_text_that_was_never_cut_is_noticed(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write("zh.txt", CHINESE)
    assert "looks unsegmented; cut it into words with --tokenizer jieba" in warnings_of(caplog, path)
    assert warnings_of(caplog, path, tokenizer="chars") == ""
    cut = write("cut.txt", "我 来到 北京 清华大学 。 我 在 这里 读书 。 全国人民代表大会 召开 了\n" * 3)
    assert warnings_of(caplog, cut) == ""
    prose = write("en.txt", "He came, saw, and (as one does) conquered it. And so on; to the end.\n" * 3)
    assert "try --tokenizer words" in warnings_of(caplog, prose)
    clean = write("clean.txt", "he came saw and conquered u.s it . and 3.5 so on\n" * 3)
    assert warnings_of(caplog, clean) == ""
