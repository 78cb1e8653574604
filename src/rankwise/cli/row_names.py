"""The names of rows: document ids in comments of LETOR files, or a column of a table."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from rankwise.io.tables import Table

_DOCUMENT = re.compile(r"\bdocid\s*=\s*(\S+)")


def add_id_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the column of names."""
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        help="column of the names of rows, such as document ids (tables); svmlight files have them "
        "in comments such as '#docid = GX229-87'",
    )
    parser.set_defaults(row_names=True)


def id_column(options: argparse.Namespace) -> str | None:
    """Return the column of names, which is no feature."""
    column: str | None = getattr(options, "id", None)
    return column


def has_row_names(options: argparse.Namespace) -> bool:
    """Return whether a command uses the names of rows."""
    return bool(getattr(options, "row_names", False))


def document_ids(comments: Sequence[str] | None) -> list[str] | None:
    """Return the document ids of LETOR comments, None unless each row has one.

    Examples
    --------
    >>> document_ids(["docid = GX229-87 inc = 1 prob = 0.3", "docid=GX016-32"]), document_ids(["x"])
    (['GX229-87', 'GX016-32'], None)
    """
    found = [_DOCUMENT.search(comment) for comment in comments or ()]
    names = [match.group(1) for match in found if match is not None]
    return names if names and len(names) == len(found) else None


def names_of_rows(tables: Sequence[Table], column: str | None) -> list[str] | None:
    """Return the entries of the column of names in all tables, None without such a column."""
    if column is None:
        return None
    names: list[str] = []
    for table in tables:
        values = table.columns[column].values()
        if None in values:
            raise ValueError(f"{table.place(values.index(None))}: the column {column!r} of --id is empty.")
        names += map(str, values)
    return names
