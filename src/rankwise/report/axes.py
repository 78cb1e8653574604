"""Pictures drawn with matplotlib, and what all displays share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import signature
from itertools import compress
from typing import Any, Self

import numpy as np

from rankwise.report.marks import Axis, Band, Bars, Dots, Intervals, Line, Mark, Picture, Rule, Text
from rankwise.report.svg import svg

# The colours of data, in the order of the page.
COLOURS = ("#0b62a3", "#b84a00", "#00705a", "#9c3d77", "#7d6100", "#5f6773")
INKS = {
    "faint": {"color": "0.75", "linewidth": 1.0},
    "dashed": {"color": "0.4", "linewidth": 1.0, "linestyle": "--"},
    "solid": {"color": "0.1", "linewidth": 1.2},
}
DASHES = ("-", (0, (6, 2)), (0, (2, 2)), (0, (7, 2, 1, 2)), (0, (9, 3)), (0, (1, 3)))
BARS = {"faint": "0.75", "lane": "#dcebf5"}
MARKERS = {"dot": "o", "ring": "o", "tick": "|"}
# The pixels of a page per inch of a figure, and the points of an inch.
PIXELS, POINTS = 80, 72


def new_axes(name: str, size: tuple[float, float], **layout: Any) -> tuple[Any, Any]:
    """Return a new figure of a size in pixels of a page, and its axes; `name` is that of the display."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError(f"{name} needs matplotlib: pip install 'rankwise[report]'.") from None
    return pyplot.subplots(figsize=(size[0] / PIXELS, size[1] / PIXELS), layout="constrained", **layout)


def draw(picture: Picture, ax: Any, options: dict[str, Any]) -> list[Any]:
    """Draw a picture into axes and return the artists of each mark; options are properties of those of data.

    In axes that have a picture, the colours go on after those that are there.
    """
    first = len(ax.get_legend_handles_labels()[1])
    drawn = [DRAWN[type(mark)](ax, mark, first) for mark in picture.marks]
    of_data = [not isinstance(getattr(mark, "style", ""), str) for mark in picture.marks]
    _set_properties(list(compress(drawn, of_data)), options)
    _set_axis(ax, "x", picture.x)
    _set_axis(ax, "y", picture.y)
    for place, words in enumerate(picture.y.beside):
        beside = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": "small", "color": "0.4"}
        ax.text(1.01, place, literal(words), **beside)
    if picture.title:
        ax.set_title(literal(picture.title), fontsize="medium", loc="left")
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    return drawn


def literal(name: str) -> str:
    r"""Escape dollar signs, which begin a formula in matplotlib.

    Examples
    --------
    >>> print(literal("price in $"))
    price in \$
    """
    return name.replace("$", r"\$")


def _set_properties(drawn: list[Any], options: dict[str, Any]) -> None:
    artists = [artist for own in drawn for artist in (own if isinstance(own, tuple | list) else [own])]
    for name, value in options.items():
        able = [artist for artist in artists if hasattr(artist, f"set_{name}")]
        if not able:
            raise TypeError(f"No mark of data in this picture has the property {name!r}.")
        for artist in able:
            artist.set(**{name: value})


def _set_axis(ax: Any, name: str, axis: Axis) -> None:
    """Set the scale, the limits, the label, the ticks and the grid of an axis."""
    if axis.is_log:
        ax.set(**{f"{name}scale": "log"})
        _name_few_values(ax, name)
    if axis.kind != "number":
        _name_by_kind(getattr(ax, f"{name}axis"), axis.kind)
    if axis.limits != (None, None):
        ax.set(**{f"{name}lim": axis.limits})
    ax.set(**{f"{name}label": literal(axis.label)})
    if axis.names is None:
        ax.grid(axis=name, alpha=0.25)
    else:
        named = {place: literal(words) for place, words in enumerate(axis.names) if words}
        ax.set(**{f"{name}ticks": list(named), f"{name}ticklabels": list(named.values())})
        ax.tick_params(axis=name, length=0, labelsize="medium" if name == "y" else "small")
    if axis.is_whole:
        getattr(ax, f"{name}axis").get_major_locator().set_params(integer=True)


