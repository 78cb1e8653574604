"""Paths over alpha: the cross-validated error, and the certified suboptimality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.pipelines import last_step
from rankwise.core.text import MINUS
from rankwise.core.types import FloatArray
from rankwise.evaluation.names import measure_name
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Dots, Line, Picture, Rule

RANKING_ERROR = measure_name("error").lower()
# The number of bounds from one fit of a certified path to the next.
PER_STEP = 8


@dataclass(eq=False)
class AlphaPathDisplay(Display):
    """The held-out error over alpha: the mean as a line, folds as thin lines, the chosen alpha marked.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        The values of alpha, and the held-out error at each.
    errors : array of shape (n_alphas,) or (n_alphas, n_folds)
        The held-out error at each alpha.
    alpha : float, optional
        The alpha that cross-validation chose.
    measure : str
        The name of the error.

    Examples
    --------
    >>> from rankwise import RankSVMCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.report.alpha_path_display import AlphaPathDisplay
    >>> model = RankSVMCV(cv=3).fit(*load_diabetes_ranking(return_X_y=True))
    >>> display = AlphaPathDisplay.from_estimator(model)  # doctest: +SKIP
    """

    alphas: FloatArray
    errors: FloatArray
    alpha: float | None = None
    measure: str = RANKING_ERROR

    def __post_init__(self) -> None:
        self.alphas = np.asarray(self.alphas, dtype=np.float64)
        self.errors = np.asarray(self.errors, dtype=np.float64)
        if self.errors.shape[:1] != self.alphas.shape:
            raise ValueError(
                f"errors has shape {self.errors.shape}, but there are {len(self.alphas)} alphas."
            )

    @classmethod
    def of(cls, model: Any) -> AlphaPathDisplay | None:
        """Return the display of a fitted search over alpha, None for other models."""
        ranker = last_step(model)
        if getattr(ranker, "cv_errors_", None) is None:
            return None
        chosen = ranker.alpha_ if np.ndim(ranker.alpha_) == 0 else None  # an array has an alpha per output
        measure = measure_name(getattr(ranker, "scoring_", "error")).lower()
        return cls(ranker.alphas_, ranker.cv_errors_, chosen, measure)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> AlphaPathDisplay:
        """Draw the search of a fitted estimator with `cv_errors_`, or of a pipeline that ends in one.

        Parameters
        ----------
        estimator : fitted estimator with `alphas_` and `cv_errors_`, or Pipeline
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`.
        """
        display = cls.of(estimator)
        if display is None:
            name = type(last_step(estimator)).__name__
            raise ValueError(f"{name} has no cv_errors_; fit RankSVMCV, RankLogisticCV or RankRLSCV.")
        return display.plot(ax, **options)

    def picture(self) -> Picture:
        """Return the error over alpha as marks."""
        alphas, errors = self.alphas, self.errors
        folds = errors.T if errors.ndim == 2 else np.empty((0, len(alphas)))
        mean = errors.mean(axis=1) if errors.ndim == 2 else errors
        titles = [f"alpha {a:.3g}: {self.measure} {e:.4f}" for a, e in zip(alphas, mean, strict=True)]
        lines = [Line(alphas, fold, "faint", "" if place else "folds") for place, fold in enumerate(folds)]
        chosen = [] if self.alpha is None else [Rule(self.alpha, name="chosen")]
        lowest = f"lowest, {mean.min():.4f}, at alpha {alphas[mean.argmin()]:.3g}"
        return Picture(
            f"Cross-validated {self.measure} over alpha: {lowest}",
            [*lines, *chosen, Line(alphas, mean, name="mean"), Dots(alphas, mean, titles=titles)],
            Axis("alpha", is_log=True),
            Axis(f"{self.measure}, held out"),
        )


@dataclass(eq=False)
class CertifiedPathDisplay(Display):
    """The suboptimality of the models of a path over alpha, as a fraction of J(0) - J*.

    At each alpha the line is an upper bound for the best of the neighbouring fits, which are dots.

    Parameters
    ----------
    path : CertifiedPath
        The result of `rankwise.model_selection.alpha_path`.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.model_selection import alpha_path
    >>> from rankwise.report.alpha_path_display import CertifiedPathDisplay
    >>> path = alpha_path(RankSVM(), *load_diabetes_ranking(return_X_y=True), (1e-1, 1e-4))
    >>> display = CertifiedPathDisplay(path).plot()  # doctest: +SKIP
    """

    path: Any

    def picture(self) -> Picture:
        """Return the bounds at the fits and between them as marks."""
        path, knots = self.path, self.path.alphas
        logs = np.log(knots)
        inner = logs[:-1, None] + np.diff(logs)[:, None] * np.arange(PER_STEP) / PER_STEP
        alphas = np.clip(np.exp(np.append(inner.ravel(), logs[-1])), knots[-1], knots[0])
        shares = path.share(alphas)
        titles = [
            f"alpha {alpha:.3g}: objective {objective:.4g}, at most {gap:.2g} above the minimum"
            for alpha, objective, gap in zip(knots, path.objectives, path.gaps, strict=True)
        ]
        return Picture(
            f"{len(knots)} fits for every alpha from {knots[-1]:.3g} to {knots[0]:.3g}: suboptimality at "
            f"most {shares.max():.2g} of J(0) {MINUS} J*",
            [
                Rule(y=path.tol, name="tol"),
                Line(alphas, shares, name="upper bound"),
                Dots(knots, path.share(knots), name=f"{len(knots)} fits", titles=titles, radius=2.2),
            ],
            Axis("alpha", is_log=True),
            Axis(f"suboptimality / (J(0) {MINUS} J*)", (0.0, None)),
        )
