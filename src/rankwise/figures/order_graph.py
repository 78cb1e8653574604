"""The edges and layers of an order graph, the number of rows per class, and the concordance of each edge."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from graphlib import TopologicalSorter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array, as_codes, as_vector, split_missing
from rankwise.core.types import Edge, FloatArray
from rankwise.metrics import wmw
from rankwise.preferences.order_graph import check_acyclic, order_edges

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
