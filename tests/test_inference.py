"""Inference on the weights of linear rankers, against pairs in plain loops, refits and simulation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.special import expit, stdtrit
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, RobustScaler, StandardScaler

import rankwise
import reference
from rankwise import Preferences, RankLogistic, RankLogisticCV, RankRLS, RankSVM, RankSVMCV, pair_data
from rankwise.evaluation import degrees, inference, influence
from rankwise.evaluation.degrees import Degrees, degrees_of_masses
from rankwise.evaluation.influence import Units, influence_of, units_of
from rankwise.losses import LOSSES, HuberHinge, LeastSquares
from rankwise.model_selection import leave_query_out, leave_row_out
from rankwise.preferences import NoPairsError
from rankwise.solvers.unpenalised import NoMinimumError
from strategies import cases

AVERAGES = ("queries", "pairs")
SMOOTH = ("squared_hinge", "logistic", "unit", "magnitude")


def loss_of(name, preferences, average="queries"):
    if name in LOSSES:
        return LOSSES[name](preferences, average=average)
    return LeastSquares(preferences, cost=name, average=average)


def sample(seed=0, m=60, n=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, X @ np.array([1.0, 0.5, 0.0])[:n] + rng.gumbel(size=m)


@settings(max_examples=200, deadline=None)
@given(
    cases(max_rows=10),
    st.sampled_from(AVERAGES),
    st.sampled_from(SMOOTH),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_influence_is_the_textbook_formula(case, average, name, seed, has_clusters):
    pairs = case.normalised(average)
    assume(sum(w for *_, w, _, _ in pairs) == pytest.approx(1.0))
    assume(min(w for _, _, w, _, _ in pairs) > 1e-8)
    preferences, rng = case.preferences, np.random.default_rng(seed)
    n, listed = 2, preferences.lists_pairs
    X, coef = rng.normal(size=(len(case.scores), n)), rng.normal(size=n)
    cluster = rng.integers(3, size=preferences.n_pairs if listed else len(X)) if has_clusters else None
    units = units_of(preferences, cluster)
    assume(not (listed and has_clusters))
    gradients, hessians, mass = reference.touching(pairs, X, coef, name, None if listed else units.codes)
    assume(all(abs((X[i] - X[j]) @ coef - 1) > 1e-9 for i, j, *_ in pairs))
    found = influence_of(loss_of(name, preferences, average), X, coef, np.full(n, 0.1), units)
    scale = np.abs(hessians).max() + np.abs(gradients).max()
    close = {"rtol": 1e-8, "atol": 1e-9 * scale}
    np.testing.assert_allclose(found.hessian, hessians[-1], **close)
    known = mass[:-1] > 0
    if has_clusters or units.kind == "query":
        centred = gradients[:-1][known] - np.outer(found.mass, gradients[-1])
        np.testing.assert_allclose(found.gradients, centred, **close)
    if has_clusters or units.kind == "query" or listed:
        np.testing.assert_allclose(found.mass, mass[:-1][known], rtol=1e-9)
    if found.parts is not None:
        np.testing.assert_allclose(found.parts, hessians[:-1][known], **close)
    if units.kind == "row":
        query = preferences.groups()
        of_query = [query[i] for i, *_ in pairs]
        for row, label in enumerate(found.units.labels):
            one = query[label]
            total = sum(w for (_, _, w, _, _), q in zip(pairs, of_query, strict=True) if q == one)
            part = [p for p, q in zip(pairs, of_query, strict=True) if q == one]
            whole = reference.touching(part, X, coef, name, np.zeros(len(X)))[0][-1]
            expected = gradients[label] - mass[label] / total * whole
            np.testing.assert_allclose(found.gradients[row], expected, **close)


@pytest.mark.parametrize("structure", ["queries", "pairs", "clusters"])
@pytest.mark.parametrize("cost", ["magnitude", "unit"])
def test_leaving_a_unit_out_of_least_squares_equals_a_refit(structure, cost):
    """The objective is quadratic, so that a Newton step with the Hessian of the others is exact."""
    X, y = sample(m=24)
    rng, options, preferences = np.random.default_rng(1), {}, None
    qid = np.repeat(np.arange(8), 3)
    model = RankRLS(alpha=0.05, cost=cost, ties="drop", average="pairs")
    if structure == "queries":
        preferences = Preferences.from_scores(y, qid)
    elif structure == "pairs":
        X, preferences = pair_data(X[:12], X[12:])
    elif structure == "clusters":
        options["cluster"] = rng.permutation(np.arange(24) % 9)
    preferences = Preferences.from_scores(y) if preferences is None else preferences
    found = model.fit(X, preferences).inference(X, preferences, **options)
    units = units_of(preferences, **options)
    better, worse, magnitude, weight = preferences.pairs()
    for label, change in zip(found.labels, found.changes, strict=True):
        number = list(units.labels).index(label)
        inside = units.codes == number
        gone = inside if units.kind == "pair" else inside[better] | inside[worse]
        left = Preferences.from_pairs(better[~gone], worse[~gone], magnitude[~gone], weight[~gone], len(X))
        refit = RankRLS(alpha=0.05, cost=cost).fit(X, left)
        if structure == "pairs":
            np.testing.assert_allclose(change, refit.coef_ - found.coef, rtol=0.02, atol=1e-3)
        else:
            np.testing.assert_allclose(change, refit.coef_ - found.coef, rtol=1e-6, atol=1e-9)


def pairs_with_ties(preferences, factor):
    """List the pairs of a least-squares loss that keeps ties; a row with itself counts half."""
    i, j = np.tril_indices(preferences.n_rows)
    same = preferences.groups()[i] == preferences.groups()[j]
    i, j, weight = i[same], j[same], preferences.row_weight()
    weight = np.broadcast_to(factor, preferences.n_rows)[i] * weight[i] * weight[j] * np.where(i == j, 0.5, 1)
    return i, j, preferences.values[i] - preferences.values[j], weight


@pytest.mark.parametrize("most_listed", [0, np.inf])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("structure", ["one ranking", "queries", "survival", "order graph"])
@pytest.mark.parametrize(
    "model",
    [
        RankLogistic(),
        RankSVM(loss="squared_hinge"),
        RankRLS(),
        RankRLS(ties="drop"),
        RankRLS(cost="unit"),
        RankRLS(cost="relative"),
    ],
    ids=repr,
)
def test_clusters_leave_as_in_a_newton_step_over_listed_pairs(
    model, structure, average, most_listed, monkeypatch
):
    """Clusters share rankings and queries, and their rows have weights: pairs inside count once."""
    rng = np.random.default_rng(0)
    X, w, penalty = rng.normal(size=(40, 2)), rng.normal(size=2), np.full(2, 0.7)
    y, weight, cluster = rng.integers(0, 4, 40), rng.uniform(0.1, 3.0, 40), rng.integers(0, 5, 40)
    preferences = {
        "one ranking": lambda: Preferences.from_scores(y, sample_weight=weight),
        "queries": lambda: Preferences.from_scores(y, rng.integers(0, 8, 40), weight),
        "survival": lambda: Preferences.from_survival(rng.random(40) < 0.6, rng.exponential(size=40)),
        "order graph": lambda: Preferences.from_order(y, [(3, 1), (3, 0), (2, 0)]),
    }[structure]()
    loss = clone(model).set_params(average=average).mean_loss(preferences)
    better, worse, magnitude, weight = loss.listed_pairs()
    mass = preferences.mean_pairs(average).weight
    if getattr(loss, "keeps_ties", False):
        better, worse, magnitude, weight = pairs_with_ties(preferences, loss.factor)
        mass = weight
    assert mass.sum() == pytest.approx(1)
    z = X[better] - X[worse]
    slope, curvature = loss.pair_derivatives(z @ w, magnitude)

    def sums(rows):
        return (weight * slope * rows) @ z, z.T @ ((weight * curvature * rows)[:, None] * z), mass @ rows

    everything, expected = sums(np.ones(len(z))), []
    for unit in range(5):
        gradient, hessian, share = sums((cluster[better] == unit) | (cluster[worse] == unit))
        left = everything[1] - hessian + (1 - share) * np.diag(penalty)
        expected.append(np.linalg.solve(left, gradient - share * everything[0]))
    monkeypatch.setattr(influence, "MOST_LISTED", most_listed)
    monkeypatch.setattr(influence, "ENTRIES_PER_PAIR", 0)
    found = influence_of(loss, X, w, penalty, units_of(preferences, cluster))
    np.testing.assert_allclose(found.changes(), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "model",
    [RankLogistic(alpha=1e-2), RankSVM(alpha=1e-2, loss="squared_hinge"), RankRLS(alpha=1e-2, ties="drop")],
)
def test_changes_equal_refits_without_a_row(model):
    X, y = sample(m=80)
    found = model.fit(X, y).inference(X, y)
    for row in (0, 7, 33, 61):
        rest = np.arange(len(X)) != row
        refit = type(model)(**{**model.get_params(), "tol": 1e-10}).fit(X[rest], y[rest])
        exact = refit.coef_ - found.coef
        assert np.linalg.norm(found.changes[row] - exact) <= 0.1 * np.linalg.norm(exact) + 1e-4


def test_one_ranking_equals_the_formulas_of_the_sandwich():
    """V = (1 - 1 / m) sum of d_i d_i' with d_i = (H - H_i + (1 - m_i) 2 alpha)^-1 (U_i - m_i g)."""
    X, y = sample(m=40)
    alpha = 0.01
    found = RankLogistic(alpha=alpha).fit(X, y).inference(X, y)
    pairs = reference.normalised(reference.ranking_pairs(y))
    gradients, hessians, mass = reference.touching(pairs, X, found.coef, "logistic", np.arange(40))
    np.testing.assert_allclose(gradients[-1], -2 * alpha * found.coef, atol=1e-6)
    eye = 2 * alpha * np.eye(3)
    changes = [
        np.linalg.solve(hessians[-1] - H + (1 - m) * eye, g - m * gradients[-1])
        for g, H, m in zip(gradients[:-1], hessians[:-1], mass[:-1], strict=True)
    ]
    V = (1 - 1 / 40) * np.transpose(changes) @ changes
    np.testing.assert_allclose(found.covariance, V, rtol=1e-5)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(V)), rtol=1e-5)
    half = stdtrit(37, 0.95) * np.sqrt(np.diag(V))
    np.testing.assert_allclose(found.confidence_intervals(0.9)[:, 1] - found.coef, half, rtol=1e-5)
    a, b = X[:2]
    difference = found.difference(a, b)
    assert difference.standard_error[0] == pytest.approx(np.sqrt((a - b) @ V @ (a - b)), rel=1e-5)
    np.testing.assert_allclose(
        found.pair_proba_interval(a, b)[0], expit([difference.low[0], difference.high[0]])
    )
    test = found.wald_test([0, 1])
    square = found.coef[:2] @ np.linalg.solve(V[:2, :2], found.coef[:2])
    assert test.statistic == pytest.approx(square * 36 / (37 * 2), rel=1e-5)
    assert found.wald_test("f1").p_value == pytest.approx(found.p_values[0])


