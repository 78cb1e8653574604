"""Linear models as a SQL expression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rankwise.core.checks import check_choice
from rankwise.core.pipelines import last_step
from rankwise.export.linear import LinearScorer, linear_scorer

# What ends a name, by what begins it: doubled inside the name.
QUOTES = {'"': '"', "`": "`", "[": "]"}


def sql_expression(
    model: Any,
    *,
    format: str = "sql",
    feature_names: Sequence[str] | None = None,
    model_name: str = "",
    output: int | None = None,
    quote: str = '"',
    pair: Sequence[str] | None = None,
) -> str:
    """Return the score of a row as an expression over columns, for `SELECT` or `ORDER BY ... DESC`.

    The names of the features are the names of the columns, always in quotes: `quote` is '"' for the standard
    (PostgreSQL, SQLite, Oracle, DuckDB, Snowflake), "`" for MySQL and BigQuery and "[" for SQL Server.
    Scalers are part of the expression. A feature with weight zero is left out; a NULL in any other column
    makes the score NULL.

    With `pair`, the names that two rows have in the `FROM` clause, such as ("a", "b"), it is the probability
    that the first is above the second, for `RankLogistic`.
    """
    check_choice(quote, "quote", QUOTES)
    scorer = linear_scorer(model, format, feature_names, output)
    if pair is not None:
        return _probability(model, scorer, quote, pair)
    return sql_sum(
        [_term(scorer, k, quote) for k, weight in enumerate(scorer.weights.tolist()) if weight != 0]
    )


def _probability(model: Any, scorer: LinearScorer, quote: str, pair: Sequence[str]) -> str:
    """Return 1 / (1 + exp(-d)) of the difference of two scores, in which the shifts of scalers cancel."""
    if not hasattr(last_step(model), "predict_pair_proba"):
        raise ValueError(f"pair needs a model with probabilities, RankLogistic; got {last_step(model)!r}.")
    if isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"pair must be two names, such as ('a', 'b'); got {pair!r}.")
    first, second = (quoted(name, quote) for name in pair)
    terms = [
        f"{sql_number(weight)} * ({first}.{name} - {second}.{name})"
        for name, weight in zip((quoted(n, quote) for n in scorer.names), scorer.folded()[0], strict=True)
        if weight != 0
    ]
    # Databases refuse the exponential of a large number. MySQL and SQL Server have no hyperbolic tangent.
    if quote == '"':
        return f"0.5 + 0.5 * TANH(0.5 * ({sql_sum(terms)}))"
    return f"1.0 / (1.0 + EXP(-GREATEST(-700.0, LEAST(700.0, {sql_sum(terms)}))))"


def sql_sum(terms: list[str]) -> str:
    """Return the sum of expressions, zero where there is none."""
    if len(terms) <= 100:
        return " + ".join(terms) or "0.0"
    # Databases limit how deep an expression nests, and a plain sum nests once a term.
    step = math.isqrt(len(terms)) + 1
    groups = [terms[start : start + step] for start in range(0, len(terms), step)]
    return " +\n".join(f"({' + '.join(group)})" for group in groups)


def _term(scorer: LinearScorer, k: int, quote: str) -> str:
    value = quoted(scorer.names[k], quote)
    for scaling in scorer.scalings:
        shift, scale = sql_number(scaling.shift[k]), sql_number(scaling.scale[k])
        value = f"({value} * {scale} + {shift})" if scaling.min_max else f"(({value} - {shift}) / {scale})"
    return f"{sql_number(scorer.weights[k])} * {value}"


def quoted(name: str, quote: str) -> str:
    """Return the name of a column in quotes.

    Examples
    --------
    >>> print(quoted('the "best" one', '"'))
    "the ""best"" one"
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a column.")
    end = QUOTES[quote]
    return quote + name.replace(end, 2 * end) + end


def sql_number(number: float) -> str:
    """Return a number that every database reads as one of double precision."""
    text = repr(float(number))
    text = text if "." in text or "e" not in text else text.replace("e", ".0e")
    return f"({text})" if text.startswith("-") else text


def sql_text(text: str, quote: str) -> str:
    """Return a text in quotes, in the manner of the databases that quote columns so.

    Examples
    --------
    >>> print(sql_text("it's", '"'), sql_text("it's", "`"))
    'it''s' 'it\\'s'
    """
    if quote != "`":
        return "'" + text.replace("'", "''") + "'"
    # In MySQL and BigQuery a backslash begins an escape: left alone, it would let a text end its quotes.
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
