"""What scores with errors say about their order: differences, ranges of ranks, letters, first place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from rankwise.core.checks import check_choice
from rankwise.core.results import Column, ResultTable
from rankwise.core.text import p_value_text
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.evaluation.paired import holm_factors
from rankwise.leaderboard.score_statistics import Influences
from rankwise.leaderboard.uncertainty import normal_draws

INTERVALS = ("fixed", "anytime")
# The number of units at which a confidence sequence of 95% is narrowest, if no other is planned.
PLANNED = 200
DRAWS = 4000
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class TableDifference(NamedTuple):
    """A difference of two scores of a `ScoreTable`.

    Attributes
    ----------
    a, b : names
    estimate, standard_error, low, high : float
        The score of a minus that of b, its standard error and its interval.
    p_value : float
        Two-sided, of no difference; with anytime intervals it holds at all looks.
    corrected : float
        The p-value corrected for all differences that were asked for together, by Holm's method.
    """

    a: Any
    b: Any
    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float
    corrected: float

    @property
    def is_decided(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


DIFFERENCES = (
    Column("a", left=True), Column("b", left=True), Column("estimate", format=".3f"),
    Column("low", format=".3f", title="from"), Column("high", format=".3f", title="to"),
    Column("p_value", format=p_value_text, title="p"), Column("corrected", format=p_value_text),
    Column("is_decided", format=lambda decided: "yes" if decided else "not yet", title="decided"),
)  # fmt: skip


def mixture_scale(confidence: float, planned: float) -> float:
    """Return rho^2 of a confidence sequence that is narrowest at about `planned` units.

    Waudby-Smith et al. (2024), appendix B.2.
    """
    log_alpha = -2.0 * np.log(1.0 - confidence)
    return float((log_alpha + np.log(log_alpha + 1.0)) / planned)


def anytime_critical(n_units: Any, confidence: float, planned: float = PLANNED) -> Any:
    """Return the half-width, in standard errors, of an asymptotic confidence sequence after n units.

    The mixture of Robbins with scale rho: sqrt(2 (c + 1) / c log(sqrt(c + 1) / alpha)), c = n rho^2. The
    sequence covers at all n at once, asymptotically as the first look is later (Waudby-Smith et al. 2024,
    theorem 2.2).

    Examples
    --------
    >>> anytime_critical(np.array([20, 200, 1000]), 0.95).round(2)
    array([3.86, 3.04, 3.15])
    """
    c = n_units * mixture_scale(confidence, planned)
    return np.sqrt(2.0 * (c + 1.0) / c * np.log(np.sqrt(c + 1.0) / (1.0 - confidence)))


def anytime_p(z: Any, n_units: Any, confidence: float, planned: float = PLANNED) -> Any:
    """Return the largest alpha at which the sequence excludes 0, for its scale at this confidence."""
    c = n_units * mixture_scale(confidence, planned)
    return np.minimum(1.0, np.sqrt(c + 1.0) * np.exp(-0.5 * np.square(z) * c / (c + 1.0)))


class Order:
    """The order of scores: every statement follows from the differences and their errors.

    Parameters
    ----------
    found : Influences
    confidence : float
    """

    def __init__(self, found: Influences, confidence: float) -> None:
        self.found, self.confidence = found, confidence
        self.gains, self.centers = found.sign * found.scores, found.scores - found.bias
        self.order: IntVector = np.argsort(-self.gains, kind="stable")

    def intervals(self) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return the standard errors of scores and the ends of their intervals, within bounds."""
        errors = np.sqrt(self.found.covariance.diagonal())
        reach = errors * t.isf((1 - self.confidence) / 2, np.maximum(self.found.freedom, 1.0))
        # Scores of the additive model can be out of bounds by a little if cells are missing.
        least, most = self.found.bounds
        low = np.maximum(self.centers - reach, np.minimum(self.found.scores, least))
        high = np.minimum(self.centers + reach, np.maximum(self.found.scores, most))
        unknown = self.found.freedom <= 0
        return errors, np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)

    def tests(
        self, a: IntVector, b: IntVector, n_units: FloatVector, intervals: str, planned: float
    ) -> tuple[FloatVector, FloatVector, FloatVector, FloatVector]:
        """Return the centers of the intervals of a - b, their half-widths, standard errors and p-values.

        Anytime intervals of few units have the quantile of Student's t at the tail of the normal one.
        """
        check_choice(intervals, "intervals", INTERVALS)
        apart = self.centers[a] - self.centers[b]
        error = self.found.pair_errors[a, b]
        freedom = np.maximum(np.minimum(self.found.freedom[a], self.found.freedom[b]), 1.0)
        size = _ratio(np.abs(apart), error)
        if intervals == "fixed":
            critical, p = t.isf((1 - self.confidence) / 2, freedom), 2 * t.sf(size, freedom)
        else:
            normal = anytime_critical(n_units, self.confidence, planned)
            critical = t.isf(norm.sf(normal), freedom)
            p = anytime_p(norm.isf(t.sf(size, freedom)), n_units, self.confidence, planned)
        return apart, critical * error, error, np.where(apart == 0, 1.0, p)

    def corrected(self) -> FloatArray:
        """Return the p-values of all differences, corrected together by Holm's method."""
        n = len(self.gains)
        a, b = np.triu_indices(n, 1)
        *_, p = self.tests(a, b, np.ones(len(a)), "fixed", PLANNED)
        found = np.ones((n, n))
        found[a, b] = found[b, a] = np.minimum(1.0, holm_factors(p) * p)
        return found

    def rank_ranges(self, corrected: FloatArray) -> tuple[IntVector, IntVector]:
        """Return the best and the worst rank of each model; the ranges hold for all models at once.

        Models that are significantly above or below, by p-values corrected for all pairs, are excluded.
        """
        clear = corrected <= 1 - self.confidence
        gains = self.found.sign * self.centers
        above, below = clear & (gains > gains[:, None]), clear & (gains < gains[:, None])
        return 1 + above.sum(axis=1), len(clear) - below.sum(axis=1)

    def first_places(self) -> FloatVector:
        """Return the probability that each model is the best, if errors are those of the scores."""
        known = np.flatnonzero(self.found.freedom > 0)
        chances = np.full(len(self.gains), np.nan)
        if len(known):
            covariance = self.found.covariance[np.ix_(known, known)]
            freedom = float(self.found.freedom[known].min())
            draws = self.gains[known] + normal_draws(self.gains[known], covariance, DRAWS, freedom)
            is_first = draws == draws.max(axis=1, keepdims=True)
            chances[known] = (is_first / is_first.sum(axis=1, keepdims=True)).mean(axis=0)
        return chances

    def letters(self, corrected: FloatArray) -> list[str]:
        """Return letters: two models share one if and only if their difference is not significant."""
        places = letter_groups(corrected[np.ix_(self.order, self.order)] <= 1 - self.confidence)
        found = [""] * len(self.order)
        for number, members in enumerate(places):
            for place in np.flatnonzero(members).tolist():
                found[self.order[place]] += _letter(number)
        return found


