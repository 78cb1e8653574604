"""Curves over alpha: the errors of cross-validation, and the certified suboptimality of a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.pipelines import last_step
from rankwise.core.types import FloatArray
from rankwise.evaluation.names import measure_name

RANKING_ERROR = measure_name("error").lower()


@dataclass(frozen=True)
class ErrorPath:
    """The error on held-out data for each alpha.

    Attributes
    ----------
    alphas, mean : arrays of shape (n_alphas,)
    folds : array of shape (n_alphas, n_folds)
        No columns if only the means are known.
    alpha : float or None
        The alpha that cross-validation chose.
    measure : str
        The name of the error.
    """

    alphas: FloatArray
    mean: FloatArray
    folds: FloatArray
    alpha: float | None
    measure: str = RANKING_ERROR


def error_path(
    alphas: ArrayLike, errors: ArrayLike, alpha: float | None = None, measure: str = RANKING_ERROR
) -> ErrorPath:
    """Return the path of errors of shape (n_alphas,) or (n_alphas, n_folds).

    Examples
    --------
    >>> error_path([0.1, 1.0], [[0.2, 0.4], [0.5, 0.5]]).mean
    array([0.3, 0.5])
    """
    values, grid = np.asarray(errors, dtype=np.float64), np.asarray(alphas, dtype=np.float64)
    if values.shape[:1] != grid.shape:
        raise ValueError(f"errors has shape {values.shape}, but there are {len(grid)} alphas.")
    if values.ndim == 1:
        return ErrorPath(grid, values, np.empty((len(grid), 0)), alpha, measure)
    return ErrorPath(grid, values.mean(axis=1), values, alpha, measure)


def error_path_of(model: Any) -> ErrorPath | None:
    """Return the path of a fitted search over alpha, None for other models."""
    ranker = last_step(model)
    if getattr(ranker, "cv_errors_", None) is None:
        return None
    measure = measure_name(getattr(ranker, "scoring_", "error")).lower()
    one = ranker.alpha_ if np.ndim(ranker.alpha_) == 0 else None  # one alpha per output
    return error_path(ranker.alphas_, ranker.cv_errors_, one, measure)


class ShareCurve(NamedTuple):
    """Bounds on the suboptimality of a certified path over alpha, as fractions of J(0) - J*."""

    alphas: FloatArray
    shares: FloatArray


def share_curve(path: Any, per_step: int = 8) -> ShareCurve:
    """Return the bounds of a `CertifiedPath` at its knots and `per_step` - 1 alphas between them."""
    knots = np.log(path.alphas)
    inner = knots[:-1, None] + np.diff(knots)[:, None] * np.arange(per_step) / per_step
    alphas = np.clip(np.exp(np.append(inner.ravel(), knots[-1])), path.alphas[-1], path.alphas[0])
    return ShareCurve(alphas, path.share(alphas))
