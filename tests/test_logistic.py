"""The logistic loss by bins of scores, on score patterns that would show a lost digit."""

import itertools
from functools import partial

import numpy as np
import pytest

from rankwise import Preferences
from rankwise.losses import Logistic
from rankwise.preferences import ranking

N = 600  # more rows than are ever taken pair by pair
GENERATOR = np.random.default_rng(0)
NORMAL = GENERATOR.normal(size=N)
HALF = GENERATOR.random(N) < 0.5

PATTERNS = {
    "normal": 2 * NORMAL,
    "all equal": np.full(N, 3.7),
    "almost equal": 1e-9 * NORMAL,
    "an outlier above": np.concatenate([[1e6], NORMAL[1:]]),
    "an outlier below": np.concatenate([[-1e6], NORMAL[1:]]),
    "two clusters": np.where(HALF, -1e6, 1e6) + NORMAL,
    "near clusters": np.where(HALF, 0.0, 30.0) + NORMAL * np.where(GENERATOR.random(N) < 0.5, 1e-3, 1.0),
    "range of 200": GENERATOR.uniform(-100, 100, N),
    "range of 2,000": GENERATOR.uniform(-1000, 1000, N),
    "up to a million": GENERATOR.uniform(-1e6, 1e6, N),
    "ends of bins": 1.5 * GENERATOR.integers(-4, 5, N),
}


def extended(preferences, scores, direction):
    """Value, gradient and Hessian over all pairs in extended precision, and the size of the terms."""
    better, worse, _, weight = preferences.pairs()
    w = (weight / weight.max()).astype(np.longdouble)
    w /= w.sum()
    s, v = scores.astype(np.longdouble), direction.astype(np.longdouble)
    d = s[better] - s[worse]
    e = np.exp(-np.abs(d))
    loss = np.log1p(e)
    stiffness = w * e / (1 + e) ** 2

    def by_row(values, sign):
        square = np.zeros((len(s), len(s)), np.longdouble)
        square[better, worse] = values
        return square.sum(axis=1) + sign * square.sum(axis=0)

    return {
        "value": w @ (np.maximum(-d, 0) + loss),
        "gradient": by_row(-w * np.where(d > 0, e, 1) / (1 + e), -1),
        "diagonal": by_row(stiffness, 1),
        "product": by_row(stiffness * (v[better] - v[worse]), -1),
        "terms": w @ (np.abs(d) + loss),
    }


def by_bins(preferences, scores, direction, n_threads=1):
    loss = Logistic(preferences, average="pairs", n_threads=n_threads)
    value, gradient = loss.value_and_coefficients(scores)
    hessian = loss.hessian(scores)
    product = hessian.product(direction)
    return {"value": value, "gradient": gradient, "diagonal": hessian.diagonal, "product": product}


def assert_digits(preferences, scores):
    direction = np.random.default_rng(1).normal(size=len(scores))
    expected = extended(preferences, scores, direction)
    result = by_bins(preferences, scores, direction)
    assert abs(result["value"] - expected["value"]) <= 1e-12 * expected["terms"]
    for name in ("gradient", "diagonal", "product"):
        # However small the largest entry is: a pair 700 apart has its digits, as e^-700 is still a number.
        largest = np.abs(expected[name]).max()
        assert np.abs(result[name] - expected[name]).max() <= 1e-12 * largest + 1e-300, name


def labels(n_levels, n=N):
    generator = np.random.default_rng(2)
    return generator.permutation(n) if n_levels is None else generator.integers(n_levels, size=n)


@pytest.mark.parametrize("n_levels", [2, 5, 40, 300, None])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_all_pairs_to_twelve_digits(pattern, n_levels):
    assert_digits(Preferences.from_scores(labels(n_levels)), PATTERNS[pattern])


@pytest.mark.parametrize("n_levels", [2, 40, None])
@pytest.mark.parametrize("pattern", ["normal", "two clusters", "range of 2,000"])
@pytest.mark.parametrize("weights", [[0.0, 1e-6, 1.0, 1e6], [0.5, 1.0, 2.0], [1e-150, 1e150]])
def test_weights_of_any_size(weights, pattern, n_levels):
    weight = np.random.default_rng(3).choice(weights, size=N)
    assert_digits(Preferences.from_scores(labels(n_levels), sample_weight=weight), PATTERNS[pattern])


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("n_levels", [5, None])
def test_one_sided_sums_to_twelve_digits(n_levels, pattern):
    y, weight = labels(n_levels), np.random.default_rng(4).random(N)
    event = np.random.default_rng(5).random(N) < 0.4
    for preferences in (
        Preferences.from_scores(y, pair_weight="difference", sample_weight=weight),
        Preferences.from_survival(event, y, weight),
        Preferences.from_survival(event, y),
    ):
        assert_digits(preferences, PATTERNS[pattern])


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("n_levels", [2, 5, 40, 300, None])
def test_rows_in_perfect_order(n_levels, noise):
    # The line and the even part of the loss are large here and cancel: only far smaller numbers are left.
    y = labels(n_levels)
    weight = np.random.default_rng(4).random(N)
    for top in (40.0, 1000.0):
        scores = top / y.max() * (y + 0.1 * noise * NORMAL)
        for preferences in (
            Preferences.from_scores(y),
            Preferences.from_scores(y, sample_weight=weight),
            Preferences.from_survival(weight < 0.4, y, weight),
        ):
            assert_digits(preferences, scores)


