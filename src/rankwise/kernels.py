"""Kernel function spaces for linear solvers: features in which ``||w||`` is the norm of the function.

A kernel estimator looks for ``f(x) = sum_z a_z k(x, z)`` over basis rows z and pays ``||f||^2 = a' K_ZZ a``.
`KernelMap` turns the rows into features ``phi(x)`` with ``f(x) = w' phi(x)`` and ``||f||^2 = w' w``, so that
any linear solver finds the kernel solution; `kernel_scores` then predicts from the dual coefficients a alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from rankwise import _native
from rankwise._checks import check_choice
from rankwise._eigen import eigh
from rankwise._memory import available_memory, human_bytes
from rankwise._types import FloatArray
from rankwise.design import row_blocks
from rankwise.scores import dense_rows, owned_rows, row_scores, sparse_rows

__all__ = ["KernelMap", "kernel_scores", "kernel_values", "resolve_gamma"]

Kernel = str | Callable[..., float]

# Kernels of dense rows that scikit-learn computes pair by pair, wherever the rows stand.
_PAIR_BY_PAIR = ("additive_chi2", "chi2", "laplacian")

# Bytes of kernel values held at a time while the rows are mapped or scored.
_BLOCK_BYTES = 64_000_000


class KernelMap:
    """Features ``phi(x) = k(x, Z) U_r diag(l_r)^(-1/2)`` of a kernel, where ``K_ZZ = U diag(l) U'``.

    The basis rows Z are all training rows or a random part of them. With all rows, ``Phi Phi' = K``: this is
    the empirical kernel map of section 4.2 of Pahikkala et al. (2009), with the eigendecomposition in place
    of the Cholesky factor so that K may be singular. With fewer rows ``Phi Phi'`` is the matrix of the
    reduced kernel of equation (43), and the functions are those of equation (40). Directions whose
    eigenvalue is zero up to rounding are left out; the pseudoinverse takes the place of the inverse in (43).

    With m rows of n features, b basis rows and rank r, ``fit`` costs O(b^2 n + b^3) and the features of m
    rows cost O(m b n + m b r), which the full basis does not spend: its features are the scaled eigenvectors.

    Parameters
    ----------
    kernel : str or callable
        A name known to `sklearn.metrics.pairwise.kernel_metrics`, "precomputed", or a function of two rows
        that gives a number. It must be positive semidefinite, which "additive_chi2" never and "sigmoid"
        seldom is; ``fit`` refuses a kernel matrix that is not.
    gamma : float, "scale" or None
        None is scikit-learn's default, ``1 / n_features`` (1 for "chi2"); "scale" is
        ``1 / (n_features * X.var())`` of the rows given to ``fit``.
    degree, coef0 : float
        Of the polynomial and the sigmoid kernel; other kernels ignore them.
    kernel_params : dict or None
        Keyword arguments for a callable kernel.
    n_components : int or None
        Number of basis rows, drawn without replacement; None, or as many as there are rows, takes all.
    random_state : int, RandomState or None
        Draws the basis rows.

    Attributes
    ----------
    basis_ : array or CSR of shape (b, n), or None
        A copy of the basis rows in float64, C order or canonical CSR; None for a precomputed kernel.
    basis_indices_ : ndarray of shape (b,)
        Their row numbers in the data, rising.
    gamma_ : float or None
        What `kernel_values` takes as ``gamma``.
    n_features_out_ : int
        Number r of features. A kernel that is zero on all basis rows has a single feature, which is zero.

    References
    ----------
    T. Pahikkala, E. Tsivtsivadze, A. Airola, J. Järvinen and J. Boberg, "An efficient algorithm for learning
    to rank from preference graphs", Machine Learning 75, 2009: sections 3.5, 4.2 and 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> kernel_map = KernelMap("rbf", gamma=0.5)
    >>> Phi = kernel_map.fit_transform(X)
    >>> np.allclose(Phi @ Phi.T, kernel_values(X, gamma=0.5))
    True

    Any linear solver may choose w. The dual coefficients give the same scores without the map:

    >>> w = np.array([1.0, -1.0, 2.0])
    >>> a = kernel_map.dual_coef(w)
    >>> np.allclose(kernel_scores(X, kernel_map.basis_, a, gamma=0.5), Phi @ w)
    True
    """

    basis_: Any
    basis_indices_: NDArray[np.int64]
    gamma_: float | None
    n_features_out_: int

    def __init__(
        self,
        kernel: Kernel = "rbf",
        *,
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any) -> KernelMap:
        """Choose the basis rows and decompose their kernel matrix.

        Parameters
        ----------
        X : array or CSR of shape (m, n)
            The training rows, or their square kernel matrix when ``kernel="precomputed"``.
        """
        self._choose_basis(X)
        self._root, self._eigenvalues = _decompose(self._basis_kernel(X), self._precision(X), self.kernel)
        # The features of the full basis are this array: a caller who changed them would change the map.
        self._root.setflags(write=False)
        self.n_features_out_ = self._root.shape[1]
        return self

    def fit_kernel(self, X: Any) -> NDArray[np.float64]:
        """Choose the basis rows and give their kernel matrix K_ZZ, without decomposing it.

        The basis and the kernel's arguments are then known, the features are not.
        """
        self._choose_basis(X)
        K = self._basis_kernel(X)
        _check_finite(K, self.kernel)
        return K

    def _choose_basis(self, X: Any) -> None:
        _check_kernel(self.kernel)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be square when kernel='precomputed'; got shape {X.shape}.")
        n_basis = _n_basis(self.n_components, X.shape[0])
        _check_memory(X, n_basis, self._precomputed)
        self._n_rows = X.shape[0]
        self.gamma_ = None if self._precomputed else resolve_gamma(self.gamma, X)
        self.basis_indices_ = self._draw(n_basis)
        if self._precomputed:
            self.basis_ = None
        else:
            self.basis_ = owned_rows(X if self._full else X[self.basis_indices_])

    def fit_transform(self, X: Any) -> NDArray[np.float64]:
        """Fit, and give the features of the training rows, shape (m, r).

        With the full basis they are shared with the map and read-only.
        """
        self.fit(X)
        return self._root if self._full else self.transform(X)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features ``k(X, Z) U_r diag(l_r)^(-1/2)`` of new rows, shape (n_new, r).

        For a precomputed kernel X holds the kernel values of the new rows with all m training rows.
        """
        if self._precomputed and X.shape[1] != self._n_rows:
            raise ValueError(
                f"X must hold kernel values with all {self._n_rows} training rows; got {X.shape[1]} columns."
            )
        Phi = np.empty((X.shape[0], self.n_features_out_))
        for rows, K in _kernel_blocks(X, self._basis, len(self._root), **self.kernel_arguments):
            np.matmul(K, self._root, out=Phi[rows])
        Phi /= self._eigenvalues
        return Phi

    def dual_coef(self, w: NDArray) -> NDArray[np.float64]:
        """Return ``a = U_r diag(l_r)^(-1/2) w``: ``k(x, Z) a = phi(x)' w`` and ``a' K_ZZ a = w' w``.

        Shape (r,) becomes (b,), and (v, r) becomes (v, b). Sections 4.2 and 4.4 of the paper describe the
        same product for the Cholesky factor.
        """
        return (np.asarray(w, dtype=np.float64) / self._eigenvalues) @ self._root.T

    def coef_from_dual(self, a: NDArray) -> NDArray[np.float64]:
        """Return ``w = diag(l_r)^(1/2) U_r' a``, the linear coefficients of the function ``k(x, Z) a``.

        Shape (b,) becomes (r,), and (v, b) becomes (v, r).
        """
        return np.asarray(a, dtype=np.float64) @ self._root

    def scores(self, X: Any, a: NDArray, n_threads: int = 1) -> NDArray[np.float64]:
        """Return ``k(x, Z) a`` for each row: `kernel_scores` with this basis and this kernel."""
        return kernel_scores(X, self._basis, a, n_threads=n_threads, **self.kernel_arguments)

    @property
    def kernel_arguments(self) -> dict[str, Any]:
        """The kernel as `kernel_values` and `kernel_scores` take it, with gamma as fixed by ``fit``."""
        return {
            "kernel": self.kernel,
            "gamma": self.gamma_,
            "degree": self.degree,
            "coef0": self.coef0,
            "kernel_params": self.kernel_params,
        }

    @property
    def _precomputed(self) -> bool:
        return _is_precomputed(self.kernel)

    @property
    def _full(self) -> bool:
        return len(self.basis_indices_) == self._n_rows

    @property
    def _basis(self) -> Any:
        """The basis as `kernel_values` takes it."""
        if not self._precomputed:
            return self.basis_
        return None if self._full else self.basis_indices_

    def _draw(self, n_basis: int) -> NDArray[np.int64]:
        if n_basis == self._n_rows:
            return np.arange(self._n_rows)
        random = check_random_state(self.random_state)
        return np.sort(sample_without_replacement(self._n_rows, n_basis, random_state=random))

    def _basis_kernel(self, X: Any) -> NDArray[np.float64]:
        """Compute K_ZZ, in memory that may be overwritten."""
        if not self._precomputed:
            return kernel_values(self.basis_, **self.kernel_arguments)
        part = X if self._full else X[np.ix_(self.basis_indices_, self.basis_indices_)]
        K = np.array(dense_rows(part), copy=True)
        _check_symmetric(K, np.sqrt(self._precision(X)))
        return K

    def _precision(self, X: Any) -> float:
        """Relative rounding error of the kernel values: only a user's own matrix may be in float32."""
        known = self._precomputed and X.dtype.kind == "f"
        return float(np.finfo(X.dtype if known else np.float64).eps)


