"""The formats of tables: text (CSV, TSV), and columns with types (Parquet, Arrow)."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple, Protocol

import narwhals.stable.v2 as nw

from rankwise.core.text import plural
from rankwise.io.streams import PACKED_SUFFIXES, open_input

Source = str | os.PathLike[str] | BinaryIO
# Columns of some rows: a frame, or lists of text with None for an empty field.
Piece = nw.DataFrame[Any] | dict[str, list[str | None]]
# The first row of a part of a Parquet file and the row after its last, at borders of row groups; or all rows.
RowRange = tuple[int, int] | None
# The rows of a piece of a text file, and its bytes if pieces are converted one by one or joined first.
_PIECE_ROWS, _PIECE_BYTES, _BLOCK_BYTES = 1 << 16, 1 << 24, 1 << 20


class Wanted(NamedTuple):
    """What to read of a table.

    Attributes
    ----------
    names : sequence of str
        The columns.
    separator : str, optional
        That of a text file; by default, it is found by the suffix and the header.
    n_rows : int, optional
        The rows of a piece, about; all rows of a file of typed columns by default.
    rows : RowRange
    """

    names: Sequence[str]
    separator: str | None = None
    n_rows: int | None = None
    rows: RowRange = None


class TableError(ValueError):
    """A table lacks a column or has a value that is not a finite number."""


class NotNumbersError(TableError):
    """Features of a table have words, gaps or infinite values."""


class TableFormat(Protocol):
    """A format of tables.

    Attributes
    ----------
    is_text : bool
        Whether fields are text, so that the values of a column decide its type.
    """

    is_text: ClassVar[bool]

    @property
    def title(self) -> str:
        """The name in messages."""

    def names(self, source: Source, separator: str | None = None) -> list[str]:
        """Return the names of all columns."""

    def pieces(self, source: Source, wanted: Wanted) -> Iterator[Piece]:
        """Yield some of the columns, in pieces."""


@dataclass(frozen=True)
class TextFormat:
    """Text with a separator between fields, read by pyarrow or, if it is not installed, by Python's csv.

    Both agree on quotes, empty lines and fields that lack. (polars and pandas fill short rows silently, and
    polars takes empty lines as rows.) From where pyarrow refuses a file, csv reads it or names the row.
    """

    title: str
    separator: str
    is_text: ClassVar[bool] = True

    def names(self, source: Source, separator: str | None = None) -> list[str]:
        """Return the fields of the first line."""
        with self._opened(source, separator) as (_, names, _):
            return names

    def pieces(self, source: Source, wanted: Wanted) -> Iterator[Piece]:
        """Yield columns as text."""
        n_read = 0
        if importlib.util.find_spec("pyarrow") is not None:
            with self._opened(source, wanted.separator) as (_, present, mark):
                pass
            try:
                with _stream(source) as stream:
                    for piece in _arrow_text(stream, present, wanted._replace(separator=mark)):
                        yield piece
                        n_read += len(piece)
                return
            except ValueError as error:
                if type(error).__module__ != "pyarrow.lib":
                    raise
        yield from self._plain(source, wanted, n_read)

    def _plain(self, source: Source, wanted: Wanted, n_read: int) -> Iterator[Piece]:
        """Yield the rows that follow those that have been read."""
        with self._opened(source, wanted.separator) as (lines, present, _):
            places = {name: present.index(name) for name in wanted.names}
            lines, first = islice(lines, n_read, None), n_read + 1
            while piece := list(islice(lines, _PIECE_ROWS)):
                for row, fields in enumerate(piece, first):
                    if len(fields) != len(present):
                        raise TableError(
                            f"{name_of(source)}, row {row}: {plural(len(fields), 'field')} for "
                            f"{plural(len(present), 'column')}."
                        )
                first += len(piece)
                columns = list(zip(*piece, strict=True))
                yield {name: [field or None for field in columns[place]] for name, place in places.items()}

    @contextmanager
    def _opened(
        self, source: Source, separator: str | None
    ) -> Iterator[tuple[Iterator[list[str]], list[str], str]]:
        """Open a file: its lines as fields, those of the first line, and the separator."""
        with _stream(source) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
            try:
                first = text.readline()
                mark = separator or (separator_of_header(first) if self.separator == "," else self.separator)
                lines = (line for line in csv.reader(chain([first], text), delimiter=mark) if line)
                if (names := next(lines, None)) is None:
                    raise TableError(f"{name_of(source)} is empty, but a table begins with names of columns.")
                yield lines, names, mark
            except (csv.Error, UnicodeDecodeError) as error:
                raise TableError(f"{name_of(source)} is not a readable table: {error}") from None
            finally:
                text.detach()


def _arrow_text(stream: Any, present: list[str], wanted: Wanted) -> Iterator[nw.DataFrame[Any]]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    batches = arrow_csv.open_csv(
        stream,
        arrow_csv.ReadOptions(block_size=_BLOCK_BYTES if wanted.n_rows is None else _PIECE_BYTES),
        arrow_csv.ParseOptions(delimiter=wanted.separator, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(present, pa.string()),
            include_columns=list(wanted.names),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )
    for batch in batches:
        yield nw.from_native(pa.Table.from_batches([batch]), eager_only=True)


@dataclass(frozen=True)
class TypedFormat:
    """Columns with types, read by pyarrow or, if it is not installed, by polars.

    `name` is that of the format in `pyarrow.dataset`, and of the function ``polars.scan_...``.
    """

    title: str
    name: str
    is_text: ClassVar[bool] = False

    def names(self, source: Source, separator: str | None = None) -> list[str]:
        """Return the names of the schema."""
        with _explained(source):
            if _has_arrow(self.title):
                return list(self._fragment(source).physical_schema.names)
            return list(self._scan(source).collect_schema().names())

    def pieces(self, source: Source, wanted: Wanted) -> Iterator[Piece]:
        """Yield columns with their types."""
        with _explained(source):
            has_arrow = _has_arrow(self.title)
            for frame in (self._arrow if has_arrow else self._polars)(source, wanted):
                yield nw.from_native(frame, eager_only=True)

    def group_sizes(self, source: Source) -> list[int]:
        """Return the numbers of rows of the row groups; that of all rows if the file has none."""
        with _explained(source):
            if not _has_arrow(self.title):
                import polars as pl

                return [int(self._scan(source).select(pl.len()).collect().item())]
            fragment = self._fragment(source)
            groups = getattr(fragment, "row_groups", None)
            return [group.num_rows for group in groups] if groups else [fragment.count_rows()]

    def _fragment(self, source: Source) -> Any:
        from pyarrow import dataset

        return next(dataset.dataset(source, format=self.name).get_fragments())

    def _arrow(self, source: Source, wanted: Wanted) -> Iterator[Any]:
        from pyarrow import Table, dataset

        fragment, names = self._fragment(source), list(wanted.names)
        if wanted.rows is not None and hasattr(fragment, "row_groups"):
            fragment = fragment.subset(row_group_ids=_groups_within(self.group_sizes(source), wanted.rows))
        if wanted.n_rows is None:
            yield fragment.to_table(columns=names)
            return
        ahead: dict[str, Any] = {"batch_readahead": 0, "fragment_readahead": 0, "use_threads": False}
        if hasattr(fragment, "row_groups"):  # a buffer per column, and not one that keeps the whole file
            ahead["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=_BLOCK_BYTES, pre_buffer=False
            )
        scanner = fragment.scanner(columns=names, batch_size=wanted.n_rows, **ahead)
        yield from (Table.from_batches([batch]) for batch in scanner.to_batches())

    def _scan(self, source: Source) -> Any:
        import polars as pl

        return getattr(pl, f"scan_{self.name}")(source)

    def _polars(self, source: Source, wanted: Wanted) -> Iterator[Any]:
        scan = self._scan(source).select(list(wanted.names))
        if wanted.rows is not None:
            scan = scan.slice(wanted.rows[0], wanted.rows[1] - wanted.rows[0])
        if wanted.n_rows is None:
            yield scan.collect()
            return
        begin = 0
        while len(frame := scan.slice(begin, wanted.n_rows).collect()):
            yield frame
            begin += wanted.n_rows


_PARQUET, _ARROW = TypedFormat("Parquet", "parquet"), TypedFormat("Arrow", "ipc")
# A new format of tables is a line of this table.
FORMATS: dict[str, TableFormat] = {
    ".csv": TextFormat("CSV", ","),
    ".tsv": TextFormat("TSV", "\t"),
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    ".arrow": _ARROW,
    ".feather": _ARROW,
}
# The formats, for messages.
TABLES = ", ".join(dict.fromkeys(form.title for form in FORMATS.values()))


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a table, by its suffix.

    Examples
    --------
    >>> is_table("rows.csv.gz"), is_table("train.txt"), is_table("-")
    (True, False, False)
    """
    return _suffix(Path(path)) in FORMATS


