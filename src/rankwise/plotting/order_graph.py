"""The order graph of classes, drawn in layers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array
from rankwise.core.pipelines import last_step
from rankwise.core.types import Edge
from rankwise.figures.graph_layout import Layout, layout
from rankwise.figures.order_graph import edge_shares, listed_edges
from rankwise.plotting._axes import new_axes

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
        listed = listed_edges(edges, classes)
        if y is None:
            if scores is not None:
                raise ValueError("scores were given without y, the class of each row.")
            return cls(edges=listed, classes=classes).plot(ax=ax)
        n_rows, shares = edge_shares(listed, y, scores)
        return cls(edges=listed, classes=classes, n_rows=n_rows, shares=shares).plot(ax=ax)

    def plot(self, ax: Any = None, **options: Any) -> OrderGraphDisplay:
        """Draw into `ax`, or a new figure; `options` go to the arrows, matplotlib's FancyArrowPatch.

        Returns
        -------
        display : OrderGraphDisplay
        """
        plan = layout(self.edges, self.classes, map(str, self.classes))
        self.places_ = plan.places
        # Leave room for the boxes around the classes.
        limits = plan.corners() + np.outer([-1, 1], [0.65 * plan.stretch, 0.4])
        ax = new_axes(self, np.minimum(1.05 * np.diff(limits, axis=0)[0], 16)) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        ax.set(xlim=limits[:, 0], ylim=limits[:, 1], aspect="equal")
        ax.set_axis_off()
        self.nodes_ = {label: self._draw_node(label) for label in self.classes}
        self.arrows_: dict[Edge, Any] = {}
        self.labels_: dict[Edge, Any] = {}
        for edge in plan.bends:
            self._draw_edge(edge, plan, options)
        return self

    def _draw_node(self, label: Hashable) -> Any:
        text = str(label)
        if label in self.n_rows:
            text += f"\n{self.n_rows[label]:,} rows"
        across, up = self.places_[label]
        return self.ax_.text(
            across, up, text, ha="center", va="center", bbox=NODE, zorder=2, fontsize="medium"
        )

    def _draw_edge(self, edge: Edge, plan: Layout, options: dict[str, Any]) -> None:
        from matplotlib.patches import FancyArrowPatch

        start, end = (plan.places[label] for label in edge)
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
        bent = f"arc3,rad={plan.bends[edge]}"  # the curve of the layout
        arrow = FancyArrowPatch(
            start, end, connectionstyle=bent, shrinkA=1, shrinkB=1, **(settings | options)
        )
        self.arrows_[edge] = self.ax_.add_patch(arrow)
        if edge in self.shares:
            across, up = plan.middle(edge)
            self.labels_[edge] = self.ax_.text(
                across, up, f"{100 * self.shares[edge]:.1f}%",
                ha="center", va="center", fontsize="small", bbox=LABEL, zorder=4,
            )  # fmt: skip
