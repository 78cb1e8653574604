"""Leaderboards from whole and partial rankings of items: the Plackett-Luce model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import as_codes, as_vector, as_weights, check_choice
from rankwise.core.stored import Declaration, Sizes, Value
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.data.columns import columns_by_name
from rankwise.leaderboard.base import TINY, BaseLeaderboard, LeaderboardParameters
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.diagnosis import diagnose
from rankwise.leaderboard.newton import UnboundedScoresError, fitted, minimised
from rankwise.leaderboard.prior import Prior, learned_sd
from rankwise.leaderboard.ranking_model import RankingModel
from rankwise.leaderboard.uncertainty import Uncertainty
from rankwise.losses.plackett_luce import TIES
from rankwise.preferences.base import NoPairsError
from rankwise.solvers import Monitor

# The variance of fewer clusters is not known.
FEWEST_CLUSTERS = 3
# Up to this number of items probabilities average over the standard deviation of the prior.
AVERAGED_ITEMS = 500


class Rankings(NamedTuple):
    """A row per item of a ranking.

    Attributes
    ----------
    items : array of shape (n_items,)
        Names.
    item, ranking : int arrays of shape (n_rows,)
    place : array of shape (n_rows,)
        Lower is better.
    weight : array of shape (n_rows,), optional
    cluster : int array of shape (n_rows,), optional
    """

    items: NDArray[Any]
    item: IntVector
    ranking: IntVector
    place: FloatVector
    weight: FloatVector | None = None
    cluster: IntVector | None = None

    def comparisons(self) -> Comparisons:
        """Count the pairs of items of all rankings."""
        order = np.lexsort((self.place, self.ranking))
        item, place = self.item[order], self.place[order]
        begin = np.searchsorted(self.ranking[order], self.ranking[order])
        ahead = np.arange(len(item)) - begin  # the rows before each one in its ranking
        second = np.repeat(np.arange(len(item)), ahead)
        first = np.repeat(begin, ahead) + np.arange(len(second)) - np.repeat(np.cumsum(ahead) - ahead, ahead)
        result = np.where(place[first] < place[second], 1.0, 0.5)
        weight = None if self.weight is None else self.weight[order][first]
        return Comparisons.count(len(self.items), item[first], item[second], result, weight, ordered=False)


def read_rankings(rankings: Any, columns: Sequence[str], weight: Any, cluster: Any) -> Rankings:
    """Return rankings from lists of items, or from the columns of a table: ranking, item, place."""
    known = columns_by_name(rankings)
    if known is not None:
        missing = [name for name in columns if name not in known]
        if missing:
            raise ValueError(
                f"rankings have no column {missing[0]!r}: name the ranking, the item and its place."
            )
        names, item = as_codes(known[columns[1]], columns[1])
        ranking = as_codes(known[columns[0]], columns[0])[1]
        place = as_vector(known[columns[2]], columns[2], len(item))
    else:
        names, item, ranking, place = _from_lists(rankings)
    n_rankings = int(ranking.max()) + 1
    twice = np.unique(ranking.astype(np.int64) * len(names) + item, return_counts=True)[1] > 1
    if twice.any():
        raise ValueError("Each item must be in a ranking at most once.")
    of_ranking = None if weight is None else as_weights(weight, "weight", n_rankings)
    users = None if cluster is None else as_codes(cluster, "cluster", n_rankings)[1]
    return Rankings(
        np.asarray(names), item, ranking, place,
        None if of_ranking is None else of_ranking[ranking], None if users is None else users[ranking],
    )  # fmt: skip


def _from_lists(rankings: Any) -> tuple[NDArray[Any], IntVector, IntVector, FloatVector]:
    found, ranking, place = [], [], []
    for number, items in enumerate(rankings):
        if isinstance(items, str):
            raise ValueError(f"rankings must be lists of items, the best first; got the text {items!r}.")
        for position, entry in enumerate(items):
            tied = list(entry) if isinstance(entry, list | set | frozenset) else [entry]
            found += tied
            ranking += [number] * len(tied)
            place += [float(position)] * len(tied)
    if not found:
        raise NoPairsError("There is nothing to rank: no ranking has two items.")
    names, item = as_codes(found, "rankings")
    return np.asarray(names), item, np.array(ranking), np.array(place)


def are_rankings(state: Any, sizes: Sizes) -> bool:
    """Return whether these are the rows of rankings in columns; weights and clusters may be empty."""
    if len(state) != 5 or not all(isinstance(one, np.ndarray) and one.ndim == 1 for one in state):
        return False
    item, ranking, place, weight, cluster = state
    n = len(item)
    is_valid = n > 0 and len(ranking) == len(place) == n and {len(weight), len(cluster)} <= {0, n}
    is_valid = is_valid and all(one.dtype.kind == "i" for one in (item, ranking, cluster))
    is_valid = is_valid and place.dtype.kind == weight.dtype.kind == "f"
    if not is_valid or item.min() < 0 or item.max() >= sizes["items"] or ranking.min() < 0:
        return False
    numbers = [ranking, cluster] if len(cluster) else [ranking]
    small = all(one.min() >= 0 and one.max() < n for one in numbers)
    return bool(small and np.isfinite(place).all() and np.isfinite(weight).all() and (weight >= 0).all())


@dataclass(eq=False, repr=False)
class PlackettLuce(BaseLeaderboard, LeaderboardParameters):
    """Scores of items from whole or partial rankings: P(first) is proportional to exp(score).

    In each ranking the items are chosen one after the other, item i with the probability exp(s_i) / sum of
    exp(s_j) over the items that were not chosen before (Plackett 1975, Luce 1959). A ranking of two items is
    a match of Bradley and Terry. A ranking counts as a whole: splitting it into pairs as if these were
    independent gives intervals that are too short.

    Minimizes the mean over choices of -log P plus alpha times the sum of squared scores.

    Parameters
    ----------
    alpha : float, optional
        The penalty; by default the standard deviation of a normal prior of scores is learned. 0 is maximum
        likelihood.
    tol, max_iter, verbose, callback :
        As in `BradleyTerry`.
    intervals : "debiased" or "posterior"
        Intervals around the maximum of the likelihood, if it exists, or around the penalized scores.
    ties : "breslow" or "efron"
        How tied items are chosen.

    Attributes
    ----------
    items_ : array of shape (n_items,)
        Names.
    scores_ : array of shape (n_items,)
        Log odds; their mean is 0.
    n_rankings_ : int
    n_comparisons_ : int
        The number of pairs of items in all rankings.
    groups_, alpha_, prior_sd_, objective_, gap_, n_iter_, history_ :
        As in `BradleyTerry`.

    See Also
    --------
    BradleyTerry : Items from votes on pairs.
    RankPlackettLuce : Rankings of rows with features.

    Examples
    --------
    >>> from rankwise import PlackettLuce
    >>> model = PlackettLuce().fit([["a", "b", "c"], ["a", "c"], ["b", "a", "c", "d"], ["d", ["a", "b"]]] * 5)
    >>> print(model.leaderboard())
    rank  item   score    from      to   ranks  matches    won
    1     a      0.668   0.190   1.502  1 to 2       40  68.8%
    2     b      0.449  -0.120   1.402  1 to 3       35  64.3%
    3     d     -0.382  -1.421   0.317  2 to 4       25  40.0%
    4     c     -0.735  -1.692  -0.179  3 to 4       30  16.7%
    """

    _: KW_ONLY
    ties: str = "breslow"

    stored: ClassVar[dict[str, Declaration]] = {
        "n_rankings_": Value((int,), low=1, required=True),
        "_rankings": Value((tuple,), check=are_rankings, required=True),
    }

    def fit(
        self,
        rankings: Any,
        *,
        ranking: str = "ranking",
        item: str = "item",
        place: str = "place",
        weight: ArrayLike | None = None,
        cluster: Any = None,
    ) -> PlackettLuce:
        """Learn the scores.

        Parameters
        ----------
        rankings : list of lists of items, or frame
            The items of each ranking, the best first; a list or set inside of a ranking holds items that are
            tied. A frame (or dict of columns) has a row per item of a ranking instead.
        ranking, item, place : str
            The columns of a frame: who ranked or which ranking it is, the name of the item, and its place,
            lower for better.
        weight : array of shape (n_rankings,), optional
            A ranking of weight 2 counts twice.
        cluster : column of labels, one per ranking, optional
            Rankings of one cluster (a user) may depend on each other. Without it rankings are independent.
            Of a frame, clusters and weights belong to the sorted values of its column `ranking`.
        """
        self._check_parameters()
        data = read_rankings(rankings, (ranking, item, place), weight, cluster)
        if data.cluster is not None and len(np.unique(data.cluster)) < FEWEST_CLUSTERS:
            raise ValueError(f"cluster needs at least {FEWEST_CLUSTERS} different labels.")
        comparisons = data.comparisons()
        if not len(comparisons.first):
            raise NoPairsError("There is nothing to rank: no ranking has two items.")
        self._set_rankings(data, comparisons)
        model = self._model
        self._votes = model.total_weight
        self.prior_sd_, self.alpha_ = None, 0.0
        if self.alpha is not None:
            self.alpha_ = float(self.alpha)
        else:
            self.prior_sd_ = learned_sd(model, np.zeros(0), dense=len(self.items_) <= AVERAGED_ITEMS)  # type: ignore[arg-type]
            self.alpha_ = 1.0 / (2.0 * self._votes * self.prior_sd_**2)
        groups = comparisons.groups()
        self.groups_ = [self.items_[group] for group in groups]
        diagnose(self.items_, comparisons, groups, self.alpha_, ties="half")
        monitor = Monitor(self.verbose, self.callback)
        try:
            result = minimised(model, self.alpha_, tol=self.tol, max_iter=self.max_iter, monitor=monitor)
        except UnboundedScoresError:
            raise ValueError(
                "With alpha=0 the likelihood has no maximum: some items are always above, or below, the "
                "others. Pass a positive alpha."
            ) from None
        self.scores_ = result.coef - result.coef.mean()
        self._store_result(result)
        return self

    def _set_rankings(self, data: Rankings, comparisons: Comparisons) -> None:
        """Store the rankings, and the pairs of items in them."""
        self._rankings = (
            data.item, data.ranking, data.place,
            np.zeros(0) if data.weight is None else data.weight,
            np.zeros(0, np.int64) if data.cluster is None else data.cluster,
        )  # fmt: skip
        self.__dict__.pop("_model", None)  # of a previous fit
        self.items_, self.n_rankings_ = data.items, int(data.ranking.max()) + 1
        self.n_comparisons_ = round(float(comparisons.total.sum()))
        self._entries = (
            comparisons.first, comparisons.second, comparisons.wins, comparisons.losses, comparisons.ties
        )  # fmt: skip

    @cached_property
    def _model(self) -> RankingModel:
        item, ranking, place, weight, _ = self._rankings
        return RankingModel(
            item, ranking, place, weight if len(weight) else None, len(self.items_), self.ties
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave the model out, which is made of the rankings."""
        return {name: value for name, value in super().__getstate__().items() if name != "_model"}

    def conflicts(self) -> Iterator[str]:
        """Yield the attributes of a file that contradict each other."""
        yield from super().conflicts()
        rows = self._rankings[1].astype(np.int64) * len(self.items_) + self._rankings[0]
        if len(np.unique(rows)) < len(rows):
            yield "_rankings"
            return
        try:
            is_valid = abs(self._model.total_weight - self._votes) <= 1e-6 * self._votes
        except (ValueError, TypeError):
            is_valid = False
        if not is_valid:
            yield "_rankings"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.ties, "ties", TIES)

    def _uncertainty_at(self, parameters: FloatVector, ridge: FloatVector) -> Uncertainty:
        cluster = self._rankings[4]
        if len(cluster):
            return ClusteredRankings(self._model, parameters, ridge, self._votes, cluster)
        return Uncertainty(self._model, parameters, ridge, self._votes)  # type: ignore[arg-type]

    def _uncertainty(self) -> Uncertainty:
        """Return the uncertainty around the maximum of the likelihood, if it exists."""
        check_is_fitted(self)
        n = len(self.items_)
        if self.intervals == "debiased" and len(self.groups_[0]) == n and not self._comparisons.one_sided():
            if not self.alpha_:
                return self._uncertainty_at(self.scores_, np.zeros(n))
            return self._uncertainty_at(self._unpenalised, np.zeros(n))
        return self._uncertainty_at(self.scores_, np.full(n, 2.0 * self.alpha_))

    @property
    def _unpenalised(self) -> FloatVector:
        found = fitted(self._model, TINY, self.scores_).coef
        return found - found.mean()

    def _posterior(self) -> Uncertainty:
        ridge = np.full(len(self.items_), 2.0 * self.alpha_)
        return Uncertainty(self._model, self.scores_, ridge, self._votes)  # type: ignore[arg-type]

    def _posteriors(self) -> list[tuple[float, Uncertainty]]:
        n = len(self.items_)
        if not self.alpha_:
            return [(1.0, self._uncertainty())]
        if self.prior_sd_ is None or n > AVERAGED_ITEMS:
            return [(1.0, self._uncertainty_at(self.scores_, np.full(n, 2.0 * self.alpha_)))]
        prior = Prior(self._model, np.zeros(0), self._votes)  # type: ignore[arg-type]
        return [
            (weight, self._uncertainty_at(prior.fitted(log_sd)[0], 2 * prior.penalty(log_sd)))
            for log_sd, weight in prior.weighted_grid()
        ]


