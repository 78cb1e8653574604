"""The text files of TREC: runs (``qid Q0 docid rank score tag``) and qrels (``qid 0 docid grade``)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_array, as_vector
from rankwise.core.text import plural
from rankwise.io.streams import LineTooLongError, line_blocks, open_input, open_output

__all__ = ["Qrels", "Run", "TrecError", "read_qrels", "read_run", "write_qrels", "write_run"]

RUN_FIELDS = ("qid", "Q0", "docid", "rank", "score", "tag")
QRELS_FIELDS = ("qid", "0", "docid", "grade")
_EXCERPT = 40
# Fields end at ASCII white space alone, as in trec_eval: a no-break space is part of a name.
_FIELD = re.compile(r"[^ \t\n\v\f\r]+")


class TrecError(ValueError):
    """A line is malformed; the message has the file, the line and the reason."""


class Run(NamedTuple):
    """The retrieved documents of a run file, in the order of its lines.

    Attributes
    ----------
    qid, docid : object arrays of str of shape (n_lines,)
    score : float64 array of shape (n_lines,)
    tag : str
        The name of the run, from its first line.
    """

    qid: NDArray[Any]
    docid: NDArray[Any]
    score: NDArray[np.float64]
    tag: str


class Qrels(NamedTuple):
    """The judged documents of a qrels file, in the order of its lines.

    Attributes
    ----------
    qid, docid : object arrays of str of shape (n_lines,)
    grade : int64 array of shape (n_lines,)
    """

    qid: NDArray[Any]
    docid: NDArray[Any]
    grade: NDArray[np.int64]


def read_run(source: Any) -> Run:
    r"""Read a run file: ``qid Q0 docid rank score tag`` per line.

    The second field and the rank are ignored, as in trec_eval: the scores alone order the documents. Blank
    lines are skipped.

    Parameters
    ----------
    source : path, "-", or binary file object
        A path that ends in .gz, .bz2, .xz or .zst is decompressed; "-" is standard input.

    Returns
    -------
    Run
        A named tuple ``(qid, docid, score, tag)``.

    Raises
    ------
    TrecError
        A line is malformed, or a document occurs twice in a query.

    Examples
    --------
    >>> import io
    >>> run = read_run(io.BytesIO(b"q1 Q0 GX229 1 2.5 bm25\nq1 Q0 GX016 2 0.25 bm25\n"))
    >>> run.docid.tolist(), run.score.tolist(), run.tag
    (['GX229', 'GX016'], [2.5, 0.25], 'bm25')
    >>> read_run(io.BytesIO(b"q1 Q0 GX229 1 high bm25\n"))
    Traceback (most recent call last):
    ...
    rankwise.io.trec.TrecError: <file object>, line 1: the score must be a finite number; got 'high'.
    """
    lines = _Lines(source, RUN_FIELDS, "score", _score)
    return Run(*lines.names(), np.array(lines.values, dtype=np.float64), lines.last_field)


def read_qrels(source: Any) -> Qrels:
    r"""Read a qrels file: ``qid 0 docid grade`` per line.

    The second field is ignored. Blank lines are skipped.

    Parameters
    ----------
    source : path, "-", or binary file object
        As for `read_run`.

    Returns
    -------
    Qrels
        A named tuple ``(qid, docid, grade)``.

    Raises
    ------
    TrecError
        A line is malformed, or a document occurs twice in a query.

    Examples
    --------
    >>> import io
    >>> qrels = read_qrels(io.BytesIO(b"q1 0 GX229 2\nq1 0 GX016 0\n"))
    >>> qrels.qid.tolist(), qrels.grade.tolist()
    (['q1', 'q1'], [2, 0])
    """
    lines = _Lines(source, QRELS_FIELDS, "grade", _grade)
    return Qrels(*lines.names(), np.array(lines.values, dtype=np.int64))


def write_run(
    target: Any, qid: ArrayLike, docid: ArrayLike, scores: ArrayLike, *, run_name: str = "rankwise"
) -> None:
    """Write a run file, from the highest score down within each query.

    Queries are in the order of their first rows. Equal scores are ordered by document id, descending, and
    scores are written so that they are read as the same numbers. trec_eval compares scores in single
    precision: documents whose scores differ less are tied there.

    Parameters
    ----------
    target : path, "-", or binary file object
        A path that ends in .gz, .bz2, .xz or .zst is compressed; "-" is standard output.
    qid, docid : arrays of shape (n_rows,)
        Query and document of each row, of any type; their text must not be empty or have spaces.
    scores : array of shape (n_rows,)
    run_name : str
        The last field of each line.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_run(file, [7, 7], ["a", "b"], [0.5, 2.0], run_name="svm")
    >>> print(file.getvalue().decode(), end="")
    7 Q0 b 1 2.0 svm
    7 Q0 a 2 0.5 svm
    """
    queries, documents = _words(qid, "qid"), _words(docid, "docid")
    values = as_vector(scores, "scores", len(queries)).tolist()
    (tag,) = _words([run_name], "run_name")
    with open_output(target) as file:
        for query, rows in _by_query(queries, documents).items():
            rows.sort(key=lambda row: (values[row], documents[row]), reverse=True)
            lines = (
                f"{query} Q0 {documents[row]} {rank} {values[row]!r} {tag}\n"
                for rank, row in enumerate(rows, 1)
            )
            file.write("".join(lines).encode("utf-8", "surrogateescape"))


def write_qrels(target: Any, qid: ArrayLike, docid: ArrayLike, grades: ArrayLike) -> None:
    """Write a qrels file, one line per row in the order of the queries' first rows.

    Parameters
    ----------
    target, qid, docid :
        As for `write_run`.
    grades : array of int of shape (n_rows,)

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_qrels(file, ["q1", "q1"], ["a", "b"], [2, 0])
    >>> file.getvalue()
    b'q1 0 a 2\\nq1 0 b 0\\n'
    """
    queries, documents = _words(qid, "qid"), _words(docid, "docid")
    values = as_vector(grades, "grades", len(queries))
    if (values != np.round(values)).any():
        raise ValueError("grades must be integers, as qrels files have no others.")
    with open_output(target) as file:
        for query, rows in _by_query(queries, documents).items():
            lines = (f"{query} 0 {documents[row]} {int(values[row])}\n" for row in rows)
            file.write("".join(lines).encode("utf-8", "surrogateescape"))


class _Lines:
    """The fields of a file: queries, documents, and a number per line."""

    def __init__(
        self, source: Any, fields: Sequence[str], what: str, number: Callable[[str], float | None]
    ) -> None:
        self.queries: list[str] = []
        self.documents: list[str] = []
        self.values: list[float] = []
        self.last_field = ""
        self._seen: dict[str, set[str]] = {}
        column = fields.index(what)
        kind = "a run" if fields is RUN_FIELDS else "qrels"
        wanted = {"score": "a finite number", "grade": "an integer"}[what]
        with open_input(source) as opened:
            for line, found in _numbered(opened.stream, opened.name):
                place = f"{opened.name}, line {line}"
                if len(found) != len(fields):
                    raise TrecError(
                        f"{place}: {plural(len(found), 'field')}, but a line of {kind} has {len(fields)}: "
                        f"{' '.join(fields)}."
                    )
                value = number(found[column])
                if value is None:
                    raise TrecError(
                        f"{place}: the {what} must be {wanted}; got {found[column][:_EXCERPT]!r}."
                    )
                self._add(found[0], found[2], value, place)
                self.last_field = self.last_field or found[-1]
            if not self.values:
                raise TrecError(f"{opened.name} has no lines; a line of {kind} is {' '.join(fields)}.")

    def _add(self, query: str, document: str, value: float, place: str) -> None:
        seen = self._seen.setdefault(query, set())
        if document in seen:
            raise TrecError(f"{place}: the document {document!r} occurs twice in the query {query!r}.")
        seen.add(document)
        self.queries.append(query)
        self.documents.append(document)
        self.values.append(value)

    def names(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return queries and documents."""
        return np.array(self.queries, dtype=object), np.array(self.documents, dtype=object)


