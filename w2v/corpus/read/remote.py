"""Files behind a URL, through smart_open: https://, s3:// and the other schemes it knows."""

from __future__ import annotations

import re
from typing import BinaryIO

from w2v.errors import CorpusError, MissingExtraError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_TIMEOUT_SECONDS = 60
_PARAMETERS = {"http": {"timeout": _TIMEOUT_SECONDS}, "https": {"timeout": _TIMEOUT_SECONDS}}
_CLOUD = ("s3", "s3a", "s3n", "gs", "azure", "hdfs", "webhdfs")
_SCHEMES = (*_PARAMETERS, *_CLOUD, "ftp", "ftps", "sftp", "ssh", "scp")


def is_url(name: str) -> bool:
    """Say whether a name is a URL rather than a path."""
    return _URL.match(name) is not None


def check_url(url: str) -> None:
    """Raise CorpusError if the URL is of a kind that is not read."""
    scheme = url.partition("://")[0].lower()
    if scheme not in _SCHEMES:
        raise CorpusError(f"{url}: cannot read from {scheme}://; known are {', '.join(_SCHEMES)}")


def open_url(url: str) -> BinaryIO:
    """Open what is behind a URL for reading, as it is: packed files stay packed.

    Raises
    ------
    CorpusError
        If it cannot be reached.
    MissingExtraError
        If the packages for its kind are not installed.
    """
    import smart_open

    scheme = url.partition("://")[0].lower()
    try:
        file = smart_open.open(url, "rb", compression="disable", transport_params=_PARAMETERS.get(scheme, {}))
    except ImportError as error:
        if scheme in ("http", "https"):
            raise MissingExtraError("requests", "url") from error
        raise CorpusError(f"{url}: {error}") from None
    except Exception as error:
        raise as_corpus_error(url, error) from error
    return file


def as_corpus_error(url: str, error: Exception) -> Exception:
    """Turn an error of a transport, for which each package has classes of its own, into one line."""
    if isinstance(error, CorpusError):
        return error
    return CorpusError(f"{url}: cannot be read: {' '.join(str(error).split()) or type(error).__name__}")
