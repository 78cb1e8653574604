"""Trees and tables of curves as JSON."""

from __future__ import annotations

import json
from typing import Any

from rankwise.functions.curve_axis import Axis
from rankwise.io.terms import Terms
from rankwise.io.trees import Tree, check_depth


def json_trees(terms: Terms, model_name: str) -> str:
    """Return the trees as JSON: the score of a row is the sum of one leaf of each.

    A split has the name of its feature and either a `threshold` or `categories`: values of at most the
    threshold, or the listed categories, go to the `left`. `missing` is the side of missing values. A leaf has
    a `value`. The numbers are exact. Unknown categories go to the right.
    """
    check_depth(terms.trees, "json")
    trees = ",\n ".join(json.dumps(_tree(terms, tree), default=str, allow_nan=False) for tree in terms.trees)
    head = json.dumps({"model": model_name, "score": "sum", "feature_names": terms.names})
    return f'{head[:-1]}, "trees": [\n {trees}\n]}}\n'


def _tree(terms: Terms, tree: Tree) -> dict[str, Any]:
    def split(k: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        side = "left" if tree.missing_left[k] else "right"
        below = {"missing": side, "left": left, "right": right}
        return {"feature": terms.names[tree.feature[k]], **_test(terms, tree, k), **below}

    return tree.built(lambda k: {"value": float(tree.value[k])}, split)


def _test(terms: Terms, tree: Tree, k: int) -> dict[str, Any]:
    if k not in tree.categories:
        return {"threshold": float(tree.threshold[k])}
    known, codes = terms.categories.get(int(tree.feature[k])), tree.categories[k]
    return {"categories": codes if known is None else [known[code] for code in codes if code < len(known)]}


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
