"""The layout of an order graph: the positions of its classes and the bends of its arrows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import Edge

Place = tuple[float, float]

COLUMN = 1.6
SWEEPS = 4
# Half the width and height of boxes that arrows avoid: a class, and the label in the middle of an arrow.
CLASS = (0.6, 0.35)
LABEL = (0.35, 0.2)
# Candidate distances of the middle of an arrow from the straight line.
BOWS = tuple(side * bow for bow in (0.0, 0.25, 0.5, 0.85, 1.25, 1.65, 2.05, 2.45) for side in (1, -1))
ALONG = np.linspace(0.0, 1.0, 25)
# The length of a label that fits a column of stretch 1.
CHARACTERS = 10


@dataclass(frozen=True)
class Layout:
    """The position of each class and the bend of each arrow, a quadratic curve with one control point.

    Attributes
    ----------
    places : dict of class to (across, up)
    bends : dict of edge to float
    stretch : float
        The width of columns relative to those of short labels.
    """

    places: dict[Hashable, Place]
    bends: dict[Edge, float]
    stretch: float

    def control(self, edge: Edge) -> Place:
        """Return the control point of an arrow."""
        start, end = (self.places[label] for label in edge)
        across, up = end[0] - start[0], end[1] - start[1]
        bend = self.bends[edge]
        return (start[0] + end[0]) / 2 + bend * up, (start[1] + end[1]) / 2 - bend * across

    def middle(self, edge: Edge) -> Place:
        """Return the point halfway along an arrow."""
        (x, y), (start, end) = self.control(edge), (self.places[label] for label in edge)
        return (start[0] + end[0] + 2 * x) / 4, (start[1] + end[1] + 2 * y) / 4

    def corners(self) -> NDArray[np.float64]:
        """Return the lowest and the highest (across, up) of classes and of the middles of arrows."""
        points = np.array([*self.places.values(), *(self.middle(edge) for edge in self.bends)])
        points = points.reshape(-1, 2) if points.size else np.zeros((1, 2))
        return np.array([points.min(axis=0), points.max(axis=0)])


def layout(edges: Sequence[Edge], classes: Sequence[Hashable], names: Iterable[str]) -> Layout:
    """Lay out an order graph whose classes are written with these names."""
    stretch = max([1.0, *(len(name) / CHARACTERS for name in names)])
    place = places(edges, classes, stretch)
    return Layout(place, bends(edges, place, stretch), stretch)


def layers(edges: Sequence[Edge], classes: Sequence[Hashable]) -> dict[Hashable, int]:
    """Return the layer of each class, 0 on top: the longest path from a class without a higher one.

    Classes without an edge are in the lowest layer.
    """
    above: dict[Hashable, list[Hashable]] = {label: [] for label in classes}
    for high, low in edges:
        above[low].append(high)
    layer: dict[Hashable, int] = {}
    for label in TopologicalSorter(above).static_order():
        layer[label] = max((layer[higher] + 1 for higher in above[label]), default=0)
    joined = {label for edge in edges for label in edge}
    return {label: layer[label] if label in joined else max(layer.values()) for label in classes}


def places(edges: Sequence[Edge], classes: Sequence[Hashable], stretch: float = 1.0) -> dict[Hashable, Place]:
    """Return (across, up) of each class; within a layer classes are sorted by the mean of their neighbours.

    Columns are wider by the factor `stretch`, for long labels.
    """
    layer = layers(edges, classes)
    rows: list[list[Hashable]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for label in classes:
        rows[layer[label]].append(label)
    near: dict[Hashable, list[Hashable]] = {label: [] for label in classes}
    for high, low in edges:
        near[high].append(low)
        near[low].append(high)
    across = {label: x for row in rows for label, x in zip(row, _spread(len(row)), strict=True)}
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            target = {label: np.mean([across[other] for other in near[label] or [label]]) for label in row}
            row.sort(key=target.__getitem__)
            across.update(zip(row, _spread(len(row)), strict=True))
    return {label: (stretch * across[label], -float(layer[label])) for label in classes}


def _spread(n: int) -> list[float]:
    return (COLUMN * (np.arange(n) - (n - 1) / 2)).tolist()


def bends(edges: Sequence[Edge], place: dict[Hashable, Place], stretch: float = 1.0) -> dict[Edge, float]:
    """Choose the bend of each edge that hits the fewest classes, labels and arrows, short edges first.

    A bend is the `rad` of matplotlib's arc3: twice the bow, relative to the length of the straight line.
    """
    drawn: list[NDArray[np.float64]] = []
    chosen: dict[Edge, float] = {}
    length = {(high, low): float(np.hypot(*np.subtract(place[high], place[low]))) for high, low in edges}
    for edge in sorted(edges, key=length.__getitem__):
        others = np.array([place[label] for label in place if label not in edge]).reshape(-1, 2)
        curves = {bow: _curve(place[edge[0]], place[edge[1]], 2 * bow / length[edge]) for bow in BOWS}
        cost = {bow: _cost(curve, others, drawn, stretch) + abs(bow) for bow, curve in curves.items()}
        bow = min(BOWS, key=cost.__getitem__)
        chosen[edge] = 2 * bow / length[edge]
        drawn.append(curves[bow])
    return {edge: chosen[edge] for edge in edges}


def _curve(start: Place, end: Place, bend: float) -> NDArray[np.float64]:
    """Return points along matplotlib's arc3: a quadratic curve with its control point off the middle."""
    first, last = np.array(start), np.array(end)
    across, up = last - first
    control = (first + last) / 2 + bend * np.array([up, -across])
    t = ALONG[:, None]
    return (1 - t) ** 2 * first + 2 * t * (1 - t) * control + t**2 * last


def _cost(
    curve: NDArray[np.float64],
    others: NDArray[np.float64],
    drawn: list[NDArray[np.float64]],
    stretch: float,
) -> float:
    hits = int(np.count_nonzero(_touched(others, curve, (CLASS[0] * stretch, CLASS[1]))))
    middle = len(ALONG) // 2
    labels = np.array([other[middle] for other in drawn]).reshape(-1, 2)
    hidden = int(np.count_nonzero(_touched(labels, curve, LABEL)))
    hidden += sum(bool(_touched(curve[middle : middle + 1], other, LABEL)[0]) for other in drawn)
    crossings = sum(_crosses(curve, other) for other in drawn)
    return 10.0 * hits + 4.0 * hidden + 1.0 * crossings


def _touched(
    centres: NDArray[np.float64], curve: NDArray[np.float64], size: tuple[float, float]
) -> NDArray[np.bool_]:
    """Return which boxes, of half width and half height `size`, the curve intersects."""
    apart = np.abs(centres[:, None] - curve[None]) / np.array(size)
    return (apart < 1.0).all(axis=2).any(axis=1)


def _crosses(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Return whether two curves cross away from their ends."""
    a, b = one[1:-2, None], one[2:-1, None]
    c, d = other[None, 1:-2], other[None, 2:-1]
    apart = (_side(a, b, c) != _side(a, b, d)) & (_side(c, d, a) != _side(c, d, b))
    return bool(apart.any())


def _side(p: NDArray[np.float64], q: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return on which side of the line from p to q the points r are."""
    (across, up), (x, y) = np.moveaxis(q - p, -1, 0), np.moveaxis(r - p, -1, 0)
    return np.sign(across * y - up * x)
