"""The fewest votes or users that decide the top of a leaderboard."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from html_page import Page
from rankwise import BradleyTerry, load_model, save_model
from rankwise.cli.main import main

TIES = {"half": 0.2, "davidson": 0.3}


def votes(n, n_items, seed, ties=0.0, spread=1.0):
    generator = np.random.default_rng(seed)
    scores = generator.normal(scale=spread, size=n_items)
    a = generator.integers(n_items, size=n)
    b = (a + generator.integers(1, n_items, size=n)) % n_items
    won = generator.random(n) < 1 / (1 + np.exp(scores[b] - scores[a]))
    return a, b, np.where(generator.random(n) < ties, 0.5, won)


def refitted(model, rows, kept, weight=None, **options):
    """The scores of a fit with the same prior to some of the votes; items stay."""
    a, b, outcome = rows
    n = len(model.items_)
    given = np.ones(len(a)) if weight is None else weight
    alpha = model.alpha_ * given.sum() / (given * kept).sum()
    # A vote of weight 0 on each item keeps the items.
    columns = [np.append(column, extra) for column, extra in ((a, np.arange(n)), (b, (np.arange(n) + 1) % n))]
    other = BradleyTerry(alpha, **options)
    weights = np.append(given * kept, np.zeros(n))
    return other.fit(*columns, weights, outcome=np.append(outcome, np.ones(n))).scores_


def top_of(scores, k):
    return set(np.argsort(-scores, kind="stable")[:k].tolist())


def fewest(model, rows, units, k, **options):
    """The size of the smallest set of units without which the top k are others, over all subsets."""
    old = top_of(model.scores_, k)
    for size in range(1, units.max() + 1):
        for removed in combinations(range(units.max() + 1), size):
            kept = ~np.isin(units, removed)
            if kept.any() and top_of(refitted(model, rows, kept, **options), k) != old:
                return size
    return None


def rows_of(removed, rows):
    """The row numbers of removed votes: the first with their pair and outcome."""
    a, b, outcome = rows
    kept = np.ones(len(a), dtype=bool)
    for first, second, result, count in removed:
        value = {"win": 1.0, "loss": 0.0, "tie": 0.5}[result]
        straight = (a == first) & (b == second) & (outcome == value)
        reverse = (a == second) & (b == first) & (outcome == 1.0 - value)
        found = np.flatnonzero((straight | reverse) & kept)[:count]
        assert len(found) == count
        kept[found] = False
    return kept


@pytest.mark.filterwarnings("ignore:All matches of", "ignore:The items are in")
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_removed_votes_change_the_top_and_are_no_fewer_than_all_subsets_say(seed, k):
    rows = votes(9, 4, seed, ties=0.2)
    model = BradleyTerry(0.05).fit(rows[0], rows[1], outcome=rows[2])
    names = model.items_
    rows = (np.searchsorted(names, rows[0]), np.searchsorted(names, rows[1]), rows[2])
    model = BradleyTerry(0.05).fit(rows[0], rows[1], outcome=rows[2])
    found = model.fragility(k)
    least = fewest(model, rows, np.arange(9), k)
    assert found.total == 9
    assert least <= found.number <= least + 1
    kept = rows_of(found.removed, rows)
    assert kept.sum() == 9 - found.number
    assert top_of(refitted(model, rows, kept), k) == set(found.new_top) != set(found.top)
    assert found.top == [row.item for row in model.leaderboard(k)]
    assert found.share == found.number / 9


@pytest.mark.filterwarnings("ignore:All matches of", "ignore:The items are in", "ignore:Matches were")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_removed_clusters_change_the_top_and_are_no_fewer_than_all_subsets_say(seed, weighted):
    rows = votes(40, 5, seed, spread=0.5)
    users = np.arange(40) % 8
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, size=40) if weighted else None
    model = BradleyTerry().fit(rows[0], rows[1], weight, outcome=rows[2], cluster=users)
    found = model.fragility()
    least = fewest(model, rows, users, 1, weight=weight)
    assert (found.unit, found.total) == ("cluster", 8)
    assert least <= found.number <= least + 1
    kept = ~np.isin(users, found.removed)
    assert top_of(refitted(model, rows, kept, weight), 1) == set(found.new_top) != set(found.top)


@pytest.mark.filterwarnings("ignore:All matches of", "ignore:Matches were")
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_order_effects_ties_and_features_are_refitted(ties):
    rows = votes(300, 6, 1, ties=TIES[ties], spread=0.4)
    options = {"ties": ties, "order_effect": True}
    model = BradleyTerry(0.01, **options).fit(rows[0], rows[1], outcome=rows[2])
    found = model.fragility(2)
    kept = rows_of([one for one in found.removed if one.outcome == "tie"], rows)
    for first, second, outcome, count in found.removed:
        if outcome != "tie":  # with an order effect, the order of a pair matters
            is_one = (rows[0] == first) & (rows[1] == second) & (rows[2] == (outcome == "win"))
            kept[np.flatnonzero(is_one)[:count]] = False
    assert kept.sum() == 300 - found.number
    assert top_of(refitted(model, rows, kept, **options), 2) == set(found.new_top)
    features = {k: [0.3 * k, (-1.0) ** k] for k in range(6)}
    featured = BradleyTerry(0.01).fit(rows[0], rows[1], outcome=rows[2], features=features)
    found = featured.fragility()
    kept = rows_of(found.removed, rows)
    refit = BradleyTerry(0.01 * 300 / kept.sum())
    refit.fit(*(column[kept] for column in rows[:2]), outcome=rows[2][kept], features=features)
    assert refit.items_[refit.scores_.argmax()] == found.new_top[0] != found.top[0]


def test_whole_weights_are_numbers_of_votes():
    a, b, outcome = votes(60, 5, 3, spread=0.5)
    weight = np.random.default_rng(0).integers(0, 3, size=60)
    model = BradleyTerry().fit(a, b, weight, outcome=outcome)
    repeated = BradleyTerry().fit(*(np.repeat(one, weight) for one in (a, b)), outcome=outcome.repeat(weight))
    assert model.fragility() == repeated.fragility()
    assert model.fragility().total == weight.sum()


def test_a_clear_lead_takes_many_votes():
    a, b, outcome = votes(2000, 8, 0, spread=2.0)
    model = BradleyTerry().fit(a, b, outcome=outcome)
    assert model.fragility().number > 20
    assert len(model.fragility(2).entered) >= 1


def test_the_sentence_names_what_changes():
    model = BradleyTerry().fit(list("xxxxyyz"), list("yyzzzzx"))
    found = model.fragility()
    assert str(found) == "Without 2 of 7 votes (28.6%), y takes first place from x."
    assert "enters the top 2 in place of y" in str(model.fragility(2))


def test_a_saved_model_answers_the_same(tmp_path):
    rows = votes(80, 5, 0)
    model = BradleyTerry().fit(rows[0], rows[1], outcome=rows[2], cluster=np.arange(80) // 4)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert str(loaded.fragility()) == str(model.fragility())
    assert loaded.fragility(unit="vote") == model.fragility(unit="vote")


def test_a_single_pair_of_items_with_one_vote_has_no_answer():
    found = BradleyTerry().fit(["x"], ["y"]).fragility()
    assert (found.number, found.share, found.new_top) == (None, None, ["x"])
    assert str(found) == "No set of votes was found whose removal changes first place."


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (BradleyTerry(), {"k": 3}, "less than the number of items"),
        (BradleyTerry(), {"k": 0}, "k must be an integer"),
        (BradleyTerry(0), {}, "needs a penalty"),
        (BradleyTerry(half_life=3), {}, "weights must be whole numbers"),
        (BradleyTerry(), {"unit": "cluster"}, "fitted with cluster"),
        (BradleyTerry(), {"unit": "user"}, "unit must be one of"),
    ],
)
def test_bad_questions_are_refused(model, arguments, message):
    frame = pd.DataFrame({"winner": list("xyzxyz"), "loser": list("yzxzxy"), "date": range(6)})
    with pytest.raises(ValueError, match=message):
        model.fit(frame).fragility(**arguments)


def test_the_command_and_the_page_have_the_sentence(tmp_path, capsys):
    a, b, outcome = votes(60, 5, 0, spread=0.5)
    names = np.array(["ann", "bob", "cid", "dora", "eve"])
    users = np.array([f"user {k % 9}" for k in range(60)])
    frame = pd.DataFrame({"a": names[a], "b": names[b], "won": outcome, "user": users})
    frame.to_csv(tmp_path / "votes.csv", index=False)
    model = BradleyTerry().fit(frame.a, frame.b, outcome=frame.won)
    columns = ["leaderboard", str(tmp_path / "votes.csv"), "--a", "a", "--b", "b", "--outcome", "won"]
    page = tmp_path / "page.html"
    assert main([*columns, "--fragility", "-o", str(page)]) == 0
    sentence, removed = capsys.readouterr().out.splitlines()[-2:]
    assert sentence == str(model.fragility())
    first = model.fragility().removed[0]
    assert removed.startswith(f"removed: {first.votes} x {first.first} ")
    assert str(model.fragility()) in Page(page.read_text()).words
    assert main([*columns, "--cluster", "user", "--fragility", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["fragility"]
    expected = BradleyTerry().fit(frame.a, frame.b, outcome=frame.won, cluster=users).fragility(2)
    assert found["removed"] == np.unique(users)[expected.removed].tolist()
    assert (found["number"], found["new_top"]) == (expected.number, expected.new_top)


def test_models_with_covariates_are_refused():
    a, b, won = list("xyzxyz") * 5, list("yzxzxy") * 5, [1, 0, 1, 1, 1, 0] * 5
    with pytest.raises(ValueError, match="without covariates"):
        BradleyTerry().fit(a, b, outcome=won, covariates={"length": list(range(-15, 15))}).fragility()
