"""What scores with errors say about their order: differences, ranges of ranks, letters, first place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from rankwise.core.results import Column, ResultTable
from rankwise.core.text import p_value_text, plural
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.evaluation.paired import holm_factors
from rankwise.leaderboard.anytime import PLANNED, anytime_p, level
from rankwise.leaderboard.score_statistics import Influences
from rankwise.leaderboard.uncertainty import normal_draws

DRAWS = 4000
# More units than this multiple of the present ones are not asked for.
MOST_TIMES = 1000
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


class Separation(NamedTuple):
    """How many more tasks or instances would separate two models.

    Attributes
    ----------
    a, b : names
    unit : "task" or "instance"
    units : int
        The number that both models have.
    more : int or None
        The fewest with which the interval excludes 0 with probability `chance`: 0 if it does already, None
        if they are more than 1,000 times the present ones.
    chance : float
    """

    a: Any
    b: Any
    unit: str
    units: int
    more: int | None
    chance: float

    def __str__(self) -> str:
        if not self.more:
            if self.more == 0:
                return f"The interval separates {self.a} from {self.b} already."
            return f"Even {MOST_TIMES:,} times as many {self.unit}s need not separate {self.a} from {self.b}."
        return (
            f"{plural(self.more, f'more {self.unit}')} like the {self.units:,} would separate {self.a} from "
            f"{self.b} with a probability of {self.chance:.0%}, as far as the difference is known."
        )


DIFFERENCES = (
    Column("a", left=True), Column("b", left=True), Column("estimate", format=".3f"),
    Column("low", format=".3f", title="from"), Column("high", format=".3f", title="to"),
    Column("p_value", format=p_value_text, title="p"), Column("corrected", format=p_value_text),
    Column("is_decided", format=lambda decided: "yes" if decided else "not yet", title="decided"),
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """A difference of `n_units` units, of which there will be more.

    Attributes
    ----------
    apart, error, freedom : float
        The difference, its standard error and its degrees of freedom.
    n_units : int
    confidence, intervals, planned :
        Of the interval of all units together.
    """

    apart: float
    error: float
    freedom: float
    n_units: int
    confidence: float = 0.95
    intervals: str = "fixed"
    planned: float = PLANNED

    def chance(self, more: int) -> float:
        """Return the probability that the interval with more units excludes 0, by simulation.

        The true difference and the variance of a unit are drawn from their distribution given the units, for
        normal values without a prior; then the mean and the variance of the further units.
        """
        rng, n, total = np.random.default_rng(0), self.n_units, self.n_units + more
        known = self.freedom * n * self.error**2
        variance = known / rng.chisquare(self.freedom, DRAWS)
        true = self.apart + np.sqrt(variance / n) * rng.normal(size=DRAWS)
        later = true + np.sqrt(variance / more) * rng.normal(size=DRAWS)
        squares = known + variance * 2.0 * rng.standard_gamma((more - 1) / 2, DRAWS)
        squares += n * more / total * (later - self.apart) ** 2
        freedom = self.freedom + more
        mean, errors = (n * self.apart + more * later) / total, np.sqrt(squares / freedom / total)
        reach = self.critical(total, freedom) * errors
        return float((np.abs(mean) > reach).mean())

    def critical(self, n_units: int, freedom: float) -> float:
        """Return the half-width of an interval in standard errors."""
        tail = (1 - level(self.confidence, n_units, self.intervals, self.planned)) / 2
        return float(t.isf(tail, freedom))

    def fewest(self, chance: float) -> int | None:
        """Return the fewest further units with this chance; None if they are very many."""
        if self.freedom <= 0 or not 0 < chance < 1:
            raise ValueError(
                f"separation needs 0 < chance < 1 and two units or more; got {chance!r} and {self.n_units}."
            )
        if abs(self.apart) > self.critical(self.n_units, self.freedom) * self.error:
            return 0
        low, high, most = 0, 1, MOST_TIMES * self.n_units
        while self.chance(high) < chance:
            if high >= most:
                return None
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.chance(middle) >= chance else (middle, high)
        return high


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
        apart = self.centers[a] - self.centers[b]
        error = self.found.pair_errors[a, b]
        freedom = np.maximum(np.minimum(self.found.freedom[a], self.found.freedom[b]), 1.0)
        size = _ratio(np.abs(apart), error)
        critical = t.isf((1 - level(self.confidence, n_units, intervals, planned)) / 2, freedom)
        p = 2 * t.sf(size, freedom)
        if intervals == "anytime":
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
