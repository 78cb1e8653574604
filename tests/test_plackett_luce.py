"""The Plackett-Luce loss and its estimators: loops over choices, Cox regression of R, survival, inference."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import rankwise
import reference
from rankwise import (
    BoostedRanker,
    CurveRanker,
    NoPairsError,
    Preferences,
    RankLogistic,
    RankPlackettLuce,
    RankPlackettLuceCV,
    load_model,
    save_model,
)
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.losses import Logistic, PlackettLuce
from strategies import SCORES, WEIGHTS, vector

COXPH = json.loads((Path(__file__).parent / "recorded" / "coxph.json").read_text())
TIES, AVERAGES = ("breslow", "efron"), ("queries", "pairs")


@st.composite
def lists(draw):
    """Rankings within queries or censored times in strata, with weights and ties."""
    n = draw(st.integers(2, 12))
    labels = vector(draw, st.integers(0, 4), n)
    query = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    weight = draw(st.one_of(st.none(), st.lists(WEIGHTS, min_size=n, max_size=n).map(np.array)))
    assume(weight is None or (weight > 0).any())
    event = draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=n, max_size=n)))
    try:
        if event is None:
            preferences = Preferences.from_scores(labels, query, weight)
        else:
            preferences = Preferences.from_survival(event, labels, weight, query)
            labels = preferences.labels
    except (NoPairsError, ValueError):
        assume(False)
    scores = np.clip(vector(draw, SCORES, n), -300, 300)  # the loops overflow beyond
    return preferences, (labels, query, weight, event), scores


@settings(max_examples=300, deadline=None)
@given(lists(), st.sampled_from(TIES), st.sampled_from(AVERAGES), st.sampled_from([1, 3]))
def test_value_and_gradient_are_those_of_loops_over_choices(case, ties, average, n_threads):
    preferences, columns, scores = case
    loss = PlackettLuce(preferences, ties=ties, average=average, n_threads=n_threads)
    value, gradient = loss.value_and_coefficients(scores)
    expected, expected_gradient = reference.plackett_luce(scores, *columns, ties=ties, average=average)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-12)
    assert value >= 0
    assert np.abs(gradient).sum() <= 2 + 1e-12  # what the certificate takes for granted


@settings(max_examples=200, deadline=None)
@given(lists(), st.sampled_from(TIES), st.data())
def test_products_and_diagonal_are_those_of_the_hessian(case, ties, data):
    preferences, _, scores = case
    loss, n = PlackettLuce(preferences, ties=ties), len(scores)
    hessian, step = loss.hessian(scores), 1e-5
    columns = np.column_stack([hessian.product(column) for column in np.eye(n)])
    np.testing.assert_allclose(columns, columns.T, atol=1e-12)
    np.testing.assert_allclose(hessian.diagonal, np.diag(columns), atol=1e-12)
    assert np.linalg.eigvalsh(columns).min() > -1e-12
    u = vector(data.draw, SCORES, n)
    above, below = (loss.value_and_coefficients(scores + side * step * u)[1] for side in (1, -1))
    np.testing.assert_allclose(
        hessian.product(u), (above - below) / (2 * step), atol=1e-6 * (1 + abs(u).max() ** 3)
    )
    # The change of the coefficients that the certificate allows for.
    assert np.abs(hessian.product(u)).sum() <= np.abs(u).max() + 1e-12


def test_a_list_of_two_is_a_pair_of_the_logistic_loss():
    y, qid = np.tile([1.0, 0.0], 20), np.repeat(np.arange(20), 2)
    scores = np.random.default_rng(0).normal(size=40)
    preferences = Preferences.from_scores(y, qid)
    lists, pairs = (kind(preferences).value_and_coefficients(scores) for kind in (PlackettLuce, Logistic))
    assert lists[0] == pytest.approx(pairs[0], rel=1e-13)
    np.testing.assert_allclose(lists[1], pairs[1], atol=1e-15)


@pytest.mark.parametrize("ties", TIES)
def test_the_result_has_the_same_bits_for_any_number_of_threads(ties):
    generator = np.random.default_rng(0)
    preferences = Preferences.from_scores(
        generator.integers(0, 5, 30_000), generator.integers(0, 300, 30_000), generator.random(30_000)
    )
    scores, direction = generator.normal(size=(2, 30_000))
    one, two = (PlackettLuce(preferences, ties=ties, n_threads=n) for n in (1, 2))
    assert one.value(scores) == two.value(scores)
    np.testing.assert_array_equal(one.derivatives(scores), two.derivatives(scores))
    np.testing.assert_array_equal(
        one.hessian(scores).product(direction), two.hessian(scores).product(direction)
    )


@pytest.mark.parametrize("is_survival", [False, True])
@pytest.mark.parametrize("size", [100.0, 1e3, 1e5])
def test_scores_that_are_far_apart(size, is_survival):
    """The sums of prefixes whose rows are all far below the highest one."""
    generator = np.random.default_rng(0)
    y = generator.permutation(60).astype(float)
    event = generator.random(60) < 0.6 if is_survival else None
    preferences = Preferences.from_survival(event, y) if is_survival else Preferences.from_scores(y)
    scores, direction = size * generator.normal(size=60), generator.normal(size=60)
    loss = PlackettLuce(preferences)
    value, gradient = loss.value_and_coefficients(scores)
    z = -scores if is_survival else scores
    expected, n_chosen = 0.0, 0
    for i in range(60):
        if not (event[i] if is_survival else y[i] > 0):
            continue
        at_risk = z[(y >= y[i]) if is_survival else (y <= y[i])]
        expected += np.log(np.sum(np.exp(at_risk - at_risk.max()))) + at_risk.max() - z[i]
        n_chosen += 1
    assert value == pytest.approx(expected / n_chosen, rel=1e-12)
    assert np.isfinite(gradient).all()
    assert abs(gradient.sum()) < 1e-12
    assert np.isfinite(loss.hessian(scores).product(direction)).all()
    assert (loss.hessian(scores).diagonal >= 0).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e300])
def test_the_scale_of_weights_does_not_matter(scale):
    y, weight = np.array([2.0, 0.0, 1.0, 3.0]), np.array([1.0, 2.0, 3.0, 1.0])
    scores = np.array([0.3, -1.0, 2.0, 0.1])
    given, scaled = (
        PlackettLuce(Preferences.from_scores(y, sample_weight=w)) for w in (weight, scale * weight)
    )
    np.testing.assert_allclose(
        given.value_and_coefficients(scores)[1], scaled.value_and_coefficients(scores)[1], rtol=1e-12
    )


def test_other_structures_are_refused():
    for preferences in (
        Preferences.from_pairs([0], [1], n_rows=2),
        Preferences.from_order(["a", "b"], "chain"),
        Preferences.from_scores([1.0, 0.0], pair_weight="difference"),
    ):
        with pytest.raises(TypeError, match="Use the logistic loss"):
            PlackettLuce(preferences)
    with pytest.raises(ValueError, match="ties must be"):
        PlackettLuce(ties="exact")


# Cox regression


def patients(kind=""):
    X, time, event = (np.array(COXPH[name], dtype=float) for name in ("X", "time", "event"))
    weight = COXPH["weight"] if kind.endswith("weighted") else None
    strata = COXPH["stratum"] if kind.endswith("strata") else None
    return X, Preferences.from_survival(event, time, weight, strata)


@pytest.mark.parametrize(
    "kind",
    ["breslow", "efron", "breslow_weighted", "efron_weighted", "breslow_strata", "efron_strata"],
)
def test_the_fit_is_that_of_coxph(kind):
    """Coefficients, likelihood and robust errors as printed by R; a higher score is a longer time."""
    X, y = patients(kind)
    expected = COXPH[kind]
    model = RankPlackettLuce(0, ties=kind.partition("_")[0], average="pairs", tol=1e-13).fit(X, y)
    np.testing.assert_allclose(-model.coef_, expected["coef"], rtol=1e-7, atol=1e-8)
    total = np.sum(y.event if y.weight is None else y.event * y.weight)
    assert -model.objective_ * total == pytest.approx(expected["log_likelihood"], abs=1e-9)
    # These errors leave each patient out; those of R are without this correction of small samples.
    found = model.inference(X, y)
    np.testing.assert_allclose(found.standard_errors, expected["robust_errors"], rtol=0.06)
    np.testing.assert_allclose(found.model_errors, expected["model_errors"], rtol=1e-5)
    scores = X @ model.coef_
    loss = model.mean_loss(y)
    gradients, _ = loss.unit_gradients(scores, X, lambda rows: rows)
    hessian = X.T @ np.column_stack([loss.hessian(scores).product(column) for column in X.T])
    plain = np.sqrt(np.sum(np.linalg.solve(hessian, gradients.T) ** 2, axis=1))
    np.testing.assert_allclose(plain, expected["robust_errors"], rtol=1e-6)


def test_errors_of_a_model_need_a_likelihood():
    X, y, qid = make_ranking(100, 2, n_queries=10, n_levels=3, random_state=0)
    assert hasattr(
        RankPlackettLuce(average="pairs").fit(X, y, qid=qid).inference(X, y, qid=qid), "model_errors"
    )
    for model in (RankPlackettLuce(), RankLogistic()):
        assert not hasattr(model.fit(X, y, qid=qid).inference(X, y, qid=qid), "model_errors")


def test_errors_of_clusters_are_those_of_coxph():
    X, y = patients()
    model = RankPlackettLuce(0, tol=1e-13).fit(X, y)
    errors = model.inference(X, y, cluster=COXPH["cluster"]).standard_errors
    np.testing.assert_allclose(errors, COXPH["breslow_cluster"]["robust_errors"], rtol=0.08)


def test_survival_is_that_of_survfit():
    X, y = patients()
    model = RankPlackettLuce(0, tol=1e-13).fit(X, y)
    known = COXPH["survival"]
    np.testing.assert_allclose(model.predict_survival(X[:3], known["times"]), known["rows"], atol=1e-7)
    assert (model.predict_survival(X, [-1.0, 0.0]) == 1.0).all()
    beyond = model.predict_survival(X, [1e9])
    np.testing.assert_array_equal(beyond, model.predict_survival(X, model.baseline_times_[-1:]))


def test_the_restricted_mean_is_the_area_under_the_survival():
    X, y = patients()
    model = RankPlackettLuce(1e-3).fit(X, y)
    for horizon in (0.5, 7.3, 1e3):
        grid = np.linspace(0, horizon, 200_001)[:-1]
        area = model.predict_survival(X[:4], grid).mean(axis=1) * horizon
        np.testing.assert_allclose(model.predict_restricted_mean(X[:4], horizon), area, rtol=1e-4)
    with pytest.raises(ValueError, match="horizon must be"):
        model.predict_restricted_mean(X, 0)


def test_survival_needs_times_of_one_stratum():
    X, y = patients("breslow_strata")
    for model in (RankPlackettLuce().fit(X, y), RankPlackettLuce().fit(X, y.values)):
        assert not hasattr(model, "predict_survival")
    fitted = RankPlackettLuce().fit(*patients())
    assert hasattr(fitted, "predict_survival")
    assert not hasattr(fitted.fit(X, y), "predict_survival")


def test_covariances_hold_for_correlated_rows_of_a_query():
    """Queries are independent: their errors are those of sums over their rows."""
    X, y, qid = make_ranking(400, 3, n_queries=40, n_levels=4, noise=1.0, random_state=0)
    model = RankPlackettLuce(0).fit(X, y, qid=qid)
    found = model.inference(X, y, qid=qid)
    assert found.unit == "query"
    draws = []
    generator = np.random.default_rng(0)
    for _ in range(60):
        drawn = generator.integers(0, 40, 40)
        rows = np.concatenate([np.flatnonzero(qid == q) for q in drawn])
        numbers = np.concatenate([np.full((qid == q).sum(), k) for k, q in enumerate(drawn)])
        draws.append(RankPlackettLuce(0).fit(X[rows], y[rows], qid=numbers).coef_)
    np.testing.assert_allclose(found.standard_errors, np.std(draws, axis=0), rtol=0.35)


# Estimators


def test_the_optimum_is_that_of_a_general_optimiser_within_the_gap():
    X, y, qid = make_ranking(300, 4, n_queries=30, n_levels=5, noise=1.0, random_state=1)
    for average in AVERAGES:
        loss = PlackettLuce(Preferences.from_scores(y, qid), average=average)

        def objective(w, loss=loss):
            value, c = loss.value_and_coefficients(X @ w)
            return value + 1e-2 * w @ w, X.T @ c + 2e-2 * w

        best = minimize(objective, np.zeros(4), jac=True, options={"gtol": 1e-12})
        for tol in (0.1, 1e-3, 1e-9):
            model = RankPlackettLuce(1e-2, average=average, tol=tol).fit(X, y, qid=qid)
            assert best.fun - 1e-12 <= model.objective_ <= best.fun + model.gap_ + 1e-12
            assert model.gap_ <= tol * (loss.at_zero - model.objective_ + model.gap_) + 1e-12


def test_a_top_k_list_does_not_rank_the_rest():
    """Labels of 0 are what remains: how these rows would be ordered does not matter."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(50, 2))
    y = np.maximum(0, 5 - np.argsort(np.argsort(-X[:, 0])))  # five are chosen
    model = RankPlackettLuce(1e-2).fit(X, y)
    assert (model.rank(X)[y > 0] < 8).all()
    value = PlackettLuce(Preferences.from_scores(y)).at_zero
    assert value == pytest.approx(np.mean(np.log(50 - np.arange(5))))


