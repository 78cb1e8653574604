"""Leaderboards from rankings of items: the Plackett-Luce model, its intervals, files, pages and shell."""

import itertools
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone

from rankwise import BradleyTerry, NoPairsError, PlackettLuce, load_model, save_model
from rankwise.cli.main import main
from rankwise.report.leaderboard import leaderboard_page

LISTS = [["a", "b", "c"], ["a", "c"], ["b", "a", "c", "d"], ["d", "b"], ["c", "d", "a"]] * 4


def loss(scores, rankings, weight=None):
    """Minus the log likelihood, choice by choice; entries that are lists are ties (Breslow)."""
    total = 0.0
    for number, ranking in enumerate(rankings):
        groups = [entry if isinstance(entry, list) else [entry] for entry in ranking]
        for place, group in enumerate(groups[:-1]):
            rest = [scores[item] for later in groups[place:] for item in later]
            for item in group:
                cost = np.log(np.sum(np.exp(rest))) - scores[item]
                total += cost * (1.0 if weight is None else weight[number])
    return total


def n_choices(rankings, weight=None):
    sizes = [sum(len(e) if isinstance(e, list) else 1 for e in ranking[:-1]) for ranking in rankings]
    return float(np.dot(sizes, np.ones(len(sizes)) if weight is None else weight))


def best_scores(rankings, alpha, weight=None):
    names = sorted({i for r in rankings for e in r for i in (e if isinstance(e, list) else [e])})

    def objective(s):
        value = loss(dict(zip(names, s, strict=True)), rankings, weight)
        return value / n_choices(rankings, weight) + alpha * s @ s

    return minimize(objective, np.zeros(len(names)), options={"gtol": 1e-9})


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 0.1]), st.booleans())
def test_scores_minimise_the_loss_choice_by_choice(seed, alpha, is_weighted):
    generator = np.random.default_rng(seed)
    rankings = []
    for _ in range(8):
        drawn = generator.permutation(list("abcde"))[: generator.integers(2, 6)].tolist()
        if generator.random() < 0.4 and len(drawn) > 2:
            drawn = [drawn[:2], *drawn[2:]]
        rankings.append(drawn)
    weight = generator.integers(1, 4, 8) if is_weighted else None
    best = best_scores(rankings, alpha, weight)
    model = PlackettLuce(alpha).fit(rankings, weight=weight)
    assert best.fun - 1e-9 <= model.objective_ <= best.fun + 1e-8
    np.testing.assert_allclose(model.scores_, best.x - best.x.mean(), atol=1e-4)
    assert model.gap_ <= 1e-12


def test_rankings_of_two_are_matches():
    rankings = [["x", "y"]] * 7 + [["y", "x"]] * 4 + [["y", "z"]] * 5 + [["z", "x"]] * 3
    ours = PlackettLuce().fit(rankings)
    theirs = BradleyTerry(intervals="posterior").fit(*map(list, zip(*rankings, strict=True)))
    np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=1e-6)
    assert ours.prior_sd_ == pytest.approx(theirs.prior_sd_, rel=1e-3)
    errors = PlackettLuce(intervals="posterior").fit(rankings).standard_errors()
    np.testing.assert_allclose(errors, theirs.standard_errors(), rtol=1e-3)
    assert ours.predict_pair_proba("x", "y") == pytest.approx(theirs.predict_pair_proba("x", "y"), abs=1e-6)


def test_standard_errors_are_those_of_the_inverse_information():
    model = PlackettLuce(0).fit(LISTS)
    s, step, n = model.scores_, 1e-3, 4

    def value(scores):
        return loss(dict(zip(model.items_.tolist(), scores, strict=True)), LISTS)

    hessian = np.ones((n, n))  # the mean is not determined
    for i, j in itertools.product(range(n), repeat=2):
        e, f = step * np.eye(n)[i], step * np.eye(n)[j]
        around = value(s + e + f) - value(s + e - f) - value(s - e + f) + value(s - e - f)
        hessian[i, j] += around / (4 * step**2)
    centre = np.eye(n) - 1 / n
    errors = np.sqrt(np.diag(centre @ np.linalg.inv(hessian) @ centre))
    np.testing.assert_allclose(model.standard_errors(), errors, rtol=1e-4)


