"""RankRLS with a built-in choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import check_choice
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatArray
from rankwise.data.design import Design, as_design
from rankwise.estimators.alpha_choice import DEFAULT_FOLDS, ChoosesAlpha
from rankwise.estimators.inputs import read_validation, require_here
from rankwise.estimators.parameters import (
    Candidates,
    Comparison,
    CrossValidation,
    Kept,
    LeastSquaresParameters,
    OutputAlphas,
    Pooling,
)
from rankwise.estimators.rank_rls import BaseRankRLS, RankRLS
from rankwise.kernels.parameters import is_linear
from rankwise.leave_out.leave_out import (
    HeldOutTask,
    has_pair_formula,
    has_queries,
    pairs_left_out,
    queries_left_out,
)
from rankwise.model_selection.search import AlphaSearch, Choice, Fold, PairFold
from rankwise.preferences import Preferences

# With more rows, leaving out every pair for 31 alphas takes minutes, and folds are as informative.
MANY_ROWS = 5000
LEAVE_OUT = ("leave-query-out", "leave-pair-out")
# The measures that are defined for single pairs.
PAIR_ERRORS = ("error", "concordance")


@dataclass(eq=False, repr=False)
class RankRLSCV(
    ChoosesAlpha, BaseRankRLS, LeastSquaresParameters, Kept, Pooling, OutputAlphas, Comparison, Candidates
):
    """Ranking by least squares with alpha chosen by exact cross-validation, then fitted to all rows.

    The alpha with the lowest fraction of held-out pairs in the wrong order is chosen. All alphas share one
    decomposition, and leaving out single queries or pairs needs no refit: see
    `leave_query_out` (equation (33) of Pahikkala et al. 2009) and `leave_pair_out` (equations (36) to (39)),
    which also state the cost. Folds have a decomposition each, and folds of queries share one pass over rows.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default 2^5, 2^4, ..., 2^-25 times the mean squared distance of the two rows of a pair
        in the function space.
    cv : None, "leave-query-out", "leave-pair-out", int, splitter or iterable of (train, test)
        By default leave-query-out if there are several queries. For one ranking it is leave-pair-out if that
        has a closed form and there are at most 5,000 rows, and five folds of rows otherwise. An int assigns
        queries (rows, if there are no queries) to folds at random, the same at each fit; if explicit pairs
        share rows, it assigns the pairs. For rows on Dask the default is five folds.
    scoring : str or callable, optional
        The criterion for alpha: the name of a measure ("error", "concordance", "ndcg@10", "map", "mrr",
        "p@5", "tau"), by default the ranking error; or a scorer, such as scikit-learn's `make_scorer`
        makes, which is called with a model, the held-out rows, and their preferences (their labels, if
        there are no queries).
        Leave-pair-out has the ranking error alone; with another measure, the default for one ranking is five
        folds.
    alpha_per_output : bool
        If y has several columns, choose an alpha for each, as section 5.4 of the paper does; the
        decomposition is the same. By default they share one. An output is judged by the folds in which it
        has pairs, to learn from and to judge by.
    pooled : bool
        Judge the held-out scores of all folds together, as in section 5.4 of the paper: of one ranking, pairs
        of rows of different folds count too, so that rare labels need no pair in each fold. By default, and
        on validation rows, each fold is judged alone. Leaving out single queries judges all of them together
        anyway; with one ranking, the default is then five folds.
    keep : "alpha" or "lambda"
        The quantity that is the same in all fits if single queries or pairs are left out, as in
        `leave_query_out`: "lambda" is that of the paper. Folds keep alpha.
    cost, kernel, ... :
        As in `RankRLS`. If single queries or pairs are left out, the kernel's basis rows and `gamma="scale"`
        are those of all rows; folds use their training rows alone.

    Attributes
    ----------
    alpha_ : float, or array of shape (n_outputs,) with `alpha_per_output`
        The alpha with the lowest error; the largest of these. If it is the first or the last candidate, an
        `EdgeOfGridWarning` suggests others.
    alphas_ : array of shape (n_alphas,)
        Candidates, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas,)
        Held-out ranking error: the mean over queries or, under `average="pairs"`, the fraction of all pairs;
        or 1 minus the measure, or minus the score, that `scoring` names. It is averaged over folds unless
        they are `pooled`, then over outputs that share one alpha; with `alpha_per_output` it has one column
        per output.
    cv_ : str
        What was left out: "leave-query-out", "leave-pair-out", "folds of queries", "folds of rows", "folds of
        pairs", "validation", or "splits" if `cv` has them.
    scoring_ : str
        The criterion for alpha; "score" for a scorer.
    coef_, dual_coef_, basis_, n_pairs_, objective_, gap_, n_iter_, solver_ :
        As in `RankRLS`, of the model for `alpha_`.
    rounds_ : RoundLog
        For rows on Dask, the log of the rounds of the search and of the final fit.

    Examples
    --------
    >>> from rankwise import RankRLSCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankRLSCV().fit(X, y)
    >>> model.cv_, model.cv_errors_.shape
    ('leave-pair-out', (31,))
    >>> round(1 - float(model.cv_errors_.min()), 2)
    0.75
    """

    cv: CrossValidation = field(default=None, kw_only=True)

    plain = RankRLS
    takes_backends = True

    @with_one_blas_thread
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation: Any = None,
    ) -> Self:
        """Choose alpha and learn to rank.

        Parameters
        ----------
        X, y, qid, sample_weight :
            As for `RankRLS.fit`.
        validation : tuple (X, y) or (X, y, qid), optional
            Rows to compare alphas by, in place of `cv`; the model is fitted to the other rows alone.
        """
        self.check_parameters()
        fits = self.fits(self.problem(X, y, qid, sample_weight, validation is None))
        search = self._search(fits.problem, y, qid)
        errors, systems = self._compared(search, y, qid, validation)
        choices = self._choose(errors, search.scoring)
        fits.fit(self.alpha_, systems)
        for choice in choices:
            choice.warn_at_edge()
        return self

    def _compared(
        self, search: AlphaSearch, y: Any, qid: ArrayLike | None, validation: Any
    ) -> tuple[FloatArray, list[Any] | None]:
        """Return the errors of the candidates, (n_alphas, n_outputs, n_folds), and the equations found."""
        if validation is not None:
            self.cv_ = "validation"
            return self._over_folds(search, [read_validation(self, validation)])
        cv = self.cv
        if isinstance(search.problem.X, Design):
            if isinstance(cv, str):
                require_here(search.problem.X, f"cv={cv!r}")
            cv = DEFAULT_FOLDS if cv is None else cv
        elif cv is None or isinstance(cv, str):
            problem = search.problem
            task = HeldOutTask(
                search.model, problem.X, search.held_out, None, [1.0], self.keep, problem.scales
            )
            by_pairs = search.scoring in PAIR_ERRORS and not self.pooled
            cv = default_cv(task, by_pairs) if cv is None else cv
            if isinstance(cv, str):
                return self._left_out(task, search, cv)
        return self._over_folds(search, self._named_folds(search, cv, y, qid))

    def _choose(self, errors: FloatArray, scoring: str) -> list[Choice]:
        """Choose alpha by errors of shape (n_alphas, n_outputs, n_folds): one choice, or one an output."""
        if not (self.alpha_per_output and errors.shape[1] > 1):
            choice = Choice(self.alphas_, common_errors(errors), scoring)
            self.alpha_: Any = choice.alpha
            self.cv_errors_ = choice.mean
            return [choice]
        by_output = (errors[:, k] for k in range(errors.shape[1]))
        choices = [Choice(self.alphas_, one[:, ~np.isnan(one[0])], scoring) for one in by_output]
        self.alpha_ = np.array([choice.alpha for choice in choices])
        self.cv_errors_ = np.column_stack([choice.mean for choice in choices])
        return choices

    def _left_out(
        self, task: HeldOutTask, search: AlphaSearch, cv: str
    ) -> tuple[FloatArray, list[Any] | None]:
        """Leave every query or every pair out, by the closed forms."""
        check_choice(cv, "cv", LEAVE_OUT)
        if self.pooled and cv == "leave-pair-out":
            raise ValueError(
                "pooled=True needs folds, such as cv=10: each pair that is left out has its scores."
            )
        if search.scoring == "score" or (cv == "leave-pair-out" and search.scoring not in PAIR_ERRORS):
            raise ValueError(
                f"cv={cv!r} has no models to score, or single pairs alone: give folds (cv=5) with "
                f"scoring={self.scoring!r}."
            )
        self.cv_ = cv
        task.alphas = self.alphas_ = search.candidates(self.alphas, as_design(task.features()))
        by_query = cv == "leave-query-out"
        result = queries_left_out(task, average=self.average) if by_query else pairs_left_out(task)
        systems = None
        if task.system is not None and len(task.outputs) == 1 and is_linear(self):
            gram, pull = task.system
            systems = [(gram, pull.ravel())]
        errors = result.error
        if search.scoring not in PAIR_ERRORS:
            scores = result.predictions.reshape(len(self.alphas_), task.n_rows, -1)
            errors = search.judged(search.held_out, scores.transpose(0, 2, 1))
        return errors[:, :, None], systems

    def _named_folds(self, search: AlphaSearch, cv: Any, y: Any, qid: ArrayLike | None) -> list[Fold]:
        folds = search.folds(cv, y, qid)
        self.cv_ = "splits"
        if isinstance(cv, Integral):
            self.cv_ = f"folds of {parts_of_folds(search.held_out[0], folds)}"
        return folds

    def _over_folds(self, search: AlphaSearch, folds: list[Fold]) -> tuple[FloatArray, list[Any] | None]:
        """Fit the training rows of each fold anew, or by the sums of what folds share."""
        if self.keep != "alpha":
            raise ValueError(
                f"keep={self.keep!r} is for cv='leave-query-out' and cv='leave-pair-out'; folds keep alpha."
            )
        shared = search.shared(folds)
        if shared is None or self.alphas is not None:
            self.alphas_ = search.candidates(self.alphas)
        else:
            self.alphas_ = shared.default_alphas()
        errors = np.stack(list(search.errors(self.alphas_, folds)), axis=2)
        return errors, None if shared is None else shared.whole


def parts_of_folds(preferences: Preferences, folds: list[Fold]) -> str:
    """Return the name of the units that folds consist of: queries, pairs or rows."""
    if preferences.stays_with_rows:
        return "queries"
    if isinstance(folds[0], PairFold):
        return "pairs"
    return "queries" if has_queries(preferences) else "rows"


def common_errors(errors: FloatArray) -> FloatArray:
    """Return the errors to choose one alpha by, from those of shape (n_alphas, n_outputs, n_folds).

    These are the errors of the folds or, of several outputs, the mean of each over the folds that judge it.
    """
    return errors[:, 0] if errors.shape[1] == 1 else np.nanmean(errors, axis=2)


def default_cv(task: HeldOutTask, by_pairs: bool) -> str | int:
    """Choose what to leave out; few rows are dealt out such that two or more are in a fold."""
    pairs = task.outputs[0]
    if pairs.pair_folds(2):  # which are all of one component
        return int(max(2, min(DEFAULT_FOLDS, pairs.n_pairs // 2)))
    if has_queries(pairs):
        return "leave-query-out"
    if by_pairs and task.n_rows <= MANY_ROWS and has_pair_formula(task):
        return "leave-pair-out"
    return max(2, min(DEFAULT_FOLDS, task.n_rows // 2))
