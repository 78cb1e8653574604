"""Closed forms and conjugate gradients for pairwise least squares: minimise form(Phi w) + alpha ||w||^2.

With the form s'L s - 2 s'r + constant, L = R'R and r = R'z, the solution is
``w = (Phi'L Phi + alpha I)^-1 Phi'r`` in the primal, equation (28) of Pahikkala et al. (2009), and
``w = Phi'R'b`` with ``b = (R K R' + alpha I)^-1 z`` in the dual, which is equation (17) made symmetric: K is
Phi Phi', and a = R'b are the coefficients of the kernel. Several outputs are several columns of r and z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rankwise._eigen import eigh
from rankwise._types import FloatArray
from rankwise.design import Design, as_design, float_matrix, row_blocks
from rankwise.kernels import KernelDesign
from rankwise.losses import LeastSquares
from rankwise.solvers.goal import Goal
from rankwise.solvers.result import STATUSES, Monitor, SolverResult, concluded
from rankwise.solvers.rounding import Rounding

# Entries of a block of rows that is centred and multiplied while it is in a cache.
BLOCK_ENTRIES = 1 << 18
# Conjugate gradients go on to this share of the gap that is asked for, so that rounding has the rest.
GAP_SHARE = 0.5
# Iterations that cost less than a closed form, and operations of a closed form that cost next to nothing.
FEW_ITERATIONS, FEW_OPERATIONS = 60, 1e9


def solve_primal(
    design: Design,
    form: LeastSquares,
    alpha: Any,
    *,
    tol: float = 1e-6,
    system: tuple[FloatArray, FloatArray] | None = None,
) -> SolverResult:
    """Solve equation (28) by a Cholesky factorisation: O(m n^2 + n^3) for m rows of n features.

    The certificate rests on the normal equations, without another pass over the data: with their residual p
    the gradient is -2 p and the objective constant - w'q - w'p, where q = Phi'r. Where that is too coarse
    for the `Goal`, the data are asked. Outputs may have an alpha each, here as in the other solvers. Where
    the equations of the design are known, as `system`, it is O(n^3) and a look at the columns.
    """
    whole, goal = design, Goal(tol, form.constant)
    design = whole.centred()
    rounding = Rounding.of(design, form.mass, form.constant)
    known = system if design is whole else None  # those of rows far from zero are off by more
    gram, pull = design.normal_equations(form) if known is None else known
    coef = solve_shifted(gram.copy(), alpha, pull)
    found = _normal_certificate(gram, pull, form, alpha, coef, rounding)
    if not np.all(found[1] <= goal.gap(*found[:2])):
        found = certificate(design, form, alpha, coef, rounding)
    return _closed(coef, *found, goal)


def _normal_certificate(
    gram: FloatArray, pull: FloatArray, form: LeastSquares, alpha: Any, coef: FloatArray, rounding: Rounding
) -> tuple[Any, Any, Any]:
    """Return what `certificate` does, from the normal equations."""
    residual = pull - gram @ coef - alpha * coef
    objective = form.constant - np.sum(coef * (pull + residual), axis=0)
    gradient_norm = 2.0 * np.linalg.norm(residual, axis=0)
    gap = rounding.certified(alpha, coef, objective, gradient_norm, rounding.reach(coef))
    return objective, gap, rounding.left_to_square(alpha, coef, objective, rounding.reach(coef))


def solve_reduced(
    design: KernelDesign, form: LeastSquares, alpha: float, *, tol: float = 1e-6
) -> SolverResult:
    """Solve the normal equations of b basis rows: O(m b) an iteration, after O(b^3).

    The preconditioner is so near to the inverse that few iterations do. Where they do not, as with basis rows
    that nearly depend on each other, and for few rows, equation (28) is solved in closed form: O(m b^2).
    """
    if design.stored * design.shape[1] > FEW_OPERATIONS:
        result = solve_conjugate_gradients(design, form, alpha, tol=tol, max_iter=FEW_ITERATIONS)
        if result.status == "converged":
            return result
    return solve_primal(as_design(design.X), form, alpha, tol=tol)


def solve_dual(design: Design, form: LeastSquares, alpha: Any, *, tol: float = 1e-6) -> SolverResult:
    """Solve equation (17), made symmetric, in terms of the rows: O(m^2 n + m^3).

    Products of sparse rows lose digits where the rows of a query lie far from zero. Where the gap is above
    its `Goal` for that, they are centred first.
    """
    design, goal = design.centred(), Goal(tol, form.constant)
    rounding = Rounding.of(design, form.mass, form.constant)
    ways = (dual_matrix, _centred_dual_matrix) if sp.issparse(design.X) else (dual_matrix,)
    for make in ways:
        S, lift = make(design, form)
        coef = lift(solve_shifted(S, alpha, form.root.target))
        objective, gap, rounded = certificate(design, form, alpha, coef, rounding)
        if np.all(gap <= goal.gap(objective, gap, rounded)):
            break
    return _closed(coef, objective, gap, rounded, goal)


def solve_kernel(K: FloatArray, form: LeastSquares, alpha: Any, *, tol: float = 1e-6) -> SolverResult:
    """Solve equation (17), made symmetric, for a kernel matrix; the coefficients are those of the kernel."""
    b = solve_shifted(form.root.congruence(K), alpha, form.root.target)
    a = form.root.adjoint(b)
    scores = K @ a
    value, coefficients = form.value_and_coefficients(scores)
    objective = value + alpha * np.sum(a * scores, axis=0)
    half = coefficients / 2 + alpha * a  # of the gradient in the function space
    gap, rounded = _kernel_gap(K, form, alpha, a, objective, half, 2.0 * np.abs(scores).max(axis=0))
    return _closed(a, objective, gap, rounded, Goal(tol, form.constant))


def _kernel_gap(
    K: FloatArray,
    form: LeastSquares,
    alpha: Any,
    a: FloatArray,
    objective: Any,
    half: FloatArray,
    reach: Any,
) -> tuple[Any, Any]:
    """Return what `certificate` does of the gap, as for weights: a row of K is a feature of each row.

    In the function space a row has norm K_ii^(1/2), and what is summed for the function is not larger than
    `length`, as if no two terms cancelled.
    """
    size = np.sqrt(max(float(K.diagonal().max()), float(np.finfo(np.float64).tiny)))
    rounding = Rounding.of_rows(len(K), size, form.mass, form.constant)
    magnitude = np.abs(K) @ np.abs(a)
    length = np.maximum(np.sqrt(np.sum(np.abs(a) * magnitude, axis=0)), magnitude.max(axis=0) / size)
    lost = rounding.rows * (size * np.sum(np.abs(half), axis=0)) ** 2
    gradient_norm = 2.0 * np.sqrt(np.maximum(np.sum(half * (K @ half), axis=0), 0.0) + lost)
    where = alpha, np.asarray(length)[None], objective
    return rounding.certified(*where, gradient_norm, reach), rounding.left_to_square(*where, reach)


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
    weights : array of shape (n_alphas, n), or (n_alphas, n_outputs, n) where the form has several outputs
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
    """Return what solves for an alpha, with a certificate, after one decomposition for all of them.

    Cost O(m n^2 + n^3) once and O(n^2) for each alpha; if m < n, O(m^2 n + m^3) and O(m n).
    """
    design, goal = design.centred(), Goal(tol, form.constant)
    rounding = Rounding.of(design, form.mass, form.constant)
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
            found = _normal_certificate(gram, pull, form, alpha, coef, rounding)
            if found[1] <= goal.gap(*found[:2]):
                return _closed(coef, *found, goal)
        return _closed(coef, *certificate(design, form, alpha, coef, rounding), goal)

    return solve


def solve_kernel_path(K: FloatArray, form: LeastSquares, alphas: ArrayLike) -> FloatArray:
    """Return the coefficients of the kernel for each alpha, shape (n_alphas, [n_outputs,] m)."""
    spectrum = Spectrum.of(form.root.congruence(K), form.root.target)
    return spectrum.solutions(alphas, form.root.adjoint)


@dataclass
class Spectrum:
    """The eigendecomposition V diag(l) V' of a positive semidefinite matrix, and V' times right-hand sides.

    The solution of (matrix + alpha I) x = right-hand side is V (l + alpha)^-1 V' right-hand side. Where both
    l and alpha are lost in the rounding of the largest eigenvalue, the pseudoinverse is taken.
    """

    eigenvalues: FloatArray
    vectors: FloatArray
    rotated: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, right: FloatArray, *, check: bool = True) -> Spectrum:
        """Decompose a symmetric matrix, which is overwritten; without `check`, below zero is rounding."""
        driver = "evd" if len(matrix) > 1 else None  # scipy 1.12 asks it for too little room for one number
        eigenvalues, vectors = eigh(_fortran(matrix), driver)
        if check:
            check_semidefinite(eigenvalues)
        return cls(np.maximum(eigenvalues, 0.0), vectors, vectors.T @ right)

    def solutions(self, alphas: ArrayLike, lift: Any = None) -> FloatArray:
        """Return the solution for each alpha, shape (n_alphas, [n_outputs,] n); `lift` maps each first."""
        shifts = np.asarray(alphas, dtype=np.float64).ravel()
        one_output = self.rotated.ndim == 1
        rotated = self.rotated[:, None] if one_output else self.rotated
        scaled = rotated[:, None, :] * self.inverses(shifts)[:, :, None]
        columns = self.vectors @ scaled.reshape(len(rotated), -1)
        columns = columns if lift is None else lift(columns)
        weights = columns.T.reshape(len(shifts), -1, len(columns))
        return weights[:, 0] if one_output else weights

    def inverses(self, shifts: FloatArray) -> FloatArray:
        """Return (l + alpha)^-1 for each eigenvalue and alpha, zero where both are lost in rounding."""
        shifted = self.eigenvalues[:, None] + shifts
        rounding = len(self.eigenvalues) * np.finfo(np.float64).eps * self.eigenvalues.max(initial=0.0)
        return np.divide(1.0, shifted, where=shifted > rounding, out=np.zeros_like(shifted))


def solve_conjugate_gradients(
    design: Design,
    form: LeastSquares,
    alpha: Any,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Solve the normal equations by preconditioned conjugate gradients, one output after the other.

    Each iteration costs one product with Phi, one with Phi' and one with L, as in section 4.3. The design
    knows how to precondition: by the diagonal of Phi'L Phi up to the means of queries, or better. The run
    ends when the residual is at most `tol` times the right-hand side and the gap has reached its `Goal`,
    which is then checked afresh.
    """
    monitor = Monitor() if monitor is None else monitor
    design = design.centred()
    rounding = Rounding.of(design, form.mass, form.constant)
    pull = design.rmatvec(form.pull) if form.pull.ndim == 1 else design.rmatmat(form.pull)
    constants = np.atleast_1d(form.constant)
    alphas = np.broadcast_to(alpha, constants.shape)
    precondition = {
        shift: design.preconditioner(form, form.diagonal, shift) for shift in set(alphas.tolist())
    }
    columns, statuses, iterations = [], [], []
    rounded = np.atleast_1d(rounding.left_to_square(alpha, 0.0 * pull, form.constant, 0.0))
    each = zip(np.atleast_2d(pull.T), constants.tolist(), rounded.tolist(), alphas.tolist(), strict=True)
    for right, constant, least, shift in each:
        run = _Run(design, form, shift, precondition[shift], right, constant, least, monitor)
        run.go(tol, max_iter)
        columns.append(run.coef)
        statuses.append(run.status)
        iterations.append(run.iteration)
        if run.status == "interrupted" and len(constants) > 1:
            raise KeyboardInterrupt  # the other outputs have no weights yet that could be kept
    coef = np.stack(columns, axis=1) if pull.ndim == 2 else columns[0]
    worst = max(statuses, key=STATUSES.index)
    objective, gap, rounded = certificate(design, form, alpha, coef, rounding)
    goal = Goal(tol, form.constant)
    return _result(coef, objective, gap, max(iterations), worst, monitor, goal, rounded)