def test_clusters_of_copies_are_as_wide_as_the_originals():
    """Copies of a ranking in one cluster add nothing."""
    generator = np.random.default_rng(0)
    rankings = [generator.permutation(5).tolist() for _ in range(30)]
    plain = PlackettLuce(0).fit(rankings, cluster=list(range(30)))
    copied = PlackettLuce(0).fit(rankings * 4, cluster=list(range(30)) * 4)
    np.testing.assert_allclose(plain.standard_errors(), copied.standard_errors(), rtol=1e-6)
    alone = PlackettLuce(0).fit(rankings * 4)
    np.testing.assert_allclose(alone.standard_errors(), PlackettLuce(0).fit(rankings).standard_errors() / 2)


def test_tables_and_lists_are_the_same():
    table = pd.DataFrame(
        [(k, item, place) for k, ranking in enumerate(LISTS) for place, item in enumerate(ranking)],
        columns=["judge", "dish", "rank"],
    ).sample(frac=1, random_state=0)
    named = {"ranking": "judge", "item": "dish", "place": "rank"}
    expected = PlackettLuce().fit(LISTS)
    for frame in (table, pl.from_pandas(table), table.to_dict("list")):
        found = PlackettLuce().fit(frame, **named)
        np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-9)


def test_an_item_that_is_always_last_is_held_by_the_prior():
    rankings = [["a", "b", "z"], ["b", "a", "z"]] * 5
    with pytest.warns(UserWarning, match="every match"):
        model = PlackettLuce(1e-6).fit(rankings)
    assert model.leaderboard()[-1].item == "z"
    with pytest.raises(ValueError, match="no optimum"):
        PlackettLuce(0).fit(rankings)
    assert np.isfinite(PlackettLuce().fit(rankings).scores_).all()


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        (["abc", "bca"], "lists of items"),
        ([["a", "a", "b"]], "at most once"),
        ([["a"], ["b"]], "nothing to rank"),
        ([], "nothing to rank"),
        ([[["a", "b"]]], "nothing to rank"),
        (pd.DataFrame({"ranking": [1], "item": [2]}), "no column 'place'"),
    ],
)
def test_mistakes(rankings, message):
    with pytest.raises((ValueError, NoPairsError), match=message):
        PlackettLuce().fit(rankings)


def test_more_mistakes():
    with pytest.raises(ValueError, match="ties must be"):
        PlackettLuce(ties="half").fit(LISTS)
    with pytest.raises(ValueError, match="at least 3 different"):
        PlackettLuce().fit(LISTS, cluster=[1, 2] * 10)


def test_files_pages_and_the_shell(tmp_path, capsys):
    model = PlackettLuce(ties="efron").fit(LISTS, cluster=[k // 2 for k in range(20)])
    save_model(model, tmp_path / "board.json")
    loaded = load_model(tmp_path / "board.json")
    assert str(loaded.leaderboard()) == str(model.leaderboard())
    assert pickle.loads(pickle.dumps(model)).difference("a", "b") == model.difference("a", "b")
    assert clone(model).get_params()["ties"] == "efron"
    assert "<html" in leaderboard_page(model, model.leaderboard())
    text = (tmp_path / "board.json").read_text()
    for old, new in (('"n_rankings_":20', '"n_rankings_":0'), ('"ties":"efron"', '"ties":"half"')):
        damaged = text.replace(" ", "").replace(old, new)
        (tmp_path / "damaged.json").write_text(damaged)
        with pytest.raises(ValueError, match=r"\w"):
            load_model(tmp_path / "damaged.json")
    rows = [f"{k},{item},{place}" for k, ranking in enumerate(LISTS) for place, item in enumerate(ranking)]
    (tmp_path / "rankings.csv").write_text("\n".join(["judge,item,place", *rows]) + "\n")
    command = ["leaderboard", str(tmp_path / "rankings.csv"), "--ranking", "judge"]
    assert main([*command, "--json", "-o", str(tmp_path / "board.html")]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = {row.item: row.score for row in PlackettLuce().fit(LISTS).leaderboard()}
    assert {row["item"]: row["score"] for row in found["leaderboard"]} == pytest.approx(expected, abs=1e-6)
    assert main([*command, "--link", "probit"]) == 2
    assert "--link cannot be used with --ranking" in capsys.readouterr().err
