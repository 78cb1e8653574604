"""Bootstrap intervals of measures of one list: resamples of its rows, or of connected groups of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.intervals import ROUNDING, units_of
from rankwise.preferences import Preferences

RESAMPLES = 1000
# Each resample of rows computes the measures again, hence large sets get fewer resamples, or none.
ROWS_IN_ALL = 2_000_000
FEWEST_RESAMPLES = 100
ROWS_AT_A_TIME = 1_000_000
MAX_ROWS = 50_000
CONFIDENCE = 0.95


def weighted_mean(values: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean, NaN if the weights sum to 0.

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    2.0
    """
    total = float(weight.sum())
    return float(weight @ values) / total if total > 0 else float("nan")


def resampled_preferences(
    y: Preferences, seed: int, cluster: IntArray | None = None
) -> Iterator[tuple[Preferences, IntArray]]:
    """Yield bootstrap resamples of the rows of one ranking: their preferences, and the rows.

    If the pairs form many connected groups, groups are resampled: the pairs of a group drawn twice have
    twice their weight. So are clusters of listed pairs, and clusters of the rows of a ranking.
    """
    group = units_of(y) if y.n_pairs else None
    if group is not None:
        yield from _resampled_groups(y, group if cluster is None else cluster, seed)
        return
    if cluster is not None:
        for rows, _ in resampled_clusters(cluster, seed):
            yield y[rows], rows
        return
    for rows, _ in resampled_rows(y.n_rows, seed):
        for drawn in rows.reshape(-1, y.n_rows):
            yield y[drawn], drawn


def _resampled_groups(y: Preferences, group: IntArray, seed: int) -> Iterator[tuple[Preferences, IntArray]]:
    generator, rows = np.random.default_rng(seed), np.arange(y.n_rows)
    joined = np.unique(group[y.partner_weights()[0] > 0])
    for _ in range(n_row_resamples(y.n_rows)):
        drawn = generator.choice(joined, size=len(joined))
        times = np.bincount(drawn, minlength=group.max() + 1)
        yield y.weighted(np.sqrt(times)[group]), rows


def resampled_rows(n_rows: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield bootstrap resamples in batches: the rows, and the number of the resample of each."""
    generator = np.random.default_rng(seed)
    for size in batches(n_row_resamples(n_rows), n_rows):
        yield generator.integers(n_rows, size=(size, n_rows)).ravel(), np.repeat(np.arange(size), n_rows)


def resampled_clusters(cluster: IntArray, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield bootstrap resamples of clusters of rows, one at a time: the rows, and zeros."""
    generator = np.random.default_rng(seed)
    members = np.split(np.argsort(cluster, kind="stable"), np.cumsum(np.bincount(cluster))[:-1])
    for _ in range(n_row_resamples(len(cluster))):
        rows = np.concatenate([members[k] for k in generator.integers(len(members), size=len(members))])
        yield rows, np.zeros(len(rows), dtype=np.int64)


def batches(count: int, n_rows: int) -> list[int]:
    """Split a number of resamples into batches of bounded memory.

    Examples
    --------
    >>> batches(1000, 400), batches(100, 20_000)
    ([1000], [50, 50])
    """
    size = max(1, ROWS_AT_A_TIME // n_rows)
    return [min(size, count - start) for start in range(0, count, size)]


def n_row_resamples(n_rows: int) -> int:
    """Return the number of resamples of the rows of one query.

    Examples
    --------
    >>> n_row_resamples(500), n_row_resamples(10_000), n_row_resamples(1_000_000)
    (1000, 200, 0)
    """
    if n_rows > MAX_ROWS:
        return 0
    return int(np.clip(ROWS_IN_ALL // n_rows, FEWEST_RESAMPLES, RESAMPLES))


def interval(draws: FloatArray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the ends of the percentile interval of a bootstrap.

    NaN without draws, and if the ends are equal, as rows that are all alike do not tell how far others are.
    """
    known = draws[~np.isnan(draws)]
    if len(known) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    if high - low <= ROUNDING * abs(high):
        return float("nan"), float("nan")
    return float(low), float(high)
