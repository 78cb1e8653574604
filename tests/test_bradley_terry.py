"""Scores of named items from matches: optimum, certificate, intervals, ranks, and what is refused."""

import pickle
import warnings
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from rankwise import BradleyTerry, ModelFileError, _native, load_model, save_model
from rankwise.leaderboard import base
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.links import link_of
from rankwise.leaderboard.matches import ages_of
from rankwise.leaderboard.newton import decrement_gap, minimised
from rankwise.leaderboard.pair_model import PairModel
from rankwise.leaderboard.table import critical_value, rank_ranges
from reference import match_loss

N_ITEMS = 6


def drawn(n_matches=200, n_items=N_ITEMS, seed=0, ties=0.25, home=0.5):
    """Matches in which every outcome occurs: a, b, result, weight."""
    generator = np.random.default_rng(seed)
    strength = generator.normal(size=n_items)
    a = generator.integers(n_items, size=n_matches)
    b = (a + 1 + generator.integers(n_items - 1, size=n_matches)) % n_items
    won = generator.random(n_matches) < 1 / (1 + np.exp(strength[b] - strength[a] - home))
    result = np.where(generator.random(n_matches) < ties, 0.5, won.astype(float))
    return a, b, result, generator.integers(1, 4, size=n_matches).astype(float)


