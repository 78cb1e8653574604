"""Rows to learn from, and their folds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from rankwise.data.rows import some_rows
from rankwise.estimators.inputs import read_preferences
from rankwise.model_selection.splits import QueryKFold
from rankwise.preferences import FewRowsError, NoPairsError, Preferences


@dataclass(frozen=True)
class Task:
    """Rows with labels or preferences, queries and weights, as they are given to `fit`."""

    X: Any
    y: Any
    qid: Any = None
    sample_weight: Any = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)

    @cached_property
    def preferences(self) -> Preferences:
        """The preferences among the rows."""
        return read_preferences(self.y, self.qid, self.sample_weight)

    def take(self, rows: NDArray[np.int64]) -> Task:
        """Return some of the rows."""
        parts = (None if part is None else part[rows] for part in (self.y, self.qid, self.sample_weight))
        return Task(some_rows(self.X, rows), *parts)

    def with_preferences(self, y: Preferences) -> Task:
        """Return the same rows with other preferences."""
        return Task(self.X, y, self.qid, self.sample_weight)

    def sample(self, n_rows: int) -> Task:
        """Return about this many rows, of whole queries if there are many; all rows if there is no sample."""
        rows = self.preferences.sample(n_rows / self.n_rows) if n_rows < self.n_rows else None
        try:
            return self if rows is None or not self.preferences[rows].has_pairs else self.take(rows)
        except NoPairsError:
            return self

    def arguments(self, model: Any) -> dict[str, Any]:
        """Return the keyword arguments of a model's `fit` that are given; `qid` only if it takes queries."""
        given = {"qid": self.qid, "sample_weight": self.sample_weight}
        known = {"sample_weight", *signature(model.fit).parameters}
        return {name: value for name, value in given.items() if value is not None and name in known}


@dataclass(frozen=True)
class Fold:
    """Rows to learn from and rows to judge by: numbers of rows, or the preferences among all rows."""

    task: Task
    learned: Any
    judged: Any

    @property
    def train(self) -> Task:
        """The rows to learn from, which are copied."""
        return self._part(self.learned)

    @cached_property
    def test(self) -> Task:
        """The rows to judge by."""
        return self._part(self.judged)

    def _part(self, part: Any) -> Task:
        return self.task.with_preferences(part) if isinstance(part, Preferences) else self.task.take(part)


def folds_of(task: Task, cv: Any, seed: int) -> list[Fold]:
    """Return folds of queries, rows of one ranking or pairs that share rows, or those of a splitter.

    Fewer queries than folds are left out one at a time. A fold without pairs is left out.
    """
    preferences = task.preferences
    preferences.require_pairs()
    pairs = preferences.pair_folds(int(cv), seed) if isinstance(cv, Integral) else []
    if pairs:
        return [Fold(task, train, test) for train, test in pairs]
    kept = [
        split
        for split in _splits(task, preferences, cv, seed)
        if all(preferences[rows].has_pairs for rows in split)
    ]
    if len(kept) < 2:
        raise FewRowsError("AutoRanker needs two folds with pairs in their training and in their test rows.")
    return [Fold(task, train, test) for train, test in kept]


def _splits(task: Task, preferences: Preferences, cv: Any, seed: int) -> Iterable[Any]:
    """Return the numbers of training and test rows of each fold."""
    if not isinstance(cv, Integral):
        every = np.arange(task.n_rows)  # splits may be masks
        given = check_cv(cv).split(np.empty((task.n_rows, 0)), preferences, groups=task.qid)
        return [(every[train], every[test]) for train, test in given]
    n_queries = len(np.unique(preferences.groups()))
    n_folds = min(int(cv), n_queries) if n_queries > 1 else int(cv)
    splitter = QueryKFold(n_folds, shuffle=True, random_state=seed)
    return splitter.split(np.empty((task.n_rows, 0)), preferences)
