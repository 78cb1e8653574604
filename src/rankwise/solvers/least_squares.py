"""Closed forms for pairwise least squares: minimize form(Phi w) + alpha ||w||^2.

With the form s'L s - 2 s'r + constant, L = R'R and r = R'z, the solution is
``w = (Phi'L Phi + alpha I)^-1 Phi'r`` in the primal, equation (28) of Pahikkala et al. (2009), and
``w = Phi'R'b`` with ``b = (R K R' + alpha I)^-1 z`` in the dual, which is equation (17) made symmetric: K is
Phi Phi', and a = R'b are the coefficients of the kernel. Several outputs are several columns of r and z.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankwise.core.memory import available_memory, require_memory
from rankwise.core.types import FloatArray
from rankwise.data.design import Design, as_design, float_matrix, row_blocks
from rankwise.data.precision import Precision
from rankwise.functions.kernel_design import KernelDesign
from rankwise.losses import LeastSquares
from rankwise.solvers.certificate import StoppingRule
from rankwise.solvers.conjugate_gradients import solve_conjugate_gradients
from rankwise.solvers.errors import ErrorModel
from rankwise.solvers.least_squares_certificate import (
    Found,
    certificate,
    closed_form,
    gradient_certificate,
    normal_certificate,
)
from rankwise.solvers.result import SolverResult
from rankwise.solvers.spectrum import Spectrum, solve_shifted

# Entries of a block of rows that is centered and multiplied while it is in a cache.
BLOCK_ENTRIES = 1 << 18
# Iterations that cost less than a closed form, and operations of a closed form that cost next to nothing.
FEW_ITERATIONS, FEW_OPERATIONS = 60, 1e9
# Conjugate gradients are for problems whose closed form takes more operations than this (some seconds), and
# more than this many passes over the data.
CLOSED_FORM_OPERATIONS = 5e10
PASSES = 300


def solve_primal(
    design: Design,
    form: LeastSquares,
    alpha: Any,
    *,
    tol: float = 1e-6,
    system: tuple[FloatArray, FloatArray] | None = None,
) -> SolverResult:
    """Solve equation (28) by a Cholesky factorization: O(m n^2 + n^3) for m rows of n features.

    The certificate comes from the normal equations. If it is too coarse for the stopping rule, it takes a
    pass over the data. Outputs may have an alpha each, here as in the other solvers. If the equations of the
    centered design are given, as `system`, the cost is O(n^3) and the range of the columns.
    """
    design, rule = design.centred(), StoppingRule(tol, form.constant)
    model = ErrorModel(design.precision, form.bounds)
    gram, pull = design.normal_equations(form) if system is None else system
    coef = solve_shifted(gram.copy(), alpha, pull)
    found = normal_certificate(gram, pull, form, alpha, coef, model)
    if not np.all(found.gap <= rule.target(found.objective, found.gap)):
        found = certificate(design, form, alpha, coef, model)
    return closed_form(coef, found, rule)


def solve_reduced(
    design: KernelDesign, form: LeastSquares, alpha: float, *, tol: float = 1e-6
) -> SolverResult:
    """Solve the normal equations of b basis rows: O(m b) an iteration, after O(b^3).

    The preconditioner is close to the inverse, so that few iterations suffice. If they do not, as with nearly
    dependent basis rows, and for few rows, equation (28) is solved in closed form: O(m b^2).
    """
    if design.stored * design.shape[1] > FEW_OPERATIONS:
        result = solve_conjugate_gradients(design, form, alpha, tol=tol, max_iter=FEW_ITERATIONS)
        if result.status == "converged":
            return result
    return solve_primal(design, form, alpha, tol=tol)


def solve_dual(design: Design, form: LeastSquares, alpha: Any, *, tol: float = 1e-6) -> SolverResult:
    """Solve equation (17), made symmetric, in terms of the rows: O(m^2 n + m^3).

    Products of sparse rows lose digits if the rows of a query lie far from zero. If the gap exceeds its
    target for that reason, the rows are centered first.
    """
    design, rule = design.centred(), StoppingRule(tol, form.constant)
    model = ErrorModel(design.precision, form.bounds)
    ways = (dual_matrix, _centred_dual_matrix) if sp.issparse(design.X) else (dual_matrix,)
    for make in ways:
        S, lift = make(design, form)
        coef = lift(solve_shifted(S, alpha, form.root.target))
        found = certificate(design, form, alpha, coef, model)
        if np.all(found.gap <= rule.target(*found)):
            break
    return closed_form(coef, found, rule)


def solve_kernel(K: FloatArray, form: LeastSquares, alpha: Any, *, tol: float = 1e-6) -> SolverResult:
    """Solve equation (17), made symmetric, for a kernel matrix; the coefficients are those of the kernel."""
    b = solve_shifted(form.root.congruence(K), alpha, form.root.target)
    a = form.root.adjoint(b)
    scores = K @ a
    value, coefficients = form.value_and_coefficients(scores)
    objective = value + alpha * np.sum(a * scores, axis=0)
    half = coefficients / 2 + alpha * a  # of the gradient in the function space
    found = _kernel_certificate(K, form, alpha, a, objective, half, 2.0 * np.abs(scores).max(axis=0))
    return closed_form(a, found, StoppingRule(tol, form.constant))


def _kernel_certificate(
    K: FloatArray,
    form: LeastSquares,
    alpha: Any,
    a: FloatArray,
    objective: Any,
    half: FloatArray,
    score_range: Any,
) -> Found:
    """Return the certificate in the function space, where a row has the norm K_ii^(1/2).

    `length` bounds the sum of the absolute terms of the function.
    """
    size = np.sqrt(max(float(K.diagonal().max()), float(np.finfo(np.float64).tiny)))
    model = ErrorModel(Precision.of_span(len(K), size), form.bounds)
    magnitude = np.abs(K) @ np.abs(a)
    length = np.maximum(np.sqrt(np.sum(np.abs(a) * magnitude, axis=0)), magnitude.max(axis=0) / size)
    lost = model.precision.rows * (size * np.sum(np.abs(half), axis=0)) ** 2
    gradient_norm = 2.0 * np.sqrt(np.maximum(np.sum(half * (K @ half), axis=0), 0.0) + lost)
    weights = np.asarray(length)[None]
    return gradient_certificate(model, alpha, weights, objective, gradient_norm, score_range)


def solve_path(features: Any, form: LeastSquares, alphas: ArrayLike) -> FloatArray:
    """Return the weights for each alpha from one eigendecomposition, as in equations (31) and (42).

    Parameters
    ----------
    features : array, sparse matrix or Design of shape (m, n)
        The rows in the function space: X, or the features of a `KernelMap`.
    form : LeastSquares
    alphas : array of shape (n_alphas,)

    Returns
    -------
    weights : array of shape (n_alphas, n), or (n_alphas, n_outputs, n) if the form has several outputs
        Cost O(m n^2 + n^3), or O(m^2 n + m^3) if m < n, and O(n) or O(m) times n for each alpha and output.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Preferences
    >>> from rankwise.losses import LeastSquares
    >>> form = LeastSquares(Preferences.from_scores([2.0, 0.0]), ties="keep")
    >>> solve_path(np.array([[1.0], [0.0]]), form, [0.5, 1.5])
    array([[1. ],
           [0.5]])
    """
    design = as_design(features).centred()
    if design.shape[1] <= design.shape[0]:
        gram, pull = design.normal_equations(form)
        return Spectrum.of(gram, pull).solutions(alphas)
    S, lift = dual_matrix(design, form)
    return Spectrum.of(S, form.root.target).solutions(alphas, lift)


def path_solver(design: Design, form: LeastSquares, *, tol: float) -> Callable[[float], SolverResult]:
    """Return a function that solves for an alpha, with a certificate; one decomposition serves all alphas.

    Cost O(m n^2 + n^3) once and O(n^2) for each alpha; if m < n, O(m^2 n + m^3) and O(m n).
    """
    design, rule = design.centred(), StoppingRule(tol, form.constant)
    model = ErrorModel(design.precision, form.bounds)
    primal, lift = design.shape[1] <= design.shape[0], None
    if primal:
        gram, pull = design.normal_equations(form)
        spectrum = Spectrum.of(gram.copy(), pull)
    else:
        S, lift = dual_matrix(design, form)
        spectrum = Spectrum.of(S, form.root.target)

    def solve(alpha: float) -> SolverResult:
        coef = spectrum.solutions([alpha], lift)[0]
        if primal:
            found = normal_certificate(gram, pull, form, alpha, coef, model)
            if found.gap <= rule.target(found.objective, found.gap):
                return closed_form(coef, found, rule)
        return closed_form(coef, certificate(design, form, alpha, coef, model), rule)

    return solve


def solve_kernel_path(K: FloatArray, form: LeastSquares, alphas: ArrayLike) -> FloatArray:
    """Return the coefficients of the kernel for each alpha, shape (n_alphas, [n_outputs,] m)."""
    spectrum = Spectrum.of(form.root.congruence(K), form.root.target)
    return spectrum.solutions(alphas, form.root.adjoint)


def dual_matrix(design: Design, form: LeastSquares) -> tuple[FloatArray, Any]:
    """Return R Phi Phi'R' and the function that maps b to the weights Phi'R'b."""
    root = form.root
    if not sp.issparse(design.X):
        C = root.apply(design.dense())
        return C @ C.T, lambda b: C.T @ b
    X = float_matrix(design.X)
    return root.congruence((X @ X.T).toarray()), lambda b: X.T @ root.adjoint(b)


def _centred_dual_matrix(design: Design, form: LeastSquares) -> tuple[FloatArray, Any]:
    """Return `dual_matrix` from columns that are made dense and centered, some at a time."""
    root, (m, n) = form.root, design.shape
    X = float_matrix(design.X).tocsc()
    S = np.zeros((len(root.target),) * 2)
    for part in row_blocks(n, m, BLOCK_ENTRIES):
        C = root.apply(form.centred(X[:, part].toarray()))
        S += C @ C.T
    return S, lambda b: design.rmatvec(root.adjoint(b)) if b.ndim == 1 else design.rmatmat(root.adjoint(b))


def cheapest_solver(n_rows: int, n_features: int, nnz: int, root_is_sparse: bool) -> str:
    """Choose by the number of operations, among the closed forms whose matrices fit into memory.

    Examples
    --------
    >>> cheapest_solver(500_000, 50, 25_000_000, True)
    'primal'
    >>> cheapest_solver(100, 20_000, 2_000_000, True)
    'dual'
    >>> cheapest_solver(100_000, 100_000, 5_000_000, True)
    'cg'
    """
    m, n = float(n_rows), float(n_features)
    size = {"primal": n, "dual": m}
    operations = {
        "primal": m * n * n + n**3 / 3,
        "dual": m * nnz + m**3 / 3 + (0.0 if root_is_sparse else m**3 + m * m * n),
    }
    free = available_memory() or np.inf
    closed = min((name for name in size), key=operations.__getitem__)
    limit = max(CLOSED_FORM_OPERATIONS, 4.0 * PASSES * nnz)
    # Two arrays of that size are held, and the rest of the program needs memory too.
    return closed if operations[closed] <= limit and 32 * size[closed] ** 2 <= free else "cg"


def check_closed_form(
    closed: str, design: Design, form: LeastSquares, name: str, way_out: str, n_matrices: int = 2
) -> None:
    """Refuse the closed form in terms of features or of rows whose matrices do not fit into memory."""
    m, n = design.shape
    size = n if closed == "primal" else m
    dense_rows = 0 if closed == "primal" and form.root_is_sparse else m * n
    if closed == "dual" and sp.issparse(design.X):
        dense_rows = 2 * m * m  # the sparse product of the rows with each other
    what = f"{name} on {m} rows of {n} features, with matrices of {size} x {size},"
    require_memory(8 * (n_matrices * size**2 + dense_rows), what, way_out)
