"""Charts as inline SVG, in the colours of the page, with values on hover."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.text import escaped, short
from rankwise.core.types import FloatArray
from rankwise.evaluation.names import shortened

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 72, 18, 14, 46
# The size of a chart with names at its left.
WIDE, LONGEST_NAME = 560, 34
# The width of a letter on a phone, on which letters are large relative to the chart.
LETTER = 8.5


class Chart:
    """Axes and the marks drawn into them.

    Parameters
    ----------
    name : str
        The description for screen readers.
    x, y : pairs of float
        The limits of the axes.
    x_label, y_label : str
    x_log, y_log : bool
    width, height, left, right : int
        The size of the chart and of its margins.
    whole : bool
        Whether the values of the y axis are counts.
    """

    def __init__(
        self,
        name: str,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_label: str = "",
        y_label: str = "",
        x_log: bool = False,
        y_log: bool = False,
        width: int = WIDTH,
        height: int = HEIGHT,
        left: int = LEFT,
        right: int = RIGHT,
        whole: bool = False,
    ) -> None:
        self.name, self.x_label, self.y_label = name, x_label, y_label
        self.width, self.height, self.left, self.right = width, height, left, width - right
        self.whole = whole
        self.x_axis = Axis(x, x_log, left, self.right)
        self.y_axis = Axis(y, y_log, height - BOTTOM, TOP)
        self.parts: list[str] = []

    def line(self, x: ArrayLike, y: ArrayLike, style: int = 0, dots: bool = False, name: str = "") -> None:
        """Draw a line, optionally with dots that show their values on hover."""
        across, up = self.x_axis.place(x), self.y_axis.place(y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
        self.parts.append(f'<polyline class="line s{style}" points="{points}">{_title(name)}</polyline>')
        if dots:
            self.points(x, y, style)

    def points(
        self,
        x: ArrayLike,
        y: ArrayLike,
        style: int = 0,
        titles: Sequence[str] | None = None,
        radius: float = 3.2,
    ) -> None:
        """Draw dots."""
        values = list(zip(np.asarray(x).tolist(), np.asarray(y).tolist(), strict=True))
        named = [f"{short(a)}, {short(b)}" for a, b in values] if titles is None else titles
        places = zip(self.x_axis.place(x), self.y_axis.place(y), named, strict=True)
        self.parts += [
            f'<circle class="dot s{style}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}">{_title(title)}</circle>'
            for a, b, title in places
        ]

    def box(
        self, x: tuple[float, float], y: tuple[float, float], kind: str = "bar s0", title: str = ""
    ) -> None:
        """Draw a rectangle in data coordinates."""
        (left, right), (low, high) = sorted(self.x_axis.place(x)), sorted(self.y_axis.place(y))
        self.parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{low:.1f}" width="{max(right - left, 0.5):.1f}" '
            f'height="{max(high - low, 0.5):.1f}">{_title(title)}</rect>'
        )

    def rule(self, *, x: float | None = None, y: float | None = None, kind: str = "rule") -> None:
        """Draw a vertical or horizontal line across the chart."""
        x1, x2 = (
            (self.x_axis.begin, self.x_axis.end) if x is None else (float(self.x_axis.place([x])[0]),) * 2
        )
        y1, y2 = (
            (self.y_axis.begin, self.y_axis.end) if y is None else (float(self.y_axis.place([y])[0]),) * 2
        )
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def segment(self, x: Sequence[float], y: Sequence[float], kind: str, title: str = "") -> None:
        """Draw a straight line between two points."""
        (x1, x2), (y1, y2) = self.x_axis.place(x), self.y_axis.place(y)
        ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        self.parts.append(f'<line class="{kind}" {ends}>{_title(title)}</line>')

    def label(
        self, x: float, y: float, content: str, anchor: str = "middle", shift: tuple[float, float] = (0, 4)
    ) -> None:
        """Write text at a point in data coordinates, shifted by pixels."""
        a, b = float(self.x_axis.place([x])[0]) + shift[0], float(self.y_axis.place([y])[0]) + shift[1]
        self.parts.append(f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">{escaped(content)}</text>')

    def render(self, x_ticks: bool = True, y_ticks: bool = True) -> str:
        """Return the SVG element."""
        axes = (self._x_axis() if x_ticks else []) + (self._y_axis() if y_ticks else [])
        return picture(self.name, self.width, self.height, [*axes, *self.parts, *self._titles()])

    def _x_axis(self) -> list[str]:
        bottom = self.height - BOTTOM
        marks = [f'<line class="axis" x1="{self.left}" y1="{bottom}" x2="{self.right}" y2="{bottom}"/>']
        for tick, place in self.x_axis.ticks(6):
            marks.append(f'<text x="{place:.1f}" y="{bottom + 18}" text-anchor="middle">{tick}</text>')
        return marks

    def _y_axis(self) -> list[str]:
        marks = []
        for tick, place in self.y_axis.ticks(5, self.whole):
            marks.append(
                f'<line class="grid" x1="{self.left}" y1="{place:.1f}" x2="{self.right}" y2="{place:.1f}"/>'
            )
            marks.append(f'<text x="{self.left - 8}" y="{place + 4:.1f}" text-anchor="end">{tick}</text>')
        return marks

    def _titles(self) -> list[str]:
        up = (TOP + self.height - BOTTOM) / 2
        # A label wider than its axis extends to the left, below the names.
        middle = min((self.left + self.right) / 2, self.width - LETTER * len(self.x_label) / 2)
        places = {
            self.x_label: f'x="{middle:g}" y="{self.height - 8}"',
            self.y_label: f'transform="translate(14 {up}) rotate(-90)"',
        }
        return [
            f'<text class="label" {place} text-anchor="middle">{escaped(label)}</text>'
            for label, place in places.items()
            if label
        ]


class Axis:
    """A map from values to pixels."""

    def __init__(self, limits: tuple[float, float], log: bool, begin: float, end: float) -> None:
        low, high = (float(limit) for limit in limits)
        self.log = log
        self.low, self.high = (math.log10(low), math.log10(high)) if log else (low, high)
        if self.high == self.low:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.begin, self.end = float(begin), float(end)

    def place(self, values: ArrayLike) -> FloatArray:
        """Return the pixel of each value."""
        array = np.asarray(values, dtype=np.float64)
        array = np.log10(array) if self.log else array
        return np.asarray(self.begin + (array - self.low) / (self.high - self.low) * (self.end - self.begin))

    def ticks(self, count: int, whole: bool = False) -> list[tuple[str, float]]:
        """Return the labels and the pixels of round values."""
        if self.log:
            first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
            step = max(1, math.ceil((last - first + 1) / count))
            powers = range(first, last + 1, step)
            return [(_power(power), float(self.place([10.0**power])[0])) for power in powers]
        values = round_values(self.low, self.high, count, whole)
        return [(tick(value), float(self.place([value])[0])) for value in values]


def tick(value: float) -> str:
    """Write a round number.

    Examples
    --------
    >>> tick(0.25), tick(1500.0), tick(1e-05)
    ('0.25', '1,500', '1e-05')
    """
    written = short(value)
    return written.rstrip("0").rstrip(".") if "." in written and "e" not in written else written


def round_values(low: float, high: float, count: int, whole: bool = False) -> list[float]:
    """Return about `count` round numbers from low to high.

    Examples
    --------
    >>> round_values(0.0, 1.0, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    step = math.ceil(step) if whole else step
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [float(f"{number * step:.12g}") for number in numbers]


def picture(name: str, width: float, height: float, parts: Sequence[str]) -> str:
    """Return an SVG element with a description for screen readers."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escaped(name)}" '
        f'style="--width:{width:g}px">{"".join(parts)}</svg>'
    )


def _power(power: int) -> str:
    if -3 <= power <= 3:
        return tick(10.0**power)
    return f'10<tspan class="power" dy="-5">{short(power)}</tspan>'


def _title(content: str) -> str:
    return f"<title>{escaped(content)}</title>" if content else ""


def room_for(names: Sequence[str]) -> int:
    """Return the width of a left margin that fits the names."""
    return 24 + 8 * max((len(name) for name in names), default=0)


def padded(values: ArrayLike, room: float = 0.04) -> tuple[float, float]:
    """Return limits with a margin around the values."""
    array = np.asarray(values, dtype=np.float64)
    low, high = float(array.min()), float(array.max())
    space = room * (high - low) or 0.5
    return low - space, high + space


class Interval(NamedTuple):
    """A row of an interval chart; NaN for numbers that are undefined."""

    name: str
    title: str
    value: float
    low: float
    high: float


def interval_chart(
    name: str, rows: Sequence[Interval], x_label: str, *, width: int, row_height: int, origin: bool = False
) -> str:
    """Draw named values with their intervals from the top down, optionally with a line at 0."""
    ends = [value for row in rows for value in (row.value, row.low, row.high) if not math.isnan(value)]
    low, high = padded([*ends, 0.0] if origin else ends)
    names = [shortened(row.name, LONGEST_NAME) for row in rows]
    chart = Chart(
        name,
        (low, high),
        (len(rows) - 0.5, -0.5),
        x_label=x_label,
        width=width,
        height=70 + row_height * len(rows),
        left=room_for(names),
    )
    if origin:
        chart.rule(x=0.0, kind="rule strong")
    for place, row in enumerate(rows):
        if not math.isnan(row.low):
            chart.segment((row.low, row.high), (place, place), "whisker s0", row.title)
        if not math.isnan(row.value):
            chart.points([row.value], [place], 0, [row.title], 4)
        chart.label(low, place, names[place], "end", (-8, 4))
    return chart.render(y_ticks=False)
