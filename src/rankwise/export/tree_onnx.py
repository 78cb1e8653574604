"""Trees as an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.checks import check_choice
from rankwise.export.onnx import TYPES
from rankwise.export.onnx_graph import Graph
from rankwise.export.terms import Terms
from rankwise.export.trees import Tree

DOMAIN, VERSION = "ai.onnx.ml", 3
# Above this size of a leaf's number, float32 does not hold all whole numbers.
MOST_LEAVES = 2**24


def onnx_trees(terms: Terms, model_name: str, *, dtype: str = "float32") -> bytes:
    """Return a serialised ONNX model with input `X` of shape (rows, features) and output `scores` of (rows,).

    `dtype` is the type of input and output. The splits compare in float64 for either type, so all rows that
    the type can hold reach the same leaves as in the model. NaN is a missing value, and a categorical column
    holds the index of the category among those of the fit. The names of the features are in the model's
    metadata, as a JSON list under `feature_names`.
    """
    check_choice(dtype, "dtype", TYPES)
    graph = Graph(dtype)
    graph.opsets[DOMAIN] = VERSION
    rows = graph.to_float64("X")
    listed = _ListedSets(graph, terms, rows)
    ensemble = _Ensemble(listed.columns)
    for tree in terms.trees:
        ensemble.add(tree)
    score = _float64_scores if dtype == "float64" else _float32_scores
    graph.node("Identity", score(graph, listed.rows, terms.trees, ensemble), name="scores")
    return graph.serialised(len(terms.names), (), model_name, terms.names)


class _ListedSets:
    """Columns of 0 and 1 behind the features, one per set of categories: whether the category is in it."""

    def __init__(self, graph: Graph, terms: Terms, rows: str) -> None:
        self.columns: dict[tuple[int, tuple[int, ...]], int] = {}
        sets: dict[int, list[tuple[int, ...]]] = {}
        for tree in terms.trees:
            for k, codes in tree.categories.items():
                each = sets.setdefault(int(tree.feature[k]), [])
                if tuple(codes) not in each:
                    each.append(tuple(codes))
        parts = [rows]
        for feature, listed in sets.items():
            for chosen in listed:
                self.columns[feature, chosen] = len(terms.names) + len(self.columns)
            parts.append(_membership(graph, rows, feature, listed))
        self.rows = graph.node("Concat", *parts, axis=1) if len(parts) > 1 else rows


def _membership(graph: Graph, rows: str, feature: int, sets: list[tuple[int, ...]]) -> str:
    codes = sorted({code for each in sets for code in each})
    column = graph.node("Gather", rows, graph.constant([feature], "int64"), axis=1)
    met = graph.node("Equal", column, graph.constant([codes]))
    number = graph.node("Cast", met, to=graph.onnx.TensorProto.DOUBLE)
    holds = np.array([[float(code in each) for each in sets] for code in codes])
    return graph.node("MatMul", number, graph.constant(holds))


class _Ensemble:
    """The splits and leaves of all trees, in the attributes of `TreeEnsembleRegressor`."""

    def __init__(self, columns: dict[tuple[int, tuple[int, ...]], int]) -> None:
        self.columns = columns
        self.nodes: dict[str, list[Any]] = {
            f"nodes_{name}": []
            for name in (
                "treeids",
                "nodeids",
                "featureids",
                "modes",
                "truenodeids",
                "falsenodeids",
                "missing_value_tracks_true",
            )
        }
        self.thresholds: list[float] = []
        self.leaves: dict[str, list[int]] = {"target_treeids": [], "target_nodeids": []}
        self.n_trees = 0

    def add(self, tree: Tree) -> None:
        """Add a tree; its leaves are the last of its nodes."""
        n = len(tree.feature)
        for k in range(n):
            below = [
                int(child) if child >= 0 else n - 1 - int(child) for child in (tree.left[k], tree.right[k])
            ]
            feature, threshold = int(tree.feature[k]), float(tree.threshold[k])
            if k in tree.categories:
                feature, threshold = self.columns[feature, tuple(tree.categories[k])], 0.5
            mode = "BRANCH_GT" if k in tree.categories else "BRANCH_LEQ"
            self._add(k, threshold, feature, mode, *below, int(tree.missing_left[k]))
        for k in range(n, n + len(tree.value)):
            self._add(k, 0.0, 0, "LEAF", 0, 0, 0)
            self.leaves["target_treeids"].append(self.n_trees)
            self.leaves["target_nodeids"].append(k)
        self.n_trees += 1

    def _add(self, node: int, threshold: float, *others: Any) -> None:
        self.thresholds.append(threshold)
        for values, value in zip(self.nodes.values(), (self.n_trees, node, *others), strict=True):
            values.append(value)


def _float32_scores(graph: Graph, rows: str, trees: list[Tree], ensemble: _Ensemble) -> str:
    values = np.concatenate([tree.value for tree in trees])
    scores = _regressor(graph, rows, ensemble, [0] * len(values), values)
    return graph.node("Squeeze", scores, graph.constant([1], "int64"))


def _float64_scores(graph: Graph, rows: str, trees: list[Tree], ensemble: _Ensemble) -> str:
    """Return sums in float64: the operator returns the number of each tree's leaf, as its type is float32."""
    values = np.concatenate([tree.value for tree in trees])
    if len(values) > MOST_LEAVES:
        raise ValueError(
            f"The trees have {len(values)} leaves; with dtype='float64', {MOST_LEAVES} are possible."
        )
    numbers = _regressor(
        graph, rows, ensemble, ensemble.leaves["target_treeids"], np.arange(len(values), dtype=np.float64)
    )
    places = graph.node("Cast", numbers, to=graph.onnx.TensorProto.INT64)
    leaves = graph.node("Gather", graph.constant(values), places)
    return graph.node("ReduceSum", leaves, graph.constant([1], "int64"), keepdims=0)


def _regressor(graph: Graph, rows: str, ensemble: _Ensemble, targets: list[int], weights: Any) -> str:
    from_array = graph.onnx.numpy_helper.from_array
    attributes: dict[str, Any] = {
        **ensemble.nodes,
        **ensemble.leaves,
        "nodes_values_as_tensor": from_array(np.array(ensemble.thresholds), "thresholds"),
        "target_ids": targets,
        "target_weights_as_tensor": from_array(np.asarray(weights), "weights"),
        "n_targets": max(targets) + 1,
    }
    return graph.node("TreeEnsembleRegressor", rows, domain=DOMAIN, **attributes)
