"""Scales of features that a kernel learns: average gradient outer products, alternated with fits.

A function that depends on some features alone changes along these alone: the mean square of the gradient of a
fitted function tells how much each feature matters, and a kernel on features scaled by its root fits better
than one in which all of them weigh the same (recursive feature machines: Radhakrishnan, Beaglehole, Pandit
and Belkin, Science 383, 2024). The fits are least squares with few basis rows on a sample of the rows, in
single precision; the round, the width and the alpha with the lowest error on rows held out are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_solve, eigh
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from rankwise import _native
from rankwise._checks import check_choice
from rankwise._types import FloatArray
from rankwise.design import row_blocks
from rankwise.kernel_design import centred_gram, positive_factor
from rankwise.kernels import KernelMap, kernel_values, scaled_rows
from rankwise.losses import LeastSquares
from rankwise.model_selection.scoring import held_out_error
from rankwise.preferences import Preferences

__all__ = ["FeatureScales", "is_learned", "learn_scales"]

LEARNING_KERNELS = ("exponential", "laplacian", "rbf")
LEARNED = ("learned", "learned-matrix")
# The fewest and the most basis rows of a fit, and between them basis rows for each feature: the more features
# there are, the better a function has to be known to tell them apart.
BASIS_ROWS, BASIS_ROWS_PER_FEATURE = (600, 1400), 25
# Rows of a fit for each of its basis rows, the most rows held out, and rows at which gradients are taken.
ROWS_PER_BASIS_ROW, HELD_OUT_ROWS, GRADIENT_ROWS = 8, 3000, 4000
# The share of queries, or of rows of one ranking, that are held out.
HELD_OUT_SHARE = 0.2
# Rounds at most.
N_ROUNDS = 5
# A round, or a smaller alpha, that lowers the error by no more than this share is the last one.
LEAST_GAIN = 0.003
# Typical distances of two rows, in widths of the kernel: tried for the rounds, and tried in the end, too.
WIDTHS = {"exponential": (1.0, 0.3), "laplacian": (1.0,), "rbf": (1.0,)}
LAST_WIDTHS = {"exponential": (2.0,), "laplacian": (2.0,), "rbf": (0.3,)}
# Alphas to try at first, and around the last one in each round; smaller ones are lost in single precision.
ALPHAS, NEAR = 10.0 ** -np.arange(2.0, 8.0), np.array([3.0, 1.0, 1 / 3])
# Alphas to try for another loss, around that of least squares, falling like all of them.
OF_LOSS = 10.0 ** -np.arange(-0.5, 4.0, 0.5)
# What rounding in single precision takes from the smallest eigenvalues, as a share of their mean.
SINGLE = 1e-9
# Kernel values that are computed at a time.
BLOCK_ENTRIES = 1 << 19
# A feature is not scaled down further than this share of the largest scale: a later round may find it of use.
SMALLEST_SCALE = 1e-3
# Pairs of rows from which a typical distance is measured.
N_PAIRS = 2000

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
) -> FeatureScales:
    """Learn how much each feature matters to a ranking, and the width of the kernel.

    Cost: O(s b (n + b)) for each of up to five rounds, s rows and b basis rows, which do not grow with the
    number of rows.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    preferences : Preferences
        Among the rows.
    kernel : "exponential", "laplacian" or "rbf"
    full : bool
        Learn a matrix, which turns the features too, in place of one scale a feature.
    average : "queries" or "pairs"
        How errors are averaged.
    path : callable, optional
        The weights of another loss for each of some falling alphas, which chooses alpha in its place.
    """
    check_choice(kernel, f"kernel, with gamma={LEARNED[full]!r},", LEARNING_KERNELS)
    if sp.issparse(X):
        raise ValueError(f"gamma={LEARNED[full]!r} needs dense rows; got a sparse matrix.")
    task = _Task.drawn(X, preferences, kernel, average, n_threads, check_random_state(random_state))
    n_features = X.shape[1]
    equal = np.eye(n_features) if full else np.ones(n_features)
    found = [_best(task.best_fit(equal, width, ALPHAS) for width in WIDTHS[kernel])]
    while len(found) == 1 or (len(found) <= N_ROUNDS and _gains(found[-1].error, found[-2].error)):
        scales = _root_of_gradients(task.gradients(found[-1]), full)
        found.append(task.best_fit(scales, found[0].width, found[-1].alpha * NEAR))
    best = _best(found)
    last = (task.best_fit(best.scales, width, best.alpha * NEAR) for width in LAST_WIDTHS[kernel])
    best = _best([best, *last])
    # What a row adds to the penalty's counterweight stays the same: more rows need less of a penalty.
    alpha = (best.alpha if path is None else task.alpha_of(path, best)) * len(task.X) / len(X)
    scales = task.spread * best.scales if best.scales.ndim == 1 else task.spread[:, None] * best.scales
    return FeatureScales(scales, best.gamma, alpha, np.array([fit.error for fit in found]))


def is_learned(gamma: Any) -> bool:
    """Return whether a gamma stands for scales that are to be learned."""
    return isinstance(gamma, str) and gamma in LEARNED


@dataclass(frozen=True)
class _Fit:
    """A function of scaled features, its error on the rows held out, and what it was made with."""

    scales: FloatArray
    width: float
    gamma: float
    alpha: float
    error: float
    basis: FloatArray
    dual_coef: FloatArray


def _best(fits: Iterable[_Fit]) -> _Fit:
    return min(fits, key=lambda fit: fit.error)


def _gains(error: float, previous: float) -> bool:
    return error < (1 - LEAST_GAIN) * previous


@dataclass(frozen=True)
class _Task:
    """Rows to fit and rows to judge by, on features of equal spread, with their preferences."""

    spread: FloatArray
    X: FloatArray
    preferences: Preferences
    held_out_rows: FloatArray
    held_out: Preferences
    kernel: str
    average: str
    n_threads: int
    seed: int
    n_basis: int

    @classmethod
    def drawn(
        cls,
        X: FloatArray,
        preferences: Preferences,
        kernel: str,
        average: str,
        n_threads: int,
        random: np.random.RandomState,
    ) -> _Task:
        """Draw rows to fit and rows to judge by; where either have no pairs, all rows are both."""
        n_basis = min(max(BASIS_ROWS_PER_FEATURE * X.shape[1], BASIS_ROWS[0]), BASIS_ROWS[1])
        judged, fitted = _parts(preferences.groups(), ROWS_PER_BASIS_ROW * n_basis, random)
        if not (preferences[judged].n_pairs and preferences[fitted].n_pairs):
            judged = fitted = np.arange(len(X))
        spread = _equal_spread(np.asarray(X[fitted], np.float64))
        rows = [X[part] * spread for part in (fitted, judged)]
        seed = int(random.randint(2**31))
        parts = rows[0], preferences[fitted], rows[1], preferences[judged]
        n_basis = min(n_basis, max(1, len(fitted) // 2))
        return cls(spread, *parts, kernel, average, n_threads, seed, n_basis)

    def best_fit(self, scales: FloatArray, width: float, alphas: FloatArray) -> _Fit:
        """Fit for each alpha, and return the fit with the lowest error on the rows held out."""
        rows = scaled_rows(self.X, scales)
        inverse = width / _typical_distance(rows, self.kernel, self.seed)
        gamma = inverse**2 if self.kernel == "rbf" else inverse
        chosen = np.random.default_rng(self.seed).choice(len(rows), self.n_basis, replace=False)
        alphas = np.maximum(alphas, ALPHAS.min())
        dual = self._least_squares(rows, rows[chosen], gamma, alphas)
        held_out = _single_values(scaled_rows(self.held_out_rows, scales), rows[chosen], self.kernel, gamma)
        errors = self._errors(held_out.astype(np.float64) @ dual)
        best = int(np.argmin(errors))
        return _Fit(scales, width, gamma, alphas[best], errors[best], self.X[chosen], dual[:, best])

    def _errors(self, scores: FloatArray) -> list[float]:
        return [held_out_error(self.held_out, column, self.average) for column in scores.T]

    def _least_squares(
        self, rows: FloatArray, basis: FloatArray, gamma: float, alphas: FloatArray
    ) -> FloatArray:
        """Return (K'L K + alpha K_ZZ)^-1 K'r for each alpha, with products in single precision."""
        form = LeastSquares(self.preferences, average=self.average, ties="keep")
        K = _single_values(rows, basis, self.kernel, gamma)
        gram = centred_gram(lambda part: K[part], self.preferences.groups(), form.diagonal, self.n_threads)
        gram *= form.diagonal.sum()
        square, pull = kernel_values(basis, kernel=self.kernel, gamma=gamma), form.pull @ K
        factors = (positive_factor(gram + alpha * square, SINGLE) for alpha in alphas)
        return np.stack([cho_solve(factor, pull, check_finite=False) for factor in factors], axis=1)

    def alpha_of(self, path: WeightsPath, fit: _Fit) -> float:
        """Return the alpha with which another loss has the lowest error, for as many rows as are fitted.

        It is found near to that of least squares, with few basis rows, from above until errors fall no more.
        """
        n_basis = min(self.n_basis, BASIS_ROWS[0])
        n_rows = min(len(self.X), ROWS_PER_BASIS_ROW * n_basis)
        kernel_map = KernelMap(
            self.kernel,
            gamma=fit.gamma,
            scales=fit.scales,
            n_components=min(n_basis, max(1, n_rows // 2)),
            random_state=self.seed,
        )
        design = kernel_map.fit_design(self.X[:n_rows], self.n_threads)
        alphas = fit.alpha * OF_LOSS
        errors: list[float] = []
        for coef in path(design, self.preferences[:n_rows], alphas * len(self.X) / n_rows):
            scores = kernel_map.scores(self.held_out_rows, kernel_map.dual_coef(coef), self.n_threads)
            errors += self._errors(scores[:, None])
            if len(errors) > 1 and not _gains(errors[-1], errors[-2]):
                break
        return float(alphas[int(np.argmin(errors))])

    def gradients(self, fit: _Fit) -> FloatArray:
        """Return the gradients of a function by the features, at some of the rows."""
        rows = self.X[:GRADIENT_ROWS]
        of_scaled = _gradients(
            scaled_rows(rows, fit.scales),
            scaled_rows(fit.basis, fit.scales),
            fit.dual_coef,
            self.kernel,
            fit.gamma,
        )
        return of_scaled * fit.scales if fit.scales.ndim == 1 else of_scaled @ fit.scales.T


def _parts(
    group: NDArray[np.int64], n_fitted: int, random: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows to judge by and rows to fit: whole queries, or single rows where there are few queries."""
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

    Features with two values, such as those that tell a category, have these 1 apart: by its deviation a rare
    category would be far from everything.
    """
    lowest, highest = X.min(axis=0), X.max(axis=0)
    two_values = ((lowest == X) | (highest == X)).all(axis=0)
    spread = np.where(two_values, highest - lowest, X.std(axis=0))
    return np.divide(1.0, spread, where=spread > 0, out=np.zeros_like(spread))


def _typical_distance(X: FloatArray, kernel: str, seed: int) -> float:
    """Return the median distance of two rows, as the kernel measures it."""
    first, second = np.random.default_rng(seed).integers(len(X), size=(2, N_PAIRS))
    difference = X[first] - X[second]
    order = 1 if kernel == "laplacian" else 2
    return float(np.median(np.linalg.norm(difference, order, axis=1))) or 1.0


def _root_of_gradients(gradients: FloatArray, full: bool) -> FloatArray:
    """Return the root of the mean outer product of gradients, or of its diagonal, the largest entry 1."""
    if full:
        values, vectors = eigh(gradients.T @ gradients / len(gradients))
        return (vectors * _bounded(np.sqrt(np.maximum(values, 0.0)))) @ vectors.T
    return _bounded(np.sqrt(np.mean(gradients**2, axis=0)))


def _bounded(scales: FloatArray) -> FloatArray:
    largest = scales.max(initial=0.0)
    return np.maximum(scales / largest, SMALLEST_SCALE) if largest > 0 else np.ones_like(scales)


def _single_values(U: FloatArray, Z: FloatArray, kernel: str, gamma: float) -> NDArray[np.float32]:
    """Return the kernel values of rows in single precision.

    Squared distances are |u|^2 + |z|^2 - 2 u'z: what nearly equal rows lose by that, gradients do not see.
    """
    K = np.empty((len(U), len(Z)), np.float32)
    u, z = U.astype(np.float32), Z.astype(np.float32)
    u_square, z_square = (u * u).sum(axis=1), (z * z).sum(axis=1)
    for rows in row_blocks(len(U), len(Z), BLOCK_ENTRIES):
        block = K[rows]
        if kernel == "laplacian":
            block[:] = _native.absolute_distances(U[rows], Z, 1)
        else:
            np.matmul(u[rows] * np.float32(-2), z.T, out=block)
            block += u_square[rows, None]
            block += z_square
            np.maximum(block, 0, out=block)
        if kernel == "exponential":
            np.sqrt(block, out=block)
        block *= -gamma
        np.exp(block, out=block)
    return K


def _gradients(U: FloatArray, Z: FloatArray, a: FloatArray, kernel: str, gamma: float) -> FloatArray:
    """Return the gradient by u of sum_z a_z k(u, z) at each row u."""
    if kernel == "laplacian":
        weight = a * np.exp(-gamma * cdist(U, Z, "cityblock"))
        signed = (weight * np.sign(u[:, None] - z) for u, z in zip(U.T, Z.T, strict=True))
        return -gamma * np.stack([terms.sum(axis=1) for terms in signed], axis=1)
    distance = cdist(U, Z)
    if kernel == "rbf":
        weight = 2 * gamma * a * np.exp(-gamma * distance**2)
    else:
        slope = np.divide(gamma, distance, where=distance > 0, out=np.zeros_like(distance))
        weight = slope * a * np.exp(-gamma * distance)
    return weight @ Z - U * weight.sum(axis=1, keepdims=True)
