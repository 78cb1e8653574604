"""How many votes, or users, decide who is first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.core.text import listed, plural
from rankwise.core.types import FloatVector, IntVector
from rankwise.leaderboard.clusters import ClusterCounts
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.newton import fitted
from rankwise.leaderboard.pair_model import PairModel

LISTED = 5
# Pairs of an item of the top and one below it whose influences are computed, and those that are searched.
PAIRS, SEARCHED = 20, 3
# Up to this number of kinds of votes in a set, each is tried to be kept.
KINDS_KEPT = 40
MAX_ROUNDS = 50
# The tolerance of influences, which only rank votes, and of the gap of a refit.
INFLUENCE_TOL, FIT_TOL = 1e-6, 1e-16
OUTCOMES = ("win", "loss", "tie")


class RemovedVotes(NamedTuple):
    """A number of votes with the same outcome for `first`: "win", "loss" or "tie"."""

    first: Any
    second: Any
    outcome: str
    votes: int


@dataclass(frozen=True)
class Fragility:
    """A small set of votes, or clusters of votes, without which the top k of a leaderboard are others.

    Attributes
    ----------
    k : int
    unit : "vote" or "cluster"
    number : int or None
        The size of the set: an upper bound of the fewest that suffice. None if no set was found.
    total : int
        The number of all votes or clusters.
    removed : list of RemovedVotes, or int array
        The votes; or the clusters, as places in the sorted distinct values of `cluster`.
    top : list of names
        The top k of the leaderboard.
    new_top : list of names
        The top k without the set.
    gap : float or None
        The certified gap of the fit without the set. The change of order is larger than its error.
    """

    k: int
    unit: str
    number: int | None
    total: int
    removed: Any
    top: list[Any]
    new_top: list[Any]
    gap: float | None

    @property
    def share(self) -> float | None:
        """The fraction of all votes or clusters."""
        return None if self.number is None else self.number / self.total

    @property
    def entered(self) -> list[Any]:
        """The items of the new top k that were not in the top k."""
        return [name for name in self.new_top if name not in self.top]

    def __str__(self) -> str:
        place = "first place" if self.k == 1 else f"the top {self.k}"
        if self.number is None or self.share is None:
            return f"No set of {self.unit}s was found whose removal changes {place}."
        new = listed([str(name) for name in self.entered], LISTED)
        old = listed([str(name) for name in self.top if name not in self.new_top], LISTED)
        verb = "takes" if self.k == 1 else "enters" if len(self.entered) == 1 else "enter"
        change = f"{new} {verb} {place} {'from' if self.k == 1 else 'in place of'} {old}"
        return (
            f"Without {self.number:,} of {plural(self.total, self.unit)} ({100 * self.share:.3g}%), {change}."
        )


@dataclass(frozen=True)
class Units:
    """Units of votes that are removed as a whole: kinds of equal votes with their numbers, or clusters.

    `counts.cluster` is the unit of each entry; `copies` the number of equal units; `kind`
    "vote" or "cluster".
    """

    counts: ClusterCounts
    copies: IntVector
    kind: str

    @classmethod
    def of_votes(cls, comparisons: Comparisons) -> Units:
        """Return kinds of equal votes."""
        numbers = np.array([comparisons.wins, comparisons.losses, comparisons.ties])
        outcome, entry = np.nonzero(numbers)
        first, second = (side.astype(np.int64) for side in (comparisons.first, comparisons.second))
        ones = [(outcome == kind).astype(np.float64) for kind in range(3)]
        counts = ClusterCounts(np.arange(len(entry)), first[entry], second[entry], *ones)
        return cls(counts, np.rint(numbers[outcome, entry]).astype(np.int64), "vote")

    @classmethod
    def of_clusters(cls, stored: tuple[Any, ...]) -> Units:
        """Return the clusters of one column."""
        counts = ClusterCounts(*stored)
        present = np.bincount(counts.cluster)
        return cls(counts, (present > 0).astype(np.int64), "cluster")

    def described(self, taken: IntVector, names: list[Any]) -> list[RemovedVotes]:
        """Return the removed votes by the names of their items, the largest number first."""
        outcome = np.argmax([self.counts.wins, self.counts.losses, self.counts.ties], axis=0)
        found = [
            RemovedVotes(
                names[self.counts.first[u]], names[self.counts.second[u]], OUTCOMES[outcome[u]], int(taken[u])
            )
            for u in np.flatnonzero(taken)
        ]
        return sorted(found, key=lambda one: -one.votes)


class _Refit(NamedTuple):
    """An optimum without some units, with its gap and a bound on the error of a difference of scores."""

    parameters: FloatVector
    gap: float
    error: float
    model: PairModel
    penalty: FloatVector


class Search:
    """A search for few units whose removal changes the top k."""

    def __init__(
        self, model: PairModel, penalty: FloatVector, parameters: FloatVector, units: Units, k: int
    ) -> None:
        self.model, self.penalty, self.units = model, penalty, units
        self.order = np.argsort(-model.scores(parameters), kind="stable")
        self.top, self.rest = self.order[:k], self.order[k:]
        self._start = parameters
        self._entry, self._swapped = self._entries()

    def _entries(self) -> tuple[IntVector, NDArray[np.bool_]]:
        """Return the entry of the comparisons of each entry of the units, and if its items are swapped."""
        counts, compared, n = self.units.counts, self.model.comparisons, self.model.n_items
        keys = compared.first.astype(np.int64) * n + compared.second
        straight = counts.first.astype(np.int64) * n + counts.second
        place = np.minimum(np.searchsorted(keys, straight), len(keys) - 1)
        swapped = keys[place] != straight
        reverse = counts.second.astype(np.int64) * n + counts.first
        place[swapped] = np.searchsorted(keys, reverse[swapped])
        return place, swapped

    @cached_property
    def whole(self) -> _Refit:
        """The optimum of all votes."""
        return self.without(np.zeros(len(self.units.copies), dtype=np.int64))

    def without(self, taken: IntVector) -> _Refit:
        """Return the optimum without some units; the prior stays."""
        counts, compared = self.units.counts, self.model.comparisons
        times = taken[counts.cluster].astype(np.float64)
        won, lost = (
            np.where(self._swapped, *pair)
            for pair in ((counts.losses, counts.wins), (counts.wins, counts.losses))
        )
        size = len(compared.first)
        left = [
            _positive(before - np.bincount(self._entry, times * gone, size), before)
            for before, gone in (
                (compared.wins, won), (compared.losses, lost), (compared.ties, counts.ties),
            )
        ]  # fmt: skip
        kept = np.sum(left, axis=0) > 0
        rest = Comparisons(
            self.model.n_items, compared.first[kept], compared.second[kept], *(one[kept] for one in left)
        )
        model = self.model.of(rest)
        penalty = self.penalty * (self.model.total_weight / model.total_weight)
        result = fitted(model, penalty, self._start, tol=FIT_TOL)
        # J(p) - J* >= sum of alpha (p - p*)^2, and a difference of scores is a contrast of p.
        gap = float(result.gap)
        length = 2.0 + 4.0 * float((model.features**2).sum(axis=1).max())
        error = float(np.sqrt(length * gap / penalty.min()))
        return _Refit(result.coef, gap, error, model, penalty)

    def lead(self, refit: _Refit) -> float:
        """Return the smallest score of the former top minus the largest of the rest, plus its error bound."""
        scores = refit.model.scores(refit.parameters)
        return float(scores[self.top].min() - scores[self.rest].max()) + refit.error

    def changes(self, taken: IntVector) -> bool:
        """Return whether a fit without some units proves that the top has changed."""
        return self.lead(self.without(taken)) < 0

    def gains(self, refit: _Refit, above: int, below: int) -> FloatVector:
        """Return by how much the removal of each unit lowers s_above - s_below, to first order."""
        model, parameters, counts = refit.model, refit.parameters, self.units.counts
        contrast = np.zeros(model.n_items)
        contrast[above], contrast[below] = 1.0, -1.0
        no_shape = np.zeros(len(model.link.shapes))
        padded = model.gathered(contrast, np.zeros(len(model.comparisons.first)), no_shape)
        hessian = model.at(parameters).hessian(2 * refit.penalty)
        along = hessian.solve(padded, INFLUENCE_TOL) / model.total_weight
        scores, change = model.scores(parameters), model.scores(along)
        d = scores[counts.first] - scores[counts.second] + model.order(parameters)
        terms = model.link.terms(d, model.shape(parameters), counts.outcomes)
        each = -terms.by_d * (change[counts.first] - change[counts.second] + model.order(along))
        if terms.by_shape is not None:
            each -= terms.by_shape * along[-1]
        return np.bincount(counts.cluster, each, len(self.units.copies)).astype(np.float64)

    def fewest(self) -> IntVector | None:
        """Return the number of units to remove of each kind: the smallest set of those found."""
        scores = self.model.scores(self.whole.parameters)
        apart = scores[self.top][:, None] - scores[self.rest]
        nearest = np.argsort(apart, axis=None)[:PAIRS]
        places = zip(*np.unravel_index(nearest, apart.shape), strict=True)
        pairs = [(int(self.top[i]), int(self.rest[j])) for i, j in places]
        sizes = [self._predicted(*pair) for pair in pairs]
        searched = [pairs[place] for place in np.argsort(sizes, kind="stable")[:SEARCHED]]
        found = [self._shortest(sequence) for pair in searched for sequence in self._sequences(*pair)]
        return self._spared(min(found, key=np.sum)) if found else None

    def _predicted(self, above: int, below: int) -> float:
        """Return the number of units by which first-order gains close the difference of two scores."""
        scores, gains = self.model.scores(self.whole.parameters), self.gains(self.whole, above, below)
        apart = scores[above] - scores[below]
        taken = _until(gains, self.units.copies, apart)
        return len(taken) if gains[taken].sum() >= apart else np.inf

    def _sequences(self, above: int, below: int) -> list[IntVector]:
        """Return sequences by the influences at the optimum, and by those of each refit."""
        found = (self._sequence(above, below, refreshed=refreshed) for refreshed in (False, True))
        return [sequence for sequence in found if sequence is not None]

    def _sequence(self, above: int, below: int, *, refreshed: bool) -> IntVector | None:
        """Return kinds of units to remove one after the other, to change the top; None if they do not.

        In each round, gains to first order close the difference that is left.
        """
        refit, gains = self.whole, self.gains(self.whole, above, below)
        taken, sequence = np.zeros_like(self.units.copies), np.zeros(0, dtype=np.int64)
        for _ in range(MAX_ROUNDS):
            scores = refit.model.scores(refit.parameters)
            more = _until(gains, self.units.copies - taken, scores[above] - scores[below] + refit.error)
            sequence = np.append(sequence, more)
            taken = np.bincount(sequence, minlength=len(taken))
            if not len(more) or (taken == self.units.copies).all():
                return None
            refit = self.without(taken)
            if self.lead(refit) < 0:
                return sequence
            if refreshed:
                gains = self.gains(refit, above, below)
        return None

    def _shortest(self, sequence: IntVector) -> IntVector:
        """Return the shortest prefix that changes the top, by bisection."""
        n_kinds, low, high = len(self.units.copies), 0, len(sequence)
        while high - low > 1:
            middle = (low + high) // 2
            if self.changes(np.bincount(sequence[:middle], minlength=n_kinds)):
                high = middle
            else:
                low = middle
        return np.bincount(sequence[:high], minlength=n_kinds)

    def _spared(self, taken: IntVector) -> IntVector:
        """Put units back one by one, as long as the top still changes."""
        for kind in np.flatnonzero(taken)[:KINDS_KEPT]:
            while taken[kind] and taken.sum() > 1:
                fewer = taken.copy()
                fewer[kind] -= 1
                if not self.changes(fewer):
                    break
                taken = fewer
        return taken


def fragility_of(
    model: PairModel, penalty: FloatVector, parameters: FloatVector, units: Units, names: list[Any], k: int
) -> Fragility:
    """Return a small set of units without which the top k are others; see `BradleyTerry.fragility`."""
    search = Search(model, penalty, parameters, units, k)
    taken, top = search.fewest(), [names[place] for place in search.order[:k]]
    total = int(units.copies.sum())
    if taken is None:
        return Fragility(k, units.kind, None, total, [], top, top, None)
    refit = search.without(taken)
    order = np.argsort(-model.scores(refit.parameters), kind="stable")[:k]
    removed = units.described(taken, names) if units.kind == "vote" else np.flatnonzero(taken)
    new_top = [names[place] for place in order]
    return Fragility(k, units.kind, int(taken.sum()), total, removed, top, new_top, refit.gap)


def _until(gains: FloatVector, copies: IntVector, apart: float) -> IntVector:
    """Return units from the largest gain down, until gains close a difference; at least one, if any gains.

    Examples
    --------
    >>> _until(np.array([0.1, -1.0, 0.3]), np.array([5, 5, 2]), 0.75)
    array([2, 2, 0, 0])
    """
    order = np.argsort(-gains, kind="stable")
    order = order[(gains[order] > 0) & (copies[order] > 0)]
    closed = np.cumsum(gains[order] * copies[order])
    last = int(np.searchsorted(closed, apart))
    taken = copies[order[: last + 1]].copy()
    if last < len(order):
        before = closed[last] - gains[order[last]] * copies[order[last]]
        taken[last] = min(int(np.ceil(max(apart - before, 0.0) / gains[order[last]])) or 1, taken[last])
    return np.repeat(order[: last + 1], taken)


def _positive(values: FloatVector, before: FloatVector) -> FloatVector:
    """Return differences of weights without those that are rounding errors."""
    return np.where(values > 1e-9 * before, values, 0.0)
