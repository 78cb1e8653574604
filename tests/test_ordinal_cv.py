"""The choice of alpha, class weights and probabilities of the estimators of classes."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error

from rankwise import (
    HullRanker,
    HullRankerCV,
    OrdinalSVM,
    OrdinalSVMCV,
    RankSVM,
    RankSVMCV,
    load_model,
    save_model,
)
from rankwise.estimators.cumulative import _fences, cumulative_shares, fit_cumulative
from rankwise.estimators.ordinal_svm import distance_of_ranks, minus_distance
from rankwise.estimators.thresholds import class_weights
from rankwise.metrics import ranking_error
from rankwise.model_selection import EdgeOfGridWarning, QueryKFold
from rankwise.model_selection.tunable import Problem
from rankwise.preferences import Preferences

QUIET = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")


def overlapping(n=240, seed=0, n_features=3):
    """Rows whose ranks follow one direction, with logistic noise, so that the true shares are known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    latent = 2 * X[:, 0]
    return X, np.digitize(latent + rng.logistic(size=n), [-2.0, 0.5, 2.0]), latent


X, Y, LATENT = overlapping()
ALPHAS = [1.0, 1e-1, 1e-2, 1e-3]


# OrdinalSVMCV


@QUIET
def test_rows_are_left_out_as_for_the_utility_alone():
    options = {"loss": "squared_hinge", "cv": "leave-row-out", "scoring": "error"}
    ordinal = OrdinalSVMCV(ALPHAS, **options).fit(X, Y)
    utility = RankSVMCV(ALPHAS, **options).fit(X, Y)
    np.testing.assert_array_equal(ordinal.cv_errors_, utility.cv_errors_)
    assert ordinal.alpha_ == utility.alpha_


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_distance_of_ranks_by_utilities_is_that_of_a_model(unknown, weighted):
    """Also if a class has no training row, or none of positive weight."""
    train, test = np.arange(0, 240, 2), np.arange(1, 240, 2)
    train = train[Y[train] != 1] if unknown else train
    weight = np.where((Y == 2) & weighted, 0.0, 1.0)
    output = Preferences.from_scores(Y.astype(float)).weighted(weight)
    model = OrdinalSVM(1e-2)
    model.classes_ = np.unique(Y)
    fits = model.fits(Problem(X[train], [output[train]]))
    fitted = next(fits.models(np.array([1e-2])))
    utilities = fitted.utility(X[train]), fitted.utility(X[test])
    found = distance_of_ranks(model, output[train], utilities[0], output[test], utilities[1])
    assert found == -minus_distance(fitted, X[test], Y[test])


@QUIET
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_alphas_are_compared_by_the_distance_of_ranks(scoring):
    scorer = make_scorer(mean_absolute_error, greater_is_better=False) if scoring else None
    model = OrdinalSVMCV(ALPHAS, cv=3, scoring=scorer, tol=1e-9).fit(X, Y)
    folds = list(QueryKFold(3, shuffle=True, random_state=0).split(X, Preferences.from_scores(Y)))
    for row, alpha in enumerate(ALPHAS):
        for column, (train, test) in enumerate(folds):
            fit = OrdinalSVM(alpha, tol=1e-9).fit(X[train], Y[train])
            expected = np.mean(np.abs(fit.predict(X[test]) - Y[test]))
            assert model.cv_errors_[row, column] == pytest.approx(expected, abs=0.03)
    assert model.alpha_ == ALPHAS[int(np.argmin(model.cv_errors_.mean(axis=1)))]
    plain = OrdinalSVM(model.alpha_, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(model.thresholds_, plain.thresholds_, atol=0.05)
    assert model.scoring_ == ("score" if scoring else "distance")


@QUIET
def test_labels_of_text_measures_of_utilities_and_validation_rows():
    names = np.array(["bad", "fair", "good", "best"])[Y]
    options = {"categories": ["bad", "fair", "good", "best"], "alphas": ALPHAS}
    model = OrdinalSVMCV(**options, scoring="error").fit(X, names)
    hinge = RankSVM(model.alpha_).fit(X, Y)
    assert np.corrcoef(model.utility(X), hinge.predict(X))[0, 1] > 0.999
    assert set(model.predict(X)) <= set(names)
    valid = OrdinalSVMCV(**options).fit(X[:160], names[:160], validation=(X[160:], names[160:]))
    with pytest.raises(
        ValueError, match="validation has no label of y: it holds 2, and the classes are 0, 1"
    ):
        OrdinalSVMCV(ALPHAS).fit(X, np.arange(len(X)) % 2, validation=(X, 2 + np.arange(len(X)) % 2))
    assert valid.cv_errors_.shape == (4, 1)
    assert valid.cv_errors_.min() < 1.0


def test_a_choice_at_the_end_of_the_grid_warns():
    with pytest.warns(EdgeOfGridWarning, match="candidates") as caught:
        OrdinalSVMCV([1e3, 1e2]).fit(X, Y)
    assert caught[0].filename == __file__


@QUIET
def test_a_model_file_holds_the_choice_and_the_probabilities(tmp_path):
    model = OrdinalSVMCV(ALPHAS, calibrated=True).fit(X, Y)
    save_model(model, tmp_path / "model.json")
    copy = load_model(tmp_path / "model.json")
    assert copy.alpha_ == model.alpha_
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


# HullRankerCV

PARTIAL = [(2, 0), (3, 1)]


@QUIET
@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 3: 0.5}])
def test_alphas_of_hulls_are_judged_by_the_pairs_of_the_order(class_weight):
    folds = list(QueryKFold(3, shuffle=True, random_state=0).split(X, Preferences.from_scores(Y)))
    options = {"order": PARTIAL, "class_weight": class_weight}
    model = HullRankerCV(ALPHAS, cv=folds, **options).fit(X, Y)
    expected = np.empty((len(ALPHAS), 3))
    for (i, alpha), (k, (train, test)) in itertools.product(enumerate(ALPHAS), enumerate(folds)):
        plain = HullRanker(alpha, **options).fit(X[train], Y[train])
        weight = None if class_weight is None else class_weights(class_weight, np.arange(4), Y[test])
        pairs = Preferences.from_order(Y[test], PARTIAL)
        pairs = pairs if weight is None else pairs.weighted(weight)
        expected[i, k] = ranking_error(pairs, plain.predict(X[test]))
    np.testing.assert_allclose(model.cv_errors_, expected, atol=1e-9)
    assert model.alpha_ == ALPHAS[int(np.argmin(expected.mean(axis=1)))]
    chosen = HullRanker(model.alpha_, **options).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, chosen.coef_)
    assert model.edges_ == chosen.edges_


