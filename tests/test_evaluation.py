"""Comparisons against scipy and textbook formulas, and the numbers behind the pictures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from rankwise import Preferences, metrics, pair_data
from rankwise.datasets import make_ranking
from rankwise.estimators.weights import by_size, largest_parts
from rankwise.evaluation import compare, compare_values
from rankwise.evaluation.bootstrap import interval
from rankwise.evaluation.intervals import error_estimate
from rankwise.evaluation.measures import Scored, named_measure
from rankwise.plotting import AlphaPathDisplay, ConvergenceDisplay, QueryQualityDisplay
from rankwise.report.shapes import roc
from rankwise.report.utility_display import LANE, UtilityAxis

NUMBERS = st.floats(-100, 100).map(lambda value: round(value, 3))


@pytest.fixture(scope="module")
def rows():
    return make_ranking(500, 4, n_queries=30, n_levels=3, noise=0.8, random_state=2)


def test_a_comparison_has_the_measures_of_the_library(rows):
    X, y, qid = rows
    scores = {"first": X[:, 0], "second": X[:, 1], "third": X.sum(axis=1)}
    found = compare(y, scores, qid, measures=["error", "ndcg@3", "mrr", "p@2"], relevant_above=1)
    expected = {
        "error": lambda s: metrics.ranking_error(y, s, qid, per_query=True),
        "ndcg@3": lambda s: metrics.ndcg(y, s, qid, k=3, per_query=True),
        "mrr": lambda s: metrics.reciprocal_rank(y, s, qid, relevant_above=1, per_query=True),
        "p@2": lambda s: metrics.precision(y, s, qid, k=2, relevant_above=1, per_query=True),
    }
    assert [one.other for one in found.differences] == ["second"] * 4 + ["third"] * 4
    for name, listed in found.measures.items():
        assert [one.measure.key for one in listed] == list(expected)
        for one in listed:
            np.testing.assert_array_equal(one.values, expected[one.measure.key](scores[name]))
    for one in found.differences:
        ours, theirs = (expected[one.measure.key](scores[name]) for name in ("first", one.other))
        better = ours - theirs if one.measure.higher_is_better else theirs - ours
        assert one.mean == pytest.approx(np.nanmean(ours - theirs))
        assert one.gain == pytest.approx(np.nanmean(better))
        assert (one.wins, one.ties, one.losses) == tuple(
            np.count_nonzero(test) for test in (better > 1e-12, np.abs(better) <= 1e-12, better < -1e-12)
        )


def test_intervals_are_those_of_the_normal_distribution_where_it_holds():
    generator = np.random.default_rng(1)
    a, b = generator.normal(1, 2, 400), generator.normal(0, 1, 400)
    for confidence, width in ((0.95, 1.96), (0.5, 0.674)):
        found = compare_values({"a": a, "b": b}, confidence=confidence)
        for one, values in ((found.measures["a"][0], a), (found.differences[0], a - b)):
            error = values.std() / 20
            expected = values.mean() + width * error * np.array([-1, 1])
            np.testing.assert_allclose([one.low, one.high], expected, atol=0.25 * error)


def test_undefined_queries_are_left_out_in_pairs():
    a, b = np.array([1.0, np.nan, 3.0, 5.0]), np.array([0.0, 1.0, np.nan, 1.0])
    found = compare_values({"a": a, "b": b}, higher_is_better=False)
    assert (found.measures["a"][0].mean, found.measures["a"][0].n_defined) == (3.0, 3)
    one = found.differences[0]
    assert (one.mean, one.wins, one.losses, one.gain) == (2.5, 0, 2, -2.5)
    assert np.isnan(compare_values({"a": [1.0, np.nan], "b": [0.0, 0.0]}).differences[0].p)


def test_equal_models_have_no_clear_difference(rows):
    X, y, qid = rows
    found = compare(y, {"a": X[:, 0], "b": 3 * X[:, 0]}, qid, measures="error")
    one = found.differences[0]
    n_queries = found.measures["a"][0].n_defined
    rare = 1 - 0.025 ** (1 / n_queries)  # of queries on which they differ
    assert (one.mean, one.p, one.ties) == (0, 1, n_queries)
    assert (one.low, one.high) == (pytest.approx(-rare), pytest.approx(rare))
    assert not one.is_clear


def influences_by_pairs(y, scores):
    """Return the derivative of the ranking error by the weight of each row, from all pairs."""
    above = y[:, None] > y[None, :]
    wrong = above * ((scores[:, None] < scores[None, :]) + (scores[:, None] == scores[None, :]) / 2)
    error = wrong.sum() / above.sum()
    apart = wrong - error * above
    return (apart.sum(axis=0) + apart.sum(axis=1)) / above.sum()


def test_the_error_of_one_ranking_has_the_interval_and_the_test_of_its_influences(rows):
    X, y, _ = rows
    good = y + X[:, 0]
    found = compare(y, {"good": good, "noise": np.sin(np.arange(500))}, measures="error")
    one = found.differences[0]
    influence = influences_by_pairs(y, good) - influences_by_pairs(y, np.sin(np.arange(500)))
    error = np.sqrt(500 / 499 * np.sum(influence**2))
    degrees = 499 * 2 / (2 + max(stats.kurtosis(influence, bias=False), 0.0))
    half_width = stats.t.ppf(0.975, degrees) * error
    np.testing.assert_allclose([one.low, one.high], one.mean + half_width * np.array([-1, 1]))
    assert one.p == pytest.approx(2 * stats.t.sf(abs(one.mean / error), degrees), abs=1e-12)
    assert one.is_clear
    assert "on one query" in repr(found)


def test_preferences_and_labels_give_the_same_comparison(rows):
    X, y, qid = rows
    scores = {"a": X[:, 0], "b": X[:, 1]}
    assert repr(compare(Preferences.from_scores(y, qid), scores)) == repr(compare(y, scores, qid))


def test_the_default_measures_fit_the_kind_of_labels(rows):
    X, y, qid = rows
    scores = {"a": X[:, 0], "b": X[:, 1]}
    keys = [one.measure.key for one in compare(y, scores, qid).measures["a"]]
    assert keys == ["error", "ndcg@5", "ndcg@10", "map", "tau"]
    keys = [one.measure.key for one in compare(y + 0.5, scores, qid).measures["a"]]
    assert keys == ["error", "tau"]


def test_a_comparison_prints_a_row_for_each_model_and_measure(rows):
    X, y, qid = rows
    found = compare(y, {"a": X[:, 0], "b": X[:, 1]}, qid, measures=["error", "tau"])
    title, header, *lines = repr(found).splitlines()
    assert title == "a minus each other model on 30 queries, 95% intervals, paired t-test"
    assert header.split() == ["measure", "model", "mean", "difference", "from", "to", "p"]
    assert len(lines) == 4
    one, mean = found.differences[0], found.measures["b"][0].mean
    numbers = f"{mean:.4f} {one.mean:+.4f} {one.low:+.4f} {one.high:+.4f} {one.p:.4f}"
    assert lines[1].split() == ["Ranking", "error", "b", *numbers.split()]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": {"a": [1.0, 2.0]}}, "scores must be a dict of two or more names of models"),
        ({"scores": {"a": [1.0, 2.0], "b": [1.0]}}, "the scores of 'b' has length 1, but must have length 2"),
        ({"measures": ["precision"]}, r"measures must be among error, .*, ndcg@K, p@K; got 'precision'"),
        ({"measures": ["error@5"]}, "got 'error@5'"),
        ({"measures": ["p"]}, "got 'p'"),
        ({"measures": ["ndcg@0"]}, "got 'ndcg@0'"),
        ({"confidence": 95}, "confidence must be between 0 and 1; got 95"),
        ({"y": []}, "y has no rows"),
        ({"y": Preferences.from_scores([0, 1]), "qid": [0, 0]}, "qid must be None when y is a Preferences"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(change, words):
    given = {"y": [0, 1], "scores": {"a": [1.0, 2.0], "b": [2.0, 1.0]}} | change
    with pytest.raises(ValueError, match=words):
        compare(**given)


def test_values_that_cannot_be_compared_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"of two or more queries; got lengths \[2, 3\]"):
        compare_values({"a": [1.0, 2.0], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"got lengths \[1\]"):
        compare_values({"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match="values of 'b' must be one finite number or NaN"):
        compare_values({"a": [1.0, 2.0], "b": [1.0, np.inf]})


def test_intervals_leave_undefined_resamples_out():
    assert interval(np.array([np.nan, 1.0, 2.0]), 0.5) == (1.25, 1.75)
    assert np.isnan(interval(np.array([1.0, 1.0]))).all()  # equal resamples are not certain
    assert np.isnan(interval(np.array([]))).all()


def test_the_gain_of_ndcg_is_passed_on_and_the_error_does_without():
    y, scores, query = np.array([2.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0]), np.zeros(3, int)
    for gain in ("linear", "exponential"):
        found = named_measure("ndcg", gain=gain, relevant_above=0.0).of(Scored(y, {"": scores}, query), "")
        assert found == metrics.ndcg(y, scores, gain=gain)
    assert named_measure("error", gain="linear").of(Scored(y, {"": scores}, query), "") == 1.0


# The numbers of the pictures


@given(arrays(np.float64, st.integers(1, 12), elements=NUMBERS), st.integers(0, 14))
def test_the_shown_parts_and_the_rest_are_the_whole(parts, count):
    shown, rest, n_others = largest_parts(parts, count)
    assert parts[shown].sum() + rest == pytest.approx(parts.sum(), abs=1e-9)
    assert len(shown) + n_others == np.count_nonzero(parts)
    assert (np.diff(np.abs(parts[by_size(parts)])) <= 0).all()
    np.testing.assert_array_equal(shown, [k for k in by_size(parts) if parts[k] != 0][:count])


def test_a_gap_without_a_logarithm_is_left_out():
    display = ConvergenceDisplay([np.inf, 2.0, 1.0, 0.0, np.nan], [1.0, 2.0, 3.0, 4.0, 5.0])
    places = {"seconds": [2.0, 3.0], "iterations": [2, 3]}
    for x, expected in places.items():
        line, _ = display.picture(x).marks
        assert (line.x.tolist(), line.y.tolist()) == (expected, [2.0, 1.0])


def test_a_path_without_folds_is_its_own_mean():
    chosen, mean, _ = AlphaPathDisplay([1.0, 2.0], [0.3, 0.4], 1.0).picture().marks
    assert chosen.x == 1.0
    assert mean.y.tolist() == [0.3, 0.4]


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-1, 1)))
def test_every_query_is_a_dot_above_the_mean(values):
    picture = QueryQualityDisplay([*values, np.nan]).picture()
    dots, _, mean = picture.marks
    np.testing.assert_array_equal(dots.x, np.sort(values))
    assert mean.x == pytest.approx([values.mean()])
    assert len(set(zip(dots.x, dots.y, strict=True))) == len(values)  # no dot hides another
    assert (dots.y > -1).all()
    assert (dots.y < mean.y).all()


def test_a_roc_curve_is_thinned_and_keeps_its_ends():
    generator = np.random.default_rng(0)
    positive = generator.random(2000) < 0.4
    scores = generator.normal(size=2000) + positive
    curve = roc(positive, scores)
    assert len(curve.false) == 200
    assert (curve.false[0], curve.true[0], curve.false[-1], curve.true[-1]) == (0, 0, 1, 1)
    above = scores[positive][:, None] > scores[~positive]
    assert curve.area == pytest.approx(above.mean())


@given(
    arrays(np.float64, st.integers(1, 30), elements=NUMBERS),
    arrays(np.float64, st.integers(1, 3), elements=NUMBERS),
    st.integers(0, 5),
)
def test_lanes_hold_all_rows_between_the_limits(utility, thresholds, seed):
    thresholds = np.sort(thresholds)
    n_classes = len(thresholds) + 1
    rank = np.random.default_rng(seed).integers(0, n_classes, len(utility))
    axis = UtilityAxis(utility, rank, thresholds)
    low, high = axis.limits
    assert low < min(*utility, *thresholds)
    assert high > max(*utility, *thresholds)
    drawn = []
    for k in range(n_classes):
        rows, off = axis.lane(k)
        assert (np.diff(utility[rows]) >= 0).all()
        assert (np.abs(off) <= LANE / 2).all()
        inside = [
            (np.concatenate([[-np.inf], thresholds])[k] < u) & (u <= [*thresholds, np.inf][k])
            for u in utility[rows]
        ]
        assert np.isnan(axis.share(k)) if len(rows) == 0 else axis.share(k) == np.mean(inside)
        drawn += rows.tolist()
    assert sorted(drawn) == list(range(len(utility)))


@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_influences_are_derivatives_by_the_weights_of_rows(average):
    generator = np.random.default_rng(0)
    y, qid, scores = generator.integers(4, size=30), np.arange(30) % 3, generator.integers(6, size=30) * 1.0
    base = generator.uniform(0.5, 2.0, size=30)

    def error(weight):
        return metrics.ranking_error(y, scores, qid, sample_weight=weight, average=average)

    found = error_estimate(Preferences.from_scores(y, qid, base), scores, average)
    step = 1e-6 * np.diag(base)
    slopes = [(error(base + one) - error(base - one)) / 2e-6 for one in step]
    assert found.value == pytest.approx(error(base), abs=1e-12)
    np.testing.assert_allclose(found.influence, slopes, atol=1e-8)


def test_votes_of_one_group_are_not_independent():
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 5)
    right = generator.random(12) < 0.7
    margin = np.where(right, 1.0, -1.0)[groups][:, None]
    X, pairs = pair_data(margin, np.zeros_like(margin), groups=groups)
    found = error_estimate(pairs, X[:, 0])
    expected = stats.sem(~right)  # all votes of a group agree
    assert found.standard_error == pytest.approx(expected)
    assert found.degrees == pytest.approx(11)
    alone = error_estimate(pair_data(margin, np.zeros_like(margin))[1], X[:, 0])
    assert alone.standard_error < expected / 2


def test_groups_of_pairs_stay_together_and_are_checked():
    pairs = Preferences.from_pairs([0, 2, 4], [1, 3, 5], groups=["a", "b", "a"])
    assert pairs.groups().tolist() == [0, 0, 1, 1, 0, 0]
    assert pairs[[4, 5, 2, 3]].groups().tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="groups puts the pairs of row 0 into 'a' and into 'b'"):
        Preferences.from_pairs([0, 0], [1, 2], groups=["a", "b"])
