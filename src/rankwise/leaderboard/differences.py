"""Differences of scores, and probabilities of winning, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankwise.core.types import FloatVector, IntVector
from rankwise.leaderboard.uncertainty import Uncertainty


class ScoreDifference(NamedTuple):
    """A difference of two scores, its standard error and confidence interval, and P(it is above 0)."""

    difference: float
    standard_error: float
    low: float
    high: float
    probability: float


class HasDifferences:
    """The part of `BradleyTerry` that compares items, two at a time."""

    if TYPE_CHECKING:
        items_: NDArray[Any]
        scores_: FloatVector

        def _numbers_of(self, names: Any, argument: str) -> IntVector: ...

        def _uncertainty(self, intervals: str | None = None) -> Uncertainty: ...

    def difference(self, a: Any, b: Any, *, confidence: float = 0.95) -> ScoreDifference:
        """Return s_a - s_b with its standard error, confidence interval and P(s_a > s_b): one sparse system.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x", "x", "x", "y"], ["y", "y", "y", "x"])
        >>> [round(value, 2) for value in model.difference("x", "y")]
        [0.56, 1.09, -0.96, 3.18, 0.78]
        """
        first, second = self._number_of(a, "a"), self._number_of(b, "b")
        return self._differences([(first, second)], confidence)[0]

    def differences(self, a: Any, b: Any, *, confidence: float = 0.95) -> list[ScoreDifference]:
        """Return `difference` of each pair of two columns of names.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x", "x", "x", "y"], ["y", "y", "y", "x"])
        >>> [round(one.difference, 2) for one in model.differences(["x", "y"], ["y", "x"])]
        [0.56, -0.56]
        """
        first, second = np.broadcast_arrays(self._numbers_of(a, "a"), self._numbers_of(b, "b"))
        return self._differences(list(zip(first.ravel(), second.ravel(), strict=True)), confidence)

    def _differences(self, pairs: list[tuple[int, int]], confidence: float) -> list[ScoreDifference]:
        check_confidence(confidence)
        uncertainty, found = self._uncertainty(), []
        for first, second in pairs:
            parts = uncertainty.difference(first, second, confidence)
            apart = float(self.scores_[first] - self.scores_[second])
            found.append(ScoreDifference(apart, *parts, uncertainty.above(first, second)))
        return found

    def predict_pair_interval(self, a: Any, b: Any, *, confidence: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of P(a above b): that of the difference of scores, as probabilities.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x"] * 30 + ["y"] * 10, ["y"] * 30 + ["x"] * 10)
        >>> low, high = model.predict_pair_interval("x", "y")
        >>> round(low, 2), round(high, 2)
        (0.59, 0.86)
        """
        difference = self.difference(a, b, confidence=confidence)
        return float(expit(difference.low)), float(expit(difference.high))

    def _number_of(self, name: Any, argument: str) -> int:
        numbers = self._numbers_of(name, argument)
        if numbers.ndim:
            raise ValueError(f"{argument} must be the name of one item; got {name!r}.")
        return int(numbers)


def check_confidence(confidence: Any) -> None:
    """Refuse a level that is no number between 0 and 1."""
    is_number = isinstance(confidence, int | float | np.number)
    if not (is_number and 0 < confidence < 1):
        raise ValueError(f"confidence must be a number between 0 and 1; got {confidence!r}.")
