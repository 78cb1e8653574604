"""A table of the judges of a leaderboard, with intervals of their slopes and order effects."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from rankwise.core.text import html_table, table
from rankwise.leaderboard.bradley_terry import BradleyTerry, Effect

HEADER = ("judge", "votes", "slope", "from", "to", "order effect", "from", "to")


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


class JudgeTable(list[JudgeRow]):
    """A list of `JudgeRow` that prints as a table."""

    def cells(self) -> list[list[str]]:
        """Return the rows as text, in the order of `HEADER`, without order effects if there are none."""
        return [
            [str(row.judge), f"{row.votes:,.6g}", *_numbers(row.slope), *_numbers(row.order_effect)]
            for row in self
        ]

    def _header(self) -> tuple[str, ...]:
        return HEADER[: len(self.cells()[0])]

    def __str__(self) -> str:
        return "\n".join(table(self._header(), self.cells()))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._header(), self.cells())


def _numbers(effect: Effect | None) -> list[str]:
    if effect is None:
        return []
    return [f"{value:.3f}" for value in (effect.value, effect.low, effect.high)]


def judge_table(model: BradleyTerry, *, confidence: float = 0.95) -> JudgeTable:
    """Return the judges of a model that was fitted with `judge`, from the largest slope to the smallest.

    Parameters
    ----------
    model : fitted BradleyTerry
    confidence : float
        The confidence level of the intervals.

    Examples
    --------
    >>> model = BradleyTerry().fit(list("xxxxxy") * 18, list("yyyyyx") * 18, judge=list("stusts") * 18)
    >>> print(judge_table(model))
    judge  votes  slope   from     to
    t         36  1.994  0.638  3.730
    u         18  1.743  0.449  3.413
    s         54  0.288  0.054  0.438
    """
    check_is_fitted(model)
    if not hasattr(model, "judges_"):
        raise ValueError("A table of judges needs a model that was fitted with judge; this one was not.")
    effects, n_judges = model.effects(confidence=confidence), len(model.judges_)
    width = len(effects) // n_judges
    rows = [
        JudgeRow(name, votes, effects[width * k], effects[width * k + 1] if width == 2 else None)
        for k, (name, votes) in enumerate(
            zip(model.judges_.tolist(), model.judge_votes_.tolist(), strict=True)
        )
    ]
    return JudgeTable(sorted(rows, key=lambda row: -row.slope.value))
