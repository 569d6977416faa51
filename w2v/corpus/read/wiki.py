"""MediaWiki dumps: pages out of the XML, and plain text out of their markup, by gensim's wikicorpus."""

from __future__ import annotations

import bisect
import html
import re
from collections.abc import Iterator
from xml.etree.ElementTree import ParseError

from w2v.corpus.read.opened_file import OpenedFile
from w2v.errors import CorpusError

_DUMP = re.compile(rb"\s*(<\?xml[^>]*>\s*)?<mediawiki\b")
_ENCODING = re.compile(rb"\s*<\?xml[^>]*\bencoding\s*=\s*[\"']([^\"']*)")
_ARTICLES = ("0",)
_REDIRECT = re.compile(
    r"\s*#\s*(redirect|重定向|redirection|weiterleitung|перенаправление|転送|넘겨주기)", re.IGNORECASE
)
_DISAMBIGUATION = re.compile(
    r"\{\{\s*(disambig\w*|消歧义|消歧義|hndis|geodis|begriffsklärung|homonymie)\b", re.IGNORECASE
)

_COMMENT = re.compile(r"<!--.*?(-->|$)", re.DOTALL)
_EMPTY_REF = re.compile(r"<ref[^<>]*/>", re.IGNORECASE)
_NO_PROSE = (
    "ref|math|gallery|timeline|code|source|syntaxhighlight|pre|poem|imagemap|score|hiero|table|tt|cite"
)
_TAG = re.compile(rf"<(/?)({_NO_PROSE})\b[^<>]*>", re.IGNORECASE)
_TAG_OR_LIST = re.compile(rf"<(/?)({_NO_PROSE}|ol|ul)\b[^<>]*>", re.IGNORECASE)
_UNFINISHED = re.compile(r"<(?=(ref|math|nowiki)[> ](?![^<]*</))", re.IGNORECASE)
_BREAK = re.compile(r"<\s*(br|hr|p|li)\b[^>]*>", re.IGNORECASE)
_MEDIA = re.compile(
    r"\[\[\s*(file|image|media|category|文件|檔案|图像|圖像|分类|分類|datei|bild|kategorie|fichier|catégorie|"
    r"archivo|categoría|файл|изображение|категория|ファイル|画像)\s*:",
    re.IGNORECASE,
)
_INNERMOST_TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")
_TABLE = re.compile(r"\{\|")
# gensim's own expressions for the next five take minutes, or never end, where the markup is not closed.
_LINK = re.compile(r"\[\w{1,20}://[^\s\[\]]*([ \t]*[^\[\]\n]*)\]")
_OPEN_LINK = re.compile(r"\[(?=\w+://)")
_IMAGE_WORD = re.compile(r"\[\[((?:image|file)[^\[\]\n|]*)\|?([^\[\]\n]*)\]\]", re.IGNORECASE)
_OPEN_MEDIA = re.compile(r"\[\[(?=image|file)", re.IGNORECASE)
_OTHER_LANGUAGE = re.compile(r"\n\[\[[a-z][a-z][\w-]*:[^:\]\n]+\]\](?=\n|$)")
_LANGUAGE_VARIANT = re.compile(r"-\{([^{}]*)\}-")
_QUOTES = re.compile(r"'{2,}")
_HEADING = re.compile(r"^={1,6}.*={1,6}\s*$")
_BULLET = re.compile(r"^[*#:;]+\s*")
_WORD = re.compile(r"[^\W\d_]")


def begins_as_dump(head: bytes, suffix: str) -> bool:
    """Say whether a file is a MediaWiki dump; as all `Kind.detects`."""
    return _DUMP.match(head) is not None


def read_pages(dump: OpenedFile, validate: bool) -> Iterator[bytes]:
    """Yield the wikitext of all articles of a dump but redirects and disambiguation pages.

    Raises
    ------
    CorpusError
        If the file is no dump, or not well-formed.
    """
    from gensim.corpora.wikicorpus import extract_pages

    try:
        for _, text, _ in extract_pages(dump, _ARTICLES):
            if text and not _REDIRECT.match(text) and not _DISAMBIGUATION.search(text):
                yield text.encode()
    except ParseError as error:
        raise CorpusError(f"{dump.name}: not the XML of a MediaWiki dump ({error})") from None
    except (AttributeError, ValueError, StopIteration, LookupError) as error:
        encoding = _ENCODING.match(dump.head)
        if encoding is not None and isinstance(error, LookupError | ValueError):
            named = encoding[1].decode(errors="replace")
            raise CorpusError(
                f"{dump.name}: cannot be read in the encoding {named!r} that its first line names ({error}); "
                "convert the dump to UTF-8 first"
            ) from None
        raise CorpusError(
            f"{dump.name}: a MediaWiki dump has pages with title, id and text ({error})"
        ) from None


