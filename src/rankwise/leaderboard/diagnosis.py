"""Matches that do not determine the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.text import listed
from rankwise.core.types import IntVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.links.logistic import Logistic
from rankwise.leaderboard.pair_model import PairModel

LISTED = 5
# Effects are confounded if this fraction of the information about a combination of them, or less, is left
# after scores have explained what they can.
CONFOUNDED = 1e-9
TINY = 1e-14
# A prior with a standard deviation above 10 hardly restricts the scores.
WEAK_PRECISION = 0.01


def diagnose(
    items: NDArray[Any], comparisons: Comparisons, groups: list[IntVector], alpha: float, *, ties: str
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
        told += _tie_problems(comparisons) if ties == "davidson" else []
    if told and alpha == 0:
        raise ValueError(f"With alpha=0 the scores have no optimum. {' '.join(told)} Give a positive alpha.")
    if told:
        warn_caller(f"{' '.join(told)} Only alpha={alpha:.3g} holds them in place.")


def diagnose_covariates(model: PairModel, names: list[str], alpha: float) -> None:
    """Warn of covariates that scores or other effects explain; refuse them if alpha is 0.

    With L the Laplacian of scores, B the border and C the corner of the Hessian at equal scores, the
    information about effects that is left is C - B L^+ B'.
    """
    if not names:
        return
    comparisons, columns = model.comparisons, model.effect_columns
    curvature = 0.25 * model.outcomes.total
    border = np.transpose([comparisons.signed_sums(curvature * column) for column in columns])
    scores_alone = PairModel(comparisons.pooled, Logistic())
    # The ridge is for items without matches.
    laplacian = scores_alone.at(np.zeros(model.n_items)).hessian(np.full(model.n_items, TINY))
    whole = (columns * curvature) @ columns.T
    values, vectors = np.linalg.eigh(whole - border.T @ laplacian.solve_columns(border))
    lost = np.abs(vectors[: len(names), values <= CONFOUNDED * np.diag(whole).max()])
    confounded = [name for name, sizes in zip(names, lost, strict=True) if (sizes > 0.01).any()]
    if not confounded:
        return
    others = "scores, the order effect or each other" if model.order_effect else "scores or each other"
    told = f"The effects of {listed(confounded, LISTED)} cannot be distinguished from {others}."
    if alpha == 0:
        raise ValueError(f"{told} Leave covariates out, or give a positive alpha.")
    warn_caller(f"{told} Only the penalty determines them.")


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
