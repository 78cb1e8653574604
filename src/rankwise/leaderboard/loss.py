"""The logistic loss of counted comparisons of items: wins, losses and ties of each pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from rankwise import _native
from rankwise.core.types import FloatArray, FloatVector
from rankwise.leaderboard.comparisons import Comparisons

LARGEST_CONDITION = 1e13


class ComparisonLoss:
    """Mean over comparisons of -log P(outcome), with d = s_first - s_second + z' gamma (+ h for the order).

        ties="half":      P(win) = 1 / (1 + exp(-d)), and a tie is half a win and half a loss
        ties="davidson":  P(win), P(tie), P(loss) proportional to exp(d/2), nu, exp(-d/2)

    Bradley and Terry (1952) and Davidson (1970). With features X of the items, s = u + X beta, without them
    s = u. Covariates z of the entries are those of the comparisons, and h is the effect of a covariate of
    ones. Both are convex in (u, beta, gamma, h, log nu), which is the order of the parameters. A value takes
    one exponential and one logarithm per entry; the Hessian by s is a weighted Laplacian of the graph of
    pairs, bordered by one column per further parameter.
    """

    def __init__(
        self,
        comparisons: Comparisons,
        *,
        ties: str = "half",
        order_effect: bool = False,
        features: FloatArray | None = None,
    ) -> None:
        self.comparisons, self.n_items = comparisons, comparisons.n_items
        self.features = np.zeros((self.n_items, 0)) if features is None else features
        self.davidson, self.order_effect = ties == "davidson", order_effect
        self.n_linear = self.n_items + self.features.shape[1]
        self.effect_columns = _effect_columns(comparisons, order_effect)
        self.n_parameters = self.n_linear + len(self.effect_columns) + self.davidson
        self.total_weight = float(comparisons.total.sum())
        self.share = comparisons.total / self.total_weight
        self.n_ties = float(comparisons.ties.sum()) / self.total_weight
        self.lead = 0.5 * (comparisons.wins - comparisons.losses) / self.total_weight

    def start(self) -> FloatVector:
        """Return the log odds of winning of each item, smoothed by a win and a loss, as initial scores."""
        matches, wins = self.comparisons.per_item()
        scores = np.log((wins + 1.0) / (matches - wins + 1.0))
        return np.concatenate([scores - scores.mean(), np.zeros(self.n_parameters - self.n_items)])

    def at(self, parameters: FloatVector) -> LogisticPoint | DavidsonPoint:
        """Return the loss at the parameters, with its derivatives."""
        return DavidsonPoint(self, parameters) if self.davidson else LogisticPoint(self, parameters)

    def scores(self, parameters: FloatVector) -> FloatVector:
        """Return s = u + X beta."""
        deviations, weights = parameters[: self.n_items], parameters[self.n_items : self.n_linear]
        return deviations + self.features @ weights if len(weights) else deviations

    def effects(self, parameters: FloatVector) -> FloatVector:
        """Return gamma and h."""
        return parameters[self.n_linear : self.n_linear + len(self.effect_columns)]

    def order(self, parameters: FloatVector) -> float:
        """Return h, or 0 if there is none."""
        return float(self.effects(parameters)[-1]) if self.order_effect else 0.0

    def offset(self, parameters: FloatVector) -> FloatVector | None:
        """Return z' gamma + h of each entry, or None if there are neither."""
        return self.effects(parameters) @ self.effect_columns if len(self.effect_columns) else None

    def gathered(self, by_scores: FloatVector, by_d: FloatVector, by_nu: float) -> FloatVector:
        """Return derivatives by the parameters from those by scores, by the d of entries and by log nu."""
        by_effects = self.effect_columns @ by_d if len(self.effect_columns) else np.zeros(0)
        return np.concatenate(
            [by_scores, self.features.T @ by_scores, by_effects, [by_nu] if self.davidson else []]
        )

    def per_item(self, by_difference: FloatVector) -> FloatVector:
        """Return per item the sum over its entries, with a minus sign if it is the second of the pair."""
        return self.per_item_of_pairs(self.comparisons.summed(by_difference))

    def per_item_of_pairs(self, by_difference: FloatVector) -> FloatVector:
        """Return `per_item` of the sums of pairs."""
        matrix, ones = self.comparisons.pooled.matrix(by_difference), np.ones(self.n_items)
        return matrix @ ones - matrix.T @ ones


class LogisticPoint:
    """Value, gradient and Hessian at some parameters, with ties counted as halves."""

    def __init__(self, loss: ComparisonLoss, parameters: FloatVector) -> None:
        self._loss, counted = loss, loss.comparisons
        self.value, by_scores, by_d, self._curvature = _native.logistic_comparisons(
            counted.first, counted.second, loss.share, loss.lead, loss.scores(parameters),
            loss.offset(parameters),
        )  # fmt: skip
        self.gradient = loss.gathered(by_scores, by_d, 0.0)

    def hessian(self, ridge: FloatVector) -> ComparisonHessian:
        """Return the second derivative, with `ridge` added to its diagonal."""
        return ComparisonHessian(self._loss, self._curvature, None, 0.0, ridge)

    def least_information(self) -> float:
        """Return the smallest weighted p q; see `DavidsonPoint`."""
        return float(self._curvature.min())


