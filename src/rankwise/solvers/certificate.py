"""Certificates of a point, and the stopping rule of all solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class Certificate:
    """A bound on the suboptimality of a point.

    Parameters
    ----------
    objective : float
        The computed objective.
    bound : float
        A lower bound on the minimum; its rounding errors have been subtracted.
    gap : float
        A bound on the suboptimality in exact arithmetic.
    allowances : callable
        Returns `certified_gap` and `rounding`. It is called once, and only if the gap is small: it costs a
        pass over the scores and, with a kernel, a product.
    includes_drift : bool
        Whether the certified gap allows for scores that were updated along lines. If not, the certificate is
        recomputed from the weights at the end of a run.
    """

    __slots__ = ("_allowances", "_known", "bound", "gap", "includes_drift", "objective")

    def __init__(
        self,
        objective: float,
        bound: float,
        gap: float,
        allowances: Callable[[], tuple[float, float]],
        includes_drift: bool = False,
    ):
        self.objective, self.bound, self.gap = objective, bound, gap
        self.includes_drift = includes_drift
        self._allowances = allowances
        self._known: tuple[float, float] | None = None

    @property
    def certified_gap(self) -> float:
        """A bound on the suboptimality that allows for all rounding errors."""
        return self._both()[0]

    @property
    def rounding(self) -> float:
        """The part of the gap that rounding can explain, with a safety factor of 2."""
        return self._both()[1]

    def _both(self) -> tuple[float, float]:
        if self._known is None:
            self._known = self._allowances()
        return self._known


@dataclass(frozen=True)
class StoppingRule:
    """Stop when the gap is at most `tol` times the attainable improvement, J(0) - J*.

    The rule does not depend on the scale of the features or on the strength of the signal. J* is replaced by
    its lower bound. If nothing can be improved, rounding would keep every gap above zero, so a gap that
    rounding explains is small enough, too, unless it exceeds `tol` times J(0).

    Attributes
    ----------
    tol : float
    at_zero : float, or array of shape (n_outputs,)
        J(0), the objective of the zero function.

    Examples
    --------
    >>> rule = StoppingRule(tol=0.1, at_zero=1.0)
    >>> round(float(rule.target(objective=0.6, gap=0.1)), 6)  # the attainable improvement is at most 0.5
    0.05
    >>> float(rule.target(objective=1.0, gap=0.0, rounding=1e-9))  # there is none
    1e-09
    """

    tol: float
    at_zero: Any

    def target(self, objective: Any, gap: Any, rounding: Any = 0.0) -> Any:
        """Return the gap to stop at.

        Parameters
        ----------
        objective, gap : float, or arrays of shape (n_outputs,)
            The objective reached, and a bound on its suboptimality.
        rounding : float, or array of shape (n_outputs,)
            The part of a gap that rounding can explain.
        """
        attainable = np.minimum(self.at_zero - objective + gap, self.at_zero)  # no objective is negative
        return np.maximum(self.tol * attainable, np.minimum(rounding, self.tol * self.at_zero))

    def target_gap(self, certificate: Certificate) -> float:
        """Return the gap to stop at; rounding matters only if the gap is small."""
        is_small = certificate.gap <= self.tol * self.at_zero
        rounding = certificate.rounding if is_small else 0.0
        return float(self.target(certificate.objective, certificate.gap, rounding))

    def is_met(self, certificate: Certificate, target_gap: float) -> bool:
        """Return whether the gap is at its target, with room left for rounding errors."""
        gap = certificate.gap
        if not gap <= target_gap:
            return False
        return gap <= remaining_tolerance(target_gap, certificate.certified_gap - gap)

    def is_certified(self, certificate: Certificate) -> bool:
        """Return whether the certified gap is at its target without the allowance for rounding."""
        gap = certificate.certified_gap
        return certificate.includes_drift and bool(gap <= self.target(certificate.objective, gap))


def remaining_tolerance(tol: float, error: float) -> float:
    """Return the part of a tolerance that rounding leaves, at least half: less might never be reached."""
    return max(tol - error, 0.5 * tol)


def certified_gap(objective: float, bound: float, error: float) -> float:
    """Return a bound on the suboptimality, given a lower bound on the minimum and the objective's error.

    A bound that exceeds the objective by more than the error contradicts it and is ignored: the objective
    itself is a bound, as none is negative.
    """
    gap = objective - bound + error
    return gap if gap >= 0 else objective + error
