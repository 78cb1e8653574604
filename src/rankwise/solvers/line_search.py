"""Exact line search on a convex function of which every evaluation costs O(m log m) and none touches X."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any


@dataclass
class Point:
    """A point on the line: the function there, its (one-sided) slope, and what else the caller keeps."""

    step: float
    value: float
    slope: float
    extra: Any = None


@dataclass
class LineMinimum:
    """The lowest point seen, and the lowest point beyond the minimum (None where none was seen)."""

    best: Point
    beyond: Point | None


def minimise_on_line(
    evaluate: Callable[[float], Point],
    origin: Point,
    guess: float,
    tol: float,
    max_evaluations: int = 20,
    slope_share: float = 0.0,
    longest: float = inf,
) -> LineMinimum:
    """Minimise a convex function over steps from 0 to `longest` to within `tol` of its minimum.

    A point below all others is good enough, too, where the slope is at most `slope_share` times that at the
    origin, in absolute value.

    Two points with slopes of opposite sign bracket the minimum, and their tangents meet at a lower bound of
    it: the search ends when the lowest value seen is within `tol` of that bound. Steps are roots of the
    secant of the slope, kept off the ends of the bracket. Where the function does not fall at the origin,
    one point is looked at and no more. Steps at which it overflows are taken back halfway.
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
        if not origin.slope < 0 or (point is best and abs(point.slope) <= slope_share * -origin.slope):
            break
        if high is None:
            if low.step >= longest:
                break
            step = min(_extrapolated(origin, low), longest)
            continue
        meeting, bound = _meeting_of_tangents(low, high)
        if point.slope == 0 or best.value - bound <= tol:
            break
        # Every third step goes where the tangents meet: the secant alone may creep up on a kink.
        step = meeting if evaluation % 3 == 2 else _secant_root(low, high)
        width = high.step - low.step
        step = min(max(step, low.step + 0.02 * width), high.step - 0.02 * width)
        if not low.step < step < high.step:
            break
    return LineMinimum(best, high)


def _secant_root(low: Point, high: Point) -> float:
    """Return where the secant of two slopes, the first of them negative, is zero."""
    return low.step + (high.step - low.step) * (low.slope / (low.slope - high.slope))


def _extrapolated(origin: Point, low: Point) -> float:
    """Where the slope would reach zero if it went on rising as it did, but not much further."""
    risen = low.slope - origin.slope
    root = low.step * origin.slope / -risen if risen > 0 else float("inf")
    return min(max(root, 1.5 * low.step), 8.0 * low.step)


def _meeting_of_tangents(low: Point, high: Point) -> tuple[float, float]:
    rise = high.value - low.value - high.slope * (high.step - low.step)
    step = low.step + rise / (low.slope - high.slope)
    return step, low.value + low.slope * (step - low.step)
