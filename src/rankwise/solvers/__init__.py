"""Solvers of mean pairwise loss + alpha ||w||^2; each sees the data only through products."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_imports

if TYPE_CHECKING:
    from rankwise.solvers.bundle import solve_bundle as solve_bundle
    from rankwise.solvers.descent import Descent as Descent, descent_of as descent_of
    from rankwise.solvers.endings import InterruptedWarning as InterruptedWarning
    from rankwise.solvers.least_squares import (
        solve_conjugate_gradients as solve_conjugate_gradients,
        solve_dual as solve_dual,
        solve_kernel as solve_kernel,
        solve_kernel_path as solve_kernel_path,
        solve_path as solve_path,
        solve_primal as solve_primal,
        solve_reduced as solve_reduced,
    )
    from rankwise.solvers.newton import solve_newton as solve_newton
    from rankwise.solvers.registry import solve_sample as solve_sample
    from rankwise.solvers.registry import (
        SOLVERS as SOLVERS,
        Solver as Solver,
        chosen_solver as chosen_solver,
        solvers_of as solvers_of,
    )
    from rankwise.solvers.result import STATUSES as STATUSES, Monitor as Monitor, SolverResult as SolverResult


__getattr__, __dir__, __all__ = lazy_imports(__name__)
