"""Ordinal regression by the textbook: every pair and every choice of boundaries is gone through."""

from itertools import combinations_with_replacement

import clarabel
import numpy as np
from scipy import sparse


def predicted(utility, thresholds):
    """The number of boundaries below each utility, equation (7) of Herbrich et al. (1999)."""
    return np.array([sum(theta < u for theta in thresholds) for u in utility])


def training_error(utility, codes, thresholds, error, weight=None):
    missed = np.abs(predicted(utility, thresholds) - codes)
    loss = missed if error == "absolute" else missed > 0
    return float(np.sum(loss * (1.0 if weight is None else weight)))


def least_error(utility, codes, error, weight=None):
    """The least training error over all ordered boundaries in the gaps of the utilities and outside."""
    distinct = np.unique(utility)
    places = [distinct[0] - 1, *(distinct[1:] + distinct[:-1]) / 2, distinct[-1] + 1]
    choices = combinations_with_replacement(places, int(codes.max()))
    return min(training_error(utility, codes, choice, error, weight) for choice in choices)


def midpoint(utility, codes, k, weight=None, margin=1.0, tol=0.03):
    """Equation (12) over the listed pairs of ranks k and k + 1; None where no pair has zero slack."""
    weight = np.ones(len(utility)) if weight is None else weight
    pairs = [
        (utility[i] - utility[j], (utility[i] + utility[j]) / 2, weight[i] * weight[j])
        for i in np.flatnonzero(codes == k + 1)
        for j in np.flatnonzero(codes == k)
        if weight[i] * weight[j] > 0 and utility[i] - utility[j] >= margin - tol
    ]
    if not pairs:
        return None
    closest = min(pairs)[0]
    near = [(middle, w) for difference, middle, w in pairs if difference <= closest + tol]
    return np.average([middle for middle, _ in near], weights=[w for _, w in near])


def decision(utility, thresholds):
    """Column k is min(U - theta_(k-1), theta_k - U), with infinity at the ends."""
    fence = [-np.inf, *thresholds, np.inf]
    return np.array(
        [[min(u - fence[k], fence[k + 1] - u) for k in range(len(thresholds) + 1)] for u in utility]
    )


def dual_programme(K, codes, C):
    """Solve (10) over all pairs, without a'z = 0, and give the utilities of (11) and the pairs' multipliers.

    K is the kernel matrix of the rows. Q holds the four kernel values of two pairs each.
    """
    first, second = np.triu_indices(len(codes), 1)
    z = np.sign(codes[first] - codes[second]).astype(float)
    first, second, z = first[z != 0], second[z != 0], z[z != 0]
    D = np.zeros((len(z), len(codes)))
    D[np.arange(len(z)), first] = 1
    D[np.arange(len(z)), second] = -1
    ZQZ = (z[:, None] * (D @ K @ D.T)) * z
    a = _maximise(ZQZ, C)
    return K @ (D.T @ (a * z)), a


def _maximise(Q, C):
    """Maximise 1'a - 1/2 a'Qa over 0 <= a <= C."""
    t = len(Q)
    eye = sparse.identity(t)
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    options.max_iter = 500
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(Q)),
        -np.ones(t),
        sparse.vstack([eye, -eye], format="csc"),
        np.concatenate([np.full(t, C), np.zeros(t)]),
        [clarabel.NonnegativeConeT(2 * t)],
        options,
    )
    return np.array(solver.solve().x)
