"""Quantiles of columns in partitions: sketches in one round, and exact order statistics in two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector, IntVector
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


def exact_medians(rows: RowBlocks, numbers: Numbers, *shared: Any) -> dict[int, float]:
    """Return the median of the known values of each column; NaN if there are none.

    The ranks of the middle values are bracketed by a sketch. If it does not hold all distinct values, a
    second round collects the values inside of the brackets, about 0.05% of the rows per column.
    """
    tallies = column_tallies(rows, numbers, *shared)
    places = {place: _middle_ranks(tally) for place, tally in tallies.items() if tally.n_known}
    middles = {place: tallies[place].at(ranks) for place, ranks in places.items()}
    if not all(tally.exact for tally in tallies.values()):
        slack = rows.n_levels / MOST_VALUES
        brackets = {place: _bracket(tallies[place], ranks, slack) for place, ranks in places.items()}
        inside = rows.reduced(partial(_inside, numbers), _merged_inside, brackets, *shared)
        middles = {place: _selected(inside[place], ranks) for place, ranks in places.items()}
    return {place: float(np.mean(middles[place])) if place in middles else np.nan for place in tallies}


def _middle_ranks(tally: Tally) -> IntVector:
    n = tally.n_known
    return np.array([(n - 1) // 2, n // 2])


def _bracket(tally: Tally, ranks: IntVector, slack: float) -> tuple[float, float]:
    """Return two values between which the values at some ranks lie, given the rank error of a sketch."""
    n = tally.n_known
    error = int(np.ceil(slack * n)) + 1
    low, high = tally.at([max(ranks[0] - error, 0), min(ranks[1] + error, n - 1)])
    return float(low), float(high)


def _selected(inside: tuple[int, FloatVector], ranks: IntVector) -> FloatVector:
    below, values = inside
    return np.sort(values)[ranks - below]


def _tallied(numbers: Numbers, most: int | None, rows: Any, *shared: Any) -> dict[int, Tally]:
    columns = numbers(rows, *shared)
    return {place: merged_tally([Tally.of(x)], most) for place, x in columns.items()}


def _merged(most: int | None, parts: list[dict[int, Tally]]) -> dict[int, Tally]:
    return {place: merged_tally([part[place] for part in parts], most) for place in parts[0]}


def _inside(
    numbers: Numbers, rows: Any, brackets: Mapping[int, tuple[float, float]], *shared: Any
) -> dict[int, tuple[int, FloatVector]]:
    """Return the number of values below a bracket, and the values inside, for each column of a block."""
    columns, found = numbers(rows, *shared), {}
    for place, (low, high) in brackets.items():
        x = columns[place]
        found[place] = int((x < low).sum()), x[(x >= low) & (x <= high)]
    return found


def _merged_inside(parts: list[dict[int, tuple[int, FloatVector]]]) -> dict[int, tuple[int, FloatVector]]:
    return {
        place: (sum(part[place][0] for part in parts), np.concatenate([part[place][1] for part in parts]))
        for place in parts[0]
    }