@st.composite
def matches(draw):
    """A few matches among a few items, with weights that may be 0 but not all."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 4), st.integers(1, 4), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 3)
            ),
            min_size=1,
            max_size=12,
        ).filter(lambda rows: any(row[3] for row in rows))
    )
    return [(a, (a + step) % 5, result, float(weight)) for a, step, result, weight in rows]


def fitted(rows, **options):
    a, b, result, weight = map(list, zip(*rows, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few matches leave groups
        return BradleyTerry(**options).fit(a, b, weight, outcome=result)


def textbook_optimum(rows, n_items, alpha, order_effect, davidson):
    """Minimise the textbook likelihood by a general optimiser; give all parameters."""

    def objective(parameters):
        order = parameters[n_items] if order_effect else 0.0
        nu = np.exp(parameters[-1]) if davidson else None
        return match_loss(parameters[:n_items], rows, alpha, order, nu)

    start = np.zeros(n_items + order_effect + davidson)
    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 1000})
    return found.x, objective


def numerical_hessian(function, point, step=1e-3):
    """Second differences of fourth order."""
    n, offsets, weights = len(point), np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12
    hessian = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            hessian[i, j] = sum(
                u * v * function(point + step * (p * np.eye(n)[i] + q * np.eye(n)[j]))
                for p, u in zip(offsets, weights, strict=True)
                for q, v in zip(offsets, weights, strict=True)
            )
    return hessian / step**2


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_the_optimum_is_that_of_logistic_regression(alpha):
    a, b, result, weight = drawn(400, ties=0.0)
    X = np.zeros((len(a), N_ITEMS))
    X[np.arange(len(a)), a], X[np.arange(len(a)), b] = 1.0, -1.0
    other = LogisticRegression(
        C=1 / (2 * alpha * weight.sum()), fit_intercept=False, solver="newton-cholesky", tol=1e-12
    )
    other.fit(X, result, sample_weight=weight)
    model = BradleyTerry(alpha=alpha).fit(a, b, weight, outcome=result)
    assert model.scores_ == pytest.approx(other.coef_[0], abs=1e-8)
    assert model.predict_pair_proba(2, 4) == pytest.approx(
        other.predict_proba(np.eye(N_ITEMS)[[2]] - np.eye(N_ITEMS)[[4]])[0, 1], abs=1e-8
    )


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("order_effect", [False, True])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_the_optimum_is_that_of_a_general_optimiser(ties, order_effect, alpha):
    rows = list(zip(*drawn(), strict=True))
    expected, objective = textbook_optimum(rows, N_ITEMS, alpha, order_effect, ties == "davidson")
    model = fitted(rows, alpha=alpha, ties=ties, order_effect=order_effect)
    scores = expected[:N_ITEMS] - expected[:N_ITEMS].mean()
    assert model.scores_ == pytest.approx(scores, abs=1e-5)
    assert model.order_effect_ == pytest.approx(expected[N_ITEMS] if order_effect else 0.0, abs=1e-5)
    assert model.tie_effect_ == pytest.approx(np.exp(expected[-1]) if ties == "davidson" else 0.0, abs=1e-5)
    assert model.objective_ == pytest.approx(objective(expected), abs=1e-10)
    assert model.objective_ <= objective(expected) + 1e-13
    assert 0 <= model.gap_ <= 1e-16


@pytest.mark.parametrize("order_effect", [False, True])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_gradient_and_hessian_are_those_of_the_textbook_loss(ties, order_effect):
    a, b, result, weight = drawn(60)
    counted = Comparisons.count(N_ITEMS, a, b, result, weight, ordered=order_effect)
    loss = PairModel(counted, link_of("logistic", ties), order_effect=order_effect)
    point = np.random.default_rng(1).normal(size=loss.n_parameters)
    rows = list(zip(a, b, result, weight, strict=True))

    def textbook(parameters):
        order = parameters[N_ITEMS] if order_effect else 0.0
        nu = np.exp(parameters[-1]) if ties == "davidson" else None
        return match_loss(parameters[:N_ITEMS], rows, 0.0, order, nu)

    at = loss.at(point)
    assert at.value == pytest.approx(textbook(point), rel=1e-13)
    unit = np.eye(len(point))
    slopes = [(textbook(point + 1e-5 * e) - textbook(point - 1e-5 * e)) / 2e-5 for e in unit]
    assert at.gradient == pytest.approx(np.array(slopes), abs=1e-9)
    ridge = np.linspace(0.1, 0.5, len(point))
    hessian = at.hessian(ridge)
    expected = numerical_hessian(textbook, point) + np.diag(ridge)
    assert hessian.product(unit) == pytest.approx(expected, abs=1e-7)
    assert np.array([hessian.product(e) for e in unit]) == pytest.approx(expected, abs=1e-7)
    assert hessian.diagonal == pytest.approx(np.diag(expected), abs=1e-7)


def test_a_value_far_out_neither_overflows_nor_loses_its_digits():
    counted = Comparisons.count(2, np.array([0]), np.array([1]), np.array([0.0]), None, ordered=False)
    for ties in ("half", "davidson"):
        pairs = PairModel(counted, link_of("logistic", ties))
        at = pairs.at(np.array([2000.0, -2000.0] + [0.0] * (ties != "half")))
        assert at.value == pytest.approx(4000.0)
        assert at.gradient[:2] == pytest.approx([1.0, -1.0])


@given(matches())
def test_the_optimum_of_any_matches_is_the_textbook_one(rows):
    model = fitted(rows, alpha=0.01)
    names = {name: number for number, name in enumerate(model.items_.tolist())}
    used = [(names[a], names[b], result, weight) for a, b, result, weight in rows if weight]
    assert model.objective_ == pytest.approx(match_loss(model.scores_, used, 0.01), abs=1e-13)
    for k in range(len(names)):
        for step in (-1e-4, 1e-4):
            moved = model.scores_ + step * np.eye(len(names))[k]
            assert match_loss(moved, used, 0.01) > model.objective_
    assert model.n_comparisons_ == len(used)
    assert abs(model.scores_.mean()) < 1e-12


@given(matches(), st.permutations(range(5)), st.randoms(use_true_random=False))
def test_names_order_of_rows_and_repetition_change_nothing(rows, relabelled, random):
    model = fitted(rows, alpha=0.01, ties="davidson", order_effect=True)
    renamed = [(f"item {relabelled[a]}", f"item {relabelled[b]}", r, w) for a, b, r, w in rows]
    split = [
        (a, b, r, w / 2) for a, b, r, w in renamed for _ in range(2)
    ]  # each match as two of half a weight
    random.shuffle(split)
    other = fitted(split, alpha=0.01, ties="davidson", order_effect=True)
    places = [other.items_.tolist().index(f"item {relabelled[name]}") for name in model.items_.tolist()]
    assert other.scores_[places] == pytest.approx(model.scores_, abs=1e-7)
    assert other.order_effect_ == pytest.approx(model.order_effect_, abs=1e-7)
    assert other.tie_effect_ == pytest.approx(model.tie_effect_, abs=1e-7)


@given(matches())
def test_a_match_of_weight_0_is_no_match(rows):
    without = [row for row in rows if row[3]]
    model, other = fitted(rows, alpha=0.01), fitted(without, alpha=0.01)
    assert set(model.items_.tolist()) == {name for row in rows for name in row[:2]}
    score_of = dict.fromkeys(model.items_.tolist(), 0.0) | dict(zip(other.items_, other.scores_, strict=True))
    assert model.scores_ == pytest.approx([score_of[name] for name in model.items_.tolist()], abs=1e-7)
    assert model.n_comparisons_ == len(without)


@given(st.floats(1e-9, 0.99), st.floats(1e-6, 10.0))
def test_the_gap_of_a_decrement_bounds_the_gap_of_the_worst_function(c, least):
    """exp(-t) + t - 1 less the slope c t is the lowest function with that bound on its third derivative."""
    t = -np.log1p(-c)
    worst = c * t - (np.expm1(-t) + t)
    assert decrement_gap(c * c * least, least) == pytest.approx(least * worst, rel=1e-6, abs=1e-16 * least)


def test_the_gap_holds_on_the_way():
    a, b, result, weight = drawn()
    for alpha in (0.0, 1e-4):
        loss = PairModel(Comparisons.count(N_ITEMS, a, b, result, weight, ordered=False), link_of("logistic"))
        history = minimised(loss, alpha).history
        best = history["objective"].min()
        assert (history["objective"] - best <= history["gap"] + 1e-15).all()
        assert (history["bound"] <= best + 1e-15).all()
        assert len(history["gap"]) > 3


@pytest.mark.parametrize("dense_items", [0, 3000])
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize(("ties", "order_effect"), [("half", False), ("davidson", True)])
def test_standard_errors_are_those_of_the_inverse_hessian(
    ties, order_effect, alpha, dense_items, monkeypatch
):
    monkeypatch.setattr(base, "DENSE_ITEMS", dense_items)
    rows = list(zip(*drawn(), strict=True))
    model = fitted(rows, alpha=alpha, ties=ties, order_effect=order_effect, intervals="posterior")
    extra = [model.order_effect_, np.log(model.tie_effect_)] if order_effect else []

    def total(parameters):
        order, nu = (parameters[-2], np.exp(parameters[-1])) if order_effect else (0.0, None)
        return sum(row[3] for row in rows) * match_loss(parameters[:N_ITEMS], rows, alpha, order, nu)

    hessian = numerical_hessian(total, np.concatenate([model.scores_, extra]), 1e-2)
    centre = np.eye(N_ITEMS) - 1 / N_ITEMS
    covariance = centre @ np.linalg.pinv(hessian, rcond=1e-7)[:N_ITEMS, :N_ITEMS] @ centre
    assert model.standard_errors() == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-5)
    assert model.standard_errors([3, 1]) == pytest.approx(np.sqrt(np.diag(covariance))[[3, 1]], rel=1e-5)
    apart = model.difference(3, 1, confidence=0.9)
    error = np.sqrt(covariance[3, 3] + covariance[1, 1] - 2 * covariance[3, 1])
    assert apart.standard_error == pytest.approx(error, rel=1e-5)
    assert apart.difference == pytest.approx(model.scores_[3] - model.scores_[1])
    assert (apart.low, apart.high) == pytest.approx(
        (apart.difference - 1.6448536 * error, apart.difference + 1.6448536 * error), rel=1e-5
    )
    assert model.leaderboard()[0].standard_error == pytest.approx(
        np.sqrt(covariance[np.argmax(model.scores_)].max()), rel=1e-5
    )


def test_intervals_hold_the_truth_as_often_as_they_say():
    generator, held = np.random.default_rng(0), []
    strength = np.array([1.0, 0.3, -0.3, -1.0])
    a, b = np.repeat(np.array([(i, j) for i in range(4) for j in range(i)]).T, 40, axis=1)
    for _ in range(200):
        won = generator.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))
        model = BradleyTerry(alpha=1e-6).fit(a, b, outcome=won.astype(float))
        held.append([row.low <= strength[row.item] <= row.high for row in model.leaderboard()])
    assert 0.92 < np.mean(held) < 0.98


def test_rank_ranges_by_hand():
    """With variances 1 and no covariance, a difference is clear beyond z sqrt(2), z for 3 differences."""
    clear = critical_value(0.95, 3) * np.sqrt(2)
    assert critical_value(0.95, 3) == pytest.approx(2.3939797998185104)
    scores = np.array([0.0, -1.01 * clear, 0.5 * clear, -1.4 * clear])
    variance, best, worst = rank_ranges(scores, [np.eye(4)], 0.95)
    assert variance.tolist() == [1.0] * 4
    # The third is clearly above the second and the fourth, the first too; the rest is open.
    assert best.tolist() == [1, 3, 1, 3]
    assert worst.tolist() == [2, 4, 2, 4]


def test_the_leaderboard_has_scores_and_ranks():
    a = ["x"] * 30 + ["y"] * 10 + ["z"] * 10 + ["x"] * 2
    b = ["y"] * 15 + ["z"] * 15 + ["z"] * 10 + ["y"] * 10 + ["y"] * 2
    outcome = ["win"] * 28 + ["loss"] * 2 + ["win"] * 20 + ["tie"] * 2
    board = BradleyTerry(intervals="posterior").fit(a, b, outcome=outcome).leaderboard()
    assert [(row.rank, row.item, row.matches) for row in board] == [
        (1, "x", 32.0),
        (2, "z", 35.0),
        (3, "y", 37.0),
    ]
    assert board[0].won == pytest.approx(29 / 32)
    assert [row.ranks for row in board] == ["1", "2 to 3", "2 to 3"]
    assert (board[0].low + board[0].high) / 2 == pytest.approx(board[0].score)
    assert board[0].high - board[0].score == pytest.approx(1.959964 * board[0].standard_error, rel=1e-6)
    assert str(board).splitlines()[0].split() == [
        "rank",
        "item",
        "score",
        "from",
        "to",
        "ranks",
        "matches",
        "won",
    ]
    assert len(str(board).splitlines()) == 4
    assert "<td>2 to 3</td>" in board._repr_html_()
    assert pd.DataFrame(board)["item"].tolist() == ["x", "z", "y"]


def test_a_large_leaderboard_solves_for_what_it_shows(monkeypatch):
    a, b, result, weight = drawn(500, 40)
    model = BradleyTerry().fit(a, b, weight, outcome=result)
    whole = model.leaderboard()
    monkeypatch.setattr(base, "DENSE_ITEMS", 10)
    top = model.leaderboard(3)
    assert [row.item for row in top] == [row.item for row in whole[:3]]
    assert [row.low for row in top] == pytest.approx([row.low for row in whole[:3]], abs=1e-6)
    assert [row.ranks for row in top] == ["", "", ""]


@pytest.mark.parametrize("n_columns", [1, 7, 100])
def test_ranges_of_ranks_in_blocks_are_those_of_the_whole_covariance(n_columns, monkeypatch):
    monkeypatch.setattr(base, "STEP_DOWN_ITEMS", 10)
    a, b, result, weight = drawn(2000, 40)
    model = BradleyTerry().fit(a, b, weight, outcome=result)
    whole = model.leaderboard()
    assert len({row.ranks for row in whole}) > 10
    monkeypatch.setattr(base, "DENSE_ITEMS", 10)
    monkeypatch.setattr(base, "BLOCK_COLUMNS", n_columns)
    for row, expected in zip(model.leaderboard(ranks=True), whole, strict=True):
        assert row.ranks == expected.ranks
        assert row.standard_error == pytest.approx(expected.standard_error, rel=1e-7)
    assert [row.ranks for row in model.leaderboard(2, ranks=False)] == ["", ""]
    monkeypatch.setattr(base, "RANKED_ITEMS", 39)
    with pytest.raises(ValueError, match=r"ranks=True is limited to 39 items.* there are 40"):
        model.leaderboard(ranks=True)


def test_probabilities_of_a_match():
    rows = list(zip(*drawn(), strict=True))
    model = fitted(rows, alpha=1e-3, ties="davidson", order_effect=True)
    s, h, nu = model.scores_, model.order_effect_, model.tie_effect_
    pi, pj = np.exp(s[1] + h), np.exp(s[3])
    tie = nu * np.sqrt(pi * pj)
    assert model.predict_match_proba(1, 3) == pytest.approx(np.array([pi, tie, pj]) / (pi + tie + pj))
    several = model.predict_match_proba([1, 2], [3, 0])
    assert several.shape == (2, 3)
    assert several[0] == pytest.approx(model.predict_match_proba(1, 3))
    assert model.predict_pair_proba(1, 3) == pytest.approx(1 / (1 + np.exp(s[3] - s[1])))
    assert model.predict_pair_proba([1, 2], 3) + model.predict_pair_proba(3, [1, 2]) == pytest.approx(1.0)
    assert fitted(rows).predict_match_proba(1, 3)[1] == 0.0


def test_every_kind_of_column_gives_the_same_scores():
    a, b, result, weight = drawn()
    names = np.array(["ann", "bob", "cid", "dora", "eve", "finn"])
    expected = BradleyTerry().fit(a, b, weight, outcome=result).scores_
    words = np.array(["loss", "tie", "win"])[(2 * result).astype(int)]
    columns = {"a": names[a], "b": names[b], "outcome": words, "weight": weight}
    forms = [
        BradleyTerry().fit(names[a], names[b], weight, outcome=words),
        BradleyTerry().fit(
            names[a].tolist(), tuple(names[b].tolist()), weight.tolist(), outcome=result.tolist()
        ),
        BradleyTerry().fit(pd.DataFrame(columns)),
        BradleyTerry().fit(pl.DataFrame(columns)),
        BradleyTerry().fit(columns),
        BradleyTerry().fit(pd.Series(names[a]), pl.Series(names[b]), weight, outcome=pd.Series(words)),
    ]
    for model in forms:
        assert model.items_.tolist() == names.tolist()
        assert model.scores_ == pytest.approx(expected, abs=1e-10)
    assert forms[0].predict_pair_proba(pd.Series(["ann"]), pl.Series(["bob"])).shape == (1,)


def test_names_of_any_type():
    model = BradleyTerry().fit([("a", 1), 7, 7, "7"], [7, "7", ("a", 1), ("a", 1)])
    assert set(model.items_.tolist()) == {("a", 1), 7, "7"}
    assert 0 < model.predict_pair_proba(("a", 1), 7) < 1
    large = BradleyTerry().fit([10**12, 5, -3], [5, -3, 10**12])
    assert large.items_.tolist() == [-3, 5, 10**12]
    far = BradleyTerry().fit(np.array([10**12, 5, -3]), np.array([5, -3, 10**12]))
    assert far.items_.tolist() == [-3, 5, 10**12]
    small = BradleyTerry().fit(np.array([127, -128], dtype=np.int8), np.array([-128, 0], dtype=np.int8))
    assert small.items_.tolist() == [-128, 0, 127]
    unsigned = BradleyTerry().fit(np.array([2**64 - 1], dtype=np.uint64), np.array([3], dtype=np.uint64))
    assert unsigned.items_.tolist() == [3, 2**64 - 1]


def test_a_winner_alone_needs_no_outcome():
    frame = {"winner": ["x", "x", "y"], "loser": ["y", "y", "x"]}
    direct = BradleyTerry().fit(["x", "x", "y"], ["y", "y", "x"])
    assert BradleyTerry().fit(frame).scores_ == pytest.approx(direct.scores_)
    assert direct.scores_[0] > 0


@pytest.mark.parametrize(
    "date",
    [["2024-01-11", "2024-01-01", "2024-01-21"], [10, 0, 20], pd.Series([10, 0, 20.0], dtype=object)],
    ids=["dates", "numbers", "objects"],
)
def test_a_match_weighs_half_after_each_half_life(date):
    model = BradleyTerry(alpha=0.01, half_life=10).fit(["x", "y", "y"], ["y", "x", "x"], date=date)
    other = BradleyTerry(alpha=0.01).fit(["x", "y", "y"], ["y", "x", "x"], [0.5, 0.25, 1.0])
    assert model.scores_ == pytest.approx(other.scores_, abs=1e-9)


def test_groups_that_never_met_are_named():
    with pytest.warns(UserWarning, match=r"2 groups that were never compared: a, b and c; d and e\."):
        model = BradleyTerry().fit(["a", "b", "d"], ["b", "c", "e"])
    assert [group.tolist() for group in model.groups_] == [["a", "b", "c"], ["d", "e"]]
    with pytest.raises(ValueError, match="2 groups that were never compared: a and b; c and d"):
        BradleyTerry(alpha=0).fit(["a", "b", "c", "d"], ["b", "a", "d", "c"])


def test_perfect_separation_without_a_penalty_is_refused():
    with pytest.raises(ValueError, match=r"no optimum. Some items won, or lost, every match .* away: c; a"):
        BradleyTerry(alpha=0).fit(["a", "b", "b", "d"], ["b", "c", "d", "b"])
    with pytest.warns(UserWarning, match=r"infinitely far away: .*Only alpha=1e-09 holds them in place"):
        model = BradleyTerry(alpha=1e-9).fit(["a", "a"], ["b", "c"])
    assert np.isfinite(model.scores_).all()
    with pytest.raises(ValueError, match="No match was a tie"):
        BradleyTerry(alpha=0, ties="davidson").fit(["a", "b"], ["b", "a"])
    with pytest.raises(ValueError, match="Every match was a tie"):
        BradleyTerry(alpha=0, ties="davidson").fit(["a", "b"], ["b", "a"], outcome=["tie", "tie"])
    with pytest.raises(ValueError, match="scores or effects are unbounded"):
        BradleyTerry(alpha=0, order_effect=True).fit(["a", "b"], ["b", "a"], outcome=["win", "win"])


@pytest.mark.parametrize(
    ("options", "first", "second", "outcome"),
    [
        # Both win away and lose at home but for one: a lead and the order effect grow by half a step each.
        ({"order_effect": True}, "1100110010", "0011001101", [1, 0, 0, 0, 1, 1, 0, 0, 1, 0]),
        ({"order_effect": True}, "03012", "31320", [0.5, 0, 0, 0.5, 0]),
        ({"ties": "davidson"}, "00010", "11101", [0, 0.5, 0.5, 1, 0]),
        ({"ties": "davidson"}, "121020", "202212", [0.5, 0, 1, 1, 0.5, 0.5]),
    ],
)
def test_scores_that_grow_together_with_an_effect_are_refused(options, first, second, outcome):
    with pytest.raises(ValueError, match="the likelihood has no maximum"):
        BradleyTerry(alpha=0, **options).fit(list(first), list(second), outcome=outcome)


def test_a_long_ladder_may_reach_far_without_a_penalty():
    """Each beats the next 9 times of 10: the scores are steps of log 9, and no limit is set to their sum."""
    upper, lower = np.arange(60), np.arange(1, 61)
    a, b = np.repeat(upper, 10), np.repeat(lower, 10)
    model = BradleyTerry(alpha=0).fit(a, b, outcome=np.tile([1.0] * 9 + [0.0], 60))
    assert np.diff(model.scores_) == pytest.approx(np.full(60, -np.log(9)), abs=1e-6)
    assert model.gap_ <= 1e-16


def test_an_early_stop_warns_with_the_gap():
    a, b, result, _ = drawn()
    with pytest.warns(ConvergenceWarning, match="Stopped by max_iter after 2 iterations with a gap of"):
        model = BradleyTerry(max_iter=2).fit(a, b, outcome=result)
    best = BradleyTerry().fit(a, b, outcome=result).objective_
    assert best <= model.objective_ <= best + model.gap_


def test_a_callback_sees_the_scores_and_may_stop():
    states = []
    a, b, result, _ = drawn()
    BradleyTerry(callback=lambda state: states.append(state) or len(states) == 2).fit(a, b, outcome=result)
    assert len(states) == 2
    assert len(states[0].coef) == N_ITEMS


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a"], ["a"]), {}, "Row 0 compares 'a' with itself"),
        (([], []), {}, "There are no matches"),
        ((["a", "b"], ["b"]), {}, "winner has 2 and loser has 1 entries"),
        ((["a", None], ["b", "a"]), {}, "winner is missing in row 1"),
        (([1.0, 2.0], [2.0, np.nan]), {}, "loser is missing in row 1"),
        ((["a"], ["b"], [-1.0]), {}, "weight must not be negative"),
        ((["a"], ["b"], [0.0]), {}, "weight is zero for every row"),
        ((["a"], ["b"], [1.0, 2.0]), {}, "weight has length 2"),
        ((["a"], ["b"], [np.nan]), {}, "weight contains NaN"),
        (("a", "b"), {}, "winner must be a column of names"),
        (([["a"]], ["b"]), {}, "winner must hold names"),
        ((np.array([["a"]]), ["b"]), {}, "winner must be one-dimensional"),
        ((["a"],), {}, "loser must be given"),
        (({"a": ["x"], "b": ["y"]},), {}, "model_a, model_b and winner, or a, b and outcome; it has a, b"),
        ((["a"], ["b"]), {"alpha": -1.0}, "alpha must be a positive number; got -1.0"),
        ((["a"], ["b"]), {"alpha": float("nan")}, "alpha must be a positive number"),
        ((["a"], ["b"]), {"ties": "third"}, "ties must be one of 'half', 'davidson'"),
        ((["a"], ["b"]), {"order_effect": True}, "order_effect needs outcome"),
        ((["a"], ["b"]), {"half_life": 1.0}, "half_life needs the date"),
        ((["a"], ["b"]), {"tol": 0.0}, "tol must be a positive number"),
        ((["a"], ["b"]), {"max_iter": 0}, "max_iter must be an integer"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerry(**options).fit(*arguments)


def test_bad_outcomes_dates_and_names_are_refused():
    with pytest.raises(ValueError, match=r"outcome must be win, loss or tie .* got 'won'"):
        BradleyTerry().fit(["a"], ["b"], outcome=["won"])
    with pytest.raises(ValueError, match=r"outcome must be win, loss or tie .* got 2"):
        BradleyTerry().fit(["a"], ["b"], outcome=[2])
    with pytest.raises(ValueError, match="outcome has 2 entries for 1 match"):
        BradleyTerry().fit(["a"], ["b"], outcome=["win", "win"])
    with pytest.raises(ValueError, match="outcome is missing in row 0"):
        BradleyTerry().fit(["a"], ["b"], outcome=[None])
    with pytest.raises(ValueError, match="date must hold dates or numbers"):
        BradleyTerry(half_life=1).fit(["a"], ["b"], date=["yesterday"])
    model = BradleyTerry().fit(["a"], ["b"])
    with pytest.raises(ValueError, match="a names 'c', which was in no match"):
        model.predict_pair_proba("c", "b")
    with pytest.raises(ValueError, match="a must be the name of one item"):
        model.difference(["a"], "b")
    with pytest.raises(ValueError, match="confidence must be a number between 0 and 1; got 95"):
        model.leaderboard(confidence=95)
    with pytest.raises(ValueError, match="top must be an integer"):
        model.leaderboard(0)
    with pytest.raises(NotFittedError):
        BradleyTerry().leaderboard()
    with pytest.raises(NotFittedError):
        BradleyTerry().predict_pair_proba("a", "b")


def test_parameters_are_those_of_scikit_learn():
    model = BradleyTerry(0.1, ties="davidson", order_effect=True, half_life=3.0)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(alpha=0.5).alpha == 0.5


@given(matches())
def test_counts_are_those_of_a_loop(rows):
    for ordered in (False, True):
        expected = {}
        for a, b, result, weight in rows:
            swap = a > b and not ordered
            key = (b, a) if swap else (a, b)
            sums = expected.setdefault(key, [0.0, 0.0, 0.0])
            sums[int(2 * (1 - result if swap else result))] += weight
        a, b, result, weight = map(np.array, zip(*rows, strict=True))
        found = Comparisons.count(5, a, b, result, weight, ordered=ordered)
        assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == sorted(expected)
        sums = np.array([expected[key] for key in sorted(expected)]).T
        assert np.array_equal([found.losses, found.ties, found.wins], sums)


def test_the_loss_is_the_same_in_wide_and_narrow_registers():
    a, b, result, weight = drawn(3000, 90)
    counted = Comparisons.count(90, a, b, result, weight, ordered=True)
    loss = PairModel(counted, link_of("logistic"), order_effect=True)
    scores = np.random.default_rng(2).normal(size=90) * np.geomspace(1e-9, 1e3, 90)
    shares, offset = (loss.outcomes.total, loss.outcomes.lead), np.full(len(counted.first), 0.3)
    columns = counted.first, counted.second, *shares, scores, offset
    wide, narrow = (_native.logistic_comparisons(*columns, widest=widest) for widest in (True, False))
    assert wide[0] == narrow[0]
    assert all(np.array_equal(*pair) for pair in zip(wide[1:], narrow[1:], strict=True))


def features_of(n_items, seed=5):
    return {k: row for k, row in enumerate(np.random.default_rng(seed).normal(size=(n_items, 2)).tolist())}


@pytest.mark.parametrize(("ties", "order_effect"), [("half", False), ("davidson", True)])
@pytest.mark.parametrize("blocks", [False, True])
def test_features_and_deviations_are_those_of_the_textbook(ties, order_effect, blocks, monkeypatch):
    if blocks:
        monkeypatch.setattr(base, "DENSE_ITEMS", 0)
        monkeypatch.setattr(base, "BLOCK_COLUMNS", 4)
    rows = list(zip(*drawn(), strict=True))
    n, features = N_ITEMS + 1, features_of(N_ITEMS + 1)  # the last item has no match
    X = np.array(list(features.values()))
    a, b, result, weight = map(list, zip(*rows, strict=True))
    model = BradleyTerry(1e-3, ties=ties, order_effect=order_effect, feature_alpha=4e-3)
    model.fit(a, b, weight, outcome=result, features=features)

    def objective(p):
        order, nu = (p[-2], np.exp(p[-1])) if order_effect else (0.0, None)
        more = p[-2] ** 2 + p[-1] ** 2 if order_effect else 0.0
        penalty = 1e-3 * (p[:n] @ p[:n] + more) + 4e-3 * p[n : n + 2] @ p[n : n + 2]
        return match_loss(p[:n] + X @ p[n : n + 2], rows, 0.0, order, nu) + penalty

    start = np.zeros(n + 2 + 2 * order_effect)
    best = minimize(objective, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 1000}).x
    scores = best[:n] + X @ best[n : n + 2]
    assert model.scores_ == pytest.approx(scores - scores.mean(), abs=1e-5)
    assert model.coef_ == pytest.approx(best[n : n + 2], abs=1e-5)
    assert model.objective_ == pytest.approx(objective(best), abs=1e-10)
    assert model.objective_ <= objective(best) + 1e-13
    assert model.gap_ <= 1e-16
    assert model.predict(X)[-1] == pytest.approx(model.scores_[-1], abs=1e-9)
    assert model.predict(X)[0] - model.scores_[0] == pytest.approx(best[0] * -1.0, abs=1e-5)
    hessian = sum(row[3] for row in rows) * numerical_hessian(objective, best, 1e-2)
    to_scores = np.concatenate([np.eye(n), X, np.zeros((n, 2 * order_effect))], axis=1)
    to_scores = to_scores - to_scores.mean(axis=0)
    covariance = to_scores @ np.linalg.inv(hessian) @ to_scores.T
    assert model.standard_errors() == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-4)
    contrast = np.eye(n)[6] - np.eye(n)[2]
    error = np.sqrt(contrast @ covariance @ contrast)
    assert model.difference(6, 2).standard_error == pytest.approx(error, rel=1e-4)


def test_features_alone_are_logistic_regression_on_their_differences():
    a, b, result, weight = drawn(400, ties=0.0)
    X = np.array(list(features_of(N_ITEMS).values()))
    other = LogisticRegression(
        C=1 / (2 * 1e-3 * weight.sum()), fit_intercept=False, solver="newton-cholesky", tol=1e-12
    )
    other.fit(X[a] - X[b], result, sample_weight=weight)
    model = BradleyTerry(alpha=1e9, feature_alpha=1e-3)
    model.fit(a, b, weight, outcome=result, features=features_of(N_ITEMS))
    assert model.coef_ == pytest.approx(other.coef_[0], abs=1e-7)
    assert model.predict_pair_proba(2, 4) == pytest.approx(
        other.predict_proba(X[[2]] - X[[4]])[0, 1], abs=1e-7
    )
    free = BradleyTerry(alpha=1e-3, feature_alpha=1e9)
    free.fit(a, b, weight, outcome=result, features=features_of(N_ITEMS))
    without = BradleyTerry(alpha=1e-3).fit(a, b, weight, outcome=result)
    assert free.scores_ == pytest.approx(without.scores_, abs=1e-7)


def test_items_of_no_match_are_placed_by_their_features():
    frame = pd.DataFrame(
        {"size": [2.0, 1.0, 0.0, 3.0], "age": [0.0, 1.0, 0.0, 1.0]}, ["ann", "bob", "cid", "new"]
    )
    names = np.array(["ann", "bob", "cid"])
    model = BradleyTerry().fit(names[[0, 0, 1] * 20], names[[1, 2, 2] * 20], features=frame)
    assert model.items_.tolist() == ["ann", "bob", "cid", "new"]
    assert model.feature_names_in_.tolist() == ["size", "age"]
    assert [group.tolist() for group in model.groups_] == [["ann", "bob", "cid"]]
    board = model.leaderboard()
    row = next(row for row in board if row.item == "new")
    assert (row.matches, row.won) == (0.0, None)
    assert row.standard_error == max(row.standard_error for row in board)
    assert row.score == pytest.approx(model.predict(frame)[3], abs=1e-9)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(frame[["age", "size"]])
    assert str(board).splitlines()[1 + board.index(row)].split()[-1] == "0"
    again = model.fit(["ann"], ["bob"])
    assert not hasattr(again, "coef_")
    with pytest.raises(ValueError, match="predict needs a model that was fitted with features"):
        again.predict(frame)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"a": [1.0]}, "features has no row for 'b'; every item of a match needs one"),
        ({}, "features must hold finite numbers"),
        ({"a": [1.0], "b": [np.nan]}, "features must hold finite numbers"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "features must hold numbers, as many for each item"),
        ({"a": ["x"], "b": ["y"]}, "features must hold numbers"),
        (pd.DataFrame({"x": [1, 2, 3]}, ["a", "b", "a"]), "more than one row for 'a'"),
        ([[1.0], [2.0]], "features must be a pandas frame .* got list"),
    ],
)
def test_bad_features_are_refused_in_a_sentence(features, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerry().fit(["a"], ["b"], features=features)


def test_features_need_penalties():
    with pytest.raises(ValueError, match="features need a positive alpha"):
        BradleyTerry(alpha=0).fit(["a"], ["b"], features={"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match="feature_alpha must be a positive number; got 0"):
        BradleyTerry(feature_alpha=0).fit(["a"], ["b"])
    model = BradleyTerry().fit(["a"], ["b"], features={"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match="X has 2 features, but the model has 1"):
        model.predict([[1.0, 2.0]])


NAMES = [
    ["a", "b", "c"], [3, 1, 2], [0.5, 1.5, -2.0], [("a", 1), ("a", 2), ("b", 1)], ["x", 1, ("x", 1)],
]  # fmt: skip


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("with_features", [False, True])
def test_a_model_file_and_a_pickle_give_the_same_model(names, with_features, tmp_path):
    features = dict(zip(names, [[1.0], [2.0], [4.0]], strict=True)) if with_features else None
    model = BradleyTerry(ties="davidson", order_effect=True)
    a, b = [names[k] for k in (0, 1, 2, 0)], [names[k] for k in (1, 2, 0, 2)]
    model.fit(a, b, outcome=["win", "tie", "loss", "win"], features=features)
    save_model(model, tmp_path / "model.json")
    for copy in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.json")):
        assert copy.items_.tolist() == model.items_.tolist()
        assert copy.leaderboard() == model.leaderboard()
        assert copy.difference(names[0], names[2]) == model.difference(names[0], names[2])
        assert np.array_equal(copy.predict_match_proba(a, b), model.predict_match_proba(a, b))
        assert copy.get_params() == model.get_params()
        assert [group.tolist() for group in copy.groups_] == [group.tolist() for group in model.groups_]
        if with_features:
            assert np.array_equal(copy.predict([[1.0], [7.0]]), model.predict([[1.0], [7.0]]))


def replaced(entries, place, content):
    return tuple(content if number == place else entry for number, entry in enumerate(entries))


@pytest.mark.parametrize(
    "change",
    [
        {"items_": np.array(["a", "b"])},
        {"items_": np.array(["a", "b", "b"])},
        {"scores_": np.zeros(2)},
        {"scores_": np.array([0.0, np.nan, 0.0])},
        {"_parameters": np.zeros(4)},
        {"_parameters": np.zeros((3, 1))},
        {"scores_": np.zeros((3, 1))},
        {"_features": np.zeros((2, 1)), "coef_": np.zeros(1), "_parameters": np.zeros(4)},
        {"alpha_": "1"},
        {"_entries": (0, np.array([0, 5], dtype=np.int32))},
        {"_entries": (1, np.array([1, -1], dtype=np.int32))},
        {"_entries": (1, np.array([1, 1], dtype=np.int32))},
        {"_entries": (0, np.array([2, 0], dtype=np.int32))},
        {"_entries": (0, np.array([0, 1]))},
        {"_entries": (2, np.array([1.0]))},
        {"_entries": (3, np.array([1.0, -1.0]))},
        {"_entries": (2, np.array([0.0, 1.0]))},
        {"ties": "third"},
    ],
)
def test_a_model_file_with_wrong_content_is_refused(change, tmp_path):
    model = BradleyTerry().fit(["a", "b"], ["b", "c"])
    for name, value in change.items():
        setattr(model, name, replaced(model._entries, *value) if name == "_entries" else value)
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        load_model(tmp_path / "model.json")


OLD = (["old", "a", "b"], ["a", "b", "a"])
DATES = ["2020-01-01", "2024-01-01", "2024-01-02"]


def told(fit):
    """Call a fit; return the model and its warnings as one text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit()
    return model, " ".join(str(one.message) for one in caught)


