"""Descents that alphas are compared by: against certified fits, on rows that are many for their features."""

from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from rankwise import OrdinalSVMCV, RankLogisticCV, RankSVM, RankSVMCV
from rankwise.data.design import as_design
from rankwise.datasets import make_ranking
from rankwise.estimators.pairwise import FoldDescents, PairwiseRanker
from rankwise.losses import LOSSES
from rankwise.model_selection import QueryKFold
from rankwise.model_selection.tunable import Problem
from rankwise.preferences import Preferences
from rankwise.solvers import descent, descent_of
from rankwise.solvers.descent import CurvatureModel, Descent, curvature_of, in_lockstep
from rankwise.solvers.result import Monitor

LOSS_NAMES = ["hinge", "squared_hinge", "logistic"]
ALPHAS = 10.0 ** -np.arange(1, 5)
ANY_CHOICE = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")


def data(seed=0, rows=4200, features=6, noise=1.5, n_queries=60):
    X, y, qid = make_ranking(rows, features, n_queries=n_queries, n_levels=5, noise=noise, random_state=seed)
    return X * np.logspace(-1, 1, features), y, qid


@pytest.mark.parametrize("loss", LOSS_NAMES)
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_alpha_of_a_descent_is_within_the_tolerance(loss, seed):
    X, y, qid = data(seed)
    design, mean = as_design(X), LOSSES[loss](Preferences.from_scores(y, qid))
    path = descent_of(design, mean)
    for alpha in ALPHAS:
        reached = path.minimise(alpha, 1e-3)
        exact = tight(loss, alpha).fit(X, y, qid=qid)
        assert mean.value(design.matvec(reached.coef)) + alpha * reached.coef @ reached.coef == pytest.approx(
            reached.objective, rel=1e-9
        )
        above, winnable = reached.objective - exact.objective_, mean.at_zero - exact.objective_
        assert above <= 1e-3 * winnable + 1e-12
        assert reached.gap >= above - exact.gap_


def tight(loss, alpha):
    if loss == "logistic":
        return RankLogisticCV([alpha], tol=1e-5).with_alpha(alpha)
    return RankSVM(alpha, loss=loss, tol=1e-5)


def few_in_disguise(seed):
    """Rows that are copies of 150, nearly, so that too small an alpha learns noise."""
    X, y, qid = make_ranking(150, 12, n_queries=15, n_levels=4, noise=3.0, random_state=seed)
    X, y, qid = (np.repeat(part, 42, axis=0) for part in (X, y, qid))
    return X + 0.1 * np.random.default_rng(seed).normal(size=X.shape), y, qid


@ANY_CHOICE
@pytest.mark.parametrize(("seed", "average"), [(0, "queries"), (2, "pairs"), (3, "pairs")])
def test_the_choice_is_that_of_certified_fits(seed, average):
    X, y, qid = few_in_disguise(seed)
    options = {"average": average, "cv": 3}
    quick = RankSVMCV([10.0, 1.0, 0.1, 1e-3], **options).fit(X, y, qid=qid)
    # Compared fits are certified to three times the tolerance.
    slow = RankSVMCV([10.0, 1.0, 0.1, 1e-3], **options, solver="bundle", tol=1e-3 / 3).fit(X, y, qid=qid)
    assert quick.alpha_ == slow.alpha_
    assert (quick.cv_errors_ != slow.cv_errors_).any()  # they were fitted in another way
    np.testing.assert_allclose(quick.cv_errors_, slow.cv_errors_, atol=1e-2)
    np.testing.assert_allclose(quick.cv_errors_.mean(axis=1), slow.cv_errors_.mean(axis=1), atol=4e-3)
    assert quick.gap_ <= 1e-3 * (1 - quick.objective_ + quick.gap_)  # the model itself is certified
    assert abs(quick.objective_ - slow.objective_) <= max(quick.gap_, slow.gap_)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(1e-6, 1e3))
def test_the_curvature_model_satisfies_the_secant_equation_at_every_alpha(seed, alpha):
    generator = np.random.default_rng(seed)
    root, curvature = generator.normal(size=(2, 9, 5))
    metric, curvature = CurvatureModel(root.T @ root), curvature.T @ curvature
    gradient = generator.normal(size=5)
    plain = np.linalg.solve(root.T @ root + 2 * alpha * np.eye(5), gradient)
    np.testing.assert_allclose(metric.solve(gradient, alpha), plain, rtol=1e-6, atol=1e-9)
    for step in generator.normal(size=(8, 5)):
        metric.learn(step, curvature @ step)
    np.testing.assert_allclose(metric.solve(curvature @ step + 2 * alpha * step, alpha), step, rtol=1e-6)


def test_steps_that_break_their_promise_end_a_descent(monkeypatch):
    X, y, qid = data()
    path = descent_of(as_design(X), LOSSES["hinge"](Preferences.from_scores(y, qid)))
    monkeypatch.setattr(descent, "ACHIEVED_FRACTION", 3.0)
    assert path.minimise(1e-3, 1e-3) is None


