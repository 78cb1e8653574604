"""Axes, colours and marks that several displays use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.types import FloatArray

BLUE, ORANGE, GREY = "#0b62a3", "#b84a00", "0.75"
# The opacity of bars that may be zero.
PALE = 0.35


def axes_for(display: Any, ax: Any, size: Any = (6.0, 4.0)) -> tuple[Any, Any]:
    """Return `ax` and its figure; with None for `ax`, those of a new figure."""
    if ax is None:
        ax = pyplot_for(display).subplots(figsize=size, layout="constrained")[1]
    return ax, ax.figure


def pyplot_for(display: Any) -> Any:
    """Return matplotlib's pyplot; an ImportError names the extra that installs it."""
    try:
        from matplotlib import pyplot
    except ImportError:
        name = type(display).__name__
        raise ImportError(f"{name} needs matplotlib: pip install 'rankwise[report]'.") from None
    return pyplot


def tidy(ax: Any, grid: str = "both") -> None:
    """Remove two spines and draw a light grid below the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, alpha=0.25)
    ax.set_axisbelow(True)


def literal(name: str) -> str:
    r"""Escape dollar signs, which begin a formula in matplotlib.

    Examples
    --------
    >>> print(literal("price in $"))
    price in \$
    """
    return name.replace("$", r"\$")


def draw_bars(
    ax: Any,
    values: FloatArray,
    names: Sequence[str],
    options: dict[str, Any],
    is_pale: ArrayLike = False,
) -> Any:
    """Draw named bars from the top down: blue to the right for positive values, orange to the left."""
    opacity = np.broadcast_to(np.where(is_pale, PALE, 1.0), len(values))
    colours = [(BLUE if value >= 0 else ORANGE, ink) for value, ink in zip(values, opacity, strict=True)]
    bars = ax.barh(np.arange(len(names)), values, **({"color": colours, "height": 0.72} | options))
    _name_rows(ax, names)
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    return bars


def draw_whiskers(ax: Any, low: FloatArray, high: FloatArray) -> Any:
    """Draw the intervals of the first bars, from the top down."""
    middle = (low + high) / 2
    return ax.errorbar(
        middle, np.arange(len(low)), xerr=high - middle, fmt="none", ecolor="0.15", capsize=2.5, linewidth=1.2
    )


def draw_intervals(
    ax: Any,
    values: FloatArray,
    low: FloatArray,
    high: FloatArray,
    names: Sequence[str],
    options: dict[str, Any],
) -> Any:
    """Draw named values with their intervals from the top down."""
    style = {"fmt": "o", "color": BLUE, "capsize": 2.5, "markersize": 5} | options
    bars = ax.errorbar(values, np.arange(len(names)), xerr=[values - low, high - values], **style)
    _name_rows(ax, names)
    return bars


def _name_rows(ax: Any, names: Sequence[str]) -> None:
    ax.set_yticks(np.arange(len(names)), [literal(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    tidy(ax, "x")
