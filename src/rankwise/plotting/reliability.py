"""Calibration of the probabilities of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.evaluation.models import log_odds_of
from rankwise.evaluation.names import model_name
from rankwise.evaluation.reliability import Reliability, reliability
from rankwise.plotting._axes import BLUE, GREY, axes_for, tidy

# The height of the tallest bar as a fraction of the range of the curve.
BARS = 0.18


class ReliabilityDisplay:
    """A reliability diagram: the observed frequency of the predicted order by its predicted probability.

    The predicted order of a pair has the row with the higher score first, so probabilities are from 0.5 to 1.
    On the diagonal the model is calibrated; below it the model is overconfident. Bars at the bottom show the
    fraction of pairs per bin.

    Parameters
    ----------
    reliability : Reliability
        From `rankwise.evaluation.reliability`.
    name : str, optional
        The name of the model.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from rankwise import RankLogistic
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.plotting import ReliabilityDisplay
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankLogistic().fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])  # doctest: +SKIP
    """

    def __init__(self, *, reliability: Reliability, name: str | None = None) -> None:
        self.reliability = reliability
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, qid: ArrayLike | None = None, *, name: str | None = None,
        ax: Any = None, **options: Any,
    ) -> ReliabilityDisplay:  # fmt: skip
        """Draw the calibration of a fitted estimator on rows X that it was not fitted to.

        Parameters
        ----------
        estimator : fitted RankLogistic or RankLogisticCV, or a Pipeline that ends in one
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,), or Preferences
        qid : array of shape (n_rows,), optional
        name : str, optional
            By default the class of the estimator.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `rankwise.evaluation.reliability`, such as bins=20.
        """
        name = model_name(estimator) if name is None else name
        scores = log_odds_of(estimator, X, name)
        return cls.from_predictions(y, scores, qid, name=name, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y: Any, scores: ArrayLike, qid: ArrayLike | None = None, *, name: str | None = None,
        ax: Any = None, **options: Any,
    ) -> ReliabilityDisplay:  # fmt: skip
        """Draw the calibration of scores whose differences are log odds.

        Parameters
        ----------
        y, scores, qid : arrays of shape (n_rows,)
            `y` may be a Preferences.
        name, ax, **options :
            As in `from_estimator`.
        """
        return cls(reliability=reliability(y, scores, qid, **options), name=name).plot(ax)

    def plot(self, ax: Any = None, **options: Any) -> ReliabilityDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's plot.

        Returns
        -------
        display : ReliabilityDisplay
        """
        self.ax_, self.figure_ = axes_for(self, ax, (5.2, 4.6))
        found = self.reliability
        filled = found.share > 0
        stated, observed = found.stated[filled], found.observed[filled]
        low = min(0.5, np.floor(10 * observed.min()) / 10)
        self.ax_.plot(
            [0.5, 1], [0.5, 1], color="0.5", linewidth=1, linestyle="--", label="perfectly calibrated"
        )
        settings = {"marker": "o", "color": BLUE, "label": self._label()}
        (self.line_,) = self.ax_.plot(stated, observed, **(settings | options))
        bottom = low - BARS * (1 - low)
        self._draw_bars(bottom, low)
        self.ax_.set(xlim=(0.49, 1.01), ylim=(bottom, 1.01))
        self.ax_.set(xlabel="predicted probability of the order", ylabel="fraction of pairs in that order")
        self.ax_.set_yticks([tick for tick in self.ax_.get_yticks() if low - 1e-9 <= tick <= 1])
        self.ax_.legend(frameon=False, loc="upper left")
        tidy(self.ax_)
        return self

    def _label(self) -> str:
        found, name = self.reliability, "" if self.name is None else f"{self.name}\n"
        return f"{name}log loss {found.log_loss:.3f}\ncalibration error {found.calibration_error:.3f}"

    def _draw_bars(self, bottom: float, top: float) -> None:
        """Draw the fraction of pairs per bin below the curve."""
        found = self.reliability
        height = (top - bottom) * 0.9 * found.share / found.share.max()
        width = np.diff(found.edges)
        self.bars_ = self.ax_.bar(
            found.edges[:-1],
            height,
            0.96 * width,
            bottom,
            align="edge",
            color=GREY,
            label="fraction of pairs",
        )
