"""How far a long computation is, and how long it will take."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from time import perf_counter

logger = logging.getLogger("rankwise")

# The estimate is made from the work of the first second; then there is a line every so often.
FIRST_SECONDS = 1.0
SECONDS_BETWEEN_LINES = 5.0
# What takes longer than this is told of even where nobody asked.
LONG_SECONDS = 60.0


class Progress:
    """Tell on standard error how long some work will take and how far it is.

    Without `verbose` there is one warning to the logger "rankwise", where the work will take long.

    Parameters
    ----------
    name : str
    total : float
        The amount of work, in any unit.
    verbose : int
    clock : callable
        Gives the time in seconds.
    """

    def __init__(
        self, name: str, total: float, verbose: int = 0, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.name, self.total, self.verbose = name, total, verbose
        self._clock = clock
        self._start = clock()
        self._done = 0.0
        self._next_line = FIRST_SECONDS

    def foresee(self, seconds: float) -> None:
        """Tell of work that will take long, by what a unit of it takes on common hardware."""
        expected = seconds * self.total
        if expected > LONG_SECONDS:
            self._warn(expected)

    def advance(self, amount: float) -> None:
        """Note that so much more of the work is done."""
        self._done += amount
        seconds = self._clock() - self._start
        if seconds < self._next_line or self._done >= self.total:
            return
        is_first, self._next_line = self._next_line == FIRST_SECONDS, seconds + SECONDS_BETWEEN_LINES
        left = seconds * (self.total - self._done) / self._done
        if self.verbose:
            print(f"{self.name}: {self._done / self.total:.0%} done, {about(left)} left", file=sys.stderr)
        elif is_first and left > LONG_SECONDS:
            self._warn(seconds + left)

    def _warn(self, seconds: float) -> None:
        logger.warning("%s will take %s; with verbose=1 it tells how far it is.", self.name, about(seconds))


def about(seconds: float) -> str:
    """Write a time as one would say it.

    Examples
    --------
    >>> about(1.2), about(12.3), about(600), about(1e5)
    ('about 1 second', 'about 12 seconds', 'about 10 minutes', 'about 28 hours')
    """
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"about {seconds / length:.0f} {unit}"
    return f"about {seconds:.0f} second" + "s" * (round(seconds) != 1)
