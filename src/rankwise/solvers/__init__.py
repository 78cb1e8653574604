"""Solvers of mean pairwise loss + alpha ||w||^2; each sees the data only through products."""

from rankwise.solvers.bundle import solve_bundle
from rankwise.solvers.descent import Descent, descent_of
from rankwise.solvers.least_squares import (
    solve_conjugate_gradients,
    solve_dual,
    solve_kernel,
    solve_kernel_path,
    solve_path,
    solve_primal,
    solve_reduced,
)
from rankwise.solvers.newton import solve_newton
from rankwise.solvers.registry import SOLVERS, Solver, chosen_solver, solvers_of
from rankwise.solvers.result import STATUSES, InterruptedWarning, Monitor, SolverResult
from rankwise.solvers.sample import solve_sample

__all__ = [
    "SOLVERS",
    "STATUSES",
    "Descent",
    "InterruptedWarning",
    "Monitor",
    "Solver",
    "SolverResult",
    "chosen_solver",
    "descent_of",
    "solve_bundle",
    "solve_conjugate_gradients",
    "solve_dual",
    "solve_kernel",
    "solve_kernel_path",
    "solve_newton",
    "solve_path",
    "solve_primal",
    "solve_reduced",
    "solve_sample",
    "solvers_of",
]
