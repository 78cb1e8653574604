"""Solvers of mean pairwise loss + alpha ||w||^2; each sees the data only through products."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_names

if TYPE_CHECKING:
    from rankwise.solvers.bundle import solve_bundle
    from rankwise.solvers.descent import Descent, descent_of
    from rankwise.solvers.endings import InterruptedWarning
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
    from rankwise.solvers.pairs import solve_sample
    from rankwise.solvers.registry import SOLVERS, Solver, chosen_solver, solvers_of
    from rankwise.solvers.result import STATUSES, Monitor, SolverResult

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "rankwise.solvers.bundle": ["solve_bundle"],
        "rankwise.solvers.descent": ["Descent", "descent_of"],
        "rankwise.solvers.endings": ["InterruptedWarning"],
        "rankwise.solvers.least_squares": [
            "solve_conjugate_gradients",
            "solve_dual",
            "solve_kernel",
            "solve_kernel_path",
            "solve_path",
            "solve_primal",
            "solve_reduced",
        ],
        "rankwise.solvers.newton": ["solve_newton"],
        "rankwise.solvers.pairs": ["solve_sample"],
        "rankwise.solvers.registry": ["SOLVERS", "Solver", "chosen_solver", "solvers_of"],
        "rankwise.solvers.result": ["STATUSES", "Monitor", "SolverResult"],
    },
)