class _Run:
    """Conjugate gradients for one right-hand side q: H w = q with H = Phi'L Phi + alpha I.

    With the residual p = q - H w the objective is constant - w'q - w'p, and at most p'p / alpha above its
    minimum.
    """

    def __init__(
        self,
        design: Design,
        form: LeastSquares,
        alpha: float,
        precondition: Callable[[FloatArray], FloatArray],
        right: FloatArray,
        constant: float,
        rounded: float,
        monitor: Monitor,
    ):
        self.design, self.form, self.alpha, self.precondition = design, form, alpha, precondition
        self.right, self.constant, self.rounded, self.monitor = right, constant, rounded, monitor
        self.coef, self.residual = np.zeros_like(right), right.copy()
        self.iteration, self.status, self.bound = 0, "max_iter", 0.0  # no objective is negative

    def go(self, tol: float, max_iter: int) -> None:
        """Iterate; a residual that has drifted from its recurrence is computed afresh and worked off."""
        left = np.linalg.norm(self.right)
        self.goal, self.least = Goal(tol, self.constant), tol * left
        try:
            while self.status == "max_iter" and self.iteration < max_iter:
                self._descend(max_iter)
                self.residual = self.right - self._product(self.coef)
                before, left = left, np.linalg.norm(self.residual)
                if self._reached():
                    self.status = "converged"
                elif self.status == "max_iter" and self.iteration < max_iter and not left < before / 2:
                    self.status = "stalled"
        except KeyboardInterrupt:
            self.status = "interrupted"

    def _product(self, direction: FloatArray) -> FloatArray:
        scores = self.form.product(self.design.matvec(direction))
        return self.design.rmatvec(scores) + self.alpha * direction

    def _reached(self) -> bool:
        objective, gap = self._certified()
        aim = GAP_SHARE * float(self.goal.gap(objective, gap, self.rounded))
        return bool(np.linalg.norm(self.residual) <= self.least) and gap <= aim

    def _descend(self, max_iter: int) -> None:
        direction, square = np.zeros_like(self.coef), 1.0
        while not self._reached() and self.iteration < max_iter:
            scaled = self.precondition(self.residual)
            previous, square = square, float(self.residual @ scaled)
            direction = scaled + (square / previous if direction.any() else 0.0) * direction
            product = self._product(direction)
            curvature = float(direction @ product)
            if not curvature > 0:  # lost in rounding
                return
            length = square / curvature
            self.coef += length * direction
            self.residual -= length * product
            self.iteration += 1
            self._record()
            if self.monitor.told_to_stop:
                self.status = "stopped"
                return

    def _certified(self) -> tuple[float, float]:
        objective = self.constant - float(self.coef @ (self.right + self.residual))
        return objective, float(self.residual @ self.residual) / self.alpha

    def _record(self) -> None:
        objective, gap = self._certified()
        self.bound = max(self.bound, objective - gap)
        aim = float(self.goal.gap(objective, objective - self.bound, self.rounded))
        self.monitor.record(self.iteration, objective, self.bound, self.coef, aim)


