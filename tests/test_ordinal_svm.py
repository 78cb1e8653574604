"""OrdinalSVM against quadratic programmes and the textbook, and as scikit-learn's users meet it."""

import pickle
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, mean_absolute_error
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import independent
import reference
import reference_ordinal
from rankwise import OrdinalSVM, Preferences, RankSVM
from rankwise.datasets import make_ordinal, make_ranking
from rankwise.metrics import ranking_error

LOSSES = ("hinge", "squared_hinge")
GRADES = ["bad", "poor", "fair", "good", "best"]
QUADRATIC = {"kernel": "poly", "degree": 2, "gamma": 1.0}


def data(n=60, n_levels=4, noise=0.4, seed=0):
    return make_ranking(n, 4, n_levels=n_levels, noise=noise, random_state=seed)


# scikit-learn's own checks


def test_tags_and_metadata():
    assert is_classifier(OrdinalSVM())
    assert get_tags(OrdinalSVM()).input_tags.sparse
    assert get_tags(OrdinalSVM(kernel="precomputed")).input_tags.pairwise
    assert get_tags(OrdinalSVM()).classifier_tags.poor_score
    assert not get_tags(OrdinalSVM(kernel="rbf")).classifier_tags.poor_score
    request = OrdinalSVM().get_metadata_routing()
    assert set(request.fit.requests) == {"sample_weight"}
    assert set(request.score.requests) == {"sample_weight"}
    with config_context(enable_metadata_routing=True):
        X, y = data()
        model = OrdinalSVM().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        grid = GridSearchCV(model, {"alpha": [1e-2, 1e-4]}, cv=3).fit(X, y, sample_weight=np.ones(len(y)))
        assert grid.best_score_ > 0.5


def test_no_linear_utility_orders_the_blobs_of_scikit_learn():
    # Why the linear model has the tag poor_score: the best direction of all does not reach 0.83 either.
    from sklearn.datasets import make_blobs

    from rankwise import fit_thresholds

    X, y = make_blobs(n_samples=300, random_state=0)
    right = []
    for angle in np.linspace(0, 2 * np.pi, 90, endpoint=False):
        utility = X @ [np.cos(angle), np.sin(angle)]
        thresholds = fit_thresholds(utility, y, error="zero_one")
        right.append(np.mean(np.searchsorted(thresholds, utility) == y))
    assert max(right) < 0.83


def test_clone_pickle_and_parameters():
    X, y = data()
    model = OrdinalSVM(1e-2, thresholds="min_error", categories=[0, 1, 2, 3], tol=1e-4)
    copy = clone(model).fit(X, y)
    assert copy.get_params() == model.get_params()
    assert {"average", "pair_weight"}.isdisjoint(model.get_params())
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.predict(X), copy.predict(X))
    np.testing.assert_array_equal(again.decision_function(X), copy.decision_function(X))


# The utility


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_utility_is_that_of_rank_svm_on_all_pairs_of_different_rank(loss, kernel):
    X, y = data()
    options = {"loss": loss, "kernel": kernel, "tol": 1e-6}
    ours = OrdinalSVM(1e-2, **options).fit(X, y)
    theirs = RankSVM(1e-2, **options).fit(X, Preferences.from_scores(y))
    np.testing.assert_allclose(ours.utility(X), theirs.predict(X), rtol=1e-12, atol=1e-12)
    assert (ours.objective_, ours.gap_, ours.n_pairs_) == (theirs.objective_, theirs.gap_, theirs.n_pairs_)
    assert ours.n_pairs_ == sum(a < b for a in y for b in y)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_utility_is_optimal(loss):
    X, y = data(40)
    pairs = reference.normalised(reference.ranking_pairs(y))
    best = independent.solve(X, pairs, 0.01, loss)
    model = OrdinalSVM(0.01, loss=loss, tol=1e-8).fit(X, y)
    assert best.lower - 1e-9 <= model.objective_ <= best.objective + 1e-8
    np.testing.assert_allclose(model.coef_, best.coef, atol=2 * np.sqrt(1e-8 / 0.01))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["linear", "quadratic"])
