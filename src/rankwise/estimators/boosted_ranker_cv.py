"""BoostedRanker with a built-in choice of its parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import ParameterGrid

from rankwise.core.threads import with_one_blas_thread
from rankwise.estimators.alpha_choice import seed_of
from rankwise.estimators.boosted_base import GROWTH, BaseBoostedRanker
from rankwise.estimators.inputs import read_validation
from rankwise.estimators.parameters import (
    Average,
    Jobs,
    PairWeight,
    Randomness,
    TreeCandidates,
    Trees,
    Verbosity,
)
from rankwise.estimators.tree_growth import Grower, Growths, TreeRows, has_waited, import_lightgbm
from rankwise.estimators.tree_stopping import MOST_TREES
from rankwise.model_selection.fold_rows import Validation
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.search import Choice, Search
from rankwise.model_selection.tunable import Problem

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
