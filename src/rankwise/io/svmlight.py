"""The text of SVMlight, SVMrank, LIBSVM and LETOR: ``label [qid:token] index:value ... [# comment]``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise import _native
from rankwise.core.checks import is_large
from rankwise.core.threads import thread_count
from rankwise.data.design import require_column_memory
from rankwise.io.chunks import check_chunk_rows, join_queries, query_chunks
from rankwise.io.large_labels import warn_of_large_ties
from rankwise.io.streams import LONGEST_LINE, Input, LineTooLongError, line_blocks, open_input
from rankwise.io.svmlight_writer import dump_svmlight

__all__ = [
    "SvmlightData",
    "SvmlightError",
    "dump_svmlight",
    "iter_svmlight",
    "load_svmlight",
]

ZeroBased = bool | Literal["auto"]

# Indices and the number of columns must fit into the int32 of a CSR matrix.
_MOST_FEATURES = 2**31 - 1
_EXCERPT = 40


class SvmlightError(ValueError):
    """The text is malformed; the message has the file, line, column and reason."""


class SvmlightData(NamedTuple):
    """The data of a file.

    Attributes
    ----------
    X : CSR matrix of shape (n_rows, n_features)
    y : float64 array of shape (n_rows,)
        Distinct integers above 2^53 may be equal as float64; there is a warning.
    qid : array of shape (n_rows,) or None
        int64 if every token is the canonical form of an integer, else an object array of str; None if no line
        has a qid.
    comments : list of str or None
        The text after the first ``#`` of each line, "" if there is none; None unless requested.
    """

    X: Any
    y: NDArray[np.float64]
    qid: NDArray[Any] | None
    comments: list[str] | None


def load_svmlight(
    source: Any,
    *,
    n_features: int | None = None,
    zero_based: ZeroBased = False,
    comments: bool = False,
    dtype: Any = np.float64,
    n_jobs: int | None = None,
) -> SvmlightData:
    r"""Read a svmlight or LETOR file.

    The memory is that of the result and a few megabytes; `n_jobs` threads share the work.

    Parameters
    ----------
    source : path, "-", binary file object, or list of paths
        A path that ends in .gz, .bz2, .xz or .zst is decompressed; "-" is standard input; the rows of several
        files are concatenated.
    n_features : int, optional
        The number of columns; a larger index is an error. The default is the largest index of the file.
    zero_based : bool or "auto"
        Whether indices begin at 0 or at 1. "auto" takes 0 if an index 0 occurs, else 1.
    comments : bool
        Whether to keep the comments of the rows.
    dtype : float64 or float32
        The type of the entries of X.
    n_jobs : int, optional
        The number of threads; None is 1, -1 is all cores.

    Returns
    -------
    SvmlightData
        A named tuple ``(X, y, qid, comments)``.

    Raises
    ------
    SvmlightError
        The text is malformed.

    Examples
    --------
    >>> import io
    >>> text = b"2 qid:7 1:0.5 3:25e-2 # good\n0 qid:7 2:4\n"
    >>> data = load_svmlight(io.BytesIO(text))
    >>> data.X.toarray()
    array([[0.5 , 0.  , 0.25],
           [0.  , 4.  , 0.  ]])
    >>> data.y.tolist(), data.qid.tolist()
    ([2.0, 0.0], [7, 7])
    >>> load_svmlight(io.BytesIO(b"1 2:0.5\n1 3:0,5\n"))
    Traceback (most recent call last):
    ...
    rankwise.io.svmlight.SvmlightError: <file object>, line 2, column 5: the value is not a number; got '0,5'.
    """
    settings = _Settings.checked(n_features, zero_based, comments, dtype, n_jobs)
    reader = settings.new_reader()
    for _ in _read_blocks(reader, source, keep=True):
        pass
    data = settings.finish(reader)
    warn_of_large_ties(data.y)
    return data


def iter_svmlight(
    source: Any,
    *,
    chunk_rows: int = 100_000,
    n_features: int | None = None,
    zero_based: ZeroBased = False,
    comments: bool = False,
    dtype: Any = np.float64,
    n_jobs: int | None = None,
) -> Iterator[SvmlightData]:
    r"""Read a svmlight or LETOR file in chunks of whole queries, in constant memory.

    A chunk has at most `chunk_rows` rows, unless a single query has more. Without qid it may end after any
    row. A chunk has `n_features` columns or, by default, as many as the largest index so far. Rows of a query
    that are not consecutive are several queries.

    Parameters
    ----------
    source, n_features, zero_based, comments, dtype, n_jobs
        As for `load_svmlight`; `zero_based` must not be "auto".
    chunk_rows : int
        The maximal number of rows of a chunk.

    Yields
    ------
    SvmlightData

    Examples
    --------
    >>> import io
    >>> lines = b"1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:3\n0 qid:3 1:4\n1 qid:3 1:5\n"
    >>> [chunk.qid.tolist() for chunk in iter_svmlight(io.BytesIO(lines), chunk_rows=3)]
    [[1, 1, 2], [3, 3]]
    """
    chunk_rows = check_chunk_rows(chunk_rows)
    settings = _Settings.checked(n_features, zero_based, comments, dtype, n_jobs)
    if settings.zero_based == "auto":
        raise ValueError("zero_based='auto' needs the whole file; iter_svmlight accepts True or False.")
    reader = settings.new_reader()
    pieces = (settings.finish(reader) for _ in _read_blocks(reader, source, keep=False))
    return query_chunks(_watched(pieces), chunk_rows, _rows, _join)


def _watched(pieces: Iterator[SvmlightData]) -> Iterator[SvmlightData]:
    """Yield the pieces; after the last one, warn of equal large labels."""
    large = [np.empty(0)]
    for piece in pieces:
        large.append(piece.y[is_large(piece.y)])
        yield piece
    warn_of_large_ties(np.concatenate(large))


class _Settings(NamedTuple):
    n_features: int | None
    zero_based: ZeroBased
    comments: bool
    dtype: np.dtype
    n_threads: int

    @classmethod
    def checked(
        cls,
        n_features: Any,
        zero_based: Any,
        comments: Any,
        dtype: Any,
        n_jobs: Any,
    ) -> _Settings:
        if not (isinstance(zero_based, bool | np.bool_) or zero_based == "auto"):
            raise ValueError(f"zero_based must be True, False or 'auto'; got {zero_based!r}.")
        is_integer = isinstance(n_features, int | np.integer) and not isinstance(n_features, bool)
        if n_features is not None and not (is_integer and 0 <= n_features <= _MOST_FEATURES):
            raise ValueError(f"n_features must be an integer up to {_MOST_FEATURES}; got {n_features!r}.")
        dtype = np.dtype(dtype)
        if dtype not in (np.float64, np.float32):
            raise ValueError(f"dtype must be float64 or float32; got {dtype}.")
        return cls(n_features, zero_based, bool(comments), dtype, thread_count(n_jobs))

    def new_reader(self) -> _native.SvmlightReader:
        first = 0 if self.zero_based else 1
        n_features = _MOST_FEATURES if self.n_features is None else self.n_features
        # With "auto", indices may begin at 1, and the last one is then n_features.
        last = n_features if self.zero_based == "auto" else n_features - 1 + first
        single = self.dtype == np.float32
        return (_native.SvmlightReaderFloat32 if single else _native.SvmlightReader)(
            first, last, self.comments, self.n_threads
        )

    def finish(self, reader: _native.SvmlightReader) -> SvmlightData:
        """Take the rows out of the reader."""
        shift = self.zero_based == "auto" and reader.smallest_index > 0
        n_columns = reader.largest_index + 1 - shift
        columns = reader.take()
        if shift:
            columns["indices"] -= 1
        most = _MOST_FEATURES if self.n_features is None else self.n_features
        if n_columns > most:  # only with zero_based="auto"
            raise SvmlightError(f"indices begin at 0 and go up to {n_columns - 1}, but n_features is {most}.")
        if self.n_features is None:
            require_column_memory(
                n_columns, "the largest index is their number: use smaller ones, or n_features"
            )
        else:
            n_columns = self.n_features
        return SvmlightData(
            _as_csr(columns["data"], columns["indices"], columns["indptr"], n_columns),
            columns["y"],
            _queries(columns),
            _texts(columns["comments"], columns["comment_end"]) if self.comments else None,
        )


def _as_csr(data: NDArray, indices: NDArray, indptr: NDArray, n_columns: int) -> sp.csr_matrix:
    if indptr[-1] <= _MOST_FEATURES:
        indptr = indptr.astype(np.int32)
    matrix = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
    matrix.has_canonical_format = True
    return matrix


def _queries(columns: dict[str, Any]) -> NDArray[Any] | None:
    begin, numbers = columns["query_begin"], columns["query_number"]
    if not len(begin):
        return None
    if numbers is None:
        numbers = np.array(_texts(columns["query_words"], columns["query_word_end"]), dtype=object)
    return np.repeat(numbers, np.diff(begin, append=len(columns["y"])))


def _texts(text: bytes, end: NDArray[np.int64]) -> list[str]:
    bounds = [0, *end.tolist()]
    # Bytes that are not UTF-8 become surrogates, which dump_svmlight converts back.
    return [text[begin:stop].decode("utf-8", "surrogateescape") for begin, stop in pairwise(bounds)]


def _read_blocks(reader: _native.SvmlightReader, source: Any, keep: bool) -> Iterator[None]:
    """Read the sources block by block; Ctrl-C is handled between two blocks.

    With `keep`, all rows stay in the reader, which allocates memory for those of the whole file.
    """
    for one in source if isinstance(source, list | tuple) else [source]:
        with open_input(one) as opened:
            n_bytes = opened.n_bytes if keep else None
            yield from _read_one(reader, opened._replace(n_bytes=n_bytes))


def _read_one(reader: _native.SvmlightReader, opened: Input) -> Iterator[None]:
    lines_before, n_bytes = reader.n_lines, 0
    try:
        for block in line_blocks(opened.stream):
            skip = 3 if n_bytes == 0 and block[:3] == b"\xef\xbb\xbf" else 0  # a byte order mark
            n_bytes += len(block)
            n_lines = reader.n_lines - lines_before
            problem = reader.read(
                np.frombuffer(block, np.uint8)[skip:], max(0, (opened.n_bytes or 0) - n_bytes)
            )
            if problem is not None:
                raise SvmlightError(_describe(opened.name, n_lines, block[skip:], *problem))
            yield
    except LineTooLongError:
        line = reader.n_lines - lines_before + 1
        raise SvmlightError(
            f"{opened.name}, line {line}, column {LONGEST_LINE + 1}: the line has more than "
            f"{LONGEST_LINE:,} bytes, the limit."
        ) from None


def _describe(name: str, n_lines: int, block: memoryview, offset: int, sentence: str) -> str:
    """Return the message of an error; columns count bytes from 1."""
    before = bytes(block[:offset])
    line = n_lines + before.count(b"\n") + 1
    column = offset - before.rfind(b"\n")
    excerpt = _excerpt(bytes(block[offset : offset + 4 * _EXCERPT]))
    return f"{name}, line {line}, column {column}: {sentence}; got {excerpt}."


def _excerpt(text: bytes) -> str:
    """Quote the first word of a text, shortened."""
    word = re.split(rb"[ \t\r\n]", text, maxsplit=1)[0].decode("utf-8", "backslashreplace")
    return repr(word) if len(word) <= _EXCERPT else f"{word[:_EXCERPT]!r}..."


def _rows(data: SvmlightData, begin: int, end: int) -> SvmlightData:
    if end - begin == len(data.y):
        return data
    X = data.X
    first, last = X.indptr[[begin, end]]
    # Copies: a view would keep the memory of all rows alive.
    part = (X.data[first:last].copy(), X.indices[first:last].copy(), X.indptr[begin : end + 1] - first)
    return SvmlightData(
        _as_csr(*part, X.shape[1]),
        data.y[begin:end].copy(),
        None if data.qid is None else data.qid[begin:end].copy(),
        None if data.comments is None else data.comments[begin:end],
    )


def _join(pieces: list[SvmlightData]) -> SvmlightData:
    """Concatenate consecutive rows; the last piece has the most columns."""
    if len(pieces) == 1:
        return pieces[0]
    n_columns = pieces[-1].X.shape[1]
    ends = np.cumsum([0, *(piece.X.nnz for piece in pieces)])
    begins = [piece.X.indptr[:-1] + end for piece, end in zip(pieces, ends[:-1], strict=True)]
    return SvmlightData(
        _as_csr(
            np.concatenate([piece.X.data for piece in pieces]),
            np.concatenate([piece.X.indices for piece in pieces]),
            np.concatenate([*begins, ends[-1:]]),
            n_columns,
        ),
        np.concatenate([piece.y for piece in pieces]),
        join_queries([piece.qid for piece in pieces]),
        None if pieces[0].comments is None else [text for piece in pieces for text in piece.comments or ()],
    )
