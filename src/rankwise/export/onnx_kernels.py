"""Kernel values as nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.core.types import FloatArray
from rankwise.export.onnx_graph import Graph
from rankwise.kernels import scaled_rows


def kernel_values(graph: Graph, X: str, ranker: Any) -> str:
    """Add the kernel values of the rows and the basis rows, shape (rows, basis rows)."""
    arguments = ranker._kernel_arguments
    kernel = arguments["kernel"]
    if kernel == "precomputed":
        return graph.node("Gather", X, graph.constant(ranker.basis_indices_, "int64"), axis=1)
    if callable(kernel) or kernel not in KERNELS:
        named = ", ".join(KERNELS)
        raise ValueError(
            f"Format 'onnx' supports the kernels {named} and precomputed; the model has {kernel!r}."
        )
    basis = ranker.basis_.toarray() if sp.issparse(ranker.basis_) else ranker.basis_
    Z = np.asarray(basis, dtype=np.float64)
    scales = arguments.get("scales")
    if scales is not None:
        Z = scaled_rows(Z, scales)
        X = graph.node("Mul" if scales.ndim == 1 else "MatMul", X, graph.constant(scales))
        X = graph.unfused(X) if scales.size == 1 else X
    default = 1.0 if kernel == "chi2" else 1.0 / Z.shape[1]
    gamma = default if arguments["gamma"] is None else float(arguments["gamma"])
    return KERNELS[kernel](graph, X, Z, gamma, arguments)


def _linear(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    return graph.node("MatMul", X, graph.constant(Z.T))


def _affine(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    # Gamma is part of the constant: see `Graph.unfused`.
    product = _linear(graph, X, gamma * Z, gamma, arguments)
    return graph.node("Add", product, graph.constant(float(arguments["coef0"])))


def _polynomial(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    return graph.node(
        "Pow", _affine(graph, X, Z, gamma, arguments), graph.constant(float(arguments["degree"]))
    )


def _sigmoid(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    return graph.node("Tanh", _affine(graph, X, Z, gamma, arguments))


def _rbf(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    return graph.node("Exp", graph.node("Mul", _squared_distance(graph, X, Z), graph.constant(-gamma)))


def _exponential_of_distance(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    distance = graph.node("Sqrt", _squared_distance(graph, X, Z))
    return graph.node("Exp", graph.node("Mul", distance, graph.constant(-gamma)))


def _squared_distance(graph: Graph, X: str, Z: FloatArray) -> str:
    """Add max(0, ||x||^2 - 2 x'z + ||z||^2)."""
    squares = graph.node("ReduceSumSquare", X, axes=[1], keepdims=1)
    product = graph.node("MatMul", X, graph.constant(2 * Z.T))
    distance = graph.node("Add", graph.node("Sub", squares, product), graph.constant((Z**2).sum(axis=1)))
    return graph.node("Max", distance, graph.constant(0.0))


def _cosine(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    product = _linear(graph, X, Z / np.where(lengths > 0, lengths, 1.0), gamma, arguments)
    length = graph.node("ReduceL2", X, axes=[1], keepdims=1)
    # The products of a row of zeros are zero, and stay so if divided by any positive number.
    tiny = graph.constant(np.finfo(np.float64).tiny)
    return graph.node("Div", product, graph.node("Max", length, tiny))


def _differences(graph: Graph, X: str, Z: FloatArray) -> tuple[str, str, str]:
    """Add x, z and x - z for all pairs of rows, the last of shape (rows, basis rows, features)."""
    rows = graph.node("Unsqueeze", X, graph.constant([1], "int64"))
    basis = graph.constant(Z[None])
    return rows, basis, graph.node("Sub", rows, basis)


def _exponential(graph: Graph, terms: str, gamma: float) -> str:
    total = graph.node("ReduceSum", terms, graph.constant([2], "int64"), keepdims=0)
    return graph.node("Exp", graph.node("Mul", total, graph.constant(-gamma)))


def _laplacian(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    *_, difference = _differences(graph, X, Z)
    return _exponential(graph, graph.node("Abs", difference), gamma)


def _chi2(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    """Add exp(-gamma sum (x - z)^2 / (x + z)); a term with x = z = 0 is zero."""
    rows, basis, difference = _differences(graph, X, Z)
    total = graph.node("Add", rows, basis)
    safe = graph.node("Max", total, graph.constant(np.finfo(np.float64).tiny))
    squares = graph.node("Mul", difference, difference)
    return _exponential(graph, graph.node("Div", squares, safe), gamma)


KERNELS: dict[str, Callable[..., str]] = {
    "linear": _linear,
    "poly": _polynomial,
    "polynomial": _polynomial,
    "rbf": _rbf,
    "sigmoid": _sigmoid,
    "cosine": _cosine,
    "laplacian": _laplacian,
    "exponential": _exponential_of_distance,
    "chi2": _chi2,
}
