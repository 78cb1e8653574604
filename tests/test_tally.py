"""Counts of the values of a column: exact, merged, and compressed with a stated error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.curves.axis import cut_points, tally_lines
from rankwise.data.tally import Tally, merged_tally

COLUMNS = st.lists(st.one_of(st.just(np.nan), st.integers(-5, 5).map(float), st.floats(-9, 9)), max_size=60)


@given(COLUMNS, st.integers(1, 5))
def test_parts_have_the_tally_of_the_whole(column, n_parts):
    x = np.array(column)
    whole, merged = Tally.of(x), merged_tally([Tally.of(part) for part in np.array_split(x, n_parts)])
    for tally in (whole, merged):
        np.testing.assert_array_equal(tally.at(np.arange(tally.n_known)), np.sort(x[~np.isnan(x)]))
        assert tally.n_missing == np.isnan(x).sum()


@pytest.mark.parametrize("n_parts", [1, 8, 64])
def test_the_rank_error_of_a_compressed_tally_is_bounded(n_parts):
    rng, most = np.random.default_rng(0), 100
    x = np.concatenate([rng.normal(size=6000), np.repeat(0.25, 3000)])
    x = x[np.argsort(rng.random(len(x)) + (x > 0))]  # parts have different values
    parts = [Tally.of(part).compressed(most) for part in np.array_split(x, n_parts)]
    n_levels = 0
    while len(parts) > 1:
        groups = [parts[start : start + 8] for start in range(0, len(parts), 8)]
        parts, n_levels = [merged_tally(group, most) for group in groups], n_levels + 1
    (tally,) = parts
    assert len(tally.values) <= most
    assert tally.n_known == len(x)
    assert tally.values[[0, -1]].tolist() == [x.min(), x.max()]
    ranks, ordered = np.arange(len(x)), np.sort(x)
    found = tally.at(ranks)
    lowest, highest = (np.searchsorted(ordered, found, side) for side in ("left", "right"))
    error = np.maximum(lowest - ranks, ranks - (highest - 1)).max()
    assert error <= (n_levels + 1) * len(x) / most


@given(COLUMNS, st.integers(1, 9))
def test_knots_of_lines_are_the_nearest_quantiles(column, n_bins):
    x = np.array(column)
    known = x[~np.isnan(x)]
    expected = np.zeros(1)
    if len(known):
        expected = np.unique(np.quantile(known, np.linspace(0, 1, n_bins + 1), method="nearest"))
    np.testing.assert_array_equal(tally_lines(Tally.of(x), n_bins), expected)


def test_a_column_without_values_has_no_cuts():
    assert len(cut_points(np.array([np.nan]), 4)) == 0
    assert Tally.of(np.array([np.nan])).n_missing == 1