def test_items_whose_matches_have_no_weight_keep_the_score_of_the_prior(tmp_path):
    model, words = told(lambda: BradleyTerry().fit(*OLD, [0.0, 1.0, 0.5]))
    assert "All matches of old have a weight of 0" in words
    assert model.items_.tolist() == ["a", "b", "old"]
    assert model.n_comparisons_ == 2
    others = BradleyTerry().fit(["a", "b"], ["b", "a"], [1.0, 0.5])
    assert model.scores_ == pytest.approx([*others.scores_, 0.0])
    row = next(row for row in model.leaderboard() if row.item == "old")
    assert (row.matches, row.won) == (0.0, None)
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").scores_.tolist() == model.scores_.tolist()


def test_matches_too_old_to_count_are_warned_of():
    model, words = told(lambda: BradleyTerry(half_life=1).fit(*OLD, date=DATES))
    assert "half_life=1 gives 1 match a weight of 0; the oldest is 1462 before the latest" in words
    assert model.items_.tolist() == ["a", "b", "old"]
    assert model.scores_[2] == pytest.approx(0.0, abs=1e-12)


def test_without_a_penalty_an_item_without_matches_has_no_score():
    with pytest.raises(ValueError, match=r"no optimum.*old"):
        told(lambda: BradleyTerry(alpha=0).fit(*OLD, [0.0, 1.0, 1.0]))


