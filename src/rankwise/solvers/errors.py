"""Rounding errors of an objective loss(X w) + alpha ||w||^2, of its gradient and of its lower bounds.

They follow from the `Precision` of the design and the `LossBounds` of the loss, whatever the loss.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.data.precision import Precision
from rankwise.losses.base import LossBounds


class Errors(NamedTuple):
    """The errors of an objective, and of the norm of its gradient (infinite for a loss with kinks)."""

    objective: Any
    gradient: Any


class ErrorModel:
    """The rounding errors that certificates allow for.

    Parameters
    ----------
    precision : Precision
        The errors of products with the design.
    bounds : LossBounds
        How fast the loss can change.
    """

    def __init__(self, precision: Precision, bounds: LossBounds):
        self.precision, self.bounds = precision, bounds
        self._sums = precision.rows + (precision.columns if bounds.curvature < np.inf else 0.0)

    def at(
        self, alpha: Any, coef: FloatArray, objective: Any, score_range: Any, drift: float = 0.0
    ) -> Errors:
        """Return the errors at a point.

        Parameters
        ----------
        alpha, coef, objective :
            The regularization, the weights and the computed objective.
        score_range : float
            A bound on the difference of two scores.
        drift : float
            The error of the scores beyond the rounding of X w.
        """
        p = self.precision
        moved, turned = self.bounds.change(objective, p.scores(coef) + drift)
        evaluated, coefficients = self._evaluated(score_range)
        rows = self._inexact_rows(alpha, self.bounds.coefficient_sum(objective))
        value = moved + evaluated + p.penalty(alpha, coef) + rows
        if self.bounds.curvature == np.inf:
            return Errors(value, np.inf)
        length = np.sqrt(np.sum(coef * coef, axis=0))
        return Errors(value, p.norm * (turned + coefficients) + 4.0 * p.columns * alpha * length)

    def _evaluated(self, score_range: Any) -> tuple[Any, Any]:
        """Return the errors of the loss at given scores and of its coefficients, in sum."""
        value, coefficients = self.bounds.terms(score_range)
        return 2.0 * self._sums * value, 2.0 * self.precision.amplification * self._sums * coefficients

    def _inexact_rows(self, alpha: Any, coefficient_sum: Any) -> Any:
        """Return the part of the gap that comes from rows with inexact entries.

        If the absolute coefficients c sum to a, then c'X X'c has an error of at most e a^2, with the error e
        of an inner product of two rows. At the optimum w = -X'c / (2 alpha): the bound has an error of
        e a^2 / (4 alpha), the penalty as much, and the loss twice as much.
        """
        return quotient(self.precision.product_error * coefficient_sum**2, alpha)

    @cached_property
    def _slopes(self) -> tuple[FloatArray, float]:
        """The error of each slope of a plane, and the sum of their squares."""
        slopes = 2.0 * self.bounds.lipschitz * self.bounds.mass * self.precision.slopes
        return slopes, float(slopes @ slopes)

    def plane(self, alpha: float, coef: FloatArray, offset: float) -> float:
        """Return the error of the minimum of a plane plus alpha ||w||^2, if the minimizer is `coef`.

        If each slope a_j has an error of e_j, the minimum b - ||a||^2 / (4 alpha) has one of
        |w|'e + ||e||^2 / (4 alpha), and that of its offset b, which is at most `offset` in absolute value.
        """
        slopes, square = self._slopes
        moved = np.abs(coef) @ slopes + quotient(square, 4.0 * alpha)
        return float(moved + self.precision.rows * offset + self.precision.penalty(alpha, coef))

    def is_rounding_noise(self, slopes: FloatArray) -> bool:
        """Return whether rounding alone can explain the slopes of a plane."""
        return float(slopes @ slopes) <= self._slopes[1]

    def slopes(self, score_range: float) -> FloatArray:
        """Return the error of each entry of X'c for the coefficients c of a smooth loss."""
        return self.precision.size * self._evaluated(score_range)[1]

    def tangent(self, score_range: float) -> tuple[float, float]:
        """Return the errors of ||X'c|| and of loss(s) - c's, for the coefficients c of a smooth loss.

        The tangent plane bounds the loss at any scores s, so the rounding of X w does not count.
        """
        evaluated, coefficients = self._evaluated(score_range)
        return float(self.precision.norm * coefficients), float(evaluated + coefficients * score_range)


def suboptimality(alpha: Any, objective: Any, gradient_norm: Any, errors: Errors) -> Any:
    """Return the bound ||gradient||^2 / (4 alpha) of strong convexity, with an allowance for rounding.

    Neither the loss nor the penalty is negative, so the objective is a bound, too.
    """
    gap = quotient((gradient_norm + errors.gradient) ** 2, 4.0 * alpha)
    return np.minimum(gap, objective) + errors.objective


def quotient(square: Any, strength: Any) -> Any:
    """Return the quotient, infinite if it overflows: a tiny alpha bounds nothing."""
    with np.errstate(over="ignore"):
        return np.float64(1.0) * square / strength
