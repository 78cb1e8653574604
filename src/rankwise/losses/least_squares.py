"""Pairwise least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_vector, check_choice
from rankwise.core.types import FloatArray
from rankwise.losses.base import LossBounds, ScoreHessian, Smooth
from rankwise.losses.laplacians import (
    Laplacian,
    LevelLaplacian,
    ListedLaplacian,
    PairLaplacian,
    WeightedLaplacian,
    check_pair_memory,
    query_totals,
)
from rankwise.losses.pair_sums import PartnerSums
from rankwise.losses.roots import Root
from rankwise.preferences.base import AVERAGES, Pairs, Preferences

TIES = ("keep", "drop")
FORMULAS = {
    "unit": "mean over pairs of (1 - f(better) + f(worse))²",
    "magnitude": "mean over pairs of (t - f(better) + f(worse))², t the difference of the labels",
    "relative": "mean over pairs of (1 - (f(better) - f(worse)) / t)², t the difference of the labels",
}
COSTS = tuple(FORMULAS)


class LeastSquares(Smooth):
    """Mean over pairs of w (t - (s_better - s_worse))^2, which is s'L s - 2 s'r + constant.

    The target difference t of a pair is 1 with `cost="unit"` and its magnitude (the difference of the labels)
    with `cost="magnitude"`: equations (20) and (21) of Pahikkala et al. (2009); the pairs of an order graph
    have magnitude 1. With `cost="relative"`, equation (22), the weight is also divided by t^2. L is the
    weighted Laplacian of the pairs and r sums the target differences: M M' and M N in the paper. A product
    with L costs O(m) for rankings and O(l) for l explicit pairs or with `cost="relative"`, which lists them
    all: the width of a pair depends on its magnitude, and no form with fewer terms than pairs exists.

    Parameters
    ----------
    preferences : Preferences, optional
        Without them the object has its parameters alone.
    cost : "unit", "magnitude" or "relative"
    ties : "keep" or "drop"
        With "keep" the tied rows of a ranking by scores count as pairs with target 0 under
        `cost="magnitude"`; other costs, and structures without such ties, are the same under both.
    labels : array of shape (n_rows, n_outputs), optional
        Several outputs that share the rows, queries and weights of `preferences`, if `keeps_ties`: L does
        not depend on the labels there.
    average, counting, n_threads :
        See `PairwiseLoss`.

    Attributes
    ----------
    pull : array of shape (n_rows,) or (n_rows, n_outputs)
        The vector r, for each output.
    constant : float or array of shape (n_outputs,)
        The mean of t^2 (of 1, with `cost="relative"`), which is the loss of zero scores.
    diagonal : array of shape (n_rows,)
        The diagonal of L.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> loss = LeastSquares(Preferences.from_scores([3.0, 1.0]), cost="magnitude")
    >>> loss.value_and_coefficients([1.0, 0.0])
    (1.0, array([-2.,  2.]))
    >>> loss.dense()
    array([[ 1., -1.],
           [-1.,  1.]])
    >>> loss.pull
    array([ 2., -2.])
    """

    formula = FORMULAS["magnitude"]

    def __init__(
        self,
        preferences: Preferences | None = None,
        *,
        cost: str = "magnitude",
        ties: str = "drop",
        labels: ArrayLike | None = None,
        **options: Any,
    ):
        check_choice(cost, "cost", COSTS)
        check_choice(ties, "ties", TIES)
        self.cost, self.ties, self.formula = cost, ties, FORMULAS[cost]
        if preferences is None:
            super().__init__(**options)
            return
        self.keeps_ties = keeps_ties(preferences, cost, ties)
        assert labels is None or self.keeps_ties, "outputs share a loss only if ties are kept"
        super().__init__(preferences, **options)
        self._laplacian = self._made_laplacian()
        self.diagonal = self._laplacian.diagonal
        self.pull, self.constant = self._targets(labels)

    @property
    def at_zero(self) -> Any:
        """The loss of zero scores, per output if there are several: the constant."""
        return self.constant

    @property
    def bounds(self) -> LossBounds:
        """How fast the loss can change: a square per pair."""
        return LossBounds(curvature=2.0, mass=self.mass, at_zero=self.constant)

    @property
    def options(self) -> dict[str, str]:
        """Options that make the same loss of other preferences."""
        return {"cost": self.cost, "ties": self.ties, "average": self.average}

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[Any, FloatArray]:
        """Return the loss, per output if there are several, and its derivative by each score."""
        s = self.centred(self._checked(scores, "scores"))
        product = self.product(s)
        value = np.sum(s * (product - 2.0 * self.pull), axis=0) + self.constant
        return float(value) if s.ndim == 1 else value, 2.0 * (product - self.pull)

    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return twice the Laplacian; it does not depend on the scores."""
        return ScoreHessian(2.0 * self.diagonal, lambda direction: 2.0 * self.product(direction))

    def pair_derivatives(
        self, difference: FloatArray, magnitude: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the slope and the curvature of each pair; 1 / t^2 is part of the weight under (22)."""
        target = 1.0 if self.cost == "unit" else magnitude
        return 2.0 * (difference - target), np.full_like(difference, 2.0)

    def slopes(self, scores: ArrayLike) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the slopes of pairs, by the Laplacian if pairs need no list.

        With residuals e of rows, C_ij = 2 w_ij (e_i - e_j), so that C u = 2 (L (e u) - e L u).
        """
        has_unit_targets = self.cost == "unit" or self.preferences.has_unit_magnitudes
        values = self.preferences.values
        if self.cost == "relative" or (values is None and not has_unit_targets):
            return super().slopes(scores)
        residuals = self._checked(scores, "scores")
        if not has_unit_targets:
            residuals = residuals - np.asarray(values)
        residuals = self.centred(residuals)

        def product(u: FloatArray) -> FloatArray:
            found = 2.0 * (self.product(residuals * u) - residuals * self.product(u))
            if has_unit_targets:
                sums = self._sums(None, u)
                found += 2.0 * self.factor * (sums.moment_up - sums.moment_down)
            return found

        return product

    def listed_pairs(self) -> Pairs:
        """Return all pairs, each with the factor of its square in the mean."""
        return self._pairs

    def pairs_within(self, group: NDArray[np.int64], **columns: Any) -> Pairs:
        """Return the pairs of rows of equal `group`, kept ties included."""
        if self.keeps_ties:  # ranks that all differ, with magnitudes by the values
            columns |= {"labels": np.arange(float(len(group))), "values": self.preferences.values}
        return super().pairs_within(group, **columns)

    def mass_with(self, u: FloatArray) -> FloatArray:
        """Return the weight of each row's pairs in the mean, the weight of a partner j times u_j."""
        return self.diagonal * u - self.product(u) if self.keeps_ties else super().mass_with(u)

    @property
    def row_mass(self) -> FloatArray:
        """The weight of each row's pairs in the mean; a kept tie of a row with itself counts twice."""
        return 2.0 * self.row_shares() if self.keeps_ties else super().row_mass

    def product(self, U: ArrayLike) -> FloatArray:
        """Return L U for a vector or for several columns."""
        return self._laplacian.product(self._checked(U, "direction"))

    def centred(self, U: FloatArray) -> FloatArray:
        """Subtract an offset that cancels in all pairs: products of large numbers would lose digits."""
        return self._laplacian.centred(U)

    def dense(self) -> FloatArray:
        """Return L as an array, in O(m^2) or as many steps as there are pairs."""
        return self._laplacian.dense()

    @cached_property
    def root(self) -> Root:
        """A factor R of L = R'R, with the targets z for which R'z = r; small problems only, unless sparse."""
        return self._laplacian.root(self.pull)

    @property
    def root_is_sparse(self) -> bool:
        """Whether a product with the root costs O(m), rather than O(m^2)."""
        return self._laplacian.root_is_sparse

    @property
    def mass(self) -> float:
        """The sum of the weights of all pairs in L."""
        return float(self.diagonal.sum()) / 2.0

    def block(self, rows: NDArray[np.int64]) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the block of L that belongs to one group of rows, which no pair leaves."""
        return self._laplacian.block(rows)

    def row_shares(self) -> FloatArray:
        """Return the fraction of the mean of each row's pairs; a pair counts at one row or half at both.

        They sum to 1; those of a group's rows sum to the group's fraction of the mean.
        """
        if not self.keeps_ties:
            return self.factor * self._partners.up
        ranking: Any = self.preferences
        weight = ranking.row_weight()
        return self.factor * weight * query_totals(ranking.groups(), weight) / 2

    def _checked(self, U: ArrayLike, name: str) -> FloatArray:
        columns = np.asarray(U)
        if columns.ndim == 2 and len(columns) == self.preferences.n_rows:
            return columns.astype(np.float64, copy=False)
        return as_vector(columns, name, self.preferences.n_rows)

    def _row_factor(self) -> Any:
        """Return the factor of the mean over the pairs that count, including kept ties."""
        if not self.keeps_ties:
            return super()._row_factor()
        check_choice(self.average, "average", AVERAGES)
        ranking: Any = self.preferences
        query, weight = ranking.groups(), ranking.row_weight()
        has_pairs = np.bincount(query, weight > 0) > 1
        factor = ranking.query_factor(self.average, has_pairs * np.bincount(query, weight) ** 2 / 2)
        return float(factor[0]) if len(factor) == 1 else factor[query]

    @cached_property
    def _partners(self) -> PartnerSums:
        return self._sums(None)

    @cached_property
    def _pairs(self) -> Pairs:
        """The pairs, as they weigh in the mean; those of equation (22) with 1 / t^2."""
        if self.cost != "relative":
            return self.preferences.mean_pairs(self.average)
        check_pair_memory(self.preferences.n_pairs)
        pairs = self.preferences.mean_pairs(self.average)
        check_magnitudes(pairs)
        return pairs._replace(weight=pairs.weight / pairs.magnitude**2)

    def _made_laplacian(self) -> Laplacian:
        if self.keeps_ties:
            return LevelLaplacian(self.preferences, self.factor)
        if self.cost == "relative":
            return ListedLaplacian(self.preferences, self._pairs)
        if self.preferences.counts_pairs:
            return LevelLaplacian(self.preferences, self.factor, self._partners)
        kind = WeightedLaplacian if self.preferences.is_complete else PairLaplacian
        return kind(self.preferences, self.factor, self._partners, self.n_threads)

    def _targets(self, labels: ArrayLike | None) -> tuple[FloatArray, Any]:
        """Return r_i = sum of w t over pairs won minus pairs lost, and the mean of t^2 over pairs."""
        values = self.preferences.values if labels is None else np.asarray(labels, dtype=np.float64)
        if self.cost == "unit" or (self.cost == "magnitude" and self.preferences.has_unit_magnitudes):
            return self.factor * (self._partners.down - self._partners.up), 1.0
        if self.cost == "magnitude" and values is not None:
            pull, square = self._laplacian.pull(values)
            return pull, np.maximum(square, 0.0)  # rounding may say otherwise of what is zero
        better, worse, magnitude, weight = self._pairs
        pull = weight * magnitude
        won, lost = (np.bincount(rows, pull, self.preferences.n_rows) for rows in (better, worse))
        return np.asarray(won - lost, np.float64), float(np.sum(pull * magnitude))


@singledispatch
def squares_of(preferences: Preferences, **options: Any) -> Any:
    """Return least squares over the pairs of a structure; one that is not in memory registers its own.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> squares_of(Preferences.from_scores([3.0, 1.0]), cost="unit").constant
    1.0
    """
    return LeastSquares(preferences, **options)


def keeps_ties(preferences: Preferences, cost: str, ties: str) -> bool:
    """Return whether tied rows count as pairs; then L does not depend on the labels and outputs share it."""
    return cost == "magnitude" and ties == "keep" and preferences.is_complete


def share_laplacian(outputs: Sequence[Preferences], cost: str, ties: str) -> bool:
    """Return whether all outputs keep their ties and have the same queries and weights, and so the same L."""
    if not all(keeps_ties(output, cost, ties) for output in outputs):
        return False

    def weights(output: Any) -> tuple[FloatArray, ...]:
        return output.groups(), output.row_weight(), output.query_importance()

    first = weights(outputs[0])
    return all(all(map(np.array_equal, first, weights(output))) for output in outputs[1:])


def check_magnitudes(pairs: Pairs) -> None:
    """Refuse magnitudes that equation (22) cannot divide by."""
    better, worse, magnitude, _ = pairs
    with np.errstate(divide="ignore", over="ignore"):
        bad = np.flatnonzero(~np.isfinite(1.0 / magnitude**2))
    if len(bad):
        k = bad[0]
        raise ValueError(
            f"cost='relative' divides by the square of a pair's magnitude, but that of rows {better[k]} and "
            f"{worse[k]} is {magnitude[k]:g}; use cost='unit' or cost='magnitude'."
        )
