"""The temperature of pair probabilities: the best one, refused where there is none, and part of the model."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from html_page import Page
from rankwise import (
    Preferences,
    RankLogistic,
    RankLogisticCV,
    RankSVM,
    export_model,
    fit_temperature,
    load_model,
    save_model,
)
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.evaluation import reliability
from rankwise.io.svmlight import dump_svmlight
from rankwise.metrics import pair_log_loss
from rankwise.model_selection import QueryKFold
from rankwise.report import Report
from strategies import cases


def test_pairs_that_are_wrong_by_less_than_rounding_have_no_temperature():
    with pytest.raises(ValueError, match="No pair is in the wrong order"):
        fit_temperature([0.0, 1.0, 1e-96], [1, 2, 0])


def test_pairs_that_are_all_ties_are_chance_whatever_other_rows_score():
    pairs = Preferences.from_pairs([0, 0], [1, 2], weight=[0.5, 1e-6], n_rows=12)
    scores = np.append(np.zeros(11), 0.5)
    with pytest.raises(ValueError, match="no better than chance"):
        fit_temperature(scores, pairs)


def test_pairs_that_balance_are_chance():
    labels, scores = ["a", "c", "d", "b", "c", "d", "a", "c"], [0.0, 0.0, 0.5, 1.0, 0.0, 0.5, 0.0, 2.0]
    chain = Preferences.from_order(labels, "chain")  # whose differences add up to zero
    for spread in (1e-3, 1.0, 1 / 3):
        with pytest.raises(ValueError, match="no better than chance"):
            fit_temperature(spread * np.array(scores), chain)


def test_rows_without_pairs_change_no_temperature():
    y, scores = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.3, 0.1, 1.1, 0.9])
    expected = fit_temperature(scores, y)
    better, worse, *_ = Preferences.from_scores(y).pairs()
    alone = Preferences.from_pairs(better, worse, n_rows=5)
    for score in (1e3, 1e20):
        assert fit_temperature(np.append(scores, score), alone) == pytest.approx(expected, rel=1e-9)


@given(cases(), st.sampled_from(["queries", "pairs"]))
def test_no_other_temperature_is_better(case, average):
    pairs = case.normalised(average)
    difference = np.array([case.scores[i] - case.scores[j] for i, j, *_ in pairs])
    weight = np.array([w for _, _, w, *_ in pairs])
    wrong, slope = weight[difference < 0].sum(), math.fsum(weight * difference)
    assume(wrong == 0 or wrong > 1e-9)
    apart = np.abs(difference[difference != 0])
    # Or wrong pairs are ties but for the rounding of the scores, also of rows without pairs.
    assume(not apart.size or apart.min() > 1e-9 * np.abs(case.scores).max())
    assume(slope <= 0 or slope > 1e-6 * (weight @ np.abs(difference)))
    if wrong == 0 or slope <= 0:
        sentence = "No pair is in the wrong order" if slope > 0 else "no better than chance"
        with pytest.raises(ValueError, match=sentence):
            fit_temperature(case.scores, case.preferences, average=average)
        return
    found = fit_temperature(case.scores, case.preferences, average=average)
    best = reference.logistic(pairs, case.scores / found)[0]
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert best <= reference.logistic(pairs, case.scores / (factor * found))[0] + 1e-12


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e150])
def test_the_scale_of_the_scores_does_not_matter(scale):
    generator = np.random.default_rng(0)
    y = generator.normal(size=200)
    scores = y + generator.normal(size=200)
    expected = fit_temperature(scores, y)
    assert fit_temperature(scale * scores, y) == pytest.approx(scale * expected, rel=1e-9)
    assert fit_temperature(scores + 1000, y) == pytest.approx(expected, rel=1e-9)


def split(seed=0, noise=1.0):
    X, y, qid = make_ranking(400, 8, n_queries=30, n_levels=4, noise=noise, random_state=seed)
    return [
        (X[part], y[part].astype(float), qid[part])
        for part in (qid < 10, (qid >= 10) & (qid < 20), qid >= 20)
    ]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_calibration_divides_the_function(kernel):
    (X, y, qid), (X_held, y_held, qid_held), (X_test, y_test, qid_test) = split()
    model = RankLogistic(1e-6, kernel=kernel, gamma=0.1, max_iter=30).fit(X, y, qid=qid)
    before = model.predict(X_test)
    assert model.temperature_ == 1.0
    assert model.calibrate(X_held, y_held, qid=qid_held) is model
    after = model.predict(X_test)
    np.testing.assert_allclose(after * model.temperature_, before, rtol=1e-10)
    expected = fit_temperature(before_of(model, X_held), y_held, qid_held)
    assert model.temperature_ == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(
        model.predict_pair_proba(X_test[:9], X_test[9:18]),
        expit((before[:9] - before[9:18]) / expected),
        rtol=1e-9,
    )
    if kernel == "rbf":  # it knows the training rows by heart
        assert model.temperature_ > 1.5
        raw, fitted = (pair_log_loss(y_test, scores, qid_test) for scores in (before, after))
        assert fitted < raw
    twice = model.temperature_
    model.calibrate(X_held, y_held, qid=qid_held)
    assert model.temperature_ == pytest.approx(twice, rel=1e-9)
    assert model.fit(X, y, qid=qid).temperature_ == 1.0


def before_of(model, X):
    return model.predict(X) * model.temperature_


def test_calibration_has_the_weights_of_the_objective():
    (X, y, qid), (X_held, y_held, qid_held), _ = split()
    weight = np.random.default_rng(0).random(len(y_held)) + 0.1
    model = RankLogistic(1e-3, average="pairs", pair_weight="difference").fit(X, y, qid=qid)
    scores = model.predict(X_held)
    model.calibrate(X_held, y_held, qid=qid_held, sample_weight=weight)
    preferences = Preferences.from_scores(y_held, qid_held, weight, pair_weight="difference")
    expected = fit_temperature(scores, preferences, average="pairs")
    assert model.temperature_ == pytest.approx(expected, rel=1e-12)


def test_a_calibrated_model_is_kept_whole(tmp_path):
    (X, y, qid), (X_held, y_held, qid_held), (X_test, *_) = split()
    model = RankLogistic(1e-6).fit(X, y, qid=qid).calibrate(X_held, y_held, qid=qid_held)
    save_model(model, tmp_path / "model.json")
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.json")):
        assert other.temperature_ == model.temperature_
        np.testing.assert_array_equal(
            other.predict_pair_proba(X_test, X_test[0]), model.predict_pair_proba(X_test, X_test[0])
        )
    numbers = [
        float(line.split(",")[0]) for line in export_model(model, None, "c").splitlines() if "/* f" in line
    ]
    np.testing.assert_array_equal(numbers, model.coef_)
    page = Page(Report(model, X_held, y_held, qid_held).to_html())
    assert "Temperature of its probabilities" in page.words
    assert "Temperature" not in Page(Report(model.fit(X, y), X_held, y_held, qid_held).to_html()).words


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_the_command_calibrates(scale, tmp_path, capsys):
    parts = split()
    paths = [str(tmp_path / name) for name in ("train.txt", "held.txt", "test.txt")]
    for (X, y, qid), path in zip(parts, paths, strict=True):
        order = np.argsort(qid, kind="stable")
        dump_svmlight(X[order], y[order], path, qid=qid[order])
    target = str(tmp_path / "model.json")
    options = ["--method", "rank-logistic", "--alpha", "1e-6", "--scale", scale, "--json"]
    assert main(["train", paths[0], "-o", target, "--calibration-data", paths[1], *options]) == 0
    told = json.loads(capsys.readouterr().out)
    (X, y, qid), (X_held, y_held, qid_held), _ = parts
    scaler = StandardScaler().fit(X) if scale == "standard" else None
    rows, held = (part if scaler is None else scaler.transform(part) for part in (X, X_held))
    expected = RankLogistic(1e-6).fit(rows, y, qid=qid).calibrate(held, y_held, qid=qid_held)
    assert told["temperature"] == pytest.approx(expected.temperature_, rel=1e-6)
    model = load_model(target)
    np.testing.assert_allclose(model.predict(X_held), expected.predict(held), rtol=1e-6)
    assert main(["train", paths[0], "-o", target, "--calibration-data", paths[1]]) == 2
    assert "--calibration-data cannot be used with --method rank-svm" in capsys.readouterr().err


def test_scores_of_any_ranker_become_probabilities():
    (X, y, qid), (X_held, y_held, qid_held), (X_test, y_test, qid_test) = split()
    model = make_pipeline(StandardScaler(), RankSVM(1e-4)).fit(X, y, ranksvm__qid=qid)
    temperature = fit_temperature(model.predict(X_held), y_held, qid_held)
    found = reliability(y_test, model.predict(X_test) / temperature, qid_test)
    assert found.calibration_error < 0.1
    assert found.log_loss < np.log(2)


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")
def test_the_alpha_of_the_least_log_loss(tmp_path, capsys):
    (X, y, qid), *_ = split(noise=3.0)
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    alphas = [1.0, 1e-1, 1e-2, 1e-3, 1e-6]
    model = RankLogisticCV(alphas, cv=3, scoring="log_loss", tol=1e-9).fit(X, y, qid=qid)
    for k, (train, test) in enumerate(QueryKFold(3, shuffle=True, random_state=0).split(X, groups=qid)):
        for row, alpha in enumerate(model.alphas_):
            cold = RankLogistic(alpha, tol=1e-9).fit(X[train], y[train], qid=qid[train])
            expected = pair_log_loss(y[test], cold.predict(X[test]), qid[test])
            assert model.cv_errors_[row, k] == pytest.approx(expected, abs=1e-3)
    assert model.alpha_ == model.alphas_[np.argmin(model.cv_errors_.mean(axis=1))]
    by_error = RankLogisticCV(alphas, cv=3, scoring="error", tol=1e-9).fit(X, y, qid=qid)
    assert (by_error.cv_errors_ <= 0.6).all()
    rows = str(tmp_path / "rows.txt")
    dump_svmlight(X, y, rows, qid=qid)
    for scoring, search in (("log-loss", model), ("error", by_error)):
        options = [
            "--alphas",
            ",".join(map(str, alphas)),
            "--folds",
            "3",
            "--tol",
            "1e-9",
            "--metric",
            scoring,
        ]
        assert main(["tune", rows, "--method", "rank-logistic", *options, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        np.testing.assert_allclose(told["errors"], search.cv_errors_, atol=1e-6)
        assert (told["best_alpha"], told["scoring"]) == (search.alpha_, search.scoring)
    assert "pair log loss" in Page(Report(model, X, y, qid).to_html()).words
    assert main(["tune", rows, "--metric", "log-loss"]) == 2
    assert "--metric log-loss cannot be used with --method rank-svm" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"scoring must be among error, ndcg.*; got 'x'"):
        RankLogisticCV(scoring="x").fit(X, y, qid=qid)


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")
@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_the_temperature_of_the_folds(average):
    (X, y, qid), *_ = split(noise=3.0)
    parameters = {"alphas": [1.0, 1e-5], "cv": 3, "average": average, "tol": 1e-9}
    plain = RankLogisticCV(**parameters).fit(X, y, qid=qid)
    model = RankLogisticCV(**parameters, calibrated=True).fit(X, y, qid=qid)
    assert (plain.alpha_, plain.temperature_) == (model.alpha_, 1.0)
    np.testing.assert_array_equal(model.cv_errors_, plain.cv_errors_)
    np.testing.assert_allclose(model.coef_ * model.temperature_, plain.coef_, rtol=1e-12)
    folds = []
    for train, test in QueryKFold(3, shuffle=True, random_state=0).split(X, groups=qid):
        cold = RankLogistic(model.alpha_, average=average, tol=1e-9).fit(X[train], y[train], qid=qid[train])
        pairs = reference.normalised(reference.ranking_pairs(y[test], qid[test]), average)
        folds.append((pairs, cold.predict(X[test])))

    def mean_loss(temperature):
        return sum(reference.logistic(pairs, scores / temperature)[0] for pairs, scores in folds)

    best = mean_loss(model.temperature_)
    assert best < mean_loss(0.97 * model.temperature_)
    assert best < mean_loss(1.03 * model.temperature_)
    assert RankLogisticCV(**parameters).fit(X, y, qid=qid).temperature_ == 1.0