def test_alpha_in_terms_of_the_dual_programme(C, kernel):
    X, y = make_ordinal(16, random_state=3)
    assert len(set(y)) == 5
    K = X @ X.T if kernel == "linear" else polynomial_kernel(X, degree=2, gamma=1.0, coef0=1.0)
    expected, a = reference_ordinal.dual_programme(K, y, C)
    alpha = 1 / (2 * C * len(a))
    options = {} if kernel == "linear" else QUADRATIC
    model = OrdinalSVM(alpha, tol=1e-11 * max(1, C), **options).fit(X, y)
    shift = np.mean(model.utility(X) - expected)
    np.testing.assert_allclose(model.utility(X), expected + shift, atol=1e-4 * max(1, np.ptp(expected)))
    assert abs(shift) < 1e-4 * max(1, np.ptp(expected))
    # Pairs with 0 < a < C differ by exactly 1, those with a = C by less: what equation (12) builds on.
    first, second = np.triu_indices(len(y), 1)
    kept = y[first] != y[second]
    difference = (np.sign(y[first] - y[second]) * (expected[first] - expected[second]))[kept]
    inside = (a > 1e-4 * C) & (a < (1 - 1e-4) * C)
    np.testing.assert_allclose(difference[inside], 1, atol=1e-4)
    assert (difference[a > (1 - 1e-4) * C] < 1 + 1e-4).all()


def test_a_constraint_on_the_sum_of_multipliers_would_be_wrong():
    # The printed a'z = 0 forbids the solution: with each pair listed once, higher row first, all z are 1.
    X, y = np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 2])
    _, a = reference_ordinal.dual_programme(X @ X.T, y, 10.0)
    assert a.sum() > 0.5
    assert OrdinalSVM(1 / (2 * 10 * 3), tol=1e-10).fit(X, y).coef_[0] == pytest.approx(1.0, abs=1e-4)


# The boundaries


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "options", [{"alpha": 1e-3}, {"alpha": 1e-6, "tol": 1e-6}, {"alpha": 1e-4, **QUADRATIC}]
)
def test_midpoints_are_those_of_listed_pairs(loss, options):
    X, y = data(80)
    model = OrdinalSVM(loss=loss, thresholds="midpoint", **options).fit(X, y)
    tol = np.sqrt(model.tol)
    expected = [reference_ordinal.midpoint(model.utility(X), y, k, tol=tol) for k in range(3)]
    assert not model.fallback_.any()
    np.testing.assert_allclose(model.thresholds_, np.maximum.accumulate(expected), rtol=1e-9)


