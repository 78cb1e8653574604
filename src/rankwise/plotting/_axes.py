"""What the displays share: axes, and their colours."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREY = "#0b62a3", "#b84a00", "0.75"


def new_axes(display: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Give the axes of a new figure; say what to install where matplotlib is missing."""
    try:
        from matplotlib import pyplot
    except ImportError:
        name = type(display).__name__
        raise ImportError(f"{name} needs matplotlib: pip install 'rankwise[report]'.") from None
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def tidy(ax: Any, grid: str = "both") -> None:
    """Take away what says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, alpha=0.25)
    ax.set_axisbelow(True)
