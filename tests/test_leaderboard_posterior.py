"""Posterior probabilities of an order: of two items, and of the first places."""

import numpy as np
import pytest
from scipy.stats import t

from rankwise import BradleyTerry
from rankwise.leaderboard import bradley_terry


def few_votes(**options):
    a, b = list("xxxxyyzwxy"), list("yyzwzwwzzx")
    return BradleyTerry(**options).fit(a, b)


@pytest.mark.parametrize("intervals", ["debiased", "posterior"])
def test_the_probabilities_of_the_first_places_sum_to_their_number(intervals):
    model = few_votes(intervals=intervals)
    for k in (1, 2, 4, 9):
        chances = model.top_probabilities(k)
        assert chances.sum() == pytest.approx(min(k, 4))
        assert (np.diff(chances[np.argsort(model.scores_)]) > -0.02).all()
    np.testing.assert_allclose(model.top_probabilities(4), 1.0)


def test_of_two_items_the_best_is_the_one_with_the_higher_score():
    model = BradleyTerry(intervals="posterior").fit(["x"] * 5 + ["y"] * 2, ["y"] * 5 + ["x"] * 2)
    first, _ = model.top_probabilities()
    assert first == pytest.approx(model.difference("x", "y").probability, abs=0.02)


def test_clusters_make_the_first_place_less_certain():
    a, b = ["x"] * 30 + ["y"] * 20, ["y"] * 30 + ["x"] * 20
    users = [k // 10 for k in range(50)]
    apart = BradleyTerry().fit(a, b).top_probabilities()[0]
    assert BradleyTerry().fit(a, b, cluster=users).top_probabilities()[0] < apart


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
