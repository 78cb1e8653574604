"""The choice of the size and the number of trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from rankwise import BoostedRanker, BoostedRankerCV, Preferences, load_model, save_model
from rankwise.metrics import ndcg, ranking_error
from rankwise.model_selection import QueryKFold

pytest.importorskip("lightgbm")

GENERATOR = np.random.default_rng(3)
X = GENERATOR.normal(size=(200, 4))
Y = np.clip(np.round(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * GENERATOR.normal(size=200)), -1, 2) + 1
QID = GENERATOR.integers(0, 15, 200)
GRID = {"num_leaves": [2, 9], "min_child_samples": [5]}
QUICK = {"learning_rate": 0.3, "early_stopping_rounds": 5, "random_state": 0}


def best_of(errors):
    """The number of trees with the lowest mean over folds, and the errors of the folds there."""
    best = int(np.argmin(np.mean(errors, axis=0)))
    return best + 1, [fold[best] for fold in errors]


@pytest.mark.parametrize("scoring", ["error", "ndcg@5"])
def test_it_is_a_search_over_fits(scoring):
    model = BoostedRankerCV(n_estimators=25, cv=3, scoring=scoring, param_grid=GRID, **QUICK)
    model.fit(X, Y, qid=QID)
    assert model.candidates_ == [{"num_leaves": n, "min_child_samples": 5} for n in (2, 9)]
    for candidate, n_trees, found in zip(model.candidates_, model.n_trees_, model.cv_errors_, strict=True):
        errors = []
        for train, test in QueryKFold(3, shuffle=True, random_state=0).split(X, groups=QID):
            part = BoostedRanker(n_estimators=25, **candidate, **QUICK).fit(
                X[train], Y[train], qid=QID[train]
            )
            measure = {
                "error": lambda s, rows=test: ranking_error(Y[rows], s, QID[rows]),
                "ndcg@5": lambda s, rows=test: 1 - ndcg(Y[rows], s, QID[rows], k=5),
            }[scoring]
            errors.append([measure(scores) for scores in part.staged_predict(X[test])])
        until = n_trees + QUICK["early_stopping_rounds"]  # where the growth ended
        expected, at_best = best_of([fold[:until] for fold in errors])
        assert n_trees == expected
        np.testing.assert_allclose(found, at_best, rtol=1e-12)
    best = int(np.argmin(model.cv_errors_.mean(axis=1)))
    assert model.best_params_ == model.candidates_[best] | {"n_estimators": int(model.n_trees_[best])}
    plain = BoostedRanker(**QUICK | model.best_params_).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert model.scoring_ == scoring
    assert model.n_iter_ == model.best_params_["n_estimators"]


def test_the_default_candidates():
    model = BoostedRankerCV(n_estimators=3, cv=2).fit(X, Y)
    assert model.cv_errors_.shape == (6, 2)
    assert {"num_leaves": 15} in model.candidates_


def test_validation_rows_take_the_place_of_folds():
    model = BoostedRankerCV(n_estimators=20, param_grid=GRID, **QUICK)
    model.fit(X[:120], Y[:120], validation=(X[120:], Y[120:]))
    assert model.cv_errors_.shape == (2, 1)
    error = ranking_error(Y[120:], model.predict(X[120:]))
    np.testing.assert_allclose(model.cv_errors_.min(), error, rtol=1e-12)


def test_pairs_splitters_weights_and_threads():
    better, worse = GENERATOR.integers(0, 200, (2, 2000))
    pairs = Preferences.from_pairs(better[Y[better] > Y[worse]], worse[Y[better] > Y[worse]], n_rows=200)
    models = [
        BoostedRankerCV(n_estimators=8, cv=3, param_grid=GRID, n_jobs=n, **QUICK).fit(X, pairs)
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(models[0].cv_errors_, models[1].cv_errors_)
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    weight = GENERATOR.choice([1.0, 2.0], 200)
    by_rows = BoostedRankerCV(n_estimators=8, cv=KFold(2), param_grid=GRID, **QUICK)
    by_rows.fit(X, Y, sample_weight=weight)
    plain = BoostedRanker(**QUICK | by_rows.best_params_).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(by_rows.predict(X), plain.predict(X))


def test_mixed_columns_and_files(tmp_path):
    words = np.array(["red", "green", "blue"])[GENERATOR.integers(0, 3, 200)]
    frame = pd.DataFrame({"size": np.where(X[:, 0] > 1, np.nan, X[:, 0]), "colour": words, "x": X[:, 1]})
    y = Y + 3 * (words == "green")
    model = BoostedRankerCV("logistic", n_estimators=15, cv=2, param_grid=GRID, scoring="log_loss", **QUICK)
    model.fit(frame, y)
    assert model.score(frame, y) > 0.8
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(loaded.cv_errors_, model.cv_errors_)
    assert loaded.best_params_ == model.best_params_
    assert loaded.candidates_ == model.candidates_
    assert loaded.get_params() == model.get_params()
    first, second = frame.iloc[:3], frame.iloc[3:6]
    np.testing.assert_array_equal(
        loaded.predict_pair_proba(first, second), model.predict_pair_proba(first, second)
    )
    parts = model.explain_pair(frame.iloc[[0]], frame.iloc[[1]])
    np.testing.assert_allclose(parts.sum(), -np.diff(model.predict(frame.iloc[:2])))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param_grid": {"loss": ["logistic"]}}, "param_grid may name learning_rate, .*; got 'loss'"),
        ({"param_grid": []}, "param_grid has no candidates"),
        ({"scoring": len}, "scoring must be the name of a measure, such as 'ndcg@10', as BoostedRankerCV"),
        ({"n_estimators": 0}, "n_estimators must be"),
        ({"cv": 300}, "300 folds need as many rows; got 200"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BoostedRankerCV(**options).fit(X, Y)
