"""Clicks: pairs of the textbook, unbiased weights, propensities from interventions and from features."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score

import independent
import reference
from rankwise import NoPairsError, Preferences, RankLogistic, RankRLS, RankSVM
from rankwise.losses import Hinge, LeastSquares, Logistic, SquaredHinge
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold, leave_query_out
from rankwise.preferences import estimate_propensities
from strategies import SCORES, vector


@st.composite
def click_logs(draw):
    n = draw(st.integers(2, 14))
    qid, impression = (np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))) for _ in range(2))
    clicked = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    propensity = np.array(draw(st.lists(st.sampled_from([1.0, 0.5, 0.2, 0.01]), min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.3]), min_size=n, max_size=n)))
    pairs = reference.click_pairs(clicked, 1 / propensity, qid, impression, weight)
    assume(any(pair[2] > 0 for pair in pairs))
    return clicked, propensity, qid, impression, weight, vector(draw, SCORES, n)


def close(actual, expected, scores):
    size = 1 + np.abs(expected).max() + np.abs(scores).max() ** 2
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11 * size)


def from_log(clicked, propensity, qid, impression):
    position = np.arange(1, len(clicked) + 1)
    return Preferences.from_clicks(clicked, position, qid, impression=impression, propensity=propensity)


@settings(max_examples=100, deadline=None)
@given(click_logs(), st.sampled_from(["queries", "pairs"]))
def test_losses_are_the_sums_over_clicked_rows_and_all_others(drawn, average):
    clicked, propensity, qid, impression, weight, scores = drawn
    clicks = from_log(clicked, propensity, qid, impression).weighted(weight)
    pairs = reference.click_pairs(clicked, 1 / propensity, qid, impression, weight)
    pairs = reference.normalised([pair for pair in pairs if pair[2] > 0])
    assert clicks.n_pairs == len(pairs)
    references = {
        Hinge: reference.hinge(pairs, scores),
        SquaredHinge: reference.squared_hinge(pairs, scores),
        Logistic: reference.logistic(pairs, scores),
        LeastSquares: reference.least_squares(pairs, scores, "unit"),
    }
    for loss, (value, coefficients) in references.items():
        found = loss(clicks, average=average).value_and_coefficients(scores)
        close(found[0], value, scores)
        close(found[1], coefficients, scores)
    for loss, hessian in (
        (SquaredHinge, reference.squared_hinge_hessian),
        (Logistic, reference.logistic_hessian),
    ):
        expected, found = hessian(pairs, scores), loss(clicks, average=average).hessian(scores)
        close(found.diagonal, np.diag(expected), scores)
        close(found.product(scores), expected @ scores, scores)
    listed = clicks.mean_pairs(average)
    assert sorted(zip(listed.better, listed.worse, strict=True)) == sorted(pair[:2] for pair in pairs)


@settings(max_examples=50, deadline=None)
@given(click_logs())
def test_slices_sums_and_slopes_are_those_of_the_listed_pairs(drawn):
    clicked, propensity, qid, impression, _, scores = drawn
    clicks = from_log(clicked, propensity, qid, impression)
    listed = Preferences.from_pairs(*clicks.pairs(), n_rows=clicks.n_rows)
    for found, expected in zip(clicks.partner_weights(), listed.partner_weights(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12 * expected.max())
    assert clicks.total_weight().sum() == pytest.approx(listed.total_weight().sum())
    for loss in (Hinge, SquaredHinge, Logistic):
        found, expected = (loss(each).slopes(scores)(scores) for each in (clicks, listed))
        close(found, expected, scores)
    rows = np.random.default_rng(len(scores)).integers(0, len(scores), len(scores))
    for chosen in (np.unique(rows), rows):
        part, whole = clicks[chosen], listed[chosen]
        assert part.n_pairs == whole.n_pairs
        assert part.pairs().weight.sum() == pytest.approx(whole.pairs().weight.sum())
    wrong = ranking_error(clicks, scores, average="pairs")
    assert wrong == pytest.approx(ranking_error(listed, scores), abs=1e-12)


def test_expected_weights_are_the_relevance():
    """All outcomes of one impression, each with its probability: pair (i, j) weighs r_i in the mean."""
    propensity, relevance = np.array([1.0, 0.5, 0.25]), np.array([0.2, 0.9, 0.6])
    expected = np.zeros((3, 3))
    for outcome in itertools.product((0, 1), repeat=3):
        if not any(outcome):
            continue
        chance = propensity * relevance
        probability = np.prod(np.where(outcome, chance, 1 - chance))
        clicks = Preferences.from_clicks(outcome, [1, 2, 3], ["q"] * 3, propensity=propensity)
        better, worse, _, weight = clicks.pairs()
        np.add.at(expected, (better, worse), probability * weight)
    np.testing.assert_allclose(expected, relevance[:, None] * (1 - np.eye(3)), atol=1e-12)


def simulated(n_impressions, seed=0, eta=1.0, n_queries=40, length=6):
    """Return a log in random orders; a document is found relevant with a chance given by its features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries, length, 3))
    relevance = 1 / (1 + np.exp(1 - X @ [1.0, -0.5, 0.3]))
    query = rng.integers(n_queries, size=n_impressions)
    old = X @ [0.5, 0.5, 0.0]
    order = np.argsort(-(old[query] + rng.normal(size=(n_impressions, length))), axis=1)
    place = np.arange(1, length + 1)
    row = (query[:, None], order)
    clicked = rng.random(order.shape) < relevance[row] / place**eta
    return {
        "clicked": clicked.ravel(),
        "position": np.tile(place, n_impressions),
        "qid": np.repeat(query, length),
        "impression": np.repeat(np.arange(n_impressions), length),
        "document": order.ravel(),
        "X": X[row].reshape(-1, 3),
    }


