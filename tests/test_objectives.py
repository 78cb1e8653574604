"""Pairwise losses as the objectives of boosters."""

import copy
import pickle
import subprocess
import sys
import warnings
from inspect import signature

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
from rankwise import Preferences, objectives
from rankwise.losses import OBJECTIVES
from rankwise.metrics import ranking_error
from rankwise.objectives._gradient import PairwiseGradient
from strategies import cases

OF_PAIRS = sorted(name for name, loss in OBJECTIVES.items() if loss.is_of_pairs)
AVERAGES = ("queries", "pairs")


def textbook(loss, pairs, scores):
    """Gradient and curvature of each row, in loops."""
    gradient, hessian = textbook_derivatives(loss, pairs, scores)
    diagonal = np.diag(hessian)
    # A Newton step of the logistic loss moves no row by more than 10.
    return gradient, np.maximum(diagonal, np.abs(gradient) / 10) if loss == "logistic" else diagonal


def textbook_derivatives(loss, pairs, scores):
    laplacian = reference.laplacian(pairs, len(scores))
    return {
        "hinge": lambda: (reference.hinge(pairs, scores)[1], laplacian / 2),
        "huber_hinge": lambda: (reference.huber_hinge(pairs, scores)[1], laplacian / 2),
        "squared_hinge": lambda: (
            reference.squared_hinge(pairs, scores)[1],
            reference.squared_hinge_hessian(pairs, scores),
        ),
        "logistic": lambda: (
            reference.logistic(pairs, scores)[1],
            reference.logistic_hessian(pairs, scores),
        ),
        "least_squares": lambda: (
            reference.least_squares(pairs, scores, "magnitude")[1],
            2 * laplacian,
        ),
    }[loss]()


@settings(max_examples=300, deadline=None)
@given(cases(), st.sampled_from(AVERAGES), st.sampled_from(OF_PAIRS))
def test_gradient_and_hessian_are_those_of_the_textbook_with_a_mean_of_one(case, average, loss):
    pairs = case.normalised(average)
    assume(sum(w for *_, w, _, _ in pairs) == pytest.approx(1.0))
    assume(all(abs(case.scores[i] - case.scores[j] - 1) > 1e-9 for i, j, *_ in pairs))
    expected_gradient, diagonal = textbook(loss, pairs, case.scores)
    assume(diagonal.max() == 0 or diagonal.mean() > 1e-12)
    gradient, hessian = PairwiseGradient(case.preferences, loss, average=average)(case.scores)
    assert hessian.mean() == pytest.approx(1.0)
    assert (hessian > 0).all()
    if diagonal.max() == 0:
        assert not gradient.any()
        return
    size = 1 + np.abs(expected_gradient).max() + np.abs(case.scores).max() ** 2
    kept = diagonal.mean()
    np.testing.assert_allclose(gradient * kept, expected_gradient, rtol=3e-5, atol=1e-11 * size)
    np.testing.assert_allclose(hessian * kept, diagonal, rtol=3e-5, atol=2e-6 * kept)


@pytest.mark.parametrize("loss", OF_PAIRS)
def test_rows_without_pairs_are_left_to_their_leaf(loss):
    preferences = Preferences.from_pairs([0], [1], n_rows=4)
    gradient, hessian = PairwiseGradient(preferences, loss)([0.0, 0.0, 5.0, -5.0])
    assert gradient[2:].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(hessian[:2], 2.0, rtol=1e-5)
    np.testing.assert_allclose(hessian[2:], 1e-6, rtol=1e-5)


def test_unknown_losses_and_preferences_are_refused():
    with pytest.raises(ValueError, match=r"loss must be one of 'hinge'.*got 'ndcg'"):
        objectives.lightgbm(loss="ndcg")
    with pytest.raises(ValueError, match="average must be one of"):
        objectives.lightgbm(average="rows")
    with pytest.raises(ValueError, match=r"preferences must be a Preferences, or None .* got a list"):
        objectives.lightgbm([1, 2])
    given = Preferences.from_scores([1, 2])
    with pytest.raises(ValueError, match="validation must be a Preferences or a list of them; got a int"):
        objectives.lightgbm(given, validation=[3])
    with pytest.raises(ValueError, match="validation needs preferences"):
        objectives.lightgbm(validation=given)


