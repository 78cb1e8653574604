import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
from rankwise import Preferences
from rankwise.losses import (
    LOSSES,
    Hinge,
    LeastSquares,
    Logistic,
    PiecewiseLinear,
    Smooth,
    SquaredHinge,
    pair_sums,
)
from rankwise.losses.pair_sums import adjacency, count_violations, partner_sums
from rankwise.losses.squared_hinge import squared_hinge_sums
from rankwise.preferences.ranking import Ranking
from strategies import SCORES, cases, vector

METHODS = ("merge", "tree", "pairs")
AVERAGES = ("queries", "pairs")


def has_weight(case, average):
    """Whether the reference, which multiplies weights as they come, can normalise them."""
    return sum(w for *_, w, _, _ in case.normalised(average)) == pytest.approx(1.0)


def close(actual, expected, scores):
    """Equal to rounding of the largest terms."""
    size = 1 + np.abs(expected).max() + np.abs(scores).max() ** 2
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12 * size)


@settings(max_examples=300, deadline=None)
@given(cases(), st.sampled_from(AVERAGES), st.sampled_from(METHODS), st.sampled_from([1, 2, 3]))
def test_hinge_is_the_textbook_formula(case, average, method, n_threads):
    assume(has_weight(case, average))
    loss = Hinge(case.preferences, average=average, counting=method, n_threads=n_threads)
    value, c = loss.value_and_coefficients(case.scores)
    expected_value, expected_c = reference.hinge(case.normalised(average), case.scores)
    np.testing.assert_allclose(c, expected_c, rtol=1e-9, atol=1e-12)
    close(value, expected_value, case.scores)


@settings(max_examples=300, deadline=None)
@given(cases(), st.sampled_from(AVERAGES), st.sampled_from(METHODS), st.sampled_from([1, 2, 3]), st.data())
def test_squared_hinge_is_the_textbook_formula(case, average, method, n_threads, data):
    assume(has_weight(case, average))
    loss = SquaredHinge(case.preferences, average=average, counting=method, n_threads=n_threads)
    value, c = loss.value_and_coefficients(case.scores)
    pairs = case.normalised(average)
    expected_value, expected_c = reference.squared_hinge(pairs, case.scores)
    close(value, expected_value, case.scores)
    close(c, expected_c, case.scores)
    # Exactly on the margin the second derivative jumps, and rounding decides the side.
    assume(all(abs(case.scores[i] - case.scores[j] - 1) > 1e-9 for i, j, *_ in pairs))
    hessian = reference.squared_hinge_hessian(pairs, case.scores)
    gradient, diagonal = loss.derivatives(case.scores)
    np.testing.assert_array_equal(gradient, c)
    np.testing.assert_allclose(diagonal, np.diag(hessian), rtol=1e-9, atol=1e-12)
    direction = vector(data.draw, SCORES, len(case.scores))
    close(loss.hessian(case.scores).product(direction), hessian @ direction, direction)


@settings(max_examples=300, deadline=None)
@given(cases(), st.sampled_from(AVERAGES), st.sampled_from([1, 2, 3]), st.data())
def test_logistic_is_the_textbook_formula(case, average, n_threads, data):
    assume(has_weight(case, average))
    loss = Logistic(case.preferences, average=average, n_threads=n_threads)
    value, c = loss.value_and_coefficients(case.scores)
    pairs = case.normalised(average)
    expected_value, expected_c = reference.logistic(pairs, case.scores)
    close(value, expected_value, case.scores)
    np.testing.assert_allclose(c, expected_c, rtol=1e-9, atol=1e-12)
    direction = vector(data.draw, SCORES, len(case.scores))
    H = reference.logistic_hessian(pairs, case.scores)
    hessian = loss.hessian(case.scores)
    np.testing.assert_allclose(hessian.diagonal, np.diag(H), rtol=1e-9, atol=1e-12)
    close(hessian.product(direction), H @ direction, direction)


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from(AVERAGES), st.sampled_from(["unit", "magnitude"]))
def test_least_squares_is_the_textbook_formula(case, average, cost):
    assume(has_weight(case, average))
    loss = LeastSquares(case.preferences, average=average, cost=cost)
    pairs = case.normalised(average)
    value, c = loss.value_and_coefficients(case.scores)
    expected_value, expected_c = reference.least_squares(pairs, case.scores, cost)
    close(value, expected_value, case.scores)
    close(c, expected_c, case.scores)
    L = reference.laplacian(pairs, len(case.scores))
    close(loss.product(case.scores), L @ case.scores, case.scores)
    hessian = loss.hessian(case.scores)
    close(hessian.product(case.scores), 2 * L @ case.scores, case.scores)
    close(hessian.diagonal, 2 * np.diag(L), case.scores)


