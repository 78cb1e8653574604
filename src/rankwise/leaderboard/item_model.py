"""What Newton's method asks of a model of items: a loss of scores and further parameters."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rankwise.core.types import FloatVector


class ItemHessian(Protocol):
    """The second derivatives of a loss, plus a ridge on the diagonal."""

    def solve(self, target: FloatVector, tol: float) -> FloatVector:
        """Return the solution to a relative residual, with a mean score of 0.

        A LinAlgError says that the matrix is not positive definite.
        """


class ItemPoint(Protocol):
    """A loss at some parameters."""

    @property
    def value(self) -> float:
        """The mean loss."""

    @property
    def gradient(self) -> FloatVector:
        """Its derivatives by the parameters."""

    @property
    def is_convex(self) -> bool:
        """Whether it is convex everywhere. If it is not, gaps are distances from a local minimum."""

    def hessian(self, ridge: FloatVector, *, exact: bool = True) -> ItemHessian:
        """Return the second derivatives, or, if not `exact`, a positive semidefinite matrix near them."""

    def gap(self, decrement: float) -> float:
        """Return a bound on the distance from the minimum without a penalty, given g' H^-1 g."""


class ItemModel(Protocol):
    """A mean loss over votes: pairs by a link (`PairModel`), or pairs by judges (`JudgeModel`)."""

    @property
    def n_items(self) -> int:
        """The number of scores, which are the first parameters."""

    @property
    def n_parameters(self) -> int:
        """The number of all parameters."""

    @property
    def at_zero(self) -> float:
        """The loss at equal chances."""

    def start(self) -> FloatVector:
        """Return parameters to start from."""

    def at(self, parameters: FloatVector) -> ItemPoint:
        """Return the loss at the parameters."""


def decrement_gap(decrement: float, least: float, furthest: float = 1.0) -> float:
    """Return ((1 - c) log(1 - c) + c) least with c^2 = decrement / least: about decrement / 2.

    The third derivative of the loss along v is at most its second times r, the largest spread of an entry's
    exponents, and r^2 <= v' H v / least (Bach 2010, self-concordance). Then the loss at v is at least
    value + g' v + least (exp(-t) + t - 1) for t = sqrt(v' H v / least), whose minimum this is, with the
    decrement g' H^-1 g. For c >= 1 there is no bound. If the third derivative is bounded only up to a t of
    -log(1 - furthest), there is one for c below `furthest`.

    Examples
    --------
    >>> decrement_gap(1e-12, 0.25)
    5.000003333...e-13
    >>> decrement_gap(1.0, 0.25)
    inf
    """
    c = float(np.sqrt(max(decrement, 0.0) / least)) if least > 0 else np.inf
    if c >= furthest:
        return np.inf
    # For small c the formula cancels; this is its series.
    factor = c * c / 2 + c**3 / 6 + c**4 / 12 if c < 1e-3 else (1 - c) * np.log1p(-c) + c
    return float(least * factor)
