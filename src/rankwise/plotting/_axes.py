"""What the displays share: axes, and their colours."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREY = "#0b62a3", "#b84a00", "0.75"


def new_axes(display: Any, size: Any = (6.0, 4.0)) -> Any:
    """Return the axes of a new figure."""
    return pyplot_for(display).subplots(figsize=size, layout="constrained")[1]


def pyplot_for(display: Any) -> Any:
    """Return matplotlib's pyplot; say what to install where it is missing."""
    try:
        from matplotlib import pyplot
    except ImportError:
        name = type(display).__name__
        raise ImportError(f"{name} needs matplotlib: pip install 'rankwise[report]'.") from None
    return pyplot


def tidy(ax: Any, grid: str = "both") -> None:
    """Take away what says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, alpha=0.25)
    ax.set_axisbelow(True)
