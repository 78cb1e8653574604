"""Steps of a pipeline applied to rows on Dask: each is fitted, then maps block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from rankwise.core.checks import as_codes
from rankwise.core.pipelines import takes_queries
from rankwise.distributed.groups import split_groups
from rankwise.distributed.row_blocks import RowBlocks
from rankwise.distributed.transforms import fit_step


def is_idle(step: Any) -> bool:
    """Tell whether a step leaves rows as they are."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def needs_queries(step: Any) -> bool:
    """Tell whether a step, or one of the steps of a pipeline, transforms rows by their queries."""
    if isinstance(step, Pipeline):
        return any(needs_queries(part) for _, part in step.steps)
    return takes_queries(step)


def fitted_rows(step: Any, rows: RowBlocks, qid: NDArray[Any] | None) -> RowBlocks:
    """Fit a step, and return the rows that it transforms."""
    if is_idle(step):
        return rows
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            rows = fitted_rows(part, rows, qid)
        return rows
    fit_step(step, rows, qid is not None)
    return transformed_rows(step, rows, qid)


def transformed_rows(step: Any, rows: RowBlocks, qid: NDArray[Any] | None) -> RowBlocks:
    """Return rows transformed by a fitted step, block by block."""
    uses_queries = takes_queries(step)
    parts = rows.slices(qid if uses_queries else None)
    if uses_queries:
        require_whole_queries(qid, rows.borders)
    one = None if qid is None else qid[:1]
    sample = transformed(rows.sample, None, step, one)
    return rows.mapped(transformed, sample, step, parts)


def transformed(rows: Any, sample: Any, step: Any, qid: Any) -> Any:
    """Return a block transformed by a step; one without rows as the sample without rows."""
    if rows.shape[0] == 0:
        return sample[:0]
    return step.transform(rows, qid=qid) if takes_queries(step) else step.transform(rows)


def require_whole_queries(qid: NDArray[Any] | None, borders: NDArray[np.int64]) -> None:
    """Refuse queries that are split over partitions; without queries, all rows are one."""
    n_rows = int(borders[-1])
    query, codes = (["all rows"], np.zeros(n_rows, np.int64)) if qid is None else as_codes(qid, "qid", n_rows)
    split = np.flatnonzero(split_groups(codes, borders))
    if len(split):
        what = "all rows are one query" if qid is None else f"query {query[split[0]]!s} is split"
        raise ValueError(
            f"QueryScaler needs queries that lie whole in partitions, but {what} over several of them; "
            "repartition the rows so that a query ends with its partition, or use StandardScaler."
        )


@fit_step.register
def _column_transformer(step: ColumnTransformer, rows: RowBlocks, has_queries: bool = False) -> None:
    """Fit the steps of some columns each, and put them together by a fit to one row."""
    given = [*step.transformers, ("remainder", step.remainder, None)]
    asked = [
        (name, part if isinstance(part, str) else "passthrough", columns) for name, part, columns in given
    ]
    plain = clone(step).set_params(transformers=asked[:-1], remainder=asked[-1][1]).fit(rows.sample)
    parts = {name: part for name, part, _ in given if not isinstance(part, str)}
    fitted = {}
    for name, _, columns in plain.transformers_:
        if name in parts and len(places := places_of(columns, plain)):
            fitted[name] = clone(parts[name])
            sample = selected(rows.sample, None, places)
            fitted_rows(fitted[name], rows.mapped(selected, sample, places), None)
    frozen = [(name, _frozen(fitted.get(name, part)), columns) for name, part, columns in given]
    whole = clone(step).set_params(transformers=frozen[:-1], remainder=frozen[-1][1]).fit(rows.sample)
    whole.transformers_ = [
        (name, fitted.get(name, part), columns) for name, part, columns in whole.transformers_
    ]
    learned = {name: value for name, value in vars(whole).items() if name not in step.get_params(deep=False)}
    vars(step).update(learned)


def _frozen(step: Any) -> Any:
    return step if isinstance(step, str) else FrozenEstimator(step)


def places_of(columns: Any, transformer: ColumnTransformer) -> list[int]:
    """Return the places of columns that are given by name, place, slice or mask."""
    places = np.arange(transformer.n_features_in_)
    listed = [columns] if isinstance(columns, str) else columns
    if not isinstance(listed, slice) and len(listed) and isinstance(listed[0], str):
        names = list(transformer.feature_names_in_)
        return [names.index(name) for name in listed]
    return np.atleast_1d(places[columns]).tolist()


def selected(rows: Any, sample: Any, places: list[int], nothing: None = None) -> Any:
    """Return some of the columns of a block."""
    return rows.iloc[:, places] if hasattr(rows, "iloc") else rows[:, places]
