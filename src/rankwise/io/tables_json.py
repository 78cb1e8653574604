"""Tables of curves as JSON."""

from __future__ import annotations

import json
from typing import Any

from rankwise.functions.curve_axis import Axis
from rankwise.io.terms import Terms


def json_tables(terms: Terms, model_name: str) -> str:
    """Return the tables as JSON: the score of a row is the sum of one value of each.

    The values of a feature of kind "steps" hold below the first knot, from each knot up to the next, and from
    the last one up. With kind "lines" they are the values at the knots, with linear interpolation between and
    constant extrapolation; with kind "levels" they belong to the values in `knots`, or `categories`. The last
    value of each dimension is for missing and unknown values.
    """
    tables = [
        {
            "features": [_feature(terms, *one) for one in zip(table.columns, table.axes, strict=True)],
            "values": table.values.tolist(),
        }
        for table in terms.tables
    ]
    content = {"model": model_name, "score": "sum", "feature_names": terms.names, "tables": tables}
    return json.dumps(content, indent=1, default=str) + "\n"


def _feature(terms: Terms, column: int, axis: Axis) -> dict[str, Any]:
    feature = {"name": terms.names[column], "kind": axis.kind, "knots": axis.knots.tolist()}
    if column in terms.categories:
        feature["categories"] = [terms.categories[column][int(level)] for level in axis.knots]
    return feature