class DavidsonPoint:
    """Value, gradient and Hessian of Davidson's model of ties.

    Relative to the more likely of win and loss, the probabilities of the other and of a tie are proportional
    to exp(-|d|) and nu exp(-|d|/2), which do not overflow.
    """

    def __init__(self, loss: ComparisonLoss, parameters: FloatVector) -> None:
        self._loss = loss
        scores, log_nu = loss.scores(parameters), float(parameters[-1])
        d, offset = scores[loss.comparisons.first] - scores[loss.comparisons.second], loss.offset(parameters)
        if offset is not None:
            d += offset
        size = np.abs(d)
        little, tie = np.exp(-size), np.exp(log_nu - 0.5 * size)
        total = 1.0 + little + tie
        self._big = 1.0 / total
        self._little, self._tie = little * self._big, tie * self._big
        self._ahead = np.copysign(self._big - self._little, d)
        lines = loss.lead @ d + loss.n_ties * log_nu
        self.value = float(loss.share @ np.log(total) + 0.5 * (loss.share @ size) - lines)
        by_d = 0.5 * loss.share * self._ahead - loss.lead
        by_nu = float(loss.share @ self._tie) - loss.n_ties
        self.gradient = loss.gathered(loss.per_item(by_d), by_d, by_nu)

    def hessian(self, ridge: FloatVector) -> ComparisonHessian:
        """Return the second derivative, with `ridge` added to its diagonal."""
        share, tie = self._loss.share, self._tie
        by_d = share * ((self._big + self._little) * (0.25 * tie) + self._big * self._little)
        by_d_nu = -0.5 * share * self._ahead * tie
        return ComparisonHessian(self._loss, by_d, by_d_nu, float(share @ (tie * (1.0 - tie))), ridge)

    def least_information(self) -> float:
        """Return m with v' H v >= m r^2 for all v, r the largest range of the exponents of an entry along v.

        The variance of the exponents is at least p q / (p + q) r^2 if outcomes of probabilities p and q are
        the extreme ones, so m is the smallest weighted p q / (p + q).
        """
        p, q = np.sort([self._big, self._little, self._tie], axis=0)[:2]
        return float((self._loss.share * p * q / (p + q)).min())


class ComparisonHessian:
    """A weighted Laplacian with a border for beta, gamma, h and log nu, and a ridge."""

    def __init__(
        self,
        loss: ComparisonLoss,
        by_d: FloatVector,
        by_d_nu: FloatVector | None,
        by_nu: float,
        ridge: FloatVector,
    ) -> None:
        self.n_items, self._features = loss.n_items, loss.features
        self._upper = loss.comparisons.matrix(by_d)
        self._lower = self._upper.T
        ones = np.ones(self.n_items)
        self._degree = self._upper @ ones + self._lower @ ones
        border = list(self._laplacian(loss.features).T)
        weighted = loss.effect_columns * by_d
        border += [loss.per_item_of_pairs(sums) for sums in loss.comparisons.summed(weighted)]
        if by_d_nu is not None:
            border.append(loss.per_item(by_d_nu))
        self._border = np.array(border).reshape(len(border), self.n_items)
        corner = np.zeros((len(border),) * 2)
        n_features = loss.features.shape[1]
        corner[:n_features] = (self._border @ loss.features).T
        corner[:, :n_features] = corner[:n_features].T
        corner[n_features:, n_features:] = _effects(loss, weighted, by_d_nu, by_nu)
        self._corner = corner + np.diag(ridge[self.n_items :])
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
        """Return the centred solution, by conjugate gradients to a residual of `tol` times the target.

        The diagonal is the preconditioner. The vector of equal scores is an eigenvector with eigenvalue
        `ridge`, often 0; a shift of this eigenvalue changes only the mean of the solution.
        """
        size, inverse = len(self.diagonal), 1.0 / self.diagonal
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
        """Return the solutions of several systems, with centred scores; targets of scores sum to 0.

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

    def inverse(self) -> FloatArray:
        """Return the inverse between parameters with centred scores, in O(n_parameters^3).

        A condition number above 1e13 raises a LinAlgError.
        """
        # Shift the eigenvalue of equal scores, as in `solve`.
        matrix = self._dense(self._shift)
        whole = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        if not np.linalg.norm(matrix, 1) * np.linalg.norm(whole, 1) < LARGEST_CONDITION:
            raise np.linalg.LinAlgError("Singular matrix")
        whole[: self.n_items] -= whole[: self.n_items].mean(axis=0)
        whole[:, : self.n_items] -= whole[:, : self.n_items].mean(axis=1, keepdims=True)
        return whole

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant, in O(n_parameters^3)."""
        return float(np.linalg.slogdet(self._dense(0.0))[1])

    def _dense(self, shift: float) -> FloatArray:
        """Return the matrix, with `shift` added between all items."""
        items = np.diag(self._degree + self._ridge) - self._upper.toarray() - self._lower.toarray()
        return np.block([[items + shift, self._border.T], [self._border, self._corner]])

    def centred_scores(self, parameters: FloatArray) -> FloatArray:
        """Return the scores u + X beta of each column of parameters, minus their mean."""
        n, end = self.n_items, self.n_items + self._features.shape[1]
        scores = parameters[:n] + self._features @ parameters[n:end]
        return scores - scores.mean(axis=0)


def _effects(
    loss: ComparisonLoss, weighted: FloatArray, by_d_nu: FloatVector | None, by_nu: float
) -> FloatArray:
    """Return the second derivatives by gamma, h and log nu, from the columns of effects times those by d."""
    effects = weighted @ loss.effect_columns.T
    if by_d_nu is None:
        return effects
    cross = loss.effect_columns @ by_d_nu
    return np.block([[effects, cross[:, None]], [cross, by_nu]])


def _effect_columns(comparisons: Comparisons, order_effect: bool) -> FloatArray:
    """Return the covariates and, for an order effect, ones: one row per effect, one column per entry."""
    ones = np.ones((int(order_effect), len(comparisons.first)))
    return ones if comparisons.covariates is None else np.concatenate([comparisons.covariates, ones])


def _dots(a: FloatArray, b: FloatArray) -> FloatVector:
    return np.einsum("ij,ij->j", a, b)
