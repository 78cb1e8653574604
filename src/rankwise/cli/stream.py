"""`rankwise train --stream`: tables that are larger than the memory of this machine."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.cli.data import CHUNK_ROWS, Data
from rankwise.cli.output import Console, Progress
from rankwise.io.chunks import join_queries

# Of the range of a column: an error of this size turns the order of many rows round.
SHARE_OF_RANGE = 1e-4


def read_stream(options: argparse.Namespace, console: Console) -> Data:
    """Read labels and queries; the features go to a file without a name, which ends with the process."""
    folder = os.path.dirname(os.path.abspath(options.output))
    digits = _Digits(np.dtype(options.stream))
    labels, queries, names = [], [], None
    with tempfile.TemporaryFile(dir=folder) as file, console.progress() as progress:
        for chunk in _told(_chunks(options), progress):
            if names is not None and chunk.feature_names != names:
                raise ValueError("The tables must have the same feature columns in the same order.")
            names = chunk.feature_names
            file.write(digits.kept(chunk.X).tobytes())
            labels.append(chunk.y)
            queries.append(chunk.qid)
        if names is None:
            return Data(np.empty((0, 0)), np.empty(0))
        file.flush()
        y = np.concatenate(labels)
        X: Any = np.memmap(file, dtype=options.stream, mode="r+", shape=(len(y), len(names)))
    digits.tell(names, console)
    return Data(X, y, join_queries(queries), names)


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


def _told(chunks: Iterator[Any], progress: Progress) -> Iterator[Any]:
    n_rows = 0
    for chunk in chunks:
        yield chunk
        n_rows += len(chunk.y)
        progress.show(None, f"{n_rows:,} rows read")
