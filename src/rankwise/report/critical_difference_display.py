"""Models on the axis of their scores, with lines below those that do not differ significantly."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rankwise.core.text import plural, short
from rankwise.evaluation.names import shortened
from rankwise.leaderboard.score_table import ScoreLeaderboard
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Bars, Dots, Line, Mark, Picture, Text

# The width beside the scores that names take, relative to that of the scores, and their longest.
SIDE, LONGEST = 0.4, 20
# The height of a line of a group, relative to that of a name.
GROUP = 0.5


@dataclass(eq=False)
class CriticalDifferenceDisplay(Display):
    """The critical-difference diagram of Demsar (2006): a line joins models that do not differ significantly.

    The lines are the letters of the leaderboard: paired tests, corrected for all pairs, in place of one
    critical difference. If a line passes a model without a dot, it does not belong to the group.

    Parameters
    ----------
    leaderboard : ScoreLeaderboard
        From `ScoreTable.leaderboard`, with letters.

    Examples
    --------
    >>> from rankwise import ScoreTable
    >>> from rankwise.plotting import CriticalDifferenceDisplay
    >>> table = ScoreTable.from_wide([[3, 2, 1], [3, 1, 2], [3, 2, 1], [3, 2, 1], [2, 3, 1]])
    >>> display = CriticalDifferenceDisplay(table.leaderboard("rank")).plot()  # doctest: +SKIP
    """

    leaderboard: ScoreLeaderboard

    def picture(self, top: int | None = None) -> Picture:
        """Return the models with their scores and groups as marks."""
        rows = sorted(list(self.leaderboard)[:top], key=lambda row: row.score)
        scores, groups = np.array([row.score for row in rows]), groups_of([row.group for row in rows])
        begin, side = 1.0 + GROUP * len(groups), SIDE * (float(np.ptp(scores)) or 1.0)
        ends = float(scores.min()) - side, float(scores.max()) + side
        marks: list[Mark] = []
        for place, (row, x) in enumerate(zip(rows, scores.tolist(), strict=True)):
            is_left = place < len(rows) / 2
            y = begin + (place if is_left else len(rows) - 1 - place)
            end = ends[0] if is_left else ends[1]
            name = shortened(f"{row.item}", LONGEST)
            marks += [
                Line([x, x, end], [0.0, y, y], "faint"),
                Text((end + scores[0 if is_left else -1]) / 2, y, name),
            ]
        for number, members in enumerate(groups):
            x, y = scores[members], GROUP * (number + 1)
            marks += [Bars([x.min()], [x.max()], [y - 0.05], [y + 0.05]), Dots(x, np.full(len(x), y))]
        titles = [f"{row.item}: {short(row.score)}, rank {row.ranks}" for row in rows]
        marks.append(Dots(scores, np.zeros(len(rows)), titles=titles))
        bottom = begin + (len(rows) + 1) // 2
        return Picture(
            f"Groups of {plural(len(rows), 'model')} that do not differ significantly",
            marks,
            Axis(self.leaderboard.label, ends),
            Axis(limits=(bottom, -0.5), names=[]),
            (720, int(70 + 26 * bottom)),
        )


def groups_of(letters: list[str]) -> list[np.ndarray]:
    """Return the places of the items of each letter that two or more have.

    Examples
    --------
    >>> [group.tolist() for group in groups_of(["a", "ab", "bc1", "c1"])]
    [[0, 1], [1, 2], [2, 3]]
    """
    found: dict[str, list[int]] = {}
    for place, text in enumerate(letters):
        for letter in re.findall(r"[a-z]\d*", text):
            found.setdefault(letter, []).append(place)
    return [np.array(places) for places in found.values() if len(places) > 1]
