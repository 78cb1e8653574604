"""`rankwise train --stream`: tables larger than memory."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.cli.data import CHUNK_ROWS, Data, features_of_tables, separator_of
from rankwise.cli.output import Console, Progress, time_left
from rankwise.cli.stream_options import folder_of, room_watched
from rankwise.core.checks import as_codes
from rankwise.core.text import plural
from rankwise.io.large_labels import warn_of_large_ties

# A rounding error of this fraction of the range of a column may change the order of many rows.
RANGE_FRACTION = 1e-4


def read_stream(options: argparse.Namespace, console: Console) -> Data:
    """Read a table into unnamed temporary files."""
    with ExitStack() as stack:
        folder, dtype = folder_of(options), np.dtype(options.stream)
        files = [stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(3)]
        stack.enter_context(room_watched(folder))
        rows, labels = FileColumn(files[0], dtype), FileColumn(files[1], np.float64)
        queries, digits, digest = Queries(files[2]), _Digits(dtype), hashlib.blake2b(digest_size=16)
        names, progress = None, stack.enter_context(console.progress())
        for chunk in _with_progress(_chunks(options), _rows_to_come(options), progress):
            names = names or chunk.feature_names
            digest.update(rows.add(digits.kept(chunk.X)))
            labels.add(chunk.y)
            queries.add(chunk.qid)
        if names is None:
            return Data(np.empty((0, 0)), np.empty(0))
        data = Data(rows.array(len(names)), labels.array(), queries.joined(), names, digest.digest())
        if len(options.data) > 1:
            warn_of_large_ties(data.y)
    _release_readers()
    digits.report(names, console)
    return data


class FileColumn:
    """Numbers that are appended to a file and memory-mapped.

    Examples
    --------
    >>> with tempfile.TemporaryFile() as file:
    ...     column = FileColumn(file, np.float32)
    ...     pieces = [column.add(np.array(piece)) for piece in ([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]])]
    ...     array = column.array(n_columns=2)
    >>> array.tolist(), array.tobytes() == b"".join(pieces)
    ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], True)
    """

    def __init__(self, file: Any, dtype: Any):
        self._file, self._dtype = file, np.dtype(dtype)

    def add(self, values: NDArray[Any]) -> bytes:
        """Write numbers and return their bytes."""
        content = values.astype(self._dtype, copy=False).tobytes()
        self._file.write(content)
        return content

    def array(self, n_columns: int | None = None) -> Any:
        """Return a memory map of all numbers, which remains valid after the file is closed."""
        self._file.flush()
        flat = np.memmap(self._file, self._dtype, "r+")
        return flat if n_columns is None else flat.reshape(-1, n_columns)


def scale_rows(scaler: Any, X: Any) -> Any:
    """Fit a scaler and return the rows scaled; a memory map is scaled in place."""
    from rankwise.data.design import row_blocks

    if not isinstance(X, np.memmap):
        return scaler.fit_transform(X)
    parts = list(row_blocks(X.shape[0], X.shape[1], CHUNK_ROWS * X.shape[1]))
    for rows in parts:
        scaler.partial_fit(X[rows])
    for rows in parts:
        X[rows] = scaler.transform(X[rows])
    return X


class Queries:
    """The queries of all chunks as integers; strings are numbered.

    The queries of a chunk are strings if one of them is not an integer.

    Examples
    --------
    >>> with tempfile.TemporaryFile() as file:
    ...     queries = Queries(file)
    ...     queries.add(np.array([7, 8]))
    ...     queries.add(np.array(["8", "b", "b"], dtype=object))
    ...     joined = queries.joined()
    >>> joined.tolist()
    [2, 0, 0, 1, 1]
    """

    def __init__(self, file: Any) -> None:
        self._column = FileColumn(file, np.int64)
        self._chunks: list[tuple[int, bool]] = []  # the rows of each, and whether its queries are strings
        self._number_of: dict[str, int] = {}

    def add(self, qid: NDArray[Any] | None) -> None:
        """Add the queries of the next chunk; None if the table has none."""
        if qid is not None:
            words = qid.dtype == object
            self._column.add(self._numbered(qid) if words else qid)
            self._chunks.append((len(qid), words))

    def joined(self) -> Any:
        """Return the queries of all rows; integers are numbered too if another chunk has strings."""
        if not self._chunks:
            return None
        joined, begin = self._column.array(), 0
        for n_rows, words in self._chunks:
            if self._number_of and not words:
                joined[begin : begin + n_rows] = self._numbered(joined[begin : begin + n_rows])
            begin += n_rows
        return joined

    def _numbered(self, qid: Any) -> NDArray[np.int64]:
        distinct, codes = as_codes(qid, "qid")
        known = self._number_of
        numbers = [known.setdefault(str(value), len(known)) for value in distinct.tolist()]
        return np.array(numbers, dtype=np.int64)[codes]


class _Digits:
    """Convert rows to a type, and find columns whose differences are lost by rounding."""

    def __init__(self, dtype: np.dtype[Any]):
        self.dtype = dtype
        self._lowest = self._highest = self._error = np.zeros(0)

    def kept(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Return rows in this type."""
        with np.errstate(over="ignore"):
            kept = X.astype(self.dtype)
        error = np.abs(kept - X).max(axis=0)
        if not self._error.size:
            self._lowest, self._highest, self._error = X.min(axis=0), X.max(axis=0), error
        np.minimum(self._lowest, X.min(axis=0), out=self._lowest)
        np.maximum(self._highest, X.max(axis=0), out=self._highest)
        np.maximum(self._error, error, out=self._error)
        return kept

    def report(self, names: list[str], console: Console) -> None:
        """Refuse numbers that overflow, and warn of columns whose order is lost."""
        lost = ~np.isfinite(self._error)
        if lost.any():
            raise ValueError(f"Column {names[int(np.argmax(lost))]!r} overflows {self.dtype}.")
        coarse = self._error > RANGE_FRACTION * (self._highest - self._lowest)
        if coarse.any():
            named = ", ".join(repr(names[k]) for k in np.flatnonzero(coarse)[:5])
            console.note(
                f"warning: {self.dtype} is too coarse for the differences of rows in {named}; shift the "
                "column, or use --stream float64."
            )


def _chunks(options: argparse.Namespace) -> Iterator[Any]:
    from rankwise.io.frames import iter_table

    columns = {"label": options.label, "qid": options.qid, "features": features_of_tables(options)}
    columns["separator"] = separator_of(options)
    for path in options.data:
        yield from iter_table(path, chunk_rows=CHUNK_ROWS, **columns)


def _release_readers() -> None:
    """Release the memory that pyarrow keeps for the next table."""
    if (pyarrow := sys.modules.get("pyarrow")) is not None:
        pyarrow.default_memory_pool().release_unused()


def _rows_to_come(options: argparse.Namespace) -> int | None:
    """Return the number of rows of all tables, None if the files do not have it."""
    from rankwise.io.table_readers import known_rows

    rows = [known_rows(path) for path in options.data]
    return None if None in rows else sum(filter(None, rows))


def _with_progress(chunks: Iterator[Any], total: int | None, progress: Progress) -> Iterator[Any]:
    n_rows, start = 0, perf_counter()
    for chunk in chunks:
        yield chunk
        n_rows += len(chunk.y)
        fraction = n_rows / total if total else None
        progress.show(fraction, f"{plural(n_rows, 'row')} read{time_left(fraction, perf_counter() - start)}")