def test_sets_are_known_by_their_number_of_rows_and_their_order():
    first, second = Preferences.from_pairs([0], [1], n_rows=3), Preferences.from_pairs([1], [0], n_rows=3)
    objective = objectives.lightgbm(
        Preferences.from_scores([1.0, 2.0]), validation=[first, Preferences.from_scores([4, 3, 2, 1]), second]
    )
    none, scores = np.zeros(3), np.array([2.0, 1.0, 0.0])
    for _ in range(2):
        objective(np.zeros(2), np.zeros(2))
        assert objective.metric(none, scores)[1] == 0.0
        assert objective.metric(np.zeros(4), np.arange(4.0))[1] == 1.0
        assert objective.metric(none, scores)[1] == 1.0
        assert objective.metric(np.zeros(2), np.array([3.0, 1.0]))[1] == 1.0
    objective.metric(none, scores)  # a round that was cut short
    objective(np.zeros(2), np.zeros(2))
    assert objective.metric(none, scores)[1] == 0.0
    with pytest.raises(ValueError, match=r"a set of 5 rows, but .* for sets of 2, 3, 4, 3 rows"):
        objective.metric(np.zeros(5), np.zeros(5))


def test_a_set_that_may_be_the_training_set_or_another_is_refused():
    first, second = Preferences.from_pairs([0], [1], n_rows=2), Preferences.from_pairs([1], [0], n_rows=2)
    labels, scores = np.array([1.0, 0.0]), np.array([2.0, 1.0])
    objective = objectives.xgboost(first, validation=second)
    with pytest.raises(ValueError, match="nothing tells the two apart"):  # no round has begun
        objective.metric(labels, scores)
    objective(labels, np.zeros(2))
    assert objective.metric(labels[::-1], scores) == 1.0
    with pytest.raises(ValueError, match=r"a set of 2 rows, as many as .* labels of their own"):
        objective.metric(labels, scores)
    known = objectives.lightgbm(first, validation=second)
    known(labels, np.zeros(2))
    assert known.metric(labels, scores)[1] == 0.0
    assert known.metric(labels[::-1], scores)[1] == 1.0
    with pytest.raises(ValueError, match="no copy"):
        known.metric(labels.copy(), scores)
    assert pickle.loads(pickle.dumps(known))(labels, np.zeros(2))[0].tolist() == [-1.0, 1.0]


def test_labels_that_change_in_place_are_seen():
    objective, labels = objectives.lightgbm(), np.array([1.0, 2.0])
    before = objective(labels, np.zeros(2))[0]
    labels[:] = labels[::-1]
    np.testing.assert_array_equal(objective(labels, np.zeros(2))[0], before[::-1])


def test_a_saved_objective_forgets_labels_and_keeps_preferences():
    objective = objectives.lightgbm()
    objective(np.arange(10_000.0), np.zeros(10_000))
    assert len(pickle.dumps(objective)) < 1000
    assert copy.deepcopy(objective) is objective
    explicit = pickle.loads(pickle.dumps(objectives.lightgbm(Preferences.from_pairs([0], [1]), "logistic")))
    assert explicit([0, 0], np.zeros(2))[0].tolist() == [-2.0, 2.0]


# LightGBM


@pytest.fixture
def lgb():
    return pytest.importorskip("lightgbm")


GENERATOR = np.random.default_rng(3)
X = GENERATOR.normal(size=(400, 3))
Y = np.round(X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.3 * GENERATOR.normal(size=400), 1)
WEIGHT = GENERATOR.choice([0.5, 1.0, 2.0], 400)
SIZES = np.array([150, 50, 200])
QID = np.repeat([0, 1, 2], SIZES)
PARAMETERS = {
    "num_leaves": 4,
    "learning_rate": 0.5,
    "min_child_samples": 1,
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "seed": 0,
}


