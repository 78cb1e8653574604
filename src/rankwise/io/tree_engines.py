"""Trees for the learning-to-rank modules of Apache Solr, Elasticsearch and OpenSearch.

These compare numbers in single precision. Each threshold is the one that separates the same float32 numbers
as the model's does.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.io.terms import Terms
from rankwise.io.trees import ZERO, Tree, categories_error, check_depth

Singles = NDArray[np.float32]
LARGEST = np.finfo(np.float32).max
# Solr adds this number to each threshold.
SLACK = np.float32(1e-6)
LARGEST_EXPONENT = 127


def solr_trees(terms: Terms, model_name: str, *, feature_store: str | None = None) -> str:
    """Return the JSON of an `org.apache.solr.ltr.model.MultipleAdditiveTreesModel`.

    The names of the features are those of Solr's feature store. Solr adds 1e-6 to each threshold in single
    precision, so each is lowered by as much. If single precision has no number for that, a
    `StandardNormalizer` multiplies the feature by a power of two, which rounds no value. All float32 numbers
    then go to the same side as in the model; only numbers other than 0 that are closer to 0 than 1.2e-13 may
    go to the side of 0. If missing values and zero go to different sides, the model needs Solr 9.2 and
    features with `"defaultValue": "NaN"`.
    """
    _check_engine(terms, "solr")
    content: dict[str, Any] = {"class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"}
    content["name"] = model_name
    if feature_store is not None:
        content["store"] = feature_store
    exponents = _exponents(terms.trees, len(terms.names))
    content["features"] = [_solr_feature(*one) for one in zip(terms.names, exponents, strict=True)]
    has_missing = any(tree.separates_missing for tree in terms.trees)
    roots = [_solr_tree(terms.names, tree, np.array(exponents), has_missing) for tree in terms.trees]
    trees = ",\n  ".join(json.dumps({"weight": "1", "root": root}) for root in roots)
    missing = '"isNullSameAsZero": false, ' if has_missing else ""
    return f'{json.dumps(content)[:-1]},\n "params": {{{missing}"trees": [\n  {trees}\n]}}}}\n'


def _exponents(trees: list[Tree], n_features: int) -> list[int]:
    """Return the power of two by which to multiply each feature, so that Solr's thresholds are exact."""
    features = np.concatenate([tree.feature for tree in trees])
    thresholds = rounded_down(np.concatenate([tree.threshold for tree in trees]))
    thresholds[(np.abs(thresholds) <= 2 * ZERO) | ~np.isfinite(thresholds)] = LARGEST  # these are never moved
    moved = before_slack(thresholds) + SLACK != thresholds
    exponents = [0] * n_features
    for feature in np.unique(features[moved]).tolist():
        exponents[feature] = _exponent(thresholds[features == feature])
    return exponents


def _exponent(thresholds: Singles) -> int:
    """Return an exponent with which all thresholds reach 32: from there on, adding `SLACK` changes none."""
    _, exponents = np.frexp(np.abs(thresholds[np.abs(thresholds) < LARGEST]))  # |t| >= 2^(exponent - 1)
    return max(0, min(6 - int(exponents.min()), LARGEST_EXPONENT - int(exponents.max())))


def _solr_feature(name: str, exponent: int) -> dict[str, Any]:
    if exponent == 0:
        return {"name": name}
    params = {"avg": "0.0", "std": repr(2.0**-exponent)}
    return {"name": name, "norm": {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": params}}


def _solr_tree(names: list[str], tree: Tree, exponents: Any, has_missing: bool) -> dict[str, Any]:
    multiplied = np.ldexp(rounded_down(tree.threshold), exponents[tree.feature])
    thresholds = before_slack(multiplied).tolist()

    def split(k: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        node: dict[str, Any] = {"feature": names[tree.feature[k]], "threshold": _java(thresholds[k])}
        if has_missing:
            node["missing"] = "left" if tree.missing_left[k] else "right"
        return node | {"left": left, "right": right}

    return tree.built(lambda k: {"value": repr(float(tree.value[k]))}, split)


def _java(number: float) -> str:
    """Return a number as Java reads it; Solr reads numbers from strings."""
    return repr(number) if np.isfinite(number) else "-Infinity" if number < 0 else "Infinity"


def elasticsearch_trees(terms: Terms, model_name: str) -> str:
    """Return the body of `POST _ltr/_featureset/<feature set>/_createmodel`, of type `model/xgboost+json`.

    The names of the features are those of the feature set. In this format a row goes to `yes` if its value is
    below `split_condition`, which is the next float32 number after the model's threshold. So all float32
    numbers but the largest go to the same side as in the model.
    """
    _check_engine(terms, "elasticsearch")
    trees = [_xgboost_tree(terms.names, tree) for tree in terms.trees]
    definition = json.dumps(trees, allow_nan=False)
    content = {"type": "model/xgboost+json", "definition": definition}
    return json.dumps({"model": {"name": model_name, "model": content}}, indent=2) + "\n"


def _xgboost_tree(names: list[str], tree: Tree) -> dict[str, Any]:
    n, depths = len(tree.feature), tree.depths
    with np.errstate(over="ignore"):
        above = np.nextafter(rounded_down(tree.threshold), np.float32(np.inf))
    conditions = np.minimum(above, LARGEST).tolist()

    def split(k: int, yes: dict[str, Any], no: dict[str, Any]) -> dict[str, Any]:
        return {
            "nodeid": k,
            "depth": int(depths[k]),
            "split": names[tree.feature[k]],
            "split_condition": conditions[k],
            "yes": yes["nodeid"],
            "no": no["nodeid"],
            "missing": (yes if tree.missing_left[k] else no)["nodeid"],
            "children": [yes, no],
        }

    return tree.built(lambda k: {"nodeid": n + k, "leaf": float(tree.value[k])}, split)


def _check_engine(terms: Terms, format: str) -> None:
    """Refuse trees that the engines cannot represent."""
    check_depth(terms.trees, format)
    for tree in terms.trees:
        for k in tree.categories:
            raise categories_error(terms.names[tree.feature[k]])
        if not (np.abs(tree.value) <= LARGEST).all():
            raise ValueError(
                f"A leaf has the value {tree.value[np.abs(tree.value).argmax()]:g}, but search engines "
                f"compute in single precision, whose largest number is {LARGEST:.2g}."
            )


def rounded_down(thresholds: FloatVector) -> Singles:
    """Return the largest float32 number that is at most each threshold.

    Examples
    --------
    >>> rounded_down(np.array([0.1, 0.5])).astype(float) <= [0.1, 0.5]
    array([ True,  True])
    """
    with np.errstate(over="ignore", under="ignore"):
        nearest = thresholds.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > thresholds, below, nearest)


def before_slack(thresholds: Singles) -> Singles:
    """Return the largest float32 number whose sum with `SLACK` is at most each threshold."""
    found = thresholds - SLACK
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.nextafter(np.nextafter(found, np.float32(np.inf)), np.float32(np.inf))
        while (above := found + SLACK > thresholds).any():
            found = np.where(above, np.nextafter(found, np.float32(-np.inf)), found)
    return found
