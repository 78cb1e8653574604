"""Held-out votes: log loss, accuracy and Brier score, in Python and in the shell."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from rankwise import BradleyTerry, save_model
from rankwise.cli.main import main

NAMES = np.array(["ann", "bob", "cid", "dora"])


def votes(n=120, seed=0, ties=0.2):
    generator = np.random.default_rng(seed)
    a = generator.integers(4, size=n)
    b = (a + 1 + generator.integers(3, size=n)) % 4
    won = generator.random(n) < 1 / (1 + np.exp(0.6 * (a - b) - 0.3))
    result = np.where(generator.random(n) < ties, 0.5, won)
    return pd.DataFrame({"a": NAMES[a], "b": NAMES[b], "outcome": result})


@pytest.mark.parametrize("options", [{}, {"alpha": 0.01}, {"ties": "davidson", "order_effect": True}])
def test_measures_are_those_of_a_loop_over_votes(options):
    model, held_out = BradleyTerry(**options).fit(votes()), votes(60, seed=1)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=60)
    log_loss, accuracy, brier = [], [], []
    for a, b, result in held_out.itertuples(index=False):
        win, tie, loss = model.predict_match_proba(a, b)
        if result == 0.5:
            chance = np.log(tie) if "ties" in options else 0.5 * (np.log(win) + np.log(loss))
        else:
            chance = np.log(win if result else loss)
        log_loss.append(-chance)
        accuracy.append(0.5 if result == 0.5 else (win > loss) == bool(result))
        brier.append((result - win - tie / 2) ** 2)
    found = model.evaluate(held_out, weight=weight)
    expected = [np.average(values, weights=weight) for values in (log_loss, accuracy, brier)]
    assert found[1:4] == pytest.approx(expected)
    assert (found.votes, found.unknown) == (60, [])
    assert model.score(held_out.a, held_out.b, weight, outcome=held_out.outcome) == -found.log_loss


@pytest.mark.parametrize("alpha", [None, 0.02])
def test_an_unknown_item_is_one_whose_matches_weigh_nothing(alpha):
    given = votes()
    model = BradleyTerry(alpha).fit(given)
    both = pd.concat([given, pd.DataFrame({"a": ["new"], "b": ["ann"], "outcome": [1.0]})])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = BradleyTerry(alpha).fit(both, weight=[1.0] * len(given) + [0.0])
    for a, b in (("new", "bob"), ("cid", "new")):
        chance = known.predict_pair_proba(a, b)
        assert model.score([a], [b]) == pytest.approx(np.log(chance), rel=1e-3)
    assert model.score(["new"], ["newer"]) == pytest.approx(np.log(0.5))
    assert model.evaluate(["new"], ["newer"]).accuracy == 0.5
    assert model.evaluate(["new", "new"], ["ann", "odd"]).unknown == ["new", "odd"]


def test_variances_of_many_items_are_lower_bounds(monkeypatch):
    from rankwise.leaderboard import base

    model = BradleyTerry().fit(votes())
    exact = model.evaluate(["ann", "ann"], ["bob", "new"])
    monkeypatch.setattr(base, "DENSE_ITEMS", 2)
    bound = model.evaluate(["ann", "ann"], ["bob", "new"])
    assert bound.log_loss < exact.log_loss < bound.log_loss + 0.05


def test_items_without_a_prediction_are_refused_by_name():
    given = votes()
    rows = {name: [float(k)] for k, name in enumerate(NAMES)}
    for model in (
        BradleyTerry(0).fit(given),
        BradleyTerry().fit(given, features=rows),
    ):
        with pytest.raises(ValueError, match="no match of new and odd"):
            model.score(["ann", "new"], ["new", "odd"])


def test_an_order_effect_needs_outcomes_and_a_score_a_fit():
    model = BradleyTerry(order_effect=True).fit(votes())
    with pytest.raises(ValueError, match="needs outcome"):
        model.score(["ann"], ["bob"])
    with pytest.raises(NotFittedError):
        BradleyTerry().score(["ann"], ["bob"])
    with pytest.raises(ValueError, match="loser must be given"):
        model.score(["ann"])


def told(capsys, *arguments):
    capsys.readouterr()
    status = main(["leaderboard", *map(str, arguments)])
    return status, capsys.readouterr()


def test_the_command_evaluates_a_saved_model_and_one_just_fitted(tmp_path, capsys):
    model, later = BradleyTerry().fit(votes()), votes(30, seed=3).replace("dora", "new")
    later.to_csv(tmp_path / "later.csv", index=False)
    votes().to_csv(tmp_path / "votes.csv", index=False)
    save_model(model, tmp_path / "model.json")
    columns = ["--a", "a", "--b", "b", "--outcome", "outcome", "--evaluate", tmp_path / "later.csv"]
    for path in ("model.json", "votes.csv"):
        status, printed = told(capsys, tmp_path / path, *columns, "--json")
        assert status == 0
        found, expected = json.loads(printed.out)["held_out"], model.evaluate(later)._asdict()
        assert found.pop("unknown") == expected.pop("unknown") == ["new"]
        assert found == pytest.approx(expected)
    printed = told(capsys, tmp_path / "model.json", *columns)[1].out.splitlines()
    assert printed[-2] == str(model.evaluate(later))
    assert printed[-1] == "not in the fit, so predicted by the prior: new"


def test_the_command_needs_the_columns_of_held_out_votes(tmp_path, capsys):
    save_model(BradleyTerry().fit(votes()), tmp_path / "model.json")
    votes(5).to_csv(tmp_path / "later.csv", index=False)
    options = [tmp_path / "model.json", "--evaluate", tmp_path / "later.csv"]
    status, printed = told(capsys, *options)  # the columns a, b and outcome are known
    assert status == 0
    assert "5 held-out votes" in printed.out
    votes(5).rename(columns={"a": "home"}).to_csv(tmp_path / "later.csv", index=False)
    status, printed = told(capsys, *options)
    assert status == 2
    assert "needs --a and --b, unless it has the columns" in printed.err


def test_numbers_as_names_are_found_in_text(tmp_path, capsys):
    model = BradleyTerry().fit([1, 1, 2], [2, 3, 3])
    save_model(model, tmp_path / "model.json")
    (tmp_path / "later.csv").write_text("w,l\n1,3\n2,1\n")
    options = ["--a", "w", "--b", "l", "--evaluate", tmp_path / "later.csv", "--json"]
    found = json.loads(told(capsys, tmp_path / "model.json", *options)[1].out)["held_out"]
    assert found["log_loss"] == pytest.approx(-model.score([1, 2], [3, 1]))
    assert found["unknown"] == []
