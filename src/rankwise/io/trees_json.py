"""Trees as JSON."""

from __future__ import annotations

import json
from typing import Any

from rankwise.io.nesting import check_depth
from rankwise.io.terms import Terms
from rankwise.io.trees import Tree


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
