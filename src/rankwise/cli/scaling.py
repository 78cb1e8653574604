"""The scalers of --scale."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from rankwise.data.query_scaler import QueryScaler
from rankwise.distributed import fit_steps

# The scalers that treat each query by itself.
QUERY_SCALES = {"query-minmax": "minmax", "query-standard": "standard", "query-rank": "rank"}


def make_scaler(scale: str, X: Any) -> Any:
    """Return a scaler for the data, or None.

    For sparse data the standard scaler does not subtract the means, which cancel in differences of rows.
    """
    if scale == "none":
        return None
    is_sparse = sp.issparse(X) or getattr(X, "is_sparse", False)  # rows in memory, or in partitions
    if scale == "minmax" and is_sparse:
        raise ValueError(
            "--scale minmax would make the sparse data dense; use maxabs, which preserves zeros."
        )
    if scale in QUERY_SCALES:
        return QueryScaler(QUERY_SCALES[scale])
    scalers = {
        "standard": lambda: StandardScaler(with_mean=not is_sparse),
        "minmax": MinMaxScaler,
        "maxabs": MaxAbsScaler,
    }
    return scalers[scale]()


def fit_scaled(scaler: Any, X: Any, qid: Any) -> Any:
    """Fit a scaler to the rows and return them scaled."""
    if scaler is None:
        return X
    by_query = scales_by_query(scaler)
    if by_query and qid is None:
        raise ValueError(
            "--scale query-... scales within queries, but the data has none; name their column by --qid."
        )
    if hasattr(X, "blocks"):  # partitions on Dask
        return fit_steps([scaler], X, qid=qid if by_query else None)
    if by_query:
        return scaler.fit_transform(X, qid=qid)
    return scaler.fit_transform(X)


def scales_by_query(scaler: Any) -> bool:
    """Return whether a scaler treats each query by itself."""
    return type(scaler).__name__ == "QueryScaler"


def with_steps(encoder: Any, scaler: Any, ranker: Any) -> Any:
    """Return the pipeline of a fitted encoder, scaler and ranker, of which the first two may be None."""
    steps = {"encode": encoder, "scale": scaler, "rank": ranker}
    present = [(name, step) for name, step in steps.items() if step is not None]
    if len(present) == 1:
        return ranker
    return Pipeline(present)
