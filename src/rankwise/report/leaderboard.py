"""One HTML file on a leaderboard: the items with their intervals and ranks, and who would win."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.evaluation.names import shortened
from rankwise.report.page import (
    MINUS,
    Cell,
    Number,
    facts,
    figure,
    page,
    paragraph,
    section,
    share,
    short,
    table,
    text,
)
from rankwise.report.svg import LONGEST_NAME, Chart, room_for

SHOWN_IN_CHART = 40
SHOWN_IN_GRID = 10


def leaderboard_page(model: Any, board: Any, title: str = "Leaderboard") -> str:
    """Return the page of a fitted `BradleyTerry` and its leaderboard; it opens offline."""
    from rankwise import __version__

    lead = f'<p class="lead">{text(headline(model, board))}</p>\n'
    sections = [
        section("ranking", "Who is where", _chart(board), _table(board)),
        section("matches", "Who would win", _grid(model, board)),
        section("fit", "How sure this is", _facts(model), paragraph(_explained(model, board), "note")),
    ]
    return page(title, lead, sections, f"Made by rankwise {__version__}.")


def headline(model: Any, board: Any) -> str:
    """Return the finding in words."""
    first = board[0]
    sure = f"; with {_percent(board)} confidence, its true rank is {first.ranks}" if first.ranks else ""
    over = f"{model.n_comparisons_:,} matches of {len(model.items_):,} items"
    return f"{first.item} is ahead after {over}{sure}."


def _percent(board: Any) -> str:
    return f"{100 * board.confidence:g}%"


def _chart(board: Any) -> str:
    rows = board[:SHOWN_IN_CHART]
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    space = 0.04 * (high - low) or 0.5
    names = [f"{row.rank}  {shortened(str(row.item), LONGEST_NAME)}" for row in rows]
    chart = Chart(
        f"Scores of {len(rows)} items with {_percent(board)} intervals",
        (low - space, high + space),
        (len(rows) - 0.5, -0.5),
        x_label="score",
        width=640,
        height=70 + 24 * len(rows),
        left=room_for(names),
    )
    for place, row in enumerate(rows):
        title = f"{row.item}: {short(row.score)}, from {short(row.low)} to {short(row.high)}"
        chart.segment((row.low, row.high), (place, place), "whisker s0", title)
        chart.points([row.score], [place], 0, [title], 4)
        chart.label(low - space, place, names[place], "end", (-8, 4))
    return figure(chart.render(y_ticks=False), f"Scores with {_percent(board)} intervals, the best on top.")


def _table(board: Any) -> str:
    header = ["Item", "Rank", "Ranks it may have", "Score", "from", "to", "Matches", "Won"]
    rows: list[list[Cell]] = [
        [
            str(row.item), Number(row.rank), Number(row.best_rank, row.ranks or None),
            *(Number(v, f"{v:.3f}".replace("-", MINUS)) for v in (row.score, row.low, row.high)),
            Number(row.matches), Number(row.won, None if row.won is None else share(row.won)),
        ]
        for row in board
    ]  # fmt: skip
    search = "Find an item:" if len(rows) > 12 else None
    return table("The leaderboard", header, rows, name="leaderboard", search=search)


def _grid(model: Any, board: Any) -> str:
    shown = board[:SHOWN_IN_GRID]
    names = [row.item for row in shown]
    chances = [model.predict_pair_proba(names, [name] * len(names)) for name in names]
    rows: list[list[Cell]] = [
        [
            str(item.item),
            Number(item.rank),
            *(Number(None) if i == j else Number(p, share(p)) for j, p in enumerate(row)),
        ]
        for i, (item, row) in enumerate(zip(shown, np.transpose(chances).tolist(), strict=True))
    ]
    note = (
        "The chance that the item of the row wins against the item with the rank of the column, in a match "
        "that is no tie."
    )
    header = ["Item", "Rank", *(str(item.rank) for item in shown)]
    return table("Chances to win against the items of ranks", header, rows, name="chances", note=note)


def _facts(model: Any) -> str:
    pairs = [
        ("Matches", Number(model.n_comparisons_)),
        ("Items", Number(len(model.items_))),
        ("Groups linked by matches", Number(len(model.groups_))),
        ("Penalty alpha", Number(model.alpha_)),
        ("Objective", Number(model.objective_)),
        ("At most above its minimum", Number(model.gap_)),
    ]
    if model.order_effect:
        pairs.append(("Order effect (log odds)", Number(model.order_effect_)))
    if model.ties == "davidson":
        pairs.append(("Tie effect nu", Number(model.tie_effect_)))
    return facts(pairs)


def _explained(model: Any, board: Any) -> str:
    sure = _percent(board)
    words = (
        "A difference of scores is the logarithm of the odds to win; the mean is 0. Intervals come from "
        f"the curvature of the likelihood, at {sure} each. Ranks an item may have leave out the places of "
        f"items that are surely above or below it: with {sure} confidence its true rank is among them."
    )
    if len(model.groups_) > 1:
        words += " Scores of groups that never met cannot be compared."
    return words
