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
from scipy.linalg import eigvalsh, solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.metrics.pairwise import kernel_metrics, pairwise_distances_argmin, pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from rankwise import _native
from rankwise._checks import check_choice
from rankwise._memory import available_memory, human_bytes
from rankwise._threads import thread_pools
from rankwise._types import FloatArray
from rankwise.design import Design, as_design, row_blocks
from rankwise.kernel_design import KernelDesign, Rows
from rankwise.scores import dense_rows, owned_rows, row_scores, sparse_rows

__all__ = ["KernelMap", "kernel_names", "kernel_scores", "kernel_values", "resolve_gamma", "scaled_rows"]

Kernel = str | Callable[..., float]

# Kernels of dense rows that scikit-learn computes pair by pair, wherever the rows stand.
_PAIR_BY_PAIR = ("additive_chi2", "chi2")
# Kernels of distances: they are 1 where two rows are equal.
_OF_DISTANCES = ("exponential", "laplacian", "rbf")
# Kernels that scikit-learn does not have.
_OWN_KERNELS = ("exponential",)

# How the basis rows are chosen. Clusters only have to cover the rows: a few passes over some of them do.
_BASES = ("uniform", "kmeans")
_ROWS_PER_CLUSTER = 20
_CLUSTERING: dict[str, Any] = {
    "init": "random",
    "n_init": 1,
    "max_iter": 5,
    "batch_size": 4096,
    "compute_labels": False,
    "reassignment_ratio": 0.0,
}

# Bytes of kernel values held at a time while the rows are mapped or scored.
_BLOCK_BYTES = 64_000_000
# A row of a reduced basis is left out where the square of the distance of k(., z) from the span of the others
# is at most this share of the largest square: its coefficient would make rounding grow, and gain nothing.
_INDEPENDENT = 1e-10
# Entries of a kernel matrix that are compared with those of its factor at a time.
_LEFT_ENTRIES = 1 << 16
# Rows whose kernel values with each other are computed for the sake of the diagonal.
_DIAGONAL_ROWS = 32