@pytest.mark.parametrize("limit", ["MOST_HESSIANS", "MOST_OPERATIONS", "MOST_ENTRIES"])
@pytest.mark.parametrize("unit", ["row", "query", "cluster", "group of pairs"])
def test_first_order_errors_agree_with_newton_steps(unit, limit, monkeypatch):
    """Without the Hessians of units, which many of them would need, errors differ in second order only."""
    X, y = sample(m=600)
    number = np.repeat(np.arange(100), 6)
    options = {"cluster": np.arange(600) % 50} if unit == "cluster" else {}
    if unit == "group of pairs":
        X, y = pair_data(X[:300], X[300:], groups=np.arange(300) % 60)
    fit = {"qid": number} if unit == "query" else {}
    model = RankLogistic().fit(X, y, **fit)
    exact = model.inference(X, y, **fit, **options)
    monkeypatch.setattr(influence, limit, 0)
    rough = model.inference(X, y, **fit, **options)
    np.testing.assert_allclose(rough.standard_errors, exact.standard_errors, rtol=0.15)
    np.testing.assert_allclose(rough.quantile(), exact.quantile(), rtol=0.02)
    changes = not (limit == "MOST_ENTRIES" and unit in ("query", "group of pairs"))  # these take no products
    assert changes == (not np.array_equal(rough.covariance, exact.covariance))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_intervals_of_the_svm_cover_a_known_order(loss):
    X, y = sample(m=400)
    found = RankSVM(alpha=1e-3, loss=loss).fit(X, y).inference(X, y)
    assert (found.p_values[:2] < 1e-4).all()
    assert found.p_values[2] > 1e-3
    ratio = found.coef[0] / found.coef[1]  # true weights are 1 and 0.5
    assert 1.4 < ratio < 3.0


