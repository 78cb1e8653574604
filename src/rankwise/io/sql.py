"""Linear models and sums of curves as a SQL expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from rankwise.core.checks import check_choice
from rankwise.core.types import FloatArray
from rankwise.estimators.scaling import folded
from rankwise.functions.curve_axis import Axis
from rankwise.io.terms import Table, Terms

# The closing quote of each opening one; it is doubled inside a name.
QUOTES = {'"': '"', "`": "`", "[": "]"}


def sql_expression(
    terms: Terms, model_name: str = "", *, quote: str = '"', pair: Sequence[str] | None = None
) -> str:
    """Return the score of a row as an expression over columns, for `SELECT` or `ORDER BY ... DESC`.

    The names of the features are the names of the columns, always in quotes: `quote` is '"' for the standard
    (PostgreSQL, SQLite, Oracle, DuckDB, Snowflake), "`" for MySQL and BigQuery and "[" for SQL Server. Names
    with a backslash are refused within "`": in BigQuery it begins an escape, which could end the name.
    Scalers are part of the expression. A feature with weight zero is omitted; a NULL in any other column of a
    linear model makes the score NULL.

    A curve is a CASE expression; NULL is a missing value, and categorical columns hold the categories.

    With `pair`, the names that two rows have in the `FROM` clause, such as ("a", "b"), it is the probability
    that the first is above the second, for `RankLogistic`.
    """
    check_choice(quote, "quote", QUOTES)
    if pair is not None:
        return _probability(terms, quote, pair)
    weighted = [_weighted(terms, k, quote) for k, weight in enumerate(terms.coef.tolist()) if weight != 0]
    return _sum(weighted + [_case(terms, table, quote) for table in terms.tables])


def _weighted(terms: Terms, k: int, quote: str) -> str:
    value = _quoted(terms.names[k], quote)
    for scaling in terms.scalings:
        shift, scale = _number(scaling.shift[k]), _number(scaling.scale[k])
        value = f"({value} * {scale} + {shift})" if scaling.min_max else f"(({value} - {shift}) / {scale})"
    return f"{_number(terms.coef[k])} * {value}"


def _probability(terms: Terms, quote: str, pair: Sequence[str]) -> str:
    """Return 1 / (1 + exp(-d)) for the difference d of two scores, in which the shifts of scalers cancel."""
    if terms.tables or not hasattr(terms.ranker, "predict_pair_proba"):
        raise ValueError(f"pair needs a linear model with probabilities, RankLogistic; got {terms.ranker!r}.")
    if isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"pair must be two names, such as ('a', 'b'); got {pair!r}.")
    first, second = (_quoted(name, quote) for name in pair)
    weights, _ = folded(terms.coef, terms.scalings)
    differences = [
        f"{_number(weight)} * ({first}.{name} - {second}.{name})"
        for name, weight in zip((_quoted(n, quote) for n in terms.names), weights, strict=True)
        if weight != 0
    ]
    # Databases refuse the exponential of a large number. MySQL and SQL Server have no hyperbolic tangent.
    if quote == '"':
        return f"0.5 + 0.5 * TANH(0.5 * ({_sum(differences)}))"
    return f"1.0 / (1.0 + EXP(-GREATEST(-700.0, LEAST(700.0, {_sum(differences)}))))"


def _case(terms: Terms, table: Table, quote: str) -> str:
    if len(table.axes) == 1:
        return _branches(terms, table, 0, quote, lambda k: _number(table.values[k]))

    def inner(row: int) -> str:
        values = table.values[row]
        if np.ptp(values) == 0:
            return _number(values[0])
        return _branches(terms, table, 1, quote, lambda k: _number(values[k]))

    return _branches(terms, table, 0, quote, inner)


def _branches(terms: Terms, table: Table, dimension: int, quote: str, value: Callable[[int], str]) -> str:
    """Return a CASE over the entries of one feature."""
    axis, number = table.axes[dimension], table.columns[dimension]
    name, column = terms.names[number], _quoted(terms.names[number], quote)
    if axis.kind == "levels":
        known = terms.categories.get(number)
        levels = [knot if known is None else known[int(knot)] for knot in axis.knots.tolist()]
        parts = [
            f"WHEN {column} = {_literal(level, name, quote)} THEN {value(k)}"
            for k, level in enumerate(levels)
        ]
        return f"CASE {' '.join(parts)} ELSE {value(axis.missing)} END"
    parts = [f"WHEN {column} IS NULL THEN {value(axis.missing)}"]
    ends = axis.knots.tolist()
    parts += [f"WHEN {column} < {_number(end)} THEN {value(k)}" for k, end in enumerate(ends)]
    if axis.kind == "lines":
        parts[2:] = _line_branches(axis, table.values, column)
    return f"CASE {' '.join(parts)} ELSE {value(axis.missing - 1)} END"


def _line_branches(axis: Axis, values: FloatArray, column: str) -> list[str]:
    """Return the branches that interpolate between two knots."""
    ends = axis.knots.tolist()
    slopes = (np.diff(values[:-1]) / np.diff(axis.knots)).tolist()
    return [
        f"WHEN {column} < {_number(ends[k + 1])} THEN {_number(values[k])} + {_number(slope)} * "
        f"({column} - {_number(ends[k])})"
        for k, slope in enumerate(slopes)
    ]


def _literal(level: Any, name: str, quote: str) -> str:
    """Return a category; integers are not rounded to double precision."""
    if isinstance(level, str):
        return _text(level, quote)
    if not isinstance(level, Real):
        raise ValueError(
            f"Format 'sql' supports categories that are strings or numbers; those of {name!r} have type "
            f"{type(level).__name__}."
        )
    is_integer = isinstance(level, Integral) and not isinstance(level, bool)
    return f"{level}" if is_integer else _number(float(level))


def _sum(terms: list[str]) -> str:
    """Return the sum of expressions, zero if there are none."""
    if len(terms) <= 100:
        return " + ".join(terms) or "0.0"
    # Databases limit the depth of expressions, and in a plain sum it grows with every term.
    step = math.isqrt(len(terms)) + 1
    groups = [terms[start : start + step] for start in range(0, len(terms), step)]
    return " +\n".join(f"({' + '.join(group)})" for group in groups)


def _quoted(name: str, quote: str) -> str:
    """Return the name of a column in quotes.

    Examples
    --------
    >>> print(_quoted('the "best" one', '"'))
    "the ""best"" one"
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a column.")
    if quote == "`" and "\\" in name:
        raise ValueError(
            f"{name!r} has a backslash, by which BigQuery could read the rest of the name as SQL; rename the "
            "column, or take another quote."
        )
    end = QUOTES[quote]
    return quote + name.replace(end, 2 * end) + end


def _number(number: float) -> str:
    """Return a number that every database reads in double precision."""
    text = repr(float(number))
    text = text if "." in text or "e" not in text else text.replace("e", ".0e")
    return f"({text})" if text.startswith("-") else text


def _text(text: str, quote: str) -> str:
    """Return a string literal, in the syntax of the databases that use this quote for columns.

    Examples
    --------
    >>> print(_text("it's", '"'), _text("it's", "`"))
    'it''s' 'it\\'s'
    """
    if quote != "`":
        return "'" + text.replace("'", "''") + "'"
    # In MySQL and BigQuery a backslash begins an escape; unescaped, it could end the literal.
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
