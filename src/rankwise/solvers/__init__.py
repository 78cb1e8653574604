"""Solvers of mean pairwise loss + alpha ||w||^2; each sees the data only through products."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwise.solvers.bundle import solve_bundle
from rankwise.solvers.descent import Descent, descent_of
from rankwise.solvers.newton import solve_newton
from rankwise.solvers.registry import SOLVERS, Solver, chosen_solver, solvers_of
from rankwise.solvers.result import STATUSES, Monitor, SolverResult
from rankwise.solvers.sample import solve_sample

if TYPE_CHECKING:
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

# The others stand on scipy or scikit-learn, and are imported when first used: commands start without these.
_LATER = ("rankwise.solvers.endings", "rankwise.solvers.least_squares")


def __getattr__(name: str) -> Any:
    if name in __all__:
        homes = map(import_module, _LATER)
        return next(getattr(home, name) for home in homes if hasattr(home, name))
    raise AttributeError(f"module 'rankwise.solvers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
