"""Counted comparisons of items as a loss of scores, by a link."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from rankwise.core.types import FloatArray, FloatVector
from rankwise.leaderboard.comparisons import Comparisons, Outcomes
from rankwise.leaderboard.links.base import Link
from rankwise.leaderboard.newton import decrement_gap

LARGEST_CONDITION = 1e13
# Up to this number of parameters systems are solved directly.
FEW_PARAMETERS = 100


class PairModel:
    """Mean over comparisons of -log P(outcome), by a link of d = s_first - s_second + z' gamma (+ h).

    With features X of the items, s = u + X beta, without them s = u. Covariates z of the entries are those of
    the comparisons, and the order effect h is the effect of a covariate of ones. The mean is convex in
    (u, beta, gamma, h, shapes of the link), which is the order of the parameters. The Hessian by s is a
    weighted Laplacian of the graph of pairs, bordered by one column per further parameter.
    """

    def __init__(
        self,
        comparisons: Comparisons,
        link: Link,
        *,
        order_effect: bool = False,
        features: FloatArray | None = None,
    ) -> None:
        self.comparisons, self.link, self.n_items = comparisons, link, comparisons.n_items
        self.features = np.zeros((self.n_items, 0)) if features is None else features
        self.order_effect, self.at_zero = order_effect, link.at_zero
        self.n_linear = self.n_items + self.features.shape[1]
        self.effect_columns = _effect_columns(comparisons, order_effect)
        self.n_additive = self.n_linear + len(self.effect_columns)
        self.n_parameters = self.n_additive + len(link.shapes)
        self.total_weight = float(comparisons.total.sum())
        self.outcomes = comparisons.outcomes.scaled(1.0 / self.total_weight)

    def recounted(self, outcomes: Outcomes) -> PairModel:
        """Return the model of other outcomes of the same entries."""
        counted = replace(self.comparisons, wins=outcomes.wins, losses=outcomes.losses, ties=outcomes.ties)
        return self.of(counted)

    def of(self, comparisons: Comparisons) -> PairModel:
        """Return the model of other comparisons of the same items."""
        return PairModel(comparisons, self.link, order_effect=self.order_effect, features=self.features)

    def start(self) -> FloatVector:
        """Return the log odds of winning of each item, smoothed by a win and a loss, as initial scores."""
        matches, wins = self.comparisons.per_item()
        scores = np.log((wins + 1.0) / (matches - wins + 1.0))
        return np.concatenate([scores - scores.mean(), np.zeros(self.n_parameters - self.n_items)])

    def at(self, parameters: FloatVector) -> PairPoint:
        """Return the loss at the parameters, with its derivatives."""
        return PairPoint(self, parameters)

    def scores(self, parameters: FloatVector) -> FloatVector:
        """Return s = u + X beta."""
        deviations, weights = parameters[: self.n_items], parameters[self.n_items : self.n_linear]
        return deviations + self.features @ weights if len(weights) else deviations

    def effects(self, parameters: FloatVector) -> FloatVector:
        """Return gamma and h."""
        return parameters[self.n_linear : self.n_additive]

    def shape(self, parameters: FloatVector) -> FloatVector:
        """Return the shapes of the link."""
        return parameters[self.n_additive :]

    def order(self, parameters: FloatVector) -> float:
        """Return h, or 0 if there is none."""
        return float(self.effects(parameters)[-1]) if self.order_effect else 0.0

    def offset(self, parameters: FloatVector) -> FloatVector | None:
        """Return z' gamma + h of each entry, or None if there are neither."""
        return self.effects(parameters) @ self.effect_columns if len(self.effect_columns) else None

    def differences(self, parameters: FloatVector) -> FloatVector:
        """Return d of each entry."""
        scores, offset = self.scores(parameters), self.offset(parameters)
        d = scores[self.comparisons.first] - scores[self.comparisons.second]
        return d if offset is None else d + offset

    def gathered(self, by_scores: FloatVector, by_d: FloatVector, by_shape: FloatVector) -> FloatVector:
        """Return derivatives by the parameters from those by scores, by the d of entries and by shapes."""
        by_effects = self.effect_columns @ by_d if len(self.effect_columns) else np.zeros(0)
        return np.concatenate([by_scores, self.features.T @ by_scores, by_effects, by_shape])


