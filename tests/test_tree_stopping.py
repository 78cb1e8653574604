"""The number of trees by parts of the training rows, and scores after each tree."""

import numpy as np
import pytest

from rankwise import BoostedRanker, Preferences, load_model, save_model
from rankwise.metrics import ndcg, ranking_error
from rankwise.model_selection import QueryKFold

pytest.importorskip("lightgbm")

GENERATOR = np.random.default_rng(5)
X = GENERATOR.normal(size=(240, 4))
Y = np.clip(np.round(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * GENERATOR.normal(size=240)), -1, 2) + 1
QID = GENERATOR.integers(0, 15, 240)
QUICK = {"learning_rate": 0.2, "early_stopping_rounds": 8}


def held_out_errors(folds, error, n_trees, **options):
    """The mean error of the test rows after each tree, by a fit to the training rows of each fold."""
    errors = []
    for train, test in folds:
        model = BoostedRanker(n_estimators=n_trees, **QUICK, **options)
        model.fit(X[train], Y[train], qid=None if error is None else QID[train])
        errors.append(
            [
                ranking_error(Y[test], scores) if error is None else error(Y[test], scores, QID[test])
                for scores in model.staged_predict(X[test])
            ]
        )
    return np.mean(errors, axis=0)


def test_folds_of_queries_choose_the_number_of_trees():
    model = BoostedRanker(**QUICK).fit(X, Y, qid=QID)
    found = model.validation_errors_
    folds = QueryKFold(5, shuffle=True, random_state=0).split(X, groups=QID)
    np.testing.assert_allclose(found, held_out_errors(folds, ranking_error, len(found)), rtol=1e-12)
    assert model.n_iter_ == 1 + np.argmin(found) == len(found) - 8
    refitted = BoostedRanker(n_estimators=model.n_iter_, **QUICK).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(model.predict(X), refitted.predict(X))


def test_folds_of_rows_choose_the_number_of_trees_of_one_ranking():
    model = BoostedRanker(validation_fraction=0.25, **QUICK).fit(X, Y)
    found = model.validation_errors_
    folds = QueryKFold(4, shuffle=True, random_state=0).split(X, Preferences.from_scores(Y))
    np.testing.assert_allclose(found, held_out_errors(folds, None, len(found)), rtol=1e-12)


def test_a_measure_of_lists_chooses_the_number_of_trees():
    model = BoostedRanker(scoring="ndcg@5", **QUICK).fit(X, Y, qid=QID)
    folds = QueryKFold(5, shuffle=True, random_state=0).split(X, groups=QID)
    found = model.validation_errors_
    expected = held_out_errors(folds, lambda y, s, q: 1 - ndcg(y, s, q, k=5), len(found))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert model.n_iter_ == 1 + np.argmin(found)


def test_a_measure_of_lists_ends_the_fit_on_validation_rows(capsys):
    model = BoostedRanker(scoring="ndcg@5", verbose=1, **QUICK)
    model.fit(X[:160], Y[:160], qid=QID[:160], validation=(X[160:], Y[160:], QID[160:]))
    expected = [1 - ndcg(Y[160:], scores, QID[160:], k=5) for scores in model.staged_predict(X[160:])]
    np.testing.assert_allclose(model.validation_errors_[: model.n_iter_], expected, rtol=1e-12)
    assert model.n_iter_ == 1 + np.argmin(model.validation_errors_)
    assert "1 - ndcg@5" in capsys.readouterr().out


def test_pairs_that_share_rows_are_divided_as_pairs():
    better, worse = GENERATOR.integers(0, 240, (2, 3000))
    better, worse = better[Y[better] > Y[worse]], worse[Y[better] > Y[worse]]
    pairs = Preferences.from_pairs(better, worse, n_rows=240)
    model = BoostedRanker(**QUICK).fit(X, pairs)
    errors = []
    for train, test in pairs.pair_folds(2):
        part = BoostedRanker(n_estimators=len(model.validation_errors_), **QUICK).fit(X, train)
        errors.append([ranking_error(test, scores) for scores in part.staged_predict(X)])
    np.testing.assert_allclose(model.validation_errors_, np.mean(errors, axis=0), rtol=1e-12)


