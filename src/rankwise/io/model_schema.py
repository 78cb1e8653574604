"""The attributes that the file of each estimator must hold: a check for every value that a fit guarantees.

A value that no fit leaves would otherwise fail only when the model is used, or not at all. There is one
generator per family of estimators; it yields the name of an attribute and whether its value is valid, and
each check may rely on those before it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.curves.ranker import BaseCurveRanker
from rankwise.estimators.boosted_base import BaseBoostedRanker
from rankwise.estimators.kernel_ranker import KERNELS, KernelRanker
from rankwise.estimators.ordinal_svm import BaseOrdinalSVM
from rankwise.estimators.rank_rls import BaseRankRLS
from rankwise.hull.ranker import BaseHullRanker
from rankwise.io.model_layout import ModelFileError
from rankwise.leaderboard.bradley_terry import BradleyTerry, parameters_fit
from rankwise.leaderboard.judge_uncertainty import JudgeState
from rankwise.preprocessing import TableEncoder

# Squares of distances between scaled rows are finite up to this.
LARGEST_SCALE = 1e100
Checks = Iterator[tuple[str, Any]]


def check_attributes(estimator: Any) -> None:
    """Refuse an estimator whose attributes are inconsistent; the error names the first such attribute."""
    checks = _leaderboard(estimator) if isinstance(estimator, BradleyTerry) else _ranker(estimator)
    for name, is_valid in checks:
        if not is_valid:
            raise ModelFileError(f"its {name} is invalid or inconsistent with the rest of the model")


def _ranker(ranker: Any) -> Checks:
    yield "n_features_in_", type(ranker.n_features_in_) is int and ranker.n_features_in_ >= 0
    names = getattr(ranker, "feature_names_in_", np.full(ranker.n_features_in_, ""))
    yield "feature_names_in_", _is_list(names) and len(names) == ranker.n_features_in_
    yield "feature_names_in_", all(isinstance(name, str) for name in names.tolist())
    yield "fitted_with_qid_", isinstance(getattr(ranker, "fitted_with_qid_", False), bool)
    weights = getattr(ranker, "_weights", None)
    yield "_weights", weights is None or (_has_norm(weights) and weights.ndim in (1, 2))
    yield from _function(ranker)
    if isinstance(ranker, BaseOrdinalSVM):
        yield from _ordinal(ranker)
    elif isinstance(ranker, BaseHullRanker):
        yield from _hull(ranker)
    elif hasattr(ranker, "classes_"):
        yield "classes_", _is_finite(ranker.classes_) and ranker.classes_.shape == (2,)


def _function(ranker: Any) -> Checks:
    """Check the scoring function: trees, tables, weights of features or of kernel values."""
    if isinstance(ranker, BaseBoostedRanker):
        yield from _trees(ranker)
    elif isinstance(ranker, BaseCurveRanker):
        yield "categories_", _are_categories(ranker.categories_, ranker.n_features_in_)
        yield "tables", ranker.tables_fit()
    elif isinstance(ranker, KernelRanker):
        yield from _learned_kernel(ranker)
    elif hasattr(ranker, "coef_"):
        yield "coef_", _is_weights(ranker, ranker.coef_, ranker.n_features_in_)
    else:
        yield from _kernel(ranker)


def _trees(ranker: BaseBoostedRanker) -> Checks:
    yield "categories_", _are_categories(ranker.categories_, ranker.n_features_in_)
    ranker.check_trees()
    importances = ranker.feature_importances_
    yield "feature_importances_", _is_finite(importances) and importances.shape == (ranker.n_features_in_,)
    yield "n_iter_", type(ranker.n_iter_) is int and ranker.n_iter_ >= 0


def _learned_kernel(ranker: KernelRanker) -> Checks:
    encoder, function, n_features = ranker.encoder_, ranker.ranker_, ranker.n_features_in_
    yield "encoder_", isinstance(encoder, TableEncoder) and encoder.n_features_in_ == n_features
    first, second = (getattr(one, "feature_names_in_", ()) for one in (encoder, ranker))
    yield "encoder_", np.array_equal(first, second)
    yield "ranker_", function.n_features_in_ == len(encoder.source_columns_)
    yield from _ranker(function)
    scales, gamma = function.feature_scales_, function.gamma_
    yield "feature_scales_", _are_scales(scales) and scales.shape == (function.n_features_in_,)
    yield "gamma_", _is_number(gamma) and 0.0 < gamma < math.inf
    yield "kernel_", ranker.kernel_ == function.kernel and ranker.kernel_ in KERNELS
    importances = ranker.feature_importances_
    yield "feature_importances_", _is_finite(importances) and importances.shape == (n_features,)


def _kernel(ranker: Any) -> Checks:
    n_features, basis, indices = ranker.n_features_in_, ranker.basis_, ranker.basis_indices_
    yield "basis_indices_", _is_list(indices) and indices.dtype.kind == "i"
    yield "dual_coef_", _is_weights(ranker, ranker.dual_coef_, len(indices))
    if basis is None:
        yield "basis_indices_", np.isin(indices, np.arange(n_features)).all()
    else:
        values = basis.data if sp.issparse(basis) else basis
        yield "basis_", _is_finite(values) and basis.shape == (len(indices), n_features)
    arguments = ranker._kernel_arguments
    yield "kernel", not callable(arguments["kernel"])
    for name, smallest in (("gamma", 0.0), ("degree", 0.0), ("coef0", -sys.float_info.max)):
        value = arguments[name]
        yield name, value is None or (_is_number(value) and smallest <= value < math.inf)
    scales = arguments.get("scales", np.ones(n_features))
    yield "feature_scales_", _are_scales(scales)
    yield "feature_scales_", scales.shape in ((n_features,), (n_features, n_features))


def _are_scales(scales: Any) -> bool:
    return _is_finite(scales) and bool(np.abs(scales).max(initial=0.0) <= LARGEST_SCALE)


def _ordinal(ranker: BaseOrdinalSVM) -> Checks:
    yield "calibrated", isinstance(ranker.calibrated, bool)
    n_boundaries = len(ranker.classes_) - 1
    yield "classes_", _is_list(ranker.classes_) and n_boundaries > 0
    yield "thresholds_", _is_sorted(ranker.thresholds_) and len(ranker.thresholds_) == n_boundaries
    if hasattr(ranker, "slope_") or hasattr(ranker, "cuts_"):
        yield "slope_", _is_number(ranker.slope_) and 0.0 <= ranker.slope_ < math.inf
        yield "cuts_", _is_sorted(ranker.cuts_) and len(ranker.cuts_) == n_boundaries


def _hull(ranker: BaseHullRanker) -> Checks:
    intervals, edges = ranker.intervals_, ranker.edges_
    yield "classes_", _is_list(ranker.classes_)
    yield "intervals_", isinstance(intervals, np.ndarray) and intervals.dtype.kind == "f"
    yield "intervals_", intervals.shape == (len(ranker.classes_), 2) and not np.isnan(intervals).any()
    yield "edges_", isinstance(edges, list) and edges and all(len(edge) == 2 for edge in edges)
    classes = set(ranker.classes_.tolist())
    yield "edges_", all(label in classes for edge in edges for label in edge)


def _leaderboard(model: BradleyTerry) -> Checks:
    model._check_parameters()
    yield "order_effect", isinstance(model.order_effect, bool)
    yield "items_", _is_list(model.items_) and 0 < len(model.items_) == len(set(model.items_.tolist()))
    n_items = len(model.items_)
    features = np.zeros((n_items, 0)) if model._features is None else model._features
    yield "_features", _is_finite(features) and features.dtype == np.float64
    yield "_features", features.ndim == 2 and len(features) == n_items
    n_features = features.shape[1]
    known = getattr(model, "n_features_in_", n_features)
    yield "n_features_in_", type(known) is int and known == n_features
    names = getattr(model, "covariate_names_", [])
    yield "covariate_names_", isinstance(names, list) and all(isinstance(name, str) for name in names)
    n_effects = len(names) + model.order_effect + (model.ties == "davidson")
    lengths = {"_parameters": n_items + n_features + n_effects, "scores_": n_items, "coef_": n_features}
    lengths |= {"covariate_effects_": len(names)} | ({"_covariate_scale": len(names)} if names else {})
    for name, length in lengths.items():
        values = getattr(model, name, np.zeros(0))
        yield name, _is_finite(values) and values.dtype == np.float64 and values.shape == (length,)
    numbers = {name: getattr(model, name) for name in ("alpha_", "order_effect_", "tie_effect_")}
    if n_features:
        numbers |= {"intercept_": model.intercept_}
    for name, number in numbers.items():
        yield name, isinstance(number, float) and math.isfinite(number)
    yield "alpha_", model.alpha_ >= 0
    sd = getattr(model, "prior_sd_", None)
    yield "prior_sd_", sd is None or (isinstance(sd, float) and 0 < sd < math.inf)
    yield from _votes(model, n_items, names)
    yield "groups_", isinstance(model.groups_, list) and all(map(_is_list, model.groups_))
    yield "_parameters", parameters_fit(model)


def _votes(model: BradleyTerry, n_items: int, names: list[str]) -> Checks:
    """Check the counted votes of a leaderboard, and what is known of them."""
    entries = model._entries
    yield "_entries", _are_entries(entries, n_items, distinct=not names)
    covariates = getattr(model, "_covariates", None)
    yield "_covariates", _are_covariates(covariates, entries[0], len(names))
    scale = getattr(model, "_covariate_scale", None)
    yield "_covariate_scale", (scale is None) == (not names) and (scale is None or _are_positive(scale))
    votes = getattr(model, "_votes", 1.0)
    yield "_votes", isinstance(votes, float) and 0 < votes < math.inf
    squares = getattr(model, "_squares", None)
    yield "_squares", squares is None or _are_weights(squares, entries[0])
    clusters = getattr(model, "_clusters", ())
    yield "_clusters", isinstance(clusters, tuple) and len(clusters) in (0, 1, 3)
    yield "_clusters", all(_are_clusters(counts, entries, n_items, len(names)) for counts in clusters)
    yield from _judges(model)
    yield from _duels(model)


def _are_positive(values: Any) -> bool:
    return bool((values > 0).all())


def _judges(model: BradleyTerry) -> Checks:
    state = getattr(model, "_judges", None)
    if state is None:
        return
    yield "_judges", isinstance(state, tuple) and len(state) == 4 and isinstance(state[0], tuple)
    yield "_judges", len(state[0]) == 6 and all(map(_is_list, (*state[0], *state[1:])))
    yield "_judges", len({len(column) for column in state[0]}) == 1
    yield "_judges", all(values.dtype == np.float64 for values in state[1:])
    yield "_judges", JudgeState(*state).is_valid(model.scores_)
    n_judges = len(state[1])
    yield "judges_", _is_list(model.judges_) and len(set(model.judges_.tolist())) == n_judges
    for name in ("judge_slopes_", "judge_order_effects_", "judge_votes_"):
        values = getattr(model, name)
        yield name, _is_finite(values) and values.shape == (n_judges,)
    spreads = model.judge_spreads_
    yield "judge_spreads_", isinstance(spreads, tuple) and len(spreads) == 2 and all(map(_is_number, spreads))


def _duels(model: BradleyTerry) -> Checks:
    state = getattr(model, "_duels", None)
    if state is None:
        return
    n_items = len(model.items_)
    yield "_duels", isinstance(state, tuple) and len(state) == 3 and all(map(_is_finite, state))
    yield "_duels", state[0].shape == (n_items,) and all(one.dtype == np.float64 for one in state)
    for covariance in state[1:]:
        yield "_duels", covariance.shape == (n_items, n_items) and np.diag(covariance).min() >= 0
        yield "_duels", np.allclose(covariance, covariance.T, atol=1e-8 * (1.0 + np.abs(covariance).max()))
    for name in ("judge_weight_", "judge_agreement_"):
        yield name, isinstance(number := getattr(model, name), float) and 0 <= number <= 1
    yield "judge_gain_", isinstance(model.judge_gain_, float) and math.isfinite(model.judge_gain_)
    yield "n_duels_", type(model.n_duels_) is int and model.n_duels_ > 0


def _are_weights(weights: Any, like: Any) -> bool:
    is_valid = _is_finite(weights) and weights.dtype == np.float64 and weights.shape == like.shape
    return bool(is_valid and (weights > 0).all())


def _are_covariates(covariates: Any, like: Any, n_covariates: int) -> bool:
    """Return whether these are as many finite numbers for each entry; None if there are no covariates."""
    if not n_covariates:
        return covariates is None
    is_valid = _is_finite(covariates) and covariates.dtype == np.float64
    return bool(is_valid and covariates.shape == (n_covariates, len(like)))


def _are_clusters(counts: Any, entries: Any, n_items: int, n_covariates: int) -> bool:
    """Return whether these are the counts of pairs per cluster, sorted by cluster, of the same matches."""
    if not (isinstance(counts, tuple) and len(counts) == 6 + bool(n_covariates)):
        return False
    covariates, counts = (counts[6] if n_covariates else None), counts[:6]
    if not (all(map(_is_list, counts)) and _are_covariates(covariates, counts[0], n_covariates)):
        return False
    numbers, weights = counts[:3], counts[3:]
    if len({len(column) for column in counts}) > 1 or not len(numbers[0]):
        return False
    if any(column.dtype.kind != "i" or column.min() < 0 for column in numbers):
        return False
    cluster, first, second = numbers
    is_valid = max(first.max(), second.max()) < n_items and (first != second).all()
    is_valid &= (np.diff(cluster) >= 0).all() and cluster[0] < cluster[-1]
    is_valid &= all(_is_finite(one) and (one >= 0).all() for one in weights)
    if not (is_valid and (np.sum(weights, axis=0) > 0).all()):
        return False
    with np.errstate(over="ignore"):
        return bool(np.isclose(np.sum(weights), np.sum(entries[2:]), rtol=1e-6))


def _are_entries(entries: Any, n_items: int, *, distinct: bool) -> bool:
    """Tell whether these are sorted pairs of items with their counts, as native code assumes."""
    first, second, *counts = entries
    if not all(items.dtype == np.int32 and _is_list(items) for items in (first, second)) or not len(first):
        return False
    if len(first) != len(second) or min(first.min(), second.min()) < 0:
        return False
    keys = first.astype(np.int64) * n_items + second
    is_valid = max(first.max(), second.max()) < n_items and (first != second).all()
    is_valid &= (np.diff(keys) >= distinct).all() and len(counts) == 3
    for weights in counts:
        is_valid &= _is_finite(weights) and weights.dtype == np.float64 and weights.shape == first.shape
    return bool(is_valid and (np.array(counts) >= 0).all() and (np.sum(counts, axis=0) > 0).all())


def _is_weights(ranker: Any, coef: Any, length: int) -> bool:
    """Tell whether these are the weights of one function or, for `RankRLS`, of several."""
    dimensions = (1, 2) if isinstance(ranker, BaseRankRLS) else (1,)
    return _has_norm(coef) and coef.ndim in dimensions and coef.shape[-1] == length and len(coef) > 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and bool(np.isfinite(values).all())


def _has_norm(values: Any) -> bool:
    """Tell whether the sum of the squares, which the penalty of a fit contains, is finite too."""
    with np.errstate(over="ignore"):
        return _is_finite(values) and bool(np.isfinite(np.square(values, dtype=np.float64).sum()))


def _is_list(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1


def _is_sorted(values: Any) -> bool:
    """Tell whether these are numbers in ascending order; infinity is allowed and NaN is not."""
    is_list = _is_list(values) and values.dtype.kind == "f"
    return is_list and not np.isnan(values).any() and bool((values[1:] >= values[:-1]).all())


def _are_categories(categories: Any, n_features: int) -> bool:
    """Tell whether this maps indices of columns to lists of distinct categories."""
    return isinstance(categories, dict) and all(
        type(column) is int
        and 0 <= column < n_features
        and isinstance(values, list)
        and len(set(values)) == len(values)
        for column, values in categories.items()
    )
