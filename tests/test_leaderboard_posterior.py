"""Draws from the posterior of a leaderboard, compared with integrals on a grid."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t

from rankwise import BradleyTerry, load_model, save_model
from rankwise.leaderboard import bradley_terry
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.links import link_of
from rankwise.leaderboard.pair_model import PairModel
from rankwise.leaderboard.posterior import GRID, PosteriorSample, sampled_posterior
from rankwise.leaderboard.prior import Prior


def two_items(wins, losses):
    a = np.repeat([0, 1], [wins, losses])
    return PairModel(Comparisons.count(2, a, 1 - a, None, None, ordered=False), link_of("logistic"))


def integrated(wins, losses, log_sd):
    """Mean, and quantiles, of s_0 - s_1 by sums over a fine grid of differences and the grid of sd."""
    d = np.linspace(-80, 80, 64_001)
    likelihood = wins * np.log(expit(d)) + losses * np.log(expit(-d))
    density = np.zeros_like(d)
    for log in GRID if log_sd is None else [log_sd]:
        v = 2 * np.exp(2 * log)
        half_t = 0.0 if log_sd is not None else log - 2.5 * np.log1p(np.exp(2 * log) / 25)
        density += np.exp(likelihood - d**2 / (2 * v) + half_t) / np.sqrt(v)
    density /= density.sum()
    return density @ d, np.interp([0.025, 0.5, 0.975], np.cumsum(density), d)


@pytest.mark.parametrize("log_sd", [None, 0.0, 1.0])
@pytest.mark.parametrize(("wins", "losses"), [(3, 1), (1, 1), (6, 0)])
def test_the_sample_has_the_integrals_of_the_posterior(wins, losses, log_sd):
    sample = sampled_posterior(Prior(two_items(wins, losses), np.zeros(0), wins + losses), log_sd)
    difference = sample.parameters @ np.array([[1.0], [-1.0]])
    mean, (low, middle, high) = integrated(wins, losses, log_sd)
    reach = 5 * (high - low) / 4 / np.sqrt(sample.effective_size)
    assert sample.effective_size >= 1000
    assert sample.mean(difference)[0] == pytest.approx(mean, abs=reach)
    assert sample.interval(difference, 1e-9)[0][0] == pytest.approx(middle, abs=1.5 * reach)
    found = sample.interval(difference, 0.95)
    assert found[0][0] == pytest.approx(low, abs=4 * reach)
    assert found[1][0] == pytest.approx(high, abs=4 * reach)


def test_intervals_of_weighted_draws_are_weighted_quantiles():
    sample = PosteriorSample(np.zeros((4, 1)), np.array([0.1, 0.2, 0.3, 0.4]))
    values = np.array([[4.0, 1.0], [3.0, 2.0], [2.0, 3.0], [1.0, 4.0]])
    low, high = sample.interval(values, 0.5)
    np.testing.assert_array_equal(low, [1.0, 2.0])
    np.testing.assert_array_equal(high, [3.0, 4.0])


def test_a_sample_that_is_worth_little_is_warned_of(monkeypatch):
    monkeypatch.setattr("rankwise.leaderboard.posterior.BATCH", 50)
    monkeypatch.setattr("rankwise.leaderboard.posterior.MOST", 50)
    with pytest.warns(UserWarning, match="50 draws from the posterior are worth"):
        sampled_posterior(Prior(two_items(3, 1), np.zeros(0), 4.0), None)


def few_votes(**options):
    a, b = list("xxxxyyzwxy"), list("yyzwzwwzzx")
    return BradleyTerry(**options).fit(a, b)


@pytest.mark.parametrize("intervals", ["debiased", "posterior", "sampled"])
def test_the_probabilities_of_the_first_places_sum_to_their_number(intervals):
    model = few_votes(intervals=intervals)
    for k in (1, 2, 4, 9):
        chances = model.top_probabilities(k)
        assert chances.sum() == pytest.approx(min(k, 4))
        assert (np.diff(chances[np.argsort(model.scores_)]) > -0.02).all()
    np.testing.assert_allclose(model.top_probabilities(4), 1.0)


@pytest.mark.parametrize("intervals", ["posterior", "sampled"])
def test_of_two_items_the_best_is_the_one_with_the_higher_score(intervals):
    model = BradleyTerry(intervals=intervals).fit(["x"] * 5 + ["y"] * 2, ["y"] * 5 + ["x"] * 2)
    first, _ = model.top_probabilities()
    assert first == pytest.approx(model.difference("x", "y").probability, abs=0.02)


def test_clusters_make_the_first_place_less_certain():
    a, b = ["x"] * 30 + ["y"] * 20, ["y"] * 30 + ["x"] * 20
    users = [k // 10 for k in range(50)]
    apart = BradleyTerry().fit(a, b).top_probabilities()[0]
    assert BradleyTerry().fit(a, b, cluster=users).top_probabilities()[0] < apart


@pytest.mark.parametrize("options", [{}, {"alpha": 0.05}, {"ties": "davidson"}, {"order_effect": True}])
def test_sampled_intervals_hold_the_draws(options, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.integers(5, size=(2, 40))
    b = np.where(a == b, (b + 1) % 5, b)
    model = BradleyTerry(intervals="sampled", **options).fit(a, b, outcome=rng.choice([0, 0.5, 1], 40))
    board = model.leaderboard()
    for row in board:
        assert row.low < row.score < row.high
        assert 1 <= row.best_rank <= row.rank <= row.worst_rank <= 5
        assert row.standard_error == pytest.approx(model.standard_errors(row.item))
    difference = model.difference(board[0].item, board[1].item, confidence=0.5)
    assert difference.low < difference.difference < difference.high
    for effect in model.effects():
        assert effect.low < effect.value < effect.high
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").leaderboard() == board


@pytest.mark.filterwarnings("ignore:cluster has 3 values")
@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        ({}, {"cluster": [0, 1, 2]}, "independent votes"),
        ({}, {"weight": [0.5, 1, 1]}, "independent votes"),
        ({"alpha": 0}, {}, "needs a prior"),
    ],
)
def test_what_sampling_cannot_take_into_account_is_refused(options, more, message):
    with pytest.raises(ValueError, match=f"intervals='sampled' .*{message}"):
        BradleyTerry(intervals="sampled", **options).fit(list("xyz"), list("yzx"), **more)


def test_sampling_is_limited_to_a_hundred_items():
    names = np.arange(101)
    with pytest.raises(ValueError, match="limited to 100 items; there are 101"):
        BradleyTerry(intervals="sampled").fit(names, (names + 1) % 101)


def claims(n_boards, sd, n_items=12, n_votes=300):
    """Return the probabilities of `difference` of at least 95%, and whether each was right."""
    said, right = [], []
    i, j = np.triu_indices(n_items, 1)
    for seed in range(n_boards):
        rng = np.random.default_rng(seed)
        scores = sd * rng.normal(size=n_items)
        a = rng.integers(n_items, size=n_votes)
        b = (a + rng.integers(1, n_items, size=n_votes)) % n_items
        won = (rng.random(n_votes) < 1 / (1 + np.exp(scores[b] - scores[a]))).astype(float)
        model = BradleyTerry().fit(a, b, outcome=won)
        p = np.array([one.probability for one in model.differences(i.tolist(), j.tolist())])
        said += np.maximum(p, 1 - p).tolist()
        right += ((p > 0.5) == (scores[i] > scores[j])).tolist()
    clear = np.array(said) >= 0.95
    return int(clear.sum()), float(np.mean(np.array(right)[clear]))


def test_probabilities_of_nearly_equal_items_are_seldom_clear():
    """Under a flat prior there were six such claims per board, of which a quarter were wrong."""
    n_nearly_equal, _ = claims(25, 0.1)
    assert n_nearly_equal < 40
    n_clear, right = claims(25, 1.0)
    assert n_clear > 500
    assert right > 0.97


def test_probabilities_with_clusters_are_those_of_students_t():
    votes = [0, 0, 0, 1, 1, 2] * 5, [1, 1, 2, 2, 0, 1] * 5
    model = BradleyTerry(0.001).fit(*votes, cluster=np.repeat(np.arange(6), 5))
    posterior = model.set_params(intervals="posterior")._uncertainty()
    column = posterior.contrasts(np.array([[1.0], [-1.0], [0.0]]))
    ratio = (model.scores_[0] - model.scores_[1]) / np.sqrt(posterior.variances(column)[0])
    expected = t.cdf(ratio, posterior.freedom(column)[0])
    assert model.difference(0, 1).probability == pytest.approx(expected)


def test_probabilities_agree_on_both_sides_of_the_largest_mixture(monkeypatch):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=40)
    a = rng.integers(40, size=4000)
    b = (a + rng.integers(1, 40, size=4000)) % 40
    won = (rng.random(4000) < 1 / (1 + np.exp(scores[b] - scores[a]))).astype(float)
    model = BradleyTerry().fit(a, b, outcome=won)
    pairs = list(range(0, 38)), list(range(1, 39))
    found = [one.probability for one in model.differences(*pairs)]
    monkeypatch.setattr(bradley_terry, "EVIDENCE_ITEMS", 0)
    assert [one.probability for one in model.differences(*pairs)] == pytest.approx(found, abs=0.01)
