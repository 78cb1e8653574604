"""Hierarchies of outcomes: each pair of rows is decided by the first outcome that can order it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise import _native
from rankwise.core.checks import (
    as_array,
    as_codes,
    as_labels,
    as_vector,
    as_weights,
    check_positive,
    split_missing,
)
from rankwise.core.types import FloatArray, FloatVector
from rankwise.preferences.base import Pairs, Preferences, check_pair_memory

__all__ = ["Hierarchy", "Outcome", "from_hierarchy"]

# Pairs beyond this number are not listed.
MOST_PAIRS = 10**8


class Outcome:
    """An outcome of each patient, or row: a time, a count, a measurement or an ordinal state.

    It orders two rows if their values differ by more than `margin` and, for times, the event of the smaller
    one was observed. Otherwise the pair is left to the next outcome. Missing values (NaN) order no pair.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Numbers, or an ordered categorical column.
    event : array of bool of shape (n_rows,), optional
        For times: whether the event was observed; otherwise the row is censored.
    margin : float
        Differences up to this one are of no importance.
    higher_is_better : bool
        True for the time to death or a distance walked; False for a number of visits to the hospital, or the
        time to recovery.
    name : str, optional
        The name in tables; by default that of the column.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> from rankwise.preferences import Outcome
    >>> death = Outcome([5.0, 8.0, 9.0], event=[1, 0, 0])
    >>> walk = Outcome([410.0, 300.0, 350.0], margin=30)
    >>> Preferences.from_hierarchy([death, walk]).pairs().better.tolist()
    [1, 2, 2]
    """

    def __init__(
        self,
        values: ArrayLike,
        event: ArrayLike | None = None,
        *,
        margin: float = 0.0,
        higher_is_better: bool = True,
        name: str | None = None,
    ):
        if margin != 0:
            check_positive("margin", margin)
        self.margin, self.higher_is_better = float(margin), bool(higher_is_better)
        given: Any = getattr(values, "name", None) if name is None else name
        self.name = None if given is None else str(given)
        known, kept = split_missing(values)
        self.values: FloatVector = np.full(len(known), np.nan)
        self.values[known] = as_labels(kept, "values of an outcome")
        self.event: FloatVector | None = None if event is None else _events(event, known)

    def __len__(self) -> int:
        return len(self.values)

    def taken(self, rows: NDArray[np.int64]) -> Outcome:
        """Return the outcome of some of the rows."""
        event = None if self.event is None else self.event[rows]
        return Outcome(
            self.values[rows],
            event,
            margin=self.margin,
            higher_is_better=self.higher_is_better,
            name=self.name,
        )

    @property
    def native(self) -> tuple[FloatVector, FloatVector | None, float, bool]:
        """The outcome as the native code takes it."""
        return self.values, self.event, self.margin, self.higher_is_better


def _events(event: ArrayLike, known: NDArray[np.bool_]) -> FloatVector:
    """Return 1 for an observed event and 0 for a censored row, and for a row without a time."""
    given = as_array(event)
    if given.shape != known.shape:
        raise ValueError(f"event has shape {given.shape}, but must have shape {known.shape}, as the times.")
    events = np.zeros(len(known))
    events[known] = as_vector(given[known], "event")
    if not np.isin(events, (0.0, 1.0)).all():
        raise ValueError("event must hold booleans (or 0 and 1).")
    return events


def check_outcomes(outcomes: Any) -> list[Outcome]:
    """Return outcomes of the same rows as a list."""
    if isinstance(outcomes, Outcome):
        outcomes = [outcomes]
    found = list(outcomes)
    wrong = [one for one in found if not isinstance(one, Outcome)]
    if wrong:
        raise TypeError(f"A hierarchy is a list of Outcome; got {wrong[0]!r}.")
    if not found:
        raise ValueError("A hierarchy needs at least one Outcome.")
    lengths = [len(one) for one in found]
    if len(set(lengths)) > 1:
        raise ValueError(f"All outcomes must be of the same rows; they have {lengths} rows.")
    return found


class Hierarchy(Preferences):
    """Rows of which each pair within a stratum is decided by the first outcome that can order it.

    Pairs, wins and losses are counted in O(m log^k m) for k outcomes. Losses list the pairs, up to 10^8.
    """

    has_unit_magnitudes = True

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        strata: NDArray[np.int64] | None = None,
        weight: FloatVector | None = None,
    ):
        self.outcomes, self.strata, self.weight = list(outcomes), strata, weight
        self.n_rows = len(self.outcomes[0])

    def pairs(self) -> Pairs:
        """List the pairs, by stratum and then by better row."""
        return self._listed

    @cached_property
    def _listed(self) -> Pairs:
        n_pairs = self.n_pairs
        if n_pairs > MOST_PAIRS:
            raise MemoryError(
                f"The hierarchy of {self.n_rows:,} rows has {n_pairs:,} pairs, and at most {MOST_PAIRS:,} "
                "are listed; `win_statistics` lists none."
            )
        check_pair_memory(n_pairs)
        better, worse = _native.list_wins(self._native, self.n_rows, *self._weighing, n_pairs)
        weight = np.ones(n_pairs) if self.weight is None else self.weight[better] * self.weight[worse]
        return Pairs(better, worse, np.ones(n_pairs), weight)

    def weighted(self, sample_weight: ArrayLike) -> Hierarchy:
        """Multiply each pair's weight by the weights of its two rows."""
        weight = as_weights(sample_weight, "sample_weight", self.n_rows)
        weight = weight / weight.max()  # only ratios matter, and products of ratios do not overflow
        return Hierarchy(self.outcomes, self.strata, weight if self.weight is None else self.weight * weight)

    def _take(self, rows: NDArray[np.int64]) -> Hierarchy:
        strata = None if self.strata is None else self.strata[rows]
        weight = None if self.weight is None else self.weight[rows]
        return Hierarchy([one.taken(rows) for one in self.outcomes], strata, weight)

    @cached_property
    def n_pairs(self) -> int:
        """The exact number of pairs, counted without listing them."""
        return round(self._counts(None)[0].sum())

    def partner_weights(self) -> tuple[FloatVector, FloatVector]:
        """Return the weight of each row's pairs as the worse one, and as the better one."""
        wins, losses = (part.sum(axis=1) for part in self._counts(self.weight))
        own = 1.0 if self.weight is None else self.weight
        return own * losses, own * wins

    def groups(self) -> NDArray[np.int64]:
        """Return the stratum of each row, or 0: folds of rows would split pairs."""
        return np.zeros(self.n_rows, dtype=np.int64) if self.strata is None else self.strata.copy()

    @cached_property
    def _native(self) -> list[Any]:
        return [one.native for one in self.outcomes]

    @cached_property
    def _weighing(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows with a positive weight by stratum, and where each stratum begins."""
        rows = np.arange(self.n_rows) if self.weight is None else np.flatnonzero(self.weight > 0)
        return rows_by_stratum(rows, self.groups())

    def _counts(self, weight: FloatVector | None) -> tuple[FloatArray, FloatArray]:
        return count_wins(self.outcomes, self._weighing, self._weighing, weight, both=False)


def rows_by_stratum(
    rows: NDArray[np.int64], strata: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Sort rows by their stratum and return them with the place where each stratum begins."""
    of_row = strata[rows]
    order = np.argsort(of_row, kind="stable")
    begin = np.searchsorted(of_row[order], np.arange(strata.max(initial=-1) + 2))
    return rows[order].astype(np.int32), begin.astype(np.int64)


def count_wins(
    outcomes: Sequence[Outcome],
    rows: tuple[NDArray[np.int32], NDArray[np.int64]],
    points: tuple[NDArray[np.int32], NDArray[np.int64]],
    weight: FloatVector | None,
    *,
    both: bool,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return the weight of the points that each row beats, and of those that beat it, by outcome.

    Rows and points are compared within strata, in which they are sorted. With `both`, points have their wins
    and losses against the rows; no row may be a point then.
    """
    n_rows, native = len(outcomes[0]), [one.native for one in outcomes]
    wins, losses = _native.count_wins(native, n_rows, *rows, *points, weight, both, n_threads)
    return wins.reshape(n_rows, -1), losses.reshape(n_rows, -1)


def from_hierarchy(
    outcomes: Sequence[Outcome],
    strata: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Hierarchy:
    """Prefer the row of each pair that has the better result in the first outcome that can order the pair.

    Two patients are compared by the most important outcome first, such as the time to death; if it leaves the
    pair undecided, by the next one (Buyse 2010; Pocock et al. 2012). `RankLogistic(alpha=0)` on the arm of
    the trial and covariates is then the regression of the odds of the better result.

    Parameters
    ----------
    outcomes : list of Outcome
        From the most to the least important one.
    strata : array of shape (n_rows,), optional
        Rows of different strata are not compared.
    sample_weight : array of shape (n_rows,), optional

    Examples
    --------
    >>> from rankwise.preferences import Outcome
    >>> visits = Outcome([0, 2, 2, 1], higher_is_better=False)
    >>> walk = Outcome([300.0, 400.0, 320.0, None], margin=30)
    >>> Preferences.from_hierarchy([visits, walk])
    <Hierarchy preferences: 6 pairs of 4 rows>
    """
    found = check_outcomes(outcomes)
    n_rows = len(found[0])
    codes = None if strata is None else as_codes(strata, "strata", n_rows)[1]
    weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", n_rows)
    hierarchy = Hierarchy(found, codes, weight)
    hierarchy.require_pairs()
    return hierarchy
