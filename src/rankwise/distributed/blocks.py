"""Functions that workers call on a block of rows, which is a `Design`; the blocks do not move."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.pipelines import require_same_columns
from rankwise.core.text import listing
from rankwise.core.types import FloatVector
from rankwise.data.columns import column_names
from rankwise.data.design import Design, MemoryDesign, as_design
from rankwise.data.frames import with_days, words_and_categories
from rankwise.data.scores import compared_scores
from rankwise.distributed.codec import FixedPoint, decode_counts, encode_scores


class Description(NamedTuple):
    """The shape of a block; `problem`, if not empty, completes the sentence "X ..." of an error."""

    n_rows: int
    n_features: int
    stored: int
    problem: str
    feature_names: list[str] | None = None


@cache
def _register_sizes() -> None:
    """Register the size of a block with Dask, which moves and spills blocks by size."""
    from dask.sizeof import sizeof

    @sizeof.register(Design)
    def size_of_design(design: Design) -> int:
        X = design.X
        arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        return 256 + sum(array.nbytes for array in arrays)


if "dask" in sys.modules:  # on a worker, which may receive blocks before it makes one
    _register_sizes()


def as_block(rows: Any) -> Design:
    """Return the block of an array, sparse matrix or frame."""
    _register_sizes()
    if isinstance(rows, Design):
        return rows
    names = names_of(rows)
    rows = with_days(rows)
    _check_kinds(rows)
    if hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
    if not sp.issparse(rows):
        rows = np.asanyarray(rows)
        if rows.dtype.kind not in "fiub":  # such as a frame with columns of different types
            rows = rows.astype(np.float64)
    design = as_design(rows)
    design.feature_names = names
    return design


def _check_kinds(rows: Any) -> None:
    """Refuse a frame with strings or categories, by the names of its columns."""
    odd = [str(column.name) for column in words_and_categories(rows)]
    if odd:
        raise ValueError(
            f"X has strings or categories in {listing(odd)}, but a linear model on Dask needs numbers. Put a "
            "rankwise.preprocessing.TableEncoder before it, and fit the pipeline by "
            "rankwise.distributed.fit_pipeline."
        )


def names_of(rows: Any) -> list[str] | None:
    """Return the names of the columns of a frame, if they are strings."""
    names = column_names(rows)
    return names if names and all(isinstance(name, str) for name in names) else None


def describe(block: Design) -> Description:
    """Return the shape of a block and check its values, before the first round."""
    values = block.X.data if sp.issparse(block.X) else block.X
    problem = "" if all_finite(values) else "contains NaN or infinity"
    return Description(block.shape[0], block.shape[1], int(values.size), problem, block.feature_names)


def check_columns(blocks: Sequence[Description], expected: list[str] | None = None) -> None:
    """Refuse blocks with unequal columns, or without the expected names."""
    if not blocks:
        raise ValueError("X has no partitions.")
    whose = "X" if expected else "partition 0"
    names = expected or blocks[0].feature_names
    for number, block in enumerate(blocks):
        if block.n_features != blocks[0].n_features:
            raise ValueError(
                f"Partition {number} of X has {block.n_features} features, but partition 0 has "
                f"{blocks[0].n_features}."
            )
        if names and block.feature_names:
            require_same_columns(names, block.feature_names, f"Partition {number} of X", whose)


def all_finite(values: NDArray) -> bool:
    """Tell whether all numbers are finite, in pieces, as a memory map may be larger than memory."""
    step = max(1, (1 << 20) // max(1, values[:1].size))
    return all(np.isfinite(values[start : start + step]).all() for start in range(0, len(values), step))


def times(block: Design, w: FloatVector, error: float = 0.0) -> FloatVector | FixedPoint:
    """Return the scores of the rows."""
    return encode_scores(block.matvec(w), error)


def times_matrix(block: Design, W: FloatVector) -> FloatVector:
    """Return the rows times several columns."""
    return block.matmat(W)


def adjoint(block: Design, c: NDArray[Any], unit: Any = None) -> FloatVector:
    """Return X' c of the rows."""
    return block.rmatvec(decode_counts(c, unit))


def adjoint_matrix(block: Design, C: FloatVector) -> FloatVector:
    """Return X' times several columns."""
    return block.rmatmat(C)


def times_each(block: Design, W: FloatVector) -> FloatVector:
    """Return the scores of the rows for each row of W."""
    return block.matvecs(W)


def adjoint_each(block: Design, C: FloatVector) -> FloatVector:
    """Return X' c of the rows for each row c of C."""
    return block.rmatvecs(C)


def adjoint_all(block: Design, *C: FloatVector) -> FloatVector:
    """Return X' c of the rows for each of several vectors c."""
    return block.rmatvecs(np.stack(C))


def part_scores(block: Design, part: NDArray[np.int64], functions: FloatVector) -> FloatVector:
    """Return the scores of each row by the functions of its part, shape (n_functions, n_rows).

    `functions` has shape (n_parts, n_functions, n_features); a row with part -1 has the scores 0.
    """
    scores = np.zeros((functions.shape[1], block.shape[0]))
    for number in np.unique(part[part >= 0]):
        rows = np.flatnonzero(part == number)
        scores[:, rows] = compared_scores(block.X, functions[number], rows)
    return scores


def moments(block: MemoryDesign, rows: NDArray[np.int64]) -> FloatVector:
    """Return the number of some rows, and their mean and sum of squared deviations for each column."""
    X = block.dense(rows)
    mean = X.mean(axis=0) if len(X) else np.zeros(block.shape[1])
    return np.stack([np.full_like(mean, len(X)), mean, ((X - mean) ** 2).sum(axis=0)])


def row_copies(block: MemoryDesign, rows: NDArray[np.int64]) -> Any:
    """Return some of the rows as they are stored."""
    return block.X[rows]


def squares(block: Design, c: FloatVector) -> FloatVector:
    """Return the weighted squares of each column."""
    return block.weighted_squares(c)


def spread_sums(block: Design, c: FloatVector) -> FloatVector:
    """Return the weighted squares and sums of each column, and the sum of the weights."""
    return np.concatenate([block.weighted_squares(c), block.rmatvec(c), [c.sum()]])


def scale(block: Design) -> FloatVector:
    """Return the largest absolute value of each column."""
    return block.column_scale() if block.shape[0] else np.zeros(block.shape[1])


def taken(block: MemoryDesign, rows: NDArray[np.int64]) -> Design:
    """Return some of the rows of a block."""
    return block.take(rows)


def combined(numbers: Sequence[float], vectors: Sequence[FloatVector], length: int = 0) -> FloatVector:
    """Return the linear combination of vectors; zeros of this length if there are none."""
    if not vectors:
        return np.zeros(length)
    result = numbers[0] * vectors[0]
    for number, vector in zip(numbers[1:], vectors[1:], strict=True):
        result += number * vector
    return result


def score_moments(numbers: Sequence[float], vectors: Sequence[FloatVector], length: int) -> FloatVector:
    """Return the number, the mean and the sum of squared deviations of a linear combination."""
    scores = combined(numbers, vectors, length)
    mean = scores.mean() if length else 0.0
    return np.array([length, mean, np.sum((scores - mean) ** 2)])


def dot(c: FloatVector, scores: FloatVector) -> float:
    """Return the product of two columns."""
    return float(c @ scores)
