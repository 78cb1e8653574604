"""Linear models and sums of curves as an ONNX graph."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import check_choice
from rankwise.estimators.scaling import Scaling
from rankwise.functions.curve_axis import Axis
from rankwise.io.terms import Table, Terms

OPSET = 17
IR_VERSION = 8


class Graph:
    """The nodes and constants of a graph, and the type in which it computes."""

    def __init__(self, dtype: str) -> None:
        self.onnx = _onnx()
        self.interface = self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operation: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add an operation; return the name of its result."""
        result = name or f"value_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), [result], **attributes))
        return result

    def constant(self, values: ArrayLike, dtype: str | None = None) -> str:
        """Add a constant; return its name."""
        with np.errstate(over="ignore"):
            array = np.ascontiguousarray(values, dtype=dtype or self.dtype)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"A number of the model overflows {self.dtype}; use dtype='float64'.")
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array.reshape(np.shape(values)), name))
        return name

    def unfused(self, value: str) -> str:
        """Return the same value, as a barrier between a single factor and the next product.

        onnxruntime would fuse the two, and it stores the factor as float32, whatever the type of the model.
        """
        return self.node("Max", value, self.constant(-np.finfo(self.dtype).max))

    def to_float64(self, value: str) -> str:
        """Compute in float64 from here on; return the value in that type."""
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


TYPES = ("float32", "float64")


def onnx_model(terms: Terms, model_name: str, *, dtype: str = "float32") -> bytes:
    """Return a serialized ONNX model with input `X` of shape (rows, features) and output `scores`.

    `scores` has shape (rows,), or (rows, outputs) if the model has several and `output` chooses none.
    `dtype` is the type of input and output. Linear models compute in it and tables in
    float64. For curves, NaN is a missing value, and a
    categorical column holds the index of the category among those of the fit. The names of the features are
    in the model's metadata, as a JSON list under `feature_names`.
    """
    check_choice(dtype, "dtype", TYPES)
    graph = Graph(dtype)
    value = _weighted_sum(graph, terms) if terms.coef.size else _table_sum(graph, terms)
    if graph.dtype != dtype:
        value = graph.node("Cast", value, to=graph.onnx.TensorProto.FLOAT)
    graph.node("Identity", value, name="scores")
    return graph.serialised(len(terms.names), terms.coef.shape[:-1], model_name, terms.names)


def _weighted_sum(graph: Graph, terms: Terms) -> str:
    value = "X"
    for scaling in terms.scalings:
        value = _scaled(graph, value, scaling)
    return graph.node("MatMul", value, graph.constant(terms.coef.T))


def _scaled(graph: Graph, value: str, scaling: Scaling) -> str:
    shift, scale = graph.constant(scaling.shift), graph.constant(scaling.scale)
    if scaling.min_max:
        return graph.node("Add", graph.node("Mul", value, scale), shift)
    scaled = graph.node("Div", graph.node("Sub", value, shift), scale)
    return graph.unfused(scaled) if len(scaling.scale) == 1 else scaled


def _table_sum(graph: Graph, terms: Terms) -> str:
    rows = graph.to_float64("X")
    values = [_table_value(graph, rows, table) for table in terms.tables] or [_zero(graph, rows)]
    return reduce(lambda a, b: graph.node("Add", a, b), values)


def _zero(graph: Graph, rows: str) -> str:
    """Return zero for each row."""
    known = graph.node("IsNaN", _column(graph, rows, 0))
    zero = graph.constant(0.0)
    return _squeezed(graph, graph.node("Where", known, zero, zero))


def _table_value(graph: Graph, rows: str, table: Table) -> str:
    """Return the value of one table for each row."""
    columns = [_column(graph, rows, column) for column in table.columns]
    if table.axes[0].kind == "lines":
        return _line(graph, columns[0], table)
    entries = [_entry(graph, *one) for one in zip(columns, table.axes, strict=True)]
    if len(entries) == 2:
        wide = graph.node("Mul", entries[0], graph.constant([table.axes[1].size], "int64"))
        entries = [graph.node("Add", wide, entries[1])]
    return graph.node("Gather", graph.constant(table.values.ravel()), entries[0])


def _column(graph: Graph, rows: str, column: int) -> str:
    return graph.node("Gather", rows, graph.constant([column], "int64"), axis=1)


def _squeezed(graph: Graph, column: str) -> str:
    return graph.node("Squeeze", column, graph.constant([1], "int64"))


def _summed(graph: Graph, columns: str) -> str:
    return graph.node("ReduceSum", columns, graph.constant([1], "int64"), keepdims=0)


def _entry(graph: Graph, column: str, axis: Axis) -> str:
    """Return the index of the entry of each row, of shape (rows,)."""
    knots = axis.knots if len(axis.knots) else np.array([np.finfo(np.float64).max])
    integer = graph.onnx.TensorProto.INT64
    if axis.kind == "levels":
        met = graph.node("Cast", graph.node("Equal", column, graph.constant(knots[None])), to=integer)
        back = graph.constant(np.arange(len(knots))[None] - axis.missing, "int64")
        off = _summed(graph, graph.node("Mul", met, back))
        return graph.node("Add", off, graph.constant([axis.missing], "int64"))
    above = graph.node("GreaterOrEqual", column, graph.constant(knots[None]))
    count = _summed(graph, graph.node("Cast", above, to=integer))
    missing = _squeezed(graph, graph.node("IsNaN", column))
    return graph.node("Where", missing, graph.constant([axis.missing], "int64"), count)


def _line(graph: Graph, column: str, table: Table) -> str:
    """Return v_0 plus, for each segment, the fraction of it below the value times its rise."""
    (axis,), values = table.axes, table.values
    total = graph.constant(values[:1])
    if len(axis.knots) > 1:
        low, width = axis.knots[:-1], np.diff(axis.knots)
        away = graph.node("Sub", column, graph.constant(low[None]))
        fraction = graph.node("Div", away, graph.constant(width[None]))
        fraction = graph.node("Clip", fraction, graph.constant(0.0), graph.constant(1.0))
        rise = graph.node("MatMul", fraction, graph.constant(np.diff(values[:-1])))
        total = graph.node("Add", rise, total)
    missing = _squeezed(graph, graph.node("IsNaN", column))
    return graph.node("Where", missing, graph.constant(values[-1:]), total)
