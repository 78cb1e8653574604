"""Two models on the same queries: wins and losses, and the first rows of a query side by side."""

from __future__ import annotations

import numpy as np

from rankwise.core.pipelines import scales_queries
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.paired import TIE
from rankwise.evaluation.weights import largest_parts, pair_parts
from rankwise.report.page import Cell, Number, paragraph, section, short, table, text
from rankwise.report.versus import signed

# Queries in a list of wins or losses, of these with their rows, rows of a query, and features of a reason.
LISTED, OPENED, ROWS, REASONS = 8, 3, 10, 3


def moved_section(data: EvaluationData, measured: dict[str, list[Measured]]) -> str:
    """Show where the model is better and worse than the first of the others, query by query."""
    others = [name for name in measured if name != data.name]
    if not others or len(measured[data.name][0].values) < 2:
        return ""
    other = others[0]
    ours, theirs = measured[data.name][0], measured[other][0]
    apart = _gains(ours, theirs)
    wins, losses = _largest(apart), _largest(-apart)
    if not len(wins) and not len(losses):
        return ""
    lists = [
        _list_of(data, caption, name, queries, ours, theirs, other)
        for caption, name, queries in (
            (f"Queries on which {data.name} is better", "wins", wins),
            (f"Queries on which {other} is better", "losses", losses),
        )
        if len(queries)
    ]
    opened = [*losses[:OPENED], *wins[:OPENED]]
    panels = [
        _side_by_side(data, other, int(query), apart[query], place > 0) for place, query in enumerate(opened)
    ]
    return section(
        "moved",
        f"What moved, compared with {other}",
        f'<div class="figures">{"".join(lists)}</div>',
        "<h3>The first rows of a query by both models</h3>",
        *panels,
    )


def opened_queries(measured: dict[str, list[Measured]], name: str) -> list[int]:
    """Return the queries whose rows the section lists: those that moved most."""
    others = [found for other, found in measured.items() if other != name]
    if not others:
        return []
    apart = _gains(measured[name][0], others[0][0])
    return [int(query) for side in (-apart, apart) for query in _largest(side)[:OPENED]]


def _gains(ours: Measured, theirs: Measured) -> FloatArray:
    """Return by how much each query is better."""
    return (ours.values - theirs.values) * (1.0 if ours.measure.higher_is_better else -1.0)


def _largest(gains: FloatArray) -> IntArray:
    """Return the queries with the largest gains above 0."""
    order = np.argsort(-np.nan_to_num(gains, nan=-np.inf), kind="stable")[:LISTED]
    return order[gains[order] > TIE]


def _list_of(
    data: EvaluationData,
    caption: str,
    name: str,
    queries: IntArray,
    ours: Measured,
    theirs: Measured,
    other: str,
) -> str:
    gains = _gains(ours, theirs)
    rows: list[list[Cell]] = [
        [
            data.query_names[query],
            Number(float(ours.values[query])),
            Number(float(theirs.values[query])),
            Number(float(gains[query]), signed(float(gains[query]))),
        ]
        for query in queries.tolist()
    ]
    header = ["Query", data.name, other, "Improvement"]
    return table(f"{caption}, {ours.measure.name}", header, rows, name=f"moved-{name}")


def _side_by_side(data: EvaluationData, other: str, query: int, gain: float, is_long: bool) -> str:
    """List the first rows of a query by both models, and why one moved; a long list is not printed."""
    rows = np.flatnonzero(data.query == query)
    ours, theirs = _order(data.main_scores[rows]), _order(data.scores[other][rows])
    place_there = np.empty(len(rows), dtype=np.int64)
    place_there[theirs] = np.arange(len(rows))
    listed: list[list[Cell]] = []
    for place, (here, there) in enumerate(zip(ours[:ROWS].tolist(), theirs[:ROWS].tolist(), strict=True)):
        moved = int(place_there[here]) - place
        listed.append(
            [
                str(place + 1),
                _title(data, int(rows[here])),
                Number(moved, f"{moved:+d}" if moved else "0"),
                _title(data, int(rows[there])),
            ]
        )
    caption = f"Query {data.query_names[query]}"
    better = data.name if gain > 0 else other
    full = table(
        f"{caption}: the first {len(listed)} of {len(rows)} rows",
        ["Position", data.name, f"Places up from {other}", other],
        listed,
        name=f"moved-query-{query}",
        numeric=[False, False, True, False],
    )
    why = _why(data, other, rows, ours, theirs, place_there)
    head = f"<summary>{text(caption)}, better by {text(better)}</summary>"
    kind = ' class="long-list"' if is_long else ""
    return f"<details{kind}>{head}{full}{paragraph(why)}</details>"


def _order(scores: FloatArray) -> IntArray:
    return np.argsort(-scores, kind="stable")


def _title(data: EvaluationData, row: int) -> str:
    label = data.label(row)
    return f"{data.row_name(row)} (label {label})" if label else data.row_name(row)


def _why(
    data: EvaluationData, other: str, rows: IntArray, ours: IntArray, theirs: IntArray, place_there: IntArray
) -> str:
    """Explain the row that rose most: the features that put it above the first row of the other model."""
    model = data.models[data.name]
    rises = place_there[ours[:ROWS]] - np.arange(len(ours[:ROWS]))
    risen, first = int(ours[np.argmax(rises)]), int(theirs[0])
    scores = data.main_scores[rows]
    if model is None or rises.max() <= 0 or scores[risen] <= scores[first] or scales_queries(model):
        return ""
    numbers = data.row_numbers[rows[[risen, first]]]
    first_row, second_row = (
        data.X.iloc[[row]] if hasattr(data.X, "iloc") else data.X[[row]] for row in numbers
    )
    found = pair_parts(model, first_row, second_row, data.feature_names)
    if found is None:
        return ""
    names, parts = found
    shown = [k for k in largest_parts(parts, REASONS).shown if parts[k] != 0]
    reasons = ", ".join(f"{names[k]} {signed(float(parts[k]))}" for k in shown)
    return (
        f"{data.row_name(int(rows[risen]))} rose by {int(rises.max())} places. It is above "
        f"{data.row_name(int(rows[first]))}, the first by {other}, by {short(float(parts.sum()))}: {reasons}."
    )