@pytest.mark.parametrize("distance", [4.0, 8.0, 25.0])
@pytest.mark.parametrize("n_levels", [5, 40, 300, None])
def test_labels_far_apart_in_any_order(n_levels, distance):
    # All that is near a row is the row itself and its ties, which do not count.
    y = labels(n_levels)
    place = np.random.default_rng(10).permutation(y.max() + 1)
    assert_digits(Preferences.from_scores(y), distance * place[y] + 0.01 * NORMAL)


@pytest.mark.parametrize(
    ("n", "n_levels"),
    [*itertools.product([1, 2, 3, 4, 5, 17, 120, 127, 300, 600], [2, 5, 100, None]), (2060, 5)],
)
def test_queries_of_any_size(n, n_levels):
    y = labels(n_levels, n)
    qid = np.concatenate([np.zeros(n), np.ones(2)])
    preferences = Preferences.from_scores(np.concatenate([y, [0, 1]]), qid)
    assert_digits(preferences, np.random.default_rng(6).normal(size=n + 2))


def assert_same(first, second):
    for name, expected in first.items():
        largest = np.abs(expected).max()
        np.testing.assert_allclose(second[name], expected, rtol=0, atol=1e-12 * largest, err_msg=name)


@pytest.mark.parametrize("n_levels", [2, 6, 7, 70, 3000, None])
def test_ten_thousand_rows_by_two_methods(n_levels):
    # With every event observed, survival times have the pairs of a ranking, summed one-sidedly.
    y = labels(n_levels, 10_000)
    generator = np.random.default_rng(7)
    weight, direction = generator.random(10_000), generator.normal(size=10_000)
    for scores in (direction[::-1] * 2, generator.uniform(-1e5, 1e5, 10_000)):
        one_sided = Preferences.from_survival(np.ones(10_000), y, weight)
        assert_same(
            by_bins(one_sided, scores, direction),
            by_bins(Preferences.from_scores(y, sample_weight=weight), scores, direction),
        )


def large_structure(name):
    generator = np.random.default_rng(8)
    n = 200_000
    qid = generator.integers(3000, size=n)
    qid[:140_000] = 0
    y = generator.normal(size=n)
    weight = generator.random(n)
    build = {
        "distinct labels": lambda: Preferences.from_scores(y),
        "classes": lambda: Preferences.from_scores(np.round(y), sample_weight=weight),
        "many ties": lambda: Preferences.from_scores(np.round(1e4 * y)),
        "queries": lambda: Preferences.from_scores(np.round(y), qid),
        "gains": lambda: Preferences.from_scores(np.round(100 * y), qid, pair_weight="difference"),
        "survival": lambda: Preferences.from_survival(weight < 0.4, y),
        "order graph": lambda: Preferences.from_order(np.clip(np.round(y), -2, 2), "chain", weight),
    }
    return build[name]()


@pytest.mark.parametrize(
    "name", ["distinct labels", "classes", "many ties", "queries", "gains", "survival", "order graph"]
)
def test_neither_threads_nor_registers_change_a_bit(name, monkeypatch):
    preferences = large_structure(name)
    generator = np.random.default_rng(9)
    scores, direction = generator.normal(size=(2, preferences.n_rows))
    one = by_bins(preferences, scores, direction)
    results = [by_bins(preferences, scores, direction, n_threads) for n_threads in (2, 4)]
    for name in ("logistic_gradient", "logistic_diagonal", "logistic_product"):
        native = getattr(ranking._native, name)
        monkeypatch.setattr(ranking._native, name, partial(native, widest=False))
    results.append(by_bins(preferences, scores, direction, 2))
    for result in results:
        for key, expected in one.items():
            np.testing.assert_array_equal(result[key], expected)


def test_scores_of_any_size_give_numbers():
    for n in (3, 50, 700, 5000):
        scores = np.random.default_rng(0).choice([-1e300, -1e200, -1.0, 0.0, 2.0, 1e300], size=n)
        for y in (labels(None, n), np.arange(n) % 3):
            for preferences in (
                Preferences.from_scores(y),
                Preferences.from_scores(y, pair_weight="difference"),
                Preferences.from_survival(np.arange(n) % 2 == 0, y),
                Preferences.from_order(y % 3, "chain"),
                Preferences.from_pairs([0, 1], [1, 2], n_rows=n),
            ):
                for result in by_bins(preferences, scores, np.ones(n)).values():
                    assert np.isfinite(result).all()


def test_equal_scores_cost_log_two():
    for preferences in (
        Preferences.from_scores(labels(40)),
        Preferences.from_scores(labels(None), labels(9)),
    ):
        value, _ = Logistic(preferences).value_and_coefficients(np.full(N, -5.0))
        assert value == pytest.approx(np.log(2), rel=1e-14)


def test_the_scores_of_a_hessian_are_kept():
    scores = NORMAL.copy()
    hessian = Logistic(Preferences.from_scores(labels(5))).hessian(scores)
    before = hessian.product(NORMAL)
    scores[:] = 0
    np.testing.assert_array_equal(hessian.product(NORMAL), before)


def test_bad_arguments_get_a_sentence():
    loss = Logistic(Preferences.from_scores([1, 2, 3]))
    with pytest.raises(ValueError, match="scores has length 2, but must have length 3"):
        loss.value([1.0, 2.0])
    with pytest.raises(ValueError, match="direction contains NaN or infinity"):
        loss.hessian([1.0, 2.0, 3.0]).product([1.0, np.inf, 0.0])
    with pytest.raises(ValueError, match="average must be one of"):
        Logistic(Preferences.from_scores([1, 2, 3]), average="mean")
