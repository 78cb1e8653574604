"""Chunks of whole queries from rows that are read in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = TypeVar("Rows", bound=Any)  # has X and qid


def query_chunks(
    pieces: Iterable[Rows],
    chunk_rows: int,
    take: Callable[[Rows, int, int], Rows],
    join: Callable[[list[Rows]], Rows],
) -> Iterator[Rows]:
    """Yield chunks of at most `chunk_rows` rows that end at query boundaries; a larger query is one chunk.

    ``take(rows, begin, end)`` copies some rows, and ``join(pieces)`` concatenates consecutive pieces.
    """
    waiting: list[Rows] = []
    n_waiting, divisible = 0, False
    for piece in pieces:
        if not n_rows(piece):
            continue
        # A query of many pieces is joined once, at its end.
        divisible = divisible or len(borders([*waiting[-1:], piece])) > 1
        waiting.append(piece)
        n_waiting += n_rows(piece)
        if n_waiting > chunk_rows and divisible:
            *chunks, rest = _cut(join(waiting), chunk_rows, take)
            yield from chunks
            waiting, n_waiting, divisible = [rest], n_rows(rest), len(borders([rest])) > 1
    if waiting:
        yield from _cut(join(waiting), chunk_rows, take)


def _cut(rows: Rows, chunk_rows: int, take: Callable[[Rows, int, int], Rows]) -> list[Rows]:
    """Split rows into chunks; the last one may continue in the next piece."""
    starts, end = borders([rows]), n_rows(rows)
    cuts = [0]
    while end - cuts[-1] > chunk_rows:
        k = np.searchsorted(starts, cuts[-1] + chunk_rows, side="right") - 1
        k += starts[k] == cuts[-1]  # one query has more rows than a chunk
        if k == len(starts):
            break
        cuts.append(int(starts[k]))
    return [take(rows, *span) for span in zip(cuts, [*cuts[1:], end], strict=True)]


def n_rows(rows: Any) -> int:
    """Return the number of rows."""
    return int(rows.X.shape[0])


def borders(pieces: list[Any]) -> NDArray[np.int64]:
    """Return the rows at which a chunk may begin."""
    if pieces[0].qid is None:
        return np.arange(sum(map(n_rows, pieces)))
    qid = join_queries([piece.qid for piece in pieces])
    return np.concatenate([[0], 1 + np.flatnonzero(qid[1:] != qid[:-1])])


def join_queries(pieces: list[Any]) -> Any:
    """Concatenate qid columns; integers become strings if another column has strings."""
    if pieces[0] is None or len(pieces) == 1:
        return pieces[0]
    if any(piece.dtype == object for piece in pieces):
        pieces = [np.array(list(map(str, piece.tolist())), dtype=object) for piece in pieces]
    return np.concatenate(pieces)


def check_chunk_rows(chunk_rows: Any) -> int:
    """Return a positive number of rows; refuse other values."""
    is_integer = isinstance(chunk_rows, int | np.integer) and not isinstance(chunk_rows, bool)
    if not is_integer or chunk_rows < 1:
        raise ValueError(f"chunk_rows must be an integer of at least 1; got {chunk_rows!r}.")
    return int(chunk_rows)
