"""One search for the value of a parameter: candidates, errors on what is held out, and the choice.

The estimators that choose alpha or a number of trees, `alpha="auto"` and the commands `tune` and
`train --tune` all search here, so that they choose alike. What is held out is a `HeldOut`: folds, rows left
out, or stages of trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankwise.core.states import State
from rankwise.core.types import FloatArray
from rankwise.core.warn import warn_caller

# A search over a default grid ends if this many candidates in a row are worse than the best, each by more
# than this many standard errors of the difference over folds, and the best is better than chance by
# `LEARNED` of them: if features that are noise dominate, errors wander about chance until alpha is small.
# `benchmarks/suite.py` counts the searches that end too early.
RISES, STANDARD_ERRORS, LEARNED = 2, 0.5, 3.0
# The error of equal scores. Of other measures the error of the largest candidate takes its place.
CHANCE = {"error": 0.5, "concordance": 0.5, "log_loss": float(np.log(2.0))}
# While the largest candidate is the best, larger ones are added, at most this many.
MOST_LARGER = 3


class EdgeOfGridWarning(UserWarning):
    """The best alpha is the first or the last candidate, so that one beyond may be better."""


class EqualErrorsWarning(EdgeOfGridWarning):
    """All candidates have the same held-out error, so that the choice among them is arbitrary."""


class HeldOut:
    """Errors of candidates on what is held out, each warm-started from the one before.

    By default nothing is carried from one candidate to the next.
    """

    # Whether checkpoints keep the search; they keep one, so that it must be the only one of a fit.
    is_kept = True

    def errors(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors of each value in turn: shape (n_outputs, n_units), NaN for what is not judged."""
        raise NotImplementedError

    def identity(self, digested: bool = True) -> dict[str, Any]:
        """Return the model and the data in numbers and words: a checkpoint of others is refused.

        Unless `digested` is False, a digest of the data and of what is held out is among them.
        """
        return {}

    def state(self) -> State | None:
        """Return all that the next value starts from, or None if that cannot be kept."""
        return {}

    def restore(self, state: State) -> None:
        """Continue from a state, as if the values before had been visited here."""


@dataclass
class Progress:
    """The course of a search: what its callback sees after each candidate, and what a checkpoint keeps.

    `errors` has an entry per visited value of the grid, and `above` one per larger value, from the smallest.
    """

    grid: FloatArray
    held_out: HeldOut
    errors: list[FloatArray] = field(default_factory=list)
    above: list[FloatArray] = field(default_factory=list)
    is_over: bool = False

    def choice(self, scoring: str) -> Choice:
        """Return the choice among the values so far."""
        values = self.grid[: len(self.errors)]
        for _ in self.above:
            values = np.append(values[0] ** 2 / values[1], values)
        return Choice.of(values, np.array([*self.above[::-1], *self.errors]), scoring)


@dataclass
class Search:
    """Compare the values of a parameter by errors on what is held out, in the order of a grid.

    Parameters
    ----------
    scoring : str
        The key of the `Scoring`.
    is_over : callable, optional
        Whether errors of shape (n_values, n_units) end the search; by default all values are visited.
    most_above : int
        The most values that are added before the first one while it is the best.
    one_standard_error : bool
        Choose the largest value whose error is within one standard error of the lowest.
    callback : object, optional
        If it has these methods, `resumed(progress)` puts in what an earlier run has found, and
        `searched(progress)` is called after each value and at the end.
    """

    scoring: str = "error"
    is_over: Callable[[FloatArray], bool] | None = None
    most_above: int = 0
    callback: Any = None
    one_standard_error: bool = False

    def choose(self, held_out: HeldOut, grid: FloatArray) -> Choice:
        """Visit the grid, and return the values that were visited with their errors."""
        progress = Progress(grid, held_out)
        if hasattr(self.callback, "resumed"):
            self.callback.resumed(progress)
        if not progress.is_over:
            self._visit_grid(progress)
            self._visit_above(progress)
            progress.is_over = True
            self._report(progress)
        return replace(progress.choice(self.scoring), one_standard_error=self.one_standard_error)

    def _visit_grid(self, progress: Progress) -> None:
        errors = progress.errors
        if self._ends(errors) or len(errors) == len(progress.grid):
            return
        for found in progress.held_out.errors(progress.grid[len(errors) :]):
            errors.append(found)
            self._report(progress)
            if self._ends(errors):
                return

    def _visit_above(self, progress: Progress) -> None:
        """Add larger values while the largest one is the best."""
        while len(progress.above) < self.most_above:
            choice = progress.choice(self.scoring)
            if not choice.is_open_above:
                return
            progress.above += progress.held_out.errors(choice.alphas[:1] ** 2 / choice.alphas[1])
            self._report(progress)

    def _ends(self, errors: list[FloatArray]) -> bool:
        return bool(errors) and self.is_over is not None and self.is_over(common_errors(np.array(errors)))

    def _report(self, progress: Progress) -> None:
        if hasattr(self.callback, "searched"):
            self.callback.searched(progress)


def common_errors(errors: FloatArray) -> FloatArray:
    """Return the errors to choose one value by, from errors of shape (n_values, n_outputs, n_units).

    They are the errors of the units or, for several outputs, the mean of each over the units that judge it.
    """
    return errors[:, 0] if errors.shape[1] == 1 else np.nanmean(errors, axis=2)


