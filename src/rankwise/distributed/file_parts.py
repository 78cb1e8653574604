"""The parts of files that are partitions: files, folders with partitions, row groups of Parquet files."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import check_count
from rankwise.distributed.engine import Engine
from rankwise.distributed.part_columns import PartColumn
from rankwise.io.chunks import join_queries
from rankwise.io.large_labels import large_ties, warn_of_large_ties
from rankwise.io.table_formats import TABLES, NotNumbersError, RowRange, is_table, row_group_sizes
from rankwise.io.tables import table_columns


class FileHead(NamedTuple):
    """The shape of a file that was read, for the driver.

    Attributes
    ----------
    n_rows : int
    names : list of str or None
        The names of the features.
    queries : dtype or None
        The type of the queries, None without queries.
    large_ties : array
        A label of 2^53 or more that occurs twice, if there is one.
    """

    n_rows: int
    names: list[str] | None
    queries: Any
    large_ties: NDArray[np.float64]


def head_of(read: Any) -> Any:
    """Return the head of a file, or the error of a read."""
    if isinstance(read, NotNumbersError):
        return read
    _, labels, queries, names = read
    return FileHead(len(labels), names, None if queries is None else queries.dtype, large_ties(labels))


def file_columns(
    engine: Engine, reads: list[Any], files: Sequence[str], heads: Sequence[FileHead]
) -> tuple[Any, Any]:
    """Return the labels and the queries of files, some of which may be empty.

    With a client and queries, they are columns on the workers. One ranking needs its labels in memory.
    """
    filled = [(file, head) for file, head in zip(files, heads, strict=True) if head.n_rows]
    missing = [file for file, head in filled if head.queries is None]
    if missing and len(missing) < len(filled):
        raise ValueError(f"{missing[0]} has no queries, but other files do.")
    if missing or not filled or not engine.remote:
        return _in_memory(engine, reads)
    warn_of_large_ties(np.concatenate([head.large_ties for head in heads]))
    types = {head.queries for _, head in filled}
    has_words = np.dtype(object) in types
    lengths = [head.n_rows for head in heads]
    labels = engine.map(labels_of, reads)
    queries = engine.map(queries_of, reads, [has_words and len(types) > 1] * len(reads))
    return (
        PartColumn(labels, lengths, files, np.float64),
        PartColumn(queries, lengths, files, object if has_words else np.result_type(*types)),
    )


def _in_memory(engine: Engine, reads: list[Any]) -> tuple[Any, Any]:
    parts = engine.execute(lambda: engine.map(columns_of, reads))
    joined = np.concatenate([labels for labels, _ in parts])
    warn_of_large_ties(joined)
    filled = [queries for labels, queries in parts if len(labels)]
    return joined, join_queries(filled) if filled else None


def columns_of(read: Any) -> tuple[Any, Any]:
    """Return the labels and queries of a file."""
    return read[1], read[2]


def labels_of(read: Any) -> NDArray[np.float64]:
    """Return the labels of a file."""
    return read[1]


def queries_of(read: Any, as_words: bool) -> NDArray[Any]:
    """Return the queries of a file; as words, if those of another file are."""
    if read[2] is None:  # an empty file
        return np.empty(0, dtype=object if as_words else np.int64)
    return np.array(list(map(str, read[2].tolist())), dtype=object) if as_words else read[2]


# A folder whose name is that of a column and its value, such as "year=2024", and the mark of a missing value.
_COLUMN_FOLDER = re.compile(r"([^=]+)=(.*)")
_MISSING = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class FilePart:
    """A partition: a file or some of its rows, and the columns that its folders name.

    Attributes
    ----------
    path : str
    folders : tuple of (str, str or None)
        The names and values of columns; None for a missing value.
    rows : tuple of int, optional
        The range of rows.
    """

    path: str
    folders: tuple[tuple[str, str | None], ...] = ()
    rows: RowRange = None

    def columns(self) -> list[str]:
        """Return the names of the columns of a table, those of the folders last."""
        own = table_columns(Path(self.path))
        return own + [name for name, _ in self.folders if name not in own]

    def row_groups(self, most: int) -> list[FilePart]:
        """Return parts of a Parquet file with at most this many rows, or of one row group."""
        begins, end = [0], 0
        for size in row_group_sizes(self.path):
            if end > begins[-1] and end + size - begins[-1] > most:
                begins.append(end)
            end += size
        ranges = zip(begins, [*begins[1:], end], strict=True)
        return [FilePart(self.path, self.folders, rows) for rows in ranges] if len(begins) > 1 else [self]


def file_parts(paths: Any) -> list[FilePart]:
    """Return the files that match the patterns, in the order of the patterns and then of the names.

    A folder stands for all tables in it and in folders below or, if there are none, for all files. Names of
    folders such as "year=2024" below a folder or a pattern are columns of the tables in them.
    """
    patterns = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    parts: list[FilePart] = []
    for pattern in (os.fspath(path) for path in patterns):
        found = sorted(glob.glob(pattern)) or [pattern] * os.path.exists(pattern)
        root = _fixed_folder(pattern)
        files = [file for path in found for file in _files_below(path)]
        if not files:
            raise FileNotFoundError(f"paths: no file has the name or pattern {pattern!r}.")
        parts.extend(FilePart(file, _folder_columns(file, root)) for file in files)
    if len({is_table(part.path) for part in parts}) != 1:
        raise ValueError(f"paths must name svmlight files or tables ({TABLES}); got both or none.")
    return parts


def split_parts(parts: list[FilePart], most: int | None) -> list[FilePart]:
    """Split Parquet files of more than `most` rows at their row groups."""
    if most is None:
        return parts
    check_count("rows_per_partition", most)
    return [piece for part in parts for piece in part.row_groups(most)]


def _fixed_folder(pattern: str) -> str:
    """Return the folder of a pattern up to its first wildcard, or the folder of a file."""
    if os.path.isdir(pattern):
        return pattern
    if not glob.has_magic(pattern):
        return os.path.dirname(pattern)
    fixed = pattern[: min(pattern.index(mark) for mark in "*?[" if mark in pattern)]
    return os.path.dirname(fixed)


def _files_below(path: str) -> list[str]:
    """Return a file, or the tables in a folder and below; without tables, all files."""
    if not os.path.isdir(path):
        return [path]
    files = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if not name.startswith(("_", "."))
    ]
    return sorted([file for file in files if is_table(file)] or files)


def _folder_columns(file: str, root: str) -> tuple[tuple[str, str | None], ...]:
    """Return the names and values of the columns that folders between the root and a file name.

    Examples
    --------
    >>> _folder_columns("data/year=2024/city=New%20York/part-0.parquet", "data")
    (('year', '2024'), ('city', 'New York'))
    """
    between = os.path.dirname(os.path.relpath(file, root or os.curdir)).split(os.sep)
    found = [match.groups() for name in between if (match := _COLUMN_FOLDER.fullmatch(name))]
    return tuple((unquote(name), None if value == _MISSING else unquote(value)) for name, value in found)
