"""Where the classes of an order graph lie, what its picture holds, and what it says on bad input."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import HullRanker
from rankwise.datasets import make_ordinal
from rankwise.plotting import OrderGraphDisplay
from rankwise.report.order_graph_display import layers_of

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

GRADES = ["bad", "poor", "fair", "good", "best"]
BRANCHES = [("a", "b"), ("b", "d"), ("d", "e"), ("a", "c"), ("c", "e"), ("a", "e")]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 300)
    return np.array(GRADES)[y], y + rng.normal(scale=1.5, size=300).round(1)


def drawn_curve(display, edge):
    """Return points along the arrow as matplotlib draws it, in the coordinates of the data."""
    display.figure_.canvas.draw()
    path = display.arrows_[edge].get_path()
    inside = display.ax_.transData.inverted()
    transform = display.arrows_[edge].get_transform() + inside
    return transform.transform_path(path).interpolated(1).to_polygons(closed_only=False)[0]


def test_layers_are_longest_paths_from_the_top():
    assert layers_of(BRANCHES, list("abcde")) == [["a"], ["b", "c"], ["d"], ["e"]]
    full = [(high, low) for high in range(5) for low in range(high)]
    assert layers_of(full, range(5)) == [[4], [3], [2], [1], [0]]
    assert layers_of([(1, 0)], [0, 1, "alone"]) == [[1], [0, "alone"]]
    assert layers_of([], []) == [[]]


@pytest.mark.parametrize("edges", [BRANCHES, [(high, low) for high in range(7) for low in range(high)]])
def test_no_two_classes_share_a_place_and_arrows_point_down(edges):
    place = OrderGraphDisplay.from_edges(edges).places_
    assert len(set(place.values())) == len(place)
    assert all(place[high][1] > place[low][1] for high, low in edges)


@pytest.mark.parametrize("n", [3, 5])
def test_arrows_of_a_full_graph_go_around_the_classes_between(n):
    edges = [(high, low) for high in range(n) for low in range(high)]
    display = OrderGraphDisplay.from_edges(edges)
    for high, low in edges:
        curve = drawn_curve(display, (high, low))
        for between in range(low + 1, high):
            box = display.nodes_[between].get_bbox_patch().get_window_extent()
            corners = display.ax_.transData.inverted().transform(box.get_points())
            inside = ((curve > corners[0]) & (curve < corners[1])).all(axis=1)
            assert not inside.any(), (high, low, between)


def test_no_arrows_of_a_full_graph_lie_on_each_other_halfway():
    edges = [(high, low) for high in range(5) for low in range(high)]
    display = OrderGraphDisplay.from_edges(edges, y=np.arange(50) % 5, scores=np.arange(50.0))
    middles = np.array([text.get_position() for text in display.labels_.values()])
    apart = np.abs(middles[:, None] - middles) / [0.35, 0.2]
    np.fill_diagonal(apart[..., 0], np.inf)
    assert (apart.max(axis=2) >= 1).all()


@pytest.mark.parametrize("order", ["chain", "full", [("best", "bad"), ("best", "poor"), ("good", "bad")]])
def test_shares_are_areas_under_the_curve_of_each_edge(scored, order):
    y, scores = scored
    display = OrderGraphDisplay.from_edges(order, classes=GRADES, y=y, scores=scores)
    n_edges = {"chain": 4, "full": 10}.get(order if isinstance(order, str) else "", 3)
    assert len(display.arrows_) == n_edges
    for high, low in display.edges:
        rows = np.isin(y, [high, low])
        expected = roc_auc_score(y[rows] == high, scores[rows])
        assert display.shares[high, low] == pytest.approx(expected, abs=1e-12)
        assert display.labels_[high, low].get_text() == f"{100 * expected:.1f}%"
    for label in GRADES:
        assert display.nodes_[label].get_text() == f"{label}\n{np.sum(y == label)} rows"
    display.figure_.canvas.draw()


def test_a_fitted_model_with_missing_labels_in_a_pipeline():
    X, rank = make_ordinal(200, random_state=0)
    y = np.array(GRADES, dtype=object)[rank]
    y[::4] = None
    ordered = pd.Series(pd.Categorical(y, categories=GRADES, ordered=True))
    pipe = make_pipeline(
        StandardScaler(), HullRanker(1e-2, order="full", slack_per="edge", laplacian_weight=0.1)
    )
    pipe.fit(X, ordered)
    figure, axes = pyplot.subplots()
    display = OrderGraphDisplay.from_estimator(pipe, X, ordered, ax=axes)
    assert display.ax_ is axes
    assert display.figure_ is figure
    assert sum(display.n_rows.values()) == 150
    assert np.mean(list(display.shares.values())) == pytest.approx(pipe.score(X, ordered), abs=1e-12)
    up = [display.places_[label][1] for label in GRADES]
    assert (np.diff(up) == 1).all()
    plain = OrderGraphDisplay.from_estimator(pipe)
    assert not plain.labels_
    assert plain.nodes_["bad"].get_text() == "bad"
    again = plain.plot(color="red")
    assert again is plain
    assert plain.arrows_["best", "bad"].get_edgecolor()[:3] == (1.0, 0.0, 0.0)


def test_classes_without_rows_or_edges_are_drawn():
    display = OrderGraphDisplay.from_edges(
        [("b", "a"), ("c", "b")], classes=["lost"], y=["a", "b", "b"], scores=[0.0, 1.0, 0.0]
    )
    assert display.shares == {("b", "a"): 0.75}
    assert display.nodes_["c"].get_text() == "c\n0 rows"
    assert display.nodes_["lost"].get_text() == "lost"
    assert list(display.labels_) == [("b", "a")]
    display.figure_.canvas.draw()


def test_graphs_of_networkx():
    networkx = pytest.importorskip("networkx")
    display = OrderGraphDisplay.from_edges(networkx.DiGraph(BRANCHES))
    assert set(display.arrows_) == set(BRANCHES)


def test_errors_get_a_sentence(monkeypatch):
    with pytest.raises(ValueError, match="The order graph has a cycle: 'a' above 'b' above 'a'"):
        OrderGraphDisplay.from_edges([("a", "b"), ("b", "a")])
    with pytest.raises(ValueError, match=r"edges='chain' requires classes=\[...\], lowest first"):
        OrderGraphDisplay.from_edges("chain")
    with pytest.raises(ValueError, match="scores requires y"):
        OrderGraphDisplay.from_edges([(1, 0)], scores=[1.0])
    with pytest.raises(ValueError, match="Pass both X and y"):
        OrderGraphDisplay.from_estimator(HullRanker(), [[0.0]])
    with pytest.raises(ValueError, match="scores has length 1, but must have length 2"):
        OrderGraphDisplay.from_edges([(1, 0)], y=[0, 1], scores=[1.0])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'rankwise\[report\]'"):
        OrderGraphDisplay.from_edges([(1, 0)])
