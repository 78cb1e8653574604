"""The queries that the page lists, their rows and worst pairs, and measures by kinds of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.core.text import escaped, plural, short
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.names import row_words
from rankwise.evaluation.slices import Slice
from rankwise.report.page import Number, embedded, paragraph, section, select, table
from rankwise.report.shown import Shown

OF_ROWS = "Pairs of two rows of a group count, so these measures are not those of all pairs."


def slices_section(
    data: EvaluationData, measured: Mapping[str, Sequence[Measured]], slices: Sequence[Slice]
) -> str:
    """Show the first measure by groups of queries or rows."""
    tables = [_table(data, measured, number, one) for number, one in enumerate(slices)]
    kinds = "By kinds of queries" if all(one.of_queries for one in slices) else "By kinds of rows"
    return section("slices", kinds, *tables)


def _table(data: EvaluationData, measured: Mapping[str, Sequence[Measured]], number: int, one: Slice) -> str:
    shown = Shown.of(measured[data.name][0])
    rows = [
        [name, len(inside), *map(shown.number, one.means(data, measured, inside))]
        for name, inside in one.members().items()
    ]
    caption = f"{shown.title} by {one.title[:1].lower()}{one.title[1:]}"
    header = [one.title, "Queries" if one.of_queries else "Rows", *measured]
    note = "" if one.of_queries else OF_ROWS
    return table(caption, header, rows, name=f"slice-{number}", note=note)


MAX_NAMED = 400
# The number of rows of a query that are listed: fewer of many queries, so that the page stays small.
MAX_DOCUMENTS, MAX_LISTED = 30, 3000
# The worst pair is searched among at most this many rows of a query, evenly spaced in their order.
MAX_SEARCHED = 300
# The least difference of labels of a pair, relative to their range.
SMALL = 1e-9


def worst_first(errors: FloatArray) -> IntArray:
    """Return the queries that have pairs, the highest error first.

    Examples
    --------
    >>> worst_first(np.array([0.1, 0.4, np.nan])).tolist()
    [1, 0]
    """
    defined = np.flatnonzero(~np.isnan(errors))
    return np.asarray(defined[np.argsort(-errors[defined], kind="stable")])


def named_queries(errors: FloatArray) -> IntArray:
    """Return the queries that the page lists: all, or the worst and the best if there are many."""
    order, half = worst_first(errors), MAX_NAMED // 2
    return order if len(order) <= MAX_NAMED else np.concatenate([order[:half], order[-half:]])


def in_order(data: EvaluationData, query: int) -> IntArray:
    """Return the rows of a query, the highest score first."""
    rows = np.flatnonzero(data.query == query)
    return np.asarray(rows[np.argsort(-data.main_scores[rows], kind="stable")])


def spread_out(rows: IntArray, room: int) -> IntArray:
    """Return at most `room` rows, evenly spaced in their order.

    Examples
    --------
    >>> spread_out(np.arange(10), 3).tolist()
    [0, 4, 9]
    """
    return rows[np.unique(np.linspace(0, len(rows) - 1, room).astype(int))] if len(rows) > room else rows


def most_wrong(data: EvaluationData, rows: IntArray) -> tuple[int, int] | None:
    """Return the worst discordant pair, the higher row first.

    It has the largest product of the differences of scores and of labels; without labels that order the rows,
    the largest difference of scores.
    """
    rows = spread_out(rows, MAX_SEARCHED)
    scores, labels = data.main_scores[rows], data.y[rows]
    apart = scores[:, None] - scores[None, :]
    if data.is_ordered_by_labels or data.event is not None:
        # Two times may be equal, and yet in order: one of them is censored.
        apart = apart * np.maximum(labels[None, :] - labels[:, None], SMALL * max(1.0, np.ptp(labels)))
    apart = np.where(data.wished(rows).T, apart, -np.inf)
    first, second = (int(k) for k in np.unravel_index(int(np.argmax(apart)), apart.shape))
    return (int(rows[first]), int(rows[second])) if apart[first, second] > 0 else None


def documents_panel(data: EvaluationData, errors: FloatArray) -> str:
    """List the rows of the worst query by score; a script shows those of the others."""
    named = named_queries(errors).tolist()
    room = min(MAX_DOCUMENTS, MAX_LISTED // len(named))
    lists = [_documents(data, query, room) for query in named]
    names = [(place, entry["name"]) for place, entry in enumerate(lists)]
    first = lists[0]
    listed = [
        [str(place), str(row), label, Number(score, short(score))]
        for place, row, label, score in first["rows"]
    ]
    return (
        '<div id="documents"><h3>The rows of a query by score</h3>'
        f'<form class="fields">{select("documents-query", "Query", names, 0)}</form>'
        '<p class="answer" aria-live="polite">'
        f'<span id="documents-wrong">{escaped(wrong_in_words(first))}</span> '
        '<a href="#pair" id="documents-why" hidden>Why?</a></p>'
        + table(
            "Rows by score, the highest first",
            ["Position", "Row", "Label", "Score"],
            listed,
            name="documents-table",
        )
        + f"{paragraph(left_out(first), 'note') or '<p class=note></p>'}</div>"
        + embedded("documents-data", lists)
    )


def _documents(data: EvaluationData, query: int, room: int) -> dict[str, Any]:
    """Return the first rows of a query with their positions, and its worst pair."""
    rows = in_order(data, query)
    wrong = most_wrong(data, rows)
    shown = np.arange(len(rows)) < room
    if wrong is not None:
        shown |= np.isin(rows, wrong)

    def described(row: int) -> list[Any]:
        return [data.row_id(row), data.label(row)]

    return {
        "query": query,
        "name": data.query_names[query],
        "size": len(rows),
        "rows": [
            [k + 1, *described(int(rows[k])), float(data.main_scores[rows[k]])]
            for k in np.flatnonzero(shown).tolist()
        ],
        "wrong": None if wrong is None else [described(row) for row in wrong],
    }


def query_words(name: str) -> str:
    """Return "query" and its name, or a name that says so itself; report.js has the same words.

    Examples
    --------
    >>> query_words("17"), query_words("Query 17")
    ('query 17', 'Query 17')
    """
    return name if name.lower().startswith("query") else f"query {name}"


def wrong_in_words(entry: dict[str, Any]) -> str:
    """Describe the worst pair of a query; report.js has the same words."""
    if entry["wrong"] is None:
        return f"No pair of {query_words(entry['name'])} is in the wrong order."
    first, second = (row_words(row) + (f" (label {label})" if label else "") for row, label in entry["wrong"])
    return f"Worst pair of {query_words(entry['name'])}: {first} is above {second}, but should be below it."


def left_out(entry: dict[str, Any]) -> str:
    """State how many rows are listed; report.js has the same words."""
    n_shown = len(entry["rows"])
    return f"{n_shown} of {plural(entry['size'], 'row')} are listed." if n_shown < entry["size"] else ""
