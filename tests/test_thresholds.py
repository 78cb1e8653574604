"""Boundaries between ranks against the textbook: every choice of boundaries, every pair."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

import reference_ordinal as reference
from rankwise import RankRLS, fit_thresholds
from rankwise.datasets import make_ranking
from rankwise.estimators import thresholds
from rankwise.estimators.thresholds import midpoint_thresholds, ordered_classes, ranks_of

UTILITIES = st.one_of(
    st.integers(-4, 4).map(lambda k: k / 2),
    st.floats(-3, 3).map(lambda u: round(u, 4)),
    st.floats(-1e6, 1e6).map(lambda u: round(u, 1)),
)
ERRORS = ("absolute", "zero_one")


@st.composite
def ranked_rows(draw, max_rows=9):
    """Utilities, classes and weights (zeros among them) of a few rows; two classes at least have weight."""
    n = draw(st.integers(2, max_rows))
    utility = np.array(draw(st.lists(UTILITIES, min_size=n, max_size=n)))
    labels = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    weights = st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.3]), min_size=n, max_size=n).map(np.array)
    weight = draw(st.one_of(st.none(), weights))
    kept = np.ones(n, bool) if weight is None else weight > 0
    assume(len(set(labels[kept])) > 1)
    return utility, labels, weight


def kept_rows(utility, labels, weight):
    """The rows that weigh something, with the numbers of the classes among them."""
    weight = np.ones(len(labels)) if weight is None else weight
    kept = weight > 0
    return utility[kept], np.unique(labels[kept], return_inverse=True)[1], weight[kept]


@given(ranked_rows(), st.sampled_from(ERRORS))
def test_min_error_equals_brute_force(rows, error):
    utility, labels, weight = rows
    thresholds = fit_thresholds(utility, labels, error=error, sample_weight=weight)
    u, codes, w = kept_rows(*rows)
    assert thresholds.shape == (codes.max(),)
    assert np.isfinite(thresholds).all()
    assert (np.diff(thresholds) >= 0).all()
    found = reference.training_error(u, codes, thresholds, error, w)
    assert found == pytest.approx(reference.least_error(u, codes, error, w), abs=1e-9)
    np.testing.assert_array_equal(ranks_of(u, thresholds), reference.predicted(u, thresholds))


@given(ranked_rows(max_rows=14), st.sampled_from([0.03, 0.0, 1e-15]))
@example((np.array([-1.0768819401134087, 0.2327172580507176]), np.array([0, 1]), None), 0.0)
def test_midpoint_equals_the_mean_over_listed_pairs(rows, tol):
    u, codes, w = kept_rows(*rows)
    thresholds, fallback = midpoint_thresholds(u, codes, w, tol=tol)
    expected = [reference.midpoint(u, codes, k, w, tol=tol) for k in range(codes.max())]
    assert fallback.tolist() == [value is None for value in expected]
    single = [boundary_of_least_error(u, codes, k, w) if e is None else e for k, e in enumerate(expected)]
    np.testing.assert_allclose(thresholds, np.maximum.accumulate(single), rtol=1e-9, atol=1e-9)
    public = fit_thresholds(rows[0], rows[1], method="midpoint", sample_weight=rows[2], tol=tol)
    np.testing.assert_array_equal(public, thresholds)


def boundary_of_least_error(u, codes, k, w):
    """The two-class problem of ranks up to k against the others."""
    return fit_thresholds(u, codes > k, sample_weight=w)[0]


@pytest.mark.parametrize("method", ["midpoint", "min_error"])
@pytest.mark.parametrize("error", ERRORS)
def test_integer_weights_equal_repeated_rows(method, error):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, size=60)
    utility = y + rng.normal(size=60)
    weight = rng.integers(0, 4, size=60)
    repeated = np.repeat(np.arange(60), weight)
    options = {"method": method, "error": error}
    weighted = fit_thresholds(utility, y, sample_weight=weight, **options)
    np.testing.assert_allclose(
        weighted, fit_thresholds(utility[repeated], y[repeated], **options), rtol=1e-12
    )
    order = rng.permutation(60)
    again = fit_thresholds(utility[order], y[order], sample_weight=weight[order], **options)
    np.testing.assert_allclose(weighted, again, rtol=1e-12)


def test_boundaries_lie_in_the_middle_of_the_widest_gap():
    # Between 1 and 2 and between 2 and 5 one row is on the wrong side either way.
    for error in ERRORS:
        assert fit_thresholds([0.0, 1, 2, 5, 6, 7], [0, 0, 1, 0, 1, 1], error=error) == [1.5]
        assert fit_thresholds([0.0, 1, 4, 5, 6, 7], [0, 0, 1, 0, 1, 1], error=error) == [2.5]
        assert fit_thresholds([0.0, 1, 2, 3.5, 8], [0, 0, 1, 0, 1], error=error) == [5.75]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("error", ERRORS)
def test_weights_that_are_equal_but_for_rounding_leave_the_widest_gap(scale, error):
    # 0.3 - 0.1 - 0.2 is not 0 in binary; a cut in the gap of 30 misses a whole row more.
    utility, y = [-30.0, 0, 1, 2, 3, 10], [0, 0, 1, 0, 0, 1]
    weight = scale * np.array([1, 1, 0.3, 0.1, 0.2, 1])
    assert fit_thresholds(utility, y, error=error, sample_weight=weight) == [6.5]


def test_rows_of_equal_utility_stay_together():
    for error in ERRORS:
        thresholds = fit_thresholds([1.0, 1, 1, 1, 2], [0, 0, 0, 1, 1], error=error)
        np.testing.assert_array_equal(thresholds, [1.5])
    first, second, third = 1.0 + np.arange(3) * np.finfo(float).eps
    for pair in ([first, second], [second, third]):  # no number lies between the two; their mean is even
        ranks = ranks_of(np.array(pair), fit_thresholds(pair, [0, 1]))
        np.testing.assert_array_equal(ranks, [0, 1])
        assert ranks.dtype == np.int64
    widest = np.array([-1.7e308, 1.7e308])  # whose difference is no number
    np.testing.assert_array_equal(ranks_of(widest, fit_thresholds(widest, [0, 1])), [0, 1])


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_boundaries_outside_all_utilities_are_finite(scale):
    # Utilities in the wrong order: it is best to predict one class only.
    utility = scale * np.array([3.0, 1.0, 1.5, 2.0])
    above = fit_thresholds(utility, [0, 1, 0, 0])
    below = fit_thresholds(utility, [1, 1, 1, 0])
    assert np.isfinite([above, below]).all()
    np.testing.assert_array_equal(ranks_of(utility, above), 0)
    np.testing.assert_array_equal(ranks_of(utility, below), 1)
    constant = np.full(4, scale)
    np.testing.assert_array_equal(ranks_of(constant, fit_thresholds(constant, [0, 1, 1, 1])), 1)
    np.testing.assert_array_equal(ranks_of(constant, fit_thresholds(constant, [0, 0, 0, 1])), 0)


def test_the_place_of_a_boundary_outside():
    # Levels 1, 2, 4: half of the mean gap of 1.5 below the first or above the last.
    np.testing.assert_allclose(fit_thresholds([1.0, 2, 4, 4], [1, 1, 0, 1]), [0.25])
    np.testing.assert_allclose(fit_thresholds([1.0, 1, 2, 4], [0, 1, 0, 0]), [4.75])


def test_a_rank_may_have_no_interval():
    # The single row of rank 1 lies among rows of rank 2.
    thresholds = fit_thresholds([0.0, 0, 5, 5, 5, 5], [0, 0, 2, 1, 2, 2], error="zero_one")
    assert thresholds[0] == thresholds[1] == 2.5


def test_large_data_agree_with_a_scan_of_each_boundary():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, size=3000)
    utility = np.round(y + rng.normal(size=3000), 2)
    thresholds = fit_thresholds(utility, y)
    places = np.unique(utility) + 0.005
    for k, theta in enumerate(thresholds):
        wrong = [np.sum((utility > place) != (y > k)) for place in [*places, theta]]
        assert wrong[-1] == min(wrong)


def test_midpoint_by_hand():
    # Ranks 0 at 0 and 0.2, rank 1 at 1 and 1.1, rank 2 at 3: pairs (0, 1) differ by 1 exactly.
    utility, y = [0.0, 0.2, 1.0, 1.1, 3.0], [0, 0, 1, 1, 2]
    np.testing.assert_allclose(fit_thresholds(utility, y, method="midpoint"), [0.5, 2.05])
    # With a wider tolerance the pairs that differ by 0.9 and by 1 count alike.
    wide = fit_thresholds(utility, y, method="midpoint", tol=0.11)
    np.testing.assert_allclose(wide, [(0.5 + 0.65) / 2, (2.0 + 2.05) / 2])
    np.testing.assert_allclose(fit_thresholds(utility, y, method="midpoint", margin=1.5)[1], 2.05)


def test_thresholds_never_fall():
    # Ranks 1 and 2 are swapped, so the midpoints are too.
    utility = np.array([0.0, 5.0, 4.0, 1.0, 3.0, 9.0])
    y = np.array([0, 1, 1, 2, 2, 3])
    singles = [reference.midpoint(utility, y, k) for k in range(3)]
    assert singles == [2.0, None, 6.0]
    thresholds, fallback = midpoint_thresholds(utility, y, np.ones(6))
    assert fallback.tolist() == [False, True, False]
    assert (np.diff(thresholds) >= 0).all()


def test_scores_of_other_rankers():
    X, y = make_ranking(400, 5, n_levels=4, noise=0.3, random_state=0)
    for model in (RankRLS(1e-3), Ridge()):
        utility = model.fit(X, y).predict(X)
        for error in ERRORS:
            thresholds = fit_thresholds(utility, y, error=error)
            assert np.mean(ranks_of(utility, thresholds) == y) > 0.75


# Labels


def test_labels_of_all_kinds():
    utility = [0.0, 1.0, 2.0, 3.0]
    levels = ["low", "mid", "high"]
    text = ["low", "mid", "high", "high"]
    expected = [0.5, 1.5]
    for y in (
        [1, 2, 3, 3],
        [-7.0, 0.0, 2.0, 2.0],
        np.array([1, 2, 5, 5], dtype=np.int8),
        pd.Categorical(text, categories=levels, ordered=True),
        pd.Series(pd.Categorical(text, categories=[*levels, "top"], ordered=True)),
        pl.Series(text, dtype=pl.Enum(levels)),
    ):
        np.testing.assert_array_equal(fit_thresholds(utility, y), expected)
    for y in (text, np.array(text), pd.Series(text), pl.Series(text)):
        np.testing.assert_array_equal(fit_thresholds(utility, y, categories=levels), expected)
    assert fit_thresholds(utility, [False, False, True, True]) == [1.5]


def test_text_without_an_order_warns():
    with pytest.warns(UserWarning, match="ordered alphabetically: 'high' < 'low' < 'mid'.*categories"):
        classes, codes, _ = ordered_classes(["low", "mid", "high", "high"])
    assert classes.tolist() == ["high", "low", "mid"]
    assert codes.tolist() == [1, 2, 0, 0]


def test_categories_that_do_not_occur_leave_no_trace():
    y = ["c", "a", "c", "e"]
    classes, codes, weight = ordered_classes(y, categories=list("abcdef"))
    assert classes.tolist() == ["a", "c", "e"]
    assert codes.tolist() == [1, 0, 1, 2]
    assert weight.tolist() == [1, 1, 1, 1]
    classes, codes, _ = ordered_classes(y, list("fedcba"), [1, 1, 1, 0])
    assert classes.tolist() == ["c", "a"]
    assert codes[:3].tolist() == [0, 1, 0]


def test_fractional_grades_are_ranks_when_they_repeat():
    utility, y = [0.0, 0.1, 1.0, 1.1, 2.0, 2.1], [0.5, 0.5, 1.5, 1.5, 2.0, 2.0]
    np.testing.assert_allclose(fit_thresholds(utility, y), [0.55, 1.55])
    np.testing.assert_allclose(fit_thresholds(utility[::2], y[::2], categories=[0.5, 1.5, 2.0]), [0.5, 1.5])


BAD = [
    ({"method": "median"}, "method must be one of 'midpoint', 'min_error'; got 'median'"),
    ({"error": "squared"}, "error must be one of 'absolute', 'zero_one'; got 'squared'"),
    ({"utility": [1.0, np.nan, 2.0]}, "utility contains NaN or infinity"),
    ({"utility": [1.0, 2.0]}, "utility has 2 entries, but y has 3"),
    ({"utility": [1.0, 2.0], "y": [1]}, "utility has 2 entries, but y has 1"),
    ({"y": [1, 1, 1]}, r"y has one class only \(1\)"),
    ({"y": [1, np.nan, 2]}, "y contains missing values"),
    ({"y": [1, np.inf, 2]}, "y contains NaN or infinity"),
    ({"y": ["a", None, "b"]}, "y contains missing values"),
    ({"y": [0.1, 0.2, 0.3]}, "Unknown label type: continuous.*3 different numbers in 3 rows"),
    ({"y": [1j, 2j, 1j]}, "Complex data not supported"),
    ({"y": np.ones((3, 2))}, "y should be a 1d array"),
    ({"categories": [0, 1]}, "y holds 2, not among the categories 0, 1"),
    ({"categories": [0, 1, 2, 1]}, r"categories must not hold a value twice; got \[0, 1, 2, 1\]"),
    ({"sample_weight": [1.0, 1]}, "sample_weight has length 2, but must have length 3"),
    ({"sample_weight": [1.0, -1, 1]}, "sample_weight must not be negative"),
    ({"sample_weight": [1.0, 0, 0]}, r"y has one class only \(0\)"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD)
def test_bad_input_gets_a_sentence(change, sentence):
    given = {"utility": [0.0, 1.0, 2.0], "y": [0, 1, 2]} | change
    with pytest.raises(ValueError, match=sentence):
        fit_thresholds(given.pop("utility"), given.pop("y"), **given)


def test_ranks_that_need_too_much_memory_are_refused(monkeypatch):
    monkeypatch.setattr("rankwise.core.memory.available_memory", lambda: 1000)
    y = np.arange(400)
    sentence = "error='zero_one' with 400 ranks and 400 utilities needs 160 kB.*; use error='absolute'"
    with pytest.raises(MemoryError, match=sentence):
        fit_thresholds(y, y, error="zero_one")


def test_many_ranks_share_the_levels(monkeypatch):
    sizes = []
    cost = thresholds._Levels.cost

    def counted(*arguments):
        result = cost(*arguments)
        sizes.append(len(result))
        return result

    monkeypatch.setattr(thresholds._Levels, "cost", counted)
    y = np.arange(1024)
    np.testing.assert_array_equal(fit_thresholds(y, y), y[:-1] + 0.5)
    assert len(sizes) == 1023
    assert sum(sizes) <= 2 * 1024 * (np.log2(1024) + 1)
