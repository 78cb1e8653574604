"""Kernel function spaces for linear solvers: features in which ``||w||`` is the norm of the function."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from rankwise.core.checks import check_choice
from rankwise.core.memory import available_memory, human_bytes
from rankwise.core.threads import thread_pools
from rankwise.core.types import FloatArray
from rankwise.data.design import Design, row_blocks
from rankwise.data.scores import dense_rows, owned_rows
from rankwise.functions.kernel_design import FactorDesign, KernelDesign, Rows
from rankwise.functions.kernel_factor import check_finite, check_symmetric, pivoted_factor
from rankwise.functions.kernel_values import (
    BLOCK_BYTES,
    OF_DISTANCES,
    Kernel,
    blocks_of_values,
    check_kernel,
    is_precomputed,
    kernel_scores,
    kernel_values,
    resolve_gamma,
    scaled_rows,
)
from rankwise.functions.learned import KernelSum


def fits_memory(X: Any, n_basis: int, precomputed: bool) -> bool:
    """Return whether all kernel values with the basis rows fit into memory; true if its size is unknown."""
    free = available_memory()
    return free is None or _bytes_needed(X, n_basis, precomputed) <= free


def _bytes_needed(X: Any, n_basis: int, precomputed: bool, keeps_values: bool = True) -> int:
    """Count the bytes that ``fit_transform`` allocates at its peak.

    Counted are K_ZZ with a second array of its size (its eigenvectors, or its workspace), a
    third when X is sparse (the sparse product); for a reduced basis also the features and as many arrays of
    one block of rows; and the copy of the basis, with its workspace while the sums are computed.
    """
    arrays = 3 if sp.issparse(X) else 2
    total = arrays * 8 * n_basis**2
    if n_basis < X.shape[0]:
        features = 8 * n_basis * X.shape[0]
        total += features * keeps_values + arrays * min(features, max(BLOCK_BYTES, 8 * n_basis))
    if not precomputed:
        stored = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
        total += 2 * 8 * int(stored * n_basis)
    return total


def check_memory(X: Any, n_basis: int, precomputed: bool, keeps_values: bool) -> None:
    """Refuse a kernel that does not fit into free memory, and name a number of basis rows that would."""
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

# A row of a reduced basis is dropped if the squared distance of k(., z) from the span of the others is at
# most this fraction of the largest square: its coefficient would amplify rounding errors and gain nothing.
_INDEPENDENT = 1e-10
# The error of a kernel value, relative to the largest, for each factor: more for some of them, but
# sums over rows average.
_VALUE_ERROR = 2.0 * float(np.finfo(np.float64).eps)
# Rows whose kernel values with each other are computed for the sake of the diagonal.
_DIAGONAL_ROWS = 32


class KernelMap:
    """Features ``phi(x) = T^-T k(Z, x)`` of a kernel, where ``K_ZZ = T'T`` with an upper triangular T.

    The basis rows Z are all training rows or a random part of them. With all rows, ``Phi Phi' = K``: this is
    the empirical kernel map of section 4.2 of Pahikkala et al. (2009). With fewer rows ``Phi Phi'`` is the
    matrix of the reduced kernel of equation (43), and the functions are those of equation (40). The Cholesky
    factorization is pivoted, so that K may be singular: basis rows whose kernel functions depend on those of
    the others, up to rounding, are left out, and their coefficients are zero.

    With m rows of n features, b basis rows and rank r, ``fit`` costs O(b^2 n + b r^2 / 3) and the features of
    m rows cost O(m r n + m r^2), which the full basis does not spend: its features are the factor.

    Parameters
    ----------
    kernel : str or callable
        A name known to `sklearn.metrics.pairwise.kernel_metrics`, "precomputed", or a function of two rows
        that gives a number. It must be positive semidefinite, which "additive_chi2" never and "sigmoid"
        seldom is; ``fit`` refuses a kernel matrix that is not.
    gamma : float, "scale", "median" or None
        None is scikit-learn's default, ``1 / n_features`` (1 for "chi2"); "scale" is
        ``1 / (n_features * X.var())`` of the rows given to ``fit``, and "median" is by their median distance:
        see `resolve_gamma`.
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
        self._root, self._pivots = pivoted_factor(
            self._basis_kernel(X), self._precision(X), self.kernel, 0.0 if self._full else _INDEPENDENT
        )
        # The features of the full basis are this array: a caller who changed them would change the map.
        self._root.setflags(write=False)
        self.n_features_out_ = self._root.shape[1]
        # The features of the basis rows that are kept, or one for a kernel that is zero.
        T = self._root[self._pivots].T
        self._triangle = T if T[0, 0] else np.eye(len(T))
        return self

    def fit_kernel(self, X: Any) -> NDArray[np.float64]:
        """Choose the basis rows and give their kernel matrix K_ZZ, without decomposing it.

        The basis and the kernel's arguments are then known, the features are not.
        """
        self._choose_basis(X)
        K = self._basis_kernel(X)
        check_finite(K, self.kernel)
        return K

    def _choose_basis(self, X: Any, keeps_values: bool = True) -> None:
        check_kernel(self.kernel)
        check_choice(self.basis, "basis", _BASES)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be square when kernel='precomputed'; got shape {X.shape}.")
        n_basis = _n_basis(self.n_components, X.shape[0])
        check_memory(X, n_basis, self._precomputed, keeps_values)
        self._n_rows = X.shape[0]
        self.gamma_ = None if self._precomputed else resolve_gamma(self.gamma, X, self.kernel)
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
        for rows in blocks_of_values(X.shape[0], max(Phi.shape[1], X.shape[1])):
            Phi[rows] = solve_triangular(T, values(rows).T, trans=1, overwrite_b=True, check_finite=False).T
        return Phi

    def fit_design(self, X: Any, n_threads: int = 1) -> Design:
        """Fit, and return the training rows in the function space as solvers take them.

        Kernel values of rows with a part of them that do not fit into memory are computed for each product.
        """
        n_basis = _n_basis(self.n_components, X.shape[0])
        keeps = n_basis == X.shape[0] or fits_memory(X, n_basis, self._precomputed)
        self._fit(X, keeps)
        if self._full:
            largest = float(np.einsum("ij,ij->i", self._root, self._root).max())
            return FactorDesign(self._root, self._triangle, largest, self._value_error(), n_threads)
        values, triangle, dtype = self._values_of(X), self._triangle, np.dtype(self.dtype) if keeps else None
        return KernelDesign(values, X.shape[0], triangle, self._largest(X), n_threads, dtype)

    def _values_of(self, X: Any) -> Callable[[Rows], FloatArray]:
        """Return the function that computes the kernel values of some rows with the basis rows kept."""
        basis = self.basis_indices_[self._pivots] if self._precomputed else self.basis_[self._pivots]
        return lambda rows: kernel_values(X[rows], basis, **self.kernel_arguments)

    def _largest(self, X: Any) -> float:
        """Return the largest k(x, x)."""
        if self.kernel in OF_DISTANCES:
            return 1.0
        if self._precomputed:
            return float(X.diagonal().max())
        blocks = (X[rows] for rows in row_blocks(X.shape[0], 1, _DIAGONAL_ROWS))
        return max(float(kernel_values(x, x, **self.kernel_arguments).diagonal().max()) for x in blocks)

    def _value_error(self) -> float:
        """Return the error of a kernel value, relative to the largest."""
        return _VALUE_ERROR * (max(1.0, self.degree) if self.kernel in ("poly", "polynomial") else 1.0)

    def dual_coef(self, w: NDArray) -> NDArray[np.float64]:
        """Return ``a = T^-1 w``: ``k(x, Z) a = phi(x)' w`` and ``a' K_ZZ a = w' w``.

        Shape (r,) becomes (b,), and (v, r) becomes (v, b). Sections 4.2 and 4.4 of the paper.
        """
        w = np.asarray(w, dtype=np.float64)
        a = np.zeros((*w.shape[:-1], len(self._root)))
        if self._root[self._pivots[0], 0]:  # unless the kernel is zero
            columns = w.reshape(-1, w.shape[-1]).T
            solved = solve_triangular(self._triangle, columns, check_finite=False).T
            a[..., self._pivots] = solved.reshape(w.shape)
        return a

    def function(self, a: NDArray) -> KernelSum:
        """Return the function, or the functions, with the coefficients a."""
        return KernelSum(a, self.basis_, self.basis_indices_, self.kernel_arguments)

    def scores(self, X: Any, a: NDArray, n_threads: int = 1) -> NDArray[np.float64]:
        """Return ``k(x, Z) a`` for each row: `kernel_scores` with this basis and this kernel."""
        return kernel_scores(X, self.basis_rows, a, n_threads=n_threads, **self.kernel_arguments)

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
    def _precomputed(self) -> bool:
        return is_precomputed(self.kernel)

    @property
    def _full(self) -> bool:
        return len(self.basis_indices_) == self._n_rows

    @property
    def basis_rows(self) -> Any:
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
            with np.errstate(over="ignore"):  # infinite values are refused when K is factored
                return kernel_values(self.basis_, **self.kernel_arguments)
        part = X if self._full else X[np.ix_(self.basis_indices_, self.basis_indices_)]
        K = np.array(dense_rows(part), copy=True)
        check_symmetric(K, np.sqrt(self._precision(X)))
        return K

    def _precision(self, X: Any) -> float:
        """Relative rounding error of the kernel values: only a user's own matrix may be in float32."""
        known = self._precomputed and X.dtype.kind == "f"
        return float(np.finfo(X.dtype if known else np.float64).eps)


def _rows_near_means(X: Any, n_rows: int, random: np.random.RandomState) -> NDArray[np.int64]:
    """Return n increasing row numbers: of the rows nearest to the means of clusters, and of others.

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


def _n_basis(n_components: int | None, n_rows: int) -> int:
    if n_components is None:
        return n_rows
    whole = isinstance(n_components, Integral) and not isinstance(n_components, bool)
    if not whole or n_components < 1:
        raise ValueError(f"n_components must be None or a whole number of at least 1; got {n_components!r}.")
    return min(int(n_components), n_rows)
