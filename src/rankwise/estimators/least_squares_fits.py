"""The fits of least squares to one problem, for one alpha or for many from one decomposition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from rankwise.core.checks import as_alphas, check_size
from rankwise.core.states import State
from rankwise.core.threads import thread_count
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.estimators.fits import best_in_error, best_kept, hinted, scores_by
from rankwise.functions.kernel_design import KernelDesign
from rankwise.functions.kernel_parameters import is_linear, kernel_map_of, uses_kernel_matrix
from rankwise.functions.learned import FeatureMap, function_of
from rankwise.losses.least_squares import LeastSquares, share_laplacian, squares_of
from rankwise.model_selection.tunable import Fit, Problem, Space
from rankwise.preferences import Preferences
from rankwise.solvers import (
    STATUSES,
    Monitor,
    SolverResult,
    solve_conjugate_gradients,
    solve_dual,
    solve_kernel,
    solve_kernel_path,
    solve_path,
    solve_primal,
    solve_reduced,
)
from rankwise.solvers.least_squares import cheapest_solver, check_closed_form, path_solver
from rankwise.solvers.spectrum import joined_paths

if TYPE_CHECKING:
    from rankwise.estimators.rank_rls import BaseRankRLS


@dataclass(frozen=True)
class LeastSquaresFits:
    """The fits of least squares, for all outputs."""

    model: BaseRankRLS
    problem: Problem

    @cached_property
    def forms(self) -> list[LeastSquares]:
        """The losses to minimize: one for all outputs, or one for each."""
        return forms_of(self.model, self.problem.outputs)

    @cached_property
    def space(self) -> Space:
        """The function space of all fits."""
        return self.model.space(self.problem)

    def fit(self, alpha: Any, systems: list[Any] | None = None) -> None:
        """Fit the model; `systems` has X'L X and X'r of each form, if they are known."""
        model, problem = self.model, self.problem
        alphas = alpha_of_forms(alpha, len(problem.outputs), len(self.forms))
        solver = self._chosen_solver()
        if uses_kernel_matrix(model, problem.X.shape[0]) and solver == "dual":
            kernel_map = kernel_map_of(model, problem.scales)
            K, tol = kernel_map.fit_kernel(problem.X), float(model.tol)
            pairs = zip(self.forms, alphas, strict=True)
            result = merged([solve_kernel(K, form, one, tol=tol) for form, one in pairs])
            model.store(Fit(kernel_map.function(result.coef), result, solver))
            return
        space = hinted(self.space, model)
        with best_kept(model):
            each = zip(self.forms, alphas, systems or [None] * len(self.forms), strict=True)
            result = merged([self._solved(solver, space.design, *one) for one in each])
        model.store(Fit(space.function(result.coef), result, solver))

    def _chosen_solver(self) -> str:
        model, X, form = self.model, self.problem.X, self.forms[0]
        if isinstance(X, Design) and model.solver == "dual":
            raise ValueError(
                f"solver='dual' needs all rows in one place, but X is {X.location}; use 'cg' or 'primal'."
            )
        if model.solver != "auto":
            return model.solver
        if isinstance(X, Design):
            cheapest = cheapest_solver(X.shape[0], X.shape[1], X.stored, form.root_is_sparse)
            return "primal" if cheapest == "primal" and form.root_is_sparse else "cg"
        if not is_linear(model):
            return "dual" if uses_kernel_matrix(model, X.shape[0]) else "primal"
        stored = X.nnz if sp.issparse(X) else X.size
        return cheapest_solver(X.shape[0], X.shape[1], stored, form.root_is_sparse)

    def _solved(
        self, solver: str, design: Design, form: LeastSquares, alpha: Any, system: Any
    ) -> SolverResult:
        tol = float(self.model.tol)
        if solver != "cg":
            way_out = "solver='cg' keeps no such matrix"
            check_closed_form(solver, design, form, f"solver={solver!r}", way_out)
        if solver == "primal" and isinstance(design, KernelDesign):
            return solve_reduced(design, form, alpha, tol=tol)
        if solver == "dual":
            return solve_dual(design, form, alpha, tol=tol)
        design, form = design.placed_for(form, tol)
        if solver == "primal":
            return solve_primal(design, form, alpha, tol=tol, system=system)
        with best_in_error(Monitor(self.model.verbose, self.model.callback)) as monitor:
            result = solve_conjugate_gradients(
                design, form, alpha, tol=self.model.tol, max_iter=int(self.model.max_iter), monitor=monitor
            )
        if result.status == "interrupted" and len(self.forms) > 1:
            raise KeyboardInterrupt  # the other outputs have no weights yet to keep
        return result

    def functions(self, alphas: FloatArray) -> tuple[FloatArray, FeatureMap | None]:
        """Return the coefficients for each alpha, shape (n_alphas, [n_outputs,] n), and their features."""
        model, X = self.model, self.problem.X
        # A kernel map leaves out what is lost in the rounding of a matrix in single precision.
        rounded = model.kernel == "precomputed" and X.dtype == np.float32
        if uses_kernel_matrix(model, X.shape[0]) and not rounded:
            kernel_map = kernel_map_of(model, self.problem.scales)
            K = kernel_map.fit_kernel(X)
            return joined_paths([solve_kernel_path(K, form, alphas) for form in self.forms]), kernel_map
        self._check_path("path", "fit each alpha with solver='cg'")
        path = joined_paths([solve_path(self.space.design, form, alphas) for form in self.forms])
        return self.space.dual_coef(path), self.space.features

    def _check_path(self, what: str, way_out: str) -> None:
        """Refuse a decomposition that does not fit into memory."""
        design = self.space.design
        closed = "primal" if design.shape[1] <= design.shape[0] else "dual"
        check_closed_form(closed, design, self.forms[0], what, way_out, n_matrices=4)

    def weights(self, alphas: FloatArray) -> Iterator[FloatArray]:
        """Yield the coefficients for each alpha."""
        return iter(self.functions(alphas)[0])

    def state(self) -> State:
        """Return nothing: all alphas are fitted at once."""
        return {}

    def scores(self, alphas: FloatArray, rows: Any) -> FloatArray:
        """Score other rows by the fit for each alpha: shape (n_alphas, n_outputs, n_rows)."""
        coef, features = self.functions(alphas)
        functions = coef.reshape(-1, coef.shape[-1])
        scores = scores_by(functions, features, rows, thread_count(self.model.n_jobs))
        return scores.reshape(len(alphas), len(self.problem.outputs), -1)

    def models(self, alphas: FloatArray) -> Iterator[BaseRankRLS]:
        """Yield the fitted model for each alpha."""
        coef, features = self.functions(alphas)
        for weights in coef:
            model = clone(self.model)
            model.n_features_in_ = self.problem.X.shape[1]
            model.store(Fit(function_of(weights, features)))
            yield model

    # With certificates, of one output.

    @property
    def at_zero(self) -> float:
        """The objective of the zero function."""
        return self.forms[0].constant

    def handing_on(self) -> LeastSquaresFits:
        """Return these fits: all share one decomposition."""
        return self

    def penalty(self, coef: FloatVector) -> float:
        """Return the penalty of weights for an alpha of 1."""
        return float(coef @ coef)

    def solve(self, alpha: float, start: FloatVector | None = None) -> SolverResult:
        """Fit one alpha."""
        return self._path_solver(alpha)

    @cached_property
    def _path_solver(self) -> Callable[[float], SolverResult]:
        self._check_path("alpha_path", "use fewer features")
        return path_solver(self.space.design, self.forms[0], tol=float(self.model.tol))


def forms_of(model: BaseRankRLS, outputs: list[Any]) -> list[LeastSquares]:
    """Return one loss for all outputs if they share it, and one for each otherwise."""
    if len(outputs) > 1 and share_laplacian(outputs, model.cost, model.ties):
        return [_form(model, outputs[0], np.stack([output.values for output in outputs], axis=1))]
    return [_form(model, preferences) for preferences in outputs]


def _form(model: BaseRankRLS, preferences: Preferences, labels: FloatArray | None = None) -> LeastSquares:
    values = preferences.values if labels is None else labels
    check_size("y", 0.0 if values is None else values)
    options: dict[str, Any] = {"cost": model.cost, "ties": model.ties, "average": model.average}
    return squares_of(preferences, labels=labels, n_threads=thread_count(model.n_jobs), **options)


def alpha_of_forms(alpha: Any, n_outputs: int, n_forms: int) -> list[Any]:
    """Return the alpha of each form: a number, or an array if the outputs of a form differ."""
    if np.ndim(alpha) == 0:
        return [float(alpha)] * n_forms
    alphas = as_alphas(alpha)
    if len(alphas) != n_outputs:
        raise ValueError(
            f"alpha must be a number or one for each of {n_outputs} outputs; got {len(alphas)} of them."
        )
    if n_outputs == 1:
        return [float(alphas[0])]
    return [alphas] if n_forms == 1 else alphas.tolist()


def merged(results: list[SolverResult]) -> SolverResult:
    """Join the results of outputs that were solved one after the other."""
    if len(results) == 1:
        return results[0]
    worst = max(results, key=lambda result: STATUSES.index(result.status))
    return SolverResult(
        np.stack([result.coef for result in results]),
        np.array([result.objective for result in results]),
        np.array([result.gap for result in results]),
        max(result.n_iter for result in results),
        worst.status,
        worst.history,
        target_gap=np.array([result.target_gap for result in results]),
    )