def format_of(path: Path) -> TableFormat:
    """Return the format of a file by its suffix."""
    form = FORMATS.get(_suffix(path))
    if form is None or (path.suffix.lower() in PACKED_SUFFIXES and not form.is_text):
        raise ValueError(
            f"path must end in {', '.join(FORMATS)}, or be packed text such as .csv.gz; got {path}."
        )
    return form


def separator_of_header(line: str) -> str:
    """Return a semicolon if commas would leave one column of several, else a comma.

    Examples
    --------
    >>> separator_of_header("price;stars"), separator_of_header('"a;b",stars'), separator_of_header("price")
    (';', ',', ',')
    """
    n_fields = {mark: len(next(csv.reader([line], delimiter=mark), [])) for mark in ",;"}
    return ";" if n_fields[","] == 1 < n_fields[";"] else ","


def row_group_sizes(path: str) -> list[int]:
    """Return the numbers of rows of the row groups of a file; none for other formats."""
    form = format_of(Path(path))
    return form.group_sizes(path) if isinstance(form, TypedFormat) else []


def name_of(source: Source) -> str:
    """Return the name of a source in messages."""
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "<stdin>"


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in PACKED_SUFFIXES:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@contextmanager
def _stream(source: Source) -> Iterator[Any]:
    """Open a file, decompressed; a stream in memory is read from its beginning."""
    if isinstance(source, io.BytesIO):
        source.seek(0)
        yield source
        return
    with open_input(source) as opened:
        yield opened.stream if opened.n_bytes is not None else io.BufferedReader(opened.stream)


def _has_arrow(title: str) -> bool:
    if importlib.util.find_spec("pyarrow") is not None:
        return True
    if importlib.util.find_spec("polars") is None:
        raise ImportError(f"{title} files need pyarrow or polars: pip install pyarrow.")
    return False


@contextmanager
def _explained(source: Source) -> Iterator[None]:
    """Turn an error of the content into a `TableError` that names the file."""
    os.stat(source)  # type: ignore[arg-type]
    try:
        yield
    except (ImportError, TableError):
        raise
    except Exception as error:
        of_content = type(error).__module__.split(".")[0] in ("polars", "pyarrow")
        damaged = isinstance(error, OSError) and error.errno is None  # as pyarrow reports corrupt data
        if not (of_content or damaged):
            raise
        raise TableError(f"{name_of(source)} is not a readable table: {error}") from None


def _groups_within(sizes: list[int], rows: tuple[int, int]) -> list[int]:
    """Return the row groups that begin in a range of rows."""
    begins = [sum(sizes[:number]) for number in range(len(sizes))]
    return [number for number, begin in enumerate(begins) if rows[0] <= begin < rows[1]]