def test_the_certified_solver_takes_over_from_a_descent(monkeypatch):
    X, y, qid = data(rows=4100)
    preferences, kept = Preferences.from_scores(y, qid), Descent.minimise
    refuse = lambda self, alpha, *more: kept(self, alpha, *more) if alpha > 0.05 else None  # noqa: E731
    monkeypatch.setattr(Descent, "minimise", refuse)
    scores = np.concatenate(list(RankSVM(tol=1e-5).fits(Problem(X, [preferences])).scores(ALPHAS[:3], X)))
    loss = LOSSES["hinge"](preferences)
    for alpha, row in zip(ALPHAS[1:3], scores[1:], strict=True):
        exact = RankSVM(alpha, tol=1e-5).fit(X, y, qid=qid)
        assert loss.value(row) == pytest.approx(loss.value(exact.predict(X)), abs=1e-3)


@pytest.mark.parametrize(("rows", "features"), [(4095, 2), (4200, 65)])
def test_few_rows_and_many_features_have_no_descent(rows, features):
    X, y = make_ranking(rows, features, random_state=0)
    assert descent_of(as_design(X), LOSSES["hinge"](Preferences.from_scores(y))) is None


def test_ctrl_c_in_a_descent_ends_the_search():
    X, y, qid = data()

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RankSVMCV(callback=interrupt).fit(X, y, qid=qid)


# Folds that share passes over the rows


def parts(X, preferences):
    folds = QueryKFold(3, shuffle=True, random_state=0).split(X, preferences)
    return [(train, preferences[train]) for train, _ in folds]


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_descents_in_lockstep_take_the_steps_that_each_takes_alone(loss):
    X, y, qid = data(rows=4400)
    design, preferences = as_design(X), Preferences.from_scores(y, qid)
    curvature = curvature_of(design, preferences, "queries")

    def descents():
        losses = [(LOSSES[loss](part), copy(curvature), rows) for rows, part in parts(X, preferences)]
        return [Descent(design, *one) for one in losses]

    together, alone = descents(), descents()
    for alpha in ALPHAS:
        runs = [one.descending(alpha, 1e-3, Monitor()) for one in together]
        for found, one in zip(in_lockstep(design, runs), alone, strict=True):
            np.testing.assert_array_equal(found.coef, one.minimise(alpha, 1e-3).coef)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_descent_on_some_rows_is_that_on_a_copy_of_them(loss):
    X, y, qid = data(rows=4400)
    preferences = Preferences.from_scores(y, qid)
    curvature = curvature_of(as_design(X), preferences, "queries")
    rows, part = parts(X, preferences)[0]
    masked = Descent(as_design(X), LOSSES[loss](part), copy(curvature), rows)
    copied = Descent(as_design(X[rows]), LOSSES[loss](part), copy(curvature))
    for alpha in ALPHAS[:2]:
        some, same = (one.minimise(alpha, 1e-3) for one in (masked, copied))
        assert some.n_iter == same.n_iter
        np.testing.assert_allclose(some.coef, same.coef, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(masked.scores, X @ some.coef, rtol=1e-9, atol=1e-9)


@ANY_CHOICE
@pytest.mark.parametrize("search", [RankSVMCV(), RankLogisticCV(), OrdinalSVMCV()])
def test_folds_that_share_passes_have_the_errors_of_copied_rows(search, monkeypatch):
    X, y, _ = data(rows=5000, n_queries=1)
    searches = [clone(search).set_params(alphas=ALPHAS, cv=3, n_jobs=n_jobs) for n_jobs in (1, 2)]
    quick, threads = (one.fit(X, y) for one in searches)
    monkeypatch.setattr(PairwiseRanker, "fold_descents", lambda *arguments: None)
    copied = clone(searches[0]).fit(X, y)
    np.testing.assert_array_equal(quick.cv_errors_, threads.cv_errors_)
    np.testing.assert_array_equal(quick.coef_, threads.coef_)
    np.testing.assert_allclose(quick.cv_errors_, copied.cv_errors_, rtol=0.015)
    assert (quick.cv_errors_ != copied.cv_errors_).any()  # they were fitted in another way


@ANY_CHOICE
def test_certified_fits_of_copied_rows_take_over_from_descents_in_lockstep(monkeypatch):
    X, y, qid = data(rows=4100)
    kept = FoldDescents.scores
    monkeypatch.setattr(
        FoldDescents, "scores", lambda self, alpha: kept(self, alpha) if alpha > 0.05 else None
    )
    quick = RankSVMCV(ALPHAS[:3], cv=3, tol=3e-4).fit(X, y, qid=qid)
    slow = RankSVMCV(ALPHAS[:3], cv=3, tol=3e-4, solver="bundle").fit(X, y, qid=qid)
    np.testing.assert_allclose(quick.cv_errors_, slow.cv_errors_, atol=4e-3)
    assert quick.alphas_.tolist() == slow.alphas_.tolist()
