"""The labels and queries of files: columns that stay on the workers, or arrays in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.distributed.engine import Engine
from rankwise.distributed.part_columns import PartColumn
from rankwise.io.chunks import join_queries
from rankwise.io.large_labels import large_ties, warn_of_large_ties
from rankwise.io.table_formats import NotNumbersError


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
