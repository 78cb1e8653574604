"""The logistic loss of counted comparisons of items: wins, losses and ties of each pair."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from rankwise._types import FloatArray, FloatVector
from rankwise.preferences.comparisons import Comparisons


class ComparisonLoss:
    """Mean over comparisons of -log P(outcome), with d = s_first - s_second (+ h for the order).

        ties="half":      P(win) = 1 / (1 + exp(-d)), and a tie is half a win and half a loss
        ties="davidson":  P(win), P(tie), P(loss) in proportion to exp(d/2), nu, exp(-d/2)

    Bradley and Terry (1952) and Davidson (1970); both are convex in (s, h, log nu), which is the order of the
    parameters. A value costs one exponential and one logarithm an entry; the Hessian is a weighted Laplacian
    of the graph of pairs, with a border of one column for each of h and log nu.
    """

    def __init__(self, comparisons: Comparisons, *, ties: str = "half", order_effect: bool = False) -> None:
        self.n_items = comparisons.n_items
        self.davidson, self.order_effect = ties == "davidson", order_effect
        self.n_parameters = self.n_items + order_effect + self.davidson
        self.first, self.second = comparisons.first, comparisons.second
        self.total_weight = float(comparisons.total.sum())
        self.share = comparisons.total / self.total_weight
        self.n_ties = float(comparisons.ties.sum()) / self.total_weight
        self.lead = 0.5 * (comparisons.wins - comparisons.losses) / self.total_weight
        self._per_item = comparisons.per_item()
        ends = np.cumsum(np.bincount(self.first, minlength=self.n_items))
        self._index = self.second.astype(np.int32), np.concatenate([[0], ends]).astype(np.int32)

    def start(self) -> FloatVector:
        """Return the log odds of each item to win, with a win and a loss more, as if rivals were alike."""
        matches, wins = self._per_item
        scores = np.log((wins + 1.0) / (matches - wins + 1.0))
        return np.concatenate([scores - scores.mean(), np.zeros(self.n_parameters - self.n_items)])

    def at(self, parameters: FloatVector) -> ComparisonPoint:
        """Return the loss at the parameters, with its derivatives."""
        return ComparisonPoint(self, parameters)

    def differences(self, parameters: FloatVector) -> FloatVector:
        """Return s_first - s_second, with the order effect, of each entry."""
        d = parameters[self.first] - parameters[self.second]
        return d + parameters[self.n_items] if self.order_effect else d

    def gathered(self, by_difference: FloatVector, by_nu: float) -> FloatVector:
        """Return derivatives by the parameters from those by differences."""
        order = [by_difference.sum()] if self.order_effect else []
        return np.concatenate([self.per_item(by_difference), order, [by_nu] if self.davidson else []])

    def per_item(self, by_difference: FloatVector) -> FloatVector:
        """Return the sum of numbers over the entries of each item, less where it is the second."""
        up = np.bincount(self.first, by_difference, self.n_items)
        down = np.bincount(self.second, by_difference, self.n_items)
        return np.subtract(up, down, dtype=np.float64)

    def matrix(self, data: FloatVector) -> sp.csr_array:
        """Return the matrix with these numbers at the first and the second item of each entry."""
        indices, indptr = self._index
        return sp.csr_array((data, indices, indptr), shape=(self.n_items, self.n_items))


class ComparisonPoint:
    """The loss at some parameters: its value and gradient, and its Hessian where it is asked for.

    With the more likely of win and loss in front, their chances and that of a tie are in proportion to
    1, exp(-|d|) and nu exp(-|d|/2), none of which overflows.
    """

    def __init__(self, loss: ComparisonLoss, parameters: FloatVector) -> None:
        self._loss = loss
        d = loss.differences(parameters)
        size = np.abs(d)
        self._little = np.exp(-size)
        total = 1.0 + self._little
        if loss.davidson:
            self._tie = np.exp(parameters[-1] - 0.5 * size)
            total += self._tie
        self._big = 1.0 / total
        self._little *= self._big
        self._ahead = np.copysign(self._big - self._little, d)
        self.value = float(loss.share @ np.log(total) + 0.5 * (loss.share @ size) - loss.lead @ d)
        by_nu = 0.0
        if loss.davidson:
            self._tie *= self._big
            self.value -= loss.n_ties * float(parameters[-1])
            by_nu = float(loss.share @ self._tie) - loss.n_ties
        self.gradient = loss.gathered(0.5 * loss.share * self._ahead - loss.lead, by_nu)

    def hessian(self, ridge: float) -> ComparisonHessian:
        """Return the second derivative, with `ridge` added to its diagonal."""
        share, even = self._loss.share, self._big * self._little
        if not self._loss.davidson:
            return ComparisonHessian(self._loss, share * even, None, 0.0, ridge)
        tie = self._tie
        by_d = share * ((self._big + self._little) * (0.25 * tie) + even)
        by_d_nu = -0.5 * share * self._ahead * tie
        return ComparisonHessian(self._loss, by_d, by_d_nu, float(share @ (tie * (1.0 - tie))), ridge)

    def least_information(self) -> float:
        """Return m with v' H v >= m r^2 for all v, r the largest spread of the exponents of an entry along v.

        The variance of the exponents is at least p q / (p + q) r^2 if outcomes with chances p and q are
        furthest apart, so m is the smallest share p q / (p + q).
        """
        p, q = self._big, self._little
        if self._loss.davidson:
            p, q = np.sort([self._big, self._little, self._tie], axis=0)[:2]
        return float((self._loss.share * p * q / (p + q)).min())


class ComparisonHessian:
    """A weighted Laplacian with a border for h and log nu, and a ridge."""

    def __init__(
        self, loss: ComparisonLoss, by_d: FloatVector, by_d_nu: FloatVector | None, by_nu: float, ridge: float
    ) -> None:
        self.n_items, self.ridge = loss.n_items, ridge
        self._upper = loss.matrix(by_d)
        self._lower = self._upper.T
        degree = np.bincount(loss.first, by_d, self.n_items) + np.bincount(loss.second, by_d, self.n_items)
        columns, corner = [], np.zeros((0, 0))
        if loss.order_effect:
            columns.append(loss.per_item(by_d))
            corner = np.array([[by_d.sum()]])
        if by_d_nu is not None:
            columns.append(loss.per_item(by_d_nu))
            cross = np.full((len(corner), 1), by_d_nu.sum())
            corner = np.block([[corner, cross], [cross.T, np.array([[by_nu]])]])
        self._border = np.array(columns).reshape(len(columns), self.n_items)
        self._corner = corner
        self.diagonal = np.concatenate([degree, np.diag(corner)]) + ridge

    def product(self, direction: FloatVector) -> FloatVector:
        """Return the matrix times a direction, O(entries)."""
        items, extra = direction[: self.n_items], direction[self.n_items :]
        by_items = self.diagonal[: self.n_items] * items - self._upper @ items - self._lower @ items
        if not len(extra):
            return by_items
        by_extra = self._border @ items + self._corner @ extra + self.ridge * extra
        return np.concatenate([by_items + extra @ self._border, by_extra])

    def solve(self, target: FloatVector, tol: float) -> FloatVector:
        """Return the centred solution, by conjugate gradients to a residual of `tol` times the target.

        The diagonal is the preconditioner. Equal scores are an eigenvector with the ridge, often 0, for its
        value; it is moved away from 0, which changes the mean of the solution alone.
        """
        n, size = self.n_items, len(self.diagonal)
        shift = float(self.diagonal.mean()) / n
        inverse = 1.0 / self.diagonal

        def shifted(direction: FloatVector) -> FloatVector:
            product = self.product(direction)
            product[:n] += shift * direction[:n].sum()
            return product

        matrix = LinearOperator((size, size), matvec=shifted, dtype=np.float64)
        scaled = LinearOperator((size, size), matvec=lambda v: inverse * v, dtype=np.float64)
        solution, _ = cg(matrix, target, rtol=tol, maxiter=10 * size, M=scaled)
        solution[:n] -= solution[:n].mean()
        return solution

    def covariance(self) -> FloatArray:
        """Return the block of the items of the inverse, of scores less their mean; O(n_items^3)."""
        n, shift = self.n_items, float(self.diagonal.mean())
        items = np.diag(self.diagonal[:n]) - self._upper.toarray() - self._lower.toarray()
        corner = self._corner + self.ridge * np.eye(len(self._corner))
        # As in `solve`, equal scores get another value.
        whole = np.block([[items + shift / n, self._border.T], [self._border, corner]])
        return np.linalg.inv(whole)[:n, :n] - 1.0 / (n * (self.ridge + shift))
