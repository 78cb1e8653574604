"""Ctrl-C and SIGTERM: end what runs, keep what is found, and say so."""

from __future__ import annotations

import signal
from threading import current_thread, main_thread
from types import FrameType
from typing import Any


class InterruptedRunError(Exception):
    """The run was ended from outside; the message says what was kept."""

    def __init__(self, message: str, signal_number: int | None):
        super().__init__(message)
        self.exit_code = exit_code(signal_number)


def exit_code(signal_number: int | None) -> int:
    """Return what a shell gives for a program that a signal ended, Ctrl-C where it is not known which."""
    return 128 + (signal.SIGINT if signal_number is None else signal_number)


class Interruption:
    """Turns SIGINT and SIGTERM into a KeyboardInterrupt, which solvers answer with the best model so far.

    `number` is the signal that came, and None before.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if current_thread() is not main_thread():  # only that one may listen to signals
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
