"""Compression of messages: scores as fixed-point numbers and counts as integers, of four bytes each.

This suffices for the hinge. Its planes are lower bounds of the loss at whatever scores they are computed, so
an error of the scores by a small fraction of the tolerance leaves certificates valid; and without weights its
subgradient is an integer number of pairs times a factor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector

LEVELS = 2**32 - 1


class FixedPoint(NamedTuple):
    """The numbers low + step * codes."""

    low: float
    step: float
    codes: NDArray[np.uint32]


def encode_scores(scores: FloatVector, error: float) -> FloatVector | FixedPoint:
    """Return scores in four bytes each if their error is then at most `error`, and unchanged otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([-3.0, 0.1, 5.0])
    >>> narrow = encode_scores(scores, 1e-8)
    >>> narrow.codes.nbytes, bool(np.abs(decode_scores(narrow) - scores).max() <= 1e-8)
    (12, True)
    >>> encode_scores(scores, 1e-12) is scores
    True
    """
    if error <= 0 or len(scores) == 0:
        return scores
    low = float(scores.min())
    step = (float(scores.max()) - low) / LEVELS
    if not step / 2 <= error:
        return scores
    codes = np.rint((scores - low) / (step or 1.0))
    return FixedPoint(low, step, np.minimum(codes, LEVELS).astype(np.uint32))


def decode_scores(scores: FloatVector | FixedPoint) -> FloatVector:
    """Invert `encode_scores`, up to its error."""
    if isinstance(scores, FixedPoint):
        return np.asarray(scores.low + scores.step * scores.codes, dtype=np.float64)
    return scores


def encode_counts(coefficients: FloatVector, unit: Any) -> NDArray[Any]:
    """Return coefficients as int32 multiples of `unit` if that is exact, and unchanged otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> encode_counts(0.1 * np.array([3.0, -2.0, 0.0]), 0.1)
    array([ 3, -2,  0], dtype=int32)
    >>> encode_counts(np.array([0.25]), 0.1)
    array([0.25])
    """
    if unit is None:
        return coefficients
    positive = np.asarray(unit) > 0
    counts = np.rint(np.divide(coefficients, unit, out=np.zeros_like(coefficients), where=positive))
    if (np.abs(counts) < 2**31).all() and np.array_equal(counts * unit, coefficients):
        return counts.astype(np.int32)
    return coefficients


def decode_counts(coefficients: NDArray[Any], unit: Any) -> FloatVector:
    """Invert `encode_counts`, bit for bit."""
    return coefficients * unit if coefficients.dtype == np.int32 else coefficients
