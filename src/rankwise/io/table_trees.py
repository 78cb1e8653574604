"""The tables of curves as trees, for programs that know no tables."""

from __future__ import annotations

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.io.terms import Table, Terms
from rankwise.io.trees import Tree, categories_error


def table_trees(terms: Terms) -> list[Tree]:
    """Return one tree per table, of depth log2(steps); refuse tables that are not made of steps.

    Examples
    --------
    >>> from rankwise.functions.curve_axis import Axis
    >>> table = Table((0,), (Axis("steps", np.array([3.0])),), np.array([-1.0, 1.0, 0.5]))
    >>> (tree,) = table_trees(Terms(None, ["age"], np.zeros(0), tables=[table]))
    >>> tree.threshold < 3.0, tree.value
    (array([ True,  True]), array([ 0.5, -1. ,  1. ]))
    """
    for table in terms.tables:
        _check_steps(terms, table)
    return [_Growth(table).tree() for table in terms.tables] or [_constant(0.0)]


def _check_steps(terms: Terms, table: Table) -> None:
    for column, axis in zip(table.columns, table.axes, strict=True):
        name = terms.names[column]
        if axis.kind == "levels":
            raise categories_error(name)
        if axis.kind == "lines":
            raise ValueError(
                f"The curve of feature {name!r} has lines, and search engines have trees, which represent "
                "steps only; fit with shape='steps'."
            )


def _constant(value: float) -> Tree:
    none = np.zeros(0, np.int64)
    return Tree(none, np.zeros(0), np.zeros(0, bool), none, none, np.array([value]))


class _Growth:
    """A tree of a table, grown from the root: a split for missing values, and then halves of the steps."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.splits: list[tuple[int, float, bool]] = []
        self.children: list[tuple[int, int]] = []
        self.leaves: list[float] = []

    def tree(self) -> Tree:
        self._entries(self.table.values, 0)
        columns = list(zip(*self.splits, strict=True)) or [(), (), ()]
        left, right = list(zip(*self.children, strict=True)) or [(), ()]
        return Tree(
            np.array(columns[0], np.int64),
            np.array(columns[1], np.float64),
            np.array(columns[2], np.bool_),
            np.array(left, np.int64),
            np.array(right, np.int64),
            np.array(self.leaves),
        )

    def _entries(self, values: FloatArray, dimension: int) -> int:
        """Return the node of a part of the table whose first axis is this dimension."""
        if np.ptp(values) == 0:
            return self._leaf(values)
        node = self._split(dimension, -np.inf, True)  # no number is on the left
        return self._join(
            node, self._entries(values[-1], dimension + 1), self._steps(values[:-1], 0, dimension)
        )

    def _steps(self, values: FloatArray, first: int, dimension: int) -> int:
        """Return the node of successive steps, of which the first has this index."""
        if np.ptp(values) == 0:
            return self._leaf(values)
        if len(values) == 1:
            return self._entries(values[0], dimension + 1)
        half = len(values) // 2
        knot = self.table.axes[dimension].knots[first + half - 1]
        node = self._split(dimension, float(np.nextafter(knot, -np.inf)), False)
        low, high = values[:half], values[half:]
        return self._join(
            node, self._steps(low, first, dimension), self._steps(high, first + half, dimension)
        )

    def _split(self, dimension: int, threshold: float, missing_left: bool) -> int:
        self.splits.append((self.table.columns[dimension], threshold, missing_left))
        self.children.append((0, 0))
        return len(self.splits) - 1

    def _join(self, node: int, left: int, right: int) -> int:
        self.children[node] = left, right
        return node

    def _leaf(self, values: FloatArray) -> int:
        self.leaves.append(float(values.flat[0]))
        return -len(self.leaves)
