"""Few human votes sharpened by a judge: the objective, the weight, coverage, joins, files and the command."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

from rankwise import BradleyTerry, ModelFileError, PredictionPoweredBradleyTerry, load_model, save_model
from rankwise.cli.main import main
from rankwise.leaderboard import base, join_duels
from rankwise.leaderboard.duels import Duels, fit_duels
from rankwise.solvers import InterruptedWarning
from reference import prediction_powered

N_ITEMS = 5


def drawn(n_humans=400, n_duels=3000, agreement=0.9, seed=0, bias=1.0):
    """Duels a, b, human votes (NaN without one), votes of a judge that favours item 0, and true scores."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=N_ITEMS)
    a = rng.integers(N_ITEMS, size=n_duels)
    b = (a + rng.integers(1, N_ITEMS, size=n_duels)) % N_ITEMS
    shared = rng.random(n_duels)
    own = np.where(rng.random(n_duels) < agreement, shared, rng.random(n_duels))
    biased = scores + bias * (np.arange(N_ITEMS) == 0)
    human = (shared < 1 / (1 + np.exp(scores[b] - scores[a]))).astype(float)
    judge = (own < 1 / (1 + np.exp(biased[b] - biased[a]))).astype(float)
    human[n_humans:] = np.nan
    return a, b, human, judge, scores - scores.mean()


def fitted(columns, **options):
    a, b, human, judge, *_ = columns
    return PredictionPoweredBradleyTerry(**options).fit(a, b, outcome=human, judge_outcome=judge)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_the_scores_and_their_covariance_are_those_of_the_textbook(weight):
    a, b, human, judge, _ = drawn(200, 900)
    human[:20] = 0.5
    duels = Duels.counted(a.astype(np.int32), b.astype(np.int32), human, judge)
    found = fit_duels(duels, np.zeros(N_ITEMS), 0.8, weight=weight)
    scores, covariance = prediction_powered(a, b, human, judge, N_ITEMS, weight, 0.8)
    assert found.scores == pytest.approx(scores, abs=1e-6)
    assert found.covariance == pytest.approx(covariance, rel=1e-4, abs=1e-7)
    assert 0 <= found.result.gap < 1e-15
    centre, covariance = prediction_powered(a, b, human, judge, N_ITEMS, weight, 0.8, debias=True)
    assert found.centre == pytest.approx(centre, abs=1e-6)
    assert found.centre_covariance == pytest.approx(covariance, rel=1e-4, abs=1e-7)


def test_no_weight_of_the_judge_has_a_smaller_variance():
    a, b, human, judge, _ = drawn()
    duels = Duels.counted(a.astype(np.int32), b.astype(np.int32), human, judge)
    best = fit_duels(duels, np.zeros(N_ITEMS), 1.0)
    assert 0 < best.weight < 1
    for weight in np.linspace(0, 1, 6):
        other = fit_duels(duels, np.zeros(N_ITEMS), 1.0, weight=weight)
        assert np.trace(best.covariance) <= 1.01 * np.trace(other.covariance)
        assert np.trace(best.centre_covariance) <= 1.01 * np.trace(other.centre_covariance)


def test_a_judge_makes_intervals_shorter_and_its_bias_does_not_matter():
    inside, pooled, gains = [], [], []
    for seed in range(25):
        columns = drawn(400, 4000, 0.95, seed, bias=1.5)
        a, b, human, judge, truth = columns
        model = fitted(columns)
        gains.append(model.judge_gain_)
        inside += [row.low <= truth[row.item] <= row.high for row in model.leaderboard(ranks=False)]
        pool = BradleyTerry().fit(a, b, outcome=np.where(np.isnan(human), judge, human))
        pooled += [row.low <= truth[row.item] <= row.high for row in pool.leaderboard(ranks=False)]
    assert np.mean(inside) > 0.88
    assert np.mean(pooled) < 0.5
    assert np.mean(gains) > 0.15


def test_a_judge_at_random_has_hardly_any_weight():
    a, b, human, _, _ = drawn()
    judge = (np.random.default_rng(5).random(len(a)) < 0.5).astype(float)
    model = PredictionPoweredBradleyTerry().fit(a, b, outcome=human, judge_outcome=judge)
    assert model.judge_weight_ < 0.15
    assert abs(model.judge_gain_) < 0.03
    plain = BradleyTerry().fit(a[:400], b[:400], outcome=human[:400])
    assert model.scores_ == pytest.approx(plain.scores_, abs=0.1)
    for intervals in ("debiased", "posterior"):
        for one in (model, plain):
            one.set_params(intervals=intervals)
        assert model.standard_errors() == pytest.approx(plain.standard_errors(), rel=0.15)
    board = {row.item: (row.low + row.high) / 2 for row in model.leaderboard()}
    assert [board[item] for item in range(N_ITEMS)] == pytest.approx(model.scores_)


