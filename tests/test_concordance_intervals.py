"""Intervals of concordances with labels and listed pairs, against DeLong's formula and exact bounds."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from rankwise import Preferences, pair_data
from rankwise.evaluation import compare, evaluate
from rankwise.evaluation.intervals import Estimate, mean_estimate
from rankwise.metrics import concordance_index, concordance_interval, ranking_error


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    y = np.arange(30) < 9
    scores = np.round(rng.normal(size=(2, 30)) + y, 1)  # with ties
    return y, *scores


def placements(y, scores):
    """The fraction of the other class that each row is on the right side of."""
    right = (scores[y][:, None] > scores[~y]) + 0.5 * (scores[y][:, None] == scores[~y])
    return right.mean(axis=1), right.mean(axis=0)


def delong(*parts):
    """The standard error and the degrees of freedom of a mean of placements in two samples."""
    variances = np.array([np.var(part, ddof=1) / len(part) for part in parts])
    tails = np.maximum([stats.kurtosis(part, bias=False) for part in parts], 0.0)
    own = np.array([len(part) - 1 for part in parts]) * 2 / (2 + tails)
    return np.sqrt(variances.sum()), variances.sum() ** 2 / np.sum(variances**2 / own)


def test_the_interval_of_an_auc_is_wilsons_with_the_error_of_delong(classes):
    y, first, _ = classes
    found = concordance_interval(y, first, confidence=0.9)
    error, degrees = delong(*placements(y, first))
    auc = roc_auc_score(y, first)
    assert found.estimate == concordance_index(y, first) == pytest.approx(auc)
    assert found.standard_error == pytest.approx(error)
    raised = error * np.sqrt(1 + 1.5 / min(y.sum(), (~y).sum()))
    for end in found[2:]:
        at_end = raised * np.sqrt(end * (1 - end) / (auc * (1 - auc)))
        assert abs(auc - end) == pytest.approx(stats.t.ppf(0.95, degrees) * at_end)
    measured = evaluate(first, first[:, None], y.astype(float), measures="error", confidence=0.9)["error"]
    np.testing.assert_allclose([1 - measured.high, 1 - measured.low], found[2:])


def test_the_difference_of_two_aucs_is_delongs(classes):
    y, first, second = classes
    apart = compare(y.astype(float), {"first": first, "second": second}, measures="error").differences[0]
    parts = [a - b for a, b in zip(placements(y, first), placements(y, second), strict=True)]
    error, degrees = delong(*parts)
    expected = roc_auc_score(y, first) - roc_auc_score(y, second)
    half_width = stats.t.ppf(0.975, degrees) * error
    np.testing.assert_allclose([-apart.mean, -apart.high, -apart.low],
                               [expected, expected - half_width, expected + half_width])  # fmt: skip
    assert apart.p == pytest.approx(2 * stats.t.sf(abs(expected) / error, degrees))


def test_labels_and_pairs_have_the_index_of_the_ranking_error(classes):
    _, first, second = classes
    assert concordance_index(second, first) == pytest.approx(1 - ranking_error(second, first))
    pairs = Preferences.from_pairs([0, 1, 2, 5], [3, 4, 6, 7], n_rows=30)
    found = concordance_interval(pairs, first)
    right = (first[[0, 1, 2, 5]] > first[[3, 4, 6, 7]]) + 0.5 * (first[[0, 1, 2, 5]] == first[[3, 4, 6, 7]])
    assert found.estimate == pytest.approx(right.mean())
    weighted = Preferences.from_scores(second, sample_weight=np.arange(1.0, 31))
    assert concordance_index(weighted, first) == pytest.approx(1 - ranking_error(weighted, first))


def test_groups_of_pairs_are_the_units(classes):
    rng = np.random.default_rng(1)
    right = rng.random(40) < 0.7
    groups = np.arange(40) // 4
    X, pairs = pair_data(right[:, None].astype(float), 1.0 - right[:, None], groups=groups)
    found = concordance_interval(pairs, X[:, 0])
    means = right.reshape(10, 4).mean(axis=1)
    assert found.standard_error == pytest.approx(np.std(means, ddof=1) / np.sqrt(10))


@pytest.mark.parametrize(
    ("y", "scores", "n_trials"),
    [
        ([0, 0, 0, 1, 1], [1, 2, 3, 4, 5], 2),  # as many disjoint pairs as the smaller class has rows
        ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6], 3),
        (Preferences.from_pairs(range(0, 20, 2), range(1, 20, 2), n_rows=20), -np.arange(20.0), 10),
        ((np.ones(9, dtype=bool), np.arange(9.0)), np.arange(9.0), 4),
    ],
)
def test_perfect_orders_have_the_exact_bound_of_disjoint_pairs(y, scores, n_trials):
    found = concordance_interval(y, scores)
    assert (found.estimate, found.high) == pytest.approx((1, 1))
    assert found.low == pytest.approx(0.025 ** (1 / n_trials))
    reversed_order = concordance_interval(y, -np.asarray(scores, dtype=float))
    assert (reversed_order.low, reversed_order.high) == pytest.approx((0, 1 - found.low))


def test_bounds_of_means_contain_every_mean_that_is_likely_to_give_them():
    estimate = mean_estimate(np.ones(12))
    low, high = estimate.interval(0.95, (0.0, 1.0))
    assert (low**12, high) == (pytest.approx(0.025), 1.0)
    assert mean_estimate(-np.ones(12)).interval(0.95, (-1.0, 1.0)) == (-1.0, pytest.approx(1 - 2 * low))
    assert np.isnan(mean_estimate(np.ones(1)).interval(0.95, (0.0, 1.0))).all()


def test_a_class_of_one_row_has_no_interval():
    found = concordance_interval([1, 0, 0, 0], [0.5, 0.1, 0.7, 0.3])
    assert found.estimate == pytest.approx(2 / 3)
    assert np.isnan(found[1:]).all()
    assert np.isnan(Estimate(0.5, np.array([0.1, -0.1, 0.0]), sample=np.array([0, 1, 1])).p_value())


def test_options_of_survival_times_are_refused(classes):
    y, first, _ = classes
    for options in ({"weights": "uno"}, {"tau": 1.0}, {"censoring": (y, first)}):
        with pytest.raises(ValueError, match="are for survival times"):
            concordance_interval(y, first, **options)
    with pytest.raises(ValueError, match="method='bootstrap' is for survival times"):
        concordance_interval(y, first, method="bootstrap")
    with pytest.raises(ValueError, match="y has queries"):
        concordance_interval(Preferences.from_scores(y, qid=np.arange(30) // 10), first)
    with pytest.raises(ValueError, match="nothing to rank"):
        concordance_interval(np.ones(30), first)
