"""Linear and kernel models as an ONNX graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.core.checks import check_choice
from rankwise.core.types import FloatArray
from rankwise.export.linear import Scaling, chosen_output, names_of, parts_of
from rankwise.kernels import scaled_rows

OPSET = 17
IR_VERSION = 8
TYPES = ("float32", "float64")


def onnx_model(
    model: Any,
    *,
    format: str = "onnx",
    feature_names: Sequence[str] | None = None,
    model_name: str = "rankwise_model",
    output: int | None = None,
    dtype: str = "float32",
) -> bytes:
    """Return a serialised ONNX model with input `X` of shape (rows, features) and output `scores`.

    `scores` has shape (rows,), or (rows, outputs) where the model has several and `output` chooses none.
    `dtype` is the type of input and output. Linear models compute in it; kernels compute in float64, as
    differences of large numbers decide their values. Of kernels there are "linear", "poly", "polynomial",
    "rbf", "sigmoid", "cosine", "laplacian", "exponential", "chi2" and "precomputed", where `X` holds kernel
    values; the basis rows are stored dense. The names of the features are in the model's metadata, as a JSON
    list under `feature_names`.
    """
    check_choice(dtype, "dtype", TYPES)
    graph = Graph(dtype)
    ranker, scalings = parts_of(model)
    linear = hasattr(ranker, "coef_")
    coef = np.asarray(ranker.coef_ if linear else ranker.dual_coef_, dtype=np.float64)
    if output is not None:
        coef = chosen_output(coef, output, "")
    value = "X"
    if not linear:
        value = graph.to_float64(value)
    for scaling in scalings:
        value = _scaled(graph, value, scaling)
    value = value if linear else _kernel(graph, value, ranker)
    value = graph.node("MatMul", value, graph.constant(coef.T))
    if not linear and dtype == "float32":
        value = graph.node("Cast", value, to=graph.onnx.TensorProto.FLOAT)
    graph.node("Identity", value, name="scores")
    names = names_of(model, ranker, feature_names)
    return graph.serialised(len(names), coef.shape[:-1], model_name, names)


class Graph:
    """Nodes and constants as they are added, and the type in which they compute."""

    def __init__(self, dtype: str) -> None:
        self.onnx = _onnx()
        self.interface = self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operation: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add an operation and return the name of its result."""
        result = name or f"value_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), [result], **attributes))
        return result

    def constant(self, values: Any, dtype: str | None = None) -> str:
        """Add numbers and return their name."""
        with np.errstate(over="ignore"):
            array = np.ascontiguousarray(values, dtype=dtype or self.dtype)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"A number of the model is too large for {self.dtype}; use dtype='float64'.")
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array.reshape(np.shape(values)), name))
        return name

    def to_float64(self, value: str) -> str:
        """Compute in float64 from here on: return the value in that type."""
        self.dtype = "float64"
        if self.interface == "float64":
            return value
        return self.node("Cast", value, to=self.onnx.TensorProto.DOUBLE)

    def serialised(self, n_features: int, outputs: tuple[int, ...], title: str, names: list[str]) -> bytes:
        """Return the graph as a checked model."""
        helper = self.onnx.helper
        kind = getattr(self.onnx.TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}[self.interface])
        graph = helper.make_graph(
            self.nodes,
            title,
            [helper.make_tensor_value_info("X", kind, ["rows", n_features])],
            [helper.make_tensor_value_info("scores", kind, ["rows", *outputs])],
            self.constants,
        )
        opset = [helper.make_opsetid("", OPSET)]
        proto = helper.make_model(graph, opset_imports=opset, producer_name="rankwise", ir_version=IR_VERSION)
        helper.set_model_props(proto, {"feature_names": json.dumps(names)})
        self.onnx.checker.check_model(proto, full_check=True)
        return bytes(proto.SerializeToString())


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise ImportError("Format 'onnx' needs the package onnx: pip install 'rankwise[onnx]'.") from None
    return onnx


def _scaled(graph: Graph, value: str, scaling: Scaling) -> str:
    shift, scale = graph.constant(scaling.shift), graph.constant(scaling.scale)
    if scaling.min_max:
        return graph.node("Add", graph.node("Mul", value, scale), shift)
    return graph.node("Div", graph.node("Sub", value, shift), scale)


def _kernel(graph: Graph, X: str, ranker: Any) -> str:
    """Add the kernel values of the rows with the basis rows, shape (rows, basis rows)."""
    arguments = ranker._kernel_arguments
    kernel = arguments["kernel"]
    if kernel == "precomputed":
        return graph.node("Gather", X, graph.constant(ranker.basis_indices_, "int64"), axis=1)
    if callable(kernel) or kernel not in KERNELS:
        named = ", ".join(KERNELS)
        raise ValueError(f"Format 'onnx' has the kernels {named} and precomputed; the model has {kernel!r}.")
    basis = ranker.basis_.toarray() if sp.issparse(ranker.basis_) else ranker.basis_
    Z = np.asarray(basis, dtype=np.float64)
    scales = arguments.get("scales")
    if scales is not None:
        Z = scaled_rows(Z, scales)
        X = graph.node("Mul" if scales.ndim == 1 else "MatMul", X, graph.constant(scales))
    default = 1.0 if kernel == "chi2" else 1.0 / Z.shape[1]
    gamma = default if arguments["gamma"] is None else float(arguments["gamma"])
    return KERNELS[kernel](graph, X, Z, gamma, arguments)


def _linear(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    return graph.node("MatMul", X, graph.constant(Z.T))


def _affine(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    # Gamma is part of the constant: a runtime that fuses a product with a factor may round the factor.
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
    """Add ||x||^2 - 2 x'z + ||z||^2, cut off at zero."""
    squares = graph.node("ReduceSumSquare", X, axes=[1], keepdims=1)
    product = graph.node("MatMul", X, graph.constant(2 * Z.T))
    distance = graph.node("Add", graph.node("Sub", squares, product), graph.constant((Z**2).sum(axis=1)))
    return graph.node("Max", distance, graph.constant(0.0))


def _cosine(graph: Graph, X: str, Z: FloatArray, gamma: float, arguments: Any) -> str:
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    product = _linear(graph, X, Z / np.where(lengths > 0, lengths, 1.0), gamma, arguments)
    length = graph.node("ReduceL2", X, axes=[1], keepdims=1)
    # A row of zeros has products of zero; dividing them by anything but zero keeps them.
    tiny = graph.constant(np.finfo(np.float64).tiny)
    return graph.node("Div", product, graph.node("Max", length, tiny))


def _differences(graph: Graph, X: str, Z: FloatArray) -> tuple[str, str, str]:
    """Add x - z for all pairs of rows, shape (rows, basis rows, features); give rows and basis too."""
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
    """exp(-gamma sum (x - z)^2 / (x + z)), where two zeros add nothing."""
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
