"""What the file of a ranker has to hold: values that no fit leaves would fail only when they are used."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.curves.ranker import BaseCurveRanker
from rankwise.estimators.boosted_ranker import BoostedRanker
from rankwise.estimators.ordinal_svm import BaseOrdinalSVM
from rankwise.estimators.rank_rls import BaseRankRLS
from rankwise.hull.ranker import BaseHullRanker
from rankwise.io.model_layout import ModelFileError

# An attribute, or a few that belong together, and whether the model can be used with it.
Found = Iterator[tuple[str, Any]]


def check_ranker(ranker: Any) -> None:
    """Refuse what a ranker learned where it does not fit together, by the name of the attribute."""
    for name, fits in _found(ranker):
        if not fits:
            raise ModelFileError(f"its {name} and the rest of it do not fit together")


def _found(ranker: Any) -> Found:
    """Yield what is found; each check may rely on those before it."""
    yield "n_features_in_", type(ranker.n_features_in_) is int and ranker.n_features_in_ >= 0
    yield from _of_all(ranker)
    if isinstance(ranker, BoostedRanker):
        yield from _of_trees(ranker)
    elif isinstance(ranker, BaseCurveRanker):
        yield "tables", ranker._tables_fit()
    elif hasattr(ranker, "coef_"):
        yield "coef_", _is_function(ranker, ranker.coef_, ranker.n_features_in_)
    else:
        yield from _of_kernel(ranker)
    if isinstance(ranker, BaseOrdinalSVM):
        yield from _of_ranks(ranker)
    if isinstance(ranker, BaseHullRanker):
        yield from _of_intervals(ranker)


def _of_all(ranker: Any) -> Found:
    names = getattr(ranker, "feature_names_in_", np.full(ranker.n_features_in_, ""))
    yield "feature_names_in_", _is_list(names) and len(names) == ranker.n_features_in_
    yield "feature_names_in_", all(isinstance(name, str) for name in names.tolist())
    yield "fitted_with_qid_", isinstance(getattr(ranker, "fitted_with_qid_", False), bool)
    weights = getattr(ranker, "_weights", None)
    yield "_weights", weights is None or (_is_numbers(weights) and weights.ndim in (1, 2))
    if isinstance(ranker, BoostedRanker | BaseCurveRanker):
        yield "categories_", _are_categories(ranker.categories_, ranker.n_features_in_)


def _of_trees(ranker: Any) -> Found:
    ranker._check_loaded()
    shares = ranker.feature_importances_
    yield "feature_importances_", _is_numbers(shares) and shares.shape == (ranker.n_features_in_,)
    yield "n_iter_", type(ranker.n_iter_) is int and ranker.n_iter_ >= 0


def _of_kernel(ranker: Any) -> Found:
    n_features, basis, indices = ranker.n_features_in_, ranker.basis_, ranker.basis_indices_
    yield "basis_indices_", _is_list(indices) and indices.dtype.kind == "i"
    yield "dual_coef_", _is_function(ranker, ranker.dual_coef_, len(indices))
    if basis is None:
        yield "basis_indices_", np.isin(indices, np.arange(n_features)).all()
    else:
        numbers = basis.data if sp.issparse(basis) else basis
        yield "basis_", _is_numbers(numbers) and basis.shape == (len(indices), n_features)
    arguments = ranker._kernel_arguments
    yield "kernel", not callable(arguments["kernel"])
    scales = arguments.get("scales", np.ones(n_features))
    yield "feature_scales_", _is_numbers(scales)
    yield "feature_scales_", scales.shape in ((n_features,), (n_features, n_features))
    _check_kernel_numbers(arguments)


def _check_kernel_numbers(arguments: dict[str, Any]) -> None:
    """Refuse numbers of a kernel that no fit leaves; some of them would go unnoticed."""
    for name, smallest in (("gamma", 0.0), ("degree", 0.0), ("coef0", -sys.float_info.max)):
        value = arguments[name]
        if value is not None and not (_is_number(value) and smallest <= value < math.inf):
            raise ModelFileError(f"the {name} of its kernel cannot be {value!r}")


def _of_ranks(ranker: Any) -> Found:
    n_boundaries = len(ranker.classes_) - 1
    yield "classes_", _is_list(ranker.classes_) and n_boundaries > 0
    yield "thresholds_", _rises(ranker.thresholds_) and len(ranker.thresholds_) == n_boundaries
    if hasattr(ranker, "slope_") or hasattr(ranker, "cuts_"):
        yield "slope_", _is_number(ranker.slope_) and 0.0 <= ranker.slope_ < math.inf
        yield "cuts_", _rises(ranker.cuts_) and len(ranker.cuts_) == n_boundaries


def _of_intervals(ranker: Any) -> Found:
    intervals, edges = ranker.intervals_, ranker.edges_
    yield "classes_", _is_list(ranker.classes_)
    yield "intervals_", isinstance(intervals, np.ndarray) and intervals.dtype.kind == "f"
    yield "intervals_", intervals.shape == (len(ranker.classes_), 2) and not np.isnan(intervals).any()
    yield "edges_", isinstance(edges, list) and edges and all(len(edge) == 2 for edge in edges)
    known = set(ranker.classes_.tolist())
    yield "edges_", all(label in known for edge in edges for label in edge)


def _is_function(ranker: Any, coef: Any, length: int) -> bool:
    """Tell whether these are the weights of one function or, of `RankRLS`, of several."""
    dimensions = (1, 2) if isinstance(ranker, BaseRankRLS) else (1,)
    return _is_numbers(coef) and coef.ndim in dimensions and coef.shape[-1] == length and len(coef) > 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_numbers(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and bool(np.isfinite(values).all())


def _is_list(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1


def _rises(values: Any) -> bool:
    """Tell whether these are numbers of which none is below the one before it; infinity is one, NaN not."""
    is_list = _is_list(values) and values.dtype.kind == "f"
    return is_list and not np.isnan(values).any() and bool((values[1:] >= values[:-1]).all())


def _are_categories(categories: Any, n_features: int) -> bool:
    """Tell whether these are places of columns, each with a list of categories that differ."""
    return isinstance(categories, dict) and all(
        type(place) is int and 0 <= place < n_features and _differ(values)
        for place, values in categories.items()
    )


def _differ(values: Any) -> bool:
    return isinstance(values, list) and len(set(values)) == len(values)
