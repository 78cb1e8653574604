"""The gap to the optimum over the iterations of a fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.pipelines import last_step
from rankwise.core.types import FloatArray, IntArray


class GapCurve(NamedTuple):
    """The certified gap after each iteration, where it is finite and positive."""

    iterations: IntArray
    seconds: FloatArray
    gap: FloatArray


def gap_curve(gap: ArrayLike, seconds: ArrayLike) -> GapCurve:
    """Return the iterations whose gap is finite and positive; rounding can make the last ones 0.

    Examples
    --------
    >>> gap_curve([np.inf, 0.5, 0.1], [0.0, 1.0, 2.0]).iterations
    array([2, 3])
    """
    values, time = np.asarray(gap, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    shown = np.isfinite(values) & (values > 0)
    return GapCurve(np.flatnonzero(shown) + 1, time[shown], values[shown])


def history_of(model: Any) -> dict[str, Any] | None:
    """Return the history of iterations of a fitted model, None if it has none."""
    history = getattr(last_step(model), "history_", None)
    if history is None or np.ndim(history["gap"]) != 1 or len(history["gap"]) == 0:
        return None
    return history
