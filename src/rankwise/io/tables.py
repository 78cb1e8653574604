"""Tables in files, by the names of their columns: numbers, strings, dates and missing values."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import is_large
from rankwise.core.text import listing
from rankwise.core.types import FloatArray
from rankwise.data.columns import NUMBER
from rankwise.data.frames import new_frame
from rankwise.io.chunks import check_chunk_rows, join_queries, n_rows, query_chunks
from rankwise.io.large_labels import LargeLabels
from rankwise.io.streams import open_input
from rankwise.io.table_columns import (
    ANY_NUMBER,
    MEANT,
    WORDS,
    ColumnKind,
    FileColumn,
    TextColumn,
    file_column,
    is_gap,
    joined_column,
    known_values,
)
from rankwise.io.table_formats import (
    FORMATS,
    NotNumbersError,
    Piece,
    RowRange,
    Source,
    TableError,
    TableFormat,
    Wanted,
    format_of,
    name_of,
)

__all__ = ["TableData", "TableError", "iter_table", "read_table"]

Path_ = str | os.PathLike[str]


class TableData(NamedTuple):
    """The data of a table.

    Attributes
    ----------
    X : float64 array of shape (n_rows, n_features)
    y : float64 array of shape (n_rows,) or None
        None if no label was named.
    qid : array of shape (n_rows,) or None
        int64 if every entry is an integer, else an object array of str; None if no column was named.
    feature_names : list of str
        The columns of X.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64] | None
    qid: NDArray[Any] | None
    feature_names: list[str]


def read_table(
    path: Path_,
    *,
    label: str | None,
    qid: str | None = None,
    features: Sequence[str] | None = None,
    separator: str | None = None,
    rows: RowRange = None,
) -> TableData:
    """Read a table in CSV, TSV, Parquet or Arrow by the names of its columns.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .parquet, .pq, .arrow or .feather; the first two may be compressed, as in .csv.gz
        (.bz2, .xz, .zst).
    label : str or None
        The column of the labels; None for a table without labels.
    qid : str, optional
        The column of the queries.
    features : sequence of str, optional
        The columns of X, in this order. The default is all other columns, in the order of the table.
    separator : str, optional
        The character between the fields of a CSV or TSV file. The default is a comma or, if the header of a
        CSV file has semicolons and no commas, a semicolon; and a tab for TSV.
    rows : tuple of int, optional
        The first row of a part of a Parquet file and the row after its last, at borders of row groups.

    Returns
    -------
    TableData
        A named tuple ``(X, y, qid, feature_names)``.

    Raises
    ------
    TableError
        A column is missing; a label or feature is missing, not a number or not finite; or distinct labels
        above 2^53 are equal as float64.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "hotels.csv")
    ...     _ = path.write_text("search,clicked,price,stars\\n7,1,80.5,4\\n7,0,99,3\\n")
    ...     table = read_table(path, label="clicked", qid="search")
    >>> table.feature_names, table.X.tolist()
    (['price', 'stars'], [[80.5, 4.0], [99.0, 3.0]])
    >>> table.y.tolist(), table.qid.tolist()
    ([1.0, 0.0], [7, 7])
    """
    roles = _roles(path, label, qid, features, separator)
    return roles.read(read_columns(path, roles.wanted, separator, rows))


