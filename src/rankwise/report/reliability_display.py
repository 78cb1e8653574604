"""Calibration of the probabilities of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.text import share
from rankwise.evaluation.models import log_odds_of
from rankwise.evaluation.names import model_name
from rankwise.evaluation.reliability_diagram import Reliability, reliability
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Bars, Dots, Line, Mark, Picture

# The height of the tallest bar as a fraction of the range of the curve.
BARS = 0.18


@dataclass(eq=False)
class ReliabilityDisplay(Display):
    """A reliability diagram: the observed frequency of the predicted order by its predicted probability.

    The predicted order of a pair has the row with the higher score first, so probabilities are from 0.5 to 1.
    On the diagonal the model is calibrated; below it the model is overconfident. Bars at the bottom show the
    fraction of pairs per bin.

    Parameters
    ----------
    reliability : Reliability
        From `rankwise.evaluation.reliability`.
    name : str
        The name of the model.

    Examples
    --------
    >>> from rankwise import RankLogistic
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.report.reliability_display import ReliabilityDisplay
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankLogistic().fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2])  # doctest: +SKIP
    """

    reliability: Reliability
    name: str = ""

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
        cls, y: Any, scores: ArrayLike, qid: ArrayLike | None = None, *, name: str = "", ax: Any = None,
        **options: Any,
    ) -> ReliabilityDisplay:  # fmt: skip
        """Draw the calibration of scores whose differences are log odds.

        Parameters
        ----------
        y, scores, qid : arrays of shape (n_rows,)
            `y` may be a Preferences.
        name, ax, **options :
            As in `from_estimator`.
        """
        return cls(reliability(y, scores, qid, **options), name).plot(ax)

    def picture(self) -> Picture:
        """Return the curve of the model as marks."""
        return reliability_picture({self.name: self.reliability})


def reliability_picture(curves: Mapping[str, Reliability]) -> Picture:
    """Return the curves of named models as marks, over the fraction of pairs per bin of the first."""
    lowest = min(float(curve.observed[curve.share > 0].min()) for curve in curves.values())
    low = min(0.5, float(np.floor(10 * lowest) / 10))
    bottom = low - BARS * (1 - low)
    first = next(iter(curves.values()))
    gap = 0.02 * np.diff(first.edges)
    tops = bottom + 0.9 * (low - bottom) * first.share / first.share.max()
    titles = [f"{share(part)} of pairs" for part in first.share]
    marks: list[Mark] = [
        Bars(first.edges[:-1] + gap, first.edges[1:] - gap, bottom, tops, "faint", titles=titles),
        Line([0.5, 1.0], [0.5, 1.0], "dashed", "perfectly calibrated"),
    ]
    for style, (name, curve) in enumerate(curves.items()):
        filled = curve.share > 0
        stated, observed = curve.stated[filled], curve.observed[filled]
        titles = [
            f"predicted {p:.3f}, observed {o:.3f}, {share(part)} of pairs"
            for p, o, part in zip(stated, observed, curve.share[filled].tolist(), strict=True)
        ]
        errors = f"log loss {curve.log_loss:.3f},\ncalibration error {curve.calibration_error:.3f}"
        label = f"{name},\n{errors}" if name else errors
        marks += [Line(stated, observed, style, label), Dots(stated, observed, style, titles=titles)]
    return Picture(
        "Predicted probability and observed frequency of the order of pairs",
        marks,
        Axis("predicted probability of the order", (0.49, 1.01)),
        Axis("fraction of pairs in that order", (bottom, 1.01)),
        (480, 400),
    )
