"""Paths over alpha: the cross-validated error, and the certified suboptimality."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.pipelines import last_step
from rankwise.figures.alpha_path import RANKING_ERROR, error_path, error_path_of, share_curve
from rankwise.plotting._axes import BLUE, GREY, axes_for, tidy


class AlphaPathDisplay:
    """The held-out error over alpha: the mean as a line, folds as thin lines, the chosen alpha marked.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
    errors : array of shape (n_alphas,) or (n_alphas, n_folds)
    alpha : float, optional
        The alpha that cross-validation chose.
    measure : str
        The name of the error.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The mean.
    folds_ : list of matplotlib Line2D

    Examples
    --------
    >>> from rankwise import RankSVMCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.plotting import AlphaPathDisplay
    >>> model = RankSVMCV(cv=3).fit(*load_diabetes_ranking(return_X_y=True))
    >>> display = AlphaPathDisplay.from_estimator(model)  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        alphas: ArrayLike,
        errors: ArrayLike,
        alpha: float | None = None,
        measure: str = RANKING_ERROR,
    ) -> None:
        self.alphas = np.asarray(alphas, dtype=np.float64)
        self.errors = np.asarray(errors, dtype=np.float64)
        self.alpha = alpha
        self.measure = measure
        self._path = error_path(self.alphas, self.errors, alpha, measure)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> AlphaPathDisplay:
        """Draw the search of a fitted estimator with `cv_errors_`, or of a pipeline that ends in one.

        Parameters
        ----------
        estimator : fitted estimator with `alphas_` and `cv_errors_`, or Pipeline
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of matplotlib's plot for the line of the mean.
        """
        model = last_step(estimator)
        path = error_path_of(model)
        if path is None:
            name = type(model).__name__
            raise ValueError(f"{name} has no cv_errors_; fit RankSVMCV, RankLogisticCV or RankRLSCV.")
        display = cls(alphas=path.alphas, errors=model.cv_errors_, alpha=path.alpha, measure=path.measure)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> AlphaPathDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's plot for the mean.

        Returns
        -------
        display : AlphaPathDisplay
        """
        self.ax_, self.figure_ = axes_for(self, ax)
        folds = self._path.folds
        self.folds_ = self.ax_.plot(self.alphas, folds, color=GREY, linewidth=1) if folds.size else []
        for line in self.folds_[:1]:
            line.set_label("folds")
        settings = {"marker": "o", "markersize": 4, "color": BLUE, "label": "mean"}
        (self.line_,) = self.ax_.plot(self.alphas, self._path.mean, **(settings | options))
        if self.alpha is not None:
            self.ax_.axvline(self.alpha, color="0.3", linestyle=":", linewidth=1, label="chosen")
        self.ax_.set(xscale="log", xlabel="alpha", ylabel=f"{self.measure}, held out")
        self.ax_.legend(frameon=False)
        tidy(self.ax_)
        return self


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
