"""Files that together are larger than memory: one partition per file, read on demand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.data.design import Design
from rankwise.distributed.blocks import as_block
from rankwise.distributed.client import current_engine
from rankwise.distributed.collections import Partitions
from rankwise.distributed.engine import Engine, require_dask
from rankwise.distributed.file_parts import FilePart, file_columns, file_parts, head_of, split_parts
from rankwise.distributed.file_tables import (
    joined_kinds,
    load_mixed,
    load_numbers,
    part_kinds,
    table_options,
)
from rankwise.io.atomic import atomic_folder
from rankwise.io.table_formats import NotNumbersError, is_table
from rankwise.io.tables import check_present

# numpy reads the heads of files with Python's parser, which before 3.11.8 may fail in two threads at once.
_one_parser = Lock()


@dataclass
class FileData:
    """The data of several files: rows that are read on demand, and their labels and queries.

    Attributes
    ----------
    X : Partitions
    y : array or PartColumn of shape (n_rows,)
        With a Dask client and queries, a column that stays on the workers; otherwise an array in memory.
        `np.asarray(data.y)` is an array in any case.
    qid : array or PartColumn of shape (n_rows,), or None
    kinds : list or None
        What the columns of a table with strings or missing values are; None for numbers.
    """

    X: Partitions
    y: Any
    qid: Any
    kinds: list[Any] | None = None


def from_files(
    paths: Any,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    label: str = "label",
    qid: str | None = "auto",
    cache: Any = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    rows_per_partition: int | None = None,
) -> FileData:
    """Read svmlight (LETOR) files or tables (CSV, Parquet, Arrow), one partition each.

    The files are read once for labels and queries. With a Dask client, the rows then stay on the workers, and
    so do labels and queries if there are queries; they become arrays in memory if code asks for arrays.
    Without a client, labels and queries are in memory, and rows are read again in every round, which is slow
    for text: `cache` names a folder for binary copies, which are memory-mapped.

    Parameters
    ----------
    paths : str, path, or list of them
        A pattern such as ``"part-*.txt.gz"``, files, or folders; every worker must be able to read them. A
        folder stands for the tables in it and below. Folders such as ``year=2024`` below a folder or a
        pattern are columns of the tables in them.
    n_features : int, optional
        The number of columns of svmlight files. The default is the largest index of all files, which are then
        read once more.
    zero_based : bool
        Whether the indices of svmlight files begin at 0.
    label : str
        The column of the labels of tables. The features are the other columns of the first table; they are
        read by name, so that the order of the columns may differ between tables. A missing or further column
        is an error that names it and the file.
    qid : str or None
        The column of the queries of tables, None if there are none. The default is the column "qid", if the
        tables have one.
    cache : path, optional
        A folder for binary copies. A copy is renewed if its file has changed. Tables with strings or missing
        values are not copied.
    features : sequence of str, optional
        The columns of tables that are features, if not all are.
    exclude : sequence of str
        The columns of tables that are no features, if `features` does not name them.
    categorical : sequence of str
        Columns of tables whose values are words, even if they look like numbers.
    rows_per_partition : int, optional
        A Parquet file with more rows is several partitions, of whole row groups.

    Returns
    -------
    data : FileData
        X, y and qid, with a partition per file.

    Notes
    -----
    Rows of tables with strings, dates or missing values are frames, in which a column has the same type in
    all parts. Pipelines with a `TableEncoder` take them (see `fit_pipeline`).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "part-0.txt").write_text("2 qid:1 1:0.5 2:1\\n1 qid:1 1:0.25\\n")
    >>> _ = (folder / "part-1.txt").write_text("0 qid:2 2:3\\n3 qid:2 1:2\\n")
    >>> from rankwise import RankSVM
    >>> data = from_files(folder / "part-*.txt")
    >>> data.y.tolist(), data.qid.tolist()
    ([2.0, 1.0, 0.0, 3.0], [1, 1, 2, 2])
    >>> RankSVM().fit(data.X, data.y, qid=data.qid).n_pairs_
    2
    """
    require_dask()
    parts, engine = file_parts(paths), current_engine()
    folder = None if cache is None else os.fspath(cache)
    if not is_table(parts[0].path):
        width = n_features or _most_features(engine, parts, zero_based)
        return _read(engine, parts, load_text, (width, zero_based), folder)
    tables = engine.execute(lambda: engine.map(part_columns, parts))
    columns = table_options(parts, tables, label, qid, features, exclude)
    parts = split_parts(parts, rows_per_partition)
    if not categorical:
        with suppress(NotNumbersError):
            return _read(engine, parts, load_numbers, (columns,), folder)
    check_present(Path(parts[0].path), categorical, columns.features)
    columns = columns._replace(words=tuple(categorical))
    kinds = engine.execute(lambda: engine.map(part_kinds, parts, [columns] * len(parts)))
    columns = columns._replace(kinds=joined_kinds(parts, kinds, columns.features))
    return _read(engine, parts, load_mixed, (columns,), None)


def _read(engine: Engine, parts: list[FilePart], load: Any, options: tuple[Any, ...], cache: Any) -> FileData:
    """Read all parts; rows are read, and rows, labels and queries kept on the workers, as tasks."""
    arguments = [[value] * len(parts) for value in (load, options, cache)]
    # A read is a task of its own, which Dask repeats if the worker with its result is lost.
    reads = engine.map(read_or_error, parts, *arguments)
    heads = engine.execute(lambda: engine.map(head_of, reads))
    if errors := [head for head in heads if isinstance(head, NotNumbersError)]:
        raise errors[0]
    is_numeric = load is not load_mixed
    rows = Partitions(
        engine.map(rows_of if is_numeric else frame_of, reads),
        [head.n_rows for head in heads],
        heads[0].names,
        loaded=is_numeric,
        is_sparse=load is load_text,
    )
    labels, queries = file_columns(engine, reads, [part.path for part in parts], heads)
    return FileData(rows, labels, queries, None if is_numeric else list(options[0].kinds))


def _most_features(engine: Engine, parts: list[FilePart], zero_based: bool) -> int:
    return max(engine.execute(lambda: engine.map(text_width, parts, [zero_based] * len(parts))))


def part_columns(part: FilePart) -> list[str]:
    """Return the names of the columns of a part of a table."""
    return part.columns()


def text_width(part: FilePart, zero_based: bool) -> int:
    """Return the number of columns of a svmlight file."""
    from rankwise.io.svmlight import load_svmlight

    return load_svmlight(part.path, zero_based=zero_based).X.shape[1]


def load_text(part: FilePart, n_features: int, zero_based: bool) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, queries and no names."""
    from rankwise.io.svmlight import load_svmlight

    data = load_svmlight(part.path, n_features=n_features, zero_based=zero_based)
    return data.X, data.y, data.qid, None


