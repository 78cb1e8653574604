"""`rankwise train --stream`: tables that are larger than the memory of this machine."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._checks import as_codes
from rankwise.cli.data import CHUNK_ROWS, Data
from rankwise.cli.output import Console, Progress, time_left
from rankwise.cli.stream_options import arrays_of_stream, folder_of
from rankwise.io.chunks import join_queries

# Of the range of a column: an error of this size turns the order of many rows round.
SHARE_OF_RANGE = 1e-4


def read_stream(options: argparse.Namespace, console: Console) -> Data:
    """Read labels and queries; the features go to a file without a name, which ends with the process."""
    digits, queries = _Digits(np.dtype(options.stream)), Queries()
    digest = hashlib.blake2b(digest_size=16)
    labels, names = [], None
    with tempfile.TemporaryFile(dir=folder_of(options)) as file, console.progress() as progress:
        for chunk in _told(_chunks(options), _rows_to_come(options), progress):
            if names is not None and chunk.feature_names != names:
                raise ValueError("The tables must have the same feature columns in the same order.")
            names = chunk.feature_names
            rows = digits.kept(chunk.X).tobytes()
            file.write(rows)
            digest.update(rows)
            labels.append(chunk.y.copy())  # what was read might hold it together with the features
            queries.add(chunk.qid)
        if names is None:
            return Data(np.empty((0, 0)), np.empty(0))
        file.flush()
        _release_readers()
        with arrays_of_stream(options):
            y, qid = np.concatenate(labels), queries.joined()
        X: Any = np.memmap(file, dtype=options.stream, mode="r+", shape=(len(y), len(names)))
    digits.tell(names, console)
    return Data(X, y, qid, names, digest.digest())


def scale_rows(scaler: Any, X: Any) -> Any:
    """Fit a scaler and return the rows scaled; those of a memory map are scaled in their place."""
    from rankwise.design import row_blocks

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
    >>> queries = Queries()
    >>> queries.add(np.array([7, 8]))
    >>> queries.add(np.array(["8", "b", "b"], dtype=object))
    >>> queries.joined().tolist()
    [2, 0, 0, 1, 1]
    """

    def __init__(self) -> None:
        self._chunks: list[Any] = []
        self._hold_words: list[bool] = []
        self._number_of: dict[str, int] = {}

    def add(self, qid: NDArray[Any] | None) -> None:
        """Take the queries of the next chunk."""
        words = qid is not None and qid.dtype == object
        self._chunks.append(self._numbered(qid) if words else qid)
        self._hold_words.append(words)

    def joined(self) -> NDArray[np.int64] | None:
        """Return the queries of all rows; integers become numbers, too, where another chunk has words."""
        if any(self._hold_words):
            for place in np.flatnonzero(~np.array(self._hold_words)):
                self._chunks[place] = self._numbered(self._chunks[place])
        return join_queries(self._chunks)

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
