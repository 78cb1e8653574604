"""Calibration of the probabilities of pairs: all pairs are binned by counting, without listing them.

The scores are log odds: with d = s_better - s_worse, the row with the higher score is above the other with
probability 1 / (1 + exp(-|d|)). A bin of probabilities is a window of |d|. Its pairs in the predicted order
have d in the window, the others have -d in it, and both are counted by the sums of the hinge loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from rankwise.core.checks import as_vector, check_count
from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, FloatVector
from rankwise.losses import Hinge, Logistic
from rankwise.preferences import Preferences, as_preferences

# The number of windows, beside the bins, in which the mean difference of the scores is computed.
WINDOWS = 40
# A bin with a smaller fraction of pairs is empty: this is the rounding error of sums of weights.
SMALLEST_SHARE = 1e-13


@dataclass(frozen=True, repr=False)
class Reliability(HasTable):
    """The result of `reliability`, per bin of the predicted probability. It prints as a table.

    Attributes
    ----------
    edges : array of shape (n_bins + 1,)
        From 0.5 to 1: the probabilities are those of the more likely order.
    share : array of shape (n_bins,)
        The weighted fraction of the pairs in each bin; they sum to 1.
    stated : array of shape (n_bins,)
        The mean predicted probability of the pairs of a bin, NaN without pairs.
    observed : array of shape (n_bins,)
        The fraction of these pairs in the predicted order; equal scores count 1/2.
    log_loss : float
        The mean over all pairs of log(1 + exp(-(s_better - s_worse))); log 2 for a coin flip.
    n_pairs : int
    """

    edges: FloatArray = field(repr=False)
    share: FloatArray
    stated: FloatArray
    observed: FloatArray
    log_loss: float
    n_pairs: int

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: the weighted mean over bins of ``abs(stated - observed)``."""
        filled = self.share > 0
        return float(np.sum((self.share * np.abs(self.observed - self.stated))[filled]))

    @property
    def overconfidence(self) -> float:
        """The weighted mean over bins of stated - observed, positive for an overconfident model."""
        filled = self.share > 0
        return float(np.sum((self.share * (self.stated - self.observed))[filled]))

    def as_dict(self) -> dict[str, Any]:
        """Return the bins, the log loss and the calibration error, for JSON."""
        names = ("edges", "share", "stated", "observed", "log_loss", "n_pairs")
        return {name: getattr(self, name) for name in (*names, "calibration_error", "overconfidence")}

    @property
    def table(self) -> ResultTable[Bin]:
        """The bins as a table."""
        columns = (self.edges[:-1], self.edges[1:], self.share, self.stated, self.observed)
        title = (
            f"{plural(self.n_pairs, 'pair')}: log loss {self.log_loss:.4f}, "
            f"calibration error {self.calibration_error:.4f}"
        )
        rows = [Bin(*row) for row in np.column_stack(columns).tolist()]
        return ResultTable(rows, BINS, title=title)


class Bin(NamedTuple):
    """A bin of probabilities: its ends, the fraction of pairs in it, and their probabilities."""

    low: float
    high: float
    share: float
    stated: float
    observed: float


BINS = (
    Column("probability", lambda row: f"{row.low:.2f} to {row.high:.2f}", left=True),
    Column("share", format=".4f", title="fraction of pairs"),
    Column("stated", format=".4f", missing="-"),
    Column("observed", format=".4f", missing="-"),
)


def reliability(
    y: Any,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    bins: int = 10,
    average: str = "queries",
) -> Reliability:
    """Compare predicted probabilities of pairs with observed frequencies, over all pairs.

    For the pairs whose more likely order has a probability in a bin: which fraction is in that order? Pairs
    of equal labels are left out. Fractions of pairs are exact. The mean predicted probability of a bin is
    computed from the exact number and mean difference of the pairs in narrow windows: its error is at most
    2e-4 for any scores, and far smaller for scores that are spread out.

    Cost: about 100 counts of pairs, O(m log m) each for any number of pairs; O(l) for l explicit pairs.

    Parameters
    ----------
    y : array of shape (n_rows,), or Preferences
        Labels, higher is better. Preferences have their own queries and weights.
    scores : array of shape (n_rows,)
        Log odds, such as those of `RankLogistic.predict`, divided by the temperature if there is one.
    qid : array of shape (n_rows,), optional
        The query of each row.
    sample_weight : array of shape (n_rows,), optional
        The weight of a pair is the product of those of its rows.
    bins : int
        The number of bins of equal width from 0.5 to 1.
    average : {"queries", "pairs"}
        The mean over queries of each query's mean, as in the objective; or the mean over all pairs.

    Returns
    -------
    reliability : Reliability

    Examples
    --------
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.evaluation import reliability
    >>> X, y = make_ranking(500, 3, noise=1.0, random_state=0)
    >>> found = reliability(y, X[:, 0], bins=5)
    >>> found.n_pairs
    124750
    >>> bool(abs(found.share.sum() - 1) < 1e-12)
    True
    """
    check_count("bins", bins)
    edges = np.linspace(0.5, 1.0, bins + 1)
    fine = _fine_edges(edges)
    preferences = as_preferences(y, qid, sample_weight)
    found = _counts(preferences, as_vector(scores, "scores", preferences.n_rows), fine, average)
    bin_of_window = np.searchsorted(edges, fine[:-1], side="right") - 1
    right, wrong, stated = (np.bincount(bin_of_window, part, bins) for part in _windows(found))
    share = np.asarray(right + wrong, dtype=np.float64)
    empty = share < SMALLEST_SHARE
    share[empty] = 0.0
    whole = np.where(empty, np.nan, share)
    return Reliability(edges, share, stated / whole, right / whole, found.log_loss, found.n_pairs)


