"""Probabilities of ranks from a utility: the cumulative logit model, also called proportional odds."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from rankwise.core.types import FloatArray, FloatVector, IntVector

# The deviation of the prior of the slope, for utilities of deviation 1.
PRIOR = 10.0
# Utilities further than this many interquartile ranges from the quartiles count as if they were there.
FENCE = 3.0


def fit_cumulative(
    utility: FloatVector, codes: IntVector, weight: FloatVector | None = None
) -> tuple[float, FloatVector]:
    """Return the slope s >= 0 and the rising cuts c of P(rank <= k) = 1 / (1 + exp(s U - c_k)).

    They maximize the likelihood of rows with utilities U and ranks 0, 1, ..., each of which must occur. A
    slope of zero means that utilities carry no information: every row then has the frequencies of the ranks.
    If the ranks do not overlap, the likelihood has no maximum; a normal prior of the slope, of
    deviation 10 in units of the utilities' and worth less than a row, ends that.

    Utilities beyond Tukey's outer fences, three interquartile ranges from the quartiles, count as if they
    were at the fences: one wild row would otherwise make the slope zero.

    Cost: O(m) for m rows an evaluation, of which some dozens are usual.

    Examples
    --------
    >>> import numpy as np
    >>> slope, cuts = fit_cumulative(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1]))
    >>> round(abs(slope), 6), cumulative_shares(np.array([5.0]), slope, cuts).round(4).tolist()
    (0.0, [[0.5, 0.5]])
    """
    rows = np.ones(len(codes)) if weight is None else weight
    utility = np.clip(utility, *_fences(utility, rows))
    spread = float(np.std(utility)) or 1.0
    units = utility / spread
    share = np.cumsum(np.bincount(codes, rows) / rows.sum())[:-1]
    logits = np.log(share / (1.0 - share))
    start = np.concatenate([[1.0, logits[0]], np.log(np.maximum(np.diff(logits), 1e-3))])
    found = minimize(
        _loss,
        start,
        args=(units, codes, rows / rows.sum()),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] + [(None, None)] * len(logits),
        options={"maxiter": 1000, "gtol": 1e-9, "ftol": 1e-15},
    ).x
    return float(found[0] / spread), _cuts(found)


def _fences(utility: FloatVector, weight: FloatVector) -> tuple[float, float]:
    """Return the outer fences of weighted utilities; infinite if half of them are equal."""
    order = np.argsort(utility, kind="stable")
    below = np.cumsum(weight[order]) / weight.sum()
    low, high = utility[order[np.minimum(np.searchsorted(below, [0.25, 0.75]), len(order) - 1)]]
    reach = FENCE * (high - low) or np.inf
    return float(low - reach), float(high + reach)


def cumulative_shares(utility: FloatVector, slope: float, cuts: FloatVector) -> FloatArray:
    """Return the probability of each rank for each utility, shape (m, n_ranks); they add up to 1."""
    below = expit(cuts - slope * np.asarray(utility)[:, None])
    edges = np.hstack([np.zeros((len(below), 1)), below, np.ones((len(below), 1))])
    return np.maximum(np.diff(edges, axis=1), 0.0)


def _cuts(parameters: FloatVector) -> FloatVector:
    """Return the cuts: the first one as it is, each other by the logarithm of its distance to the last."""
    return np.cumsum(np.concatenate([parameters[1:2], np.exp(parameters[2:])]))


def _loss(
    parameters: FloatVector, utility: FloatVector, codes: IntVector, weight: FloatVector
) -> tuple[float, FloatVector]:
    """Return minus the mean log likelihood and its gradient.

    With a and b the logits of the ranks below and up to a row's own, the probability of that rank is
    expit(b) expit(-a) (1 - exp(a - b)).
    """
    cuts = _cuts(parameters)
    fence = np.concatenate([[-np.inf], cuts, [np.inf]])
    moved = parameters[0] * utility
    above, below = fence[codes + 1] - moved, fence[codes] - moved
    width = fence[codes + 1] - fence[codes]
    value = np.logaddexp(0, -above) + np.logaddexp(0, below) - np.log(-np.expm1(-width))
    between = 1.0 / np.expm1(width)  # zero where a side is open
    by_above, by_below = -expit(-above) - between, expit(below) + between
    by_cut = np.bincount(codes + 1, weight * by_above, len(fence)) + np.bincount(
        codes, weight * by_below, len(fence)
    )
    tail = np.cumsum(by_cut[1:-1][::-1])[::-1]
    by_gap = tail[1:] * np.exp(parameters[2:])
    by_slope = -float((weight * (by_above + by_below)) @ utility)
    prior = parameters[0] / (PRIOR**2 * len(codes))
    value = float(weight @ value) + prior * parameters[0] / 2
    return value, np.concatenate([[by_slope + prior, tail[0]], by_gap])