def has_risen(errors: FloatArray, chance: float | None = None) -> bool:
    """Return whether something was learned, and the last candidates are worse than the best one.

    If the error of chance is unknown, the first candidate takes its place. It may already be near the best:
    then something was learned if the last candidates are clearly worse than the first.

    `errors` has shape (n_alphas, n_folds). One fold has no standard error, so that nothing is clear.
    """
    n_alphas, n_folds = errors.shape
    best = int(np.argmin(errors.mean(axis=1)))
    if n_folds == 1 or n_alphas - 1 - best < RISES:
        return False
    start = errors[0] if chance is None else np.full(n_folds, chance)
    rises = [*(errors[-RISES:] - errors[best]), *(errors[-RISES:] - start)]
    differences = np.stack([start - errors[best], *rises])
    noise = differences.std(axis=1, ddof=1) / np.sqrt(n_folds)
    least = np.array([LEARNED, *[STANDARD_ERRORS] * RISES, *[LEARNED] * RISES])
    learned, *rest = (differences.mean(axis=1) > least * noise).tolist()
    from_best, from_start = rest[:RISES], rest[RISES:]
    return all(from_best) and (learned or (chance is None and all(from_start)))


@dataclass
class Choice:
    """Candidates for alpha from the largest down, and their errors.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
    errors : array of shape (n_alphas, n_folds), or (n_alphas, n_outputs) if outputs share one alpha
        One column if only the mean is known.
    scoring : str
        The key of the `Scoring`.
    one_standard_error : bool
        Whether the largest alpha within one standard error of the lowest mean is the best.
    """

    alphas: FloatArray
    errors: FloatArray
    scoring: str = "error"
    by_output: list[Choice] = field(default_factory=list)
    one_standard_error: bool = False

    @classmethod
    def of(cls, alphas: FloatArray, errors: FloatArray, scoring: str) -> Choice:
        """Choose one value, and one for each output, by errors of shape (n_values, n_outputs, n_units)."""
        outputs = [errors[:, k] for k in range(errors.shape[1])]
        alone = [cls(alphas, of_one[:, ~np.isnan(of_one[0])], scoring) for of_one in outputs]
        return cls(alphas, common_errors(errors), scoring, alone)

    @property
    def mean(self) -> FloatArray:
        """The mean over folds, or outputs, for each alpha."""
        return self.errors.mean(axis=1)

    @property
    def best(self) -> int:
        """The index of the largest alpha with the lowest mean error, or one within a standard error of it.

        The standard error is that of the lowest mean over folds.
        """
        lowest, n_folds = int(np.argmin(self.mean)), self.errors.shape[1]
        if not self.one_standard_error:
            return lowest
        if n_folds == 1 or len(self.by_output) > 1:
            raise ValueError(
                "one_standard_error=True needs the errors of several folds of one output, which show the "
                "noise of their mean: set cv=5."
            )
        room = self.errors[lowest].std(ddof=1) / np.sqrt(n_folds)
        return int(np.argmax(self.mean <= self.mean[lowest] + room))

    @property
    def alpha(self) -> float:
        """The best alpha."""
        return float(self.alphas[self.best])

    @property
    def is_open_above(self) -> bool:
        """Whether the largest alpha is the best, and still changes an error."""
        return len(self.alphas) > 1 and self.best == 0 and not np.array_equal(self.errors[0], self.errors[1])

    def warn_at_edge(self) -> None:
        """Warn if the best alpha is the first or the last of several, and suggest the next ones to try.

        If all candidates have the same error, warn of that instead.
        """
        if len(self.alphas) == 1:
            return
        if (self.errors == self.errors[0]).all():
            warn_caller(self._undecided(), EqualErrorsWarning)
        elif (advice := self._advice()) is not None:
            warn_caller(f"{advice} to alphas.", EdgeOfGridWarning)

    def _undecided(self) -> str:
        return (
            f"All {len(self.alphas)} candidates for alpha have the same held-out error, {self.mean[0]:.4g}; "
            f"the largest is taken, {self.alpha:.3g}. Smaller ones may differ (add {self._beyond(-1, -2)} to "
            "alphas), or more rows are needed."
        )

    def _advice(self) -> str | None:
        """Return candidates to add, or None if the errors no longer fall at the end of the grid.

        From some alpha on the weights only shrink, no order changes, and the largest alpha is chosen. Equal
        errors of the two largest alphas in every fold indicate that; larger ones would not help.
        """
        n_alphas = len(self.alphas)
        if self.best == n_alphas - 1:
            return (
                f"The best alpha, {self.alpha:.3g}, is the smallest of {n_alphas} candidates, and a smaller "
                f"one may be better: add {self._beyond(-1, -2)}"
            )
        if self.is_open_above:
            return (
                f"The best alpha, {self.alpha:.3g}, is the largest of {n_alphas} candidates, and a larger "
                f"one may be better: add {self._beyond(0, 1)}"
            )
        return None

    def _beyond(self, end: int, neighbour: int) -> str:
        """Return the next two alphas beyond an end of the grid, in its steps."""
        step = self.alphas[end] / self.alphas[neighbour]
        return " and ".join(f"{self.alphas[end] * step**k:.3g}" for k in (1, 2))
