"""One ranking on Dask: the values and intervals of memory, without collecting scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import Preferences
from rankwise.data.backends import backend_of
from rankwise.data.row_parts import PartsInMemory
from rankwise.metrics import average_precision, kendall_tau, ndcg, one_ranking, precision, reciprocal_rank
from rankwise.metrics.intervals import error_estimate
from rankwise.metrics.one_ranking import SortedRanking
from rankwise.metrics.ranking_errors import error_estimates

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")


@pytest.fixture(autouse=True)
def one_thread():
    """Tasks run in this thread: starting threads takes longer than they do."""
    with dask.config.set(scheduler="synchronous"):
        yield


LABELS = {
    "two classes": lambda generator, n: generator.integers(0, 2, n).astype(float),
    "grades": lambda generator, n: generator.integers(0, 4, n).astype(float),
    "numbers": lambda generator, n: generator.normal(size=n),
}
LENGTHS = st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(lambda lengths: sum(lengths) > 1)


def columns_of(*columns):
    return columns


def rankings_of(parts, n_models):
    """Return a ranking per model of parts with labels and scores."""
    numbered, starts = parts.transformed(columns_of).numbered()
    return [SortedRanking(numbered.chosen(1 + k, 0, 1 + n_models)) for k in range(n_models)], starts


def assert_same_estimate(found, expected, bounds=None):
    for one in ("value", "standard_error", "degrees", "p_value"):
        np.testing.assert_allclose(getattr(found, one), getattr(expected, one), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.interval(0.9, bounds), expected.interval(0.9, bounds), rtol=1e-12)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("few", [256, 2])
@settings(max_examples=8, deadline=None)
@given(lengths=LENGTHS, seed=st.integers(0, 1000))
def test_errors_and_their_differences_have_the_intervals_of_memory(labels, few, lengths, seed):
    generator, n_rows = np.random.default_rng(seed), sum(lengths)
    y = LABELS[labels](generator, n_rows)
    y[:2] = 0.0, 1.0  # a pair
    scores = [np.round(y + generator.normal(size=n_rows), 1), generator.normal(size=n_rows), np.zeros(n_rows)]
    there = [da.from_array(column, chunks=(tuple(lengths),)) for column in (y, *scores)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_ranking, "FEW_LABELS", few)
        found = error_estimates(*rankings_of(backend_of(there[0]).parts(*there), 3))
    expected = [error_estimate(Preferences.from_scores(y), one) for one in scores]
    for k in range(3):
        assert_same_estimate(found[k], expected[k], (0.0, 1.0))
        assert_same_estimate(found[0] - found[k], expected[0] - expected[k])


def test_parts_in_memory_give_the_same_estimate():
    generator = np.random.default_rng(0)
    y, scores = generator.integers(0, 3, 50).astype(float), generator.normal(size=50)
    (found,) = error_estimates(*rankings_of(PartsInMemory(y, scores), 1))
    assert_same_estimate(found, error_estimate(Preferences.from_scores(y), scores), (0.0, 1.0))


def test_estimates_of_other_units_have_no_difference():
    y = np.arange(6.0)
    (first,), (second,) = (error_estimates(*rankings_of(PartsInMemory(y, y), 1)) for _ in range(2))
    with pytest.raises(TypeError, match="same units"):
        _ = first - second


def test_measures_of_one_list_collect_no_score(monkeypatch):
    generator = np.random.default_rng(3)
    y, scores = generator.integers(0, 4, 60).astype(float), np.round(generator.normal(size=60), 1)
    there = [da.from_array(column, chunks=25) for column in (y, scores)]
    monkeypatch.setattr(type(backend_of(there[0])), "column", None)
    for measure in (ndcg, average_precision, reciprocal_rank, precision, kendall_tau):
        assert measure(*there) == pytest.approx(measure(y, scores), rel=1e-12)
    with pytest.raises(ValueError, match="y must not be negative for ndcg, got -1"):
        ndcg(there[0] - 1, there[1])
