"""The order graph of classes, drawn in layers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise._checks import as_array, as_codes, as_vector, split_missing
from rankwise._pipeline import last_step
from rankwise.metrics import wmw
from rankwise.plotting.layers import Place, bends, places
from rankwise.preferences.order_graph import check_acyclic, order_edges

Edge = tuple[Hashable, Hashable]

NODE = {"boxstyle": "round,pad=0.45", "facecolor": "#eef3f8", "edgecolor": "#33506e"}
LABEL = {"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.9}


class OrderGraphDisplay:
    """An order graph of classes: an arrow from each class to those that it should be above.

    Classes lie in layers, highest on top: a class lies one layer below the lowest of those above it. Where
    rows are given, a class shows how many it has, and an arrow the share of the pairs of rows of its two
    classes that are in the right order, ties counting one half: the Wilcoxon-Mann-Whitney statistic of that
    edge. Use `from_estimator` or `from_edges`.

    Parameters
    ----------
    edges : list of (higher, lower) labels
    classes : sequence of labels, optional
        Also those without an edge, which lie in the lowest layer; the labels of the edges by default.
    n_rows : dict of label to int, optional
    shares : dict of edge to float, optional

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
    >>> from rankwise.plotting import OrderGraphDisplay
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
            The classes of the rows; those without a label (NaN or None) are left out.
        ax : matplotlib Axes, optional
            A new figure by default.
        """
        if (X is None) != (y is None):
            raise ValueError("X and y belong together: give both, or neither.")
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
        """Draw an order graph, with the scores of any ranker where they are given.

        Parameters
        ----------
        edges : list of (higher, lower) labels, networkx.DiGraph, "chain" or "full"
        classes : sequence of labels, optional
            Lowest first, which "chain" and "full" need.
        y : array of shape (n_rows,), optional
            The class of each row.
        scores : array of shape (n_rows,), optional
            The score of each row, higher is better; needs `y`.
        ax : matplotlib Axes, optional
        """
        listed = _listed(edges, classes)
        if y is None:
            if scores is not None:
                raise ValueError("scores were given without y, the class of each row.")
            return cls(edges=listed, classes=classes).plot(ax=ax)
        n_rows, shares = _measured(listed, y, scores)
        return cls(edges=listed, classes=classes, n_rows=n_rows, shares=shares).plot(ax=ax)

    def plot(self, ax: Any = None, **options: Any) -> OrderGraphDisplay:
        """Draw into `ax`, or a new figure; `options` go to the arrows, matplotlib's FancyArrowPatch.

        Returns
        -------
        display : OrderGraphDisplay
        """
        stretch = self._stretch()
        self.places_ = places(self.edges, self.classes, stretch)
        bent = bends(self.edges, self.places_, stretch)
        limits = self._limits(bent, stretch)
        ax = _new_axes(limits) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        ax.set(xlim=limits[:, 0], ylim=limits[:, 1], aspect="equal")
        ax.set_axis_off()
        self.nodes_ = {label: self._draw_node(label) for label in self.classes}
        self.arrows_: dict[Edge, Any] = {}
        self.labels_: dict[Edge, Any] = {}
        for edge, bend in bent.items():
            self._draw_edge(edge, bend, options)
        return self

    def _stretch(self) -> float:
        """Give the factor by which the longest label is wider than one of ten characters."""
        return max([1.0, *(len(str(label)) / 10 for label in self.classes)])

    def _limits(self, bent: dict[Edge, float], stretch: float) -> Any:
        """Leave room for the boxes and the bows of the arrows."""
        drawn = [(0.0, 0.0), *self.places_.values()]
        drawn += [_middle(self.places_[high], self.places_[low], bend) for (high, low), bend in bent.items()]
        room = np.array([0.65 * stretch, 0.4])
        return np.array([np.min(drawn, axis=0) - room, np.max(drawn, axis=0) + room])

    def _draw_node(self, label: Hashable) -> Any:
        text = str(label)
        if label in self.n_rows:
            text += f"\n{self.n_rows[label]:,} rows"
        across, up = self.places_[label]
        return self.ax_.text(
            across, up, text, ha="center", va="center", bbox=NODE, zorder=2, fontsize="medium"
        )

    def _draw_edge(self, edge: Edge, bend: float, options: dict[str, Any]) -> None:
        from matplotlib.patches import FancyArrowPatch

        start, end = (self.places_[label] for label in edge)
        # The boxes are as large as their text only once that is drawn, so the arrows have to come later.
        settings: dict[str, Any] = {
            "arrowstyle": "-|>",
            "mutation_scale": 13,
            "color": "#33506e",
            "linewidth": 1.1,
            "zorder": 3,
            "patchA": self.nodes_[edge[0]].get_bbox_patch(),
            "patchB": self.nodes_[edge[1]].get_bbox_patch(),
        }
        bent = f"arc3,rad={bend}"
        arrow = FancyArrowPatch(
            start, end, connectionstyle=bent, shrinkA=1, shrinkB=1, **(settings | options)
        )
        self.arrows_[edge] = self.ax_.add_patch(arrow)
        if edge in self.shares:
            across, up = _middle(start, end, bend)
            self.labels_[edge] = self.ax_.text(
                across, up, f"{100 * self.shares[edge]:.1f}%",
                ha="center", va="center", fontsize="small", bbox=LABEL, zorder=4,
            )  # fmt: skip


def _listed(edges: Any, classes: Sequence[Hashable] | None) -> list[Edge]:
    if isinstance(edges, str):
        if classes is None:
            raise ValueError(f"edges={edges!r} needs classes=[...], lowest first.")
        codes = order_edges(edges, np.arange(len(classes)), np.arange(len(classes)))
        return [(classes[high], classes[low]) for high, low in codes.tolist()]
    pairs = edges.edges() if hasattr(edges, "edges") else edges
    listed = [(high, low) for high, low in pairs]
    check_acyclic(listed)
    return list(dict.fromkeys(listed))


def _measured(
    edges: list[Edge], y: Any, scores: ArrayLike | None
) -> tuple[dict[Hashable, int], dict[Edge, float]]:
    """Count the rows of each class, and the share of pairs in the right order of edges that have any."""
    known, present = split_missing(y)
    labels, codes = as_codes(present, "y")
    number = {label: code for code, label in enumerate(as_array(labels).tolist())}
    sizes = np.bincount(codes, minlength=len(labels)).tolist()
    n_rows = {label: 0 for edge in edges for label in edge} | {label: sizes[k] for label, k in number.items()}
    if scores is None:
        return n_rows, {}
    values = as_vector(scores, "scores", len(known))[known]
    shares = {}
    for high, low in edges:
        if high in number and low in number:
            rows = np.isin(codes, [number[high], number[low]])
            shares[high, low] = wmw(codes[rows] == number[high], values[rows])
    return n_rows, shares


def _middle(start: Place, end: Place, bend: float) -> Place:
    """Give the point halfway along matplotlib's arc3 of that bend."""
    across, up = end[0] - start[0], end[1] - start[1]
    return (start[0] + end[0] + bend * up) / 2, (start[1] + end[1] - bend * across) / 2


def _new_axes(limits: Any) -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("OrderGraphDisplay needs matplotlib: pip install 'rankwise[report]'.") from None
    size = np.minimum(1.05 * np.diff(limits, axis=0)[0], 16)
    return pyplot.subplots(figsize=size, layout="constrained")[1]