# LightGBM 4.6 names the columns of an array, and scikit-learn misses the names in other arrays.
NAMED_BY_LIGHTGBM = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def structures():
    return {
        "scores": Preferences.from_scores(Y),
        "queries": Preferences.from_scores(Y, QID),
        "weights": Preferences.from_scores(Y, sample_weight=WEIGHT),
        "pairs": Preferences.from_pairs(np.argsort(Y)[200:], np.argsort(Y)[:200], n_rows=400),
        "order": Preferences.from_order(np.where(Y > 0, "b", "a"), [("b", "a")]),
        "survival": Preferences.from_survival(WEIGHT > 0.5, Y),
    }


def evaluated_on(lgb, X, y):
    """The arguments of `fit` for a validation set, which LightGBM 4.7 has renamed."""
    renamed = "eval_X" in signature(lgb.LGBMModel.fit).parameters
    return {"eval_X": X, "eval_y": y} if renamed else {"eval_set": [(X, y)]}


def newton_step(preferences, loss, leaf, start=0.0):
    """The values of leaves after a step from scores `start`, by the formula that boosters use."""
    scores = np.zeros(len(leaf)) + start
    gradient, hessian = PairwiseGradient(preferences, loss)(scores)
    number = np.unique(leaf, return_inverse=True)[1]
    return -(np.bincount(number, gradient) / np.bincount(number, hessian))[number]


@pytest.mark.parametrize("loss", sorted(OBJECTIVES))
@pytest.mark.parametrize("kind", sorted(structures()))
def test_a_tree_of_lightgbm_is_a_newton_step(lgb, kind, loss):
    preferences = structures()[kind]
    if loss not in OF_PAIRS and kind in ("order", "pairs"):
        pytest.skip("no lists")
    objective = objectives.lightgbm(preferences, loss)
    data = lgb.Dataset(X, np.zeros(400))
    booster = lgb.train(PARAMETERS | {"objective": objective}, data, num_boost_round=1)
    leaf = booster.predict(X, pred_leaf=True)[:, 0]
    expected = 0.5 * newton_step(preferences, loss, leaf)
    np.testing.assert_allclose(booster.predict(X), expected, rtol=1e-4, atol=1e-6)


@NAMED_BY_LIGHTGBM
def test_both_interfaces_of_lightgbm_learn_the_same_from_labels_or_preferences(lgb):
    explicit = objectives.lightgbm(Preferences.from_scores(Y.astype(np.float32), QID, WEIGHT))
    by_labels = objectives.lightgbm()
    data = lgb.Dataset(X, Y, weight=WEIGHT, group=SIZES)
    native = lgb.train(PARAMETERS | {"objective": by_labels}, data, num_boost_round=8).predict(X)
    options = {"n_estimators": 8, "n_jobs": 1, "metric": "None", **PARAMETERS}
    options.pop("num_threads")
    ranker = lgb.LGBMRanker(objective=by_labels, **options)
    ranker.fit(X, Y, group=SIZES, sample_weight=WEIGHT)
    regressor = lgb.LGBMRegressor(objective=explicit, **options).fit(X, np.zeros(400))
    np.testing.assert_allclose(ranker.predict(X), native, rtol=1e-9)
    np.testing.assert_allclose(regressor.predict(X), native, rtol=1e-6, atol=1e-9)
    assert ranking_error(Y, native, QID, sample_weight=WEIGHT) < 0.1


def test_lightgbm_begins_at_the_scores_it_is_given(lgb):
    start = 3 * GENERATOR.normal(size=400)
    objective = objectives.lightgbm()
    data = lgb.Dataset(X, Y, init_score=start, free_raw_data=False)
    booster = lgb.train(PARAMETERS | {"objective": objective}, data, num_boost_round=1)
    leaf = booster.predict(X, pred_leaf=True)[:, 0]
    preferences = Preferences.from_scores(Y.astype(np.float32))
    expected = 0.5 * newton_step(preferences, "squared_hinge", leaf, start)
    np.testing.assert_allclose(booster.predict(X), expected, rtol=1e-4, atol=1e-6)


