"""Leaving queries and rows out by a Newton step, beside refits."""

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import (
    CurveRanker,
    CurveRankerCV,
    Preferences,
    RankLogistic,
    RankLogisticCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    load_model,
    pair_data,
    save_model,
)
from rankwise.datasets import load_diabetes_ranking, make_ranking
from rankwise.model_selection import leave_query_out, leave_row_out, newton_steps
from rankwise.model_selection.scoring import held_out_error
from rankwise.preprocessing import CurveFeatures


@pytest.fixture(scope="module")
def queries():
    X, y, qid = make_ranking(240, 6, n_queries=30, noise=1.0, random_state=0)
    return X, np.round(y), qid


def refitted(model, X, y, folds, qid):
    scores = np.empty(len(y))
    for fold in np.unique(folds):
        test = folds == fold
        one = clone(model).set_params(tol=1e-8).fit(X[~test], y[~test], qid=qid[~test])
        scores[test] = one.predict(X[test])
    return scores


@pytest.mark.parametrize(
    "model",
    [
        RankLogistic(alpha=1e-3),
        RankLogistic(alpha=0.1, average="pairs"),
        RankSVM(alpha=1e-2, loss="squared_hinge"),
        RankLogistic(alpha=1e-2, pair_weight="difference"),
        RankLogistic(alpha=1e-2, kernel="rbf", gamma=0.1),
    ],
)
@pytest.mark.parametrize("n_folds", [30, 4])
def test_scores_equal_those_of_refits(model, queries, n_folds):
    X, y, qid = queries
    folds = qid % n_folds
    found = leave_query_out(model, X, y, qid, folds=folds)
    if model.kernel != "linear":  # basis rows are those of all rows, which refits without a fold lack
        model = clone(model).set_params(n_components=None)
    scores = refitted(model, X, y, folds, qid)
    assert found.method == "Newton step"
    assert np.abs(found.predictions - scores).max() < (0.05 if n_folds == 30 else 0.4) * scores.std()
    judged = Preferences.from_scores(y, qid, pair_weight=model.pair_weight)
    expected = held_out_error(judged, scores, model.average)
    assert found.error == pytest.approx(expected, abs=2e-3 if n_folds == 30 else 1e-2)
    assert found.auc == 1 - found.error


def test_a_quadratic_loss_is_left_out_exactly(queries):
    """RankRLS has closed forms; the Newton step of the squared hinge far inside its margin is the same."""
    X, y, qid = queries
    alpha = 10.0  # scores are far below 1, so that every pair is in the quadratic part of the squared hinge
    exact = leave_query_out(RankRLS(alpha=alpha, cost="unit"), X, y, qid)
    step = leave_query_out(RankSVM(alpha=alpha, loss="squared_hinge"), X, y, qid)
    np.testing.assert_allclose(step.predictions, exact.predictions, atol=5e-5)


def test_many_alphas_are_one_axis(queries):
    X, y, qid = queries
    alphas = [1e-3, 1.0, 1e-2]
    found = leave_query_out(RankLogistic(), X, y, qid, alphas=alphas)
    assert found.predictions.shape == (3, 240)
    for alpha, error in zip(alphas, found.error, strict=True):
        one = leave_query_out(RankLogistic(alpha=alpha), X, y, qid).error
        assert error == pytest.approx(one, abs=1e-3)


def test_more_dimensions_than_rows_are_turned(queries):
    X, y, qid = queries
    curves = leave_query_out(CurveRanker(loss="logistic", alpha=1e-2), X, y, qid)
    features = CurveFeatures().fit_transform(X)
    linear = leave_query_out(RankLogistic(alpha=1e-2), features, y, qid)
    np.testing.assert_allclose(curves.error, linear.error, atol=1e-2)
    dense = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
    scores = refitted(RankLogistic(alpha=1e-2), dense, y, qid, qid)
    assert linear.error == pytest.approx(held_out_error(Preferences.from_scores(y, qid), scores), abs=2e-3)


@pytest.mark.parametrize("model", [RankLogistic(alpha=1e-2), RankSVM(alpha=1e-2, loss="squared_hinge")])
def test_rows_left_out_equal_refits(model):
    X, y = (part[:40] for part in load_diabetes_ranking(return_X_y=True))
    wrong = total = 0
    for row in range(40):
        rest = np.arange(40) != row
        scores = clone(model).set_params(tol=1e-8).fit(X[rest], y[rest]).predict(X)
        sign = np.sign(y[row] - y[rest])
        wrong += np.sum((scores[row] - scores[rest]) * sign < 0)
        total += np.sum(sign != 0)
    found = leave_row_out(model, X, y)
    assert found.error == pytest.approx(wrong / total, abs=5e-3)
    alphas = leave_row_out(model, X, y, alphas=[1e-2, 10.0]).error
    assert alphas[0] == pytest.approx(found.error, abs=2e-3)
    assert alphas[0] != alphas[1]
    with pytest.raises(ValueError, match="no predictions"):
        _ = found.predictions


def test_pairs_and_survival_can_be_left_out(queries):
    X, _, _ = queries
    rows, pairs = pair_data(X[:50], X[50:100])
    assert 0 <= leave_query_out(RankLogistic(), rows, pairs).error <= 1
    time = X[:60, 0] - X[:60].min()
    lives = Preferences.from_survival(np.arange(60) % 3 > 0, time)
    assert leave_row_out(RankLogistic(alpha=1e-2), X[:60], lives).error < 0.2