def test_searches_kernels_curves_and_trees():
    X, y, qid = make_ranking(400, 3, n_queries=40, n_levels=4, noise=0.5, random_state=0)
    search = RankPlackettLuceCV(cv=3).fit(X, y, qid=qid)
    assert search.alpha_ in search.alphas_
    assert RankPlackettLuce("auto").fit(X, y, qid=qid).alpha_ > 0
    assert cross_val_score(RankPlackettLuce(), X, y, cv=3).mean() > 0.6
    for model in (
        RankPlackettLuce(kernel="rbf"),
        RankPlackettLuce(kernel="rbf", n_components=30),
        CurveRanker(1e-3, loss="plackett-luce"),
        rankwise.RankSVM(loss="plackett-luce"),
    ):
        assert model.fit(X, y, qid=qid).score(X, y, qid=qid) > 0.85
        assert model.gap_ < 0.05
    with pytest.raises(TypeError, match="sums over pairs"):
        RankPlackettLuceCV(cv="leave-query-out").fit(X, y, qid=qid)


def test_boosted_trees_with_the_loss_of_cox():
    pytest.importorskip("lightgbm")
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 3))
    time, censored = generator.exponential(np.exp(2 * np.abs(X[:, 0]))), generator.exponential(4.0, size=400)
    y = Preferences.from_survival(time <= censored, np.minimum(time, censored))
    trees = BoostedRanker("plackett-luce", n_estimators=40).fit(X, y)
    assert trees.score(X, y) > RankPlackettLuce().fit(X, y).score(X, y) + 0.1


