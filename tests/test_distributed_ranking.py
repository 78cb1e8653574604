"""One ranking on Dask: the values and intervals of memory, without collecting scores."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import NoPairsError, OrdinalSVM, Preferences, RankSVM
from rankwise.data.backends import backend_of
from rankwise.data.row_parts import PartsInMemory
from rankwise.evaluation import bootstrap, compare, evaluate
from rankwise.metrics import (
    average_precision,
    concordance_index,
    concordance_interval,
    kendall_tau,
    ndcg,
    one_ranking,
    precision,
    reciprocal_rank,
)
from rankwise.metrics.intervals import error_estimate
from rankwise.metrics.one_ranking import SortedRanking
from rankwise.metrics.ranking_errors import error_estimates

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
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
    for one in ("value", "standard_error", "degrees"):
        np.testing.assert_allclose(getattr(found, one), getattr(expected, one), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.interval(0.9, bounds), expected.interval(0.9, bounds), rtol=1e-9)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("few", [256, 2])
@settings(max_examples=5, deadline=None)
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


@pytest.mark.parametrize("labels", ["two classes", "numbers"])
def test_the_concordance_with_labels_collects_no_score(labels, monkeypatch):
    generator = np.random.default_rng(5)
    y, scores = LABELS[labels](generator, 80), np.round(generator.normal(size=80), 1)
    there = [da.from_array(column, chunks=30) for column in (y, scores)]
    monkeypatch.setattr(type(backend_of(there[0])), "column", None)
    assert concordance_index(*there) == pytest.approx(concordance_index(y, scores), rel=1e-12)
    assert concordance_interval(*there) == pytest.approx(concordance_interval(y, scores), rel=1e-12)
    with pytest.raises(NoPairsError):
        concordance_index(0 * there[0], there[1])
    with pytest.raises(ValueError, match="y is empty"):
        concordance_index(there[0][:0], there[1][:0])


# Evaluation and comparison


@pytest.fixture
def large(monkeypatch):
    """Rankings of more than 20 rows are too large to be resampled, and no column may be collected."""
    monkeypatch.setattr(bootstrap, "MAX_ROWS", 20)
    monkeypatch.setattr(type(backend_of(da.zeros(1))), "column", None)


def assert_same_measures(found, expected):
    for there, here in zip(found, expected, strict=True):
        assert (there.measure.name, there.units) == (here.measure.name, here.units)
        numbers = [[*one.values, one.mean, one.low, one.high] for one in (there, here)]
        np.testing.assert_allclose(*numbers, rtol=1e-12, atol=1e-14)


GENERATOR = np.random.default_rng(7)
X = GENERATOR.normal(size=(90, 3))
Y = np.clip(np.round(X[:, 0] + GENERATOR.normal(size=90)) + 1, 0, 3)
PARTITIONS = (30, 0, 45, 15)


def on_dask(column, lengths=PARTITIONS):
    return da.from_array(column, chunks=(lengths, *column.shape[1:]))


@pytest.mark.parametrize("qid", [None, np.zeros(90, dtype=int)], ids=["no queries", "one query"])
@pytest.mark.parametrize("y", [Y, np.minimum(Y, 1), Y + X[:, 1], np.ones(90)], ids=["grades", "classes",
                         "numbers", "constant"])  # fmt: skip
def test_an_evaluation_of_one_ranking_is_that_of_memory(large, y, qid):
    model = RankSVM().fit(X, Y)
    there = None if qid is None else on_dask(qid)
    found, expected = evaluate(model, on_dask(X), on_dask(y), qid=there), evaluate(model, X, y, qid=qid)
    assert_same_measures(found.measures, expected.measures)
    assert repr(found) == repr(expected)
    assert found.notes == expected.notes


def test_all_measures_of_lists(large):
    measures = ["ndcg", "nDCG@3", "mrr", "p@5", "P(rel=2)@5", "map", "error"]
    found = evaluate(on_dask(X[:, 0]), on_dask(X), Y, measures=measures, undefined=0.0)
    assert_same_measures(found.measures, evaluate(X[:, 0], X, Y, measures=measures).measures)
    nothing = evaluate(on_dask(X[:, 0]), on_dask(X), 0 * Y, measures=["ndcg", "map"], undefined=0.5)
    assert [one.mean for one in nothing.measures] == [0.5, 0.5]


def test_grades_with_missing_labels(large):
    model = OrdinalSVM().fit(X, Y)
    y = Y.astype(object)
    y[[0, 1, 31]] = None
    y[75:] = None  # a partition without labels
    found, expected = evaluate(model, on_dask(X), y), evaluate(model, X, y)
    assert_same_measures(found.measures, expected.measures)
    assert (found.n_rows, repr(found)) == (72, repr(expected))


def test_a_comparison_on_one_ranking_is_that_of_memory(large):
    scores = {"one": X[:, 0], "sum": np.round(X.sum(axis=1), 1), "other": X[:, 2]}
    there = {name: on_dask(column) for name, column in scores.items()}
    found, expected = compare(on_dask(Y), there), compare(Y, scores)
    assert repr(found) == repr(expected)
    assert found.notes == []
    for one, other in zip(found.differences, expected.differences, strict=True):
        numbers = [(each.mean, each.low, each.high, each.p) for each in (one, other)]
        np.testing.assert_allclose(*numbers, rtol=1e-11, atol=1e-14)


def test_resamples_and_log_loss_need_all_scores():
    found = compare(Y, {"one": on_dask(X[:, 0]), "two": on_dask(X[:, 1])})
    assert repr(found) == repr(compare(Y, {"one": X[:, 0], "two": X[:, 1]}))
    assert found.notes == ["All rows are one ranking: 16 bytes per row were collected, 1.44 kB."]
    loss = evaluate(on_dask(X[:, 0]), on_dask(X), Y, measures="log_loss")
    assert "8 bytes per row were collected" in loss.notes[-1]
    error = evaluate(on_dask(X[:, 0]), on_dask(X), Y, measures="error")
    assert error.notes == []


def test_workers_of_a_client_measure_one_ranking(large):
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    scores = {"one": X[:, 0], "sum": X.sum(axis=1)}
    with (
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as cluster,
        distributed.Client(cluster),
    ):
        for y in (Y, Y + X[:, 1]):
            found = compare(on_dask(y), {name: on_dask(column) for name, column in scores.items()})
            assert repr(found) == repr(compare(y, scores))


def test_many_labels_of_which_most_are_tied():
    """A sample of the labels then has few distinct values."""
    y = np.zeros(3000)
    y[:300] = np.arange(300) / 100
    scores = -y + 4 * np.sin(np.arange(3000))
    there = [da.from_array(one, chunks=1500) for one in (y, scores)]
    for measure in (kendall_tau, ndcg, concordance_index):
        assert measure(*there) == pytest.approx(measure(y, scores), rel=1e-12)
    found, expected = (concordance_interval(*columns) for columns in (there, (y, scores)))
    assert found == pytest.approx(expected, rel=1e-10)
