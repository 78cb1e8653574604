"""Scores without the bias of small samples, and intervals of items with few wins or losses."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.csgraph import breadth_first_order

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.comparisons import Outcomes
from rankwise.leaderboard.newton import CERTAIN, fitted
from rankwise.leaderboard.pair_model import PairModel

# Pseudo-votes are computed again until no parameter moves by more than this.
MOVE, MAX_ROUNDS = 1e-6, 50
# Items with fewer wins or losses have profile intervals.
FEW = 5.0
# An end of a profile interval is found to this error of the root of the deviance.
ROOT_TOL, MAX_ENDS, MAX_CHORDS = 3e-3, 40, 30
# With more items of few votes than the first, systems of at most the second number of parameters are
# solved by an inverse.
MANY_PROFILES, DENSE_PROFILES = 100, 1500
# Chords stop at this change of a parameter; systems by conjugate gradients have this relative residual.
CHORD, CHORD_TOL = 1e-3, 1e-2
# Ends that chords do not find are sought up to this many standard errors, by at most this many Newton steps
# at a value, until a step promises less than this decrease of the deviance.
MOST_REACH, MAX_NEWTON, NEWTON_TOL, SHORTEST = 1e5, 50, 1e-6, 2.0**-30


class FirthFit:
    """The maximum of the likelihood times the root of the determinant of the information (Firth 1993).

    Unlike the maximum of the likelihood it is finite for every connected board, also if an item won all its
    votes, and its bias is of second order. It is the maximum for votes with pseudo-votes: see
    `Link.pseudo_votes`. For the logistic link they are half of the leverage of an entry, once as a win and
    once as a loss.

    Parameters
    ----------
    model : PairModel
    start : array of shape (n_parameters,)
    votes : float
        The number of votes of which the loss is the mean.
    dense : bool
        Invert the information. Otherwise the variance of a difference of two scores is the sum of the
        inverses of its diagonal, in proportion; it is close if each item met several others.
    """

    def __init__(self, model: PairModel, start: FloatVector, votes: float, *, dense: bool) -> None:
        self.plain, self.votes, self.dense = model, votes, dense
        self.parameters = start
        for _ in range(MAX_ROUNDS):
            before = self.parameters
            wins, losses, ties = self._pseudo_votes(before)
            counted = model.comparisons
            self.model = model.recounted(
                Outcomes(counted.wins + wins, counted.losses + losses, counted.ties + ties)
            )
            self.parameters = fitted(self.model, 0.0, before).coef
            if np.abs(self.parameters - before).max() <= MOVE:
                break

    def _pseudo_votes(self, parameters: FloatVector) -> FloatArray:
        """Return the weights of pseudo-wins, pseudo-losses and pseudo-ties of each entry."""
        model = self.plain
        d, shape = model.differences(parameters), model.shape(parameters)
        more = model.link.pseudo_votes(d, shape, *self._entry_variances(parameters, d))
        return model.comparisons.total * more

    def _entry_variances(
        self, parameters: FloatVector, d: FloatVector
    ) -> tuple[FloatVector, FloatVector, float]:
        """Return the variance of each d, its covariance with the shape, and the variance of the shape."""
        model, first, second = self.plain, self.plain.comparisons.first, self.plain.comparisons.second
        hessian = model.at(parameters).hessian(np.zeros(model.n_parameters))
        n, columns = model.n_items, model.effect_columns
        if not self.dense:
            parts = 1.0 / (hessian.diagonal[:n] * self.votes)
            own = parts[first] + parts[second]
            information = model.link.terms(d, model.shape(parameters), model.outcomes).by_dd
            return own * ((n - 1) / float(self.votes * information @ own)), np.zeros(len(own)), 0.0
        inverse = hessian.inverse() / self.votes
        border = inverse[:, n : n + len(columns)]
        own = np.diag(inverse)[first] + np.diag(inverse)[second] - 2.0 * inverse[first, second]
        own = own + 2.0 * ((border[first] - border[second]) * columns.T).sum(axis=1)
        own = own + (columns * (border[n : n + len(columns)] @ columns)).sum(axis=0)
        if not model.link.shapes:
            return own, np.zeros(len(own)), 0.0
        last = inverse[-1]
        return own, last[first] - last[second] + last[n : n + len(columns)] @ columns, float(last[-1])


class Profiles:
    """Which ends of contrasts of scores the votes bound, and profile intervals of items with few votes.

    Scores are relative to the mean of the largest group of items that are linked by wins and losses in both
    directions, so that an item which won all its votes does not make all others uncertain. Of a difference
    s_i - s_j, the votes bound the lower end if a chain of wins, or ties, leads from i to j, and the upper end
    if one leads from j to i; other ends are infinite.

    An interval of an item with fewer than five wins or losses has the ends at which the deviance, the
    largest over all other parameters for votes with pseudo-votes, is the square of the critical value, times
    the ratio of the variance with clusters and weights to that of independent votes.
    """

    def __init__(self, fit: FirthFit) -> None:
        self._fit, counted = fit, fit.plain.comparisons
        self._scale = fit.votes * fit.model.total_weight / fit.plain.total_weight
        matches, wins = counted.per_item()
        self.few = np.minimum(wins, matches - wins) * (fit.votes / fit.plain.total_weight) < FEW
        is_small = fit.model.n_parameters <= DENSE_PROFILES
        self._dense = fit.dense or (is_small and int(self.few.sum()) > MANY_PROFILES)
        self._parts = counted.strong_parts()
        self._at = fit.model.at(fit.parameters)
        self._hessian = self._at.hessian(np.zeros(fit.model.n_parameters))

    @cached_property
    def reference(self) -> IntVector:
        """The items to whose mean score the scores are relative."""
        matches, _ = self._fit.plain.comparisons.per_item()
        scores = self._fit.parameters  # decide between equals, so that names do not
        largest = max(self._parts, key=lambda part: (len(part), matches[part].sum(), scores[part].mean()))
        return largest if len(largest) > 1 else np.arange(len(matches))

    @property
    def n_linked(self) -> int:
        """The number of items of the reference; 0 if no two items are linked in both directions."""
        return len(self.reference) if len(self._parts) < len(self.few) else 0

    @property
    def is_one_sided(self) -> bool:
        """Whether some items won, or lost, all their votes against the others."""
        return len(self._parts) > 1

    @cached_property
    def _graphs(self) -> tuple[Any, Any]:
        beaten = self._fit.plain.comparisons.beaten()
        return beaten, beaten.T.tocsr()

    def is_bounded(self, item: int, others: IntVector) -> tuple[bool, bool]:
        """Return whether the votes bound the score of an item from below and above, relative to others."""
        if len(self._parts) == 1:
            return True, True
        reached = [breadth_first_order(graph, item, return_predecessors=False) for graph in self._graphs]
        below, above = (bool(np.isin(others, items).all()) for items in reached)
        return below, above

    def ends(self, column: FloatVector, reach: float) -> tuple[float, float]:
        """Return the values of a contrast of parameters whose deviance is reach^2."""
        low, high = (self._end(column, reach, side) for side in (-1.0, 1.0))
        return low, high

    def _solved(self, target: FloatVector, tol: float = CHORD_TOL) -> FloatVector:
        if self._dense:
            return self._inverse @ target
        return self._hessian.solve(target, tol) / self._scale

    @cached_property
    def _inverse(self) -> FloatArray:
        return self._hessian.inverse() / self._scale

    def _end(self, column: FloatVector, reach: float, side: float) -> float:
        """Follow the optimum along a contrast by Newton steps of the root of its deviance.

        At a value, the other parameters move by chords: Newton steps with the inverse of the Hessian at the
        optimum, in the directions that leave the value as it is. If chords do not settle, as far from the
        optimum of an item with few wins or losses, the end is bracketed.
        """
        model, parameters = self._fit.model, self._fit.parameters
        along = self._solved(column, CERTAIN)
        variance = float(column @ along)
        start = float(column @ parameters)
        value = start + side * reach * np.sqrt(variance)
        for _ in range(MAX_ENDS):
            parameters = parameters + along * ((value - float(column @ parameters)) / variance)
            for _ in range(MAX_CHORDS):
                at = model.at(parameters)
                moved = self._solved(at.gradient * self._scale)
                slope = float(column @ moved) / variance
                moved -= slope * along
                parameters = parameters - moved
                if np.abs(moved).max() <= CHORD:
                    break
            else:
                break
            root = self._root(parameters)
            if abs(root - reach) <= ROOT_TOL:
                return float(value)
            step = (reach - root) * root / (side * slope)
            most = abs(value - start)
            value += side * float(np.clip(step, -0.5 * most, 2.0 * most))
        return self._bracketed(column, reach, side * np.sqrt(variance))

    def _root(self, parameters: FloatVector) -> float:
        """Return the root of the deviance at parameters."""
        fallen = self._fit.model.at(parameters).value - self._at.value
        return float(np.sqrt(max(2.0 * self._scale * fallen, 0.0)))

    def _bracketed(self, column: FloatVector, reach: float, step: float) -> float:
        """Return the value of a contrast with this root of the deviance, by Newton's method at each value."""
        start = float(column @ self._fit.parameters)
        known = {0.0: self._fit.parameters}  # optima by their distance; the nearest is the next start

        def beyond(length: float) -> float:
            near = known[min(known, key=lambda one: abs(one - length))]
            known[length] = self._optimum(column, start + length * step, near)
            root = self._root(known[length])
            return root - reach if np.isfinite(root) else MOST_REACH

        most = reach
        while beyond(most) < 0 and most < MOST_REACH:
            most *= 2.0
        if most >= MOST_REACH or beyond(0.0) >= 0:
            return float(np.copysign(np.inf, step))
        return start + step * float(brentq(beyond, 0.0, most, xtol=ROOT_TOL))

    def _optimum(self, column: FloatVector, value: float, parameters: FloatVector) -> FloatVector:
        """Return the minimum of the loss where a contrast has a value, by damped Newton steps."""
        model, zero = self._fit.model, np.zeros(len(parameters))
        along = self._solved(column, CERTAIN)
        parameters = parameters + along * ((value - float(column @ parameters)) / float(column @ along))
        at = model.at(parameters)
        for _ in range(MAX_NEWTON):
            hessian = at.hessian(zero)
            moved, along = hessian.solve(at.gradient, CERTAIN), hessian.solve(column, CERTAIN)
            if not (variance := float(column @ along)) > 0.0:
                break
            moved -= along * (float(column @ moved) / variance)
            fallen = float(at.gradient @ moved)
            length = 1.0
            while (new := model.at(parameters - length * moved)).value > at.value and length > SHORTEST:
                length /= 2.0
            parameters, at = parameters - length * moved, new
            if fallen <= NEWTON_TOL / self._scale:
                break
        return parameters
