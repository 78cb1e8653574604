"""Growth of boosted trees by LightGBM: on all rows, or on folds to choose the number of trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import UndefinedMetricWarning

from rankwise import objectives
from rankwise.core.time_limit import check_time
from rankwise.core.types import FloatArray, FloatVector
from rankwise.model_selection.fold_rows import PairFold, RowFold
from rankwise.model_selection.scoring import Scoring, is_error
from rankwise.model_selection.search import HeldOut
from rankwise.preferences import Preferences

# Trees are a function of data and parameters, whatever the number of threads and the load.
REPRODUCIBLE = {"deterministic": True, "force_col_wise": True}
# Columns without a possible split stay: LightGBM fails if none is left.
KEEPING_COLUMNS = {"feature_pre_filter": False}
# LightGBM numbers categories in 32 bits.
LARGEST_CODE = 2**31 - 1
# LightGBM takes smaller numbers for zero; if all are zero it has no feature and fails.
ZERO = 1e-35


def import_lightgbm() -> Any:
    """Return the package, or raise an error with the command that installs it."""
    try:
        import lightgbm
    except ImportError:
        raise ImportError("BoostedRanker needs LightGBM: pip install 'rankwise[lightgbm]'.") from None
    return lightgbm


class TreeRows(NamedTuple):
    """Rows, the preferences among them, and their initial scores, if there are some."""

    X: Any
    preferences: Preferences
    init_score: FloatVector | None = None

    def split(self, fold: RowFold | PairFold) -> tuple[TreeRows, TreeRows]:
        """Return the rows to learn from and those held out; a fold of pairs has all rows in both."""
        if isinstance(fold, PairFold):
            return self._replace(preferences=fold.train), self._replace(preferences=fold.test)
        train, test = fold
        return self._taken(train), self._taken(test)

    def _taken(self, rows: Any) -> TreeRows:
        start = None if self.init_score is None else self.init_score[rows]
        return TreeRows(self.X[rows], self.preferences[rows], start)


@dataclass(frozen=True)
class Grower:
    """How trees grow, and the criterion for held-out rows.

    Attributes
    ----------
    loss, average : str
        As in `BoostedRanker`.
    parameters : dict
        Those of LightGBM.
    places : list of int
        The columns that hold categories.
    criterion : Scoring
        A measure; its error is evaluated on held-out rows after each tree.
    n_threads : int
    """

    loss: str
    average: str
    parameters: dict[str, Any]
    places: list[int]
    criterion: Scoring
    n_threads: int

    def train(
        self,
        rows: TreeRows,
        n_trees: int,
        held_out: TreeRows | None = None,
        *,
        patience: int = 50,
        start: Any = None,
        verbose: int = 0,
    ) -> tuple[Any, list[float]]:
        """Return LightGBM's object, and the error of the held-out rows after each tree.

        Growth ends when this number of consecutive trees (`patience`) has not lowered the error; the best
        number is the attribute `best_iteration`. Trees are added to those of `start`.
        """
        lightgbm = import_lightgbm()
        data, judged = self._data(rows, held_out)
        course: dict[str, Any] = {}
        callbacks = [lambda _: check_time(), *[lightgbm.log_evaluation(1)] * bool(verbose)]
        if judged:
            stopping = lightgbm.early_stopping(patience, verbose=False)
            callbacks = [lightgbm.record_evaluation(course), stopping, *callbacks]
        booster = lightgbm.train(
            self.parameters | {"objective": self._objective(rows)},
            data,
            num_boost_round=n_trees,
            init_model=start,
            valid_sets=judged,
            valid_names=["validation"] * len(judged),
            feval=None if held_out is None else self._error(held_out),
            callbacks=callbacks,
        )
        return booster, course.get("validation", {}).get(self.error_name, [])

    def growth(self, rows: TreeRows, held_out: TreeRows) -> Callable[[], float]:
        """Return a function that adds a tree and returns the error of the held-out rows."""
        data, judged = self._data(rows, held_out, params=self.parameters)
        booster = import_lightgbm().Booster(self.parameters | {"objective": "none"}, data)
        booster.add_valid(judged[0], "validation")
        objective, error = self._objective(rows), self._error(held_out)

        def grow() -> float:
            check_time()
            booster.update(fobj=objective)
            ((_, _, value, _),) = booster.eval_valid(error)
            return float(value)

        return grow

    @property
    def error_name(self) -> str:
        """The name of the error: that of the measure, or 1 minus it."""
        key = self.criterion.key
        named = {"error": "ranking_error"}.get(key, key)
        return named if is_error(key) else f"1 - {key}"

    def _data(self, rows: TreeRows, held_out: TreeRows | None, **options: Any) -> tuple[Any, list[Any]]:
        """Return the training set, and a list of the validation set or of none."""
        data = import_lightgbm().Dataset(
            rows.X,
            np.zeros(rows.X.shape[0]),
            init_score=rows.init_score,
            categorical_feature=self.places,
            **options,
        )
        if held_out is None:
            return data, []
        labels = np.zeros(held_out.X.shape[0])
        return data, [data.create_valid(held_out.X, labels, init_score=held_out.init_score, **options)]

    def _objective(self, rows: TreeRows) -> Any:
        return objectives.lightgbm(
            rows.preferences, self.loss, average=self.average, n_threads=self.n_threads
        )

    def _error(self, held_out: TreeRows) -> Callable[..., tuple[str, float, bool]]:
        measure = self.criterion.error
        assert measure is not None

        def error(scores: FloatVector, _: Any) -> tuple[str, float, bool]:
            with warnings.catch_warnings():  # queries without a value are common, and left out
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                return self.error_name, measure(held_out.preferences, scores, average=self.average), False

        return error


class Growths(HeldOut):
    """The errors of trees that grow together: those of each growth after 1, 2, ... trees."""

    def __init__(self, growths: list[Callable[[], float]]):
        self._growths = growths

    def errors(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors after one more tree each: shape (1, n_growths)."""
        return (np.array([[grow() for grow in self._growths]]) for _ in values)

    def state(self) -> None:
        """Trees in the middle of their growth are not kept."""


def has_waited(errors: FloatArray, patience: int) -> bool:
    """Return whether the last `patience` trees have not lowered the mean error."""
    return len(errors) - 1 - int(np.argmin(errors.mean(axis=1))) >= patience


def check_codes(X: Any, places: list[int]) -> None:
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


def check_not_zero(X: Any) -> None:
    """Refuse rows that are all zero to LightGBM; NaN is a value that it can split by."""
    stored = X.data if sp.issparse(X) else X
    if stored.min(initial=0.0) >= -ZERO and stored.max(initial=0.0) <= ZERO:
        raise ValueError(
            f"X must hold a number above {ZERO:g} or below -{ZERO:g}; LightGBM takes all others for zero. "
            "Multiply small features by a power of ten."
        )
