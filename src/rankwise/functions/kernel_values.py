"""Kernel values and the scores made of them: a value depends on its row and on the basis alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import pairwise

from rankwise import _native
from rankwise.core.checks import check_choice
from rankwise.core.types import FloatArray
from rankwise.data.design import row_blocks
from rankwise.data.scores import dense_rows, row_scores, sparse_rows
from rankwise.functions.kernel_distances import sparse_squared_distances, typical_distance

__all__ = [
    "BLOCK_BYTES",
    "OF_DISTANCES",
    "Kernel",
    "blocks_of_values",
    "check_kernel",
    "is_precomputed",
    "kernel_names",
    "kernel_scores",
    "kernel_values",
    "resolve_gamma",
    "scaled_rows",
]

Kernel = str | Callable[..., float]

# Kernels of dense rows that scikit-learn computes pair by pair, independent of the other rows.
_PAIR_BY_PAIR = ("additive_chi2", "chi2")
# Kernels of distances: they are 1 for equal rows.
OF_DISTANCES = ("exponential", "laplacian", "rbf")
# Kernels that scikit-learn does not have.
_OWN_KERNELS = ("exponential",)
# Bytes of kernel values held at a time while rows are mapped, scored or compared.
BLOCK_BYTES = 64_000_000


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

    A kernel value depends on the numbers in its two rows alone; the last digits of "rbf" and "exponential" on
    CSR rows also depend on the basis. A callable kernel is given one row of X at a time, unless Z is None.

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
    check_kernel(kernel)
    if is_precomputed(kernel):
        return dense_rows(X if Z is None else X[:, Z])
    parameters = _kernel_parameters(kernel, gamma, degree, coef0, kernel_params)
    if callable(kernel):
        return _callable_values(X, Z, kernel, parameters)
    Z = _float64_rows(X if Z is None else Z)
    X = _rows_like(Z, X)
    if scales is not None:
        X, Z = scaled_rows(X, scales), scaled_rows(Z, scales)
    if kernel in OF_DISTANCES:
        return _values_of_distances(X, Z, kernel, n_threads, gamma or 1.0 / X.shape[1])
    if kernel == "cosine":
        X, Z = _of_size_one(X), _of_size_one(Z)
    if sp.issparse(Z) or kernel in _PAIR_BY_PAIR:
        return _pairwise().pairwise_kernels(X, Z, metric=kernel, filter_params=True, **parameters)
    return _dense_values(X, Z, kernel, n_threads, gamma or 1.0 / X.shape[1], degree, coef0)


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
    if not is_precomputed(kernel):
        basis = _float64_rows(basis)
    scores = np.empty((X.shape[0], *a.shape[:-1]))
    for rows in blocks_of_values(X.shape[0], max(n_basis, X.shape[1])):
        K = kernel_values(X[rows], basis, kernel, **parameters)
        scores[rows] = row_scores(K, a, parameters.get("n_threads", 1))
    return scores


def blocks_of_values(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Return slices of rows, as many at a time as hold `BLOCK_BYTES` of float64 values."""
    return row_blocks(n_rows, n_columns, BLOCK_BYTES // 8)


def _pairwise() -> Any:
    """Return scikit-learn's kernels and distances: linear models do without this slow import."""
    return pairwise


def kernel_names() -> list[str]:
    """Return the names of the kernels that are computed from rows."""
    return sorted([*_pairwise().kernel_metrics(), *_OWN_KERNELS])


def resolve_gamma(gamma: float | str | None, X: Any, kernel: Kernel = "rbf") -> float | None:
    """Turn "scale" and "median" into a number; refuse all but these, None and positive numbers.

    "scale" is ``1 / (n_features * X.var())``. The variance is that of all entries, zeros of a CSR matrix
    included; if all are equal the result is 1. "median" is ``1 / (2 d^2)`` for "rbf" and ``1 / d`` for
    "laplacian" and "exponential", with the median distance d of two rows.

    Examples
    --------
    >>> import numpy as np
    >>> resolve_gamma("scale", np.array([[0.0, 2.0], [2.0, 0.0]]))
    0.5
    """
    if isinstance(gamma, str) and gamma == "scale":
        return _gamma_of_scale(X)
    if isinstance(gamma, str) and gamma == "median":
        return _gamma_of_median(X, kernel)
    _check_gamma(gamma, "None, 'scale', 'median' or a positive number")
    return None if gamma is None else float(gamma)


def scaled_rows(X: Any, scales: FloatArray) -> FloatArray:
    """Return dense rows times scales: feature by feature, or the product with a matrix."""
    X = dense_rows(X)
    return X * scales if scales.ndim == 1 else row_scores(X, scales.T)


def is_precomputed(kernel: Kernel) -> bool:
    """Tell whether rows hold kernel values themselves."""
    return isinstance(kernel, str) and kernel == "precomputed"


def check_kernel(kernel: Kernel) -> None:
    """Refuse the name of an unknown kernel."""
    if not callable(kernel):
        check_choice(kernel, "kernel, unless it is callable,", [*kernel_names(), "precomputed"])


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


def _gamma_of_scale(X: Any) -> float:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        variance = _variance(X)
        return _as_gamma("scale", float(1 / np.float64(X.shape[1] * variance)), X)


def _gamma_of_median(X: Any, kernel: Kernel) -> float:
    check_choice(kernel, "kernel, with gamma='median',", OF_DISTANCES)  # type: ignore[arg-type]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        distance = np.float64(typical_distance(X, str(kernel)))
        return _as_gamma("median", float(0.5 / distance**2 if kernel == "rbf" else 1 / distance), X)


def _as_gamma(word: str, gamma: float, X: Any) -> float:
    """Return a gamma, 1 if all entries are equal; refuse one that no number holds."""
    if 0 < gamma < np.inf:
        return gamma
    if X.min() == X.max():
        return 1.0
    raise ValueError(
        f"gamma={word!r} needs features whose variance is neither too large nor too small for a number; got "
        f"entries from {X.min():.3g} to {X.max():.3g}: scale the features by a power of ten."
    )


def _variance(X: Any) -> float:
    if not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    stored = sparse_rows(X).data
    size = X.shape[0] * X.shape[1]
    mean = stored.sum() / size
    return float(((stored - mean) ** 2).sum() + (size - len(stored)) * mean**2) / size


def _float64_rows(X: Any) -> Any:
    """Return rows in float64, C order or canonical CSR, without a copy if they have this form."""
    return sparse_rows(X) if sp.issparse(X) else dense_rows(X)


def _rows_like(Z: Any, X: Any) -> Any:
    """Return the rows X as sparse or dense as the rows Z."""
    if not sp.issparse(Z):
        return dense_rows(X)
    return sparse_rows(X if sp.issparse(X) else type(Z)(X))


def _callable_values(
    X: Any, Z: Any, kernel: Callable[..., float], parameters: dict[str, Any]
) -> NDArray[np.float64]:
    """Compute the values of a user's kernel, so that those of one row do not depend on the other rows."""
    values = partial(_pairwise().pairwise_kernels, metric=kernel, **parameters)
    if Z is None:
        return values(_float64_rows(X))
    Z = _float64_rows(Z)
    X = _rows_like(Z, X)
    return np.vstack([values(X[i : i + 1].copy(), Z) for i in range(X.shape[0])])


def _values_of_distances(X: Any, Z: Any, kernel: str, n_threads: int, gamma: float) -> FloatArray:
    K = _distances(X, Z, kernel, n_threads)
    K *= -gamma
    return np.exp(K, out=K)


def _distances(X: Any, Z: Any, kernel: str, n_threads: int) -> FloatArray:
    """Return the distances of all pairs of rows that the kernel uses: absolute, squared or Euclidean."""
    if kernel == "laplacian":
        if sp.issparse(Z):
            return _pairwise().manhattan_distances(X, Z)
        return _native.absolute_distances(X, Z, n_threads)
    # Differences are squared, not expanded: rows that are nearly equal suffer no cancellation.
    squares = sparse_squared_distances if sp.issparse(Z) else _native.squared_distances
    K = squares(X, Z, n_threads)
    return np.sqrt(K, out=K) if kernel == "exponential" else K


def _dense_values(
    X: FloatArray, Z: FloatArray, kernel: str, n_threads: int, gamma: float, degree: float, coef0: float
) -> FloatArray:
    """Compute the kernels that scikit-learn leaves to BLAS, each sum over features in one fixed order."""
    if kernel == "cosine":
        return _native.row_products(_of_length_one(X), _of_length_one(Z), n_threads)
    K = _native.row_products(X, Z, n_threads)
    if kernel != "linear":
        K *= gamma
        K += coef0
        K = np.tanh(K, out=K) if kernel == "sigmoid" else np.power(K, float(degree), out=K)
    return K


def _of_size_one(X: Any) -> Any:
    """Return rows times powers of two that bring their largest entries near one: squares do not overflow."""
    if not sp.issparse(X):
        return np.ldexp(X, -_exponents(X)[:, None])
    exponents = np.repeat(_exponents(X), np.diff(X.indptr))
    return type(X)((np.ldexp(X.data[: X.nnz], -exponents), X.indices[: X.nnz], X.indptr), shape=X.shape)


def _exponents(X: Any) -> NDArray[np.intc]:
    """Return the exponent of two of the largest absolute entry of each row."""
    largest, least = X.max(axis=1), X.min(axis=1)
    if sp.issparse(X):
        largest, least = largest.toarray().ravel(), least.toarray().ravel()
    return np.frexp(np.maximum(largest, -least))[1]


def _of_length_one(X: FloatArray) -> FloatArray:
    length = np.sqrt(row_scores(X * X, np.ones(X.shape[1])))
    return X / np.where(length > 0, length, 1.0)[:, None]