class KernelMap:
    """Features ``phi(x) = T^-T k(Z, x)`` of a kernel, where ``K_ZZ = T'T`` with an upper triangular T.

    The basis rows Z are all training rows or a random part of them. With all rows, ``Phi Phi' = K``: this is
    the empirical kernel map of section 4.2 of Pahikkala et al. (2009). With fewer rows ``Phi Phi'`` is the
    matrix of the reduced kernel of equation (43), and the functions are those of equation (40). The Cholesky
    factorisation is pivoted, so that K may be singular: basis rows whose kernel functions depend on those of
    the others, up to rounding, are left out, and their coefficients are zero.

    With m rows of n features, b basis rows and rank r, ``fit`` costs O(b^2 n + b r^2 / 3) and the features of
    m rows cost O(m r n + m r^2), which the full basis does not spend: its features are the factor.

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
    scales : array of shape (n,) or (n, n), or None
        What the kernel sees in place of a row x is x times these, feature by feature, or the matrix product.
    n_components : int or None
        Number of basis rows; None, or as many as there are rows, takes all.
    basis : "uniform" or "kmeans"
        Draws basis rows without replacement, or takes those that are nearest to the means of as many clusters
        of the rows, as the kernel sees them.
    dtype : "float64" or "float32"
        How `fit_design` keeps the kernel values of the rows with a part of them; sums are float64.
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
        scales: FloatArray | None = None,
        n_components: int | None = None,
        basis: str = "uniform",
        dtype: str = "float64",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.scales = scales
        self.n_components = n_components
        self.basis = basis
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Any) -> KernelMap:
        """Choose the basis rows and factor their kernel matrix.

        Parameters
        ----------
        X : array or CSR of shape (m, n)
            The training rows, or their square kernel matrix when ``kernel="precomputed"``.
        """
        return self._fit(X, keeps_values=True)

    def _fit(self, X: Any, keeps_values: bool) -> KernelMap:
        self._choose_basis(X, keeps_values)
        self._root, self._pivots = _factor(
            self._basis_kernel(X), self._precision(X), self.kernel, 0.0 if self._full else _INDEPENDENT
        )
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

    def _choose_basis(self, X: Any, keeps_values: bool = True) -> None:
        _check_kernel(self.kernel)
        check_choice(self.basis, "basis", _BASES)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be square when kernel='precomputed'; got shape {X.shape}.")
        n_basis = _n_basis(self.n_components, X.shape[0])
        _check_memory(X, n_basis, self._precomputed, keeps_values)
        self._n_rows = X.shape[0]
        self.gamma_ = None if self._precomputed else resolve_gamma(self.gamma, X)
        self.basis_indices_ = self._draw(X, n_basis)
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
        """Return the features ``k(X, Z) T^-1`` of new rows, shape (n_new, r).

        For a precomputed kernel X holds the kernel values of the new rows with all m training rows.
        """
        if self._precomputed and X.shape[1] != self._n_rows:
            raise ValueError(
                f"X must hold kernel values with all {self._n_rows} training rows; got {X.shape[1]} columns."
            )
        Phi, T, values = np.empty((X.shape[0], self.n_features_out_)), self._triangle, self._values_of(X)
        for rows in row_blocks(X.shape[0], max(Phi.shape[1], X.shape[1]), _BLOCK_BYTES // 8):
            Phi[rows] = solve_triangular(T, values(rows).T, trans=1, overwrite_b=True, check_finite=False).T
        return Phi

    def fit_design(self, X: Any, n_threads: int = 1) -> Design:
        """Fit, and return the training rows in the function space as solvers take them.

        Kernel values of rows with a part of them that do not fit into memory are computed for each product.
        """
        free, n_basis = available_memory(), _n_basis(self.n_components, X.shape[0])
        reduced = n_basis < X.shape[0]
        keeps = not reduced or free is None or _bytes_needed(X, n_basis, self._precomputed) <= free
        self._fit(X, keeps)
        if self._full:
            return as_design(self._root, n_threads=n_threads)
        values, triangle, dtype = self._values_of(X), self._triangle, np.dtype(self.dtype) if keeps else None
        return KernelDesign(values, X.shape[0], triangle, self._largest(X), n_threads, dtype)

    def _values_of(self, X: Any) -> Callable[[Rows], FloatArray]:
        """Return the function that computes the kernel values of some rows with the basis rows kept."""
        basis = self.basis_indices_[self._pivots] if self._precomputed else self.basis_[self._pivots]
        return lambda rows: kernel_values(X[rows], basis, **self.kernel_arguments)

    def _largest(self, X: Any) -> float:
        """Return the largest k(x, x)."""
        if self.kernel in _OF_DISTANCES:
            return 1.0
        if self._precomputed:
            return float(X.diagonal().max())
        blocks = (X[rows] for rows in row_blocks(X.shape[0], 1, _DIAGONAL_ROWS))
        return max(float(kernel_values(x, x, **self.kernel_arguments).diagonal().max()) for x in blocks)

    def dual_coef(self, w: NDArray) -> NDArray[np.float64]:
        """Return ``a = T^-1 w``: ``k(x, Z) a = phi(x)' w`` and ``a' K_ZZ a = w' w``.

        Shape (r,) becomes (b,), and (v, r) becomes (v, b). Sections 4.2 and 4.4 of the paper.
        """
        w = np.asarray(w, dtype=np.float64)
        a = np.zeros((*w.shape[:-1], len(self._root)))
        if self._root.any():
            columns = w.reshape(-1, w.shape[-1]).T
            solved = solve_triangular(self._triangle, columns, check_finite=False).T
            a[..., self._pivots] = solved.reshape(w.shape)
        return a

    def coef_from_dual(self, a: NDArray) -> NDArray[np.float64]:
        """Return ``w = sum_z a_z phi(z)``, the linear coefficients of the function ``k(x, Z) a``.

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
        } | ({} if self.scales is None else {"scales": self.scales})

    @property
    def _triangle(self) -> FloatArray:
        """The triangle T: the features of the basis rows that are kept, or one for a kernel that is zero."""
        T = self._root[self._pivots].T
        return T if T.any() else np.eye(len(T))

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

    def _draw(self, X: Any, n_basis: int) -> NDArray[np.int64]:
        if n_basis == self._n_rows:
            return np.arange(self._n_rows)
        random = check_random_state(self.random_state)
        if self.basis == "uniform":
            return np.sort(sample_without_replacement(self._n_rows, n_basis, random_state=random))
        if self._precomputed:
            raise ValueError("basis='kmeans' needs rows, but kernel='precomputed' has none; use 'uniform'.")
        return _rows_near_means(X if self.scales is None else scaled_rows(X, self.scales), n_basis, random)

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
    scales: FloatArray | None = None,
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
    scales : array of shape (n,) or (n, n), or None
        By which dense rows are multiplied first.
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
    if scales is not None:
        X, Z = scaled_rows(X, scales), scaled_rows(Z, scales)
    if sp.issparse(Z) and kernel in _OWN_KERNELS:
        X, Z = dense_rows(X), dense_rows(Z)
    if sp.issparse(Z) or kernel in _PAIR_BY_PAIR:
        return pairwise_kernels(X, Z, metric=kernel, filter_params=True, **parameters)
    return _dense_values(X, Z, kernel, n_threads, gamma or 1.0 / X.shape[1], degree, coef0)


