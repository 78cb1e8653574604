"""Votes as columns that fits to parts of them can take."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_array, as_they_are
from rankwise.core.types import FloatVector, IntVector
from rankwise.data.columns import columns_by_name
from rankwise.leaderboard.base import BaseLeaderboard
from rankwise.leaderboard.held_out import HeldOut
from rankwise.leaderboard.matches import FEWEST_CLUSTERS, days_of, frame_columns, read_matches
from rankwise.solvers import InterruptedWarning


@contextmanager
def quiet_fit() -> Iterator[None]:
    """Suppress the warnings of a fit to a part of the votes; one that is interrupted ends the whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", InterruptedWarning)
        try:
            yield
        except InterruptedWarning:
            raise KeyboardInterrupt from None


@dataclass(frozen=True)
class VoteTable:
    """Columns of votes that can be taken by rows.

    Attributes
    ----------
    columns : dict of arrays, and of dicts of arrays for covariates
    days : array of shape (n_votes,) or None
        Days since 1970, or numbers of the column of dates.
    has_dates : bool
    clusters : list of arrays, or None
    group : int array of shape (n_votes,) or None
        The clusters of the first column.
    features : as for `BradleyTerry.fit`
    has_counts : bool
        Whether weights are whole numbers.
    """

    columns: dict[str, Any]
    days: FloatVector | None
    has_dates: bool
    clusters: list[Any] | None
    group: NDArray[Any] | None
    features: Any
    has_counts: bool

    @classmethod
    def read(cls, winner: Any, loser: Any, *, features: Any, cluster: Any, **given: Any) -> VoteTable:
        """Read and check columns, or the columns of a frame."""
        if loser is None:
            columns = frame_columns(winner, **given)
        else:
            columns = {"a": winner, "b": loser} | {k: v for k, v in given.items() if v is not None}
        date = columns.pop("date", None)
        matches = read_matches(**columns)
        taken = {name: _arrays(column) for name, column in columns.items()}
        days, has_dates = (None, False) if date is None else days_of(date, len(taken["a"]))
        if cluster is None:
            return cls(taken, days, has_dates, None, None, features, matches.has_counts)
        codes = list(read_matches(columns["a"], columns["b"], cluster=cluster).clusters)
        return cls(taken, days, has_dates, codes, codes[0], features, matches.has_counts)

    def fit(self, model: Any, rows: Any = slice(None), *, clustered: bool = True) -> Any:
        """Fit a model to some votes, by default to all; clusters matter for its intervals alone."""
        columns = self._some(rows)
        if self.days is not None:
            columns["date"] = self.days[rows] - self.days.max()
        if clustered and self.clusters is not None:
            columns["cluster"] = [codes[rows] for codes in self.clusters]
        if self.features is not None:
            columns["features"] = self.features
        return model.fit(columns.pop("a"), columns.pop("b"), **columns)

    def evaluate(self, model: BaseLeaderboard, rows: IntVector) -> HeldOut:
        """Judge a model by some votes."""
        columns = self._some(rows)
        return model.evaluate(columns.pop("a"), columns.pop("b"), **columns)

    def _some(self, rows: Any) -> dict[str, Any]:
        return {
            name: {key: one[rows] for key, one in column.items()}
            if isinstance(column, dict)
            else column[rows]
            for name, column in self.columns.items()
        }

    def weights(self, rows: Any) -> FloatVector:
        """Return the weights of some votes."""
        weight = self.columns.get("weight")
        n_rows = len(self.columns["a"][rows])
        return np.ones(n_rows) if weight is None else np.asarray(weight[rows], dtype=np.float64)

    def size(self, rows: Any, half_life: float | None) -> float:
        """Return the number of votes, as `BradleyTerry` counts them."""
        weight = self.weights(rows)
        if half_life is None and self.has_counts:
            return float(weight.sum())
        if half_life is not None and self.days is not None:
            weight = weight * 0.5 ** ((self.days[rows].max() - self.days[rows]) / half_life)
        return float(weight.sum() ** 2 / (weight @ weight))

    def scaled(self, alpha: float, rows: Any, half_life: float | None) -> float:
        """Return the penalty of a fit to some votes that has the same prior as alpha in a fit to all."""
        return alpha * self.size(slice(None), half_life) / self.size(rows, half_life)

    def has_few_clusters(self, rows: Any) -> bool:
        """Return whether some votes are of too few clusters to compute errors."""
        return any(len(np.unique(codes[rows])) < FEWEST_CLUSTERS for codes in self.clusters or [])


def _arrays(column: Any) -> Any:
    """Return a column as an array, and several named ones as a dict of arrays."""
    if (by_name := columns_by_name(column)) is not None:
        return {name: _arrays(one) for name, one in by_name.items()}
    return as_they_are(column) if isinstance(column, list | tuple) else as_array(column)