def test_scale_and_origin_of_features_do_not_matter():
    X, y = sample()
    model = RankLogistic(alpha=1e-7, tol=1e-6)
    plain = model.fit(X, y).inference(X, y)
    factors, offset = np.array([0.1, 1.0, 50.0]), np.array([10.0, -3.0, 1000.0])
    other = model.fit(X * factors + offset, y).inference(X * factors + offset, y)
    np.testing.assert_allclose(other.z, plain.z, rtol=1e-3)


def test_debias_removes_most_of_the_shrinkage():
    X, y = sample(m=300)
    free = RankLogistic(alpha=1e-8, tol=1e-8).fit(X, y)
    shrunk = RankLogistic(alpha=0.02).fit(X, y)
    found = shrunk.inference(X, y, debias=True)
    assert found.is_debiased
    assert np.linalg.norm(found.coef - free.coef_) < 0.15 * np.linalg.norm(shrunk.coef_ - free.coef_)
    np.testing.assert_allclose(found.standard_errors, free.inference(X, y).standard_errors, rtol=0.1)


def test_pipelines_and_searches_have_errors_in_the_units_of_the_features():
    X, y = sample(m=200)
    frame = pd.DataFrame(X * [1.0, 100.0, 0.1] + 5, columns=["a", "b", "c"])
    plain = RankLogistic(alpha=1e-7, tol=1e-6).fit(frame, y)
    expected = plain.inference(frame, y)
    scaled = make_pipeline(StandardScaler(), RankLogistic(alpha=1e-7, tol=1e-6)).fit(frame, y)
    found = rankwise.inference(scaled, frame, y)
    assert found.names == ["a", "b", "c"]
    np.testing.assert_allclose(found.coef, expected.coef, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-3)
    first, second = frame[:3], frame[3:6]
    shuffled = first[["c", "a", "b"]]
    np.testing.assert_allclose(
        found.difference(shuffled, second).estimate, found.difference(first, second).estimate
    )
    searched = RankSVMCV(loss="squared_hinge", cv=3).fit(frame, y)
    assert searched.inference(frame, y).alpha == searched.alpha_
    calibrated = RankLogisticCV(cv=3, calibrated=True).fit(frame, y)
    np.testing.assert_allclose(calibrated.inference(frame, y).coef, calibrated.coef_, rtol=1e-2)


