"""Quantiles of columns in partitions, from sketches in one round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rankwise.core.types import FloatVector
from rankwise.data.tally import Tally, merged_tally
from rankwise.distributed.row_blocks import RowBlocks

# Up to this many rows a tally holds all distinct values of a column; with more, at most the second number.
# The rank error of a sketch of up to 512 partitions is then at most 4 / 2^14 = 0.025% of the rows.
EXACT_ROWS, MOST_VALUES = 1 << 17, 1 << 14

# The columns of a block as numbers, by place, with NaN for missing values.
Numbers = Callable[..., Mapping[int, FloatVector]]


def column_tallies(rows: RowBlocks, numbers: Numbers, *shared: Any, most: Any = "auto") -> dict[int, Tally]:
    """Return the tally of each column, compressed to `most` values; None keeps all.

    `numbers(block, *shared)` returns the columns of a block.
    """
    if most == "auto":
        most = None if rows.n_rows <= EXACT_ROWS else MOST_VALUES
    return rows.reduced(partial(_tallied, numbers, most), partial(_merged, most), *shared)


def _tallied(numbers: Numbers, most: int | None, rows: Any, *shared: Any) -> dict[int, Tally]:
    columns = numbers(rows, *shared)
    return {place: merged_tally([Tally.of(x)], most) for place, x in columns.items()}


def _merged(most: int | None, parts: list[dict[int, Tally]]) -> dict[int, Tally]:
    return {place: merged_tally([part[place] for part in parts], most) for place in parts[0]}
