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


def test_old_macs_line_ends(write: Write) -> None:
    text = 'n,text\r1,a b\r2,"c\rd"\r'
    assert read(write("a.csv", text)) == [["a", "b"], ["c"], ["d"]]
    assert read(write("a.tsv", "text\tn\ra\t1\rb\t2")) == [["a"], ["b"]]
    assert read(write("a.jsonl", '{"text": "a"}\r{"text": "b"}\r')) == [["a"], ["b"]]
    assert read(write("b.csv", 'text\r\n"a\rb"\r\n')) == [["a", "b"]]  # here it is part of the text
    for size in (1, 2, 7):
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        assert "".join(CSV.texts(parts, CorpusConfig(), Tally())) == "a b\nc\nd\n"


JSON_WITH_BAD = "".join(
    ('{"body": "x"}' if number in (17, 300) else f'{{"text": "word{number}"}}') + "\n"
    for number in range(1000)
)


def test_bad_records_are_counted_in_the_error(write: Write) -> None:
    with pytest.raises(
        CorpusError,
        match=r"a\.jsonl:18: no field 'text', but body; .*\(2 of the first 1,000 records are bad; "
        r"--skip-bad-records leaves them out\)$",
    ):
        read(write("a.jsonl", JSON_WITH_BAD))
    with pytest.raises(CorpusError, match=r"a\.jsonl:1: no field 'body', but text; name .* --field$"):
        read(write("a.jsonl", '{"text": "a"}\n' * 9), field="body")  # all of them: no advice to skip