def test_an_explicit_number_of_trees_is_kept_unless_stopping_is_asked_for():
    assert BoostedRanker(n_estimators=60, **QUICK).fit(X, Y).n_iter_ == 60
    model = BoostedRanker(n_estimators=200, early_stopping=True, **QUICK).fit(X, Y)
    assert model.n_iter_ == 1 + np.argmin(model.validation_errors_) < 200
    few = BoostedRanker(n_estimators=3, early_stopping=True, **QUICK).fit(X, Y)
    assert few.n_iter_ <= len(few.validation_errors_) == 3


def test_few_rows_or_queries_have_a_fixed_number_of_trees():
    for options, rows, qid in (
        ({}, 99, None),
        ({}, 240, QID % 4),
        ({"early_stopping": False}, 240, None),
    ):
        model = BoostedRanker(**options).fit(X[:rows], Y[:rows], qid=qid)
        assert model.n_iter_ == 100
        assert len(model.validation_errors_) == 0
    with pytest.raises(ValueError, match="5 folds need as many queries; got 4"):
        BoostedRanker(early_stopping=True, validation_fraction=0.2).fit(X, Y, qid=QID % 4)


def test_of_many_rows_one_fold_is_held_out_and_the_trees_of_the_others_are_kept():
    rows = GENERATOR.normal(size=(20_000, 2))
    y = rows[:, 0] + GENERATOR.normal(size=20_000)
    model = BoostedRanker(n_estimators=3, early_stopping=True).fit(rows, y)
    train, test = next(QueryKFold(5, shuffle=True, random_state=0).split(rows, Preferences.from_scores(y)))
    part = BoostedRanker(n_estimators=3).fit(rows[train], y[train])
    expected = [ranking_error(y[test], scores) for scores in part.staged_predict(rows[test])]
    np.testing.assert_allclose(model.validation_errors_, expected, rtol=1e-12)
    np.testing.assert_array_equal(
        model.predict(rows[:9]), list(part.staged_predict(rows[:9]))[model.n_iter_ - 1]
    )


def test_the_number_of_trees_does_not_depend_on_threads():
    one, two = (BoostedRanker(n_jobs=n, random_state=1, **QUICK).fit(X, Y, qid=QID) for n in (1, 2))
    np.testing.assert_array_equal(one.validation_errors_, two.validation_errors_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(BoostedRanker(**QUICK).fit(X, Y).predict(X[:9]),
                                  BoostedRanker(**QUICK).fit(X, Y).predict(X[:9]))  # fmt: skip


def test_initial_scores_are_divided_like_the_rows():
    start = 3.0 * np.sin(2 * X[:, 0])
    model = BoostedRanker(validation_fraction=0.5, **QUICK).fit(X, Y, init_score=start)
    errors = []
    for train, test in QueryKFold(2, shuffle=True, random_state=0).split(X, Preferences.from_scores(Y)):
        part = BoostedRanker(n_estimators=len(model.validation_errors_), **QUICK)
        part.fit(X[train], Y[train], init_score=start[train])
        errors.append([ranking_error(Y[test], start[test] + s) for s in part.staged_predict(X[test])])
    np.testing.assert_allclose(model.validation_errors_, np.mean(errors, axis=0), rtol=1e-12)


def test_warm_start_adds_a_hundred_trees_by_default():
    model = BoostedRanker(warm_start=True, **QUICK).fit(X, Y)
    n_first = model.n_iter_
    model.fit(X, Y)
    assert model.n_iter_ == n_first + 100
    assert len(model.validation_errors_) == 0


def test_scores_after_each_tree(tmp_path):
    frame = np.where(X > 1.5, np.nan, X)
    model = BoostedRanker(n_estimators=12).fit(frame, Y)
    stages = list(model.staged_predict(frame))
    assert len(stages) == 12
    np.testing.assert_array_equal(stages[-1], model.predict(frame))
    np.testing.assert_allclose(stages, model.scores_of_first(frame, list(range(1, 13))), rtol=1e-12)
    fewer = BoostedRanker(n_estimators=5).fit(frame, Y)
    np.testing.assert_array_equal(stages[4], fewer.predict(frame))
    save_model(model, tmp_path / "model.json")
    np.testing.assert_array_equal(list(load_model(tmp_path / "model.json").staged_predict(frame)), stages)


def test_a_stopped_model_in_a_file(tmp_path):
    model = BoostedRanker("logistic", scoring="log_loss", **QUICK).fit(X, Y, qid=QID)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.validation_errors_, model.validation_errors_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
