"""Few tasks or instances of a table of scores that decide which model is first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rankwise.core.text import listed, plural, share
from rankwise.core.types import FloatArray, FloatVector, IntVector

LISTED = 5
# Scores that differ by less than this fraction are equal.
TIE = 1e-12


class TableFragility(NamedTuple):
    """Few tasks or instances without which another model is the first; empty if none were found.

    Attributes
    ----------
    removed : list of tasks, or of pairs of a task and an instance
    total : int
        The number of tasks or instances.
    top, new_top : names
    unit : "task" or "instance"
    """

    removed: list[Any]
    total: int
    top: Any
    new_top: Any
    unit: str = "task"

    def __str__(self) -> str:
        if not self.removed:
            return f"{self.top} is first without any few of the {plural(self.total, self.unit)}."
        names = [
            str(one) if self.unit == "task" else " of ".join(map(str, reversed(one))) for one in self.removed
        ]
        part = f"{plural(len(names), self.unit)} ({share(len(names) / self.total)})"
        return f"Without {part}, {self.new_top} is first: {listed(names, LISTED)}."


def first_of(gains: FloatVector, top: int) -> int:
    """Return the model with the largest gain; `top` unless another one is clearly above it."""
    new = int(gains.argmax())
    return new if gains[new] - gains[top] > TIE * np.abs(gains).max() else top


def fewest_removed(
    parts: FloatArray, gains: FloatVector, top: int, first_without: Callable[[IntVector], int]
) -> tuple[IntVector, int]:
    """Return few units without which another model is first, and that model; none if they were not found.

    Parameters
    ----------
    parts : array of shape (n_units, n_models)
        By how much the removal of a unit lowers the lead of the top, to first order.
    gains : array of shape (n_models,)
        Scores of which high ones are better.
    top : int
    first_without : function of the numbers of units
        Return the first model without them.
    """
    total = len(parts)
    left = gains[top] - gains + np.cumsum(np.sort(-parts, axis=0), axis=0)
    is_behind = left < -TIE * np.abs(gains).max()
    needed = np.where(is_behind.any(axis=0), is_behind.argmax(axis=0) + 1, total)
    needed[top] = total
    rival = int(needed.argmin())
    order = np.argsort(-parts[:, rival], kind="stable")
    most = min(total - 1, int((parts[:, rival] > 0).sum()))
    low, high = 0, min(int(needed[rival]), most)
    while high < most and first_without(order[:high]) == top:
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if first_without(order[:middle]) == top else (low, middle)
    new = first_without(order[:high]) if high else top
    return (order[:0] if new == top else order[:high]), new
