"""Sums of curves that rank."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankwise import CurveRanker, CurveRankerCV, Preferences, RankLogistic, RankSVM
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold
from rankwise.preprocessing import CurveFeatures
from rankwise.solvers.bounded_planes import BoundedPlanes
from rankwise.solvers.planes import Planes

GENERATOR = np.random.default_rng(5)
X = GENERATOR.normal(size=(600, 4))
Y = np.round(np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.1 * GENERATOR.normal(size=600), 1)
QID = GENERATOR.integers(0, 15, 600)
TRAIN, TEST = np.arange(450), np.arange(450, 600)


def expected_failures(estimator):
    reason = "bins are those of the rows, whatever the rows weigh"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        CurveRanker(n_bins=8),
        CurveRanker(loss="logistic", shape="lines", interactions=1),
        CurveRankerCV([1e-2], cv=2, n_bins=4),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shape", ["steps", "lines"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_it_is_a_linear_ranker_of_curve_features(loss, shape):
    given = {"alpha": 1e-3, "tol": 1e-6}
    model = CurveRanker(loss=loss, n_bins=12, shape=shape, **given).fit(X, Y, qid=QID)
    features = CurveFeatures(12, shape=shape).fit(X)
    linear = RankLogistic(**given) if loss == "logistic" else RankSVM(loss=loss, **given)
    linear.fit(features.transform(X), Y, qid=QID)
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(linear.objective_, abs=2e-6)
    np.testing.assert_allclose(model.predict(X), linear.predict(features.transform(X)), atol=0.02)


def test_curves_rank_where_a_line_does_not():
    curves = CurveRanker().fit(X[TRAIN], Y[TRAIN])
    line = RankSVM().fit(X[TRAIN], Y[TRAIN])
    assert ranking_error(Y[TEST], curves.predict(X[TEST])) < 0.75 * ranking_error(
        Y[TEST], line.predict(X[TEST])
    )


def test_the_search_finds_the_interaction():
    model = CurveRanker(interactions=1).fit(X[TRAIN], Y[TRAIN])
    assert model.pairs_.tolist() == [[2, 3]]
    alone = CurveRanker().fit(X[TRAIN], Y[TRAIN]).score(X[TEST], Y[TEST])
    assert 1 - model.score(X[TEST], Y[TEST]) < 0.7 * (1 - alone)
    assert model.pair_values_[0].shape == (9, 9)
    assert CurveRanker(interactions="all").fit(X, Y).pairs_.shape == (6, 2)
    assert CurveRanker(interactions=[(3, 2)]).fit(X, Y).pairs_.tolist() == [[2, 3]]


def test_parts_add_up_to_the_score():
    model = CurveRanker(interactions=2, alpha=1e-4).fit(X, Y)
    scores = model.predict(X)
    np.testing.assert_allclose(model.terms(X).sum(axis=1), scores, atol=1e-12)
    np.testing.assert_allclose(model.contributions(X).sum(axis=1), scores, atol=1e-12)
    parts = model.explain_pair(X[0], X[1])
    assert parts.sum() == pytest.approx(scores[0] - scores[1])
    j = next(j for j in range(4) if j not in model.pairs_)
    curve = model.curve(j)
    assert parts[j] == pytest.approx(np.diff(curve(X[[1, 0], j]))[0])


def test_equal_rows_have_equal_scores_to_the_bit():
    model = CurveRanker(interactions=1, shape="lines").fit(X, Y)
    assert np.array_equal(np.concatenate([model.predict(row[None]) for row in X[:50]]), model.predict(X)[:50])


def hinge_programme(rows, pairs, alpha, bounded):
    """The minimum of the mean hinge + alpha ||w||^2 with w_j >= 0, by a general solver over slacks."""
    differences = np.array([rows[i] - rows[j] for i, j in pairs])
    n, t = rows.shape[1], len(pairs)
    start = np.concatenate([np.zeros(n), np.ones(t)])

    def objective(v):
        return alpha * v[:n] @ v[:n] + v[n:].mean(), np.concatenate([2 * alpha * v[:n], np.full(t, 1 / t)])

    matrix = np.hstack([differences, np.eye(t)])
    margin = {"type": "ineq", "fun": lambda v: matrix @ v - 1, "jac": lambda v: matrix}
    bounds = [(0, None) if held else (None, None) for held in bounded] + [(0, None)] * t
    options = {"ftol": 1e-12, "maxiter": 500}
    return minimize(
        objective, start, jac=True, method="SLSQP", bounds=bounds, constraints=margin, options=options
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_monotone_curve_is_the_optimum_under_its_constraints(seed):
    generator = np.random.default_rng(seed)
    rows = np.round(generator.normal(size=(9, 2)), 1)
    y = generator.permutation(9).astype(float)
    model = CurveRanker(alpha=0.05, n_bins=4, monotone={0: -1}, tol=1e-7).fit(rows, y)
    features = CurveFeatures(4).fit(rows).transform(rows).toarray()
    features[:, :3] *= -1
    pairs = [(i, j) for i in range(9) for j in range(9) if y[i] > y[j]]
    expected = hinge_programme(features, pairs, 0.05, [True] * 3 + [False] * 3)
    assert model.gap_ <= 1e-7
    assert model.objective_ == pytest.approx(expected.fun, abs=1e-6)
    assert (np.diff(model.values_[0][:4]) <= 0).all()


@pytest.mark.parametrize("shape", ["steps", "lines"])
def test_monotone_curves_rise_or_fall(shape):
    rows = X.copy()
    rows[::9, 0] = np.nan
    free = CurveRanker(shape=shape).fit(rows, Y)
    model = CurveRanker(shape=shape, monotone=[1, -1, 0, 0], interactions=2).fit(rows, Y)
    rising, falling = (model.values_[j][:-1] for j in (0, 1))
    assert (np.diff(rising) >= 0).all()
    assert (np.diff(falling) <= 0).all()
    assert model.pairs_.tolist() == [[2, 3]]
    alone = CurveRanker(shape=shape, monotone=[1, -1, 0, 0]).fit(rows, Y)
    assert alone.objective_ > free.objective_ + free.gap_
    assert alone.gap_ <= 1e-3


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**31))
def test_planes_without_bounds_are_plain_planes(n_planes, n_features, seed):
    generator = np.random.default_rng(seed)
    plain, bounded = Planes(n_features), BoundedPlanes(np.zeros(n_features, dtype=bool))
    for _ in range(n_planes):
        gradient, offset = generator.normal(size=n_features), generator.normal()
        plain.add(gradient, offset)
        bounded.add(gradient, offset)
    for alpha in (1.0, 0.01):
        (w, bound), (other, other_bound) = (planes.minimise(alpha, 1e-9) for planes in (plain, bounded))
        assert other_bound == pytest.approx(bound, abs=1e-7)
        np.testing.assert_allclose(other, w, atol=1e-3)


@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 2**31))
def test_the_bound_of_bounded_planes_holds_for_all_weights(n_planes, n_features, seed):
    generator = np.random.default_rng(seed)
    nonnegative = generator.random(n_features) < 0.6
    model, slopes, offsets = BoundedPlanes(nonnegative), [], []
    for _ in range(n_planes):
        slopes.append(generator.normal(size=n_features))
        offsets.append(generator.normal())
        model.add(slopes[-1], offsets[-1])
    w, bound = model.minimise(0.1, 1e-9)

    def value(weights):
        return np.max(np.array(slopes) @ weights + offsets) + 0.1 * weights @ weights

    assert (w[nonnegative] >= 0).all()
    assert bound <= value(w) <= bound + 1e-6
    assert all(value(model.feasible(w + generator.normal(size=n_features))) >= bound for _ in range(20))


def test_missing_values_and_categories_have_their_own_parts():
    frame = pd.DataFrame({"age": X[:, 0], "town": pd.Categorical(np.where(X[:, 1] > 0, "far", "near"))})
    frame.loc[::5, "age"] = np.nan
    y = np.where(frame["age"].isna(), 3.0, 0.0) + (frame["town"] == "near")
    model = CurveRanker().fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.values_[0][-1] > model.values_[0][:-1].max()
    town = model.curve("town")
    assert town.values[1] > town.values[0]
    assert list(model.feature_names_in_) == ["age", "town"]
    unseen = pd.DataFrame({"age": [0.0], "town": pd.Categorical(["elsewhere"])})
    assert model.terms(unseen)[0, 1] == 0.0
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame))


def test_a_category_that_is_called_monotone_is_refused():
    with pytest.raises(ValueError, match="monotone names 1, whose categories have no order"):
        CurveRanker(categorical_features=[1], monotone={1: 1}).fit(np.round(X), Y)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"interactions": -1}, "interactions must be a whole number of at least 0, 'all' or a list"),
        ({"interactions": True}, "interactions must be a whole number"),
        ({"monotone": {0: 2}}, "monotone must hold 1, 0 or -1 for a feature; got 2"),
        ({"monotone": [1]}, "monotone has 1 entries, but X has 4 features"),
        ({"monotone": {0: 1}, "loss": "logistic"}, "monotone needs loss='hinge'"),
        ({"monotone": {0: 1}, "interactions": [(0, 1)]}, "interactions must not hold a monotone feature"),
        ({"n_bins": 0}, "n_bins must be"),
    ],
)
def test_what_is_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        CurveRanker(**parameters).fit(X, Y)


def test_probabilities_of_pairs_need_the_logistic_loss():
    model = CurveRanker(loss="logistic").fit(X, Y)
    probability = model.predict_pair_proba(X[:5], X[5:10])
    difference = model.predict(X[:5]) - model.predict(X[5:10])
    np.testing.assert_allclose(probability, 1 / (1 + np.exp(-difference)))
    assert not hasattr(CurveRanker(), "predict_pair_proba")


def test_alpha_is_chosen_over_queries():
    chosen = CurveRankerCV(cv=3, interactions=1, n_bins=16).fit(X, Y, qid=QID)
    assert chosen.cv_errors_.shape == (8, 3)
    assert chosen.alpha_ == chosen.alphas_[np.argmin(chosen.cv_errors_.mean(axis=1))]
    model = CurveRanker(chosen.alpha_, interactions=1, n_bins=16).fit(X, Y, qid=QID)
    assert chosen.objective_ == pytest.approx(model.objective_, abs=2e-3)


def test_a_grid_search_keeps_queries_together():
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(CurveRanker(), {"n_bins": [2, 32]}, cv=QueryKFold(3))
        search.fit(X, Y, qid=QID)
    assert search.best_params_ == {"n_bins": 32}
    assert search.best_score_ > 0.7


def test_any_preferences_are_learned():
    order = np.argsort(Y)
    preferences = Preferences.from_pairs(order[300:], order[:300], n_rows=600)
    assert ranking_error(preferences, CurveRanker(interactions=1).fit(X, preferences).predict(X)) < 0.1
