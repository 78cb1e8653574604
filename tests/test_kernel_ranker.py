"""The learned kernel under one name: mixed columns, losses, importances, interactions and explanations."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rankwise import KernelRanker, Preferences, RankSVM, explain_pair, load_model, save_model
from rankwise.estimators.kernel_ranker import basis_rows
from rankwise.functions.kernel_columns import ColumnFunction
from rankwise.io.model_file import model_info
from rankwise.losses import OBJECTIVES
from rankwise.preprocessing import TableEncoder
from rankwise.report import Report


def wines(n_rows=400, seed=0):
    """A table in which price and grape interact, and the region does not matter."""
    rng = np.random.default_rng(seed)
    grape = rng.choice(["merlot", "syrah", "pinot"], n_rows)
    price, organic = rng.lognormal(2.5, 0.5, n_rows), rng.random(n_rows) < 0.4
    utility = np.log(price) * (grape == "syrah") + 0.4 * organic
    frame = pd.DataFrame(
        {
            "grape": grape,
            "price": np.where(rng.random(n_rows) < 0.05, np.nan, price),
            "organic": organic,
            "region": rng.choice(list("abc"), n_rows),
            "tasted": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 600, n_rows), "D"),
        }
    )
    return frame, np.digitize(utility + 0.2 * rng.normal(size=n_rows), [0.5, 1.5, 2.5])


@pytest.fixture(scope="module")
def fitted():
    return KernelRanker().fit(*wines())


# The fit


def test_it_is_the_learned_kernel_behind_the_encoder(fitted):
    X, y = wines()
    plain = RankSVM(
        "learned",
        loss="squared_hinge",
        kernel="laplacian",
        gamma="learned",
        basis="kmeans",
        n_components=2000,
        random_state=0,
    )
    rows = TableEncoder().fit_transform(X)
    np.testing.assert_array_equal(fitted.predict(X), plain.fit(rows, y).predict(rows))
    assert fitted.alpha_ == plain.alpha_
    assert fitted.gap_ == plain.gap_


def test_it_ranks_new_rows_of_a_mixed_table(fitted):
    X, y = wines(seed=1)
    assert fitted.score(X, y) > 0.85
    strange = X.assign(grape="riesling", price=np.nan)
    assert np.isfinite(fitted.predict(strange)).all()


@pytest.mark.parametrize("loss", sorted(OBJECTIVES))
def test_each_loss_learns_within_queries(loss):
    X, y = wines()
    qid = np.arange(len(y)) % 8
    model = KernelRanker(loss, n_components=100).fit(X, y, qid=qid, sample_weight=np.ones(len(y)))
    new, labels = wines(seed=1)
    assert model.score(new, labels, qid=np.arange(len(labels)) % 8) > 0.8
    assert len(model.ranker_.basis_) == 100
    assert model.formula.endswith("f in the span of a learned kernel")
    assert hasattr(model, "predict_pair_proba") == (loss == "logistic")


def test_probabilities_of_the_logistic_loss():
    X, y = wines()
    model = KernelRanker("logistic", n_components=50).fit(X, y)
    scores = model.predict(X)
    expected = 1 / (1 + np.exp(scores[1] - scores[0]))
    np.testing.assert_allclose(model.predict_pair_proba(X[:1], X[1:2]), [expected])


def test_preferences_and_sparse_rows():
    X, y = wines()
    preferences = Preferences.from_scores(y)
    by_labels, by_preferences = (KernelRanker(n_components=50).fit(X, target) for target in (y, preferences))
    np.testing.assert_array_equal(by_labels.predict(X), by_preferences.predict(X))
    rows = np.random.default_rng(0).poisson(0.5, size=(80, 4)).astype(float)
    dense, sparse = (KernelRanker().fit(form, rows[:, 0]) for form in (rows, sp.csr_matrix(rows)))
    np.testing.assert_array_equal(dense.predict(rows), sparse.predict(sp.csr_matrix(rows)))


def test_the_result_does_not_depend_on_threads():
    X, y = wines()
    one, two = (KernelRanker(n_jobs=n_jobs, n_components=50).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.feature_importances_, two.feature_importances_)


def test_the_kernel_is_chosen_by_held_out_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    smooth, rough = np.sin(X).sum(axis=1), (X > 0).sum(axis=1) + 0.1 * rng.normal(size=600)
    assert KernelRanker(n_components=50).fit(X, smooth).kernel_ == "rbf"
    assert KernelRanker(n_components=50).fit(X, rough).kernel_ == "laplacian"
    assert KernelRanker(n_components=50).fit(X[:400], smooth[:400]).kernel_ == "laplacian"


@pytest.mark.parametrize(("n_rows", "expected"), [(1, 1), (2000, 2000), (40_000, 2000), (100_000, 3000)])
def test_basis_rows_by_rows(n_rows, expected):
    assert basis_rows(n_rows) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "squared"}, "loss must be one of 'hinge'"),
        ({"kernel": "poly"}, "kernel must be one of 'auto', 'laplacian', 'exponential', 'rbf'"),
        ({"alpha": "auto"}, "alpha, unless it is a number, must be one of 'learned'"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"n_components": 0}, "n_components must be"),
        ({"loss": "least_squares", "pair_weight": "difference"}, "pair_weight must be None with"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        KernelRanker(**options).fit(*wines(20))


def test_bad_tables_are_named():
    X, y = wines()
    with pytest.raises(ValueError, match="Column 'name' has 400 different strings"):
        KernelRanker().fit(X.assign(name=[f"W{k}" for k in range(len(X))]), y)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        KernelRanker("least_squares").fit(X, np.column_stack([y, y]))


# Parts, changes and mixed differences, compared with scores of mixed rows


@pytest.fixture(scope="module", params=["laplacian", "rbf", "exponential"])
def function(request):
    rng = np.random.default_rng(0)
    column = np.array([0, 1, 1, 2, 3])
    scales = rng.uniform(0.2, 2.0, 5)
    return ColumnFunction(rng.normal(size=(7, 5)), rng.normal(size=7), request.param, 0.7, scales, column, 4)


def value(function, row):
    """The definition of the function."""
    apart = (function.basis - row) * function.scales
    distance = {
        "laplacian": np.abs(apart).sum(axis=1),
        "rbf": (apart**2).sum(axis=1),
        "exponential": np.linalg.norm(apart, axis=1),
    }[function.kernel]
    return function.dual_coef @ np.exp(-function.gamma * distance)


def mixed(function, a, b, columns):
    """The row a with some columns of b."""
    return np.where(np.isin(function.column, list(columns)), b, a)


def shapley(function, a, b):
    """The textbook formula: a sum over all sets of the other columns."""
    n, parts = function.n_columns, []
    for j in range(n):
        others = [k for k in range(n) if k != j]
        total = 0.0
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - 1 - size) / math.factorial(n)
            for of_a in itertools.combinations(others, size):
                with_j = value(function, mixed(function, b, a, (*of_a, j)))
                total += weight * (with_j - value(function, mixed(function, b, a, of_a)))
        parts.append(total)
    return np.array(parts)


def test_parts_are_shapley_values(function):
    a, b = np.random.default_rng(1).normal(size=(2, 5))
    b[3] = a[3]
    found = function.parts(a, b)
    exact = shapley(function, a, b)
    estimated = function.kernel == "exponential"  # from random orders
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=0.02 if estimated else 1e-14)
    np.testing.assert_allclose(found.sum(), value(function, a) - value(function, b), rtol=1e-10)
    assert found[2] == 0.0


def test_changes_and_mixed_differences(function):
    a, b = np.random.default_rng(2).normal(size=(2, 5))
    at = {columns: value(function, mixed(function, a, b, columns)) for columns in [(), (0,), (1,), (0, 1)]}
    np.testing.assert_allclose(function.changes(a, b)[:2], [at[()] - at[(0,)], at[()] - at[(1,)]])
    found = function.mixed_differences(a, b, np.array([0, 1]))
    np.testing.assert_allclose(found[0, 1], at[()] - at[(0,)] - at[(1,)] + at[(0, 1)])


def test_rows_far_apart_do_not_overflow(function):
    a, b = np.random.default_rng(3).normal(size=(2, 5)) * 1e4
    with np.errstate(over="raise", invalid="raise"):
        for found in (function.parts(a, b), function.changes(a, b)):
            np.testing.assert_array_equal(found, 0.0)
        assert np.isfinite(function.mixed_differences(a, b, np.arange(4))).all()


# Files


@pytest.mark.parametrize("loss", sorted(OBJECTIVES))
def test_a_loaded_model_predicts_and_explains_the_same(loss, tmp_path):
    X, y = wines()
    model = KernelRanker(loss, n_components=50, callback=lambda state: None).fit(X, y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.explain_pair(X[:1], X[1:2]), model.explain_pair(X[:1], X[1:2]))
    assert loaded.interactions(X) == model.interactions(X)
    assert loaded.get_params() == model.get_params() | {"callback": None}
    assert model_info(tmp_path / "model.json").estimator == "KernelRanker"


# What was learned


def test_importances_and_interactions_find_what_matters(fitted):
    X, _ = wines()
    importances = dict(zip(X.columns, fitted.feature_importances_, strict=True))
    assert sum(importances.values()) == pytest.approx(1.0)
    assert min(importances["grape"], importances["price"]) > 2 * importances["region"]
    found = fitted.interactions(X)
    assert len(found) == 10
    assert found[0][:2] in (("grape", "price"), ("price", "grape"))
    assert found[0].strength > 1.5 * found[1].strength
    assert found == fitted.interactions(X, random_state=0)


def test_an_additive_order_has_weak_interactions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    sums, products = X[:, 0] + X[:, 1], X[:, 0] * X[:, 1]
    weak, strong = (KernelRanker().fit(X, y).interactions(X)[0].strength for y in (sums, products))
    assert strong > 3 * weak


def test_interactions_are_drawn_within_queries(fitted):
    X, _ = wines()
    qid = X["grape"].to_numpy()
    assert not [pair for pair in fitted.interactions(X, qid) if "grape" in pair[:2] and pair.strength > 1e-12]


def test_the_parts_of_a_pair_add_up(fitted):
    X, _ = wines()
    a, b = X[:1], X[1:2].assign(region=X["region"][0])
    parts = fitted.explain_pair(a, b)
    np.testing.assert_allclose(parts.sum(), (fitted.predict(a) - fitted.predict(b))[0], rtol=1e-9)
    assert parts[list(X.columns).index("region")] == 0.0
    found = explain_pair(fitted, a, b)
    assert found.names == list(X.columns)
    np.testing.assert_array_equal(found.parts, parts)


def test_the_report_shows_what_matters_and_interacts(fitted):
    X, y = wines(seed=1)
    html = Report(fitted, X, y).to_html()
    assert "Which features matter and interact" in html
    assert "grape the largest" in html or "price the largest" in html
    assert '<th scope="row">grape</th><td>price</td>' in html
    assert "its score is not a sum over features" not in html
    assert "(chosen with the scales)" in html