@pytest.mark.parametrize("structure", ["row", "query", "cluster", "pair"])
def test_units_that_leave_change_the_scales_of_columns(structure):
    """The weights of unscaled columns, refitted behind a scaler without each unit."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.lognormal(size=40), 3.0 * rng.normal(size=40) - 5])
    y, number = 0.5 * X[:, 0] + 0.3 * X[:, 1] + rng.gumbel(size=40), np.arange(40) // 4
    options = {"query": {"qid": number}, "cluster": {"cluster": number}}.get(structure, {})
    if structure == "pair":  # pair k has the rows k and 20 + k
        X, preferences = pair_data(X[:20], X[20:])
        number = np.arange(40) % 20
    else:
        preferences = Preferences.from_scores(y, options.get("qid"))
        number = np.arange(40) if structure == "row" else number

    def fitted(rows):
        model = make_pipeline(StandardScaler(), RankRLS(alpha=0.5, cost="unit"))
        model.fit(X[rows], preferences[rows])
        return model, model[-1].coef_ / model[0].scale_

    model, coef = fitted(np.arange(40))
    found = rankwise.inference(model, X, preferences, **{**options, "qid": None})
    exact = np.array([fitted(np.flatnonzero(number != unit))[1] - coef for unit in np.unique(number)])
    size = np.abs(exact).max(axis=0)
    np.testing.assert_allclose(found.changes / size, exact / size, atol=0.1 if structure == "pair" else 1e-6)
    given = rankwise.inference(model, X, preferences, **{**options, "qid": None}, scaled=False)
    assert np.abs(given.changes - exact).mean() > 1.5 * np.abs(found.changes - exact).mean()
    np.testing.assert_array_equal(found.degrees, given.degrees)


def test_steps_that_are_no_scalers_name_their_output():
    from sklearn.preprocessing import PolynomialFeatures

    X, y = sample(m=200)
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), RankLogistic()).fit(X, y)
    found = rankwise.inference(model, X, y)
    assert found.names[:2] == ["x0", "x1"]
    assert len(found.names) == 9
    difference = found.difference(X[:2], X[2:4])
    np.testing.assert_allclose(difference.estimate, model.predict(X[:2]) - model.predict(X[2:4]), atol=1e-2)


def test_names_decide_which_columns_rows_have():
    X, y = sample()
    frame = pd.DataFrame(X, columns=["u", "v", "f1"])
    found = RankLogistic(alpha=1e-2).fit(frame, y).inference(frame, y)
    turned = frame[["f1", "u", "v"]]
    expected = found.difference(X[:2], X[2:4]).estimate
    np.testing.assert_allclose(found.difference(turned[:2], turned[2:4]).estimate, expected)
    np.testing.assert_allclose(found.difference(turned[:2].assign(w=1), turned[2:4]).estimate, expected)
    other = frame.rename(columns={"u": "v", "v": "w"})
    message = "must have the columns of the training data; it lacks 'u' and it also has 'w'"
    for call in (found.difference, found.part_errors, found.pair_proba_interval):
        with pytest.raises(ValueError, match=message):
            call(other[:1], frame[:1])
    with pytest.raises(ValueError, match=message):
        found.rank_ranges(other)
    unnamed = RankLogistic(alpha=1e-2).fit(X, y).inference(X, y)
    np.testing.assert_allclose(unnamed.difference(frame[["u", "v"]].assign(w=X[:, 2]), X).estimate, 0)
    with pytest.raises(ValueError, match="it lacks 'f2', 'f3'"):
        unnamed.difference(frame, frame)


def test_rows_must_be_finite():
    X, y = sample()
    found = RankLogistic(alpha=1e-2).fit(X, y).inference(X, y)
    for bad in (np.nan, np.inf):
        rows = X[:3].copy()
        rows[1, 2] = bad
        for call in (lambda rows: found.difference(rows, X[:3]), found.rank_ranges):
            with pytest.raises(ValueError, match=f"must have finite numbers; row 1 has {bad} as 'f3'"):
                call(rows)


def test_contrasts_are_names_numbers_masks_or_combinations():
    X, y = sample()
    found = RankLogistic(alpha=1e-2).fit(X, y).inference(X, y)
    for one in (
        1,
        "f2",
        [1],
        ["f2"],
        [False, True, False],
        np.array([False, True, False]),
        [[0.0, 1.0, 0.0]],
    ):
        assert found.wald_test(one) == found.wald_test(["f2"])
    for bad, message in (
        ([True, False], r"as a mask must have one entry per weight, 3, .* got \[True, False\]"),
        ([False] * 3, "select some"),
        (None, "must have names or numbers of features; got None"),
        (3, "contrasts names feature 3; there are 3"),
    ):
        with pytest.raises(ValueError, match=message):
            found.wald_test(bad)


def test_rank_ranges_are_those_of_significant_differences():
    X, y = sample(m=150)
    found = RankLogistic().fit(X, y).inference(X, y)
    rows = np.array([[5.0, 0, 0], [0, 0, 0], [0, 0, 0], [-5.0, 0, 0]])
    ranges = found.rank_ranges(rows)
    assert ranges.best.tolist() == [0, 1, 1, 3]
    assert ranges.worst.tolist() == [0, 2, 2, 3]
    many = np.random.default_rng(0).normal(size=(500, 3))
    few, all_of_them = found.rank_ranges(many[:50]), found.rank_ranges(many)
    scores = many @ found.coef
    place = np.argsort(np.argsort(-scores))
    assert (all_of_them.best <= place).all()
    assert (place <= all_of_them.worst).all()
    assert (few.worst - few.best).mean() < 49


def test_influential_units_are_named():
    X, y = sample(m=60)
    y[11] = y.max() + 10
    X[11] = [-4.0, -4.0, 0.0]
    found = RankLogistic().fit(X, y).inference(X, y).influential(2)
    assert found.units[0] == 11
    assert found.changes[0, 0] > 0
    qid = np.repeat([f"q{k}" for k in range(10)], 6)
    by_query = RankLogistic().fit(X, y, qid=qid).inference(X, y, qid=qid).influential(1)
    assert by_query.units[0] == "q1"


def test_the_title_has_the_loss_and_its_parameters():
    X, y = sample()
    for loss, title in ((HuberHinge(width=0.25), "Huber hinge loss (width=0.25)"), ("hinge", "Hinge loss")):
        assert str(RankSVM(loss=loss).fit(X, y).inference(X, y)).startswith(f"{title}, alpha=")
    assert RankRLS().fit(X, y).inference(X, y).loss.startswith("Least squares loss (cost='magnitude'")


def test_the_summary_is_a_table():
    X, y = sample()
    frame = pd.DataFrame(X, columns=["age", "dose", "<b>"])
    found = RankLogistic().fit(frame, y).inference(frame, y)
    text = str(found.summary())
    assert "60 independent rows" in text
    assert "age" in text
    assert text.startswith("Logistic loss, alpha=0.001: ")
    assert repr(found) == text
    assert found.as_dicts()[1]["standard_error"] == found.standard_errors[1]
    assert "&lt;b&gt;" in found._repr_html_()
    table = found.to_frame(0.9)
    assert table.loc["dose", "low"] == pytest.approx(found.confidence_intervals(0.9)[1, 0])


def test_clusters_and_queries_are_the_units():
    X, y = sample(m=120)
    qid = np.repeat(np.arange(20), 6)
    model = RankLogistic().fit(X, y, qid=qid)
    assert (model.inference(X, y, qid=qid).unit, model.inference(X, y, qid=qid).n_units) == ("query", 20)
    coarse = model.inference(X, y, qid=qid, cluster=qid // 2)
    assert (coarse.unit, coarse.n_units) == ("cluster", 10)
    assert ((coarse.degrees > 5) & (coarse.degrees < 9)).all()
    one = RankLogistic().fit(X, y)
    repeated = RankLogistic().fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    cluster = np.repeat(np.arange(120), 4)
    found = repeated.inference(np.repeat(X, 4, axis=0), np.repeat(y, 4), cluster=cluster)
    expected = one.inference(X, y)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=0.02)
    A, B = X[:60], X[60:]
    rows, pairs = pair_data(A, B, groups=np.arange(60) // 3)
    grouped = RankLogistic().fit(rows, pairs)
    assert grouped.inference(rows, pairs).n_units == 20
    given = grouped.inference(rows, pair_data(A, B)[1], cluster=np.arange(60) // 3)
    np.testing.assert_allclose(given.covariance, grouped.inference(rows, pairs).covariance)


def test_results_do_not_depend_on_the_order_of_rows_or_threads():
    X, y = sample(m=90)
    first = RankLogistic().fit(X, y).inference(X, y)
    order = np.random.default_rng(0).permutation(90)
    second = RankLogistic(n_jobs=2).fit(X[order], y[order]).inference(X[order], y[order])
    np.testing.assert_allclose(first.covariance, second.covariance, rtol=1e-6)


# Degrees of freedom


def degrees_by_definition(inverses, parts, mass, inverse, variances, c):
    """tr(O)^2 / tr(O^2) for the covariance O of the changes along c, written out."""
    n_units, n = parts.shape[:2]
    H, changes = parts.sum(axis=0), np.zeros((n_units, n_units * n))
    for a in range(n_units):
        share = parts[a] @ inverse + mass[a] * (np.eye(n) - H @ inverse)
        for b in range(n_units):
            changes[a, b * n : (b + 1) * n] = (inverses[a] @ c) @ ((a == b) * np.eye(n) - share)
    covariance = block_diag(*variances)
    of_changes = changes @ covariance @ changes.T
    return np.trace(of_changes) ** 2 / np.sum(of_changes**2)


def test_degrees_are_those_of_satterthwaite():
    rng = np.random.default_rng(0)
    root, penalty = rng.normal(size=(7, 5, 3)), np.diag([0.0, 1.0, 3.0])
    parts = np.einsum("aki,akj->aij", root, root) * rng.exponential(size=7)[:, None, None]
    mass, H = rng.dirichlet(np.ones(7)), parts.sum(axis=0)
    inverses = np.linalg.inv(H - parts + (1 - mass)[:, None, None] * penalty)
    inverse, combinations, C = np.linalg.inv(H + penalty), rng.normal(size=(2, 3)), rng.normal(size=(4, 2))
    found = Degrees(inverses, parts, mass, inverse, combinations)(C)
    expected = [degrees_by_definition(inverses, parts, mass, inverse, parts, c) for c in C @ combinations]
    np.testing.assert_allclose(found, expected)
    one = np.ones((7, 1, 1))
    for power in (1, 2):
        shares, variances = mass[:, None, None], mass[:, None, None] ** power
        expected = degrees_by_definition(one / (1 - shares), shares, mass, one[0], variances, np.ones(1))
        assert degrees_of_masses(mass, mass**power) == pytest.approx(expected)


@pytest.mark.parametrize("kept", [0, 1e9])
def test_equal_units_have_one_degree_less_than_units(kept, monkeypatch):
    """The same rows in each query: its Hessian is a fraction of all, and so are the degrees by weights."""
    monkeypatch.setattr(degrees, "MOST_KEPT", kept)
    X, y = sample(m=12)
    rng = np.random.default_rng(0)
    many, labels = np.tile(X, (9, 1)), np.tile(y, 9)
    qid = np.repeat(np.arange(9), 12)
    weight = rng.uniform(0.5, 2.0, 9)[qid]  # queries are averaged, whatever their weights
    model = RankRLS(alpha=1e-3, ties="drop").fit(many, labels, qid=qid, sample_weight=weight)
    found = model.inference(many, labels, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(found.degrees, 8)
    np.testing.assert_allclose(found.quantile(contrasts=rng.normal(size=(2, 3))), stdtrit(8, 0.975))
    rows = RankRLS().fit(X, y).inference(X, y)
    np.testing.assert_array_equal(rows.degrees, 12 - 3)


def test_a_result_says_what_its_errors_leave_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"heavy": rng.lognormal(size=300), "normal": rng.normal(size=300)})
    y = 0.5 * frame.heavy + frame.normal + rng.gumbel(size=300)

    def inferred(*steps, alpha=0.1):
        return rankwise.inference(make_pipeline(*steps, RankLogistic(alpha=alpha)).fit(frame, y), frame, y)

    (note,) = inferred(StandardScaler()).notes
    assert note.startswith("The error of 'heavy' is in large part that of the scale of the column.")
    assert inferred(StandardScaler(), alpha=1e-3).notes == []
    assert inferred(FunctionTransformer(), alpha=1e-3).notes == []
    found = inferred(RobustScaler())
    assert found.given == ("RobustScaler",)
    assert str(found).endswith("What 'RobustScaler' learned is taken as given: its errors are left out.")
    assert "is taken as given" in found._repr_html_()
    assert inferred(RobustScaler(), StandardScaler(), alpha=1e-3).given == ("RobustScaler",)
    assert inferred(StandardScaler(), MaxAbsScaler()).given == ("StandardScaler", "MaxAbsScaler")
    assert RankLogistic(alpha=0.1).fit(frame, y).inference(frame, y).notes == []


def test_unequal_units_have_fewer_degrees():
    X, y = sample(m=120)
    qid = np.repeat(np.arange(8), [60, 20, 8, 8, 6, 6, 6, 6])
    model = RankLogistic(average="pairs").fit(X, y, qid=qid)
    found = model.inference(X, y, qid=qid)
    assert ((found.degrees > 1) & (found.degrees < 2)).all()
    assert "8 independent queries, as few as 1." in str(found)
    ends = found.confidence_intervals()
    np.testing.assert_allclose(ends[:, 1] - found.coef, found.quantile() * found.standard_errors)
    apart = found.difference(np.eye(3), np.zeros((3, 3)))
    np.testing.assert_allclose(np.column_stack([apart.low, apart.high]), ends)
    np.testing.assert_allclose(apart.p_value, found.p_values)
    assert found.wald_test("f1").p_value == pytest.approx(found.p_values[0])
    with pytest.raises(ValueError, match=r"8 queries with 1\.\d+ degrees of freedom cannot test together"):
        found.wald_test([0, 1, 2])
    few = np.arange(120) < 5
    assert 4 < RankLogistic().fit(X, few).inference(X, few).degrees[0] < 6


def test_degrees_by_weights_alone_are_close_if_units_are_alike(monkeypatch):
    """Their Hessians are then about in proportion to their weights."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(8), [120, 80, 60, 40, 30, 30, 20, 20])
    X, noise = rng.normal(size=(400, 2)), rng.gumbel(size=400)
    y = X[:, 0] + noise
    model = RankRLS(average="pairs", ties="drop").fit(X, y, qid=qid)
    exact = model.inference(X, y, qid=qid)
    monkeypatch.setattr(degrees, "AT_ONCE", 1)
    C = rng.normal(size=(5, 2))
    np.testing.assert_allclose(exact.freedom(C), [exact.freedom(c[None])[0] for c in C])
    monkeypatch.setattr(degrees, "MOST_PRODUCTS", 0)
    np.testing.assert_allclose(exact.freedom(C), exact.degrees.min())  # of many contrasts
    np.testing.assert_allclose(exact.freedom(np.eye(2)), exact.degrees)
    monkeypatch.setattr(degrees, "MOST_KEPT", 0)
    rough = model.inference(X, y, qid=qid)
    np.testing.assert_allclose(rough.degrees, exact.degrees, rtol=0.15)
    np.testing.assert_array_equal(rough.quantile(contrasts=C), rough.quantile()[0])