def test_separable_ranks_have_boundaries_in_the_middle_of_the_margin():
    X = np.array([[0.0], [1.0], [3.0], [4.0], [8.0]])
    y = np.array([0, 0, 1, 1, 2])
    model = OrdinalSVM(1e-6, tol=1e-10, thresholds="midpoint").fit(X, y)
    # The narrower gap, from 1 to 3, is the margin of 1; halfway to 8 lies 6.
    np.testing.assert_allclose(model.coef_, [0.5], atol=1e-3)
    np.testing.assert_allclose(model.thresholds_ / model.coef_, [2.0, 6.0], atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("error", ["absolute", "zero_one"])
def test_min_error_reaches_the_least_error_of_the_utility(error):
    X, y = data(12, n_levels=3, noise=1.0)
    model = OrdinalSVM(1e-2, thresholds="min_error", error=error).fit(X, y)
    found = reference_ordinal.training_error(model.utility(X), y, model.thresholds_, error)
    assert found == reference_ordinal.least_error(model.utility(X), y, error)
    missed = mean_absolute_error(y, model.predict(X)) if error == "absolute" else 1 - model.score(X, y)
    assert missed * 12 == pytest.approx(found)
    assert not model.fallback_.any()


def least_error(utility, y, error):
    """Try all ordered boundaries between different utilities."""
    levels, level = np.unique(utility, return_inverse=True)
    cuts = combinations_with_replacement(range(len(levels) + 1), int(y.max()))
    ranks = (np.searchsorted(cut, np.arange(len(levels)), side="right")[level] for cut in cuts)
    return min(np.minimum(np.abs(rank - y), np.inf if error == "absolute" else 1).sum() for rank in ranks)


def training_error(X, y, **options):
    """The error of the training rows, which must be the least that keeps identical rows together."""
    error = options.setdefault("error", "absolute")
    model = OrdinalSVM(thresholds="min_error", **options).fit(X, y)
    utility, predicted = model.utility(X), model.predict(X)
    _, same = np.unique(X, axis=0, return_inverse=True)
    for values in (utility, predicted):
        assert len({(row, value) for row, value in zip(same.ravel(), values, strict=True)}) == same.max() + 1
    missed = np.minimum(np.abs(predicted - y), np.inf if error == "absolute" else 1).sum()
    assert missed == least_error(utility, y, error)
    return missed


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("error", ["absolute", "zero_one"])
def test_min_error_never_parts_identical_rows(kernel, error):
    for seed in range(60):
        random = np.random.default_rng(seed)
        n_distinct, n_ranks = int(random.integers(2, 6)), int(random.integers(2, 4))
        X = np.repeat(random.normal(size=(n_distinct, 2)), 5, axis=0)
        y = np.concatenate([np.arange(n_ranks), random.integers(0, n_ranks, 5 * n_distinct - n_ranks)])
        training_error(X, y, kernel=kernel, error=error)


def test_min_error_makes_no_needless_error_on_identical_rows():
    random = np.random.default_rng(109)
    X = np.repeat(random.normal(size=(3, 2)), 5, axis=0)
    assert training_error(X, random.integers(0, 2, 15), kernel="rbf") == 5


def test_fallback_when_no_pair_differs_by_one():
    X, y = data(60)
    model = OrdinalSVM(10.0, tol=1e-6, thresholds="midpoint").fit(
        X, y
    )  # the penalty keeps all utilities close together
    assert np.ptp(model.utility(X)) < 1
    assert model.fallback_.all()
    least = OrdinalSVM(10.0, tol=1e-6, thresholds="min_error").fit(X, y)
    np.testing.assert_array_equal(model.thresholds_, least.thresholds_)
    assert model.score(X, y) > 0.5


def test_midpoints_much_worse_than_the_best_thresholds_warn():
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(6), [10, 50, 600, 600, 200, 20])
    X = (y + random.normal(scale=1.5, size=len(y)))[:, None]
    with pytest.warns(
        UserWarning, match="midpoint' miss the ranks of the training rows by .*'min_error' by 0"
    ):
        midpoint = OrdinalSVM(thresholds="midpoint").fit(X, y)
    least = OrdinalSVM().fit(X, y)
    assert least.thresholds == "min_error"
    errors = [np.abs(model.predict(X) - y).mean() for model in (midpoint, least)]
    assert errors[0] > 2 * errors[1]
    constant = np.abs(np.median(y) - y).mean()
    assert errors[1] <= constant


# Prediction


@pytest.mark.parametrize("thresholds", ["midpoint", "min_error"])
@pytest.mark.parametrize("n_levels", [2, 3, 5])
def test_decision_function_is_the_textbook_one(thresholds, n_levels):
    X, y = data(70, n_levels=n_levels, noise=1.0)
    model = OrdinalSVM(1e-3, thresholds=thresholds).fit(X, y)
    new = data(50, seed=9)[0]
    utility, decision = model.utility(new), model.decision_function(new)
    codes = reference_ordinal.predicted(utility, model.thresholds_)
    np.testing.assert_array_equal(model.predict(new), model.classes_[codes])
    if n_levels == 2:
        np.testing.assert_array_equal(decision, utility - model.thresholds_[0])
        np.testing.assert_array_equal(decision > 0, codes == 1)
    else:
        np.testing.assert_array_equal(decision, reference_ordinal.decision(utility, model.thresholds_))
        np.testing.assert_array_equal(decision.argmax(axis=1), codes)
        assert np.isfinite(decision).all()


