"""Sums of curves as plain tables: what every export of a CurveRanker begins with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from rankwise.core.pipelines import last_step
from rankwise.core.types import FloatArray
from rankwise.curves.axis import Axis
from rankwise.curves.ranker import BaseCurveRanker
from rankwise.export.linear import names_of


@dataclass(frozen=True)
class Table:
    """What one feature adds to the score, or two of them: an entry for each bin, line end or level.

    Attributes
    ----------
    places : tuple of int
        The numbers of the features.
    axes : tuple of Axis
        How their values meet the entries.
    values : array
        The entries; the last of each dimension is for missing and unknown values.
    """

    places: tuple[int, ...]
    axes: tuple[Axis, ...]
    values: FloatArray


@dataclass(frozen=True)
class TableScorer:
    """The score of a row: the sum of what the tables add, in their order.

    Attributes
    ----------
    names : list of str
        Of all features.
    tables : list of Table
        Those that add something: curves that are zero everywhere are left out.
    categories : dict
        The categories of features that were columns of categories; their levels are places in these lists.
    """

    names: list[str]
    tables: list[Table]
    categories: dict[int, list[Any]]


def has_tables(model: Any) -> bool:
    """Return whether the score of a model is a sum of tables."""
    return isinstance(last_step(model), BaseCurveRanker)


def table_scorer(model: Any, feature_names: Sequence[str] | None, output: int | None = None) -> TableScorer:
    """Return a sum of curves as plain tables."""
    ranker = last_step(model)
    if ranker is not model:
        raise ValueError(
            f"Exports take a {type(ranker).__name__} alone, and this one is the last step of a Pipeline: its "
            "bins need no scaler in front."
        )
    check_is_fitted(ranker)
    if output not in (None, 0):
        raise ValueError(f"output must be 0, as the model has one score per row; got {output!r}.")
    features = ranker._features
    single = [
        Table((place,), (axis,), values)
        for place, (axis, values) in enumerate(zip(features.axes, ranker.values_, strict=True))
    ]
    axes = features.pair_axes
    double = [
        Table((int(j), int(k)), (axes[j], axes[k]), values)
        for (j, k), values in zip(ranker.pairs_, ranker.pair_values_, strict=True)
    ]
    tables = [table for table in (*single, *double) if table.values.any()]
    return TableScorer(names_of(model, ranker, feature_names), tables, dict(ranker.categories_))


def json_tables(
    model: Any,
    *,
    format: str = "json",
    feature_names: Sequence[str] | None = None,
    model_name: str = "rankwise_model",
    output: int | None = None,
) -> str:
    """Return the tables as JSON: the score of a row is the sum of one entry (or a point of a line) of each.

    The entries of a feature of kind "steps" are for values below the first knot, from each knot up to the
    next, and from the last; of kind "lines" they are the values at the knots, with lines between and no
    change outside; of kind "levels" they belong to the values that `knots`, or `categories`, lists. The last
    entry of each dimension is for missing and unknown values.
    """
    scorer = table_scorer(model, feature_names, output)
    tables = [
        {"features": [_described(scorer, *one) for one in zip(table.places, table.axes, strict=True)],
         "values": table.values.tolist()}
        for table in scorer.tables
    ]  # fmt: skip
    content = {"model": model_name, "score": "sum", "feature_names": scorer.names, "tables": tables}
    return json.dumps(content, indent=1, default=str) + "\n"


def _described(scorer: TableScorer, place: int, axis: Axis) -> dict[str, Any]:
    found = {"name": scorer.names[place], "kind": axis.kind, "knots": axis.knots.tolist()}
    if place in scorer.categories:
        found["categories"] = [scorer.categories[place][int(level)] for level in axis.knots]
    return found
