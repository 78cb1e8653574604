"""Cross-validation of smooth losses by one Newton step from the fit to all rows.

Without the pairs of a unit, the objective at the weights w of all rows has the gradient
-(g - m g_all) / (1 - m) and the Hessian (H - H_unit) / (1 - m) + 2 alpha, with the gradient g, the Hessian
H_unit and the weight m of the unit's pairs. One step from w leads to the weights without the unit, up to
terms of second order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import clone

from rankwise.core.checks import as_alphas
from rankwise.core.progress import Progress
from rankwise.core.types import FloatArray, FloatVector, IntArray
from rankwise.losses import Smooth
from rankwise.preferences import Preferences
from rankwise.preferences.base import check_pair_memory
from rankwise.uncertainty.influence import influence_of, units_of

# The tolerance of the fit to all rows: its suboptimality must be small beside the effect of a unit.
TOL = 1e-6
# Eigenvalues below this fraction of the largest are rounding.
RANK_TOL = 1e-13
# Pairs whose differences are computed at the same time.
PAIR_BLOCK = 1 << 18


class NewtonTask:
    """The fits of a smooth loss to all rows, from which units are left out.

    Parameters
    ----------
    model : RankLogistic, RankSVM with the squared hinge, or CurveRanker
        It is not changed.
    """

    def __init__(self, model: Any, X: Any, y: Any, qid: ArrayLike | None, alphas: ArrayLike | None):
        if not hasattr(model, "mean_loss"):
            raise TypeError(
                "model must be a RankRLS, a RankLogistic, a RankSVM with loss='squared_hinge' or a "
                f"CurveRanker; got {type(model).__name__}."
            )
        self.verbose = int(getattr(model, "verbose", 0))
        self.one_alpha = alphas is None
        self.alphas = as_alphas([model.alpha] if alphas is None else alphas)
        self.model = clone(model).set_params(
            alpha=float(self.alphas[0]), tol=min(TOL, model.tol), callback=None, verbose=0
        )
        self.model.check_parameters()
        problem = self.model.problem(X, y, qid)
        self.fits = self.model.fits(problem)
        self.preferences: Preferences = problem.preferences
        self.loss = self.fits.loss
        if not isinstance(self.loss, Smooth):
            raise TypeError(
                "Leaving queries or rows out by a Newton step needs a smooth loss: use RankLogistic, RankRLS "
                "or loss='squared_hinge' (CurveRanker: loss='logistic')."
            )
        design = self.fits.space.design.centred()
        self.rows = rows = design.matmat(np.eye(design.shape[1]))
        self._turn: FloatArray | None = None
        if (
            rows.shape[1] > rows.shape[0]
        ):  # the weights are combinations of rows: turn the axes into their span
            values, vectors = np.linalg.eigh(rows @ rows.T)
            kept = values > RANK_TOL * values[-1]
            root = np.sqrt(values[kept])
            self.rows, self._turn = vectors[:, kept] * root, (vectors[:, kept] / root).T @ rows

    def solutions(self, noun: str) -> Iterator[tuple[int, float, FloatVector]]:
        """Yield the number of each alpha, alpha and the weights of `rows`, and report progress."""
        order = np.argsort(-self.alphas, kind="stable")
        advance = Progress(f"Leaving {noun} out", len(order), self.verbose).advance
        start = None
        for number in order:
            start = self.fits.solve(float(self.alphas[number]), start).coef
            yield number, float(self.alphas[number]), start if self._turn is None else self._turn @ start
            advance(1)

    def squeezed(self, values: FloatArray) -> Any:
        """Drop the axis of alphas if they were not requested."""
        found = values[0] if self.one_alpha else values
        return float(found) if np.ndim(found) == 0 else found


def scores_without_folds(task: NewtonTask, fold_of_row: IntArray) -> FloatArray:
    """Return the score of each row by the model without its fold: shape (n_alphas, n_rows).

    Cost per alpha, for n dimensions: a fit, n Hessian products, O(m n^2 + n^3), and for each fold of b rows
    the smaller of O(b^2 n + b^3) and O(b n^2 + n^3).
    """
    order = np.argsort(fold_of_row, kind="stable")
    folds = np.split(order, np.flatnonzero(np.diff(fold_of_row[order])) + 1)
    scores = np.empty((len(task.alphas), len(fold_of_row)))
    for number, alpha, coef in task.solutions("queries"):
        system = _FoldSystem(task, alpha, coef, folds)
        for fold in folds:
            scores[number, fold] = system.scores(fold)
    return scores


class _FoldSystem:
    """The Newton equations at the weights of all rows."""

    def __init__(self, task: NewtonTask, alpha: float, coef: FloatVector, folds: list[IntArray]):
        self.X, self.penalty = task.rows, 2.0 * alpha
        loss, n = task.loss, len(coef)
        self.all_scores = self.X @ coef
        self.coefficients = loss.value_and_coefficients(self.all_scores)[1]
        curvature = loss.hessian(self.all_scores)
        self.blocks: dict[int, FloatArray] = {}
        if max(map(len, folds)) <= n:
            self.blocks = _hessian_blocks(curvature, folds, len(self.X))
            self.curved = np.empty_like(self.X)
            for fold in folds:
                self.curved[fold] = self.blocks[int(fold[0])] @ self.X[fold]
        else:
            self.curved = np.column_stack([curvature.product(column) for column in self.X.T])
        self.hessian = self.X.T @ self.curved
        self.gradient = self.X.T @ self.coefficients
        self.row_mass = loss.row_mass / 2
        mean_mass = float(self.row_mass.sum()) / len(folds)
        whole = self.hessian + (1.0 - mean_mass) * self.penalty * np.eye(n)
        self.solved = cho_solve(cho_factor(whole), self.X.T)  # n x m

    def scores(self, fold: IntArray) -> FloatVector:
        """Return the scores of a fold by the weights after the step without it."""
        X, mass = self.X[fold], float(self.row_mass[fold].sum())
        step = X.T @ self.coefficients[fold] - mass * self.gradient
        block = self.blocks.get(int(fold[0]))
        if block is None:
            left = self.hessian - X.T @ self.curved[fold]
            left += (1.0 - mass) * self.penalty * np.eye(len(left))
            return np.asarray(self.all_scores[fold] + X @ np.linalg.solve(left, step), np.float64)
        inner = X @ self.solved[:, fold]  # by the Woodbury formula
        moved = np.linalg.solve(np.eye(len(fold)) - inner @ block, self.solved[:, fold].T @ step)
        return np.asarray(self.all_scores[fold] + moved, np.float64)


def _hessian_blocks(curvature: Any, folds: list[IntArray], n_rows: int) -> dict[int, FloatArray]:
    """Return the block of the Hessian of each fold, by its first row; no pair joins two folds."""
    blocks = {int(fold[0]): np.empty((len(fold), len(fold))) for fold in folds}
    for k in range(max(map(len, folds), default=0)):
        longer = [fold for fold in folds if len(fold) > k]
        unit = np.zeros(n_rows)
        unit[[fold[k] for fold in longer]] = 1.0
        column = curvature.product(unit)
        for fold in longer:
            blocks[int(fold[0])][:, k] = column[fold]
    return blocks


def errors_without_rows(task: NewtonTask) -> FloatVector:
    """Return the held-out error of one ranking for each alpha: every row is left out once.

    A pair counts half by the model without its better row and half by that without its worse one. O(N n) for
    N pairs and n features, beside the influence of rows.
    """
    preferences, X = task.preferences, task.rows
    check_pair_memory(preferences.n_pairs)
    better, worse, _, weight = preferences.mean_pairs(task.model.average)
    units = units_of(preferences)
    errors = np.empty(len(task.alphas))
    for number, alpha, coef in task.solutions("rows"):
        penalty = np.full(len(coef), 2.0 * alpha)
        found = influence_of(task.loss, X, coef, penalty, units)
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
        errors[number] = total / 2
    return errors
