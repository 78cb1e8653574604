import math
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

import reference_metrics as reference
from rankwise import metrics
from rankwise.preferences import NoPairsError, Preferences

FEW = settings(max_examples=50, deadline=None)
VARIANTS = {
    "ndcg": {},
    "ndcg at 1": {"k": 1},
    "ndcg at 3, linear": {"k": 3, "gain": "linear"},
    "ndcg, linear": {"gain": "linear"},
    "average_precision": {},
    "average_precision above 1": {"relevant_above": 1},
    "reciprocal_rank": {},
    "reciprocal_rank above 1": {"relevant_above": 1},
    "precision": {},
    "precision at 1": {"k": 1},
    "precision at 3, above 1": {"k": 3, "relevant_above": 1},
    "precision of all": {"k": None},
    "kendall_tau": {},
    "ranking_error": {},
    "ranking_error, ties wrong": {"ties": "error"},
    "ranking_error, ties right": {"ties": "correct"},
}
MEASURES = ["ndcg", "average_precision", "reciprocal_rank", "precision", "kendall_tau", "ranking_error"]
OFTEN_UNDEFINED = [name for name in MEASURES if name != "precision"]


def measure_of(module, variant):
    return partial(getattr(module, variant.split(",")[0].split()[0]), **VARIANTS[variant])


@st.composite
def rankings(draw):
    """Few labels and scores, so that ties, constant labels and repeated rows are common; queries mixed."""
    labels = st.sampled_from([0, 0, 1, 2, 2.5])
    scores = st.sampled_from([-1.5, 0.0, 1e-300, 0.5, 3.0])
    names = draw(st.lists(st.sampled_from(["b", "a", "query 10", "query 9", ""]), min_size=1, unique=True))
    rows = [
        (label, score, name)
        for name in names
        for label, score in draw(st.lists(st.tuples(labels, scores), min_size=1, max_size=5))
    ]
    return tuple(map(list, zip(*draw(st.permutations(rows)), strict=True)))


@pytest.mark.parametrize("variant", VARIANTS)
@FEW
@given(ranking=rankings())
def test_every_query_has_the_textbook_value(variant, ranking):
    values = measure_of(metrics, variant)(*ranking, per_query=True)
    np.testing.assert_allclose(values, measure_of(reference, variant)(*ranking), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("variant", VARIANTS)
@FEW
@given(ranking=rankings(), data=st.data())
def test_neither_row_order_nor_query_names_matter(variant, ranking, data):
    y, scores, qid = map(np.array, ranking)
    measure = measure_of(metrics, variant)
    expected = measure(y, scores, qid, per_query=True)
    order = np.array(data.draw(st.permutations(range(y.size))))
    number = np.unique(qid, return_inverse=True)[1] * 7 - 3
    np.testing.assert_array_equal(np.isnan(expected), np.isnan(measure(y, scores, number, per_query=True)))
    np.testing.assert_allclose(
        measure(y[order], scores[order], number[order], per_query=True), expected, rtol=1e-12
    )


@pytest.mark.parametrize("variant", VARIANTS)
@FEW
@given(ranking=rankings())
def test_the_mean_is_over_the_defined_queries(variant, ranking):
    measure = measure_of(metrics, variant)
    values = np.array(measure_of(reference, variant)(*ranking))
    missing = np.isnan(values).sum()
    if missing == values.size:
        with pytest.raises(ValueError, match="is undefined for all queries"):
            measure(*ranking)
    elif missing:
        with pytest.warns(UndefinedMetricWarning, match=f"{missing} of {values.size} queries") as caught:
            assert measure(*ranking) == pytest.approx(np.nanmean(values))
        assert len(caught) == 1
        assert caught[0].filename == __file__
    else:
        assert measure(*ranking) == pytest.approx(values.mean())


@pytest.mark.parametrize("name", OFTEN_UNDEFINED)
def test_undefined_nan_gives_nan_and_no_warning(name):
    measure = getattr(metrics, name)
    y, scores, qid = [0, 1, 0, 0], [0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2]
    assert math.isnan(measure(y, scores, qid, undefined="nan"))
    assert math.isnan(measure([0, 0], [1, 2], undefined="nan"))
    for undefined in ("nan", "skip"):
        values = measure(y, scores, qid, undefined=undefined, per_query=True)
        np.testing.assert_array_equal(np.isnan(values), [False, True])
    np.testing.assert_array_equal(measure([0, 0], [1, 2], [5, 4], per_query=True), [np.nan, np.nan])


def test_precision_is_defined_without_relevant_rows():
    assert metrics.precision([0, 1, 0, 0], [4, 3, 2, 1], ["a", "a", "b", "b"], k=2) == 0.25


@FEW
@given(ranking=rankings(), k=st.one_of(st.none(), st.integers(1, 6)))
def test_linear_ndcg_is_that_of_scikit_learn(ranking, k):
    y, scores, qid = map(np.array, ranking)
    values = metrics.ndcg(y, scores, qid, k=k, gain="linear", per_query=True)
    for value, name in zip(values, np.unique(qid), strict=True):
        rows = qid == name
        if rows.sum() > 1 and y[rows].any():
            assert value == pytest.approx(ndcg_score([y[rows]], [scores[rows]], k=k), rel=1e-12)


@FEW
@given(ranking=rankings())
def test_average_precision_is_that_of_scikit_learn(ranking):
    y, scores, qid = map(np.array, ranking)
    values = metrics.average_precision(y, scores, qid, per_query=True)
    for value, name in zip(values, np.unique(qid), strict=True):
        rows = qid == name
        if (y[rows] > 0).any():
            assert value == pytest.approx(average_precision_score(y[rows] > 0, scores[rows]), rel=1e-12)


@FEW
@given(ranking=rankings())
def test_kendall_tau_is_that_of_scipy(ranking):
    y, scores, qid = map(np.array, ranking)
    values = metrics.kendall_tau(y, scores, qid, per_query=True)
    expected = [
        kendalltau(y[qid == name], scores[qid == name]).statistic if (qid == name).sum() > 1 else np.nan
        for name in np.unique(qid)
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)


def large_ranking(n_rows=3000, n_queries=40):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n_rows)
    return y, np.round(y + rng.normal(scale=3, size=n_rows), 1), rng.integers(0, n_queries, n_rows)


