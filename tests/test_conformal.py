"""Ranges of ranks that hold in finite samples."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    ConformalRanks,
    CurveRanker,
    KernelRanker,
    Preferences,
    RankLogistic,
    RankRLS,
    RankRLSCV,
    RankSVM,
)
from rankwise.evaluation.conformal import METHODS, conformal_quantile
from rankwise.preprocessing import QueryScaler


class FirstColumn:
    """A model whose score is the first feature."""

    def predict(self, X):
        return np.asarray(X, dtype=float)[:, 0]


def ranking(seed, n, noise=0.7, levels=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + noise * rng.normal(size=n)
    return x[:, None], np.digitize(y, np.linspace(-1, 1, levels)).astype(float) if levels else y


def true_places(labels, new):
    return (labels > new[:, None]).sum(axis=1) + 0.5 * (labels == new[:, None]).sum(axis=1)


def brute_force_ends(labels, scores, score, level, method):
    """Try every place of the new row: the larger residual over all labels that it could have."""
    n = len(labels)
    together = np.sort(np.append(scores, score))[::-1]
    by_score = [(together > s).sum() + ((together == s).sum() - 1) / 2 for s in scores]
    place = [(labels > label).sum() + ((labels == label).sum() - 1) / 2 for label in labels]
    residuals = []
    for k in range(n):
        if method == "ranks":
            residuals.append(max(abs(by_score[k] - place[k]), abs(by_score[k] - place[k] - 1)))
        else:
            near = range(int(np.floor(place[k])), int(np.ceil(place[k])) + 2)
            residuals.append(max(abs(scores[k] - together[r]) for r in near))
    number = int(np.ceil((n + 1) * level - 1e-9))
    limit = sorted(residuals)[number - 1] if number <= n else np.inf
    own = (scores > score).sum() + (scores == score).sum() / 2
    if method == "ranks":
        inside = [r for r in np.arange(0, n + 0.5, 0.5) if abs(own - r) <= limit]
        return int(np.floor(min(inside))), int(np.ceil(max(inside)))
    inside = [r for r in range(n + 1) if abs(score - together[r]) <= limit]
    return min(inside), max(inside)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("levels", [0, 4])
@pytest.mark.parametrize("n", [5, 19, 40])
def test_ranges_are_those_of_every_place_tried(method, levels, n):
    X, y = ranking(n, n + 10, levels=levels)
    X = np.round(X, 1)  # with ties
    found = ConformalRanks(FirstColumn(), 0.8, method=method).calibrate(X[:n], y[:n])
    low, high = found.rank_sets(X[n:])
    expected = [brute_force_ends(y[:n], X[:n, 0], score, 0.8, method) for score in X[n:, 0]]
    np.testing.assert_array_equal(np.column_stack([low, high]), expected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("levels", [0, 3])
def test_ranges_cover(method, levels):
    covered = []
    for seed in range(150):
        X, y = ranking(seed, 80, levels=levels)
        low, high = ConformalRanks(FirstColumn(), method=method).calibrate(X[:60], y[:60]).rank_sets(X[60:])
        place = true_places(y[:60], y[60:])
        covered.append(np.mean((low <= place) & (place <= high)))
        assert (low >= 0).all()
        assert (high <= 60).all()
    assert np.mean(covered) > 0.88
    assert np.mean(covered) < 0.96


@pytest.mark.parametrize("method", METHODS)
def test_ranges_cover_within_new_queries(method):
    covered = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        qid = np.repeat(np.arange(31), 8)
        X, y = ranking(seed, len(qid), levels=3)
        y = y + rng.normal(size=31)[qid]  # labels of different queries do not compare
        last = qid == 30
        found = ConformalRanks(FirstColumn(), 0.8, method=method).calibrate(X[~last], y[~last], qid[~last])
        low, high = found.rank_sets(X[last], qid[last])
        place = true_places(y[last], y[last]) - 0.5
        covered.append(np.mean((low <= place) & (place <= high)))
        assert high.max() <= 7
    assert np.mean(covered) > 0.77


def test_few_rows_give_the_whole_range():
    X, y = ranking(0, 12)
    found = ConformalRanks(FirstColumn(), 0.95).calibrate(X[:10], y[:10])
    low, high = found.rank_sets(X[10:])
    assert low.tolist() == [0, 0]
    assert high.tolist() == [10, 10]
    assert found.decide(X[10:11], X[11:]).tolist() == [0]
    one_query = ConformalRanks(FirstColumn(), 0.9).calibrate(X, y, np.zeros(12))
    assert one_query.rank_sets(X[:5], np.zeros(5))[1].tolist() == [4] * 5


def test_decisions_are_seldom_wrong():
    wrong, decided = [], []
    for seed in range(200):
        X, y = ranking(seed, 120, noise=1.5)
        found = ConformalRanks(FirstColumn(), 0.9).calibrate(X[:100], y[:100])
        answer = found.decide(X[100:110], X[110:])
        wrong.append(np.mean(answer * np.sign(y[100:110] - y[110:]) < 0))
        decided.append(np.mean(answer != 0))
        np.testing.assert_array_equal(found.decide(X[110:], X[100:110]), -answer)
    assert np.mean(wrong) < 0.115
    assert np.mean(decided) > 0.2


def test_any_model_can_be_calibrated():
    X, y = ranking(0, 200)
    frame = pd.DataFrame(np.c_[X, X**2], columns=["a", "b"])
    for model in (LinearRegression(), RankSVM()):
        low, high = (
            ConformalRanks(model.fit(frame[:100], y[:100]))
            .calibrate(frame[100:], y[100:])
            .rank_sets(frame[:5])
        )
        assert (low <= high).all()
    qid = np.repeat(np.arange(20), 10)
    scaled = make_pipeline(QueryScaler(), RankSVM())
    scaled.steps[0][1].fit(X, qid=qid)
    scaled.steps[1][1].fit(scaled.steps[0][1].transform(X, qid=qid), y, qid=qid)
    new, label = ranking(1, 200)
    low, high = ConformalRanks(scaled).calibrate(new, label, qid).rank_sets(X[:10], qid[:10])
    assert high.max() <= 9


@pytest.mark.parametrize(
    "model",
    [
        RankSVM(),
        RankSVM(kernel="rbf"),
        RankLogistic(),
        RankRLS(),
        RankRLSCV(),
        make_pipeline(StandardScaler(), RankSVM()),
        KernelRanker(),
        CurveRanker(alpha=1e-3),
        CurveRanker(alpha=1e-3, shape="lines"),
        make_pipeline(StandardScaler(), CurveRanker(alpha=1e-3)),
    ],
)
def test_the_rows_of_the_fit_are_refused(model):
    X, y = ranking(0, 200)
    X = np.c_[X, X**2]
    model.fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"X and y are the rows that the .* was fitted to"):
        ConformalRanks(model).calibrate(X[:100], y[:100])
    order = np.random.default_rng(0).permutation(100)
    with pytest.raises(ValueError, match="Calibrate by other rows"):
        ConformalRanks(model).calibrate(X[order], y[order])
    ConformalRanks(model).calibrate(X[100:], y[100:])  # as many rows, as many pairs


def test_few_bins_do_not_tell_rows_apart():
    """Other rows may have the same counts of two levels."""
    level = np.arange(100)[:, None] % 2.0
    y = level[:, 0] + np.random.default_rng(0).normal(size=100)
    model = CurveRanker(alpha=1e-3).fit(level, y)
    ConformalRanks(model).calibrate(level, y[::-1].copy())


def test_both_rates_of_wrong_decisions_are_stated():
    stated, wrong, of_decided = [], [], []
    for seed in range(100):
        X, y = ranking(seed, 600, noise=1.5)
        found = ConformalRanks(FirstColumn(), 0.9).calibrate(X[:400], y[:400])
        answer, truth = found.decide(X[400:500], X[500:]), np.sign(y[400:500] - y[500:])
        stated.append(found.decision_rates())
        wrong.append(np.mean(answer * truth < 0))
        of_decided.append(np.mean((answer * truth < 0)[answer != 0]))
    _, of_all, of_those = np.mean(stated, axis=0)
    assert of_all <= 0.1
    assert of_those == pytest.approx(np.mean(of_decided), abs=0.02)
    assert of_those > 1.1 * of_all
    assert np.mean(wrong) == pytest.approx(of_all, abs=0.02)
    few = ConformalRanks(FirstColumn(), 0.95).calibrate(X[:10], y[:10]).decision_rates()
    assert (few.decided, few.wrong) == (0.0, 0.0)
    assert np.isnan(few.wrong_of_decided)


def test_bad_input_is_refused():
    X, y = ranking(0, 20)
    ranks = ConformalRanks(FirstColumn())
    with pytest.raises(ValueError, match="not calibrated"):
        ranks.rank_sets(X)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        ConformalRanks(FirstColumn(), 90).calibrate(X, y)
    with pytest.raises(ValueError, match="method must be one of 'ranks', 'values'"):
        ConformalRanks(FirstColumn(), method="x").calibrate(X, y)
    with pytest.raises(TypeError, match="array of labels"):
        ranks.calibrate(X, Preferences.from_scores(y))
    with pytest.raises(ValueError, match="20 rows, but y has 19"):
        ranks.calibrate(X, y[:-1])
    with pytest.raises(ValueError, match="at least one row"):
        ranks.calibrate(X[:0], y[:0])
    ranks.calibrate(X, y)
    with pytest.raises(ValueError, match="was calibrated without qid"):
        ranks.rank_sets(X, np.zeros(20))
    ranks.calibrate(X, y, np.arange(20) % 4)
    with pytest.raises(ValueError, match="was calibrated with qid: pass it"):
        ranks.rank_sets(X)
    assert conformal_quantile(np.array([2.0, 1.0]), 0.5) == 2.0
