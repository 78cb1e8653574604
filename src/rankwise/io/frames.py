"""Ranking data from CSV and Parquet tables, by the names of columns; read by pandas or polars."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from rankwise.core.text import listing, plural
from rankwise.data.columns import DATE, kind_of, numbers_of
from rankwise.io.chunks import check_chunk_rows, join_queries, n_rows, query_chunks
from rankwise.io.large_labels import LargeLabels
from rankwise.io.streams import PACKED_SUFFIXES
from rankwise.io.table_readers import (
    PARQUET,
    SEPARATORS,
    NotNumbersError,
    RowRange,
    TableError,
    open_text,
    reader_of,
    separator_of,
    separator_of_header,
)

__all__ = ["TableData", "TableError", "iter_table", "read_table"]

# The words of a text file that stand for numbers, in lower case. Readers convert them in some columns only.
_WORDS = {"true": 1.0, "false": 0.0} | dict.fromkeys(("", "nan", "na", "n/a", "null", "none"), np.nan)


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
    path: str | os.PathLike[str],
    *,
    label: str | None,
    qid: str | None = None,
    features: Sequence[str] | None = None,
    separator: str | None = None,
    rows: RowRange = None,
) -> TableData:
    """Read a table in CSV, TSV or Parquet by the names of its columns.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .parquet or .pq; the first two may be compressed, as in .csv.gz (.bz2, .xz, .zst).
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
    table = _Table(path, label, qid, features, separator, rows=rows)
    pieces = list(table.pieces(None))
    return _join(pieces) if pieces else table.empty()


