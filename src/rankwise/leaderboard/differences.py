"""A difference of two scores."""

from __future__ import annotations

from typing import NamedTuple


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
