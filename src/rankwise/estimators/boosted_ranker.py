"""Boosted trees that minimize a pairwise loss, by LightGBM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import ParameterGrid

from rankwise.core.checks import as_vector
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.estimators.alpha_choice import seed_of
from rankwise.estimators.base import Refits
from rankwise.estimators.boosted_base import GROWTH, BaseBoostedRanker
from rankwise.estimators.inputs import check_validation_queries, read_preferences, read_validation
from rankwise.estimators.parameters import (
    Average,
    EarlyStopping,
    Jobs,
    PairWeight,
    Randomness,
    TreeCandidates,
    Trees,
    Verbosity,
    WarmStart,
)
from rankwise.estimators.tree_growth import Grower, Growths, TreeRows, has_waited, import_lightgbm
from rankwise.estimators.tree_stopping import FIXED_TREES, MOST_TREES, check_stopping, inner_folds
from rankwise.model_selection.fold_rows import Validation
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.search import Choice, Search
from rankwise.model_selection.tunable import Problem

# The numbers of trees that a search compares, as fractions of the largest.
FRACTIONS_OF_TREES = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05])


@dataclass(eq=False, repr=False)
class BoostedRanker(
    BaseBoostedRanker,
    EarlyStopping,
    Verbosity,
    Randomness,
    Jobs,
    WarmStart,
    PairWeight,
    Average,
    Trees,
):
    """Minimize the mean over pairs of a loss of f(better) - f(worse), where f is a sum of trees.

    Each tree is a step of Newton's method by rows: LightGBM grows it from the gradient and the curvature of
    the loss over all pairs. It needs the package lightgbm (`pip install 'rankwise[lightgbm]'`).

    Cost: that of LightGBM, and for each tree that of the loss over m rows: O(m) with the logistic loss,
    O(m log m) with others, whatever the number of pairs.

    Parameters
    ----------
    loss : "squared_hinge", "logistic", "hinge", "huber_hinge", "least_squares" or an object
        With "logistic" there is `predict_pair_proba`. Least squares take differences of labels, or the
        magnitudes of pairs, as their targets.
    n_estimators : int, optional
        Number of trees; the largest, if held-out rows end the fit. By default 1,000 at most with early
        stopping, and 100 without.
    learning_rate : float
        Factor of each tree.
    min_child_samples : int, optional
        The fewest rows of a leaf; by default 20, or 10 if there are fewer than 500 rows.
    num_leaves, max_depth, subsample, colsample_bytree, colsample_bynode, reg_lambda :
        As in LightGBM. If `subsample` is below 1, rows are drawn anew for each tree, and if
        `colsample_bynode` is, so are features for each split. The defaults are those of many data sets
        (`benchmarks/defaults.py`).
    early_stopping_rounds : int
        With early stopping or `fit(validation=...)`, the fit stops when this number of consecutive trees has
        not lowered the error of the held-out rows, and the best number of trees is kept.
    categorical_features : sequence of int or str, optional
        Columns that hold categories, as whole numbers from 0 up, by place or name. Categorical columns of
        a frame are found without it.
    lightgbm_parameters : dict, optional
        Further parameters of LightGBM, such as `{"monotone_constraints": [1, 0, -1]}`.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs.
    pair_weight : None or "difference"
        With "difference", a pair weighs the difference of its labels.
    warm_start : bool
        Let `fit` add trees to those of the last one, up to `n_estimators` in all (100 more by default): with
        other rows of the same columns, another loss or another learning rate, as you like. Only the first
        fit stops early, as earlier trees have learned from the rows that it would hold out; with
        `fit(validation=...)`, each does.
    n_jobs : int, optional
        Number of threads; None means all, or as many as the variable OMP_NUM_THREADS says, and -1 all. The
        result does not depend on it. In a forked process it is 1, as OpenMP's threads do not survive a fork.
    random_state : int, optional
        Draws rows and columns; None stands for 0, so that a fit can be repeated.
    verbose : int
        1 prints the error of the validation rows for each tree.
    early_stopping : "auto", True or False
        Whether parts of the training rows choose the number of trees, unless there is `fit(validation=...)`.
        Queries (rows, if there are no queries; pairs, if explicit pairs share rows) are assigned to
        `1 / validation_fraction` folds at random, the same at each fit. If there are fewer than 20,000 rows,
        each fold is held out in turn, and all rows are fitted with the number of trees at which the mean
        error of the held-out rows is lowest. Otherwise the first fold is held out, and the trees of the other
        rows are kept.
        "auto" stops early if `n_estimators` is None, there are at least 100 rows, and at least five queries
        or pairs.
        `init_score` is divided like the rows.
    validation_fraction : float, optional
        The fraction of queries, rows or pairs in a fold, at most 0.5. By default it is 0.5, falls to 0.2 if
        there are few queries or pairs, and is 0.2 from 20,000 rows on.
    scoring : str, optional
        The measure that ends the fit ("error", "concordance", "ndcg@10", "map", "mrr", "p@5", "tau" or, with
        `loss="logistic"`, "log_loss"), also with `fit(validation=...)`; by default the ranking error.

    Attributes
    ----------
    trees_ : str
        The trees, in LightGBM's form.
    n_iter_ : int
        The number of trees.
    feature_importances_ : array of shape (n_features,)
        The share of each feature in all that splits gained.
    validation_errors_ : array
        The ranking error of the held-out rows after each tree of the last fit, or 1 minus the measure that
        `scoring` names; the mean over folds; empty without held-out rows.
    n_pairs_ : int
        The number of pairs of the training data.

    See Also
    --------
    BoostedRankerCV : Chooses the parameters of the trees.
    GroupedRanker : Rankers of LightGBM, XGBoost and CatBoost with their own losses.

    Examples
    --------
    >>> from rankwise import BoostedRanker
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = BoostedRanker().fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.7)
    True
    """

    command = "boosted"
    searching = "BoostedRankerCV"

    fits_all_at_once = True

    @with_one_blas_thread
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        validation: Any = None,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            Missing values (NaN, or no entry in a frame) and categorical columns of a frame are taken as
            LightGBM takes them.
        y : array of shape (n_rows,) or Preferences
            Labels, higher is better; or explicit preferences among the rows.
        qid : array of shape (n_rows,), optional
            The query of each row: only rows of the same query are compared.
        sample_weight : array of shape (n_rows,), optional
            A pair weighs the product of its rows' weights.
        init_score : array of shape (n_rows,), optional
            Scores to begin with, such as those of another model: the trees learn what to add to them.
            `predict` returns what the trees add, and whoever predicts adds the scores to begin with.
        validation : tuple (X, y), (X, y, qid) or (X, y, qid, init_score), optional
            Rows that are not learned from: the number of trees is where their error is lowest, and no other
            rows are held out. They have an `init_score` if and only if the training rows have one; `qid` may
            be None.
        """
        import_lightgbm()
        self._check_parameters()
        self._check_begins_once(init_score)
        start = self._booster if self._goes_on() else None
        problem, seed = self.problem(X, y, qid, sample_weight), self._seed()
        begin = _as_start(init_score, problem.X.shape[0], "init_score")
        rows = TreeRows(problem.X, problem.preferences, begin)
        grower, held_out = self._grower(rows.X, seed), self._held_out(validation, begin is not None)
        folds = [] if held_out is not None or start is not None else inner_folds(self, rows)
        n_trees = self._most_trees(stops=bool(folds) or held_out is not None)
        if len(folds) == 1:
            rows, held_out = rows.split(folds.pop())
        if folds:
            growths = [grower.growth(*rows.split(fold)) for fold in folds]
            waited = partial(has_waited, patience=self.early_stopping_rounds)
            errors = Search(is_over=waited).choose(Growths(growths), np.arange(1.0, n_trees + 1)).mean
            n_trees = 1 + int(np.argmin(errors))
        booster, course = grower.train(
            rows,
            n_trees,
            held_out,
            patience=self.early_stopping_rounds,
            start=start,
            verbose=self.verbose,
        )
        self.validation_errors_ = errors if folds else np.array(course)
        best = booster.num_trees() if held_out is None else booster.best_iteration
        self._keep(booster, best, grower, rows.X.shape[0])
        return self

    def grid(self, problem: Problem, design: Any = None) -> FloatVector:
        """Return numbers of trees, from the largest down."""
        return np.unique(np.ceil(self._most_trees(stops=True) * FRACTIONS_OF_TREES))[::-1].copy()

    def fits(self, problem: Problem, hint: bool = False) -> TreeFits:
        """Return the fits to a problem for any number of trees."""
        return TreeFits(self, problem)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_stopping(self.early_stopping, self.validation_fraction)
        if self._goes_on() and self.n_estimators is not None and self.n_estimators <= self.n_iter_:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be above the {self.n_iter_} trees there are already, "
                "to which warm_start=True adds others."
            )

    def _most_trees(self, stops: bool) -> int:
        """Return the largest number of new trees, if held-out rows end the fit, or their number."""
        n_before = self.n_iter_ if self._goes_on() else 0
        if self.n_estimators is not None:
            return self.n_estimators - n_before
        return MOST_TREES if stops else FIXED_TREES

    def _check_begins_once(self, init_score: Any) -> None:
        if init_score is not None and self.warm_start:
            raise ValueError(
                "init_score must be None with warm_start=True: going on from trees, LightGBM begins with "
                "their scores and would forget it."
            )

    def _goes_on(self) -> bool:
        return bool(self.warm_start and hasattr(self, "trees_"))

    def _held_out(self, validation: Any, begins: bool) -> TreeRows | None:
        """Return the validation set."""
        if validation is None:
            return None
        if not isinstance(validation, tuple | list) or len(validation) not in (2, 3, 4):
            raise ValueError("validation must be a tuple (X, y), (X, y, qid) or (X, y, qid, init_score).")
        X, y, qid, init_score = (*validation, None, None)[:4]
        check_validation_queries(self, y, qid)
        rows = self._rows(X)
        preferences = read_preferences(y, qid, None, self.pair_weight)
        if preferences.n_rows != rows.shape[0]:
            raise ValueError(f"validation has {rows.shape[0]} rows in X, but {preferences.n_rows} in y.")
        preferences.require_pairs()
        if begins != (init_score is not None):
            with_it, without = ("training", "validation") if begins else ("validation", "training")
            raise ValueError(
                f"The {with_it} rows have an init_score and the {without} rows have none; give both, as "
                "fit(X, y, init_score=..., validation=(X, y, qid, init_score)), or neither."
            )
        return TreeRows(rows, preferences, _as_start(init_score, rows.shape[0], "init_score of validation"))


