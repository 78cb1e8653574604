"""When a fit ends: at a share of what can be won, on features of any scale and on labels without a signal."""

import numpy as np
import pytest
from sklearn.base import clone

from rankwise import BradleyTerry, HullRanker, OrdinalSVM, RankLogistic, RankRLS, RankSVM
from rankwise.datasets import make_ranking
from rankwise.solvers.certificate import Certificate, StoppingRule
from rankwise.solvers.hull_interior_point import best_of_zero
from rankwise.solvers.hull_program import hull_program

X, Y, QID = make_ranking(300, 4, n_queries=10, n_levels=4, noise=1.0, random_state=0)
NOISE = np.random.default_rng(1).permutation(Y)
RANKERS = {
    "bundle": RankSVM(),
    "bmrm": RankSVM(solver="bmrm"),
    "newton": RankSVM(loss="squared_hinge"),
    "logistic": RankLogistic(),
    "primal": RankRLS(),
    "dual": RankRLS(solver="dual"),
    "conjugate gradients": RankRLS(solver="cg"),
    "kernel": RankSVM(kernel="rbf", n_components=20, random_state=0),
}


def start_of(model, y, qid):
    """The objective of the zero function."""
    if isinstance(model, RankLogistic):
        return np.log(2.0)
    if isinstance(model, RankSVM):
        return 1.0
    squares = [(y[qid == q][:, None] - y[qid == q]) ** 2 for q in np.unique(qid)]
    return float(np.mean([square[square > 0].sum() / square[square > 0].size for square in squares]))


def remaining_fraction(model, y, qid):
    return model.gap_ / (start_of(model, y, qid) - model.objective_ + model.gap_)


def test_the_target_gap_by_hand():
    rule = StoppingRule(0.5, np.array([1.0, 4.0]))
    assert rule.target(np.array([1.0, 2.0]), np.array([0.0, 1.0]), 0.125).tolist() == [0.125, 1.5]
    assert (
        StoppingRule(0.5, 1.0).target(1.0, 0.0, 3.0) == 0.5
    )  # rounding explains no more than a share of all
    assert StoppingRule(0.5, 1.0).target(1.0, np.inf) == 0.5  # no objective is negative
    assert not StoppingRule(0.5, 1.0).target(1.0, np.nan) >= 0
    # No target exceeds tol times J(0), so the rounding of larger gaps is not computed.
    near, far = (Certificate(2.0, 0.0, gap, lambda: (1.0, 0.25)) for gap in (1.0, 1.001))
    assert StoppingRule(0.5, 2.0).target_gap(near) == 0.5
    assert far._known is None
    assert StoppingRule(0.5, 2.0).target_gap(far) == pytest.approx(0.5005)
    assert far._known is None


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("labels", [Y, NOISE], ids=["signal", "noise"])
def test_the_suboptimality_of_a_fit_is_below_the_tolerance(name, labels):
    for scale in (1.0, 1e-2, 1e-3):
        model = clone(RANKERS[name]).fit(X * scale, labels, qid=QID)
        assert remaining_fraction(model, labels, QID) <= model.tol


@pytest.mark.parametrize("name", sorted(RANKERS.keys() - {"kernel"}))
def test_small_features_are_ranked_as_well_as_large_ones(name):
    """With a strong penalty only the direction of the slopes at zero matters, whatever the scale."""
    strong = clone(RANKERS[name]).set_params(alpha=1e3).fit(X, Y, qid=QID)
    for scale in (1e-3, 1e-6, 1e-12, 1e-100):
        small = clone(strong).fit(X * scale, Y, qid=QID)
        cosine = small.coef_ @ strong.coef_ / np.linalg.norm(small.coef_) / np.linalg.norm(strong.coef_)
        assert cosine == pytest.approx(1.0, abs=1e-3)
        assert small.score(X * scale, Y, qid=QID) > 0.7


@pytest.mark.parametrize("name", RANKERS)
def test_where_zero_is_the_optimum_a_fit_ends_at_once(name):
    rows, labels = np.concatenate([X, X]), np.concatenate([Y, -Y])
    model = clone(RANKERS[name]).fit(rows, labels, qid=np.concatenate([QID, QID + 100]))
    assert model.n_iter_ <= 10
    assert np.abs(model.predict(rows)).max() < 1e-9
    assert model.gap_ < 1e-9


@pytest.mark.parametrize("name", ["bundle", "newton", "logistic"])
def test_labels_without_a_signal_take_few_iterations(name):
    model = clone(RANKERS[name]).set_params(alpha=1e-3).fit(X, NOISE, qid=QID)
    assert model.n_iter_ <= 40


def test_an_ordinal_fit_of_small_features():
    model = OrdinalSVM().fit(X * 1e-3, Y)
    assert model.gap_ <= 1e-3 * (1 - model.objective_ + model.gap_)
    assert np.corrcoef(model.utility(X), Y)[0, 1] > 0.5


@pytest.mark.parametrize("slack", ["squared", "absolute"])
def test_a_hull_fit_of_small_features(slack):
    model = HullRanker(slack=slack, tol=1e-4).fit(X * 1e-3, Y)
    edges = np.array([[1, 0], [2, 1], [3, 2]])
    start = best_of_zero(hull_program(Y.astype(int), edges, slack=slack, slack_per="edge")).bound
    assert model.gap_ <= 1e-3 * (start - model.objective_ + model.gap_) * (1 + 1e-6)
    assert np.corrcoef(model.predict(X), Y)[0, 1] > 0.5


@pytest.mark.parametrize("slack_per", ["row", "edge"])
def test_the_objective_of_zero_for_two_classes(slack_per):
    """Of 3 rows above 1: thresholds L and L - 1 cost 3 L^2 + (1 - L)^2, or 3 L + 1 - L, over 4."""
    programs = {
        slack: hull_program(np.array([1, 1, 1, 0]), np.array([[1, 0]]), slack=slack, slack_per=slack_per)
        for slack in ("squared", "absolute", "none")
    }
    assert best_of_zero(programs["squared"]).bound == pytest.approx(3 / 16, rel=1e-9)
    assert best_of_zero(programs["absolute"]).bound == pytest.approx(1 / 4, rel=1e-9)
    assert best_of_zero(programs["none"]) is None


def test_scores_of_few_weak_comparisons_are_not_all_equal():
    model = BradleyTerry(alpha=10.0, tol=1e-2).fit(["a", "a", "b"], ["b", "b", "a"])
    assert model.gap_ <= 1e-2 * (np.log(2) - model.objective_ + model.gap_)
    assert model.scores_[0] > model.scores_[1]
