"""The choice of half-life and alpha by held-out votes."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from rankwise import BradleyTerry, BradleyTerryCV, load_model, save_model
from rankwise.cli.main import main
from rankwise.leaderboard.bradley_terry_cv import forward_folds, random_folds
from rankwise.model_selection import EdgeOfGridWarning


def drifting(n=900, n_items=6, walk=0.06, seed=0):
    """Votes whose scores walk at random; the first item is named first in half of them."""
    generator = np.random.default_rng(seed)
    scores = np.cumsum(generator.normal(scale=walk, size=(n, n_items)), axis=0)
    a = generator.integers(n_items, size=n)
    b = (a + generator.integers(1, n_items, size=n)) % n_items
    rows = np.arange(n)
    won = generator.random(n) < 1 / (1 + np.exp(scores[rows, b] - scores[rows, a]))
    names = np.array([f"item {k}" for k in range(n_items)])
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rows, unit="D")
    return pd.DataFrame({"a": names[a], "b": names[b], "outcome": won * 1.0, "date": day})


GRID = {"alphas": [0.001, None], "half_lives": [10, None, 60]}


def effective(votes, half_life):
    days = (votes.date.max() - votes.date).dt.total_seconds() / 86400
    weight = 0.5 ** (days / (half_life or np.inf))
    return weight.sum() ** 2 / (weight**2).sum()


def test_errors_are_those_of_fits_to_the_past():
    votes = drifting()
    model = BradleyTerryCV(**GRID, cv=3).fit(votes)
    assert (model.half_lives_, model.alphas_) == ([None, 60.0, 10.0], [None, 0.001])
    begins = [450, 600, 750, 900]
    for i, half_life in enumerate(model.half_lives_):
        for j, alpha in enumerate(model.alphas_):
            for k, (begin, end) in enumerate(pairwise(begins)):
                scaled = None if alpha is None else alpha * effective(votes, half_life)
                scaled = scaled and scaled / effective(votes[:begin], half_life)  # the same prior
                past = BradleyTerry(scaled, half_life=half_life).fit(votes[:begin])
                expected = past.evaluate(votes[begin:end].drop(columns="date")).log_loss
                assert model.cv_errors_[i, j, k] == pytest.approx(expected)
    best = model.cv_results_[0]
    assert best.log_loss == pytest.approx(model.cv_errors_.mean(axis=2).min())
    assert (best.half_life, len(model.cv_results_)) == (model.half_life_, 6)
    plain = BradleyTerry(best.alpha, half_life=best.half_life).fit(votes)
    np.testing.assert_array_equal(model.scores_, plain.scores_)
    assert model.alpha_ == plain.alpha_
    assert str(model.leaderboard(2)) == str(plain.leaderboard(2))
    assert model.predict_pair_proba("item 0", "item 1") == plain.predict_pair_proba("item 0", "item 1")
    np.testing.assert_array_equal(*(one.predict_match_proba("item 0", "item 1") for one in (model, plain)))
    assert model.score(["item 0"], ["item 1"]) == plain.score(["item 0"], ["item 1"])


def test_scores_that_drift_ask_for_a_half_life_and_predict_the_future():
    gained = []
    for seed in range(2):
        votes = drifting(1200, seed=seed)
        past, future = votes[:1000], votes[1000:].drop(columns="date")
        model = BradleyTerryCV([None], half_lives=[None, 300, 60, 4], cv=3).fit(past)
        assert model.half_life_ is not None
        gained.append(model.score(future) - BradleyTerry().fit(past).score(future))
    assert np.mean(gained) > 0.02


def test_periods_keep_votes_of_a_date_together_and_follow_their_training_votes():
    days = np.repeat([5.0, 1.0, 3.0, 2.0, 4.0], [1, 4, 2, 3, 6])
    folds = forward_folds(days, 4)
    tested = np.concatenate([test for _, test in folds])
    assert len(set(tested.tolist())) == len(tested)
    for train, test in folds:
        assert days[train].max() < days[test].min()
        assert set(train) == set(np.flatnonzero(days < days[test].min()))
    assert set(tested) == set(np.flatnonzero(days >= 3.0))
    with pytest.raises(ValueError, match="date leaves no votes"):
        forward_folds(np.ones(6), 2)


def test_clusters_stay_together_in_folds():
    unit = np.repeat(np.arange(7), 3)
    folds = random_folds(unit, 3)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(21))
    for train, test in folds:
        assert not set(unit[train]) & set(unit[test])
    with pytest.raises(ValueError, match="from 2 to 7 folds"):
        random_folds(unit, 8)


def test_without_dates_alpha_is_chosen_by_folds_of_votes_or_clusters():
    votes = drifting(300, walk=0.0).drop(columns="date")
    users = np.arange(300) // 10
    model = BradleyTerryCV(cv=3).fit(votes, cluster=users)
    assert (model.half_life_, model.half_lives_) == (None, [None])
    assert model.cv_errors_.shape == (1, 7, 3)
    # Scores are equal, so the strongest prior predicts best.
    assert model.cv_results_[0].alpha == model.alphas_[1] == 32 / 300
    fold = random_folds(users, 3)[0]
    expected = BradleyTerry().fit(votes.iloc[fold[0]]).score(votes.iloc[fold[1]])
    assert model.cv_errors_[0, 0, 0] == pytest.approx(-expected)
    clustered = BradleyTerry(model.alpha_).fit(votes, cluster=users)
    assert model.leaderboard()[0] == clustered.leaderboard()[0]


def test_columns_weights_and_given_folds_are_taken():
    votes = drifting(200)
    weight = np.random.default_rng(0).integers(0, 3, size=200)
    halves = [(np.arange(100), np.arange(100, 200))]
    frame = BradleyTerryCV([None], half_lives=[None], cv=halves).fit(votes, weight=weight)
    lists = [votes[name].tolist() for name in ("a", "b")]
    columns = BradleyTerryCV([None], half_lives=[None], cv=iter(halves)).fit(
        *lists, weight.tolist(), outcome=votes.outcome.tolist(), date=votes.date.tolist()
    )
    early, late = (votes.drop(columns="date")[part] for part in (slice(100), slice(100, 200)))
    expected = -BradleyTerry().fit(early, weight=weight[:100]).score(late, weight=weight[100:])
    for model in (frame, columns):
        assert model.cv_errors_.ravel() == pytest.approx([expected])


def test_features_reach_all_fits():
    votes = drifting(200)
    rows = {f"item {k}": [float(k)] for k in range(7)}
    model = BradleyTerryCV([0.01], half_lives=[None], cv=2).fit(votes, features=rows)
    assert len(model.items_) == 7
    assert model.best_estimator_.coef_.shape == (1,)


def test_the_shortest_half_life_and_the_ends_of_given_alphas_are_warned_of():
    votes = drifting(600, walk=0.3)
    with pytest.warns(EdgeOfGridWarning, match="The best half_life, 300, is the smallest of 2"):
        BradleyTerryCV([None], half_lives=[300, 600]).fit(votes)
    with pytest.warns(EdgeOfGridWarning, match="The best alpha, 0.1, is the smallest of 2"):
        BradleyTerryCV([0.1, 1.0], half_lives=[None]).fit(drifting(400, walk=0.02))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alphas": []}, "alphas must be a sequence"),
        ({"alphas": [0.0]}, "alphas must be a positive number"),
        ({"half_lives": [-1]}, "half_lives must be a positive number"),
        ({"cv": 0}, "cv must be an integer"),
    ],
)
def test_bad_candidates_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerryCV(**options).fit(drifting(50))


def test_half_lives_need_dates():
    with pytest.raises(ValueError, match="half_lives need the date"):
        BradleyTerryCV(half_lives=[None, 3]).fit(["x", "y"], ["y", "x"])


def test_the_best_estimator_is_saved(tmp_path):
    model = BradleyTerryCV([None], half_lives=[None, 100]).fit(drifting(200))
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert isinstance(loaded, BradleyTerry)
    np.testing.assert_array_equal(loaded.scores_, model.scores_)


def test_an_interrupted_fit_ends_the_search(monkeypatch):
    from rankwise.solvers import InterruptedWarning

    def interrupted(self, *columns, **more):
        warnings.warn("Interrupted.", InterruptedWarning, stacklevel=1)

    monkeypatch.setattr(BradleyTerry, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        BradleyTerryCV().fit(drifting(50))


def test_the_command_chooses_as_the_estimator(tmp_path, capsys):
    votes = drifting(300)
    votes.to_csv(tmp_path / "votes.csv", index=False)
    columns = ["--a", "a", "--b", "b", "--outcome", "outcome", "--tune"]
    model = BradleyTerryCV().fit(votes)
    assert main(["leaderboard", str(tmp_path / "votes.csv"), *columns, "--date", "date", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["candidates"][0]["half_life"] == model.half_life_
    assert found["candidates"][0]["log_loss"] == pytest.approx(model.cv_results_[0].log_loss)
    assert found["leaderboard"][0]["score"] == pytest.approx(model.leaderboard()[0].score)
    assert main(["leaderboard", str(tmp_path / "votes.csv"), *columns]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("chosen of 7 candidates: no half-life, ")
    assert main(["leaderboard", str(tmp_path / "votes.csv"), *columns, "--alpha", "0.1"]) == 2
    assert "--tune chooses --alpha; give one of the two." in capsys.readouterr().err
