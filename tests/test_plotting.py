"""What the displays hold and draw, and what they say when matplotlib is missing."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import RankLogistic, RankRLS, RankRLSCV, RankSVM, RankSVMCV, plotting
from rankwise.datasets import make_ranking
from rankwise.metrics import ndcg, ranking_error
from rankwise.model_selection import alpha_path
from rankwise.plotting import (
    AlphaPathDisplay,
    CertifiedPathDisplay,
    ConvergenceDisplay,
    CostDisplay,
    PairExplanationDisplay,
    QueryQualityDisplay,
    WeightsDisplay,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def rows():
    return make_ranking(300, 5, n_queries=20, n_levels=3, noise=0.7, random_state=1)


@pytest.fixture(scope="module")
def model(rows):
    X, y, qid = rows
    return RankSVM(1e-2).fit(X, y, qid=qid)


def widths(display):
    return [bar.get_width() for bar in display.artists_[0]]


def names(display):
    return list(display.drawn_.y.names)


def test_convergence_draws_the_history(model):
    display = ConvergenceDisplay.from_estimator(model)
    seconds, gap = display.artists_[0].get_data()
    np.testing.assert_allclose(seconds, 1000 * model.history_["seconds"])
    np.testing.assert_array_equal(gap, model.history_["gap"])
    assert display.ax_.get_xlabel() == "milliseconds"
    assert display.ax_.get_yscale() == "log"
    again = ConvergenceDisplay.from_estimator(
        make_pipeline(StandardScaler(), model), x="iterations", ax=display.ax_, name="again"
    )
    assert again.ax_ is display.ax_
    assert again.figure_ is display.figure_
    line = again.artists_[0]
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, model.n_iter_ + 1))
    assert line.get_label() == "again"
    assert line.get_color() != display.artists_[0].get_color()
    with pytest.raises(ValueError, match="x must be one of"):
        display.plot(x="hours")


def test_a_closed_form_has_no_convergence(rows):
    X, y, _ = rows
    model = RankRLS().fit(X, y)
    if len(model.history_["gap"]) == 0:
        with pytest.raises(ValueError, match="closed form"):
            ConvergenceDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="not fitted"):
        ConvergenceDisplay.from_estimator(RankSVM())


@pytest.mark.parametrize("model", [RankSVMCV(cv=3), RankRLSCV(cv=3)])
def test_the_path_over_alpha_draws_the_errors(rows, model):
    X, y, qid = rows
    display = AlphaPathDisplay.from_estimator(model.fit(X, y, qid=qid))
    errors = model.cv_errors_
    mean = errors.mean(axis=1) if errors.ndim == 2 else errors
    *folds, chosen, line, _ = display.artists_
    np.testing.assert_array_equal(line.get_xdata(), model.alphas_)
    np.testing.assert_allclose(line.get_ydata(), mean)
    for drawn, fold in zip(folds, errors.T if errors.ndim == 2 else [], strict=True):
        np.testing.assert_array_equal(drawn.get_ydata(), fold)
    assert chosen.get_xdata() == [model.alpha_] * 2
    key = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert key == (["folds", "chosen", "mean"] if errors.ndim == 2 else ["chosen", "mean"])


def test_a_path_over_alpha_needs_errors(model):
    with pytest.raises(ValueError, match="no cv_errors_"):
        AlphaPathDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="there are 2 alphas"):
        AlphaPathDisplay(alphas=[1, 2], errors=[1.0, 2.0, 3.0])


def test_a_certified_path_draws_its_shares(rows):
    X, y, qid = rows
    path = alpha_path(RankSVM(), X, y, (1.0, 1e-4), qid=qid, tol=1e-2)
    display = CertifiedPathDisplay(path=path).plot(color="green")
    _, line, knots = display.artists_
    np.testing.assert_array_equal(knots.get_xdata(), path.alphas)
    alphas, shares = line.get_data()
    np.testing.assert_array_equal(shares, path.share(alphas))
    np.testing.assert_allclose(alphas[::8], path.alphas)
    assert line.get_color() == knots.get_color() == "green"
    key = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert key == ["tol", "upper bound", f"{len(path.alphas)} fits"]
    with pytest.raises(TypeError, match="No mark of data in this picture has the property 'flavour'"):
        CertifiedPathDisplay(path).plot(flavour="sweet")


def test_query_quality_draws_each_query(rows, model):
    X, y, qid = rows
    display = QueryQualityDisplay.from_estimator(model, X, y, qid)
    values = ranking_error(y, model.predict(X), qid, per_query=True)
    np.testing.assert_array_equal(display.values, values)
    dots, interval, mean = display.drawn_.marks
    assert mean.x == pytest.approx([values.mean()])
    assert np.isnan(interval.low).all()
    np.testing.assert_allclose(dots.x, np.sort(values))
    strips = QueryQualityDisplay(
        {"ours": values, "worse": values / 2}, means=[(0.5, 0.4, 0.6), (0.25, 0.2, 0.3)], kind="share",
        queries=[f"q{k}" for k in range(len(values))],
    ).plot()  # fmt: skip
    ours, worse, interval, mean = strips.drawn_.marks
    assert list(interval.high) == [0.6, 0.3]
    assert mean.titles[1] == "worse: mean 25.0%, from 20.0% to 30.0%"
    first = int(np.argmin(values))
    assert ours.titles[0] == worse.titles[0].replace(f"{values[first] / 2:.1%}", f"{values[first]:.1%}")
    assert ours.titles[0].startswith(f"q{first}: ")
    few = QueryQualityDisplay(values).picture(n_dots=5).marks[0]
    np.testing.assert_allclose(few.x, np.sort(values)[[0, 4, 9, 14, 19]])
    at_3 = QueryQualityDisplay.from_predictions(y, X[:, 0], qid, metric=ndcg, k=3)
    assert at_3.measure == "ndcg@3"
    np.testing.assert_array_equal(at_3.values, ndcg(y, X[:, 0], qid, k=3, per_query=True))
    with pytest.raises(ValueError, match="undefined for all"):
        QueryQualityDisplay(values=[np.nan]).plot()


def test_weights_are_drawn_at_the_scale_of_the_data(rows):
    X, y, _ = rows
    frame = pd.DataFrame(X * [1, 100, 1, 0.01, 1], columns=["a", "b$", "c", "d", "e"])
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(frame, y)
    display = WeightsDisplay.from_estimator(pipeline, frame, n_features=3)
    assert display.ax_.get_title(loc="left") == "the largest 3 of 5 features"
    # After a standard scaler, weight times spread is the weight of the scaled feature.
    coef = pipeline[-1].coef_
    order = np.argsort(-np.abs(coef))[:3]
    np.testing.assert_allclose(widths(display), coef[order])
    assert names(display) == [["a", "b$", "c", "d", "e"][k] for k in order]
    display.figure_.canvas.draw()
    with pytest.raises(ValueError, match="has no weights"):
        WeightsDisplay.from_estimator(RankSVM(kernel="rbf").fit(X, y), X)


def drawn_intervals(display):
    return np.column_stack([display.drawn_.marks[2].low, display.drawn_.marks[2].high])


def opacities(display):
    return np.array([bar.get_facecolor()[3] for bar in display.artists_[0]])


def test_weights_have_intervals_and_are_paler_if_these_contain_zero(rows):
    X, y, qid = rows
    frame = pd.DataFrame(X * [1, 100, 1, 0.01, 1], columns=list("abcde"))
    frame["noise"] = np.random.default_rng(0).normal(size=len(X))
    pipeline = make_pipeline(StandardScaler(), RankLogistic(1e-3)).fit(frame, y, ranklogistic__qid=qid)
    found = rankwise.inference(pipeline, frame, y, qid=qid)
    display = WeightsDisplay.from_estimator(pipeline, frame, inference=found, level=0.9)
    order = [frame.columns.get_loc(name) for name in names(display)]
    spread = frame.to_numpy().std(axis=0)
    expected = (found.confidence_intervals(0.9) * spread[:, None])[order]
    np.testing.assert_allclose(drawn_intervals(display), expected)
    may_be_zero = (expected[:, 0] <= 0) & (expected[:, 1] >= 0)
    assert 0 < may_be_zero.sum() < 6
    np.testing.assert_array_equal(opacities(display) < 1, may_be_zero)
    assert display.ax_.get_xlabel().endswith("with 90% intervals")


def test_the_inference_of_another_model_is_refused(rows):
    X, y, _ = rows
    frame = X * [1, 100, 1, 0.01, 1]
    pipeline = make_pipeline(StandardScaler(), RankLogistic(1e-3)).fit(frame, y)
    of_scaled = pipeline[-1].inference(pipeline[:-1].transform(frame), y)
    with pytest.raises(ValueError, match=r"pass rankwise.inference\(pipeline, X, y\)"):
        WeightsDisplay.from_estimator(pipeline, frame, inference=of_scaled)
    with pytest.raises(ValueError, match="inference must be that of the model"):
        PairExplanationDisplay.from_estimator(pipeline, frame[0], frame[1], inference=of_scaled)
    fewer = RankLogistic().fit(X[:, :2], y).inference(X[:, :2], y)
    with pytest.raises(ValueError, match="inference has 2 weights, but the model has 5"):
        rankwise.explain_pair(pipeline, frame[0], frame[1], inference=fewer)


def test_a_pair_is_drawn_as_sure_or_not(rows):
    X, y, _ = rows
    model = RankLogistic(1e-3, tol=1e-8).fit(X, y)
    found = model.inference(X, y)
    order = np.argsort(model.predict(X))
    top, bottom = X[order[-1]], X[order[0]]
    near = X[order[150]], X[order[151]]
    sure = PairExplanationDisplay.from_estimator(model, bottom, top, inference=found)
    assert sure.is_sure
    assert (opacities(sure) == 1).all()
    difference = found.difference(top, bottom)
    words = f": sure\n95% interval {difference.low[0]:.4g} to {difference.high[0]:.4g}"
    assert words in sure.ax_.get_title(loc="left")
    unsure = PairExplanationDisplay.from_estimator(model, *near, inference=found, n_features=2)
    assert not unsure.is_sure
    assert ": not sure\n" in unsure.ax_.get_title(loc="left")
    assert (opacities(unsure) < 1).all()
    features, parts = explained = rankwise.explain_pair(model, *near, inference=found)
    shown = [features.index(name.split(":")[0]) for name in names(unsure)[:2]]
    half = found.quantile().max() * explained.standard_errors[shown]
    np.testing.assert_allclose(np.diff(drawn_intervals(unsure)).ravel(), 2 * half)
    np.testing.assert_allclose(explained.standard_errors, np.abs(near[0] - near[1]) * found.standard_errors)
    assert explained.difference == found.difference(*near)
    assert parts.sum() == pytest.approx(explained.difference.estimate[0], abs=1e-3)


@pytest.mark.parametrize("form", [np.asarray, lambda row: sp.csr_array(np.atleast_2d(row))])
def test_a_pair_is_explained_in_parts_that_add_up(rows, model, form):
    X, _, _ = rows
    display = PairExplanationDisplay.from_estimator(model, form(X[3]), form(X[8]), n_features=2)
    parts = model.explain_pair(X[3], X[8])
    order = np.argsort(-np.abs(parts))
    np.testing.assert_allclose(widths(display), [*parts[order[:2]], parts[order[2:]].sum()])
    scores = model.predict(X[[3, 8]])
    assert sum(widths(display)) == pytest.approx(scores[0] - scores[1])
    side = "above" if scores[0] > scores[1] else "below"
    title = f"a is {side} b by {abs(scores[0] - scores[1]):.4g} (beside the names: values in a and in b)"
    assert display.ax_.get_title(loc="left") == title
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels[0] == f"f{order[0] + 1}: {X[3, order[0]]:.3g} and {X[8, order[0]]:.3g}"
    assert labels[1].startswith(f"f{order[1] + 1}: ")
    assert labels[2] == "3 other features"


def test_a_pair_of_a_pipeline_is_explained_in_the_units_of_the_data(rows):
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(frame, y)
    display = PairExplanationDisplay.from_estimator(pipeline, frame.iloc[[0]], frame.iloc[[1]])
    scores = pipeline.predict(frame.iloc[:2])
    assert sum(widths(display)) == pytest.approx(scores[0] - scores[1])
    assert {name[0] for name in names(display)} <= set("abcde")
    with pytest.raises(ValueError, match="linear model"):
        PairExplanationDisplay.from_estimator(RankSVM(kernel="rbf").fit(X, y), X[0], X[1])


def test_cost_has_the_slope_of_the_growth():
    sizes = np.array([100, 200, 400, 800])
    display = CostDisplay(times={"square": (sizes, 1e-6 * sizes**2), "linear": (sizes, 1e-4 * sizes)}).plot()
    assert display.slopes == pytest.approx({"square": 2.0, "linear": 1.0})
    np.testing.assert_array_equal(display.artists_[2].get_xdata(), sizes)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["square, slope 2.00", "linear, slope 1.00"]


def test_cost_times_fits_of_an_estimator(rows):
    X, y, qid = rows
    model = RankSVM()
    display = CostDisplay.from_estimator(model, X, y, [50, 200], qid=qid, repeats=1)
    sizes, seconds = display.times["RankSVM"]
    assert sizes.tolist() == [50, 200]
    assert min(seconds) > 0
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="sizes has row number 301"):
        CostDisplay.from_estimator(model, X, y, [301])


def test_every_display_draws_into_axes_that_are_given(rows, model):
    X, y, qid = rows
    searched = RankSVMCV([1e-2], cv=2).fit(X, y, qid=qid)
    figure, axes = pyplot.subplots(2, 3)
    displays = [
        ConvergenceDisplay.from_estimator(model, ax=axes[0, 0]),
        AlphaPathDisplay.from_estimator(searched, ax=axes[0, 1]),
        QueryQualityDisplay.from_estimator(model, X, y, qid, ax=axes[0, 2]),
        WeightsDisplay.from_estimator(model, X, ax=axes[1, 0]),
        PairExplanationDisplay.from_estimator(model, X[0], X[1], ax=axes[1, 1]),
        CostDisplay(times={"a": ([1], [1.0])}).plot(axes[1, 2]),
    ]
    assert [display.ax_ for display in displays] == axes.ravel().tolist()
    assert all(display.figure_ is figure for display in displays)
    assert pyplot.get_fignums() == [figure.number]


def test_a_missing_matplotlib_raises_an_error_with_the_install_command(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(
        ImportError, match=r"ConvergenceDisplay needs matplotlib: pip install 'rankwise\[report\]'"
    ):
        ConvergenceDisplay.from_estimator(model)


def test_every_public_name_is_there():
    assert all(hasattr(plotting, name) for name in plotting.__all__)
