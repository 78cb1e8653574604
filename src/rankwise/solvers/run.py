"""The loop of all iterative solvers: a method, a stopping rule, and a monitor of the progress."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.solvers.certificate import Certificate, StoppingRule
from rankwise.solvers.result import Monitor, SolverResult


class Method(Protocol):
    """An iterative method. Its constructor evaluates the first point."""

    @property
    def coef(self) -> FloatVector:
        """The best weights so far."""

    def certificate(self, target_gap: float) -> Certificate:
        """Return the certificate of the best weights, only as sharp as the target gap requires."""

    def settle(self) -> bool:
        """Return whether a point whose gap is at its target may be the last; the method may move off zero."""

    def step(self, target_gap: float) -> bool:
        """Take a step; return False if no progress is possible."""

    def recomputed(self) -> Certificate:
        """Return the certificate of the best weights, computed from the weights alone."""


def run(method: Method, rule: StoppingRule, *, max_iter: int, monitor: Monitor) -> SolverResult:
    """Iterate until the rule is met, the callback asks to stop, no progress is possible, or Ctrl-C."""
    status, certificate = iterate(method, rule, max_iter=max_iter, monitor=monitor)
    return finalise(
        method.coef,
        certificate.objective,
        certificate.certified_gap,
        monitor.iteration,
        status,
        monitor.history,
        rule,
        certificate.rounding,
    )


def iterate(
    method: Method, rule: StoppingRule, *, max_iter: int, monitor: Monitor
) -> tuple[str, Certificate]:
    """Run a method; return the status and the certificate of its best weights.

    An iteration is one certificate, which is recorded, and one step. A step may contain nested runs that
    record their own iterations, so the monitor counts. Ctrl-C ends the run and keeps the best weights.
    """
    status, target, certificate = "max_iter", rule.tol * rule.at_zero, None
    try:
        while monitor.iteration < max_iter:
            certificate = method.certificate(target)
            target = rule.target_gap(certificate)
            monitor.record(certificate.objective, certificate.bound, method.coef, target)
            if monitor.stop_requested:
                break
            if rule.is_met(certificate, target) and method.settle():
                status = "converged"
                break
            if not method.step(target):
                status = "stalled"
                break
            if monitor.stop_requested:
                break
    except KeyboardInterrupt:
        status = "interrupted"
    if monitor.stop_requested:
        status = "stopped"
    if certificate is None or status != "converged" or not rule.is_certified(certificate):
        certificate = method.recomputed()
    return status, certificate


def finalise(
    coef: NDArray[np.float64],
    objective: Any,
    gap: Any,
    n_iter: int,
    status: str,
    history: dict[str, NDArray[np.float64]],
    rule: StoppingRule,
    rounding: Any = 0.0,
) -> SolverResult:
    """Return the result of a run, which has converged if and only if its certified gap is at the target.

    Every solver ends here, so a gap above its target, or one that is not a number, never counts as
    convergence. Numbers that have overflowed are refused.
    """
    if not (np.isfinite(coef).all() and np.isfinite(objective).all()):
        raise ValueError(
            "The fit overflowed: the features, labels or weights are too large or alpha is too small for "
            "numbers of double precision; scale the features and the labels."
        )
    target = rule.target(objective, gap, rounding)
    is_met = bool(np.all(gap <= target))  # False for NaN
    if status == "converged" and not is_met:
        status = "stalled"
    elif is_met and status in ("stalled", "max_iter"):
        status = "converged"
    if np.ndim(objective) == 0:
        objective, gap = float(objective), float(gap)
    return SolverResult(coef, objective, gap, n_iter, status, history, rounding, target)