def test_large_queries_agree_with_scikit_learn_and_scipy():
    y, scores, qid = large_ranking()
    rows = [qid == q for q in range(40)]
    ours = partial(np.testing.assert_allclose, rtol=1e-12)
    ours(
        metrics.ndcg(y, scores, qid, k=10, gain="linear", per_query=True),
        [ndcg_score([y[r]], [scores[r]], k=10) for r in rows],
    )
    ours(
        metrics.ndcg(y, scores, qid, per_query=True),
        [ndcg_score([2.0 ** y[r] - 1], [scores[r]]) for r in rows],
    )
    ours(
        metrics.average_precision(y, scores, qid, relevant_above=2, per_query=True),
        [average_precision_score(y[r] > 2, scores[r]) for r in rows],
    )
    ours(
        metrics.kendall_tau(y, scores, qid, per_query=True),
        [kendalltau(y[r], scores[r]).statistic for r in rows],
    )
    ours(
        metrics.ranking_error(y > 2, scores, qid, per_query=True),
        [1 - roc_auc_score(y[r] > 2, scores[r]) for r in rows],
    )


@pytest.mark.parametrize(("above", "tied", "relevant"), [(0, 1, 1), (3, 40, 1), (7, 500, 20), (0, 300, 300)])
def test_reciprocal_rank_of_a_large_tie_is_the_hypergeometric_mean(above, tied, relevant):
    y = np.r_[np.zeros(above), np.ones(relevant), np.zeros(tied - relevant), np.ones(5)]
    scores = np.r_[np.full(above, 2.0), np.full(tied, 1.0), np.zeros(5)]
    expected = sum(
        math.comb(tied - j, relevant - 1) / math.comb(tied, relevant) / (above + j)
        for j in range(1, tied - relevant + 2)
    )
    assert metrics.reciprocal_rank(y, scores) == pytest.approx(expected, rel=1e-13)


