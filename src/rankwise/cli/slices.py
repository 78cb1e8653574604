"""The columns by which a report divides its queries or rows."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from rankwise.cli.arguments import names
from rankwise.io.table_formats import is_table
from rankwise.io.tables import read_text_columns


def add_slice_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the columns."""
    parser.add_argument(
        "--slice",
        type=names,
        metavar="A,B,...",
        help="columns that divide queries or rows, such as a topic: the first measure is shown for each "
        "value, or for quartiles of numbers (tables: any column; svmlight files: features, such as f3)",
    )


def given_slices(options: argparse.Namespace, X: Any) -> Any:
    """Return the columns of tables by name, the names of features of other files, or None."""
    if options.slice is None or not is_table(options.data[0]):
        return options.slice
    columns = _columns(options)
    for name, values in columns.items():
        if len(values) != X.shape[0]:
            raise ValueError(
                f"The column {name!r} of --slice has {len(values)} entries, but the data has {X.shape[0]} "
                "rows."
            )
    return {name: _numbers_or_words(values) for name, values in columns.items()}


def _columns(options: argparse.Namespace) -> dict[str, list[Any]]:
    """Return the columns of all tables as they are written."""
    chosen = list(dict.fromkeys(options.slice))
    tables = [read_text_columns(path, chosen, getattr(options, "sep", None)) for path in options.data]
    return {name: [value for one in tables for value in one[name]] for name in chosen}


def _numbers_or_words(values: list[Any]) -> Any:
    """Return numbers if all entries are numbers or empty, else words.

    Examples
    --------
    >>> _numbers_or_words(["1", None, "2.5"]), _numbers_or_words(["web", None])
    (array([1. , nan, 2.5]), array(['web', 'missing'], dtype='<U7'))
    """
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except ValueError:
        return np.array(["missing" if value is None else str(value) for value in values])
