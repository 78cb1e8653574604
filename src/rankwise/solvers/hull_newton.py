"""The Newton system of the interior point method for the convex-hull program."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg, splu

from rankwise.core.types import FloatVector, IntVector
from rankwise.data.design import Design, SparseDesign
from rankwise.solvers.hull_certificate import Penalty
from rankwise.solvers.hull_program import HullProgram

# Systems with more weights than this are solved by conjugate gradients.
MAX_DIRECT = 2000
MAX_CG_STEPS = 300
MAX_DENSE_THRESHOLDS = 500


class HullNewton:
    """The Newton system for the change of weights w, thresholds t and slacks y, factored.

    The objective is multiplied by `scale`.

    With D = z / s of the constraints, the slack of each unit is eliminated first. The remaining system is

        [2 P + X'R X   X'C'] [w]
        [    C X        T  ] [t]

    with one number R per row. The thresholds are eliminated next. With few weights the remaining system is
    factored, O(m n^2 + n^3 + t n^2 + t^3) for m rows, n weights and t thresholds (less where T is sparse);
    with many, w is found by conjugate gradients, O(nnz) per step.
    """

    def __init__(
        self,
        design: Design,
        program: HullProgram,
        penalty: Penalty,
        ratio: FloatVector,
        cuts: IntVector,
        scale: float,
        relative_gap: float,
    ):
        self.design, self.program, self.penalty, self.scale = design, program, penalty, scale
        below, above, positive, edge = np.split(ratio, cuts)
        self.below, self.above = below, above
        self.inverse, self.rest = self._inverse_curve(positive)
        self.lean = below - above
        # Written without differences, which would cancel if one constraint of a unit is far tighter.
        self.R = program.row_sums(4.0 * below * above * self.inverse + (below + above) * self.rest)
        self.C = self._threshold_rows()
        self.T = self._threshold_block(edge)
        self.is_direct = design.shape[1] <= MAX_DIRECT
        tolerance = 0.03 * min(1.0, 100.0 * relative_gap)
        self._solve = self._factored() if self.is_direct else self._iterative(tolerance)

    def _inverse_curve(self, positive: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Return the inverse of each slack's curvature, and the share that is not due to the bounds.

        Without slacks they are zero and one.
        """
        p = self.program
        if p.slack == "none":
            return np.zeros(p.n_units), np.ones(p.n_units)
        rest = positive if p.slack == "absolute" else 2.0 * self.scale * p.weight
        inverse = 1.0 / (self.below + self.above + rest)
        return inverse, rest * inverse

    def _threshold_rows(self) -> NDArray:
        """Compute C X."""
        p, inverse = self.program, self.inverse
        entries = np.column_stack(
            [
                -self.below * (2.0 * self.above * inverse + self.rest),
                -self.above * (2.0 * self.below * inverse + self.rest),
            ]
        )
        columns = np.column_stack([p.low, p.high]) % (p.n_thresholds + 1)
        shape = (p.n_rows, p.n_thresholds + 1)
        by_row = sp.csr_matrix((entries.ravel(), columns.ravel(), 2 * p.row_begin), shape=shape)
        return _dense(by_row.T @ self.design.X)[:-1]

    def _threshold_block(self, edge: FloatVector) -> sp.csc_matrix:
        p, n = self.program, self.program.n_thresholds + 1
        low, high = p.low % n, p.high % n  # -1 becomes an extra threshold, which is removed below
        both = self.below * self.above * self.inverse
        entries = [
            (low, low, both + self.below * self.rest),
            (high, high, both + self.above * self.rest),
            (low, high, both),
            (high, low, both),
            (p.edge_low, p.edge_low, edge),
            (p.edge_high, p.edge_high, edge),
            (p.edge_low, p.edge_high, -edge),
            (p.edge_high, p.edge_low, -edge),
        ]
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        return sp.csc_matrix((values, (rows, columns)), shape=(n, n))[:-1, :-1]

    def solve(
        self, right_w: FloatVector, right_t: FloatVector, right_y: FloatVector
    ) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Solve for (w, t, y)."""
        p = self.program
        eased = self.inverse * right_y
        right_w = right_w - self.design.rmatvec(p.row_sums(self.lean * eased))
        pulled = np.bincount(p.low + 1, -self.below * eased, p.n_thresholds + 1)
        pulled += np.bincount(p.high + 1, self.above * eased, p.n_thresholds + 1)
        w, t = self._solve(right_w, right_t - pulled[1:])
        bounds = np.append(t, 0.0)
        moved = self.lean * self.design.matvec(w)[p.row]
        moved += self.above * bounds[p.high] - self.below * bounds[p.low]
        return w, t, eased - self.inverse * moved

    def _factored(self) -> Any:
        """Factor the system that remains for w after the thresholds are eliminated."""
        n, solve_t = self.design.shape[1], _threshold_solver(self.T)
        H = _weighted_gram(self.design, self.R) - self.C.T @ solve_t(self.C)
        if self.penalty.matrix is None:
            H.flat[:: n + 1] += 2.0 * self.scale * self.penalty.alpha
        else:
            H += 2.0 * self.scale * self.penalty.matrix
        solve_w = _scaled_cholesky(H)

        def both(right_w: FloatVector, right_t: FloatVector) -> tuple[FloatVector, FloatVector]:
            w = solve_w(right_w - self.C.T @ solve_t(right_t))
            return w, solve_t(right_t - self.C @ w)

        return both

    def _iterative(self, tolerance: float) -> Any:
        """Solve for w inexactly; thresholds and slacks then belong to that w, so the dual bound is exact."""
        n, design, scale = self.design.shape[1], self.design, 2.0 * self.scale
        solve_t = _threshold_solver(self.T)

        def times(v: FloatVector) -> FloatVector:
            curved = scale / 2.0 * self.penalty.gradient(v) + design.rmatvec(self.R * design.matvec(v))
            return curved - self.C.T @ solve_t(self.C @ v)

        diagonal = scale * self.penalty.diagonal(n) + design.weighted_squares(self.R)
        matrix = LinearOperator((n, n), matvec=times)
        preconditioner = LinearOperator((n, n), matvec=lambda v: v / diagonal)

        def both(right_w: FloatVector, right_t: FloatVector) -> tuple[FloatVector, FloatVector]:
            right = right_w - self.C.T @ solve_t(right_t)
            w, _ = cg(matrix, right, rtol=tolerance, maxiter=MAX_CG_STEPS, M=preconditioner)
            return w, solve_t(right_t - self.C @ w)

        return both


def _threshold_solver(T: sp.csc_matrix) -> Any:
    """Factor the block of the thresholds; with a slack per edge it has no entries between edges."""
    n = T.shape[0]
    if n <= MAX_DENSE_THRESHOLDS:
        return _scaled_cholesky(T.toarray())
    size = 1.0 / np.sqrt(np.maximum(T.diagonal(), 1e-300))
    scaled = sp.diags(size) @ T @ sp.diags(size) + 1e-14 * sp.identity(n)
    factor = splu(scaled.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    return lambda right: (size * factor.solve(np.ascontiguousarray((size * right.T).T)).T).T


def _scaled_cholesky(H: NDArray) -> Any:
    """Factor a positive definite matrix whose rows may differ in scale; overwrites the matrix."""
    if not np.isfinite(H).all():
        raise LinAlgError("The matrix overflowed.")
    if (H.diagonal() < 0).any():
        raise LinAlgError("Rounding made the matrix indefinite.")
    size = 1.0 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
    H *= size[:, None]
    H *= size
    H.flat[:: len(H) + 1] += 1e-14
    factor = cho_factor(H, lower=True, overwrite_a=True)
    return lambda right: (size * cho_solve(factor, (size * right.T).T).T).T


def _weighted_gram(design: Design, weight: FloatVector) -> NDArray:
    """Compute X' diag(weight) X for weights that are nonnegative up to rounding."""
    root = np.sqrt(np.maximum(weight, 0.0))[:, None]
    scaled = design.X.multiply(root).tocsr() if isinstance(design, SparseDesign) else design.X * root
    return _dense(scaled.T @ scaled)


def _dense(matrix: Any) -> NDArray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