@QUIET
def test_hulls_are_judged_by_validation_rows_and_kept_in_files(tmp_path):
    names = np.array(["poor", "fair", "good", "best"])[Y]
    order = [("best", "good"), ("good", "fair"), ("fair", "poor")]
    model = HullRankerCV(ALPHAS, order=order).fit(X[:160], names[:160], validation=(X[160:], names[160:]))
    plain = [HullRanker(alpha, order=order).fit(X[:160], names[:160]) for alpha in ALPHAS]
    pairs = Preferences.from_order(names[160:], order)
    errors = [ranking_error(pairs, one.predict(X[160:])) for one in plain]
    np.testing.assert_allclose(model.cv_errors_[:, 0], errors, atol=1e-9)
    save_model(model, tmp_path / "model.json")
    copy = load_model(tmp_path / "model.json")
    assert copy.alpha_ == model.alpha_
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@QUIET
def test_rows_without_a_label_are_in_no_fold():
    some = np.where(np.arange(len(Y)) % 4 == 0, np.nan, Y)
    options = {"laplacian_weight": 0.1, "n_neighbors": 4}
    known = ~np.isnan(some)
    model = HullRankerCV(ALPHAS, cv=3, **options).fit(X, some)
    labelled = HullRankerCV(ALPHAS, cv=3, **options).fit(X[known], some[known])
    np.testing.assert_allclose(model.cv_errors_, labelled.cv_errors_, atol=1e-9)
    np.testing.assert_array_equal(model.coef_, HullRanker(model.alpha_, **options).fit(X, some).coef_)


def test_a_hull_without_slacks_has_no_alpha():
    with pytest.raises(ValueError, match=r"slack='none' has no alpha to choose; use HullRanker\."):
        HullRankerCV(slack="none").fit(X, Y)


# Class weights


@pytest.mark.parametrize("model", [OrdinalSVM(1e-2, tol=1e-9), HullRanker(1e-2)])
def test_the_weight_of_a_class_is_that_of_its_rows(model):
    weight = {0: 3.0, 2: 0.5}
    rows = np.select([Y == 0, Y == 2], [3.0, 0.5], 1.0)
    by_class = clone(model).set_params(class_weight=weight).fit(X, Y)
    by_row = clone(model).fit(X, Y, sample_weight=rows)
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-9)
    both = clone(model).set_params(class_weight=weight).fit(X, Y, sample_weight=1 / rows)
    np.testing.assert_allclose(both.coef_, clone(model).fit(X, Y).coef_, rtol=1e-4)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, Y)
    shares = clone(model).fit(X, Y, sample_weight=1 / np.bincount(Y)[Y])
    np.testing.assert_allclose(balanced.coef_, shares.coef_, rtol=1e-4)


def test_class_weights_are_checked():
    classes, codes = np.array(["a", "b"]), np.array([0, 1, 1])
    assert class_weights(None, classes, codes).tolist() == [1.0, 1.0, 1.0]
    assert class_weights("balanced", classes, codes).tolist() == [1.5, 0.75, 0.75]
    with pytest.raises(ValueError, match="class_weight names 'c', which is not among the labels"):
        class_weights({"c": 1.0}, classes, codes)
    with pytest.raises(ValueError, match=r"class_weight of 'b' must be a positive number"):
        class_weights({"b": 0.0}, classes, codes)
    with pytest.raises(ValueError, match="class_weight must be 'balanced', a dict or None; got 'even'"):
        class_weights("even", classes, codes)


