"""The section on why: the weights of the features, and what puts one row above another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.text import TIMES, escaped, plural, share, short
from rankwise.core.types import FloatArray
from rankwise.data.rows import some_rows
from rankwise.estimators.weights import Weights, by_size, has_interactions, largest_parts
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.inference import Inference, p_text
from rankwise.evaluation.names import feature_names, row_words
from rankwise.report.about import LEAST_SPREAD, widest_spread
from rankwise.report.feature_values import value_text
from rankwise.report.page import Cell, Number, embedded, figure, figures, paragraph, section, select, table
from rankwise.report.pairs import PairData, row_title
from rankwise.report.weights_display import WeightsDisplay, columns_of, together

# The number of rows for standard deviations: contributions take much longer than scores.
SAMPLED = 1000


@dataclass(frozen=True)
class Contributions(Weights):
    """Scores as sums of one contribution per feature: `rows` has the contributions, and each weight is 1.

    Attributes
    ----------
    importance : array of shape (n_features,)
        The relative importance of each feature; `share` is its name.
    meaning : str
        The definition of a contribution.
    share, note : str
        The name of `importance`, and its definition.
    """

    importance: FloatArray
    meaning: str
    share: str
    note: str


# `meaning`, `share` and `note` of `Contributions`.
OF_TREES = (
    "the contribution is a Shapley value of the trees",
    "Fraction of the gain",
    "The gain is the reduction of the training loss by the splits on the feature.",
)
OF_CURVES = (
    "the contribution is the value of its curve, and half of each table that it is in",
    "Fraction of the variation",
    "The fraction is relative to the sum over all features, on the training rows.",
)


class _RowContributions:
    """The contributions of rows, computed on demand."""

    def __init__(self, ranker: Any, X: Any):
        self.ranker, self.X = ranker, X

    def __getitem__(self, rows: Any) -> FloatArray:
        return self.ranker.contributions(some_rows(self.X, rows))


def has_contributions(model: Any) -> bool:
    """Return whether a model has a method `contributions`."""
    return hasattr(last_step(model), "contributions")


def contributions_of(
    model: Any, X: Any, given_names: Sequence[str] | None = None, qid: Any = None
) -> Contributions | None:
    """Return the contributions of a model of trees or curves, None for other models."""
    if not has_contributions(model):
        return None
    ranker, n_rows = last_step(model), X.shape[0]
    names = feature_names(X, model, given_names, ranker.n_features_in_)
    rows = _RowContributions(ranker, before_last_step(model, X, qid))
    sample = rows[np.unique(np.linspace(0, n_rows - 1, min(n_rows, SAMPLED)).astype(int))]
    words = OF_TREES if hasattr(ranker, "trees_") else OF_CURVES
    return Contributions(
        names, np.ones(len(names)), sample.std(axis=0), rows, ranker.feature_importances_, *words
    )


P_VALUE, SELECTED = "p-value", "Selected"
SELECTED_NOTE = "Selected: by that part of the fits to halves of the training data. "
DRAWN = 14
MAX_WEIGHTS = 500
MAX_PARTS = 15
# Lists of up to this many features are open.
SHORT_LIST = 12
PAIR_HEADER = (
    '<th scope="col">Feature</th><th scope="col" class="number">A</th><th scope="col" class="number">B</th>'
    '<th scope="col" class="number">Contribution</th><th scope="col" aria-hidden="true"></th>'
)


def reasons_section(
    data: EvaluationData, weights: Weights | None, errors: np.ndarray, pair: tuple[int, int] | None,
    kinds: Mapping[str, str],
) -> str:  # fmt: skip
    """Show the effects of the features on the scores."""
    if data.ranker is None or has_interactions(data.ranker):
        return ""
    if weights is None:
        why = "The model is not linear: its score is not a sum over features, so it has no weights."
        return section("why", "Effects of the features", paragraph(why))
    has_parts = isinstance(weights, Contributions)
    columns = None if has_parts else columns_of(data.models[data.name], weights.names)
    return section(
        "why",
        "Effects of the features",
        weight_chart(weights, columns, widest_spread(data) <= LEAST_SPREAD),
        importance_table(weights)
        if isinstance(weights, Contributions)
        else weight_table(weights, columns, kinds),
        pair_explorer(PairData(data, weights, errors, pair, {} if has_parts else kinds)),
    )


def weight_chart(weights: Weights, columns: Sequence[Any] | None, is_constant: bool) -> str:
    """Draw the features with the largest effects; for a constant model the axis includes the margin of 1."""
    if not weights.effect.any():
        return ""
    label = "standard deviation of the contribution to the score"
    if not isinstance(weights, Contributions):
        label = "change of the score per standard deviation"
    intervals = weights.effect_intervals()
    titles = [_bar_title(weights, k, intervals) for k in range(len(weights.names))]
    display = WeightsDisplay(
        weights.effect, weights.names, intervals, label=label, titles=titles, columns=columns
    )
    largest = max(1.0, float(weights.effect.max())) if is_constant else None
    return figures(figure(display.picture(DRAWN, largest), _caption(weights)))


def _bar_title(weights: Weights, k: int, intervals: FloatArray | None) -> str:
    """Return the text of a bar on hover."""
    weight = "" if isinstance(weights, Contributions) else f"weight {short(weights.weights[k])}, "
    title = f"{weights.names[k]}: {weight}standard deviation {short(weights.spread[k])}"
    if intervals is None:
        return title
    return f"{title}, 95% interval of their product {short(intervals[k, 0])} to {short(intervals[k, 1])}"


def _caption(weights: Weights) -> str:
    if isinstance(weights, Contributions):
        return f"Standard deviation of the contribution of each feature: {weights.meaning}."
    caption = "Weight times standard deviation: bars to the right raise the score, bars to the left lower it."
    if weights.inference is None:
        return caption
    return f"{caption} Lines are 95% intervals; bars are paler if the interval contains 0."


def importance_table(parts: Contributions) -> str:
    """List the features of a model of trees or curves by their contributions."""
    chosen = by_size(parts.spread)[:MAX_WEIGHTS].tolist()
    rows = [[parts.names[k], parts.spread[k], parts.importance[k]] for k in chosen]
    header = ["Feature", "Standard deviation", parts.share]
    full = table(
        "Features, largest standard deviation first",
        header,
        rows,
        name="weights",
        search="Find a feature:",
        note=parts.note,
    )
    return folded_list("All features", full, len(parts.names))


def folded_list(title: str, full: str, count: int) -> str:
    """Return a list that can be folded, open if it is short; a folded one is not printed."""
    kind = " open" if count <= SHORT_LIST else ' class="long-list"'
    return f"<details{kind}><summary>{title}</summary>{full}</details>"


def weight_table(weights: Weights, columns_made: Sequence[Any] | None, kinds: Mapping[str, str]) -> str:
    """List the weights and the standard deviations of the features."""
    n_features = len(weights.names)
    chosen = together(by_size(weights.effect)[:MAX_WEIGHTS], columns_made).tolist()
    columns = {"Weight": weights.weights} | _error_columns(weights.inference)
    columns |= {} if weights.selection is None else {SELECTED: weights.selection}
    product = f"Weight {TIMES} standard deviation" if weights.inference is None else "Effect"
    columns |= {"Standard deviation": weights.spread, product: weights.effect}
    rows = [
        [weights.names[k], *(_cell(title, float(values[k])) for title, values in columns.items())]
        for k in chosen
    ]
    note = "" if weights.selection is None else SELECTED_NOTE
    note += f"{_source(weights.inference)}Standard deviations are those of the features in these rows."
    if "date" in {kinds.get(name) for name in weights.names}:
        note += " The unit of dates is one day."
    if len(chosen) < n_features:
        note += f" The {len(chosen):,} with the largest effect of {n_features:,} are listed."
    header = ["Feature", *columns]
    full = table(
        "Features, largest effect first", header, rows, name="weights", search="Find a feature:", note=note
    )
    return folded_list("All weights", full, n_features)


def _error_columns(inference: Inference | None) -> dict[str, np.ndarray]:
    if inference is None:
        return {}
    low, high = inference.confidence_intervals().T
    errors = {"Standard error": inference.standard_errors, "95% from": low, "95% to": high}
    return errors | {P_VALUE: inference.p_values}


def _cell(title: str, value: float) -> Cell:
    shown = {P_VALUE: p_text, SELECTED: share}.get(title)
    return Number(value, None if shown is None else shown(value))


def _source(inference: Inference | None) -> str:
    """Name the data of the intervals, and what they take as independent."""
    if inference is None:
        return ""
    units = plural(inference.n_units, f"independent {inference.unit}")
    debiased = ", without most of the bias by the penalty," if inference.is_debiased else ""
    return (
        f"Standard errors and 95% intervals{debiased} are from the training data, {units}. "
        "The effect is the weight times the standard deviation. "
    )


def pair_explorer(pairs: PairData) -> str:
    """Explain the difference of two scores: here for one pair, by a script for the others."""
    if not pairs.groups:
        return ""
    data = pairs.as_json()
    first, second = data["pair"]
    group = next(g for g in data["groups"] if first in g["rows"])
    choices = [(k, row_title(data["rows"][k], place)) for place, k in enumerate(group["rows"], 1)]
    queries = [(number, entry["name"]) for number, entry in enumerate(data["groups"])]
    fields = [
        select("pair-query", "Query", queries, data["groups"].index(group)) if len(queries) > 1 else "",
        select("pair-a", "A", choices, first),
        select("pair-b", "B", choices, second),
        '<p class="field"><button type="button" id="pair-swap">Swap A and B</button></p>',
    ]
    has_parts = isinstance(pairs.weights, Contributions)
    summed = "Contributions to A minus B" if has_parts else "Weight times the difference of the feature"
    body = "".join(_part_row(*part) for part in parts_of_pair(data, first, second))
    interval = interval_of_pair(data, first, second)
    unsure = ' class="unsure"' if interval and interval[0] <= 0 <= interval[1] else ""
    note = (
        f"A sample of {len(data['rows']):,} rows can be compared."
        if len(data["rows"]) < pairs.data.n_labelled
        else ""
    )
    return (
        '<div id="pair"><h3>Why is A above B?</h3>'
        f'<form class="fields" id="pair-form">{"".join(fields)}</form>'
        f'<p id="pair-answer" class="answer" aria-live="polite">{escaped(answer(data, first, second))}</p>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Contributions to the difference">'
        f'<table id="pair-table"{unsure}><caption>{summed}; the contributions sum to the difference of the '
        "scores</caption>"
        f"<thead><tr>{PAIR_HEADER}</tr></thead><tbody>{body}</tbody></table></div>"
        f"{paragraph(note, 'note')}</div>" + embedded("pair-data", data)
    )


def answer(data: dict, first: int, second: int) -> str:
    """State the order of two rows in words; report.js has the same words."""
    a, b = data["rows"][first], data["rows"][second]
    difference = a["score"] - b["score"]
    where = "above" if difference > 0 else "below" if difference < 0 else "tied with"
    wish, said_by = wished(data, first, second), data["said_by"]
    right = f"as the {said_by} require" if difference * wish > 0 else f"against the {said_by}"
    verdict = right if wish else f"which the {said_by} do not order"
    labels = f" ({a['label']} and {b['label']})" if a["label"] else ""
    is_against = wish * difference < 0
    return (
        f"{_capital(row_words(a['row']))} is {where} {row_words(b['row'])}, {verdict}{labels}: "
        f"its score is {short(a['score'])} against {short(b['score'])}, a difference of {short(difference)}."
        f"{_in_words(interval_of_pair(data, first, second), said_by if is_against else '')}"
    )


def _capital(words: str) -> str:
    """Begin a sentence with the number of a row; names stay as they are."""
    return f"Row{words[3:]}" if words.startswith("row ") else words


def interval_of_pair(data: dict, first: int, second: int) -> tuple[float, float] | None:
    """Return the interval of the difference of two scores, if the page has intervals."""
    if "half_widths" not in data:
        return None
    middle = data["estimates"][first] - data["estimates"][second]
    later, earlier = max(first, second), min(first, second)
    half = data["half_widths"][later][earlier - later]
    return middle - half, middle + half


def _in_words(interval: tuple[float, float] | None, against: str) -> str:
    """State whether an interval makes an order sure; `against` names what the order contradicts."""
    if interval is None:
        return ""
    low, high = interval
    verdict = ": the order is sure."
    if low <= 0 <= high:
        verdict = ", which contains 0: the order is not sure."
    elif against:
        verdict = (
            f", without 0: the model would order these rows in this way with other training data, too, but "
            f"against the {against}."
        )
    return f" The 95% interval of the difference is {short(low)} to {short(high)}{verdict}"


def wished(data: dict, first: int, second: int) -> int:
    """Return 1 if the first row should be above, -1 if the second should, 0 if the pair has no order."""
    if data["below"] is None:
        a, b = (data["rows"][k]["y"] for k in (first, second))
        return (a > b) - (a < b)
    return (second in data["below"][first]) - (first in data["below"][second])


def parts_of_pair(data: dict, first: int, second: int) -> list[tuple[str, str, str, float, float]]:
    """Return name, both values, contribution and relative size of the differing features, largest first."""
    a, b = (
        dict(zip(row["features"], row["values"], strict=True))
        for row in (data["rows"][k] for k in (first, second))
    )
    parts = [(k, a.get(k, 0.0), b.get(k, 0.0)) for k in sorted(a.keys() | b.keys())]
    found = [
        (data["names"][k], *(value_text(value, data["kinds"].get(k, "number")) for value in (x, z)),
         data["weights"][k] * (x - z))
        for k, x, z in parts
    ]  # fmt: skip
    places, rest, n_others = largest_parts([part[3] for part in found], MAX_PARTS)
    rest += data["rows"][first]["rest"] - data["rows"][second]["rest"]
    shown: list[tuple[str, str, str, float]] = [found[k] for k in places]
    if n_others + data["others"] and abs(rest) > 1e-12 * (abs(shown[0][3]) if shown else 1.0):
        shown.append(("other features", "", "", rest))
    size = max((abs(part[3]) for part in shown), default=0.0) or 1.0
    return [(*part, abs(part[3]) / size) for part in shown]


def _part_row(name: str, x: str, z: str, part: float, size: float) -> str:
    side = "up" if part >= 0 else "down"
    return (
        f'<tr><th scope="row">{escaped(name)}</th><td class="number">{x}</td>'
        f'<td class="number">{z}</td>'
        f'<td class="number" data-value="{part!r}">{short(part)}</td>'
        f'<td class="bar-cell" aria-hidden="true"><span class="{side}" style="width:{50 * size:.1f}%">'
        "</span></td></tr>"
    )
