"""Pipelines on Dask: each step is fitted and applied block by block, and the result is an ordinary one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankwise.core.pipelines import before_last_step, last_step, scales_queries
from rankwise.distributed.applied_steps import fitted_rows, is_idle, needs_queries, require_whole_queries
from rankwise.distributed.collections import as_partitions, gathered, is_distributed
from rankwise.distributed.engine import constant, require_dask
from rankwise.distributed.row_blocks import RowBlocks, as_rows


def fit_pipeline(pipeline: Any, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Any:
    """Fit a scikit-learn pipeline that ends in a ranker to rows on Dask, block by block.

    The steps are fitted in turn from sums, extremes, counts and sketches of the partitions, and applied
    block by block. The model is the same as in memory: means and variances are merged without loss of digits,
    medians are exact, and bins of curves are exact up to 2^17 rows (then their edges have a rank error of at
    most 0.025% of the rows in up to 512 partitions). The fitted pipeline is an ordinary one: it is saved,
    exported and used in memory as always. `lazy_predictions` applies it to rows on Dask.

    The steps may be StandardScaler, MinMaxScaler, MaxAbsScaler, SimpleImputer, OneHotEncoder,
    OrdinalEncoder, ColumnTransformer, TableEncoder, QueryScaler, CurveFeatures, pipelines of these,
    "passthrough", and steps that learn nothing.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        It is fitted in place, as by its own method `fit`.
    X : Dask array or dataframe, list of partitions, or Partitions
        Frames may hold words, dates and missing values if the first step takes them.
    y, qid, sample_weight :
        As for the method `fit` of the ranker. QueryScaler also gets qid, and needs queries that lie whole in
        partitions.

    Returns
    -------
    pipeline : sklearn.pipeline.Pipeline

    Examples
    --------
    >>> import dask.array, numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rankwise import RankRLS
    >>> X = dask.array.from_array(np.array([[1.0], [2.0], [6.0]]), chunks=(2, 1))
    >>> model = fit_pipeline(make_pipeline(StandardScaler(), RankRLS()), X, [1.0, 2.0, 3.0])
    >>> model[0].mean_, lazy_predictions(model, X).compute().round(2)
    (array([3.]), array([-0.71, -0.36,  1.07]))
    """
    require_dask()
    if not is_distributed(X):
        raise ValueError("X is in memory; fit the pipeline by its own method: pipeline.fit(X, y).")
    steps = list(getattr(pipeline, "steps", [("", pipeline)]))
    rows = fit_steps([step for _, step in steps[:-1]], X, qid=qid)
    columns = {"qid": qid, "sample_weight": sample_weight}
    last_step(pipeline).fit(
        rows, y, **{name: column for name, column in columns.items() if column is not None}
    )
    return pipeline


def fit_steps(steps: list[Any], X: Any, *, qid: Any = None) -> Any:
    """Fit the steps before a model to rows on Dask, and return the transformed rows, not yet computed.

    Parameters
    ----------
    steps : list of transformers
        As for `fit_pipeline`; they are fitted in place.
    X : Dask array or dataframe, list of partitions, or Partitions
    qid : array of shape (n_rows,), optional

    Returns
    -------
    rows : Partitions
        X itself if there are no steps.

    Examples
    --------
    >>> import dask.array, numpy as np
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> X = dask.array.from_array(np.array([[1.0], [2.0], [4.0]]), chunks=(2, 1))
    >>> fit_steps([MaxAbsScaler()], X).lengths
    [2, 1]
    """
    if all(is_idle(step) for step in steps):
        return X
    rows = RowBlocks.of(X)
    uses_queries = qid is not None and any(needs_queries(step) for step in steps)
    query = np.asarray(gathered(qid)) if uses_queries else None
    for step in steps:
        rows = fitted_rows(step, rows, query)
    return rows.partitions()


def lazy_predictions(model: Any, X: Any, *, qid: Any = None) -> Any:
    """Return the scores of rows on Dask by any fitted model or pipeline, block by block, not yet computed.

    Parameters
    ----------
    model : fitted ranker or sklearn.pipeline.Pipeline
        Also a model without Dask of its own, such as a kernel or boosted trees.
    X : Dask array or dataframe, list of partitions, or Partitions
    qid : array of shape (n_rows,), optional
        The query of each row, for a pipeline with a `QueryScaler`.

    Returns
    -------
    scores : Dask array
        Its chunks are the blocks of X.

    Examples
    --------
    >>> import dask.array, numpy as np
    >>> from rankwise import RankSVM
    >>> model = RankSVM(kernel="rbf").fit(np.array([[1.0], [2.0], [4.0]]), [1, 2, 3])
    >>> X = dask.array.from_array(np.array([[1.0], [2.0], [4.0]]), chunks=(2, 1))
    >>> lazy_predictions(model, X).chunks
    ((2, 1),)
    """
    import dask.array
    from dask import delayed

    partitions = as_partitions(X)
    lengths: Any = partitions.lengths or [math.nan] * len(partitions.blocks)
    parts: list[Any] = [None] * len(lengths)
    if scales_queries(model):
        rows = RowBlocks.of(X)
        query = None if qid is None else np.asarray(gathered(qid))
        require_whole_queries(query, rows.borders)
        lengths, parts = rows.lengths, rows.slices(query)
    predict, shared = delayed(block_predictions, pure=False), constant(model)
    found = [
        dask.array.from_delayed(predict(block, shared, constant(part)), (length,), np.float64)
        for block, length, part in zip(partitions.blocks, lengths, parts, strict=True)
    ]
    return dask.array.concatenate(found, allow_unknown_chunksizes=True)


def block_predictions(block: Any, model: Any, qid: Any = None) -> Any:
    """Return the scores of a block of rows."""
    rows = as_rows(block)
    if rows.shape[0] == 0:
        return np.empty(0)
    return last_step(model).predict(before_last_step(model, rows, qid))
