"""What a path over alpha proves."""

from __future__ import annotations

from typing import Any

from rankwise.figures.alpha_path import share_curve
from rankwise.plotting._axes import BLUE, new_axes, tidy


class CertifiedPathDisplay:
    """The share of what can be won that a model may miss at each alpha: zero is the optimum.

    Dots are fits; between two of them the nearer one serves, up to where the next one is better.

    Parameters
    ----------
    path : CertifiedPath
        What `rankwise.model_selection.alpha_path` returns.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_, knots_ : matplotlib Line2D

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.model_selection import alpha_path
    >>> from rankwise.plotting import CertifiedPathDisplay
    >>> path = alpha_path(RankSVM(), *load_diabetes_ranking(return_X_y=True), (1e-1, 1e-4))
    >>> display = CertifiedPathDisplay(path=path).plot()  # doctest: +SKIP
    """

    def __init__(self, *, path: Any) -> None:
        self.path = path

    def plot(self, ax: Any = None, **options: Any) -> CertifiedPathDisplay:
        """Draw into `ax`, or a new figure; `options` go to matplotlib's plot, for the line.

        Returns
        -------
        display : CertifiedPathDisplay
        """
        self.ax_ = new_axes(self) if ax is None else ax
        self.figure_ = self.ax_.figure
        curve, knots = share_curve(self.path), self.path.alphas
        settings = {"color": BLUE, "linewidth": 1.2, "label": "at most"}
        (self.line_,) = self.ax_.plot(curve.alphas, curve.shares, **(settings | options))
        dots = {"marker": "o", "markersize": 3, "linestyle": "none", "color": self.line_.get_color()}
        (self.knots_,) = self.ax_.plot(knots, self.path.share(knots), label=f"{len(knots)} fits", **dots)
        self.ax_.axhline(self.path.tol, color="0.3", linestyle=":", linewidth=1, label="asked for")
        self.ax_.set(xscale="log", xlabel="alpha", ylabel="missed of what can be won", ylim=(0, None))
        self.ax_.legend(frameon=False)
        tidy(self.ax_)
        return self