def _name_by_kind(of_axis: Any, kind: str) -> None:
    """Name the values of an axis as dates or in per cent."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import PercentFormatter

    if kind == "share":
        of_axis.set_major_formatter(PercentFormatter(1.0))
        return
    locator = AutoDateLocator(maxticks=6)
    of_axis.set_major_locator(locator)
    of_axis.set_major_formatter(ConciseDateFormatter(locator))


def _name_few_values(ax: Any, name: str) -> None:
    """Name round values on a logarithmic axis of less than a decade; names of all its ticks would overlap."""
    from matplotlib.ticker import MaxNLocator, NullLocator, ScalarFormatter

    low, high = getattr(ax, f"get_{name}lim")()
    if high < 10 * low:
        of_axis = getattr(ax, f"{name}axis")
        of_axis.set_major_locator(MaxNLocator(5))
        of_axis.set_major_formatter(ScalarFormatter())
        of_axis.set_minor_locator(NullLocator())


def _ink(style: Any, first: int = 0) -> dict[str, Any]:
    """Return the colour and the dashes of a line."""
    if isinstance(style, str):
        return INKS[style]
    number = (style + first) % len(COLOURS)
    return {"color": COLOURS[number], "linestyle": DASHES[number]}


def _plot_line(ax: Any, mark: Line, first: int) -> Any:
    return ax.plot(mark.x, mark.y, label=literal(mark.name) or None, **_ink(mark.style, first))[0]


def _plot_dots(ax: Any, mark: Dots, first: int) -> Any:
    ink, size = _ink(mark.style, first)["color"], 2 * mark.radius * POINTS / PIXELS
    look = {"color": ink, "markersize": size, "markerfacecolor": "none" if mark.shape == "ring" else ink}
    return ax.plot(mark.x, mark.y, MARKERS[mark.shape], label=literal(mark.name) or None, **look)[0]


def _plot_band(ax: Any, mark: Band, first: int) -> Any:
    ink = _ink(mark.style, first)["color"]
    return ax.fill_between(mark.x, mark.low, mark.high, color=ink, alpha=0.15, linewidth=0)


def _plot_bars(ax: Any, mark: Bars, first: int) -> Any:
    sides = np.broadcast_arrays(mark.left, mark.right, mark.bottom, mark.top, mark.opacity)
    left, right, bottom, top, opacity = (np.ravel(side) for side in sides)
    if isinstance(mark.style, str):
        colours: list[Any] = [BARS[mark.style]] * len(left)
    else:
        styles = np.broadcast_to(mark.style, sides[0].shape).ravel()
        colours = [(COLOURS[style % len(COLOURS)], ink) for style, ink in zip(styles, opacity, strict=True)]
    label = literal(mark.name) or None
    return ax.bar(left, top - bottom, right - left, bottom, align="edge", color=colours, label=label)


def _plot_intervals(ax: Any, mark: Intervals, first: int) -> Any:
    low, high = np.asarray(mark.low), np.asarray(mark.high)
    ink = {"ecolor": _ink(mark.style, first)["color"], "elinewidth": 1.4, "capsize": 2.5}
    drawn = ax.errorbar((low + high) / 2, np.arange(len(low)), xerr=(high - low) / 2, fmt="none", **ink)
    return drawn.get_children()


def _plot_rule(ax: Any, mark: Rule, first: int) -> Any:
    draw_rule, at = (ax.axhline, mark.y) if mark.x is None else (ax.axvline, mark.x)
    return draw_rule(at, label=literal(mark.name) or None, **_ink(mark.style, first))


def _plot_text(ax: Any, mark: Text, first: int) -> Any:
    above = {"textcoords": "offset points", "ha": "center", "fontsize": "small", "annotation_clip": False}
    return ax.annotate(literal(mark.content), (mark.x, mark.y), (0, 4), **above)


DRAWN: dict[type[Mark], Callable[[Any, Any, int], Any]] = {
    Line: _plot_line, Dots: _plot_dots, Band: _plot_band, Bars: _plot_bars,
    Intervals: _plot_intervals, Rule: _plot_rule, Text: _plot_text,
}  # fmt: skip


class Display(ABC):
    """A picture that matplotlib or SVG draws.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    drawn_ : Picture
        What was drawn, as marks.
    artists_ : list
        What matplotlib drew, for each mark of the picture.
    """

    @abstractmethod
    def picture(self) -> Picture:
        """Return the picture as marks on two axes."""

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `picture`, and properties of matplotlib's artists for the marks of data, such as
            color="red".

        Returns
        -------
        display : Display
        """
        chosen = {name: options.pop(name) for name in signature(self.picture).parameters if name in options}
        self.drawn_ = self.picture(**chosen)
        self.ax_ = new_axes(type(self).__name__, self.drawn_.size)[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self.artists_ = draw(self.drawn_, self.ax_, options)
        return self

    def svg(self, **options: Any) -> str:
        """Return the picture as an SVG element, without matplotlib; options are those of `picture`.

        The colours are those of the report's style sheet.
        """
        return svg(self.picture(**options))
