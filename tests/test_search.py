"""The search over alpha: against loops over folds, alphas and pairs, and from the shell as from Python."""

import json
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

import reference
from rankwise import (
    CurveRankerCV,
    HullRanker,
    HullRankerCV,
    NoPairsError,
    OrdinalSVM,
    OrdinalSVMCV,
    Preferences,
    RankLogisticCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
)
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.io.svmlight import dump_svmlight
from rankwise.model_selection import EdgeOfGridWarning, EqualErrorsWarning, pair_blocks
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.search import MOST_LARGER, Choice, HeldOut, Search, has_risen
from rankwise.model_selection.tunable import Problem
from rankwise.plotting import AlphaPathDisplay
from rankwise.solvers import InterruptedWarning

ALPHAS = [10.0, 1.0, 0.1, 1e-2, 1e-3, 1e-4]
# Which alpha is best is not what these tests are about.
ANY_CHOICE = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")


def data(seed=0, n=90, n_queries=9):
    """Rows of queries of very different sizes."""
    X, y = make_ranking(n, 4, n_levels=4, noise=0.8, random_state=seed)
    generator = np.random.default_rng(seed)
    return X, y.astype(float), np.sort(generator.integers(0, n_queries, n) * generator.integers(0, 2, n))


def textbook_error(y, scores, qid=None, average="queries", weight=None, gain=None):
    """The share of pairs in the wrong order, ties one half: in plain loops."""
    pairs = reference.normalised(reference.ranking_pairs(y, qid, weight, gain), average)
    return sum(w * ((scores[i] < scores[j]) + 0.5 * (scores[i] == scores[j])) for i, j, w, *_ in pairs)


def tune(capsys, path, *options):
    capsys.readouterr()
    assert main(["tune", str(path), "--json", *options]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), said.err


# The shell and Python


METHODS = {
    "hinge": (["--method", "rank-svm"], RankSVMCV, {}),
    "squared hinge": (["--loss", "squared-hinge"], RankSVMCV, {"loss": "squared_hinge"}),
    "hinge of pairs": (["--average", "pairs"], RankSVMCV, {"average": "pairs"}),
    "differences": (["--pair-weight", "difference"], RankSVMCV, {"pair_weight": "difference"}),
    "kernel": (["--kernel", "rbf", "--gamma", "scale"], RankSVMCV, {"kernel": "rbf", "gamma": "scale"}),
    "logistic": (["--method", "rank-logistic"], RankLogisticCV, {}),
    "least squares": (["--method", "rank-rls"], RankRLSCV, {}),
    "least squares of pairs": (
        ["--method", "rank-rls", "--average", "pairs", "--cost", "unit"],
        RankRLSCV,
        {"average": "pairs", "cost": "unit"},
    ),
    "least squares with a kernel": (
        ["--method", "rank-rls", "--kernel", "rbf", "--gamma", "scale", "--n-components", "20"],
        RankRLSCV,
        {"kernel": "rbf", "gamma": "scale", "n_components": 20, "random_state": 0},
    ),
}