def iter_table(
    path: str | os.PathLike[str],
    *,
    label: str | None,
    qid: str | None = None,
    features: Sequence[str] | None = None,
    chunk_rows: int = 100_000,
    separator: str | None = None,
) -> Iterator[TableData]:
    """Read a table in chunks of whole queries.

    A chunk has at most `chunk_rows` rows, unless a single query has more; without `qid` it may end after any
    row. CSV is read in constant memory if pandas is installed; polars reads the whole file.

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
    table = _Table(path, label, qid, features, separator)
    return query_chunks(table.pieces(chunk_rows), chunk_rows, _take, _join)


def read_outcomes(
    path: str | os.PathLike[str],
    *,
    label: str | None,
    qid: str | None,
    separator: str | None = None,
    rows: RowRange = None,
) -> TableData:
    """Read labels and queries as `read_table` does; X has no columns."""
    if label is None and qid is None:
        return TableData(np.empty((0, 0)), None, None, [])
    table = _Table(path, label, qid, [], separator, outcomes_alone=True, rows=rows)
    pieces = list(table.pieces(None))
    return _join(pieces) if pieces else table.empty()


def feature_columns(
    path: str | os.PathLike[str], others: Sequence[str | None], separator: str | None = None
) -> list[str]:
    """Return the names of all columns but the `others`, which are labels and queries."""
    location = Path(path)
    present = table_columns(location, separator)
    return _named([name for name in present if name not in others], location)


def table_columns(path: Path, separator: str | None = None) -> list[str]:
    """Return the names of all columns of a table; refuse a name that occurs twice."""
    file_format = _format(path)
    reader: Any = reader_of(file_format)
    separator = separator_of(path, file_format, separator)
    columns = reader.columns(path, file_format, separator)
    names = columns if file_format in PARQUET else _header(path, separator)
    twice = [name for name in dict.fromkeys(names) if name and names.count(name) > 1]
    if twice:
        raise TableError(f"{path} has more than one column {listing(twice)}; rename or drop all but one.")
    return columns


def _header(path: Path, separator: str) -> list[str]:
    """Return the names of the first line of a text file; pandas numbers those that occur twice."""
    with open_text(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        lines = csv.reader(text, delimiter=separator)
        return next((fields for fields in lines if fields), [])


def read_text_columns(
    path: str | os.PathLike[str],
    names: Sequence[str] | Callable[[list[str]], Sequence[str]],
    separator: str | None = None,
) -> dict[str, list[Any]]:
    """Return columns of a table without conversion: text of a CSV or TSV file, values of a Parquet file.

    `names` are those of the columns to read, or a function that chooses them from all. An empty field is
    None. Words such as NA are text. The path - is standard input, in CSV.
    """
    location = Path(path)
    file_format = ".csv" if path == "-" else _format(location)
    if file_format in PARQUET:
        reader: Any = reader_of(file_format)
        names = _chosen(location, names, reader.columns(location, file_format, ","))
        (frame,) = reader.frames(location, file_format, list(names), None, None, ",")
        return {name: _to_numpy(frame[name]).tolist() for name in names}
    source = path if path == "-" else location
    with open_text(source) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
        try:
            first = text.readline()
            separator = separator or (separator_of_header(first) if file_format == ".csv" else "\t")
            lines = csv.reader(chain([first], text), delimiter=separator)
            return _text_columns(location, lines, names)
        except (csv.Error, UnicodeDecodeError) as error:
            raise TableError(f"{location} is not a readable table: {error}") from None


def _chosen(
    path: Path, names: Sequence[str] | Callable[[list[str]], Sequence[str]], present: list[str]
) -> Sequence[str]:
    chosen = names(present) if callable(names) else names
    check_present(path, chosen, present)
    return chosen


def _text_columns(
    path: Path, lines: Any, choice: Sequence[str] | Callable[[list[str]], Sequence[str]]
) -> dict[str, list[Any]]:
    present: list[str] = next(lines, [])
    names = _chosen(path, choice, present)
    columns: list[list[Any]] = [[] for _ in names]
    indices = [present.index(name) for name in names]
    for row, fields in enumerate((line for line in lines if line), 1):
        if len(fields) != len(present):
            raise TableError(
                f"{path}, row {row}: {plural(len(fields), 'field')} for {plural(len(present), 'column')}."
            )
        for column, index in zip(columns, indices, strict=True):
            column.append(fields[index].strip() or None)
    return dict(zip(names, columns, strict=True))


def check_present(path: Path, names: Sequence[str], present: Sequence[str]) -> None:
    """Refuse names of columns that a table does not have."""
    missing = [name for name in names if name not in present]
    if missing:
        raise TableError(f"{path} has no column {listing(missing)}; its columns are {listing(present)}.")


class _Table:
    """A table and the columns to read."""

    def __init__(
        self,
        path: Any,
        label: str | None,
        qid: str | None,
        features: Any,
        separator: str | None,
        outcomes_alone: bool = False,
        rows: RowRange = None,
    ) -> None:
        self.rows = rows
        self.path = Path(path)
        self.format = _format(self.path)
        self.separator = separator_of(self.path, self.format, separator)
        self.label, self.qid = label, qid
        self.reader: Any = reader_of(self.format)
        present = table_columns(self.path, separator)
        others = [name for name in present if name not in (label, qid)]
        self.features = _named(others, self.path) if features is None else _names(features)
        self._check_columns(present)
        if not self.features and not outcomes_alone:
            raise TableError(f"{self.path} has no columns for features besides the label and the qid.")

    @property
    def wanted(self) -> list[str]:
        """The names of all columns that are read."""
        return [name for name in (self.label, self.qid, *self.features) if name is not None]

    def pieces(self, n_piece_rows: int | None) -> Iterator[TableData]:
        """Yield the rows in pieces of about this size, or all at once."""
        first_row, large = 1, LargeLabels()
        frames = self.reader.frames(
            self.path, self.format, self.wanted, self.qid, n_piece_rows, self.separator, self.rows
        )
        for frame in frames:
            columns = self._columns(frame)
            if not all(column.good.all() for column in columns.values()):
                self._refuse(columns, first_row, map(self._columns, frames))
            if self.label is not None:
                raw, values, _ = columns[self.label]
                large.add(raw, values, rounded=raw.dtype.kind == "f" and self.format in SEPARATORS)
            yield self._table(columns)
            first_row += len(frame)
        if (problem := large.problem()) is not None:
            raise TableError(f"{self.path}: column {self.label!r} {problem}")

    def empty(self) -> TableData:
        """Return the data of a table without rows."""
        y = None if self.label is None else np.empty(0)
        qid = None if self.qid is None else np.empty(0, dtype=np.int64)
        return TableData(np.empty((0, len(self.features))), y, qid, self.features)

    def _columns(self, frame: Any) -> dict[str, _Column]:
        return {name: self._column(name, frame[name]) for name in self.wanted}

    def _column(self, name: str, column: Any) -> _Column:
        return _queries(column) if name == self.qid else _numbers(column, self.format in SEPARATORS)

    def _table(self, columns: dict[str, _Column]) -> TableData:
        values = [columns[name].values for name in self.features]
        n_rows = len(next(iter(columns.values())).values)
        X = np.column_stack(values) if values else np.empty((n_rows, 0))
        y = None if self.label is None else columns[self.label].values
        return TableData(X, y, None if self.qid is None else columns[self.qid].values, self.features)

    def _check_columns(self, present: list[str]) -> None:
        named = self.wanted
        check_present(self.path, named, present)
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise TableError(f"The column {listing(twice)} of {self.path} is named more than once.")

    def _refuse(
        self, columns: dict[str, _Column], first_row: int, later: Iterator[dict[str, _Column]]
    ) -> NoReturn:
        """Raise an error with the first invalid entry, by row, and the number of invalid entries."""
        bad = [name for name in columns if not columns[name].good.all()]
        name = min(bad, key=lambda name: np.argmin(columns[name].good))
        row = int(np.argmin(columns[name].good))
        n_bad = _count_bad(columns) + sum(map(_count_bad, later))
        others = f"; the table has {n_bad} invalid entries" if n_bad > 1 else ""
        problem = _problem(columns[name].raw[row])
        kind = NotNumbersError if set(bad) & set(self.features) else TableError
        raise kind(f"{self.path}, row {first_row + row}: column {name!r} {problem}{others}.")


class _Column(NamedTuple):
    """A column as read and as converted, and whether each entry is valid."""

    raw: NDArray[Any]
    values: NDArray[Any]
    good: NDArray[np.bool_]


def _count_bad(columns: dict[str, _Column]) -> int:
    return sum(int(np.count_nonzero(~column.good)) for column in columns.values())


def _problem(value: Any) -> str:
    number = number_of(value, parse=True)
    if number is not None and np.isnan(number):
        return "is missing"
    kind = "a number" if number is None or np.isfinite(number) else "finite"
    return f"is not {kind} (it is {str(value)[:40]!r})"


def _numbers(column: Any, from_text: bool) -> _Column:
    """Convert a column to float64, dates to days, and other types entry by entry.

    The type that a reader infers for a column of text depends on all its entries, so the words of a text file
    are converted by one rule here.
    """
    if kind_of(column) == DATE:
        values = numbers_of(column, DATE)
        return _Column(column.to_numpy(), values, np.isfinite(values))
    raw = _to_numpy(column)
    if raw.dtype.kind not in "biuf":
        numbers = [number_of(value, parse=from_text) for value in raw.tolist()]
        values = np.array([np.nan if number is None else number for number in numbers])
    else:
        values = np.ascontiguousarray(raw, dtype=np.float64)
    return _Column(raw, values, np.isfinite(values))


def _queries(column: Any) -> _Column:
    raw = column.to_numpy()
    if raw.dtype.kind in "iu" and raw.dtype != np.uint64:
        return _Column(raw, raw.astype(np.int64), np.ones(len(raw), dtype=bool))
    values = raw.tolist()
    good = np.array([not _is_missing(value) for value in values], dtype=bool)
    return _Column(raw, _integers_or_words([_word(value) for value in values]), good)


def _format(path: Path) -> str:
    packed = path.suffix.lower() in PACKED_SUFFIXES
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    if suffix in SEPARATORS or (suffix in PARQUET and not packed):
        return suffix
    raise ValueError(
        f"path must end in .csv, .tsv (or these compressed, as in .csv.gz), .parquet or .pq; got {path}."
    )


def _names(features: Any) -> list[str]:
    if isinstance(features, str):
        raise ValueError(f"features must be a sequence of column names; got the string {features!r}.")
    return list(features)


def _named(columns: list[str], path: Path) -> list[str]:
    """Return the default columns of features; refuse one without a name, the index of a frame."""
    unnamed = [name for name in columns if name == "" or name.startswith(("Unnamed: ", "__index_level_"))]
    if unnamed:
        raise TableError(
            f"{path} has a column without a name, probably the index of a frame. Name the columns of the "
            "features, or write the table without its index (to_csv(..., index=False))."
        )
    return columns


def _to_numpy(column: Any) -> NDArray[Any]:
    dtype = column.dtype
    if hasattr(dtype, "na_value") and getattr(dtype, "kind", "O") in "biuf":  # pandas' nullable numbers
        if column.hasnans:
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        return column.to_numpy(dtype=dtype.numpy_dtype)
    if str(dtype).endswith("128"):  # polars' 128-bit integers, which numpy does not have
        return np.array(column.to_list(), dtype=object)
    return column.to_numpy()


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"


def number_of(value: Any, parse: bool) -> float | None:
    """Return a value as a number, NaN if it is missing and None if it is not a number."""
    if _is_missing(value):
        return np.nan
    if isinstance(value, str):
        if not parse:
            return None
        value = _WORDS.get(value.strip().lower(), value)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


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
