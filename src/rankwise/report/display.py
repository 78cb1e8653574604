"""What all displays share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import signature
from typing import Any, Self

from rankwise.report.axes import draw, new_axes
from rankwise.report.marks import Picture
from rankwise.report.svg import svg


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
