"""The search: candidates are fitted to folds until all have been tried or the time is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np

from rankwise.core.time_limit import OutOfTimeError, time_limit
from rankwise.core.types import FloatVector
from rankwise.estimators.auto_candidates import Candidate
from rankwise.estimators.auto_choice import errors_of, is_clearly_worse
from rankwise.estimators.auto_pilots import OUT_OF_TIME, Pilots, first_of_families
from rankwise.estimators.auto_task import Fold, Task, folds_of
from rankwise.evaluation.measures import Measured, Metric, Scored, evaluated
from rankwise.evaluation.models import scores_of
from rankwise.preferences import Preferences

# The last fit, to all rows, takes longer than that to the rows of a fold by this factor.
REFIT = 1.3
# A search may overrun its budget by this fraction: a fit ends at its next check of the time.
GRACE = 0.1
# A fit is given up if it takes longer than expected by this factor, and than this share of the budget.
PATIENCE, LEAST_PATIENCE = 3.0, 0.1
# Time for the last fit is kept for up to this many times the rows that candidates are compared on.
MOST_GROWTH = 4.0
# A candidate is dropped before its last fold if it is worse by a difference with this p-value.
DROPPED = 0.01
CLEARLY_WORSE = "clearly worse"


@dataclass(frozen=True)
class Pilot:
    """A fit to a small sample of the rows: a first answer, and what the times of other fits follow from."""

    n_rows: int
    seconds: float
    result: Measured
    scores: FloatVector
    model: Any
    fold: Fold


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
    model : estimator or None
        The model of the first fold.
    reason : str or None
        Why there are no more folds.
    error : Exception or None
        What ended a fit.
    pilot : Pilot or None
        Its last fit to a small sample of the rows, if the search has a budget.
    predicted : float
        The time of its first fit, as predicted from that of a pilot; 0 if nothing is known.
    """

    candidate: Candidate
    results: list[Measured] = field(default_factory=list)
    scores: list[FloatVector] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    model: Any = None
    reason: str | None = None
    error: Exception | None = None
    pilot: Pilot | None = None
    predicted: float = 0.0

    @property
    def is_dropped(self) -> bool:
        """Whether it is clearly worse than another."""
        return self.reason == CLEARLY_WORSE

    @property
    def expected_seconds(self) -> float:
        """The time of the next fit, as far as it is known."""
        return max(self.seconds, default=self.predicted)


@dataclass(frozen=True)
class Step:
    """What a callback sees after each fit of a search.

    Attributes
    ----------
    candidate : str
    fold, n_folds : int
        The number of the fold, from 1; fold 0 is a sample of the rows.
    n_rows : int
        The number of rows that the candidate was fitted to.
    error : float
        The measure of this candidate on this fold; NaN if the fit failed or was given up.
    best : str
        The candidate with the best mean so far; empty if there is none.
    best_error : float
    seconds : float
        Since the start.
    budget : float or None
    """

    candidate: str
    fold: int
    n_folds: int
    n_rows: int
    error: float
    best: str
    best_error: float
    seconds: float
    budget: float | None