@settings(max_examples=100, deadline=None)
@given(cases(), st.sampled_from(AVERAGES))
def test_the_loss_of_zero_scores(case, average):
    pairs, zeros = case.normalised(average), np.zeros(len(case.scores))
    assume(has_weight(case, average))
    for loss in (
        Hinge(case.preferences, average=average),
        SquaredHinge(case.preferences, average=average),
        LeastSquares(case.preferences, average=average, cost="unit"),
        LeastSquares(case.preferences, average=average, ties="keep"),
    ):
        assert loss.at_zero == pytest.approx(loss.value(zeros), rel=1e-9)
    squares = sum(w * t**2 for _, _, w, t, _ in pairs)
    assert LeastSquares(case.preferences, average=average).at_zero == pytest.approx(squares, rel=1e-7)


@pytest.mark.parametrize("loss_type", [Hinge, SquaredHinge, LeastSquares])
def test_a_loss_declares_its_kind(loss_type):
    loss = loss_type(Preferences.from_scores([2.0, 1.0, 0.0]))
    assert isinstance(loss, PiecewiseLinear) == hasattr(loss, "plane")
    assert isinstance(loss, Smooth) == hasattr(loss, "hessian")
    assert loss.formula.startswith("mean over pairs of ")


def large_case(n, n_levels, n_queries, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n) if n_levels is None else rng.integers(n_levels, size=n).astype(float)
    qid = None if n_queries is None else rng.integers(n_queries, size=n)
    scores = np.where(rng.random(n) < 0.3, np.round(y * 2) / 2, 0.5 * y + rng.normal(size=n))
    return y, qid, scores


@pytest.mark.parametrize("n_levels", [None, 2, 5, 400])
@pytest.mark.parametrize("n_queries", [None, 1, 7, 900])
def test_counting_methods_agree_exactly(n_levels, n_queries):
    y, qid, scores = large_case(3000, n_levels, n_queries)
    preferences = Preferences.from_scores(y, qid)
    merge = Hinge(preferences, average="pairs").value_and_coefficients(scores)
    for method in ("tree", "pairs"):
        value, c = Hinge(preferences, average="pairs", counting=method).value_and_coefficients(scores)
        np.testing.assert_array_equal(c, merge[1])
        assert value == pytest.approx(merge[0], rel=1e-12)


@pytest.mark.parametrize("n_levels", [None, 5])
def test_threads_inside_a_query_change_no_bit(n_levels):
    y, _, scores = large_case(300_000, n_levels, None)
    weight = np.random.default_rng(1).random(len(y))
    for preferences in (Preferences.from_scores(y), Preferences.from_scores(y, sample_weight=weight)):
        for loss_type in (Hinge, SquaredHinge):
            one, two, five = (
                loss_type(preferences, n_threads=t).value_and_coefficients(scores) for t in (1, 2, 5)
            )
            assert one[0] == two[0] == five[0]
            np.testing.assert_array_equal(one[1], two[1])
            np.testing.assert_array_equal(one[1], five[1])


def test_threads_over_queries_change_no_bit():
    y, qid, scores = large_case(200_000, 5, 3000)
    qid[:140_000] = 0
    for loss_type in (Hinge, SquaredHinge):
        one, two, five = (
            loss_type(Preferences.from_scores(y, qid), n_threads=t).value_and_coefficients(scores)
            for t in (1, 2, 5)
        )
        assert one[0] == two[0] == five[0]
        np.testing.assert_array_equal(one[1], two[1])
        np.testing.assert_array_equal(one[1], five[1])


@pytest.mark.parametrize("weights", [False, True])
def test_large_merge_equals_all_pairs(weights):
    y, qid, scores = large_case(4000, None, 3)
    rng = np.random.default_rng(3)
    weight = rng.choice([0.0, 1e-8, 1.0, 1e8], size=len(y)) if weights else None
    preferences = Preferences.from_scores(y, qid, weight, pair_weight="difference")
    direction = rng.normal(size=len(y))
    losses = [SquaredHinge(preferences, counting=method) for method in METHODS]
    value, c = losses[2].value_and_coefficients(scores)
    product = losses[2].hessian(scores).product(direction)
    for loss in losses[:2]:
        other_value, other_c = loss.value_and_coefficients(scores)
        assert other_value == pytest.approx(value, rel=1e-11)
        np.testing.assert_allclose(other_c, c, rtol=1e-8, atol=1e-13)
        np.testing.assert_allclose(loss.hessian(scores).product(direction), product, rtol=1e-8, atol=1e-13)


