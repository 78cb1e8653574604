"""Gradient and curvature of a pairwise loss per row, on the scale that boosters expect."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.types import FloatVector
from rankwise.losses import OBJECTIVES, PairwiseLoss, loss_over
from rankwise.preferences import Preferences

# The smallest Hessian of a row, as a fraction of the mean: boosters divide by sums of Hessians.
FLOOR = 1e-6
# A mean Hessian below this counts as zero: the mean weight of a row's pairs is about 2 / m.
NOTHING = 1e-200


class PairwiseGradient:
    """The gradient of a pairwise loss with respect to the scores of m rows, and the diagonal of its Hessian.

    Both are scaled by the same factor, so that the mean of the Hessian over rows is 1. In least-squares
    regression it is 1 for each row, and the defaults of `min_child_weight` and of the leaf penalty assume
    that scale. Rows without pairs have gradient 0 and Hessian 1e-6, so they hardly affect their leaf.

    The Hessian of pairs is a Laplacian H, whose off-diagonal part a booster cannot use. With its diagonal D,
    x'Hx <= 2 x'Dx: a full step can be too long by a factor of up to 2 if the two rows of each pair move in
    opposite directions. Learning rates below 1/2 compensate for this.

    Parameters
    ----------
    preferences : Preferences
    loss : "squared_hinge", "logistic", "hinge", "huber_hinge", "least_squares" or an object
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
        loss: str | PairwiseLoss = "squared_hinge",
        *,
        average: str = "queries",
        n_threads: int = 1,
    ):
        self.loss = loss_over(loss, preferences, OBJECTIVES, average=average, n_threads=n_threads)

    def __call__(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the Hessian at the scores; each of shape (n_rows,)."""
        gradient, hessian = self.loss.derivatives(scores)
        mean = float(np.mean(hessian))
        if mean <= NOTHING:  # no pair has any curvature
            return np.zeros(len(gradient)), np.ones(len(gradient))
        hessian = np.maximum(hessian, FLOOR * mean)
        scale = 1.0 / float(np.mean(hessian))
        hessian *= scale
        gradient *= scale
        return gradient, hessian
