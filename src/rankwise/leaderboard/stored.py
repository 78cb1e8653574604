"""Whether counted votes, which may come from a file, are those of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.stored import Array, Sizes

ARRAY = Array(("n",))


def are_lists(values: Any, sizes: Sizes) -> bool:
    """Return whether these are one-dimensional arrays, at least one."""
    return len(values) > 0 and all(isinstance(one, np.ndarray) and one.ndim == 1 for one in values)


def are_names(values: Any, sizes: Sizes) -> bool:
    """Return whether all values are text."""
    return all(isinstance(one, str) for one in values)


def are_weights(weights: Any, sizes: Sizes) -> bool:
    """Return whether these are finite wins, losses and ties of each entry, of a positive sum."""
    length = {"n": sizes["entries"]}
    is_valid = len(weights) == 3 and all(ARRAY.accepts(one, length) for one in weights)
    is_valid = is_valid and all(one.dtype == np.float64 and (one >= 0).all() for one in weights)
    return bool(is_valid and (np.sum(weights, axis=0) > 0).all())


def are_entries(entries: Any, sizes: Sizes) -> bool:
    """Return whether these are sorted pairs of items with their counts, as native code assumes."""
    first, second, *counts = entries
    if not are_lists(entries, sizes) or not len(first) == len(second) > 0:
        return False
    sizes["entries"] = len(first)
    if not (first.dtype == second.dtype == np.int32) or min(first.min(), second.min()) < 0:
        return False
    keys = first.astype(np.int64) * sizes["items"] + second
    is_valid = max(first.max(), second.max()) < sizes["items"] and (first != second).all()
    return bool(is_valid and (np.diff(keys) >= 0).all() and are_weights(counts, sizes))


def are_clusters(ways: Any, sizes: Sizes) -> bool:
    """Return whether these are the counts of pairs per cluster, of one column of clusters or of two."""
    return len(ways) in (0, 1, 3) and all(_are_counts(counts, sizes) for counts in ways)


def _are_counts(counts: Any, sizes: Sizes) -> bool:
    """Return whether these are the counts of pairs per cluster, sorted by cluster."""
    cluster, first, second, wins, losses, ties, *covariates = counts
    numbers, own = (cluster, first, second), sizes | {"entries": len(cluster)}
    if not (are_lists(counts[:6], sizes) and len({len(one) for one in counts[:6]}) == 1 and len(cluster)):
        return False
    if any(one.dtype.kind != "i" or one.min() < 0 for one in numbers):
        return False
    is_valid = max(first.max(), second.max()) < sizes["items"] and (first != second).all()
    is_valid &= (np.diff(cluster) >= 0).all() and cluster[0] < cluster[-1]
    rows = Array(("covariates", "entries"))
    is_valid &= len(covariates) == bool(sizes["covariates"])
    return bool(
        is_valid
        and are_weights((wins, losses, ties), own)
        and all(rows.accepts(one, own) for one in covariates)
    )


def are_judges(state: Any, sizes: Sizes) -> bool:
    """Return whether these are votes of judges in columns, signs, spreads and parameters."""
    votes, *learned = state
    sizes["judges"] = len(learned[0])
    is_valid = len(votes) == 6 and len(learned) == 3 and are_lists((*votes, *learned), sizes)
    is_valid = is_valid and len({len(column) for column in votes}) == 1
    return bool(is_valid and all(values.dtype == np.float64 for values in learned))


def are_spreads(spreads: Any, sizes: Sizes) -> bool:
    """Return whether these are two numbers."""
    return len(spreads) == 2 and all(type(one) in (int, float) for one in spreads)


def are_covariances(state: Any, sizes: Sizes) -> bool:
    """Return whether these are scores and two covariances of them."""
    centre, *covariances = state
    square = Array(("items", "items"))
    is_valid = len(covariances) == 2 and Array(("items",)).accepts(centre, sizes)
    is_valid = is_valid and all(square.accepts(one, sizes) for one in covariances)
    is_valid = is_valid and all(one.dtype == np.float64 for one in state)
    return is_valid and all(
        np.diag(one).min() >= 0 and np.allclose(one, one.T, atol=1e-8 * (1.0 + np.abs(one).max()))
        for one in covariances
    )