class Race:
    """Fit candidates to folds, fold by fold; those that take long come after all others.

    With a budget, candidates are first fitted to small samples (`Pilots`). On the first fold each family has
    one answer before any has two, the fastest first, and none may take more than its share of the time that
    is left. If the time does not suffice for all rows, folds are those of a sample.

    Parameters
    ----------
    task : Task
        All rows.
    cv : int, splitter or iterable of (train, test)
    seed : int
        Draws the folds.
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
        cv: Any,
        seed: int,
        candidates: list[Candidate],
        metric: Metric,
        budget: float | None,
        callback: Callable[[Step], Any],
        clock: Callable[[], float] = perf_counter,
    ):
        self.clock = clock
        self._start = clock()
        self.task, self.metric, self.budget = task, metric, budget
        self.callback, self._cv, self._seed = callback, cv, seed
        self.trials = [Trial(candidate) for candidate in candidates]
        self.folds = folds_of(task, cv, seed)
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return self.clock() - self._start

    @property
    def left(self) -> float:
        """The time that is left of the budget."""
        return np.inf if self.budget is None else self.budget - self.seconds

    def run(self) -> list[Trial]:
        """Fit until all is tried or the time is over; Ctrl-C ends the search, once something was tried."""
        try:
            if self.budget is not None and isinstance(self._cv, Integral):
                self._pilot()
            self._fit_first(self.folds[0])
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
        if not any(trial.results for trial in self.trials):
            self._take_pilots()
        return self.trials

    def _pilot(self) -> None:
        """Fit candidates to samples, and take a sample of the rows if the time does not suffice for all."""
        pilots = Pilots(self, self._seed)
        pilots.run()
        n_rows = pilots.affordable_rows()
        if n_rows < self.task.n_rows:
            sample = self.task.sample(n_rows)
            self.folds = folds_of(sample, self._cv, self._seed) if sample is not self.task else self.folds
        pilots.predict(self.folds[0].task.n_rows)

    def _take_pilots(self) -> None:
        """Choose among the answers of the smallest sample if there was no time for another."""
        tried = [trial for trial in self.trials if trial.pilot is not None]
        smallest = min((trial.pilot.n_rows for trial in tried if trial.pilot), default=0)
        for trial in tried:
            pilot = trial.pilot
            if pilot is not None and pilot.n_rows == smallest:
                trial.results, trial.scores, trial.model = [pilot.result], [pilot.scores], pilot.model
                trial.seconds, self.folds = [pilot.seconds], [pilot.fold]

    def _running(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.reason is None]

    @property
    def _has_answer(self) -> bool:
        return any(trial.pilot or trial.results for trial in self.trials)

    def _fit_first(self, fold: Fold) -> None:
        """Fit one candidate of each family to the first fold, the fastest first."""
        if self.budget is None:
            return
        firsts = sorted(first_of_families(self._running()), key=lambda trial: trial.predicted)
        train = fold.train
        for number, trial in enumerate(firsts):
            share = self.left / (len(firsts) - number)
            if trial.predicted <= share or not self._has_answer:
                self.fit(trial, 0, fold, train, share)
            else:
                trial.reason = OUT_OF_TIME
        # The first one of a family says how long the others take.
        for trial in self._running():
            same = next(first for first in firsts if first.candidate.family == trial.candidate.family)
            if not trial.seconds:
                trial.predicted = same.expected_seconds * trial.candidate.cost
                trial.reason = None if same.seconds else same.reason

    def _fit_fold(self, number: int, fold: Fold, is_last: bool) -> None:
        trials = [trial for trial in self._running() if trial.candidate.is_last == is_last]
        trials = [trial for trial in trials if len(trial.results) == number]
        train = fold.train if trials else None
        for trial in trials:
            spare = self._spare(trial)
            # What takes long is of no use on the first folds only.
            n_more = len(self.folds) - number if is_last else 1
            if n_more * trial.expected_seconds <= spare:
                assert train is not None
                patience = max(PATIENCE * trial.expected_seconds, LEAST_PATIENCE * (self.budget or 0.0))
                self.fit(trial, number, fold, train, min(spare, patience))
            else:
                trial.reason = OUT_OF_TIME
        if self.budget is not None:
            self._drop()

    def _spare(self, trial: Trial) -> float:
        """Return the time for one more fit of a trial, so that the last fit is possible, too."""
        if self.budget is None:
            return np.inf
        tried = [other for other in self.trials if other.results]
        if not tried:
            return self.left
        of_all = self.task.n_rows / self.folds[0].task.n_rows
        last = REFIT * max(leader(tried).expected_seconds, trial.expected_seconds)
        return self.left - last * min(of_all, MOST_GROWTH)

    def fit(self, trial: Trial, number: int, fold: Fold, train: Task, seconds: float) -> None:
        """Fit a candidate to a fold, and measure it; a fit that takes longer is given up."""
        found = self.timed(trial, fold, train, seconds)
        if isinstance(found, Pilot):
            trial.seconds.append(found.seconds)
            trial.scores.append(found.scores)
            trial.results.append(found.result)
            trial.model = found.model if trial.model is None else trial.model
        else:
            trial.reason = found
        self.report(trial, number + 1, train.n_rows, found)

    def timed(self, trial: Trial, fold: Fold, train: Task, seconds: float) -> Pilot | str:
        """Return a fit to the training rows of a fold and its measure, or why there is none.

        The first answer of all is waited for.
        """
        start, test = self.clock(), fold.test
        limit = None if self.budget is None or not self._has_answer else max(seconds, 0.0)
        try:
            with time_limit(limit, self.clock):
                model = trial.candidate.fit(train)
                scores = scores_of(model, test.X, trial.candidate.name, test.qid)
        except OutOfTimeError:
            return OUT_OF_TIME
        except Exception as error:
            trial.error = error
            return f"failed: {_sentence(error)}"
        result = self.measure(test.preferences, scores)
        return Pilot(train.n_rows, self.clock() - start, result, scores, model, fold)

    def report(self, trial: Trial, fold: int, n_rows: int, found: Pilot | str) -> None:
        """Call the callback after a fit."""
        tried = [other for other in self.trials if other.results and not other.is_dropped]
        best, mean = "", float("nan")
        if tried:
            best = leader(tried).candidate.name
            mean = float(np.nanmean([one.mean for one in leader(tried).results]))
        value = found.result.mean if isinstance(found, Pilot) else float("nan")
        place = (fold, len(self.folds), n_rows, value, best, mean)
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

    def fitted(self, trials: list[Trial]) -> list[tuple[Any, int]]:
        """Return the models of some trials, and their numbers of rows: all rows, if there is time for that.

        If there is time for some only, they are a sample. Without time, the model of the first fold stays.
        """
        return [self._fitted(trial, len(trials) - number) for number, trial in enumerate(trials)]

    def _fitted(self, trial: Trial, n_models: int) -> tuple[Any, int]:
        if self.budget is None:
            return trial.candidate.fit(self.task), self.task.n_rows
        known = self.folds[0].train.n_rows
        share = self.left / n_models
        most = int(known * share / max(REFIT * trial.expected_seconds, 1e-9))
        rows = self.task if most >= self.task.n_rows else self.task.sample(most) if most > known else None
        if rows is not None and rows.n_rows > known:
            try:
                with time_limit(share + GRACE * self.budget / n_models, self.clock):
                    return trial.candidate.fit(rows), rows.n_rows
            except OutOfTimeError:
                pass
        return trial.model, known


def leader(trials: list[Trial]) -> Trial:
    """Return the trial with the lowest mean error over the folds that all of them have."""
    n_shared = min(len(trial.results) for trial in trials)
    return min(trials, key=lambda trial: float(np.nanmean(errors_of(trial.results[:n_shared]))))


def _sentence(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__
