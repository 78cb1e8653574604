"""Intervals of items far from the rest: Firth's scores, profiles, and ends that the votes do not bound."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from html_page import Page
from rankwise import BradleyTerry
from rankwise.cli.main import main
from rankwise.leaderboard import base, bradley_terry, firth, pair_model, pair_table
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.firth import FirthFit, Profiles
from rankwise.leaderboard.links import link_of
from rankwise.leaderboard.pair_model import PairModel
from rankwise.report.leaderboard import leaderboard_page
from test_bradley_terry import drawn


def far_votes(seed, gap, n_items=20, n_votes=400):
    """Votes of random pairs; item 0 is far above the others, whose scores have a standard deviation of .3."""
    rng = np.random.default_rng(seed)
    scores = 0.3 * rng.normal(size=n_items)
    scores[0] = gap
    a = rng.integers(n_items, size=n_votes)
    b = (a + rng.integers(1, n_items, size=n_votes)) % n_items
    return a, b, (rng.random(n_votes) < 1 / (1 + np.exp(scores[b] - scores[a]))).astype(float), scores


def penalised(parameters, a, b, result, *, davidson, order):
    """-log likelihood - log det(information) / 2 of Davidson's or the logistic model, outcome by outcome."""
    n = a.max() + 1
    scores = np.concatenate([[0.0], parameters[: n - 1]])
    h, nu = (parameters[n - 1] if order else 0.0), parameters[-1] if davidson else -np.inf
    # The sufficient statistics of win, tie and loss of each match, by score, order effect and log nu.
    X = np.eye(n)[a] - np.eye(n)[b]
    X = np.hstack([X[:, 1:], np.ones((len(a), int(order)))])
    d = X @ np.concatenate([scores[1:], [h] * order])
    p = np.exp(np.stack([0.5 * d, np.full(len(d), nu), -0.5 * d]))
    p /= p.sum(axis=0)
    by = [
        np.hstack([half * X, np.full((len(d), int(davidson)), tie)])
        for half, tie in ((0.5, 0), (0, 1), (-0.5, 0))
    ]
    mean = sum(q[:, None] * T for q, T in zip(p, by, strict=True))
    information = sum((q[:, None] * (T - mean)).T @ (T - mean) for q, T in zip(p, by, strict=True))
    value = 0.0
    for outcome, q in zip((1.0, 0.5, 0.0), p, strict=True):
        if q.any():
            value -= np.log(q[result == outcome]).sum()
    return value - 0.5 * np.linalg.slogdet(information)[1]


@pytest.mark.parametrize(("ties", "order"), [("half", False), ("half", True), ("davidson", True)])
def test_scores_and_effects_maximise_the_likelihood_of_firth(ties, order):
    a, b, result, _ = drawn(60, ties=0.3 if ties == "davidson" else 0.0)
    counted = Comparisons.count(6, a, b, result, None, ordered=order)
    loss = PairModel(counted, link_of("logistic", ties), order_effect=order)
    found = FirthFit(loss, np.zeros(loss.n_parameters), float(len(a)), dense=True).parameters
    expected = minimize(
        lambda p: penalised(p, a, b, result, davidson=ties == "davidson", order=order),
        np.zeros(loss.n_parameters - 1),
        options={"gtol": 1e-7},
    ).x
    assert found[1:6] - found[0] == pytest.approx(expected[:5], abs=2e-4)
    assert found[6:] == pytest.approx(expected[5:], abs=2e-4)


def test_an_end_of_a_profile_has_the_deviance_of_its_level():
    a, b, result, _ = far_votes(1, 4.0)
    loss = PairModel(Comparisons.count(20, a, b, result, None, ordered=False), link_of("logistic"))
    fit = FirthFit(loss, np.zeros(20), 400.0, dense=True)
    profiles = Profiles(fit)
    assert profiles.few.tolist() == [True] + [False] * 19
    column = np.eye(20)[0] - 1 / 20
    scale, least = fit.votes * fit.model.total_weight / 400.0, fit.model.at(fit.parameters).value
    for end in profiles.ends(column, norm.isf(0.025)):
        # The constraint by a steep quadratic.
        found = minimize(
            lambda p, end=end: fit.model.at(p).value + 50.0 * (p @ column - end) ** 2,
            fit.parameters,
            jac=lambda p, end=end: fit.model.at(p).gradient + 100.0 * (p @ column - end) * column,
            options={"gtol": 1e-9},
        )
        assert found.x @ column == pytest.approx(end, abs=1e-3)
        assert 2 * scale * (fit.model.at(found.x).value - least) == pytest.approx(
            norm.isf(0.025) ** 2, rel=0.02
        )


