"""The choice among candidates: the simplest that is not clearly worse than the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.core.results import Column, ResultTable
from rankwise.core.text import plural
from rankwise.core.types import FloatVector
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.intervals import Estimate, mean_estimate
from rankwise.evaluation.measures import Measured

if TYPE_CHECKING:
    from rankwise.estimators.auto_race import Trial

PREFERENCES = ("simple", "best", "blend")
SIGNIFICANT = 0.05


def errors_of(results: Sequence[Measured]) -> FloatVector:
    """Return the measure of each fold; lower is better."""
    sign = -1.0 if results[0].measure.higher_is_better else 1.0
    return sign * np.array([one.mean for one in results])


def combined(results: Sequence[Measured]) -> Estimate:
    """Return the mean over folds.

    Its independent units are the queries or rows of all folds; the folds themselves, if a measure of a whole
    list has no such units. Folds in which the measure is undefined are left out.
    """
    known = [one for one in results if not np.isnan(one.mean)]
    if not known or any(one.estimate is None for one in known):
        return mean_estimate(np.array([one.mean for one in known]))
    weights = np.array([float(one.n_defined) if one.units == "queries" else 1.0 for one in known])
    weights /= weights.sum()
    found = [(weight, one.estimate) for weight, one in zip(weights, known, strict=True) if one.estimate]
    influence = np.concatenate([weight * one.influence for weight, one in found])
    share = np.concatenate([weight * one.relative_share for weight, one in found])
    return Estimate(float(weights @ np.array([one.mean for one in known])), influence, share)


def difference(results: Sequence[Measured], other: Sequence[Measured]) -> Estimate:
    """Return the difference of two models over the folds that both have; positive if the first is worse."""
    n_shared = min(len(results), len(other))
    apart = combined(results[:n_shared]) - combined(other[:n_shared])
    if not results[0].measure.higher_is_better:
        return apart
    return replace(apart, value=-apart.value, influence=-apart.influence)


def is_clearly_worse(results: Sequence[Measured], best: Sequence[Measured], p: float = SIGNIFICANT) -> bool:
    """Return whether a model is worse than another by a significant difference."""
    apart, bounds = difference(results, best), results[0].measure.bounds
    return apart.value > 0 and apart.p_value(bounds) <= p


def eligible(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials to choose from: those with an answer, neither failed nor dropped."""
    return [trial for trial in trials if trial.results and not trial.error and not trial.is_dropped]


def by_error(found: Sequence[tuple[Trial, list[Measured]]]) -> list[tuple[Trial, list[Measured]]]:
    """Sort trials by error, the best first.

    One with fewer folds has the error of the one with most folds and the difference over the folds of both.
    """
    longest = max(found, key=lambda one: len(one[1]))[1]
    return sorted(found, key=lambda one: difference(one[1], longest).value)


def chosen(trials: Sequence[Trial], prefer: str, without: int | None = None) -> Trial:
    """Return the best trial or, with `prefer="simple"`, the simplest that is not clearly worse.

    Within a family it is the one with the lowest error. `without` is a fold that is left out.
    """
    found = [(trial, _results(trial, without)) for trial in eligible(trials)]
    found = by_error([(trial, results) for trial, results in found if results])
    best, of_best = found[0]
    if prefer == "best":
        return best
    good = [trial for trial, results in found if trial is best or not is_clearly_worse(results, of_best)]
    return min(good, key=lambda trial: trial.candidate.complexity)  # the first, and best, of the simplest


def _results(trial: Trial, without: int | None) -> list[Measured]:
    return [one for number, one in enumerate(trial.results) if number != without]


def estimate_of_choice(trials: Sequence[Trial], prefer: str) -> Estimate:
    """Return the measure that the choice can be expected to have on new rows.

    The best of several estimates is optimistic. So each fold is judged by the model that the other folds
    choose.
    """
    n_folds = max(len(trial.results) for trial in eligible(trials))
    if n_folds < 2:
        return combined(chosen(trials, prefer).results)
    judged = []
    for number in range(n_folds):
        trial = chosen(trials, prefer, without=number)
        judged += trial.results[number : number + 1]
    return combined(judged)