def test_argmax_equals_predict_on_boundaries_and_where_they_coincide():
    X, y = data(40)
    model = OrdinalSVM().fit(X, y)
    model.coef_ = np.array([1.0, 0, 0, 0])
    model.thresholds_ = np.array([-1.0, 0.5, 0.5])
    new = np.zeros((5, 4))
    new[:, 0] = [-1.0, np.nextafter(-1, 0), 0.5, np.nextafter(0.5, 1), 7.0]
    np.testing.assert_array_equal(model.predict(new), [0, 1, 1, 3, 3])
    np.testing.assert_array_equal(
        model.classes_[model.decision_function(new).argmax(axis=1)], [0, 1, 1, 3, 3]
    )


def test_score_is_accuracy_also_for_fractional_grades():
    X, y = data()
    weight = np.random.default_rng(0).random(len(y))
    model = OrdinalSVM().fit(X, y)
    assert model.score(X, y) == accuracy_score(y, model.predict(X))
    assert model.score(X, y, sample_weight=weight) == pytest.approx(
        accuracy_score(y, model.predict(X), sample_weight=weight)
    )
    halves = OrdinalSVM().fit(X, y / 2)
    assert halves.classes_.tolist() == [0, 0.5, 1, 1.5]
    assert halves.score(X, y / 2) == model.score(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, y[:1])


def test_rank_and_explain_pair_work_on_the_utility():
    X, y = data()
    model = OrdinalSVM().fit(X, y)
    utility = model.utility(X)
    np.testing.assert_array_equal(np.argsort(model.rank(X)), np.argsort(-utility))
    qid = np.arange(len(y)) % 3
    positions = model.rank(X, qid=qid)
    for q in range(3):
        np.testing.assert_array_equal(np.argsort(positions[qid == q]), np.argsort(-utility[qid == q]))
    assert model.explain_pair(X[3], X[5]).sum() == pytest.approx(utility[3] - utility[5], abs=1e-12)
    assert ranking_error(y, utility) < 0.15
    for use in ("predict", "utility", "decision_function", "rank"):
        with pytest.raises(NotFittedError):
            getattr(OrdinalSVM(), use)(X)


# Labels


def test_labels_and_their_order():
    X, y = make_ordinal(200, random_state=0)
    expected = OrdinalSVM(1e-4, **QUADRATIC).fit(X, y)
    names = np.array(GRADES)
    given = clone(expected).set_params(categories=GRADES)
    for labels in (
        names[y],
        names[y].tolist(),
        names[y].astype(object),
        pd.Series(names[y]),
        pl.Series(names[y]),
    ):
        model = clone(given).fit(X, labels)
        assert model.classes_.tolist() == GRADES
        np.testing.assert_array_equal(model.predict(X), names[expected.predict(X)])
        np.testing.assert_array_equal(model.thresholds_, expected.thresholds_)
        assert model.score(X, labels) == expected.score(X, y)
    for labels in (
        pd.Series(pd.Categorical(names[y], categories=GRADES, ordered=True)),
        pl.Series(names[y], dtype=pl.Enum(GRADES)),
    ):
        model = clone(expected).fit(X, labels)
        np.testing.assert_array_equal(model.predict(X), names[expected.predict(X)])
        assert model.score(X, labels) == expected.score(X, y)
    with pytest.warns(UserWarning, match="ordered alphabetically: 'bad' < 'best' < 'fair'") as record:
        model = clone(expected).fit(X, names[y])
    assert record[0].filename == __file__
    assert model.classes_.tolist() == sorted(GRADES)
    backwards = clone(expected).set_params(categories=[4, 3, 2, 1, 0], tol=1e-6).fit(X, y)
    assert backwards.classes_.tolist() == [4, 3, 2, 1, 0]
    assert backwards.objective_ == pytest.approx(expected.objective_, abs=2e-3)