def iter_table(
    path: Path_,
    *,
    label: str | None,
    qid: str | None = None,
    features: Sequence[str] | None = None,
    chunk_rows: int = 100_000,
    separator: str | None = None,
) -> Iterator[TableData]:
    """Read a table in chunks of whole queries, in constant memory.

    A chunk has at most `chunk_rows` rows, unless a single query has more; without `qid` it may end after any
    row.

    Parameters
    ----------
    path, label, qid, features, separator
        As for `read_table`.
    chunk_rows : int
        The maximal number of rows of a chunk.

    Yields
    ------
    TableData
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    roles = _roles(path, label, qid, features, separator)
    pieces = format_of(Path(path)).pieces(path, Wanted(roles.wanted, separator, chunk_rows))
    return query_chunks(roles.data(_tables(path, roles.wanted, pieces)), chunk_rows, _take, _join)


class Part(NamedTuple):
    """Rows of a file: its name, the number of rows, and that of the first, for messages."""

    path: str
    n_rows: int
    first: int = 1


class Table:
    """Columns of one or more files as they stand there.

    Parameters
    ----------
    columns : dict
        The columns by name.
    parts : list of Part
        The files.
    """

    def __init__(self, columns: dict[str, FileColumn], parts: list[Part]):
        self.columns = columns
        self.parts = parts

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return sum(part.n_rows for part in self.parts), len(self.columns)

    def chosen(self, names: Sequence[str]) -> Table:
        """Return a table of some of the columns."""
        return Table({name: self.columns[name] for name in names}, self.parts)

    def paired(self, prefixes: tuple[str, str], names: Sequence[str]) -> Table:
        """Return the columns with the first prefix and, below, those with the second, without prefixes."""
        halves = [{name: self.columns[prefix + name] for name in names} for prefix in prefixes]
        return stacked([Table(half, self.parts) for half in halves])

    def inferred(self, words: Sequence[str] = ()) -> tuple[Any, list[ColumnKind]]:
        """Return a frame for training, and what its columns are; those named in `words` are categories.

        A column of text is one of booleans, numbers or dates if all its values are, and else one of words.
        If most of them are, but not all, a value is probably wrong, and the column is refused.
        """
        kinds: list[ColumnKind] = [self._kind(name, words) for name in self.columns]
        return self.typed(kinds, words), kinds

    def kinds(self, words: Sequence[str] = ()) -> list[ColumnKind | None]:
        """Return the kinds of the columns, as `inferred` does; None for a column without values."""
        return [
            None if all(word is None for word in column.words()) else self._kind(name, words)
            for name, column in self.columns.items()
        ]

    def typed(self, kinds: Sequence[ColumnKind], words: Sequence[str] = ()) -> Any:
        """Return a frame for training with columns of given kinds, those of the whole table."""
        columns: dict[str, Any] = {}
        for (name, column), kind in zip(self.columns.items(), kinds, strict=True):
            if name in words:
                columns[name] = column.words()
            elif kind == NUMBER:
                columns[name] = self.numbers([name], NUMBER, allow_missing=True)[:, 0]
            else:
                columns[name] = column.held(str(kind))
        return new_frame(columns, categorical=words)

    def known(self, kinds: Sequence[ColumnKind]) -> Any:
        """Return a frame for a model, given what its columns are: categories, and float64 with NaN."""
        columns: dict[str, Any] = {}
        for (name, column), kind in zip(self.columns.items(), kinds, strict=True):
            if isinstance(kind, list) or kind == WORDS:
                columns[name] = known_values(column, kind if isinstance(kind, list) else [])
            else:
                columns[name] = self.numbers([name], kind, allow_missing=True)[:, 0]
        return new_frame(columns)

    def numbers(
        self, names: Sequence[str] | None = None, kind: str = ANY_NUMBER, *, allow_missing: bool = False
    ) -> FloatArray:
        """Return columns as an array; refuse words, infinite values and, unless they are allowed, gaps."""
        names = list(self.columns) if names is None else names
        entries = {name: _numbers(self.columns[name], kind, allow_missing) for name in names}
        refuse_bad(self, entries, kind)
        return self.stack([entries[name].values for name in names])

    def stack(self, columns: list[Any]) -> FloatArray:
        """Return columns of numbers as an array, which may have no columns."""
        X = np.empty((self.shape[0], len(columns)))
        for place, values in enumerate(columns):
            X[:, place] = values
        return X

    def place(self, row: int) -> str:
        """Return the file and the number of a row."""
        for part in self.parts:
            if row < part.n_rows:
                return f"{part.path}, row {row + part.first}"
            row -= part.n_rows
        raise IndexError(row)

    def _kind(self, name: str, words: Sequence[str]) -> str:
        return WORDS if name in words else self.columns[name].kind(name, self.place)


class Entries(NamedTuple):
    """A column as read and as converted, and whether each entry is valid."""

    column: FileColumn
    values: NDArray[Any]
    good: NDArray[np.bool_]


class Roles(NamedTuple):
    """The columns to read of a table."""

    label: str | None
    qid: str | None
    features: list[str]

    @property
    def wanted(self) -> list[str]:
        """The names of all columns that are read."""
        return [name for name in (self.label, self.qid, *self.features) if name is not None]

    def check(self, path: Source, present: Sequence[str]) -> None:
        """Refuse columns that a table does not have, and a column that is named twice."""
        check_present(path, self.wanted, present)
        twice = sorted({name for name in self.wanted if self.wanted.count(name) > 1})
        if twice:
            raise TableError(f"The column {listing(twice)} of {name_of(path)} is named more than once.")

    def read(self, table: Table) -> TableData:
        """Return the numbers of a table."""
        (data,) = self.data(iter([table]))
        return data

    def data(self, tables: Iterator[Table]) -> Iterator[TableData]:
        """Yield the numbers of tables; refuse missing values, strings and labels that float64 merges."""
        large, names = LargeLabels(), ""
        for table in tables:
            entries = self._entries(table)
            refuse_bad(table, entries, NUMBER, self.features, map(self._entries, tables))
            y = qid = None
            if self.label is not None:
                y, column = entries[self.label].values, entries[self.label].column
                if (places := np.flatnonzero(is_large(y))).size:
                    values = column.values()
                    large.add([values[place] for place in places])
            if self.qid is not None:
                qid = entries[self.qid].values
            names = table.parts[0].path
            yield TableData(
                table.stack([entries[name].values for name in self.features]), y, qid, self.features
            )
        if (problem := large.problem()) is not None:
            raise TableError(f"{names}: column {self.label!r} {problem}")

    def _entries(self, table: Table) -> dict[str, Entries]:
        return {
            name: _queries(table.columns[name]) if name == self.qid else _numbers(table.columns[name], NUMBER)
            for name in self.wanted
        }


def refuse_bad(
    table: Table,
    entries: dict[str, Entries],
    kind: str,
    features: Sequence[str] | None = None,
    later: Iterable[dict[str, Entries]] = (),
) -> None:
    """Refuse columns with an invalid entry: name the first by row, and the number of all."""
    bad = [name for name in entries if not entries[name].good.all()]
    if not bad:
        return
    name = min(bad, key=lambda name: np.argmin(entries[name].good))
    column, values, good = entries[name]
    row = int(np.argmin(good))
    n_bad = _count_bad(entries) + sum(map(_count_bad, later))
    others = f"; the table has {n_bad} invalid entries" if n_bad > 1 else ""
    value = column.values()[row]
    if value is None or (isinstance(value, str) and is_gap(value)):
        problem = "is missing"
    else:
        problem = f"is not {MEANT[kind] if values[row] is None else 'finite'} (it is {str(value)[:40]!r})"
    error = NotNumbersError if features is None or set(bad) & set(features) else TableError
    raise error(f"{table.place(row)}: column {name!r} {problem}{others}.")


def _count_bad(entries: dict[str, Entries]) -> int:
    return sum(int(np.count_nonzero(~column.good)) for column in entries.values())


def _numbers(column: FileColumn, kind: str, allow_missing: bool = False) -> Entries:
    values = column.numbers(kind)
    if values.dtype == object:
        none = np.array([value is None for value in values.tolist()])
        numbers = np.where(none, np.inf, values).astype(np.float64)
    else:
        numbers = values = np.ascontiguousarray(values)
    return Entries(column, values, ~np.isinf(numbers) if allow_missing else np.isfinite(numbers))


def _queries(column: FileColumn) -> Entries:
    if (integers := column.integers()) is not None:
        return Entries(column, integers, np.ones(len(integers), dtype=bool))
    values = column.values()
    good = np.array(
        [not (value is None or (isinstance(value, str) and is_gap(value))) for value in values], bool
    )
    return Entries(column, _integers_or_words([_word(value) for value in values]), good)


def _word(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _integers_or_words(words: list[str]) -> NDArray[Any]:
    """Return int64 if each word is the canonical form of an integer, as for svmlight files."""
    try:
        integers = np.array([int(word) for word in words], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(words, dtype=object)
    usual = all(str(integer) == word for integer, word in zip(integers.tolist(), words, strict=True))
    return integers if usual else np.array(words, dtype=object)


def _take(table: TableData, begin: int, end: int) -> TableData:
    if end - begin == n_rows(table):
        return table
    return TableData(
        table.X[begin:end].copy(),
        None if table.y is None else table.y[begin:end].copy(),
        None if table.qid is None else table.qid[begin:end].copy(),
        table.feature_names,
    )


def _join(tables: list[TableData]) -> TableData:
    if len(tables) == 1:
        return tables[0]
    labels = [table.y for table in tables if table.y is not None]
    return TableData(
        np.concatenate([table.X for table in tables]),
        np.concatenate(labels) if labels else None,
        join_queries([table.qid for table in tables]),
        tables[0].feature_names,
    )


def read_columns(
    source: Source, names: Sequence[str], separator: str | None = None, rows: RowRange = None
) -> Table:
    """Read columns of a table as they stand in the file; refuse a name that is missing or occurs twice."""
    present = _form(source).names(source, separator)
    check_present(source, names, present)
    _check_twice(source, [name for name in present if name in names])
    pieces = list(_form(source).pieces(source, Wanted(names, separator, rows=rows)))
    frames = [piece for piece in pieces if isinstance(piece, nw.DataFrame)]
    if frames:
        pieces = [nw.concat(frames) if len(frames) > 1 else frames[0]]
    tables = list(_tables(source, names, pieces))
    if not tables:
        return Table({name: TextColumn([]) for name in names}, [Part(name_of(source), 0)])
    table = stacked(tables)
    return Table(table.columns, [Part(name_of(source), table.shape[0])])


def read_text_columns(
    path: Path_, names: Sequence[str] | Callable[[list[str]], Sequence[str]], separator: str | None = None
) -> dict[str, list[Any]]:
    """Return columns of a table without conversion: text of a CSV or TSV file, values of another one.

    `names` are those of the columns to read, or a function that chooses them from all. An empty field is
    None. Words such as NA are text. The path - is standard input, in CSV.
    """
    source: Source = path
    if path == "-":
        with open_input(path) as opened:
            source = io.BytesIO(opened.stream.read())
    chosen = names(_form(source).names(source, separator)) if callable(names) else names
    table = read_columns(source, chosen, separator)
    return {name: column.values() for name, column in table.columns.items()}


def stacked(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables with the columns of the first."""
    columns = {name: joined_column([table.columns[name] for table in tables]) for name in tables[0].columns}
    return Table(columns, [part for table in tables for part in table.parts])


