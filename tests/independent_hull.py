"""Programme (27) of Fung et al. (2005) as it is written, one threshold an edge, solved by Clarabel."""

from itertools import product

import clarabel
import numpy as np
from scipy import sparse


def solve(F, codes, edges, alpha, *, slack="squared", slack_per="row", weight=None, matrix=None):
    """Minimise sum_r weight_r y_r^p / sum_r weight_r + w'(alpha I + matrix) w over (w, y, gamma, gamma_hat).

    For each edge (i, j): gamma + F_i w + y_i >= 0, gamma_hat - F_j w + y_j >= 0, gamma + gamma_hat <= -1,
    y >= 0. Rows of `F` that are in no edge's class have no slack. Gives (w, objective).
    """
    n, _, found = _solved(F, codes, edges, alpha, slack, slack_per, weight, matrix)
    assert found.status == clarabel.SolverStatus.Solved, found.status
    return np.array(found.x)[:n], float(found.obj_val)


def feasible_objective(F, codes, edges, alpha, slack, w, gamma):
    """The objective with one slack a row at w and gamma, gamma_hat = -1 - gamma, in extended precision."""
    w, gamma = w.astype(np.longdouble), gamma.astype(np.longdouble)
    scores, y = F.astype(np.longdouble) @ w, np.zeros(len(F), dtype=np.longdouble)
    for k, (high, low) in enumerate(edges):
        y = np.where(codes == high, np.maximum(y, -gamma[k] - scores), y)
        y = np.where(codes == low, np.maximum(y, scores + 1 + gamma[k]), y)
    return float(np.mean(y**2 if slack == "squared" else y) + alpha * (w @ w))


def solution(F, codes, edges, alpha, *, slack="squared", slack_per="row", weight=None, matrix=None):
    """Return (w, objective, gamma), which may be inexact where no settings of Clarabel suffice."""
    n, n_units, found = _solved(F, codes, edges, alpha, slack, slack_per, weight, matrix)
    x = np.array(found.x)
    return x[:n], float(found.obj_val), x[n + n_units :: 2]


def interval(F, codes, edges, alpha, *, slack="squared", slack_per="row", weight=None):
    """Return bounds of the minimum, which differ where Clarabel could not go on with any settings."""
    *_, found = _solved(F, codes, edges, alpha, slack, slack_per, weight, None)
    return float(found.obj_val_dual), float(found.obj_val)


def _solved(F, codes, edges, alpha, slack, slack_per, weight, matrix):
    """Solve with the first settings under which Clarabel does not give up: then its gap is up to 10%."""
    m, n = F.shape
    weight = np.ones(m) if weight is None else weight
    inside = np.array([c in {k for edge in edges for k in edge} for c in codes]) & (weight > 0)
    units = [(r, None) for r in range(m) if inside[r]]
    if slack_per == "edge":
        units = [(r, k) for k, edge in enumerate(edges) for r in range(m) if inside[r] and codes[r] in edge]
    number = {unit: position for position, unit in enumerate(units)}
    n_units, n_edges = len(units), len(edges)
    width = n + n_units + 2 * n_edges
    rows, right = [], []

    def at_least(entries, bound):  # sum of entries >= bound, in Clarabel's form A x + s = b, s >= 0
        row = np.zeros(width)
        for where, value in entries:
            row[where] -= value
        rows.append(row)
        right.append(-bound)

    for k, (high, low) in enumerate(edges):
        gamma, gamma_hat = n + n_units + 2 * k, n + n_units + 2 * k + 1
        for r in range(m):
            y = n + number.get((r, k if slack_per == "edge" else None), 0)
            if inside[r] and codes[r] == high:
                at_least([(slice(0, n), F[r]), (gamma, 1.0), *([(y, 1.0)] if slack != "none" else [])], 0.0)
            if inside[r] and codes[r] == low:
                at_least(
                    [(slice(0, n), -F[r]), (gamma_hat, 1.0), *([(y, 1.0)] if slack != "none" else [])], 0.0
                )
        at_least([(gamma, -1.0), (gamma_hat, -1.0)], 1.0)
    for u in range(n_units):
        at_least([(n + u, 1.0)], 0.0)
    share = np.array([weight[r] for r, _ in units]) / weight[inside].sum()
    P = np.zeros((width, width))
    P[:n, :n] = 2 * (alpha * np.eye(n) + (0 if matrix is None else matrix))
    q = np.zeros(width)
    if slack == "squared":
        P[range(n, n + n_units), range(n, n + n_units)] = 2 * share
    else:
        q[n : n + n_units] = share
    A, cones = sparse.csc_matrix(np.array(rows)), [clarabel.NonnegativeConeT(len(rows))]
    for equilibrate, regularization in product((True, False), (1e-8, 1e-12)):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        settings.equilibrate_enable = equilibrate
        settings.static_regularization_constant = regularization
        found = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(P)), q, A, np.array(right), cones, settings
        ).solve()
        if found.status == clarabel.SolverStatus.Solved:
            break
    return n, n_units, found