def test_ranks_that_do_not_occur():
    X, y = make_ordinal(200, random_state=0)
    kept = (y != 2) & (y != 0)
    plain = OrdinalSVM(1e-4, **QUADRATIC).fit(X[kept], y[kept])
    assert plain.classes_.tolist() == [1, 3, 4]
    names = np.array(GRADES)
    named = clone(plain).set_params(categories=[*GRADES, "superb"]).fit(X[kept], names[y[kept]])
    assert named.classes_.tolist() == ["poor", "good", "best"]
    np.testing.assert_array_equal(named.thresholds_, plain.thresholds_)
    assert named.decision_function(X).shape == (200, 3)
    np.testing.assert_array_equal(named.classes_[named.decision_function(X).argmax(axis=1)], named.predict(X))
    assert set(named.predict(X)) == {"poor", "good", "best"}


def test_classes_without_weight_do_not_occur():
    X, y = data()
    weight = (y != 1).astype(float)
    weighted = OrdinalSVM(tol=1e-6).fit(X, y, sample_weight=weight)
    assert weighted.classes_.tolist() == [0, 2, 3]
    without = OrdinalSVM(tol=1e-6).fit(X[y != 1], y[y != 1])
    np.testing.assert_allclose(weighted.thresholds_, without.thresholds_, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The boundaries of thresholds='midpoint':UserWarning")
@pytest.mark.parametrize("thresholds", ["midpoint", "min_error"])
@pytest.mark.parametrize("loss", LOSSES)
def test_integer_weights_equal_repeated_rows(thresholds, loss):
    X, y = data(40, noise=1.0)
    weight = np.random.default_rng(0).integers(0, 4, size=40)
    repeated = np.repeat(np.arange(40), weight)
    model = OrdinalSVM(1e-2, loss=loss, thresholds=thresholds, tol=1e-11)
    weighted, twice = clone(model).fit(X, y, weight), clone(model).fit(X[repeated], y[repeated])
    pairs = independent.listed(Preferences.from_scores(y[repeated]))
    best = independent.solve(X[repeated], pairs, 1e-2, loss)
    for fitted in (weighted, twice):
        assert fitted.objective_ == pytest.approx(best.objective, abs=1e-9)
        np.testing.assert_allclose(fitted.coef_, best.coef, atol=1e-4)
    np.testing.assert_allclose(weighted.thresholds_, twice.thresholds_, atol=5e-4)


# Kinds of input


def test_float32_sparse_frames_and_precomputed_kernels_agree():
    X, y = data(80)
    X = X.astype(np.float32).astype(np.float64)
    model = OrdinalSVM(1e-2, tol=1e-11)
    expected = clone(model).fit(X, y)
    best = independent.solve(X, independent.listed(Preferences.from_scores(y)), 1e-2)
    for other in (
        X.astype(np.float32),
        sp.csr_array(X),
        sp.csr_matrix(X),
        pd.DataFrame(X, columns=list("abcd")),
        pl.DataFrame(X, schema=list("abcd")),
        X.tolist(),
    ):
        found = clone(model).fit(other, y)
        assert found.objective_ == pytest.approx(best.objective, abs=1e-9)
        np.testing.assert_allclose(found.coef_, best.coef, atol=1e-4)
        np.testing.assert_allclose(found.thresholds_, expected.thresholds_, atol=1e-4)
        np.testing.assert_array_equal(found.predict(other), expected.predict(X))
    K = rbf_kernel(X, gamma=0.3)
    kernel = clone(model).set_params(kernel="rbf", gamma=0.3).fit(X, y)
    precomputed = clone(model).set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(precomputed.decision_function(K), kernel.decision_function(X), atol=5e-4)
    assert clone(kernel).set_params(n_components=20, random_state=0).fit(X, y).basis_.shape == (20, 4)


def test_pipelines_searches_and_folds():
    X, y = make_ordinal(150, random_state=0)
    names = np.array(GRADES)[y]
    pipe = make_pipeline(StandardScaler(), OrdinalSVM(1e-4, categories=GRADES, **QUADRATIC))
    grid = GridSearchCV(pipe, {"ordinalsvm__alpha": [1.0, 1e-4]}, cv=3).fit(X, names)
    assert grid.best_params_ == {"ordinalsvm__alpha": 1e-4}
    assert cross_val_score(pipe, X, names, cv=3).mean() > 0.6
    numbers = make_pipeline(StandardScaler(), OrdinalSVM(1e-4, **QUADRATIC))
    decision = cross_val_predict(numbers, X, y, cv=3, method="decision_function")
    assert decision.shape == (150, 5)
    assert np.mean(decision.argmax(axis=1) == y) > 0.6


def test_rows_on_dask_give_the_same_model():
    da = pytest.importorskip("dask.array")
    X, y = data(120)
    here = OrdinalSVM(1e-3, tol=1e-9).fit(X, y)
    there_X, there_y = da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50)
    there = OrdinalSVM(1e-3, tol=1e-9).fit(there_X, there_y)
    best = independent.solve(X, independent.listed(Preferences.from_scores(y)), 1e-3)
    for fitted in (here, there):
        assert fitted.objective_ == pytest.approx(best.objective, abs=2e-9)
        np.testing.assert_allclose(fitted.coef_, best.coef, atol=2e-3)
    np.testing.assert_allclose(there.thresholds_, here.thresholds_, atol=5e-3)
    assert there.score(there_X, there_y) == here.score(X, y)


