"""Ranking data as svmlight text that reads back as the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankwise import _native
from rankwise.core.checks import as_array, as_vector
from rankwise.io.streams import open_output

__all__ = ["dump_svmlight"]

_ENTRIES_PER_WRITE = 1 << 17


def dump_svmlight(
    X: Any,
    y: ArrayLike,
    target: Any,
    *,
    qid: ArrayLike | None = None,
    comments: Any = None,
    zero_based: bool = False,
) -> None:
    r"""Write a svmlight or LETOR file that reads back as the same numbers, bit for bit.

    Each number has the shortest digits that identify it in its type, float64 or float32. For a sparse X, the
    stored entries are written, including zeros; for a dense X, all entries but zeros (a negative zero is
    written). A path is written atomically.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Labels, higher is better; or preferences among the rows.
    target : path, "-" or binary file object
        A path that ends in .gz, .bz2, .xz or .zst is compressed; "-" is standard output.
    qid : array of shape (n_rows,), optional
        Integers, or strings without blanks and ``#``.
    comments : sequence of str, optional
        One per row, without line breaks; "" for none.
    zero_based : bool
        Whether indices begin at 0 or at 1.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> dump_svmlight([[0.1, 0.0], [0.0, -2.5]], [1, 0], file, qid=[3, 3], comments=["first", ""])
    >>> print(file.getvalue().decode(), end="")
    1 qid:3 1:0.1 #first
    0 qid:3 2:-2.5
    """
    if not isinstance(zero_based, bool | np.bool_):
        raise ValueError(f"zero_based must be True or False, got {zero_based!r}.")
    rows = _RowSource(X)
    labels = as_vector(y, "y", rows.n_rows)
    queries = None if qid is None else _query_words(qid, rows.n_rows)
    remarks = None if comments is None else _comment_words(comments, rows.n_rows)
    with open_output(target) as stream:
        for begin, end in rows.spans():
            indptr, indices, data = rows.csr(begin, end)
            words = [None if column is None else _pack(column[begin:end]) for column in (queries, remarks)]
            text = _native.svmlight_text(
                indptr, indices, data, labels[begin:end], words[0], words[1], 1 - int(zero_based)
            )
            stream.write(text)


class _RowSource:
    """The rows of a matrix in blocks, in the form of the native writer."""

    def __init__(self, X: Any) -> None:
        self.X: Any = _sorted_csr(X) if sp.issparse(X) else as_array(X)
        if self.X.ndim != 2:
            raise ValueError(f"X must have two dimensions; got shape {self.X.shape}.")
        if self.X.dtype.kind not in "biuf":
            raise ValueError(f"X must be real numbers; got dtype {self.X.dtype}.")
        self.n_rows = self.X.shape[0]
        self.dtype = np.float32 if self.X.dtype in (np.float32, np.float16) else np.float64

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield the begin and end of blocks of rows with about `_ENTRIES_PER_WRITE` entries."""
        n_columns = self.X.shape[1] or 1
        begin = 0
        while begin < self.n_rows:
            if sp.issparse(self.X):
                limit = int(self.X.indptr[begin]) + _ENTRIES_PER_WRITE
                end = min(int(np.searchsorted(self.X.indptr, limit)), begin + _ENTRIES_PER_WRITE)
            else:
                end = begin + _ENTRIES_PER_WRITE // n_columns
            end = min(max(end, begin + 1), self.n_rows)
            yield begin, end
            begin = end

    def csr(self, begin: int, end: int) -> tuple[NDArray, NDArray, NDArray]:
        """Return indptr, indices and data of some rows."""
        if sp.issparse(self.X):
            first, last = self.X.indptr[[begin, end]]
            indptr = self.X.indptr[begin : end + 1].astype(np.int64) - int(first)
            indices, data = self.X.indices[first:last].astype(np.int64), self.X.data[first:last]
        else:
            indptr, indices, data = _written_entries(self.X[begin:end])
        if not np.isfinite(data).all():
            raise ValueError("X contains NaN or infinity.")
        return indptr, indices, np.ascontiguousarray(data, dtype=self.dtype)


def _sorted_csr(X: Any) -> Any:
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _written_entries(block: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return the entries of a dense block other than zero; a negative zero is kept."""
    written = block != 0
    if block.dtype.kind == "f":
        written |= np.signbit(block)
    rows, columns = np.nonzero(written)
    indptr = np.concatenate([[0], np.cumsum(written.sum(axis=1))])
    return indptr.astype(np.int64), columns.astype(np.int64), block[rows, columns]


def _query_words(qid: ArrayLike, n_rows: int) -> list[str]:
    array = as_array(qid)
    if array.shape != (n_rows,):
        raise ValueError(f"qid must have one entry per row, shape ({n_rows},); got shape {array.shape}.")
    if array.dtype.kind in "iu":
        return list(map(str, array.tolist()))
    words = [value if isinstance(value, str) else _integer_word(value) for value in array.tolist()]
    wrong = next((word for word in words if not _is_token(word)), None)
    if wrong is not None:
        raise ValueError(f"qid must not be empty or contain blanks, line breaks or '#'; got {wrong!r}.")
    return words


def _integer_word(value: Any) -> str:
    try:
        if not isinstance(value, bool) and int(value) == value:
            return str(int(value))
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"qid must hold integers or strings; got {value!r}.")


def _is_token(word: str) -> bool:
    return bool(word) and not any(character in word for character in " \t\r\n#")


def _comment_words(comments: Sequence[str], n_rows: int) -> list[str]:
    words = list(comments)
    if len(words) != n_rows:
        raise ValueError(f"comments has length {len(words)}, but X has shape[0]={n_rows}.")
    for word in words:
        if not isinstance(word, str) or "\n" in word or "\r" in word:
            raise ValueError(f"comments must be strings without line breaks; got {word!r}.")
    return words


def _pack(words: list[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Return all words as one text, and the end of each."""
    encoded = [word.encode("utf-8", "surrogateescape") for word in words]
    return b"".join(encoded), np.cumsum([len(word) for word in encoded], dtype=np.int64)
