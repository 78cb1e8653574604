"""Standard errors, degrees of freedom and intervals against formulas, exact bounds and simulations."""

import numpy as np
import pytest
from scipy import stats

from rankwise import Preferences, pair_data
from rankwise.evaluation import bootstrap, compare, compare_values, evaluate
from rankwise.evaluation import intervals as intervals_module
from rankwise.evaluation.intervals import (
    Estimate,
    cluster_of_units,
    error_estimate,
    mean_estimate,
    wilson_interval,
)
from rankwise.evaluation.measures import Scored, evaluated, named_measure
from rankwise.evaluation.paired import holm_factors
from rankwise.metrics import concordance_interval

SIZES = np.array([200, *[10] * 20])


def textbook(influence, share):
    """The variance and the degrees of freedom of one sample, by matrices and by scipy."""
    share, n = share / share.sum(), len(share)
    away = np.eye(n) - share  # the values less their weighted mean
    expected = np.trace(away.T @ np.diag(share**2) @ away)  # of sum (share * deviation)^2, equal variances
    values, excess = influence / share, 0.0
    if n > 3:
        second, fourth = np.mean(values**2), np.mean(values**4)
        excess = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (fourth / second**2 - 3) + 6)
    degrees = (1 / np.sum(share**2) - 1) * 2 / (2 + max(excess, 0.0))
    return np.sum(influence**2) * np.sum(share**2) / expected, max(degrees, 1.0)


@pytest.mark.parametrize("n", [2, 3, 4, 30])
@pytest.mark.parametrize("equal", [True, False])
def test_the_error_of_a_weighted_mean_is_unbiased_for_equal_variances(n, equal):
    rng = np.random.default_rng(n)
    values, weight = rng.standard_t(4, size=n), np.ones(n) if equal else rng.exponential(size=n)
    found = mean_estimate(values, weight)
    variance, degrees = textbook(found.influence, weight)
    assert found.standard_error**2 == pytest.approx(variance)
    assert found.degrees == pytest.approx(degrees)
    if equal:
        assert found.standard_error == pytest.approx(stats.sem(values))
        assert found.degrees <= n - 1
    if n > 3 and equal:
        tails = stats.kurtosis(values, bias=False)
        assert found.degrees == pytest.approx(max((n - 1) * 2 / (2 + max(tails, 0.0)), 1.0))


def test_units_without_weight_do_not_count():
    values, weight = np.array([0.1, 0.5, 0.4, 0.2, 0.9]), np.array([1.0, 2.0, 0.0, 1.0, 0.5])
    found, kept = mean_estimate(values, weight), mean_estimate(values[weight > 0], weight[weight > 0])
    assert (found.standard_error, found.degrees) == (kept.standard_error, kept.degrees)


def test_a_mean_with_bounds_has_wilsons_interval():
    values = np.r_[np.ones(18), np.zeros(6)]  # as far as the bounds: no variance is larger
    found = mean_estimate(values)
    quantile, error = stats.t.ppf(0.975, found.degrees), found.standard_error
    for end in found.interval(0.95, (0.0, 1.0)):
        # The standard error at the end is that of the estimate times that of a fraction there.
        at_end = error * np.sqrt(end * (1 - end) / (0.75 * 0.25))
        assert abs(0.75 - end) == pytest.approx(quantile * at_end)
    scaled = mean_estimate(2 * values - 1).interval(0.95, (-1.0, 1.0))
    np.testing.assert_allclose(scaled, 2 * np.array(found.interval(0.95, (0.0, 1.0))) - 1)


@pytest.mark.parametrize("n", [5, 30])
def test_few_values_have_a_longer_interval(n):
    values = np.random.default_rng(n).uniform(size=n)
    found = mean_estimate(values)
    error = found.standard_error * np.sqrt(1 + 1.5 / n)
    expected = wilson_interval(found.value, error, found.degrees, 0.95, (0.0, 1.0))
    assert found.interval(0.95, (0.0, 1.0)) == pytest.approx(expected)
    assert found.interval(0.95) == pytest.approx(
        stats.t.interval(0.95, found.degrees, values.mean(), stats.sem(values))
    )


