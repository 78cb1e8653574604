"""Leaderboards of categories that lean on the whole."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from html_page import Page
from rankwise import BradleyTerry
from rankwise.cli.main import main
from rankwise.leaderboard import by_category, leaderboards_by

N_ITEMS = 4


def drawn(sizes, spread, seed=0):
    """Votes of categories with scores of their own, and these scores."""
    rng = np.random.default_rng(seed)
    scores = np.linspace(1, -1, N_ITEMS) + spread * rng.normal(size=(len(sizes), N_ITEMS))
    category = np.repeat(np.arange(len(sizes)), sizes)
    a = rng.integers(N_ITEMS, size=len(category))
    b = (a + rng.integers(1, N_ITEMS, size=len(category))) % N_ITEMS
    won = (rng.random(len(a)) < expit(scores[category, a] - scores[category, b])).astype(float)
    return a, b, won, category, scores - scores.mean(axis=1, keepdims=True)


def scores_of(board):
    return np.array([row.score for row in sorted(board, key=lambda row: row.item)])


def by_hand(a, b, won, category, variance):
    """Posterior mean and standard deviation of the scores of categories, by dense matrices on the grid."""
    n_categories = category.max() + 1
    n = n_categories * N_ITEMS
    design, rows = np.zeros((len(a), n + N_ITEMS)), np.arange(len(a))
    for side, sign in ((a, 1.0), (b, -1.0)):
        design[rows, category * N_ITEMS + side] += sign
        design[rows, n + side] += sign
    found = []
    for sd in by_category.DEVIATIONS:
        precision = np.concatenate([np.full(n, sd**-2), np.full(N_ITEMS, 1 / variance)])

        def loss(p, precision=precision):
            d = design @ p
            gradient = design.T @ (expit(d) - won) + precision * p
            return np.logaddexp(0, d).sum() - won @ d + 0.5 * precision @ p**2, gradient

        best = minimize(loss, np.zeros(n + N_ITEMS), jac=True, method="BFGS", options={"gtol": 1e-8})
        p = expit(design @ best.x)
        hessian = (design.T * (p * (1 - p))) @ design + np.diag(precision)
        evidence = 0.5 * np.log(precision).sum() - best.fun - 0.5 * np.linalg.slogdet(hessian)[1]
        centre = np.eye(N_ITEMS) - 1 / N_ITEMS
        to_scores = np.hstack([np.kron(np.eye(n_categories), centre), np.tile(centre, (n_categories, 1))])
        covariance = to_scores @ np.linalg.inv(hessian) @ to_scores.T
        found.append((evidence - 0.5 * sd**2 + np.log(sd), to_scores @ best.x, np.diag(covariance)))
    logs, means, variances = (np.array(one) for one in zip(*found, strict=True))
    weights = np.exp(logs - logs.max())
    weights[weights < by_category.LEAST_WEIGHT] = 0
    weights /= weights.sum()
    mean = weights @ means
    return mean, np.sqrt(weights @ (variances + means**2) - mean**2), weights @ by_category.DEVIATIONS


def test_scores_are_those_of_a_dense_computation():
    *votes, category, _ = drawn((120, 60, 12), 0.6)
    a, b, won = votes
    boards = leaderboards_by(BradleyTerry(), a, b, outcome=won, by=category)
    variance = BradleyTerry().fit(a, b, outcome=won).prior_sd_ ** 2
    mean, errors, sd = by_hand(a, b, won, category, variance)
    assert boards.deviation_sd == pytest.approx(sd, rel=1e-4)
    for number, board in boards.items():
        part = slice(number * N_ITEMS, (number + 1) * N_ITEMS)
        assert scores_of(board) == pytest.approx(mean[part], abs=1e-4)
        found = [row.standard_error for row in sorted(board, key=lambda row: row.item)]
        assert found == pytest.approx(errors[part], rel=1e-3)
        assert all(row.high - row.low == pytest.approx(2 * 1.959964 * row.standard_error) for row in board)


def test_few_votes_lean_on_the_whole_and_many_do_not():
    a, b, won, category, truth = drawn((3000, 3000, 10), 0.8)
    boards = leaderboards_by(BradleyTerry(), a, b, outcome=won, by=category)
    assert 0.3 < boards.deviation_sd < 1.6
    for number in (0, 1):
        assert scores_of(boards[number]) == pytest.approx(truth[number], abs=0.25)
    own = BradleyTerry(alpha=1e-3).fit(*(one[category == 2] for one in (a, b)), outcome=won[category == 2])
    whole = np.mean([scores_of(boards[0]), scores_of(boards[1])], axis=0)
    apart = np.abs(scores_of(boards[2]) - whole).max()
    assert apart < np.abs(own.scores_ - whole).max()
    assert min(row.high - row.low for row in boards[2]) > max(row.high - row.low for row in boards[0])


def test_equal_categories_have_the_scores_of_all():
    a, b, won, category, _ = drawn((400, 400, 400), 0.0)
    boards = leaderboards_by(BradleyTerry(), a, b, outcome=won, by=category)
    assert boards.deviation_sd < 0.3
    whole = BradleyTerry().fit(a, b, outcome=won)
    for board in boards.values():
        assert scores_of(board) == pytest.approx(whole.scores_, abs=0.2)
    assert scores_of(boards.overall) == pytest.approx(whole.scores_)


def test_every_item_is_in_every_category_and_changes_are_sorted():
    votes = {"winner": list("xxyyzzxw"), "loser": list("yzzxxywx"), "topic": ["m"] * 6 + ["n"] * 2}
    boards = leaderboards_by(BradleyTerry(), votes, by="topic")
    assert {name: sorted(row.item for row in board) for name, board in boards.items()} == {
        "m": list("wxyz"), "n": list("wxyz")
    }  # fmt: skip
    (without,) = (row for row in boards["m"] if row.item == "w")
    assert (without.matches, without.won) == (0, None)
    sizes = [abs(one.rank - one.overall_rank) for one in boards.changes()]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 not in sizes


def test_clusters_ties_order_effects_covariates_and_weights_are_taken():
    a, b, won, category, _ = drawn((200, 100), 0.5)
    users, z = np.arange(300) % 30, np.random.default_rng(1).normal(size=300)
    plain = leaderboards_by(BradleyTerry(), a, b, outcome=won, by=category)
    clustered = leaderboards_by(BradleyTerry(), a, b, outcome=won, by=category, cluster=users)
    assert scores_of(clustered[0]) == pytest.approx(scores_of(plain[0]))
    assert clustered[0][0].standard_error != pytest.approx(plain[0][0].standard_error, rel=1e-3)
    effects = BradleyTerry(ties="davidson", order_effect=True)
    won[::7] = 0.5
    boards = leaderboards_by(effects, a, b, np.full(300, 2), outcome=won, by=category, covariates={"z": z})
    assert boards[0][0].matches > plain[0][0].matches


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": None}, "by must be a column of categories, one per vote; got None"),
        ({"by": ["m"]}, "by has 1 values, but there are 3 votes"),
        ({"by": list("mmn"), "confidence": 2}, "confidence must be a number between 0 and 1"),
    ],
)
def test_what_cannot_be_done_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        leaderboards_by(BradleyTerry(), list("xyz"), list("yzx"), **options)


def test_no_prior_and_too_many_scores_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="need a positive alpha"):
        leaderboards_by(BradleyTerry(alpha=0), list("xyz"), list("yzx"), by=list("mmn"))
    monkeypatch.setattr(by_category, "MOST_SCORES", 5)
    with pytest.raises(ValueError, match="limited to 5 scores, categories times items; there are 2 x 3"):
        leaderboards_by(BradleyTerry(), list("xyz"), list("yzx"), by=list("mmn"))


def test_the_command_prints_and_writes_categories(tmp_path, capsys):
    a, b, won, category, _ = drawn((200, 80), 0.7)
    frame = pd.DataFrame({"a": a, "b": b, "outcome": won, "topic": np.array(["maths", "<i>"])[category]})
    path, page = tmp_path / "votes.csv", tmp_path / "page.html"
    frame.to_csv(path, index=False)
    assert main(["leaderboard", str(path), "--by", "topic", "--json", "-o", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)["by"]
    names = frame.assign(a=frame["a"].astype(str), b=frame["b"].astype(str))
    boards = leaderboards_by(BradleyTerry(), names["a"], names["b"], outcome=won, by=frame["topic"])
    assert found["deviation_sd"] == pytest.approx(boards.deviation_sd)
    for topic, board in boards.items():
        assert found["leaderboards"][topic] == [pytest.approx(row._asdict()) for row in board]
    assert found["changes"] == [one._asdict() for one in boards.changes()]
    shown = Page(page.read_text(encoding="utf-8"))
    rank_of = {row.item: row.rank for row in boards["maths"]}
    assert shown.column("category-ranks", "maths") == [rank_of[row.item] for row in boards.overall]
    assert shown.column("category-scores", "Score") == [row.score for one in boards.values() for row in one]
    assert main(["leaderboard", str(path), "--by", "topic"]) == 0
    printed = capsys.readouterr().out
    assert str(boards["maths"]) in printed
    assert main(["leaderboard", str(path), "--by", "nothing"]) == 1
    assert "has no column 'nothing'" in capsys.readouterr().err
    assert main(["leaderboard", str(path), "--by", "topic", "--judge", "topic"]) == 2
    assert "--by cannot be combined with --judge." in capsys.readouterr().err
