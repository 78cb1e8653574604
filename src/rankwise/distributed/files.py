"""Files that together are larger than memory: one partition per file, read on demand."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.text import listing
from rankwise.data.design import Design
from rankwise.distributed.blocks import as_block
from rankwise.distributed.client import current_engine
from rankwise.distributed.collections import Partitions
from rankwise.distributed.engine import require_dask
from rankwise.io.atomic import atomic_folder
from rankwise.io.chunks import join_queries
from rankwise.io.frames import table_columns
from rankwise.io.large_labels import warn_of_large_ties
from rankwise.io.table_readers import is_table

# numpy reads the heads of files with Python's parser, which before 3.11.8 may fail in two threads at once.
_one_parser = Lock()


@dataclass
class FileData:
    """The data of several files: rows that are read on demand, and columns in memory.

    Attributes
    ----------
    X : Partitions
    y : array of shape (n_rows,)
    qid : array of shape (n_rows,) or None
    """

    X: Partitions
    y: NDArray[np.float64]
    qid: NDArray[Any] | None


def from_files(
    paths: Any,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    label: str = "label",
    qid: str | None = "auto",
    cache: Any = None,
) -> FileData:
    """Read svmlight (LETOR) files or tables (CSV, Parquet), one partition each.

    The files are read once for labels and queries. With a Dask client, the rows then stay on the workers.
    Without one, they are read again in every round, which is slow for text: `cache` names a folder for binary
    copies, which are memory-mapped.

    Parameters
    ----------
    paths : str, path, or list of them
        A pattern such as ``"part-*.txt.gz"``, or files; every worker must be able to read them.
    n_features : int, optional
        The number of columns of svmlight files. The default is the largest index of all files, which are then
        read once more.
    zero_based : bool
        Whether the indices of svmlight files begin at 0.
    label : str
        The column of the labels of tables. The features are the other columns of the first table; they are
        read by name, so that the order of the columns may differ between tables.
    qid : str or None
        The column of the queries of tables, None if there are none. The default is the column "qid", if the
        tables have one.
    cache : path, optional
        A folder for binary copies. A copy is renewed if its file has changed.

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
    files = expanded(paths)
    engine = current_engine()
    load: Any = load_text
    options: tuple[Any, ...]
    if is_table(files[0]):
        tables = engine.execute(lambda: engine.map(table_columns, [Path(file) for file in files]))
        load, options = load_table, table_options(files, tables, label, qid)
    else:
        options = (n_features or _most_features(engine, files, zero_based), zero_based)
    folder = None if cache is None else os.fspath(cache)
    arguments = [[value] * len(files) for value in (load, options, folder)]
    # A read is a task of its own, which Dask repeats if the worker with its result is lost.
    reads = engine.map(load_cached, files, *arguments)
    parts = engine.execute(lambda: engine.map(columns_of, reads))
    labels = np.concatenate([part[0] for part in parts])
    warn_of_large_ties(labels)
    return FileData(
        Partitions(engine.map(rows_of, reads), [len(part[0]) for part in parts], parts[0][2], loaded=True),
        labels,
        joined_queries(files, [part[1] for part in parts]),
    )


def _most_features(engine: Any, files: list[str], zero_based: bool) -> int:
    return max(engine.execute(lambda: engine.map(text_width, files, [zero_based] * len(files))))


def expanded(paths: Any) -> list[str]:
    """Return the files that match the patterns, in the order of the patterns and then of the names."""
    patterns = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files: list[str] = []
    for pattern in (os.fspath(path) for path in patterns):
        found = sorted(glob.glob(pattern)) or [pattern] * os.path.exists(pattern)
        if not found:
            raise FileNotFoundError(f"paths: no file has the name or pattern {pattern!r}.")
        files.extend(found)
    if len(set(map(is_table, files))) != 1:
        raise ValueError("paths must name svmlight files or tables (CSV, Parquet); got both or none.")
    return files


def joined_queries(files: Sequence[str], queries: Sequence[Any]) -> NDArray[Any] | None:
    """Concatenate the queries of all files; a query may continue in the next file."""
    missing = [file for file, query in zip(files, queries, strict=True) if query is None]
    if len(missing) == len(files):
        return None
    if missing:
        raise ValueError(f"{missing[0]} has no queries, but other files do.")
    return join_queries(list(queries))


def text_width(file: str, zero_based: bool) -> int:
    """Return the number of columns of a svmlight file."""
    from rankwise.io.svmlight import load_svmlight

    return load_svmlight(file, zero_based=zero_based).X.shape[1]


def load_text(file: str, n_features: int, zero_based: bool) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, queries and no names."""
    from rankwise.io.svmlight import load_svmlight

    data = load_svmlight(file, n_features=n_features, zero_based=zero_based)
    return data.X, data.y, data.qid, None


def load_table(file: str, label: str, qid: str | None, features: Sequence[str]) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, queries and the names of the features, which are read by name."""
    from rankwise.io.frames import read_table

    data = read_table(file, label=label, qid=qid, features=features)
    return data.X, data.y, data.qid, data.feature_names


def table_options(files: list[str], tables: list[list[str]], label: str, qid: str | None) -> tuple[Any, ...]:
    """Return the columns to read of each table: the features of the first, which all must have."""
    if qid == "auto":
        qid = "qid" if all("qid" in columns for columns in tables) else None
        if qid is None and any("qid" in columns for columns in tables):
            raise ValueError(
                "Some of the tables have a column 'qid', others have not; name the column of the queries."
            )
    features = [name for name in tables[0] if name not in (label, qid)]
    for file, columns in zip(files[1:], tables[1:], strict=True):
        surplus = [name for name in columns if name not in tables[0]]
        if surplus:
            raise ValueError(f"{file} has the column {listing(surplus)}, which {files[0]} has not.")
    return label, qid, tuple(features)


def load_cached(file: str, load: Any, options: tuple, cache: str | None) -> tuple[Any, Any, Any, Any]:
    """Load a file or its binary copy, which is made unless there is one of this version of the file."""
    if cache is None:
        return load(file, *options)
    state = os.stat(file)
    name = repr((os.path.abspath(file), state.st_mtime_ns, state.st_size, options))
    folder = Path(cache, sha256(name.encode()).hexdigest()[:24])
    if not folder.exists():
        write_copy(folder, *load(file, *options))
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


def columns_of(read: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Return labels, queries and names."""
    return read[1:]
