"""Scores without the bias of small samples, and intervals of items with few wins or losses."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.csgraph import breadth_first_order

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.loss import ComparisonLoss
from rankwise.leaderboard.newton import CERTAIN, solve_comparisons

# Pseudo-votes are computed again until no parameter moves by more than this.
MOVE, MAX_ROUNDS = 1e-6, 50
FIT_TOL = 1e-12
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
    votes, and its bias is of second order. It is the maximum for votes with pseudo-votes: an entry of weight
    w gets w p_o (Q_o + h) / 2 votes of each outcome o of probability p_o, where Q_o is the variance of the
    entry's log probabilities along outcome o, and h the sum of p_o Q_o. With ties as halves this is half of
    the leverage of the entry, once as a win and once as a loss.

    Parameters
    ----------
    loss : ComparisonLoss
    start : array of shape (n_parameters,)
    votes : float
        The number of votes of which the loss is the mean.
    dense : bool
        Invert the information. Otherwise the variance of a difference of two scores is the sum of the
        inverses of its diagonal, in proportion; it is close if each item met several others.
    """

    def __init__(self, loss: ComparisonLoss, start: FloatVector, votes: float, *, dense: bool) -> None:
        self.plain, self.votes, self.dense = loss, votes, dense
        self.parameters = start
        for _ in range(MAX_ROUNDS):
            before = self.parameters
            self.loss = _with_votes(loss, self._pseudo_votes(before))
            result = solve_comparisons(self.loss, 0.0, tol=FIT_TOL, start=before)
            if result.status == "interrupted":
                raise KeyboardInterrupt
            self.parameters = result.coef
            if np.abs(self.parameters - before).max() <= MOVE:
                break

    def _pseudo_votes(self, parameters: FloatVector) -> FloatArray:
        """Return the weights of pseudo-wins, pseudo-losses and pseudo-ties of each entry."""
        loss, counted = self.plain, self.plain.comparisons
        scores = loss.scores(parameters)
        d = scores[counted.first] - scores[counted.second]
        if len(loss.effect_columns):
            d = d + loss.effects(parameters) @ loss.effect_columns
        log_ties = float(parameters[-1]) if loss.davidson else -np.inf
        exponents = np.stack([0.5 * d, -0.5 * d, np.full(len(d), log_ties)])
        chances = np.exp(exponents - exponents.max(axis=0))
        chances /= chances.sum(axis=0)
        by_d = np.array([0.5, -0.5, 0.0])[:, None] - 0.5 * (chances[0] - chances[1])
        by_nu = np.array([0.0, 0.0, 1.0])[:, None] - chances[2]
        own, cross, nu = self._entry_variances(parameters, chances)
        squares = own * by_d**2 + 2.0 * cross * by_d * by_nu + nu * by_nu**2
        squares += (chances * squares).sum(axis=0)
        return 0.5 * counted.total * chances * squares

    def _entry_variances(
        self, parameters: FloatVector, chances: FloatArray
    ) -> tuple[FloatVector, FloatVector, float]:
        """Return the variance of each d, its covariance with log nu, and the variance of log nu."""
        loss, first, second = self.plain, self.plain.comparisons.first, self.plain.comparisons.second
        hessian = loss.at(parameters).hessian(np.zeros(loss.n_parameters))
        if not self.dense:
            parts = 1.0 / (hessian.diagonal[: loss.n_items] * self.votes)
            own = parts[first] + parts[second]
            information = 0.25 * (chances[0] + chances[1] - (chances[0] - chances[1]) ** 2)
            leverage = float(self.votes * loss.share * information @ own)
            return own * ((loss.n_items - 1) / leverage), np.zeros(len(own)), 0.0
        inverse = hessian.inverse() / self.votes
        n, columns = loss.n_items, loss.effect_columns
        border = inverse[:, n : n + len(columns)]
        own = np.diag(inverse)[first] + np.diag(inverse)[second] - 2.0 * inverse[first, second]
        own = own + 2.0 * ((border[first] - border[second]) * columns.T).sum(axis=1)
        own = own + (columns * (border[n : n + len(columns)] @ columns)).sum(axis=0)
        if not loss.davidson:
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
        self._scale = fit.votes * fit.loss.total_weight / fit.plain.total_weight
        matches, wins = counted.per_item()
        self.few = np.minimum(wins, matches - wins) * (fit.votes / fit.plain.total_weight) < FEW
        is_small = fit.loss.n_parameters <= DENSE_PROFILES
        self._dense = fit.dense or (is_small and int(self.few.sum()) > MANY_PROFILES)
        self._parts = counted.strong_parts()
        self._at = fit.loss.at(fit.parameters)
        self._hessian = self._at.hessian(np.zeros(fit.loss.n_parameters))

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
        loss, parameters = self._fit.loss, self._fit.parameters
        along = self._solved(column, CERTAIN)
        variance = float(column @ along)
        start = float(column @ parameters)
        value = start + side * reach * np.sqrt(variance)
        for _ in range(MAX_ENDS):
            parameters = parameters + along * ((value - float(column @ parameters)) / variance)
            for _ in range(MAX_CHORDS):
                at = loss.at(parameters)
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
        fallen = self._fit.loss.at(parameters).value - self._at.value
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
        loss, zero = self._fit.loss, np.zeros(len(parameters))
        along = self._solved(column, CERTAIN)
        parameters = parameters + along * ((value - float(column @ parameters)) / float(column @ along))
        at = loss.at(parameters)
        for _ in range(MAX_NEWTON):
            hessian = at.hessian(zero)
            moved, along = hessian.solve(at.gradient, CERTAIN), hessian.solve(column, CERTAIN)
            moved -= along * (float(column @ moved) / float(column @ along))
            fallen = float(at.gradient @ moved)
            length = 1.0
            while (new := loss.at(parameters - length * moved)).value > at.value and length > SHORTEST:
                length /= 2.0
            parameters, at = parameters - length * moved, new
            if fallen <= NEWTON_TOL / self._scale:
                break
        return parameters


def _with_votes(loss: ComparisonLoss, more: FloatArray) -> ComparisonLoss:
    """Return the loss with further wins, losses and ties, as a mean over the votes of the given one."""
    counted = loss.comparisons
    augmented = replace(
        counted, wins=counted.wins + more[0], losses=counted.losses + more[1], ties=counted.ties + more[2]
    )
    return ComparisonLoss(
        augmented, ties="davidson" if loss.davidson else "half", order_effect=loss.order_effect
    )
