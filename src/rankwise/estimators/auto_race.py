"""The search: candidates are fitted to folds until all have been tried or the time is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.estimators.auto_candidates import Candidate
from rankwise.estimators.auto_choice import errors_of, is_clearly_worse
from rankwise.estimators.auto_task import Fold, Task, sampled
from rankwise.evaluation.measures import Measured, Metric, Scored, evaluated
from rankwise.evaluation.models import scores_of
from rankwise.preferences import Preferences

# A first fit predicts the time of a candidate: to a quarter of the rows, at most `PILOT_ROWS`.
# From some number of rows on, all fits take time in proportion to them; below, up to this power of them.
PILOT_RATIO, PILOT_ROWS, LEAST_ROWS, POWER = 4, 2000, 400, 1.5
# The last fit, to all rows, takes longer than that to the rows of a fold.
REFIT = 1.3
# A candidate is dropped before its last fold if it is worse by a difference with this p-value.
DROPPED = 0.01
CLEARLY_WORSE = "clearly worse"


@dataclass
class Trial:
    """What is known of a candidate.

    Attributes
    ----------
    candidate : Candidate
    results : list of Measured
        The measure on the test rows of each fold so far.
    scores : list of arrays
        The scores of the test rows of each fold so far.
    seconds : list of float
        The times of the fits.
    reason : str or None
        Why there are no more folds.
    error : Exception or None
        What ended a fit.
    pilot : float
        The time of a fit, as predicted from that to a sample of the rows.
    """

    candidate: Candidate
    results: list[Measured] = field(default_factory=list)
    scores: list[FloatVector] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    reason: str | None = None
    error: Exception | None = None
    pilot: float = 0.0

    @property
    def is_dropped(self) -> bool:
        """Whether it is clearly worse than another."""
        return self.reason == CLEARLY_WORSE

    @property
    def expected_seconds(self) -> float:
        """The time of the next fit, as far as it is known."""
        return max(self.seconds, default=self.pilot)


@dataclass(frozen=True)
class Step:
    """What a callback sees after each fit of a search.

    Attributes
    ----------
    candidate : str
    fold, n_folds : int
        The number of the fold, from 1.
    error : float
        The measure of this candidate on this fold; NaN if the fit failed.
    best : str
        The candidate with the best mean so far.
    best_error : float
    seconds : float
        Since the start.
    budget : float or None
    """

    candidate: str
    fold: int
    n_folds: int
    error: float
    best: str
    best_error: float
    seconds: float
    budget: float | None


class Race:
    """Fit candidates to folds, fold by fold, the simplest first; those that take long come after all others.

    Parameters
    ----------
    task : Task
        All rows.
    folds : list of Fold
    candidates : list of Candidate
    metric : Metric
    budget : float or None
        Seconds for all fits and the last one; without it all candidates are fitted to all folds. With it a
        candidate that is clearly worse than the best is dropped.
    callback : callable
        It gets a `Step` after each fit.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        task: Task,
        folds: list[Fold],
        candidates: list[Candidate],
        metric: Metric,
        budget: float | None,
        callback: Callable[[Step], Any],
        clock: Callable[[], float] = perf_counter,
    ):
        self.task, self.folds, self.metric, self.budget = task, folds, metric, budget
        self.callback, self._clock = callback, clock
        self.trials = [Trial(candidate) for candidate in candidates]
        self._start = clock()
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return self._clock() - self._start

    def run(self) -> list[Trial]:
        """Fit until all is tried or the time is over; Ctrl-C ends the search, once something was tried."""
        try:
            for is_last in (False, True):
                for number, fold in enumerate(self.folds):
                    self._fit_fold(number, fold, is_last)
        except KeyboardInterrupt:
            if not any(trial.results for trial in self.trials):
                raise
            self.interrupted = True
            for trial in self._running():
                if len(trial.results) < len(self.folds):
                    trial.reason = "interrupted"
        return self.trials

    def _fit_fold(self, number: int, fold: Fold, is_last: bool) -> None:
        for trial in self._running():
            if trial.candidate.is_last != is_last:
                continue
            if self._has_time(trial):
                self._fit(trial, number, fold)
            else:
                trial.reason = "out of time"
        if self.budget is not None:
            self._drop()

    def _running(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.reason is None]

    def _has_time(self, trial: Trial) -> bool:
        """Return whether there is time for one more fit and for the last one; the first is always made."""
        if self.budget is None or not any(other.results for other in self.trials):
            return True
        if not trial.seconds and not trial.pilot:
            trial.pilot = self._pilot_seconds(trial.candidate)
        best = leader([other for other in self.trials if other.results])
        last = REFIT * max(best.expected_seconds, trial.expected_seconds)
        return self.seconds + trial.expected_seconds + last <= self.budget

    def _pilot_seconds(self, candidate: Candidate) -> float:
        """Predict the time of a fit from that to a sample of the rows; 0 if the rows are few."""
        n_rows = self.task.n_rows
        if n_rows < LEAST_ROWS:
            return 0.0
        sample = sampled(self.task, min(PILOT_ROWS, n_rows // PILOT_RATIO))
        if sample is None:
            return 0.0
        start = self._clock()
        try:
            candidate.fit(sample)
        except Exception:
            return 0.0  # the fit to a fold gives the reason
        power = 1.0 if n_rows >= PILOT_RATIO * PILOT_ROWS else POWER
        return (self._clock() - start) * (n_rows / sample.n_rows) ** power

    def _fit(self, trial: Trial, number: int, fold: Fold) -> None:
        start, value = self._clock(), float("nan")
        try:
            model = trial.candidate.fit(fold.train)
            scores = scores_of(model, fold.test.X, trial.candidate.name, fold.test.qid)
        except Exception as error:
            trial.reason = f"failed: {_sentence(error)}"
            trial.error = error
        else:
            trial.seconds.append(self._clock() - start)
            trial.scores.append(scores)
            trial.results.append(self.measure(fold.test.preferences, scores))
            value = trial.results[-1].mean
        tried = [other for other in self.trials if other.results and not other.is_dropped]
        if tried:
            best = leader(tried)
            mean = float(np.nanmean([one.mean for one in best.results]))
            place = (number + 1, len(self.folds), value, best.candidate.name, mean)
            self.callback(Step(trial.candidate.name, *place, self.seconds, self.budget))

    def measure(self, held_out: Preferences, scores: FloatVector) -> Measured:
        """Return the measure of the scores of a fold."""
        query = np.zeros(len(scores), dtype=np.int64)  # preferences have their own queries
        return evaluated(Scored(held_out, {"": scores}, query), [self.metric])[""][0]

    def _drop(self) -> None:
        """Stop candidates that are clearly worse than the best, if there are folds enough to tell."""
        running = [trial for trial in self._running() if len(trial.results) >= 2]
        if len(running) < 2:
            return
        best = leader(running)
        for trial in running:
            if trial is not best and is_clearly_worse(trial.results, best.results, DROPPED):
                trial.reason = CLEARLY_WORSE


def leader(trials: list[Trial]) -> Trial:
    """Return the trial with the lowest mean error over the folds that all of them have."""
    n_shared = min(len(trial.results) for trial in trials)
    return min(trials, key=lambda trial: float(np.nanmean(errors_of(trial.results[:n_shared]))))


def _sentence(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__
