"""Leaderboards of models from their values in tasks, such as the accuracies of a benchmark."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rankwise.core.checks import as_array, as_codes, as_weights, check_choice
from rankwise.core.results import Column, ResultTable
from rankwise.core.text import listing, plural
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.data.columns import column_names
from rankwise.leaderboard.anytime import PLANNED
from rankwise.leaderboard.base import check_confidence
from rankwise.leaderboard.score_cells import (
    apart,
    cell_means,
    columns_of,
    is_lower,
    numbers_of,
    task_means,
    weights_of_units,
)
from rankwise.leaderboard.score_fragility import TableFragility, fewest_removed, first_of
from rankwise.leaderboard.score_order import (
    Order,
    Plan,
    Separation,
    TableDifference,
    difference_table,
)
from rankwise.leaderboard.score_statistics import STATISTICS, Influences, Units, wins_of
from rankwise.leaderboard.table import SCORE_COLUMNS, Leaderboard, rank_text

OVER, SCALES = ("tasks", "instances", "both"), ("range", "deviation")
# With fewer tasks, a note says what cannot be known. With more models, letters take too long.
FEW_TASKS, MOST_LETTERED = 10, 200
UNIT_NAMES = {"tasks": "task", "both": "task", "instances": "instance"}
UNITS = {
    "mean": "mean value",
    "rank": "mean rank",
    "wins": "win rate",
    "strength": "log odds of winning",
    "plackett-luce": "log worth",
}


class ScoreRow(NamedTuple):
    """A model of a leaderboard of scores.

    Attributes
    ----------
    rank : int
        1 for the best score; equal scores have the same rank.
    item : name of the model
    score, standard_error, low, high : float
        The score with its confidence interval; infinite ends if a model has too few tasks. The interval of
        a strength is centered without the bias of first order.
    best_rank, worst_rank : int
        The range of the rank; those of all models hold at once.
    first : float
        The probability that the model is the best.
    group : str
        Two models share a letter if and only if their difference is not significant; empty if there are more
        than 200 models.
    tasks : int
        The number of tasks in which the model has a value.
    """

    rank: int
    item: Any
    score: float
    standard_error: float
    low: float
    high: float
    best_rank: int
    worst_rank: int
    first: float
    group: str
    tasks: int

    @property
    def ranks(self) -> str:
        """The range of ranks as text, such as "3 to 7"."""
        return rank_text(self.best_rank, self.worst_rank)


class ScoreLeaderboard(Leaderboard):
    """A list of `ScoreRow` that prints as a table; `pandas.DataFrame(leaderboard)` is a frame."""

    columns = (
        Column("rank", left=True), Column("item", left=True), *SCORE_COLUMNS, Column("ranks"),
        Column("first", format=".1%"), Column("group"), Column("tasks", format=",d"),
    )  # fmt: skip

    @property
    def label(self) -> str:
        """The label of an axis of scores."""
        return self.unit


class TaskAgreement(NamedTuple):
    """How a task agrees with the others: Spearman's correlation of its wins with those of the others."""

    task: Any
    correlation: float
    models: int