class ClusteredRankings(Uncertainty):
    """For rankings that depend on each other: M is the sum of squared gradients of clusters."""

    def __init__(
        self, model: Any, parameters: FloatVector, ridge: FloatVector, votes: float, cluster: IntVector
    ) -> None:
        super().__init__(model, parameters, ridge, votes)
        gradients = votes * model.unit_gradients(parameters, cluster)
        self._n_clusters = len(np.unique(cluster))
        gradients -= gradients.mean(axis=0)
        self._meat = gradients.T @ gradients * (self._n_clusters / (self._n_clusters - 1.0))

    def solved(self, columns: FloatArray, tol: float = 1e-10) -> FloatArray:
        """Return H^-1 times columns of parameters."""
        return self.inverse @ columns

    def meat_product(self, columns: FloatArray) -> FloatArray:
        """Return M times columns."""
        return self._meat @ columns + self.votes * self.ridge[:, None] * columns

    def freedom(self, columns: FloatArray) -> FloatVector:
        """Return the degrees of freedom of each contrast."""
        return np.full(columns.shape[1], self._n_clusters - 1.0)

    def score_freedom(self, items: IntVector) -> FloatVector:
        """Return the degrees of freedom of the scores of some items."""
        return np.full(len(items), self._n_clusters - 1.0)
