"""Sums of curves as a SQL expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from rankwise.core.checks import check_choice
from rankwise.curves.axis import Axis
from rankwise.export.curves import Table, TableScorer, table_scorer
from rankwise.export.sql import QUOTES, quoted, sql_number, sql_sum, sql_text


def sql_tables(
    model: Any,
    *,
    format: str = "sql",
    feature_names: Sequence[str] | None = None,
    model_name: str = "",
    output: int | None = None,
    quote: str = '"',
) -> str:
    """Return the score of a row as a sum of CASE expressions over columns; NULL is a missing value.

    The names of the features are the names of the columns, always in quotes, as for linear models. Columns of
    categories hold the categories themselves.
    """
    check_choice(quote, "quote", QUOTES)
    scorer = table_scorer(model, feature_names, output)
    return sql_sum([_case(scorer, table, quote) for table in scorer.tables])


def _case(scorer: TableScorer, table: Table, quote: str) -> str:
    if len(table.axes) == 1:
        return _branches(scorer, table, 0, quote, lambda k: sql_number(table.values[k]))

    def inner(row: int) -> str:
        values = table.values[row]
        return sql_number(values[0]) if np.ptp(values) == 0 else _branches(
            scorer, table, 1, quote, lambda k: sql_number(values[k])
        )  # fmt: skip

    return _branches(scorer, table, 0, quote, inner)


def _branches(
    scorer: TableScorer, table: Table, dimension: int, quote: str, value: Callable[[int], str]
) -> str:
    """Return a CASE over the entries of one feature."""
    axis, place = table.axes[dimension], table.places[dimension]
    name, column = scorer.names[place], quoted(scorer.names[place], quote)
    if axis.kind == "levels":
        known = scorer.categories.get(place)
        levels = [knot if known is None else known[int(knot)] for knot in axis.knots.tolist()]
        parts = [
            f"WHEN {column} = {_literal(level, name, quote)} THEN {value(k)}"
            for k, level in enumerate(levels)
        ]
        return f"CASE {' '.join(parts)} ELSE {value(axis.missing)} END"
    parts = [f"WHEN {column} IS NULL THEN {value(axis.missing)}"]
    ends = axis.knots.tolist()
    parts += [f"WHEN {column} < {sql_number(end)} THEN {value(k)}" for k, end in enumerate(ends)]
    if axis.kind == "lines":
        parts[2:] = _line_branches(axis, table.values, column)
    return f"CASE {' '.join(parts)} ELSE {value(axis.missing - 1)} END"


def _line_branches(axis: Axis, values: Any, column: str) -> list[str]:
    """Return the branches between two knots."""
    ends = axis.knots.tolist()
    slopes = (np.diff(values[:-1]) / np.diff(axis.knots)).tolist()
    return [
        f"WHEN {column} < {sql_number(ends[k + 1])} THEN {sql_number(values[k])} + {sql_number(slope)} * "
        f"({column} - {sql_number(ends[k])})"
        for k, slope in enumerate(slopes)
    ]


def _literal(level: Any, name: str, quote: str) -> str:
    """Return a category; whole numbers are not rounded to double precision."""
    if isinstance(level, str):
        return sql_text(level, quote)
    if not isinstance(level, Real):
        raise ValueError(
            f"Format 'sql' holds categories that are texts or numbers; those of {name!r} are of type "
            f"{type(level).__name__}."
        )
    is_whole = isinstance(level, Integral) and not isinstance(level, bool)
    return f"{level}" if is_whole else sql_number(float(level))
