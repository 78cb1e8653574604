"""Scales of features that a kernel learns: average gradient outer products, alternated with fits.

A function that depends on some features alone changes along these alone: the mean square of the gradient of a
fitted function measures the importance of each feature, and a kernel on features scaled by its root fits
better than one with equal scales (recursive feature machines: Radhakrishnan, Beaglehole, Pandit
and Belkin, Science 383, 2024). Gradients are those of functions of their own for rows that are near to each
other, with all of these as basis rows. Another function, with few basis rows, is fitted to a sample after
each round; the round, the width and the alpha with the lowest error on rows held out are kept. All of these
are least squares in single precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_solve, eigh
from sklearn.utils import check_random_state

from rankwise import _native
from rankwise.core.checks import check_choice
from rankwise.core.threads import in_order
from rankwise.core.time_limit import check_time
from rankwise.core.types import FloatArray
from rankwise.data.design import row_blocks
from rankwise.functions.kernel_design import centred_gram, positive_factor
from rankwise.functions.kernel_distances import typical_distance
from rankwise.functions.kernel_map import KernelMap
from rankwise.functions.kernel_parameters import LEARNED
from rankwise.functions.kernel_values import kernel_values, scaled_rows
from rankwise.losses import LeastSquares
from rankwise.model_selection.scoring import held_out_error
from rankwise.preferences import Preferences

__all__ = ["FeatureScales", "learn_scales"]

LEARNING_KERNELS = ("exponential", "laplacian", "rbf")
# The most rows from which gradients are learned, the most of them in a function of their own, and rows at
# which gradients are taken.
FITTED_ROWS, LOCAL_ROWS, GRADIENT_ROWS = 20_000, 1000, 2000
# Basis rows of a fit that is judged, its rows for each of these, and the most rows it is judged by.
BASIS_ROWS, ROWS_PER_BASIS_ROW, HELD_OUT_ROWS = 600, 8, 3000
# The fraction of queries, or of rows of one ranking, that is held out.
HELD_OUT_SHARE = 0.2
N_ROUNDS = 5
# The search stops at an alpha that lowers the error by no more than this fraction.
LEAST_GAIN = 0.003
# Typical distances of two rows, in widths of the kernel: tried for the rounds, and tried in the end, too.
WIDTHS = {"exponential": (1.0, 0.3), "laplacian": (1.0,), "rbf": (1.0,)}
LAST_WIDTHS = {"exponential": (2.0,), "laplacian": (2.0,), "rbf": (0.3,)}
# Alphas to try at first, and around the last one in each round; smaller ones are lost in single precision.
ALPHAS, NEAR = np.logspace(-2.0, -7.0, 6), np.array([3.0, 1.0, 1 / 3])
# Alphas to try for another loss, around that of least squares, falling like all of them.
OF_LOSS = np.logspace(0.5, -3.5, 9)
# The best alpha falls with this power of the number of rows.
FALL = 1.5
# What rounding in single precision takes from the smallest eigenvalues, as a share of their mean.
SINGLE = 1e-9
# The least that is added to the diagonal of a kernel matrix in single precision.
LEAST_RIDGE = 1e-5
# A squared distance below this multiple of the rounding unit of a row's square is zero for a gradient.
NO_DISTANCE = 84
# Kernel values that are computed at a time.
BLOCK_ENTRIES = 1 << 19
# A feature is not scaled down further than this share of the largest scale: a later round may find it of use.
SMALLEST_SCALE = 1e-3

# Solves for each alpha on a design: of it, the preferences and the alphas.
WeightsPath = Callable[[Any, Preferences, FloatArray], Iterable[FloatArray]]


@dataclass(frozen=True)
class FeatureScales:
    """What was learned: the kernel sees x times `scales` in place of a row x.

    Attributes
    ----------
    scales : array of shape (n_features,) or (n_features, n_features)
    gamma : float
        The gamma of the kernel.
    alpha : float
        The best alpha, of least squares or of the loss whose path was given, for as many rows as were given.
    errors : array of shape (n_rounds + 1,)
        The ranking error on the rows held out, on features of equal spread and after each round.
    """

    scales: FloatArray
    gamma: float
    alpha: float
    errors: FloatArray


def learn_scales(
    X: FloatArray,
    preferences: Preferences,
    kernel: str,
    *,
    full: bool = False,
    average: str = "queries",
    path: WeightsPath | None = None,
    n_threads: int = 1,
    random_state: Any = None,
    n_fitted: int = FITTED_ROWS,
) -> FeatureScales:
    """Learn the scale of each feature in a ranking, and the width of the kernel.

    Cost: O(s l (n + l)) for each of five rounds on s rows in parts of l, which do not grow with the number of
    rows, and as much or less for the fits that are judged.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    preferences : Preferences
        Among the rows.
    kernel : "exponential", "laplacian" or "rbf"
    full : bool
        Learn a matrix, which also rotates the features, in place of one scale per feature.
    average : "queries" or "pairs"
        How errors are averaged.
    path : callable, optional
        The weights of another loss for each of some falling alphas, which chooses alpha in its place.
    n_fitted : int
        The most rows from which gradients are learned.
    """
    check_choice(kernel, f"kernel, with gamma={LEARNED[full]!r},", LEARNING_KERNELS)
    if sp.issparse(X):
        raise ValueError(f"gamma={LEARNED[full]!r} needs dense rows; got a sparse matrix.")
    random = check_random_state(random_state)
    task = _Task.drawn(X, preferences, kernel, average, n_threads, random, n_fitted)
    n_features = X.shape[1]
    equal = np.eye(n_features) if full else np.ones(n_features)
    found = [_best(task.best_fit(equal, width, ALPHAS) for width in WIDTHS[kernel])]
    for _ in range(N_ROUNDS):
        scales = _root_of_gradients(task.gradients(found[-1]), full)
        found.append(task.best_fit(scales, found[0].width, found[-1].alpha * NEAR))
    best = _best(found)
    last = (task.best_fit(best.scales, width, best.alpha * NEAR) for width in LAST_WIDTHS[kernel])
    best = _best([best, *last])
    # What a row adds to the penalty's counterweight stays the same: more rows need less of a penalty.
    alpha = (best.alpha if path is None else task.alpha_of(path, best)) * (task.n_sample / len(X)) ** FALL
    scales = task.spread * best.scales if best.scales.ndim == 1 else task.spread[:, None] * best.scales
    return FeatureScales(scales, best.gamma, alpha, np.array([fit.error for fit in found]))


@dataclass(frozen=True)
class _Fit:
    """What a function of scaled features was made with, and its error on the rows held out."""

    scales: FloatArray
    width: float
    gamma: float
    alpha: float
    error: float


def _best(fits: Iterable[_Fit]) -> _Fit:
    return min(fits, key=lambda fit: fit.error)


@dataclass(frozen=True)
class _Task:
    """Rows to fit and rows to judge by, on centered features of equal spread, with their preferences.

    The rows are in the order drawn, in which queries are whole.
    """

    spread: FloatArray
    X: FloatArray
    preferences: Preferences
    held_out_rows: FloatArray
    held_out: Preferences
    kernel: str
    average: str
    n_threads: int
    seed: int

    @classmethod
    def drawn(
        cls,
        X: FloatArray,
        preferences: Preferences,
        kernel: str,
        average: str,
        n_threads: int,
        random: np.random.RandomState,
        n_fitted: int,
    ) -> _Task:
        """Draw rows to fit and rows to judge by; where either have no pairs, all rows are both."""
        judged, fitted = _parts(preferences.groups(), n_fitted, random)
        if not (preferences[judged].n_pairs and preferences[fitted].n_pairs):
            judged = fitted = np.arange(len(X))
        sample = np.asarray(X[fitted], np.float64)
        # Distances do not see the center, but in single precision rows far from zero would lose them.
        spread, centre = _equal_spread(sample), sample.mean(axis=0)
        rows = [(X[part] - centre) * spread for part in (fitted, judged)]
        seed = int(random.randint(2**31))
        parts = rows[0], preferences[fitted], rows[1], preferences[judged]
        return cls(spread, *parts, kernel, average, n_threads, seed)

    @cached_property
    def n_sample(self) -> int:
        """The number of rows, from the first on, that a function is fitted to which is judged."""
        n_rows = min(len(self.X), ROWS_PER_BASIS_ROW * BASIS_ROWS)
        return n_rows if self.preferences[:n_rows].n_pairs else len(self.X)

    @cached_property
    def n_basis(self) -> int:
        """The number of basis rows of such a function."""
        return min(BASIS_ROWS, max(1, self.n_sample // 2))

    @cached_property
    def sample_form(self) -> LeastSquares:
        """The loss of such a function."""
        return LeastSquares(self.preferences[: self.n_sample], average=self.average, ties="keep")

    def _gamma(self, rows: FloatArray, width: float) -> float:
        inverse = width / typical_distance(rows, self.kernel, self.seed)
        return inverse**2 if self.kernel == "rbf" else inverse

    def best_fit(self, scales: FloatArray, width: float, alphas: FloatArray) -> _Fit:
        """Fit for each alpha, and return the fit with the lowest error on the rows held out."""
        check_time()
        rows, new = (scaled_rows(X, scales) for X in (self.X[: self.n_sample], self.held_out_rows))
        gamma = self._gamma(rows, width)
        chosen = np.random.default_rng(self.seed).choice(len(rows), self.n_basis, replace=False)
        alphas = np.maximum(alphas, ALPHAS.min())
        dual = self._least_squares(rows, rows[chosen], gamma, alphas)
        values = _values(new.astype(np.float32), rows[chosen].astype(np.float32), self.kernel, gamma)
        errors = self._errors(values.astype(np.float64) @ dual)
        best = int(np.argmin(errors))
        return _Fit(scales, width, gamma, alphas[best], errors[best])

    def _errors(self, scores: FloatArray) -> list[float]:
        return [held_out_error(self.held_out, column, self.average) for column in scores.T]

    def _least_squares(
        self, rows: FloatArray, basis: FloatArray, gamma: float, alphas: FloatArray
    ) -> FloatArray:
        """Return (K'L K + alpha K_ZZ)^-1 K'r for each alpha, with products in single precision."""
        form = self.sample_form
        K = _values(rows.astype(np.float32), basis.astype(np.float32), self.kernel, gamma)
        group = form.preferences.groups()
        gram = centred_gram(lambda part: K[part], group, form.diagonal, self.n_threads)
        gram *= form.diagonal.sum()
        square = kernel_values(basis, kernel=self.kernel, gamma=gamma)
        pull = form.pull.astype(np.float32) @ K
        factors = (positive_factor(gram + alpha * square, SINGLE) for alpha in alphas)
        return np.stack([cho_solve(factor, pull, check_finite=False) for factor in factors], axis=1)

    def alpha_of(self, path: WeightsPath, fit: _Fit) -> float:
        """Return the alpha with which another loss has the lowest error, for as many rows as in a sample.

        It is found near to that of least squares, from above until errors fall no more.
        """
        kernel_map = KernelMap(
            self.kernel,
            gamma=fit.gamma,
            scales=fit.scales,
            n_components=self.n_basis,
            random_state=self.seed,
        )
        design = kernel_map.fit_design(self.X[: self.n_sample], self.n_threads)
        alphas = fit.alpha * OF_LOSS
        errors: list[float] = []
        for coef in path(design, self.sample_form.preferences, alphas):
            scores = kernel_map.scores(self.held_out_rows, kernel_map.dual_coef(coef), self.n_threads)
            errors += self._errors(scores[:, None])
            if len(errors) > 1 and not errors[-1] < (1 - LEAST_GAIN) * errors[-2]:
                break
        return float(alphas[int(np.argmin(errors))])

    @cached_property
    def _targets(self) -> tuple[FloatArray, FloatArray]:
        """The weight of each row in least squares, and what its score should be: r and L of the form say it.

        L is diag(d) but for means of queries, so that r / d is a label less the mean of its query.
        """
        form = LeastSquares(self.preferences, average=self.average, ties="keep")
        weight = form.diagonal
        return weight, np.divide(form.pull, weight, where=weight > 0, out=np.zeros_like(weight))

    def gradients(self, fit: _Fit) -> FloatArray:
        """Return gradients by the features, at some of the rows, of functions fitted to rows near by."""
        U = scaled_rows(self.X, fit.scales)
        gamma, alpha = self._gamma(U, fit.width), fit.alpha * self.n_sample / len(U)
        weight, target = self._targets
        step = -(-len(U) // GRADIENT_ROWS)

        def of_part(rows: NDArray[np.int64]) -> FloatArray:
            Z = (U[rows] - U[rows].mean(axis=0)).astype(np.float32)
            K = _values(Z, Z, self.kernel, gamma)
            a = _dual_coef(K, alpha / weight[rows], target[rows])
            return _gradients(Z[::step], Z, a, self.kernel, gamma)

        parts = _near_rows(U, np.flatnonzero(weight > 0))
        of_scaled = np.concatenate(list(in_order(of_part, parts, self.n_threads)))
        return of_scaled * fit.scales if fit.scales.ndim == 1 else of_scaled @ fit.scales.T


def _near_rows(U: FloatArray, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows in equal parts of at most `LOCAL_ROWS`, each cut made along the widest feature."""
    n_parts = -(-len(rows) // LOCAL_ROWS)
    if n_parts <= 1:
        return [rows]
    widest = U[rows, int(np.argmax(U[rows].var(axis=0)))]
    rows = rows[np.argsort(widest, kind="stable")]
    cut = len(rows) * (n_parts // 2) // n_parts
    return _near_rows(U, rows[:cut]) + _near_rows(U, rows[cut:])


def _dual_coef(K: NDArray[np.float32], ridge: FloatArray, target: FloatArray) -> NDArray[np.float32]:
    """Return the coefficients a of (K + diag(ridge)) a + c = target that add up to zero, for any number c.

    They minimize the sum of (target - c - f)^2 / ridge + ||f||^2 over f = K a and c. K is overwritten.
    """
    K[np.diag_indices_from(K)] = 1.0 + ridge
    right = np.stack([target, np.ones_like(target)], axis=1).astype(K.dtype)
    of_target, of_one = cho_solve(positive_factor(K, LEAST_RIDGE), right, check_finite=False).T
    return of_target - (of_target.sum() / of_one.sum()) * of_one


def _parts(
    group: NDArray[np.int64], n_fitted: int, random: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows to judge by and rows to fit: whole queries, or single rows if there are few queries."""
    n_rows = len(group)
    if group.max(initial=0) + 1 < 1 / HELD_OUT_SHARE:
        group = np.arange(n_rows)
    order = np.argsort(random.permutation(group.max(initial=0) + 1)[group], kind="stable")
    first = np.flatnonzero(np.diff(group[order], prepend=-1))  # of each group, in the order drawn
    wanted = min(HELD_OUT_SHARE * n_rows, HELD_OUT_ROWS)
    start = int(first[min(int(np.searchsorted(first, wanted)), len(first) - 1)])
    last = int(np.searchsorted(first, start + n_fitted))
    stop = int(first[last]) if last < len(first) else n_rows
    return order[:start], order[start:stop]


def _equal_spread(X: FloatArray) -> FloatArray:
    """Return the scales at which features have a standard deviation of 1; constant ones have none.

    Features with two values, such as indicators of a category, have these 1 apart: by its deviation a rare
    category would be far from everything.
    """
    lowest, highest = X.min(axis=0), X.max(axis=0)
    two_values = ((lowest == X) | (highest == X)).all(axis=0)
    spread = np.where(two_values, highest - lowest, X.std(axis=0))
    return np.divide(1.0, spread, where=spread > 0, out=np.zeros_like(spread))


def _root_of_gradients(gradients: FloatArray, full: bool) -> FloatArray:
    """Return the root of the mean outer product of gradients, or of its diagonal, the largest entry 1."""
    if full:
        values, vectors = eigh(gradients.T @ gradients / len(gradients))
        return (vectors * _bounded(np.sqrt(np.maximum(values, 0.0)))) @ vectors.T
    return _bounded(np.sqrt(np.mean(gradients**2, axis=0)))


def _bounded(scales: FloatArray) -> FloatArray:
    largest = scales.max(initial=0.0)
    return np.maximum(scales / largest, SMALLEST_SCALE) if largest > 0 else np.ones_like(scales)


def _values(U: NDArray[Any], Z: NDArray[Any], kernel: str, gamma: float) -> NDArray[Any]:
    """Return the kernel values of rows, in their precision.

    Squared distances are |u|^2 + |z|^2 - 2 u'z: what nearly equal rows lose by that, gradients do not see.
    """
    K = np.empty((len(U), len(Z)), U.dtype)
    for rows in row_blocks(len(U), len(Z), BLOCK_ENTRIES):
        block = K[rows]
        if kernel == "laplacian":
            block[:] = _absolute_distances(U[rows], Z)
        else:
            _squared_distances(U[rows], Z, block)
        if kernel == "exponential":
            np.sqrt(block, out=block)
        block *= -gamma
        np.exp(block, out=block)
    return K


def _squared_distances(U: NDArray[Any], Z: NDArray[Any], out: NDArray[Any]) -> None:
    np.matmul(U, -2 * Z.T, out=out)
    out += (U * U).sum(axis=1)[:, None]
    out += (Z * Z).sum(axis=1)
    np.maximum(out, 0, out=out)


def _absolute_distances(U: NDArray[Any], Z: NDArray[Any]) -> FloatArray:
    return _native.absolute_distances(U.astype(np.float64), Z.astype(np.float64), 1)


def _gradients(U: NDArray[Any], Z: NDArray[Any], a: NDArray[Any], kernel: str, gamma: float) -> NDArray[Any]:
    """Return the gradient by u of sum_z a_z k(u, z) at each row u."""
    weight = _values(U, Z, kernel, gamma)
    weight *= a
    if kernel == "laplacian":
        signed = ((weight * np.sign(u[:, None] - z)).sum(axis=1) for u, z in zip(U.T, Z.T, strict=True))
        return -gamma * np.stack(list(signed), axis=1)
    if kernel == "exponential":
        square = np.empty_like(weight)
        _squared_distances(U, Z, square)
        apart = square > NO_DISTANCE * np.finfo(U.dtype).eps * (U * U).sum(axis=1)[:, None]
        weight *= np.divide(gamma, np.sqrt(square), where=apart, out=np.zeros_like(square))
    else:
        weight *= 2 * gamma
    return weight @ Z - U * weight.sum(axis=1, keepdims=True)
