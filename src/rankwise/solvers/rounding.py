"""How far rounding may move a computed objective and a computed bound of its minimum.

A sum of k products comes out within `terms(k)` units of rounding of the exact one, in units of the sum of the
absolute values. With the largest absolute value of each column that bounds what scores, slopes and gradients
are off by, whatever the data; the loss is Lipschitz or a square, so its value follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.core.checks import check_columns
from rankwise.core.types import FloatArray
from rankwise.data.design import Design

UNIT = 2.0**-53
# Scores that are passed on as integers of 32 bits are off by this share of the largest at most.
FIXED_POINT = 1.0 / (2**32 - 1)


def terms(k: int) -> float:
    """Return the units of rounding of a sum of k products: k at worst, and 8 k^(1/2) but for rare accidents.

    N. J. Higham and T. Mary, "A new approach to probabilistic rounding error analysis", SIAM Journal on
    Scientific Computing 41, 2019.
    """
    return min(k + 2.0, 8.0 * np.sqrt(k) + 2.0)


@dataclass(frozen=True)
class Rounding:
    """What a design and a loss do to the rounding of an objective loss(X w) + alpha ||w||^2.

    Attributes
    ----------
    size : array of shape (n_features,)
        The largest absolute value of each column.
    rows, columns : float
        The relative error of a sum over rows, and over columns.
    score_error : float
        What scores may be off by for other reasons, unless `FIXED_POINT` times their size is less.
    mass : float
        The sum of the weights of all pairs.
    start : float, or array of shape (n_outputs,)
        The loss of the zero function.
    growth : 1 or 2
        2 for a loss that is a square, 1 for the logistic loss, which grows like a line.
    magnitude : callable, optional
        Returns a bound on the sum of the absolute values that a score is the sum of, from the weights; by
        default that of the products of `size` and the weights.
    row_norm : float, optional
        A bound on the norms of the rows; by default that of `size`.
    amplification : float
        By how much the rounding of the sums of a gradient grows on the way to its norm.
    product_error : float
        What the product of two rows may be off by because their entries are.
    """

    size: FloatArray
    rows: float
    columns: float
    score_error: float = 0.0
    mass: float = 1.0
    start: Any = 1.0
    growth: int = 2
    magnitude: Callable[[FloatArray], Any] | None = None
    row_norm: float | None = None
    amplification: float = 1.0
    product_error: float = 0.0

    @classmethod
    def of(cls, design: Design, mass: float = 1.0, start: Any = 1.0, growth: int = 2) -> Rounding:
        """Return the rounding of products with a design."""
        m, n = design.shape
        size = design.column_scale()
        check_columns(size)
        known = design.score_error, mass, start, growth
        more = design.magnitude, design.row_norm, design.amplification, design.product_error
        return cls(size, UNIT * terms(m), UNIT * terms(n), *known, *more)

    @classmethod
    def of_rows(cls, n_rows: int, size: float, mass: float, start: Any) -> Rounding:
        """Return the rounding of functions in the span of so many rows, with one length for all features."""
        return cls(np.array([size]), UNIT * terms(n_rows), UNIT * terms(n_rows), 0.0, mass, start)

    @cached_property
    def _norm(self) -> float:
        return float(np.linalg.norm(self.size)) if self.row_norm is None else self.row_norm

    def reach(self, coef: FloatArray, scores: Any = None) -> Any:
        """Return a bound on the difference of two scores; from the weights where the scores are elsewhere."""
        if isinstance(scores, np.ndarray):
            return 2.0 * np.abs(scores).max(axis=0, initial=0.0)
        return 2.0 * (self.size @ np.abs(coef))

    def scores(self, coef: FloatArray) -> Any:
        """Return what a score of these weights may be off by."""
        summed = self.size @ np.abs(coef) if self.magnitude is None else self.magnitude(coef)
        return self.columns * summed + np.minimum(self.score_error, FIXED_POINT * summed)

    def penalty(self, alpha: float, coef: FloatArray) -> Any:
        """Return what alpha ||w||^2 may be off by.

        Where the norm is that of coefficients of rounded kernel values, it is as if w were as long as these.
        """
        squares = (coef * coef).sum(axis=0)
        if self.magnitude is not None and self.row_norm:
            squares = squares + (self.magnitude(coef) / self.row_norm) ** 2
        return self.columns * alpha * squares

    def hinge(self, alpha: float, coef: FloatArray, reach: float, objective: float = np.inf) -> float:
        """Return what the objective with a hinge loss may be off by: it changes at most as two scores do.

        Near the optimum half of what the violated pairs weigh is at most twice the objective.
        """
        evaluated = 2.0 * self.rows * (1.0 + reach)
        unknown = self.unknown(alpha, min(2.0, 4.0 * objective))
        return 2.0 * self.scores(coef) + evaluated + self.penalty(alpha, coef) + unknown

    def unknown(self, alpha: Any, slopes: Any) -> Any:
        """Return what rows that are not known exactly add to the gap.

        Where the absolute values of the coefficients c of the rows add up to `slopes`, c'X X'c is off by at
        most e slopes^2, with the error e of a product of two rows. At the optimum w is -X'c / (2 alpha): the
        bound is off by a quarter of e slopes^2 / alpha, the penalty by as much, and the loss by half of it.
        """
        return quotient(self.product_error * slopes**2, alpha)

    def plane(self, alpha: float, coef: FloatArray) -> float:
        """Return what the minimum of a plane plus alpha ||w||^2 may be off by, where it is at these weights.

        Each slope a_j is off by at most e_j = 2 rows size_j, as the coefficients of the rows add up to at
        most 2 in absolute value. So the minimum -||a||^2 / (4 alpha) is off by |w|'e + ||e||^2 / (4 alpha).
        """
        slopes, square = self._slope_errors
        return float(
            np.abs(coef) @ slopes + quotient(square, 4.0 * alpha) + self.rows + self.penalty(alpha, coef)
        )

    def hidden(self, slopes: FloatArray) -> bool:
        """Return whether the slopes of a plane may come from rounding alone."""
        return float(slopes @ slopes) <= self._slope_errors[1]

    def left_to_hinge(self, alpha: float, coef: FloatArray, error: float) -> float:
        """Return twice the gap that rounding would leave to these weights if they were the optimum.

        Twice, as the weights that are reached differ from the optimum; `error` is what `hinge` says of them.
        """
        return 2.0 * (error + self.plane(alpha, coef))

    def left_to_square(
        self, alpha: float, coef: FloatArray, objective: Any, reach: Any, drift: float = 0.0
    ) -> Any:
        """Return what `left_to_hinge` does, with a squared or logistic loss."""
        return 2.0 * self.certified(alpha, coef, objective, 0.0, reach, drift)

    @cached_property
    def _slope_errors(self) -> tuple[FloatArray, float]:
        """What each slope of a plane may be off by, and the sum of the squares."""
        grown = max(1.0, self.amplification / np.sqrt(len(self.size)))
        slopes = 2.0 * self.rows * grown * self.size
        return slopes, float(slopes @ slopes)

    def square(
        self, alpha: Any, coef: FloatArray, value: Any, reach: Any, drift: float = 0.0
    ) -> tuple[Any, Any]:
        """Return what an objective with a squared loss, and the norm of its gradient, may be off by.

        By Cauchy and Schwarz the slopes of the loss add up to at most 4 (mass value)^(1/2), and they change
        by at most 8 mass times a change of the scores. The loss is evaluated as a sum of products of scores
        and targets that are not larger than `scale`. `drift` is what the scores are off by beyond the
        rounding of X w.

        The slope of a pair's logistic loss is at most 1 and its curvature at most 1/4, while a difference of
        scores changes by at most 2 `score`: the loss moves by 2 `score`, and the slopes of the two rows by
        `score` in all. The parts it is summed from, a line and an even function, are at most `scale`.
        """
        score = self.scores(coef) + drift
        evaluated, slopes = self._evaluated(reach)
        moved, turned = self._moved(value, score)
        pull = 4.0 * self.columns * alpha * np.sqrt(np.sum(coef * coef, axis=0))
        norm = self._norm * (turned + slopes) + pull
        unknown = self.unknown(alpha, self._slopes(value))
        return moved + evaluated + self.penalty(alpha, coef) + unknown, norm

    def _slopes(self, value: Any) -> Any:
        """Return a bound on the sum of the slopes of a loss of this value."""
        if self.growth == 1:
            return 2.0 * np.minimum(self.mass, value)
        return 4.0 * np.sqrt(self.mass * np.maximum(value, 0.0))

    def _moved(self, value: Any, score: Any) -> tuple[Any, Any]:
        """Return by what the loss, and the sum of its slopes, change when each score changes by `score`."""
        if self.growth == 1:
            return 2.0 * self.mass * score, self.mass * score
        return self._slopes(value) * score + 8.0 * self.mass * score**2, 8.0 * self.mass * score

    def _evaluated(self, reach: Any) -> tuple[Any, Any]:
        """Return what the loss of given scores, and the sum of its slopes, may be off by."""
        root, sums = np.sqrt(self.mass), self.rows + self.columns
        scale = root * reach + np.sqrt(self.start)
        return 2.0 * sums * scale**self.growth, 8.0 * self.amplification * sums * root * scale

    def tangent(self, reach: float) -> tuple[float, float]:
        """Return what X'c may be off by in norm, and loss(s) - c's, for a loss with coefficients c.

        Any scores s will do, so only the rounding of the loss and of the two products counts.
        """
        evaluated, slopes = self._evaluated(reach)
        return float(self._norm * slopes), float(evaluated + slopes * reach)

    def path(self, lengths: FloatArray, n_sums: int) -> float:
        """Return what scores may be off by that are a sum of products, given the weights' way to the sum.

        `lengths` adds up the absolute values of the weights of all terms, as do the sums on the way, of
        which there are `n_sums`, for the scores and for the weights.
        """
        return float((self.columns + 8.0 * UNIT * n_sums) * (self.size @ lengths))

    def certified(
        self,
        alpha: Any,
        coef: FloatArray,
        objective: Any,
        gradient_norm: Any,
        reach: Any,
        drift: float = 0.0,
    ) -> Any:
        """Return a bound on the distance to the minimum of a squared loss: ||gradient||^2 / (4 alpha).

        The norm of the gradient is that of the computed one plus its error, and the error of the objective
        is added. Neither the loss nor the penalty is negative, which bounds the distance too.
        """
        objective_error, gradient_error = self.square(alpha, coef, objective, reach, drift)
        gap = quotient((gradient_norm + gradient_error) ** 2, 4.0 * alpha)
        return np.minimum(gap, objective) + objective_error


def quotient(square: Any, strength: Any) -> Any:
    """Return the quotient, up to infinity: a tiny alpha bounds nothing."""
    with np.errstate(over="ignore"):
        return np.float64(1.0) * square / strength


def share_left(tol: float, error: float) -> float:
    """Return what rounding leaves of a tolerance, at least half: below that a run would never end."""
    return max(tol - error, 0.5 * tol)
