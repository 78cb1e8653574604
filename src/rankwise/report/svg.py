"""Pictures as inline SVG, in the colours of the page, with values on hover."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.text import MINUS, escaped, short
from rankwise.core.types import FloatArray
from rankwise.report import marks
from rankwise.report.marks import Axis, Band, Bars, Dots, Intervals, Line, Picture, Rule, Text

LEFT, RIGHT, TOP, BOTTOM = 72, 18, 14, 46
TITLE_LINE = 18
# The width of a letter on a phone, on which letters are large relative to the chart.
LETTER = 8.5
MARGIN = 0.04
# The steps of dates on an axis, in months.
DAYS_PER_MONTH = 30.44
MONTHS = (1, 2, 3, 6, *(12 * factor * 10**power for power in range(7) for factor in (1, 2, 5)))
# The number of colours of data in report.css.
N_COLOURS = 6
# The attributes of marks that are values on each axis.
ENDS = {
    "x": {Line: "x", Dots: "x", Band: "x", Bars: "left right", Intervals: "low high", Rule: "x"},
    "y": {Line: "y", Dots: "y", Band: "low high", Bars: "bottom top", Rule: "y"},
}


def svg(picture: Picture) -> str:
    """Return a picture as an SVG element.

    Examples
    --------
    >>> svg(Picture("Growth", [Line([0, 1], [0, 2])], Axis("time"), Axis("size")))[:57]
    '<svg viewBox="0 0 480 270" role="img" aria-label="Growth"'
    """
    frame = Frame(picture)
    drawn = [*_x_axis(frame), *_y_axis(frame)]
    for mark in picture.marks:
        drawn += DRAWN[type(mark)](frame, mark)
    width, height = picture.size
    return element(
        "svg",
        "".join([*drawn, *_labels(frame)]),
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=picture.name,
        style=f"--width:{width:g}px",
    )


def legend(picture: Picture) -> str:
    """Return a list of the named lines and dots of a picture, empty for fewer than two."""
    named = [mark for mark in picture.marks if isinstance(mark, Line | Dots) and mark.name]
    if len(named) < 2:
        return ""
    box = {"viewBox": "0 0 40 10", "width": "40", "height": "10", "aria_hidden": "true", "class_": "key"}
    items = [f"<li>{element('svg', _key(mark), **box)} {escaped(mark.name)}</li>" for mark in named]
    return f'<ul class="legend">{"".join(items)}</ul>'


def _key(mark: Line | Dots) -> str:
    if isinstance(mark, Dots):
        return element("circle", class_=f"{mark.shape} {_kind(mark.style)}", cx=20, cy=5, r=4)
    return element("polyline", class_=f"line {_kind(mark.style)}", points="0,5 40,5")


def element(tag: str, content: str = "", **attributes: str | float) -> str:
    """Return an element with its attributes, escaped and rounded, but for empty ones; the content is SVG.

    Examples
    --------
    >>> element("line", x1=0.25, class_="axis")
    '<line x1="0.2" class="axis"/>'
    """
    given = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value != ""}
    texts = {name: value if isinstance(value, str) else f"{value:.1f}" for name, value in given.items()}
    written = "".join(f' {name}="{escaped(value)}"' for name, value in texts.items())
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


class Frame:
    """The scales of a picture and the pixels of its plot area."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        width, height = picture.size
        names, beside = picture.y.names, picture.y.beside
        self.left = LEFT if names is None else _room_for(names) + (TITLE_LINE if picture.y.label else 0)
        self.right = width - (_room_for(beside) if beside else RIGHT)
        self.top = TOP + TITLE_LINE * len(picture.title.splitlines())
        self.bottom = height - BOTTOM
        self.x = Scale(picture.x, self._values("x"), self.left, self.right)
        self.y = Scale(picture.y, self._values("y"), self.bottom, self.top)

    def _values(self, axis: str) -> FloatArray:
        """Return all values of the marks on an axis."""
        found = [
            np.ravel(np.asarray(getattr(mark, name), dtype=np.float64))
            for mark in self.picture.marks
            for name in ENDS[axis].get(type(mark), "").split()
            if getattr(mark, name) is not None
        ]
        return np.concatenate(found) if found else np.empty(0)


