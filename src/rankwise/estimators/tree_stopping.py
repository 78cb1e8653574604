"""When the growth of boosted trees ends: folds of the training rows that choose the number of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwise.estimators.tree_growth import TreeRows
from rankwise.model_selection.fold_rows import PairFold, RowFold, Validation
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.tunable import Problem

if TYPE_CHECKING:
    from rankwise.estimators.boosted_ranker import BoostedRanker

# The largest number of trees by default, and the number if none is chosen on held-out rows.
MOST_TREES, FIXED_TREES = 1000, 100
# Held-out rows of fewer say little about the number of trees.
FEWEST_ROWS = 100
# From this number of queries (rows, pairs) on, or of rows in queries, one fold is held out; else each.
MANY, MANY_ROWS = 5000, 50_000


def check_stopping(early_stopping: bool | str, validation_fraction: float) -> None:
    """Check the parameters of early stopping."""
    if not (isinstance(early_stopping, bool) or early_stopping == "auto"):
        raise ValueError(f"early_stopping must be 'auto', True or False; got {early_stopping!r}.")
    if not 0.0 < validation_fraction <= 0.5:
        raise ValueError(f"validation_fraction must be above 0 and at most 0.5; got {validation_fraction!r}.")


def inner_folds(model: BoostedRanker, rows: TreeRows) -> list[RowFold | PairFold]:
    """Return folds of the training rows that choose the number of trees, or none.

    Folds are of whole queries, of the rows of one ranking, or of explicit pairs that share rows; they are the
    same at each fit.
    """
    is_auto = model.early_stopping == "auto"
    if not model.early_stopping or (is_auto and not _suits(model, rows)):
        return []
    search = Folds(model, Problem(rows.X, [rows.preferences]))
    try:
        found = search.split(round(1 / model.validation_fraction))
    except ValueError:  # too few queries or pairs
        if is_auto:
            return []
        raise
    folds = [fold for fold in found if not isinstance(fold, Validation)]
    is_large = _n_assigned(rows, folds) >= MANY or rows.X.shape[0] >= MANY_ROWS
    return folds[:1] if is_large else folds


def _suits(model: BoostedRanker, rows: TreeRows) -> bool:
    """Return whether "auto" stops early."""
    return model.n_estimators is None and rows.X.shape[0] >= FEWEST_ROWS


def _n_assigned(rows: TreeRows, folds: list[RowFold | PairFold]) -> int:
    """Return the number of queries, rows or pairs that were assigned to folds."""
    if isinstance(folds[0], PairFold):
        return rows.preferences.n_pairs
    n_groups = len(np.unique(rows.preferences.groups()))
    return n_groups if n_groups > 1 else rows.X.shape[0]
