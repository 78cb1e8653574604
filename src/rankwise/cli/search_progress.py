"""The progress of a search over alpha."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from rankwise.cli.output import Progress, time_left
from rankwise.core.memory import human_bytes


class SearchProgress:
    """Draw the step of a search, the iterations of its fits and, on Dask, rounds and bytes moved.

    Parameters
    ----------
    progress : Progress
    model : estimator
        The model of the search, whose callback is set; folds fit copies of it, perhaps at the same time.
    log : RoundLog or None
        The rounds of rows on Dask.
    """

    def __init__(self, progress: Progress, model: Any, log: Any):
        self._progress, self._model = progress, model
        self._log = log if hasattr(log, "bytes_moved") else None
        self._start, self._first = perf_counter(), 0.0
        self._share, self._text = 0.0, ""

    @property
    def folds_share_passes(self) -> bool:
        """Whether all folds are fitted at once, as they are on Dask."""
        return self._log is not None

    def begin(self, share: float) -> None:
        """Start at a fraction of the work, above 0 if a checkpoint has the rest."""
        self._start, self._first = perf_counter(), share

    def step(self, share: float, text: str) -> None:
        """Show what is fitted next, and later its iterations."""
        self._share, self._text = share, text
        self._show("")

        def draw(state: Any) -> None:  # copies of a model share a function, but not an object
            gap = float(np.max(state.gap))
            self._show(f", iteration {state.iteration}, gap {gap:.2e} of {state.goal:.0e}")

        if "callback" in self._model.get_params():
            self._model.set_params(callback=draw)

    def _show(self, iteration: str) -> None:
        seconds = perf_counter() - self._start
        done = (self._share - self._first) / (1 - self._first)
        rounds = rounds_in_words(self._log)
        text = f"{self._text}{iteration}{rounds}, {seconds:.1f} s{time_left(done, seconds)}"
        self._progress.show(self._share, text)


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
