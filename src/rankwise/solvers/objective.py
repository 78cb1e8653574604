"""The objective loss(X w) + alpha ||w||^2: a point with its scores, and a line to search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from rankwise.core.types import FloatVector
from rankwise.data.design import Design, ScoreVector
from rankwise.solvers.line_search import Point


class Plane(NamedTuple):
    """The plane c't + b that touches a loss at scores s; the offset b is None if it costs a product."""

    value: float
    coefficients: Any  # a ScoreVector
    offset: float | None


@dataclass(frozen=True)
class Objective:
    """loss(X w) + alpha ||w||^2 over a centered design.

    Attributes
    ----------
    at_zero : float
        J(0). A loss may evaluate itself to return it, so it is asked once.
    by_planes : bool
        Whether the method needs `plane` of a piecewise linear loss, or `value_and_coefficients` of a smooth
        one. The method decides: a loss on workers has both.
    """

    design: Design
    loss: Any
    alpha: float
    at_zero: float
    by_planes: bool

    @classmethod
    def of(cls, design: Design, loss: Any, alpha: float, *, by_planes: bool) -> Objective:
        """Return the objective of a loss on the scores of a design."""
        return cls(design.centred(), loss, alpha, loss.at_zero, by_planes)

    def at(self, coef: FloatVector) -> Iterate:
        """Return the point with these weights: one product with X."""
        return self.on(coef, self.design.matvec(coef))

    def on(self, coef: FloatVector, scores: ScoreVector) -> Iterate:
        """Return the point with these weights and scores: no product with X."""
        plane = self.plane(scores)
        return Iterate(self, coef, scores, plane.value + self.alpha * float(coef @ coef), plane)

    def plane(self, scores: ScoreVector) -> Plane:
        """Return the plane that touches the loss at scores."""
        if self.by_planes:
            return Plane(*self.loss.plane(scores))
        value, coefficients = self.loss.value_and_coefficients(scores)
        return Plane(value, coefficients, None)


class Iterate:
    """Weights with their scores, the objective, and the plane that touches the loss there.

    `drift` is the error of scores that were updated along lines, beyond the rounding of X w.
    """

    __slots__ = ("_gradient", "_slopes", "coef", "drift", "objective", "of", "plane", "scores")

    def __init__(
        self,
        of: Objective,
        coef: FloatVector,
        scores: ScoreVector,
        objective: float,
        plane: Plane,
        drift: float = 0.0,
    ):
        self.of, self.coef, self.scores, self.objective, self.plane = of, coef, scores, objective, plane
        self.drift = drift
        self._slopes: FloatVector | None = None
        self._gradient: FloatVector | None = None

    @property
    def slopes(self) -> FloatVector:
        """X'c for the coefficients c of the loss: one product with X', made once."""
        if self._slopes is None:
            self._slopes = self.of.design.rmatvec(self.plane.coefficients)
        return self._slopes

    @property
    def offset(self) -> float:
        """The offset of the plane, loss(s) - c's: a network round if the scores are on workers."""
        value, coefficients, offset = self.plane
        return value - float(coefficients @ self.scores) if offset is None else offset

    @property
    def gradient(self) -> FloatVector:
        """X'c + 2 alpha w."""
        if self._gradient is None:
            self._gradient = self.slopes + 2 * self.of.alpha * self.coef
        return self._gradient

    @property
    def gradient_square(self) -> float:
        """The squared norm of the gradient."""
        return float(self.gradient @ self.gradient)


class Line:
    """The objective on the line from a point, in steps of a move; no evaluation touches X.

    `slope` is the slope at the origin, if known: computing it is a network round if scores are on workers.
    """

    def __init__(
        self, origin: Iterate, move: FloatVector, move_scores: ScoreVector, slope: float | None = None
    ):
        self.origin, self.move, self.move_scores = origin, move, move_scores
        coef, self._alpha = origin.coef, origin.of.alpha
        self._square, self._cross, self.curve = float(coef @ coef), float(coef @ move), float(move @ move)
        if slope is None:
            slope = float(origin.plane.coefficients @ move_scores) + 2 * self._alpha * self._cross
        self.start = Point(0.0, origin.objective, slope, origin.plane)

    def at(self, step: float) -> Point:
        """Return the point at a step."""
        plane = self.origin.of.plane(self.origin.scores + step * self.move_scores)
        norm = self._square + 2 * step * self._cross + step * step * self.curve
        slope = float(plane.coefficients @ self.move_scores)
        slope += 2 * self._alpha * (self._cross + step * self.curve)
        return Point(step, plane.value + self._alpha * norm, slope, plane)

    def iterate(self, point: Point) -> Iterate:
        """Return the weights and scores at a point of the line."""
        if point is self.start:
            return self.origin
        coef = self.origin.coef + point.step * self.move
        scores = self.origin.scores + point.step * self.move_scores
        return Iterate(self.origin.of, coef, scores, point.value, point.extra)
