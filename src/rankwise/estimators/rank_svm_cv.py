"""RankSVM with a built-in choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.estimators.linear_inference import LinearInference
from rankwise.estimators.pairwise import PairwiseRankerCV
from rankwise.estimators.parameters import Candidates, Comparison, Loss, PairwiseParameters, Running
from rankwise.estimators.rank_svm import RankSVM


@dataclass(eq=False, repr=False)
class RankSVMCV(LinearInference, PairwiseRankerCV, Running, PairwiseParameters, Loss, Comparison, Candidates):
    """Ranking SVM with alpha chosen by cross-validation over queries, then fitted to all rows.

    Alphas are visited in decreasing order, each fit warm-started from the previous one. If there are at
    least 4,096 rows, and at least as many as the square of the number of features, the fits of a linear model
    are quasi-Newton descents to a tolerance of 3e-3, or `tol` if that is larger, without a certificate. The
    descents of all folds share every pass over the rows, of which none is copied. Otherwise, if kinks of the
    loss stop a descent, or with any `solver` but "auto", each fit is certified to three times `tol`, and
    the cutting planes of the hinge are shared by all alphas. For explicit pairs with 32 features or more,
    whose hinge has `solver="interior-point"` by default, these fits minimise a `HuberHinge(width=0.25)`,
    which takes a quarter of the time. The final model is certified to `tol` in any case, for the loss
    itself.

    Parameters
    ----------
    alphas : array, optional
        Candidates, all of which are visited. By default, powers of ten relative to the scale of the data:
        from the alpha at which scores spread over about one margin, at most seven steps down, until the
        held-out error has risen twice, and at most three up while the largest is the best.
    cv : int, splitter or iterable of (train, test)
        An int assigns queries (rows, if there are no queries) to folds at random, the same at each fit unless
        `random_state` changes; if explicit pairs share rows, it assigns the pairs. "leave-query-out" leaves
        each query (or each component of explicit pairs) out once, and "leave-row-out" each row of one
        ranking, by a Newton step from one fit per alpha; both need `loss="squared_hinge"`. `cv_errors_` then
        has up to 20 groups of queries in place of folds, or one column for rows.
    scoring : str or callable, optional
        The criterion for alpha: the name of a measure ("error", "concordance", "ndcg@10", "map", "mrr",
        "p@5", "tau"), by default the ranking error; or a scorer, such as scikit-learn's `make_scorer`
        makes, which is called with a model, the held-out rows, and their preferences (their labels, if
        there are no queries).
    loss, kernel, ... :
        As in `RankSVM`.

    Attributes
    ----------
    alpha_ : float
        The alpha with the lowest mean error over folds; the largest of these. If it is the first or the last
        candidate, an `EdgeOfGridWarning` suggests others. If the final fit was interrupted on its path to
        it, the alpha that was reached.
    alphas_ : array of shape (n_alphas,)
        The candidates that were visited, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas, n_folds)
        Held-out ranking error: the mean over queries or, under `average="pairs"`, the fraction of all pairs;
        or 1 minus the measure, or minus the score, that `scoring` names. Folds without pairs are left out;
        validation rows are one fold. Equal errors of all candidates cause an `EqualErrorsWarning`.
    scoring_ : str
        The criterion for alpha; "score" for a scorer.
    rounds_ : RoundLog
        For rows on Dask, the log of the rounds of the search and of the final fit.

    Examples
    --------
    >>> from rankwise import RankSVMCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVMCV(cv=3).fit(X, y)
    >>> model.cv_errors_.shape == (len(model.alphas_), 3)
    True
    """

    plain = RankSVM