def scaled_rows(X: Any, scales: FloatArray) -> FloatArray:
    """Return dense rows times scales: feature by feature, or the product with a matrix."""
    X = dense_rows(X)
    return X * scales if scales.ndim == 1 else row_scores(X, scales.T)


def _float64_rows(X: Any) -> Any:
    """Return rows in float64, C order or canonical CSR, without a copy where they are so."""
    return sparse_rows(X) if sp.issparse(X) else dense_rows(X)


def _rows_near_means(X: Any, n_rows: int, random: np.random.RandomState) -> NDArray[np.int64]:
    """Return so many row numbers, rising: of the rows nearest to the means of clusters, and of others.

    A row that is nearest to several means is there once.
    """
    from sklearn.cluster import MiniBatchKMeans  # which takes long to import

    rows = X.astype(np.float32)
    sample = random.permutation(X.shape[0])[: _ROWS_PER_CLUSTER * n_rows]
    with thread_pools().limit(limits=1, user_api="openmp"):  # threads that wait for each other are busy
        clusters = MiniBatchKMeans(n_rows, random_state=random, **_CLUSTERING).fit(rows[sample])
        near = np.unique(pairwise_distances_argmin(clusters.cluster_centers_, rows))
    others = np.setdiff1d(random.permutation(X.shape[0]), near, assume_unique=True)
    return np.sort(np.concatenate([near, others[: n_rows - len(near)]])).astype(np.int64)


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
    if kernel in ("laplacian", "exponential"):
        K = _distances(X, Z, kernel, n_threads)
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


def _distances(X: FloatArray, Z: FloatArray, kernel: str, n_threads: int) -> FloatArray:
    """Return the sums of absolute differences, or the distances, of all pairs of rows."""
    if kernel == "laplacian":
        return _native.absolute_distances(X, Z, n_threads)
    K = _native.squared_distances(X, Z, n_threads)
    return np.sqrt(K, out=K)


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
        check_choice(kernel, "kernel, unless it is callable,", [*kernel_names(), "precomputed"])


def kernel_names() -> list[str]:
    """Return the names of the kernels that are computed from rows."""
    return sorted([*kernel_metrics(), *_OWN_KERNELS])


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


