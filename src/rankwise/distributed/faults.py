"""Faults of a cluster: slow rounds, repeated rounds and lost partitions."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.backends import RowsLostError

logger = logging.getLogger("rankwise")

# A round is slow if it takes this many times the median and at least this many seconds longer.
SLOW_FACTOR = 5.0
SLOW_SECONDS = 0.5


class PartitionLostError(RowsLostError):
    """Rows were lost with their only worker or with their file, and cannot be read again.

    Attributes
    ----------
    partitions : tuple of int
        The numbers of the lost partitions; empty if unknown.
    coef : array of shape (n_features,), or None
        The best weights so far; None if no iteration was completed.
    """

    def __init__(self, partitions: Sequence[int], n_partitions: int, reason: str = ""):
        self.partitions = tuple(partitions)
        self.coef: NDArray[np.float64] | None = None
        self._arguments = self.partitions, n_partitions, reason
        names = ", ".join(str(number) for number in self.partitions[:5])
        more = ", ..." if len(self.partitions) > 5 else ""
        which = f"{len(self.partitions)} of {n_partitions} partitions of X (number {names}{more})"
        advice = (
            "they were lost with their workers. Pass X as a Dask collection that can load its rows again, or "
            "scatter it with keep=True"
        )
        super().__init__(
            f"{which if self.partitions else 'Some partitions of X'} cannot be read again: "
            f"{reason or advice}. The best weights so far are in the attribute coef of this error and in the "
            "model; a fit with warm_start=True continues from them."
        )

    def __reduce__(self) -> Any:
        return PartitionLostError, self._arguments, {"coef": self.coef}


class WorkersSilentError(RowsLostError):
    """No worker of the cluster has sent a sign of life for a while."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        super().__init__(
            f"No worker has sent a heartbeat for {seconds:g} s: they have ended, or the network is down. The "
            "best weights so far are in the attribute coef of this error and in the model; a fit with "
            "warm_start=True continues from them. To wait longer, call "
            "dask.config.set({'rankwise.worker-timeout': seconds})."
        )

    def __reduce__(self) -> Any:
        return WorkersSilentError, (self._seconds,), {"coef": self.coef}


@dataclass
class RoundLog:
    """Statistics of the rounds of a fit; in a round, every partition returns one result.

    Attributes
    ----------
    mode : str
        "scores" if rounds send scores to the driver, "whole queries" if workers count pairs.
    rounds, retried : int
        Completed rounds, and rounds that were repeated because a worker was lost.
    seconds, lost_seconds : float
        Time spent in rounds, and its part in failed rounds or beyond the median.
    events : list of str
        One sentence per slow or repeated round.
    sent, received : int
        Bytes of the arrays that went to and came from the workers, each counted once, without the messages of
        Dask; 0 without a client.
    """

    mode: str = "scores"
    rounds: int = 0
    retried: int = 0
    seconds: float = 0.0
    lost_seconds: float = 0.0
    events: list[str] = field(default_factory=list)
    sent: int = 0
    received: int = 0
    _recent: list[float] = field(default_factory=list, repr=False)

    @property
    def bytes_moved(self) -> int:
        """The bytes that were sent and received."""
        return self.sent + self.received

    def answered(self, seconds: float, changes: str = "") -> None:
        """Record a completed round; log a slow one and changes of the workers."""
        median_seconds = median(self._recent) if len(self._recent) >= 3 else seconds
        self.rounds += 1
        self.seconds += seconds
        if self.is_slow(seconds) or changes:
            self.lost_seconds += max(seconds - median_seconds, 0.0)
            self._log(f"Round {self.rounds} took {seconds:.2f} s instead of {median_seconds:.2f} s{changes}.")
        self._recent = [*self._recent[-30:], seconds]

    def is_slow(self, seconds: float) -> bool:
        """Tell whether a round took much longer than the rounds before it."""
        if len(self._recent) < 3:
            return False
        median_seconds = median(self._recent)
        return seconds > SLOW_FACTOR * median_seconds and seconds > median_seconds + SLOW_SECONDS

    def failed(self, seconds: float, reason: str) -> None:
        """Record a failed round, which is repeated."""
        self.retried += 1
        self.seconds += seconds
        self.lost_seconds += seconds
        self._log(f"Round {self.rounds + 1} is repeated after {seconds:.2f} s: {reason}.")

    def _log(self, sentence: str) -> None:
        self.events.append(sentence)
        logger.warning("%s", sentence)