def test_misordered_weights_agree_on_both_sides_of_small_queries(monkeypatch):
    """Queries of few rows compare all pairs; larger ones are sorted."""
    rng = np.random.default_rng(0)
    labels, query, weight = rng.integers(0, 3, 200), rng.integers(0, 9, 200), rng.uniform(0.5, 2.0, 200)
    ranking = Preferences.from_scores(labels, query, weight)
    scores = rng.integers(-3, 4, 200) * 0.1  # many ties
    found = []
    for most in (0, 10**9):
        monkeypatch.setattr(pair_sums, "SMALL_QUERY", most)
        found.append(pair_sums.misordered_weight(ranking, scores))
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_value_is_right_for_a_million_million_pairs():
    n = 1_500_000
    y = np.arange(n, dtype=float)
    preferences = Preferences.from_scores(y)
    assert preferences.n_pairs == n * (n - 1) // 2
    # All scores equal: every pair is violated and costs exactly 1.
    value, c = Hinge(preferences).value_and_coefficients(np.full(n, 7.25))
    assert value == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(c * preferences.n_pairs, n - 1 - 2 * y, rtol=1e-12)
    # Reversed by half a step: the pair (i, j) costs 1 + (j - i) / 2, on average 1 + (n + 1) / 6.
    value, _ = Hinge(preferences).value_and_coefficients(-y / 2)
    assert value == pytest.approx(1 + (n + 1) / 6, rel=1e-12)


def test_a_row_of_weight_two_equals_the_row_given_twice():
    y, qid, scores = large_case(60, 4, 3)
    weight = np.random.default_rng(0).integers(0, 3, size=60)
    repeated = np.repeat(np.arange(60), weight)
    for loss_type in (Hinge, SquaredHinge, LeastSquares, Logistic):
        for average in AVERAGES:
            once = loss_type(Preferences.from_scores(y, qid, weight), average=average)
            twice = loss_type(Preferences.from_scores(y[repeated], qid[repeated]), average=average)
            value, c = once.value_and_coefficients(scores)
            value_2, c_2 = twice.value_and_coefficients(scores[repeated])
            assert value == pytest.approx(value_2, rel=1e-12)
            np.testing.assert_allclose(c, np.bincount(repeated, c_2, minlength=60), atol=1e-14)


def test_weight_constant_within_queries_cancels_and_query_weight_does_not():
    y, qid, scores = large_case(60, 4, 3)
    per_query = np.array([1e-150, 1.0, 1e150])[qid]
    plain, weighted = (
        Hinge(Preferences.from_scores(y, qid, w)).value_and_coefficients(scores) for w in (None, per_query)
    )
    assert weighted[0] == pytest.approx(plain[0], rel=1e-12)
    np.testing.assert_allclose(weighted[1], plain[1], rtol=1e-12)
    only_last = Hinge(Preferences.from_scores(y, qid, query_weight=np.array([0.0, 0.0, 1.0])[qid]))
    alone = Hinge(Preferences.from_scores(y[qid == 2]))
    assert only_last.value(scores) == pytest.approx(alone.value(scores[qid == 2]), rel=1e-12)


def test_offsets_within_queries_change_nothing():
    y, qid, scores = large_case(500, None, 5)
    offset = np.array([1e6, -1e6, 3.0, 0.0, 1e5])[qid]
    for loss_type in (Hinge, SquaredHinge):
        loss = loss_type(Preferences.from_scores(y, qid))
        value, c = loss.value_and_coefficients(scores)
        moved_value, moved_c = loss.value_and_coefficients(scores + offset)
        assert moved_value == pytest.approx(value, rel=1e-7)
        np.testing.assert_allclose(moved_c, c, atol=1e-7)


@pytest.mark.parametrize("loss_type", [SquaredHinge, LeastSquares, Logistic])
def test_gradients_are_derivatives(loss_type):
    y, qid, scores = large_case(40, None, 2)
    loss = loss_type(Preferences.from_scores(y, qid))
    _, c = loss.value_and_coefficients(scores)
    for i in range(0, 40, 7):
        step = np.zeros(40)
        step[i] = 1e-6
        slope = (loss.value(scores + step) - loss.value(scores - step)) / 2e-6
        assert slope == pytest.approx(c[i], abs=1e-7)


