"""Matches that do not determine the scores."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from rankwise.core.text import listed
from rankwise.core.types import IntVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.comparisons import Comparisons

LISTED = 5
# A prior with a standard deviation above 10 hardly restricts the scores.
WEAK_PRECISION = 0.01


def diagnose(
    items: NDArray[Any], comparisons: Comparisons, groups: list[IntVector], alpha: float, *, davidson: bool
) -> None:
    """Refuse matches without an optimum, and warn of scores that the matches do not determine."""
    told = []
    if len(groups) > 1:
        told.append(
            f"The items are in {len(groups)} groups that were never compared: {_grouped(items, groups)}. "
            "Their scores cannot be compared either."
        )
    if 2 * alpha * comparisons.total.sum() < WEAK_PRECISION:
        one_sided = comparisons.one_sided()
        if one_sided:
            told.append(
                "Some items won, or lost, every match with the others, which would put them infinitely "
                f"far away: {_grouped(items, one_sided)}."
            )
        told += _tie_problems(comparisons) if davidson else []
    if told and alpha == 0:
        raise ValueError(f"With alpha=0 the scores have no optimum. {' '.join(told)} Give a positive alpha.")
    if told:
        warn_caller(f"{' '.join(told)} Only alpha={alpha:.3g} holds them in place.")


def _tie_problems(comparisons: Comparisons) -> list[str]:
    if not comparisons.ties.any():
        return ["No match was a tie, which ties='davidson' would make impossible; take ties='half'."]
    return [] if (comparisons.wins + comparisons.losses).any() else ["Every match was a tie."]


def _grouped(items: NDArray[Any], groups: list[IntVector]) -> str:
    more = f"; and {len(groups) - LISTED} more" if len(groups) > LISTED else ""
    return (
        "; ".join(listed([str(item) for item in items[group].tolist()], LISTED) for group in groups[:LISTED])
        + more
    )
