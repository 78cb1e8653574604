"""Hints at columns that no model should be given as they are, and at queries that teach nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import is_missing
from rankwise.core.types import FloatVector
from rankwise.data.columns import CATEGORY, MOST_WORDS, NUMBER, Column, is_declared, kind_of, numbers_of
from rankwise.data.design import Design
from rankwise.data.frames import frame_columns

logger = logging.getLogger("rankwise")

# A column that is this large, and this many times as large as half of the others, counts seconds or rows.
CLOCK_SIZE, CLOCK_RATIO = 1e8, 1e7
# The hint at scales, and the way out in the words of the place.
DIFFERENT_SCALES = (
    "The features differ in scale by a factor of %.0e, and the penalty treats all weights alike. "
)
SCALE_IN_PYTHON = (
    "Scale them first: make_pipeline(StandardScaler(), model), or make_pipeline(QueryScaler(), model) if "
    "rows are compared within queries."
)
SCALE_IN_SHELL = "Scale them: --scale standard, or --scale query-minmax if rows are compared within queries."
# Fewer rows that rise by 1 may do so by chance.
INDEX_ROWS = 20
_NAMED_ID = re.compile(r"(?i:(^|[\W_])(id|uuid|guid)$)|[a-z]I[Dd]$")


def hint_at_scale(design: Design, names: Any = None) -> None:
    """Log a hint when features differ much in scale, or when one counts the time or the rows."""
    scale = design.column_scale()
    odd, reason = clock_columns(scale), "is a timestamp or an identifier by its size, far beyond the others"
    if not len(odd):
        odd, reason = index_columns(getattr(design, "X", None)), "numbers the rows one by one"
    if len(odd):
        shown = ", ".join(repr(str(names[k])) if names is not None else str(k) for k in odd[:5])
        logger.warning(
            "Column %s of X %s: leave it out, or give what it says of a row (an age, a time of day).",
            shown,
            reason,
        )
        return
    scale = scale[scale > 1e-12 * scale.max(initial=0.0)]  # a scaler leaves rounding of constant columns
    if len(scale) and scale.max() > 1e4 * scale.min():
        logger.warning(
            DIFFERENT_SCALES + SCALE_IN_PYTHON,
            scale.max() / scale.min(),
            extra={"in_shell": DIFFERENT_SCALES + SCALE_IN_SHELL},
        )


def hint_at_queries(n_without_pairs: int, n_queries: int) -> None:
    """Log a hint that most queries have no pairs."""
    logger.warning(
        "%s of %s queries have no pairs, as all of their rows have the same label, and add nothing to the "
        "fit. If rows of different queries can be compared, fit without qid.",
        f"{n_without_pairs:,}",
        f"{n_queries:,}",
    )


def clock_columns(scale: FloatVector) -> NDArray[np.intp]:
    """Return the columns that are as large as a time in seconds, and far larger than half of the others.

    Examples
    --------
    >>> clock_columns(np.array([3.0, 1.7e9, 0.0, 40.0])).tolist()
    [1]
    """
    present = np.sort(scale[scale > 0])
    if len(present) < 2:
        return np.empty(0, dtype=np.intp)
    typical = present[(len(present) - 1) // 2]
    return np.flatnonzero((scale >= CLOCK_SIZE) & (scale > CLOCK_RATIO * typical))


def index_columns(X: Any) -> NDArray[np.intp]:
    """Return the columns of an array that rise by 1 from each row to the next; one alone is meant.

    Examples
    --------
    >>> index_columns(np.column_stack([np.arange(5, 55), np.ones(50)])).tolist()
    [0]
    """
    if not isinstance(X, np.ndarray) or len(X) < INDEX_ROWS or X.shape[1] == 1:
        return np.empty(0, dtype=np.intp)
    near = np.flatnonzero((X[1] - X[0] == 1) & (X[-1] - X[0] == len(X) - 1))
    return np.array([k for k in near if (np.diff(X[:, k]) == 1).all()], dtype=np.intp)


def identifiers(X: Any, names: Sequence[str] | None = None) -> list[str]:
    """Return the names of the columns that name rows rather than describe them, of a frame or an array.

    These are words of which no two are equal, row numbers, and columns named like an identifier with many
    different strings or whole numbers. (Other whole numbers that all differ may be quantities.)

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"row": range(40), "user_id": [7, 3] * 20, "price": range(0, 80, 2)})
    >>> identifiers(frame.assign(url=[f"/{k}" for k in range(40)], loan_id=frame["price"] + 100))
    ['row', 'url', 'loan_id']
    """
    if names is None:
        return [str(column.name) for column in frame_columns(X) if _names_rows(column)]
    return [name for name, values in zip(names, X.T, strict=True) if _numbers_name_rows(name, values)]


def _names_rows(column: Column) -> bool:
    kind = kind_of(column)
    if len(column) < INDEX_ROWS or is_declared(column) or kind not in (CATEGORY, NUMBER):
        return False
    if kind == CATEGORY:
        words = [word for word in column.to_list() if not is_missing(word)]
        n_words = len(set(words))
        is_named = _is_named_identifier(column.name)
        return INDEX_ROWS <= n_words == len(words) or (is_named and 2 * n_words > len(words))
    return _numbers_name_rows(column.name, numbers_of(column, kind))


def _is_named_identifier(name: Any) -> bool:
    return _NAMED_ID.search(str(name)) is not None


def _numbers_name_rows(name: Any, values: FloatVector) -> bool:
    is_named = _is_named_identifier(name)
    if len(values) < INDEX_ROWS or not (is_named or values[1] - values[0] == 1):
        return False
    if bool((np.diff(values) == 1).all()):
        return True
    n_values = len(np.unique(values))
    return (
        is_named and bool((values == np.floor(values)).all()) and n_values > min(MOST_WORDS, len(values) / 2)
    )