def test_adversarial_scores_for_the_radix_sort():
    rng = np.random.default_rng(0)
    n = 5000
    y = rng.normal(size=n)
    near = 1.0 + rng.integers(0, 50, size=n) * np.finfo(float).eps  # equal in the upper 33 bits
    tiny = rng.choice([0.0, -0.0, 5e-324, -5e-324, 1e-308], size=n)
    huge = rng.choice([-1e308, 1e308, 0.0, 1.0], size=n)
    for scores in (near, tiny, huge, np.zeros(n)):
        preferences = Preferences.from_scores(y)
        for margin in (0.0, np.nextafter(0, 1), 1.0):
            expected = partner_sums(preferences, scores, margin=margin, counting="pairs")
            assert isinstance(preferences, Ranking)
            net, violations, _ = count_violations(preferences, scores, margin=margin)
            np.testing.assert_array_equal(net, expected.up - expected.down)
            assert violations[0] == expected.up.sum()


@pytest.mark.parametrize("n", [16, 17, 127, 128, 300, 511, 512, 1100, 4097])
@pytest.mark.parametrize("n_levels", [2, 8, 9, 40, None])
@pytest.mark.parametrize("structure", ["plain", "weighted", "gains", "survival"])
def test_sums_by_label_are_those_over_all_pairs(n, n_levels, structure):
    """Around the sizes where rows are sorted and entered differently, with labels of all lengths."""
    rng = np.random.default_rng([n, n_levels or 0])
    y = rng.normal(size=n) if n_levels is None else np.floor(n_levels * rng.random(n) ** 3)
    scores = np.where(rng.random(n) < 0.3, np.round(y), 0.5 * y + rng.normal(size=n))
    preferences = {
        "plain": lambda: Preferences.from_scores(y),
        "weighted": lambda: Preferences.from_scores(y, sample_weight=rng.random(n)),
        "gains": lambda: Preferences.from_scores(y, pair_weight="difference"),
        "survival": lambda: Preferences.from_survival(rng.random(n) < 0.6, y),
    }[structure]()
    moment = rng.normal(size=n)
    for margin in (0.0, 1.0):
        expected = partner_sums(preferences, scores, moment, margin=margin, counting="pairs")
        found = partner_sums(preferences, scores, moment, margin=margin)
        for part, exact in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, exact, rtol=1e-11, atol=1e-11 * max(1.0, np.abs(exact).max()))
            np.testing.assert_array_equal(part[exact == 0], 0.0)
    product = adjacency(preferences, scores)(moment)
    np.testing.assert_allclose(product, found.moment_up + found.moment_down, atol=1e-11 * n)
    of_pairs = squared_hinge_sums(preferences, scores, 0.5, counting="pairs")
    for part, exact in zip(squared_hinge_sums(preferences, scores, 0.5), of_pairs, strict=True):
        np.testing.assert_allclose(part, exact, rtol=1e-11, atol=1e-11 * np.abs(exact).max())


def test_more_pairs_than_32_bits_count():
    m, step = 200_000, 2.0**-12  # scores are exact, and a pair is violated within 4,095 ranks
    rank = np.random.default_rng(0).permutation(m)
    loss = Hinge(Preferences.from_scores(rank))
    n_pairs = m * (m - 1) // 2
    assert loss.preferences.n_pairs == n_pairs > 2**34
    value, coefficients, share = loss.plane(np.zeros(m))
    assert (value, share) == pytest.approx((1.0, 1.0), rel=1e-14)
    np.testing.assert_allclose(coefficients * n_pairs, m - 1 - 2 * rank, atol=1e-6)
    value, _, share = loss.plane(step * rank)
    gap = np.arange(1, round(1 / step))
    assert round(share * n_pairs) == np.sum(m - gap) < n_pairs
    assert value == pytest.approx(np.sum((m - gap) * (1 - step * gap)) / n_pairs, rel=1e-12)


