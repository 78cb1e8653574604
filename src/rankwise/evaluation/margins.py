"""The margin of a utility between ranks, and the bound of Herbrich et al. (1999) on the risk of new pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankwise.core.checks import as_labels, as_they_are, as_vector
from rankwise.core.types import FloatVector
from rankwise.evaluation.models import orders_classes
from rankwise.functions.kernel_parameters import is_linear, kernel_map_of
from rankwise.preferences import Preferences


def rank_margin(y: ArrayLike, utility: ArrayLike) -> float:
    """Return the smallest difference of utilities over all pairs of different ranks, better minus worse.

    It is the margin m(S') of Herbrich et al. (1999) if all pairs are in the right order, and negative or zero
    otherwise. O(m log m).

    Parameters
    ----------
    y : array of shape (n_rows,)
        Ranks, higher is better.
    utility : array of shape (n_rows,)
        The utility of each row.

    Returns
    -------
    margin : float
        Negative if a pair is in the wrong order.

    Examples
    --------
    >>> rank_margin([1, 1, 2, 3], [0.0, 0.5, 2.0, 3.0])
    1.0
    """
    labels = as_labels(y, "y")
    scores = as_vector(utility, "utility", len(labels))
    levels, code = np.unique(labels, return_inverse=True)
    if len(levels) < 2:
        raise ValueError("A margin needs rows of two ranks; all labels of y are equal.")
    lowest, highest = np.full(len(levels), np.inf), np.full(len(levels), -np.inf)
    np.minimum.at(lowest, code, scores)
    np.maximum.at(highest, code, scores)
    return float(np.min(lowest[1:] - np.maximum.accumulate(highest)[:-1]))


@dataclass(frozen=True)
class MarginBound:
    """A bound on the probability that a new pair of different ranks is in the wrong order.

    Attributes
    ----------
    bound : float
        Theorem 2 as printed; infinite unless all training pairs are in the right order. A value above 1 is
        vacuous.
    bound_disjoint : float
        The same for the number of disjoint pairs, t / (m - 1) on average. Pairs that share rows are not
        independent, but the theorem that its proof uses is for independent examples.
    margin : float
        The smallest difference of utilities, better minus worse.
    n_pairs : int
        The number t of training pairs.
    dimension : float
        The bound k on the fat-shattering dimension at an eighth of the margin.
    norm, radius : float
        The norm of the utility, and that of the rows, measured from their mean.
    """

    bound: float
    bound_disjoint: float
    margin: float
    n_pairs: int
    dimension: float
    norm: float
    radius: float


def margin_bound(model: Any, X: Any, y: ArrayLike, *, delta: float = 0.05) -> MarginBound:
    """Bound the risk of new pairs by the margin on the training rows: theorem 2 of Herbrich et al. (1999).

    With probability 1 - delta over samples, the risk R_pref is at most
    2 / t (k log2(8 e t / k) log2(32 t) + log2(8 t / delta)). The dimension k of functions of norm B on a ball
    of radius R is (8 B R / margin)^2. The bound is for utilities that order all t training pairs correctly.

    Parameters
    ----------
    model : OrdinalSVM or RankSVM
        Fitted to these rows.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        The training rows.
    y : array of shape (n_rows,)
        Their labels, higher is better, or the classes of an OrdinalSVM.
    delta : float
        The probability that the bound fails.

    Returns
    -------
    MarginBound

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankSVM
    >>> X = np.arange(2000.0)[:, None] // 1000
    >>> found = margin_bound(RankSVM(1e-9).fit(X, X[:, 0]), X, X[:, 0])
    >>> round(found.margin, 3), found.n_pairs, round(found.bound, 3)
    (1.0, 1000000, 0.016)
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1; got {delta!r}.")
    rows = model.validated(X, reset=False)
    utility = model.utility(X) if hasattr(model, "utility") else model.predict(X)
    labels = _ranks(model, y)
    margin, n_pairs = rank_margin(labels, utility), Preferences.from_scores(labels).n_pairs
    norm, radius = _norm_and_radius(model, rows)
    dimension = (8 * norm * radius / margin) ** 2 if margin > 0 else np.inf
    of_all, of_disjoint = (_bound(t, dimension, delta) for t in (n_pairs, n_pairs / (len(labels) - 1)))
    return MarginBound(of_all, of_disjoint, margin, n_pairs, float(dimension), norm, radius)


def _ranks(model: Any, y: Any) -> FloatVector:
    """Return the labels as numbers."""
    if not orders_classes(model):
        return as_labels(y, "y")
    codes = {label: float(code) for code, label in enumerate(model.classes_.tolist())}
    known = as_they_are(y).tolist()
    if unknown := [label for label in known if label not in codes]:
        raise ValueError(f"y has the label {unknown[0]!r}, which the model was not fitted to.")
    return np.array([codes[label] for label in known])


def _bound(t: float, dimension: float, delta: float) -> float:
    """Return the bound for t pairs; it needs a dimension of at most e t."""
    if not dimension <= math.e * t:
        return np.inf
    k = max(dimension, 1.0)
    return float(2 / t * (k * np.log2(8 * math.e * t / k) * np.log2(32 * t) + np.log2(8 * t / delta)))


def _norm_and_radius(model: Any, rows: Any) -> tuple[float, float]:
    """Return the norm of the utility and the largest distance of a row from the mean, in its space."""
    if is_linear(model):
        return float(np.linalg.norm(model.coef_)), float(np.sqrt(_squared_distances(rows).max()))
    K = kernel_map_of(model, None).fit_kernel(rows)
    from_mean = np.diagonal(K) - 2 * K.mean(axis=1) + K.mean()
    utility = K[:, model.basis_indices_] @ model.dual_coef_
    squared_norm = float(model.dual_coef_ @ utility[model.basis_indices_])
    return float(np.sqrt(squared_norm)), float(np.sqrt(from_mean.max()))


def _squared_distances(rows: Any) -> FloatVector:
    """Return the squared distance of each row from the mean of all."""
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if not sp.issparse(rows):
        return np.asarray(((rows - mean) ** 2).sum(axis=1))
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.asarray(squares - 2 * (rows @ mean) + mean @ mean)
