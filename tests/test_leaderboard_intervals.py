"""Intervals of leaderboards: without the bias of the penalty, with weights and clusters; ranges of ranks."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm, t

from rankwise import BradleyTerry, CrowdBradleyTerry, load_model, save_model
from rankwise.leaderboard import base, table, undecided_pairs
from rankwise.leaderboard.anytime import level
from rankwise.leaderboard.table import rank_ranges, step_down_ranges
from rankwise.leaderboard.uncertainty import normal_draws
from test_bradley_terry import N_ITEMS, drawn

CENTRE = np.eye(N_ITEMS) - 1 / N_ITEMS


def design_of(a, b):
    """One row per match: +1 for the first item and -1 for the second."""
    return np.eye(N_ITEMS)[a] - np.eye(N_ITEMS)[b]


def firth_scores(X, y, w):
    """The root of the score of Firth (1993), sum of w x (y - p + h (1/2 - p)), and the inverse information.

    h is the leverage of a match per unit of its weight. By Fisher scoring.
    """
    scores = np.zeros(X.shape[1])
    for _ in range(200):
        p = 1 / (1 + np.exp(-X @ scores))
        inverse = np.linalg.pinv((X.T * (w * p * (1 - p))) @ X)
        h = p * (1 - p) * np.einsum("ij,jk,ik->i", X, inverse, X)
        scores = scores + inverse @ X.T @ (w * (y - p + h * (0.5 - p)))
    p = 1 / (1 + np.exp(-X @ scores))
    return scores - scores.mean(), p, np.linalg.pinv((X.T * (w * p * (1 - p))) @ X)


def ends_of(model, confidence=0.95):
    """Standard errors and ends of intervals, in the order of the items."""
    rows = sorted(model.leaderboard(confidence=confidence), key=lambda row: row.item)
    return np.array([(row.standard_error, row.low, row.high) for row in rows]).T


def test_intervals_are_those_of_firth():
    a, b, result, weight = drawn()
    model = BradleyTerry().fit(a, b, weight, outcome=result)
    scores, _, covariance = firth_scores(design_of(a, b), result, weight)
    error, low, high = ends_of(model, 0.9)
    assert error == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)
    assert low == pytest.approx(scores - norm.isf(0.05) * error, rel=1e-6)
    assert high == pytest.approx(scores + norm.isf(0.05) * error, rel=1e-6)
    assert model.standard_errors([2, 0]) == pytest.approx(error[[2, 0]])
    apart = model.difference(3, 1)
    contrast = np.eye(N_ITEMS)[3] - np.eye(N_ITEMS)[1]
    assert apart.standard_error == pytest.approx(np.sqrt(contrast @ covariance @ contrast), rel=1e-6)
    assert (apart.low + apart.high) / 2 == pytest.approx(scores[3] - scores[1], rel=1e-6)
    assert apart.difference == pytest.approx(model.scores_[3] - model.scores_[1])
    low, high = model.predict_pair_interval(3, 1)
    assert (low, high) == pytest.approx((1 / (1 + np.exp(-apart.low)), 1 / (1 + np.exp(-apart.high))))


@pytest.mark.parametrize("dense_items", [0, 3000])
def test_weights_that_are_not_counts_have_a_sandwich(dense_items, monkeypatch):
    monkeypatch.setattr(base, "DENSE_ITEMS", dense_items)
    a, b, result, _ = drawn()
    weight = np.random.default_rng(1).lognormal(size=len(a))
    model = BradleyTerry().fit(a, b, weight, outcome=result)
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert model.alpha_ == pytest.approx(1 / (2 * effective * model.prior_sd_**2))
    X, w = design_of(a, b), weight / weight.mean()
    _, p, bread = firth_scores(X, result, w * effective / len(a))
    bread *= effective / len(a)
    covariance = bread @ (X.T * (w**2 * p * (1 - p))) @ X @ bread
    assert model.standard_errors() == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-5)
    contrast = np.eye(N_ITEMS)[3] - np.eye(N_ITEMS)[1]
    error = np.sqrt(contrast @ covariance @ contrast)
    assert model.difference(3, 1).standard_error == pytest.approx(error, rel=1e-6)
    twice = BradleyTerry().fit(a, b, 7.3 * weight, outcome=result)
    assert ends_of(twice) == pytest.approx(ends_of(model), rel=1e-6)


def root_inverse(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors / np.sqrt(values)) @ vectors.T


def textbook_clusters(X, y, p, bread, cluster, contrast):
    """CR2 of Bell and McCaffrey with weights p q: meat, and degrees of freedom of a contrast.

    In the working variables of least squares, sqrt(pq) X and (y - p) / sqrt(pq), each cluster has residuals
    adjusted by (I - H_gg)^(-1/2).
    """
    root = np.sqrt(p * (1 - p))
    Z, e = root[:, None] * X, (y - p) / root
    hat = np.eye(len(Z)) - Z @ bread @ Z.T
    meat, columns = np.zeros((X.shape[1],) * 2), []
    for label in np.unique(cluster):
        rows = cluster == label
        adjusted = root_inverse(hat[np.ix_(rows, rows)])
        score = Z[rows].T @ adjusted @ e[rows]
        meat += np.outer(score, score)
        columns.append(hat[:, rows] @ adjusted @ Z[rows] @ bread @ contrast)
    gram = np.array(columns) @ np.array(columns).T
    return meat, np.trace(gram) ** 2 / (gram**2).sum()


def test_clusters_have_cr2_errors_and_their_degrees_of_freedom():
    a, b, result, _ = drawn(90, ties=0.0)
    cluster = np.random.default_rng(2).integers(12, size=len(a))
    model = BradleyTerry().fit(a, b, outcome=result, cluster=[f"user {k}" for k in cluster])
    X = design_of(a, b)
    scores, p, bread = firth_scores(X, result, np.ones(len(a)))
    contrast = np.eye(N_ITEMS)[3] - np.eye(N_ITEMS)[1]
    meat, freedom = textbook_clusters(X, result, p, bread, cluster, contrast)
    error = np.sqrt(contrast @ bread @ meat @ bread @ contrast)
    apart = model.difference(3, 1)
    assert apart.standard_error == pytest.approx(error, rel=1e-6)
    assert apart.high - apart.low == pytest.approx(2 * t.isf(0.025, freedom) * error, rel=1e-6)
    own, freedom = textbook_clusters(X, result, p, bread, cluster, CENTRE[2])
    error, _, high = ends_of(model)
    assert error[2] == pytest.approx(np.sqrt(CENTRE[2] @ bread @ own @ bread @ CENTRE[2]), rel=1e-6)
    assert high[2] == pytest.approx(scores[2] + t.isf(0.025, freedom) * error[2], rel=1e-6)
    assert model.scores_ == pytest.approx(BradleyTerry().fit(a, b, outcome=result).scores_)


def test_clusters_of_copies_have_the_errors_of_single_votes():
    a, b, result, _ = drawn(200)
    three = [np.repeat(column, 3) for column in (a, b, result)]
    model = BradleyTerry().fit(*three[:2], outcome=three[2], cluster=np.repeat(np.arange(200), 3))
    single = BradleyTerry().fit(a, b, outcome=result, cluster=np.arange(200))
    naive = BradleyTerry().fit(*three[:2], outcome=three[2])
    assert model.standard_errors() == pytest.approx(single.standard_errors(), rel=0.05)
    assert (model.standard_errors() > 1.3 * naive.standard_errors()).all()


@pytest.mark.parametrize(("ties", "order_effect"), [("half", True), ("davidson", True), ("davidson", False)])
def test_clusters_of_single_votes_are_near_the_information(ties, order_effect):
    a, b, result, _ = drawn(4000)
    model = BradleyTerry(ties=ties, order_effect=order_effect).fit(a, b, outcome=result)
    expected = [model.standard_errors(), [one.standard_error for one in model.effects()]]
    model.fit(a, b, outcome=result, cluster=np.arange(len(a)))
    if ties == "davidson":
        assert model.standard_errors() == pytest.approx(expected[0], rel=0.1)
        assert [one.standard_error for one in model.effects()] == pytest.approx(expected[1], rel=0.1)
    else:  # ties as halves vary less than wins and losses
        assert (model.standard_errors() < expected[0]).all()


def test_two_ways_add_and_subtract_their_intersection():
    a, b, result, _ = drawn(400)
    rng = np.random.default_rng(3)
    user, prompt = rng.integers(20, size=400), rng.integers(25, size=400)
    frame = pd.DataFrame({"user": user, "prompt": prompt})
    models = [
        BradleyTerry().fit(a, b, outcome=result, cluster=cluster)
        for cluster in ((user, prompt), frame, np.stack([user, prompt], axis=1), [user.tolist(), prompt])
    ]
    for model in models[1:]:
        assert ends_of(model) == pytest.approx(ends_of(models[0]))
    same = BradleyTerry().fit(a, b, outcome=result, cluster=(user, np.arange(400)))
    one = BradleyTerry().fit(a, b, outcome=result, cluster=user)
    # The second way is the intersection, up to the corrections of few clusters.
    assert same.standard_errors() == pytest.approx(one.standard_errors(), rel=0.03)


def test_effects_have_intervals():
    a, b, result, _ = drawn(3000)
    model = BradleyTerry(ties="davidson", order_effect=True).fit(a, b, outcome=result)
    order, tie = model.effects()
    assert (order.name, order.value) == ("order effect", pytest.approx(model.order_effect_))
    assert (tie.name, tie.value) == ("tie effect", pytest.approx(model.tie_effect_))
    assert order.low < 0.5 < order.high
    assert tie.low < tie.value < tie.high
    assert np.log(tie.high / tie.low) == pytest.approx(
        2 * 1.959964 * tie.standard_error / tie.value, rel=1e-3
    )
    assert BradleyTerry().fit(a, b, outcome=result).effects() == []
    features = {k: [k / 2.0] for k in range(N_ITEMS)}
    (weight,) = BradleyTerry().fit(a, b, outcome=result, features=features).effects()
    assert weight.name == "feature 0"
    assert weight.low < weight.value < weight.high


def test_items_that_matches_do_not_link_have_posterior_intervals():
    with pytest.warns(UserWarning, match="never compared"):
        model = BradleyTerry().fit(["a", "b", "c", "d"], ["b", "a", "d", "c"])
    assert model.leaderboard() == model.set_params(intervals="posterior").leaderboard()
    # The first always wins at home: its score and the order effect cannot be told apart.
    confounded = BradleyTerry(order_effect=True).fit(["a"] * 6, ["b"] * 6, outcome=[1, 1, 1, 1, 0, 1])
    assert confounded.effects()[0].standard_error < 2.0


def test_ranges_of_ranks_by_steps_are_valid_and_narrower_than_bonferroni():
    rng, inside, widths = np.random.default_rng(0), [], []
    truth = np.linspace(0, 5, 12)
    rank = 12 - np.arange(12)
    for _ in range(60):
        scores = truth + 0.5 * rng.normal(size=12)
        best, worst = step_down_ranges(scores, 0.25 * np.eye(12), 0.9)
        _, wide_best, wide_worst = rank_ranges(scores, [0.25 * np.eye(12)], 0.9)
        assert (best >= wide_best).all()
        assert (worst <= wide_worst).all()
        inside.append((best <= rank) & (rank <= worst))
        widths.append(((worst - best).mean(), (wide_worst - wide_best).mean()))
    assert np.mean(inside) >= 0.9
    step, bonferroni = np.mean(widths, axis=0)
    assert step < 0.95 * bonferroni
    few, _ = step_down_ranges(truth, 0.25 * np.eye(12), 0.9, freedom=4.0)
    many, _ = step_down_ranges(truth, 0.25 * np.eye(12), 0.9)
    assert few.sum() < many.sum()


def test_two_items_have_the_one_sided_quantile():
    """Of one difference only one direction can be an error."""
    margin = norm.isf(0.05) * np.sqrt(2)
    assert step_down_ranges(np.array([1.1 * margin, 0.0]), np.eye(2), 0.95)[0].tolist() == [1, 2]
    assert step_down_ranges(np.array([0.9 * margin, 0.0]), np.eye(2), 0.95)[0].tolist() == [1, 1]


def test_a_model_file_keeps_clusters_and_weights(tmp_path):
    a, b, result, _ = drawn(100)
    more = [
        {"cluster": np.arange(100) % 9},
        {"cluster": (np.arange(100) % 9, np.arange(100) // 10)},
        {"weight": np.linspace(0.1, 2, 100)},
    ]
    for options in more:
        model = BradleyTerry(ties="davidson").fit(a, b, outcome=result, **options)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        assert loaded.leaderboard() == model.leaderboard()
        assert loaded.effects() == model.effects()


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ([1, 2], "cluster has 2 entries for 3 matches"),
        ([1, 1, 1], "cluster has 1 value; errors need at least 3 clusters"),
        ([1, 1, 2], "cluster has 2 values; errors need at least 3 clusters"),
        ([1, None, 2], "cluster is missing in row 1"),
        (([1, 2, 3],) * 3, "cluster must be one column or two; got 3"),
    ],
)
def test_bad_clusters_are_refused(cluster, message):
    with pytest.raises(ValueError, match=message):
        BradleyTerry().fit(["a", "b", "a"], ["b", "c", "c"], cluster=cluster)


@pytest.mark.filterwarnings("ignore:cluster has 3 values")
def test_clusters_of_too_many_items_are_refused(monkeypatch):
    monkeypatch.setattr(base, "DENSE_ITEMS", 2)
    with pytest.raises(ValueError, match="cluster is limited to 2 items; there are 3"):
        BradleyTerry().fit(["a", "b", "a"], ["b", "c", "c"], cluster=[1, 2, 3])


@pytest.mark.parametrize("options", [{}, {"cluster": np.arange(150) % 15}])
def test_ranges_of_ranks_do_not_depend_on_names(options):
    a, b, result, _ = drawn(150)
    boards, chances = [], []
    for seed in range(5):
        names = np.random.default_rng(seed).permutation(N_ITEMS)
        model = BradleyTerry().fit(names[a], names[b], outcome=result, **options)
        number = dict(zip(names.tolist(), range(N_ITEMS), strict=True))
        boards.append({number[row.item]: (row.best_rank, row.worst_rank) for row in model.leaderboard()})
        chances.append(model.top_probabilities(2)[names])
    assert all(board == boards[0] for board in boards)
    assert np.ptp(chances, axis=0).max() < 1e-9


def test_draws_have_the_covariance_of_differences():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(5, 5))
    covariance = root @ root.T
    covariance -= covariance.mean(axis=0)
    covariance -= covariance.mean(axis=1, keepdims=True)
    draws = normal_draws(np.arange(5.0), covariance, 20_000)
    apart = draws - draws.mean(axis=1, keepdims=True)
    assert np.cov(apart.T) == pytest.approx(covariance, abs=0.05 * np.diag(covariance).max())


def test_ranges_of_ranks_agree_on_both_sides_of_the_largest_step_down(monkeypatch):
    a, b, result, _ = drawn(600, 12)
    model = BradleyTerry().fit(a, b, outcome=result)
    small = model.leaderboard()
    monkeypatch.setattr(base, "STEP_DOWN_ITEMS", 0)
    large = model.leaderboard()
    assert [row[:6] for row in small] == [row[:6] for row in large]
    for row, wide in zip(small, large, strict=True):  # Bonferroni is wider
        assert wide.best_rank <= row.best_rank <= row.worst_rank <= wide.worst_rank
    widths = [np.mean([row.worst_rank - row.best_rank for row in board]) for board in (small, large)]
    assert widths[1] < 1.5 * widths[0]


def test_few_clusters_are_warned_of():
    a, b, result, _ = drawn()
    with pytest.warns(UserWarning, match="cluster has 4 values: intervals by so few clusters are very long"):
        BradleyTerry().fit(a, b, outcome=result, cluster=np.arange(len(a)) % 4)
    BradleyTerry().fit(a, b, outcome=result, cluster=np.arange(len(a)) % 5)


@pytest.mark.parametrize("names", [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3], [1, 0, 3, 4, 2]])
def test_an_end_far_from_the_optimum_is_found_for_any_names(names):
    """Two equal items, two that beat them always, and one that beats all: chords do not settle there."""
    pairs = [(2, 3)] * 6 + [(3, 2)] * 6 + [(1, 2), (1, 3), (4, 2), (4, 3)] * 4 + [(1, 4), (4, 1)]
    pairs += [(0, 1), (0, 4), (0, 2), (0, 3)] * 4
    winner, loser = np.array(names)[np.array(pairs).T]
    model = BradleyTerry().fit(winner, loser)
    row = next(row for row in model.leaderboard() if row.item == names[0])
    assert row.high == np.inf
    reference = BradleyTerry().fit(*np.array(pairs).T).leaderboard()
    assert row.low == pytest.approx(next(one.low for one in reference if one.item == 0), abs=0.02)
    assert row.low < row.score


def textbook_ranges(scores, covariance, draws, confidence):
    """Romano and Wolf (2005): quantiles of the largest error at all places of an item among the others."""
    n, variance = len(scores), np.diag(covariance)
    errors = np.sqrt(variance[:, None] + variance - 2 * covariance)
    best, worst = np.ones(n, dtype=int), np.full(n, n)
    for item in range(n):
        open_ = [j for j in np.argsort(-scores) if j != item]
        while open_:
            noise = (draws[:, [item]] - draws[:, open_]) / errors[item, open_]
            largest = [np.hstack([noise[:, :c], -noise[:, c:]]).max(axis=1) for c in range(len(open_) + 1)]
            z = max(np.quantile(one, confidence, method="higher") for one in largest)
            apart = (scores[item] - scores[open_]) / errors[item, open_]
            best[item] += (apart < -z).sum()
            worst[item] -= (apart > z).sum()
            left = [j for j, a in zip(open_, apart, strict=True) if abs(a) <= z]
            if len(left) == len(open_):
                break
            open_ = left
    return best.tolist(), worst.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_ranges_of_ranks_are_those_of_the_textbook(seed):
    rng = np.random.default_rng(seed)
    factor = 0.15 * rng.normal(size=(15, 15))
    covariance, scores = factor @ factor.T + 0.01 * np.eye(15), (0.3, 1.0)[seed % 2] * rng.normal(size=15)
    draws = normal_draws(scores, covariance, table.DRAWS)
    found = step_down_ranges(scores, covariance, 0.9)
    assert tuple(ends.tolist() for ends in found) == textbook_ranges(scores, covariance, draws, 0.9)


def test_intervals_for_all_looks_are_fixed_ones_of_a_higher_level():
    a, b, won = votes_of_few(np.random.default_rng(0))
    for cluster, units in ((None, len(a)), (np.arange(len(a)) % 40, 40)):
        model = BradleyTerry().fit(a, b, outcome=won, cluster=cluster)
        high = level(0.9, units, "anytime", 150)
        one = model.difference("x", "y", confidence=0.9, intervals="anytime", planned=150)
        other = model.difference("x", "y", confidence=high)
        assert (one.low, one.high) == pytest.approx((other.low, other.high))
        chances = model.predict_pair_interval("x", "y", confidence=0.9, intervals="anytime", planned=150)
        assert chances == pytest.approx(tuple(expit([one.low, one.high])))


@pytest.mark.parametrize("model", [BradleyTerry(intervals="posterior"), CrowdBradleyTerry()])
def test_intervals_for_all_looks_are_refused_if_unknown(model):
    a, b, won = votes_of_few(np.random.default_rng(0))
    extra = {"judge": np.arange(len(a)) % 5} if isinstance(model, CrowdBradleyTerry) else {}
    model.fit(a, b, outcome=won, **extra)
    with pytest.raises(ValueError, match="is for BradleyTerry with"):
        model.difference("x", "y", intervals="anytime")
    with pytest.raises(ValueError, match="intervals must be"):
        BradleyTerry().fit(a, b, outcome=won).difference("x", "y", intervals="daily")


def votes_of_few(rng):
    """Votes on three items."""
    a, b = rng.permuted(np.tile(["x", "y", "z"], (200, 1)), axis=1)[:, :2].T
    return a, b, (rng.random(200) < 0.6) * 1.0


@pytest.mark.parametrize("top", [1, 2, 3])
def test_undecided_pairs_are_those_of_a_loop(top):
    a, b, won = votes_of_few(np.random.default_rng(0))
    won[(a == "x") & (b != "x")] = 1.0
    model = BradleyTerry(0.01).fit(a, b, outcome=won)
    items = [row.item for row in model.leaderboard()]
    expected = []
    for i in range(min(top, 3)):
        for j in range(i + 1, 3):
            one = model.difference(items[i], items[j], intervals="anytime", planned=100)
            if one.low <= 0 <= one.high:
                expected.append((items[i], items[j]))
    assert undecided_pairs(model, top, planned=100) == expected
    assert len(expected) < 3
