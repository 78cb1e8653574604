"""Dask arrays, frames and lists of partitions as blocks of rows and as columns in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.checks import declared_order
from rankwise.distributed.blocks import names_of
from rankwise.distributed.client import current_client
from rankwise.distributed.engine import constant, require_dask
from rankwise.distributed.part_columns import PartColumn


@dataclass
class Partitions:
    """Blocks of rows that are loaded or computed on demand.

    Attributes
    ----------
    blocks : list of Delayed or Future
        Each becomes an array, sparse matrix or frame with the same columns.
    lengths : list of int, optional
        The number of rows of each block, if known.
    feature_names : list of str, optional
    kept : sequence of arrays or sparse matrices, optional
        Copies of the blocks in the driver, which are sent again if a worker is lost.
    loaded : bool
        Whether the blocks are already handles of the current engine.
    is_sparse : bool
        Whether the blocks are known to be sparse matrices.
    """

    blocks: list[Any]
    lengths: list[int] | None = None
    feature_names: list[str] | None = None
    kept: Any = None
    loaded: bool = False
    is_sparse: bool = False

    @property
    def ndim(self) -> int:
        """The number of dimensions, 2."""
        return 2

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Refuse to become one array, which a step of scikit-learn would ask for."""
        raise ValueError(
            "X is in partitions on Dask, which are not put together in memory; fit a pipeline to them by "
            "rankwise.distributed.fit_pipeline(pipeline, X, y), and predict by lazy_predictions(model, X)."
        )


def is_distributed(values: Any) -> bool:
    """Tell whether values are a Dask collection, a list of Dask objects, `Partitions` or a `PartColumn`.

    Dask need not be installed.

    Parameters
    ----------
    values : any object
        Rows or columns.

    Returns
    -------
    is_distributed : bool
    """
    if isinstance(values, list | tuple):
        return len(values) > 0 and all(_is_dask(value) for value in values)
    return isinstance(values, Partitions | PartColumn) or _is_dask(values)


def _is_dask(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") or _is_future(value)


def _is_future(value: Any) -> bool:
    return type(value).__module__ == "distributed.client" and type(value).__name__ == "Future"


def as_partitions(X: Any) -> Partitions:
    """Split a Dask collection into its blocks of rows.

    Parameters
    ----------
    X : Dask array or dataframe, list of Delayed or Future, or Partitions
        An array with several blocks of columns is rechunked to one. The blocks may be dense or sparse.
    """
    require_dask()
    if isinstance(X, Partitions):
        return X
    if isinstance(X, list | tuple):
        return Partitions(list(X))
    if hasattr(X, "columns"):
        return Partitions(list(X.to_delayed()), feature_names=names_of(X))
    if not hasattr(X, "chunks"):
        return Partitions([X])  # a single Delayed
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional; got ndim={X.ndim}.")
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    known = not any(math.isnan(length) for length in X.chunks[0])
    return Partitions(list(X.to_delayed().ravel()), list(X.chunks[0]) if known else None)


def scatter(X: Any, *, n_partitions: int | None = None, keep: bool = True) -> Partitions:
    """Split rows in memory into partitions and send them to the workers of the current client.

    Without a client the partitions stay in memory.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        The rows.
    n_partitions : int, optional
        The default is one per thread of the workers.
    keep : bool
        Whether the driver keeps the rows, so that those of a lost worker can be sent again.

    Returns
    -------
    rows : Partitions

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankRLS
    >>> rows = scatter(np.array([[0.0], [1.0], [2.0]]), n_partitions=2)
    >>> RankRLS().fit(rows, [1.0, 2.0, 3.0]).coef_.round(3)
    array([0.999])
    """
    require_dask()
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    client = current_client()
    if n_partitions is None:
        n_partitions = 1 if client is None else max(1, sum(client.nthreads().values()))
    borders = np.linspace(0, X.shape[0], n_partitions + 1).astype(int)
    pieces = [X[begin:end] for begin, end in pairwise(borders)]
    lengths = np.diff(borders).tolist()
    if client is None:
        return Partitions([constant(piece) for piece in pieces], lengths)
    return Partitions(client.scatter(pieces, hash=False), lengths, kept=pieces if keep else None)


def gathered(values: Any) -> Any:
    """Return a column (labels, queries, weights) as an array in memory; others are returned unchanged.

    Parameters
    ----------
    values : array or Dask column
        Labels, queries or weights.

    Returns
    -------
    values : array, or what was given
    """
    if not is_distributed(values):
        return values
    if isinstance(values, PartColumn):
        return np.asarray(values)
    if isinstance(values, list | tuple):
        return _joined(_computed(list(values)))
    computed = values.compute()
    if declared_order(computed) is not None:
        return computed
    return computed.to_numpy() if hasattr(computed, "to_numpy") else np.asarray(computed)


def _joined(parts: list[Any]) -> Any:
    """Return the parts of a column as one array, or as one column if its categories have an order."""
    orders = [declared_order(part) for part in parts]
    if orders[0] is not None and all(order == orders[0] for order in orders):
        import pandas as pd

        return pd.concat([pd.Series(part) for part in parts], ignore_index=True)
    return np.concatenate([np.asarray(part) for part in parts])


def column_parts(values: Any) -> list[Any] | None:
    """Return the partitions of a column on Dask; None for several columns and for a column in memory."""
    if not is_distributed(values) or isinstance(values, Partitions):
        return None
    if isinstance(values, PartColumn):
        return values.blocks
    if isinstance(values, list | tuple):
        return list(values)
    if not hasattr(values, "to_delayed") or getattr(values, "ndim", 1) != 1:
        return None
    return list(np.ravel(values.to_delayed()))


def part_names(values: Any, n_parts: int) -> list[str]:
    """Return the names of the parts of a column in messages."""
    return values.names if isinstance(values, PartColumn) else [f"Partition {k}" for k in range(n_parts)]


def _computed(parts: list[Any]) -> list[Any]:
    import dask

    return [part.result() if _is_future(part) else dask.compute(part)[0] for part in parts]
