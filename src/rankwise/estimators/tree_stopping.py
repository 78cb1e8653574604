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
# Fewer queries or pairs say little, too.
FEWEST_UNITS = 5
# From this number of rows on, one part is held out, and the trees of the other rows are kept.
MANY_ROWS = 20_000
# By default there are two folds, or up to five if there are fewer units (queries, rows or pairs) than this.
UNITS_OF_HALVES = 200
MOST_FOLDS = 5


def check_stopping(early_stopping: bool | str, validation_fraction: float | None) -> None:
    """Check the parameters of early stopping."""
    if not (isinstance(early_stopping, bool) or early_stopping == "auto"):
        raise ValueError(f"early_stopping must be 'auto', True or False; got {early_stopping!r}.")
    if validation_fraction is not None and not 0.0 < validation_fraction <= 0.5:
        raise ValueError(f"validation_fraction must be above 0 and at most 0.5; got {validation_fraction!r}.")


def inner_folds(model: BoostedRanker, rows: TreeRows) -> list[RowFold | PairFold]:
    """Return folds of the training rows that choose the number of trees, or none.

    Folds are of whole queries, of the rows of one ranking, or of explicit pairs that share rows; they are the
    same at each fit. Of many rows there is one fold.
    """
    is_auto, is_large = model.early_stopping == "auto", rows.X.shape[0] >= MANY_ROWS
    n_units = _n_units(rows)
    if not model.early_stopping or (is_auto and not _suits(model, rows, n_units)):
        return []
    n_folds = MOST_FOLDS if is_large else int(np.clip(round(UNITS_OF_HALVES / n_units), 2, MOST_FOLDS))
    if model.validation_fraction is not None:
        n_folds = round(1 / model.validation_fraction)
    try:
        folds = Folds(model, Problem(rows.X, [rows.preferences])).split(n_folds)
    except ValueError:  # too few queries or pairs
        if is_auto:
            return []
        raise
    parts = [fold for fold in folds if not isinstance(fold, Validation)]
    return parts[:1] if is_large else parts


def _suits(model: BoostedRanker, rows: TreeRows, n_units: int) -> bool:
    """Return whether "auto" stops early."""
    return model.n_estimators is None and rows.X.shape[0] >= FEWEST_ROWS and n_units >= FEWEST_UNITS


def _n_units(rows: TreeRows) -> int:
    """Return the number of queries, rows of one ranking, or pairs that share rows: what folds divide."""
    if rows.preferences.pair_folds(2):
        return rows.preferences.n_pairs
    n_groups = len(np.unique(rows.preferences.groups()))
    return n_groups if n_groups > 1 else rows.X.shape[0]