def test_numbers_worked_by_hand():
    y, scores = [3, 2, 0, 0, 1], [0.9, 0.2, 0.8, 0.7, 0.3]
    assert metrics.ranking_error(y, scores) == pytest.approx(5 / 9)
    assert metrics.kendall_tau(y, scores) == pytest.approx(-1 / math.sqrt(9 * 10))
    assert metrics.average_precision(y, scores) == pytest.approx((1 + 2 / 4 + 3 / 5) / 3)
    assert metrics.reciprocal_rank(y, scores, relevant_above=2.5) == 1.0
    assert metrics.reciprocal_rank([0, 0, 1], [3, 2, 1]) == pytest.approx(1 / 3)
    assert metrics.precision(y, scores, k=4) == 0.5
    assert metrics.precision(y, scores) == 0.3
    assert metrics.precision(y, scores, k=None) == 0.6
    gain, ideal = 7 + 1 / math.log2(5) + 3 / math.log2(6), 7 + 3 / math.log2(3) + 1 / 2
    assert metrics.ndcg(y, scores) == pytest.approx(gain / ideal, rel=1e-14)


def test_a_perfect_and_a_reversed_ranking():
    y = np.arange(12)
    qid = np.repeat(["x", "y", "z"], 4)
    assert metrics.ndcg(y, y, qid) == 1.0
    assert metrics.average_precision(y, y, qid, relevant_above=9, undefined="skip", per_query=True)[2] == 1.0
    assert metrics.kendall_tau(y, y, qid) == 1.0
    assert metrics.kendall_tau(y, -y, qid) == -1.0
    assert metrics.ranking_error(y, y, qid) == 0.0
    assert metrics.ranking_error(y, -y, qid) == 1.0
    assert metrics.wmw(y // 4, y) == 1.0


def test_exponential_gain_neither_overflows_nor_cancels():
    scores = [0.1, 0.5, 0.3]
    expected = (1 + 0.5 / math.log2(3) + 0.25 / 2, 0.25 + 0.5 / math.log2(3) + 1 / 2)
    assert metrics.ndcg([5002, 5000, 5001], scores) == pytest.approx(expected[1] / expected[0], rel=1e-13)
    tiny = np.array([3e-18, 1e-18, 2e-18])
    assert metrics.ndcg(tiny, scores) == pytest.approx(ndcg_score([[3, 1, 2]], [scores]), rel=1e-13)
    assert metrics.ndcg([1e308, 1e308], [0, 1], gain="linear") == pytest.approx(1.0)


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_negative_gains_are_refused(gain):
    with pytest.raises(ValueError, match=f"y must not be negative for ndcg, got -1: its {gain} gain"):
        metrics.ndcg([-1, 2], [0, 1], gain=gain)


@pytest.mark.parametrize("ties", ["half", "error", "correct"])
@FEW
@given(ranking=rankings(), data=st.data())
def test_weighted_ranking_error_is_the_textbook_value(ties, ranking, data):
    y, scores, qid = ranking
    weights = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(y), max_size=len(y))
    weight = data.draw(weights.filter(any))
    values = metrics.ranking_error(*ranking, sample_weight=weight, ties=ties, per_query=True)
    expected = reference.ranking_error(y, scores, qid, sample_weight=weight, ties=ties)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


@FEW
@given(ranking=rankings())
def test_average_pairs_is_the_share_of_all_pairs(ranking):
    wrong, total = np.sum(reference.pair_totals(*ranking), axis=0)
    if total:
        assert metrics.ranking_error(*ranking, average="pairs") == pytest.approx(wrong / total)
    else:
        assert math.isnan(metrics.ranking_error(*ranking, average="pairs", undefined="nan"))
        with pytest.raises(ValueError, match="ranking_error is undefined for all queries"):
            metrics.ranking_error(*ranking, average="pairs")


def test_a_row_of_weight_two_is_the_row_twice():
    once = metrics.ranking_error([2, 1, 0], [1, 3, 2], sample_weight=[1, 2, 1])
    assert once == metrics.ranking_error([2, 1, 1, 0], [1, 3, 3, 2]) == pytest.approx(3 / 5)


