"""The output of a command: a result for people or machines, notes, warnings and a progress bar."""

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

from rankwise.core.memory import human_bytes
from rankwise.core.progress import about
from rankwise.core.text import printable, printable_lines

BAR_WIDTH = 24
SECONDS_BETWEEN_DRAWINGS = 0.1
SECONDS_BEFORE_ESTIMATE = 2.0


class Console:
    """Print a result to standard output and all other output to standard error.

    Parameters
    ----------
    quiet : bool
        Print only errors and, with `as_json`, the result.
    as_json : bool
        Print the result as one JSON object.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.quiet = quiet
        self.as_json = as_json
        self.taken = False  # standard output has the scores, so that results go to standard error

    def result(self, values: dict[str, Any], lines: Sequence[str]) -> None:
        """Print the result: `values` as JSON, or the lines for people."""
        stream = sys.stderr if self.taken else sys.stdout
        if self.as_json:
            print(json.dumps(plain(values), allow_nan=False), file=stream)
        elif not self.quiet:
            print("\n".join(map(printable, lines)), file=stream)

    def note(self, text: str) -> None:
        """Print a note to standard error."""
        if not self.quiet:
            complain("rankwise", text)

    def progress(self) -> Progress:
        """Return a progress bar, which is drawn only on a terminal."""
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
        record.msg = getattr(record, "in_shell", record.msg)  # options in place of code
        self.console.note(f"{record.levelname.lower()}: {record.getMessage()}")


class Progress:
    """A progress bar on standard error, which is erased at the end."""

    def __init__(self, enabled: bool):
        self.enabled = enabled
        self._drawn = -math.inf
        self._length = 0

    def show(self, fraction: float | None, text: str) -> None:
        """Draw a bar filled to a fraction (no bar for None), at most ten times per second."""
        now = perf_counter()
        if not self.enabled or now - self._drawn < SECONDS_BETWEEN_DRAWINGS:
            return
        self._drawn = now
        line = text if fraction is None else f"[{bar(fraction)}] {text}"
        print("\r" + line.ljust(self._length), end="", file=sys.stderr, flush=True)
        self._length = len(line)

    def close(self) -> None:
        """Erase the line."""
        if self._length:
            print("\r" + " " * self._length + "\r", end="", file=sys.stderr, flush=True)
        self._length, self._drawn = 0, -math.inf

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def bar(fraction: float) -> str:
    """Draw a bar.

    Examples
    --------
    >>> bar(0.5)
    '############............'
    """
    filled = round(BAR_WIDTH * min(max(fraction, 0.0), 1.0))
    return "#" * filled + "." * (BAR_WIDTH - filled)


def gap_progress(first: float, gap: float, goal: float) -> float:
    """Return the progress of a gap from its first value to its target, on a logarithmic scale.

    Examples
    --------
    >>> gap_progress(1.0, 0.1, 0.01)
    0.5
    """
    if gap <= goal or first <= goal:
        return 1.0
    return max(0.0, math.log(first / gap) / math.log(first / goal)) if goal > 0 else 0.0


def time_left(fraction: float | None, seconds: float) -> str:
    """Format the remaining time at a fraction of the work; empty if it is too early to tell.

    Examples
    --------
    >>> time_left(0.25, 100.0)
    ', about 5 minutes left'
    """
    if fraction is None or fraction <= 0 or seconds < SECONDS_BEFORE_ESTIMATE:
        return ""
    return f", {about(seconds * (1 - fraction) / fraction)} left"


def plain(value: Any) -> Any:
    """Convert numpy's numbers and arrays to types of JSON; NaN and infinity become None."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def complain(program: str, text: str) -> None:
    """Print a message of a program to standard error; it may have names of the data."""
    print(f"{program}: {printable_lines(text)}", file=sys.stderr)


def for_stream(stream: IO[str], text: str) -> str:
    """Return lines of data as they are, or printable if they are for a terminal."""
    return printable_lines(text) if stream.isatty() else text


def standard_output() -> IO[str]:
    """Return standard output; refuse if it is closed."""
    if sys.stdout is None:
        raise ValueError("Standard output is closed; name a file for the scores.")
    return sys.stdout


def leave_output() -> None:
    """Discard further output, as the reader of standard output has closed its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(error: BaseException) -> str:
    """Return the message of an error; for errors of the system, the file and the reason."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename!r}: {error.strerror}."
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {error}".strip()
    return str(error)


def rounds_in_words(log: Any) -> str:
    """Return the rounds of a fit on Dask so far and the bytes that they moved; empty for a fit in memory.

    Examples
    --------
    >>> from rankwise.distributed import RoundLog
    >>> rounds_in_words(RoundLog(rounds=12, sent=3_400_000)), rounds_in_words(None)
    (', round 12, 3.4 MB moved', '')
    """
    if log is None:
        return ""
    return f", round {log.rounds}" + (f", {human_bytes(log.bytes_moved)} moved" if log.bytes_moved else "")
