"""Where vectors come from: the content of a model folder's `config.json`, with types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

Group = Mapping[str, Any]
# Beside a model, so that it can cut text wherever it is moved.
FILE_NAMES = {"tokenizer": "tokenizer.json", "user_dict": "user_dict.txt"}


@dataclass(frozen=True)
class Reading:
    """How a corpus was read and split into tokens.

    Parameters
    ----------
    settings : mapping
        The fields of `CorpusConfig`, `phrases` (those of `PhraseConfig`), versions of packages, SHA-256 of
        the files in `files`.
    files : mapping of str to bytes
        Files that the tokenizer needs: "tokenizer" is the content of a `tokenizer.json`, "user_dict" that of
        a user dictionary for jieba.
    """

    settings: Group
    files: Mapping[str, bytes] = field(default_factory=dict)

    def write_files(self, folder: Path) -> None:
        """Write the files into a folder, under the names that `read_files` looks for."""
        for name, data in self.files.items():
            (folder / FILE_NAMES[name]).write_bytes(data)

    @staticmethod
    def read_files(folder: Path) -> dict[str, bytes]:
        """Read those files that a folder has."""
        paths = {name: folder / file_name for name, file_name in FILE_NAMES.items()}
        return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}

    @property
    def phrase_passes(self) -> int:
        """How many times neighbouring words were joined to phrases."""
        passes = self._phrases.get("phrases")
        return passes if isinstance(passes, int) else 0

    @property
    def phrase_delimiter(self) -> str:
        """The string between the words of a phrase."""
        return str(self._phrases.get("phrase_delimiter", "_"))

    @property
    def _phrases(self) -> Group:
        phrases = self.settings.get("phrases")
        return phrases if isinstance(phrases, Mapping) else {}


@dataclass(frozen=True)
class Origin:
    """The origin of vectors.

    Parameters
    ----------
    training : mapping
        The fields of `TrainConfig`.
    corpus : mapping
        Fingerprint and numbers of the corpus.
    reading : Reading, optional
    versions : mapping of str to str
        Of w2v, Python and packages.
    source : mapping
        File and format of vectors that w2v did not train, and how many bad rows were left out.
    postprocessing : mapping
        What was done to the vectors after training.
    embedding : mapping
        Settings of a saved PyTorch embedding.
    other : mapping
        Everything else in `config.json`, unchanged.
    """

    training: Group = field(default_factory=dict)
    corpus: Group = field(default_factory=dict)
    reading: Reading | None = None
    versions: Group = field(default_factory=dict)
    source: Group = field(default_factory=dict)
    postprocessing: Group = field(default_factory=dict)
    embedding: Group = field(default_factory=dict)
    other: Group = field(default_factory=dict)

    @classmethod
    def from_dict(cls, config: Group, files: Mapping[str, bytes] | None = None) -> Origin:
        """Make an origin from the object in `config.json` and the files of the tokenizer."""
        known = {name: config[name] for name in _GROUPS if isinstance(config.get(name), Mapping)}
        other = {name: value for name, value in config.items() if name not in known}
        if "reading" in known:
            known["reading"] = Reading(known["reading"], files or {})
        return cls(**known, other=other)

    def as_dict(self) -> dict[str, Any]:
        """Return the object for `config.json`, without the groups that are empty."""
        groups = {name: getattr(self, name) for name in _GROUPS}
        if self.reading is not None:
            groups["reading"] = self.reading.settings
        return {name: dict(group) for name, group in groups.items() if group} | dict(self.other)

    @property
    def is_lowercased(self) -> bool:
        """Whether the corpus was lower-cased, so that texts must be too."""
        groups = [
            config := self.as_dict(),
            *(value for value in config.values() if isinstance(value, Mapping)),
        ]
        return any(group.get("lowercase") is True for group in groups)


_GROUPS = tuple(field.name for field in fields(Origin) if field.name != "other")
