"""The convex-hull program of Fung et al. (2005) in the form that its solvers share.

For each edge (i, j) of the order graph there is a threshold b with "class i at least b, class j at most
b - 1", up to a slack for each row (constraints (18) to (21) of the paper). So each class has an interval
[L, U], with L_i >= U_j + 1 for each edge, and the slack of a row is its largest violation
max(0, L - f, f - U). The program (27) reads

    minimize over f, L, U:   sum over units u of weight_u slack_u^p + f's penalty.

A unit has one slack. It is a row, or a row and an edge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.types import FloatVector, IntVector


@dataclass
class HullProgram:
    """Units with a lower bound, an upper bound or both, and the edges between the bounds.

    Thresholds are numbered; all lower bounds L and upper bounds U are among them.

    Attributes
    ----------
    row : array of shape (n_units,)
        The row of each unit.
    weight : array of shape (n_units,)
        The weights sum to 1 over rows.
    low, high : arrays of shape (n_units,)
        The indices of the unit's thresholds L and U, -1 if it has none.
    edge_low, edge_high : arrays of shape (n_edges,)
        For each edge the L of its higher class and the U of its lower class.
    slack : "squared", "absolute" or "none"
    """

    row: IntVector
    weight: FloatVector
    low: IntVector
    high: IntVector
    edge_low: IntVector
    edge_high: IntVector
    n_rows: int
    n_thresholds: int
    slack: str

    @property
    def n_units(self) -> int:
        """The number of slacks."""
        return len(self.row)

    @cached_property
    def row_begin(self) -> IntVector:
        """The first unit of each row; units are sorted by row."""
        return np.searchsorted(self.row, np.arange(self.n_rows + 1))

    def of_zero(self) -> HullProgram:
        """Return the program of the zero function: units with the same bounds are merged."""
        bounds, unit = np.unique(np.stack([self.low, self.high]), axis=1, return_inverse=True)
        weight = np.asarray(np.bincount(unit.ravel(), self.weight), np.float64)
        row = np.arange(len(weight))
        low, high = bounds
        return replace(self, row=row, weight=weight, low=low, high=high, n_rows=len(row))

    def tightened(self, thresholds: FloatVector) -> FloatVector:
        """Return feasible thresholds: each U as high as the L above it allow, then each L as low."""
        tight = thresholds.copy()
        tight[self.edge_high] = np.inf
        np.minimum.at(tight, self.edge_high, tight[self.edge_low] - 1.0)
        tight[self.edge_low] = -np.inf
        np.maximum.at(tight, self.edge_low, tight[self.edge_high] + 1.0)
        return tight

    def slacks(self, scores: FloatVector, thresholds: FloatVector) -> FloatVector:
        """Return the slack of each unit: its largest violation."""
        bounds = np.append(thresholds, 0.0)  # index -1 refers to the extra entry, which is not used
        f = scores[self.row]
        below = np.where(self.low >= 0, bounds[self.low] - f, 0.0)
        above = np.where(self.high >= 0, f - bounds[self.high], 0.0)
        return np.maximum(0.0, np.maximum(below, above))

    def loss(self, scores: FloatVector, thresholds: FloatVector) -> float:
        """Return the weighted sum of the slacks, or of their squares."""
        slacks = self.slacks(scores, thresholds)
        return float(self.weight @ (slacks**2 if self.slack == "squared" else slacks))

    def hull_bounds(self, scores: FloatVector) -> FloatVector:
        """Return the thresholds without slack: L is the lowest score of its class, U the highest."""
        f, bounds = scores[self.row], np.full(self.n_thresholds + 1, np.nan)
        bounds[self.low], bounds[self.high] = np.inf, -np.inf
        np.minimum.at(bounds, self.low, f)
        np.maximum.at(bounds, self.high, f)
        return bounds[:-1]

    def margin(self, thresholds: FloatVector) -> float:
        """Return the smallest L - U over the edges."""
        return float(np.min(thresholds[self.edge_low] - thresholds[self.edge_high]))

    def row_sums(self, values: FloatVector) -> FloatVector:
        """Sum the values of the units of each row."""
        return np.bincount(self.row, values, self.n_rows).astype(np.float64, copy=False)


@dataclass
class DualPoint:
    """Multipliers: `below` of f + y >= L, `above` of f - y <= U, `edge` of L >= U + 1; all nonnegative.

    They are feasible for the dual program if for each threshold the sum over its units equals the sum over
    its edges and, with absolute slacks, below + above <= weight.
    """

    below: FloatVector
    above: FloatVector
    edge: FloatVector

    def balanced(self, program: HullProgram) -> DualPoint:
        """Return nearby feasible multipliers, scaled per threshold."""
        edge = np.maximum(self.edge, 0.0)
        below = _matched(self.below, program.low, edge, program.edge_low, program.n_thresholds)
        above = _matched(self.above, program.high, edge, program.edge_high, program.n_thresholds)
        if program.slack == "absolute":
            excess = float(np.max((below + above) / program.weight, initial=1.0))
            below, above, edge = below / excess, above / excess, edge / excess
        return DualPoint(below, above, edge)

    def pull(self, program: HullProgram) -> FloatVector:
        """Return the force on each row's score, positive upwards: minus the slope of the loss."""
        return program.row_sums(self.below - self.above)

    def imbalance(self, program: HullProgram) -> FloatVector:
        """Return the force on each threshold, positive upwards; it is zero at feasible multipliers."""
        n = program.n_thresholds
        edges = np.bincount(program.edge_low, self.edge, n) - np.bincount(program.edge_high, self.edge, n)
        units = np.bincount(program.high + 1, self.above, n + 1) - np.bincount(
            program.low + 1, self.below, n + 1
        )
        return edges + units[1:]

    def value(self, program: HullProgram) -> float:
        """Return the dual objective without the penalty term: the loss is at least value - pull'f."""
        total = float(self.edge.sum())
        if program.slack == "squared":
            total -= float(np.sum((self.below + self.above) ** 2 / (4.0 * program.weight)))
        return total


