"""CurveRanker with a built-in choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from rankwise.estimators.alpha_choice import DEFAULT_FOLDS
from rankwise.estimators.curve_ranker import BaseCurveRanker, CurveRanker
from rankwise.estimators.pairwise import PairwiseRankerCV
from rankwise.estimators.parameters import (
    Callback,
    Candidates,
    Comparison,
    CrossValidation,
    CurveParameters,
    Jobs,
    Randomness,
    Verbosity,
)
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.tunable import Problem

# From these numbers of rows on there are fewer folds, as each bins its rows and has fits of its own.
MANY_ROWS, FOLDS_OF_MANY = 5000, 3
VERY_MANY_ROWS, FOLDS_OF_VERY_MANY = 20_000, 2
# The tolerance of their fits: certified fits choose the same alpha, in twice the time.
COMPARED_TOL = 1e-2


@dataclass(eq=False, repr=False)
class CurveRankerCV(
    PairwiseRankerCV,
    BaseCurveRanker,
    Verbosity,
    Randomness,
    Jobs,
    Callback,
    CurveParameters,
    Comparison,
    Candidates,
):
    """A sum of curves with alpha chosen by cross-validation over queries, then fitted to all rows.

    Bins and interactions are recomputed from the training rows of each fold.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default powers of ten relative to the scale of the data, visited as in `RankSVMCV`.
        At the first, the range of the scores is about one margin.
    cv : int, splitter or iterable of (train, test), optional
        By default five folds, three from 5,000 rows on, or two from 20,000 rows on. An int assigns queries
        (rows, if there are no queries) to folds at random, the same in each fit unless `random_state`
        changes.
    scoring : str, callable or scikit-learn scorer, optional
        The measure to choose alpha by, as in `RankSVMCV`.
    loss, n_bins, ... :
        As in `CurveRanker`.

    Attributes
    ----------
    alpha_, alphas_, cv_errors_ :
        As in `RankSVMCV`.

    Examples
    --------
    >>> from rankwise import CurveRankerCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = CurveRankerCV(cv=3, n_bins=16).fit(X, y)
    >>> model.cv_errors_.shape == (len(model.alphas_), 3)
    True
    """

    plain = CurveRanker

    cv: CrossValidation = field(default=None, kw_only=True)

    def default_folds(self, n_rows: int) -> int:
        """Return five folds, three of many rows, or two of very many."""
        if n_rows < MANY_ROWS:
            return DEFAULT_FOLDS
        return FOLDS_OF_MANY if n_rows < VERY_MANY_ROWS else FOLDS_OF_VERY_MANY

    def _held_out(self, problem: Problem, y: Any, qid: ArrayLike | None) -> Folds:
        folds = super()._held_out(problem, y, qid)
        if problem.X.shape[0] >= MANY_ROWS:
            folds.model.set_params(tol=max(self.tol, COMPARED_TOL))
        return folds

    def with_alpha(self, alpha: float) -> Any:
        """Return the estimator for one alpha, with the names and the categories of the columns."""
        model = super().with_alpha(alpha)
        known = ("n_features_in_", "feature_names_in_", "categories_")
        model.__dict__.update({name: getattr(self, name) for name in known if hasattr(self, name)})
        return model