@dataclass(frozen=True)
class TreeFits(Refits):
    """One fit of the largest number of trees stands for all smaller numbers."""

    model: BoostedRanker

    def scores(self, alphas: FloatVector, rows: Any) -> FloatArray:
        """Score other rows by each number of trees: shape (n_counts, 1, n_rows)."""
        model = self.model.set_params(n_estimators=int(alphas.max()), early_stopping=False, warm_start=False)
        model.fit(self.problem.X, self.problem.preferences)
        return model.scores_of_first(rows, np.minimum(alphas.astype(int), model.n_iter_).tolist())[:, None]


def _as_start(init_score: Any, n_rows: int, name: str) -> FloatVector | None:
    return None if init_score is None else as_vector(init_score, name, n_rows)


# The default candidates, from the simplest; each changes some parameters of the model.
CANDIDATES = (
    {"num_leaves": 4, "learning_rate": 0.1},
    {"num_leaves": 7},
    {"num_leaves": 15},
    {"num_leaves": 15, "min_child_samples": 5},
    {"num_leaves": 31, "colsample_bynode": 1.0},
    {"num_leaves": 63, "min_child_samples": 50},
)


@dataclass(eq=False, repr=False)
class BoostedRankerCV(
    BaseBoostedRanker, TreeCandidates, Verbosity, Randomness, Jobs, PairWeight, Average, Trees
):
    """Boosted trees whose size and number are chosen by cross-validation over queries.

    For each candidate, the trees of all folds grow together until `early_stopping_rounds` consecutive ones
    have not lowered the mean error of the held-out rows. So one growth per fold compares all numbers of
    trees. The best candidate is then fitted to all rows with its number of trees. It needs the package
    lightgbm (`pip install 'rankwise[lightgbm]'`).

    Cost: for each candidate, that of `n_folds` fits of `BoostedRanker`.

    Parameters
    ----------
    loss : "squared_hinge", "logistic", "hinge", "huber_hinge", "least_squares" or an object
        The loss of a pair.
    n_estimators : int, optional
        The largest number of trees; 1,000 by default.
    learning_rate, num_leaves, max_depth, min_child_samples, subsample, colsample_bytree, colsample_bynode, \
reg_lambda, early_stopping_rounds, categorical_features, lightgbm_parameters, average, pair_weight, n_jobs, \
random_state, verbose :
        As in `BoostedRanker`; a candidate replaces the parameters that it names.
    cv : int, splitter or iterable of (train, test)
        An int assigns queries (rows, if there are no queries) to folds at random, the same at each fit unless
        `random_state` changes; if explicit pairs share rows, it assigns the pairs.
    scoring : str, optional
        The measure to choose by ("error", "concordance", "ndcg@10", "map", "mrr", "p@5", "tau" or, with
        `loss="logistic"`, "log_loss"); by default the ranking error.
    param_grid : dict or list of dict, optional
        Candidates in scikit-learn's form, such as `{"num_leaves": [7, 31], "reg_lambda": [0.0, 5.0]}`, of
        parameters from `learning_rate` to `reg_lambda`. By default six combinations of `num_leaves` and
        other parameters.

    Attributes
    ----------
    best_params_ : dict
        The parameters of the best candidate and its `n_estimators`; the first of equal candidates.
    candidates_ : list of dict
        All candidates.
    n_trees_ : array of shape (n_candidates,)
        The number of trees with the lowest mean error over folds, for each candidate.
    cv_errors_ : array of shape (n_candidates, n_folds)
        Held-out ranking error with that number of trees, or 1 minus the measure that `scoring` names.
        Validation rows are one fold.
    scoring_ : str
        The measure.
    trees_, n_iter_, feature_importances_, n_pairs_ :
        As in `BoostedRanker`.

    See Also
    --------
    BoostedRanker : Trees with given parameters.

    Examples
    --------
    >>> from rankwise import BoostedRankerCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = BoostedRankerCV(cv=3, param_grid={"num_leaves": [4, 15]}).fit(X, y)
    >>> model.cv_errors_.shape, model.best_params_["n_estimators"] == model.n_iter_
    ((2, 3), True)
    """

    @with_one_blas_thread
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation: Any = None,
    ) -> BoostedRankerCV:
        """Choose the parameters and learn to rank.

        Parameters
        ----------
        X, y, qid, sample_weight :
            As for `BoostedRanker.fit`.
        validation : tuple (X, y) or (X, y, qid), optional
            Rows to compare candidates by, in place of folds; the model is fitted to the other rows alone.
        """
        import_lightgbm()
        self._check_parameters()
        self.candidates_ = _candidates(self.param_grid)
        problem, seed = self.problem(X, y, qid, sample_weight), self._seed()
        rows, grower = TreeRows(problem.X, problem.preferences), self._grower(problem.X, seed)
        parts = self._parts(rows, y, qid, validation)
        growers = [
            replace(grower, parameters=self._parameters(problem.X.shape[0], seed, **candidate))
            for candidate in self.candidates_
        ]
        self.scoring_ = grower.criterion.key
        choices = [self._number(each, parts) for each in growers]
        self.n_trees_ = np.array([int(choice.alpha) for choice in choices])
        self.cv_errors_ = np.array([choice.errors[choice.best] for choice in choices])
        best = int(np.argmin(self.cv_errors_.mean(axis=1)))
        n_trees = int(self.n_trees_[best])
        self.best_params_ = self.candidates_[best] | {"n_estimators": n_trees}
        booster, _ = growers[best].train(rows, n_trees, verbose=self.verbose)
        self._keep(booster, n_trees, growers[best], problem.X.shape[0])
        return self

    def _number(self, grower: Grower, parts: list[tuple[TreeRows, TreeRows]]) -> Choice:
        """Choose the number of trees by the errors of each fold after 1, 2, ... trees."""
        most = MOST_TREES if self.n_estimators is None else self.n_estimators
        held_out = Growths([grower.growth(*part) for part in parts])
        search = Search(self.scoring_, partial(has_waited, patience=self.early_stopping_rounds))
        return search.choose(held_out, np.arange(1.0, most + 1))

    def _parts(
        self, rows: TreeRows, y: Any, qid: ArrayLike | None, validation: Any
    ) -> list[tuple[TreeRows, TreeRows]]:
        """Return the rows to learn from and those held out, of each fold."""
        if validation is not None:
            judged = read_validation(self, validation)
            return [(rows, TreeRows(judged.X, judged.outputs[0]))]
        held_out: Any = Folds(self, Problem(rows.X, [rows.preferences]))
        folds = held_out.split(5 if self.cv is None else self.cv, y, qid, seed_of(self.random_state))
        return [rows.split(fold) for fold in folds if not isinstance(fold, Validation)]


def _candidates(param_grid: Any) -> list[dict[str, Any]]:
    """Return the candidates of a grid, with values of plain Python."""
    if param_grid is None:
        return [dict(candidate) for candidate in CANDIDATES]
    grid = list(ParameterGrid(param_grid))
    unknown = sorted({name for candidate in grid for name in candidate} - set(GROWTH))
    if unknown:
        raise ValueError(f"param_grid may name {', '.join(GROWTH)}; got {unknown[0]!r}.")
    if not grid:
        raise ValueError("param_grid has no candidates.")
    return [dict(candidate) for candidate in grid]