def test_a_match_of_weight_0_between_known_items_needs_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BradleyTerry().fit(["a", "b", "a"], ["b", "a", "b"], [1.0, 1.0, 0.0])
    assert model.n_comparisons_ == 2


@pytest.mark.parametrize("weight", [[1e308, 1e308, 1, 1], [1e308] * 4, [9e307, 1, 1, 1]])
def test_weights_whose_sum_overflows_are_refused(weight):
    with pytest.raises(ValueError, match="The sum of weight overflows; divide all weights"):
        BradleyTerry().fit(list("abca"), list("bcac"), weight)


def test_large_weights_are_those_of_many_matches():
    large = BradleyTerry(alpha=0.1).fit(list("abca"), list("bcac"), [1e307, 2e307, 1e307, 1e307])
    small = BradleyTerry(alpha=0.1).fit(list("abca"), list("bcac"), [1, 2, 1, 1])
    assert large.scores_ == pytest.approx(small.scores_)


def test_weights_that_all_fade_are_refused():
    with pytest.raises(ValueError, match="half_life=1 leaves no match with a weight above 0"):
        BradleyTerry(half_life=1).fit(["a", "b"], ["b", "a"], [1.0, 0.0], date=[0, 5000])


@pytest.mark.parametrize(
    "date",
    [
        ["20240131", "20240201", "20240301"],
        [20240131, 20240201, 20240301],
        np.array([20240131, 20240201, 20240301], dtype=np.int32),
        np.array([20240131.0, 20240201.0, 20240301.0]),
        pd.Series([20240131, 20240201, 20240301]),
        pl.Series(["20240131", "20240201", "20240301"]),
        ["20240131", "2024-02-01", "2024-03-01T00:00"],
    ],
)
def test_compact_dates_are_dates(date):
    assert ages_of(date, 3).tolist() == [30.0, 29.0, 0.0]


