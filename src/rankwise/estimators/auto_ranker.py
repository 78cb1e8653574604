"""A ranker that tries several models and keeps the simplest good one."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise.core.backends import require_in_memory
from rankwise.core.checks import as_array, check_choice, check_positive
from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.progress import about
from rankwise.core.text import plural
from rankwise.core.time_limit import OutOfTimeError
from rankwise.core.types import FloatVector
from rankwise.data.columns import column_names, is_frame
from rankwise.data.frames import with_columns
from rankwise.data.hints import identifiers
from rankwise.estimators.auto_blend import Blend
from rankwise.estimators.auto_candidates import candidates_for
from rankwise.estimators.auto_choice import PREFERENCES, chosen, estimate_of_choice, table_of
from rankwise.estimators.auto_grades import MOST_GRADES, Grades, grades_by, have_grades
from rankwise.estimators.auto_race import Race, Step, Trial
from rankwise.estimators.auto_task import Task
from rankwise.estimators.base import with_classes
from rankwise.estimators.fits import keep_classes
from rankwise.estimators.inputs import require_labels
from rankwise.estimators.parameters import CrossValidation, Jobs, Randomness, Verbosity
from rankwise.estimators.through_pipeline import explain_pair, rank
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.intervals import Estimate
from rankwise.evaluation.measures import named_measure
from rankwise.evaluation.models import scores_of
from rankwise.preferences import Preferences

logger = logging.getLogger("rankwise")

# Sparse rows with a larger fraction of stored entries are taken as a table.
DENSE = 0.2


def _has_probabilities(model: Any) -> bool:
    check_is_fitted(model)
    if not hasattr(last_step(model.best_estimator_), "predict_pair_proba"):
        raise AttributeError(
            f"predict_pair_proba needs a logistic model, but {model.best_name_!r} was chosen."
        )
    return True


def _has_grades(model: Any) -> bool:
    check_is_fitted(model)
    if not hasattr(model, "thresholds_"):
        raise AttributeError(
            f"predict_grade needs labels with at most {MOST_GRADES} values, in one ranking without qid."
        )
    return True


@dataclass(eq=False, repr=False)
class AutoParameters:
    """What an `AutoRanker` is given."""

    budget: float | None = 60.0
    prefer: str = "simple"
    candidates: Sequence[Any] | None = None
    scoring: str = "error"
    cv: CrossValidation = 5
    callback: Callable[[Step], Any] | None = None


@dataclass(eq=False, repr=False)
class AutoRanker(Verbosity, Randomness, Jobs, AutoParameters, BaseEstimator):
    """Try linear models, curves, a learned kernel and boosted trees, and keep the simplest good one.

    Each candidate chooses its own alpha or number of trees inside its fit. Candidates are compared by
    cross-validation over queries (rows, if there are none), all on the same folds: the simplest one is kept
    that is not clearly worse than the best. It is then fitted to all rows. Frames may have words, categories,
    booleans, dates and missing values. With queries, features scaled within queries are tried too. Trees need
    the package lightgbm.

    Parameters
    ----------
    budget : float or None
        Seconds for the whole fit, which ends within 1.2 times of it. Fits to small samples predict the times
        of the others; each family has one answer before any has two, and a fit that takes more than its share
        is given up. If the rows are too many for the time, candidates are compared on a sample of them, and
        the chosen one is fitted to as many as there is time for. None tries everything on all rows, and the
        result does not depend on the load of the machine.
    prefer : "simple", "best" or "blend"
        "simple" takes the first family, in the order linear, curves, kernel, trees, with a candidate whose
        difference from the best is not significant at the level of 5%. "best" takes the best mean. "blend"
        mixes the best candidate of each family, with weights that minimize the logistic loss over all pairs
        of rows that were held out.
    candidates : sequence, optional
        The families to try, among "linear", "curves", "kernel" and "trees"; all by default. Models of your
        own are estimators, or tuples of a name and an estimator, such as a `GroupedRanker`; they count as
        more complex than all others.
    scoring : str
        The measure to compare by: "error", "ndcg@10", "map" and so on, as in `compare`.
    cv : int, splitter or iterable of (train, test)
        The number of folds, or what splits the rows.
    callback : callable, optional
        It gets a `Step` after each fit: candidate, fold, rows, measure, the best so far, and seconds.
    n_jobs : int, optional
        Number of threads of each fit.
    random_state : int, optional
        The seed of folds and of random choices inside the fits; None means 0.
    verbose : int
        1 prints what is tried and the best so far.

    Attributes
    ----------
    best_estimator_ : ranker or Pipeline
        The chosen model. `save_model` stores it.
    n_rows_ : int
        The number of rows that it was fitted to: all, unless there was no time for that.
    best_name_ : str
    tried_ : list of TriedModel
        Each candidate: mean, interval, paired difference from the best, p-value, folds and seconds. It prints
        as a table.
    leaderboard_ : pandas.DataFrame
        The same as a frame.
    estimate_ : float
        The measure to expect on new rows: each fold is judged by the model that the other folds choose, since
        the best of several means is optimistic.
    estimate_interval_ : tuple of float
        Its 95% interval.
    grades_, thresholds_ : arrays of shape (n_grades,) and (n_grades - 1,)
        The values of the labels, if there are at most 20 in one ranking, and the boundaries between them on
        the axis of the scores. The boundaries minimize the mean distance of the rows of the folds from their
        labels, by models that were not fitted to these rows; `predict_grade` uses them.
    weights_ : dict of str to float
        With `prefer="blend"`, the weight of each model; they sum to 1.
    left_out_ : list of str
        Columns of a frame that were not learned from, as they look like identifiers: words of which no two
        are equal, row numbers, and columns named like `user_id` with many values.
    n_features_in_, feature_names_in_ :
        The columns that were learned from.

    See Also
    --------
    RankSVMCV : A linear model.
    rankwise.evaluation.compare : Differences of models on the same rows.

    Notes
    -----
    Folds share training rows, so that p-values and intervals are approximate: in simulations of 100 and 200
    rows, `estimate_interval_` contained the error of the chosen model in 92% and 93% of the searches
    (`benchmarks/coverage.py`). Ctrl-C ends the search: what
    has been tried so far is compared, and the choice is fitted to all rows.

    Examples
    --------
    >>> from rankwise import AutoRanker
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = AutoRanker(budget=None, candidates=["linear", "curves"], cv=3).fit(X[:300], y[:300])
    >>> model.best_name_
    'linear'
    >>> round(model.score(X[300:], y[300:]), 2)
    0.76
    """

    __metadata_request__fit = {"qid": True, "sample_weight": True}  # noqa: RUF012
    __metadata_request__predict = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True, "sample_weight": True}  # noqa: RUF012

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return with_classes(tags, self)

    def fit(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Compare the candidates, and fit the chosen one to all rows.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,) or Preferences
            Labels, higher is better; or explicit preferences among the rows.
        qid : array of shape (n_rows,), optional
            The query of each row: only rows of the same query are compared.
        sample_weight : array of shape (n_rows,), optional
            A pair weighs the product of its rows' weights.
        """
        self._check_parameters()
        left_out = identifiers(X) if is_frame(X) else []
        task = self._task(X, y, qid, sample_weight, left_out)
        seed = 0 if self.random_state is None else self.random_state
        seed = seed if isinstance(seed, Integral) else check_random_state(seed).randint(2**31 - 1)
        race = Race(
            task,
            self.cv,
            int(seed),
            candidates_for(task, self.candidates, int(seed), self.n_jobs),
            named_measure(self.scoring),
            self.budget,
            self._watch,
        )
        race.run()
        self._keep(race, task)
        self.left_out_ = left_out
        if left_out:
            logger.warning("Left out, as they look like identifiers: %s.", ", ".join(map(repr, left_out)))
        return self

    def _check_parameters(self) -> None:
        check_choice(self.prefer, "prefer", PREFERENCES)
        if isinstance(self.cv, Integral) and self.cv < 2:
            raise ValueError(f"cv must be at least 2, the number of folds; got {self.cv}.")
        if self.budget is not None:
            check_positive("budget", self.budget)
        if self.candidates is not None and len(self.candidates) == 0:
            raise ValueError("candidates must hold at least one family; None tries all.")

    @staticmethod
    def _without(names: list[str], X: Any) -> Any:
        """Return the rows without some columns, if they are a frame."""
        if not names or not is_frame(X):
            return X
        return with_columns(X, [name for name in column_names(X) or () if name not in names])

    def _task(self, X: Any, y: Any, qid: Any, sample_weight: Any, left_out: list[str]) -> Task:
        require_labels(self, y)
        require_in_memory(X, "AutoRanker", "take a sample of whole queries")
        y, qid, sample_weight = (
            part if part is None or isinstance(part, Preferences) else as_array(part)
            for part in (y, qid, sample_weight)
        )
        X = self._without(left_out, X if hasattr(X, "shape") else as_array(X))
        if sp.issparse(X):
            X = X.toarray() if X.nnz > DENSE * X.shape[0] * X.shape[1] else X.tocsr()
        task = Task(X, y, qid, sample_weight)
        if task.preferences.n_rows != task.n_rows:
            raise ValueError(f"X has {plural(task.n_rows, 'row')}, but y has {task.preferences.n_rows}.")
        return task

    def _watch(self, step: Step) -> None:
        """Print a line, and call the callback."""
        if self.verbose:
            left = "" if step.budget is None else f", {about(max(0.0, step.budget - step.seconds))} left"
            fold = f"fold {step.fold} of {step.n_folds}" if step.fold else "sample"
            best = f"; best so far: {step.best}, {step.best_error:.4f}" if step.best else ""
            rows = plural(step.n_rows, "row")
            print(f"{fold}, {rows}, {step.candidate}: {step.error:.4f}{best}{left}", file=sys.stderr)
        if self.callback is not None:
            self.callback(step)

    def _keep(self, race: Race, task: Task) -> None:
        """Choose, fit to all rows, and store."""
        if not any(trial.results for trial in race.trials):
            errors = [trial.error for trial in race.trials if trial.error is not None]
            raise errors[0] if errors else OutOfTimeError("No candidate could be fitted within the budget.")
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            del self.__dict__[name]  # of a previous fit
        if self.prefer == "blend":
            blend = Blend(race)
            winners, estimate, held_out = blend.trials, blend.estimate(), blend.scores()
            self.weights_ = blend.weights
            fitted = race.fitted(winners)
            self.best_estimator_ = blend.model([model for model, _ in fitted])
            self.best_name_ = " + ".join(self.weights_)
        else:
            winners = [chosen(race.trials, self.prefer)]
            held_out = winners[0].scores
            estimate = estimate_of_choice(race.trials, self.prefer)
            fitted = race.fitted(winners)
            self.best_estimator_ = fitted[0][0]
            self.best_name_ = winners[0].candidate.name
        self.n_rows_ = min(n_rows for _, n_rows in fitted)
        self._keep_estimate(race, winners, estimate)
        keep_classes(self, race.task.preferences)
        self.n_features_in_ = int(self.best_estimator_.n_features_in_)
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
        self._keep_grades(race, held_out)
        if race.interrupted:
            logger.warning("The search was interrupted; %s is the choice so far.", self.best_name_)

    def _keep_grades(self, race: Race, held_out: Sequence[FloatVector]) -> None:
        """Keep the boundaries between grades, if the labels are grades."""
        if not have_grades(race.task):
            return
        found = grades_by(race.folds, held_out, lambda X: scores_of(self.best_estimator_, X, "AutoRanker"))
        if found is not None:
            self.grades_, self.thresholds_ = found

    def _keep_estimate(self, race: Race, winners: list[Trial], estimate: Estimate) -> None:
        self.tried_ = table_of(race.trials, winners)
        self.estimate_ = estimate.value
        self.estimate_interval_ = estimate.interval(CONFIDENCE, race.metric.bounds)
        self.is_table_ = not sp.issparse(race.task.X)

    @property
    def leaderboard_(self) -> Any:
        """What was tried, as a frame of pandas."""
        check_is_fitted(self)
        import pandas as pd

        return pd.DataFrame(self.tried_)

    def predict(self, X: Any, *, qid: ArrayLike | None = None) -> FloatVector:
        """Return the score of each row; within a query, sort by it.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            The query of each row. A model with features scaled within queries needs it.
        """
        rows = self._rows(X)
        return scores_of(self.best_estimator_, rows, "AutoRanker", qid)

    @available_if(_has_grades)
    def predict_grade(self, X: Any) -> NDArray[Any]:
        """Return the grade of each row, if the labels are grades in one ranking; `predict` returns scores.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        grades : array of shape (n_rows,)
            Values of `grades_`.
        """
        return Grades(self.grades_, self.thresholds_).of(self.predict(X))

    def decision_function(self, X: Any, *, qid: ArrayLike | None = None) -> FloatVector:
        """Return the score of each row, as `predict` does; see `RankSVM.decision_function`."""
        return self.predict(X, qid=qid)

    def _rows(self, X: Any) -> Any:
        """Return rows as those of the fit."""
        check_is_fitted(self)
        X = self._without(self.left_out_, X if hasattr(X, "shape") else as_array(X))
        return X.toarray() if sp.issparse(X) and self.is_table_ else X

    def rank(self, X: Any, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the position of each row within its query, 0 for the best; equal scores keep their order.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            All rows are one ranking without it.
        """
        rows = self._rows(X)
        return rank(self.best_estimator_, rows, qid)

    def score(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return 1 minus the ranking error: the fraction of pairs in the right order; ties count one half.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,) or Preferences
        qid, sample_weight : arrays of shape (n_rows,), optional
        """
        rows = self._rows(X)
        rows = before_last_step(self.best_estimator_, rows, qid)
        return last_step(self.best_estimator_).score(rows, y, qid=qid, sample_weight=sample_weight)

    @available_if(_has_probabilities)
    def predict_pair_proba(self, A: Any, B: Any) -> FloatVector:
        """Return P(row of A above row of B) for each row, if a logistic model or a blend was chosen.

        Parameters
        ----------
        A, B : arrays, sparse matrices or frames of shape (n_rows, n_features)
        """
        A, B = (before_last_step(self.best_estimator_, self._rows(rows)) for rows in (A, B))
        return last_step(self.best_estimator_).predict_pair_proba(A, B)

    def explain_pair(self, a: Any, b: Any) -> Any:
        """Return the contribution of each column to f(a) - f(b), as `rankwise.explain_pair` does.

        Parameters
        ----------
        a, b : rows of shape (n_features,), or frames of one row
        """
        check_is_fitted(self)
        return explain_pair(self.best_estimator_, a, b)