def test_means_of_few_skewed_values_are_covered():
    """Fractions of 19 rows above a good one, over ten queries: 92% without the raised variance."""
    rng, inside = np.random.default_rng(0), 0
    truth = stats.norm.sf(2.3 / np.sqrt(2))
    for _ in range(1000):
        good = rng.normal(2.3, 1.0, size=10)
        values = (rng.normal(size=(10, 19)) > good[:, None]).mean(axis=1)
        low, high = mean_estimate(values).interval(0.95, (0.0, 1.0))
        inside += low <= truth <= high
    assert inside >= 930


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_equal_values_are_not_certain(value):
    found = mean_estimate(np.full(12, value))
    low, high = found.interval(0.95, (0.0, 1.0))
    rare = 1 - 0.025 ** (1 / 12)
    assert low == pytest.approx(value * (1 - rare))
    assert high == pytest.approx(value + (1 - value) * rare)
    assert np.isnan(found.interval(0.95)).all()
    low, high = found.difference_interval(0.95, (0.0, 1.0))
    assert low == pytest.approx(value - rare * (value + 1))
    assert high == pytest.approx(value + rare * (1 - value))
    p = found.p_value((0.0, 1.0))
    assert (p <= 0.05) == (low > 0)
    edge = mean_estimate(np.full(200, value)).p_value((0.0, 1.0))
    assert edge == pytest.approx(min(1.0, 2 / (1 + value) ** 200))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_a_p_value_and_its_interval_agree(seed, confidence):
    rng = np.random.default_rng(seed)
    values = rng.exponential(size=(8, 12)) * rng.uniform(0, 1, size=8)[:, None]
    found = compare_values({str(k): row for k, row in enumerate(values)}, confidence=confidence)
    for one in found.differences:
        assert one.is_clear == (one.p <= 1 - confidence) == (not one.low <= 0 <= one.high)
    alone = compare_values({"0": values[0], "1": values[1]}, confidence=confidence).differences[0]
    alike = compare_values(
        {str(k): row for k, row in enumerate(values)}, confidence=confidence, correction=None
    )
    assert (alone.p, alone.low, alone.high) == (
        alike.differences[0].p, alike.differences[0].low, alike.differences[0].high,
    )  # fmt: skip
    assert all(a.p >= b.p for a, b in zip(found.differences, alike.differences, strict=True))


def test_the_p_value_is_that_of_a_paired_t_test_at_every_size():
    rng = np.random.default_rng(0)
    for n in (5, 1000, 1001, 3000):
        a, b = rng.uniform(size=(2, n))  # lighter tails than normal: n - 1 degrees of freedom
        found = compare_values({"a": a, "b": b}).differences[0]
        degrees = mean_estimate(a - b).degrees
        assert n == 5 or degrees == pytest.approx(n - 1)
        assert found.p == pytest.approx(2 * stats.t.sf(abs(np.mean(a - b) / stats.sem(a - b)), degrees))


def test_skewed_differences_of_mean_zero_are_not_clear_beyond_a_thousand_queries():
    clear = dict.fromkeys((1000, 1001), 0)
    for n in clear:
        for seed in range(200):
            rng = np.random.default_rng(seed)
            apart = np.where(rng.random(n) < 0.9, 0.02, -0.18) + 0.01 * rng.normal(size=n)
            clear[n] += compare_values({"a": 0.5 + apart, "b": np.full(n, 0.5)}).differences[0].is_clear
    assert max(clear.values()) <= 20  # of 200, for a level of 5%


def test_the_methods_of_holm():
    p = np.array([0.01, 0.04, np.nan, 0.03, 0.5, 0.0])
    corrected = holm_factors(p) * p
    expected = {0: 0.04, 1: 0.09, 3: 0.09, 4: 0.5, 5: 0.0}  # 5 tests
    assert {k: pytest.approx(corrected[k]) for k in expected} == expected
    assert holm_factors(p)[2] == 6


