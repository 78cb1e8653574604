"""Logs of clicks in place of labels: options, reading and the report of the propensities."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from rankwise.cli.arguments import POSITIVE, UsageError
from rankwise.core.text import plural
from rankwise.io.tables import read_text_columns
from rankwise.preferences import Preferences

# The options that name columns of the log, besides --qid.
COLUMNS = ("clicked", "position", "impression", "document")


def add_click_options(parser: Any) -> None:
    """Add the options of logs of clicks."""
    group = parser.add_argument_group("clicks instead of labels (tables)")
    group.add_argument(
        "--clicked",
        metavar="COLUMN",
        help="column of the clicks (1 or 0) on rows that were shown, instead of --label; needs --position "
        "and --qid",
    )
    group.add_argument(
        "--position", metavar="COLUMN", help="column of the position of each row, 1 for the first of its list"
    )
    group.add_argument(
        "--impression",
        metavar="COLUMN",
        help="column of the list in which a row was shown, such as a session (default: each query was shown "
        "once)",
    )
    group.add_argument(
        "--document",
        metavar="COLUMN",
        help="column of the document of each row, from which --propensity estimate learns",
    )
    group.add_argument(
        "--propensity",
        metavar="estimate|none|COLUMN",
        help="the probability that a position is examined, by whose inverse clicks are weighted: estimated "
        "(the default with --document), not used, or a column",
    )
    group.add_argument(
        "--clip", type=POSITIVE, metavar="WEIGHT", help="largest weight of a click (default: no bound)"
    )


def click_columns(options: argparse.Namespace) -> list[str]:
    """Return the columns of a log that are not features; none if there are no clicks."""
    if getattr(options, "clicked", None) is None:
        return []
    named = [getattr(options, name) for name in (*COLUMNS, "qid")]
    if options.propensity not in (None, "estimate", "none"):
        named.append(options.propensity)
    return [name for name in named if name is not None]


def click_preferences(options: argparse.Namespace, qid: Any, X: Any) -> Any:
    """Return the preferences of the log; X has its features if these are numbers."""
    columns = {name: getattr(options, name) for name in COLUMNS}
    rule = options.propensity or ("none" if options.document is None else "estimate")
    if rule not in ("none", "estimate"):
        columns["propensity"] = rule
    if rule == "estimate" and options.document is None and X is None:
        raise UsageError("--propensity estimate needs --document, or features that are numbers.")
    texts = read_columns(options, [name for name in columns.values() if name is not None])
    given = {name: texts[column] for name, column in columns.items() if column is not None}
    for name in ("clicked", "position", "propensity"):
        if name in given:
            given[name] = as_numbers(given[name], columns[name], name)
    propensity = given.pop("propensity", "estimate" if rule == "estimate" else None)
    return Preferences.from_clicks(
        given.pop("clicked"),
        given.pop("position"),
        qid,
        X=X if options.document is None else None,
        propensity=propensity,
        clip=options.clip,
        **given,
    )


def read_columns(options: argparse.Namespace, names: list[str]) -> dict[str, list[Any]]:
    """Read columns of all tables as text; refuse missing values."""
    from rankwise.cli.data import separator_of

    found: dict[str, list[Any]] = {name: [] for name in names}
    for path in options.data:
        for name, values in read_text_columns(path, list(found), separator_of(options)).items():
            if None in values:
                raise ValueError(f"{path}, row {values.index(None) + 1}: the column {name!r} is empty.")
            found[name] += values
    return found


def as_numbers(values: list[Any], column: str, name: str) -> Any:
    """Return a column of a log as numbers."""
    words = {"true": 1.0, "false": 0.0} if name == "clicked" else {}
    numbers = []
    for row, value in enumerate(values, 1):
        try:
            numbers.append(words[word] if (word := str(value).lower()) in words else float(value))
        except ValueError:
            raise ValueError(
                f"Row {row}: the column {column!r} of --{name} has {str(value)[:40]!r}, not a number."
            ) from None
    return np.array(numbers, dtype=np.float64)


def click_values(preferences: Any) -> dict[str, Any]:
    """Return the summary of clicks for machines; empty for other preferences."""
    if not hasattr(preferences, "effective_sample_size"):
        return {}
    values = {
        "clicks": preferences.n_clicks,
        "effective_clicks": preferences.effective_sample_size,
        "clipped_fraction": preferences.clipped_fraction,
    }
    curve = preferences.propensities
    if curve is not None:
        names = ("position", "value", "low", "high", "linked", "method")
        values["propensities"] = {name: getattr(curve, name) for name in names}
    return {"click_log": values}


def click_lines(preferences: Any) -> list[str]:
    """Return the summary of clicks for people."""
    if not hasattr(preferences, "effective_sample_size"):
        return []
    clipped = ""
    if preferences.clipped_fraction:
        clipped = f", {100 * preferences.clipped_fraction:.1f}% of weights clipped"
    effective = f"{preferences.effective_sample_size:.0f}"
    lines = [f"{plural(preferences.n_clicks, 'click')}, worth {effective} of equal weight{clipped}"]
    return (
        lines if preferences.propensities is None else [*lines, *str(preferences.propensities).splitlines()]
    )