class _Counts(NamedTuple):
    """The mean loss of the hinge at each distance and the fraction of pairs below it, for both signs."""

    distance: FloatArray
    at_distance: FloatArray  # shape (2, n_distances, 2)
    log_loss: float
    n_pairs: int


def _counts(preferences: Preferences, scores: FloatVector, fine: FloatArray, average: str) -> _Counts:
    distance = _distances(fine, float(np.ptp(scores)))
    loss = Hinge(preferences, average=average)
    found = [
        [loss.at_margin(sign * scores, margin)[::2] for margin in distance.tolist()] for sign in (1.0, -1.0)
    ]
    value = Logistic(preferences, average=average).value(scores)
    return _Counts(distance, np.array(found), value, preferences.n_pairs)


def _distances(probability: FloatArray, score_range: float) -> FloatArray:
    """Return the differences of scores with given probabilities, beyond all differences for 1."""
    return np.minimum(logit(probability), score_range + 1.0)


def _fine_edges(edges: FloatArray) -> FloatArray:
    """Return edges of windows of probability that are narrow where its curvature is large.

    Given the mean of |d| in a window [a, b], the error of the mean probability is at most
    max |p''| (b - a)^2 / 8. With p = (1 + sin u) / 2, equal steps of u have the same bound, step^2 / 8. The
    last step is split further, as its window of |d| is unbounded.
    """
    steps = (1 + np.sin(np.linspace(0.0, np.pi / 2, WINDOWS + 1))) / 2
    tail = 1 - (1 - steps[-2]) * 10.0 ** -np.arange(1, 4)
    return np.union1d(edges, np.concatenate([steps, tail]))


def _windows(found: _Counts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return per window the fractions of pairs in the predicted and the other order, and their sum of p."""
    distance = found.distance
    (n_right, right, right_sum), (n_wrong, wrong, wrong_sum) = (
        _inside(distance, *columns.T) for columns in found.at_distance
    )
    tied = max(1.0 - n_right - n_wrong, 0.0)  # counted on both sides of zero
    right[0], wrong[0] = max(right[0] - tied / 2, 0.0), max(wrong[0] - tied / 2, 0.0)
    low, high = distance[:-1], distance[1:]
    share = right + wrong
    mean = np.divide(right_sum + wrong_sum, share, where=share > 0, out=low.copy())
    return right, wrong, share * _mean_probability(np.clip(mean, low, high), low, high)


def _inside(
    distance: FloatArray, shortfall: FloatArray, below: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the fraction of pairs with d < 0, and per window [a, b) the fraction and the sum of d.

    With N(t) the fraction of pairs below t and H(t) the sum of t - d over them, the sum of b - d over the
    pairs of a window is H(b) - H(a) - (b - a) N(a).
    """
    width, share = np.diff(distance), np.maximum(np.diff(below), 0.0)
    return below[0], share, distance[1:] * share - (np.diff(shortfall) - width * below[:-1])


def _mean_probability(mean: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the mean of p = 1 / (1 + exp(-d)) over a window, from the mean of d.

    p is concave, so its mean is between the chord at the mean and p(mean). The result is 1/3 of the first and
    2/3 of the second, as in Simpson's rule, which is accurate for evenly spread values.
    """
    part = np.divide(mean - low, high - low, where=high > low, out=np.zeros_like(mean))
    chord = expit(low) + part * (expit(high) - expit(low))
    return (2 * expit(mean) + chord) / 3