def test_ranges_of_many_rows_contain_those_that_are_drawn(monkeypatch):
    X, y = sample(m=150)
    found = RankLogistic().fit(X, y).inference(X, y)
    drawn = found.rank_ranges(X[:40])
    monkeypatch.setattr(inference, "MOST_DRAWN", 39)
    bounded = found.rank_ranges(X[:40])
    assert (bounded.best <= drawn.best).all()
    assert (bounded.worst >= drawn.worst).all()
    assert (drawn.worst - drawn.best).mean() > 0.8 * (bounded.worst - bounded.best).mean()


def test_degrees_follow_the_units_of_features():
    X, y = sample(m=120)
    qid = np.repeat(np.arange(12), 10)
    X[:, 2] = np.where(qid < 3, X[:, 2], 0.0)  # three queries alone know the third weight
    frame = pd.DataFrame(X * [1.0, 50.0, 0.1], columns=list("abc"))
    plain = RankLogistic(alpha=1e-9, tol=1e-8).fit(X, y, qid=qid).inference(X, y, qid=qid)
    assert plain.degrees[2] < 2.5 < 6 < plain.degrees[0]
    model = make_pipeline(StandardScaler(), RankLogistic(alpha=1e-9, tol=1e-8))
    model.fit(frame, y, ranklogistic__qid=qid)
    found = rankwise.inference(model, frame, y, qid=qid)
    np.testing.assert_allclose(found.degrees, plain.degrees, rtol=1e-4)
    np.testing.assert_allclose(
        found.difference(frame[:9], frame[9:18]).low,
        plain.difference(X[:9], X[9:18]).low,
        rtol=1e-3,
        atol=1e-5,
    )


