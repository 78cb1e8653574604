"""CurveRanker with a built-in choice of alpha."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from rankwise.curves.ranker import CurveRanker
from rankwise.estimators.pairwise import PairwiseRankerCV


class CurveRankerCV(PairwiseRankerCV, CurveRanker):
    """A sum of curves with alpha chosen by cross-validation over queries, then fitted to all rows.

    Bins and interactions are found anew in the training rows of each fold.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default eight powers of ten relative to the scale of the data: at the first, scores
        spread over about one margin.
    cv : int, splitter or iterable of (train, test)
        An int deals queries (rows, where there are no queries) out to folds at random, the same at each fit.
    scoring : str, callable or scikit-learn scorer, optional
        What alphas are compared by, as in `RankSVMCV`.
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
    >>> model.cv_errors_.shape
    (8, 3)
    """

    _plain = CurveRanker

    def __init__(
        self,
        alphas: ArrayLike | None = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        loss: str = "hinge",
        n_bins: int = 128,
        shape: str = "steps",
        interactions: Any = 0,
        interaction_bins: int = 8,
        monotone: Any = None,
        categorical_features: Any = None,
        average: str = "queries",
        pair_weight: str | None = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        callback: Callable | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        CurveRanker.__init__(
            self,
            loss=loss,
            n_bins=n_bins,
            shape=shape,
            interactions=interactions,
            interaction_bins=interaction_bins,
            monotone=monotone,
            categorical_features=categorical_features,
            average=average,
            pair_weight=pair_weight,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            callback=callback,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        del self.alpha, self.warm_start
        self.alphas = alphas
        self.cv = cv
        self.scoring = scoring

    def _with_alpha(self, alpha: float) -> Any:
        """Return the estimator for one alpha, which knows the names and the categories of the columns."""
        model = super()._with_alpha(alpha)
        known = ("n_features_in_", "feature_names_in_", "categories_")
        model.__dict__.update({name: getattr(self, name) for name in known if hasattr(self, name)})
        return model
