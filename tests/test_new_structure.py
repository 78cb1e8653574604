"""A preference structure that the library has never heard of goes through all of it.

Heats of a race: in each heat the winners should be above all others. The class says its pairs, how it is
weighted and how rows are taken from it, and nothing else.
"""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, cross_val_score

import independent
import reference
from rankwise import HullRanker, NoPairsError, Preferences, RankRLS, RankRLSCV, RankSVM
from rankwise.distributed.whole_queries import partition_preferences
from rankwise.losses import Hinge, LeastSquares, SquaredHinge
from rankwise.metrics import ranking_error
from rankwise.model_selection import EdgeOfGridWarning, QueryKFold, leave_pair_out, leave_query_out
from rankwise.preferences import Pairs
from rankwise.report import Report
from strategies import SCORES, WEIGHTS, vector


class Heats(Preferences):
    def __init__(self, heat, won, weight):
        self.heat, self.won, self.weight = heat, won, weight
        self.n_rows = len(heat)

    def pairs(self):
        better, worse = np.nonzero((self.heat[:, None] == self.heat) & self.won[:, None] & ~self.won)
        weight = self.weight[better] * self.weight[worse]
        better, worse, weight = (column[weight > 0] for column in (better, worse, weight))
        return Pairs(better, worse, 1.0 + self.heat[better], weight)

    def weighted(self, sample_weight):
        return Heats(self.heat, self.won, self.weight * sample_weight)

    def _take(self, rows):
        return Heats(self.heat[rows], self.won[rows], self.weight[rows])


def textbook(heats):
    """The pairs as `reference` takes them; the mean is over all of them."""
    rows = range(heats.n_rows)
    pairs = [
        (i, j, heats.weight[i] * heats.weight[j], 1.0 + heats.heat[i], 0)
        for i in rows
        for j in rows
        if heats.heat[i] == heats.heat[j] and heats.won[i] and not heats.won[j]
    ]
    return reference.normalised([pair for pair in pairs if pair[2] > 0])


@st.composite
def heats(draw, max_rows=12):
    n = draw(st.integers(2, max_rows))
    heat = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    won = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    structure = Heats(heat, won, vector(draw, WEIGHTS, n))
    assume(structure.n_pairs > 0)
    return structure, vector(draw, SCORES, n)


def races(n_heats=12, size=5, seed=0):
    """Rows of heats that their first feature decides, up to noise; weights differ."""
    rng = np.random.default_rng(seed)
    heat = rng.permutation(np.repeat(np.arange(n_heats), size))
    X = rng.normal(size=(len(heat), 4))
    speed = X[:, 0] + 0.5 * rng.normal(size=len(heat))
    best = np.array([speed[heat == k].max() for k in range(n_heats)])
    return X, Heats(heat, speed == best[heat], rng.uniform(0.5, 2.0, len(heat)))


def close(actual, expected, scores):
    size = 1 + np.abs(expected).max() + np.abs(scores).max() ** 2
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11 * size)


