"""Eigendecompositions that Ctrl-C interrupts.

A decomposition of many rows takes minutes. numpy releases the interpreter lock for it (scipy does not), so it
runs in a thread while the main thread handles signals.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread, current_thread, main_thread
from typing import TypeVar

import numpy as np

from rankwise.core.types import FloatArray

# Below this size, a decomposition takes less than a second.
LARGE = 1500
POLL_SECONDS = 0.1

Result = TypeVar("Result")


def eigh(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues, ascending, and the eigenvectors of a symmetric matrix (its lower triangle).

    Examples
    --------
    >>> eigh(np.diag([3.0, 1.0]))[0]
    array([1., 3.])
    """
    is_short = current_thread() is not main_thread() or len(matrix) < LARGE
    values, vectors = np.linalg.eigh(matrix) if is_short else interruptible(lambda: np.linalg.eigh(matrix))
    return values, np.asfortranarray(vectors)  # LAPACK's own order, which decides the rounding of products


def interruptible(call: Callable[[], Result]) -> Result:
    """Return the result of a call in a thread; Ctrl-C ends the wait, and the call runs to its end."""
    done = Event()
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    Thread(target=run, daemon=True).start()
    while not done.wait(POLL_SECONDS):  # Python handles signals between two waits
        pass
    if errors:
        raise errors[0]
    return results[0]