def _matched(
    units: FloatVector, threshold: IntVector, edge: FloatVector, edge_threshold: IntVector, n: int
) -> FloatVector:
    """Scale the multipliers of the units of each threshold so that their sum equals that of its edges."""
    bounded = threshold >= 0
    values = np.where(bounded, np.maximum(units, 0.0), 0.0)
    wanted = np.bincount(edge_threshold, edge, n)
    found = np.bincount(threshold[bounded], values[bounded], n)
    factor = np.divide(wanted, found, out=np.zeros(n), where=found > 0)
    return values * np.append(factor, 0.0)[threshold]


def hull_program(
    codes: IntVector,
    edge_codes: NDArray[np.integer],
    weight: FloatVector | None = None,
    *,
    slack: str = "squared",
    slack_per: str = "row",
) -> HullProgram:
    """Set up the program for rows of classes with an order graph.

    Parameters
    ----------
    codes : array of shape (n_rows,)
        The class of each row; -1 for a row without a class, which is ignored.
    edge_codes : array of shape (n_edges, 2)
        Higher and lower class of each edge.
    weight : array of shape (n_rows,), optional
        Rows of weight zero and edges of classes without rows are ignored.
    slack_per : "row" or "edge"
        One slack per row, or one per row and edge of its class.
    """
    codes = np.where(np.ones(len(codes)) if weight is None else weight, codes, -1)
    present = np.isin(np.arange(codes.max(initial=0) + 1), codes)
    known = edge_codes[np.all(edge_codes < len(present), axis=1)]
    edges = known[present[known].all(axis=1)].astype(np.int64)
    if slack_per == "row":
        row, group = np.arange(len(codes)), codes
    else:
        row, group, edges = _units_of_edges(codes, edges)
    low_of, high_of, n_thresholds = _number_thresholds(group, edges)
    bounded = (low_of[group] >= 0) | (high_of[group] >= 0)
    row, group = row[bounded], group[bounded]
    importance = np.ones(len(codes)) if weight is None else weight
    taking_part = np.zeros(len(codes), dtype=bool)
    taking_part[row] = True
    return HullProgram(
        row=row,
        weight=importance[row] / importance[taking_part].sum(),
        low=low_of[group],
        high=high_of[group],
        edge_low=low_of[edges[:, 0]],
        edge_high=high_of[edges[:, 1]],
        n_rows=len(codes),
        n_thresholds=n_thresholds,
        slack=slack,
    )


def _units_of_edges(codes: IntVector, edges: IntVector) -> tuple[IntVector, IntVector, IntVector]:
    """Give each edge two classes of its own; return rows and classes of the units, and the new edges."""
    ends = edges.ravel()
    incidence = sp.csr_matrix((np.ones(len(ends)), (ends, np.arange(len(ends)))))
    classes = np.where(codes < incidence.shape[0], codes, -1)
    inside = np.flatnonzero(classes >= 0)
    units = incidence[classes[inside]]
    row = np.repeat(inside, np.diff(units.indptr))
    return row, units.indices.astype(np.int64), np.arange(len(ends)).reshape(-1, 2)


def _number_thresholds(group: IntVector, edges: IntVector) -> tuple[IntVector, IntVector, int]:
    """Number the L and U that edges need; the last entry, for index -1, is -1."""
    n_groups = max(int(group.max(initial=-1)), int(edges.max(initial=-1))) + 1
    low_of, high_of = np.full((2, n_groups + 1), -1)
    with_low, with_high = np.unique(edges[:, 0]), np.unique(edges[:, 1])
    low_of[with_low] = np.arange(len(with_low))
    high_of[with_high] = len(with_low) + np.arange(len(with_high))
    return low_of, high_of, len(with_low) + len(with_high)