@ANY_CHOICE
@pytest.mark.parametrize("with_queries", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_shell_and_python_choose_the_same_alpha_on_the_same_folds(method, with_queries, tmp_path, capsys):
    options, estimator, parameters = METHODS[method]
    X, y, qid = data()
    qid = qid if with_queries else None
    dump_svmlight(X, y, tmp_path / "train.txt", qid=qid)
    values, _ = tune(capsys, tmp_path / "train.txt", *options, "--folds", "4")
    model = estimator(cv=4, **parameters).fit(X, y, qid=qid)
    np.testing.assert_allclose(values["alphas"], model.alphas_, rtol=1e-12)  # BLAS has the last digit
    errors = model.cv_errors_ if model.cv_errors_.ndim == 2 else model.cv_errors_[:, None]
    np.testing.assert_allclose(values["mean_error"], errors.mean(axis=1), rtol=1e-9)
    assert values["best_alpha"] == pytest.approx(model.alpha_, rel=1e-12)
    if estimator is not RankRLSCV:
        np.testing.assert_allclose(values["errors"], errors, rtol=1e-9)


@ANY_CHOICE
@pytest.mark.parametrize(
    ("method", "model"),
    [
        ("ordinal-svm", OrdinalSVMCV(cv=3, tol=1e-7, scoring="error")),
        ("hull", HullRankerCV(cv=3, tol=1e-9, scoring="error")),
    ],
)
def test_the_shell_searches_ordinal_models_and_hulls_as_their_cv_classes_do(method, model, tmp_path, capsys):
    X, y, _ = data(n=60)
    dump_svmlight(X, y, tmp_path / "train.txt")
    options = ["--method", method, "--folds", "3", "--tol", str(model.tol), "--metric", "error"]
    values, _ = tune(capsys, tmp_path / "train.txt", *options)
    model.fit(X, y)
    assert values["alphas"] == model.alphas_.tolist()
    assert values["errors"] == model.cv_errors_.tolist()
    assert values["best_alpha"] == model.alpha_


@ANY_CHOICE
def test_the_seed_of_the_shell_draws_the_folds_of_every_method(tmp_path, capsys):
    X, y, _ = data(n=60)
    dump_svmlight(X, y, tmp_path / "train.txt")
    options = ["--method", "curve", "--folds", "3", "--alphas", "1,0.01", "--seed"]
    found = [tune(capsys, tmp_path / "train.txt", *options, seed)[0]["errors"] for seed in ("1", "2")]
    for seed, errors in enumerate(found, 1):
        model = CurveRankerCV([1.0, 0.01], cv=3, random_state=seed).fit(X, y)
        np.testing.assert_allclose(errors, model.cv_errors_, rtol=1e-9)
    assert found[0] != found[1]


# Errors


@ANY_CHOICE
@pytest.mark.parametrize("average", ["queries", "pairs"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_errors_weigh_what_the_objective_weighs(average, seed):
    X, y, qid = data(seed, n=60)
    weight = np.random.default_rng(seed).integers(1, 3, 60).astype(float)
    folds, alphas = list(KFold(3).split(X)), [10.0, 0.1, 1e-3]
    model = RankRLSCV(alphas, cv=folds, average=average).fit(X, y, qid=qid, sample_weight=weight)
    expected = np.empty((3, 3))
    for k, (train, test) in enumerate(folds):
        for row, alpha in enumerate(alphas):
            fitted = RankRLS(alpha, average=average).fit(
                X[train], y[train], qid=qid[train], sample_weight=weight[train]
            )
            scores = fitted.predict(X[test])
            expected[row, k] = textbook_error(y[test], scores, qid[test], average, weight[test])
    np.testing.assert_allclose(model.cv_errors_, expected.mean(axis=1), rtol=1e-9)
    assert model.alpha_ == alphas[int(np.argmin(model.cv_errors_))]


@ANY_CHOICE
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_errors_of_a_fold_are_the_share_of_its_pairs(loss):
    X, y, qid = data()
    folds = list(KFold(3).split(X))
    model = RankSVMCV(ALPHAS, cv=folds, loss=loss, average="pairs", tol=1e-8).fit(X, y, qid=qid)
    for k, (train, test) in enumerate(folds):
        for row, alpha in enumerate(ALPHAS):
            fitted = RankSVM(alpha, loss=loss, average="pairs", tol=1e-8).fit(
                X[train], y[train], qid=qid[train]
            )
            expected = textbook_error(y[test], fitted.predict(X[test]), qid[test], "pairs")
            assert model.cv_errors_[row, k] == pytest.approx(expected, abs=0.01)
    by_query = RankSVMCV(ALPHAS, cv=folds, loss=loss, tol=1e-8).fit(X, y, qid=qid)
    assert abs(by_query.cv_errors_ - model.cv_errors_).max() > 0.02


@ANY_CHOICE
def test_leaving_queries_out_weighs_pairs_under_average_pairs():
    X, y, qid = data()
    model = RankRLSCV([0.1], average="pairs").fit(X, y, qid=qid)
    wrong = total = 0.0
    for query in np.unique(qid):
        train, test = qid != query, qid == query
        n_pairs = len(reference.ranking_pairs(y[test]))
        scores = RankRLS(0.1, average="pairs").fit(X[train], y[train], qid=qid[train]).predict(X[test])
        wrong += n_pairs * (textbook_error(y[test], scores) if n_pairs else 0.0)
        total += n_pairs
    assert model.cv_ == "leave-query-out"
    np.testing.assert_allclose(model.cv_errors_, wrong / total)


@ANY_CHOICE
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_held_out_scores_of_all_folds_can_be_judged_together(loss):
    X, y, _ = data()
    rare = 1.0 * ((y == y.max()) & (np.cumsum(y == y.max()) <= 3))  # most folds hold no pair out
    folds = list(KFold(10, shuffle=True, random_state=0).split(X))
    alphas = [0.1, 1e-2]
    model = RankSVMCV(alphas, cv=folds, pooled=True, loss=loss, tol=1e-9).fit(X, rare)
    expected = []
    for alpha in alphas:
        scores = np.zeros(len(y))
        for train, test in folds:
            scores[test] = RankSVM(alpha, loss=loss, tol=1e-9).fit(X[train], rare[train]).predict(X[test])
        expected.append([textbook_error(rare, scores)])
    np.testing.assert_allclose(model.cv_errors_, expected, atol=1e-12)
    assert model.alpha_ == alphas[int(np.argmin(expected))]
    with pytest.raises(ValueError, match="pooled=True needs folds"):
        RankSVMCV(alphas, cv="leave-row-out", pooled=True, loss="squared_hinge").fit(X, rare)


@pytest.mark.parametrize("model", [RankSVMCV([1.0], cv=2), RankRLSCV([1.0], cv=2)])
def test_equal_rows_are_tied_wherever_they_stand(model):
    X = np.random.default_rng(0).normal(size=(140, 30))
    y = X[:, 0].copy()
    X[40:], y[40:] = np.repeat(X[:4], 25, axis=0), np.tile(np.arange(25.0), 4)
    folds = [(np.arange(40), np.arange(first, first + 25)) for first in (40, 65, 90, 115)]
    model.set_params(cv=folds).fit(X, y)
    np.testing.assert_array_equal(model.cv_errors_, 0.5)


def test_outputs_are_averaged():
    X, y, _ = data()
    Y = np.column_stack([y, -X[:, 0], X[:, 1]])
    folds = list(KFold(4).split(X))
    joint = RankRLSCV([0.1], cv=folds, cost="unit").fit(X, Y).cv_errors_
    alone = [RankRLSCV([0.1], cv=folds, cost="unit").fit(X, column).cv_errors_ for column in Y.T]
    np.testing.assert_allclose(joint, np.mean(alone, axis=0))


# Candidates and folds


def test_candidates_come_once_and_from_the_largest_down():
    X, y, _ = data()
    search = Folds(RankSVM(), Problem(X, [Preferences.from_scores(y)]))
    assert search.candidates([0.1, 10, 0.1, 1]).tolist() == [10, 1, 0.1]


@pytest.mark.parametrize("model", [RankSVM(), RankRLS(), RankRLS(cost="unit"), RankRLS(ties="drop")])
def test_the_grid_does_not_depend_on_how_rows_are_stored(model, monkeypatch):
    X, y, qid = data()
    X[np.abs(X) < 0.5] = 0.0
    targets = [Preferences.from_scores(y, qid)]
    grid = Folds(model, Problem(X, targets)).candidates()
    monkeypatch.setattr(pair_blocks, "_BLOCK_ENTRIES", 2 * len(X) + 1)  # two features at a time
    for other in (sp.csr_array(X), sp.csr_matrix(X), X.astype(np.float32)):
        np.testing.assert_allclose(Folds(model, Problem(other, targets)).candidates(), grid, rtol=1e-6)


def test_a_kernel_matrix_in_single_precision_has_a_path():
    X, y, _ = data()
    K = (X @ X.T + 1e3) / 7
    path = RankRLS(kernel="precomputed").path(K, y, [1.0, 0.1])
    rounded = RankRLS(kernel="precomputed").path(K.astype(np.float32), y, [1.0, 0.1])
    np.testing.assert_allclose(rounded @ K, path @ K, rtol=0.01, atol=1e-3 * np.abs(path @ K).max())


def test_splitters_see_labels():
    X, y, _ = data()
    labels = y > 1
    for model in (RankRLSCV([1.0], cv=StratifiedKFold(3)), RankSVMCV([1.0], cv=StratifiedKFold(3))):
        assert 0.0 < model.fit(X, labels).cv_errors_.mean() < 0.5


def test_one_query_is_one_ranking():
    X, y, _ = data()
    for model in (RankRLSCV([1.0], cv=3), RankSVMCV([1.0], cv=3)):
        together = model.fit(X, y, qid=np.full(90, 7)).cv_errors_
        np.testing.assert_array_equal(together, model.fit(X, y).cv_errors_)


def test_folds_without_pairs_are_refused():
    X, y = np.zeros((4, 1)), np.array([0.0, 0.0, 0.0, 1.0])
    for model in (RankRLSCV([1.0], cv=2), RankSVMCV([1.0], cv=2)):
        with pytest.raises(NoPairsError, match="No fold has pairs both in its training and in its test rows"):
            model.fit(X, y)


# The ends of the grid


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        ([0.1, 0.2, 0.3], r"The best alpha, 1, is the largest of 3 candidates.*larger.*add 10 and 100 to"),
        ([0.3, 0.2, 0.1], r"The best alpha, 0\.01, is the smallest of 3.*smaller.*add 0\.001 and 0\.0001 to"),
    ],
)
def test_a_choice_at_either_end_of_the_grid_warns(errors, sentence):
    choice = Choice(np.array([1.0, 0.1, 0.01]), np.array(errors)[:, None])
    with pytest.warns(EdgeOfGridWarning, match=sentence):
        choice.warn_at_edge()


@pytest.mark.parametrize(
    "errors",
    [
        [[0.2, 0.3], [0.1, 0.2], [0.2, 0.3]],  # in the middle
        [[0.2, 0.3], [0.2, 0.3], [0.3, 0.3]],  # larger ones change no order
        [[0.2, 0.3]],  # nothing to compare with
    ],
)
def test_no_warning_if_further_candidates_would_not_help(errors):
    Choice(np.array([1.0, 0.1, 0.01])[: len(errors)], np.array(errors)).warn_at_edge()


def test_candidates_with_equal_orders_warn():
    X, y, qid = data()
    with pytest.warns(EqualErrorsWarning, match=r"All 3 candidates.*add 0\.1 and 0\.01 to alphas"):
        RankSVMCV([100.0, 10.0, 1.0], cv=3).fit(X / 100, y, qid=qid)


def test_equal_means_of_different_folds_warn():
    choice = Choice(np.array([1.0, 0.1]), np.array([[0.2, 0.3], [0.3, 0.2]]))
    with pytest.warns(EdgeOfGridWarning, match="largest of 2"):
        choice.warn_at_edge()


def loud_noise():
    """An informative feature and a larger, uninformative one, so that alpha must be small."""
    X = np.random.default_rng(0).normal(size=(90, 2)) * [100.0, 1.0]
    return X, X[:, 1], np.arange(90) % 9


@pytest.mark.parametrize("model", [RankSVMCV(cv=3), RankRLSCV(cv=3), RankRLSCV()])
def test_estimators_tell_of_the_end_and_are_fitted_all_the_same(model):
    X, y, qid = loud_noise()
    with pytest.warns(EdgeOfGridWarning, match="smallest of 2 candidates") as caught:
        model.set_params(alphas=[1e5, 1e-2]).fit(X, y, qid=qid)
    assert caught[0].filename == __file__
    assert model.alpha_ == 1e-2
    assert model.score(X, y, qid=qid) > 0.95


def test_the_shell_prints_the_warning_of_the_grid_end(tmp_path, capsys):
    X, y, qid = loud_noise()
    dump_svmlight(X, y, tmp_path / "train.txt", qid=qid)
    values, said = tune(capsys, tmp_path / "train.txt", "--alphas", "1e4,1e-1", "--folds", "3")
    assert values["best_alpha"] == 0.1
    assert "rankwise: warning: The best alpha, 0.1, is the smallest of 2" in said
    assert "add 1e-06 and 1e-11 to alphas" in said
    assert "best alpha" not in tune(capsys, tmp_path / "train.txt", "--alphas", "0.1", "--folds", "3")[1]


# Default grids


SEARCHES = [
    RankSVMCV(cv=4),
    RankSVMCV(cv=4, loss="squared_hinge"),
    RankLogisticCV(cv=4),
    OrdinalSVMCV(cv=4),
    CurveRankerCV(cv=4, n_bins=8),
    HullRankerCV(cv=4),
]


def wide_data(seed=0):
    """Few rows and many features, so that small alphas learn noise."""
    X = np.random.default_rng(seed).normal(size=(120, 40))
    noise = np.random.default_rng(seed + 1).normal(size=120)
    return X, np.digitize(X[:, :3].sum(axis=1) + 0.7 * noise, [-2.0, 0.0, 2.0])


@ANY_CHOICE
@pytest.mark.parametrize("model", SEARCHES, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_that_stops_early_chooses_as_one_over_the_whole_grid(model, seed, monkeypatch):
    X, y = wide_data(seed)
    early = clone(model).fit(X, y)
    monkeypatch.setattr("rankwise.model_selection.search.has_risen", lambda *_: False)
    whole = clone(model).fit(X, y)
    n_visited = len(early.alphas_)
    np.testing.assert_array_equal(early.alphas_, whole.alphas_[:n_visited])
    np.testing.assert_array_equal(early.cv_errors_, whole.cv_errors_[:n_visited])
    assert early.alpha_ == whole.alpha_


@ANY_CHOICE
def test_a_search_stops_early_and_the_same_way_each_time():
    X, y = wide_data()
    model, again = RankLogisticCV().fit(X, y), RankLogisticCV(n_jobs=2).fit(X, y)
    assert len(model.alphas_) < 8
    np.testing.assert_array_equal(model.alphas_, again.alphas_)
    np.testing.assert_array_equal(model.cv_errors_, again.cv_errors_)
    display = AlphaPathDisplay.from_estimator(model)
    assert len(display.alphas) == len(display.errors) == len(model.alphas_)


@ANY_CHOICE
def test_folds_that_take_too_much_memory_come_one_after_the_other(monkeypatch):
    X, y = wide_data()
    together = RankSVMCV().fit(X, y)
    monkeypatch.setattr("rankwise.model_selection.folds.MOST_BYTES", 0)
    np.testing.assert_array_equal(RankSVMCV().fit(X, y).cv_errors_, together.cv_errors_)


def test_an_early_stop_is_no_edge_of_the_grid(recwarn):
    X, y = wide_data()
    model = RankLogisticCV().fit(X, y)
    assert 0 < np.argmin(model.cv_errors_.mean(axis=1)) < len(model.alphas_) - 1 < 7
    assert not [warning for warning in recwarn if issubclass(warning.category, EdgeOfGridWarning)]


@ANY_CHOICE
@pytest.mark.parametrize("model", SEARCHES, ids=str)
def test_alphas_that_are_given_are_all_visited(model):
    X, y = wide_data()
    found = clone(model).set_params(alphas=ALPHAS).fit(X, y)
    assert found.alphas_.tolist() == ALPHAS
    assert found.cv_errors_.shape == (len(ALPHAS), 4)


class Planned(HeldOut):
    """Errors by the logarithm of alpha."""

    def __init__(self, errors):
        self.planned, self.visited = errors, []

    def errors(self, values):
        for alpha in values:
            self.visited.append(round(np.log10(alpha)))
            yield np.array([self.planned[self.visited[-1]]])


def planned_choice(errors):
    held_out = Planned(errors)
    search = Search(is_over=partial(has_risen, chance=0.5), most_above=MOST_LARGER)
    return search.choose(held_out, 10.0 ** -np.arange(4)), held_out.visited


def test_a_search_goes_up_while_the_largest_alpha_is_the_best():
    errors = {2: [0.3, 0.3], 1: [0.1, 0.18], 0: [0.2, 0.2], -1: [0.3, 0.3], -2: [0.4, 0.4]}
    choice, visited = planned_choice(errors)
    assert visited == [0, -1, -2, 1, 2]
    np.testing.assert_allclose(choice.alphas, [100, 10, 1, 0.1, 0.01])
    assert choice.errors.tolist() == [errors[power] for power in (2, 1, 0, -1, -2)]
    assert choice.alpha == pytest.approx(10)
    choice.warn_at_edge()


def test_a_search_goes_up_three_steps_at_most():
    choice, visited = planned_choice({power: [0.2 - power / 30, 0.2 - power / 31] for power in range(-3, 5)})
    assert visited == [0, -1, -2, 1, 2, 3]
    with pytest.warns(EdgeOfGridWarning, match="1e\\+03, is the largest of 6 candidates"):
        choice.warn_at_edge()


def test_a_rise_must_be_clear_and_last():
    best, worse, doubtful = [0.2, 0.3, 0.2], [0.3, 0.4, 0.31], [0.3, 0.2, 0.21]
    assert has_risen(np.array([best, worse, worse]), 0.5)
    assert not has_risen(np.array([best, worse]), 0.5)  # once
    assert not has_risen(np.array([best, doubtful, worse]), 0.5)
    assert not has_risen(np.array([[0.2], [0.3], [0.4]]), 0.5)  # one fold has no standard error


def test_a_rise_of_a_model_that_is_no_better_than_chance_does_not_count():
    chance, worse, best = [0.44, 0.52, 0.46], [0.47, 0.55, 0.5], [0.2, 0.3, 0.2]
    assert not has_risen(np.array([chance, worse, worse]), 0.5)
    assert has_risen(np.array([worse, best, worse, worse]))
    # If chance is unknown and nothing is better than the largest alpha, the others must be clearly worse.
    doubtful = [0.45, 0.51, 0.48]
    assert not has_risen(np.array([chance, doubtful, doubtful]))
    assert has_risen(np.array([best, worse, worse]))


def test_a_search_goes_on_while_large_features_are_noise():
    X, y, _ = loud_noise()
    model = RankSVMCV().fit(X, y)
    assert model.cv_errors_[0].mean() > 0.3
    assert model.cv_errors_.mean(axis=1).min() < 0.05


# Ctrl-C


@pytest.mark.parametrize("model", [RankSVM(), RankSVM(loss="squared_hinge"), OrdinalSVM(), HullRanker()])
def test_ctrl_c_ends_the_search(model):
    X, y, _ = data()
    calls = []

    def interrupt(state):
        calls.append(state)
        raise KeyboardInterrupt

    model.set_params(callback=interrupt)
    search = Folds(model, Problem(X, model.outputs(y, None)))
    search.split(3)
    with pytest.raises(KeyboardInterrupt):
        list(search.errors(np.array([1.0, 0.1])))
    assert len(calls) == 1


def test_an_interrupted_fit_has_a_warning_of_its_own():
    def interrupt(state):
        raise KeyboardInterrupt

    X, y, _ = data()
    assert issubclass(InterruptedWarning, ConvergenceWarning)
    with pytest.warns(InterruptedWarning, match="The best model so far is kept"):
        RankSVM(callback=interrupt).fit(X, y)