def kernel_values(
    X: Any,
    Z: Any = None,
    kernel: Kernel = "rbf",
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: dict[str, Any] | None = None,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Compute the kernel matrix ``K_ij = k(x_i, z_j)`` in float64.

    A kernel value depends on the numbers in its two rows alone. A callable kernel is given one row of X at a
    time, unless Z is None.

    Parameters
    ----------
    X : array or CSR of shape (m, n)
        Rows; for a precomputed kernel their kernel values with all training rows.
    Z : array or CSR of shape (b, n), or None
        Basis rows; None takes X. For a precomputed kernel the column numbers of the basis rows, None for all.
    kernel : str or callable
        As in `KernelMap`, which also explains the other parameters.
    gamma, degree, coef0
        Passed to the named kernels that take them.
    kernel_params : dict or None
        Keyword arguments for a callable kernel.
    n_threads : int
        Threads for the sums over features of dense rows; the values do not depend on it.

    Returns
    -------
    ndarray of shape (m, b)
        Cost O(m b n) for a named kernel; m b calls of a callable one.

    Examples
    --------
    >>> import numpy as np
    >>> kernel_values(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[3.0, 1.0]]), "linear")
    array([[5.],
           [1.]])
    """
    _check_kernel(kernel)
    if _is_precomputed(kernel):
        return dense_rows(X if Z is None else X[:, Z])
    parameters = _kernel_parameters(kernel, gamma, degree, coef0, kernel_params)
    if callable(kernel):
        return _callable_values(X, Z, kernel, parameters)
    Z = _float64_rows(X if Z is None else Z)
    X = _rows_like(Z, X)
    if sp.issparse(Z) or kernel in _PAIR_BY_PAIR:
        return pairwise_kernels(X, Z, metric=kernel, filter_params=True, **parameters)
    return _dense_values(X, Z, kernel, n_threads, gamma or 1.0 / X.shape[1], degree, coef0)


def _float64_rows(X: Any) -> Any:
    """Return rows in float64, C order or canonical CSR, without a copy where they are so."""
    return sparse_rows(X) if sp.issparse(X) else dense_rows(X)


def _rows_like(Z: Any, X: Any) -> Any:
    """Return the rows X as sparse or dense as the rows Z."""
    if not sp.issparse(Z):
        return dense_rows(X)
    return sparse_rows(X if sp.issparse(X) else type(Z)(X))


def _callable_values(
    X: Any, Z: Any, kernel: Callable[..., float], parameters: dict[str, Any]
) -> NDArray[np.float64]:
    """Compute the values of a user's kernel: what it makes of one row, the other rows do not change."""
    if Z is None:
        return pairwise_kernels(_float64_rows(X), metric=kernel, **parameters)
    Z = _float64_rows(Z)
    X = _rows_like(Z, X)
    each = (X[i : i + 1].copy() for i in range(X.shape[0]))
    return np.vstack([pairwise_kernels(x, Z, metric=kernel, **parameters) for x in each])