# Probabilities


def test_the_cumulative_logit_is_the_most_likely_one():
    """Against a general optimiser of the textbook likelihood, from another start."""
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2.0, len(Y))

    def textbook(parameters):
        slope, cuts = parameters[0], parameters[1:]
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        shares = expit(edges[Y + 1] - slope * LATENT) - expit(edges[Y] - slope * LATENT)
        return -float(weight @ np.log(np.maximum(shares, 1e-300)))

    slope, cuts = fit_cumulative(LATENT, Y, weight)
    best = minimize(
        textbook, [0.5, -1.0, 0.0, 1.0], method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-8}
    )
    np.testing.assert_allclose([slope, *cuts], best.x, atol=2e-3)
    shares = cumulative_shares(LATENT, slope, cuts)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert textbook([slope, *cuts]) <= best.fun + 1e-3


def test_utilities_that_part_the_ranks_have_finite_slopes():
    slope, cuts = fit_cumulative(np.arange(6.0), np.array([0, 0, 1, 1, 2, 2]))
    assert np.isfinite([slope, *cuts]).all()
    assert cumulative_shares(np.arange(6.0), slope, cuts).argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2]
    slope, cuts = fit_cumulative(-np.arange(6.0), np.array([0, 0, 1, 1, 2, 2]))
    assert slope == 0.0  # worse than chance
    np.testing.assert_allclose(cumulative_shares(np.ones(1), slope, cuts), 1 / 3, atol=1e-6)


def test_probabilities_of_rows_that_were_not_seen_are_near_the_true_ones():
    rows, labels, _ = overlapping(1500, seed=1)
    model = OrdinalSVM(1e-3, calibrated=True).fit(rows, labels)
    others, _, latent = overlapping(1500, seed=2)
    edges = np.array([-np.inf, -2.0, 0.5, 2.0, np.inf])
    true = np.diff(expit(edges - latent[:, None]), axis=1)
    assert np.abs(model.predict_proba(others) - true).mean() < 0.02


def test_probabilities_are_fitted_to_rows_that_were_held_out():
    """Many features fit the training rows nearly alone; their own utilities would make the model too sure."""
    rows, labels, _ = overlapping(120, seed=3, n_features=60)
    others, theirs, _ = overlapping(1000, seed=4, n_features=60)
    model = OrdinalSVM(1e-4, calibrated=True).fit(rows, labels)
    seen = fit_cumulative(model.utility(rows), labels)
    own = log_loss(theirs, cumulative_shares(model.utility(others), *seen))
    assert log_loss(theirs, model.predict_proba(others)) < 0.7 * own
    assert not hasattr(OrdinalSVM(), "predict_proba")
    assert not hasattr(model.set_params(calibrated=False).fit(rows, labels), "slope_")


# Labels of hulls


@pytest.mark.parametrize("slack", ["squared", "absolute"])
def test_the_class_of_a_row_is_that_of_the_nearest_interval(slack):
    model = HullRanker(1e-3, slack=slack, slack_per="edge").fit(X, Y)
    scores, expected = model.predict(X), []
    for score in scores:
        outside = [max(low - score, score - high, 0.0) for low, high in model.intervals_]
        expected.append(model.classes_[int(np.argmin(outside))])
    assert model.predict_class(X).tolist() == expected
    assert np.mean(model.predict_class(X) == Y) > 0.4


def test_separable_classes_are_separated():
    rows = np.repeat(np.arange(4.0), 5)[:, None]
    names = np.repeat(["a", "b", "c", "d"], 5)
    edges = [("b", "a"), ("c", "b"), ("d", "c")]
    model = HullRanker(1e-6, order=edges).fit(rows, names)
    assert model.predict_class(rows).tolist() == names.tolist()


@pytest.mark.parametrize("outlier", [1e3, -1e3])
def test_one_wild_row_does_not_undo_the_probabilities(outlier):
    rng = np.random.default_rng(0)
    utility = rng.normal(size=1050)
    codes = np.digitize(1.45 * utility + rng.logistic(size=1050), [-1.0, 1.0])
    slope, cuts = fit_cumulative(utility, codes)
    wild = utility.copy()
    wild[0], codes[0] = outlier, 0 if outlier > 0 else 2
    found, moved = fit_cumulative(wild, codes)
    assert found == pytest.approx(slope, rel=0.05)
    np.testing.assert_allclose(moved, cuts, atol=0.05)


def test_fences_of_weighted_rows_are_those_of_copies():
    rng = np.random.default_rng(1)
    utility = rng.standard_cauchy(size=60)
    weight = rng.integers(0, 3, size=60).astype(float)
    weight[:6] = 1.0
    copies = np.repeat(np.arange(60), weight.astype(int))
    np.testing.assert_allclose(_fences(utility, weight), _fences(utility[copies], np.ones(len(copies))))