@pytest.mark.parametrize(
    ("numbers", "ages"),
    [
        ([20240131, 20240230], [99.0, 0.0]),  # no 30th of February
        ([20240131, 20241301], [1170.0, 0.0]),
        ([20240100, 20240131], [31.0, 0.0]),
        ([20240131.5, 20240131.0], [0.0, 0.5]),
        ([1700000000, 1700000060], [60.0, 0.0]),
        ([19723, 19724], [1.0, 0.0]),
        ([99990101, 99990102], [1.0, 0.0]),
    ],
)
def test_other_numbers_are_no_dates(numbers, ages):
    assert ages_of(numbers, len(numbers)).tolist() == ages


def test_text_of_eight_digits_must_be_a_date():
    with pytest.raises(ValueError, match="date must hold dates or numbers"):
        ages_of(["20240131", "20241301"], 2)


@pytest.mark.parametrize(
    "date",
    [
        ["2024-05-01T23:00:00-02:00", "2024-05-01T00:00:00Z", "2024-05-03T02:00+02:00"],
        ["2024-05-02 03:00:00+0200", "2024-05-01T00:00:00", "2024-05-03"],
        pd.Series(
            pd.to_datetime(["2024-05-02T01:00Z", "2024-05-01", "2024-05-03"], utc=True, format="ISO8601")
        ),
        [datetime(2024, 5, 2, 1, tzinfo=UTC), datetime(2024, 5, 1), "2024-05-03"],
    ],
)
def test_dates_with_a_zone_are_converted_to_utc_without_a_warning(date):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ages_of(date, 3).tolist() == pytest.approx([23 / 24, 2.0, 0.0])


def test_weights_without_squares_are_refused():
    with pytest.raises(ValueError, match="multiply all weights by a constant"):
        BradleyTerry().fit(["a", "b", "a"], ["b", "a", "b"], [1e-300, 2e-300, 1e-300])