def _dense_values(
    X: FloatArray, Z: FloatArray, kernel: str, n_threads: int, gamma: float, degree: float, coef0: float
) -> FloatArray:
    """Compute the kernels that scikit-learn leaves to BLAS, each sum over features in one fixed order."""
    if kernel == "rbf":
        # Differences are squared, not expanded: rows that are nearly equal suffer no cancellation.
        K = _native.squared_distances(X, Z, n_threads)
        K *= -gamma
        return np.exp(K, out=K)
    if kernel == "cosine":
        return _native.row_products(_of_length_one(X), _of_length_one(Z), n_threads)
    K = _native.row_products(X, Z, n_threads)
    if kernel != "linear":
        K *= gamma
        K += coef0
        K = np.tanh(K, out=K) if kernel == "sigmoid" else np.power(K, degree, out=K)
    return K


def _of_length_one(X: FloatArray) -> FloatArray:
    length = np.sqrt(row_scores(X * X, np.ones(X.shape[1])))
    return X / np.where(length > 0, length, 1.0)[:, None]


def kernel_scores(
    X: Any, basis: Any, dual_coef: NDArray, kernel: Kernel = "rbf", **parameters: Any
) -> NDArray[np.float64]:
    """Compute the scores ``f(x) = sum_z a_z k(x, z)`` of equation (40) of Pahikkala et al. (2009).

    The kernel values are made and used in blocks of rows of about 64 MB, however many rows there are.

    Parameters
    ----------
    X : array or CSR of shape (m, n)
        Rows; for a precomputed kernel their kernel values with all training rows.
    basis : array or CSR of shape (b, n)
        Basis rows. For a precomputed kernel the column numbers of the basis rows, None for all.
    dual_coef : ndarray of shape (b,) or (v, b)
        The coefficients a, of one function or of v.
    kernel : str or callable
        As in `KernelMap`.
    **parameters
        ``gamma``, ``degree``, ``coef0``, ``kernel_params`` and ``n_threads`` of `kernel_values`.

    Returns
    -------
    ndarray of shape (m,) or (m, v)
        Cost O(m b (n + v)).

    Examples
    --------
    >>> import numpy as np
    >>> basis = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> kernel_scores(np.array([[1.0, 1.0], [3.0, 0.0]]), basis, np.array([10.0, 1.0]), "linear")
    array([12.,  6.])
    """
    a = np.asarray(dual_coef, dtype=np.float64)
    n_basis = X.shape[1] if basis is None else basis.shape[0]
    if a.shape[-1] != n_basis:
        raise ValueError(
            f"dual_coef must have one entry for each of {n_basis} basis rows; got {a.shape[-1]}."
        )
    scores = np.empty((X.shape[0], *a.shape[:-1]))
    for rows, K in _kernel_blocks(X, basis, n_basis, kernel=kernel, **parameters):
        scores[rows] = row_scores(K, a, parameters.get("n_threads", 1))
    return scores