def test_what_cannot_be_left_out_is_refused(queries):
    X, y, qid = queries
    with pytest.raises(TypeError, match="needs a smooth loss"):
        leave_query_out(RankSVM(), X, y, qid)
    with pytest.raises(ValueError, match="keep='lambda' is for RankRLS"):
        leave_query_out(RankLogistic(), X, y, qid, keep="lambda")
    with pytest.raises(ValueError, match="use leave_query_out"):
        leave_row_out(RankLogistic(), X, Preferences.from_scores(y, qid))
    with pytest.raises(ValueError, match="at least two queries"):
        leave_query_out(RankLogistic(), X, y)
    with pytest.raises(TypeError, match="model must be a RankRLS"):
        leave_row_out(object(), X, y)


# Searches over alpha


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")
@pytest.mark.parametrize("kind", [RankLogisticCV, RankSVMCV])
def test_searches_leave_queries_out(kind, queries):
    X, y, qid = queries
    options = {"loss": "squared_hinge"} if kind is RankSVMCV else {"scoring": "error"}
    alphas = [1e-3, 1e-1, 10.0]
    model = kind(alphas, cv="leave-query-out", **options).fit(X, y, qid=qid)
    plain = model.with_alpha(1.0)
    expected = leave_query_out(plain, X, y, qid, alphas=alphas[::-1]).error
    assert model.cv_errors_.shape == (3, 19)  # one of 20 groups of queries has no pairs
    np.testing.assert_allclose(model.cv_errors_.mean(axis=1), expected, atol=0.03)
    assert model.alpha_ == alphas[::-1][int(np.argmin(model.cv_errors_.mean(axis=1)))]
    found = kind(cv="leave-query-out", **options).fit(X, y, qid=qid)
    folds = kind(cv=5, **options).fit(X, y, qid=qid)
    assert abs(np.log10(found.alpha_ / folds.alpha_)) <= 3
    assert found.gap_ <= 1e-3


def test_a_search_calibrates_by_queries_left_out(queries):
    X, y, qid = queries
    model = RankLogisticCV(cv="leave-query-out", calibrated=True).fit(X, y, qid=qid)
    assert 0.5 < model.temperature_ < 2.0


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")
def test_searches_leave_rows_out():
    X, y = (part[:80] for part in load_diabetes_ranking(return_X_y=True))
    model = RankLogisticCV([1e-2, 1.0], cv="leave-row-out", scoring="error").fit(X, y)
    expected = leave_row_out(RankLogistic(), X, y, alphas=[1.0, 1e-2]).error
    np.testing.assert_allclose(model.cv_errors_[:, 0], expected, atol=1e-3)
    with pytest.raises(ValueError, match="judges by the ranking error"):
        RankLogisticCV(cv="leave-row-out").fit(X, y)
    with pytest.raises(ValueError, match="is for queries; use cv='leave-row-out'"):
        RankLogisticCV(cv="leave-query-out").fit(X, y)
    with pytest.raises(ValueError, match="is for one ranking; use cv='leave-query-out'"):
        RankLogisticCV(cv="leave-row-out", scoring="error").fit(X, y, qid=np.arange(80) // 8)
    with pytest.raises(ValueError, match="cv must be one of"):
        RankLogisticCV(cv="leave").fit(X, y)
    with pytest.raises(ValueError, match="calibrated=True needs held-out scores"):
        RankLogisticCV(cv="leave-row-out", scoring="error", calibrated=True).fit(X, y)
    with pytest.raises(ValueError, match="no models to score"):
        RankLogisticCV(cv="leave-row-out", scoring=lambda model, X, y: 0.0).fit(X, y)


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")
@pytest.mark.parametrize(
    ("model", "searched"),
    [
        (RankLogistic(alpha="auto"), RankLogisticCV(cv="leave-query-out")),
        (RankSVM(alpha="auto"), RankSVMCV()),
        (RankRLS(alpha="auto"), RankRLSCV()),
        (CurveRanker(alpha="auto", n_bins=8), CurveRankerCV(n_bins=8)),
    ],
)
def test_alpha_can_be_chosen_inside_a_fit(model, searched, queries, tmp_path):
    X, y, qid = queries
    searched.fit(X, y, qid=qid)
    model.fit(X, y, qid=qid)
    assert model.alpha == "auto"
    assert model.alpha_ == searched.alpha_
    np.testing.assert_array_equal(model.predict(X), searched.predict(X))
    assert clone(model).alpha == "auto"
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert (loaded.alpha, loaded.alpha_) == ("auto", model.alpha_)


def test_inference_takes_a_chosen_alpha(queries):
    X, y, qid = queries
    model = RankLogistic(alpha="auto").fit(X, y, qid=qid)
    assert model.inference(X, y, qid=qid).alpha == model.alpha_
    one = RankLogistic(alpha="auto").fit(X, y)
    assert one.alpha_ == RankLogisticCV().fit(X, y).alpha_


@pytest.mark.parametrize("model", [RankLogistic(alpha=1e-2), RankSVM(alpha=1e-2, loss="squared_hinge")])
def test_small_and_large_folds_have_the_same_scores(model, queries, monkeypatch):
    """Folds of more rows than features invert a Hessian each; for queries of one weight both are exact."""
    X, y, qid = queries
    expected = leave_query_out(model, X, y, qid)
    monkeypatch.setattr(newton_steps, "_LargeFolds", newton_steps._SmallFolds)
    found = leave_query_out(model, X, y, qid)
    assert not np.array_equal(found.predictions, expected.predictions)
    np.testing.assert_allclose(found.predictions, expected.predictions, rtol=1e-8, atol=1e-10)


def test_blocks_of_pairs_do_not_change_the_error_without_rows(monkeypatch):
    X, y = load_diabetes_ranking(return_X_y=True)
    expected = leave_row_out(RankLogistic(), X[:90], y[:90]).error
    monkeypatch.setattr(newton_steps, "PAIR_BLOCK", 100)
    assert leave_row_out(RankLogistic(), X[:90], y[:90]).error == pytest.approx(expected, rel=1e-12)