def test_ties_are_exact_for_any_size_of_score():
    for size in (5e-324, 1e-300, 1.0, 1e300):
        scores = [size, size, np.nextafter(size, np.inf), -size]
        assert metrics.ranking_error([1, 0, 0, 0], scores, ties="correct") == pytest.approx(1 / 3)
        assert metrics.ranking_error([1, 0, 0, 0], scores, ties="half") == pytest.approx(1 / 2)
        assert metrics.ranking_error([1, 0, 0, 0], scores, ties="error") == pytest.approx(2 / 3)


def test_ranking_error_of_preferences():
    y, scores, qid = [2, 1, 0, 1, 0], [0.9, 0.1, 0.5, 0.3, 0.3], [8, 8, 8, 3, 3]
    preferences = Preferences.from_scores(y, qid)
    values = metrics.ranking_error(preferences, scores, per_query=True)
    np.testing.assert_allclose(values, [1 / 2, 1 / 3])
    assert metrics.ranking_error(preferences, scores) == pytest.approx(5 / 12)
    assert metrics.ranking_error(preferences, scores, average="pairs") == pytest.approx(3 / 8)
    with pytest.raises(ValueError, match="qid and sample_weight must be None"):
        metrics.ranking_error(preferences, scores, qid)
    with pytest.raises(ValueError, match="scores has length 2, but must have length 5"):
        metrics.ranking_error(preferences, [1, 2])


def test_query_weights_of_preferences_enter_the_mean():
    y, scores, qid = [1, 0, 1, 0, 2, 1, 0], [2, 1, 1, 2, 3, 1, 2], [0, 0, 1, 1, 2, 2, 2]
    preferences = Preferences.from_scores(y, qid, query_weight=[1, 1, 2, 2, 3, 3, 3])
    np.testing.assert_allclose(metrics.ranking_error(preferences, scores, per_query=True), [0, 1, 1 / 3])
    assert metrics.ranking_error(preferences, scores) == pytest.approx((2 * 1 + 3 * (1 / 3)) / 6)
    assert metrics.ranking_error(preferences, scores, average="pairs") == pytest.approx((2 + 3) / (1 + 2 + 9))


def test_a_slice_of_preferences_has_only_its_own_queries():
    preferences = Preferences.from_scores([1, 0, 1, 0, 5, 5], ["a", "a", "b", "b", "c", "c"])
    assert metrics.ranking_error(preferences[2:4], [1, 2]) == 1.0
    np.testing.assert_array_equal(
        metrics.ranking_error(preferences[2:], [1, 2, 0, 0], per_query=True), [1, np.nan]
    )
    assert math.isnan(metrics.ranking_error(preferences[[0, 2]], [1, 2], undefined="nan"))
    with pytest.raises(ValueError, match="ranking_error is undefined for all queries"):
        metrics.ranking_error(preferences[[0, 2]], [1, 2])


def test_an_order_graph_is_one_ranking():
    preferences = Preferences.from_order([2, 2, 1, 0], [(2, 1), (1, 0)])
    scores = [3, 1, 2, 0]
    assert metrics.ranking_error(preferences, scores) == metrics.disagreement_error(preferences, scores)
    np.testing.assert_allclose(metrics.ranking_error(preferences, scores, per_query=True), [1 / 3])
    assert metrics.wmw([2, 2, 1, 0], scores, order="chain") == 0.75


@pytest.mark.parametrize("ties", ["half", "error", "correct"])
@FEW
@given(data=st.data())
def test_disagreement_error_is_the_textbook_value(ties, data):
    scores = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=4, max_size=4))
    pair = st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.5, 1.0, 4.0]))
    pairs = data.draw(st.lists(pair.filter(lambda p: p[0] != p[1]), min_size=1, max_size=8))
    better, worse, weight = map(list, zip(*pairs, strict=True))
    preferences = Preferences.from_pairs(better, worse, weight=weight, n_rows=4)
    expected = reference.disagreement_error(better, worse, weight, scores, ties=ties)
    assert metrics.disagreement_error(preferences, scores, ties=ties) == pytest.approx(expected, rel=1e-12)
    assert metrics.ranking_error(preferences, scores, ties=ties) == pytest.approx(expected, rel=1e-12)