def dual_matrix(design: Design, form: LeastSquares) -> tuple[FloatArray, Any]:
    """Return R Phi Phi'R' and the function that maps b to the weights Phi'R'b."""
    root = form.root
    if not sp.issparse(design.X):
        C = root.apply(design.dense())
        return C @ C.T, lambda b: C.T @ b
    X = float_matrix(design.X)
    return root.congruence((X @ X.T).toarray()), lambda b: X.T @ root.adjoint(b)


def _centred_dual_matrix(design: Design, form: LeastSquares) -> tuple[FloatArray, Any]:
    """Return what `dual_matrix` does from columns that are made dense and centred, some at a time."""
    root, (m, n) = form.root, design.shape
    X = float_matrix(design.X).tocsc()
    S = np.zeros((len(root.target),) * 2)
    for part in row_blocks(n, m, BLOCK_ENTRIES):
        C = root.apply(form.centred(X[:, part].toarray()))
        S += C @ C.T
    return S, lambda b: design.rmatvec(root.adjoint(b)) if b.ndim == 1 else design.rmatmat(root.adjoint(b))


def solve_shifted(matrix: FloatArray, alpha: Any, right: FloatArray) -> FloatArray:
    """Solve (matrix + alpha I) x = right for a positive semidefinite matrix, which is overwritten.

    Where each column of `right` has an alpha of its own, one decomposition serves them all.
    """
    if np.ndim(alpha) > 0:
        spectrum = Spectrum.of(matrix, right)
        return spectrum.vectors @ (spectrum.rotated * spectrum.inverses(alpha))
    matrix = _fortran(matrix)
    diagonal = matrix.diagonal().copy()
    matrix[np.diag_indices_from(matrix)] += alpha
    try:
        # The factor goes into the lower triangle, so that the upper one still holds the matrix.
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return cho_solve(factor, right, check_finite=False)
    except LinAlgError:  # alpha is below the rounding of the matrix
        matrix = np.triu(matrix, 1)
        matrix += matrix.T
        matrix[np.diag_indices_from(matrix)] = diagonal
        spectrum = Spectrum.of(matrix, right)
        return np.squeeze(spectrum.solutions([alpha]), axis=0).T