def test_sums_of_queries_that_are_cut_into_parts_are_counts_and_the_same_for_any_threads():
    y, _, scores = large_case(1_100_000, None, None)
    y[: len(y) // 2] = np.round(y[: len(y) // 2], 3)
    preferences, ones = Preferences.from_scores(y), np.ones(len(y))
    one, three = (partner_sums(preferences, scores, ones, n_threads=n_threads) for n_threads in (1, 3))
    assert one.up.sum() == one.down.sum() > 2**33
    for found in (one, three):
        np.testing.assert_array_equal(found.moment_up, one.up)
        np.testing.assert_array_equal(found.moment_down, one.down)
    one, three = (squared_hinge_sums(preferences, scores, 1.0, n_threads=n_threads) for n_threads in (1, 3))
    for part, same in zip(one, three, strict=True):
        np.testing.assert_array_equal(part, same)


def test_scratch_is_neither_shared_nor_copied():
    y, qid, scores = large_case(20_000, None, 3)
    preferences = Preferences.from_scores(y, qid)
    loss = SquaredHinge(preferences)
    expected = loss.value_and_coefficients(scores)
    with ThreadPoolExecutor(4) as pool:
        several = list(pool.map(loss.value_and_coefficients, [scores] * 8))
    copied = SquaredHinge(pickle.loads(pickle.dumps(copy.deepcopy(preferences))))
    for value, coefficients in [*several, copied.value_and_coefficients(scores)]:
        assert value == expected[0]
        np.testing.assert_array_equal(coefficients, expected[1])


@pytest.mark.parametrize("n", [5, 60, 400])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_derivatives_of_the_logistic_loss_are_gradient_and_diagonal(n, wide, weights):
    y, qid, scores = large_case(4 * n, 4, 4)
    weight = np.random.default_rng(2).random(len(y)) if weights else None
    scores = 60.0 * scores if wide else scores
    loss = Logistic(Preferences.from_scores(y, qid, weight))
    gradient, curvature = loss.derivatives(scores)
    np.testing.assert_array_equal(gradient, loss.value_and_coefficients(scores)[1])
    diagonal = loss.hessian(scores).diagonal
    np.testing.assert_allclose(curvature, np.maximum(diagonal, np.abs(gradient) / 10), rtol=1e-12)


def test_bad_arguments_get_a_sentence():
    preferences = Preferences.from_scores([1, 2, 3])
    with pytest.raises(ValueError, match="counting must be one of"):
        Hinge(preferences, counting="fast")
    with pytest.raises(ValueError, match="average must be one of"):
        Hinge(preferences, average="mean")
    with pytest.raises(ValueError, match="scores has length 2, but must have length 3"):
        Hinge(preferences).value([1.0, 2.0])
    with pytest.raises(ValueError, match="NaN or infinity"):
        Hinge(preferences).value([1.0, 2.0, np.nan])
    with pytest.raises(ValueError, match="cost must be one of"):
        LeastSquares(preferences, cost="hinge")


# Scores far apart


FAR_WEIGHTS = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 2.0, 1.0, 1.0])


def far_structures():
    y, qid = np.array([0, 1, 2, 3, 9, 3, 4, 5]), np.array([0, 0, 0, 0, 0, 1, 1, 1])
    listed = reference.ranking_pairs(y, None, FAR_WEIGHTS)
    better, worse, weight = (np.array(column) for column in list(zip(*listed, strict=True))[:3])
    classes = np.array(list("abcdaabd"))
    edges = [("d", "c"), ("c", "b"), ("b", "a")]
    kept = np.flatnonzero(weight > 0)
    return {
        "ranking": Preferences.from_scores(y, sample_weight=FAR_WEIGHTS),
        "unweighted": Preferences.from_scores(y),
        "queries": Preferences.from_scores(y, qid, FAR_WEIGHTS),
        "gains": Preferences.from_scores(y, pair_weight="difference"),
        "survival": Preferences.from_survival(np.arange(8) % 3 > 0, y),
        "order": Preferences.from_order(classes, edges, FAR_WEIGHTS),
        "pairs": Preferences.from_pairs(better[kept], worse[kept], weight=weight[kept], n_rows=8),
    }


@pytest.mark.parametrize("kind", sorted(far_structures()))
@pytest.mark.parametrize("distance", [1.0, 1e4, 1e8, 1e9, 1e12])
@pytest.mark.parametrize("outlier", [None, 4, 5])
@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_the_squared_hinge_is_right_for_scores_far_apart(kind, distance, outlier, average):
    preferences = far_structures()[kind]
    scores = np.array([0.0, 0.5, 1.0, 1.5, 1.25, 1.25, 3.5, 3.0])
    scores[preferences.n_rows // 2 :] += distance
    if outlier is not None:
        scores[outlier] = -2 * distance
    pairs = preferences.mean_pairs(average)
    violation = np.maximum(0.0, 1.0 - (scores[pairs.better] - scores[pairs.worse]))
    loss = SquaredHinge(preferences, average=average)
    value, gradient = loss.value_and_coefficients(scores)
    assert value == pytest.approx(float(pairs.weight @ violation**2), rel=1e-6)
    pushes = 2 * pairs.weight * violation
    expected = np.bincount(pairs.worse, pushes, 8) - np.bincount(pairs.better, pushes, 8)
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * (1 + violation.max()))


