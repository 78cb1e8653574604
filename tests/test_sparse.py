"""Linear rankers that select features: objectives, certificates and screening, against explicit pairs."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import ElasticNet as ScikitElasticNet
from sklearn.linear_model import LogisticRegression

import independent
import independent_sparse
import reference
from rankwise import (
    Preferences,
    RankLogistic,
    RankLogisticCV,
    RankPlackettLuceCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
)
from rankwise.cli.main import main
from rankwise.data.design import DenseDesign, as_design
from rankwise.io.model_file import load_model, save_model
from rankwise.losses import LeastSquares, Logistic, PlackettLuce, SquaredHinge
from rankwise.losses.plackett_luce import TIES
from rankwise.model_selection import (
    EdgeOfGridWarning,
    QueryKFold,
    alpha_path,
    leave_pair_out,
    leave_query_out,
    leave_row_out,
    selection_frequencies,
)
from rankwise.model_selection.search import Choice
from rankwise.model_selection.stability import halves
from rankwise.solvers.certificate import StoppingRule
from rankwise.solvers.elastic_net import ElasticNet
from rankwise.solvers.result import Monitor
from rankwise.solvers.run import run
from rankwise.solvers.sparse_newton import SparseNewton, largest_alpha, solve_sparse_newton
from strategies import cases

LOSSES = {"logistic": Logistic, "squared_hinge": SquaredHinge, "squares": LeastSquares}
RATIOS = st.sampled_from([0.1, 0.5, 0.9, 1.0])


def ranking(m=80, n=12, seed=0, n_queries=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.round(X[:, :3] @ [1.0, -1.0, 0.5] + rng.normal(size=m))
    return X, y, np.arange(m) % n_queries


def largest(X, pairs, loss, ratio):
    absent = np.zeros(X.shape[1])
    better, worse, weight, target = (np.array([pair[k] for pair in pairs]) for k in range(4))
    slopes = independent_sparse.loss_of_pairs(X[better] - X[worse], weight, target, loss)(absent)[1]
    return np.abs(slopes).max() / ratio


@settings(max_examples=60, deadline=None)
@given(
    cases(),
    st.sampled_from(list(LOSSES)),
    RATIOS,
    st.floats(0.01, 1.2),
    st.integers(1, 30),
    st.sampled_from(["dense", "fortran", "csr"]),
    st.sampled_from(["queries", "pairs"]),
    st.integers(0, 2**31),
)
def test_the_optimum_of_explicit_pairs(case, loss, ratio, share, n, kind, average, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(case.preferences.n_rows, n))
    pairs = independent.listed(case.preferences, average)
    alpha = share * largest(X, pairs, loss, ratio) or 1.0
    rows = {"dense": X, "fortran": np.asfortranarray(X), "csr": sp.csr_array(X)}[kind]
    of_loss = LOSSES[loss](case.preferences, average=average)
    found = solve_sparse_newton(as_design(rows), of_loss, alpha, l1_ratio=ratio, tol=1e-9, max_iter=200)
    net = ElasticNet.of(alpha, ratio, None, n)
    best = independent_sparse.solve(X, pairs, net.absolute, net.square, loss)[1]
    assert found.objective <= best + 1e-9
    assert found.objective - found.gap <= best * (1 + 1e-14)
    assert found.gap <= max(found.target_gap, found.rounding)
    assert found.status == "converged" or found.rounding > found.target_gap


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(list(LOSSES)), RATIOS, st.floats(0.02, 1.0), st.booleans())
def test_no_active_feature_is_screened(seed, loss, ratio, share, free):
    rng = np.random.default_rng(seed)
    m, n = 24, 40
    X = rng.normal(size=(m, n)) + rng.normal(size=(m, 1))
    y = np.round(X[:, :2].sum(axis=1) + rng.normal(size=m), 1)
    of_loss = LOSSES[loss](Preferences.from_scores(y))
    pairs = reference.normalised(reference.ranking_pairs(y))
    alpha = share * largest(X, pairs, loss, ratio)
    weights = rng.choice([0.5, 1.0, 2.0], size=n)
    weights[0] = 0.0 if free else 1.0
    net = ElasticNet.of(alpha, ratio, weights, n)
    method = SparseNewton(as_design(X), of_loss, net)
    run(method, StoppingRule(1e-8, of_loss.at_zero), max_iter=100, monitor=Monitor())
    optimum = independent_sparse.solve(X, pairs, net.absolute, net.square, loss)[0]
    assert not optimum[method.screened & (np.abs(optimum) > 1e-7)].any()
    assert method.screened.any() or share < 0.1 or (~method.screened).sum() == n


MODELS = {
    "logistic": RankLogistic(),
    "squared_hinge": RankSVM(loss="squared_hinge"),
    "squares": RankRLS(ties="drop"),
}


@pytest.mark.parametrize("loss", MODELS)
@pytest.mark.parametrize("free", [(), (0,), (1, 5, 7)])
def test_estimators_with_weights_of_the_penalty(loss, free):
    X, y, qid = ranking()
    weights = np.linspace(0.5, 2.0, X.shape[1])
    weights[list(free)] = 0.0
    model = clone(MODELS[loss]).set_params(alpha=0.02, l1_ratio=0.8, penalty_weights=weights, tol=1e-10)
    model.fit(X, y, qid=qid)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    net = ElasticNet.of(0.02, 0.8, weights, X.shape[1])
    coef, best = independent_sparse.solve(X, pairs, net.absolute, net.square, loss)
    assert model.objective_ == pytest.approx(best, rel=1e-9)
    assert model.objective_ - model.gap_ <= best * (1 + 1e-14)
    assert model.gap_ <= 1e-9
    np.testing.assert_allclose(model.coef_, coef, atol=1e-4)
    assert model.solver_ == "sparse-newton"


def test_logistic_as_scikit_learn_has_it():
    X, y, _ = ranking(m=40)
    pairs = reference.ranking_pairs(y)
    D = np.array([X[i] - X[j] for i, j, *_ in pairs])
    alpha, ratio = 0.02, 0.8
    model = RankLogistic(alpha, l1_ratio=ratio, tol=1e-9).fit(X, y)
    signs = np.where(np.arange(len(D)) % 2 == 0, 1.0, -1.0)  # scikit-learn needs two classes
    # scikit-learn: C sum log-loss + r ||w||_1 + (1 - r) / 2 ||w||^2
    l1, l2 = alpha * ratio * len(D), 2 * alpha * (1 - ratio) * len(D)
    other = LogisticRegression(
        C=1 / (l1 + l2),
        l1_ratio=l1 / (l1 + l2),
        solver="saga",
        fit_intercept=False,
        tol=1e-9,
        max_iter=20_000,
    )
    other.fit(signs[:, None] * D, signs)
    np.testing.assert_allclose(model.coef_, other.coef_[0], atol=1e-5)


def test_least_squares_as_scikit_learn_has_it():
    X, y, _ = ranking(m=40)
    pairs = reference.kept_pairs(y)
    D = np.array([X[i] - X[j] for i, j, *_ in pairs])
    weight, target = (np.array([pair[k] for pair in pairs], dtype=float) for k in (2, 3))
    alpha, ratio = 0.05, 0.7
    model = RankRLS(alpha, l1_ratio=ratio, tol=1e-10).fit(X, y)
    # scikit-learn: 1 / (2 sum of weights) of the squares
    l1, l2 = alpha * ratio / (2 * weight.sum()), alpha * (1 - ratio) / weight.sum()
    other = ScikitElasticNet(
        l1 + l2, l1_ratio=l1 / (l1 + l2), fit_intercept=False, tol=1e-12, max_iter=100_000
    )
    other.fit(D, target, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-6)


def test_censored_times_weights_and_columns_that_repeat():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X = np.hstack([X, X[:, :3], np.ones((50, 1))])
    time, event = rng.exponential(np.exp(X[:, 0])), rng.random(50) < 0.7
    preferences = Preferences.from_survival(event, time, rng.choice([0.5, 1.0, 2.0], size=50))
    pairs = independent.listed(preferences)
    for model in (RankLogistic(0.01), RankSVM(0.01, loss="squared_hinge")):
        model.set_params(l1_ratio=1.0, tol=1e-9).fit(X, preferences)
        net = ElasticNet.of(0.01, 1.0, None, X.shape[1])
        loss = "logistic" if isinstance(model, RankLogistic) else model.loss
        best = independent_sparse.solve(X, pairs, net.absolute, net.square, loss)[1]
        assert model.objective_ == pytest.approx(best, rel=1e-9)
        assert model.coef_[-1] == 0.0


def test_the_largest_alpha_is_where_the_first_feature_enters():
    X, y, qid = ranking()
    loss, design = Logistic(Preferences.from_scores(y, qid)), as_design(X)
    for free in ([], [3], [0, 4]):
        weights = np.linspace(0.5, 2.0, X.shape[1])
        weights[free] = 0.0
        options = {"l1_ratio": 0.7, "penalty_weights": weights}
        top = largest_alpha(design, loss, **options)
        above, below = (
            solve_sparse_newton(design, loss, share * top, tol=1e-10, **options) for share in (1.001, 0.97)
        )
        assert np.flatnonzero(above.coef).tolist() == free
        assert np.count_nonzero(below.coef) == len(free) + 1
        assert above.status == below.status == "converged"


def test_the_number_and_the_names_of_selected_features():
    X, y, _ = ranking()
    names = np.array([f"gene {k}" for k in range(X.shape[1])], dtype=object)
    plain, named = (
        RankLogistic(0.05, l1_ratio=1.0).fit(rows, y) for rows in (X, pd.DataFrame(X, columns=names))
    )
    assert 0 < len(plain.selected_features_) < X.shape[1]
    np.testing.assert_array_equal(plain.selected_features_, np.flatnonzero(plain.coef_))
    np.testing.assert_array_equal(named.selected_features_, names[plain.selected_features_])


def test_a_fit_is_stored_and_loaded(tmp_path):
    X, y, _ = ranking()
    model = RankLogistic(0.05, l1_ratio=0.9, penalty_weights=np.ones(X.shape[1])).fit(X, y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.selected_features_, model.selected_features_)
    assert loaded.l1_ratio == 0.9
    np.testing.assert_array_equal(loaded.penalty_weights, model.penalty_weights)


def test_an_objective_in_words():
    assert RankLogistic(l1_ratio=0.9).formula.endswith("(r‖w‖₁ + (1 \N{MINUS SIGN} r)‖w‖²), r = 0.9")
    assert RankRLS().formula.endswith("‖f‖²")


REFUSED = [
    (
        RankSVM(l1_ratio=0.9),
        "l1_ratio above 0 needs a smooth loss, but loss='hinge' has kinks; use loss='squa",
    ),
    (
        RankLogistic(l1_ratio=0.9, kernel="rbf"),
        "l1_ratio=0.9 selects features of a linear model, but kernel='rbf'",
    ),
    (RankRLS(l1_ratio=0.9, kernel="rbf"), "use kernel='linear', or l1_ratio=0"),
    (RankLogistic(l1_ratio=1.1), "l1_ratio must be a number from 0 to 1; got 1.1"),
    (RankLogistic(l1_ratio=np.nan), "l1_ratio must be a number from 0 to 1; got nan"),
    (RankLogistic(l1_ratio="high"), "l1_ratio must be a number from 0 to 1; got 'high'"),
    (RankLogistic(l1_ratio=[0.5, 0.9]), "a list, .* is for a CV class"),
    (RankLogistic(0, l1_ratio=0.5), "needs a penalty, but alpha=0; set l1_ratio=0"),
    (RankLogistic(penalty_weights=np.ones(12)), "set l1_ratio above 0"),
    (RankRLS(penalty_weights=np.ones(12)), "set l1_ratio above 0"),
    (RankLogistic(l1_ratio=0.5, penalty_weights=np.ones(3)), "one for each of the 12 features"),
    (RankLogistic(l1_ratio=0.5, penalty_weights=-np.ones(12)), "numbers of at least 0, not all of them 0"),
    (RankLogistic(l1_ratio=0.5, penalty_weights=np.zeros(12)), "numbers of at least 0, not all of them 0"),
    (
        RankLogistic(l1_ratio=0.5, solver="newton"),
        "does not solve loss='logistic' with l1_ratio above 0; use 's",
    ),
    (
        RankLogistic(solver="sparse-newton"),
        "solver='sparse-newton' does not solve loss='logistic'; use 'newton'",
    ),
    (RankRLS(l1_ratio=0.5, solver="cg"), "solver='cg' has no l1_ratio above 0; use solver='auto'"),
    (
        RankLogisticCV(l1_ratio=0.5, cv="leave-row-out", scoring="error"),
        "needs the penalty alpha .* set l1_ratio=0, or use folds",
    ),
    (RankRLSCV(l1_ratio=0.5, cv="leave-row-out"), "needs the penalty alpha .* set l1_ratio=0, or use folds"),
]


@pytest.mark.parametrize(("model", "sentence"), REFUSED, ids=str)
def test_what_has_no_absolute_weights_is_refused(model, sentence):
    X, y, _ = ranking()
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y)


def test_several_outputs_and_closed_forms_are_refused():
    X, y, qid = ranking()
    model = RankRLS(l1_ratio=0.5)
    with pytest.raises(ValueError, match="is for one output, but y has 2; fit each alone"):
        model.fit(X, np.stack([y, -y], axis=1))
    with pytest.raises(ValueError, match=r"path has no l1_ratio above 0; use .*alpha_path"):
        model.path(X, y, [1.0])
    for left_out in (leave_pair_out, leave_row_out):
        with pytest.raises(ValueError, match="needs the penalty alpha"):
            left_out(model, X, y)
    with pytest.raises(ValueError, match="needs the penalty alpha"):
        leave_query_out(model, X, y, qid=qid)


def test_inference_after_selection_is_refused_with_the_way_out():
    X, y, _ = ranking()
    model = RankLogistic(0.01, l1_ratio=0.9).fit(X, y)
    with pytest.raises(ValueError, match=r"not selected by the same rows.*Split the rows.*alpha=0"):
        model.inference(X, y)


# Paths and searches


@pytest.mark.parametrize("loss", MODELS)
def test_every_model_of_a_path_is_certified(loss):
    X, y, qid = ranking()
    ratio = 0.8
    model = clone(MODELS[loss]).set_params(l1_ratio=ratio, alpha=1.0)
    path = alpha_path(model, X, y, qid=qid, n_alphas=12, tol=1e-5)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    assert len(path.alphas) == 12
    assert path.n_selected[0] == 0
    assert path.n_selected[-1] > 3
    np.testing.assert_array_equal(path.n_selected, np.count_nonzero(path.coef, axis=1))
    for k in (1, 5, 11):
        net = ElasticNet.of(path.alphas[k], ratio, None, X.shape[1])
        best = independent_sparse.solve(X, pairs, net.absolute, net.square, loss)[1]
        assert path.objectives[k] - path.gaps[k] <= best * (1 + 1e-14)
        assert path.gaps[k] <= 1e-5 * (path.at_zero - best) * (1 + 1e-4) + 1e-12
    for alpha in np.sqrt(path.alphas[1:] * path.alphas[:-1])[[2, 7]]:
        net = ElasticNet.of(alpha, ratio, None, X.shape[1])
        best = independent_sparse.solve(X, pairs, net.absolute, net.square, loss)[1]
        assert path.bound(alpha) <= best * (1 + 1e-12) <= path.objective(alpha) * (1 + 2e-12)
        assert path.model(alpha).gap_ >= path.objective(alpha) - best


def test_a_path_has_a_hundred_fits_unless_told_otherwise():
    X, y, _ = ranking(m=30, n=4)
    assert len(alpha_path(RankLogistic(l1_ratio=0.9), X, y).alphas) == 100
    assert len(alpha_path(RankLogistic(), X, y, (1.0, 0.1), n_alphas=3).alphas) == 3


def test_fits_along_a_path_share_their_columns_and_start_from_the_last_point(monkeypatch):
    X, y, _ = ranking(n=30)
    calls, rmatvec = [], DenseDesign.rmatvec
    monkeypatch.setattr(DenseDesign, "rmatvec", lambda self, c: calls.append(1) or rmatvec(self, c))
    path = alpha_path(RankLogistic(l1_ratio=0.9), X, y, n_alphas=50)
    assert len(calls) <= 1.5 * len(path.alphas)


SEARCHES = [RankLogisticCV(), RankSVMCV(loss="squared_hinge"), RankRLSCV()]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda one: type(one).__name__)
def test_a_search_chooses_alpha_and_the_ratio(search):
    X, y, qid = ranking(m=120)
    alphas, ratios = [0.3, 0.1, 0.03], [0.4, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        found = clone(search).set_params(alphas=alphas, cv=3, l1_ratio=ratios).fit(X, y, qid=qid)
        alone = [clone(search).set_params(alphas=alphas, cv=3, l1_ratio=r).fit(X, y, qid=qid) for r in ratios]
    best = min(alone, key=lambda model: model.cv_errors_.mean(axis=1).min())
    assert found.l1_ratio_ == best.l1_ratio
    assert found.alpha_ == best.alpha_
    assert found.cv_errors_.shape == (3, 3)
    np.testing.assert_array_equal(found.coef_, best.coef_)
    plain = found.with_alpha(found.alpha_).set_params(l1_ratio=found.l1_ratio_, tol=1e-8).fit(X, y, qid=qid)
    assert found.objective_ - found.gap_ <= plain.objective_ + 1e-12


def test_folds_are_judged_by_fits_of_their_own():
    X, y, qid = ranking(m=120, n_queries=12)
    alphas = [0.1, 0.01]
    folds = list(QueryKFold(3).split(X, y, qid))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        found = RankLogisticCV(alphas, cv=folds, l1_ratio=0.8, tol=1e-8).fit(X, y, qid=qid)
    for k, (train, test) in enumerate(folds):
        for j, alpha in enumerate(alphas):
            model = RankLogistic(alpha, l1_ratio=0.8, tol=1e-9).fit(X[train], y[train], qid=qid[train])
            loss = Logistic(Preferences.from_scores(y[test], qid[test])).value(model.predict(X[test]))
            assert found.cv_errors_[j, k] == pytest.approx(loss, abs=1e-4)


def test_one_standard_error_takes_the_largest_alpha_within_it():
    errors = np.array([[0.5, 0.5, 0.5], [0.31, 0.3, 0.32], [0.25, 0.35, 0.27], [0.3, 0.4, 0.35]])
    choice = Choice(np.array([8.0, 4.0, 2.0, 1.0]), errors)
    assert choice.alpha == 2.0
    assert replace(choice, one_standard_error=True).alpha == 4.0
    X, y, qid = ranking(m=120)
    lowest, parsimonious = (
        RankLogisticCV(cv=4, l1_ratio=0.9, one_standard_error=rule).fit(X, y, qid=qid)
        for rule in (False, True)
    )
    assert parsimonious.alpha_ > lowest.alpha_
    assert len(parsimonious.selected_features_) < len(lowest.selected_features_)


def test_one_standard_error_needs_folds():
    X, y, _ = ranking(m=20)
    with pytest.raises(ValueError, match="needs the errors of several folds"):
        RankRLSCV(one_standard_error=True).fit(X, y)
    with pytest.raises(ValueError, match="needs the errors of several folds"):
        RankSVMCV(one_standard_error=True).fit(X, y, validation=(X, y))


def test_alpha_that_is_chosen_inside_a_fit():
    X, y, qid = ranking(m=120)
    for model in (RankLogistic("auto", l1_ratio=0.9), RankRLS("auto", l1_ratio=0.9)):
        model.fit(X, y, qid=qid)
        assert model.alpha_ > 0
        assert 0 < len(model.selected_features_) <= X.shape[1]


def test_the_shell_selects_features(tmp_path, capsys):
    X, y, _ = ranking()
    lines = (" ".join(f"{k + 1}:{value}" for k, value in enumerate(row)) for row in X)
    rows = "\n".join(f"{label} {line}" for label, line in zip(y, lines, strict=True))
    (tmp_path / "rows.txt").write_text(rows)
    given = ["train", str(tmp_path / "rows.txt"), "-o", str(tmp_path / "model.json"), "--json", "--method"]
    assert main([*given, "rank-logistic", "--l1-ratio", "0.9", "--alpha", "0.05"]) == 0
    values = json.loads(capsys.readouterr().out)
    model = RankLogistic(0.05, l1_ratio=0.9).fit(X, y)
    assert values["selected"] == [str(number + 1) for number in model.selected_features_]
    options = ["--tune", "--l1-ratio", "0.5,1", "--one-standard-error", "--folds", "3"]
    assert main([*given, "rank-logistic", *options]) == 0
    values = json.loads(capsys.readouterr().out)
    model = load_model(tmp_path / "model.json")
    assert values["l1_ratio"] == model.l1_ratio_
    assert values["alpha"] == values["cross_validation"]["best_alpha"] == model.alpha_
    assert model.one_standard_error
    assert main([*given, "curve", "--tune", "--one-standard-error"]) != 0
    assert main([*given, "rank-logistic", "--one-standard-error"]) != 0


def test_the_frequencies_of_features_over_halves_of_the_rows():
    X, y, qid = ranking(m=120, n_queries=10)
    model, n_splits = RankLogistic(0.05, l1_ratio=1.0), 4
    found = selection_frequencies(model, X, y, qid=qid, n_splits=n_splits, random_state=3)
    generator, counts = np.random.default_rng(3), np.zeros(X.shape[1])
    for _ in range(n_splits):
        first = generator.permutation(10) < 5
        for half in (first[qid], ~first[qid]):
            counts += clone(model).fit(X[half], y[half], qid=qid[half]).coef_ != 0
    np.testing.assert_array_equal(found, counts / 8)
    assert found[:2].min() == 1.0 > found[3:].max()
    rows = list(halves(Preferences.from_scores(y), 3, np.random.default_rng(0)))
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        np.testing.assert_array_equal(np.sort(np.append(first, second)), np.arange(120))
    with pytest.raises(ValueError, match="selects no features; set l1_ratio above 0"):
        selection_frequencies(RankLogistic(), X, y)


# The likelihood of whole lists, and Cox regression


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), RATIOS, st.floats(0.02, 1.0), st.sampled_from(TIES), st.booleans())
def test_cox_regression_with_few_features(seed, ratio, share, ties, free):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 12))
    time, event = np.ceil(4 * rng.exponential(np.exp(X[:, 0]))), rng.random(40) < 0.7
    event[0] = True
    loss = PlackettLuce(Preferences.from_survival(event, time), ties=ties)
    weights = np.append(0.0 if free else 1.0, np.ones(11))
    design = as_design(X)
    top = largest_alpha(design, loss, l1_ratio=ratio, penalty_weights=weights)
    options = {"l1_ratio": ratio, "penalty_weights": weights, "tol": 1e-9}
    found = solve_sparse_newton(design, loss, share * top, **options)
    net = ElasticNet.of(share * top, ratio, weights, 12)
    slopes = X.T @ loss.value_and_coefficients(X @ found.coef)[1] + 2 * net.square * found.coef
    on = found.coef != 0
    scale = np.sqrt(found.gap) + 1e-7
    assert np.abs(slopes[on] + net.absolute[on] * np.sign(found.coef[on])).max(initial=0.0) <= 10 * scale
    assert (np.abs(slopes[~on]) <= net.absolute[~on] + 10 * scale).all()
    assert found.status == "converged" or found.rounding > found.target_gap
    for _ in range(20):
        other = found.coef + rng.normal(size=12) * rng.choice([1e-3, 0.1]) * (on | (rng.random(12) < 0.3))
        assert loss.value(X @ other) + net.value(other) >= found.objective - found.gap


def test_the_search_of_cox_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    time, censored = rng.exponential(np.exp(X[:, 0] - X[:, 1])), rng.exponential(3.0, size=120)
    y = Preferences.from_survival(time <= censored, np.minimum(time, censored))
    model = RankPlackettLuceCV(l1_ratio=[0.5, 1.0]).fit(X, y)
    assert {0, 1} <= set(model.selected_features_.tolist())
    assert len(model.selected_features_) < 30
    assert model.predict_survival(X[:2], [1.0]).shape == (2, 1)


def test_rows_on_dask_are_refused():
    dask = pytest.importorskip("dask.array")
    X, y, _ = ranking()
    for model in (RankLogistic(l1_ratio=0.9), RankRLS(l1_ratio=0.9)):
        with pytest.raises(
            ValueError, match=r"l1_ratio=0.9 needs all rows in memory, but X is .*; use l1_ratio=0"
        ):
            model.fit(dask.from_array(X, chunks=(40, -1)), y)


@pytest.mark.parametrize("loss", MODELS)
@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_features_that_are_nearly_alike(loss, ratio):
    X, y, qid = ranking(m=100, n=10)
    X = np.hstack([X, X + 1e-3 * np.random.default_rng(1).normal(size=X.shape)])
    model = clone(MODELS[loss]).set_params(alpha=1e-5, l1_ratio=ratio, tol=1e-6, max_iter=10)
    model.fit(X, y, qid=qid)  # coordinate descent alone would end long before
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    net = ElasticNet.of(1e-5, ratio, None, X.shape[1])
    best = independent_sparse.solve(X, pairs, net.absolute, net.square, loss)[1]
    assert model.objective_ - model.gap_ <= best * (1 + 1e-12)
    assert model.gap_ <= 1e-6


def test_a_search_that_selects_nothing_does_not_ask_for_larger_alphas():
    generator = np.random.default_rng(1)
    X, y = generator.normal(size=(80, 5)), generator.normal(size=80)  # no feature has anything to say
    with warnings.catch_warnings():
        warnings.simplefilter("error", EdgeOfGridWarning)
        model = RankLogisticCV(l1_ratio=0.9).fit(X, y)
    assert len(model.selected_features_) == 0
    assert model.alpha_ == model.alphas_[0]