class PairPoint:
    """Value, gradient and Hessian of a `PairModel` at some parameters."""

    is_convex = True

    def __init__(self, model: PairModel, parameters: FloatVector) -> None:
        self._model, self._parameters = model, parameters
        by_scores, self._terms = model.link.summed(
            model.comparisons, model.outcomes, model.scores(parameters), model.offset(parameters),
            model.shape(parameters),
        )  # fmt: skip
        self.value = float(np.sum(self._terms.value))
        by_shape = [] if self._terms.by_shape is None else [self._terms.by_shape.sum()]
        self.gradient = model.gathered(by_scores, self._terms.by_d, np.array(by_shape))

    def hessian(self, ridge: FloatVector, *, exact: bool = True) -> PairHessian:
        """Return the second derivative, with `ridge` added to its diagonal."""
        terms = self._terms
        by_shape = 0.0 if terms.by_shape_shape is None else float(terms.by_shape_shape.sum())
        return PairHessian(self._model, terms.by_dd, terms.by_d_shape, by_shape, ridge)

    def gap(self, decrement: float) -> float:
        """Return a bound on the distance of the value from its minimum, given g' H^-1 g.

        The third derivative of the loss along a line is at most the second times `Link.steepness` times the
        largest change of a difference. If that holds for differences up to a radius beyond those here, the
        minimum must be within the radius.
        """
        link, outcomes = self._model.link, self._model.outcomes
        d, shape = self._model.differences(self._parameters), self._model.shape(self._parameters)
        radius = np.inf if np.isfinite(link.steepness(np.inf)) else 1.0
        steepness = link.steepness(float(np.abs(d).max()) + radius)
        least = link.least_information(d, shape, outcomes) / steepness**2
        return decrement_gap(decrement, least, 1.0 - float(np.exp(-steepness * radius)))


