"""Grades of AutoRanker: boundaries by rows that were held out."""

import numpy as np
import pytest

from rankwise import AutoRanker, Preferences, fit_thresholds
from rankwise.estimators.auto_grades import MOST_GRADES, Grades, grades_by
from rankwise.estimators.auto_task import Fold, Task, folds_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
UTILITY = X @ [2.0, -1.0, 0.0] + 0.5 * RNG.normal(size=240)
Y = np.digitize(UTILITY, [-2.0, 0.0, 1.0]) * 10.0


def of_final(rows):
    return rows[:, 0]


def test_level_and_spread_of_a_fold_do_not_matter():
    task = Task(X, Y)
    folds = folds_of(task, 4, 0)
    scores = [(k + 1) * of_final(fold.test.X) - 5.0 * k for k, fold in enumerate(folds)]
    found = grades_by(folds, scores, of_final)
    np.testing.assert_array_equal(found.values, [0.0, 10.0, 20.0, 30.0])
    np.testing.assert_allclose(found.thresholds, fit_thresholds(of_final(X), Y))


def test_folds_without_scores_and_rows_of_weight_zero_are_not_there():
    weight = (Y > 0).astype(float)
    folds = folds_of(Task(X, Y, None, weight), 4, 0)
    found = grades_by(folds, [of_final(fold.test.X) for fold in folds[:2]], of_final)
    first = np.concatenate([fold.judged for fold in folds[:2]])
    first = first[weight[first] > 0]
    np.testing.assert_array_equal(found.values, [10.0, 20.0, 30.0])
    expected = fit_thresholds(of_final(X[first]), Y[first])
    np.testing.assert_array_equal(found.of(of_final(X)), Grades(found.values, expected).of(of_final(X)))


def test_one_grade_in_the_rows_of_the_folds_has_no_boundaries():
    task = Task(X, Y)
    fold = Fold(task, np.flatnonzero(Y != 10.0), np.flatnonzero(Y == 10.0))
    assert grades_by([fold], [of_final(fold.test.X)], of_final) is None


def test_a_fold_with_equal_scores_has_the_level_of_the_final_model():
    task = Task(X, Y)
    fold = Fold(task, np.arange(120), np.arange(120, 240))
    found = grades_by([fold], [np.full(120, 7.0)], of_final)
    grades = found.of(np.array([of_final(X[120:]).mean()]))
    assert grades == np.median(Y[120:])


@pytest.mark.parametrize("prefer", ["simple", "blend"])
def test_grades_are_predicted_if_labels_are_grades(prefer):
    model = AutoRanker(None, prefer=prefer, candidates=["linear", "curves"], cv=3).fit(X[:160], Y[:160])
    grades = model.predict_grade(X[160:])
    assert set(grades) <= set(model.grades_.tolist()) == {0.0, 10.0, 20.0, 30.0}
    assert (np.diff(grades[np.argsort(model.predict(X[160:]))]) >= 0).all()
    of_constant = np.abs(np.median(Y[:160]) - Y[160:]).mean()
    assert np.abs(grades - Y[160:]).mean() < 0.5 * of_constant
    assert len(model.thresholds_) == 3


@pytest.mark.parametrize(
    ("y", "qid"),
    [
        (np.arange(240.0) % (MOST_GRADES + 1), None),
        (Y, np.repeat(np.arange(24), 10)),
        (Preferences.from_scores(Y), None),
    ],
)
def test_other_labels_have_no_grades(y, qid):
    model = AutoRanker(None, candidates=["linear"], cv=2).fit(X, Y)
    assert hasattr(model, "predict_grade")
    model.fit(X, y, qid=qid)  # what the first fit left is gone
    assert not hasattr(model, "predict_grade")
    with pytest.raises(AttributeError) as error:
        model.predict_grade(X)
    assert str(error.value.__cause__).startswith("predict_grade needs labels with at most 20 values")
