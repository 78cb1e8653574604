"""Factors R of the Laplacian L = R'R, through which closed forms stay symmetric."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_array

from rankwise.core.types import FloatArray


class Root(Protocol):
    """A factor R of L = R'R; the loss is ||z - R s||^2 + constant - ||z||^2.

    `target` is z, a vector or one column for each output, for which R'z = r.
    """

    target: FloatArray

    def apply(self, U: FloatArray) -> FloatArray:
        """Return R U."""

    def adjoint(self, Z: FloatArray) -> FloatArray:
        """Return R' Z."""

    def congruence(self, K: FloatArray) -> FloatArray:
        """Return R K R' for symmetric K, which may be overwritten."""


class LevelRoot:
    """R u = w^(1/2) (A (u - level mean) + B (level mean - query mean)), in O(m).

    Means are weighted by w; A may differ by (query, label) and B by query. The rows of a query, and of each
    level in it, deviate from their means in directions that are orthogonal after scaling by w^(1/2), so that
    u'L u is the sum of w A^2 (u - level mean)^2 + w B^2 (level mean - query mean)^2. With all pairs of a
    query A = B is the square root of its weight W, and levels are not needed; without the tied pairs
    A^2 = W - W_level. The squares are given as `within`, A^2, and `between`, B^2.
    """

    target: FloatArray

    def __init__(
        self,
        weight: FloatArray,
        query: NDArray[np.int64],
        level: NDArray[np.int64] | None,
        within: FloatArray | None,
        between: FloatArray,
    ):
        self.n_rows = len(weight)
        self._root_weight = np.sqrt(weight)
        self._query = _Averages(query, weight)
        several = level is not None and np.bincount(level[weight > 0]).max(initial=0) > 1
        self._level = _Averages(level, weight) if level is not None and several else None
        square = None if self._level is None or within is None else weight * within
        self._within = None if square is None else np.sqrt(square)
        self._between = np.sqrt(weight * between)
        self._squares = weight * between, square
        self._given = weight, level, within, np.broadcast_to(between, self.n_rows)
        # A factor common to all rows is applied at the end, to fewer numbers.
        alike = self._within is None and self._between.min() == self._between.max()
        self.common = float(self._between[0]) if alike else 1.0
        self._alike = alike

    def centred(self, U: FloatArray) -> FloatArray:
        """Take the weighted mean of each query off."""
        return U - self._query.spread(self._query.means(U))

    def means(self, U: Any, part: slice = slice(None)) -> tuple[FloatArray, FloatArray | None]:
        """Return the means of each query and of each level, for `rows`; U may be sparse.

        For some of the rows, it is their contribution to the means.
        """
        return self._query.means(U, part), None if self._level is None else self._level.means(U, part)

    def rows(
        self,
        U: FloatArray,
        means: tuple[FloatArray, FloatArray | None],
        part: slice = slice(None),
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return part of the rows of R U / `common`, in `out`, from these rows of U and all means."""
        of_query = self._query.spread(means[0], part)
        if self._alike:
            return np.subtract(U, of_query, out=out)
        if self._level is None or means[1] is None or self._within is None:
            return deviations(U, of_query, self._between[part], out=out)
        of_level = self._level.spread(means[1], part)
        return deviations(U, of_query, self._between[part], of_level, self._within[part], out)

    def parts(self) -> tuple[FloatArray, list[NDArray[np.int64]], list[FloatArray]]:
        """Return the weights, the groups (queries, then levels if they matter) and the scales B (and A)."""
        groups, scales = [self._query.group], [self._between]
        if self._level is not None and self._within is not None:
            groups, scales = [*groups, self._level.group], [*scales, self._within]
        return self._root_weight**2, groups, scales

    def apply(self, U: FloatArray) -> FloatArray:
        """Return R U."""
        result = self.rows(U, self.means(U))
        result *= self.common
        return result

    def of_query(self, rows: NDArray[np.int64]) -> LevelRoot:
        """Return the factor of the rows of one query."""
        weight, level, within, between = self._given
        query = np.zeros(len(rows), dtype=np.int64)
        if level is None or within is None:
            return LevelRoot(weight[rows], query, None, None, between[rows])
        codes = np.unique(level[rows], return_inverse=True)[1]
        return LevelRoot(weight[rows], query, codes, within[rows], between[rows])

    def square(self, U: FloatArray) -> FloatArray:
        """Return L U = R'R U, which has the squares of the scales of R U."""
        of_query, of_level = self._query.spread(self._query.means(U)), None
        if self._level is not None:
            of_level = self._level.spread(self._level.means(U))
        return deviations(U, of_query, self._squares[0], of_level, self._squares[1])

    def aim(self, pull: FloatArray) -> None:
        """Set the target z with R'z = `pull`, which is w times one number for each level."""
        scale = _column(self._between, pull)
        self.target = np.divide(pull, scale, where=scale > 0, out=np.zeros_like(pull))

    def adjoint(self, Z: FloatArray) -> FloatArray:
        """Return R' Z: with u = w^(-1/2) z it is w^(1/2) R u."""
        inverse = np.divide(1.0, self._root_weight, where=self._root_weight > 0, out=np.zeros(self.n_rows))
        return _column(self._root_weight, Z) * self.apply(_column(inverse, Z) * Z)

    def congruence(self, K: FloatArray) -> FloatArray:
        """Return R K R' for symmetric K."""
        return self.apply(self.apply(K).T)

    @property
    def sees_all_rows(self) -> bool:
        """Whether R u = 0 only where u is the same for all rows of a query."""
        return bool(self._between.min() > 0 and (self._within is None or self._within.min() > 0))

    def lifted(self, Z: FloatArray) -> FloatArray:
        """Return u less the mean of its query from Z = R u, where R sees all rows."""
        if self._level is None or self._within is None:
            return Z / _column(self._between, Z)
        scaled = Z / _column(self._root_weight, Z)
        of_level = self._level.spread(self._level.means(scaled))
        within, between = (_column(self._root_weight / scale, Z) for scale in (self._within, self._between))
        return within * (scaled - of_level) + between * of_level


class _Averages:
    """Weighted means of groups of rows."""

    def __init__(self, group: NDArray[np.int64], weight: FloatArray):
        self.group = group
        n_rows, n_groups = len(group), int(group.max(initial=0)) + 1
        total = np.bincount(group, weight, minlength=n_groups)
        total = np.where(total > 0, total, 1.0)
        self._one = weight / total if n_groups == 1 else None
        if n_groups > 1:
            entries = (weight / total[group], (group, np.arange(n_rows)))
            self._matrix = csr_array(entries, shape=(n_groups, n_rows))

    def means(self, U: Any, part: slice = slice(None)) -> FloatArray:
        if self._one is not None:
            return np.asarray(self._one[part] @ U)[None]
        product = (self._matrix if part == slice(None) else self._matrix[:, part]) @ U
        return product.toarray() if sp.issparse(product) else product

    def spread(self, means: FloatArray, part: slice = slice(None)) -> FloatArray:
        return means if self._one is not None else means[self.group[part]]


def deviations(
    U: FloatArray,
    of_query: FloatArray,
    between: FloatArray,
    of_level: FloatArray | None = None,
    within: FloatArray | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return B (u - query mean) or, with levels, A (u - level mean) + B (level mean - query mean).

    The means are those of each row of U; `out` may be given to hold the result.
    """
    if of_level is None or within is None:
        result = np.subtract(U, of_query, out=out)
        result *= _column(between, U)
        return result
    result = np.subtract(U, of_level, out=out)
    result *= _column(within, U)
    result += (of_level - of_query) * _column(between, U)
    return result


class PivotedRoot:
    """The pivoted Cholesky factor of a dense L of any rank: O(m^3) once."""

    target: FloatArray

    def __init__(self, L: FloatArray, pull: FloatArray):
        factor, pivot, rank, _ = dpstrf(L, lower=0)
        self._pivot = pivot - 1
        upper = np.triu(factor)[:rank]
        # R'z = r holds in the first `rank` pivots; the other rows of L depend on them.
        self.target = solve_triangular(upper[:, :rank], pull[self._pivot[:rank]], trans=1)
        self._factor = np.empty_like(upper)
        self._factor[:, self._pivot] = upper

    def apply(self, U: FloatArray) -> FloatArray:
        """Return R U."""
        return self._factor @ U

    def adjoint(self, Z: FloatArray) -> FloatArray:
        """Return R' Z."""
        return self._factor.T @ Z

    def congruence(self, K: FloatArray) -> FloatArray:
        """Return R K R' for symmetric K."""
        return self._factor @ K @ self._factor.T


def _column(rows: FloatArray, U: FloatArray) -> FloatArray:
    return rows if U.ndim == 1 else rows[:, None]