def _numbered(stream: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not blank."""
    number = 0
    try:
        for block in line_blocks(stream):
            # Bytes that are not UTF-8 become surrogates, which writing converts back.
            text = bytes(block).decode("utf-8", "surrogateescape")
            text = text.removeprefix("\ufeff") if number == 0 else text
            for line in text.split("\n")[:-1]:
                number += 1
                if fields := _FIELD.findall(line):
                    yield number, fields
    except LineTooLongError:
        raise TrecError(f"{name}, line {number + 1}: the line is too long.") from None


def _score(text: str) -> float | None:
    try:
        value = float(text if _is_plain(text) else "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _grade(text: str) -> int | None:
    try:
        value = int(text if _is_plain(text) else "")
    except ValueError:
        return None
    return value if abs(value) < 2**31 else None


def _is_plain(text: str) -> bool:
    """Return whether a number has no digits of other scripts, and no underscores, which Python also reads."""
    return text.isascii() and "_" not in text


def _words(values: ArrayLike, name: str) -> list[str]:
    """Return values as text; refuse text that would not be one field."""
    words = [str(value) for value in as_array(values).tolist()]
    for row, word in enumerate(words):
        if _FIELD.findall(word) != [word]:
            raise ValueError(
                f"{name} must be one word per row, as the fields of TREC files are; row {row} has "
                f"{word[:_EXCERPT]!r}."
            )
    return words


def _by_query(queries: list[str], documents: list[str]) -> dict[str, list[int]]:
    """Return the rows of each query; refuse a document that occurs twice."""
    if len(documents) != len(queries):
        raise ValueError(f"docid has {len(documents)} entries, but qid has {len(queries)}.")
    rows: dict[str, list[int]] = {}
    for row, query in enumerate(queries):
        rows.setdefault(query, []).append(row)
    for query, found in rows.items():
        names = [documents[row] for row in found]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"The document {twice!r} occurs twice in the query {query!r}.")
    return rows