def test_the_leaderboard_states_the_gain():
    columns = drawn()
    model = fitted(columns)
    labelled = ~np.isnan(columns[2])
    agreement = (columns[2] == columns[3])[labelled].mean()
    assert model.judge_agreement_ == pytest.approx(agreement)
    assert (model.n_comparisons_, model.n_duels_) == (400, 3000)
    note = str(model.leaderboard()).splitlines()[-1]
    assert note.startswith(f"The votes of the judge on 3,000 duels make intervals {model.judge_gain_:.0%} ")
    assert note.endswith(f"it agrees with humans on {agreement:.0%} of their duels.")
    assert note in model.leaderboard()._repr_html_()
    apart = model.difference(1, 0)
    errors = model.standard_errors()
    assert 0 < apart.standard_error < errors[0] + errors[1]
    assert model.effects() == []


def test_missing_votes_have_several_forms():
    a, b, human, judge, _ = drawn()
    expected = fitted((a, b, human, judge)).leaderboard()
    words = {1.0: "win", 0.0: "loss"}
    for missing in (None, "", float("nan")):
        text = [words.get(one, missing) for one in human.tolist()]
        assert fitted((a, b, text, judge)).leaderboard() == expected
    column = pd.Series(human).astype("Int64")
    assert fitted((a, b, column, judge)).leaderboard() == expected
    frame = pl.DataFrame({"a": a, "b": b, "y": human}).with_columns(pl.col("y").fill_nan(None))
    assert fitted((frame["a"], frame["b"], frame["y"], judge)).leaderboard() == expected


def test_few_human_votes_are_warned_of():
    with pytest.warns(UserWarning, match="200 human votes are few: below 300, posterior intervals"):
        fitted(drawn(200), intervals="posterior")
    fitted(drawn(200))


def test_a_callback_sees_the_last_fit_and_may_stop_it():
    states = []
    full = fitted(drawn(), callback=states.append)
    assert len(states) == full.n_iter_ == len(full.history_["gap"])
    assert states[-1].objective == pytest.approx(full.objective_)
    stopped = fitted(drawn(), callback=lambda state: True)
    assert stopped.n_iter_ == 1
    assert stopped.gap_ > full.gap_


def test_ctrl_c_and_max_iter_warn_with_the_gap():
    def stop(state):
        raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match="Interrupted after 1 iteration"):
        model = fitted(drawn(), callback=stop)
    assert np.isfinite([(row.low, row.high) for row in model.leaderboard()]).all()
    with pytest.warns(ConvergenceWarning, match="Stopped by max_iter after 1 iteration"):
        fitted(drawn(), max_iter=1)


def test_items_that_human_votes_do_not_link_have_posterior_intervals():
    a, b, human, judge, _ = drawn()
    human[(a == 4) | (b == 4)] = np.nan
    with warnings.catch_warnings(record=True, action="always") as caught:
        model = fitted((a, b, human, judge))
    assert any("never compared" in str(one.message) for one in caught)
    assert model.leaderboard() == model.set_params(intervals="posterior").leaderboard()


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({"intervals": "sampled"}, {}, "intervals must be"),
        ({"alpha": 0}, {}, "alpha must be"),
        ({}, {"outcome": None}, "judge_outcome needs outcome, the human votes"),
        ({}, {"outcome": [None, None, None]}, "outcome is missing in all rows"),
        ({}, {"outcome": [1, 0, 1]}, "outcome is missing in no row"),
        ({}, {"outcome": [1, None]}, "outcome has 2 entries for 3 matches"),
        ({}, {"judge_outcome": [1, None, 0]}, "judge_outcome is missing in row 1"),
        ({}, {"judge_outcome": [1, 2, 0]}, "judge_outcome must be win, loss or tie"),
    ],
)
def test_what_duels_do_not_go_with_is_refused(options, more, message):
    votes = {"outcome": [1, None, 1], "judge_outcome": [1, 0, 1], **more}
    with pytest.raises(ValueError, match=message):
        PredictionPoweredBradleyTerry(**options).fit(["x", "y", "x"], ["y", "x", "y"], **votes)


