"""The Plackett-Luce loss of whole lists, which of censored times is Cox's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise import _native
from rankwise.core.checks import as_vector, check_choice
from rankwise.core.types import FloatArray, FloatVector
from rankwise.losses.base import LossBounds, ScoreHessian, Smooth
from rankwise.losses.logistic import LONGEST_STEP
from rankwise.preferences.base import NoPairsError, Preferences
from rankwise.preferences.ranking import Ranking, importance_of

TIES = ("breslow", "efron")


class PlackettLuce(Smooth):
    """Mean over choices of the log of the sum over the risk set of exp(s_j - s_i), for the chosen row i.

    In each query the rows are chosen one after the other, the best of those that remain: row i is chosen with
    the probability exp(s_i) / sum of exp(s_j) over the risk set, the rows with the label of i or a lower one
    (Plackett 1975, Luce 1959; ListMLE of Xia et al. 2008). The rows with the lowest label of a query are not
    chosen: they are what remains, so that labels of 3, 2, 1, 0, 0, 0 are a top-3 list.

    With censored times (`Preferences.from_survival`) it is the partial likelihood of Cox (1972): at the time
    of an event, the row with the event leaves the rows at risk with the probability exp(-s_i) / sum of
    exp(-s_j). A higher score means a longer time, so that -s is the log of the relative hazard.

    Cost: O(m) for value and gradient, for the diagonal of the Hessian and for its product with a direction.

    Parameters
    ----------
    preferences : Preferences
        A ranking, within queries or not, or censored times. A row of weight 2 is the row given twice.
    ties : "breslow" or "efron"
        How rows of equal labels are chosen: each from the same risk set, or, as by Efron (1977), from risk
        sets that a part of the others has left.
    average : "queries" or "pairs"
        The mean over queries of each query's mean over choices, or the mean over all choices.
    n_threads : int
        Does not affect the result.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> loss = PlackettLuce(Preferences.from_scores([2.0, 1.0, 0.0]))
    >>> value, gradient = loss.value_and_coefficients([0.0, 0.0, 0.0])
    >>> bool(np.isclose(value, (np.log(3) + np.log(2)) / 2)), gradient.round(4).tolist()
    (True, [-0.3333, -0.0833, 0.4167])
    """

    is_of_pairs = False
    title = "Plackett-Luce loss"
    formula = "mean over choices of log(sum over the rows that remain of exp(f(row) - f(chosen)))"
    # Of a choice: absolute coefficients sum to at most 2, and turn by at most the largest change of a score.
    lipschitz = 1.0
    curvature = 0.25

    def __init__(
        self,
        preferences: Preferences | None = None,
        *,
        ties: str = "breslow",
        average: str = "queries",
        n_threads: int = 1,
    ):
        check_choice(ties, "ties", TIES)
        self.ties = ties
        super().__init__(preferences, average=average, n_threads=n_threads)

    def _row_factor(self) -> FloatVector | float:
        ranking = self.preferences
        if not isinstance(ranking, Ranking) or ranking.gain is not None:
            raise TypeError(
                "The Plackett-Luce loss needs labels (within queries, if there are some) or censored times, "
                "in memory and without pair_weight. Use the logistic loss for explicit pairs, orders of "
                "classes and clicks."
            )
        return 1.0

    @cached_property
    def _log_unit(self) -> float:
        """The log of the weight that counts as one row: the smallest if that is below 1.

        No choice costs less than 0 then.
        """
        weight = self._ranking.weight
        return 0.0 if weight is None else float(np.log(min(1.0, weight[weight > 0].min(initial=1.0))))

    @cached_property
    def _query_factor(self) -> FloatVector:
        """The factor of each query's weighted sum over choices in the mean."""
        ranking, index = self._ranking, self._ranking.order
        total = index.sum_by_query(self.is_chosen * ranking.row_weight())
        importance = importance_of(ranking) * (total > 0)
        if not importance.any():
            raise NoPairsError("There is nothing to rank: no row is chosen from several.")
        # Sums of scaled weights cannot overflow; the largest of each query is 1.
        largest = ranking.scaled.largest_weight
        if self.average == "pairs":
            return importance / (importance * largest @ total)
        return importance / importance.sum() / np.where(total > 0, largest * total, 1.0)

    @property
    def _ranking(self) -> Ranking:
        assert isinstance(self.preferences, Ranking)
        return self.preferences

    @property
    def bounds(self) -> LossBounds:
        """How fast the loss can change: as one of pairs whose choices are the pairs."""
        return LossBounds(self.lipschitz, self.curvature, at_zero=max(1.0, self.at_zero))

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Return the loss and its gradient by the scores."""
        values, gradient, _ = self._sums_of(scores)
        return max(float(values.sum()), 0.0), gradient

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient, and the diagonal of the Hessian where Newton's method can divide by it."""
        _, gradient, diagonal = self._sums_of(scores, with_diagonal=True)
        return gradient, np.maximum(diagonal, np.abs(gradient) / LONGEST_STEP)

    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return the Hessian at `scores`, for several products.

        It is the sum over choices of diag(p) - p p', with p the probabilities of the rows to be chosen.
        """
        s = as_vector(scores, "scores", self.preferences.n_rows).copy()
        diagonal = self._sums_of(s, with_diagonal=True)[2]

        def product(direction: ArrayLike) -> FloatVector:
            u = as_vector(direction, "direction", self.preferences.n_rows)
            return self._sums_of(s, direction=self.preferences.centred(u))[0]

        return ScoreHessian(diagonal, product)

    def _sums_of(
        self, scores: ArrayLike, with_diagonal: bool = False, direction: FloatVector | None = None
    ) -> tuple[Any, ...]:
        s, ranking = as_vector(scores, "scores", self.preferences.n_rows), self._ranking
        columns = self._query_factor, ranking.weight, self._log_unit, ranking.event, self.ties == "efron"
        return _native.plackett_luce(
            s, ranking.order.native, *columns, with_diagonal, direction, self.n_threads
        )

    def unit_gradients(
        self, scores: FloatVector, X: FloatArray, units: Callable[[FloatArray], FloatArray]
    ) -> tuple[FloatArray, FloatVector]:
        """Return the parts of units of rows in the gradient by the weights, and their weights in the mean.

        The part of a row is its choice, less what is expected of it at all choices from risk sets that it is
        in: the score residual of Lin and Wei (1989). `units` sums an array of rows by units.
        """
        sums = [self._sums_of(scores, direction=np.ascontiguousarray(column)) for column in X.T]
        sign = 1.0 if self._ranking.event is None else -1.0
        rows = sign * np.column_stack([product - chosen for product, chosen in sums])
        return units(rows), units(self._choices[:, None])[:, 0]

    @property
    def n_choices(self) -> float | None:
        """The weight of all choices if the loss is the mean of a log likelihood over them, or None."""
        ranking = self._ranking
        if self.average == "queries" and ranking.order.n_queries > 1:
            return None
        return float(self.is_chosen.sum() if ranking.weight is None else self.is_chosen @ ranking.weight)

    @property
    def least_choice(self) -> float:
        """The least weight of a choice in the mean."""
        choices = self._choices
        return float(choices[choices > 0].min())

    @property
    def _choices(self) -> FloatVector:
        """The weight of the choice of each row in the mean."""
        ranking, index = self._ranking, self._ranking.order
        weight = 1.0 if ranking.weight is None else ranking.weight
        return self.is_chosen * weight * self._query_factor[index.query_of_row]

    @cached_property
    def is_chosen(self) -> FloatVector:
        """Whether each row is chosen from others, as a number."""
        ranking, index, chosen = self._ranking, self._ranking.order, np.zeros(self.preferences.n_rows)
        chosen[index.row] = index.level_begin > 0 if ranking.event is None else ranking.event[index.row]
        return chosen

    def baseline(self, scores: FloatVector) -> tuple[FloatVector, FloatVector, float] | None:
        """Return the times of events, the cumulative hazard of a row with the mean score, and that score.

        The hazard is Breslow's estimate. Labels have no times, and strata hazards of their own: None.
        """
        lives = self._ranking
        if lives.event is None or lives.has_queries:
            return None
        weight = np.ones(lives.n_rows) if lives.weight is None else lives.weight
        mean = float(np.average(scores, weights=weight))
        times, place = np.unique(lives.values, return_inverse=True)
        at_risk = np.cumsum(np.bincount(place, weight * np.exp(mean - scores))[::-1])[::-1]
        events = np.bincount(place, weight * lives.event, minlength=len(times))
        known = events > 0
        return times[known], np.cumsum(events[known] / at_risk[known]), mean