@pytest.mark.parametrize(
    ("name", "text", "n_bad"),
    [
        ("a.jsonl", JSON_WITH_BAD, 2),
        ("a.jsonl", '{"text": "a"}\n{"text": "b\n[]\n{"text": 3}\n{"text": "\\u0000"}\n{"text": "c"}', 4),
        ("a.txt", '"text": "cut"}\n{"text": "a"}\n{"text": "b"}\n', 1),
        ("a.csv", 'n,text\n1,a\n2\n3,b,c\n4,"d"e\n5,f\n', 3),
        ("a.tsv", "n\ttext\n1\ta\n2\n3\tb\tc\n5\tf\n", 2),
    ],
)
def test_bad_records_can_be_left_out(
    name: str, text: str, n_bad: int, write: Write, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    path = write(name, text)
    n_good = len(encoded(path, skip_bad_records=True).offsets) - 1
    config = CorpusConfig(skip_bad_records=True)
    for from_cache in (False, True):
        caplog.clear()
        corpus = encode(path, corpus=config, vocab=ALL, cache_dir=tmp_path / "cache")
        assert (corpus.report.skipped, corpus.report.from_cache) == (n_bad, from_cache)
        assert corpus.n_sentences == n_good > 0
        assert len(caplog.records) == 1
        assert "records like this are left out" in caplog.text
    assert corpus.reading["skip_bad_records"] is True
    assert "skip_bad_records" not in encoded(write("b.txt", "a")).reading


def test_a_quote_that_is_never_closed_is_no_bad_record(write: Write) -> None:
    with pytest.raises(CorpusError, match="unexpected end of data"):
        read(write("a.csv", 'n,text\n1,a\n2,"b\n' + "3,c\n" * 9), skip_bad_records=True)


def test_only_bad_records(write: Write) -> None:
    with pytest.raises(
        CorpusError, match=r"no word .*2 records left out; .*a\.jsonl:1: no field 'text', but a;"
    ):
        read(write("a.jsonl", '{"a": 1}\n{"a": 2}\n'), skip_bad_records=True)


def test_the_kind_is_told_from_the_decoded_text(write: Write) -> None:
    lines = '{"text": "词 语"}\n{"text": "b"}\n'
    for encoding in ("utf-16", "utf-16-le", "utf-32", "gb18030", "big5"):
        data = lines.replace("词 语", "中 文").encode(encoding)
        assert read(write("a.txt", data), encoding=encoding) == [["中", "文"], ["b"]]
        assert read(write("b.txt", gzip.compress(data)), encoding=encoding) == [["中", "文"], ["b"]]
    with pytest.raises(CorpusError, match="a JSON array"):
        read(write("a.txt", '[{"text": "a"}]'.encode("utf-16")), encoding="utf-16")


def test_json_lines_with_a_broken_first_line(write: Write) -> None:
    good = '{"text": "a b"}\n'
    for first in ('{"text": "cut\n', '"text": "cut"}\n', "\n# a comment\n"):
        with pytest.raises(CorpusError, match=r"a\.txt:\d: not a JSON object a line"):
            read(write("a.txt", first + good * 3))
    assert read(write("a.txt", "plain words\nand more\n" + good)) == [
        ["plain", "words"],
        ["and", "more"],
        ['{"text":', '"a', 'b"}'],
    ]


def test_nul_is_no_text_wherever_it_stands(write: Write, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    good = "a good line\n" * 3000
    for place in (0, 5, 12_000):
        text = good[:place] + "\0" * 65_536 + good[place:]
        for config in ({}, {"tokenizer": "words"}, {"encoding": "latin-1"}, {"encoding": "utf-16"}):
            data = text.encode(str(config.get("encoding", "utf-8")))
            with pytest.raises(CorpusError, match=rf"a\.txt: byte {place} is NUL, so this file is binary"):
                read(write("a.txt", data), **config)
        path = write("a.txt", text)
        assert encoded(path, errors="replace").report.replaced == 65_536
        words = [word for line in read(path, errors="replace", tokenizer="words") for word in line]
        assert [word for word in words if word != "\ufffd"] == ["a", "good", "line"] * 3000 or place == 5
    records = {"a.jsonl": '{"text": "a\\u0000b"}', "a.parquet": ""}
    parquet.write_table(pyarrow.table({"text": ["a\0b"]}), tmp_path / "a.parquet")
    for name, line in records.items():
        path = write(name, line) if line else tmp_path / name
        with pytest.raises(CorpusError, match=rf"{name}:1: a NUL, which is no text; pass --errors replace"):
            read(path)
        assert read(path, errors="replace") == [["a\ufffdb"]]


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("a.csv", "text,n,text\na,1,b\n", "a.csv: 2 columns have the name 'text'; the first is read"),
        ("a.tsv", "text\ttext \na\tb\n", "a.tsv: 2 columns have the name 'text'"),
        (
            "a.jsonl",
            '{"text": "b", "text": "a"}',
            "a.jsonl:1: the key 'text' stands twice in an object; the last",
        ),
        ("a.jsonl", '{"text": "a", "n": {"text": "text"}}', ""),
        ("a.txt", '<doc id="1" url="x" title="T">\na\n</doc>\n', "looks like output of wikiextractor"),
        ("a.html", "<!DOCTYPE html>\n<html><p> a </p></html>", "a.html: has tags in its text (</p> </html>)"),
        (
            "a.jsonl",
            '{"text": "' + "<p class='x'> a </p> " * 9 + '"}',
            "take the text out of the markup first",
        ),
        ("a.txt", "<s> a <unk> b </s>\n" * 9, ""),
    ],
)
def test_what_looks_wrong_is_said(
    name: str, text: str, note: str, write: Write, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    path = write(name, text)
    for tokenizer in ("words", "words", "whitespace"):
        caplog.clear()
        config = CorpusConfig(tokenizer=tokenizer)
        corpus = encode(path, corpus=config, vocab=ALL, cache_dir=tmp_path / "cache")
        assert len(corpus.report.notes) == bool(note)
        assert note in caplog.text
        assert len([line for line in caplog.records if line.levelname == "WARNING"]) == bool(note)
    assert "a" in corpus.vocab


def test_a_note_on_many_files_is_one_line(
    write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        write(f"{number}.html", "<html><p>a</p></html>")
    read(tmp_path)
    assert "0.html: has tags in its text (</p> </html>)" in caplog.text
    assert "(the same in 2 more files)" in caplog.text


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


def test_strings_of_parquet_need_not_be_text(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    data = [b"fine", b"a \xff\xfe b", "世 界".encode(), None]
    strings = pyarrow.array(data, pyarrow.binary()).view(pyarrow.string())
    large = pyarrow.array(data, pyarrow.large_binary()).view(pyarrow.large_string())
    offsets = pyarrow.array([0, 1, 2, 4], pyarrow.int32())
    lists = pyarrow.ListArray.from_arrays(offsets, strings.fill_null("x"))
    path = tmp_path / "data"
    replaced = [["fine"], ["a", "\ufffd\ufffd", "b"], ["世", "界"]]
    for column in (strings, large, lists, strings.dictionary_encode()):
        parquet.write_table(pyarrow.table({"text": column}), path)
        with pytest.raises(
            CorpusError, match=r"data:2: not UTF-8 at byte 2 of the text; pass --errors replace"
        ):
            read(path)
        corpus = encoded(path, errors="replace")
        assert corpus.report.replaced == 2
        expected = [*replaced[:2], ["世", "界", "x"]] if column is lists else replaced
        assert read(path, errors="replace") == expected
        assert [line[0] for line in read(path, skip_bad_records=True)] == ["fine", "世"]
    table = pyarrow.Table.from_arrays([strings, large], names=["text", "text"])
    parquet.write_table(table, path)
    assert encoded(path, errors="replace").report.notes == [
        f"{path}: 2 columns have the name 'text'; the first is read"
    ]


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


@pytest.mark.parametrize("tokenizer", [None, "words"])
@pytest.mark.parametrize("text", [CHINESE.strip(), "中文", "plain words " * 2000 + "caf\u00e9", "a 世"])
def test_utf8_cut_in_its_last_character_is_no_other_encoding(
    text: str, tokenizer: str | None, write: Write
) -> None:
    for n_cut in range(1, len(text[-1].encode())):
        path = write("corpus.txt", text.encode()[:-n_cut])
        if text == "a 世" and n_cut == 2:
            continue  # one byte: it may be Latin-1
        with pytest.raises(CorpusError, match="the text ends inside a character: is the file complete"):
            read(path, tokenizer=tokenizer)


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


def test_traditional_text_is_noticed_where_the_dictionary_is_simplified(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("rjieba")
    path = write("zh.txt", TRADITIONAL)
    assert "with --t2s" in warnings_of(caplog, path, tokenizer="jieba")
    assert warnings_of(caplog, path, tokenizer="jieba", t2s=True) == ""
    assert warnings_of(caplog, path, tokenizer="chars") == ""
    assert warnings_of(caplog, write("zh.txt", CHINESE), tokenizer="jieba") == ""


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
