"""Progress bars for those who watch: over the bytes that are read, and over the words that are trained."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from w2v.training.trainer import TrainingProgress


def is_watched() -> bool:
    """Say whether a person sees standard error: it is a terminal, or this is a notebook."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()  # None: a program without a console
    return is_terminal or "ipykernel" in sys.modules


class _Bar:
    """A bar that is drawn from its first update on, and only if it is wanted.

    Parameters
    ----------
    wanted : bool, optional
        By default whether a person watches.
    """

    settings: dict[str, Any]

    def __init__(self, wanted: bool | None = None) -> None:
        self.wanted = is_watched() if wanted is None else wanted
        self._bar: Any = None

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def clear(self) -> None:
        """Take the bar off the screen until its next update, so that a line can be printed."""
        if self._bar is not None:
            self._bar.clear()

    def _move(self, done: int, total: int | None, note: str = "") -> None:
        if not self.wanted:
            return
        if self._bar is None:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, unit_scale=True, leave=False, **self.settings)
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(done - self._bar.n)


class ReadingBar(_Bar):
    """A bar over the bytes of the files, when reading takes longer than a moment."""

    settings = {"desc": "Reading", "unit": "B", "delay": 0.5}  # noqa: RUF012 - never changed

    def update(self, done: int, total: int | None) -> None:
        """Show how many bytes are read, of how many."""
        self._move(done, total)


class TrainingBar(_Bar):
    """A bar over the words of all epochs."""

    settings = {"desc": "Training", "unit": " words"}  # noqa: RUF012 - never changed

    def update(self, progress: TrainingProgress) -> None:
        """Show how many words are trained, with the learning rate and the loss."""
        note = f"alpha {progress.alpha:.4f}, loss {progress.loss:.4f}"
        self._move(progress.tokens, progress.total_tokens, note)