def resolve_gamma(gamma: float | str | None, X: Any) -> float | None:
    """Turn "scale" into ``1 / (n_features * X.var())``; refuse all but "scale", None and positive numbers.

    The variance is that of all entries, zeros of a CSR matrix included; if it is zero the result is 1.

    Examples
    --------
    >>> import numpy as np
    >>> resolve_gamma("scale", np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    if isinstance(gamma, str) and gamma == "scale":
        variance = _variance(X)
        return 1 / (X.shape[1] * variance) if variance > 0 else 1.0
    _check_gamma(gamma, "None, 'scale' or a positive number")
    return None if gamma is None else float(gamma)


def _is_precomputed(kernel: Kernel) -> bool:
    return isinstance(kernel, str) and kernel == "precomputed"


def _check_kernel(kernel: Kernel) -> None:
    if not callable(kernel):
        check_choice(kernel, "kernel, unless it is callable,", [*sorted(kernel_metrics()), "precomputed"])


def _check_gamma(gamma: Any, accepted: str) -> None:
    number = isinstance(gamma, Real) and not isinstance(gamma, bool)
    if gamma is not None and not (number and 0 < gamma < np.inf):
        raise ValueError(f"gamma must be {accepted}; got {gamma!r}.")


def _kernel_parameters(
    kernel: Kernel, gamma: float | None, degree: float, coef0: float, kernel_params: dict[str, Any] | None
) -> dict[str, Any]:
    if callable(kernel):
        return kernel_params or {}
    if kernel_params:
        raise ValueError(f"kernel_params is for callable kernels; got {kernel_params!r} and {kernel=}.")
    _check_gamma(gamma, "None or a positive number")
    named = {"degree": degree, "coef0": coef0}
    return named if gamma is None else named | {"gamma": gamma}


def _n_basis(n_components: int | None, n_rows: int) -> int:
    if n_components is None:
        return n_rows
    whole = isinstance(n_components, Integral) and not isinstance(n_components, bool)
    if not whole or n_components < 1:
        raise ValueError(f"n_components must be None or a whole number of at least 1; got {n_components!r}.")
    return min(int(n_components), n_rows)


def _variance(X: Any) -> float:
    if not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    stored = sparse_rows(X).data
    size = X.shape[0] * X.shape[1]
    mean = stored.sum() / size
    return float(((stored - mean) ** 2).sum() + (size - len(stored)) * mean**2) / size


def _kernel_blocks(
    X: Any, basis: Any, n_basis: int, **arguments: Any
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Return the kernel values of the rows, as many rows at a time as `_BLOCK_BYTES` holds."""
    if not _is_precomputed(arguments["kernel"]):
        basis = _float64_rows(basis)
    for rows in row_blocks(X.shape[0], max(n_basis, X.shape[1]), _BLOCK_BYTES // 8):
        yield rows, kernel_values(X[rows], basis, **arguments)


def _decompose(
    K: NDArray[np.float64], precision: float, kernel: Kernel
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factor ``K = R R'``, destroying K; return ``R = U_r diag(l_r)^(1/2)``, in Fortran order, and l_r."""
    _check_finite(K, kernel)
    # K is symmetric: whichever of K and K' is in Fortran order can be overwritten without a copy.
    eigenvalues, U = eigh(K if K.flags.f_contiguous else K.T)
    del K
    first = _first_kept(eigenvalues, precision, kernel)
    # A view keeps all of U in memory, which only a copy of few columns can free.
    R = U[:, first:].copy(order="F") if 2 * first > len(U) else U[:, first:]
    kept = eigenvalues[first:]
    R *= np.sqrt(np.maximum(kept, 0))
    return R, np.where(kept > 0, kept, 1.0)


def _check_finite(K: NDArray[np.float64], kernel: Kernel) -> None:
    if not np.isfinite([K.min(), K.max()]).all():
        raise ValueError(f"The values of {kernel=} on the basis rows contain NaN or infinity.")


def _first_kept(eigenvalues: NDArray[np.float64], precision: float, kernel: Kernel) -> int:
    """Find the first of the rising eigenvalues that is not zero up to rounding; keep one at least."""
    smallest, scale = eigenvalues[0], np.abs(eigenvalues).max()
    rounding = len(eigenvalues) * precision
    if smallest < -max(np.sqrt(precision), rounding) * scale:
        raise ValueError(
            f"The kernel is not positive semidefinite: with {kernel=} the smallest eigenvalue of the matrix "
            f"of {len(eigenvalues)} basis rows is {smallest / scale:.3g} times the largest in absolute value."
        )
    # A negative eigenvalue shows how far rounding moves the positive ones.
    noise = max(rounding * scale, -smallest)
    return min(int(np.searchsorted(eigenvalues, noise, side="right")), len(eigenvalues) - 1)


def _check_symmetric(K: NDArray[np.float64], tolerance: float) -> None:
    scale = max(abs(K.min()), abs(K.max()))
    gap = max(np.abs(K[rows] - K[:, rows].T).max() for rows in row_blocks(len(K), len(K), _BLOCK_BYTES // 8))
    if gap > tolerance * scale:
        raise ValueError(
            f"X must be symmetric when kernel='precomputed'; X and its transpose differ by {gap:.3g}."
        )


def _bytes_needed(X: Any, n_basis: int, precomputed: bool) -> int:
    """Count the bytes that ``fit_transform`` allocates at its peak.

    Counted are K_ZZ with a second array of its size (its eigenvectors, or what its computation holds), a
    third when X is sparse (the sparse product); for a reduced basis also the features and as many arrays of
    one block of rows; and the copy of the basis, with what is held of it while the sums are computed.
    """
    arrays = 3 if sp.issparse(X) else 2
    total = arrays * 8 * n_basis**2
    if n_basis < X.shape[0]:
        features = 8 * n_basis * X.shape[0]
        total += features + arrays * min(features, max(_BLOCK_BYTES, 8 * n_basis))
    if not precomputed:
        stored = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
        total += 2 * 8 * int(stored * n_basis)
    return total


def _check_memory(X: Any, n_basis: int, precomputed: bool) -> None:
    free = available_memory()
    needed = _bytes_needed(X, n_basis, precomputed)
    if free is None or needed <= free:
        return
    halves = (n_basis >> k for k in range(1, n_basis.bit_length()))
    fitting = next((b for b in halves if _bytes_needed(X, b, precomputed) <= free), None)
    way_out = "even n_components=1 would not fit" if fitting is None else f"n_components={fitting} would fit"
    raise MemoryError(
        f"A kernel on {X.shape[0]} rows with {n_basis} basis rows needs {human_bytes(needed)} of memory, but "
        f"{human_bytes(free)} is free; {way_out}."
    )