class Scale:
    """A map from the values of an axis to pixels."""

    def __init__(self, axis: Axis, values: FloatArray, begin: float, end: float) -> None:
        self.axis, self.begin, self.end = axis, float(begin), float(end)
        known = self._units(values[np.isfinite(values)])
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        space = MARGIN * (high - low) or 0.5
        ends = [low - space, high + space]
        if axis.is_log and math.floor(ends[1]) - math.ceil(ends[0]) < 1:
            ends = [math.floor(low), math.floor(low) + max(1, math.ceil(high) - math.floor(low))]
        given = [None if limit is None else float(self._units(limit)) for limit in axis.limits]
        self.low, self.high = (own if end is None else end for own, end in zip(ends, given, strict=True))
        if self.high == self.low:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def _units(self, values: ArrayLike) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        return np.asarray(np.log10(array) if self.axis.is_log else array)

    def place(self, values: ArrayLike) -> FloatArray:
        """Return the pixel of each value."""
        part = (self._units(values) - self.low) / (self.high - self.low)
        return np.asarray(self.begin + part * (self.end - self.begin))

    def ticks(self, count: int) -> list[tuple[str, float]]:
        """Return the labels, as SVG, and the pixels of names or of round values."""
        if self.axis.names is not None:
            places = self.place(np.arange(len(self.axis.names)))
            return [(escaped(name), float(at)) for name, at in zip(self.axis.names, places, strict=True)]
        if self.axis.is_log:
            first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
            step = max(1, math.ceil((last - first + 1) / count))
            powers = range(first, last + 1, step)
            return [(_power(power), float(self.place([10.0**power])[0])) for power in powers]
        if self.axis.kind == "date":
            return [(name, float(self.place([day])[0])) for name, day in dates(self.low, self.high, count)]
        values = round_values(self.low, self.high, count, self.axis.is_whole)
        write = _percent if self.axis.kind == "share" else tick
        return [(write(value), float(self.place([value])[0])) for value in values]


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