class PairHessian:
    """A weighted Laplacian with a border for beta, gamma, h and the shape, and a ridge."""

    def __init__(
        self,
        model: PairModel,
        by_dd: FloatVector,
        by_d_shape: FloatVector | None,
        by_shape: float,
        ridge: FloatVector,
    ) -> None:
        self.n_items, self._features = model.n_items, model.features
        self._upper = model.comparisons.matrix(by_dd)
        self._lower = self._upper.T
        ones = np.ones(self.n_items)
        self._degree = self._upper @ ones + self._lower @ ones
        self._border, self._corner = np.zeros((0, self.n_items)), np.diag(ridge[self.n_items :])
        if model.n_parameters > self.n_items:
            weighted, n_features = model.effect_columns * by_dd, model.features.shape[1]
            rows = list(weighted) + ([] if by_d_shape is None else [by_d_shape])
            border = list(self._laplacian(model.features).T)
            self._border = np.array(border + [model.comparisons.signed_sums(row) for row in rows])
            self._corner[:n_features] += (self._border @ model.features).T
            self._corner[n_features:, :n_features] = self._corner[:n_features, n_features:].T
            self._corner[n_features:, n_features:] += _effects(model, weighted, by_d_shape, by_shape)
        self._ridge = ridge[: self.n_items]
        self.diagonal = np.concatenate([self._degree + self._ridge, np.diag(self._corner)])

    def _laplacian(self, values: NDArray[np.float64]) -> FloatArray:
        return (self._degree * values.T).T - self._upper @ values - self._lower @ values

    def product(self, direction: FloatArray) -> FloatArray:
        """Return the matrix times a direction, or times several columns, in O(entries) per column."""
        items, more = direction[: self.n_items], direction[self.n_items :]
        by_items = self._laplacian(items) + (self._ridge * items.T).T
        if not len(more):
            return by_items
        return np.concatenate([by_items + self._border.T @ more, self._border @ items + self._corner @ more])

    def solve(self, target: FloatVector, tol: float) -> FloatVector:
        """Return the centered solution, by conjugate gradients to a residual of `tol` times the target.

        Few parameters have a direct solution, unless the matrix is singular. The diagonal is the
        preconditioner. The vector of equal scores is an eigenvector with eigenvalue `ridge`, often 0; a shift
        of this eigenvalue changes only the mean of the solution.
        """
        size, inverse = len(self.diagonal), 1.0 / self.diagonal
        solution = None
        if size <= FEW_PARAMETERS:
            with contextlib.suppress(np.linalg.LinAlgError):
                solution = np.asarray(np.linalg.solve(self.dense(self._shift), target), dtype=np.float64)
        if solution is None:
            matrix = LinearOperator((size, size), matvec=self._shifted, dtype=np.float64)
            scaled = LinearOperator((size, size), matvec=lambda v: inverse * v, dtype=np.float64)
            solution, _ = cg(matrix, target, rtol=tol, maxiter=10 * size, M=scaled)
        solution[: self.n_items] -= solution[: self.n_items].mean()
        return solution

    @property
    def _shift(self) -> float:
        return float(self.diagonal.mean()) / self.n_items

    def _shifted(self, direction: FloatArray) -> FloatArray:
        product = self.product(direction)
        product[: self.n_items] += self._shift * direction[: self.n_items].sum(axis=0)
        return product

    def solve_columns(self, targets: FloatArray, tol: float = 1e-10) -> FloatArray:
        """Return the solutions of several systems, with centered scores; targets of scores sum to 0.

        By conjugate gradients as in `solve`, for all columns at once: a product of the matrix with many
        columns reads its entries once. A column stops when its residual is `tol` times the target.
        """
        residual, inverse = targets.copy(), 1.0 / self.diagonal[:, None]
        solution, direction = np.zeros_like(residual), inverse * residual
        size = _dots(residual, direction)
        enough = tol**2 * size
        for _ in range(10 * len(residual)):
            going = size > enough
            if not going.any():
                break
            product = self._shifted(direction)
            length = np.divide(size, _dots(direction, product), out=np.zeros_like(size), where=going)
            solution += length * direction
            residual -= length * product
            scaled = inverse * residual
            before, size = size, _dots(residual, scaled)
            direction = scaled + np.divide(size, before, out=np.zeros_like(size), where=going) * direction
        solution[: self.n_items] -= solution[: self.n_items].mean(axis=0)
        return solution

    def inverse(self, largest_condition: float = LARGEST_CONDITION) -> FloatArray:
        """Return the inverse between parameters with centered scores, in O(n_parameters^3).

        A condition number above the largest raises a LinAlgError.
        """
        # Shift the eigenvalue of equal scores, as in `solve`.
        matrix = self.dense(self._shift)
        whole = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        if not np.linalg.norm(matrix, 1) * np.linalg.norm(whole, 1) < largest_condition:
            raise np.linalg.LinAlgError("Singular matrix")
        whole[: self.n_items] -= whole[: self.n_items].mean(axis=0)
        whole[:, : self.n_items] -= whole[:, : self.n_items].mean(axis=1, keepdims=True)
        return whole

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant, in O(n_parameters^3)."""
        return float(np.linalg.slogdet(self.dense(0.0))[1])

    def dense(self, shift: float = 0.0) -> FloatArray:
        """Return the matrix, with `shift` added between all items."""
        upper = self._upper.toarray()
        items = np.diag(self._degree + self._ridge) + shift - upper - upper.T
        if not len(self._corner):
            return items
        return np.block([[items, self._border.T], [self._border, self._corner]])

    def centred_scores(self, parameters: FloatArray) -> FloatArray:
        """Return the scores u + X beta of each column of parameters, minus their mean."""
        n, end = self.n_items, self.n_items + self._features.shape[1]
        scores = parameters[:n] + self._features @ parameters[n:end]
        return scores - scores.mean(axis=0)


def _effects(
    model: PairModel, weighted: FloatArray, by_d_shape: FloatVector | None, by_shape: float
) -> FloatArray:
    """Return the second derivatives by gamma, h and the shape; `weighted` are effects times those by d."""
    effects = weighted @ model.effect_columns.T
    if by_d_shape is None:
        return effects
    cross = model.effect_columns @ by_d_shape
    return np.block([[effects, cross[:, None]], [cross, by_shape]])


def _effect_columns(comparisons: Comparisons, order_effect: bool) -> FloatArray:
    """Return the covariates and, for an order effect, ones: one row per effect, one column per entry."""
    ones = np.ones((int(order_effect), len(comparisons.first)))
    return ones if comparisons.covariates is None else np.concatenate([comparisons.covariates, ones])


def _dots(a: FloatArray, b: FloatArray) -> FloatVector:
    return np.einsum("ij,ij->j", a, b)
