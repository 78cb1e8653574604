"""The section on the quality of the ranking: the distribution over queries, best and worst queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankwise.core.text import plural, short
from rankwise.core.types import IntArray
from rankwise.evaluation import bootstrap
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.names import row_words
from rankwise.report.page import (
    QueryLink,
    figure,
    figures,
    paragraph,
    section,
    table,
)
from rankwise.report.queries import MAX_NAMED, documents_panel, named_queries, worst_first
from rankwise.report.query_quality_display import MOST_DOTS, QueryQualityDisplay
from rankwise.report.shapes import labels_picture
from rankwise.report.shown import Shown, notes_on
from rankwise.report.versus import n_shared

LISTED, MAX_STRIPS = 8, 6
MAX_POINTS = 1500
# Fewer queries than this are few for an interval of a skewed measure.
FEW = 20


def quality_section(
    data: EvaluationData, measures: Mapping[str, Sequence[Measured]], notes: Sequence[str]
) -> str:
    """Show the quality of the main model."""
    measured = measures[data.name]
    several = len(measured[0].values) > 1
    return section(
        "quality",
        "How well it ranks",
        paragraph(" ".join([how(data, measured), notes_on(measured), *notes]), "note"),
        query_parts(data, measures) if several else score_chart(data),
    )


def how(data: EvaluationData, measured: Sequence[Measured]) -> str:
    """Explain the intervals."""
    units = list(dict.fromkeys(one.units for one in measured))
    return " ".join(_how_of(unit, data.n_labelled, data.n_queries) for unit in units)


def _how_of(units: str, n_rows: int, n_queries: int) -> str:
    if units == "queries":
        few = " With so few, rare values that none of them has are in no interval." * (n_queries < FEW)
        return f"95% intervals: Wilson's, by Student's t over {plural(n_queries, 'query')}.{few}"
    if units in ("rows", "groups"):
        whose = "rows" if units == "rows" else "groups of rows joined by pairs"
        return f"95% intervals of pairs: infinitesimal jackknife over {whose}."
    resamples = bootstrap.n_row_resamples(n_rows)
    if resamples == 0:
        return f"Other measures have no intervals: there are more than {bootstrap.MAX_ROWS:,} rows."
    return f"Those of other measures: bootstrap over rows, {resamples:,} resamples."


def query_parts(data: EvaluationData, measures: Mapping[str, Sequence[Measured]]) -> str:
    """Show the distribution over queries, the worst and the best queries, and all queries."""
    measured = measures[data.name]
    charts = figures(*(strips(data, measures, place) for place in range(min(2, n_shared(measures)))))
    lists = query_lists(data, measured)
    defined = bool(measured[0].n_defined)
    return charts + lists + (documents_panel(data, measured[0].values) if defined else "")


def strips(data: EvaluationData, measures: Mapping[str, Sequence[Measured]], place: int) -> str:
    """Draw a measure of each query as a dot, one strip per model."""
    found = {name: listed[place] for name, listed in list(measures.items())[:MAX_STRIPS]}
    shown = Shown.of(found[data.name])
    if not any(one.n_defined for one in found.values()):
        return ""
    display = QueryQualityDisplay(
        {name: shown.values(one.values) for name, one in found.items()},
        shown.in_sentence,
        [shown.interval(one) for one in found.values()],
        data.query_names,
        shown.axis,
    )
    caption = (
        f"{shown.title}: each dot is a query, and the line below the dots is the mean with its 95% interval."
    )
    n_dots = MOST_DOTS // len(found)
    if data.n_queries > n_dots:
        caption += f" {n_dots} queries are drawn, evenly spaced in their order."
    return figure(display.picture(), caption)


def query_lists(data: EvaluationData, measured: Sequence[Measured]) -> str:
    """List the worst and the best queries, and all of them up to a limit."""
    order, every = worst_first(measured[0].values), named_queries(measured[0].values)
    lists = [
        _query_table(data, caption, name, chosen, measured[:2])
        for caption, name, chosen in (
            ("Worst queries", "worst", order[:LISTED]),
            ("Best queries", "best", order[::-1][:LISTED]),
        )
    ]
    notes = []
    if len(every) < len(order):
        half = MAX_NAMED // 2
        notes.append(
            f"The {half} worst and the {half} best of {plural(len(order), 'query')} with pairs are listed."
        )
    if len(order) < data.n_queries:
        notes.append(f"{plural(data.n_queries - len(order), 'query')} without pairs to order.")
    full = _query_table(
        data, "Queries, worst first", "queries", every, measured, "Find a query:", " ".join(notes)
    )
    title = "All queries" if len(every) == len(order) else "Worst and best queries"
    return (
        f'<div class="columns">{"".join(lists)}</div>'
        f'<details class="long-list"><summary>{title}</summary>{full}</details>'
    )


def _query_table(
    data: EvaluationData,
    caption: str,
    name: str,
    chosen: IntArray,
    measured: Sequence[Measured],
    search: str | None = None,
    note: str = "",
) -> str:
    place = {query: k for k, query in enumerate(named_queries(measured[0].values).tolist())}
    n_rows = data.query_sizes
    shown = [Shown.of(one) for one in measured]
    rows = [
        [
            QueryLink(data.query_names[k], place[k]),
            n_rows[k],
            *(own.number(one.values[k]) for own, one in zip(shown, measured, strict=True)),
        ]
        for k in chosen.tolist()
    ]
    header = ["Query", "Rows", *(own.title for own in shown)]
    return table(caption, header, rows, name=name, search=search, note=note)


def score_chart(data: EvaluationData) -> str:
    """Draw labels against scores, for data of one query."""
    y, scores = data.y, data.main_scores
    if hasattr(data, "class_of_row") or len(np.unique(y)) <= 2:
        return ""
    rows = np.arange(len(y))
    if len(rows) > MAX_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MAX_POINTS, replace=False))
    titles = [
        f"{row_words(data.row_id(k))}: label {data.label(k)}, score {short(scores[k])}" for k in rows.tolist()
    ]
    censored = np.zeros(len(rows), dtype=bool) if data.event is None else np.asarray(data.event)[rows] == 0
    label = "label" if data.event is None else "time"
    picture = labels_picture(scores[rows], y[rows], titles, censored, label)
    sample = f" A sample of {MAX_POINTS:,} rows." if len(rows) < len(y) else ""
    caption = f"Each dot is a row; a perfect ranking rises from left to right.{sample}"
    return figures(figure(picture, caption, key=True))
