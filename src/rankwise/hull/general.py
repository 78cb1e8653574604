"""The convex-hull program, solved by a general solver of quadratic programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.data.design import Design
from rankwise.hull.certificate import HullOptimum, HullStoppingRule, Penalty, certified
from rankwise.hull.program import DualPoint, HullProgram
from rankwise.solvers.result import Monitor, SolverResult


def has_general_solver() -> bool:
    """Return whether the general solver is installed."""
    try:
        import clarabel  # noqa: F401
    except ImportError:
        return False
    return True


def solve_general(
    design: Design,
    program: HullProgram,
    penalty: Penalty,
    *,
    rule: HullStoppingRule,
    max_iter: int,
    monitor: Monitor,
) -> tuple[HullOptimum, SolverResult]:
    """Solve the program over weights, thresholds and slacks by Clarabel, and certify the solution."""
    try:
        import clarabel
    except ImportError:
        raise ImportError("solver='clarabel' needs Clarabel: pip install 'rankwise[hull]'.") from None
    A, right, cuts = _constraints(design, program)
    P, q = _objective(design.shape[1], program, penalty)
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, max_iter
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = min(rule.tol, 1e-8)
    solution = clarabel.DefaultSolver(
        P, q, A, right, [clarabel.NonnegativeConeT(len(right))], settings
    ).solve()
    n = design.shape[1]
    x = np.array(solution.x)
    w, thresholds = x[:n], x[n : n + program.n_thresholds]
    parts = np.split(np.array(solution.z), cuts)
    dual = DualPoint(np.zeros(program.n_units), np.zeros(program.n_units), parts[3])
    dual.below[program.low >= 0], dual.above[program.high >= 0] = parts[:2]
    optimum = certified(design, program, penalty, w, design.matvec(w), thresholds, dual)
    target = rule.target_gap(optimum.certificate)
    monitor.record(optimum.objective, optimum.bound, optimum.coef, target)
    return optimum, optimum.finalised(solution.iterations, "converged", monitor.history, rule)


def _objective(n: int, program: HullProgram, penalty: Penalty) -> tuple[Any, Any]:
    matrix = penalty.alpha * sp.identity(n) if penalty.matrix is None else sp.csc_matrix(penalty.matrix)
    squares = 2.0 * matrix
    curve = {"squared": 2.0 * program.weight, "absolute": 0.0 * program.weight, "none": np.empty(0)}
    slacks = curve[program.slack]
    P = sp.block_diag([squares, sp.csc_matrix((program.n_thresholds,) * 2), sp.diags(slacks)], format="csc")
    linear = program.weight if program.slack == "absolute" else 0.0 * slacks
    return sp.triu(P, format="csc"), np.concatenate([np.zeros(n + program.n_thresholds), linear])


def _constraints(design: Design, program: HullProgram) -> tuple[Any, Any, Any]:
    """Return A and right of A x <= right for x = (w, t, y): lower, upper, slack and edge constraints."""
    p, m = program, program.n_units
    X = sp.csr_matrix(design.X).astype(np.float64)[p.row]
    lower, upper = np.flatnonzero(p.low >= 0), np.flatnonzero(p.high >= 0)
    slack = -sp.identity(m, format="csr") if p.slack != "none" else sp.csr_matrix((m, 0))
    positive = slack if p.slack == "absolute" else slack[:0]

    def chosen(columns: Any) -> Any:
        return sp.csr_matrix(
            (np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), p.n_thresholds)
        )

    def none(rows: int, columns: int) -> Any:
        return sp.csr_matrix((rows, columns))

    n, n_edges, edges = X.shape[1], len(p.edge_low), chosen(p.edge_high) - chosen(p.edge_low)
    parts = [
        [-X[lower], chosen(p.low[lower]), slack[lower]],
        [X[upper], -chosen(p.high[upper]), slack[upper]],
        [none(positive.shape[0], n), none(positive.shape[0], p.n_thresholds), positive],
        [none(n_edges, n), edges, none(n_edges, slack.shape[1])],
    ]
    A = sp.vstack([sp.hstack(part) for part in parts], format="csc")
    right = np.concatenate([np.zeros(A.shape[0] - len(p.edge_low)), -np.ones(len(p.edge_low))])
    return A, right, np.cumsum([len(lower), len(upper), positive.shape[0]])
