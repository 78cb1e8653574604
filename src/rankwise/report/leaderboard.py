"""The HTML page of a leaderboard: scores with intervals, ranks, and probabilities of winning."""

from __future__ import annotations

import numpy as np

from rankwise.core.text import plural
from rankwise.leaderboard import BradleyTerry
from rankwise.leaderboard.fragility import Fragility
from rankwise.leaderboard.over_time import Ratings
from rankwise.leaderboard.table import Leaderboard
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
from rankwise.report.shapes import legend
from rankwise.report.svg import Chart, Interval, interval_chart, padded

SHOWN_IN_CHART = 40
SHOWN_IN_GRID = 10
SHOWN_IN_LINES = 5


def leaderboard_page(
    model: BradleyTerry, board: Leaderboard, title: str = "Leaderboard",
    fragility: Fragility | None = None, ratings: Ratings | None = None,
) -> str:  # fmt: skip
    """Return a page of a fitted `BradleyTerry` and its leaderboard, with its fragility and ratings over time.

    The page is self-contained.
    """
    from rankwise import __version__

    lead = f'<p class="lead">{text(headline(model, board))}</p>\n'
    if fragility is not None:
        lead += paragraph(str(fragility))
    sections = [
        section("ranking", "Ranking", _chart(board), _table(board)),
        section("matches", "Probabilities of winning", _grid(model, board)),
        *_covariates(model, board),
        section("fit", "Fit and uncertainty", _facts(model), paragraph(_explained(model, board), "note")),
    ]
    if ratings is not None:
        sections.insert(1, section("time", "Ratings over time", _over_time(ratings)))
    return page(title, lead, sections, f"Made by rankwise {__version__}.")


def headline(model: BradleyTerry, board: Leaderboard) -> str:
    """Summarise the leaderboard in a sentence."""
    first = board[0]
    ranks = f"; with {_percent(board)} confidence, its true rank is {first.ranks}" if first.ranks else ""
    over = f"{plural(model.n_comparisons_, 'match')} of {plural(len(model.items_), 'item')}"
    return f"{first.item} is ahead after {over}{ranks}."


def _percent(board: Leaderboard) -> str:
    return f"{100 * board.confidence:g}%"


def _chart(board: Leaderboard) -> str:
    rows = [
        Interval(
            f"{row.rank}  {row.item}",
            f"{row.item}: {short(row.score)}, from {short(row.low)} to {short(row.high)}",
            row.score,
            row.low,
            row.high,
        )
        for row in board[:SHOWN_IN_CHART]
    ]
    name = f"Scores of {plural(len(rows), 'item')} with {_percent(board)} intervals"
    chart = interval_chart(name, rows, "score", width=640, row_height=24)
    return figure(chart, f"Scores with {_percent(board)} confidence intervals, the best on top.")


def _over_time(ratings: Ratings) -> str:
    """Draw the scores of the best items of the last period."""
    periods, items = ratings.periods, ratings.latest(SHOWN_IN_LINES)
    place = {period: number for number, period in enumerate(periods)}
    ends = [end for item in items for row in ratings.of(item) for end in (row.low, row.high)]
    last = max(len(periods) - 1, 1)
    low, high = padded(ends)
    chart = Chart("Ratings over time", (0, last), (low, high), y_label="score", width=640, height=340)
    for style, item in enumerate(items):
        rows = ratings.of(item)
        for row in rows:
            title = f"{item}, {row.period}: {short(row.score)}, from {short(row.low)} to {short(row.high)}"
            chart.segment((place[row.period],) * 2, (row.low, row.high), f"whisker s{style}", title)
        x = [place[row.period] for row in rows]
        chart.line(x, [row.score for row in rows], style, dots=False, name=str(item))
    for number, anchor in ((0, "start"), (len(periods) - 1, "end")):
        chart.label(number, low, str(periods[number]), anchor, (0, 18))
    note = (
        "Scores of the best items at the end of each period, with their intervals, from all votes until then."
    )
    return figure(chart.render(x_ticks=False), note) + legend([str(item) for item in items])


def _table(board: Leaderboard) -> str:
    header = ["Item", "Rank", "Range of rank", "Score", "from", "to", "Matches", "Win rate"]
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


def _grid(model: BradleyTerry, board: Leaderboard) -> str:
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
        "The probability that the item of the row beats the item with the rank of the column, in a match "
        "that is not a tie."
    )
    header = ["Item", "Rank", *(str(item.rank) for item in shown)]
    return table("Probability of beating the item of each rank", header, rows, name="chances", note=note)


def _covariates(model: BradleyTerry, board: Leaderboard) -> list[str]:
    """Return a section with the effects of covariates of matches, if there are any."""
    names = getattr(model, "covariate_names_", [])
    found = {one.name: one for one in model.effects(confidence=board.confidence)} if names else {}
    effects = [(name, found[f"covariate {name}"]) for name in names]
    rows: list[list[Cell]] = [
        [name, *(Number(v, f"{v:.4g}".replace("-", MINUS)) for v in (one.value, one.low, one.high))]
        for name, one in effects
    ]
    note = (
        "The change of the log odds of the item named first per unit of each covariate, with "
        f"{_percent(board)} intervals. Scores and probabilities are those of matches in which all are 0."
    )
    header = ["Covariate", "Effect", "from", "to"]
    shown = table("Effects of covariates", header, rows, name="covariates", note=note)
    return [section("covariates", "Covariates of matches", shown)] if names else []


def _facts(model: BradleyTerry) -> str:
    pairs = [
        ("Matches", Number(model.n_comparisons_)),
        ("Items", Number(len(model.items_))),
        ("Groups connected by matches", Number(len(model.groups_))),
        ("Penalty alpha", Number(model.alpha_)),
        ("Objective", Number(model.objective_)),
        ("Certified gap to the optimum", Number(model.gap_)),
    ]
    sd = getattr(model, "prior_sd_", None)
    if sd is not None:
        pairs.insert(4, ("Learned standard deviation of scores (prior)", Number(sd)))
    if model.order_effect:
        pairs.append(("Order effect (log odds)", Number(model.order_effect_)))
    if model.ties == "davidson":
        pairs.append(("Tie effect nu", Number(model.tie_effect_)))
    return facts(pairs)


def _explained(model: BradleyTerry, board: Leaderboard) -> str:
    percent = _percent(board)
    words = (
        "A difference of scores is the log odds of winning; the mean score is 0. Each score has a "
        f"{percent} confidence interval, by default without the bias of the penalty, so a score may be off "
        "its centre. The range of rank excludes the "
        "positions of items that are significantly above or below: it contains the true rank of the item "
        f"with {percent} confidence."
    )
    if board.note:
        words += f" {board.note}"
    if len(model.groups_) > 1:
        words += " Scores of different groups cannot be compared."
    return words
