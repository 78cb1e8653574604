"""Linear models as a C function."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from rankwise.core.types import FloatArray
from rankwise.export.linear import linear_scorer

# As one text to search in: the words of the language, each between blanks.
KEYWORDS = (
    " auto break case char const continue default do double else enum extern float for goto if inline "
    "int long main register restrict return short signed sizeof static struct switch typedef union "
    "unsigned void volatile while "
)


def c_source(
    model: Any,
    *,
    format: str = "c",
    feature_names: Sequence[str] | None = None,
    model_name: str = "rankwise_model",
    output: int | None = None,
) -> str:
    """Return C source (C90 and later, and C++) of `double <model_name>(const double *x)`, the score of a row.

    `x` holds the raw features in the order of the fit; scalers are part of the function. The numbers are
    exact. The names of the features stand in comments.
    """
    check_function_name(model_name)
    scorer = linear_scorer(model, format, feature_names, output)
    tables = [_table("weight", scorer.weights, scorer.names)]
    steps = []
    for number, scaling in enumerate(scorer.scalings, start=1):
        shift, scale = f"shift_{number}", f"scale_{number}"
        tables += [_table(shift, scaling.shift), _table(scale, scaling.scale)]
        change = (
            f"value * {scale}[i] + {shift}[i]" if scaling.min_max else f"(value - {shift}[i]) / {scale}[i]"
        )
        steps.append(f"        value = {change};\n")
    n = len(scorer.weights)
    return (
        f"/* The score of a row of {n} features; a higher score ranks higher. Written by rankwise. */\n"
        f"double {model_name}(const double *x)\n{{\n{''.join(tables)}"
        f"    double score = 0.0;\n    long i;\n"
        f"    for (i = 0; i < {n}; i++) {{\n        double value = x[i];\n{''.join(steps)}"
        f"        score += weight[i] * value;\n    }}\n    return score;\n}}\n"
    )


def check_function_name(name: str) -> None:
    """Refuse a name that C does not accept for a function."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or f" {name} " in KEYWORDS:
        raise ValueError(
            f"model_name must be a name that C accepts for a function (letters, digits and _); got {name!r}."
        )


def _table(title: str, numbers: FloatArray, names: list[str] | None = None) -> str:
    values = [repr(number) for number in numbers.tolist()]
    if names is None:
        lines = [f"        {value},\n" for value in values]
    else:
        pairs = zip(values, names, strict=True)
        lines = [f"        {value}, /* {comment(name)} */\n" for value, name in pairs]
    return f"    static const double {title}[{len(values)}] = {{\n{''.join(lines)}    }};\n"


def comment(name: str) -> str:
    """Return a name as plain ASCII that neither ends a comment nor begins one."""
    return json.dumps(name)[1:-1].replace("*/", "* /").replace("/*", "/ *")