@pytest.mark.parametrize("gap", [4.0, 5.0, 7.0])
def test_intervals_of_an_item_far_from_the_rest_cover(gap):
    inside = []
    for seed in range(60):
        a, b, result, scores = far_votes(seed, gap)
        apart = BradleyTerry().fit(a, b, outcome=result).difference(0, 1)
        inside.append(apart.low <= scores[0] - scores[1] <= apart.high)
    assert np.mean(inside) >= 0.88


@pytest.fixture(scope="module")
def unbeaten():
    """Ann beats all, dora loses to all; bob, cid and eve beat each other."""
    winner = ["ann"] * 8 + ["bob", "cid", "eve"] * 5 + ["bob"] * 3 + ["bob", "cid", "eve"] * 2
    loser = ["bob", "cid", "eve", "cid"] * 2 + ["cid", "eve", "bob"] * 5 + ["cid"] * 3 + ["dora"] * 6
    return BradleyTerry().fit(winner, loser)


def test_ends_that_the_votes_do_not_bound_are_open(unbeaten):
    board = {row.item: row for row in unbeaten.leaderboard()}
    assert board["ann"].high == np.inf
    assert np.isfinite(board["ann"].low)
    assert board["dora"].low == -np.inf
    assert np.isfinite(board["dora"].high)
    linked = [board[name] for name in ("bob", "cid", "eve")]
    assert np.isfinite([(row.low, row.high) for row in linked]).all()
    assert sum(row.score for row in linked) == pytest.approx(0.0)
    assert unbeaten.leaderboard().note == (
        "The votes give no upper bound for the score of ann. The votes give no lower bound for the score of "
        "dora. Scores are relative to the mean of the 3 items that wins and losses link in both directions."
    )
    apart = unbeaten.difference("ann", "bob")
    assert 0.0 < apart.low < apart.high == np.inf
    assert unbeaten.difference("bob", "ann").low == -np.inf
    assert unbeaten.predict_pair_interval("ann", "bob")[1] == 1.0
    assert np.isfinite(unbeaten.difference("bob", "cid")[:4]).all()
    assert np.isfinite(unbeaten.standard_errors()).all()


def test_two_unbeaten_items_that_never_met_have_no_bound():
    model = BradleyTerry().fit(["a", "b", "c", "d"] * 3, ["c", "d", "d", "c"] * 3)
    apart = model.difference("a", "b")
    assert (apart.low, apart.high) == (-np.inf, np.inf)


def test_without_a_cycle_scores_are_relative_to_all_items():
    board = BradleyTerry().fit(["a", "b"], ["b", "c"]).leaderboard()
    assert board.note.endswith("Scores are relative to the mean of all items.")
    assert sum(row.score for row in board) == pytest.approx(0.0)
    assert [(row.low == -np.inf, row.high == np.inf) for row in board] == [
        (False, True),
        (True, True),
        (True, False),
    ]


