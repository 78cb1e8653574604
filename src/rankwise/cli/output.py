"""What a command tells: a result for people or machines, notes, warnings and a progress bar."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import IO, Any

from rankwise.core.progress import about

BAR_WIDTH = 24
SECONDS_BETWEEN_DRAWINGS = 0.1
SECONDS_BEFORE_ESTIMATE = 2.0


class Console:
    """Prints a result to standard output and everything else to standard error.

    Parameters
    ----------
    quiet : bool
        Print errors, and the result where it is asked for as JSON.
    as_json : bool
        Print the result as one JSON object.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.quiet = quiet
        self.as_json = as_json
        self.taken = False  # standard output holds the data asked for, so that results go beside it

    def result(self, values: dict[str, Any], lines: Sequence[str]) -> None:
        """Print the result: `values` as JSON, or the lines for people."""
        stream = sys.stderr if self.taken else sys.stdout
        if self.as_json:
            print(json.dumps(plain(values), allow_nan=False), file=stream)
        elif not self.quiet:
            print("\n".join(lines), file=stream)

    def note(self, text: str) -> None:
        """Say something on the way."""
        if not self.quiet:
            print(f"rankwise: {text}", file=sys.stderr)

    def progress(self) -> Progress:
        """Return a progress bar, which shows on a terminal only."""
        return Progress(enabled=not self.quiet and sys.stderr.isatty())

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Turn the warnings of the library into notes."""
        logger, handler = logging.getLogger("rankwise"), _NoteHandler(self)
        before = logger.propagate
        logger.addHandler(handler)
        logger.propagate = False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = lambda message, *_args, **_more: self.note(f"warning: {message}")
                yield
        finally:
            logger.removeHandler(handler)
            logger.propagate = before


class _NoteHandler(logging.Handler):
    def __init__(self, console: Console):
        super().__init__(logging.WARNING)
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        self.console.note(f"{record.levelname.lower()}: {record.getMessage()}")


class Progress:
    """A line on standard error that is drawn again and again, and wiped out at the end."""

    def __init__(self, enabled: bool):
        self.enabled = enabled
        self._drawn = -math.inf
        self._length = 0

    def show(self, share: float | None, text: str) -> None:
        """Draw a bar filled to that share (none for None), at most ten times a second."""
        now = perf_counter()
        if not self.enabled or now - self._drawn < SECONDS_BETWEEN_DRAWINGS:
            return
        self._drawn = now
        line = text if share is None else f"[{bar(share)}] {text}"
        print("\r" + line.ljust(self._length), end="", file=sys.stderr, flush=True)
        self._length = len(line)

    def close(self) -> None:
        """Wipe the line out."""
        if self._length:
            print("\r" + " " * self._length + "\r", end="", file=sys.stderr, flush=True)
        self._length, self._drawn = 0, -math.inf

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def bar(share: float) -> str:
    """Draw a bar.

    Examples
    --------
    >>> bar(0.5)
    '############............'
    """
    filled = round(BAR_WIDTH * min(max(share, 0.0), 1.0))
    return "#" * filled + "." * (BAR_WIDTH - filled)


def share_of_gap(first: float, gap: float, goal: float) -> float:
    """Return how far a gap has come from the first one to its goal, on a logarithmic scale.

    Examples
    --------
    >>> share_of_gap(1.0, 0.1, 0.01)
    0.5
    """
    if gap <= goal or first <= goal:
        return 1.0
    return max(0.0, math.log(first / gap) / math.log(first / goal)) if goal > 0 else 0.0


def time_left(share: float | None, seconds: float) -> str:
    """Write how long work will take that has come that far; nothing where that cannot be told yet.

    Examples
    --------
    >>> time_left(0.25, 100.0)
    ', about 5 minutes left'
    """
    if share is None or share <= 0 or seconds < SECONDS_BEFORE_ESTIMATE:
        return ""
    return f", {about(seconds * (1 - share) / share)} left"


def plain(value: Any) -> Any:
    """Turn numpy's numbers and arrays into what JSON has; NaN and infinity are null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def standard_output() -> IO[str]:
    """Return where results go that no file was named for."""
    if sys.stdout is None:
        raise ValueError("Standard output is closed, and no file is named for the scores.")
    return sys.stdout


def leave_output() -> None:
    """Write no more to standard output, whose reader has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(error: BaseException) -> str:
    """Return an error in words; the system's own are a number, a text and a file."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename!r}: {error.strerror}."
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {error}".strip()
    return str(error)
