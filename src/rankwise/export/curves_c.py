"""Sums of curves as a C function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwise.curves.axis import Axis
from rankwise.export.c import check_function_name, comment
from rankwise.export.curves import Table, table_scorer

# How many knots a value has reached, by halving; and the entry, or the value of the curve, that it meets.
FUNCTIONS = {
    "entry": """static long {name}_entry(const double *knots, long n, double value)
{{
    long low = 0, high = n;
    while (low < high) {{
        long half = low + (high - low) / 2;
        if (knots[half] <= value) low = half + 1; else high = half;
    }}
    return low;
}}
""",
    "steps": """static long {name}_steps(const double *knots, long n, double value)
{{
    return value != value ? n + 1 : {name}_entry(knots, n, value);
}}
""",
    "level": """static long {name}_level(const double *knots, long n, double value)
{{
    long after = {name}_entry(knots, n, value);
    return after > 0 && knots[after - 1] == value ? after - 1 : n;
}}
""",
    "line": """static double {name}_line(const double *knots, long n, double value, const double *values)
{{
    long after;
    double left, right, score;
    if (value != value) return values[n];
    after = {name}_entry(knots, n, value);
    if (after == 0) return values[0];
    if (after == n) return values[n - 1];
    left = values[after - 1];
    right = values[after];
    score = left + (value - knots[after - 1]) / (knots[after] - knots[after - 1]) * (right - left);
    return (left <= right ? score > right : score < right) ? right : score;
}}
""",
}


def c_tables(
    model: Any,
    *,
    format: str = "c",
    feature_names: Sequence[str] | None = None,
    model_name: str = "rankwise_model",
    output: int | None = None,
) -> str:
    """Return C source (C90 and later, and C++) of `double <model_name>(const double *x)`, the score of a row.

    `x` holds the features in the order of the fit, NaN for a missing value, and of a column of categories the
    place of the category among those of the fit, which stand in a comment. The numbers are exact.
    """
    check_function_name(model_name)
    scorer = table_scorer(model, feature_names, output)
    n = len(scorer.names)
    data, terms = [], []
    for number, table in enumerate(scorer.tables):
        names = " and ".join(comment(scorer.names[place]) for place in table.places)
        listed = [scorer.categories.get(place) for place in table.places]
        levels = "".join(f": {comment(', '.join(map(str, names)))}" for names in listed if names)
        data += [_array(f"values_{number}", table.values.ravel())]
        data += [_array(f"knots_{number}_{d}", axis.knots) for d, axis in enumerate(table.axes)]
        terms += [f"    score += {_term(model_name, number, table)}; /* {names}{levels} */\n"]
    return (
        f"/* The score of a row of {n} features; a higher score ranks higher. Written by rankwise. */\n"
        f"{_functions(model_name, scorer.tables)}double {model_name}(const double *x)\n{{\n{''.join(data)}"
        f"    double score = 0.0;\n{''.join(terms)}    return score;\n}}\n"
    )


def _functions(name: str, tables: list[Table]) -> str:
    """Return the functions that are called: compilers warn of others."""
    find = {"steps": "steps", "levels": "level", "lines": "line"}
    used = {find[axis.kind] for table in tables for axis in table.axes}
    chosen = [text for key, text in FUNCTIONS.items() if key in used or (key == "entry" and used)]
    return "".join(text.format(name=name) + "\n" for text in chosen)


def _term(name: str, number: int, table: Table) -> str:
    """Return the expression of what one table adds."""
    if table.axes[0].kind == "lines":
        knots, place = f"knots_{number}_0", table.places[0]
        return f"{name}_line({knots}, {len(table.axes[0].knots)}, x[{place}], values_{number})"
    entries = [
        _entry(name, f"knots_{number}_{d}", axis, place)
        for d, (axis, place) in enumerate(zip(table.axes, table.places, strict=True))
    ]
    if len(entries) == 1:
        return f"values_{number}[{entries[0]}]"
    return f"values_{number}[{entries[0]} * {table.axes[1].size} + {entries[1]}]"


def _entry(name: str, knots: str, axis: Axis, place: int) -> str:
    find = "level" if axis.kind == "levels" else "steps"
    return f"{name}_{find}({knots}, {len(axis.knots)}, x[{place}])"


def _array(title: str, numbers: Any) -> str:
    """Return an array, which C wants to have an entry."""
    values = ", ".join(map(repr, numbers.tolist() or [0.0]))
    return f"    static const double {title}[{max(len(numbers), 1)}] = {{{values}}};\n"
