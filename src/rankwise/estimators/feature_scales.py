"""Scales of features that a kernel learns: average gradient outer products, alternated with fits.

A function that depends on some features alone changes along these alone: the mean square of the gradient of a
fitted function tells how much each feature matters, and a kernel on features scaled by its root fits better
than one in which all of them weigh the same (recursive feature machines: Radhakrishnan, Beaglehole, Pandit
and Belkin, Science 383, 2024). The fits are least squares with few basis rows on a sample of the rows; the
round, the width and the alpha with the lowest error on rows held out are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from rankwise._checks import check_choice
from rankwise._types import FloatArray
from rankwise.kernels import KernelMap, kernel_values, scaled_rows
from rankwise.losses import LeastSquares
from rankwise.model_selection.scoring import held_out_error
from rankwise.preferences import Preferences

__all__ = ["FeatureScales", "is_learned", "learn_scales"]

LEARNING_KERNELS = ("exponential", "laplacian", "rbf")
LEARNED = ("learned", "learned-matrix")
# Basis rows of the fit on features of equal spread and of each round that follows. Fewer at first would cost
# less, but rough scales are hard to get rid of.
BASIS_ROWS = (1500, 1500, 1500, 1500)
# Rows of a fit for each of its basis rows, the most rows held out, and rows at which gradients are taken.
ROWS_PER_BASIS_ROW, HELD_OUT_ROWS, GRADIENT_ROWS = 8, 4000, 2000
# The share of queries, or of rows of one ranking, that are held out.
HELD_OUT_SHARE = 0.2
# Typical distances of two rows, in widths of the kernel: a wide kernel is nearly always best on many rows.
WIDTHS = (0.3, 1.0)
# Alphas to try at first, and around the last one in each round.
ALPHAS, NEAR = 10.0 ** -np.arange(2.0, 9.0), np.array([3.0, 1.0, 1 / 3, 0.1])
# A feature is not scaled down further than this share of the largest scale: a later round may find it of use.
SMALLEST_SCALE = 1e-3
# Pairs of rows from which a typical distance is measured.
N_PAIRS = 2000


@dataclass(frozen=True)
class FeatureScales:
    """What was learned: the kernel sees x times `scales` in place of a row x.

    Attributes
    ----------
    scales : array of shape (n_features,) or (n_features, n_features)
    gamma : float
        The gamma of the kernel.
    alpha : float
        The best alpha of least squares.
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
    n_threads: int = 1,
    random_state: Any = None,
) -> FeatureScales:
    """Learn how much each feature matters to a ranking, and the width of the kernel.

    Cost: O(s b (n + b)) for each of four rounds, s rows and b basis rows, which do not grow with the data.

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
    """
    check_choice(kernel, f"kernel, with gamma={LEARNED[full]!r},", LEARNING_KERNELS)
    if sp.issparse(X):
        raise ValueError(f"gamma={LEARNED[full]!r} needs dense rows; got a sparse matrix.")
    task = _Task.drawn(X, preferences, kernel, average, n_threads, check_random_state(random_state))
    n_features = X.shape[1]
    found = [
        task.best_fit(np.eye(n_features) if full else np.ones(n_features), BASIS_ROWS[0], WIDTHS, ALPHAS)
    ]
    for n_basis in BASIS_ROWS[1:]:
        last = found[-1]
        scales = _root_of_gradients(task.gradients(last), full)
        found.append(task.best_fit(scales, n_basis, [last.width], last.alpha * NEAR))
    best = min(found, key=lambda fit: fit.error)
    errors = np.array([fit.error for fit in found])
    scales = task.spread * best.scales if best.scales.ndim == 1 else task.spread[:, None] * best.scales
    return FeatureScales(scales, best.gamma, best.alpha, errors)


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
        judged, fitted = _parts(preferences.groups(), random)
        if not (preferences[judged].n_pairs and preferences[fitted].n_pairs):
            judged = fitted = np.arange(len(X))
        spread = _equal_spread(np.asarray(X[fitted], np.float64))
        rows = [X[part] * spread for part in (fitted, judged)]
        seed = int(random.randint(2**31))
        parts = rows[0], preferences[fitted], rows[1], preferences[judged]
        return cls(spread, *parts, kernel, average, n_threads, seed)

    def best_fit(self, scales: FloatArray, n_basis: int, widths: Any, alphas: FloatArray) -> _Fit:
        """Fit for each width and alpha, and return the fit with the lowest error on the rows held out."""
        distance = _typical_distance(scaled_rows(self.X, scales), self.kernel, self.seed)
        fits = [
            fit for width in widths for fit in self._fits(scales, n_basis, width, width / distance, alphas)
        ]
        return min(fits, key=lambda fit: fit.error)

    def _fits(
        self, scales: FloatArray, n_basis: int, width: float, inverse: float, alphas: FloatArray
    ) -> list[_Fit]:
        gamma = inverse**2 if self.kernel == "rbf" else inverse
        rows = np.arange(min(len(self.X), ROWS_PER_BASIS_ROW * n_basis - 1))
        kernel_map = KernelMap(
            self.kernel,
            gamma=gamma,
            scales=scales,
            n_components=min(n_basis, max(1, len(rows) // 2)),
            dtype="float32",
            random_state=self.seed,
        )
        design = kernel_map.fit_design(self.X[rows], self.n_threads)
        form = LeastSquares(self.preferences[rows], average=self.average, ties="keep")
        pull = design.rmatvec(form.pull)
        coef = [design.preconditioner(form, form.diagonal, alpha)(pull) for alpha in alphas]
        dual = kernel_map.dual_coef(np.stack(coef))
        scores = kernel_map.scores(self.held_out_rows, dual, self.n_threads)
        errors = [held_out_error(self.held_out, column, self.average) for column in scores.T]
        return [
            _Fit(scales, width, gamma, alpha, error, kernel_map.basis_, a)
            for alpha, error, a in zip(alphas, errors, dual, strict=True)
        ]

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
    group: NDArray[np.int64], random: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows to judge by and rows to fit: whole queries, or single rows where there are few queries."""
    n_rows = len(group)
    if group.max(initial=0) + 1 < 1 / HELD_OUT_SHARE:
        group = np.arange(n_rows)
    order = np.argsort(random.permutation(group.max(initial=0) + 1)[group], kind="stable")
    first = np.flatnonzero(np.diff(group[order], prepend=-1))  # of each group, in the order drawn
    wanted = min(HELD_OUT_SHARE * n_rows, HELD_OUT_ROWS)
    start = int(first[min(int(np.searchsorted(first, wanted)), len(first) - 1)])
    last = int(np.searchsorted(first, start + ROWS_PER_BASIS_ROW * BASIS_ROWS[-1]))
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


def _gradients(U: FloatArray, Z: FloatArray, a: FloatArray, kernel: str, gamma: float) -> FloatArray:
    """Return the gradient by u of sum_z a_z k(u, z) at each row u."""
    weight = a * kernel_values(U, Z, kernel, gamma=gamma)
    if kernel == "laplacian":
        signed = (weight * np.sign(u[:, None] - z) for u, z in zip(U.T, Z.T, strict=True))
        return -gamma * np.stack([terms.sum(axis=1) for terms in signed], axis=1)
    if kernel == "rbf":
        weight *= 2 * gamma
    else:
        distance = cdist(U, Z)
        weight *= np.divide(gamma, distance, where=distance > 0, out=np.zeros_like(distance))
    return weight @ Z - U * weight.sum(axis=1, keepdims=True)
