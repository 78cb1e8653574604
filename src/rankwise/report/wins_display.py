"""The win ratio of a trial as a forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.evaluation.wins import WinStatistics
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Dots, Intervals, Mark, Picture, Rule, rows_axis


@dataclass(eq=False)
class WinsDisplay(Display):
    """The win ratio up to each outcome of a hierarchy, with its interval; the last one is that of the trial.

    Parameters
    ----------
    statistics : WinStatistics
        From `rankwise.win_statistics`.

    Examples
    --------
    >>> from rankwise import win_statistics
    >>> from rankwise.plotting import WinsDisplay
    >>> from rankwise.preferences import Outcome
    >>> found = win_statistics([0, 1, 0, 1, 0, 1], [Outcome([3, 1, 2, 5, 4, 6], name="walk")])
    >>> display = WinsDisplay(found).plot()  # doctest: +SKIP
    """

    statistics: WinStatistics

    def picture(self) -> Picture:
        """Return the ratios with their intervals as marks, on a logarithmic axis."""
        rows = list(self.statistics.by_outcome)
        names = [row.outcome if k == 0 else f"+ {row.outcome}" for k, row in enumerate(rows)]
        ratios, low, high = (np.array([row[k] for row in rows]) for k in (-3, -2, -1))
        titles = [f"{row.win_ratio:.2f}, from {row.low:.2f} to {row.high:.2f}" for row in rows]
        known = np.flatnonzero(np.isfinite(ratios) & (ratios > 0))
        marks: list[Mark] = [
            Rule(x=1.0, title="no difference between the arms"),
            Intervals(low, high, titles=titles),
            Dots(ratios[known], known, titles=[titles[k] for k in known.tolist()], radius=4),
        ]
        return Picture(
            "Win ratio up to each outcome, with intervals",
            marks,
            Axis("win ratio (above 1: the treatment is better)", is_log=True),
            rows_axis(names, [f"{row.wins:,} : {row.losses:,}" for row in rows]),
            (560, 70 + 26 * len(rows)),
        )
