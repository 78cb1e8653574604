"""Rankers of two labels where scikit-learn expects a binary classifier."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay, average_precision_score, roc_auc_score
from sklearn.model_selection import KFold, cross_val_score

from rankwise import (
    AutoRanker,
    BoostedRanker,
    CurveRanker,
    HullRanker,
    KernelRanker,
    OrdinalSVM,
    RankLogistic,
    RankRLS,
    RankSVM,
    RankSVMCV,
)
from rankwise.evaluation import evaluate
from rankwise.io.model_file import load_model, save_model

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
y = np.where(X[:, 0] + rng.normal(size=90) > 0, 1, -1)
MODELS = [
    RankSVM(),
    RankSVM(kernel="rbf"),
    RankLogistic(),
    RankRLS(),
    RankSVMCV([0.1, 0.01], cv=2),
    HullRanker(),
    OrdinalSVM(),
    CurveRanker(alpha=0.1, n_bins=4),
    KernelRanker(),
    BoostedRanker(n_estimators=5),
    AutoRanker(budget=2, random_state=0),
]
pytestmark = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_scorers_curves_and_calibration_take_a_ranker(model):
    fitted = clone(model).fit(X, y)
    scores = fitted.decision_function(X)
    if not isinstance(model, OrdinalSVM):
        np.testing.assert_array_equal(scores, fitted.predict(X))
    assert is_classifier(fitted)
    assert fitted.classes_.tolist() == [-1, 1]
    assert RocCurveDisplay.from_estimator(fitted, X, y).roc_auc == pytest.approx(roc_auc_score(y, scores))
    precision = PrecisionRecallDisplay.from_estimator(fitted, X, y).average_precision
    assert precision == pytest.approx(average_precision_score(y, scores))
    plt.close("all")


@pytest.mark.parametrize("model", MODELS[:-1], ids=lambda model: type(model).__name__)
def test_scores_of_folds_and_probabilities(model):
    folds = list(KFold(2).split(X))
    for scoring, score in (("roc_auc", roc_auc_score), ("average_precision", average_precision_score)):
        expected = []
        for train, test in folds:
            scores = clone(model).fit(X[train], y[train]).decision_function(X[test])
            expected.append(score(y[test], scores))
        found = cross_val_score(model, X, y, scoring=scoring, cv=folds, error_score="raise")
        np.testing.assert_allclose(found, expected)
    probability = CalibratedClassifierCV(model, cv=2).fit(X, y).predict_proba(X)[:, 1]
    assert roc_auc_score(y, probability) > 0.7
    assert abs(probability.mean() - (y > 0).mean()) < 0.1


def test_a_loaded_ranker_keeps_its_labels(tmp_path):
    save_model(RankSVM().fit(X, y), tmp_path / "model.json")
    assert is_classifier(load_model(tmp_path / "model.json"))


def test_other_labels_make_no_classifier():
    model = RankSVM().fit(X, y)
    assert not is_classifier(RankSVM())
    assert not is_classifier(model.fit(X, np.arange(90) % 3))
    assert not hasattr(model, "classes_")
    model.fit(X, y)
    grades = np.arange(90) % 4  # other labels than those of the fit
    assert len(evaluate(model, X, grades, measures="error").measures) == 1
