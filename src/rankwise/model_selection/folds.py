"""The errors of fits to the training rows of folds, judged on the rows held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from rankwise.core.checks import as_alphas
from rankwise.core.states import State, joined, nested, part_of
from rankwise.core.types import FloatArray, FloatVector
from rankwise.core.warn import warn_caller
from rankwise.data.design import Design
from rankwise.model_selection.digests import digest
from rankwise.model_selection.fold_rows import Fold, FoldRows, PairFold, Parts, Validation, rows_held_out_once
from rankwise.model_selection.scoring import as_scoring
from rankwise.model_selection.search import HeldOut
from rankwise.model_selection.tunable import Problem, Tunable
from rankwise.preferences import Preferences

# Parameters that may change when a search is continued.
FREE = ("tol", "max_iter", "callback", "n_jobs", "verbose")
# Bytes of training rows that the fits of all folds may hold at the same time.
MOST_BYTES = 2**31


# The preferences and scores that each fold holds out, for one alpha.
Judged = list[tuple[list[Preferences], FloatArray]]


class Folds(HeldOut):
    """The errors of fits to the training rows of each fold.

    Parameters
    ----------
    model : Tunable
        It is fitted many times; its alpha does not matter.
    problem : Problem
        All rows.
    scoring : str, callable or Scoring
        What `as_scoring` takes: the name of a measure or a scorer.
    y : array of shape (n_rows,), optional
        The labels, if there are no queries: a scorer sees them in place of preferences.
    pooled : bool
        Judge the held-out scores of all folds together, rather than fold by fold.
    """

    def __init__(
        self, model: Tunable, problem: Problem, scoring: Any = "error", y: Any = None, pooled: bool = False
    ):
        self.criterion = as_scoring(scoring)
        self.scoring = self.criterion.key
        self.pooled = pooled
        if pooled and self.criterion.scorer is not None:
            raise ValueError(
                "A scorer judges a model, not pooled scores; give the name of a measure as scoring."
            )
        self.model, self.problem = model, problem
        self.rows = FoldRows(problem, y, pooled, getattr(model, "kernel", None) == "precomputed")
        self.held_out = self.rows.held_out
        self.design: Design | None = None  # all rows in the function space, if it is known
        self.splits: list[Fold] = []
        self._warned: set[str] = set()
        self._is_stopped = False  # whether kinks have stopped the descents of all folds
        self._fits: list[Any] = []  # to each fold, which continue from the last alpha
        self._states: list[Any] = []  # of fits that are not kept
        self._is_ahead = False  # whether fits of later alphas are done already
        self._needs_models = self.criterion.scorer is not None and self.criterion.from_scores is None
        location = getattr(problem.X, "location", None)
        if location is not None and self._needs_models:
            raise ValueError(
                f"A scorer takes rows in memory, but X is {location}; give the name of a measure as scoring."
            )

    def candidates(self, alphas: ArrayLike | None = None) -> FloatArray:
        """Return the alphas to try from the largest down: those given, or the default grid of the model."""
        if alphas is not None:
            return np.unique(as_alphas(alphas))[::-1].copy()
        return self.model.grid(replace(self.problem, outputs=self.held_out), self.design)

    def split(self, cv: Any, y: Any = None, qid: ArrayLike | None = None, seed: int = 0) -> list[Fold]:
        """Make the folds: see `FoldRows.split`."""
        self.splits = self.rows.split(cv, y, qid, seed)
        return self.splits

    # Errors

    def errors(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors of each alpha in turn, (n_outputs, n_folds): one column if pooled."""
        if self.pooled and not isinstance(self.splits[0], Validation):
            yield from map(self._pooled, self.scores(values))
            return
        n_done = 0
        for errors in self._errors_in_lockstep(values):
            yield errors
            n_done += 1
        rest = values[n_done:]
        if not len(rest):
            return
        if self.criterion.scorer is None:
            yield from self._errors_of_refits(rest)
        else:
            yield from self._scored(rest)

    def scores(self, values: FloatArray) -> Iterator[Judged]:
        """Yield for each alpha what each fold holds out: the preferences, and scores (n_outputs, n_rows).

        The scores of an output that is not judged by the fold are NaN.
        """
        n_done = 0
        for found in self._descended(values):
            tests = [test for _, test in map(self.rows.halves, self.splits)]
            yield [([test.preferences], one[test.rows][None]) for test, one in zip(tests, found, strict=True)]
            n_done += 1
        if n_done < len(values):
            yield from self._refitted(values[n_done:])

    def identity(self, digested: bool = True) -> dict[str, Any]:
        """Return the model and the data in numbers and words; rows elsewhere have no digest."""
        X = self.problem.X
        known = {name: value for name, value in self.model.get_params().items() if name not in FREE}
        plain = {name: value for name, value in known.items() if isinstance(value, str | int | float)}
        data = {"rows": list(X.shape), "pairs": self.held_out[0].n_pairs}
        if digested and not isinstance(X, Design):
            data["digest"] = digest(X, self.held_out, self.splits)
        words = {"model": type(self.model).__name__, "scoring": self.scoring, "folds": len(self.splits)}
        return words | data | plain | {"loss": repr(getattr(self.model, "loss", None))}

    def state(self) -> State | None:
        """Return the states of the fits of all folds, which the next alpha starts from.

        It is None if they are not in memory, or other alphas are fitted as well by now.
        """
        of_descents = {} if self._lockstep is None else self._lockstep.state()
        of_fits = [fits.state() for fits in self._fits] or self._states
        if of_descents is None or None in of_fits or self._is_ahead or self.model.fits_all_at_once:
            return None
        found: State = {"is_stopped": np.array(self._is_stopped)} | nested("descents", of_descents)
        return found | joined(of_fits)

    def restore(self, state: State) -> None:
        """Continue the fits of the folds; descents that kinks have stopped stay stopped."""
        self._is_stopped = bool(state["is_stopped"])
        if of_descents := part_of(state, "descents"):
            self._lockstep.restore(of_descents)
        self._states = [part_of(state, str(k)) for k in range(len(self.splits))]

    def start(self, alpha: float) -> FloatVector | None:
        """Return weights near the solution for all rows, if the fits of the folds have some."""
        return None if self._lockstep is None else self._lockstep.start(alpha)

    def judged(self, held_out: list[Preferences], scores: FloatArray) -> FloatArray:
        """Return the errors of the scores (n_outputs, n_rows) of one fold; NaN for unknown scores."""
        average, measure = getattr(self.model, "average", "queries"), self.criterion.error
        assert measure is not None
        with self._warning_once():
            return np.array(
                [
                    np.nan if np.isnan(found[0]) else measure(output, found, average=average)
                    for output, found in zip(held_out, scores, strict=True)
                ]
            )

    def _pooled(self, folds: list[tuple[list[Preferences], FloatArray]]) -> FloatArray:
        """Return the errors of the held-out scores of all folds together, shape (n_outputs, 1).

        The fit to rows without pairs is the zero function.
        """
        n_rows = self.problem.X.shape[0]
        scores = np.full((len(self.held_out), n_rows), np.nan)
        for test in self.rows.untrained:
            scores[:, test] = 0.0
        for test, (_, found) in zip(rows_held_out_once(self.splits, n_rows), folds, strict=True):
            scores[:, test] = np.nan_to_num(found, nan=0.0)
        errors = []
        for output, of_output in zip(self.held_out, scores, strict=True):
            known = np.flatnonzero(~np.isnan(of_output))
            output[known].require_pairs()
            errors.append(self.judged([output[known]], of_output[known][None]))
        return np.array(errors)

    # How folds are fitted

    @cached_property
    def _lockstep(self) -> Any:
        """The descents of all folds that share passes over the rows, or None."""
        is_plain = len(self.held_out) == 1 and not isinstance(self.splits[0], Validation)
        descents = self.model.fold_descents
        if not is_plain or self._needs_models or descents is None:
            return None
        return descents(self.problem, [train for train, _ in map(self.rows.halves, self.splits)], self.design)

    def _descended(self, values: FloatArray) -> Iterator[list[FloatVector]]:
        """Yield the scores of all rows by each fold, up to the first alpha at which kinks stop a descent."""
        for alpha in () if self._lockstep is None else values:
            found = None if self._is_stopped else self._lockstep.scores(float(alpha))
            if found is None:
                self._is_stopped = True
                return
            yield found

    def _errors_in_lockstep(self, values: FloatArray) -> Iterator[FloatArray]:
        last: list[Any] = [None] * len(self.splits)
        errors = np.empty((1, len(self.splits)))
        for found in self._descended(values):
            for k, (fold, scores) in enumerate(zip(self.splits, found, strict=True)):
                if scores is not last[k]:  # a descent that has not moved has the same scores
                    errors[0, k] = self._error(fold, scores)
            last = found
            yield errors.copy()

    @cached_property
    def shared(self) -> Any:
        """The equations of all folds from one pass over the rows, or None."""
        equations, tests = self.model.fold_equations, self.rows.partition(self.splits)
        return None if tests is None or equations is None else equations(self.problem, tests)

    def _errors_of_refits(self, values: FloatArray) -> Iterator[FloatArray]:
        if not self.model.fits_all_at_once:
            for folds in self._refitted(values):
                yield np.column_stack([self.judged(*fold) for fold in folds])
            return
        by_fold = [
            np.array([self.judged(outputs, one) for one in scores]) for outputs, scores in self._whole(values)
        ]
        yield from np.stack(by_fold, axis=2)

    def _refitted(self, values: FloatArray) -> Iterator[Judged]:
        """Yield for each alpha what each fold holds out, with scores by fits of their own."""
        if self.model.fits_all_at_once:
            whole = list(self._whole(values))
            for k in range(len(values)):
                yield [(outputs, scores[k]) for outputs, scores in whole]
            return
        parts = [self.rows.parts(fold) for fold in self.splits]
        for found in self._advanced(parts, values, self._scores_along):
            yield [(part.held_out, scores) for part, scores in zip(parts, found, strict=True)]

    def _whole(self, values: FloatArray) -> Iterator[tuple[list[Preferences], FloatArray]]:
        """Yield what each fold holds out, and scores by one computation for all alphas.

        The scores have shape (n_alphas, n_outputs, n_rows).
        """
        if self.shared is not None:
            for fold, test, scores in zip(
                self.splits, self.shared.tests, self.shared.scores(values), strict=True
            ):
                found, judged = np.full_like(scores, np.nan), self.rows.judged_by(fold)
                found[:, judged] = scores[:, judged]
                yield [output[test] for output in self.held_out], found
            return
        for fold in self.splits:
            part = self.rows.parts(fold)
            yield part.held_out, np.array(list(self._scores_along(self.model.fits(part.train), part, values)))

    def _advanced(
        self,
        parts: list[Parts],
        values: FloatArray,
        along: Callable[[Any, Parts, FloatArray], Iterator[Any]],
    ) -> Iterator[list[Any]]:
        """Yield what `along` gives for the fits of each part, alpha by alpha.

        The folds advance together, unless their rows take too much memory.
        """
        if _copied_bytes(self.problem.X, self.splits) > MOST_BYTES:
            whole = [self._whole_path(along, part, values, k) for k, part in enumerate(parts)]
            for number in range(len(values)):
                self._is_ahead = number < len(values) - 1
                yield [found[number] for found in whole]
            return
        if not self._fits:
            self._fits = [self._fits_of(part, k) for k, part in enumerate(parts)]
        paths = [along(fits, part, values) for fits, part in zip(self._fits, parts, strict=True)]
        for _ in values:
            yield [next(path) for path in paths]

    def _whole_path(self, along: Callable[..., Iterator[Any]], part: Parts, values: Any, k: int) -> list[Any]:
        """Follow the fits of one part over all alphas, and keep their last state alone."""
        fits = self._fits_of(part, k)
        found = list(along(fits, part, values))
        self._states[k:] = [fits.state(), *self._states[k + 1 :]]
        return found

    def _fits_of(self, part: Parts, k: int) -> Any:
        """Return the fits to a part, which continue from a state if there is one."""
        fits: Any = self.model.fits(part.train)
        if self._states[k : k + 1] and self._states[k]:
            fits.restore(self._states[k])
        return fits

    def _scores_along(self, fits: Any, part: Parts, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the scores of held-out rows by the fit for each alpha, shape (n_outputs, n_rows)."""
        for scores in fits.scores(values, part.X_test):
            judged = np.full((len(self.held_out), part.X_test.shape[0]), np.nan)
            judged[part.judged] = scores
            yield judged

    def _scored(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors of the models of each fold by the scorer."""
        if len(self.held_out) > 1:
            raise ValueError("A scorer judges models of one output; give the name of a measure as scoring.")
        parts, scorer = [self.rows.parts(fold) for fold in self.splits], self.criterion.scorer
        assert scorer is not None
        if not self._needs_models and not isinstance(self.splits[0], Validation):
            yield from self._scored_by_all_rows(parts, values)
            return

        def errors_along(fits: Any, part: Parts, values: FloatArray) -> Iterator[float]:
            for model in fits.models(values):
                with self._warning_once():
                    error = -float(scorer(model, part.X_test, part.y))
                yield error

        for found in self._advanced(parts, values, errors_along):
            yield np.array([found])

    def _scored_by_all_rows(self, parts: list[Parts], values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors by the scores of training and held-out rows, without models."""
        X, of_kernel = self.problem.X, self.rows.is_kernel_matrix
        rows: list[Any] = [X[:, fold[0]] if of_kernel else X for fold in self.splits]
        parts = [part._replace(X_test=some) for part, some in zip(parts, rows, strict=True)]
        for found in self._advanced(parts, values, self._scores_along):
            of_folds = zip(self.splits, found, strict=True)
            yield np.array([[self._error(fold, scores[0]) for fold, scores in of_folds]])

    @contextmanager
    def _warning_once(self) -> Iterator[None]:
        """Pass on the first warning of each kind, and none of other folds and alphas."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            undefined = issubclass(warning.category, UndefinedMetricWarning)
            kind = "undefined" if undefined else str(warning.message)
            if kind not in self._warned:
                self._warned.add(kind)
                warn_caller(warning.message, warning.category)

    def _error(self, fold: Fold, scores: FloatVector) -> float:
        """Return the error of a fold by the scores of all rows."""
        train, test = self.rows.halves(fold)
        held_out, from_scores = scores[test.rows], self.criterion.from_scores
        if from_scores is not None:
            return from_scores(train.preferences, scores[train.rows], test.preferences, held_out)
        return float(self.judged([test.preferences], held_out[None])[0])


# The folds of preferences of a type, if these are not `Folds`: a backend adds those of its own.
FOLDS_OF: dict[type, type[Folds]] = {}


def _copied_bytes(X: Any, folds: list[Fold]) -> float:
    """Return the bytes of the training rows of all folds of rows; others share the rows of X."""
    size = getattr(X, "nbytes", None) or 1.5 * X.data.nbytes
    rows = np.arange(X.shape[0])  # splits may be masks
    copies = [len(rows[fold[0]]) for fold in folds if not isinstance(fold, PairFold | Validation)]
    return size * sum(copies) / max(1, X.shape[0])