def test_lightgbm_continues_from_a_model(lgb):
    parameters = PARAMETERS | {"objective": objectives.lightgbm()}
    whole = lgb.train(parameters, lgb.Dataset(X, Y), num_boost_round=6)
    half = lgb.train(parameters, lgb.Dataset(X, Y), num_boost_round=3)
    rest = lgb.train(parameters, lgb.Dataset(X, Y), num_boost_round=3, init_model=half)
    np.testing.assert_allclose(rest.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)


def test_lightgbm_stops_by_the_error_of_the_validation_set(lgb):
    train, test = np.arange(250), np.arange(250, 400)
    objective = objectives.lightgbm(
        Preferences.from_scores(Y[train]), validation=Preferences.from_scores(Y[test])
    )
    course = {}
    data = lgb.Dataset(X[train], np.zeros(250))
    booster = lgb.train(
        PARAMETERS | {"objective": objective, "metric": "None"},
        data,
        num_boost_round=200,
        valid_sets=[data, data.create_valid(X[test], np.zeros(150))],
        valid_names=["train", "test"],
        feval=objective.metric,
        callbacks=[lgb.early_stopping(5, verbose=False), lgb.record_evaluation(course)],
    )
    errors = course["test"]["ranking_error"]
    assert booster.best_iteration == 1 + np.argmin(errors) < len(errors) < 200
    scores = booster.predict(X)
    assert min(errors) == pytest.approx(ranking_error(Y[test], scores[test]), abs=1e-12)
    staged = course["train"]["ranking_error"][booster.best_iteration - 1]
    assert staged == pytest.approx(ranking_error(Y[train], scores[train]), abs=1e-12)


HALVES = np.arange(200), np.arange(200, 400)


def halves():
    """Preferences of a training set and of a validation set with as many rows, which are others."""
    train, test = HALVES
    return Preferences.from_scores(Y[train]), Preferences.from_scores(-Y[test])


@pytest.mark.parametrize("labels", [np.zeros(400), Y])
def test_lightgbm_tells_sets_of_the_same_length_apart(lgb, labels):
    (train, test), (known, other), course = HALVES, halves(), {}
    objective = objectives.lightgbm(known, validation=other)
    data = lgb.Dataset(X[train], labels[train])
    sets = {"train": data, "test": data.create_valid(X[test], labels[test])}
    booster = lgb.train(
        PARAMETERS | {"objective": objective, "metric": "None"},
        data,
        num_boost_round=5,
        valid_sets=list(sets.values()),
        valid_names=list(sets),
        feval=objective.metric,
        callbacks=[lgb.record_evaluation(course)],
    )
    assert course["train"]["ranking_error"][-1] == ranking_error(known, booster.predict(X[train]))
    assert course["test"]["ranking_error"][-1] == ranking_error(other, booster.predict(X[test]))


@NAMED_BY_LIGHTGBM
@pytest.mark.parametrize("labels", [np.zeros(400), Y])
def test_the_interface_of_scikit_learn_tells_sets_of_the_same_length_apart(lgb, labels):
    (train, test), (known, other) = HALVES, halves()
    objective, rows, y = objectives.lightgbm(known, validation=other), X[train], labels[train]
    model = lgb.LGBMRegressor(objective=objective, n_estimators=5, metric="None", n_jobs=1, verbose=-1)
    if "eval_X" in signature(lgb.LGBMModel.fit).parameters:
        sets = {"eval_X": (rows, X[test]), "eval_y": (y, labels[test])}
    else:
        sets = {"eval_set": [(rows, y), (X[test], labels[test])]}
    model.fit(rows, y, eval_metric=objective.metric, **sets)
    found = [errors["ranking_error"][-1] for errors in model.evals_result_.values()]
    assert found == [ranking_error(known, model.predict(rows)), ranking_error(other, model.predict(X[test]))]