def test_few_units_warn_and_fewer_are_refused():
    X, y = sample(m=60)
    model = RankLogistic().fit(X[:, :1], y)
    with pytest.warns(UserWarning, match="from 4 independent clusters are themselves uncertain"):
        model.inference(X[:, :1], y, cluster=np.arange(60) % 4)
    with pytest.raises(ValueError, match="at least 4 independent clusters with pairs; got 3"):
        model.inference(X[:, :1], y, cluster=np.arange(60) % 3)


# What cannot be inferred


def refused(model, X, y, message, **options):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, qid=options.pop("fit_qid", None)).inference(X, y, **options)


def test_bad_input_is_refused_with_the_reason():
    X, y = sample()
    model = RankLogistic()
    refused(model, np.c_[X, X[:, 0] + X[:, 1]], y, "'f1', 'f2', 'f4': within pairs, one of these columns")
    refused(model, np.c_[X, np.ones(60)], y, "'f4': the column is constant")
    refused(model, X[:, :1], X[:, 0], "every pair in the right order")
    refused(model, X, y, "at least 4 independent clusters with pairs; got 3", cluster=np.arange(60) % 3)
    refused(model, X, y, "cluster must have one entry per row, 60", cluster=[1, 2])
    refused(RankLogistic(kernel="rbf"), X, y, "needs a linear model")
    model.fit(X, y)
    with pytest.raises(ValueError, match="the data that the model was fitted to"):
        model.inference(X, -y)
    found = model.inference(X, y)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        found.confidence_intervals(95)
    with pytest.raises(ValueError, match="contrasts names 'dose'; the features are 'f1'"):
        found.wald_test(["dose"])
    with pytest.raises(ValueError, match="cannot test together"):
        found.wald_test(np.array([[1.0, 0, 0], [2.0, 0, 0]]))
    with pytest.raises(ValueError, match="must have 3 columns"):
        found.difference(X[:, :2], X[:, :2])
    with pytest.raises(ValueError, match="needs RankLogistic"):
        RankSVM().fit(X, y).inference(X, y).pair_proba_interval(X[:1], X[1:2])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_units_without_which_nothing_remains_are_refused_in_any_order_of_rows(order):
    X, _ = sample(m=30)
    rows = np.random.default_rng(order).permutation(30)
    one_positive, few = (np.arange(30) == 3)[rows].astype(int), (np.arange(30) < 2)[rows].astype(int)
    X, only = X[rows], int(np.flatnonzero(rows == 3)[0])
    for model in (RankLogistic(alpha=1e-2), RankSVM(alpha=1e-2), RankRLS(alpha=1e-2, ties="drop")):
        refused(model, X, one_positive, f"Without row {only}, less than 1e-08 of the weight of all pairs")
    one_event = Preferences.from_survival(one_positive > 0, np.where(one_positive, 0.1, 1.0 + np.arange(30)))
    refused(RankLogistic(alpha=1e-2), X, one_event, f"Without row {only}, less than")
    with pytest.raises(NoPairsError, match=f"Without row {only}, less than"):
        leave_row_out(RankLogistic(alpha=1e-2), X, one_positive)
    found = RankLogistic(alpha=1e-2).fit(X, few).inference(X, few).standard_errors
    inverse = np.argsort(rows)
    expected = RankLogistic(alpha=1e-2).fit(X[inverse], few[inverse]).inference(X[inverse], few[inverse])
    np.testing.assert_allclose(found, expected.standard_errors, rtol=1e-6)


