"""The prior that is learned from matches, and predictions that average over the posterior."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from rankwise import BradleyTerry
from rankwise.leaderboard import base
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.links import link_of
from rankwise.leaderboard.pair_model import PairModel
from rankwise.leaderboard.prior import learned_sd
from reference import match_loss
from test_bradley_terry import N_ITEMS, drawn, numerical_hessian


def textbook_evidence(rows, n_items, sd, order_effect, davidson):
    """Laplace's log evidence of scores with a prior N(0, sd^2) and of effects with N(0, 1)."""
    total = sum(row[3] for row in rows)
    spread = np.array([sd] * n_items + [1.0] * (order_effect + davidson))

    def energy(p):
        order, nu = (p[n_items] if order_effect else 0.0), (np.exp(p[-1]) if davidson else None)
        return total * match_loss(p[:n_items], rows, 0.0, order, nu) + 0.5 * ((p / spread) ** 2).sum()

    best = minimize(energy, np.zeros(len(spread)), method="BFGS", options={"gtol": 1e-6}).x
    determinant = np.linalg.slogdet(numerical_hessian(energy, best, 1e-2))[1]
    return -energy(best) - np.log(spread).sum() - 0.5 * determinant


@pytest.mark.parametrize(("ties", "order_effect"), [("half", False), ("davidson", True)])
def test_the_prior_maximises_the_evidence(ties, order_effect):
    a, b, result, weight = drawn(60)
    rows = list(zip(a, b, result, weight, strict=True))
    model = BradleyTerry(ties=ties, order_effect=order_effect).fit(a, b, weight, outcome=result)
    assert model.alpha_ == pytest.approx(1 / (2 * weight.sum() * model.prior_sd_**2))

    def criterion(log_sd):
        evidence = textbook_evidence(rows, N_ITEMS, np.exp(log_sd), order_effect, ties == "davidson")
        return evidence - log_sd**2 / 2

    at = np.log(model.prior_sd_)
    below, best, above = (criterion(at + step) for step in (-0.2, 0.0, 0.2))
    # The vertex of the parabola through the three.
    assert abs(0.1 * (below - above) / (below - 2 * best + above)) < 0.01
    assert best > max(below, above)


@pytest.mark.parametrize(("n_items", "n_matches"), [(20, 400), (60, 600)])
def test_traces_and_determinants_learn_the_same_prior(n_items, n_matches):
    a, b, result, weight = drawn(n_matches, n_items)
    counted = Comparisons.count(n_items, a, b, result, weight, ordered=True)
    loss = PairModel(counted, link_of("logistic", "davidson"), order_effect=True)
    rest = np.full(2, 1 / (2 * weight.sum()))
    assert learned_sd(loss, rest, dense=False) == pytest.approx(learned_sd(loss, rest), rel=0.02)


def test_the_prior_follows_the_spread_of_the_scores():
    rng = np.random.default_rng(0)
    for sd in (0.3, 1.0, 3.0):
        strength = rng.normal(0, sd, size=80)
        a, b = (part.ravel() for part in np.meshgrid(np.arange(80), np.arange(80)))
        a, b = a[a != b], b[a != b]
        won = rng.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))
        model = BradleyTerry().fit(a, b, outcome=won.astype(float))
        assert model.prior_sd_ == pytest.approx(strength.std(), rel=0.15)
        assert model.fit(a[:5], b[:5]).prior_sd_ < 3.0


def test_a_given_alpha_is_not_learned():
    a, b, result, weight = drawn()
    model = BradleyTerry(alpha=0.01).fit(a, b, weight, outcome=result)
    assert model.prior_sd_ is None
    assert model.alpha_ == 0.01
    assert model.predict_pair_proba(1, 3) == pytest.approx(
        1 / (1 + np.exp(model.scores_[3] - model.scores_[1]))
    )


@pytest.mark.parametrize("block_columns", [2, 256])
def test_predictions_average_over_the_posterior(block_columns, monkeypatch):
    """By MacKay's factor, which is close to the mean over draws of the difference."""
    monkeypatch.setattr(base, "BLOCK_COLUMNS", block_columns)
    a, b, result, _ = drawn(25)
    model = BradleyTerry(order_effect=True).fit(a, b, outcome=result)
    first, second = np.array([0, 1, 2, 4]), np.array([3, 2, 5, 4])
    posterior = model.set_params(intervals="posterior")
    d = model.scores_[first] - model.scores_[second]
    error = np.array([posterior.difference(i, j).standard_error for i, j in zip(first, second, strict=True)])
    expected = 1 / (1 + np.exp(-d / np.sqrt(1 + np.pi / 8 * error**2)))
    assert model.predict_pair_proba(first, second) == pytest.approx(expected, abs=1e-8)
    assert model.predict_pair_proba(0, 3) == pytest.approx(expected[0], abs=1e-8)
    draws = d + error * np.random.default_rng(0).normal(size=(100_000, 1))
    assert expected == pytest.approx((1 / (1 + np.exp(-draws))).mean(axis=0), abs=0.02)
    both = model.predict_match_proba(first, second)[:, 0] + model.predict_match_proba(second, first)[:, 2]
    assert both[3] == pytest.approx(
        1 / (1 + np.exp(-model.order_effect_)) + 1 / (1 + np.exp(model.order_effect_))
    )


def test_beyond_dense_covariances_predictions_use_the_diagonal(monkeypatch):
    a, b, result, _ = drawn(400, 20)
    model = BradleyTerry().fit(a, b, outcome=result)
    exact = model.predict_pair_proba([1, 2, 2], [3, 5, 2])
    monkeypatch.setattr(base, "DENSE_ITEMS", 10)
    assert model.predict_pair_proba([1, 2, 2], [3, 5, 2]) == pytest.approx(exact, abs=0.01)
    assert model.predict_pair_proba(2, 2) == 0.5


def test_matchmaking_is_warned_of():
    rng = np.random.default_rng(0)
    strength = np.sort(rng.normal(0, 2, size=30))
    a = rng.integers(0, 30, size=3000)
    b = np.clip(a + rng.choice([-2, -1, 1, 2], size=3000), 0, 29)
    a, b = a[a != b], b[a != b]
    won = (rng.random(len(a)) < 1 / (1 + np.exp(strength[b] - strength[a]))).astype(float)
    with pytest.warns(UserWarning, match="between items of similar scores"):
        BradleyTerry().fit(a, b, outcome=won)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BradleyTerry(alpha=1e-3).fit(a, b, outcome=won)


def test_an_interrupted_search_of_the_prior_ends_the_fit(monkeypatch):
    a, b, result, _ = drawn()
    model = BradleyTerry()
    at = PairModel.at
    calls = []

    def stop(self, parameters):
        calls.append(1)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return at(self, parameters)

    monkeypatch.setattr(PairModel, "at", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(a, b, outcome=result)
    assert len(calls) < 20