def check_semidefinite(eigenvalues: FloatArray) -> None:
    """Refuse eigenvalues that are more negative than rounding explains."""
    smallest, scale = eigenvalues.min(initial=0.0), np.abs(eigenvalues).max(initial=0.0)
    if smallest < -np.sqrt(np.finfo(np.float64).eps) * scale:
        raise ValueError(
            "The kernel is not positive semidefinite: on the differences of the rows its smallest eigenvalue "
            f"is {smallest / scale:.3g} times the largest in absolute value."
        )


def certificate(
    design: Design, form: LeastSquares, alpha: Any, coef: FloatArray, rounding: Rounding
) -> tuple[Any, Any, Any]:
    """Return the objective, a bound on its distance to the optimum, and what rounding may add to the bound.

    The bound is ||gradient||^2 / (4 alpha).
    """
    scores = design @ coef
    value, coefficients = form.value_and_coefficients(scores)
    adjoint = design.rmatvec if coef.ndim == 1 else design.rmatmat
    gradient = adjoint(coefficients) + 2 * alpha * coef
    objective = value + alpha * np.sum(coef * coef, axis=0)
    norm, reach = np.linalg.norm(gradient, axis=0), rounding.reach(coef, scores)
    gap = rounding.certified(alpha, coef, objective, norm, reach)
    return objective, gap, rounding.left_to_square(alpha, coef, objective, reach)


def _closed(coef: FloatArray, objective: Any, gap: Any, rounded: Any, goal: Goal) -> SolverResult:
    return _result(coef, objective, gap, 1, "converged", Monitor(), goal, rounded)


def _result(
    coef: FloatArray,
    objective: Any,
    gap: Any,
    n_iter: int,
    status: str,
    monitor: Monitor,
    goal: Goal,
    rounded: Any,
) -> SolverResult:
    """Return weights with outputs first, and plain numbers where there is one output."""
    if coef.ndim == 1:
        objective, gap = float(objective), float(gap)
    rows, history = np.ascontiguousarray(coef.T), monitor.history
    return concluded(rows, objective, gap, n_iter, status, history, goal, rounded)


def _fortran(symmetric: FloatArray) -> FloatArray:
    """Return a symmetric matrix in the order in which LAPACK can overwrite it."""
    return symmetric if symmetric.flags.f_contiguous else symmetric.T
