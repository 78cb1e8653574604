"""The top of the page: the models in a picture, the measures, data, version and date, and warnings."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rankwise import __version__
from rankwise.core.text import escaped, plural, short
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.single_feature import SingleFeature
from rankwise.report.interval_display import interval_picture
from rankwise.report.marks import Dots, Mark, Rule
from rankwise.report.page import Cell, facts, figure, paragraph
from rankwise.report.shown import Shown

# A model whose scores differ by less is nearly constant: the losses have a margin of 1.
LEAST_SPREAD = 1e-3
# Chance is drawn if a model is near it.
CHANCE, NEAR_CHANCE = 0.5, 0.6
SHOWN_MODELS = 10


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


def tiles(measured: Sequence[Measured]) -> str:
    """Return the measures of a model with their intervals."""
    return f'<dl class="tiles">{"".join(map(_tile, measured))}</dl>'


def _tile(found: Measured) -> str:
    shown = Shown.of(found)
    value = shown.interval(found)[0]
    return (
        f'<div><dt>{escaped(shown.title)}</dt><dd data-measure="{escaped(shown.key)}" '
        f'data-value="{value!r}">{escaped(shown.text(value))}</dd>'
        f'<dd class="range">{shown.ends(found)}</dd></div>'
    )


def models_chart(measures: Mapping[str, Sequence[Measured]], single: SingleFeature | None) -> str:
    """Draw the first measure of each model with its interval, and the best single feature."""
    found = [listed[0] for listed in measures.values()][:SHOWN_MODELS]
    shown = Shown.of(found[0])
    means, low, high = np.array([shown.interval(one) for one in found]).T
    if np.isnan(means).all():
        return ""
    names, beside = list(measures)[: len(found)], [shown.text(value) for value in means.tolist()]
    titles = [
        f"{name}: {text} ({shown.ends(one)})" for name, text, one in zip(names, beside, found, strict=True)
    ]
    below: list[Mark] = [Rule(x=CHANCE, title="chance")] if np.nanmin([means, low]) < NEAR_CHANCE else []
    if single is not None and single.found.mean == single.found.mean:
        value = shown.interval(single.found)[0]
        names, beside = [*names, f"only {single.name}"], [*beside, shown.text(value)]
        below.append(Dots([value], [len(found)], 5, titles=["best single feature"], radius=4, shape="ring"))
        titles.append("")
        means, low, high = (np.append(values, np.nan) for values in (means, low, high))
    picture = interval_picture(
        f"{shown.title} of {plural(len(found), 'model')}, with 95% intervals", names, means, (low, high),
        label=shown.in_sentence, titles=titles, beside=beside, below=below, kind=shown.axis,
    )  # fmt: skip
    return figure(replace(picture, size=(480, picture.size[1])), "")


def widest_spread(data: EvaluationData) -> float:
    """Return the largest difference of two scores of one query."""
    return float(data.query_spreads.max())
