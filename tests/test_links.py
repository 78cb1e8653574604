"""Links: derivatives, certificates without a penalty, Thurstone's model, and a link that a test registers."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from rankwise import BradleyTerry, load_model, save_model
from rankwise.cli.main import main
from rankwise.leaderboard import LINKS, Link, links, ratings_over_time
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.firth import FirthFit
from rankwise.leaderboard.links import Logistic, Outcomes, Terms
from rankwise.leaderboard.newton import minimised
from rankwise.leaderboard.pair_model import PairModel
from rankwise.report.leaderboard import leaderboard_page
from test_leaderboard import Page

DECADE = np.log(10.0)


class Decades(Link):
    """Odds of 10 per unit of score: the logistic link in other units."""

    unit, meaning, slope = "decades", "the logarithm to base 10 of the odds", DECADE / 4
    elo, elo_meaning = 400.0, "a difference of 400 is odds of 10 to 1"

    def terms(self, d, shape, outcomes):
        value, by_d, by_dd, *_ = Logistic().terms(DECADE * d, shape, outcomes)
        return Terms(value, DECADE * by_d, DECADE**2 * by_dd)

    def log_chances(self, d, shape):
        return Logistic().log_chances(DECADE * d, shape)

    def steepness(self, largest):
        return DECADE


def drawn(n_items=8, n_votes=400, seed=0, sd=0.7):
    """Votes by normal noise: a, b, results with some ties, and true scores."""
    rng = np.random.default_rng(seed)
    scores = sd * rng.normal(size=n_items)
    a = rng.integers(n_items, size=n_votes)
    b = (a + rng.integers(1, n_items, size=n_votes)) % n_items
    won = (rng.random(n_votes) < norm.cdf(scores[a] - scores[b])).astype(float)
    won[::20] = 0.5
    return a, b, won, scores - scores.mean()


@pytest.mark.parametrize("link", [*LINKS.values(), links.Davidson(), Decades()])
def test_derivatives_are_difference_quotients_and_chances_are_those_of_the_loss(link):
    d, step = np.linspace(-6.0, 6.0, 25), 1e-5
    shape = np.array([0.3] * len(link.shapes))
    outcomes = Outcomes(np.full(25, 2.0), np.full(25, 1.5), np.full(25, 0.7))
    ahead, behind = (link.terms(d + side * step, shape, outcomes) for side in (1, -1))
    at = link.terms(d, shape, outcomes)
    assert at.by_d == pytest.approx((ahead.value - behind.value) / (2 * step), abs=1e-7)
    assert at.by_dd == pytest.approx((ahead.by_d - behind.by_d) / (2 * step), abs=1e-7)
    assert (at.by_dd > 0).all()
    win, tie, loss = link.log_chances(d, shape)
    assert np.exp([win, tie, loss]).sum(axis=0) == pytest.approx(1.0)
    assert win == pytest.approx(loss[::-1])
    of_tie = tie if link.shapes else 0.5 * (win + loss)
    assert at.value == pytest.approx(-2.0 * win - 1.5 * loss - 0.7 * of_tie)
    if link.shapes:
        ahead, behind = (link.terms(d, shape + side * step, outcomes) for side in (1, -1))
        assert at.by_shape == pytest.approx((ahead.value - behind.value) / (2 * step), abs=1e-7)
        assert at.by_d_shape == pytest.approx((ahead.by_d - behind.by_d) / (2 * step), abs=1e-7)
        assert at.by_shape_shape == pytest.approx((ahead.by_shape - behind.by_shape) / (2 * step), abs=1e-7)


@pytest.mark.parametrize("link", [*LINKS.values(), Decades()])
def test_the_third_derivative_is_at_most_the_second_times_the_steepness(link):
    d, step, none = np.linspace(-30.0, 30.0, 2001), 1e-4, np.zeros(0)
    win = Outcomes(np.ones(2001), np.zeros(2001), np.zeros(2001))
    ahead, at, behind = (link.terms(d + side * step, none, win).by_dd for side in (1, 0, -1))
    third = np.abs(ahead - behind) / (2 * step)
    steepness = np.array([link.steepness(abs(value)) for value in d])
    assert (third <= (1.0 + 1e-6) * steepness * at + 1e-9).all()


def test_pseudo_votes_of_any_link_are_those_of_the_logistic_link():
    d, own = np.linspace(-8, 8, 33), np.full(33, 0.4)
    found = Link.pseudo_votes(Logistic(), d, np.zeros(0), own, np.zeros(33), 0.0)
    expected = Logistic().pseudo_votes(d, np.zeros(0), own, np.zeros(33), 0.0)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_thurstone_is_the_optimum_of_a_general_optimiser_and_certified(alpha):
    a, b, won, _ = drawn()
    model = BradleyTerry(alpha, link="probit").fit(a, b, outcome=won)

    def loss(scores):
        d = scores[a] - scores[b]
        return -(won * norm.logcdf(d) + (1 - won) * norm.logcdf(-d)).mean() + alpha * scores @ scores

    best = minimize(loss, np.zeros(8), method="BFGS", options={"gtol": 1e-10})
    assert model.scores_ == pytest.approx(best.x - best.x.mean(), abs=1e-6)
    assert 0 <= model.gap_ < 1e-15
    assert model.objective_ == pytest.approx(best.fun, abs=1e-12)
    d = model.scores_[0] - model.scores_[1]
    assert model.predict_pair_proba(0, 1) == pytest.approx(norm.cdf(d))


def test_a_gap_of_a_link_without_a_global_bound_holds_and_may_be_infinite():
    a, b, won, _ = drawn()
    pairs = PairModel(Comparisons.count(8, a, b, won, None, ordered=False), LINKS["probit"])
    best = minimised(pairs, 0.0)
    step = np.random.default_rng(1).normal(size=8)
    step -= step.mean()
    gaps = []
    for length in (1e-3, 1e-2, 3.0):
        at = pairs.at(best.coef + length * step)
        decrement = float(at.gradient @ at.hessian(np.zeros(8)).solve(at.gradient, 1e-12))
        gaps.append(at.gap(decrement))
        assert gaps[-1] >= at.value - best.objective
    assert gaps[0] < 1e-5
    assert gaps[2] == np.inf


def test_the_debiased_scores_solve_the_adjusted_score_equation():
    a, b, won, _ = drawn(6, 120)
    pairs = PairModel(Comparisons.count(6, a, b, won, None, ordered=False), LINKS["probit"])
    fit = FirthFit(pairs, np.zeros(6), 120.0, dense=True)
    design = np.zeros((120, 6))
    design[np.arange(120), a] += 1.0
    design[np.arange(120), b] -= 1.0
    d = design @ fit.parameters
    density, up, down = norm.pdf(d), norm.cdf(d), norm.cdf(-d)
    score = won * density / up - (1 - won) * density / down
    m, r = density / up, density / down
    observed = (design.T * (won * m * (m + d) + (1 - won) * r * (r - d))) @ design
    own = np.einsum("ij,jk,ik->i", design, np.linalg.pinv(observed), design)
    # h f' / (2 f) with f' / f = -d for the normal density, and the leverage h.
    adjusted = score - 0.5 * own * density**2 / (up * down) * d
    assert design.T @ adjusted == pytest.approx(np.zeros(6), abs=1e-4)


def test_intervals_of_thurstone_cover():
    inside, ranks = [], []
    for seed in range(60):
        a, b, won, scores = drawn(8, 200, seed)
        truth = (-scores).argsort().argsort() + 1
        for row in BradleyTerry(link="probit").fit(a, b, outcome=won).leaderboard():
            inside.append(row.low <= scores[row.item] <= row.high)
            ranks.append(row.best_rank <= truth[row.item] <= row.worst_rank)
    assert 0.92 < np.mean(inside) < 0.98
    assert np.mean(ranks) > 0.95


def test_an_item_that_won_all_has_a_finite_debiased_score_and_an_open_end():
    a, b, won, _ = drawn()
    won = np.where(a == 0, 1.0, np.where(b == 0, 0.0, won))
    board = BradleyTerry(link="probit").fit(a, b, outcome=won).leaderboard()
    assert board[0].item == 0
    assert board[0].high == np.inf
    assert np.isfinite(board[0].low)
    with pytest.raises(ValueError, match="With alpha=0 the scores have no optimum"):
        BradleyTerry(0, link="probit").fit(a, b, outcome=won)


def test_predictions_of_thurstone_are_means_over_the_posterior():
    a, b, won, _ = drawn(5, 40)
    model = BradleyTerry(link="probit").fit(a, b, outcome=won)
    error = model.set_params(intervals="posterior").difference(0, 1).standard_error
    draws = np.random.default_rng(0).normal(model.scores_[0] - model.scores_[1], error, size=400_000)
    assert model.predict_pair_proba(0, 1) == pytest.approx(norm.cdf(draws).mean(), abs=1e-3)


def test_a_registered_link_fits_and_has_intervals_predictions_files_and_a_command(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setitem(LINKS, "decades", Decades())
    a, b, won, _ = drawn()
    model, logistic = (BradleyTerry(0, link=link).fit(a, b, outcome=won) for link in ("decades", "logistic"))
    assert DECADE * model.scores_ == pytest.approx(logistic.scores_, abs=1e-8)
    board, expected = model.leaderboard(), logistic.leaderboard()
    for row, other in zip(board, expected, strict=True):
        assert DECADE * np.array([row.low, row.high]) == pytest.approx([other.low, other.high], abs=1e-4)
        assert (row.item, row.ranks) == (other.item, other.ranks)
        assert row.elo == pytest.approx(other.elo)
    assert model.predict_match_proba(a, b) == pytest.approx(logistic.predict_match_proba(a, b), abs=1e-8)
    assert model.top_probabilities() == pytest.approx(logistic.top_probabilities(), abs=0.02)
    learned, other = (BradleyTerry(link=link).fit(a, b, outcome=won) for link in ("decades", "logistic"))
    assert DECADE * learned.prior_sd_ == pytest.approx(other.prior_sd_, rel=0.1)
    save_model(learned, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").leaderboard() == learned.leaderboard()
    path = tmp_path / "votes.csv"
    path.write_text(
        "a,b,outcome\n" + "\n".join(f"m{i},m{j},{w:g}" for i, j, w in zip(a, b, won, strict=True))
    )
    assert main(["leaderboard", str(path), "--link", "decades", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["leaderboard"]
    assert [row["score"] for row in found] == pytest.approx([row.score for row in learned.leaderboard()])


def test_texts_have_the_unit_of_the_link(tmp_path, capsys):
    a, b, won, _ = drawn()
    model = BradleyTerry(link="probit", order_effect=True).fit(a, b, outcome=won)
    words = Page(leaderboard_page(model, model.leaderboard())).words
    assert "A difference of scores is the normal quantile of the chance of winning" in words
    assert "plus 282.8 per unit of score: a difference of 200 is a chance of 76%." in words
    assert "log odds" not in words
    assert model.leaderboard().unit == "standard deviations"
    votes = {"a": a, "b": b, "outcome": won, "date": np.arange(400.0)}
    assert ratings_over_time(BradleyTerry(link="probit"), votes, period=200).unit == "standard deviations"
    with pytest.raises(ValueError, match="ties='davidson' needs link='logistic'"):
        BradleyTerry(link="probit", ties="davidson").fit(a, b, outcome=won)
    with pytest.raises(ValueError, match="link must be"):
        BradleyTerry(link="cauchit").fit(a, b, outcome=won)
