"""A table of the judges of a leaderboard, with intervals of their slopes and order effects."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from rankwise.core.results import Column, ResultTable
from rankwise.leaderboard.crowd import CrowdBradleyTerry
from rankwise.leaderboard.table import Effect


class JudgeRow(NamedTuple):
    """One judge of a leaderboard.

    Attributes
    ----------
    judge : name
    votes : float
        The weight of its votes.
    slope : Effect
        beta_k: 1 for an average judge, 0 for one who votes at random, below 0 for one against the rest.
    order_effect : Effect or None
        h_k, in favour of the item named first; None if `fit` had no `outcome`.
    """

    judge: Any
    votes: float
    slope: Effect
    order_effect: Effect | None


def _columns(name: str, title: str) -> list[Column]:
    """Return the value of an effect and the ends of its interval."""
    parts = {"value": title, "low": "from", "high": "to"}
    return [
        Column(f"{name}_{part}", partial(_part, name, part), ".3f", title) for part, title in parts.items()
    ]


def _part(name: str, part: str, row: JudgeRow) -> Any:
    return getattr(getattr(row, name), part)


class JudgeTable(ResultTable[JudgeRow]):
    """A list of `JudgeRow` that prints as a table, without order effects if there are none."""

    def __init__(self, rows: Iterable[JudgeRow]) -> None:
        super().__init__(rows)
        self.columns = [
            Column("judge", left=True),
            Column("votes", format=",.6g"),
            *_columns("slope", "slope"),
        ]
        if self and self[0].order_effect is not None:
            self.columns += _columns("order_effect", "order effect")


def judge_table(model: CrowdBradleyTerry, *, confidence: float = 0.95) -> JudgeTable:
    """Return the judges of a model, from the largest slope to the smallest.

    Parameters
    ----------
    model : fitted CrowdBradleyTerry
    confidence : float
        The confidence level of the intervals.

    Examples
    --------
    >>> model = CrowdBradleyTerry().fit(list("xxxxxy") * 18, list("yyyyyx") * 18, judge=list("stusts") * 18)
    >>> print(judge_table(model))
    judge  votes  slope   from     to
    t         36  1.993  0.641  3.726
    u         18  1.742  0.452  3.409
    s         54  0.288  0.054  0.438
    """
    check_is_fitted(model)
    effects, n_judges = model.effects(confidence=confidence), len(model.judges_)
    width = len(effects) // n_judges
    rows = [
        JudgeRow(name, votes, effects[width * k], effects[width * k + 1] if width == 2 else None)
        for k, (name, votes) in enumerate(
            zip(model.judges_.tolist(), model.judge_votes_.tolist(), strict=True)
        )
    ]
    return JudgeTable(sorted(rows, key=lambda row: -row.slope.value))