def difference_table(
    names: Sequence[Any], order: Order, pairs: Sequence[tuple[int, int]], n_units: FloatVector,
    intervals: str = "fixed", planned: float = PLANNED, note: str = "",
) -> ResultTable[TableDifference]:  # fmt: skip
    """Return the differences of pairs of models."""
    a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    center, reach, error, p = order.tests(a, b, np.minimum(n_units[a], n_units[b]), intervals, planned)
    corrected = np.minimum(1.0, holm_factors(p) * p)
    apart = order.found.scores[a] - order.found.scores[b]
    columns = [apart, error, center - reach, center + reach, p, corrected]
    rows = [
        TableDifference(names[i], names[j], *values)
        for (i, j), values in zip(pairs, np.transpose(columns).tolist(), strict=True)
    ]
    return ResultTable(rows, DIFFERENCES, note=note)


def letter_groups(clear: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Return the groups of a compact letter display: insert and absorb (Piepho 2004).

    Examples
    --------
    >>> clear = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    >>> [group.tolist() for group in letter_groups(clear)]
    [[True, True, False], [False, True, True]]
    """
    groups = [np.ones(len(clear), dtype=bool)]
    for i, j in zip(*np.nonzero(np.triu(clear)), strict=True):
        split = [group for group in groups if group[i] and group[j]]
        kept = [group for group in groups if not (group[i] and group[j])]
        for group in split:
            for left_out in (j, i):
                part = group.copy()
                part[left_out] = False
                if not any((part <= other).all() for other in kept):
                    kept = [other for other in kept if not (other <= part).all()] + [part]
        groups = kept
    return sorted(groups, key=lambda group: tuple(np.flatnonzero(group)))


def _letter(number: int) -> str:
    """Return a, b, ..., z, a1, b1, ..."""
    turn, place = divmod(number, len(LETTERS))
    return LETTERS[place] + (str(turn) if turn else "")


def _ratio(numbers: FloatVector, errors: FloatVector) -> FloatVector:
    """Return numbers in errors: infinite without an error, and 0 if the number is 0."""
    found = np.where(numbers > 0, np.inf, 0.0)
    return np.divide(numbers, errors, out=found, where=errors > 0)
