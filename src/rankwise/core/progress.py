"""Progress and remaining time of a long computation."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from time import perf_counter

from rankwise.core.time_limit import check_time, is_limited

logger = logging.getLogger("rankwise")

# The first estimate is made after a second; later lines follow at this interval.
FIRST_SECONDS = 1.0
SECONDS_BETWEEN_LINES = 5.0
# Longer computations are logged even if not verbose.
LONG_SECONDS = 60.0


class Progress:
    """Print the progress and the remaining time of some work to standard error.

    Without `verbose`, there is one warning of the logger "rankwise" if the work will take long, unless there
    is a time limit.

    Parameters
    ----------
    name : str
    total : float
        The amount of work, in any unit.
    verbose : int
    clock : callable
        Returns the time in seconds.
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
        """Warn if the work will take long, given the seconds per unit on common hardware."""
        expected = seconds * self.total
        if expected > LONG_SECONDS:
            self._warn(expected)

    def advance(self, amount: float) -> None:
        """Add an amount of completed work."""
        check_time()
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
        if is_limited():  # the fit ends in time in any case
            return
        logger.warning("%s will take %s; verbose=1 prints the progress.", self.name, about(seconds))


def about(seconds: float) -> str:
    """Format a duration in words.

    Examples
    --------
    >>> about(1.2), about(12.3), about(600), about(1e5)
    ('about 1 second', 'about 12 seconds', 'about 10 minutes', 'about 28 hours')
    """
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"about {seconds / length:.0f} {unit}"
    return f"about {seconds:.0f} second" + "s" * (round(seconds) != 1)
