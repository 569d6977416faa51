"""What training measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

_LARGEST = 2.0**63


@dataclass(frozen=True)
class EpochReport:
    """One epoch.

    Parameters
    ----------
    epoch : int
        1 is the first.
    tokens : int
        Raw tokens read in this epoch.
    alpha : float
        Learning rate at the end of the epoch.
    loss : float
        Mean negative log-likelihood per pair over the epoch, in nats: of the target and of K negatives.
    pairs : float
        (Context, centre) pairs trained; CBOW: centres. The block kernel counts weighted pairs.
    seconds : float
        Wall time of the epoch.
    words_per_second : float
        Raw tokens per second.
    """

    epoch: int
    tokens: int
    alpha: float
    loss: float
    pairs: float
    seconds: float
    words_per_second: float

    @classmethod
    def from_line(cls, line: Mapping[str, Any], number: int) -> EpochReport:
        """Make a report from a line of JSON, the `number`-th; missing values become NaN or 0."""

        def number_of(name: str, otherwise: float) -> float:
            value = line.get(name)
            return value if isinstance(value, int | float) and abs(value) < _LARGEST else otherwise

        return cls(
            epoch=int(number_of("epoch", number)),
            tokens=int(number_of("tokens", 0)),
            alpha=number_of("alpha", math.nan),
            loss=number_of("loss", math.nan),
            pairs=number_of("pairs", math.nan),
            seconds=number_of("seconds", math.nan),
            words_per_second=number_of("words_per_second", math.nan),
        )


@dataclass(frozen=True)
class TrainingReport:
    """A whole training run.

    Parameters
    ----------
    epochs : tuple of EpochReport
        In order.
    """

    epochs: tuple[EpochReport, ...]

    @classmethod
    def from_lines(cls, lines: Iterable[Mapping[str, Any]]) -> TrainingReport:
        """Make a report of `lines`, as they stand in `training.jsonl`."""
        return cls(tuple(EpochReport.from_line(line, number) for number, line in enumerate(lines, 1)))

    @property
    def seconds(self) -> float:
        """Wall time of the training loop: without reading the text, compiling and saving."""
        return sum(report.seconds for report in self.epochs)

    @property
    def tokens(self) -> int:
        """Raw tokens read, in all epochs together."""
        return sum(report.tokens for report in self.epochs)

    @property
    def words_per_second(self) -> float:
        """Raw tokens per second of the training loop."""
        return self.tokens / self.seconds

    @property
    def loss(self) -> list[float]:
        """Mean loss per pair, one value per epoch."""
        return [report.loss for report in self.epochs]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The reports as objects for JSON, which has no NaN, one an epoch."""
        return [
            {name: None if value != value else value for name, value in asdict(report).items()}
            for report in self.epochs
        ]