def test_disagreement_error_wants_preferences():
    with pytest.raises(TypeError, match="for labels use ranking_error"):
        metrics.disagreement_error([1, 0], [1, 0])


def all_edges(labels):
    classes = sorted(set(labels))
    return [(high, low) for high in classes for low in classes if high > low]


@pytest.mark.parametrize("ties", ["half", "error", "correct"])
@FEW
@given(ranking=rankings())
def test_wmw_is_the_textbook_value(ties, ranking):
    labels, scores, _ = ranking
    classes = sorted(set(labels))
    chain = [(high, low) for low, high in pairwise(classes)]
    if not chain:
        with pytest.raises(NoPairsError):
            metrics.wmw(labels, scores)
        return
    for order, edges in (("full", all_edges(labels)), ("chain", chain), (chain[:1], chain[:1])):
        expected = reference.wmw(labels, scores, edges, ties=ties)
        assert metrics.wmw(labels, scores, order=order, ties=ties) == pytest.approx(expected, rel=1e-12)


def test_wmw_of_two_classes_is_the_area_under_the_curve():
    y, scores, _ = large_ranking()
    assert metrics.wmw(y > 2, scores) == pytest.approx(roc_auc_score(y > 2, scores), rel=1e-12)


def test_wmw_of_named_classes():
    labels = ["good", "bad", "fair", "good"]
    value = metrics.wmw(labels, [3, 2, 1, 2], order=[("good", "fair"), ("fair", "bad"), ("good", "bad")])
    assert value == pytest.approx((1 + 0 + 0.75) / 3)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("column", [list, tuple, np.array, pd.Series, pl.Series])
def test_any_kind_of_column(name, column):
    y, scores, qid = [1, 0, 2, 0], [0.3, 0.4, 0.9, 0.2], ["q2", "q2", "q1", "q1"]
    measure = getattr(metrics, name)
    expected = measure(np.array(y), np.array(scores), np.array([2, 2, 1, 1]), per_query=True)
    values = measure(column(y), column(scores), column(qid), per_query=True)
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, expected)
    assert type(measure(column(y), column(scores), column(qid))) is float


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("y", [1, np.nan, 0], "y contains NaN or infinity"),
        ("scores", [1, 2, -np.inf], "scores contains NaN or infinity"),
        ("scores", np.ones((3, 2)), r"scores must be one-dimensional; got shape \(3, 2\)"),
        ("y", 3.0, r"y must be one-dimensional; got shape \(\)"),
        ("y", [], "y is empty"),
        ("scores", [1, 2], "scores has length 2, but must have length 3"),
        ("scores", ["a", "b", "c"], "scores must be real numbers"),
        ("y", [1, 2j, 0], "y must be real numbers"),
        ("y", [1, None, 0], "y contains NaN or infinity"),
        ("y", pd.Series([1, None, 0], dtype="Int64"), "y must be real numbers|y contains NaN"),
        ("y", pl.Series([1, None, 0]), "y contains NaN or infinity"),
        ("qid", [1, 2], "qid has length 2, but must have length 3"),
        ("qid", [[1, 2, 3]], "qid must be one-dimensional"),
        ("qid", [1.0, np.nan, 2.0], "qid contains missing values"),
        ("qid", [None, "a", "b"], "qid contains missing values"),
    ],
)
def test_bad_input_is_named(name, argument, value, message):
    arguments = {"y": [1, 2, 0], "scores": [3, 2, 1], "qid": [0, 0, 0], argument: value}
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(**arguments)


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3"])
def test_bad_k_is_refused(k):
    for measure in (metrics.ndcg, metrics.precision):
        with pytest.raises(ValueError, match="k must be None or a positive integer, got"):
            measure([1, 0], [1, 0], k=k)


def test_bad_choices_are_refused():
    for name in OFTEN_UNDEFINED:
        with pytest.raises(ValueError, match="undefined must be one of 'skip', 'nan'; got 'drop'"):
            getattr(metrics, name)([1, 0], [1, 0], undefined="drop")
    with pytest.raises(ValueError, match="ties must be one of 'half', 'error', 'correct'; got 'none'"):
        metrics.ranking_error([1, 0], [1, 0], ties="none")
    with pytest.raises(ValueError, match="average must be one of 'queries', 'pairs'; got 'rows'"):
        metrics.ranking_error([1, 0], [1, 0], average="rows")
    with pytest.raises(ValueError, match="gain must be one of 'exponential', 'linear'; got 'cubic'"):
        metrics.ndcg([1, 0], [1, 0], gain="cubic")
    with pytest.raises(ValueError, match="sample_weight has length 1"):
        metrics.ranking_error([1, 0], [1, 0], sample_weight=[1])


