"""Sums of curves as an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from rankwise.core.checks import check_choice
from rankwise.curves.axis import Axis
from rankwise.export.curves import Table, table_scorer
from rankwise.export.onnx import TYPES, Graph


def onnx_tables(
    model: Any,
    *,
    format: str = "onnx",
    feature_names: Sequence[str] | None = None,
    model_name: str = "rankwise_model",
    output: int | None = None,
    dtype: str = "float32",
) -> bytes:
    """Return a serialised ONNX model with input `X` of shape (rows, features) and output `scores`, (rows,).

    `X` holds NaN for missing values, and of a column of categories the place of the category among those of
    the fit. `dtype` is the type of input and output; tables are looked up in float64.
    """
    check_choice(dtype, "dtype", TYPES)
    scorer = table_scorer(model, feature_names, output)
    graph = Graph(dtype)
    rows = graph.to_float64("X")
    terms = [_term(graph, rows, table) for table in scorer.tables] or [_nothing(graph, rows)]
    total = reduce(lambda a, b: graph.node("Add", a, b), terms)
    if dtype == "float32":
        total = graph.node("Cast", total, to=graph.onnx.TensorProto.FLOAT)
    graph.node("Identity", total, name="scores")
    return graph.serialised(len(scorer.names), (), model_name, scorer.names)


def _nothing(graph: Graph, rows: str) -> str:
    """Return zero for each row."""
    known = graph.node("IsNaN", _column(graph, rows, 0))
    zero = graph.constant(0.0)
    return _squeezed(graph, graph.node("Where", known, zero, zero))


def _term(graph: Graph, rows: str, table: Table) -> str:
    """Return what one table adds to each row."""
    columns = [_column(graph, rows, place) for place in table.places]
    if table.axes[0].kind == "lines":
        return _line(graph, columns[0], table)
    entries = [_entry(graph, *one) for one in zip(columns, table.axes, strict=True)]
    if len(entries) == 2:
        wide = graph.node("Mul", entries[0], graph.constant([table.axes[1].size], "int64"))
        entries = [graph.node("Add", wide, entries[1])]
    return graph.node("Gather", graph.constant(table.values.ravel()), entries[0])


def _column(graph: Graph, rows: str, place: int) -> str:
    return graph.node("Gather", rows, graph.constant([place], "int64"), axis=1)


def _squeezed(graph: Graph, column: str) -> str:
    return graph.node("Squeeze", column, graph.constant([1], "int64"))


def _summed(graph: Graph, columns: str) -> str:
    return graph.node("ReduceSum", columns, graph.constant([1], "int64"), keepdims=0)


def _entry(graph: Graph, column: str, axis: Axis) -> str:
    """Return the entry that each row meets, as whole numbers of shape (rows,)."""
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
    """Return v_0 plus, for each line, how far a row has gone on it times the rise."""
    (axis,), values = table.axes, table.values
    total = graph.constant(values[:1])
    if len(axis.knots) > 1:
        low, width = axis.knots[:-1], np.diff(axis.knots)
        away = graph.node("Sub", column, graph.constant(low[None]))
        share = graph.node("Div", away, graph.constant(width[None]))
        share = graph.node("Clip", share, graph.constant(0.0), graph.constant(1.0))
        rise = graph.node("MatMul", share, graph.constant(np.diff(values[:-1])))
        total = graph.node("Add", rise, total)
    missing = _squeezed(graph, graph.node("IsNaN", column))
    return graph.node("Where", missing, graph.constant(values[-1:]), total)
