"""Differences of scores, and probabilities of winning, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankwise.core.types import FloatVector, IntVector
from rankwise.leaderboard.uncertainty import Uncertainty


class ScoreDifference(NamedTuple):
    """A difference of two scores, its standard error and confidence interval, and P(it is above 0).

    `probability` is that of the posterior, and the interval does not use a prior, so they can disagree.
    Scores have independent normal priors of one standard deviation, which has a half-normal prior of scale 1,
    or is that of a given `alpha`; with alpha=0 the prior is flat. The probability is right on average over
    such boards. If the scores are in two groups of nearly equal items, it is too far from 1/2 for items of
    the same group. With clusters, the distribution is Student's t.
    """

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

        def _posteriors(self) -> list[tuple[float, Uncertainty]]: ...

    def difference(self, a: Any, b: Any, *, confidence: float = 0.95) -> ScoreDifference:
        """Return s_a - s_b with its standard error, confidence interval and P(s_a > s_b).

        The probability averages over the posterior of the prior's standard deviation, up to 500 items, in 20
        warm fits; beyond, it is at `prior_sd_`. See `ScoreDifference` for what it assumes.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x", "x", "x", "y"], ["y", "y", "y", "x"])
        >>> [round(value, 2) for value in model.difference("x", "y")]
        [0.56, 1.09, -0.96, 3.18, 0.72]
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
        uncertainty, columns = self._uncertainty(), np.array(pairs).reshape(-1, 2).T
        apart = (self.scores_[columns[0]] - self.scores_[columns[1]]).tolist()
        above = np.sum([weight * one.above(*columns) for weight, one in self._posteriors()], axis=0)
        parts = [uncertainty.difference(*pair, confidence) for pair in pairs]
        return [
            ScoreDifference(difference, *part, float(chance))
            for difference, part, chance in zip(apart, parts, above, strict=True)
        ]

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