@NAMED_BY_LIGHTGBM
def test_lightgbm_evaluates_with_weights_and_groups_in_the_interface_of_scikit_learn(lgb):
    train, test = np.arange(250), np.arange(250, 400)
    objective = objectives.lightgbm(loss="logistic")
    model = lgb.LGBMRanker(objective=objective, n_estimators=5, metric="None", n_jobs=1, verbose=-1)
    model.fit(
        X[train],
        Y[train],
        group=[200, 50],
        **evaluated_on(lgb, X[test], Y[test]),
        eval_group=[[50, 100]],
        eval_sample_weight=[WEIGHT[test]],
        eval_metric=objective.metric,
    )
    expected = ranking_error(
        Y[test].astype(np.float32), model.predict(X[test]), [0] * 50 + [1] * 100, sample_weight=WEIGHT[test]
    )
    assert model.evals_result_["valid_0"]["ranking_error"][-1] == pytest.approx(expected, abs=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_folds_of_lightgbm_take_their_part_of_the_preferences(lgb):
    train, test = np.arange(0, 400, 2), np.arange(1, 400, 2)
    preferences = Preferences.from_scores(Y)
    objective = objectives.lightgbm(preferences)
    result = lgb.cv(
        PARAMETERS | {"objective": objective, "metric": "None"},
        lgb.Dataset(X, np.zeros(400), free_raw_data=False),
        num_boost_round=3,
        folds=[(train, test)],
        feval=objective.metric,
        return_cvbooster=True,
    )
    scores = result["cvbooster"].boosters[0].predict(X[test])
    assert result["valid ranking_error-mean"][-1] == pytest.approx(ranking_error(Y[test], scores), abs=1e-12)


# XGBoost


@pytest.fixture
def xgb():
    return pytest.importorskip("xgboost")


XGB_PARAMETERS = {
    "max_depth": 2,
    "learning_rate": 0.5,
    "reg_lambda": 0.0,
    "min_child_weight": 0.0,
    "base_score": 0.0,
    "nthread": 1,
    "seed": 0,
    "disable_default_eval_metric": 1,
}


@pytest.mark.parametrize("loss", sorted(OBJECTIVES))
@pytest.mark.parametrize("kind", sorted(structures()))
def test_a_tree_of_xgboost_is_a_newton_step(xgb, kind, loss):
    preferences = structures()[kind]
    data = xgb.DMatrix(X, np.zeros(400))
    booster = xgb.train(XGB_PARAMETERS, data, num_boost_round=1, obj=objectives.xgboost(preferences, loss))
    leaf = booster.predict(data, pred_leaf=True).astype(int).ravel()
    expected = 0.5 * newton_step(preferences, loss, leaf)
    np.testing.assert_allclose(booster.predict(data), expected, rtol=1e-4, atol=1e-5)


def test_xgboost_needs_no_labels_beside_preferences(xgb):
    objective = objectives.xgboost(Preferences.from_scores(Y))
    with_labels, without = xgb.DMatrix(X, Y), xgb.DMatrix(X)
    assert objective.metric(X[:, 0], without) == objective.metric(X[:, 0], with_labels)
    np.testing.assert_array_equal(objective(X[:, 0], without)[0], objective(X[:, 0], with_labels)[0])


def test_xgboost_takes_queries_and_their_weights_from_its_matrix(xgb):
    importance = np.array([1.0, 3.0, 0.5])
    data = xgb.DMatrix(X, Y, weight=importance, group=SIZES)
    labels = Y.astype(np.float32)
    explicit = Preferences.from_scores(labels, QID, query_weight=importance[QID])
    expected = PairwiseGradient(explicit)(np.zeros(400))
    for actual, column in zip(objectives.xgboost()(np.zeros(400), data), expected, strict=True):
        np.testing.assert_allclose(actual, column, rtol=1e-9)
    name, error = objectives.xgboost().metric(X[:, 0], data)
    assert name == "ranking_error"
    each = ranking_error(labels, X[:, 0], QID, per_query=True)
    assert error == pytest.approx(importance @ each / importance.sum())


def test_both_interfaces_of_xgboost_learn_the_same_and_stop_by_the_error(xgb):
    train, test = np.arange(250), np.arange(250, 400)
    objective, course = objectives.xgboost(), {}
    data, held_out = (xgb.DMatrix(X[rows], Y[rows], weight=WEIGHT[rows]) for rows in (train, test))
    booster = xgb.train(
        XGB_PARAMETERS,
        data,
        num_boost_round=200,
        obj=objective,
        evals=[(data, "train"), (held_out, "test")],
        custom_metric=objective.metric,
        early_stopping_rounds=5,
        evals_result=course,
        verbose_eval=False,
    )
    errors = course["test"]["ranking_error"]
    assert booster.best_iteration == np.argmin(errors)
    assert len(errors) < 200
    best = booster.predict(held_out, iteration_range=(0, booster.best_iteration + 1))
    expected = ranking_error(Y[test].astype(np.float32), best, sample_weight=WEIGHT[test])
    assert min(errors) == pytest.approx(expected, abs=1e-6)
    options = {name: value for name, value in XGB_PARAMETERS.items() if name not in ("nthread", "seed")}
    model = xgb.XGBRegressor(
        n_estimators=200,
        objective=objective,
        eval_metric=objective.metric,
        early_stopping_rounds=5,
        n_jobs=1,
        random_state=0,
        **options,
    )
    model.fit(
        X[train],
        Y[train],
        sample_weight=WEIGHT[train],
        eval_set=[(X[test], Y[test])],
        sample_weight_eval_set=[WEIGHT[test]],
        verbose=False,
    )
    assert model.best_iteration == booster.best_iteration
    np.testing.assert_allclose(model.predict(X[test]), best, rtol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_xgboost_starts_from_base_margin_and_continues_from_a_model(xgb):
    start = 3 * GENERATOR.normal(size=400)
    objective = objectives.xgboost()
    data = xgb.DMatrix(X, Y, base_margin=start)
    booster = xgb.train(XGB_PARAMETERS, data, num_boost_round=1, obj=objective)
    leaf = booster.predict(data, pred_leaf=True).astype(int).ravel()
    preferences = Preferences.from_scores(Y.astype(np.float32))
    expected = start + 0.5 * newton_step(preferences, "squared_hinge", leaf, start)
    np.testing.assert_allclose(booster.predict(data), expected, rtol=1e-4, atol=1e-4)
    plain = xgb.DMatrix(X, Y)
    whole = xgb.train(XGB_PARAMETERS, plain, num_boost_round=6, obj=objective)
    half = xgb.train(XGB_PARAMETERS, plain, num_boost_round=3, obj=objective)
    rest = xgb.train(XGB_PARAMETERS, plain, num_boost_round=3, obj=objective, xgb_model=half)
    np.testing.assert_allclose(rest.predict(plain), whole.predict(plain), rtol=1e-5, atol=1e-6)


# CatBoost


@pytest.mark.parametrize("labels", [None, Y])
def test_xgboost_tells_sets_of_the_same_length_apart(xgb, labels):
    (train, test), (known, other), course = HALVES, halves(), {}
    objective = objectives.xgboost(known, validation=other)
    data, held_out = (
        xgb.DMatrix(X[rows], None if labels is None else labels[rows]) for rows in (train, test)
    )
    booster = xgb.train(
        XGB_PARAMETERS,
        data,
        num_boost_round=5,
        obj=objective,
        evals=[(data, "train"), (held_out, "test")],
        custom_metric=objective.metric,
        evals_result=course,
        verbose_eval=False,
    )
    for name, rows, preferences in (("train", data, known), ("test", held_out, other)):
        expected = ranking_error(preferences, booster.predict(rows))
        assert course[name]["ranking_error"][-1] == pytest.approx(expected, abs=1e-6)


@pytest.fixture
def cb():
    catboost = pytest.importorskip("catboost")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Failed to import numba", UserWarning)
        yield catboost


def cat_parameters(objective, **options):
    defaults = {
        "iterations": 1,
        "learning_rate": 0.5,
        "depth": 2,
        "l2_leaf_reg": 0.0,
        "boosting_type": "Plain",
        "bootstrap_type": "No",
        "leaf_estimation_method": "Newton",
        "leaf_estimation_iterations": 1,
        "random_strength": 0.0,
        "thread_count": 1,
        "allow_writing_files": False,
        "logging_level": "Silent",
    }
    return defaults | {"loss_function": objective, "eval_metric": objective.metric} | options


@pytest.mark.parametrize("loss", sorted(OBJECTIVES))
@pytest.mark.parametrize("kind", sorted(structures()))
def test_a_tree_of_catboost_is_a_newton_step(cb, kind, loss):
    preferences = structures()[kind]
    objective = objectives.catboost(preferences, loss)
    model = cb.CatBoost(cat_parameters(objective)).fit(X, objective.rows)
    leaf = model.calc_leaf_indexes(X)[:, 0].astype(int)
    expected = 0.5 * newton_step(preferences, loss, leaf)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-4, atol=1e-5)


def test_catboost_takes_newton_steps_in_blocks_of_rows_and_by_a_baseline(cb):
    """2,400 rows are several blocks, and two threads ask for them."""
    many, y = np.tile(X, (6, 1)), np.tile(Y, 6)
    start = GENERATOR.normal(size=len(y))
    preferences = Preferences.from_scores(y)
    objective = objectives.catboost(preferences, baseline=start)
    model = cb.CatBoost(cat_parameters(objective, iterations=2, thread_count=2))
    model.fit(cb.Pool(many, objective.rows, baseline=start))
    leaves, scores = model.calc_leaf_indexes(many).astype(int), start.copy()
    for leaf in leaves.T:
        scores += 0.5 * newton_step(preferences, "squared_hinge", leaf, scores)
    np.testing.assert_allclose(start + model.predict(many), scores, rtol=1e-4, atol=1e-5)


def test_catboost_stops_by_the_error_of_the_validation_set(cb):
    train, test = np.arange(250), np.arange(250, 400)
    objective = objectives.catboost(
        Preferences.from_scores(Y[train]), validation=Preferences.from_scores(Y[test])
    )
    model = cb.CatBoost(cat_parameters(objective, iterations=200, early_stopping_rounds=5))
    model.fit(X[train], objective.rows, eval_set=(X[test], Y[test]))
    errors = next(iter(model.get_evals_result()["validation"].values()))
    assert len(errors) < 200
    assert model.get_best_iteration() == np.argmin(errors)
    assert min(errors) == pytest.approx(ranking_error(Y[test], model.predict(X[test])), abs=1e-9)
    again = cb.CatBoost(cat_parameters(objective, iterations=model.tree_count_)).fit(X[train], objective.rows)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-9)


