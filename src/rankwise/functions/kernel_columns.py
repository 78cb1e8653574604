"""Functions of a distance kernel, column by column: parts of a difference, changes and mixed differences.

The kernels "laplacian", "rbf" and "exponential" depend on two rows by a sum of one term per feature, so that
the values of a function at rows that mix the columns of two others need no further distances. A column of a
table may consist of several features, such as the indicators of its categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankwise.core.types import FloatArray, FloatVector, IntVector

__all__ = ["ColumnFunction"]

# Kernels that are products of one factor per feature.
PRODUCTS = ("laplacian", "rbf")
# Nodes of the quadrature, which is exact for twice as many columns.
MOST_NODES = 32
# Random orders of columns, and as many reversed ones, for a kernel that is no product.
N_ORDERS = 100
# A factor is not divided by one that is smaller than exp(-this) times it.
LARGEST_RATIO = 300.0


@dataclass(frozen=True)
class ColumnFunction:
    """The function ``f(x) = sum_z a_z k(x, z)``, where k is a function of a sum over columns.

    Attributes
    ----------
    basis : array of shape (b, n)
    dual_coef : array of shape (b,)
    kernel : "laplacian", "rbf" or "exponential"
    gamma : float
    scales : array of shape (n,)
        The kernel sees x times these.
    column : int array of shape (n,)
        The column that each feature belongs to.
    n_columns : int
    """

    basis: FloatArray
    dual_coef: FloatVector
    kernel: str
    gamma: float
    scales: FloatVector
    column: IntVector
    n_columns: int

    @cached_property
    def _members(self) -> FloatArray:
        return (self.column[:, None] == np.arange(self.n_columns)).astype(np.float64)

    def _terms(self, row: FloatVector) -> FloatArray:
        """Return the term of each column with each basis row, shape (b, n_columns)."""
        distance = np.abs((self.basis - row) * self.scales)
        if self.kernel == "laplacian":
            return self.gamma * distance @ self._members
        factor = self.gamma if self.kernel == "rbf" else self.gamma**2
        return factor * distance**2 @ self._members

    def _values(self, terms: FloatArray) -> FloatArray:
        """Return kernel values by the sums of terms, which rounding may have made negative."""
        exponent = np.maximum(terms, 0.0)
        return np.exp(-(np.sqrt(exponent) if self.kernel == "exponential" else exponent))

    def parts(self, a: FloatVector, b: FloatVector) -> FloatVector:
        """Return the Shapley value of each column in f(a) - f(b), where others are those of a or of b.

        They add up to the difference. Cost: O(b c^2) for c columns that differ.
        """
        first, second = self._terms(a), self._terms(b)
        found, differ = np.zeros(self.n_columns), np.flatnonzero((first != second).any(axis=0))
        if len(differ):
            shapley = self._by_quadrature if self.kernel in PRODUCTS else self._by_orders
            found[differ] = shapley(first, second, differ)
        return found

    def _by_quadrature(self, first: FloatArray, second: FloatArray, columns: IntVector) -> FloatVector:
        """Return the integral over t of the slope of the multilinear extension at (t, ..., t) (Owen 1972).

        With the factors u of a and v of b it is
        ``sum_z a_z (u_j - v_j) int prod_{i != j} (t u_i + (1 - t) v_i) dt``. The integrand is a
        polynomial, so that half as many nodes as columns are exact.
        """
        same = np.delete(first, columns, axis=1).sum(axis=1, keepdims=True)
        first, second = first[:, columns], second[:, columns]
        apart = np.exp(-first) - np.exp(-second)
        nodes, weights = np.polynomial.legendre.leggauss(min(-(-len(columns) // 2), MOST_NODES))
        found = np.zeros(len(columns))
        for t, weight in zip((1 + nodes) / 2, weights / 2, strict=True):
            mixed = np.logaddexp(np.log(t) - first, np.log1p(-t) - second)
            others = np.exp(mixed.sum(axis=1, keepdims=True) - mixed - same)
            found += weight * (self.dual_coef @ (apart * others))
        return found

    def _by_orders(self, first: FloatArray, second: FloatArray, columns: IntVector) -> FloatVector:
        """Replace the columns of b by those of a in random orders, and average the changes."""
        random, found = np.random.default_rng(0), np.zeros(len(columns))
        start, steps = second.sum(axis=1, keepdims=True), (first - second)[:, columns]
        at_start = self.dual_coef @ self._values(start)
        for _ in range(N_ORDERS):
            order = random.permutation(len(columns))
            for replaced in (order, order[::-1]):
                values = self.dual_coef @ self._values(start + np.cumsum(steps[:, replaced], axis=1))
                found[replaced] += np.diff(values, prepend=at_start)
        return found / (2 * N_ORDERS)

    def changes(self, a: FloatVector, b: FloatVector) -> FloatVector:
        """Return f(a) less f at a with one column of b, for each column. Cost: O(b n)."""
        first, second = self._terms(a), self._terms(b)
        total = first.sum(axis=1, keepdims=True)
        return self.dual_coef @ (self._values(total) - self._values(total + second - first))

    def mixed_differences(self, a: FloatVector, b: FloatVector, columns: IntVector) -> FloatArray:
        """Return f(a) - f(a, i of b) - f(a, j of b) + f(a, i and j of b) for each pair of columns.

        It is zero if the effects of the two columns add up. Only entries above the diagonal have a meaning.
        Cost: O(b k^2) for k columns.
        """
        first, second = self._terms(a), self._terms(b)
        total, steps = first.sum(axis=1, keepdims=True), (second - first)[:, columns]
        if self.kernel in PRODUCTS:
            changed = np.exp(-total / 2) * np.expm1(np.minimum(-steps, LARGEST_RATIO))
            return (changed * self.dual_coef[:, None]).T @ changed
        at_a, single = self.dual_coef @ self._values(total), self.dual_coef @ self._values(total + steps)
        found = np.zeros((len(columns), len(columns)))
        for i in range(len(columns) - 1):
            both = self.dual_coef @ self._values(total + steps[:, [i]] + steps[:, i + 1 :])
            found[i, i + 1 :] = at_a - single[i] - single[i + 1 :] + both
        return found
