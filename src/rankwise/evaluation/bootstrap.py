"""Intervals by drawing again what was measured: queries, or the rows of one query."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankwise._types import FloatArray, IntArray

RESAMPLES = 1000
# A resample of the rows measures everything anew, so that there are fewer of them for many rows, or none.
ROWS_IN_ALL = 2_000_000
FEWEST_RESAMPLES = 100
ROWS_AT_A_TIME = 1_000_000
MAX_ROWS = 50_000
CONFIDENCE = 0.95


def resampled_means(values: FloatArray, seed: int) -> FloatArray:
    """Return the mean of as many values drawn with replacement, many times; undefined ones are left out."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return np.empty(0)
    generator, n = np.random.default_rng(seed), len(defined)
    return np.array([defined[generator.integers(n, size=n)].mean() for _ in range(RESAMPLES)])


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