def feature_columns(path: Path_, others: Sequence[str | None], separator: str | None = None) -> list[str]:
    """Return the names of all columns but the `others`, which are labels and queries."""
    features = [name for name in table_columns(path, separator) if name not in others]
    if any(name == "" or name.startswith("__index_level_") for name in features):
        raise TableError(
            f"{path} has a column without a name, probably the index of a frame. Name the columns of the "
            "features, or write the table without its index (to_csv(..., index=False))."
        )
    return features


def table_columns(path: Path_, separator: str | None = None) -> list[str]:
    """Return the names of all columns of a table; refuse a name that occurs twice."""
    names = _form(path).names(path, separator)
    _check_twice(path, names)
    return names


def _check_twice(source: Source, names: Sequence[str]) -> None:
    twice = [name for name in dict.fromkeys(names) if name and names.count(name) > 1]
    if twice:
        raise TableError(
            f"{name_of(source)} has more than one column {listing(twice)}; rename or drop all but one."
        )


def check_present(source: Source, names: Sequence[str], present: Sequence[str]) -> None:
    """Refuse names of columns that a table does not have."""
    missing = [name for name in names if name not in present]
    if missing:
        raise TableError(
            f"{name_of(source)} has no column {listing(missing)}; its columns are {listing(present)}."
        )


def _roles(
    path: Path_, label: str | None, qid: str | None, features: Sequence[str] | None, separator: str | None
) -> Roles:
    if isinstance(features, str):
        raise ValueError(f"features must be a sequence of column names; got the string {features!r}.")
    present = table_columns(path, separator)
    chosen = feature_columns(path, (label, qid), separator) if features is None else list(features)
    roles = Roles(label, qid, chosen)
    roles.check(path, present)
    if not chosen:
        raise TableError(f"{path} has no columns for features besides the label and the qid.")
    return roles


def _form(source: Source) -> TableFormat:
    return format_of(Path(source)) if isinstance(source, str | os.PathLike) else FORMATS[".csv"]


def _tables(source: Source, names: Sequence[str], pieces: Iterable[Piece]) -> Iterator[Table]:
    """Return pieces of a file as tables."""
    first = 1
    for piece in pieces:
        columns = {name: file_column(piece[name], _form(source).is_text) for name in names}
        part = Part(name_of(source), len(next(iter(columns.values()), [])), first)
        yield Table(columns, [part])
        first += part.n_rows
