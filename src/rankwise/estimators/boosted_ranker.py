"""Boosted trees that minimise a pairwise loss, by LightGBM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise import objectives
from rankwise.calibration.pair_probability import PairProbability
from rankwise.core.checks import as_vector, check_count, check_positive
from rankwise.core.threads import is_forked, openmp_threads, thread_count, with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.backends import backend_of, in_memory
from rankwise.data.categories import one_row, validated_rows
from rankwise.data.scores import canonical_csr
from rankwise.estimators import tree_text
from rankwise.estimators.base import BaseRanker, Refits, logger
from rankwise.estimators.inputs import check_validation_queries, read_preferences
from rankwise.estimators.parameters import (
    Average,
    Jobs,
    PairWeight,
    Randomness,
    Trees,
    Verbosity,
    WarmStart,
)
from rankwise.model_selection.tunable import Problem
from rankwise.objectives._gradient import OBJECTIVES, check_loss
from rankwise.preferences import Preferences

# What makes the trees a function of data and parameters, whatever the number of threads and the load.
REPRODUCIBLE = {"deterministic": True, "force_col_wise": True}
# Columns that no leaf could be parted by stay, since LightGBM fails where none is left.
KEEPING_COLUMNS = {"feature_pre_filter": False}
# The numbers of trees that a search compares, as shares of the largest.
SHARES_OF_TREES = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05])
# LightGBM numbers categories in 32 bits.
LARGEST_CODE = 2**31 - 1
# What LightGBM takes for zero; where all is zero it has no feature and fails.
ZERO = 1e-35
OWN = ("objective", "metric", "num_class", "linear_tree", "data", "valid")


def import_lightgbm() -> Any:
    """Return the package, or raise an error with the command that installs it."""
    try:
        import lightgbm
    except ImportError:
        raise ImportError("BoostedRanker needs LightGBM: pip install 'rankwise[lightgbm]'.") from None
    return lightgbm


def _is_logistic(model: Any) -> bool:
    if model.loss != "logistic":
        raise AttributeError(
            f"predict_pair_proba needs loss='logistic', whose scores are log odds; it is {model.loss!r}."
        )
    return True


@dataclass(eq=False, repr=False)
class BoostedRanker(
    PairProbability, BaseRanker, Verbosity, Randomness, Jobs, WarmStart, PairWeight, Average, Trees
):
    """Minimise the mean over pairs of a loss of f(better) - f(worse), where f is a sum of trees.

    Each tree is a step of Newton's method by rows: LightGBM grows it from the gradient and the curvature of
    the loss over all pairs. It needs the package lightgbm (`pip install 'rankwise[lightgbm]'`).

    Cost: that of LightGBM, and for each tree that of the loss over m rows: O(m) with the logistic loss,
    O(m log m) with others, whatever the number of pairs.

    Parameters
    ----------
    loss : "squared_hinge", "logistic", "hinge" or "least_squares"
        With "logistic" there is `predict_pair_proba`. Least squares take differences of labels, or the
        magnitudes of pairs, as their targets.
    n_estimators : int
        Number of trees; the largest, where a validation set ends the fit.
    learning_rate : float
        What each tree counts.
    num_leaves, max_depth, min_child_samples, subsample, colsample_bytree, reg_lambda :
        As in LightGBM, with its defaults. Where `subsample` is below 1, rows are drawn anew for each tree.
    early_stopping_rounds : int
        With `fit(validation=...)`, the fit stops when this number of consecutive trees has not lowered the
        ranking error of the validation rows, and the best number of trees is kept.
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
        Let `fit` add trees to those of the last one, up to `n_estimators` in all: with other rows of the same
        columns, another loss or another learning rate, as you like.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all. The result does not depend on it. In a forked process it is
        1, as OpenMP's threads do not survive a fork.
    random_state : int, optional
        Draws rows and columns, where they are drawn.
    verbose : int
        1 prints the error of the validation rows for each tree.

    Attributes
    ----------
    trees_ : str
        The trees, in LightGBM's form.
    n_iter_ : int
        The number of trees.
    feature_importances_ : array of shape (n_features,)
        The share of each feature in all that splits gained.
    validation_errors_ : array
        The ranking error of the validation rows after each tree of the last fit; empty without them.
    n_pairs_ : int
        The number of pairs of the training data.

    Examples
    --------
    >>> from rankwise import BoostedRanker
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = BoostedRanker(n_estimators=50).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.7)
    True
    """

    tuned = "n_estimators"
    fits_all_at_once = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave LightGBM's own object out: it is made from the trees."""
        return {name: value for name, value in super().__getstate__().items() if name != "_booster"}

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return f"{OBJECTIVES[self.loss].formula}, f a sum of trees"

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
            Rows that are not learned from: the number of trees is where their ranking error is lowest. They
            have an `init_score` exactly where the training rows have one; `qid` may be None.
        """
        lightgbm = import_lightgbm()
        self._check_parameters()
        self._check_begins_once(init_score)
        start = self._booster if self._goes_on() else None
        problem = self.problem(X, y, qid, sample_weight)
        X, preferences = problem.X, problem.preferences
        places = self._categorical_places()
        _check_codes(X, places)
        _check_not_zero(X)
        begin = _as_start(init_score, X.shape[0], "init_score")
        data = lightgbm.Dataset(X, np.zeros(X.shape[0]), init_score=begin, categorical_feature=places)
        held_out = self._held_out(validation, begin is not None)
        objective = self._objective(preferences, held_out)
        valid_sets = [
            data.create_valid(rows, np.zeros(rows.shape[0]), init_score=begin) for rows, _, begin in held_out
        ]
        booster, errors = self._trained(lightgbm, data, valid_sets, objective, start)
        self.__dict__.pop("_booster", None)  # of a previous fit
        self.validation_errors_ = np.array(errors)
        best = booster.best_iteration if valid_sets else booster.num_trees()
        self.trees_ = tree_text.reduced(
            booster.model_to_string(num_iteration=max(best, 1)), self.n_features_in_
        )
        self.n_iter_ = self._booster.num_trees()
        self.feature_importances_ = self._importances()
        if not self.feature_importances_.any():
            logger.warning(
                "No tree has a split, so all scores are equal: a leaf needs min_child_samples=%d rows, and "
                "there are %d.",
                self.min_child_samples,
                X.shape[0],
            )
        return self

    def predict(self, X: Any) -> FloatVector:
        """Return the score of each row; within a query, sort by it.

        After a fit with `init_score` it is what the trees add to that, and the sum of both is to sort by.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        scores : array of shape (n_rows,)
        """
        check_is_fitted(self)
        return np.asarray(
            self._booster.predict(self._rows(X), num_threads=openmp_threads(self.n_jobs)), np.float64
        )

    @available_if(_is_logistic)
    def predict_pair_proba(self, A: Any, B: Any) -> FloatVector:
        """Return P(row of A above row of B) = 1 / (1 + exp(f(b) - f(a))) for each row; `loss="logistic"`.

        Parameters
        ----------
        A, B : arrays, sparse matrices or frames of shape (n_rows, n_features)
            The rows of each pair. Either may be a single row, also as a vector, which is then compared with
            all rows of the other.
        """
        return super().predict_pair_proba(A, B)

    def explain_pair(self, a: ArrayLike, b: ArrayLike) -> FloatVector:
        """Return each feature's part in f(a) - f(b); the parts add up to the difference of the scores.

        They are differences of Shapley values (Lundberg et al. 2018), as LightGBM computes them for trees.

        Parameters
        ----------
        a, b : arrays of shape (n_features,), or frames of one row
            Two rows.
        """
        first, second = (self.contributions(one_row(row, name)) for row, name in ((a, "a"), (b, "b")))
        return (first - second)[0]

    def contributions(self, X: Any) -> FloatVector:
        """Return each feature's part in the score of each row, up to a constant: shape (n_rows, n_features).

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        options = {"pred_contrib": True, "num_threads": openmp_threads(self.n_jobs)}
        parts = self._booster.predict(self._rows(X), **options)
        parts = parts.toarray() if hasattr(parts, "toarray") else parts
        return np.asarray(parts, np.float64)[:, :-1]

    def grid(self, problem: Problem, design: Any = None) -> FloatVector:
        """Return numbers of trees, from the largest down."""
        return np.unique(np.ceil(self.n_estimators * SHARES_OF_TREES))[::-1].copy()

    def fits(self, problem: Problem, hint: bool = False) -> TreeFits:
        """Return the fits to a problem for any number of trees."""
        return TreeFits(self, problem)

    def scores_of_first(self, X: Any, counts: list[int]) -> FloatArray:
        """Return the scores by the first trees alone, for each number of them: shape (n_counts, n_rows)."""
        rows, options = self._rows(X), {"num_threads": openmp_threads(self.n_jobs)}
        return np.array([self._booster.predict(rows, num_iteration=count, **options) for count in counts])

    @cached_property
    def _booster(self) -> Any:
        """LightGBM's object for the trees, which are checked first: they may come from a file."""
        tree_text.check(self.trees_, self.n_features_in_)
        lightgbm = import_lightgbm()
        if is_forked():  # LightGBM reads trees with as many threads as it had last
            lightgbm.Dataset(np.zeros((1, 1)), params={"num_threads": 1, "verbose": -1}).construct()
        return lightgbm.Booster(model_str=self.trees_)

    def check_trees(self) -> None:
        """Refuse what a file holds where it could not be predicted with."""
        tree_text.check(self.trees_, self.n_features_in_)

    def _check_parameters(self) -> None:
        check_loss(self.loss)
        check_count("n_estimators", self.n_estimators)
        check_positive("learning_rate", self.learning_rate)
        check_count("early_stopping_rounds", self.early_stopping_rounds)
        if self._goes_on() and self.n_estimators <= self.n_iter_:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be above the {self.n_iter_} trees there are already, "
                "to which warm_start=True adds others."
            )
        taken = sorted(set(OWN) & set(self.lightgbm_parameters or {}))
        if taken:
            raise ValueError(f"lightgbm_parameters must not hold {taken[0]!r}, which BoostedRanker sets.")

    def _check_begins_once(self, init_score: Any) -> None:
        if init_score is not None and self.warm_start:
            raise ValueError(
                "init_score must be None with warm_start=True: going on from trees, LightGBM begins with "
                "their scores and would forget it."
            )

    def _parameters(self, objective: Any) -> dict[str, Any]:
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        return {
            "objective": objective,
            "metric": "None",
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "max_depth": self.max_depth,
            "min_child_samples": self.min_child_samples,
            "subsample": self.subsample,
            "subsample_freq": int(self.subsample < 1.0),
            "colsample_bytree": self.colsample_bytree,
            "reg_lambda": self.reg_lambda,
            "num_threads": openmp_threads(self.n_jobs),
            "seed": seed,
            "verbose": -1,
            **REPRODUCIBLE,
            **KEEPING_COLUMNS,
            **(self.lightgbm_parameters or {}),
        }

    def _objective(self, preferences: Preferences, held_out: list[Any]) -> Any:
        return objectives.lightgbm(
            preferences,
            self.loss,
            average=self.average,
            validation=[known for _, known, _ in held_out],
            n_threads=thread_count(self.n_jobs),
        )

    def _goes_on(self) -> bool:
        return bool(self.warm_start and hasattr(self, "trees_"))

    def _trained(
        self, lightgbm: Any, data: Any, valid_sets: list[Any], objective: Any, start: Any
    ) -> tuple[Any, list[float]]:
        course: dict[str, Any] = {}
        callbacks = [lightgbm.record_evaluation(course)] if valid_sets else []
        if valid_sets:
            callbacks.append(lightgbm.early_stopping(self.early_stopping_rounds, verbose=False))
        if self.verbose:
            callbacks.append(lightgbm.log_evaluation(1))
        booster = lightgbm.train(
            self._parameters(objective),
            data,
            num_boost_round=self.n_estimators - (0 if start is None else start.num_trees()),
            init_model=start,
            valid_sets=valid_sets,
            valid_names=["validation"] * len(valid_sets),
            feval=objective.metric,
            callbacks=callbacks,
        )
        return booster, course.get("validation", {}).get("ranking_error", [])

    def _held_out(self, validation: Any, begins: bool) -> list[tuple[Any, Preferences, FloatVector | None]]:
        """Return rows, preferences and first scores of the validation set, as a list of one or none."""
        if validation is None:
            return []
        if not isinstance(validation, tuple | list) or len(validation) not in (2, 3, 4):
            raise ValueError("validation must be a tuple (X, y), (X, y, qid) or (X, y, qid, init_score).")
        X, y, qid, init_score = (*validation, None, None)[:4]
        check_validation_queries(self, y, qid)
        rows = self._rows(X)
        preferences = read_preferences(in_memory(y), in_memory(qid), None, self.pair_weight)
        if preferences.n_rows != rows.shape[0]:
            raise ValueError(f"validation has {rows.shape[0]} rows in X, but {preferences.n_rows} in y.")
        preferences.require_pairs()
        if begins != (init_score is not None):
            with_it, without = ("training", "validation") if begins else ("validation", "training")
            raise ValueError(
                f"The {with_it} rows have an init_score and the {without} rows have none; give both, as "
                "fit(X, y, init_score=..., validation=(X, y, qid, init_score)), or neither."
            )
        return [(rows, preferences, _as_start(init_score, rows.shape[0], "init_score of validation"))]

    def _rows(self, X: Any) -> Any:
        if (backend := backend_of(X)) is not None:
            raise ValueError(f"BoostedRanker needs all rows in memory, but X is {backend.name}.")
        return self.validated(X, reset=False)

    def validated(self, X: Any, reset: bool) -> Any:
        """Check rows; `reset` remembers their columns, unless trees are added to those of the last fit."""
        X = validated_rows(self, X, reset and not self._goes_on(), accept_sparse="csr")
        # LightGBM knows no sparse arrays, and of an entry that is stored in parts it takes one part.
        return sp.csr_matrix(canonical_csr(X)) if sp.issparse(X) else X

    def _categorical_places(self) -> list[int]:
        """Return the places of categorical columns, those of the frame and those that are named."""
        names = list(getattr(self, "feature_names_in_", ()))
        given = [] if self.categorical_features is None else list(self.categorical_features)
        places = [names.index(entry) if entry in names else entry for entry in given]
        for entry in places:
            if not (isinstance(entry, int | np.integer) and 0 <= entry < self.n_features_in_):
                raise ValueError(f"categorical_features names {entry!r}, which is no column of X.")
        return sorted({*map(int, places), *self.categories_})

    def _importances(self) -> FloatVector:
        gain = self._booster.feature_importance("gain")
        return np.asarray(gain / (gain.sum() or 1.0), np.float64)