def test_units_that_weigh_all_or_alone_determine_a_weight_are_refused():
    X, y = sample(m=30)
    qid = np.repeat(np.arange(10), 3)
    weight = np.where(qid == 0, 1e10, 1.0)
    model = RankLogistic(alpha=1e-2, average="pairs").fit(X[:, :1], y, qid=qid, sample_weight=weight)
    with pytest.raises(ValueError, match="Without query 0, less than 1e-08 of the weight"):
        model.inference(X[:, :1], y, qid=qid, sample_weight=weight)
    heavy = Preferences.from_scores(y, qid, weight)
    with pytest.raises(NoPairsError, match="Without fold 0, less than 1e-08 of the weight"):
        leave_query_out(RankLogistic(average="pairs"), X, heavy)
    two = Preferences.from_scores([0, 1])
    alone = influence_of(LeastSquares(two, ties="keep"), np.eye(2), np.ones(2), np.ones(2), units_of(two))
    with pytest.raises(NoPairsError, match="Without row 0, less than"):
        alone.changes()
    X[:, 2] = np.where(qid == 4, X[:, 2], 0.0)
    message = "Without query 4, the others do not determine all weights"
    refused(RankLogistic(alpha=0), X, y, message, qid=qid, fit_qid=qid)
    A, B = np.random.default_rng(0).normal(size=(2, 30, 2))
    A[1:, 1] = B[1:, 1] = 0.0
    rows, pairs = pair_data(A, B)
    refused(RankRLS(alpha=1e-12), rows, pairs, "Without pair 0, the others do not determine all weights")


