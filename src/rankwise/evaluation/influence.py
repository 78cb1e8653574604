"""The influence of independent units on the weights of a linear ranker.

The loss is a mean over pairs, so one row takes part in many pairs and pairs are not independent. The sum over
the pairs of a unit (a row, a query, a pair or a cluster of them) is the Hajek projection of the gradient, a
U-statistic. No pair is listed: the sums follow from products with the slopes and the Hessian of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_codes
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, FloatVector
from rankwise.core.warn import warn_caller
from rankwise.losses import Hinge
from rankwise.losses.base import PairwiseLoss, ScoreHessian
from rankwise.preferences import NoPairsError, Preferences
from rankwise.preferences.base import Pairs

# Limits of exact Newton steps without a unit: entries of products, of Hessians, and operations of solutions.
MOST_ENTRIES, MOST_HESSIANS, MOST_OPERATIONS = 5e7, 2e7, 4e9
# Pairs within clusters are listed up to this number, if a pair costs less than this many entries of products.
MOST_LISTED, ENTRIES_PER_PAIR = 1e7, 20
# If less of the weight of all pairs, or of the curvature along some direction, is left without a unit, the
# rest is rounding.
LEAST_LEFT = 1e-8
# In simulations intervals of weights keep their level from this number of units on; below the second number
# they are several times as long as with many units, and there is a warning.
LEAST_UNITS, FEW_UNITS = 4, 8
TOO_HEAVY = f"less than {LEAST_LEFT:g} of the weight of all pairs remains"
UNDETERMINED = "the others do not determine all weights"


# Differences this near to the margin are on the kink of the hinge.
KINK = 1e-6


@dataclass(frozen=True)
class Units:
    """The independent units.

    Attributes
    ----------
    kind : "row", "query", "pair" or "cluster"
    codes : array of int
        The number of the unit of each row or, if pairs are listed, of each pair.
    labels : array of shape (n_units,)
        The name of each unit: the number of the row or of the pair, the query, or the cluster.
    """

    kind: str
    codes: NDArray[np.int64]
    labels: NDArray[Any]

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum the rows of an array by their units."""
        n_units = len(self.labels)
        if n_units == len(self.codes) and self.kind in ("row", "pair"):
            return values
        total = np.zeros((n_units, *values.shape[1:]))
        np.add.at(total, self.codes, values)
        return total


def units_of(preferences: Preferences, cluster: ArrayLike | None = None, qid: Any = None) -> Units:
    """Return the independent units: the given clusters, otherwise queries, pairs if listed, or rows.

    The rows of a stratum of survival times are independent, unlike those of a query.
    """
    listed = preferences.lists_pairs
    n, noun = (preferences.n_pairs, "pair") if listed else (preferences.n_rows, "row")
    if cluster is not None:
        return Units("cluster", *_coded(cluster, "cluster", n, noun))
    given = getattr(preferences, "row_groups", None)
    if listed and given is not None:
        labels, codes = np.unique(given[preferences.pairs().better], return_inverse=True)
        return Units("cluster", codes, labels)
    if not listed and preferences.has_queries and preferences.event is None:
        return Units("query", *_coded(preferences.groups() if qid is None else qid, "qid", n, noun))
    return Units(noun, np.arange(n), np.arange(n))


