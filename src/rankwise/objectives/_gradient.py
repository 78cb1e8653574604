"""Gradient and curvature of a pairwise loss for each row, on the scale that boosters expect."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import check_choice
from rankwise.core.types import FloatVector
from rankwise.losses import LOSSES, LeastSquares, PairwiseLoss
from rankwise.preferences import Preferences

OBJECTIVES: dict[str, type[PairwiseLoss]] = {**LOSSES, "least_squares": LeastSquares}

# The least Hessian of a row, as a share of the mean: boosters divide by sums of them.
FLOOR = 1e-6
# A mean Hessian that is none: the mean weight of a row's pairs is about 2 / m.
NOTHING = 1e-200


class PairwiseGradient:
    """The gradient of a pairwise loss by the scores of m rows, and the diagonal of its Hessian.

    Both are multiplied by the same number, such that the mean of the Hessian over rows is 1: it is 1 for each
    row in least-squares regression, and that is what the defaults of `min_child_weight` and of the penalty
    of leaves are made for. Rows without pairs have gradient 0 and a Hessian of 1e-6, so they go along with
    the other rows of their leaf.

    The Hessian of pairs is a Laplacian H, whose off-diagonal part a booster cannot use. With its diagonal D,
    x'Hx <= 2 x'Dx: a full step can be too long by a factor of 2 where better and worse rows of pairs move
    apart, but learning rates below 1/2 make up for it.

    Parameters
    ----------
    preferences : Preferences
    loss : "squared_hinge", "logistic", "hinge" or "least_squares"
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs.
    n_threads : int

    Examples
    --------
    >>> from rankwise import Preferences
    >>> PairwiseGradient(Preferences.from_scores([2.0, 1.0, 1.0]))([0.0, 0.5, 0.0])
    (array([-1.875,  1.125,  0.75 ]), array([1.5 , 0.75, 0.75]))
    """

    def __init__(
        self,
        preferences: Preferences,
        loss: str = "squared_hinge",
        *,
        average: str = "queries",
        n_threads: int = 1,
    ):
        check_loss(loss)
        self.loss = OBJECTIVES[loss](preferences, average=average, n_threads=n_threads)

    def __call__(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the Hessian at the scores; each of shape (n_rows,)."""
        gradient, hessian = self.loss.derivatives(scores)
        mean = float(np.mean(hessian))
        if mean <= NOTHING:  # no pair pushes any more
            return np.zeros(len(gradient)), np.ones(len(gradient))
        hessian = np.maximum(hessian, FLOOR * mean)
        scale = 1.0 / float(np.mean(hessian))
        hessian *= scale
        gradient *= scale
        return gradient, hessian


def check_loss(loss: str) -> None:
    """Refuse a name that is not that of a loss."""
    check_choice(loss, "loss", tuple(OBJECTIVES))