def test_several_outputs_are_refused():
    X, y = sample()
    with pytest.raises(ValueError, match="one output"):
        RankRLS().fit(X, np.c_[y, -y]).inference(X, np.c_[y, -y])


def test_no_warning_and_no_change_of_the_model():
    X, y = sample()
    model = RankLogistic().fit(X, y)
    before = {key: np.copy(value) for key, value in vars(model).items() if isinstance(value, np.ndarray)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.inference(X, y)
    for key, value in before.items():
        np.testing.assert_array_equal(getattr(model, key), value)
    assert isinstance(units_of(Preferences.from_scores(y)), Units)


# Without a penalty


def test_the_logistic_without_a_penalty_equals_an_independent_solver():
    from scipy.optimize import minimize

    X, y = sample(m=50)
    model = RankLogistic(alpha=0, tol=1e-9).fit(X, y)
    pairs = reference.normalised(reference.ranking_pairs(y))

    def objective(w):
        value, c = reference.logistic(pairs, X @ w)
        return value, X.T @ c

    expected = minimize(objective, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-10})
    np.testing.assert_allclose(model.coef_, expected.x, atol=1e-5)
    assert model.objective_ - model.gap_ <= expected.fun <= model.objective_ + 1e-12
    assert model.gap_ <= 1e-9
    found = model.inference(X, y)
    np.testing.assert_allclose(found.coef, model.coef_, atol=1e-4)
    assert found.alpha == 0
    near = RankLogistic(alpha=1e-7).fit(X, y).inference(X, y)
    np.testing.assert_allclose(found.standard_errors, near.standard_errors, rtol=1e-3)


@pytest.mark.parametrize("factor", [1e-12, 1e6, 1e10, 1e12])
def test_without_a_penalty_units_of_columns_do_not_matter(factor, caplog):
    rng = np.random.default_rng(0)
    X, y, factors = rng.normal(size=(60, 3)), rng.integers(0, 4, 60), np.array([factor, 1.0, 1.0])
    plain, other = (RankLogistic(alpha=0).fit(rows, y) for rows in (X, X * factors))
    np.testing.assert_allclose(other.coef_ * factors, plain.coef_, rtol=1e-9)
    assert (other.objective_, other.n_iter_) == (pytest.approx(plain.objective_), plain.n_iter_)
    np.testing.assert_allclose(other.gap_, plain.gap_, rtol=1e-6)
    found = other.inference(X * factors, y).standard_errors
    np.testing.assert_allclose(found * factors, plain.inference(X, y).standard_errors, rtol=1e-6)
    assert not caplog.records  # no hint on scales


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(12, 60), st.sampled_from([1e-1, 1e-2, 1e-5]))
def test_the_gap_of_self_concordance_holds(seed, m, tol):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2)) * [1.0, 10.0]
    y = X[:, 0] + 3 * rng.normal(size=m)
    try:
        rough, fine = (RankLogistic(alpha=0, tol=t).fit(X, y) for t in (tol, 1e-12))
    except NoMinimumError:
        reject()
    assert rough.objective_ - fine.objective_ <= rough.gap_
    assert rough.gap_ <= tol * np.log(2)


def test_data_without_a_best_model_are_refused_without_a_penalty():
    X, y = sample()
    for rows, labels in ((X, X[:, 0]), (np.c_[X, X[:, 0]], y), (np.c_[X, np.ones(60)], y)):
        with pytest.raises(ValueError, match="alpha=0 has no"):
            RankLogistic(alpha=0).fit(rows, labels)
    for model in (RankSVM(alpha=0), RankRLS(alpha=0), RankSVM(alpha=0, loss="squared_hinge")):
        with pytest.raises(ValueError, match="alpha must be a positive number"):
            model.fit(X, y)