def columns(log, *names):
    return {name: log[name] for name in names}


LOG = ("clicked", "position", "qid")


@pytest.mark.parametrize("source", ["document", "X"])
def test_propensities_are_recovered(source):
    log = simulated(30_000)
    curve = estimate_propensities(**columns(log, *LOG, source))
    truth = 1 / curve.position
    np.testing.assert_allclose(curve.value, truth, rtol=0.05)
    assert (curve.low[1:] < curve.value[1:]).all()
    assert (curve.value[1:] < curve.high[1:]).all()
    assert (curve.high[1:] / curve.low[1:] < 1.25).all()
    assert curve.method == {"document": "interventions", "X": "regression"}[source]
    assert curve.n_clicks.sum() == log["clicked"].sum()
    assert len(curve.to_frame()) == len(str(curve).splitlines()) - 2 == 6
    assert curve.as_dicts()[1]["n_clicks"] == curve.n_clicks[1]


def test_interventions_maximise_the_likelihood_of_where_clicks_fell():
    from scipy.optimize import minimize

    log = simulated(300)
    curve = estimate_propensities(**columns(log, *LOG, "document"))

    def loss(free):
        value, total = np.append(1.0, np.exp(free)), 0.0
        for query in range(40):
            for document in range(6):
                at = log["position"][(log["qid"] == query) & (log["document"] == document)] - 1
                hit = log["clicked"][(log["qid"] == query) & (log["document"] == document)]
                shown = np.bincount(at, minlength=6) * value
                clicks = np.bincount(at, hit, minlength=6)
                total -= sum(c * np.log(s / shown.sum()) for c, s in zip(clicks, shown, strict=True) if c)
        return total

    best = minimize(loss, np.zeros(5), tol=1e-8)
    np.testing.assert_allclose(np.log(curve.value[1:]), best.x, atol=1e-4)


def test_positions_without_a_link_take_the_nearest_above():
    log = columns(simulated(2000), *LOG, "document")
    last = log["position"] == 6
    log["document"] = np.where(last, 100 + log["document"], log["document"])
    with pytest.warns(UserWarning, match="does not determine the propensity of position 6"):
        curve = estimate_propensities(**log)
    assert curve.linked.tolist() == [True] * 5 + [False]
    assert curve.value[5] == curve.value[4]
    assert np.isnan(curve.high[5])
    assert "not linked" in str(curve)


def test_weights_of_clicks_their_clipping_and_their_effective_number():
    clicks = Preferences.from_clicks([0, 1, 1], [1, 2, 3], [0, 0, 0], propensity=[1, 0.5, 0.1], clip=4)
    assert clicks.click_weight.tolist() == [0, 2, 4]
    assert clicks.clipped_fraction == 0.5
    assert clicks.effective_sample_size == pytest.approx(36 / 20)
    assert Preferences.from_clicks([0, 1], [1, 2], [0, 0]).click_weight.tolist() == [0, 1]
    log = simulated(2000)
    estimated = Preferences.from_clicks(**log, propensity="estimate")
    curve = estimate_propensities(**columns(log, *LOG, "document"))
    np.testing.assert_array_equal(estimated.propensities.value, curve.value)
    assert 0 < estimated.effective_sample_size < estimated.n_clicks == log["clicked"].sum()


