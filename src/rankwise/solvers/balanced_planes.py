"""A plane below a loss that is level in some features: a lower bound if these have no penalty.

A plane with any slope in a feature without a penalty is unbounded from below, and a slope that is zero but
for rounding proves nothing. But a mean of planes lies below the loss as well, and if the slopes of some
planes surround zero, there is a mean whose slopes are exactly zero, also for the slopes without rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.precision import UNIT

# Planes have slopes this many times those at the point, and at least this many times their rounding errors.
SURROUND, ABOVE_ROUNDING = 2.0, 1e3


@dataclass(frozen=True)
class PlaneBelow:
    """A plane slopes'w + offset below a loss, with the errors of both."""

    slopes: FloatVector
    offset: float
    slope_errors: FloatVector
    offset_error: float

    def flat(self, features: FloatVector) -> PlaneBelow:
        """Return the plane with slopes of zero by some features."""
        level = np.where(features, 0.0, 1.0)
        return replace(self, slopes=level * self.slopes, slope_errors=level * self.slope_errors)


def balanced(
    plane: PlaneBelow,
    free: FloatVector,
    curvature: FloatArray,
    at: Callable[[FloatVector], PlaneBelow],
) -> PlaneBelow | None:
    """Return a mean of planes whose slopes by the free features are zero, or None if there is none.

    Parameters
    ----------
    plane : PlaneBelow
        At the point.
    free : array of bool, shape (n_features,)
        The k features without a penalty.
    curvature : array of shape (k, k)
        The Hessian by these features.
    at : callable
        Returns the plane after a move of the weights of these features; called k + 1 times.
    """
    slopes, errors = plane.slopes[free], plane.slope_errors[free]
    tiny = np.finfo(np.float64).tiny
    reach = errors * max(ABOVE_ROUNDING, SURROUND * float(np.max(np.abs(slopes) / (errors + tiny)))) + tiny
    corners = np.vstack([np.diag(reach), -reach])  # their mean is zero
    try:
        moves = np.linalg.solve(curvature, (corners - slopes).T).T
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(moves).all():
        return None
    return mean_of([at(move) for move in moves], free, reach)


def mean_of(planes: list[PlaneBelow], free: FloatVector, reach: FloatVector) -> PlaneBelow | None:
    """Return the mean of k + 1 planes whose k slopes by the free features are zero, or None.

    The weights solve a linear system. By Brouwer's theorem the system of the slopes without rounding has a
    solution too, which differs from these weights by at most `apart`, if no weight is below that.
    """
    system = np.vstack(
        [np.array([plane.slopes[free] for plane in planes]).T / reach[:, None], np.ones(len(planes))]
    )
    right = np.append(np.zeros(len(reach)), 1.0)
    try:
        inverse = np.linalg.inv(system)
    except np.linalg.LinAlgError:
        return None
    weights = inverse[:, -1]
    errors = np.append(np.max([plane.slope_errors[free] for plane in planes], axis=0) / reach, 0.0)
    apart = 2.0 * np.abs(inverse) @ (errors + np.abs(system @ weights - right) + 4.0 * UNIT * len(right))
    if not (weights >= apart).all():
        return None
    slopes, offsets = (
        np.array([plane.slopes for plane in planes]),
        np.array([plane.offset for plane in planes]),
    )
    mean = PlaneBelow(
        weights @ slopes,
        float(weights @ offsets),
        np.max([plane.slope_errors for plane in planes], axis=0) + apart @ np.abs(slopes - slopes[0]),
        max(plane.offset_error for plane in planes) + float(apart @ np.abs(offsets - offsets[0])),
    )
    return mean.flat(free)
