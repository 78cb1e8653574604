"""A time limit for all fits in a block of code, which long loops check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import NamedTuple


class OutOfTimeError(RuntimeError):
    """A computation was given up at its time limit."""


class _Limit(NamedTuple):
    end: float
    clock: Callable[[], float]


_limit: ContextVar[_Limit | None] = ContextVar("_limit", default=None)


@contextmanager
def time_limit(seconds: float | None, clock: Callable[[], float] = perf_counter) -> Iterator[None]:
    """Let `check_time` raise `OutOfTimeError` in this block after some seconds; None sets no limit.

    The limit is that of the current thread.

    Examples
    --------
    >>> with time_limit(0.0):
    ...     check_time()
    Traceback (most recent call last):
        ...
    rankwise.core.time_limit.OutOfTimeError: The time limit was reached.
    """
    token = _limit.set(None if seconds is None else _Limit(clock() + seconds, clock))
    try:
        yield
    finally:
        _limit.reset(token)


def check_time() -> None:
    """Raise `OutOfTimeError` if the time limit is over: loops call it at least a few times per second."""
    limit = _limit.get()
    if limit is not None and limit.clock() >= limit.end:
        raise OutOfTimeError("The time limit was reached.")


def is_limited() -> bool:
    """Return whether there is a time limit."""
    return _limit.get() is not None