def dates(low: float, high: float, count: int) -> list[tuple[str, float]]:
    """Return about `count` round dates with their names, and their numbers of days after 1970-01-01.

    Examples
    --------
    >>> [name for name, _ in dates(19783.0, 20183.0, 5)]
    ['2024-04', '2024-07', '2024-10', '2025-01', '2025-04']
    """
    if high - low < 31 * count:
        days = round_values(low, high, max(2, count // 2), whole=True)
        return [(str(np.datetime64(int(day), "D")), day) for day in days]
    months = (high - low) / DAYS_PER_MONTH / count
    step = next(step for step in MONTHS if step >= months)
    first, last = (int(np.datetime64(int(end), "D").astype("M8[M]").astype(int)) for end in (low, high))
    found = [np.datetime64(month, "M") for month in range(-(-(first + 1) // step) * step, last + 1, step)]
    return [(str(one)[: 4 if step % 12 == 0 else 7], float(one.astype("M8[D]").astype(int))) for one in found]


def _percent(value: float) -> str:
    return f"{100 * value:.6g}%".replace("-", MINUS)


def _power(power: int) -> str:
    if -3 <= power <= 3:
        return tick(10.0**power)
    return f'10<tspan class="power" dy="-5">{short(power)}</tspan>'


def _room_for(names: Sequence[str]) -> int:
    """Return the width of a margin that fits the names."""
    return 24 + 8 * max((len(name) for name in names), default=0)


def _written(x: float, y: float, anchor: str, content: str, **more: str) -> str:
    return element("text", content, x=x, y=y, text_anchor=anchor, **more)


def _x_axis(frame: Frame) -> list[str]:
    y = frame.bottom
    anchors = {frame.x.begin: "start", frame.x.end: "end"} if frame.picture.x.names else {}
    ticks = [_written(x, y + 18, anchors.get(x, "middle"), name) for name, x in frame.x.ticks(6) if name]
    return [element("line", class_="axis", x1=frame.left, y1=y, x2=frame.right, y2=y), *ticks]


def _y_axis(frame: Frame) -> list[str]:
    axis, left, right = frame.picture.y, frame.left, frame.right
    ticks = frame.y.ticks(5)
    lines = [
        element("line", class_="grid", x1=left, y1=y, x2=right, y2=y) for _, y in ticks if axis.names is None
    ]
    beside = zip(axis.beside, frame.y.place(np.arange(len(axis.beside))), strict=True)
    return [
        *lines,
        *(_written(left - 8, y + 4, "end", name) for name, y in ticks),
        *(_written(right + 8, y + 4, "start", escaped(content)) for content, y in beside),
    ]


def _labels(frame: Frame) -> list[str]:
    """Write the labels of the axes, and the title."""
    width, height = frame.picture.size
    label, up = frame.picture.x.label, (frame.top + frame.bottom) / 2
    # A label wider than its axis extends to the left, below the names.
    middle = min((frame.left + frame.right) / 2, width - LETTER * len(label) / 2)
    places = [
        (middle, height - 8.0, "middle", label, ""),
        (0.0, 0.0, "middle", frame.picture.y.label, f"translate(14 {up}) rotate(-90)"),
    ]
    for number, line in enumerate(frame.picture.title.splitlines(), 1):
        places.append((8.0, float(TITLE_LINE * number), "start", line, ""))
    return [
        _written(x, y, anchor, escaped(line), class_="label", transform=turned)
        for x, y, anchor, line, turned in places
        if line
    ]


def _hover(content: str) -> str:
    """Return a title, which is shown on hover."""
    return f"<title>{escaped(content)}</title>" if content else ""


def _kind(style: Any) -> str:
    """Return the class of a colour of data or of an ink in report.css."""
    return style if isinstance(style, str) else f"s{style % N_COLOURS}"


def _points(x: ArrayLike, y: ArrayLike) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(np.asarray(x), np.asarray(y), strict=True))


def _svg_line(frame: Frame, mark: Line) -> list[str]:
    points = _points(frame.x.place(mark.x), frame.y.place(mark.y))
    return [element("polyline", _hover(mark.name), class_=f"line {_kind(mark.style)}", points=points)]


def _svg_dots(frame: Frame, mark: Dots) -> list[str]:
    values = zip(np.asarray(mark.x).tolist(), np.asarray(mark.y).tolist(), strict=True)
    titles = [f"{short(a)}, {short(b)}" for a, b in values] if mark.titles is None else mark.titles
    kind, r = f"{mark.shape} {_kind(mark.style)}", mark.radius
    return [
        element("line", _hover(title), class_=kind, x1=x, y1=y - r, x2=x, y2=y + r)
        if mark.shape == "tick"
        else element("circle", _hover(title), class_=kind, cx=x, cy=y, r=r)
        for x, y, title in zip(frame.x.place(mark.x), frame.y.place(mark.y), titles, strict=True)
    ]


def _svg_band(frame: Frame, mark: Band) -> list[str]:
    x, low, high = np.array([mark.x, mark.low, mark.high], dtype=np.float64)
    known = np.isfinite(low + high)
    edge = np.concatenate([low[known], high[known][::-1]])
    across = np.concatenate([x[known], x[known][::-1]])
    points = _points(frame.x.place(across), frame.y.place(edge))
    return [element("polygon", class_=f"band {_kind(mark.style)}", points=points)]


def _svg_bars(frame: Frame, mark: Bars) -> list[str]:
    across = [frame.x.place(side) for side in (mark.left, mark.right)]
    up = [frame.y.place(side) for side in (mark.bottom, mark.top)]
    ends = [np.minimum(*across), np.minimum(*up), np.abs(np.subtract(*across)), np.abs(np.subtract(*up))]
    styles = [_kind(style) for style in np.ravel(np.asarray(mark.style, dtype=object))]
    sides = np.broadcast_arrays(*ends, np.reshape(styles, np.shape(mark.style)), mark.opacity)
    rows = zip(*(side.ravel() for side in sides), mark.titles or repeat(""), strict=False)
    return [
        element(
            "rect", _hover(title), class_=f"bar {kind}",
            x=x, y=y, width=max(width, 0.5), height=max(height, 0.5),
            opacity="" if opacity == 1.0 else f"{opacity:.3g}",
        )
        for x, y, width, height, kind, opacity, title in rows
    ]  # fmt: skip


def _svg_intervals(frame: Frame, mark: Intervals) -> list[str]:
    low, high = frame.x.place(mark.low), frame.x.place(mark.high)
    rows = zip(low, high, frame.y.place(np.arange(len(low))), mark.titles or [""] * len(low), strict=True)
    return [
        element("line", _hover(title), class_=f"whisker {_kind(mark.style)}", x1=x1, y1=y, x2=x2, y2=y)
        for x1, x2, y, title in rows
        if np.isfinite(x1 + x2)
    ]


def _svg_rule(frame: Frame, mark: Rule) -> list[str]:
    x1, x2 = (frame.left, frame.right) if mark.x is None else np.repeat(frame.x.place(mark.x), 2)
    y1, y2 = (frame.bottom, frame.top) if mark.y is None else np.repeat(frame.y.place(mark.y), 2)
    kind = f"rule {_kind(mark.style)}"
    return [element("line", _hover(mark.title or mark.name), class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)]


def _svg_text(frame: Frame, mark: Text) -> list[str]:
    x, y = float(frame.x.place(mark.x)), float(frame.y.place(mark.y))
    return [_written(x, y - 5, "middle", escaped(mark.content))]


DRAWN: dict[type[marks.Mark], Callable[[Frame, Any], list[str]]] = {
    Line: _svg_line, Dots: _svg_dots, Band: _svg_band, Bars: _svg_bars,
    Intervals: _svg_intervals, Rule: _svg_rule, Text: _svg_text,
}  # fmt: skip
