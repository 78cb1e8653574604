"""Linear models and sums of curves as a C function."""

from __future__ import annotations

import json
import re

from rankwise.core.types import FloatArray
from rankwise.functions.curve_axis import Axis
from rankwise.io.terms import Table, Terms

# The keywords of C, each between blanks, as one text to search.
KEYWORDS = (
    " auto break case char const continue default do double else enum extern float for goto if inline "
    "int long main register restrict return short signed sizeof static struct switch typedef union "
    "unsigned void volatile while "
)

# `entry` counts the knots that are at most a value, by bisection; the others return the index of the entry of
# a value, or the value of a curve.
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


def c_source(terms: Terms, model_name: str) -> str:
    """Return C source (C90 and later, and C++) of `double <model_name>(const double *x)`, the score of a row.

    `x` holds the raw features in the order of the fit; scalers are part of the function. For curves, NaN is a
    missing value, and a categorical column holds the index of the category among those of the fit, which are
    listed in a comment. The numbers are exact. The names of the features are in comments.
    """
    check_function_name(model_name)
    weighted_data, weighted = _weighted_sum(terms) if terms.coef.size else ("", "")
    table_data, tables = _table_sum(terms, model_name)
    statements = weighted + tables or "    (void)x;\n"  # compilers warn of an unused parameter
    return (
        f"/* The score of a row of {len(terms.names)} features; a higher score ranks higher. "
        "Written by rankwise. */\n"
        f"{_functions(model_name, terms.tables)}double {model_name}(const double *x)\n{{\n"
        f"{weighted_data}{table_data}    double score = 0.0;\n{statements}    return score;\n}}\n"
    )


def check_function_name(name: str) -> None:
    """Refuse a name that C does not accept for a function."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or f" {name} " in KEYWORDS:
        raise ValueError(
            f"model_name must be a name that C accepts for a function (letters, digits and _); got {name!r}."
        )


def _weighted_sum(terms: Terms) -> tuple[str, str]:
    """Return the arrays and the loop of a linear model."""
    n = len(terms.coef)
    data, steps = [_long_array("weight", terms.coef, terms.names)], []
    for number, scaling in enumerate(terms.scalings, start=1):
        shift, scale = f"shift_{number}", f"scale_{number}"
        data += [_long_array(shift, scaling.shift), _long_array(scale, scaling.scale)]
        change = (
            f"value * {scale}[i] + {shift}[i]" if scaling.min_max else f"(value - {shift}[i]) / {scale}[i]"
        )
        steps.append(f"        value = {change};\n")
    loop = (
        f"    long i;\n    for (i = 0; i < {n}; i++) {{\n        double value = x[i];\n{''.join(steps)}"
        "        score += weight[i] * value;\n    }\n"
    )
    return "".join(data), loop


def _long_array(title: str, numbers: FloatArray, names: list[str] | None = None) -> str:
    """Return an array with one number per line, each with the name of its feature in a comment."""
    comments = ["" if names is None else f" /* {comment(names[k])} */" for k in range(len(numbers))]
    lines = [f"        {value!r},{note}\n" for value, note in zip(numbers.tolist(), comments, strict=True)]
    return f"    static const double {title}[{len(lines)}] = {{\n{''.join(lines)}    }};\n"


def comment(name: str) -> str:
    """Return a name as plain ASCII that neither ends nor begins a comment."""
    return json.dumps(name)[1:-1].replace("*/", "* /").replace("/*", "/ *")


def _table_sum(terms: Terms, model_name: str) -> tuple[str, str]:
    """Return the arrays and the statements of a sum of tables."""
    data, statements = [], []
    for number, table in enumerate(terms.tables):
        names = " and ".join(comment(terms.names[column]) for column in table.columns)
        listed = [terms.categories.get(column) for column in table.columns]
        levels = "".join(f": {comment(', '.join(map(str, names)))}" for names in listed if names)
        data += [_array(f"values_{number}", table.values.ravel())]
        data += [_array(f"knots_{number}_{d}", axis.knots) for d, axis in enumerate(table.axes)]
        statements += [f"    score += {_table_value(model_name, number, table)}; /* {names}{levels} */\n"]
    return "".join(data), "".join(statements)


def _functions(name: str, tables: list[Table]) -> str:
    """Return the functions that are called; compilers warn of unused ones."""
    find = {"steps": "steps", "levels": "level", "lines": "line"}
    used = {find[axis.kind] for table in tables for axis in table.axes}
    chosen = [text for key, text in FUNCTIONS.items() if key in used or (key == "entry" and used)]
    return "".join(text.format(name=name) + "\n" for text in chosen)


def _table_value(name: str, number: int, table: Table) -> str:
    """Return the expression of the value of one table."""
    if table.axes[0].kind == "lines":
        knots, column = f"knots_{number}_0", table.columns[0]
        return f"{name}_line({knots}, {len(table.axes[0].knots)}, x[{column}], values_{number})"
    entries = [
        _entry(name, f"knots_{number}_{d}", axis, column)
        for d, (axis, column) in enumerate(zip(table.axes, table.columns, strict=True))
    ]
    if len(entries) == 1:
        return f"values_{number}[{entries[0]}]"
    return f"values_{number}[{entries[0]} * {table.axes[1].size} + {entries[1]}]"


def _entry(name: str, knots: str, axis: Axis, column: int) -> str:
    find = "level" if axis.kind == "levels" else "steps"
    return f"{name}_{find}({knots}, {len(axis.knots)}, x[{column}])"


def _array(title: str, numbers: FloatArray) -> str:
    """Return an array on one line; C requires at least one number."""
    values = ", ".join(map(repr, numbers.tolist() or [0.0]))
    return f"    static const double {title}[{max(len(numbers), 1)}] = {{{values}}};\n"
