"""A table of the best items of a leaderboard against each other, with intervals."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import check_count
from rankwise.core.text import html_table, table
from rankwise.leaderboard.bradley_terry import BradleyTerry

HEADER = ("item", "against", "difference", "from", "to", "wins", "from", "to")


class PairRow(NamedTuple):
    """Two items of a leaderboard against each other.

    Attributes
    ----------
    a, b : names
        `a` has the higher score.
    difference, standard_error, low, high : float
        The difference of their scores, and its confidence interval; see `BradleyTerry.difference`.
    probability, lowest, highest : float
        P(a beats b) in a match without a tie or an order effect, as `BradleyTerry.predict_pair_proba`, and
        the interval of the difference as probabilities.
    """

    a: Any
    b: Any
    difference: float
    standard_error: float
    low: float
    high: float
    probability: float
    lowest: float
    highest: float


class PairTable(list[PairRow]):
    """A list of `PairRow` that prints as a table."""

    def cells(self) -> list[list[str]]:
        """Return the rows as text, in the order of `HEADER`."""
        return [
            [
                str(row.a), str(row.b), *(f"{value:.3f}" for value in (row.difference, row.low, row.high)),
                *(f"{value:.1%}" for value in (row.probability, row.lowest, row.highest)),
            ]
            for row in self
        ]  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(table(HEADER, self.cells(), n_left=2))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(HEADER, self.cells())


def pair_table(model: BradleyTerry, top: int = 5, *, confidence: float = 0.95) -> PairTable:
    """Return the pairs of the best items of a model, each with the interval of its difference of scores.

    Each interval is for one pair that was named beforehand, without a correction for several pairs or for
    the choice of the best by their scores.

    Parameters
    ----------
    model : fitted BradleyTerry
    top : int
        The number of items.
    confidence : float
        The confidence level of each interval.

    Examples
    --------
    >>> model = BradleyTerry().fit(list("xxxxyyyzzx"), list("yyyzzzxxyz"))
    >>> print(pair_table(model, 2))
    item  against  difference    from     to   wins   from     to
    x     y             0.357  -0.927  2.440  58.3%  28.3%  92.0%
    """
    check_is_fitted(model)
    check_count("top", top)
    best = model.items_[np.argsort(-model.scores_, kind="stable")[:top]].tolist()
    pairs = list(combinations(best, 2))
    if not pairs:
        return PairTable()
    columns = [a for a, _ in pairs], [b for _, b in pairs]
    chances = model.predict_pair_proba(*columns).tolist()
    apart = model.differences(*columns, confidence=confidence)
    return PairTable(
        PairRow(a, b, *one[:4], chance, *expit(one[2:4]).tolist())
        for (a, b), one, chance in zip(pairs, apart, chances, strict=True)
    )