def test_warm_start_and_thread_count():
    X, y = data(200, noise=1.0)
    model = OrdinalSVM(1e-4, tol=1e-5, warm_start=True).fit(X, y)
    iterations = model.n_iter_
    assert model.fit(X, y).n_iter_ < iterations
    one, two = (OrdinalSVM(1e-4, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.thresholds_, two.thresholds_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_warnings_name_the_line_of_the_user():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="Stopped by max_iter after ") as record:
        OrdinalSVM(1e-6, tol=1e-9, max_iter=2).fit(X, y)
    assert record[0].filename == __file__


X_BAD, Y_BAD = data()
BAD = [
    ({"alpha": 0}, {}, "alpha must be a positive number; got 0"),
    ({"thresholds": "middle"}, {}, "thresholds must be one of 'midpoint', 'min_error'; got 'middle'"),
    ({"error": "x"}, {}, "error must be one of 'absolute', 'zero_one'; got 'x'"),
    ({"solver": "newton"}, {}, "solver='newton' does not solve loss='hinge'"),
    ({"categories": [0, 1, 2]}, {}, "y holds 3, not among the categories 0, 1, 2"),
    ({}, {"y": None}, "requires y to be passed"),
    ({}, {"y": np.ones(60)}, "y has one class only"),
    ({}, {"y": Y_BAD[:50]}, "X has 60 rows, but y has 50"),
    ({}, {"y": np.where(Y_BAD == 1, np.nan, Y_BAD)}, "y contains missing values"),
    ({}, {"y": np.linspace(0, 1, 60)}, "Unknown label type: continuous"),
    ({}, {"X": np.where(X_BAD > 1, np.nan, X_BAD)}, "Input X contains NaN"),
    ({}, {"sample_weight": np.ones(3)}, "sample_weight has length 3, but must have length 60"),
    ({}, {"sample_weight": (Y_BAD == 1) * 1.0}, "y has one class only"),
]


@pytest.mark.parametrize(("parameters", "change", "sentence"), BAD)
def test_bad_input_gets_a_sentence(parameters, change, sentence):
    given = {"X": X_BAD, "y": Y_BAD} | change
    with pytest.raises(ValueError, match=sentence):
        OrdinalSVM(**parameters).fit(**given)


def test_preferences_and_queries_are_for_rankers():
    with pytest.raises(TypeError, match="pass labels"):
        OrdinalSVM().fit(X_BAD, Preferences.from_scores(Y_BAD))
    with pytest.raises(TypeError, match="qid"):
        OrdinalSVM().fit(X_BAD, Y_BAD, qid=Y_BAD)
