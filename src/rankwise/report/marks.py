"""A picture as marks on two axes; `plotting.svg` draws it for pages, `plotting.axes` with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rankwise.evaluation.names import shortened

# The longest name beside an axis.
LONGEST_NAME = 34
# The opacity of bars that may be zero.
PALE = 0.35

# The number of a colour of data, or an ink: "faint" for context, "dashed" for references, "solid" for limits.
Style = int | Literal["faint", "dashed", "solid"]


@dataclass(frozen=True)
class Axis:
    """One axis of a picture.

    Attributes
    ----------
    label : str
    limits : pair of float or None
        The values at the beginning and the end; None for a margin around the marks.
    is_log, is_whole : bool
        Whether the scale is logarithmic, and whether the values are counts.
    kind : {"number", "date", "share"}
        A date is a number of days after 1970-01-01; a share is written in per cent.
    names : sequence of str, optional
        Names of the values 0, 1, 2, ..., in place of numbers.
    beside : sequence of str
        Text at the far end of each name.
    """

    label: str = ""
    limits: tuple[float | None, float | None] = (None, None)
    is_log: bool = False
    is_whole: bool = False
    kind: Literal["number", "date", "share"] = "number"
    names: Sequence[str] | None = None
    beside: Sequence[str] = ()


@dataclass(frozen=True)
class Line:
    """A line through points; the name is shown on hover and in the legend."""

    x: ArrayLike
    y: ArrayLike
    style: Style = 0
    name: str = ""


@dataclass(frozen=True)
class Dots:
    """Points with a title each, as dots, rings or vertical ticks; by default the titles are the values."""

    x: ArrayLike
    y: ArrayLike
    style: Style = 0
    name: str = ""
    titles: Sequence[str] | None = None
    radius: float = 3.2
    shape: Literal["dot", "ring", "tick"] = "dot"


@dataclass(frozen=True)
class Band:
    """The area between two lines; points with an undefined end are left out."""

    x: ArrayLike
    low: ArrayLike
    high: ArrayLike
    style: int = 0


@dataclass(frozen=True)
class Bars:
    """Rectangles from `left` to `right` and from `bottom` to `top`, with a style and an opacity each."""

    left: ArrayLike
    right: ArrayLike
    bottom: ArrayLike
    top: ArrayLike
    style: ArrayLike | Literal["faint", "lane"] = 0
    opacity: ArrayLike = 1.0
    name: str = ""
    titles: Sequence[str] | None = None


@dataclass(frozen=True)
class Intervals:
    """Horizontal intervals at heights 0, 1, 2, ... with a title each; undefined ones are left out."""

    low: ArrayLike
    high: ArrayLike
    style: Style = 0
    titles: Sequence[str] | None = None


@dataclass(frozen=True)
class Rule:
    """A vertical or horizontal line across the picture, with a title on hover and a name in the legend."""

    x: float | None = None
    y: float | None = None
    style: Style = "dashed"
    name: str = ""
    title: str = ""


@dataclass(frozen=True)
class Text:
    """Text centred above a point."""

    x: float
    y: float
    content: str


Mark = Line | Dots | Band | Bars | Intervals | Rule | Text


@dataclass(frozen=True)
class Picture:
    """Marks on two axes.

    Attributes
    ----------
    name : str
        The description for screen readers.
    marks : sequence of marks
        Later marks cover earlier ones.
    x, y : Axis
    size : pair of int
        Width and height in pixels of a page.
    title : str
        Lines of text above the axes.

    Examples
    --------
    >>> picture = Picture("Growth", [Line([0, 1], [0, 2])], Axis("time"), Axis("size"))
    >>> picture.x.label
    'time'
    """

    name: str
    marks: Sequence[Mark]
    x: Axis
    y: Axis
    size: tuple[int, int] = (480, 270)
    title: str = ""


def rows_axis(names: Sequence[str], beside: Sequence[str] = (), label: str = "") -> Axis:
    """Return a vertical axis with names from the top down."""
    shown = [shortened(name, LONGEST_NAME) for name in names]
    return Axis(label, (len(shown) - 0.5, -0.5), names=shown, beside=beside)


def named_bars(values: ArrayLike, titles: Sequence[str] | None = None, is_pale: ArrayLike = False) -> Bars:
    """Return horizontal bars from 0 at heights 0, 1, 2, ..., in another colour if they are negative."""
    ends = np.asarray(values, dtype=np.float64)
    place = np.arange(len(ends))
    opacity = np.where(is_pale, PALE, 1.0)
    return Bars(0.0, ends, place - 0.36, place + 0.36, (ends < 0).astype(int), opacity, titles=titles)


def steps(x: ArrayLike, *heights: ArrayLike) -> list[np.ndarray]:
    """Return the corners of step functions that are constant from each x to the next.

    Examples
    --------
    >>> [values.tolist() for values in steps([0.0, 1.0, 2.0], [1.0, 0.5, 0.2])]
    [[0.0, 1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 0.5, 0.5, 0.2]]
    """
    return [np.repeat(x, 2)[1:], *(np.repeat(values, 2)[:-1] for values in heights)]
