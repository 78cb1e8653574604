"""Losses as objects with parameters: over pairs, in estimators, in model files and on workers."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

import reference
from rankwise import (
    BoostedRanker,
    CurveRanker,
    KernelRanker,
    OrdinalSVM,
    Preferences,
    RankSVM,
    RankSVMCV,
    load_model,
    save_model,
)
from rankwise.datasets import make_ordinal, make_ranking
from rankwise.distributed import whole_queries
from rankwise.losses import LOSSES, Hinge, HuberHinge, LeastSquares, PiecewiseLinear, SquaredHinge, loss_over
from strategies import cases

WIDTHS = st.floats(0.01, 0.99)
X, y, qid = make_ranking(200, 4, n_queries=8, n_levels=4, noise=1.0, random_state=0)


class WideHinge(PiecewiseLinear):
    """Mean over pairs of max(0, margin - (s_better - s_worse))."""

    formula = "mean over pairs of max(0, margin - (f(better) - f(worse)))"
    lipschitz = 1.0

    def __init__(self, preferences=None, *, margin=1.0, **options):
        self.margin = margin
        super().__init__(preferences, **options)
        if preferences is not None:
            self._hinge = Hinge(preferences, **options)

    def plane(self, scores):
        value, coefficients, offset = self._hinge.plane(np.asarray(scores) / self.margin)
        return self.margin * value, coefficients, self.margin * offset


def textbook(pairs, scores, width):
    """The loss and its gradient, pair by pair."""
    listed = zip(pairs.better, pairs.worse, pairs.weight, strict=True)
    return reference.huber_hinge(list(listed), scores, width)


@given(cases(), WIDTHS, st.sampled_from(["queries", "pairs"]))
def test_the_huber_hinge_is_the_textbook_formula(case, width, average):
    loss = HuberHinge(case.preferences, width=width, average=average)
    value, gradient = textbook(case.preferences.mean_pairs(average), case.scores, width)
    found, slopes = loss.value_and_coefficients(case.scores)
    size = (1 + np.ptp(case.scores)) ** 2 / width
    assert found == pytest.approx(value, abs=1e-12 * size)
    np.testing.assert_allclose(slopes, gradient, atol=1e-12 * size)
    direction = np.random.default_rng(0).normal(size=len(case.scores))
    better, worse, magnitude, weight = loss.listed_pairs()
    difference = case.scores[better] - case.scores[worse]
    _, curvature = loss.pair_derivatives(difference, magnitude)
    expected = np.zeros(len(case.scores))
    along = weight * curvature * (direction[better] - direction[worse])
    np.add.at(expected, better, along)
    np.add.at(expected, worse, -along)
    if np.abs(np.stack([difference - 1, difference - 1 + width])).min(initial=1.0) > 1e-9:  # off the edges
        np.testing.assert_allclose(loss.hessian(case.scores).product(direction), expected, atol=1e-9 * size)
        sloped = loss.slopes(case.scores)(np.ones(len(case.scores)))
        np.testing.assert_allclose(sloped, gradient, atol=1e-9 * size)


@pytest.mark.parametrize("width", [0.9, 0.5, 0.05])
def test_its_fit_is_certified(width):
    pairs = Preferences.from_scores(y, qid).mean_pairs("queries")

    def objective(w):
        value, gradient = textbook(pairs, X @ w, width)
        return value + 1e-2 * w @ w, X.T @ gradient + 2e-2 * w

    best = minimize(objective, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-10}).fun
    model = RankSVM(1e-2, loss=HuberHinge(width=width), tol=1e-8).fit(X, y, qid=qid)
    assert model.objective_ == pytest.approx(best, abs=1e-8)
    assert model.objective_ - model.gap_ <= best + 1e-12
    assert model.solver_ == "newton"
    assert (model.inference(X, y, qid=qid).standard_errors > 0).all()


def test_a_narrow_parabola_is_nearly_the_hinge():
    hinge = RankSVM(1e-2, tol=1e-8).fit(X, y, qid=qid)
    narrow = RankSVM(1e-2, loss=HuberHinge(width=1e-3), tol=1e-8).fit(X, y, qid=qid)
    assert hinge.objective_ - 5e-4 - 1e-8 <= narrow.objective_ <= hinge.objective_ + 1e-8


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")
def test_estimators_take_objects(tmp_path):
    model = RankSVM(1e-2, loss=HuberHinge(width=0.25)).fit(X, y, qid=qid)
    assert repr(model) == "RankSVM(alpha=0.01, loss=HuberHinge(width=0.25))"
    assert clone(model).loss.width == 0.25
    assert pickle.loads(pickle.dumps(model)).loss.width == 0.25
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.loss.parameters == {"width": 0.25}
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.fit(X, y, qid=qid).coef_, model.coef_)
    searched = RankSVMCV([0.1, 1e-2, 1e-3], loss=HuberHinge(width=0.25), cv=3).fit(X, y, qid=qid)
    assert searched.cv_errors_.shape == (3, 3)
    widths = [HuberHinge(width=width) for width in (0.1, 0.9)]
    search = GridSearchCV(RankSVM(1e-2), {"loss": widths}, cv=KFold(2)).fit(X, y)
    assert search.best_params_["loss"] in widths


@pytest.mark.parametrize(("name", "loss"), [("huber_hinge", HuberHinge()), ("squared_hinge", SquaredHinge())])
def test_a_name_is_the_object_with_the_default_parameters(name, loss):
    fits = [RankSVM(1e-2, loss=given).fit(X, y, qid=qid).coef_ for given in (name, loss)]
    np.testing.assert_array_equal(*fits)


def test_other_estimators_take_them():
    points, ranks = make_ordinal(200, random_state=0)
    assert OrdinalSVM(1e-3, loss=HuberHinge(), kernel="rbf").fit(points, ranks).gap_ >= 0
    assert CurveRanker(alpha=1e-2, loss=HuberHinge(), n_bins=4).fit(X, y, qid=qid).score(X, y, qid=qid) > 0.6


PARAMETERIZED = [WideHinge(margin=2.0), HuberHinge(width=0.9)]


@pytest.mark.parametrize("loss", PARAMETERIZED, ids=repr)
def test_a_parameter_reaches_the_threads_of_dask(loss):
    da = pytest.importorskip("dask.array")
    rows, *labels = [da.from_array(part, chunks=50) for part in (X, y, qid)]
    model = RankSVM(1e-2, loss=loss, tol=1e-8)
    here = clone(model).fit(X, y, qid=qid).objective_
    assert clone(model).fit(rows, y, qid=qid).objective_ == pytest.approx(here, abs=1e-7)
    assert clone(model).fit(rows, labels[0], qid=labels[1]).objective_ == pytest.approx(here, abs=1e-7)


@pytest.mark.parametrize("loss", PARAMETERIZED, ids=repr)
@pytest.mark.parametrize("labels", ["in memory", "on the workers"])
def test_a_parameter_reaches_the_workers(client, monkeypatch, loss, labels):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0)
    on_workers, plane = [], whole_queries.LocalLoss.plane

    def recorded(local, scores):
        on_workers.append((type(local.loss), local.loss.parameters))
        return plane(local, scores)

    monkeypatch.setattr(whole_queries.LocalLoss, "plane", recorded)  # the workers are threads of this process
    sizes = np.bincount(qid)  # queries are contiguous: no border of a partition cuts one
    rows, *columns = [da.from_array(part, chunks=(tuple(sizes), *part.shape[1:])) for part in (X, y, qid)]
    model = RankSVM(1e-2, loss=loss, tol=1e-8)
    here = clone(model).fit(X, y, qid=qid)
    assert on_workers == []
    ranks, queries = (y, qid) if labels == "in memory" else columns
    there = clone(model).fit(rows, ranks, qid=queries)
    assert there.rounds_.mode == "whole queries"
    assert on_workers
    assert all(used == (type(loss), loss.parameters) for used in on_workers)
    assert there.objective_ == pytest.approx(here.objective_, abs=1e-7)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-3)


@settings(max_examples=20)
@given(WIDTHS)
def test_like_keeps_the_parameters(width):
    first, second = Preferences.from_scores(y[:50]), Preferences.from_scores(y[50:90])
    made = HuberHinge(first, width=width, average="pairs").like(second, n_threads=2)
    assert (made.width, made.n_threads, made.preferences) == (width, 2, second)
    assert loss_over(WideHinge(margin=width), first).margin == width


def test_least_squares_states_its_cost():
    loss = LeastSquares(Preferences.from_scores(y))
    assert repr(loss) == "LeastSquares(cost='magnitude', ties='drop')"


@pytest.mark.parametrize("name", LOSSES)
def test_an_object_is_what_its_name_is(name):
    loss = LOSSES[name]()
    for model in (RankSVM(), CurveRanker(0.1, n_bins=4)):
        by_name, by_object = (clone(model).set_params(loss=one).fit(X, y, qid=qid) for one in (name, loss))
        np.testing.assert_array_equal(by_name.predict(X), by_object.predict(X))
    errors = [
        RankSVM(loss=one).fit(X, y, qid=qid).inference(X, y, qid=qid).standard_errors for one in (name, loss)
    ]
    np.testing.assert_array_equal(*errors)
    assert hasattr(CurveRanker(loss=loss), "predict_pair_proba") == (name == "logistic")


def test_a_loss_without_curvature_at_zero_is_minimised_by_a_reduced_kernel():
    loss = HuberHinge(width=0.1)
    fits = [RankSVM(0.01, kernel="rbf", n_components=n, loss=loss, tol=1e-6) for n in (20, None)]
    reduced, exact = (fit.fit(X, y, qid=qid) for fit in fits)
    assert reduced.gap_ < 1e-5
    assert 0 < exact.objective_ < reduced.objective_ < 1


def test_constraints_take_the_hinge_as_an_object():
    fits = [CurveRanker(0.1, n_bins=4, monotone=[1] * X.shape[1], loss=loss) for loss in ("hinge", Hinge())]
    np.testing.assert_array_equal(*(fit.fit(X, y, qid=qid).predict(X) for fit in fits))


def test_trees_and_learned_kernels_take_objects(tmp_path):
    pytest.importorskip("lightgbm")
    for make in (partial(BoostedRanker, n_estimators=3), partial(KernelRanker, alpha=0.1, n_components=10)):
        wide, narrow = (make(loss=HuberHinge(width=width)).fit(X, y, qid=qid) for width in (0.5, 0.1))
        by_name = make(loss="huber_hinge").fit(X, y, qid=qid)
        np.testing.assert_array_equal(wide.predict(X), by_name.predict(X))
        assert not np.array_equal(wide.predict(X), narrow.predict(X))
        save_model(narrow, tmp_path / "model.json")
        assert load_model(tmp_path / "model.json").loss.width == 0.1


def test_refusals(tmp_path):
    for width in (0.0, 1.0, -1, np.nan):
        with pytest.raises(ValueError, match="width must be above 0 and below 1"):
            HuberHinge(width=width)
    with pytest.raises(ValueError, match=r"got the class: write loss=HuberHinge\(\)"):
        RankSVM(loss=HuberHinge).fit(X, y)
    with pytest.raises(ValueError, match="loss must be"):
        RankSVM(loss="huber").fit(X, y)
    own = RankSVM(loss=WideHinge(margin=2.0)).fit(X, y)
    save_model(own, tmp_path / "model.json")  # a loss that is not in LOSSES is left out, as a function is
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(X), own.predict(X))

    class Forgetful(WideHinge):
        def __init__(self, preferences=None, *, slope=1.0, **options):
            super().__init__(preferences, **options)

    with pytest.raises(TypeError, match="must store its parameter 'slope' under this name"):
        Forgetful().like(Preferences.from_scores(y))
