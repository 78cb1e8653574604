"""What an encoder learns of a column, also from the parts of a column: its kind, levels and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.data.columns import (
    CATEGORY,
    NUMBER,
    ORDERED,
    check_words,
    is_declared,
    is_missing_in,
    kind_of,
    numbers_of,
    occurring_values,
)


@dataclass(frozen=True)
class ColumnSummary:
    """A column, or a part of one.

    Attributes
    ----------
    name, kind : str
    levels : list or None
        The declared categories or the words that occur, sorted; None for numbers.
    declared : bool
        Whether the column is declared to hold categories.
    n_rows, n_missing : int
    """

    name: str
    kind: str
    levels: list[Any] | None
    declared: bool
    n_rows: int
    n_missing: int

    @classmethod
    def of(cls, column: Any) -> ColumnSummary:
        """Summarise a column of a frame, or an array of numbers."""
        if isinstance(column, np.ndarray):
            return cls("", NUMBER, None, False, len(column), int(np.isnan(column).sum()))
        kind = kind_of(column)
        has_levels = kind in (CATEGORY, ORDERED)
        missing = is_missing_in(column) if has_levels else np.isnan(numbers_of(column, kind))
        levels = occurring_values(column) if has_levels else None
        return cls(str(column.name), kind, levels, is_declared(column), len(column), int(missing.sum()))

    def checked_levels(self, most: int) -> list[Any]:
        """Return the levels; refuse words that are names or text."""
        levels = self.levels or []
        if not self.declared:
            check_words(self.name, len(levels), self.n_rows, most)
        return levels


def merged_summary(parts: Sequence[ColumnSummary]) -> ColumnSummary:
    """Return the summary of a column from those of its parts; parts of different kinds are refused.

    Examples
    --------
    >>> import pandas as pd
    >>> parts = [ColumnSummary.of(pd.Series(words, name="grape")) for words in (["syrah"], ["merlot", None])]
    >>> merged_summary(parts).levels, merged_summary(parts).n_missing
    (['merlot', 'syrah'], 1)
    """
    known = [part for part in parts if part.n_missing < part.n_rows] or list(parts[:1])
    first = known[0]
    other = next((part for part in known if part.kind != first.kind), None)
    if other is not None:
        raise ValueError(
            f"Column {first.name!r} is a {first.kind} in one part of the rows and a {other.kind} in another; "
            "make it a column of one type."
        )
    n_rows, n_missing = (sum(getattr(part, name) for part in parts) for name in ("n_rows", "n_missing"))
    return ColumnSummary(first.name, first.kind, *_levels(known), n_rows, n_missing)


def _levels(known: Sequence[ColumnSummary]) -> tuple[list[Any] | None, bool]:
    """Return the levels of all parts, and whether all parts declare them."""
    first, declared = known[0], all(part.declared for part in known)
    if first.levels is None or all(part.levels == first.levels for part in known):
        return first.levels, declared
    if first.kind == ORDERED:
        raise ValueError(
            f"Column {first.name!r} is an ordered category whose levels differ between parts of the rows; "
            "declare the same levels in all parts."
        )
    return sorted({level for part in known for level in part.levels or []}, key=str), declared
