"""Public corpora by name, through gensim.downloader: what there is, its licence and size, and the file.

Only files are fetched: gensim would otherwise run Python code that comes with a corpus.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from w2v.errors import CorpusError

_NOT_REACHED = "cannot reach gensim's data repository"
_ADVICE = "is there a network, or a proxy to set?"


class PublicCorpus(NamedTuple):
    """A corpus that can be fetched; the size is that of the packed file, in bytes."""

    name: str
    description: str
    n_bytes: int
    licence: str
    more: tuple[str, ...]


def list_corpora() -> list[PublicCorpus]:
    """List the corpora that gensim's data repository offers, by name.

    Raises
    ------
    CorpusError
        If it cannot be reached.
    """
    from gensim import downloader

    with _clear_errors():
        found = downloader.info()["corpora"]
    return [_described(name, facts) for name, facts in sorted(found.items()) if not name.startswith("__")]


def find_corpus(name: str) -> PublicCorpus:
    """Return the facts on one corpus.

    Raises
    ------
    CorpusError
        If there is no such corpus, or the repository cannot be reached.
    """
    corpora = {corpus.name: corpus for corpus in list_corpora()}
    if name not in corpora:
        raise CorpusError(f"no corpus {name!r} to fetch; there are {', '.join(corpora)}")
    return corpora[name]


def fetch(corpus: PublicCorpus, output: Path | None = None) -> Path:
    """Fetch a corpus, compare its checksum, and return where its file is.

    Parameters
    ----------
    corpus : PublicCorpus
    output : Path, optional
        Where to copy the file, which is packed as it came; otherwise it stays in gensim's own folder, where
        a second call finds it.

    Raises
    ------
    CorpusError
        If the repository cannot be reached, or the checksum is wrong.
    """
    from gensim import downloader

    # gensim draws its progress bar on standard output, which belongs to the result.
    with _clear_errors(), contextlib.redirect_stdout(sys.stderr):
        path = Path(downloader.load(corpus.name, return_path=True))
    if output is None:
        return path
    from w2v.files.atomic import new_file

    with path.open("rb") as source, new_file(output) as target:
        shutil.copyfileobj(source, target)
    return output


def _described(name: str, facts: dict[str, Any]) -> PublicCorpus:
    more = facts.get("read_more") or ()
    return PublicCorpus(
        name,
        " ".join(str(facts.get("description", "")).split()),
        int(facts.get("file_size") or 0),
        " ".join(str(facts.get("license") or "not stated").split()),
        tuple(map(str, more if isinstance(more, list) else [more])),
    )


@contextlib.contextmanager
def _clear_errors() -> Iterator[None]:
    log = logging.getLogger("gensim.downloader")
    was_disabled, log.disabled = log.disabled, True  # it logs tracebacks of what is reported below
    try:
        yield
    except (ConnectionError, TimeoutError, urllib.error.ContentTooShortError) as error:
        raise CorpusError(f"the transfer from gensim's repository broke off ({error}); try again") from None
    except urllib.error.URLError as error:
        raise CorpusError(f"{_NOT_REACHED} ({error.reason}); {_ADVICE}") from None
    except ValueError as error:
        # gensim found neither the repository nor a list that an earlier run left.
        raise CorpusError(f"{_NOT_REACHED} ({error.__context__}); {_ADVICE}") from None
    except OSError:
        raise
    except Exception as error:
        if "Checksum" not in str(error):
            raise
        raise CorpusError("the file that came has a wrong checksum; try again") from None
    finally:
        log.disabled = was_disabled