@settings(max_examples=100, deadline=None)
@given(heats(), st.sampled_from(["queries", "pairs"]))
def test_losses_are_the_textbook_formulas(drawn, average):
    structure, scores = drawn
    pairs = textbook(structure)
    references = {
        Hinge: reference.hinge(pairs, scores),
        SquaredHinge: reference.squared_hinge(pairs, scores),
        LeastSquares: reference.least_squares(pairs, scores, "magnitude"),
    }
    for loss, (expected_value, expected_coefficients) in references.items():
        value, coefficients = loss(structure, average=average).value_and_coefficients(scores)
        close(value, expected_value, scores)
        close(coefficients, expected_coefficients, scores)
    listed = structure.mean_pairs(average)
    np.testing.assert_allclose(listed.weight, [pair[2] for pair in pairs], rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(heats())
def test_the_ranking_error_counts_ties_one_half(drawn):
    structure, scores = drawn
    pairs = textbook(structure)
    wrong = sum(w * (1 - np.sign(scores[i] - scores[j])) / 2 for i, j, w, *_ in pairs)
    assert ranking_error(structure, scores) == pytest.approx(wrong, abs=1e-12)


@pytest.mark.parametrize(("loss", "solver"), [("hinge", "bundle"), ("squared_hinge", "newton")])
def test_rank_svm_finds_the_optimum(loss, solver):
    X, structure = races()
    model = RankSVM(alpha=0.05, loss=loss, solver=solver, tol=1e-6).fit(X, structure)
    optimum = independent.solve(X, textbook(structure), 0.05, loss)
    assert optimum.lower - 1e-9 <= model.objective_ <= optimum.objective + 1e-5
    assert model.n_pairs_ == 12 * 4


@pytest.mark.parametrize("cost", ["unit", "magnitude", "relative"])
@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
def test_rank_rls_solves_the_normal_equations(cost, solver):
    X, structure = races()
    M, N = reference.incidence(textbook(structure), len(X), cost)
    model = RankRLS(alpha=0.05, cost=cost, solver=solver, tol=1e-12).fit(X, structure)
    np.testing.assert_allclose(model.coef_, reference.primal_solution(X.T, M, N, 0.05), atol=1e-9)


def test_folds_keep_heats_together_and_searches_take_it_as_y():
    X, structure = races()
    for train, test in QueryKFold(3).split(X, structure):
        assert not set(structure.heat[train]) & set(structure.heat[test])
        assert structure[train].n_pairs + structure[test].n_pairs == structure.n_pairs
    scores = cross_val_score(RankSVM(), X, structure, cv=QueryKFold(3))
    assert len(scores) == 3
    assert scores.min() > 0.8
    search = GridSearchCV(RankRLS(), {"alpha": [10.0, 0.1]}, cv=QueryKFold(3)).fit(X, structure)
    for alpha, score in zip([10.0, 0.1], search.cv_results_["mean_test_score"], strict=True):
        assert score == np.mean(cross_val_score(RankRLS(alpha), X, structure, cv=QueryKFold(3)))
    errors = leave_query_out(RankRLS(), X, structure, alphas=[10.0, 0.1]).error
    with warnings.catch_warnings():  # whichever is best
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        chosen = RankRLSCV([10.0, 0.1]).fit(X, structure)
    np.testing.assert_allclose(chosen.cv_errors_, errors, atol=1e-12)


@pytest.mark.parametrize("cost", ["unit", "magnitude", "relative"])
def test_leaving_a_heat_out_equals_retraining(cost):
    X, structure = races(n_heats=5)
    model = RankRLS(alpha=0.1, cost=cost)
    result = leave_query_out(model, X, structure)
    for heat in range(5):
        test = structure.heat == heat
        np.testing.assert_allclose(
            result.predictions[test], model.fit(X[~test], structure[~test]).predict(X[test]), atol=1e-9
        )


def test_leaving_a_pair_out_equals_retraining():
    X, structure = races(n_heats=3, size=4)
    model = RankRLS(alpha=0.1)
    predictions = leave_pair_out(model, X, structure).predictions
    for i, j, *_ in textbook(structure):
        rest = np.delete(np.arange(len(X)), [i, j])
        np.testing.assert_allclose(
            [predictions[i, j], predictions[j, i]],
            model.fit(X[rest], structure[rest]).predict(X[[i, j]]),
            atol=1e-9,
        )


def test_partitions_between_heats_add_up():
    _, structure = races(n_heats=6)
    order = np.argsort(structure.heat, kind="stable")
    structure, borders = structure[order], np.array([0, 10, 10, 25, 30])
    scores = np.random.default_rng(0).normal(size=30)
    for loss in (Hinge(structure), SquaredHinge(structure)):
        parts = partition_preferences(loss, borders)
        values = [
            part.fraction * type(loss)(part.preferences).value(scores[begin:end])
            for part, begin, end in zip(parts, borders[:-1], borders[1:], strict=True)
            if part.fraction > 0
        ]
        assert sum(values) == pytest.approx(loss.value(scores), rel=1e-12)


def test_the_report_has_the_numbers_of_score():
    X, structure = races()
    model = RankSVM().fit(X, structure)
    found = Report(model, X, structure).measures["RankSVM"]
    assert [one.measure.key for one in found] == ["error"]
    assert 1 - found[0].mean == pytest.approx(model.score(X, structure), abs=1e-12)


def test_what_it_does_not_have_is_refused_with_a_sentence():
    X, structure = races()
    with pytest.raises(NoPairsError, match="no pair with a positive weight joins two of the 60 rows"):
        RankSVM().fit(X, Heats(structure.heat, np.ones(60, bool), structure.weight))
    with pytest.raises(ValueError, match=r"HullRanker ranks classes.* got a Heats"):
        HullRanker().fit(X, structure)
