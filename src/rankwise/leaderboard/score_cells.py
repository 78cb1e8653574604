"""The cells of a table of scores, from its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from rankwise.core.checks import as_array
from rankwise.core.text import listing
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.data.columns import columns_by_name

LARGEST = 1e100


def columns_of(frame: Any, roles: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a frame by role."""
    columns = columns_by_name(frame)
    if columns is None:
        raise ValueError(
            f"frame must be a frame or a dict of columns; got {type(frame).__name__}. "
            "ScoreTable.from_wide takes an array."
        )
    lacking = [name for name in roles.values() if name is not None and name not in columns]
    if lacking:
        raise ValueError(f"frame has no column {listing(lacking)}; its columns are {listing(list(columns))}.")
    return {role: columns[name] for role, name in roles.items() if name is not None}


def numbers_of(column: Any, name: str, length: int) -> FloatVector:
    """Return a column as numbers, NaN if they are missing; refuse words and infinite values."""
    try:
        values = np.asarray(as_array(column), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a column of numbers; {error}.") from None
    if values.shape != (length,):
        raise ValueError(f"{name} must have {length:,} numbers, one per row; got shape {values.shape}.")
    if np.isinf(values).any():
        raise ValueError(
            f"{name} must be finite or missing; row {int(np.isinf(values).argmax())} is infinite."
        )
    if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g}, so that squares are finite.")
    return values


def is_lower(lower_is_better: Any, tasks: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each task whether lower is better."""
    if isinstance(lower_is_better, bool | np.bool_):
        return np.full(len(tasks), bool(lower_is_better))
    named, known = set(lower_is_better), set(tasks.tolist())
    if isinstance(lower_is_better, str) or not named <= known:
        given = [lower_is_better] if isinstance(lower_is_better, str) else sorted(named - known, key=str)
        raise ValueError(f"lower_is_better must be a bool or a collection of tasks; got {listing(given)}.")
    return np.array([task in named for task in tasks.tolist()])


def cell_means(
    unit: IntVector, model: IntVector, values: FloatVector, n_units: int, n_models: int
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of the values of each unit and model, NaN without any, and their number."""
    cell, size = unit * n_models + model, n_units * n_models
    counts = np.bincount(cell, minlength=size).astype(np.float64)
    sums = np.bincount(cell, values, minlength=size)
    means = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    return means.reshape(n_units, n_models), counts.reshape(n_units, n_models)


def weights_of_units(unit: IntVector, weights: FloatVector) -> FloatVector:
    """Return the weight of each unit; refuse rows of one unit with different ones."""
    found = np.zeros(int(unit.max(initial=-1)) + 1)
    found[unit] = weights
    differs = found[unit] != weights
    if differs.any():
        pair = sorted({float(weights[differs.argmax()]), float(found[unit[differs.argmax()]])})
        raise ValueError(
            "weight must be the same in all rows of a task and instance; one has "
            f"{pair[0]:g} and {pair[1]:g}."
        )
    return found


def task_means(units: FloatArray, weight: FloatVector, task: IntVector, n_tasks: int) -> FloatArray:
    """Return the mean of each model over its instances in each task."""
    found = np.full((n_tasks, units.shape[1]), np.nan)
    if not len(units):
        return found
    begins = np.flatnonzero(np.diff(task, prepend=-1))
    known = ~np.isnan(units)
    counts = np.add.reduceat(weight[:, None] * known, begins, axis=0)
    sums = np.add.reduceat(weight[:, None] * np.where(known, units, 0.0), begins, axis=0)
    found[task[begins]] = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return found


def apart(known: NDArray[np.bool_], models: NDArray[Any]) -> list[Any]:
    """Return the models that no chain of models with common rows links to the first one."""
    _, part = connected_components(csr_array(known.T.astype(np.float64) @ known), directed=False)
    return models[part != part[0]].tolist()