def test_eleven_equal_models_are_seldom_told_apart():
    clear = {"holm": 0, None: 0}
    for seed in range(150):
        values = np.random.default_rng(seed).normal(size=(11, 30))
        for correction in clear:
            found = compare_values(
                {str(k): row for k, row in enumerate(values)}, correction=correction
            ).differences
            clear[correction] += any(one.is_clear for one in found)
    assert clear["holm"] <= 15 < clear[None]


def votes(rng, sizes, n_models=1):
    """Votes in groups of these sizes; the models are independent and equally good."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    right = rng.beta(2.0, 1.2, size=(n_models, len(sizes)))[:, group]
    margin = np.where(rng.random(right.shape) < right, 1.0, -1.0).T
    return pair_data(margin, np.zeros_like(margin), groups=group)


def test_votes_in_groups_of_unequal_sizes_have_honest_intervals():
    hits, clear, n = 0, 0, 120
    for seed in range(n):
        X, pairs = votes(np.random.default_rng(seed), SIZES, 2)
        found = compare(pairs, {"a": X[:, 0], "b": X[:, 1]}, measures="error")
        mean = found.measures["a"][0]
        hits += mean.low <= 0.375 <= mean.high
        clear += found.differences[0].is_clear
    assert hits >= 0.9 * n
    assert clear <= 0.1 * n


def test_groups_are_weighted_by_their_pairs():
    X, pairs = votes(np.random.default_rng(0), SIZES)
    found = error_estimate(pairs, X[:, 0])
    better, worse = X[:, 0].reshape(2, -1)
    wrong = np.bincount(np.repeat(np.arange(21), SIZES), better < worse) / SIZES
    expected = mean_estimate(wrong, SIZES.astype(float))
    for name in ("value", "standard_error", "degrees"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name)), name


def test_events_and_censored_rows_are_two_samples():
    rng = np.random.default_rng(0)
    event, time, scores = rng.random(60) < 0.15, rng.exponential(size=60), rng.normal(size=60)
    lives = Preferences.from_survival(event, time)
    found = evaluated(Scored(lives, {"m": scores}), [named_measure("error")])["m"][0].estimate
    parts = [textbook(found.influence[event == k], np.ones(np.sum(event == k))) for k in (False, True)]
    variances, degrees = np.array(parts).T
    assert found.standard_error == pytest.approx(np.sqrt(variances.sum()))
    assert found.degrees == pytest.approx(variances.sum() ** 2 / np.sum(variances**2 / degrees))
    assert found.degrees < 2 * event.sum()
    one_event = Preferences.from_survival(np.arange(20) == 3, np.arange(20.0))
    assert np.isnan(concordance_interval(one_event, rng.normal(size=20))[1:]).all()


def test_copies_of_rows_in_clusters_are_one_observation():
    rng = np.random.default_rng(0)
    n = 40
    x, time = rng.normal(size=(2, n))
    time, event = np.exp(time + x), rng.random(n) < 0.7
    twice = np.repeat(np.arange(n), 2)
    alone = concordance_interval((event, time), x)
    copies = concordance_interval((event[twice], time[twice]), x[twice], cluster=twice)
    np.testing.assert_allclose(copies, alone)
    y = (time > 1).astype(float)
    for scores in (x, time):  # the second without an error
        np.testing.assert_allclose(
            concordance_interval(y[twice], scores[twice], cluster=twice), concordance_interval(y, scores)
        )
    many = evaluate(x[twice], x[twice][:, None], y[twice], cluster=twice, measures=["error", "p@20"])
    assert "over clusters" in repr(many)
    once = evaluate(x, x[:, None], y, measures="error")
    np.testing.assert_allclose(
        [many["error"].low, many["error"].high], [once["error"].low, once["error"].high]
    )
    unclustered = evaluate(x[twice], x[twice][:, None], y[twice], measures=["error", "p@20"])
    assert many["p@20"].high - many["p@20"].low > unclustered["p@20"].high - unclustered["p@20"].low


def test_clusters_of_queries_are_the_units():
    rng = np.random.default_rng(0)
    y, x, z = rng.integers(3, size=200), *rng.normal(size=(2, 200))
    qid = np.arange(200) // 5
    once = compare(y, {"x": x, "z": z}, qid, measures="error")
    copies = np.concatenate([np.arange(200)] * 2)
    query = np.concatenate([qid, qid + 40])
    twice = compare(y[copies], {"x": x[copies], "z": z[copies]}, query, measures="error", cluster=qid[copies])
    for one, other in ((once.differences[0], twice.differences[0]),):
        np.testing.assert_allclose([one.low, one.high, one.p], [other.low, other.high, other.p])
    with pytest.raises(ValueError, match="a query is in two clusters"):
        compare(y, {"x": x, "z": z}, qid, cluster=np.arange(200))


def test_clusters_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="cluster has length 3"):
        concordance_interval([0, 1], [0.0, 1.0], cluster=[1, 2, 3])
    with pytest.raises(ValueError, match="cluster is for method='analytic'"):
        concordance_interval(([1, 1], [1.0, 2.0]), [0.0, 1.0], cluster=[1, 2], method="bootstrap")
    with pytest.raises(ValueError, match="a group is in two clusters"):
        cluster_of_units(np.array([0, 1]), np.array([0, 0]), "group")
    with pytest.raises(ValueError, match="correction must be 'holm' or None; got 'bonferroni'"):
        compare([0, 1], {"a": [0.0, 1.0], "b": [1.0, 0.0]}, correction="bonferroni")


# Sizes at which the code switches method: the results of both sides agree.


def test_numbers_of_resamples_agree(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300).astype(float)
    scores = y + 2 * rng.normal(size=300)

    def ends():
        found = evaluated(Scored(y, {"m": scores}), [named_measure("ndcg@10")])["m"][0]
        return np.array([found.low, found.high])

    many = ends()
    monkeypatch.setattr(bootstrap, "ROWS_AT_A_TIME", 300)  # batches of one resample: the same draws
    np.testing.assert_array_equal(ends(), many)
    monkeypatch.setattr(bootstrap, "ROWS_IN_ALL", 300)  # 100 resamples
    np.testing.assert_allclose(ends(), many, atol=0.1)
    monkeypatch.setattr(bootstrap, "MAX_ROWS", 299)  # none
    assert np.isnan(ends()).all()


def test_groups_and_rows_of_listed_pairs_agree(monkeypatch):
    rng = np.random.default_rng(0)
    first, second = np.arange(60).reshape(2, -1)
    pairs = Preferences.from_pairs(first, second, n_rows=60)
    scores = rng.normal(size=60) + (np.arange(60) < 30)
    groups = error_estimate(pairs, scores)
    assert len(groups.influence) == 30
    monkeypatch.setattr(intervals_module, "LARGEST_GROUP", 0.01)
    rows = error_estimate(pairs, scores)
    assert rows.value == groups.value
    # Each pair counts for both of its rows: rows are the cautious side, by the square root of 2.
    assert rows.standard_error == pytest.approx(np.sqrt(2) * groups.standard_error, rel=0.02)


def test_kurtosis_counts_from_four_units():
    three, four = (mean_estimate(np.arange(n) / n).degrees for n in (3, 4))
    assert (three, four) == (2.0, 3.0)
    assert Estimate(0.5, np.array([0.1, -0.1])).degrees == 1.0


def test_the_interval_of_an_auc_of_few_rows_contains_it():
    hits = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        y = np.arange(60) < 6
        x = rng.normal(size=60) + y
        found = concordance_interval(y, x)
        hits += found.low <= 0.7602 <= found.high  # Phi(1 / sqrt(2))
    assert hits >= 0.89 * 150
