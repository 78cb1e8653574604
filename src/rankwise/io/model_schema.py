"""The check of a model that comes from a file.

What a ranker stores is declared on its class (`rankwise.core.stored`). A leaderboard has a generator here,
which yields the name of an attribute and whether its value is valid; each check may rely on those before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankwise.core.stored import Part, declared, undeclared
from rankwise.estimators.base import BaseRanker
from rankwise.io.model_layout import ModelFileError
from rankwise.leaderboard.bradley_terry import BradleyTerry, parameters_fit
from rankwise.leaderboard.judge_uncertainty import JudgeState

Checks = Iterator[tuple[str, Any]]


def check_attributes(model: Any) -> None:
    """Refuse a model with an attribute that no fit leaves; the error names the first one."""
    for name in _invalid(model):
        raise ModelFileError(f"its {name} is invalid or inconsistent with the rest of the model")


def _invalid(model: Any) -> Iterator[str]:
    """Yield the attributes that are not as declared, or contradict each other."""
    if not declared(type(model)):
        yield from (name for name, is_valid in _leaderboard(model) if not is_valid)
        return
    yield from undeclared(model)
    for name, declaration in declared(type(model)).items():
        if isinstance(declaration, Part) and isinstance(part := getattr(model, name), BaseRanker):
            yield from _invalid(part)
    if model.functions:
        yield from model.function.conflicts(model.n_features_in_)
    if model.conflicts is not None:
        yield from model.conflicts()


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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and bool(np.isfinite(values).all())


def _is_list(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1
