"""Classes with an order graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise import _native
from rankwise.core.checks import as_array, as_codes, as_weights, check_choice
from rankwise.core.memory import require_memory
from rankwise.core.types import FloatVector
from rankwise.core.warn import warn_caller
from rankwise.preferences.base import Pairs, Preferences, check_pair_memory, connected_parts
from rankwise.preferences.ranking import Ranking

Edges = list[tuple[Hashable, Hashable]]

# Memory of a fit per edge, measured.
BYTES_PER_EDGE = 500


class OrderGraph(Preferences):
    """Rows of classes and edges (higher, lower) between classes; every row pair of an edge is a pair.

    Cost: O(m log m + sum over edges of the sizes of their two classes).
    """

    classes: NDArray[Any]
    codes: NDArray[np.int64]
    edge_codes: NDArray[np.int32]
    has_unit_magnitudes = True

    def __init__(
        self,
        codes: NDArray[np.int64],
        classes: NDArray[Any],
        edge_codes: NDArray[np.int32],
        weight: FloatVector | None = None,
    ):
        self.codes = codes
        self.classes = classes
        self.edge_codes = edge_codes
        self.weight = weight
        self.n_rows = len(codes)

    @property
    def edges(self) -> Edges:
        """The edges as (higher label, lower label)."""
        names = self.classes.tolist()
        return [(names[high], names[low]) for high, low in self.edge_codes.tolist()]

    @cached_property
    def _row(self) -> NDArray[np.int32]:
        order = np.argsort(self.codes, kind="stable")
        if self.weight is not None:
            order = order[self.weight[order] > 0]
        return order.astype(np.int32)

    @cached_property
    def _class_begin(self) -> NDArray[np.int64]:
        return np.searchsorted(self.codes[self._row], np.arange(len(self.classes) + 1))

    @cached_property
    def _scaled_weight(self) -> FloatVector | None:
        return None if self.weight is None else self.weight / (self.weight.max(initial=0.0) or 1.0)

    @property
    def n_pairs(self) -> int:
        """The exact number of pairs, rows of weight zero left out."""
        size = np.diff(self._class_begin).tolist()
        return sum(size[high] * size[low] for high, low in self.edge_codes.tolist())

    def groups(self) -> NDArray[np.int64]:
        """Return the connected component of each row's class."""
        higher, lower = self.edge_codes.T
        return connected_parts(higher, lower, len(self.classes))[self.codes]

    def pairs(self) -> Pairs:
        """Enumerate all pairs, edge by edge."""
        check_pair_memory(self.n_pairs)
        better, worse = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        rows = [self._row[a:b] for a, b in zip(self._class_begin[:-1], self._class_begin[1:], strict=True)]
        for high, low in self.edge_codes:
            better.append(np.repeat(rows[high], len(rows[low])))
            worse.append(np.tile(rows[low], len(rows[high])))
        first = np.concatenate(better).astype(np.int64)
        second = np.concatenate(worse).astype(np.int64)
        ones = np.ones(len(first))
        return Pairs(
            first, second, ones, ones if self.weight is None else self.weight[first] * self.weight[second]
        )

    def weighted(self, sample_weight: ArrayLike) -> OrderGraph:
        """Multiply each pair's weight by the weights of its two rows."""
        weight = as_weights(sample_weight, "sample_weight", self.n_rows)
        return OrderGraph(
            self.codes, self.classes, self.edge_codes, weight if self.weight is None else weight * self.weight
        )

    def _take(self, rows: NDArray[np.int64]) -> OrderGraph:
        weight = None if self.weight is None else self.weight[rows]
        return OrderGraph(self.codes[rows], self.classes, self.edge_codes, weight)

    def edge_sums(
        self, scores: FloatVector, moment: FloatVector | None, margin: float, n_threads: int = 1
    ) -> tuple[Any, ...]:
        """Sum over the pairs of each edge with s_better - s_worse < margin, in native code.

        Return, per row, the weights of its partners above and below and the sums of `moment` over them, and
        the weight of these pairs per edge.
        """
        high, low = np.ascontiguousarray(self.edge_codes.T)
        return _native.sum_order_graph(
            scores, self._row, self._class_begin, high, low, margin, self._scaled_weight, moment, n_threads
        )

    @cached_property
    def edge_rankings(self) -> tuple[NDArray[np.int32], Ranking, FloatVector]:
        """The rows of both classes of each edge; their ranking, in which an edge is a query; its scale.

        The scale takes back that a ranking brings the weights of each query to the same size.
        """
        begin, edges = self._class_begin, self.edge_codes
        ends = edges[:, ::-1].ravel()
        size = np.diff(begin)[ends]
        offset = np.repeat(begin[ends] - np.cumsum(size) + size, size)
        rows = self._row[offset + np.arange(size.sum())]
        side = np.repeat(np.arange(len(ends)), size)
        weight = None if self._scaled_weight is None else self._scaled_weight[rows]
        ranking = Ranking((side % 2).astype(np.float64), side // 2, weight=weight)
        return rows, ranking, ranking.scaled.pair_scale[side // 2]

    def partner_weights(self) -> tuple[FloatVector, FloatVector]:
        """Return the weight of each row's pairs as the worse one, and as the better one; scaled."""
        up, down, *_ = self.edge_sums(np.zeros(self.n_rows), None, np.inf)
        return up, down

    def total_weight(self) -> FloatVector:
        """Return the weight of all pairs of each edge."""
        return self.edge_sums(np.zeros(self.n_rows), None, np.inf)[4]

    def _why_no_pairs(self) -> str:
        if self.n_rows <= 1:
            return f"There is nothing to rank: got {self.n_rows} sample{'s' * (self.n_rows == 0)}."
        present = self.classes[np.unique(self.codes)].tolist()
        return f"There is nothing to rank: no edge of the order joins two of the classes present, {present}."


def from_order(
    labels: ArrayLike,
    order: str | Iterable[tuple[Hashable, Hashable]] | Any,
    sample_weight: ArrayLike | None = None,
) -> Preferences:
    """Order classes by a graph: each row of the higher class of an edge above each row of the lower.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        The class of each row, of any sortable type.
    order : "chain", "full", list of (higher, lower) or networkx.DiGraph
        "chain" joins the neighboring classes that are present, "full" all pairs of classes. Edges are
        used as given (never closed transitively); an edge of a DiGraph points from higher to lower.
    sample_weight : array of shape (n_rows,), optional

    Examples
    --------
    >>> Preferences.from_order(["low", "high", "mid", "high"], [("high", "low"), ("mid", "low")]).n_pairs
    3
    """
    classes, codes = as_codes(labels, "labels")
    weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", len(codes))
    if isinstance(order, str) and order == "full":
        structure: Preferences = Ranking(codes.astype(np.float64), weight=weight)
    else:
        present = codes if weight is None else codes[weight > 0]
        structure = OrderGraph(codes, classes, order_edges(order, classes, present), weight)
    structure.require_pairs()
    warn_of_absent_classes(order, classes, "labels")
    return structure


def order_edges(order: Any, classes: NDArray[Any], codes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the edges (higher, lower) of an order, as numbers of classes, among those that `codes` has."""
    if not isinstance(order, str):
        return _edge_codes(edge_list(order), classes).astype(np.int32)
    check_choice(order, "order", ("chain", "full"))
    present = np.unique(codes)
    if order == "chain":
        lower, higher = np.arange(len(present) - 1), np.arange(1, len(present))
    else:
        n_edges = len(present) * (len(present) - 1) // 2
        what = f"order='full' of {len(present)} classes, which has {n_edges} edges,"
        require_memory(BYTES_PER_EDGE * n_edges, what, "order='chain' has one edge per class")
        lower, higher = np.triu_indices(len(present), 1)
    return np.stack([present[higher], present[lower]], axis=1).astype(np.int32)


def warn_of_absent_classes(order: Any, classes: NDArray[Any], name: str) -> None:
    """Warn of edges whose classes no row has, if others remain: such edges are ignored."""
    if isinstance(order, str):
        return
    named = {label for edge in edge_list(order) for label in edge}
    unknown = sorted(repr(label) for label in named - set(classes.tolist()))
    if unknown and len(unknown) < len(named):
        warn_caller(f"order names {', '.join(unknown)}, not among the {name}.")


def present_edges(edges: Sequence[tuple[Any, Any]], labels: Any) -> Sequence[tuple[Any, Any]]:
    """Return the edges whose two classes occur among labels; all edges if there are none."""
    present = set(as_codes(labels, "labels")[0].tolist())
    return [edge for edge in edges if present.issuperset(edge)] or edges


def edge_list(order: Any) -> Edges:
    """Return the edges of a list or a graph, each once; refuse cycles."""
    if hasattr(order, "is_directed") and not order.is_directed():
        raise ValueError(
            "order must be a directed graph (networkx.DiGraph): an edge points from higher to lower."
        )
    listed = order.edges() if hasattr(order, "edges") else order
    try:
        edges = [(high, low) for high, low in listed]
    except (TypeError, ValueError):
        raise ValueError(
            "order must be 'chain', 'full', a list of (higher, lower) pairs of labels or a networkx DiGraph; "
            f"got {order!r}."
        ) from None
    check_acyclic(edges)
    return list(dict.fromkeys(edges))


def check_acyclic(edges: Edges) -> None:
    """Refuse edges that close a cycle, and show it."""
    below: dict[Hashable, list[Hashable]] = {}
    for high, low in edges:
        below.setdefault(high, []).append(low)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        cycle = " above ".join(repr(label) for label in reversed(error.args[1]))
        raise ValueError(f"The order graph has a cycle: {cycle}.") from None


def _edge_codes(edges: Edges, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Number the classes of each edge; edges of a class that does not occur are left out."""
    number = {label: code for code, label in enumerate(as_array(classes).tolist())}
    known = [(number[high], number[low]) for high, low in edges if high in number and low in number]
    return np.array(known, dtype=np.int64).reshape(-1, 2)