class ScoreTable:
    """Values of models in tasks, and their leaderboards with errors.

    A score is the mean over tasks of a value, a rank or a rate of wins, or the strength of Bradley and Terry
    of all pairs of models within tasks. Missing cells are allowed: means,
    ranks and wins are then those of an additive model of models and tasks, so that a model that lacks hard
    tasks does not gain by it, as far as cells are missing for reasons other than the values.

    Parameters
    ----------
    frame : frame of any library, or dict of columns
        A row per value. Several values of one cell are averaged.
    model, task, value : names of columns
        The columns of the model, the task and the value in a table.
    instance : name of a column, optional
        The instances of a task, such as questions, seeds or splits; equal names are the same instance for all
        models of a task.
    weight : name of a column, optional
        The weight in the scores of the instance of a row, or of the task without instances: the same for all
        models. A task has the sum of the weights of its instances. By default all tasks have the same weight,
        and the instances of a task, too; if all weights are 1, all instances have the same. Those of weight
        0 are left out.
    lower_is_better : bool, or collection of tasks
        The mean of values counts those of such tasks as negative, unless lower is better in all or `scale` is
        given.
    scale : None, "range" or "deviation"
        Divide the values of each task by the range of the means of the models, from 0 for the worst to 1 for
        the best, or by their standard deviation around their mean, before the mean over tasks. Ranks do not
        change.

    Attributes
    ----------
    models_, tasks_ : arrays of names, sorted
        Tasks without any value are left out.
    values_ : array of shape (n_tasks, n_models)
        The mean value of each cell; NaN if it is missing.
    n_missing_, n_repeated_ : int
        The number of missing cells, and of rows beyond the first of a cell and instance.

    See Also
    --------
    BradleyTerry : Models from votes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> runs = [(model, task, rng.normal() + model) for model in range(3) for task in range(12)]
    >>> frame = dict(zip(["model", "task", "accuracy"], zip(*runs)))
    >>> table = ScoreTable(frame, model="model", task="task", value="accuracy")
    >>> [(row.item, round(row.score, 2), row.ranks) for row in table.leaderboard()]
    [(2, 1.9, '1'), (1, 0.75, '2 to 3'), (0, 0.02, '2 to 3')]
    >>> round(table.difference(2, 0).low, 2)
    1.15
    """

    def __init__(
        self, frame: Any, *, model: Any, task: Any, value: Any, instance: Any = None, weight: Any = None,
        lower_is_better: bool | Collection[Any] = False, scale: str | None = None,
    ) -> None:  # fmt: skip
        if scale is not None:
            check_choice(scale, "scale", SCALES)
        roles = {"model": model, "task": task, "value": value, "instance": instance, "weight": weight}
        columns = columns_of(frame, roles)
        self.models_, k = as_codes(columns["model"], "model")
        self.tasks_, t = as_codes(columns["task"], "task", len(k))
        values = numbers_of(columns["value"], "value", len(k))
        if len(self.models_) < 2:
            raise ValueError(f"A leaderboard needs two models or more; got {listing(self.models_.tolist())}.")
        self.has_instances_ = instance is not None
        self._instances, i = np.zeros(1), np.zeros_like(t)
        if self.has_instances_:
            self._instances, i = as_codes(columns["instance"], "instance", len(k))
        known = ~np.isnan(values)
        if weight is not None:
            weights = as_weights(numbers_of(columns["weight"], "weight", len(k)), "weight")
            known &= weights > 0
        has_values = np.bincount(t[known], minlength=len(self.tasks_)) > 0
        lower, self.tasks_ = is_lower(lower_is_better, self.tasks_), self.tasks_[has_values]
        self.scale, self._lower = scale, lower[has_values]
        t, n_names = np.cumsum(has_values)[t] - 1, i.max(initial=0) + 1
        names, unit = np.unique((t * n_names + i)[known], return_inverse=True)
        self._task: IntVector = names // n_names
        self._instance: IntVector = names % n_names
        self._weight = None if weight is None else weights_of_units(unit, weights[known])
        self._units, counts = cell_means(unit, k[known], values[known], len(names), len(self.models_))
        self.n_repeated_ = int(known.sum() - (counts > 0).sum())
        self.values_ = task_means(self._units, self._own_weights(), self._task, len(self.tasks_))
        self.n_missing_ = int(np.isnan(self.values_).sum())
        self._check_cells()

    @classmethod
    def from_wide(
        cls, table: Any, *, models: Any = None, tasks: Any = None, weight: Any = None, **options: Any
    ) -> ScoreTable:
        """Return the table of an array or a frame with a row per task and a column per model.

        Parameters
        ----------
        table : array of shape (n_tasks, n_models), or frame
        models, tasks : lists of names, optional
            By default the columns of a frame and the index of a pandas frame, or numbers.
        weight : array of shape (n_tasks,), optional
            The weights of tasks.
        **options
            `lower_is_better` and `scale`.

        Examples
        --------
        >>> ScoreTable.from_wide([[0.9, 0.8], [0.7, 0.4]], models=["x", "y"]).values_.tolist()
        [[0.9, 0.8], [0.7, 0.4]]
        """
        names = column_names(table)
        values = np.asarray(as_array(table) if names is None else table, dtype=np.float64)
        if values.ndim != 2:
            raise ValueError(
                f"table must have a row per task and a column per model; got shape {values.shape}."
            )
        index = getattr(table, "index", None) if names is not None else None
        models = list(range(values.shape[1]) if names is None else names) if models is None else list(models)
        tasks = list(range(len(values)) if index is None else index) if tasks is None else list(tasks)
        if (len(tasks), len(models)) != values.shape:
            raise ValueError(
                f"{len(tasks)} tasks and {len(models)} models do not fit the shape {values.shape}."
            )
        rows = {
            "model": models * len(tasks),
            "task": [task for task in tasks for _ in models],
            "value": values.ravel(),
        }
        if weight is not None:
            rows["weight"] = np.repeat(as_weights(weight, "weight", len(tasks)), len(models))
            options["weight"] = "weight"
        return cls(rows, model="model", task="task", value="value", **options)

    def _own_weights(self) -> FloatVector:
        """Return the weights of units in their tasks: without weights, all tasks have the same."""
        return 1.0 / np.bincount(self._task)[self._task] if self._weight is None else self._weight

    def _check_cells(self) -> None:
        """Refuse models without values, and models that share no tasks."""
        known = ~np.isnan(self.values_)
        if not known.any(axis=0).all():
            lacking = self.models_[~known.any(axis=0)].tolist()
            raise ValueError(f"All values of the models {listing(lacking)} are missing.")
        others = apart(known, self.models_)
        if others:
            raise ValueError(
                f"The models {listing(others)} share no tasks with {_plain(self.models_[0])!r}, not even "
                "through other models, so they cannot be compared."
            )

    def _oriented(self, values: FloatArray, task: IntVector, scaled: bool) -> FloatArray:
        """Return values of which higher ones are better, scaled by task if asked for."""
        signs = np.where(self._lower, -1.0, 1.0)
        values = values * signs[task, None]
        if not scaled:
            return values
        cells = self.values_ * signs[:, None]
        if self.scale == "range":
            start = np.nanmin(cells, axis=1)
            size = np.nanmax(cells, axis=1) - start
        else:
            start, size = np.nanmean(cells, axis=1), np.nanstd(cells, axis=1)
        return (values - start[task, None]) / np.where(size > 0, size, 1.0)[task, None]

    def influences(self, by: str = "mean", over: str = "tasks") -> Influences:
        """Return the scores of the models, in the order of `models_`, with the influence of each unit.

        Parameters
        ----------
        by : "mean", "rank", "wins", "strength" or "plackett-luce"
        over : "tasks", "instances" or "both"
        """
        check_choice(by, "by", STATISTICS)
        check_choice(over, "over", OVER)
        scaled = by == "mean" and self.scale is not None
        tasks = np.arange(len(self.tasks_))
        cells = self._oriented(self.values_, tasks, scaled)
        if over != "instances" and len(tasks) < 2:
            raise ValueError(
                f'over="{over}" needs two tasks or more, from which their spread is known; got 1.'
            )
        if over != "tasks":
            self._check_instances(by, over)
        weight = self._own_weights()
        weight = weight * (len(tasks) / weight.sum())
        # The mean of a task varies by the task and by its instances.
        if over == "tasks" or (by == "mean" and over == "both"):
            units = Units(cells, self._by_task(weight), tasks, cells)
        else:
            values = self._oriented(self._units, self._task, scaled)
            units = Units(values, weight, self._task, cells, over)
        found = STATISTICS[by](units)
        return found.reversed() if by == "mean" and self._lower.all() and not scaled else found

    def _check_instances(self, by: str, over: str) -> None:
        """Refuse instances that are not there, or are not shared although models are compared on them."""
        if not self.has_instances_:
            raise ValueError(f'over="{over}" needs the column of instances: ScoreTable(..., instance=...).')
        others = [] if by == "mean" else apart(~np.isnan(self._units), self.models_)
        if others:
            raise ValueError(
                f'by="{by}" compares the models on each instance, but {listing(others)} share none '
                f"with {_plain(self.models_[0])!r}, not even through other models. Use the mean, or "
                'over="tasks".'
            )

    def leaderboard(
        self, by: str = "mean", over: str = "tasks", confidence: float = 0.95
    ) -> ScoreLeaderboard:
        """Return the models from the best to the worst, with intervals and ranges of ranks.

        The ranges of all models hold at once with the given confidence: they exclude the models that are
        significantly above or below, by t-tests corrected for all pairs (Holm). O(n_units n_models^2).

        Parameters
        ----------
        by : "mean", "rank", "wins", "strength" or "plackett-luce"
            The mean value; the mean rank, 1 for the best; the rate of wins over the other models, with ties
            as half wins; the strength of Bradley and Terry of all pairs, in log odds of winning, with mean 0;
            or the log worth of Plackett and Luce, for which a task is one ranking.
        over : "tasks", "instances" or "both"
            Whose errors: would the scores hold on other tasks like these, or on other instances of these
            tasks? The tasks, or the instances within each task, are taken as independent samples. Over
            instances, ranks, wins and strengths compare the models on each instance instead of by their means
            per task. "both" is for other tasks with other instances: it compares the models on each
            instance, too, and has the errors of both kinds. Means over tasks have them anyway, because the
            mean of a task varies by both.
        confidence : float
        """
        check_confidence(confidence)
        found = self.influences(by, over)
        order = Order(found, confidence)
        errors, low, high = order.intervals()
        corrected = order.corrected()
        best, worst = order.rank_ranges(corrected)
        letters = order.letters(corrected) if len(self.models_) <= MOST_LETTERED else [""] * len(self.models_)
        places = rankdata(-order.gains, method="min").astype(int)
        n_tasks = (~np.isnan(self.values_)).sum(axis=0)
        columns = (
            places, self.models_, found.scores, errors, low, high, best, worst, order.first_places(),
            np.array(letters, dtype=object), n_tasks,
        )  # fmt: skip
        rows = [
            ScoreRow(*values) for values in zip(*(one[order.order].tolist() for one in columns), strict=True)
        ]
        return ScoreLeaderboard(rows, confidence, self._note(found, over), unit=UNITS[by])

    def _note(self, found: Influences, over: str) -> str:
        """Return sentences on what the errors mean, and what is missing."""
        n_tasks = len(self.tasks_)
        if over != "instances":
            told = [f"Errors are for other tasks like these {n_tasks:,}, and for other instances of them."]
            if not self.has_instances_:
                told = [f"Errors are for other tasks like these {n_tasks:,}."]
            if n_tasks < FEW_TASKS:
                told.append(
                    f"With fewer than {FEW_TASKS} tasks, it cannot be known how much tasks differ in "
                    "general: intervals rely on normal differences."
                )
        else:
            told = [f"Errors are for other instances of these {plural(n_tasks, 'task')}."]
            single = self.tasks_[np.bincount(self._task) < 2].tolist()
            if single:
                told.append(
                    f"The errors of tasks with one instance are unknown and left out: {listing(single)}."
                )
        if self.n_missing_:
            told.append(f"{self.n_missing_:,} of {self.values_.size:,} cells are missing.")
        if self.n_repeated_:
            told.append(f"{plural(self.n_repeated_, 'repeated row')} averaged.")
        return " ".join([*told, *([found.note] if found.note else [])])

    def difference(
        self, a: Any, b: Any, by: str = "mean", over: str = "tasks", intervals: str = "fixed",
        confidence: float = 0.95, planned: float = PLANNED,
    ) -> TableDifference:  # fmt: skip
        """Return the score of a minus that of b, from paired units, with its interval and p-value.

        Parameters
        ----------
        a, b : names of models
        by, over :
            As for `leaderboard`.
        intervals : "fixed" or "anytime"
            A fixed interval is for one look at a number of units that was chosen beforehand. Anytime
            intervals are an asymptotic confidence sequence (Waudby-Smith et al. 2024): with the given
            confidence all of them, at any number of looks, contain the true difference, so that one can look
            after each unit and stop when they exclude 0. Units must be independent and have a finite
            variance, and the first looks must not be at very few. They are about 1.55 times as long at
            `planned` units, at most 1.61 times from a half to five times as many, and longer with fewer.
        confidence : float
        planned : float
            The number of units at which anytime intervals are narrowest, relative to fixed ones; it must not
            depend on the values.
        """
        return self.differences([(a, b)], by, over, intervals, confidence, planned)[0]

    def differences(
        self, pairs: Any = "neighbors", by: str = "mean", over: str = "tasks", intervals: str = "fixed",
        confidence: float = 0.95, planned: float = PLANNED,
    ) -> ResultTable[TableDifference]:  # fmt: skip
        """Return the differences of several pairs, with p-values corrected for their number by Holm's method.

        Parameters
        ----------
        pairs : "neighbors", "best", "all" or list of pairs of names
            Each model and the next one in the order; the best and each other one; or all pairs.
        by, over, intervals, confidence, planned :
            As for `difference`.
        """
        check_confidence(confidence)
        found = self.influences(by, over)
        order = Order(found, confidence)
        places = order.order.tolist()
        if pairs == "neighbors":
            chosen = list(pairwise(places))
        elif pairs == "best":
            chosen = [(places[0], other) for other in places[1:]]
        elif pairs == "all":
            chosen = [(i, j) for place, i in enumerate(places) for j in places[place + 1 :]]
        else:
            number_of = {name: number for number, name in enumerate(self.models_.tolist())}
            unknown = [name for pair in pairs for name in pair if name not in number_of]
            if unknown:
                raise ValueError(
                    f"There are no models {listing(unknown)}; models are {listing(self.models_.tolist())}."
                )
            chosen = [(number_of[a], number_of[b]) for a, b in pairs]
        n_units = self._counts(over).astype(np.float64)
        note = self._note(found, over)
        return difference_table(self.models_.tolist(), order, chosen, n_units, intervals, planned, note)

    def agreement(self) -> float:
        """Return Kendall's W of the ranks of models in tasks without missing cells, corrected for ties.

        1 if all tasks rank the models alike, about 1 / n_tasks if they have nothing in common; NaN with fewer
        than two such tasks.
        """
        cells = self._oriented(self.values_, np.arange(len(self.tasks_)), False)
        cells = cells[~np.isnan(cells).any(axis=1)]
        ranks = rankdata(cells, axis=1) if len(cells) else cells
        within = ((ranks - (ranks.shape[1] + 1) / 2) ** 2).sum()
        if len(cells) < 2 or not within:
            return float("nan")
        return float(((ranks.mean(axis=0) - (ranks.shape[1] + 1) / 2) ** 2).sum() * len(cells) / within)

    def task_agreement(self) -> ResultTable[TaskAgreement]:
        """Return the tasks from the one that disagrees most with the others."""
        cells = self._oriented(self.values_, np.arange(len(self.tasks_)), False)
        known = ~np.isnan(cells)
        others = np.maximum(known.sum(axis=1, keepdims=True) - 1, 1)
        rates = np.where(known, wins_of(cells) / others, 0.0)
        total, count = rates.sum(axis=0), known.sum(axis=0)
        found = []
        for task, (has, rate) in enumerate(zip(known, rates, strict=True)):
            kept = has & (count > 1)
            rest = (total - rate)[kept] / np.maximum(count - has, 1)[kept]
            found.append(
                TaskAgreement(_plain(self.tasks_[task]), _correlation(rate[kept], rest), int(kept.sum()))
            )
        found.sort(key=lambda one: one.correlation if one.correlation == one.correlation else np.inf)
        columns = (
            Column("task", left=True),
            Column("correlation", format=".3f"),
            Column("models", format="d"),
        )
        note = f"Kendall's W of all tasks is {self.agreement():.3f}."
        return ResultTable(found, columns, note=note)

    def separation(
        self, a: Any = None, b: Any = None, by: str = "mean", over: str = "tasks",
        intervals: str = "fixed", confidence: float = 0.95, planned: float = PLANNED, chance: float = 0.8,
    ) -> Separation:  # fmt: skip
        """Return how many more tasks or instances would separate two models, by simulation.

        Parameters
        ----------
        a, b : names of models, optional
            By default the first two.
        by, over, intervals, confidence, planned :
            As for `difference`. With `over="instances"`, further instances are shared among the tasks as
            those that are there.
        chance : float
            The probability that the interval of all units together excludes 0, if the true difference is a
            draw from its distribution, given the table, and further units vary like the present ones.
        """
        if (a is None) != (b is None):
            raise ValueError("separation needs two models, a and b, or neither.")
        pairs = "neighbors" if a is None else [(a, b)]
        one = self.differences(pairs, by, over, intervals, confidence, planned)[0]
        found, names = self.influences(by, over), self.models_.tolist()
        pair = [names.index(one.a), names.index(one.b)]
        plan = Plan(
            (one.low + one.high) / 2, one.standard_error, float(found.freedom[pair].min()),
            int(self._counts(over)[pair].min()), confidence, intervals, planned,
        )  # fmt: skip
        return Separation(one.a, one.b, UNIT_NAMES[over], plan.n_units, plan.fewest(chance), chance)

    def fragility(self, by: str = "mean", over: str = "tasks") -> TableFragility:
        """Return few tasks, or few instances, without which another model is first.

        They are removed from the largest influence on the difference to a rival, and the scores are computed
        again. Few need not be the fewest, except for means over tasks without missing cells.
        """
        check_choice(over, "over", OVER[:2])
        found, weight, stratum = self.influences(by, over), self._own_weights(), self._task
        if over == "tasks":
            weight = self._by_task(weight)
            stratum = np.zeros_like(weight, dtype=np.int64)
        share = weight / np.bincount(stratum, weight)[stratum]
        lost = 2 * share - np.bincount(stratum, share**2)[stratum]
        # Influences without the factor that makes variances unbiased.
        influence = found.sign * found.values * np.sqrt(np.maximum(1 - lost, 0.0))[:, None]
        gains = found.sign * found.scores
        top, total = int(gains.argmax()), len(weight)
        parts = influence[:, [top]] - influence
        if over == "tasks":
            parts += share[:, None] * (gains[top] - gains)

        def first_without(units: IntVector) -> int:
            """Return the first model without some units; the old one if the rest cannot be compared."""
            is_kept = ~np.isin(np.arange(total), units)
            try:
                rest = self._of(is_kept[self._task] if over == "tasks" else is_kept).influences(by, over)
            except ValueError:  # the models that are left share no tasks
                return top
            return first_of(rest.sign * rest.scores, top)

        units, new = fewest_removed(parts, gains, top, first_without)
        removed = [self._unit_name(unit, over) for unit in units.tolist()]
        new_top = _plain(self.models_[new]) if removed else None
        return TableFragility(removed, total, _plain(self.models_[top]), new_top, UNIT_NAMES[over])

    def _by_task(self, weight: FloatVector) -> FloatVector:
        """Return the sums of weights of units by task."""
        return np.bincount(self._task, weight).astype(np.float64)

    def _unit_name(self, unit: int, over: str) -> Any:
        """Return the name of a task, or the names of the task and the instance."""
        if over == "tasks":
            return _plain(self.tasks_[unit])
        return _plain(self.tasks_[self._task[unit]]), _plain(self._instances[self._instance[unit]])

    def _counts(self, over: str) -> IntVector:
        """Return the number of units of each model."""
        return (~np.isnan(self._units if over == "instances" else self.values_)).sum(axis=0)

    def _of(self, is_kept: NDArray[np.bool_]) -> ScoreTable:
        """Return the table of some units."""
        part = copy(self)
        part._units, part._task = self._units[is_kept], self._task[is_kept]
        part._instance = self._instance[is_kept]
        part._weight = None if self._weight is None else self._weight[is_kept]
        has_units = np.bincount(part._task, minlength=len(self.tasks_)) > 0
        part._task = (np.cumsum(has_units) - 1)[part._task]
        part.tasks_, part._lower = self.tasks_[has_units], self._lower[has_units]
        part.values_ = task_means(part._units, part._own_weights(), part._task, len(part.tasks_))
        part._check_cells()
        return part


def _correlation(first: FloatVector, second: FloatVector) -> float:
    """Return Spearman's correlation; NaN if one is constant."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name