def test_other_bad_duels_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="Row 1 compares 'y' with itself"):
        PredictionPoweredBradleyTerry().fit(["x", "y"], ["y", "y"], outcome=[1, None], judge_outcome=[1, 1])
    monkeypatch.setattr(base, "DENSE_ITEMS", 2)
    with pytest.raises(ValueError, match="judge_outcome is limited to 2 items; there are 5"):
        fitted(drawn())


def test_a_model_file_keeps_the_covariance(tmp_path):
    model, path = fitted(drawn()), tmp_path / "model.json"
    save_model(model, path)
    loaded = load_model(path)
    assert loaded.leaderboard() == model.leaderboard()
    assert str(loaded.leaderboard()) == str(model.leaderboard())
    assert loaded.difference(0, 1) == model.difference(0, 1)
    assert loaded.predict_pair_proba(0, 1) == model.predict_pair_proba(0, 1)
    centre, first, second = model._duels
    for broken in (
        (centre, first),
        (centre[1:], first, second),
        (centre, first[1:], second),
        (centre, -first, second),
        (centre, first, np.triu(second)),
    ):
        loaded._duels = broken
        save_model(loaded, path)
        with pytest.raises(ModelFileError, match="_duels is invalid"):
            load_model(path)


def test_tables_are_joined_by_id():
    a, b, human, judge, _ = drawn(400, 1000)
    names = np.array(list("vwxyz"))
    by_judge = pd.DataFrame({"id": np.arange(1000), "a": names[a], "b": names[b], "outcome": judge})
    by_human = by_judge.assign(outcome=human).dropna().sample(frac=1.0, random_state=0)
    swapped = by_human.assign(a=by_human.b, b=by_human.a, outcome=1 - by_human.outcome)
    half = pd.concat([by_human[:200], swapped[200:]])
    expected = (
        PredictionPoweredBradleyTerry()
        .fit(names[a], names[b], outcome=human, judge_outcome=judge)
        .leaderboard()
    )
    both = half, by_judge
    for tables in ((by_human, by_judge), both, map(pl.from_pandas, both), map(pa.Table.from_pandas, both)):
        columns = join_duels(*tables)
        assert np.array_equal(columns["outcome"], human, equal_nan=True)
        model = PredictionPoweredBradleyTerry()
        assert model.fit(columns.pop("a"), columns.pop("b"), **columns).leaderboard() == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": [1, 1]}, "human has id '1' more than once"),
        ({"id": [1, 9]}, "judge has no vote on duels of human: id '9'"),
        ({"a": ["x", "x"]}, "id '2' is a duel of 'x' and 'z' in human, but of 'y' and 'z' in judge"),
        ({"outcome": [1, None]}, "outcome of human is missing in row 1"),
        ({"outcome": [1]}, "columns of human have different lengths"),
        ({"a": None}, "human has no column 'a'"),
    ],
)
def test_tables_that_do_not_match_are_refused(change, message):
    judge = {"id": [1, 2, 3], "a": ["x", "y", "x"], "b": ["y", "z", "z"], "outcome": [1, 0, 1]}
    human = {"id": [1, 2], "a": ["x", "y"], "b": ["y", "z"], "outcome": [1, 1]} | change
    human = {name: column for name, column in human.items() if column is not None}
    with pytest.raises(ValueError, match=message):
        join_duels(human, judge)
    with pytest.raises(ValueError, match="human must be a frame or a dict of columns; got list"):
        join_duels([1], judge)


def test_the_command_takes_the_votes_of_a_judge(capsys, tmp_path):
    a, b, human, judge, _ = drawn()
    path = tmp_path / "duels.csv"
    pd.DataFrame({"a": a, "b": b, "y": human, "llm": judge}).to_csv(path, index=False)
    columns = ["leaderboard", str(path), "--a", "a", "--b", "b", "--judge-outcome", "llm"]
    assert main([*columns, "--outcome", "y", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    model = PredictionPoweredBradleyTerry().fit(
        [str(one) for one in a], [str(one) for one in b], outcome=human, judge_outcome=judge
    )
    assert found["leaderboard"][0]["low"] == pytest.approx(model.leaderboard()[0].low)
    assert found["judge_weight"] == pytest.approx(model.judge_weight_)
    assert found["judge_gain"] == pytest.approx(model.judge_gain_)
    output = tmp_path / "page.html"
    assert main([*columns, "--outcome", "y", "-o", str(output)]) == 0
    assert model.leaderboard().note in capsys.readouterr().out
    assert model.leaderboard().note in output.read_text(encoding="utf-8")
    assert main(columns) == 2
    assert "--judge-outcome needs --outcome" in capsys.readouterr().err
