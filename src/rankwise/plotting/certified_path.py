"""The certified suboptimality of the models of a path over alpha."""

from __future__ import annotations

from typing import Any

from rankwise.figures.alpha_path import share_curve
from rankwise.plotting._axes import BLUE, axes_for, tidy


class CertifiedPathDisplay:
    """The suboptimality of the models of a path over alpha, as a fraction of J(0) - J*.

    At each alpha the line is an upper bound for the best of the neighbouring fits, which are dots.

    Parameters
    ----------
    path : CertifiedPath
        The result of `rankwise.model_selection.alpha_path`.

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
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's plot for the line.

        Returns
        -------
        display : CertifiedPathDisplay
        """
        self.ax_, self.figure_ = axes_for(self, ax)
        curve, knots = share_curve(self.path), self.path.alphas
        settings = {"color": BLUE, "linewidth": 1.2, "label": "upper bound"}
        (self.line_,) = self.ax_.plot(curve.alphas, curve.shares, **(settings | options))
        dots = {"marker": "o", "markersize": 3, "linestyle": "none", "color": self.line_.get_color()}
        (self.knots_,) = self.ax_.plot(knots, self.path.share(knots), label=f"{len(knots)} fits", **dots)
        self.ax_.axhline(self.path.tol, color="0.3", linestyle=":", linewidth=1, label="tol")
        self.ax_.set(xscale="log", xlabel="alpha", ylabel="suboptimality / (J(0) - J*)", ylim=(0, None))
        self.ax_.legend(frameon=False)
        tidy(self.ax_)
        return self
