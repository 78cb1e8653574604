"""Ranking SVMs as explicit quadratic programmes with one slack a pair, solved by Clarabel.

A pair is a tuple (better, worse, weight, target, query), as in `reference`.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse
from scipy.special import entr, expit

import reference
from rankwise.preferences.ranking import Ranking


@dataclass
class Optimum:
    """The minimum of sum_k weight_k l(d_k' w) + alpha ||w||^2 lies between `lower` and `objective`, at
    `coef`."""

    coef: np.ndarray
    objective: float
    lower: float


def listed(preferences, average="queries"):
    """The pairs of a structure, weighted so that a sum over them is the mean loss."""
    better, worse, magnitude, weight = preferences.pairs()
    query, importance = np.zeros(len(preferences), dtype=int), {}
    if isinstance(preferences, Ranking):
        query = preferences.groups()
        if preferences.query_weight is not None:
            importance = dict(zip(query.tolist(), preferences.query_weight.tolist(), strict=True))
    pairs = zip(better, worse, weight, magnitude, query[better].tolist(), strict=True)
    return reference.normalised(list(pairs), average, importance)


def solve(X, pairs, alpha, loss="hinge"):
    """Minimise sum over pairs of weight l(s_better - s_worse) + alpha ||w||^2 with s = X w.

    The bound comes from Clarabel's multipliers, moved into the feasible set of the dual programme, so it
    holds whatever Clarabel's own accuracy:

        hinge           max 1'z - ||D'z||^2 / (4 alpha)                       over 0 <= z <= weight
        squared hinge   max 1'z - ||D'z||^2 / (4 alpha) - sum z^2 / (4 weight)  over 0 <= z
        logistic        max sum weight H(z / weight) - ||D'z||^2 / (4 alpha)    over 0 <= z <= weight

    with the entropy H. The multipliers of the logistic loss are its slopes.
    """
    pairs = [pair for pair in pairs if pair[2] > 0]
    better, worse, weight, *_ = (np.array(column) for column in zip(*pairs, strict=True))
    D = X[better] - X[worse]
    if loss == "logistic":
        return _solve_logistic(D, weight, alpha)
    w, z = _clarabel(D, weight, alpha, loss)
    excess = np.maximum(0, 1 - D @ w)
    value = weight @ (excess if loss == "hinge" else excess**2) + alpha * w @ w
    z = np.clip(z, 0, weight if loss == "hinge" else np.inf)
    lower = z.sum() - np.sum((D.T @ z) ** 2) / (4 * alpha)
    if loss == "squared_hinge":
        lower -= np.sum(z**2 / (4 * weight))
    return Optimum(w, float(value), float(lower))


def _solve_logistic(D, weight, alpha):
    """Solve over (w, t, u, v): u >= exp(-t), v >= exp(-D w - t) and u + v <= 1, so that t is the loss."""
    m, n = D.shape
    P = sparse.diags(np.concatenate([np.full(n, 2 * alpha), np.zeros(3 * m)]), format="csc")
    q = np.concatenate([np.zeros(n), weight, np.zeros(2 * m)])
    A, right = np.zeros((7 * m, n + 3 * m)), np.zeros(7 * m)
    k = np.arange(m)
    t, u, v = n + k, n + m + k, n + 2 * m + k
    A[k, u] = A[k, v] = right[k] = 1.0
    for first, bounded in ((m + 3 * k, u), (4 * m + 3 * k, v)):
        A[first, t], right[first + 1], A[first + 2, bounded] = 1.0, 1.0, -1.0
    A[4 * m + 3 * k, :n] = D
    cones = [clarabel.NonnegativeConeT(m), *[clarabel.ExponentialConeT()] * (2 * m)]
    w = np.array(clarabel.DefaultSolver(P, q, sparse.csc_matrix(A), right, cones, _options()).solve().x)[:n]
    z = expit(-D @ w)
    lower = weight @ (entr(z) + entr(1 - z)) - np.sum((D.T @ (weight * z)) ** 2) / (4 * alpha)
    return Optimum(w, float(weight @ np.logaddexp(0, -D @ w) + alpha * w @ w), float(lower))


def _options():
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    options.max_iter = 500
    return options


def _clarabel(D, weight, alpha, loss):
    """Solve over (w, slack): D w + slack >= 1, slack >= 0; give w and the multipliers of the first."""
    m, n = D.shape
    slack_curve = np.zeros(m) if loss == "hinge" else 2 * weight
    P = sparse.diags(np.concatenate([np.full(n, 2 * alpha), slack_curve]), format="csc")
    q = np.concatenate([np.zeros(n), weight if loss == "hinge" else np.zeros(m)])
    eye = sparse.identity(m)
    A = sparse.bmat([[-sparse.csr_matrix(D), -eye], [None, -eye]], format="csc")
    right = np.concatenate([-np.ones(m), np.zeros(m)])
    solution = clarabel.DefaultSolver(P, q, A, right, [clarabel.NonnegativeConeT(2 * m)], _options()).solve()
    return np.array(solution.x)[:n], np.array(solution.z)[:m]
