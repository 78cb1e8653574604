"""What the picture of a utility holds, and what it says when matplotlib is missing."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import OrdinalSVM
from rankwise.datasets import make_ordinal
from rankwise.plotting import UtilityDisplay
from rankwise.report.marks import Dots, Rule

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

GRADES = ["bad", "poor", "fair", "good", "best"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def dots(display):
    return [mark for mark in display.drawn_.marks if isinstance(mark, Dots)]


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("n", [30, 1000])
def test_every_row_is_drawn_at_its_utility_in_the_lane_of_its_rank(n):
    X, y = make_ordinal(n, random_state=1)
    labels = np.array(GRADES)[y]
    model = OrdinalSVM(1e-4, kernel="poly", degree=2, categories=GRADES).fit(X, labels)
    display = UtilityDisplay.from_estimator(model, X, labels)
    utility = model.utility(X)
    for k, points in enumerate(dots(display)):
        across, up = points.x, points.y
        np.testing.assert_allclose(np.sort(across), np.sort(utility[y == k]))
        assert (np.abs(up - k) <= 0.4).all()
    lines = [mark.x for mark in display.drawn_.marks if isinstance(mark, Rule)]
    np.testing.assert_array_equal(lines, model.thresholds_)
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == GRADES
    low, high = display.ax_.get_xlim()
    assert low < utility.min() < utility.max() < high
    assert display.figure_ is display.ax_.figure
    shares = [f"{np.mean(model.predict(X[y == k]) == GRADES[k]):.0%} correct" for k in range(5)]
    assert texts(display.ax_)[-5:] == shares
    # The figure can be drawn, with layout and fonts.
    display.figure_.canvas.draw()


def test_boundaries_that_coincide_share_a_label():
    y = np.arange(12) % 4
    utility = np.linspace(0, 10, 12)
    display = UtilityDisplay.from_predictions(utility, y, [2.0, 5.0, 5.0])
    assert "θ₁" in texts(display.ax_)
    assert "θ₂,θ₃" in texts(display.ax_)
    display = UtilityDisplay.from_predictions(utility, y, [5.0, 5.0, 5.01])
    assert "θ₁ … θ₃" in texts(display.ax_)


def test_axes_pipelines_and_options():
    X, y = make_ordinal(60, random_state=0)
    figure, axes = pyplot.subplots()
    pipe = make_pipeline(StandardScaler(), OrdinalSVM(1e-4, kernel="poly", degree=2)).fit(X, y)
    display = UtilityDisplay.from_estimator(pipe, X, y, ax=axes)
    assert display.ax_ is axes
    assert display.figure_ is figure
    np.testing.assert_allclose(display.axis.utility, pipe[-1].utility(pipe[:-1].transform(X)))
    again = display.plot(markersize=7, marker="x", step=2)
    assert again is display
    assert display.ax_ is not axes
    assert display.artists_[1].get_markersize() == 7
    assert sum(len(points.x) for points in dots(display)) < 60


def test_some_ranks_only_and_constant_utilities():
    display = UtilityDisplay.from_predictions([0.0, 1.0], [0, 2], [0.5, 0.7], categories=[0, 1, 2])
    assert [len(points.x) for points in dots(display)] == [1, 0, 1]
    ordered = pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)
    display = UtilityDisplay.from_predictions([1.0, 1.0], ordered, [1.0])
    assert display.axis.rank.tolist() == [0, 1]
    display.figure_.canvas.draw()


def test_errors_get_a_sentence(monkeypatch):
    with pytest.raises(ValueError, match=r"1 threshold cannot separate 3 labels"):
        UtilityDisplay.from_predictions([0.0, 1.0, 2.0], [0, 1, 2], [0.5])
    with pytest.raises(ValueError, match="y contains 2, which is not among the classes"):
        UtilityDisplay.from_predictions([0.0, 1.0, 2.0], [0, 1, 2], [0.5], categories=[0, 1])
    with pytest.raises(ValueError, match="y has length 1, but must have length 2"):
        UtilityDisplay.from_predictions([0.0, 1.0], [0], [0.5])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'rankwise\[report\]'"):
        UtilityDisplay.from_predictions([0.0, 1.0], [0, 1], [0.5])