def test_catboost_tells_sets_of_the_same_length_apart(cb):
    (train, test), (known, other) = HALVES, halves()
    objective = objectives.catboost(known, validation=other)
    model = cb.CatBoost(cat_parameters(objective, iterations=5, use_best_model=False))
    model.fit(X[train], objective.rows, eval_set=(X[test], Y[test]))
    errors = model.get_evals_result()
    for name, rows, preferences in (("learn", train, known), ("validation", test, other)):
        expected = ranking_error(preferences, model.predict(X[rows]))
        assert next(iter(errors[name].values()))[-1] == pytest.approx(expected, abs=1e-9)


def test_unsupported_catboost_settings_raise_an_error(cb):
    objective = objectives.catboost(Preferences.from_scores(Y))
    for options in (
        {"boosting_type": "Ordered", "iterations": 3},
        {"leaf_estimation_iterations": 3},
        {"eval_metric": "RMSE", "iterations": 3},
        {"metric_period": 2, "iterations": 3},
    ):
        with pytest.raises(cb.CatBoostError, match="differ from those passed to the metric"):
            cb.CatBoost(cat_parameters(objective, **options)).fit(X, objective.rows)
    with pytest.raises(cb.CatBoostError, match="weights of rows to the preferences"):
        cb.CatBoost(cat_parameters(objective)).fit(X, objective.rows, sample_weight=WEIGHT)
    with pytest.raises(ValueError, match=r"preferences must be given to objectives\.catboost"):
        objectives.catboost(None)


def test_no_booster_is_imported_before_it_is_used():
    code = (
        "import sys, rankwise.objectives, rankwise.estimators, rankwise.cli.main\n"
        "assert not {'lightgbm', 'xgboost', 'catboost'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