@dataclass(frozen=True)
class TreeFits(Refits):
    """One fit of the largest number of trees stands for all smaller numbers."""

    model: BoostedRanker

    def scores(self, alphas: FloatVector, rows: Any) -> FloatArray:
        """Score other rows by each number of trees: shape (n_counts, 1, n_rows)."""
        model = self.model.set_params(n_estimators=int(alphas.max()), warm_start=False)
        model.fit(self.problem.X, self.problem.preferences)
        return model.scores_of_first(rows, np.minimum(alphas.astype(int), model.n_iter_).tolist())[:, None]


def _check_codes(X: Any, places: list[int]) -> None:
    """Refuse numbers of categories that LightGBM would cut to whole ones, or take for missing."""
    for place in places:
        column = X[:, [place]].toarray() if sp.issparse(X) else X[:, place]
        known = column[~np.isnan(column)]
        bad = known[(known != np.floor(known)) | (known < 0) | (known > LARGEST_CODE)]
        if len(bad):
            raise ValueError(
                f"categorical_features must hold whole numbers from 0 to {LARGEST_CODE}; column {place} of X "
                f"holds {bad[0]:g}."
            )


def _check_not_zero(X: Any) -> None:
    """Refuse rows that are all zero to LightGBM; NaN is a value that it can split by."""
    stored = X.data if sp.issparse(X) else X
    if stored.min(initial=0.0) >= -ZERO and stored.max(initial=0.0) <= ZERO:
        raise ValueError(
            f"X must hold a number above {ZERO:g} or below -{ZERO:g}; LightGBM takes all others for zero. "
            "Multiply small features by a power of ten."
        )


def _as_start(init_score: Any, n_rows: int, name: str) -> FloatVector | None:
    return None if init_score is None else as_vector(in_memory(init_score), name, n_rows)