@pytest.mark.parametrize("name", ["kendall_tau", "ndcg", "average_precision", "reciprocal_rank", "precision"])
def test_measures_of_places_take_preferences_made_from_labels(name):
    y, scores, qid = large_ranking(60, 4)
    measure = getattr(metrics, name)
    weight = 1.0 + np.arange(qid.max() + 1)
    preferences = Preferences.from_scores(y, qid, query_weight=weight[qid])
    each = measure(y, scores, qid, per_query=True)
    np.testing.assert_array_equal(measure(preferences, scores, per_query=True), each)
    assert measure(preferences, scores) == pytest.approx(np.average(each, weights=weight[np.unique(qid)]))
    part = np.flatnonzero(qid != 1)  # a slice keeps the numbers of the queries that it has rows of
    np.testing.assert_array_equal(
        measure(preferences[part], scores[part], per_query=True), each[np.unique(qid) != 1]
    )
    with pytest.raises(ValueError, match="qid must be None when y is a Preferences"):
        measure(preferences, scores, qid)
    for other, why in [
        (Preferences.from_pairs([0], [1]), "has none"),
        (Preferences.from_order([0, 1], [(1, 0)]), "has none"),
        (Preferences.from_survival([1, 0], [1.0, 2.0]), "has censored rows"),
    ]:
        with pytest.raises(TypeError, match=f"{name} needs a label per row.*{why}; ranking_error"):
            measure(other, [0.0, 1.0])


@pytest.mark.parametrize("ties", ["half", "error", "correct"])
@pytest.mark.parametrize("order", ["full", "chain", [(3, 1), (2, 0)]])
def test_wmw_takes_the_preferences_of_an_order(order, ties):
    generator = np.random.default_rng(3)
    y, scores, weight = generator.integers(0, 4, 40), generator.integers(0, 6, 40), generator.random(40)
    preferences = Preferences.from_order(y, order, weight)
    expected = metrics.wmw(y, scores, order=order, ties=ties, sample_weight=weight)
    assert metrics.wmw(preferences, scores, ties=ties) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="sample_weight must be None"):
        metrics.wmw(preferences, scores, sample_weight=weight)


def test_wmw_refuses_preferences_without_classes():
    for other in (Preferences.from_pairs([0], [1]), Preferences.from_scores([0, 1, 0, 1], [0, 0, 1, 1])):
        with pytest.raises(TypeError, match=r"wmw needs a Preferences\.from_order"):
            metrics.wmw(other, np.arange(len(other)))


def test_an_undefined_query_may_count_as_a_number():
    y, scores, qid = [0, 0, 1, 0], [1, 2, 2, 1], ["a", "a", "b", "b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metrics.ndcg(y, scores, qid, undefined=0) == 0.5
        assert metrics.average_precision(y, scores, qid, undefined=1.0) == 1.0
        np.testing.assert_array_equal(metrics.ndcg(y, scores, qid, undefined=0, per_query=True), [0, 1])
        assert metrics.ranking_error(y, scores, qid, undefined=0.5) == 0.25


def test_each_call_warns_once_of_undefined_queries():
    with pytest.warns(UndefinedMetricWarning, match="2 of 3 queries") as caught:
        metrics.ndcg([0, 0, 1], [1, 2, 2], ["a", "b", "c"])
    assert len(caught) == 1


def test_inputs_are_left_as_they_were():
    y, scores, qid = large_ranking(50, 3)
    copies = y.copy(), scores.copy(), qid.copy()
    for name in MEASURES:
        getattr(metrics, name)(y, scores, qid)
    for given_array, copy in zip((y, scores, qid), copies, strict=True):
        np.testing.assert_array_equal(given_array, copy)
