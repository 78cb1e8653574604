"""The order graph of classes in layers, with rows per class and the concordance of each edge."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from graphlib import TopologicalSorter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array, as_codes, as_vector, split_missing
from rankwise.core.pipelines import last_step
from rankwise.core.text import plural
from rankwise.core.types import Edge, FloatArray, FloatVector
from rankwise.evaluation.pair_measures import wmw
from rankwise.preferences.order_graph import check_acyclic, order_edges
from rankwise.report.axes import PIXELS, new_axes

# The distance of two columns, and the length of a label that fits it.
COLUMN, CHARACTERS = 1.6, 10
NODE = {"boxstyle": "round,pad=0.45", "facecolor": "#eef3f8", "edgecolor": "#33506e"}
LABEL = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.9}

Label = TypeVar("Label", bound=Hashable)


def listed_edges(edges: Any, classes: Sequence[Hashable] | None) -> list[Edge]:
    """Return the (higher, lower) labels of a list, of a networkx.DiGraph, or of "chain" or "full"."""
    if isinstance(edges, str):
        if classes is None:
            raise ValueError(f"edges={edges!r} requires classes=[...], lowest first.")
        codes = order_edges(edges, np.arange(len(classes)), np.arange(len(classes)))
        return [(classes[high], classes[low]) for high, low in codes.tolist()]
    pairs = edges.edges() if hasattr(edges, "edges") else edges
    listed = [(high, low) for high, low in pairs]
    check_acyclic(listed)
    return list(dict.fromkeys(listed))


def layers_of(edges: Sequence[Edge], classes: Sequence[Label]) -> list[list[Label]]:
    """Return the classes of each layer, the highest first: a class is below the lowest class above it.

    Classes without an edge are in the lowest layer.

    Examples
    --------
    >>> layers_of([("a", "b"), ("a", "c"), ("b", "c")], ["c", "b", "a", "alone"])
    [['a'], ['b'], ['c', 'alone']]
    """
    above: dict[Hashable, list[Hashable]] = {
        label: [high for high, low in edges if low == label] for label in classes
    }
    layer: dict[Hashable, int] = {}
    for label in TopologicalSorter(above).static_order():
        layer[label] = max((layer[high] + 1 for high in above[label]), default=0)
    lowest = max(layer.values(), default=0)
    layer |= dict.fromkeys(set(classes) - {label for edge in edges for label in edge}, lowest)
    return [[label for label in classes if layer[label] == number] for number in range(lowest + 1)]


def edge_shares(
    edges: Sequence[Edge], y: Any, scores: ArrayLike | None, sample_weight: FloatArray | None = None
) -> tuple[dict[Hashable, int], dict[Edge, float]]:
    """Return the number of rows per class, and the fraction of pairs in the right order per edge with pairs.

    Rows without a label are left out. Ties count 1/2; the weight of a pair is the product of those of its
    rows.

    Examples
    --------
    >>> edge_shares([("b", "a"), ("c", "b")], ["a", "b", "b"], [0.0, 1.0, 0.0])
    ({'b': 2, 'a': 1, 'c': 0}, {('b', 'a'): 0.75})
    """
    known, present = split_missing(y)
    labels, codes = as_codes(present, "y")
    number = {label: code for code, label in enumerate(as_array(labels).tolist())}
    sizes = np.bincount(codes, minlength=len(labels)).tolist()
    n_rows = {label: 0 for edge in edges for label in edge} | {label: sizes[k] for label, k in number.items()}
    if scores is None:
        return n_rows, {}
    values = as_vector(scores, "scores", len(known))[known]
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight[known]
    shares = {}
    for high, low in edges:
        rows = np.isin(codes, [number.get(high, -1), number.get(low, -1)]) & (weight > 0)
        if len(np.unique(codes[rows])) == 2:
            shares[high, low] = wmw(codes[rows] == number[high], values[rows], sample_weight=weight[rows])
    return n_rows, shares


class OrderGraphDisplay:
    """An order graph of classes, with an arrow from each class to the classes that it should be above.

    Classes are in layers, the highest on top: a class is one layer below the lowest class above it. If rows
    are given, a class shows its number of rows, and an arrow the Wilcoxon-Mann-Whitney statistic of its edge:
    the fraction of pairs of rows of the two classes in the right order, with 1/2 for ties. Use
    `from_estimator` or `from_edges`.

    Parameters
    ----------
    edges : list of (higher, lower) labels
        The pairs (higher, lower) of classes.
    classes : sequence of labels, optional
        By default the labels of the edges. Classes without an edge are in the lowest layer.
    n_rows : dict of label to int, optional
        The number of rows of each class.
    shares : dict of edge to float, optional
        The fraction of pairs in the right order along each edge.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    nodes_ : dict of label to matplotlib Text
    arrows_ : dict of edge to matplotlib FancyArrowPatch
    labels_ : dict of edge to matplotlib Text
    places_ : dict of label to (across, up)

    Examples
    --------
    >>> from rankwise.report.order_graph_display import OrderGraphDisplay
    >>> display = OrderGraphDisplay.from_edges([("gold", "silver"), ("gold", "bronze")])  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        edges: Iterable[Edge],
        classes: Sequence[Hashable] | None = None,
        n_rows: dict[Hashable, int] | None = None,
        shares: dict[Edge, float] | None = None,
    ) -> None:
        self.edges = [(high, low) for high, low in edges]
        self.classes = list(
            dict.fromkeys([*(classes or ()), *(label for edge in self.edges for label in edge)])
        )
        self.n_rows = n_rows or {}
        self.shares = shares or {}

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None
    ) -> OrderGraphDisplay:
        """Draw the order graph of a fitted `HullRanker`, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : HullRanker or Pipeline
        X : array, sparse matrix or frame of shape (n_rows, n_features), optional
        y : array of shape (n_rows,), optional
            The classes of the rows; rows without a label (NaN or None) are left out.
        ax : matplotlib Axes, optional
            A new figure by default.
        """
        if (X is None) != (y is None):
            raise ValueError("Pass both X and y, or neither.")
        scores = None if X is None else estimator.predict(X)
        model = last_step(estimator)
        classes = as_array(model.classes_).tolist()
        return cls.from_edges(model.edges_, classes=classes, y=y, scores=scores, ax=ax)

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        *,
        classes: Sequence[Hashable] | None = None,
        y: Any = None,
        scores: ArrayLike | None = None,
        ax: Any = None,
    ) -> OrderGraphDisplay:
        """Draw an order graph, optionally with the scores of any ranker.

        Parameters
        ----------
        edges : list of (higher, lower) labels, networkx.DiGraph, "chain" or "full"
        classes : sequence of labels, optional
            Lowest first; required by "chain" and "full".
        y : array of shape (n_rows,), optional
            The class of each row.
        scores : array of shape (n_rows,), optional
            The score of each row, higher is better; requires `y`.
        ax : matplotlib Axes, optional
        """
        listed = listed_edges(edges, classes)
        if y is None:
            if scores is not None:
                raise ValueError("scores requires y, the class of each row.")
            return cls(edges=listed, classes=classes).plot(ax=ax)
        n_rows, shares = edge_shares(listed, y, scores)
        return cls(edges=listed, classes=classes, n_rows=n_rows, shares=shares).plot(ax=ax)

    def plot(self, ax: Any = None, **options: Any) -> OrderGraphDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's FancyArrowPatch.

        Returns
        -------
        display : OrderGraphDisplay
        """
        stretch = max([1.0, *(len(str(label)) / CHARACTERS for label in self.classes)])
        self.places_ = {
            label: (stretch * COLUMN * (k - (len(layer) - 1) / 2), -float(number))
            for number, layer in enumerate(layers_of(self.edges, self.classes))
            for k, label in enumerate(layer)
        }
        bows = {edge: stretch * self._bow(edge) for edge in self.edges}
        middles = [self._middle(edge, bow) for edge, bow in bows.items()]
        points = np.array([*self.places_.values(), *middles]).reshape(-1, 2)
        # Margins for the boxes around the classes.
        limits = np.array([points.min(axis=0), points.max(axis=0)]) if len(points) else np.zeros((2, 2))
        limits += np.outer([-1, 1], [0.65 * stretch, 0.4])
        size = PIXELS * np.minimum(1.05 * np.diff(limits, axis=0)[0], 16)
        self.ax_ = new_axes(type(self).__name__, size)[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self.ax_.set(xlim=limits[:, 0], ylim=limits[:, 1], aspect="equal")
        self.ax_.set_axis_off()
        self.nodes_ = {label: self._draw_node(label) for label in self.classes}
        self.arrows_: dict[Edge, Any] = {}
        self.labels_: dict[Edge, Any] = {}
        for edge, bow in bows.items():
            self._draw_edge(edge, bow, options)
        return self

    def _bow(self, edge: Edge) -> float:
        """Return how far an arrow bends to the left, around the classes of the layers between its ends."""
        between = self.places_[edge[0]][1] - self.places_[edge[1]][1] - 1
        return 0.55 + 0.3 * between if between else 0.0

    def _middle(self, edge: Edge, bow: float) -> FloatVector:
        """Return the point halfway along an arrow."""
        start, end = (np.array(self.places_[label]) for label in edge)
        across, up = end - start
        return (start + end) / 2 + bow * np.array([up, -across]) / np.hypot(across, up)

    def _draw_node(self, label: Hashable) -> Any:
        text = str(label)
        if label in self.n_rows:
            text += f"\n{plural(self.n_rows[label], 'row')}"
        across, up = self.places_[label]
        return self.ax_.text(
            across, up, text, ha="center", va="center", bbox=NODE, zorder=2, fontsize="medium"
        )

    def _draw_edge(self, edge: Edge, bow: float, options: dict[str, Any]) -> None:
        from matplotlib.patches import FancyArrowPatch

        start, end = (self.places_[label] for label in edge)
        # The size of a box is known once its text is drawn, so arrows are drawn after the boxes.
        settings: dict[str, Any] = {
            "arrowstyle": "-|>",
            "mutation_scale": 13,
            "color": "#33506e",
            "linewidth": 1.1,
            "zorder": 3,
            "patchA": self.nodes_[edge[0]].get_bbox_patch(),
            "patchB": self.nodes_[edge[1]].get_bbox_patch(),
        }
        bent = f"arc3,rad={2 * bow / np.hypot(*np.subtract(end, start))}"
        arrow = FancyArrowPatch(
            start, end, connectionstyle=bent, shrinkA=1, shrinkB=1, **(settings | options)
        )
        self.arrows_[edge] = self.ax_.add_patch(arrow)
        if edge in self.shares:
            across, up = self._middle(edge, bow)
            self.labels_[edge] = self.ax_.text(
                across, up, f"{100 * self.shares[edge]:.1f}%",
                ha="center", va="center", fontsize="small", bbox=LABEL, zorder=4,
            )  # fmt: skip