def read_or_error(part: FilePart, load: Any, options: tuple, cache: str | None) -> Any:
    """Load a file; strings and missing values are returned as an error, which workers do not log."""
    try:
        return load_cached(part, load, options, cache)
    except NotNumbersError as error:
        return error


def load_cached(part: FilePart, load: Any, options: tuple, cache: str | None) -> tuple[Any, Any, Any, Any]:
    """Load a file or its binary copy, which is made unless there is one of this version of the file."""
    if cache is None:
        return load(part, *options)
    state = os.stat(part.path)
    which = (os.path.abspath(part.path), part.folders, part.rows)
    name = repr((which, state.st_mtime_ns, state.st_size, options))
    folder = Path(cache, sha256(name.encode()).hexdigest()[:24])
    if not folder.exists():
        write_copy(folder, *load(part, *options))
    return read_copy(folder)


def write_copy(folder: Path, X: Any, y: Any, qid: Any, names: Any) -> None:
    """Write arrays that can be memory-mapped; the folder is renamed when it is complete."""
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr} if sp.issparse(X) else {"rows": X}
    more: dict[str, Any] = {"shape": np.array(X.shape), "names": np.array(names or [], dtype=str)}
    if qid is not None:
        more["query"] = qid.astype(str) if qid.dtype.kind == "O" else qid
    with atomic_folder(folder) as partial:
        for name, array in (parts | {"labels": y}).items():
            np.save(partial / f"{name}.npy", array)
        np.savez(partial / "more.npz", **more)


def read_copy(folder: Path) -> tuple[Any, Any, Any, Any]:
    """Memory-map the arrays of a copy; the rows are read when they are used."""
    with _one_parser:
        return _read_copy(folder)


def _read_copy(folder: Path) -> tuple[Any, Any, Any, Any]:
    with np.load(folder / "more.npz") as arrays:
        more = dict(arrays)
    names, query = more["names"].tolist() or None, more.get("query")
    if query is not None and query.dtype.kind == "U":
        query = query.astype(object)
    labels = np.load(folder / "labels.npy")
    if (folder / "rows.npy").exists():
        return np.load(folder / "rows.npy", mmap_mode="r"), labels, query, names
    data, indices, indptr = (
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr")
    )
    return (
        sp.csr_matrix((data, indices, indptr), shape=tuple(more["shape"]), copy=False),
        labels,
        query,
        names,
    )


def rows_of(read: tuple[Any, Any, Any, Any]) -> Design:
    """Return the rows of a file as a block."""
    return as_block(read[0])


def frame_of(read: tuple[Any, Any, Any, Any]) -> Any:
    """Return the rows of a file as a frame."""
    return read[0]