def _coded(values: ArrayLike, name: str, length: int, noun: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    try:
        labels, codes = as_codes(values, name, length)
    except ValueError as error:
        raise ValueError(f"{name} must have one entry per {noun}, {length} in all: {error}") from None
    return codes, np.asarray(labels)


@dataclass(frozen=True)
class Influence:
    """The gradient and the Hessian of a mean loss over pairs at its penalized minimum, and their parts.

    With the gradient g_a, the Hessian H_a and the weight m_a of the pairs that have a row of unit a, and g
    and H those of all pairs, the loss without the unit is (L - L_a) / (1 - m_a).

    Attributes
    ----------
    units : Units
        Those with pairs.
    gradients : array of shape (n_units, n_features)
        g_a - m_a g; they sum to zero if no pair joins two units.
    mass : array of shape (n_units,)
    left : array of shape (n_units,)
        The weight of the pairs without each unit: 1 - m_a, less kept ties of rows with themselves.
    hessian : array of shape (n_features, n_features)
        H, without the penalty.
    penalty : array of shape (n_features,)
        The diagonal of the Hessian of the penalty.
    parts : array of shape (n_units, n_features, n_features), or None
        H_a, if they are not too large.
    pairs : tuple of arrays, or None
        If units are pairs, the differences z_a of their features, and c_a with H_a = c_a z_a z_a'.
    """

    units: Units
    gradients: FloatArray
    mass: FloatVector
    left: FloatVector
    hessian: FloatArray
    penalty: FloatVector
    parts: FloatArray | None = None
    pairs: tuple[FloatArray, FloatVector] | None = None

    def changes(self) -> FloatArray:
        """Return the change of the weights if each unit leaves: shape (n_units, n_features).

        It is a Newton step from the weights of all units, with the Hessian of the others if it is known:
        (H - H_a + (1 - m_a) P)^-1 (g_a - m_a g) for the Hessian P of the penalty.

        Raises `NoPairsError` if a unit is in all pairs, or alone determines some weights.
        """
        require_left(self.left, self.units.kind, self.units.labels)
        if self.parts is not None:
            left = self.without_units()
            return np.asarray(np.linalg.solve(left, self.gradients[:, :, None])[:, :, 0], np.float64)
        curvature = self.hessian + np.diag(self.penalty)
        steps = np.asarray(np.linalg.solve(curvature, self.gradients.T).T, np.float64)
        if self.pairs is None:
            return steps / (1.0 - self.mass)[:, None]
        z, c = self.pairs  # by the Sherman-Morrison formula
        turned = np.linalg.solve(curvature, z.T).T
        rest = 1.0 - c * np.sum(z * turned, axis=1)
        require_left(rest, self.units.kind, self.units.labels, UNDETERMINED)
        return steps + turned * (c * np.sum(z * steps, axis=1) / rest)[:, None]

    def without_units(self) -> FloatArray:
        """Return the Hessian of the objective without each unit, if `parts` are known."""
        assert self.parts is not None
        penalty = np.diag(self.penalty)
        left = self.hessian - self.parts + (1.0 - self.mass)[:, None, None] * penalty
        values, vectors = np.linalg.eigh(self.hessian + penalty)
        turn = vectors / np.sqrt(np.maximum(values, 1e-300))
        turned = turn.T @ left @ turn
        try:
            np.linalg.cholesky(turned - LEAST_LEFT * np.eye(len(penalty)))
        except np.linalg.LinAlgError:
            least = np.linalg.eigvalsh(turned)[:, 0]
            require_left(least, self.units.kind, self.units.labels, UNDETERMINED)
        return left


def require_left(left: FloatVector, kind: str, labels: NDArray[Any], problem: str = TOO_HEAVY) -> None:
    """Refuse to leave out units without which nothing is left but rounding errors."""
    if left.min() > LEAST_LEFT:
        return
    raise NoPairsError(
        f"Without {kind} {labels[np.argmin(left)]}, {problem}. Standard errors, and the error without each "
        f"{kind}, compare models without one {kind}; use data with another {kind} of this sort, or less "
        "unequal weights."
    )


def influence_of(
    loss: PairwiseLoss, X: FloatArray, coef: FloatVector, penalty: FloatVector, units: Units
) -> Influence:
    """Return the influence of units on weights that minimize the loss of X w plus a penalty.

    Cost: n products with the slopes and n with the Hessian for n features, and n^2 / 2 more for the Hessians
    of rows if these are few.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Centered, and of similar scale: moments of large numbers would lose digits.
    """
    by = _by_pair if loss.preferences.lists_pairs else _by_row
    if not loss.is_of_pairs:
        return _by_list(loss, X, X @ coef, penalty, units)
    found, density = by(loss, X, X @ coef, penalty, units)
    return at_margin(found, coef, density) if isinstance(loss, Hinge) else found


def at_margin(found: Influence, coef: FloatVector, density: float) -> Influence:
    """Correct the Hessian of the hinge along the weights.

    Pairs in the window have score differences d around 1, and their mean square exceeds the 1 of pairs at the
    margin. Each z becomes z - a d u for u = H w / w'H w, the regression of z on d, such that w'H w is the
    density of pairs at the margin.
    """
    turned = found.hessian @ coef
    square = float(coef @ turned)
    if not square > density > 0:
        return found
    S = np.eye(len(coef)) - (1.0 - np.sqrt(density / square)) * np.outer(turned / square, coef)
    parts = None if found.parts is None else S @ found.parts @ S.T
    pairs = None if found.pairs is None else (found.pairs[0] @ S.T, found.pairs[1])
    return replace(found, hessian=S @ found.hessian @ S.T, parts=parts, pairs=pairs)


def _by_pair(
    loss: PairwiseLoss, X: FloatArray, scores: FloatVector, penalty: FloatVector, units: Units
) -> tuple[Influence, float]:
    """Return the influence of listed pairs, or of clusters of them, and the sum of curvatures."""
    pairs = loss.listed_pairs()
    better, worse, _, weight = pairs
    z = X[better] - X[worse]
    slope, curvature = pair_derivatives(loss, scores, pairs)
    c = weight * curvature
    hessian = z.T @ (c[:, None] * z)
    gradients = units.sums((weight * slope)[:, None] * z)
    mass = units.sums(loss.preferences.mean_pairs(loss.average).weight[:, None])[:, 0]
    centred = gradients - np.outer(mass, gradients.sum(axis=0))
    n_units, n = centred.shape
    if units.kind == "pair":
        return Influence(units, centred, mass, 1.0 - mass, hessian, penalty, pairs=(z, c)), float(c.sum())
    parts = None
    if max(n_units, len(z)) * n**2 <= MOST_HESSIANS and n_units * n**3 <= MOST_OPERATIONS:
        parts = units.sums(c[:, None, None] * z[:, :, None] * z[:, None, :])
    return Influence(units, centred, mass, 1.0 - mass, hessian, penalty, parts), float(c.sum())


def _by_list(loss: Any, X: FloatArray, scores: FloatVector, penalty: FloatVector, units: Units) -> Influence:
    """Return the influence of rows, lists or clusters of rows on a loss of whole lists."""
    curvature = loss.hessian(scores)
    hessian = X.T @ np.column_stack([curvature.product(column) for column in X.T])
    gradients, mass = loss.unit_gradients(scores, X, units.sums)
    centred = gradients - np.outer(mass, gradients.sum(axis=0))
    return Influence(units, centred, mass, 1.0 - mass, (hessian + hessian.T) / 2, penalty)


def _by_row(
    loss: PairwiseLoss, X: FloatArray, scores: FloatVector, penalty: FloatVector, units: Units
) -> tuple[Influence, float]:
    """Return the influence of rows, queries or clusters of rows, and the sum of the curvatures of pairs."""
    sums = _ByRow(loss, X, scores, penalty, units)
    return sums.influence(), float(sums.curvature.diagonal.sum()) / 2


class _Within(NamedTuple):
    """The gradient, the weight and the Hessian of the pairs with both rows in a unit."""

    gradients: FloatArray
    mass: FloatVector
    hessians: FloatArray


class _ByRow:
    """The sums over the pairs of rows, and of units that consist of rows."""

    def __init__(
        self, loss: PairwiseLoss, X: FloatArray, scores: FloatVector, penalty: FloatVector, units: Units
    ):
        self.loss, self.X, self.scores, self.penalty, self.units = loss, X, scores, penalty, units
        self.slopes, self.curvature = slopes_at(loss, scores), hessian_at(loss, scores)
        self.row_mass = loss.row_mass
        groups = loss.preferences.groups()
        self.groups = groups
        owner = np.full(groups.max() + 1, -1)
        owner[groups] = units.codes
        # Whether no pair joins two units.
        self.is_closed = bool((owner[groups] == units.codes).all())
        self.curved = np.column_stack([self.curvature.product(column) for column in X.T])  # Hessian times X

    def influence(self) -> Influence:
        """Return the influence of the units that have pairs."""
        units, X = self.units, self.X
        by_row = self._gradient_of_rows(np.ones(len(X)))
        hessian = X.T @ self.curved
        mass_of_rows = units.sums(self.row_mass[:, None])[:, 0] / 2
        own = (self.row_mass - self.loss.mass_with(np.ones(len(X)))) / 2  # kept ties of rows with themselves
        own_of_units = units.sums(own[:, None])[:, 0]
        if self.is_closed:
            gradients, mass = units.sums(by_row) / 2, mass_of_rows
        else:
            gradients, mass = units.sums(by_row), 2.0 * mass_of_rows - own_of_units
        parts = self._parts()
        if not self.is_closed and units.kind == "cluster":  # pairs with both rows in a cluster count once
            within = self._within()
            gradients, mass = gradients - within.gradients, mass - within.mass
            parts = None if parts is None else parts - within.hessians
        if units.kind == "row":
            gradients = gradients - self._expected_gradients(by_row)
        else:
            gradients = gradients - np.outer(mass, by_row.sum(axis=0) / 2)
        known = mass_of_rows > 0
        kept = Units(units.kind, units.codes, units.labels[known])
        parts = None if parts is None else parts[known]
        left = 1.0 - mass - (own.sum() - own_of_units)
        return Influence(
            kept, gradients[known], mass[known], left[known], (hessian + hessian.T) / 2, self.penalty, parts
        )

    def _gradient_of_rows(self, partners: FloatVector) -> FloatArray:
        """Return the sum over partners j of C_ij (x_i - x_j) for each row i; `partners` weighs them."""
        moments = np.column_stack([self.slopes(partners * column) for column in self.X.T])
        return self.slopes(partners)[:, None] * self.X - moments

    def _expected_gradients(self, by_row: FloatArray) -> FloatArray:
        """Return the gradient that the weight of each row lets expect from its ranking or stratum."""
        of_group = np.zeros((self.groups.max() + 1, by_row.shape[1]))
        np.add.at(of_group, self.groups, by_row / 2)
        mass = np.bincount(self.groups, self.row_mass / 2)
        share = self.row_mass / np.where(mass > 0, mass, 1.0)[self.groups]
        return share[:, None] * of_group[self.groups]

    def _affords(self, n_products: float) -> bool:
        return n_products * len(self.X) <= MOST_ENTRIES

    def _parts(self) -> FloatArray | None:
        """Return the Hessian of the pairs of each unit, or None if that is too much."""
        n_units, n = len(self.units.labels), self.X.shape[1]
        if n_units * n**3 > MOST_OPERATIONS or n_units * n**2 > MOST_HESSIANS:
            return None
        X, curved = self.X, self.curved
        if self.is_closed:
            return self._outer_sums(X, curved)
        if not self._affords(n * (n + 1) / 2):
            return None
        # Of row i: the sum over its partners j of h_ij (x_i - x_j)(x_i - x_j)'.
        diagonal = self.curvature.diagonal[:, None]
        moments = diagonal * X - curved
        cross = self._outer_sums(X, moments)
        parts = self._outer_sums(diagonal * X, X) - cross - cross.transpose(0, 2, 1)
        for k in range(n):
            for other in range(k + 1):
                square = X[:, k] * X[:, other]
                moment = self.curvature.diagonal * square - self.curvature.product(square)
                moment = self.units.sums(moment[:, None])[:, 0]
                parts[:, k, other] += moment
                if other != k:
                    parts[:, other, k] += moment
        return parts

    def _outer_sums(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the sum over the rows of each unit of left_i right_i'."""
        n = left.shape[1]
        found = np.empty((len(self.units.labels), n, n))
        for k in range(n):
            found[:, k, :] = self.units.sums(left[:, k, None] * right)
        return found

    def _within(self) -> _Within:
        """Return the sums over the pairs with both rows in a cluster, by the cheaper way."""
        n_units, n = len(self.units.labels), self.X.shape[1]
        group = np.unique(np.column_stack([self.groups, self.units.codes]), axis=0, return_inverse=True)[1]
        n_pairs = float(np.sum(np.bincount(group) ** 2.0)) / 2
        n_entries = float(n_units * (n + 1) * len(self.X))
        is_relative = getattr(self.loss, "cost", "") == "relative"  # its products list all pairs anyway
        if n_pairs <= MOST_LISTED and n_pairs * ENTRIES_PER_PAIR <= n_entries and not is_relative:
            return self._listed_within(group)
        return self._multiplied_within()

    def _listed_within(self, group: NDArray[np.int64]) -> _Within:
        """List the pairs within clusters; `group` has the number of each row's cluster within its query."""
        pairs = self.loss.pairs_within(group)
        better, worse, _, weight = pairs
        slope, curvature = pair_derivatives(self.loss, self.scores, pairs)
        n_units, n = len(self.units.labels), self.X.shape[1]
        found = _Within(np.zeros((n_units, n)), np.zeros(n_units), np.zeros((n_units, n, n)))
        codes = self.units.codes[better]
        order = np.argsort(codes, kind="stable")
        for one in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []:
            unit, z = codes[one[0]], self.X[better[one]] - self.X[worse[one]]
            found.gradients[unit] = (weight[one] * slope[one]) @ z
            found.mass[unit] = weight[one].sum()
            found.hessians[unit] = z.T @ ((weight[one] * curvature[one])[:, None] * z)
        return found

    def _multiplied_within(self) -> _Within:
        """Take n + 1 products per cluster for n features."""
        n_units, n = len(self.units.labels), self.X.shape[1]
        found = _Within(np.zeros((n_units, n)), np.zeros(n_units), np.zeros((n_units, n, n)))
        for unit in range(n_units):
            inside = (self.units.codes == unit).astype(np.float64)
            rows = inside > 0
            found.gradients[unit] = self._gradient_of_rows(inside)[rows].sum(axis=0) / 2
            found.mass[unit] = inside @ self.loss.mass_with(inside) / 2
            X = self.X[rows]
            around = self._adjacent(inside)[rows]
            moments = np.column_stack([self._adjacent(inside * column)[rows] for column in self.X.T])
            found.hessians[unit] = X.T @ (around[:, None] * X - moments)
        return found

    def _adjacent(self, u: FloatVector) -> FloatVector:
        """Return the sum over partners j of h_ij u_j for each row i."""
        return self.curvature.diagonal * u - self.curvature.product(u)


def pair_derivatives(
    loss: PairwiseLoss, scores: FloatVector, pairs: Pairs
) -> tuple[FloatVector, FloatVector]:
    """Return the slope and the curvature of listed pairs; that of the hinge is the density at the margin."""
    difference = scores[pairs.better] - scores[pairs.worse]
    slope, curvature = loss.pair_derivatives(difference, pairs.magnitude)
    if isinstance(loss, Hinge):
        slope = -np.mean([1.0 + side * KINK > difference for side in (-1, 1)], axis=0)
        width = window_width(loss, scores)
        curvature = (np.abs(1.0 - difference) < width) / (2.0 * width)
    return slope, curvature


def slopes_at(loss: PairwiseLoss, scores: FloatVector) -> Callable[[FloatVector], FloatVector]:
    """Return the product with the slopes of pairs; that of a pair on the kink of the hinge is -1/2.

    The optimum of few pairs has some of them on the kink, where rounding would decide between 0 and -1.
    """
    if not isinstance(loss, Hinge):
        return loss.slopes(scores)
    below, above = (loss.slopes(scores / (1.0 + side * KINK)) for side in (-1, 1))
    return lambda values: (below(values) + above(values)) / 2.0


def hessian_at(loss: Any, scores: FloatVector) -> ScoreHessian:
    """Return the Hessian by the scores; that of the hinge is the density of pairs at the margin."""
    if isinstance(loss, Hinge):
        return loss.smoothed_hessian(scores, window_width(loss, scores))
    return loss.hessian(scores)


def window_width(loss: Hinge, scores: FloatVector) -> float:
    """Return half the width of the window for the density at the margin: sqrt(3) sd(d) N^(-1/5) for N pairs.

    A box of this width has the variance of a Gaussian window of width sd(d) N^(-1/5).
    """
    n_pairs = loss.preferences.n_pairs
    return max(float(np.sqrt(3.0) * loss.difference_deviation(scores) * n_pairs**-0.2), 1e-9)


def with_scales(
    found: Influence, units: Units, preferences: Preferences, X: FloatArray, coef: FloatVector
) -> Influence:
    """Let each unit that leaves also change the deviations by which the columns were divided.

    Without unit a, column j has v_aj times its variance, and the penalty of the weight of the unscaled column
    is v_aj times as large: the gradient of the objective without the unit gains (1 - m_a) (v_a - 1) P w.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Columns of mean 0 and variance 1.
    """
    values = np.stack([np.ones_like(X), X, X**2], axis=1)
    if preferences.lists_pairs:  # a row leaves with its pairs, in equal parts
        better, worse, *_ = preferences.pairs()
        n_pairs = np.bincount(np.concatenate([better, worse]), minlength=len(X))
        values = values / np.maximum(n_pairs, 1)[:, None, None]
        values = values[better] + values[worse]
    place = {label: k for k, label in enumerate(units.labels.tolist())}
    known = [place[label] for label in found.units.labels.tolist()]
    count, total, squares = np.moveaxis(units.sums(values)[known], 1, 0)
    rest = len(X) - count
    variance = (len(X) - squares) / rest - (total / rest) ** 2
    added = (1.0 - found.mass)[:, None] * (variance - 1.0) * found.penalty
    parts = None if found.parts is None else found.parts - added[:, :, None] * np.eye(len(coef))
    return replace(found, gradients=found.gradients - added * coef, parts=parts)


def require_units(units: Units, n_features: int) -> None:
    """Refuse fewer independent units than a covariance needs, and warn of few."""
    found, needed = len(units.labels), max(n_features + 1, LEAST_UNITS)
    if found < needed:
        raise ValueError(
            f"Standard errors of {plural(n_features, 'weight')} need at least "
            f"{plural(needed, 'independent ' + units.kind)} with pairs; got {found}. Use fewer features, or "
            "more data."
        )
    if found < FEW_UNITS:
        warn_caller(
            f"Standard errors from {plural(found, 'independent ' + units.kind)} are themselves uncertain: "
            "intervals are wide, and tests find large effects only."
        )
