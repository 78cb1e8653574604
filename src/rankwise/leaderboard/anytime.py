"""Intervals that hold at all looks at once: asymptotic confidence sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from rankwise.core.checks import check_choice, check_positive

INTERVALS = ("fixed", "anytime")
# The number of units at which a confidence sequence of 95% is narrowest, if no other is planned.
PLANNED = 200


def mixture_scale(confidence: float, planned: float) -> float:
    """Return rho^2 of a confidence sequence that is narrowest at about `planned` units.

    Waudby-Smith et al. (2024), appendix B.2.
    """
    log_alpha = -2.0 * np.log(1.0 - confidence)
    return float((log_alpha + np.log(log_alpha + 1.0)) / planned)


def anytime_critical(n_units: Any, confidence: float, planned: float = PLANNED) -> Any:
    """Return the half-width, in standard errors, of an asymptotic confidence sequence after n units.

    The mixture of Robbins with scale rho: sqrt(2 (c + 1) / c log(sqrt(c + 1) / alpha)), c = n rho^2. The
    sequence covers at all n at once, asymptotically as the first look is later (Waudby-Smith et al. 2024,
    theorem 2.2).

    Examples
    --------
    >>> anytime_critical(np.array([20, 200, 1000]), 0.95).round(2)
    array([3.86, 3.04, 3.15])
    """
    c = n_units * mixture_scale(confidence, planned)
    return np.sqrt(2.0 * (c + 1.0) / c * np.log(np.sqrt(c + 1.0) / (1.0 - confidence)))


def anytime_p(z: Any, n_units: Any, confidence: float, planned: float = PLANNED) -> Any:
    """Return the largest alpha at which the sequence excludes 0, for its scale at this confidence."""
    c = n_units * mixture_scale(confidence, planned)
    return np.minimum(1.0, np.sqrt(c + 1.0) * np.exp(-0.5 * np.square(z) * c / (c + 1.0)))


def level(confidence: float, n_units: Any, intervals: str = "fixed", planned: float = PLANNED) -> Any:
    """Return the confidence of an interval for one look that is as long: Student's t has the same tail.

    Examples
    --------
    >>> level(0.95, 200), float(level(0.95, 200, "anytime").round(4))
    (0.95, 0.9976)
    """
    check_choice(intervals, "intervals", INTERVALS)
    check_positive("planned", planned)
    if intervals == "fixed":
        return confidence
    return 1.0 - 2.0 * norm.sf(anytime_critical(n_units, confidence, planned))
