"""The top of the page: data, version and date, and warnings."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

import numpy as np

from rankwise import __version__
from rankwise.core.text import plural, short
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured
from rankwise.report.page import Cell, facts, paragraph

# A model whose scores differ by less is nearly constant: the losses have a margin of 1.
LEAST_SPREAD = 1e-3


def about(data: EvaluationData, first: Measured, given: Mapping[str, str]) -> str:
    """List the data, the given facts, the version and the date."""
    made = f"rankwise {__version__} on {datetime.date.today().isoformat()}"
    found: list[tuple[str, Cell]] = [("Measured on", _data(data)), *_excluded(data, first)]
    return facts([*found, *given.items(), ("Made by", made)])


def _data(data: EvaluationData) -> str:
    size = f"{plural(data.n_labelled, 'row')}, {plural(data.X.shape[1], 'feature')}"
    if data.event is not None:
        n_events = int(np.count_nonzero(data.event))
        size += f", {plural(n_events, 'event')}, {len(data.y) - n_events:,} censored"
    if data.n_queries == 1:
        return f"{size}, one ranking"
    return f"{size}, " + (
        plural(data.n_queries, "query") if data.event is None else f"{data.n_queries:,} strata"
    )


def _excluded(data: EvaluationData, first: Measured) -> list[tuple[str, Cell]]:
    """List the queries and rows that no measure includes."""
    without = len(first.values) - first.n_defined if len(first.values) > 1 else 0
    unlabelled = data.n_given - data.n_labelled
    left_out = [f"{plural(without, 'query')} without pairs to order"] if without else []
    left_out += [f"{plural(unlabelled, 'row')} without a label"] if unlabelled else []
    return [("Excluded", " and ".join(left_out))] if left_out else []


def cautions(data: EvaluationData, first: Measured) -> str:
    """Warn of a model that is nearly constant, or no better than chance."""
    spread = widest_spread(data)
    found = []
    if spread <= LEAST_SPREAD and data.ranker is not None:
        found.append(
            "All scores within a query are equal: the model has learned no order."
            if spread == 0
            else f"The scores of a query differ by at most {short(spread)}, but the margin of the loss is 1: "
            "the model is nearly constant. A smaller alpha, or scaled features, may help."
        )
    fraction, low, _ = first.in_order
    if fraction <= 0.5:
        risks = "" if data.event is None else " If the scores are risks, pass them with a minus sign."
        found.append(f"{data.name} is no better than chance on these rows.{risks}")
    elif low <= 0.5:
        found.append(f"{data.name} may be no better than chance: its 95% interval includes 50%.")
    return "".join(paragraph(sentence, "warning") for sentence in found)


def widest_spread(data: EvaluationData) -> float:
    """Return the largest difference of two scores of one query."""
    return float(data.query_spreads.max())
