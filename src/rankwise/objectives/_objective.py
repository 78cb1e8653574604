"""The base class of the objectives of boosters."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from rankwise.core.checks import check_choice
from rankwise.core.types import FloatVector
from rankwise.evaluation.pair_measures import ranking_error
from rankwise.losses import OBJECTIVES, PairwiseLoss, loss_class
from rankwise.objectives._gradient import PairwiseGradient
from rankwise.objectives._sets import Memory, Rows, RowSets
from rankwise.preferences import Preferences
from rankwise.preferences.base import AVERAGES

NAME = "ranking_error"


class PairwiseObjective:
    """A pairwise loss for boosters: derivatives per row, and an error for early stopping."""

    def __init__(
        self,
        preferences: Preferences | None = None,
        loss: str | PairwiseLoss = "squared_hinge",
        *,
        average: Any = "queries",
        validation: Any = None,
        n_threads: int = 1,
    ):
        loss_class(loss, OBJECTIVES)
        check_choice(average, "average", AVERAGES)
        if not (preferences is None or isinstance(preferences, Preferences)):
            raise ValueError(
                "preferences must be a Preferences, or None to rank the booster's own labels; got a "
                f"{type(preferences).__name__}."
            )
        self.preferences = preferences
        self.loss = loss
        self.average = average
        self.n_threads = n_threads
        self._sets = RowSets(preferences, validation)
        self._memory = Memory()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.loss}>"

    def __deepcopy__(self, memo: Any) -> Self:
        """Return itself: boosters copy their parameters, and the copy must share the cache."""
        return self

    def derivatives(self, scores: ArrayLike, rows: Rows) -> tuple[FloatVector, FloatVector]:
        """Return gradient and Hessian for each row of the training set."""
        self._sets.begin_round(rows)
        return self._memory("gradient", rows, lambda: self._gradient(rows))(scores)

    def error(self, scores: ArrayLike, rows: Rows) -> float:
        """Return the fraction of pairs in the wrong order, of the training set or a validation set."""
        number = self._sets.next_evaluated(rows)
        preferences = self._memory(number, rows, lambda: self._sets.preferences(rows, number))
        with warnings.catch_warnings():  # queries without pairs are common and omitted
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return float(ranking_error(preferences, np.ravel(scores), average=self.average))

    def _gradient(self, rows: Rows) -> PairwiseGradient:
        preferences = self._sets.preferences(rows)
        return PairwiseGradient(preferences, self.loss, average=self.average, n_threads=self.n_threads)
