"""Tables as partitions: columns by name, the same in all parts, as numbers or as frames with words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.core.text import listing
from rankwise.data.columns import BOOLEAN, NUMBER
from rankwise.distributed.file_parts import FilePart
from rankwise.io.table_columns import WORDS, ColumnKind, TextColumn, is_gap, number_of
from rankwise.io.table_formats import NotNumbersError, TableError
from rankwise.io.tables import (
    Part,
    Roles,
    Table,
    check_present,
    feature_columns,
    read_columns,
    read_table,
    table_columns,
)


class TableColumns(NamedTuple):
    """The columns to read of each part of a table.

    `kinds` are those of features with strings or missing values, of which `words` are taken as categories;
    None for numbers.
    """

    label: str
    qid: str | None
    features: tuple[str, ...]
    words: tuple[str, ...] = ()
    kinds: tuple[ColumnKind, ...] | None = None


def table_options(
    parts: list[FilePart],
    tables: list[list[str]],
    label: str,
    qid: str | None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> TableColumns:
    """Return the columns to read of each part: the features given, or those of the first part.

    All parts must have them, and by default no others.
    """
    if qid == "auto":
        qid = "qid" if all("qid" in columns for columns in tables) else None
        if qid is None and any("qid" in columns for columns in tables):
            raise ValueError(
                "Some of the tables have a column 'qid', others have not; name the column of the queries."
            )
    if isinstance(features, str):
        raise ValueError(f"features must be a sequence of column names; got the string {features!r}.")
    others = [label, qid, *exclude]
    if features is None:
        check_present(parts[0].path, exclude, tables[0])
        feature_columns(parts[0].path, others)  # refuses a column without a name
    chosen = [name for name in tables[0] if name not in others] if features is None else list(features)
    for part, columns in zip(parts, tables, strict=True):
        surplus = [name for name in columns if name not in tables[0]]
        if surplus and features is None:
            raise ValueError(f"{part.path} has the column {listing(surplus)}, which {parts[0].path} has not.")
        check_present(part.path, [label, *([qid] if qid else []), *chosen], columns)
    return TableColumns(label, qid, tuple(chosen))


def load_numbers(part: FilePart, columns: TableColumns) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, queries and names of features; refuse strings and missing values."""
    folders, own = _split(part, columns)
    qid = None if columns.qid in folders else columns.qid
    data = read_table(part.path, label=columns.label, qid=qid, features=own, rows=part.rows)
    X = data.X
    if len(own) < len(columns.features):
        X = np.empty((len(data.X), len(columns.features)))
        for place, name in enumerate(columns.features):
            X[:, place] = (
                _folder_number(part, name, folders) if name in folders else data.X[:, own.index(name)]
            )
    return X, data.y, _queries(data.qid, columns.qid, folders, len(X)), list(columns.features)


def load_mixed(part: FilePart, columns: TableColumns) -> tuple[Any, Any, Any, Any]:
    """Return rows as a frame of the kinds of all parts, labels, queries and the names of the features."""
    table, y, qid = read_part(part, columns)
    return table.typed(columns.kinds or (), columns.words), y, qid, list(columns.features)


def part_kinds(part: FilePart, columns: TableColumns) -> list[ColumnKind | None]:
    """Return the kinds of the features of a part; None for a feature without values."""
    return read_part(part, columns)[0].kinds(columns.words)


def read_part(part: FilePart, columns: TableColumns) -> tuple[Table, Any, Any]:
    """Return the features of a part as they stand in the file, labels and queries."""
    folders, present = _split(part, columns)
    roles = Roles(columns.label, None if columns.qid in folders else columns.qid, [])
    table = read_columns(part.path, [*roles.wanted, *present], rows=part.rows)
    outcomes = roles.read(table)
    n_rows = len(outcomes.X)
    fields = {
        name: TextColumn([folders[name]] * n_rows) if name in folders else table.columns[name]
        for name in columns.features
    }
    queries = _queries(outcomes.qid, columns.qid, folders, n_rows)
    return Table(fields, [Part(part.path, n_rows)]), outcomes.y, queries


def joined_kinds(
    parts: Sequence[FilePart], kinds: Sequence[list[ColumnKind | None]], features: Sequence[str]
) -> tuple[ColumnKind, ...]:
    """Return the kind of each feature in all parts; refuse kinds that do not go together."""
    return tuple(_joined_kind(parts, found, name) for name, *found in zip(features, *kinds, strict=True))


def _joined_kind(parts: Sequence[FilePart], found: list[Any], name: str) -> ColumnKind:
    met = {kind: part.path for part, kind in zip(parts, found, strict=True) if kind is not None}
    if len(met) <= 1:
        return next(iter(met), NUMBER)
    if WORDS in met:
        return WORDS
    if set(met) == {NUMBER, BOOLEAN}:
        return NUMBER
    (first, one), (second, other) = list(met.items())[:2]
    raise TableError(
        f"Column {name!r} is a {first} in {one}, but a {second} in {other}; make it a column of one type, or "
        "name it in `categorical` to take its values as words."
    )


def _split(part: FilePart, columns: TableColumns) -> tuple[dict[str, str | None], list[str]]:
    """Return the columns that the folders of a part name, and the features that are in its file."""
    present = table_columns(Path(part.path)) if part.folders else []
    folders = {name: value for name, value in part.folders if name not in present}
    return folders, [name for name in columns.features if name not in folders]


def _folder_number(part: FilePart, name: str, folders: dict[str, str | None]) -> float:
    number = number_of(folders[name])
    if number is None or not np.isfinite(number):
        raise NotNumbersError(f"{part.path}: the folder of column {name!r} is no finite number.")
    return number


def _queries(qid: Any, name: str | None, folders: dict[str, str | None], n_rows: int) -> NDArray[Any] | None:
    """Return the queries of a file, or that of its folder, an integer if it can be one."""
    if name not in folders:
        return qid
    value = folders[name]
    if value is None or is_gap(value):
        raise TableError(f"The folder of the query column {name!r} has no value.")
    is_integer = value.lstrip("-").isdecimal() and str(int(value)) == value
    return np.full(n_rows, int(value)) if is_integer else np.full(n_rows, value, dtype=object)
