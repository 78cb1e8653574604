"""Fits to small samples of the rows: first answers, and the times of other fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwise.estimators.auto_choice import errors_of
from rankwise.estimators.auto_task import Fold, folds_of
from rankwise.preferences import FewRowsError, NoPairsError

if TYPE_CHECKING:
    from rankwise.estimators.auto_race import Race, Trial

# The rows of the first sample, the growth of the samples, and the folds of a sample.
FIRST_ROWS, RATIO, N_FOLDS = 500, 4, 5
# Shares of the budget: of all fits to samples, of one of them, and of one to the next sample as predicted.
PILOT_SHARE, FIRST_SHARE, NEXT_SHARE = 0.2, 0.1, 0.05
# From some number of rows on, fits take time in proportion to the rows; below, to a power of the rows, which
# two samples determine within these bounds. That of one sample is typical.
PROPORTIONAL_ROWS, POWER, LEAST_POWER, LARGEST_POWER = 8000, 0.6, 0.4, 1.2
# Candidates are compared on all rows if the time that is predicted exceeds the rest by at most this factor: a
# fit that takes more than its share is given up, and without time for a last fit the model of a fold stays.
SLACK = 1.5
# The share of the rows that a fold learns from.
FOLD_SHARE = 0.8
OUT_OF_TIME = "out of time"


class Pilots:
    """Fits of the first candidate of each family to samples of the rows, each four times the one before.

    They take at most a fifth of the budget. A candidate goes on while its next fit is expected to take little
    of the time, so that the last one says how long a fit to more rows takes.
    """

    def __init__(self, race: Race, seed: int):
        self._race, self._seed = race, seed
        self._trials = first_of_families(race.trials)
        self._power: dict[str, float] = {}

    def run(self) -> None:
        """Fit to samples while that is cheap."""
        race, n_rows, running = self._race, FIRST_ROWS, self._trials
        while running and n_rows * RATIO <= race.task.n_rows:
            sample = race.task.sample(n_rows)
            if sample is race.task:
                return
            try:
                fold = folds_of(sample, N_FOLDS, self._seed)[0]
            except (FewRowsError, NoPairsError):
                n_rows *= RATIO
                continue
            running = self._fit(running, fold)
            n_rows *= RATIO

    def _fit(self, trials: list[Trial], fold: Fold) -> list[Trial]:
        """Fit to a sample; return those whose fit to the next one will not take long either."""
        race, train, going = self._race, fold.train, []
        assert race.budget is not None
        for trial in trials:
            if race.seconds > PILOT_SHARE * race.budget and any(one.pilot for one in race.trials):
                break
            found = race.timed(trial, fold, train, FIRST_SHARE * race.budget)
            if not isinstance(found, str):
                if trial.pilot is not None:
                    ratio = np.log(max(found.seconds, 1e-9) / max(trial.pilot.seconds, 1e-9))
                    power = ratio / np.log(found.n_rows / trial.pilot.n_rows)
                    self._power[trial.candidate.name] = float(np.clip(power, LEAST_POWER, LARGEST_POWER))
                trial.pilot = found
                if RATIO * found.seconds < NEXT_SHARE * race.budget:
                    going.append(trial)
            elif found != OUT_OF_TIME or trial.pilot is None:
                trial.reason = found
            race.report(trial, 0, train.n_rows, found)
        return going

    def _seconds(self, trial: Trial, n_rows: int) -> float:
        """Predict the time of a fit; fits to few rows take less than in proportion to them."""
        pilot, power = trial.pilot, self._power.get(trial.candidate.name, POWER)
        if pilot is None:
            return 0.0
        few, known = min(n_rows, PROPORTIONAL_ROWS), min(pilot.n_rows, PROPORTIONAL_ROWS)
        return pilot.seconds * (few / known) ** power * max(n_rows / few, 1.0) * known / pilot.n_rows

    def affordable_rows(self) -> int:
        """Return the number of rows for which there is time for a fold of each family and a last fit.

        If these are few, the slowest family is left out if twice as many rows are affordable without it,
        unless it is the best one of the samples: it has its answer.
        """
        race = self._race
        known = [trial for trial in self._trials if trial.reason is None and trial.pilot is not None]
        n_rows = self._affordable(known)
        while len(known) > 1 and n_rows < min(race.task.n_rows, PROPORTIONAL_ROWS):
            slowest = max(known, key=lambda trial: self._seconds(trial, race.task.n_rows))
            others = [trial for trial in known if trial is not slowest]
            more = self._affordable(others)
            if more < 2 * n_rows or slowest is self._best(known):
                break
            slowest.reason, known, n_rows = OUT_OF_TIME, others, more
        for trial in race.trials:  # so are the slower ones of its family
            trial.reason = trial.reason or self._first(trial).reason
        return n_rows

    def _first(self, trial: Trial) -> Trial:
        return next(first for first in self._trials if first.candidate.family == trial.candidate.family)

    def _best(self, trials: list[Trial]) -> Trial:
        smallest = min(trial.pilot.n_rows for trial in trials if trial.pilot)
        same = [trial for trial in trials if trial.pilot and trial.pilot.n_rows >= smallest]
        return min(same, key=lambda trial: float(errors_of([trial.pilot.result])[0]) if trial.pilot else 1.0)

    def _affordable(self, trials: list[Trial]) -> int:
        race = self._race
        if not trials:
            return race.task.n_rows
        of_all = [self._seconds(trial, race.task.n_rows) for trial in trials]
        needed, left = FOLD_SHARE * sum(of_all) + max(of_all), SLACK * race.left
        if needed <= left:
            return race.task.n_rows
        return max(min(FIRST_ROWS, race.task.n_rows), int(race.task.n_rows * left / needed))

    def predict(self, n_rows: int) -> None:
        """Predict the times of the first fits to the rows of a fold, from those to samples."""
        for trial in self._trials:
            trial.predicted = self._seconds(trial, int(FOLD_SHARE * n_rows))


def first_of_families(trials: list[Trial]) -> list[Trial]:
    """Return the first trial of each family."""
    return list({trial.candidate.family: trial for trial in reversed(trials)}.values())[::-1]