@dataclass(frozen=True)
class TriedModel:
    """A line of the table of what was tried.

    Attributes
    ----------
    model, family : str
    mean, low, high : float
        The measure over the test rows of all folds so far, and its 95% interval; NaN if it was not tried.
    difference, difference_low, difference_high, p : float
        Worse than the best by this, with its interval and the p-value of a paired test over queries or rows.
    folds : int
    seconds : float
        The time of its fits.
    chosen : bool
    note : str
        "clearly worse", "out of time" with what is known from a sample of the rows, or why it failed.
    """

    model: str
    family: str
    mean: float = np.nan
    low: float = np.nan
    high: float = np.nan
    difference: float = np.nan
    difference_low: float = np.nan
    difference_high: float = np.nan
    p: float = np.nan
    folds: int = 0
    seconds: float = 0.0
    chosen: bool = False
    note: str = ""


def _p(row: TriedModel) -> float:
    return row.p if row.difference != 0 else np.nan


COLUMNS = (
    Column("model", left=True),
    Column("family", left=True),
    *(
        Column(name, format=".4f", title=title, missing="-")
        for name, title in (("mean", None), ("low", "from"), ("high", "to"), ("difference", None))
    ),
    Column("p", _p, ".3f", missing="-"),
    Column("folds"),
    Column("seconds", format=".1f"),
    Column("note", lambda row: ", ".join(filter(None, ["chosen" * row.chosen, row.note])), title=""),
)


class TriedModels(ResultTable[TriedModel]):
    """A list of `TriedModel`, the best first, that prints as a table; `pandas.DataFrame` makes it a frame."""

    columns = COLUMNS

    def __init__(self, rows: Sequence[TriedModel], measure: str) -> None:
        super().__init__(rows, title=f"{measure}, 95% intervals")
        self.measure = measure

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the lines as dicts that JSON can represent, with the measure; NaN is None."""
        return [
            {"measure": self.measure}
            | {name: None if value != value else value for name, value in asdict(row).items()}
            for row in self
        ]


def table_of(trials: Sequence[Trial], winners: Sequence[Trial]) -> TriedModels:
    """Return the table of what was tried, the best first; then those that were not tried.

    Means are comparable: that of a candidate with fewer folds is the mean of the best one and the difference
    from it over the folds that both have.
    """
    found = [trial for trial, _ in by_error([(trial, trial.results) for trial in eligible(trials)])]
    best = found[0]
    others = [(trial, trial.results) for trial in trials if trial.results and trial not in found]
    tried = found + [trial for trial, _ in (by_error(others) if others else [])]
    rows = [_line(trial, best, trial in winners) for trial in tried]
    rows += [_empty_line(trial) for trial in trials if not trial.results]
    return TriedModels(rows, best.results[0].measure.name)


def _empty_line(trial: Trial) -> TriedModel:
    note = trial.reason or "not tried"
    if trial.pilot is not None:
        note += f"; {trial.pilot.result.mean:.4f} by {plural(trial.pilot.n_rows, 'row')}"
    return TriedModel(trial.candidate.name, trial.candidate.family, note=note)


def _line(trial: Trial, best: Trial, is_chosen: bool) -> TriedModel:
    measure, of_best = trial.results[0].measure, combined(best.results).value
    own, apart = combined(trial.results), difference(trial.results, best.results)
    bounds = measure.bounds
    mean = replace(own, value=of_best - apart.value if measure.higher_is_better else of_best + apart.value)
    return TriedModel(
        trial.candidate.name,
        trial.candidate.family,
        mean.value,
        *mean.interval(CONFIDENCE, bounds),
        apart.value,
        *apart.difference_interval(CONFIDENCE, bounds),
        apart.p_value(bounds),
        len(trial.results),
        float(np.sum(trial.seconds)),
        is_chosen,
        trial.reason or "",
    )
