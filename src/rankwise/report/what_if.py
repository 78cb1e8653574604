"""The section in which features of a row can be moved, for linear models and curves.

A score changes by the terms of the moved features only, so the page computes it from the score of the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from rankwise.core.pipelines import last_step
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.columns import CATEGORY
from rankwise.data.rows import some_rows
from rankwise.data.table_encoder import TableEncoder
from rankwise.estimators.scaling import scaling_of
from rankwise.estimators.weights import Weights, by_size, encoder_of, weights_of
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import feature_names
from rankwise.io.terms import terms_of
from rankwise.report.curves_display import has_curves, level_names
from rankwise.report.feature_values import YES_NO, value_kinds
from rankwise.report.page import embedded, paragraph, section, select
from rankwise.report.pairs import rounded, row_title
from rankwise.report.queries import in_order, named_queries, spread_out

MOVED = 8
MAX_ROWS, MAX_ROWS_OF_ONE_QUERY = 200, 100
# The largest error of the terms, relative to the range of the scores.
TOLERANCE = 1e-9
WHY_NOT = (
    "The features of a row cannot be moved here: the score of {name} is not a sum of terms of single "
    "features or of pairs of them. In Python, model.predict returns the score of a changed row."
)
WORDS = (
    "Move a feature of a row to see the score that the model predicts, and its place among the listed rows, "
    "whose scores stay as they are."
)


@dataclass(frozen=True)
class MovedTerms:
    """The terms of a score that change with a few features.

    Attributes
    ----------
    names : list of str
    values : array of shape (n_rows, n_features)
        Those of the rows, NaN if missing.
    levels : dict of list of (value, name)
        The values that a category can have, by the number of the feature.
    terms : list of dict
        With the places of one or two features in `features`, and either a `weight`, with the value of the
        term for a `missing` one, or a table: its `axes` with kinds and knots, and its `values`.
    n_movable : int
        The number of features that can be moved: the first, the largest effect first.
    """

    names: list[str]
    values: FloatArray
    levels: dict[int, list[tuple[float, str]]]
    terms: list[dict[str, Any]]
    n_movable: int


def what_if_section(data: EvaluationData, weights: Weights | None, errors: FloatArray) -> str:
    """Return the section; it says why if the score is not a sum of terms of features or of pairs of them."""
    groups = list(_groups(data, errors))
    if data.ranker is None or not groups:
        return ""
    rows = np.concatenate([rows for _, rows in groups])
    found = None if weights is None else moved_terms(data, weights, rows)
    if found is None:
        return section("what-if", "What if?", paragraph(WHY_NOT.format(name=data.name)))
    if not found.n_movable:
        return ""
    listed = [_row(data, int(row)) for row in rows]
    first = [(k, row_title(listed[k], k + 1)) for k in range(len(groups[0][1]))]
    queries = [(number, data.query_names[query]) for number, (query, _) in enumerate(groups)]
    fields = [
        select("what-if-query", "Query", queries, 0) if len(queries) > 1 else "",
        select("what-if-row", "Row", first, 0),
        '<p class="field"><button type="button" id="what-if-reset">Reset</button></p>',
    ]
    return section(
        "what-if",
        "What if?",
        paragraph(WORDS, "note"),
        f'<form class="fields" id="what-if-form">{"".join(fields)}</form>',
        '<p id="what-if-answer" class="answer" aria-live="polite"></p>',
        '<div id="what-if-sliders" class="sliders"></div>',
        embedded(
            "what-if-data", _as_json(found, listed, [len(rows) for _, rows in groups], value_kinds(data))
        ),
    )


def _groups(data: EvaluationData, errors: FloatArray) -> Any:
    """Yield the worst queries with their rows by score, as long as they fit."""
    left = MAX_ROWS
    for query in named_queries(errors).tolist():
        rows = spread_out(in_order(data, query), MAX_ROWS_OF_ONE_QUERY)
        if len(rows) > left:
            return
        if len(rows) > 1:
            left -= len(rows)
            yield query, rows


def moved_terms(data: EvaluationData, weights: Weights, rows: IntArray) -> MovedTerms | None:
    """Return the terms of the features with the largest effects, None if they are not exact."""
    model, numbers = data.models[data.name], data.row_numbers[rows]
    if has_curves(model) and model is last_step(model):
        found, sums = _of_curves(
            model, weights, some_rows(data.X.tocsr() if sp.issparse(data.X) else data.X, numbers)
        )
    elif encoder_of(model) is not None and hasattr(last_step(model), "coef_"):
        found, sums = _of_table(data, numbers)
    elif _is_scaled_only(model) and not has_curves(model) and hasattr(last_step(model), "coef_"):
        found, sums = _of_weights(weights, numbers)
    else:
        return None
    scores = data.main_scores[rows]
    return found if np.ptp(scores - sums) <= TOLERANCE * max(1.0, np.ptp(scores)) else None


def _is_scaled_only(model: Any) -> bool:
    """Return whether all steps before the last are scalers: weights are those of the given features."""
    try:
        for _, step in getattr(model, "steps", [])[:-1]:
            if step not in (None, "passthrough"):
                scaling_of(step)
    except (TypeError, ValueError):
        return False
    return True


def _of_weights(weights: Weights, numbers: IntArray) -> tuple[MovedTerms, FloatArray]:
    rows = weights.rows[numbers]
    dense = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
    chosen = [k for k in by_size(weights.effect).tolist() if weights.effect[k] != 0 and np.ptp(dense[:, k])]
    chosen = chosen[:MOVED]
    terms = [{"features": [k], "weight": float(weights.weights[j])} for k, j in enumerate(chosen)]
    names = [weights.names[j] for j in chosen]
    # Few digits suffice: what counts is the difference from the value that a feature is moved to.
    values = np.vectorize(rounded, otypes=[np.float64])(dense[:, chosen])
    found = MovedTerms(names, values, {}, terms, len(chosen))
    return found, np.asarray(dense @ weights.weights)


def _of_table(data: EvaluationData, numbers: IntArray) -> tuple[MovedTerms, FloatArray]:
    """Return the terms of the columns of a table that a TableEncoder encodes."""
    model = data.models[data.name]
    encoder, weights = encoder_of(model), weights_of(model, some_rows(data.X, numbers))
    assert encoder is not None
    assert weights is not None
    source, parts = encoder.source_columns_, weights.rows * weights.weights
    sums = np.column_stack([parts[:, source == j].sum(axis=1) for j in range(len(encoder.kinds_))])
    chosen = [j for j in by_size(sums.std(axis=0)).tolist() if np.ptp(sums[:, j]) > 0][:MOVED]
    names = feature_names(data.X, model, data.feature_names, len(encoder.kinds_))
    columns = [_encoded_column(encoder, j, weights, k) for k, j in enumerate(chosen)]
    values = (
        np.column_stack([column.values for column in columns]) if columns else np.empty((len(numbers), 0))
    )
    levels = {k: column.levels for k, column in enumerate(columns) if column.levels is not None}
    terms = [column.term for column in columns]
    return MovedTerms([names[j] for j in chosen], values, levels, terms, len(chosen)), sums.sum(axis=1)


class _EncodedColumn(NamedTuple):
    """The values of a column of a table, NaN if missing, the names of its levels, and its term."""

    values: FloatArray
    levels: list[tuple[float, str]] | None
    term: dict[str, Any]


def _encoded_column(encoder: TableEncoder, j: int, weights: Weights, place: int) -> _EncodedColumn:
    """Return column j of a table, which is feature `place` of the page."""
    made = np.flatnonzero(encoder.source_columns_ == j)
    rows, own = weights.rows[:, made], weights.weights[made].tolist()
    names = [str(level) for level in encoder.categories_.get(j, [])]
    missing, of_missing = np.zeros(len(rows), dtype=bool), 0.0
    if encoder.has_missing_[j]:
        missing, of_missing = rows[:, -1] > 0, own[-1]
    if encoder.kinds_[j] != CATEGORY:
        named = list(zip(map(float, range(len(names))), names, strict=True)) if names else None
        term = {"features": [place], "weight": own[0], "missing": own[0] * encoder.medians_[j] + of_missing}
        return _EncodedColumn(np.where(missing, np.nan, rows[:, 0]), named, term)
    # A level that the fit did not have is 0 in all columns.
    is_level = rows[:, : len(names)] > 0
    codes = np.where(is_level.any(axis=1), is_level.argmax(axis=1), -1.0)
    knots = [-1.0, *map(float, range(len(names)))]
    shown = list(zip(knots, ["another", *names], strict=True))
    axis = {"kind": "levels", "knots": knots}
    term = {"features": [place], "axes": [axis], "values": [0.0, *own[: len(names)], of_missing]}
    return _EncodedColumn(np.where(missing, np.nan, codes), shown, term)


def _of_curves(ranker: Any, weights: Weights, X: Any) -> tuple[MovedTerms, FloatArray]:
    rows = np.asarray(ranker.validated(X, reset=False), dtype=np.float64)
    spread = by_size(weights.spread).tolist()
    movable = [j for j in spread if weights.spread[j] > 0 and not np.isnan(rows[:, j]).all()][:MOVED]
    tables = [
        one for one in terms_of(ranker, "json", weights.names, None).tables if {*one.columns} & {*movable}
    ]
    used = list(dict.fromkeys([*movable, *(j for one in tables for j in one.columns)]))
    place = {j: k for k, j in enumerate(used)}
    terms = [
        {
            "features": [place[j] for j in one.columns],
            "axes": [{"kind": axis.kind, "knots": axis.knots.tolist()} for axis in one.axes],
            "values": one.values.ravel().tolist(),
        }
        for one in tables
    ]
    axes = ranker.curve_features.axes
    levels = {
        place[j]: list(zip(axes[j].knots.tolist(), level_names(ranker, j), strict=True))
        for j in movable
        if axes[j].kind == "levels"
    }
    names = [weights.names[j] for j in used]
    sums = np.asarray(ranker.terms(X).sum(axis=1))
    return MovedTerms(names, rows[:, used], levels, terms, len(movable)), sums


def _row(data: EvaluationData, row: int) -> dict[str, Any]:
    return {"row": data.row_id(row), "label": data.label(row), "score": float(data.main_scores[row])}


def _as_json(
    found: MovedTerms, listed: list[dict[str, Any]], sizes: list[int], kinds: Mapping[str, str]
) -> dict[str, Any]:
    yes_no = list(enumerate(YES_NO))
    features = [
        {
            "name": name,
            "low": float(np.nanmin(values)),
            "high": float(np.nanmax(values)),
            "whole": bool(np.all(values[~np.isnan(values)] % 1 == 0)),
            "levels": yes_no if kinds.get(name) == "yes or no" else found.levels.get(place),
            "kind": kinds.get(name, "number"),
        }
        for place, (name, values) in enumerate(zip(found.names, found.values.T, strict=True))
        if place < found.n_movable
    ]
    rows = [
        one | {"values": [None if x != x else x for x in values.tolist()]}
        for one, values in zip(listed, found.values, strict=True)
    ]
    return {"features": features, "terms": found.terms, "rows": rows, "sizes": sizes}
