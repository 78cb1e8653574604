"""Pipelines on Dask: steps are fitted to a sample of the rows and applied block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from rankwise.core.checks import as_codes
from rankwise.core.pipelines import before_last_step, last_step, scales_queries, takes_queries
from rankwise.distributed import row_blocks
from rankwise.distributed.blocks import names_of
from rankwise.distributed.collections import gathered, is_distributed
from rankwise.distributed.engine import require_dask
from rankwise.distributed.groups import require_whole_queries
from rankwise.distributed.row_blocks import RowBlocks, as_rows, even_share, mapped_rows
from rankwise.distributed.row_parts import pickled_size


def fit_pipeline(pipeline: Any, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Any:
    """Fit a scikit-learn pipeline that ends in a ranker to rows on Dask.

    Each step is fitted by its own method to 100,000 rows that are spread evenly over all partitions (all
    rows, if there are no more), and applied block by block; the ranker is fitted to all rows. Give a step
    that must see every row, such as the categories of a rare word, as it was fitted:
    `sklearn.frozen.FrozenEstimator(step)`. The fitted pipeline is an ordinary one: it is saved, exported and
    used in memory as always. `lazy_predictions` applies it to rows on Dask.

    Parameters
    ----------
    pipeline : sklearn.pipeline.Pipeline
        It is fitted in place, as by its own method `fit`.
    X : Dask array or dataframe, list of partitions, or Partitions
        Frames may hold strings, dates and missing values if the first step takes them.
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
        The rows.
    qid : array of shape (n_rows,), optional
        The query of each row.

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
    flat = list(_flat(steps))
    if not flat:
        return X
    rows, query = RowBlocks.of(X), None
    if any(takes_queries(step) for step in flat):
        query = None if qid is None else np.asarray(gathered(qid))
        require_whole_queries(query, rows.borders)
    chosen = _sampled(rows, query)
    sample, part = rows.sampled(chosen), None if query is None else query[chosen]
    for step in flat:
        sample = _transformed(sample, step.fit(sample, None), part)
    partitions = rows.mapped(_all_transformed, Steps(flat, sample[:0]), query)
    return replace(partitions, feature_names=names_of(sample))


@dataclass(frozen=True)
class Steps:
    """Fitted steps, and the columns of their result: a block without rows."""

    steps: list[Any]
    empty: Any

    @property
    def nbytes(self) -> int:
        """The size of a message with the steps, by which they are embedded in tasks or sent ahead."""
        return pickled_size(self)


def _flat(steps: list[Any]) -> Any:
    """Yield the steps that change rows, also those of pipelines within the pipeline."""
    for step in steps:
        if isinstance(step, Pipeline):
            yield from _flat([part for _, part in step.steps])
        elif step is not None and not (isinstance(step, str) and step == "passthrough"):
            yield step


def _sampled(rows: RowBlocks, query: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Return which rows steps are fitted to: an even share, of rows or of whole queries."""
    if query is None:
        return even_share(rows.n_rows)
    codes = as_codes(query, "qid", rows.n_rows)[1]
    return codes % -(-rows.n_rows // row_blocks.SAMPLE_ROWS) == 0


def _transformed(rows: Any, step: Any, qid: Any) -> Any:
    return step.transform(rows, qid=qid) if takes_queries(step) else step.transform(rows)


def _all_transformed(block: Any, steps: Steps, qid: Any) -> Any:
    """Return a block transformed by all steps."""
    rows = as_rows(block)
    if rows.shape[0] == 0:
        return steps.empty
    for step in steps.steps:
        rows = _transformed(rows, step, qid)
    return rows


def lazy_predictions(model: Any, X: Any, *, qid: Any = None) -> Any:
    """Return the scores of rows on Dask by any fitted model or pipeline, block by block, not yet computed.

    Parameters
    ----------
    model : fitted ranker or sklearn.pipeline.Pipeline
        Also a model without Dask of its own, such as a kernel or boosted trees.
    X : Dask array or dataframe, list of partitions, or Partitions
        The rows.
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
    query = None
    if scales_queries(model):
        if qid is None:
            raise ValueError("The model scales features within queries; pass qid.")
        query = gathered(qid)
    return mapped_rows(partial(_predictions, model), X, query)


def _predictions(model: Any, rows: Any, qid: Any = None) -> Any:
    """Return the scores of a block of rows."""
    return last_step(model).predict(before_last_step(model, rows, qid))
