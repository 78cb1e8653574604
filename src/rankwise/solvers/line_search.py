"""Exact line search on a convex function of which every evaluation costs O(m log m) and none touches X."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any


@dataclass
class Point:
    """A point on the line: the value there, the (one-sided) slope, and data of the caller."""

    step: float
    value: float
    slope: float
    extra: Any = None


@dataclass
class LineMinimum:
    """The lowest point found, and the lowest one beyond the minimum (None if there is none)."""

    best: Point
    beyond: Point | None


def minimise_on_line(
    evaluate: Callable[[float], Point],
    origin: Point,
    guess: float,
    tol: float,
    max_evaluations: int = 20,
    slope_fraction: float = 0.0,
    longest: float = inf,
) -> LineMinimum:
    """Minimize a convex function over steps from 0 to `longest` to within `tol` of its minimum.

    The search also ends at the lowest point so far if the absolute slope there is at most `slope_fraction`
    times that at the origin.

    Two points with slopes of opposite sign bracket the minimum, and their tangents meet at a lower bound on
    it: the search ends when the lowest value is within `tol` of that bound. Steps are roots of the secant of
    the slope, kept away from the ends of the bracket. If the slope at the origin is not negative, one point
    is evaluated. A step that overflows is halved.
    """
    low, high, best = origin, None, origin
    step = min(guess, longest)
    for evaluation in range(max_evaluations):
        point = evaluate(step)
        if not (isfinite(point.value) and isfinite(point.slope)):
            step = low.step + (step - low.step) / 2
            continue
        if point.value < best.value:
            best = point
        if point.slope < 0:
            low = point
        else:
            high = point
        if not origin.slope < 0 or (point is best and abs(point.slope) <= slope_fraction * -origin.slope):
            break
        if high is None:
            if low.step >= longest:
                break
            step = min(_extrapolated(origin, low), longest)
            continue
        meeting, bound = _meeting_of_tangents(low, high)
        if point.slope == 0 or best.value - bound <= tol:
            break
        # Every third step goes where the tangents meet: the secant alone may converge slowly to a kink.
        step = meeting if evaluation % 3 == 2 else _secant_root(low, high)
        width = high.step - low.step
        step = min(max(step, low.step + 0.02 * width), high.step - 0.02 * width)
        if not low.step < step < high.step:
            break
    return LineMinimum(best, high)


def _secant_root(low: Point, high: Point) -> float:
    """Return the root of the secant of two slopes, the first of which is negative."""
    return low.step + (high.step - low.step) * (low.slope / (low.slope - high.slope))


def _extrapolated(origin: Point, low: Point) -> float:
    """Return the extrapolated root of the slope, limited to a multiple of the last step."""
    risen = low.slope - origin.slope
    root = low.step * origin.slope / -risen if risen > 0 else float("inf")
    return min(max(root, 1.5 * low.step), 8.0 * low.step)


def _meeting_of_tangents(low: Point, high: Point) -> tuple[float, float]:
    rise = high.value - low.value - high.slope * (high.step - low.step)
    step = low.step + rise / (low.slope - high.slope)
    return step, low.value + low.slope * (step - low.step)
