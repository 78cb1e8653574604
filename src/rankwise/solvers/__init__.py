"""Solvers of mean pairwise loss + alpha ||w||^2; each sees the data only through products."""

from rankwise.solvers.bundle import solve_bundle
from rankwise.solvers.newton import solve_newton
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.sample import solve_sample

__all__ = ["Monitor", "SolverResult", "solve_bundle", "solve_newton", "solve_sample"]
