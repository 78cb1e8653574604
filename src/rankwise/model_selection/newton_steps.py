"""Cross-validation of smooth losses by one Newton step from the fit to all rows.

Without the pairs of a unit, the objective at the weights w of all rows has the gradient
-(g - m g_all) / (1 - m) and the Hessian (H - H_unit) / (1 - m) + 2 alpha, with the gradient g, the Hessian
H_unit and the weight m of the unit's pairs. One step from w leads to the weights without the unit, up to
terms of second order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import clone

from rankwise.core.types import FloatArray, FloatVector, IntArray
from rankwise.evaluation.influence import influence_of, require_left, units_of
from rankwise.losses import Smooth
from rankwise.losses.base import ScoreHessian
from rankwise.preferences.base import check_pair_memory

# The tolerance of the fit to all rows: its suboptimality must be small beside the effect of a unit.
TOL = 1e-6
# Eigenvalues below this fraction of the largest are rounding.
RANK_TOL = 1e-13
# Pairs whose differences are computed at the same time.
PAIR_BLOCK = 1 << 18


def require_squares(model: Any, what: str) -> None:
    """Refuse a model whose penalty has absolute weights."""
    if np.any(model.l1_ratio):
        raise ValueError(f"{what} needs the penalty alpha ||w||^2; set l1_ratio=0, or use folds (cv=5).")


class NewtonSteps:
    """The fits of a smooth loss to all rows, and the weights without some of them.

    Parameters
    ----------
    fits : CertifiedFits
        Those of a mean loss over pairs.
    """

    def __init__(self, fits: Any):
        if not isinstance(fits.loss, Smooth):
            raise TypeError(
                "Leaving queries or rows out by a Newton step needs a smooth loss: use RankLogistic, RankRLS "
                "or loss='squared_hinge' (CurveRanker: loss='logistic')."
            )
        require_squares(fits.model, "Leaving queries or rows out by a Newton step")
        if not fits.loss.is_of_pairs:
            raise TypeError(
                "Leaving queries or rows out by a Newton step needs a loss that sums over pairs: use folds, "
                "such as cv=5."
            )
        model = clone(fits.model).set_params(tol=min(TOL, fits.model.tol), callback=None, verbose=0)
        self._fits = replace(fits, model=model)
        self.loss, self.preferences = fits.loss, fits.problem.preferences
        design = fits.space.design.centred()
        self.rows = rows = design.matmat(np.eye(design.shape[1]))
        self._turn: FloatArray | None = None
        if rows.shape[1] > rows.shape[0]:  # weights are combinations of rows: turn the axes into their span
            values, vectors = np.linalg.eigh(rows @ rows.T)
            kept = values > RANK_TOL * values[-1]
            root = np.sqrt(values[kept])
            self.rows, self._turn = vectors[:, kept] * root, (vectors[:, kept] / root).T @ rows

    def solve(self, alpha: float, start: FloatVector | None = None) -> FloatVector:
        """Fit all rows."""
        return self._fits.solve(alpha, start).coef

    def scores_without(self, alpha: float, coef: FloatVector, folds: list[IntArray]) -> FloatVector:
        """Return the score of each row by the model without its fold; no pair joins two folds.

        Cost for n dimensions: n Hessian products or, if folds are small, as many as the largest has rows,
        O(m n^2 + n^3), and for each fold of b rows the smaller of O(b^2 n + b^3) and O(b n^2 + n^3).
        """
        mass = self.loss.row_mass / 2
        left = np.array([1.0 - mass[fold].sum() for fold in folds])
        require_left(left, "fold", np.arange(len(folds)))
        scores = self.rows @ self._turned(coef)
        size = max(map(len, folds))
        system = _SmallFolds if size <= len(self.rows.T) else _LargeFolds
        return scores + system(self, alpha, scores, folds).changes()

    def error_without_rows(self, alpha: float, coef: FloatVector) -> float:
        """Return the held-out error of one ranking, with every row left out once.

        A pair counts half by the model without its better row and half by that without its worse one. O(N n)
        for N pairs and n features, beside the influence of rows.
        """
        check_pair_memory(self.preferences.n_pairs)
        better, worse, _, weight = self.loss.listed_pairs()
        X, coef = self.rows, self._turned(coef)
        penalty = np.full(len(coef), 2.0 * alpha)
        found = influence_of(self.loss, X, coef, penalty, units_of(self.preferences))
        changes = np.zeros_like(X)
        changes[found.units.labels] = found.changes()
        scores, total = X @ coef, 0.0
        for begin in range(0, len(better), PAIR_BLOCK):
            block = slice(begin, begin + PAIR_BLOCK)
            i, j = better[block], worse[block]
            apart, z = scores[i] - scores[j], X[i] - X[j]
            for row in (i, j):
                moved = apart + np.sum(z * changes[row], axis=1)
                total += float(weight[block] @ ((moved < 0) + 0.5 * (moved == 0)))
        return total / 2

    def _turned(self, coef: FloatVector) -> FloatVector:
        return coef if self._turn is None else self._turn @ coef


class _LargeFolds:
    """The Newton equations of folds with more rows than there are weights."""

    def __init__(self, steps: NewtonSteps, alpha: float, scores: FloatVector, folds: list[IntArray]):
        self.X, self.folds, self.penalty = steps.rows, folds, 2.0 * alpha
        self.coefficients = steps.loss.value_and_coefficients(scores)[1]
        self.gradient = self.X.T @ self.coefficients
        self.row_mass = steps.loss.row_mass / 2
        self.curved = self._times_hessian(steps.loss.hessian(scores))
        self.hessian = self.X.T @ self.curved

    def _times_hessian(self, curvature: ScoreHessian) -> FloatArray:
        return np.column_stack([curvature.product(column) for column in self.X.T])

    def changes(self) -> FloatVector:
        """Return the change of the score of each row if its fold leaves."""
        found, n = np.zeros(len(self.X)), self.X.shape[1]
        for fold in self.folds:
            X, mass = self.X[fold], float(self.row_mass[fold].sum())
            left = self.hessian - X.T @ self.curved[fold] + (1.0 - mass) * self.penalty * np.eye(n)
            step = X.T @ self.coefficients[fold] - mass * self.gradient
            found[fold] = X @ np.linalg.solve(left, step)
        return found


class _SmallFolds(_LargeFolds):
    """The Newton equations of folds with fewer rows, by the Woodbury formula; folds of one size together.

    The penalty is that of the mean fold with pairs.
    """

    blocks: list[tuple[IntArray, FloatArray]]

    def _times_hessian(self, curvature: ScoreHessian) -> FloatArray:
        sizes = np.array(list(map(len, self.folds)))
        groups = [np.array([fold for fold in self.folds if len(fold) == size]) for size in np.unique(sizes)]
        self.blocks = [(rows, np.empty((*rows.shape, rows.shape[1]))) for rows in groups]
        for k in range(sizes.max()):
            unit = np.zeros(len(self.X))
            for rows, _ in self.blocks:
                unit[rows[:, k : k + 1]] = 1.0
            column = curvature.product(unit)
            for rows, block in self.blocks:
                if k < rows.shape[1]:
                    block[:, :, k] = column[rows]
        curved = np.empty_like(self.X)
        for rows, block in self.blocks:
            curved[rows] = block @ self.X[rows]
        return curved

    def changes(self) -> FloatVector:
        """Return the change of the score of each row if its fold leaves."""
        found, n = np.zeros(len(self.X)), self.X.shape[1]
        with_pairs = sum(bool(self.row_mass[fold].any()) for fold in self.folds)
        rest = 1.0 - float(self.row_mass.sum()) / with_pairs
        factor = cho_factor(self.hessian + rest * self.penalty * np.eye(n))
        solved = cho_solve(factor, self.X.T).T
        for rows, block in self.blocks:
            X = self.X[rows]
            mass = self.row_mass[rows].sum(axis=1)
            step = np.einsum("fbn,fb->fn", X, self.coefficients[rows]) - mass[:, None] * self.gradient
            inner = X @ solved[rows].transpose(0, 2, 1)
            first = np.einsum("fbn,fn->fb", solved[rows], step)
            left = np.eye(rows.shape[1]) - inner @ block
            found[rows] = np.linalg.solve(left, first[:, :, None])[:, :, 0]
        return found


def folds_of(numbers: IntArray) -> list[IntArray]:
    """Return the rows of each fold, given the number of the fold of each row."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
