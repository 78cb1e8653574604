"""Readers of tables: pandas if possible, else polars."""

from __future__ import annotations

import csv
import errno
import importlib.util
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankwise.io.streams import PACKED_SUFFIXES, open_input

SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
# The first row of a part of a Parquet file and the row after its last, at borders of row groups; or all rows.
RowRange = tuple[int, int] | None
_PIECE_ROWS, _BUFFER_BYTES = 1 << 16, 1 << 20


class TableError(ValueError):
    """A table lacks a column or has a value that is not a finite number."""


class NotNumbersError(TableError):
    """Features of a table have words, gaps or infinite values."""


def is_table(path: str | Path) -> bool:
    """Tell whether a file is a table, by its suffix.

    Examples
    --------
    >>> is_table("rows.csv.gz"), is_table("train.txt"), is_table("-")
    (True, False, False)
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and suffixes[-1] in PACKED_SUFFIXES:
        suffixes.pop()
    return bool(suffixes) and suffixes[-1] in (*SEPARATORS, *PARQUET)


def reader_of(file_format: str) -> Any:
    """Return the reader of a format: pandas if possible, else polars."""
    has = {name: importlib.util.find_spec(name) is not None for name in ("pandas", "polars", "pyarrow")}
    if has["pandas"] and (has["pyarrow"] or file_format in SEPARATORS):
        return _Pandas()
    if has["polars"]:
        return _Polars()
    also = " and pyarrow" if file_format in PARQUET else ""
    raise ImportError(f"Tables need polars, or pandas{also}: pip install 'rankwise[frames]'.")


@contextmanager
def open_text(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a file of text, decompressed, or standard input."""
    with open_input(path) as opened:
        stream = opened.stream
        yield stream if opened.n_bytes is not None else io.BufferedReader(stream)


def separator_of(path: Path, file_format: str, given: str | None = None) -> str:
    """Return the separator of a file of text: that given, or by its suffix and the header of a CSV file."""
    if given is not None or file_format != ".csv" or not path.exists():
        return given or SEPARATORS.get(file_format, ",")
    with open_text(path) as stream:
        return separator_of_header(stream.readline().decode("utf-8-sig", "replace"))


def separator_of_header(line: str) -> str:
    """Return a semicolon if commas would leave one column of several, else a comma.

    Examples
    --------
    >>> separator_of_header("price;stars"), separator_of_header('"a;b",stars'), separator_of_header("price")
    (';', ',', ',')
    """
    n_fields = {mark: len(next(csv.reader([line], delimiter=mark), [])) for mark in ",;"}
    return ";" if n_fields[","] == 1 < n_fields[";"] else ","


class _Pandas:
    def columns(self, path: Path, file_format: str, separator: str) -> list[str]:
        import pandas as pd

        if file_format in PARQUET:
            from pyarrow import parquet

            return list(explained(path, parquet.read_schema, path).names)
        with open_text(path) as stream:
            return list(explained(path, pd.read_csv, stream, sep=separator, nrows=0).columns)

    def frames(
        self,
        path: Path,
        file_format: str,
        wanted: list[str],
        qid: str | None,
        n_rows: int | None,
        separator: str,
        rows: RowRange = None,
    ) -> Iterator[Any]:
        if file_format in PARQUET:
            yield from self._parquet(path, wanted, n_rows, rows)
            return
        import pandas as pd

        options: dict[str, Any] = {"sep": separator, "chunksize": n_rows or _PIECE_ROWS}
        options["low_memory"] = False  # else parts of a column may have different types
        # Later versions always read the nearest double.
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"
        with open_text(path) as stream:
            # All columns: with a few, pandas does not notice lines with too many fields.
            frames = explained(path, pd.read_csv, stream, dtype={} if qid is None else {qid: str}, **options)
            while (frame := explained(path, next, frames, None)) is not None:
                if not isinstance(frame.index, pd.RangeIndex):
                    raise TableError(f"{path} has lines with more fields than its first line has names.")
                yield frame

    def frame(self, columns: dict[str, Any]) -> Any:
        """Return columns as a frame; a list holds booleans, or words and other levels."""
        import pandas as pd

        return pd.DataFrame({name: self._series(values) for name, values in columns.items()})

    def _series(self, values: Any) -> Any:
        import pandas as pd

        if not isinstance(values, list):
            return pd.Series(values).reset_index(drop=True)
        known = {type(value) for value in values if value is not None}
        if known != {bool}:
            return pd.Series(values, dtype=object)
        return pd.Series(values, dtype="boolean" if None in values else "bool")

    def categorical(self, words: list[str | None]) -> Any:
        """Return words as a categorical column."""
        import pandas as pd

        return pd.Series(words, dtype="category")

    def stacked(self, columns: list[Any]) -> Any:
        """Return the values of several columns as one."""
        import pandas as pd

        return pd.concat(columns, ignore_index=True)

    def _parquet(
        self, path: Path, wanted: list[str], n_rows: int | None, rows: RowRange = None
    ) -> Iterator[Any]:
        import pandas as pd
        from pyarrow import parquet

        if rows is not None:
            with explained(path, parquet.ParquetFile, path) as file:
                groups = _groups_within(row_group_sizes(path), rows)
                yield explained(path, file.read_row_groups, groups, columns=wanted).to_pandas()
            return
        if n_rows is None:
            yield explained(path, pd.read_parquet, path, engine="pyarrow", columns=wanted)
            return
        # A buffer per column, and not the one that keeps the whole file.
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
            batches = file.iter_batches(n_rows, columns=wanted)
            while (batch := explained(path, next, batches, None)) is not None:
                yield batch.to_pandas()


