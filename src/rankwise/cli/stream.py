"""`rankwise train --stream`: tables that are larger than the memory of this machine."""

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

from rankwise.cli.data import CHUNK_ROWS, Data, require_same_columns
from rankwise.cli.output import Console, Progress, time_left
from rankwise.cli.stream_options import folder_of, room_watched
from rankwise.core.checks import as_codes
from rankwise.io.large_labels import warn_of_large_ties

# Of the range of a column: an error of this size turns the order of many rows round.
SHARE_OF_RANGE = 1e-4


def read_stream(options: argparse.Namespace, console: Console) -> Data:
    """Read a table into files without a name, which end with the process."""
    with ExitStack() as stack:
        folder, dtype = folder_of(options), np.dtype(options.stream)
        files = [stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(3)]
        stack.enter_context(room_watched(folder))
        rows, labels = FileColumn(files[0], dtype), FileColumn(files[1], np.float64)
        queries, digits, digest = Queries(files[2]), _Digits(dtype), hashlib.blake2b(digest_size=16)
        names, progress = None, stack.enter_context(console.progress())
        for chunk in _told(_chunks(options), _rows_to_come(options), progress):
            names = names or chunk.feature_names
            require_same_columns(names, chunk.feature_names)
            digest.update(rows.add(digits.kept(chunk.X)))
            labels.add(chunk.y)
            queries.add(chunk.qid)
        if names is None:
            return Data(np.empty((0, 0)), np.empty(0))
        data = Data(rows.array(len(names)), labels.array(), queries.joined(), names, digest.digest())
        if len(options.data) > 1:
            warn_of_large_ties(data.y)
    _release_readers()
    digits.tell(names, console)
    return data


class FileColumn:
    """Numbers that are added piece by piece to a file, and mapped from there.

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
        """Write numbers, and return what was written."""
        content = values.astype(self._dtype, copy=False).tobytes()
        self._file.write(content)
        return content

    def array(self, n_columns: int | None = None) -> Any:
        """Return a memory map of all that was added, which outlives the file's name and its end here."""
        self._file.flush()
        flat = np.memmap(self._file, self._dtype, "r+")
        return flat if n_columns is None else flat.reshape(-1, n_columns)


def scale_rows(scaler: Any, X: Any) -> Any:
    """Fit a scaler and return the rows scaled; those of a memory map are scaled in their place."""
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
    """Puts the queries of chunks together, with numbers for words, so that no row holds a word.

    A chunk holds words where one of its queries is no integer, and integers otherwise.

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
        self._chunks: list[tuple[int, bool]] = []  # the rows of each, and whether they hold words
        self._number_of: dict[str, int] = {}

    def add(self, qid: NDArray[Any] | None) -> None:
        """Take the queries of the next chunk; None where there are none in the whole table."""
        if qid is not None:
            words = qid.dtype == object
            self._column.add(self._numbered(qid) if words else qid)
            self._chunks.append((len(qid), words))

    def joined(self) -> Any:
        """Return the queries of all rows; integers become numbers, too, where another chunk has words."""
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
    """Turns rows into a type, and finds the columns whose differences are lost by it."""

    def __init__(self, dtype: np.dtype[Any]):
        self.dtype = dtype
        self._lowest = self._highest = self._error = np.zeros(0)

    def kept(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Return rows in the type."""
        with np.errstate(over="ignore"):
            kept = X.astype(self.dtype)
        error = np.abs(kept - X).max(axis=0)
        if not self._error.size:
            self._lowest, self._highest, self._error = X.min(axis=0), X.max(axis=0), error
        np.minimum(self._lowest, X.min(axis=0), out=self._lowest)
        np.maximum(self._highest, X.max(axis=0), out=self._highest)
        np.maximum(self._error, error, out=self._error)
        return kept

    def tell(self, names: list[str], console: Console) -> None:
        """Refuse numbers that the type cannot hold, and warn of columns that lose their order."""
        lost = ~np.isfinite(self._error)
        if lost.any():
            raise ValueError(f"Column {names[int(np.argmax(lost))]!r} is too large for {self.dtype}.")
        coarse = self._error > SHARE_OF_RANGE * (self._highest - self._lowest)
        if coarse.any():
            named = ", ".join(repr(names[k]) for k in np.flatnonzero(coarse)[:5])
            console.note(
                f"warning: rows differ by too little in {named} for the digits of {self.dtype}: shift the "
                "column, or use --stream float64."
            )


def _chunks(options: argparse.Namespace) -> Iterator[Any]:
    from rankwise.io.frames import iter_table

    columns = {"label": options.label, "qid": options.qid, "features": options.features}
    for path in options.data:
        yield from iter_table(path, chunk_rows=CHUNK_ROWS, **columns)


def _release_readers() -> None:
    """Give back what pyarrow keeps for the next table: some hundred megabytes."""
    if (pyarrow := sys.modules.get("pyarrow")) is not None:
        pyarrow.default_memory_pool().release_unused()


def _rows_to_come(options: argparse.Namespace) -> int | None:
    """Return the number of rows of all tables, where the files tell it before they are read."""
    from rankwise.io.table_size import known_rows

    rows = [known_rows(path) for path in options.data]
    return None if None in rows else sum(filter(None, rows))


def _told(chunks: Iterator[Any], total: int | None, progress: Progress) -> Iterator[Any]:
    n_rows, start = 0, perf_counter()
    for chunk in chunks:
        yield chunk
        n_rows += len(chunk.y)
        share = n_rows / total if total else None
        progress.show(share, f"{n_rows:,} rows read{time_left(share, perf_counter() - start)}")
