"""Intervals by drawing again what was measured: queries, groups of joined rows, or the rows of one query."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankwise.core.types import FloatArray, IntArray
from rankwise.preferences import Preferences

RESAMPLES = 1000
# A resample of the rows measures everything anew, so that there are fewer of them for many rows, or none.
ROWS_IN_ALL = 2_000_000
FEWEST_RESAMPLES = 100
ROWS_AT_A_TIME = 1_000_000
MAX_ROWS = 50_000
CONFIDENCE = 0.95
# Groups of joined rows are drawn as queries are, unless one of them holds more than this share of the pairs.
LARGEST_GROUP = 0.1


def resampled_means(values: FloatArray, seed: int, importance: FloatArray | None = None) -> FloatArray:
    """Return the mean of as many values drawn with replacement, many times; undefined ones are left out.

    With an `importance` of each value the means are weighted by it.
    """
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return np.empty(0)
    weight = np.ones(len(defined)) if importance is None else importance[~np.isnan(values)]
    generator, n = np.random.default_rng(seed), len(defined)
    draws = (generator.integers(n, size=n) for _ in range(RESAMPLES))
    return np.array([weighted_mean(defined[drawn], weight[drawn]) for drawn in draws])


def weighted_mean(values: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean, NaN where there is no weight.

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    2.0
    """
    total = float(weight.sum())
    return float(weight @ values) / total if total > 0 else float("nan")


def draws_groups(y: Preferences) -> bool:
    """Tell whether the pairs fall into many groups of rows, so that groups are drawn instead of rows."""
    return y.n_pairs > 0 and float(_group_shares(y).max()) <= LARGEST_GROUP


def _group_shares(y: Preferences) -> FloatArray:
    return np.asarray(np.bincount(y.groups(), y.row_shares()), np.float64)


def resampled_preferences(y: Preferences, seed: int) -> Iterator[tuple[Preferences, IntArray]]:
    """Draw the rows of one ranking with replacement, many times; yield their preferences and the rows.

    Where pairs fall into many groups, these are drawn: the pairs of a group drawn twice weigh twice.
    """
    if y.n_pairs and draws_groups(y):
        yield from _resampled_groups(y, seed)
        return
    for rows, _ in resampled_rows(y.n_rows, seed):
        for drawn in rows.reshape(-1, y.n_rows):
            yield y[drawn], drawn


def _resampled_groups(y: Preferences, seed: int) -> Iterator[tuple[Preferences, IntArray]]:
    generator, group, rows = np.random.default_rng(seed), y.groups(), np.arange(y.n_rows)
    shares = _group_shares(y)
    joined = np.flatnonzero(shares > 0)
    for _ in range(n_row_resamples(y.n_rows)):
        drawn = generator.choice(joined, size=len(joined))
        times = np.bincount(drawn, minlength=len(shares))
        yield y.weighted(np.sqrt(times)[group]), rows


def resampled_rows(n_rows: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Draw rows with replacement, many times; yield batches of rows with the number of their resample."""
    generator = np.random.default_rng(seed)
    for size in batches(n_row_resamples(n_rows), n_rows):
        yield generator.integers(n_rows, size=(size, n_rows)).ravel(), np.repeat(np.arange(size), n_rows)


def batches(count: int, n_rows: int) -> list[int]:
    """Part a number of resamples so that memory stays small.

    Examples
    --------
    >>> batches(1000, 400), batches(100, 20_000)
    ([1000], [50, 50])
    """
    size = max(1, ROWS_AT_A_TIME // n_rows)
    return [min(size, count - start) for start in range(0, count, size)]


def n_row_resamples(n_rows: int) -> int:
    """Return how often rows are resampled.

    Examples
    --------
    >>> n_row_resamples(500), n_row_resamples(10_000), n_row_resamples(1_000_000)
    (1000, 200, 0)
    """
    if n_rows > MAX_ROWS:
        return 0
    return int(np.clip(ROWS_IN_ALL // n_rows, FEWEST_RESAMPLES, RESAMPLES))


def interval(draws: FloatArray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the quantiles of a bootstrap, NaN without draws."""
    known = draws[~np.isnan(draws)]
    if len(known) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
