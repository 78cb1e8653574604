"""Rows of frames, arrays and sparse matrices alike: their number, some of them, and several blocks as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.types import IntArray
from rankwise.data.columns import is_frame


def n_rows_of(*columns: Any) -> int:
    """Return the number of rows of the first column that is given.

    Examples
    --------
    >>> n_rows_of(None, [3, 1, 2])
    3
    """
    first = next(column for column in columns if column is not None)
    return int(first.shape[0] if hasattr(first, "shape") else len(first))


def some_rows(column: Any, numbers: IntArray | slice) -> Any:
    """Return the rows with some numbers of a frame or its column, an array or a sparse matrix."""
    if hasattr(column, "iloc"):
        return column.iloc[numbers]
    rows = nw.from_native(column, allow_series=True, pass_through=True)
    return nw.to_native(rows[numbers], pass_through=True)


def stacked(blocks: Sequence[Any]) -> Any:
    """Return the rows of several frames, arrays or sparse matrices as one."""
    if is_frame(blocks[0]):
        return nw.concat([nw.from_native(block, eager_only=True) for block in blocks]).to_native()
    if sp.issparse(blocks[0]):
        return sp.vstack(blocks, format="csr")
    return np.concatenate(list(blocks))


def joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate arrays; numbers and words together become objects, so that they stay different."""
    if len({array.dtype.kind in "US" for array in arrays}) > 1:
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)
