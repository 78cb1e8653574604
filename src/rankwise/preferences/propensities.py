"""The probability that users examine a position, estimated from clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t

from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.text import listed
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.preferences.click_log import ClickLog


class Position(NamedTuple):
    """The propensity of a position, with its interval and counts."""

    position: float
    value: float
    low: float
    high: float
    linked: bool
    n_shown: int
    n_clicks: int


COLUMNS = (
    Column("position", format="g"),
    Column("value", format=".3f", title="propensity"),
    Column("low", format=".3f", title="from", missing="-"),
    Column("high", format=".3f", title="to", missing="-"),
    Column("n_shown", format=",", title="shown"),
    Column("n_clicks", format=",", title="clicked"),
)


@dataclass(frozen=True, repr=False)
class Propensities(HasTable):
    """The probability that users examine each position, relative to the first one.

    Attributes
    ----------
    position : array of int of shape (n_positions,)
        The positions that occur, ascending.
    value : array of shape (n_positions,)
        The propensity of each, 1 for the first one.
    low, high : arrays of shape (n_positions,)
        The ends of an interval that takes queries as independent. NaN if the position is not linked, or if
        there is one query.
    linked : array of bool of shape (n_positions,)
        Whether the data determines the propensity. If not, it is that of the nearest linked position above.
    n_shown, n_clicks : arrays of int of shape (n_positions,)
        Rows, and clicked rows, at each position.
    method : "interventions" or "regression"
    level : float
        The level of the intervals.
    """

    position: IntVector
    value: FloatVector
    low: FloatVector
    high: FloatVector
    linked: NDArray[np.bool_]
    n_shown: IntVector
    n_clicks: IntVector
    method: str
    level: float

    def at(self, position: ArrayLike) -> FloatVector:
        """Return the propensities of positions, which must be among those of the curve."""
        wanted = np.asarray(position)
        unknown = np.setdiff1d(wanted, self.position)
        if len(unknown):
            known = listed(list(map(str, self.position)), 10)
            raise ValueError(f"The curve has no position {unknown[0]:g}; it has {known}.")
        return self.value[np.searchsorted(self.position, wanted)]

    @property
    def table(self) -> ResultTable[Position]:
        """The curve, one row per position."""
        columns = (getattr(self, name).tolist() for name in Position._fields)
        title = f"Propensities relative to the first position, {100 * self.level:g}% intervals"
        note = "" if self.linked.all() else "Positions without an interval are not linked to the first one."
        return ResultTable(map(Position, *columns), COLUMNS, title=title, note=note)

    def to_frame(self) -> Any:
        """Return the curve as a pandas frame, one row per position."""
        import pandas as pd

        return pd.DataFrame(list(self.table))


def as_curve(
    log: ClickLog,
    linked: NDArray[np.bool_],
    log_value: FloatVector,
    covariance: FloatArray,
    method: str,
    level: float,
) -> Propensities:
    """Return the curve of the positions of a log, given log p of the linked ones, the first of which is 0.

    `covariance` is that of the other linked positions.
    """
    known = np.flatnonzero(linked)
    error = np.append(0.0, np.sqrt(np.diag(covariance)) if log.n_queries > 1 else np.nan * log_value[1:])
    reach = float(t.ppf(0.5 + 0.5 * level, max(log.n_queries - 1, 1))) * error
    nearest = np.maximum(np.searchsorted(known, np.arange(len(linked)), side="right") - 1, 0)
    low, high = np.full((2, len(linked)), np.nan)
    low[known], high[known] = np.exp(log_value - reach), np.exp(log_value + reach)
    return Propensities(
        log.positions,
        np.exp(log_value)[nearest],
        low,
        high,
        linked,
        np.bincount(log.place, minlength=len(linked)),
        np.bincount(log.place[log.clicked], minlength=len(linked)),
        method,
        level,
    )


def clustered_covariance(information: FloatArray, scores: FloatArray, n_queries: int) -> FloatArray:
    """Return the sandwich covariance, given the sum of the scores of each query: shape (n_queries, n)."""
    inverse = np.linalg.inv(information)
    found: FloatArray = inverse @ (scores.T @ scores) @ inverse * (n_queries / max(n_queries - 1, 1))
    return found