def page_text(wikitext: str) -> str:
    """Return the prose of a page: a paragraph or list item a line, no headings, tables, notes, templates."""
    return "\n".join(line for line in map(_prose, plain_text(wikitext, "li|ol|ul").splitlines()) if line)


def _prose(line: str) -> str:
    line = " ".join(_QUOTES.sub("", _BULLET.sub("", line.strip())).split())
    if _HEADING.match(line) or line.startswith(("|", "!", "{", "}")) or not _WORD.search(line):
        return ""
    return line


def plain_text(wikitext: str, kept_elements: str = "") -> str:
    """Strip the markup. gensim does most of it; what it would leave, such as captions and cells, goes before.

    Parameters
    ----------
    wikitext : str
    kept_elements : str
        Lists whose content stays, of "li|ol|ul".
    """
    from gensim.corpora.wikicorpus import filter_wiki

    text = _COMMENT.sub("", html.unescape(wikitext))
    text = _without_elements(_EMPTY_REF.sub("", text), kept_elements)
    text = _BREAK.sub("\n" if kept_elements else " ", text)
    text = _LANGUAGE_VARIANT.sub(_one_variant, text)
    text = _without(text, _MEDIA, "[[", "]]")
    text = _expand(text)
    text = _without(text, _TABLE, "{|", "|}")
    text = _OTHER_LANGUAGE.sub("", text)
    text = _IMAGE_WORD.sub(lambda link: link[2] or link[1], text)
    text = _OPEN_MEDIA.sub(" ", _OPEN_LINK.sub(" ", _LINK.sub(r"\1", text)))
    return str(filter_wiki(text))


def _without_elements(text: str, kept: str) -> str:
    """Put a space for each element that holds no prose, from its tag to the next one that closes its kind.

    One pass over the tags, which also removes tags that are never closed: for each of those a regular
    expression, gensim's too, would search the rest of the page. That takes minutes where there are thousands.
    """
    tags = list((_TAG if kept else _TAG_OR_LIST).finditer(text))
    closing: dict[str, list[int]] = {}
    for number, tag in enumerate(tags):
        if tag[1]:
            closing.setdefault(tag[2].lower(), []).append(number)
    parts, position = [], 0
    for number, tag in enumerate(tags):
        if tag.start() < position:
            continue
        parts += [text[position : tag.start()], " "]
        position = tag.end()
        ends = closing.get(tag[2].lower(), [])
        at = bisect.bisect(ends, number)
        if not tag[1] and at < len(ends):
            position = tags[ends[at]].end()
    text = _UNFINISHED.sub(" ", "".join(parts) + text[position:])
    last = text.rfind(">") + 1
    return text[:last] + text[last:].replace("<", " ")


def _one_variant(match: re.Match[str]) -> str:
    """Choose one of the spellings in -{zh-hans:软件;zh-hant:軟體}-, as the Chinese Wikipedia writes them."""
    spellings = {}
    for part in match[1].split(";"):
        name, colon, value = part.partition(":")
        if colon:
            spellings[name.strip().lower()] = value.strip()
    if not spellings:
        return match[1].rpartition("|")[2]
    for name in ("zh-hans", "zh-cn", "zh-sg"):
        if name in spellings:
            return spellings[name]
    return next(iter(spellings.values()))


def _without(text: str, start: re.Pattern[str], opening: str, closing: str) -> str:
    """Remove every part that begins with `start` and ends where its nested brackets close."""
    kept, position = [], 0
    while found := start.search(text, position):
        kept.append(text[position : found.start()])
        depth, position = 1, found.end()
        while depth:
            close = text.find(closing, position)
            if close < 0:
                return "".join(kept)
            depth += text.count(opening, position, close) - 1
            position = close + 2
    return "".join(kept) + text[position:]


def _expand(text: str) -> str:
    """Replace templates from the inside out: some by the words they show, the others by nothing."""
    n_found = 1
    while n_found:
        text, n_found = _INNERMOST_TEMPLATE.subn(_shown, text)
    return text


def _shown(template: re.Match[str]) -> str:
    name, *fields = (field.strip() for field in template[1].split("|"))
    name = name.lower()
    if name in ("convert", "cvt") and len(fields) > 1:
        return " ".join(fields[:2])
    if name in ("nowrap", "quote", "small", "sc", "nobr", "abbr", "vanchor", "lang") and fields:
        return fields[-1 if name == "lang" else 0].removeprefix("text=")
    if name == "as of" and fields:
        return f"as of {fields[0]}"
    return {"'": "'", "'s": "'s", "nbsp": " ", "spaces": " ", "ndash": "–"}.get(name, "")