def test_rows_on_dask_with_labels_in_memory():
    arrays = pytest.importorskip("dask.array")
    X, y, qid = make_ranking(3000, 3, n_queries=300, n_levels=4, noise=0.5, random_state=0)
    rows = arrays.from_array(X, chunks=(250, 3))
    expected = RankPlackettLuce().fit(X, y, qid=qid)
    found = RankPlackettLuce().fit(rows, y, qid=qid)
    assert found.objective_ == pytest.approx(expected.objective_, abs=expected.gap_ + found.gap_)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0.02, atol=0.02)


def test_files_clones_and_the_shell(tmp_path, capsys):
    X, y = patients()
    model = RankPlackettLuce(1e-2, ties="efron").fit(X, y)
    save_model(model, tmp_path / "cox.json")
    loaded = load_model(tmp_path / "cox.json")
    np.testing.assert_array_equal(loaded.predict_survival(X, [2.0]), model.predict_survival(X, [2.0]))
    assert clone(model).get_params()["ties"] == "efron"
    header = "time,event,a,b,c"
    table = np.column_stack([COXPH["time"], COXPH["event"], X])
    np.savetxt(tmp_path / "patients.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    command = [
        "train",
        str(tmp_path / "patients.csv"),
        "--survival",
        "time,event",
        "-o",
        str(tmp_path / "m.json"),
    ]
    options = ["--method", "rank-plackett-luce", "--ties", "efron", "--alpha", "0.01", "--json"]
    assert main([*command, *options]) == 0
    assert json.loads(capsys.readouterr().out)["objective"] == pytest.approx(model.objective_, rel=1e-9)
    assert (
        main(
            [
                "report",
                str(tmp_path / "m.json"),
                str(tmp_path / "patients.csv"),
                "--survival",
                "time,event",
                "-o",
                str(tmp_path / "r.html"),
            ]
        )
        == 0
    )


def test_more_of_the_data_is_used_than_by_pairs_if_hazards_are_proportional():
    """Errors of the weights are smaller than those of the pairwise logistic loss, the truth being Cox's."""
    generator = np.random.default_rng(0)
    weights = {RankPlackettLuce: [], RankLogistic: []}
    for _ in range(40):
        X = generator.normal(size=(150, 2))
        time = generator.exponential(np.exp(X[:, 0]))
        y = Preferences.from_survival(np.ones(150), time)
        for kind, found in weights.items():
            found.append(kind(0).fit(X, y).coef_)
    lists, pairs = (np.array(found) for found in weights.values())
    assert lists[:, 0].mean() == pytest.approx(1.0, abs=0.05)
    assert lists.std(axis=0)[0] / lists.mean(axis=0)[0] < pairs.std(axis=0)[0] / pairs.mean(axis=0)[0]
