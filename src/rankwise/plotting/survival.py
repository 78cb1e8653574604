"""Kaplan-Meier curves by score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_vector, check_count
from rankwise.evaluation.models import scores_of
from rankwise.figures.survival import SurvivalCurve, curves_by_score
from rankwise.metrics.concordance import as_survival
from rankwise.plotting._axes import axes_for, tidy


class SurvivalDisplay:
    """Kaplan-Meier curves of rows by thirds of their score, with censored rows as ticks.

    A model that ranks well has curves that are far apart. Bands are pointwise 95% intervals by Greenwood's
    formula.

    Parameters
    ----------
    curves : sequence of SurvivalCurve
        The curve of each group, from the lowest scores to the highest.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One per curve.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Preferences, RankSVM
    >>> from rankwise.plotting import SurvivalDisplay
    >>> generator = np.random.default_rng(0)
    >>> X = generator.normal(size=(200, 3))
    >>> time, event = np.exp(X[:, 0] + generator.gumbel(size=200)), generator.random(200) < 0.7
    >>> lives = Preferences.from_survival(event, time)
    >>> model = RankSVM().fit(X[:100], lives[:100])
    >>> SurvivalDisplay.from_estimator(model, X[100:], lives[100:])  # doctest: +SKIP
    """

    def __init__(self, *, curves: Sequence[SurvivalCurve]) -> None:
        self.curves = list(curves)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_groups: int = 3, ax: Any = None, **options: Any
    ) -> SurvivalDisplay:
        """Draw the survival of rows X by the scores of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator or Pipeline
            Its score is higher for longer survival.
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : Preferences.from_survival, pair (event, time), or structured array with these two fields
        n_groups : int
            The number of groups of about equal size by score.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`.
        """
        scores = scores_of(estimator, X, type(estimator).__name__)
        return cls.from_predictions(y, scores, n_groups=n_groups, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y: Any, scores: ArrayLike, *, n_groups: int = 3, ax: Any = None, **options: Any
    ) -> SurvivalDisplay:
        """Draw the survival of rows by given scores.

        Parameters
        ----------
        y, n_groups, ax, **options :
            As in `from_estimator`.
        scores : array of shape (n_rows,)
        """
        check_count("n_groups", n_groups)
        lives = as_survival(y, "y")
        values = as_vector(scores, "scores", len(lives))
        event = np.asarray(lives.event) > 0
        return cls(curves=curves_by_score(event, lives.values, values, n_groups)).plot(ax, **options)

    def plot(self, ax: Any = None, *, bands: bool = True, **options: Any) -> SurvivalDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's step.

        Returns
        -------
        display : SurvivalDisplay
        """
        self.ax_, self.figure_ = axes_for(self, ax)
        self.lines_ = []
        for curve in self.curves:
            label = f"{curve.name}: {curve.n_events} of {curve.n_rows} with an event"
            settings = {"where": "post", "label": label} | options
            (line,) = self.ax_.step(curve.time, curve.survival, **settings)
            style = {"color": line.get_color(), "linewidth": 0}
            if bands:
                self.ax_.fill_between(curve.time, curve.low, curve.high, step="post", alpha=0.15, **style)
            self.ax_.plot(curve.censored, curve.at(curve.censored), "|", color=line.get_color())
            self.lines_.append(line)
        self.ax_.set(xlabel="time", ylabel="fraction without an event", ylim=(0.0, 1.02))
        self.ax_.legend(frameon=False, fontsize="small", title="score")
        tidy(self.ax_)
        return self