def test_the_squared_hinge_of_two_far_groups():
    preferences = Preferences.from_scores([0, 1, 2, 3], sample_weight=[1, 2, 3, 1])
    for distance in (1e8, 1e9, 1e12):
        value = SquaredHinge(preferences).value([0.0, 0.5, distance, distance + 0.5])
        assert value == pytest.approx(0.25 * (2 + 3) / 17, rel=1e-12)


LEAST_SQUARES = ("unit", "magnitude", "relative")


@settings(max_examples=300, deadline=None)
@given(
    cases(),
    st.sampled_from(AVERAGES),
    st.sampled_from(["hinge", "squared_hinge", "logistic", *LEAST_SQUARES]),
    st.sampled_from([1, 2]),
    st.data(),
)
def test_slopes_of_pairs_are_the_textbook_formula(case, average, name, n_threads, data):
    assume(has_weight(case, average))
    pairs = case.normalised(average)
    if name in LEAST_SQUARES:
        assume(name != "relative" or min(t for _, _, _, t, _ in pairs) > 0.05)
        loss = LeastSquares(case.preferences, cost=name, average=average, n_threads=n_threads)
    else:
        loss = LOSSES[name](case.preferences, average=average, n_threads=n_threads)
    # No pair on the margin, where the slope jumps and rounding decides the side.
    scores = np.clip(case.scores, -100, 100) + 0.0137 * np.arange(len(case.scores))
    assume(all(abs(scores[i] - scores[j] - 1) > 1e-9 for i, j, *_ in pairs))
    C = reference.slopes(pairs, scores, name)
    direction = vector(data.draw, st.floats(-3, 3), len(scores))
    product = loss.slopes(scores)
    scale = np.abs(C).sum(axis=1).max() + np.abs(scores).max() ** 2
    np.testing.assert_allclose(product(direction), C @ direction, rtol=1e-9, atol=1e-12 * scale)
    ones = np.ones(len(scores))
    coefficients = loss.value_and_coefficients(scores)[1]
    np.testing.assert_allclose(product(ones), coefficients, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(loss.row_mass.sum(), 2.0)
    i, j, _, t, _ = pairs[0]
    d = scores[i] - scores[j]
    first, second = loss.pair_derivatives(np.array([d]), np.array([t]))
    expected = reference.pair_slope(name, d, t)
    unit = t**2 if name == "relative" else 1.0  # 1 / t^2 is part of the weight
    assert first[0] == pytest.approx(unit * expected[0])
    assert second[0] == pytest.approx(unit * expected[1])


@settings(max_examples=100, deadline=None)
@given(cases(), st.sampled_from(AVERAGES), st.sampled_from([0.25, 0.7]), st.data())
def test_smoothed_hessian_of_the_hinge_is_the_textbook_formula(case, average, width, data):
    assume(has_weight(case, average))
    scores = np.clip(case.scores, -100, 100)
    pairs = case.normalised(average)
    differences = np.array([scores[i] - scores[j] for i, j, *_ in pairs])
    assume(all(np.abs(differences - 1 - sign * width).min() > 1e-9 for sign in (-1, 1)))
    near = [
        (i, j, w / (2 * width), 1.0, q) for i, j, w, _, q in pairs if abs(scores[i] - scores[j] - 1) < width
    ]
    expected = reference.laplacian(near, len(scores))
    loss = Hinge(case.preferences, average=average)
    hessian = loss.smoothed_hessian(scores, width)
    direction = vector(data.draw, st.floats(-3, 3), len(scores))
    np.testing.assert_allclose(hessian.diagonal, np.diag(expected), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(hessian.product(direction), expected @ direction, rtol=1e-9, atol=1e-11)
    weight = np.array([w for _, _, w, _, _ in pairs])
    mean = weight @ differences
    deviation = np.sqrt(max(weight @ differences**2 - mean**2, 0.0))
    assert loss.difference_deviation(scores) == pytest.approx(
        deviation, abs=1e-5 * (1 + np.abs(scores).max())
    )