class _Polars:
    def columns(self, path: Path, file_format: str, separator: str) -> list[str]:
        import polars as pl

        if file_format in PARQUET:
            return list(explained(path, pl.read_parquet_schema, path))
        with open_text(path) as stream:
            header = io.BytesIO(stream.readline())
        return explained(path, pl.read_csv, header, separator=separator).columns

    def frames(
        self,
        path: Path,
        file_format: str,
        wanted: list[str],
        qid: str | None,
        n_rows: int | None,
        separator: str,
        rows: RowRange = None,
    ) -> Iterator[Any]:
        import polars as pl

        if file_format in PARQUET:
            yield from self._parquet(path, wanted, n_rows, rows)
            return
        with open_text(path) as stream:
            text = stream.read()
        options = {"separator": separator, "columns": wanted, "infer_schema_length": None}
        types = {} if qid is None else {qid: pl.String}
        try:
            frame = explained(path, pl.read_csv, text, schema_overrides=types, **options)
        except TableError:  # a number overflows the inferred type; as text, it is converted later
            types = dict.fromkeys(wanted, pl.String)
            frame = explained(path, pl.read_csv, text, schema_overrides=types, **options)
        yield from frame.iter_slices(n_rows or max(1, len(frame)))

    def frame(self, columns: dict[str, Any]) -> Any:
        """Return columns as a frame; a list holds booleans, or words and other levels."""
        import polars as pl

        return pl.DataFrame([self._series(name, values) for name, values in columns.items()])

    def _series(self, name: str, values: Any) -> Any:
        import polars as pl

        if not isinstance(values, list):
            return pl.Series(name, values)
        known = {type(value) for value in values if value is not None}
        types = {frozenset([bool]): pl.Boolean, frozenset([str]): pl.String, frozenset(): pl.String}
        return pl.Series(name, values, dtype=types.get(frozenset(known), pl.Object))

    def categorical(self, words: list[str | None]) -> Any:
        """Return words as a categorical column."""
        import polars as pl

        return pl.Series(words, dtype=pl.Categorical)

    def stacked(self, columns: list[Any]) -> Any:
        """Return the values of several columns as one."""
        import polars as pl

        frames = [column.to_frame() for column in columns]
        return pl.concat(frames, how="vertical_relaxed").to_series()

    def _parquet(
        self, path: Path, wanted: list[str], n_rows: int | None, rows: RowRange = None
    ) -> Iterator[Any]:
        import polars as pl

        scan = pl.scan_parquet(path).select(wanted)
        if rows is not None:
            scan = scan.slice(rows[0], rows[1] - rows[0])
        if n_rows is None:
            yield explained(path, scan.collect)
            return
        begin = 0
        while len(frame := explained(path, scan.slice(begin, n_rows).collect)):
            yield frame
            begin += n_rows


def explained(path: Path, read: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a reader; an error of the content becomes a `TableError` that names the file."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
    try:
        return read(*arguments, **options)
    except (ImportError, TableError):
        raise
    except Exception as error:
        packages = ("pandas", "polars", "pyarrow")
        of_content = isinstance(error, UnicodeDecodeError) or type(error).__module__.split(".")[0] in packages
        damaged = isinstance(error, OSError) and error.errno is None  # as pyarrow reports corrupt data
        if not (of_content or damaged):
            raise
        raise TableError(f"{path} is not a readable table: {error}") from None


def row_group_sizes(path: str | os.PathLike[str]) -> list[int]:
    """Return the number of rows of each row group of a Parquet file; that of all rows without pyarrow."""
    location = Path(path)
    try:
        from pyarrow import parquet
    except ImportError:
        import polars as pl

        return [int(explained(location, pl.scan_parquet(location).select(pl.len()).collect).item())]
    metadata = explained(location, parquet.read_metadata, location)
    return [int(metadata.row_group(number).num_rows) for number in range(metadata.num_row_groups)]


def _groups_within(sizes: list[int], rows: tuple[int, int]) -> list[int]:
    """Return the row groups that begin in a range of rows."""
    begins = [sum(sizes[:number]) for number in range(len(sizes))]
    return [number for number, begin in enumerate(begins) if rows[0] <= begin < rows[1]]
