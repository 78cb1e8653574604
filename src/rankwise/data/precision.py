"""Rounding errors of products with a design.

A sum of k products has an error of at most `rounding_terms(k)` units of roundoff, relative to the sum of
absolute values. With the largest absolute value of each column this bounds the errors of scores X w and of
slopes X'c for any data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rankwise.core.checks import check_columns
from rankwise.core.types import FloatArray

# The unit roundoff of double precision.
UNIT = 2.0**-53
# Scores that travel as 32-bit integers have at most this error, relative to the largest score.
FIXED_POINT = 1.0 / (2**32 - 1)


def rounding_terms(k: int) -> float:
    """Return the error of a sum of k products in units of roundoff: at most k, and almost surely 8 k^(1/2).

    N. J. Higham and T. Mary, "A new approach to probabilistic rounding error analysis", SIAM Journal on
    Scientific Computing 41, 2019.
    """
    return min(k + 2.0, 8.0 * np.sqrt(k) + 2.0)


@dataclass(frozen=True)
class Precision:
    """Bounds on the rounding errors of products with a data matrix.

    Attributes
    ----------
    size : array of shape (n_features,)
        The largest absolute value of each column.
    rows, columns : float
        The relative error of a sum over rows, and over columns.
    score_error : float
        An error of scores from other sources, unless `FIXED_POINT` times their size is smaller.
    magnitude : callable, optional
        Returns, for given weights, a bound on the sum of the absolute values of the terms of a score; by
        default `size` times the absolute weights.
    row_norm : float, optional
        A bound on the norms of the rows; by default the norm of `size`.
    amplification : float
        The growth of the rounding errors of a sum over rows when X'c is formed from it.
    product_error : float
        The error of an inner product of two rows that comes from errors of their entries.
    """

    size: FloatArray
    rows: float
    columns: float
    score_error: float = 0.0
    magnitude: Callable[[FloatArray], Any] | None = None
    row_norm: float | None = None
    amplification: float = 1.0
    product_error: float = 0.0

    @classmethod
    def of(cls, n_rows: int, size: FloatArray) -> Precision:
        """Return the precision of products with a matrix of plain numbers."""
        check_columns(size)
        return cls(size, UNIT * rounding_terms(n_rows), UNIT * rounding_terms(len(size)))

    @classmethod
    def of_span(cls, n_rows: int, size: float) -> Precision:
        """Return the precision of functions in the span of n rows, with one length for all features."""
        error = UNIT * rounding_terms(n_rows)
        return cls(np.array([size]), error, error)

    @cached_property
    def norm(self) -> float:
        """A bound on the norms of the rows."""
        return float(np.linalg.norm(self.size)) if self.row_norm is None else self.row_norm

    @cached_property
    def slopes(self) -> FloatArray:
        """The error of each entry of X'c if the absolute coefficients c sum to 1."""
        grown = max(1.0, self.amplification / np.sqrt(max(1, len(self.size))))
        return self.rows * grown * self.size

    def score_range(self, coef: FloatArray, scores: Any = None) -> Any:
        """Return a bound on the difference of two scores; from the weights unless the scores are local."""
        if isinstance(scores, np.ndarray):
            return 2.0 * np.abs(scores).max(axis=0, initial=0.0)
        return 2.0 * (self.size @ np.abs(coef))

    def scores(self, coef: FloatArray) -> Any:
        """Return the error of a score of these weights."""
        summed = self.size @ np.abs(coef) if self.magnitude is None else self.magnitude(coef)
        return self.columns * summed + np.minimum(self.score_error, FIXED_POINT * summed)

    def penalty(self, alpha: float, coef: FloatArray) -> Any:
        """Return the error of alpha ||w||^2.

        A norm that is computed from coefficients of rounded kernel values has the error of a vector as long
        as these coefficients.
        """
        squares = (coef * coef).sum(axis=0)
        if self.magnitude is not None and self.row_norm:
            squares = squares + (self.magnitude(coef) / self.row_norm) ** 2
        return self.columns * alpha * squares

    def path(self, lengths: FloatArray, n_sums: int) -> float:
        """Return the drift of scores that were updated along a path, beyond the rounding of X w.

        `lengths` sums the absolute weights of all steps, whose partial sums were rounded `n_sums` times.
        """
        return float((self.columns + 8.0 * UNIT * n_sums) * (self.size @ lengths))
