"""Whole and partial rankings of items as a loss of scores: the Plackett-Luce model of items."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.newton import decrement_gap
from rankwise.losses import PlackettLuce
from rankwise.preferences import Preferences
from rankwise.preferences.base import sum_by_row

# Up to this number of items systems are solved directly.
FEW_ITEMS = 500


class RankingModel:
    """Mean over choices of -log P(chosen), from the items of a ranking that were not chosen before.

    Parameters
    ----------
    item, ranking : int arrays of shape (n_rows,)
        A row per item of a ranking.
    place : array of shape (n_rows,)
        Lower is better; equal places are ties.
    weight : array of shape (n_rows,), optional
        The weight of each row's ranking.
    n_items : int
    ties : "breslow" or "efron"
    """

    def __init__(
        self,
        item: IntVector,
        ranking: IntVector,
        place: FloatVector,
        weight: FloatVector | None,
        n_items: int,
        ties: str = "breslow",
    ) -> None:
        self.item, self.ranking, self.n_items = item, ranking, n_items
        preferences = Preferences.from_scores(-place, ranking, query_weight=weight)
        self.loss = PlackettLuce(preferences, ties=ties, average="pairs")
        self.n_parameters = self.n_linear = n_items
        self.features = np.zeros((n_items, 0))
        self.at_zero = self.loss.at_zero
        chosen = self.loss.is_chosen
        self.total_weight = float(chosen.sum() if weight is None else chosen @ weight)

    def start(self) -> FloatVector:
        """Return equal scores."""
        return np.zeros(self.n_items)

    def scores(self, parameters: FloatVector) -> FloatVector:
        """Return the scores, which are the parameters."""
        return parameters

    def at(self, parameters: FloatVector) -> RankingPoint:
        """Return the loss at the parameters, with its derivatives."""
        return RankingPoint(self, parameters)

    def by_item(self, of_rows: FloatVector) -> FloatVector:
        """Sum values of rows by item."""
        return sum_by_row(self.item, of_rows, self.n_items)

    def unit_gradients(self, parameters: FloatVector, unit: IntVector) -> FloatArray:
        """Return the gradient of each unit, given the unit of each row: shape (n_units, n_items)."""
        _, of_rows = self.loss.value_and_coefficients(parameters[self.item])
        found = np.zeros((int(unit.max()) + 1, self.n_items))
        np.add.at(found, (unit, self.item), of_rows)
        return found


class RankingPoint:
    """Value, gradient and Hessian of a `RankingModel` at some scores."""

    is_convex = True

    def __init__(self, model: RankingModel, parameters: FloatVector) -> None:
        self._model, self._rows = model, parameters[model.item]
        self.value, of_rows = model.loss.value_and_coefficients(self._rows)
        self.gradient = model.by_item(of_rows)

    def hessian(self, ridge: FloatVector, *, exact: bool = True) -> RankingHessian:
        """Return the second derivative, with `ridge` added to its diagonal."""
        return RankingHessian(self._model, self._rows, ridge)

    def gap(self, decrement: float) -> float:
        """Return a bound on the distance of the value from its minimum, given g' H^-1 g.

        The variance of a direction among the rows of a choice is at least half the least probability times
        the square of its range.
        """
        loss, ranking = self._model.loss, self._model.ranking
        lowest = np.full(int(ranking.max()) + 1, np.inf)
        highest = -lowest
        np.minimum.at(lowest, ranking, self._rows)
        np.maximum.at(highest, ranking, self._rows)
        known = np.isfinite(lowest)
        sizes = np.bincount(ranking)[known]
        least = np.exp(-(highest - lowest)[known]) / sizes
        return decrement_gap(decrement, 0.5 * float(least.min()) * loss.least_choice)


class RankingHessian:
    """The Hessian by the scores, with a ridge on its diagonal."""

    def __init__(self, model: RankingModel, rows: FloatVector, ridge: FloatVector) -> None:
        self._model, self._ridge, self.n_items = model, ridge, model.n_items
        self._of_rows = model.loss.hessian(rows)

    def product(self, direction: FloatArray) -> FloatArray:
        """Return the matrix times a direction, or times several columns."""
        if direction.ndim > 1:
            return np.column_stack([self.product(column) for column in direction.T])
        of_items = self._model.by_item(self._of_rows.product(direction[self._model.item]))
        return of_items + self._ridge * direction

    @cached_property
    def matrix(self) -> FloatArray:
        """The matrix: one product for each item."""
        found = self.product(np.eye(self.n_items))
        return 0.5 * (found + found.T)

    @cached_property
    def diagonal(self) -> FloatVector:
        """The diagonal; an item is in a ranking once."""
        return self._model.by_item(self._of_rows.diagonal) + self._ridge

    def dense(self, shift: float = 0.0) -> FloatArray:
        """Return the matrix, with `shift` added between all items."""
        return self.matrix + shift

    @property
    def _shift(self) -> float:
        return float(self.diagonal.mean()) / self.n_items

    def solve(self, target: FloatVector, tol: float) -> FloatVector:
        """Return the solution with a mean of 0; of many items by conjugate gradients."""
        if self.n_items <= FEW_ITEMS:
            return self.solve_columns(target[:, None])[:, 0]
        n, inverse, shift = self.n_items, 1.0 / self.diagonal, self._shift
        matrix = LinearOperator((n, n), matvec=lambda v: self.product(v) + shift * v.sum(), dtype=np.float64)
        scaled = LinearOperator((n, n), matvec=lambda v: inverse * v, dtype=np.float64)
        solution, _ = cg(matrix, target, rtol=tol, maxiter=10 * n, M=scaled)
        return solution - solution.mean()

    def solve_columns(self, targets: FloatArray, tol: float = 1e-10) -> FloatArray:
        """Return the solutions of several systems whose targets sum to 0, with a mean of 0."""
        found = cho_solve(cho_factor(self.dense(self._shift)), targets)
        return np.asarray(found - found.mean(axis=0), dtype=np.float64)

    def inverse(self, largest_condition: float = 1e13) -> FloatArray:
        """Return the inverse between scores with a mean of 0; a LinAlgError beyond a condition number."""
        matrix = self.dense(self._shift)
        whole = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        if not np.linalg.norm(matrix, 1) * np.linalg.norm(whole, 1) < largest_condition:
            raise np.linalg.LinAlgError("Singular matrix")
        whole -= whole.mean(axis=0)
        return whole - whole.mean(axis=1, keepdims=True)

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant."""
        return float(np.linalg.slogdet(self.matrix)[1])

    def centred_scores(self, parameters: FloatArray) -> FloatArray:
        """Return columns of scores, minus their mean."""
        return parameters - parameters.mean(axis=0)
