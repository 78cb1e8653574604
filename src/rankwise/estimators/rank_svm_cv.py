"""RankSVM with a built-in choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.estimators.pairwise import PairwiseRankerCV
from rankwise.estimators.parameters import Candidates, Comparison, Loss, PairwiseParameters, Running
from rankwise.estimators.rank_svm import RankSVM


@dataclass(eq=False, repr=False)
class RankSVMCV(PairwiseRankerCV, Running, PairwiseParameters, Loss, Comparison, Candidates):
    """Ranking SVM with alpha chosen by cross-validation over queries, then fitted to all rows.

    The alphas are gone through from the largest to the smallest, each fit beginning where the last one ended.
    Where rows are many for their features (4,096 or more in a fold, and at least the square of the number of
    features), the fits to folds are quasi-Newton descents: they end when the next step promises less than a
    tenth of `tol`, which is no certificate. Otherwise, where the loss has kinks that stop a descent, and with
    any `solver` but "auto", each is certified to `tol`; the cutting planes of the hinge are then handed on
    from alpha to alpha. The model that is kept is certified in any case.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default eight powers of ten relative to the scale of the data: at the first, scores
        spread over about one margin.
    cv : int, splitter or iterable of (train, test)
        An int deals queries (rows, where there are no queries) out to folds at random, the same at each fit;
        of explicit pairs that share rows it deals out the pairs.
    scoring : str or callable, optional
        What alphas are compared by: the name of a measure ("error", "concordance", "ndcg@10", "map", "mrr",
        "p@5", "tau"), by default the ranking error; or a scorer, such as scikit-learn's `make_scorer`
        makes, which is called with a model, the rows held out, and their preferences (their labels, where
        there are no queries).
    loss, kernel, ... :
        As in `RankSVM`.

    Attributes
    ----------
    alpha_ : float
        The alpha with the lowest mean error over folds; the largest such. Where it is the first or the last
        of the candidates, an `EdgeOfGridWarning` says which to add. Where the last fit was interrupted on
        its way to it, the alpha that was reached.
    alphas_ : array of shape (n_alphas,)
        Candidates, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas, n_folds)
        Ranking error on what was held out: the mean over queries or, under `average="pairs"`, the share of
        all pairs; 1 minus the measure, or minus the score, that `scoring` names. Folds without pairs are left
        out; validation rows are one fold. Where all errors are equal, an `EqualErrorsWarning` says so.
    scoring_ : str
        The measure that alphas were compared by; "score" for a scorer.

    Examples
    --------
    >>> from rankwise import RankSVMCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVMCV(cv=3).fit(X, y)
    >>> model.cv_errors_.shape
    (8, 3)
    """

    plain = RankSVM