def _factor(
    K: NDArray[np.float64], precision: float, kernel: Kernel, independent: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Factor ``K = R R'``, destroying K; return R of shape (b, r) and the rows in which it is triangular.

    Rows of which the others leave no more than the share `independent` of the largest, or than rounding
    does, have no column of their own.
    """
    _check_finite(K, kernel)
    diagonal = K.diagonal().copy()
    rounding = len(K) * precision
    # K is symmetric: whichever of K and K' is in Fortran order can be overwritten without a copy. The factor
    # goes into the upper triangle, so that the lower one still holds K.
    least = max(rounding, independent) * max(diagonal.max(), 0.0)
    factor, order, rank, _ = dpstrf(K if K.flags.f_contiguous else K.T, tol=least, lower=0, overwrite_a=1)
    order = order.astype(np.int64) - 1
    R = np.zeros((len(K), max(rank, 1)))
    for k, row in enumerate(order):
        R[row, : min(k + 1, rank)] = factor[: min(k + 1, rank), k]
    _check_semidefinite(factor, diagonal, R, order[rank:], max(np.sqrt(precision), rounding), kernel)
    return R, order[: R.shape[1]]


def _check_semidefinite(
    lower: FloatArray,
    diagonal: FloatArray,
    R: FloatArray,
    rest: NDArray[np.int64],
    limit: float,
    kernel: Kernel,
) -> None:
    """Refuse a kernel matrix, given by its lower triangle and diagonal, where its factor leaves too much."""
    if _left_over(lower, diagonal, R, np.sort(rest)) <= limit * np.abs(diagonal).max():
        return
    eigenvalues = eigvalsh(np.tril(lower, -1) + np.diag(diagonal), check_finite=False)
    smallest, scale = eigenvalues[0], np.abs(eigenvalues).max()
    if smallest < -limit * scale:
        raise ValueError(
            f"The kernel is not positive semidefinite: with {kernel=} the smallest eigenvalue of the matrix "
            f"of {len(eigenvalues)} basis rows is {smallest / scale:.3g} times the largest in absolute value."
        )


def _left_over(lower: FloatArray, diagonal: FloatArray, R: FloatArray, rest: NDArray[np.int64]) -> float:
    """Return the largest absolute entry of K - R R' among the rows `rest`, which rise."""
    largest = np.abs(diagonal[rest] - (R[rest] ** 2).sum(axis=1)).max(initial=0.0)
    for part in row_blocks(len(rest), len(rest), _LEFT_ENTRIES):
        rows, columns = rest[part], rest[: part.stop]
        left = lower[np.ix_(rows, columns)] - R[rows] @ R[columns].T
        largest = max(largest, np.abs(np.tril(left, part.start - 1)).max(initial=0.0))
    return float(largest)


def _check_finite(K: NDArray[np.float64], kernel: Kernel) -> None:
    if not np.isfinite([K.min(), K.max()]).all():
        raise ValueError(f"The values of {kernel=} on the basis rows contain NaN or infinity.")


def _check_symmetric(K: NDArray[np.float64], tolerance: float) -> None:
    scale = max(abs(K.min()), abs(K.max()))
    gap = max(np.abs(K[rows] - K[:, rows].T).max() for rows in row_blocks(len(K), len(K), _BLOCK_BYTES // 8))
    if gap > tolerance * scale:
        raise ValueError(
            f"X must be symmetric when kernel='precomputed'; X and its transpose differ by {gap:.3g}."
        )


def _bytes_needed(X: Any, n_basis: int, precomputed: bool, keeps_values: bool = True) -> int:
    """Count the bytes that ``fit_transform`` allocates at its peak.

    Counted are K_ZZ with a second array of its size (its eigenvectors, or what its computation holds), a
    third when X is sparse (the sparse product); for a reduced basis also the features and as many arrays of
    one block of rows; and the copy of the basis, with what is held of it while the sums are computed.
    """
    arrays = 3 if sp.issparse(X) else 2
    total = arrays * 8 * n_basis**2
    if n_basis < X.shape[0]:
        features = 8 * n_basis * X.shape[0]
        total += features * keeps_values + arrays * min(features, max(_BLOCK_BYTES, 8 * n_basis))
    if not precomputed:
        stored = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
        total += 2 * 8 * int(stored * n_basis)
    return total


def _check_memory(X: Any, n_basis: int, precomputed: bool, keeps_values: bool) -> None:
    free = available_memory()
    needed = _bytes_needed(X, n_basis, precomputed, keeps_values)
    if free is None or needed <= free:
        return
    halves = (n_basis >> k for k in range(1, n_basis.bit_length()))
    fitting = next((b for b in halves if _bytes_needed(X, b, precomputed, keeps_values) <= free), None)
    way_out = "even n_components=1 would not fit" if fitting is None else f"n_components={fitting} would fit"
    raise MemoryError(
        f"A kernel on {X.shape[0]} rows with {n_basis} basis rows needs {human_bytes(needed)} of memory, but "
        f"{human_bytes(free)} is free; {way_out}."
    )
