"""Ctrl-C and SIGTERM: end a run, keep its results and report them."""

from __future__ import annotations

import signal
from threading import current_thread, main_thread
from types import FrameType
from typing import Any


class InterruptedRunError(Exception):
    """The run was interrupted; the message names the saved state."""

    def __init__(self, message: str, signal_number: int | None):
        super().__init__(message)
        self.exit_code = exit_code(signal_number)


def exit_code(signal_number: int | None) -> int:
    """Return the exit code of a program that a signal ended (SIGINT if unknown)."""
    return 128 + (signal.SIGINT if signal_number is None else signal_number)


class Interruption:
    """Turn SIGINT and SIGTERM into a KeyboardInterrupt, at which solvers return the best model so far.

    `number` is the signal that was received, or None.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if current_thread() is not main_thread():  # other threads cannot handle signals
            return self
        for number in self.SIGNALS:
            self._before[number] = signal.signal(number, self._raise)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        raise KeyboardInterrupt
