"""Positive semidefinite systems (matrix + alpha I) x = right-hand side, for one alpha or for many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread, current_thread, main_thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rankwise.core.types import FloatArray

# Below this size, a decomposition takes less than a second.
LARGE = 1500
POLL_SECONDS = 0.1

Result = TypeVar("Result")


def eigh(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues, ascending, and the eigenvectors of a symmetric matrix (its lower triangle).

    Examples
    --------
    >>> eigh(np.diag([3.0, 1.0]))[0]
    array([1., 3.])
    """
    is_short = current_thread() is not main_thread() or len(matrix) < LARGE
    values, vectors = np.linalg.eigh(matrix) if is_short else interruptible(lambda: np.linalg.eigh(matrix))
    return values, np.asfortranarray(vectors)  # LAPACK's own order, which decides the rounding of products


def interruptible(call: Callable[[], Result]) -> Result:
    """Return the result of a call in a thread; Ctrl-C ends the wait, and the call runs to its end."""
    done = Event()
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    Thread(target=run, daemon=True).start()
    while not done.wait(POLL_SECONDS):  # Python handles signals between two waits
        pass
    if errors:
        raise errors[0]
    return results[0]


@dataclass
class Spectrum:
    """The eigendecomposition V diag(l) V' of a positive semidefinite matrix, and V' times right-hand sides.

    The solution of (matrix + alpha I) x = right-hand side is V (l + alpha)^-1 V' right-hand side. If both
    l and alpha are lost in the rounding of the largest eigenvalue, it is the pseudoinverse.
    """

    eigenvalues: FloatArray
    vectors: FloatArray
    rotated: FloatArray

    @classmethod
    def of(cls, matrix: FloatArray, right: FloatArray, *, check: bool = True) -> Spectrum:
        """Decompose a symmetric matrix; without `check`, below zero is rounding."""
        eigenvalues, vectors = eigh(_fortran(matrix))
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
        """Return (l + alpha)^-1 for each eigenvalue and alpha, zero if both are lost in rounding."""
        shifted = self.eigenvalues[:, None] + shifts
        return np.divide(1.0, shifted, where=shifted > self._rounding, out=np.zeros_like(shifted))

    def loses(self, shift: float) -> bool:
        """Return whether some eigenvalue plus alpha is lost in rounding."""
        return not self.eigenvalues.min(initial=np.inf) + shift > self._rounding

    @property
    def _rounding(self) -> float:
        largest = float(self.eigenvalues.max(initial=0.0))
        return len(self.eigenvalues) * float(np.finfo(np.float64).eps) * largest


def joined_paths(paths: list[FloatArray]) -> FloatArray:
    """Join the paths of outputs that were solved one after the other."""
    return paths[0] if len(paths) == 1 else np.stack(paths, axis=1)


def solve_shifted(matrix: FloatArray, alpha: Any, right: FloatArray) -> FloatArray:
    """Solve (matrix + alpha I) x = right for a positive semidefinite matrix, which is overwritten.

    If each column of `right` has an alpha of its own, one decomposition serves them all.
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


def _fortran(symmetric: FloatArray) -> FloatArray:
    """Return a symmetric matrix in the order in which LAPACK can overwrite it."""
    return symmetric if symmetric.flags.f_contiguous else symmetric.T
