"""The section on a single ranking: its first rows, and the rows that are too high or too low."""

from __future__ import annotations

import numpy as np

from rankwise.core.text import plural, share, short
from rankwise.core.types import IntArray
from rankwise.evaluation.data import EvaluationData
from rankwise.report.page import Cell, Number, section, table
from rankwise.report.queries import in_order, spread_out

TOP, MISSES = 10, 5
# Misses are searched among at most this many rows, evenly spaced in their order.
MAX_SEARCHED = 1500


def ranking_section(data: EvaluationData) -> str:
    """Return the section, empty unless all rows are one ranking."""
    if data.n_queries > 1 or len(data.y) < 2:
        return ""
    order = in_order(data, 0)
    return section("ranking", "The ranking", _top(data, order), _misses(data, order))


def _top(data: EvaluationData, order: IntArray) -> str:
    has_labels = bool(data.label(0))
    rows = [_row(data, int(row), place, has_labels) for place, row in enumerate(order[:TOP], 1)]
    caption = f"The first {len(rows)} of {plural(len(order), 'row')} by score"
    return table(caption, _header(data, has_labels), rows, name="top")


def _header(data: EvaluationData, has_labels: bool) -> list[str]:
    label = ["Label" if data.event is None else "Time"] if has_labels else []
    return ["Position", "Row", *label, "Score"]


def _row(data: EvaluationData, row: int, place: int, has_labels: bool) -> list[Cell]:
    label: list[Cell] = []
    if has_labels:
        shown = data.label(row)
        label = [Number(float(data.y[row]), shown)]
    score = float(data.main_scores[row])
    return [str(place), str(data.row_id(row)), *label, Number(score, short(score))]


def _misses(data: EvaluationData, order: IntArray) -> str:
    """List the rows with the largest fractions of pairs in the wrong order, too high and too low."""
    rows = spread_out(order, MAX_SEARCHED)
    high, low, count = wrong_pairs(data, rows)
    place = {int(row): number for number, row in enumerate(order, 1)}
    note = "" if len(rows) == len(order) else f"Searched among {len(rows):,} rows."
    tables = [
        _miss_table(data, rows, wrong, count, place, caption, name, note)
        for caption, name, wrong in (
            ("Too high: above many rows that they should be below", "too-high", high),
            ("Too low: below many rows that they should be above", "too-low", low),
        )
        if wrong.any()
    ]
    return f'<h3>The worst misses</h3><div class="columns">{"".join(tables)}</div>' if tables else ""


def wrong_pairs(data: EvaluationData, rows: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Count for each row the rows that it should be below but is above, those reversed, and all its pairs."""
    wished = data.wished(rows)
    above = data.main_scores[rows][:, None] > data.main_scores[rows][None, :]
    too_high = (wished.T & above).sum(axis=1)
    too_low = (wished & above.T).sum(axis=1)
    return too_high, too_low, (wished | wished.T).sum(axis=1)


def _miss_table(
    data: EvaluationData,
    rows: IntArray,
    wrong: IntArray,
    count: IntArray,
    place: dict[int, int],
    caption: str,
    name: str,
    note: str,
) -> str:
    has_labels = bool(data.label(0))
    chosen = np.argsort(-wrong, kind="stable")[:MISSES]
    listed = []
    for k in chosen[wrong[chosen] > 0].tolist():
        fraction = float(wrong[k] / count[k])
        shown = f"{int(wrong[k]):,} ({share(fraction)})"
        listed.append(
            [*_row(data, int(rows[k]), place[int(rows[k])], has_labels), Number(float(wrong[k]), shown)]
        )
    header = [*_header(data, has_labels), "Wrong pairs"]
    return table(caption, header, listed, name=name, note=note)