def test_open_ends_are_shown(unbeaten, tmp_path, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    from rankwise.plotting import LeaderboardDisplay

    board = unbeaten.leaderboard()
    assert str(board).endswith(board.note)
    words = Page(leaderboard_page(unbeaten, board)).words
    assert board.note in words
    assert "no limit" in words
    assert "Votes of a judge" not in words
    limits = LeaderboardDisplay(leaderboard=board).plot().ax_.get_xlim()
    plt.close("all")
    assert np.isfinite(limits).all()
    assert str(pair_table(unbeaten)).count("inf") >= 3
    table = tmp_path / "votes.csv"
    table.write_text("winner,loser\n" + "a,b\na,c\nb,c\nc,b\n" * 3)
    assert main(["leaderboard", str(table), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["leaderboard"]
    assert [row["high"] is None for row in rows] == [True, False, False]


def test_clusters_and_weights_lengthen_intervals_of_items_without_losses():
    a, b, result, _ = far_votes(1, 4.0)
    three = [np.repeat(column, 3) for column in (a, b, result)]
    naive = BradleyTerry().fit(*three[:2], outcome=three[2])
    copies = BradleyTerry().fit(*three[:2], outcome=three[2], cluster=np.repeat(np.arange(400), 3))
    assert naive.difference(0, 1).high == copies.difference(0, 1).high == np.inf
    assert copies.difference(0, 1).low < naive.difference(0, 1).low - 0.3
    assert copies.difference(0, 1).standard_error > 1.3 * naive.difference(0, 1).standard_error
    assert (copies.standard_errors() > 1.3 * naive.standard_errors()).all()
    a, b, result, _ = far_votes(2, 3.0)
    plain = BradleyTerry().fit(a, b, outcome=result).difference(0, 1)
    weight = np.random.default_rng(0).lognormal(size=400)
    weighted = BradleyTerry().fit(a, b, weight, outcome=result).difference(0, 1)
    assert weighted.high - weighted.low > plain.high - plain.low


def test_only_items_on_one_side_of_the_rest_are_named():
    a, b, result, _ = far_votes(0, 50.0)
    counted = Comparisons.count(20, a, b, result, None, ordered=False)
    assert [group.tolist() for group in counted.one_sided()] == [[0]]
    with pytest.raises(ValueError, match=r"infinitely far away: 0\. Give"):
        BradleyTerry(alpha=0).fit(a, b, outcome=result)


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("threshold", ["EVIDENCE_ITEMS", "DENSE_ITEMS"])
def test_both_sides_of_a_threshold_agree(threshold, ties, monkeypatch):
    a, b, result, _ = far_votes(3, 3.0, n_items=30, n_votes=900)
    result = np.where(np.arange(900) % 7, result, 0.5)
    model = BradleyTerry(0.001, ties=ties).fit(a, b, outcome=result)
    boards = [model.leaderboard(ranks=False)]
    apart = [model.difference(0, 7)]
    monkeypatch.setattr(base if threshold == "DENSE_ITEMS" else bradley_terry, threshold, 0)
    boards.append(model.leaderboard(ranks=False))
    apart.append(model.difference(0, 7))
    ends = [np.array([(row.low, row.high, row.standard_error) for row in board]) for board in boards]
    assert np.abs(ends[1] - ends[0]).max() < 0.05 * ends[0][:, 2].mean()
    assert apart[1] == pytest.approx(apart[0], abs=0.05 * apart[0].standard_error)


def test_newton_steps_agree_by_conjugate_gradients_and_by_a_direct_solution(monkeypatch):
    a, b, result, _ = far_votes(5, 3.0, n_items=60, n_votes=900)
    direct = BradleyTerry(0.001, tol=1e-12).fit(a, b, outcome=result)
    monkeypatch.setattr(pair_model, "FEW_PARAMETERS", 0)
    iterative = BradleyTerry(0.001, tol=1e-12).fit(a, b, outcome=result)
    assert not np.array_equal(direct.scores_, iterative.scores_)
    assert iterative.scores_ == pytest.approx(direct.scores_, abs=1e-6)


def test_profiles_agree_by_conjugate_gradients_and_by_an_inverse(monkeypatch):
    a, b, result, _ = far_votes(4, 4.0, n_items=60, n_votes=240)
    model = BradleyTerry().fit(a, b, outcome=result)
    monkeypatch.setattr(bradley_terry, "EVIDENCE_ITEMS", 0)
    boards = [model.leaderboard(ranks=False)]
    monkeypatch.setattr(firth, "MANY_PROFILES", 0)
    boards.append(model.leaderboard(ranks=False))
    ends = [np.array([(row.low, row.high) for row in board]) for board in boards]
    known = np.isfinite(ends[0])
    assert (np.isinf(ends[0]) == np.isinf(ends[1])).all()
    assert ends[1][known] == pytest.approx(ends[0][known], abs=0.02)
