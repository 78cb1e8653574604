"""Whether probabilities of pairs come true: all pairs by the probability stated, counted and never listed.

The scores are log odds: with d = s_better - s_worse, the row with the higher score is above the other with
probability 1 / (1 + exp(-|d|)). A bin of probabilities is a window of |d|. The pairs in it that are in the
stated order are those with d in the window, the others those with -d in it, and both are counted as the hinge
loss counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from rankwise.core.checks import check_count
from rankwise.core.text import table
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.backends import in_memory
from rankwise.losses import Hinge, Logistic
from rankwise.preferences import as_preferences

# The windows in which the mean difference of the scores is found, beside those that the bins are.
WINDOWS = 40
# A bin whose share is smaller is empty: sums of weights are not more exact.
SMALLEST_SHARE = 1e-13


@dataclass(frozen=True, repr=False)
class Reliability:
    """What `reliability` found, bin by bin of the probability that was stated. Printed, it is a table.

    Attributes
    ----------
    edges : array of shape (n_bins + 1,)
        From 0.5 to 1: each pair is seen from the side of the row with the higher score.
    share : array of shape (n_bins,)
        The share of the pairs in each bin, by their weights in the mean; they sum to 1.
    stated : array of shape (n_bins,)
        The mean probability of the pairs of a bin, NaN without pairs.
    observed : array of shape (n_bins,)
        The share of these pairs whose row with the higher score is the better one; equal scores count half.
    log_loss : float
        The mean over all pairs of log(1 + exp(-(s_better - s_worse))). A coin has log 2.
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
        """The expected calibration error: the mean over pairs of how far stated and observed are apart."""
        filled = self.share > 0
        return float(np.sum((self.share * np.abs(self.observed - self.stated))[filled]))

    @property
    def overconfidence(self) -> float:
        """The mean of stated - observed over pairs: above 0 for a model that is too sure of itself."""
        filled = self.share > 0
        return float(np.sum((self.share * (self.stated - self.observed))[filled]))

    def __repr__(self) -> str:
        rows = [
            [f"{low:.2f} to {high:.2f}", f"{share:.4f}", *(_cell(value) for value in values)]
            for low, high, share, *values in zip(
                self.edges[:-1], self.edges[1:], self.share, self.stated, self.observed, strict=True
            )
        ]
        title = (
            f"{self.n_pairs:,} pairs: log loss {self.log_loss:.4f}, "
            f"calibration error {self.calibration_error:.4f}"
        )
        return "\n".join([title, *table(["probability", "share of pairs", "stated", "observed"], rows)])


def _cell(value: float) -> str:
    return "-" if value != value else f"{value:.4f}"


def reliability(
    y: Any,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    bins: int = 10,
    average: str = "queries",
) -> Reliability:
    """Compare stated probabilities of pairs with what happened, exactly over all pairs.

    Of the pairs whose more likely order has a probability in a bin, which share is in that order? Pairs of
    equal labels are left out. Shares of pairs are exact. The mean stated probability of a bin is found from
    the exact number of pairs and their exact mean difference in narrow windows of it: it is within 2e-4 for
    any scores, and far closer for scores that are spread out.

    Cost: about 100 counts of pairs, O(m log m) each, whatever the number of pairs; O(l) for l explicit pairs.

    Parameters
    ----------
    y : array of shape (n_rows,), or Preferences
        Labels, higher is better. Preferences have their own queries and weights.
    scores : array of shape (n_rows,)
        Log odds, such as `RankLogistic.predict` returns; divided by the temperature, where there is one.
    qid : array of shape (n_rows,), optional
        The query of each row.
    sample_weight : array of shape (n_rows,), optional
        A pair weighs the product of its rows' weights.
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
    preferences = as_preferences(in_memory(y), in_memory(qid), sample_weight)
    loss, log_odds = Hinge(preferences, average=average), preferences.check_scores(in_memory(scores))
    edges = np.linspace(0.5, 1.0, bins + 1)
    fine = _fine_edges(edges)
    bin_of_window = np.searchsorted(edges, fine[:-1], side="right") - 1
    right, wrong, stated = (np.bincount(bin_of_window, part, bins) for part in _windows(loss, log_odds, fine))
    share = np.asarray(right + wrong, dtype=np.float64)
    empty = share < SMALLEST_SHARE
    share[empty] = 0.0
    whole = np.where(empty, np.nan, share)
    value = Logistic(preferences, average=average).value(log_odds)
    return Reliability(edges, share, stated / whole, right / whole, value, preferences.n_pairs)


def _fine_edges(edges: FloatArray) -> FloatArray:
    """Return edges of windows of probability that are narrow where the probability bends.

    In a window [a, b] of |d| its mean is off by at most max |p''| (b - a)^2 / 8 if all that is known is the
    mean of |d|. With p = (1 + sin u) / 2 equal steps of u bound it alike everywhere, by step^2 / 8. The last
    step is cut up once more, as its window of |d| has no end.
    """
    steps = (1 + np.sin(np.linspace(0.0, np.pi / 2, WINDOWS + 1))) / 2
    tail = 1 - (1 - steps[-2]) * 10.0 ** -np.arange(1, 4)
    return np.union1d(edges, np.concatenate([steps, tail]))


def _windows(
    loss: Hinge, scores: FloatVector, probability: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each window the share of pairs in the stated order and in the other, and their sum of p."""
    beyond = float(np.ptp(scores)) + 1.0
    distance = np.minimum(logit(probability), beyond)
    (n_right, right, right_sum), (n_wrong, wrong, wrong_sum) = (
        _inside(loss, sign * scores, distance) for sign in (1.0, -1.0)
    )
    tied = max(1.0 - n_right - n_wrong, 0.0)  # counted on both sides of zero
    right[0], wrong[0] = max(right[0] - tied / 2, 0.0), max(wrong[0] - tied / 2, 0.0)
    low, high = distance[:-1], distance[1:]
    share = right + wrong
    mean = np.divide(right_sum + wrong_sum, share, where=share > 0, out=low.copy())
    return right, wrong, share * _mean_probability(np.clip(mean, low, high), low, high)


def _inside(loss: Hinge, scores: FloatVector, distance: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return the share of pairs with d below zero, and in each window [a, b) their share and their sum of d.

    With N(t) the share of pairs below t and H(t) the sum of t - d over them, the pairs of a window have the
    sum of b - d that is H(b) - H(a) - (b - a) N(a).
    """
    found = [loss.at_margin(scores, margin) for margin in distance.tolist()]
    shortfall, below = np.array([(value, share) for value, _, share in found]).T
    width, share = np.diff(distance), np.maximum(np.diff(below), 0.0)
    return below[0], share, distance[1:] * share - (np.diff(shortfall) - width * below[:-1])


def _mean_probability(mean: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the mean of p = 1 / (1 + exp(-d)) over a window, from the mean of d.

    p is concave, so that its mean is at most p(mean) and at least the chord's value there; the rule of
    Simpson goes two thirds of the way, which is right for values that are spread evenly.
    """
    part = np.divide(mean - low, high - low, where=high > low, out=np.zeros_like(mean))
    chord = expit(low) + part * (expit(high) - expit(low))
    return (2 * expit(mean) + chord) / 3