def test_estimators_take_clicks():
    log = simulated(150)
    clicks = Preferences.from_clicks(**log, propensity="estimate", clip=5)
    listed = Preferences.from_pairs(*clicks.pairs(), n_rows=clicks.n_rows)
    for model in (RankSVM(0.01, tol=1e-7), RankLogistic(0.01), RankRLS(0.01)):
        coef = [model.fit(log["X"], each).coef_ for each in (clicks, listed)]
        np.testing.assert_allclose(*coef, atol=2e-3)
    pairs = [(i, j, w, 1.0, 0) for i, j, _, w in zip(*clicks.pairs(), strict=True)]
    optimum = independent.solve(log["X"], reference.normalised(pairs), 0.01, "hinge")
    assert RankSVM(0.01, tol=1e-6).fit(log["X"], clicks).objective_ <= optimum.objective + 1e-5
    for train, test in QueryKFold(3).split(log["X"], clicks):
        assert not set(log["qid"][train]) & set(log["qid"][test])
    scores = cross_val_score(RankSVM(0.1), log["X"], clicks, cv=QueryKFold(3))
    assert 0.5 < scores.min() <= scores.max() < 1


def test_leaving_a_query_out_equals_retraining():
    log = simulated(60, n_queries=6)
    clicks, model = Preferences.from_clicks(**log), RankRLS(0.1)
    predictions = leave_query_out(model, log["X"], clicks).predictions
    for query in range(6):
        test = log["qid"] == query
        expected = model.fit(log["X"][~test], clicks[~test]).predict(log["X"][test])
        np.testing.assert_allclose(predictions[test], expected, atol=1e-8)


def test_inference_takes_queries_as_independent():
    log = simulated(150)
    clicks = Preferences.from_clicks(**log)
    found = RankLogistic(0.01).fit(log["X"], clicks).inference(log["X"], clicks)
    listed = Preferences.from_pairs(*clicks.pairs(), n_rows=len(clicks))
    cluster = log["qid"][clicks.pairs().better]
    expected = RankLogistic(0.01).fit(log["X"], listed).inference(log["X"], listed, cluster=cluster)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clicked": [0, 2, 0, 1]}, "clicked must hold booleans"),
        ({"position": [0, 1, 1, 2]}, "position must hold whole numbers, 1 for the first"),
        ({"position": [1, 1, 1, 2]}, "Rows 0 and 1 are both at position 1 of one impression; an"),
        ({"impression": None}, "Rows 0 and 2 are both at position 1 of one impression; pass impression if"),
        ({"propensity": [1, 1, 0, 1]}, "propensity must be above 0 and at most 1; it has 0"),
        ({"propensity": "guess"}, "propensity must be one of 'estimate'; got 'guess'"),
        ({"propensity": "estimate"}, "neither was given"),
        ({"propensity": "estimate", "document": [1, 2, 3, 4]}, "shown at several positions"),
        ({"propensity": "estimate", "X": [[1.0]] * 3}, "X must hold finite numbers"),
        ({"clip": 0}, "clip must be a positive number"),
    ],
)  # fmt: skip
def test_bad_logs_are_refused_with_a_sentence(change, message):
    log = {"clicked": [0, 1, 0, 1], "position": [1, 2, 1, 2], "qid": [0] * 4, "impression": [0, 0, 1, 1]}
    with pytest.raises(ValueError, match=message):
        Preferences.from_clicks(**(log | change))


def test_logs_without_pairs_are_refused():
    with pytest.raises(NoPairsError, match="no row is clicked"):
        Preferences.from_clicks([0, 0], [1, 2], ["a", "a"])
    with pytest.raises(NoPairsError, match="no clicked row shares its impression with another"):
        Preferences.from_clicks([1, 0], [1, 1], ["a", "b"])
    with pytest.raises(ValueError, match=r"level must be between 0 and 1; got 95"):
        estimate_propensities([1, 0], [1, 2], ["a", "a"], document=["x", "y"], level=95)
    with pytest.raises(ValueError, match="no position 9"):
        estimate_propensities(**columns(simulated(500), *LOG, "document")).at([1, 9])
