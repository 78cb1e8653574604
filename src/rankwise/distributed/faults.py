"""What may go wrong on many machines: rounds that are slow or repeated, and rows that are gone."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.data.backends import RowsLostError

logger = logging.getLogger("rankwise")

# A round is slow when it takes this many times the usual and at least this many seconds more.
SLOW_FACTOR = 5.0
SLOW_SECONDS = 0.5


class PartitionLostError(RowsLostError):
    """Rows that were there cannot be read again: lost with their only worker, or with their file.

    Attributes
    ----------
    partitions : tuple of int
        Which partitions are gone; none where it is not known which.
    coef : array of shape (n_features,), or None
        The best weights so far; None when not a single iteration was finished.
    """

    def __init__(self, partitions: Sequence[int], n_partitions: int, reason: str = ""):
        self.partitions = tuple(partitions)
        self.coef: NDArray[np.float64] | None = None
        self._arguments = self.partitions, n_partitions, reason
        names = ", ".join(str(number) for number in self.partitions[:5])
        more = ", ..." if len(self.partitions) > 5 else ""
        which = f"{len(self.partitions)} of {n_partitions} partitions of X (number {names}{more})"
        advice = (
            "they were lost with their workers. Give X as a Dask collection that knows how to load its rows, "
            "or scatter it with keep=True"
        )
        super().__init__(
            f"{which if self.partitions else 'Some partitions of X'} cannot be read again: "
            f"{reason or advice}. The best weights so far are in the attribute coef of this error and in the "
            "model; a fit with warm_start=True goes on from them."
        )

    def __reduce__(self) -> Any:
        return PartitionLostError, self._arguments, {"coef": self.coef}


@dataclass
class RoundLog:
    """How the rounds of a fit went; a round is one answer from all partitions.

    Attributes
    ----------
    mode : str
        "scores" where rounds carry scores to the driver, "whole queries" where workers count.
    rounds, retried : int
        Rounds that were answered, and those that had to be sent again because a worker was lost.
    seconds, lost_seconds : float
        Time spent in rounds, and the part beyond the usual: of slow rounds and of those in vain.
    events : list of str
        One sentence for each slow or repeated round.
    """

    mode: str = "scores"
    rounds: int = 0
    retried: int = 0
    seconds: float = 0.0
    lost_seconds: float = 0.0
    events: list[str] = field(default_factory=list)
    _recent: list[float] = field(default_factory=list, repr=False)

    def answered(self, seconds: float, changes: str = "") -> None:
        """Record a round; tell of one that took far longer than those before, and of changes of workers."""
        usual = median(self._recent) if len(self._recent) >= 3 else seconds
        self.rounds += 1
        self.seconds += seconds
        if self.is_slow(seconds) or changes:
            self.lost_seconds += max(seconds - usual, 0.0)
            self._tell(f"Round {self.rounds} took {seconds:.2f} s instead of {usual:.2f} s{changes}.")
        self._recent = [*self._recent[-30:], seconds]

    def is_slow(self, seconds: float) -> bool:
        """Return whether a round took far longer than the rounds before it."""
        if len(self._recent) < 3:
            return False
        usual = median(self._recent)
        return seconds > SLOW_FACTOR * usual and seconds > usual + SLOW_SECONDS

    def failed(self, seconds: float, reason: str) -> None:
        """Record a round in vain, which is sent again."""
        self.retried += 1
        self.seconds += seconds
        self.lost_seconds += seconds
        self._tell(f"Round {self.rounds + 1} is sent again after {seconds:.2f} s: {reason}.")

    def _tell(self, sentence: str) -> None:
        self.events.append(sentence)
        logger.warning("%s", sentence)
