"""RankRLS with a built-in choice of alpha."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import check_choice
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatArray
from rankwise.data.design import Design, as_design
from rankwise.estimators.alpha_choice import DEFAULT_FOLDS, ChoosesAlpha, seed_of
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
from rankwise.functions.kernel_parameters import is_linear
from rankwise.model_selection.fold_rows import Fold, PairFold
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.leave_out import (
    HeldOutTask,
    has_pair_formula,
    pairs_left_out,
    queries_left_out,
)
from rankwise.model_selection.search import HeldOut, Search
from rankwise.preferences import Preferences

# With more rows, leaving out every pair for 31 alphas takes minutes, and every query three times as long as
# folds, which are as informative.
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
        By default, several queries are left out one by one, or in five folds by a linear model of more than
        5,000 rows. For one ranking it is leave-pair-out if that has a closed form and there are at most 5,000
        rows, and five folds of rows otherwise. An int assigns
        queries (rows, if there are no queries) to folds at random, the same at each fit unless `random_state`
        changes; if explicit pairs share rows, it assigns the pairs. For rows on Dask the default is five
        folds.
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
        folds = self._held_out(fits.problem, y, qid)
        held_out, systems = self._scheme(folds, y, qid, validation)
        choice = Search(folds.scoring, callback=self.callback).choose(held_out, self.alphas_)
        own = self.alpha_per_output and len(choice.by_output) > 1
        choices = choice.by_output if own else [choice]
        self.alpha_: Any = np.array([one.alpha for one in choices]) if own else choice.alpha
        self.cv_errors_ = np.column_stack([one.mean for one in choices]) if own else choice.mean
        fits.fit(self.alpha_, systems())
        for one in choices:
            one.warn_at_edge()
        return self

    def _scheme(self, folds: Folds, y: Any, qid: ArrayLike | None, validation: Any) -> tuple[HeldOut, Any]:
        """Return the rows or pairs held out, and a function for the equations of all rows, or None."""
        problem, cv, self.cv_ = folds.problem, self.cv, "splits"
        if validation is not None:
            self.cv_, folds.splits = "validation", [read_validation(self, validation)]
        elif isinstance(problem.X, Design):
            if isinstance(cv, str):
                require_here(problem.X, f"cv={cv!r}")
            cv = DEFAULT_FOLDS if cv is None else cv
        elif cv is None or isinstance(cv, str):
            task = HeldOutTask(folds.model, problem.X, folds.held_out, None, [1.0], self.keep, problem.scales)
            cv = default_cv(task, folds.scoring in PAIR_ERRORS and not self.pooled) if cv is None else cv
            if isinstance(cv, str):
                self.cv_, left_out = cv, LeftOut(folds, task, cv)
                folds.design = as_design(task.features())
                self.alphas_ = folds.candidates(self.alphas)
                return left_out, left_out.systems
        if validation is None:
            folds.split(cv, y, qid, seed_of(self.random_state))
            if isinstance(cv, Integral):
                self.cv_ = f"folds of {parts_of_folds(folds.held_out[0], folds.splits)}"
        if self.keep != "alpha":
            raise ValueError(
                f"keep={self.keep!r} is for cv='leave-query-out' and cv='leave-pair-out'; folds keep alpha."
            )
        shared = folds.shared
        own = shared is None or self.alphas is not None
        self.alphas_ = folds.candidates(self.alphas) if own else shared.default_alphas()
        return folds, lambda: None if shared is None else shared.whole


class LeftOut(HeldOut):
    """The errors without each query or pair, by the closed forms of least squares; all alphas at once."""

    def __init__(self, folds: Folds, task: HeldOutTask, cv: str):
        check_choice(cv, "cv", LEAVE_OUT)
        by_pair = cv == "leave-pair-out"
        if folds.pooled and by_pair:
            raise ValueError(
                "pooled=True needs folds, such as cv=10: each pair that is left out has its scores."
            )
        if folds.scoring == "score" or (by_pair and folds.scoring not in PAIR_ERRORS):
            scorer = folds.criterion.scorer or folds.scoring
            raise ValueError(
                f"cv={cv!r} has no models to score, or single pairs alone: give folds (cv=5) with "
                f"scoring={scorer!r}."
            )
        self.folds, self.task, self._by_pair = folds, task, by_pair
        self.model: Any = folds.model

    def errors(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors of each alpha in turn: shape (n_outputs, 1)."""
        task, folds = self.task, self.folds
        task.alphas = values
        average = self.model.average
        result = pairs_left_out(task) if self._by_pair else queries_left_out(task, average=average)
        errors = result.error
        if folds.scoring not in PAIR_ERRORS:
            scores = result.predictions.reshape(len(values), task.n_rows, -1).transpose(0, 2, 1)
            errors = [folds.judged(folds.held_out, found) for found in scores]
        return (found[:, None] for found in np.asarray(errors))

    def state(self) -> None:
        """All alphas are compared at once, and no step between is kept."""

    def systems(self) -> list[Any] | None:
        """Return the equations of all rows that were found on the way, if they serve a fit."""
        task = self.task
        if task.system is None or len(task.outputs) > 1 or not is_linear(self.model):
            return None
        gram, pull = task.system
        return [(gram, pull.ravel())]


def parts_of_folds(preferences: Preferences, folds: list[Fold]) -> str:
    """Return the name of the units that folds consist of: queries, pairs or rows."""
    if preferences.has_queries:
        return "queries"
    return "pairs" if isinstance(folds[0], PairFold) else "rows"


def default_cv(task: HeldOutTask, by_pairs: bool) -> str | int:
    """Choose what to leave out; few rows are dealt out such that two or more are in a fold."""
    pairs = task.outputs[0]
    if pairs.pair_folds(2):  # which are all of one component
        return int(max(2, min(DEFAULT_FOLDS, pairs.n_pairs // 2)))
    n_queries = len(np.unique(pairs.groups()))
    if n_queries > 1:
        in_folds = task.n_rows > MANY_ROWS and task.keep == "alpha" and is_linear(task.model)
        return DEFAULT_FOLDS if in_folds and n_queries > DEFAULT_FOLDS else "leave-query-out"
    if by_pairs and task.n_rows <= MANY_ROWS and has_pair_formula(task):
        return "leave-pair-out"
    return max(2, min(DEFAULT_FOLDS, task.n_rows // 2))
