"""The rows of some queries, fetched from the parts of a backend, with facts about all queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankwise.core.checks import as_array
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.row_parts import RowParts, joined, n_rows_of, some_rows, stacked
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.in_parts import PartMeasures
from rankwise.evaluation.models import is_scores

# A random sample of queries stands for all in sections that pool rows.
SAMPLED_QUERIES, SAMPLED_ROWS = 500, 50_000


class Piece(NamedTuple):
    """The rows of some queries in one part, their numbers in it, and the number of all its rows."""

    n_rows: int
    numbers: IntArray
    rows: Any
    y: Any
    qid: Any
    scores: list[Any]


class ShownData(EvaluationData):
    """The rows of some queries. The queries have the numbers of all, and there are facts about all.

    Parameters
    ----------
    parts : RowParts
        Rows, labels, queries and the given scores.
    found : PartMeasures
        The measures of all queries.
    models : dict of name to model or scores; the first is the main one
    feature_names : sequence of str or None
    chosen : array of int
        The numbers of the queries whose rows are fetched.
    """

    def __init__(
        self,
        parts: RowParts,
        found: PartMeasures,
        models: Mapping[str, Any],
        feature_names: Sequence[str] | None,
        chosen: IntArray,
    ) -> None:
        pieces: list[Piece] = parts.map(rows_of_queries, set(found.queries[chosen].tolist()))
        filled = [piece for piece in pieces if len(piece.numbers)]
        scores = iter(
            np.concatenate(list(column)) for column in zip(*(one.scores for one in filled), strict=True)
        )
        here = {name: next(scores) if is_scores(model) else model for name, model in models.items()}
        first, *others = here
        super().__init__(
            here[first],
            stacked([piece.rows for piece in filled]),
            joined([as_array(piece.y) for piece in filled]),
            joined([as_array(piece.qid) for piece in filled]),
            {name: here[name] for name in others},
            first,
            feature_names,
        )
        starts = np.cumsum([0, *(piece.n_rows for piece in pieces)])
        numbers = [piece.numbers + start for piece, start in zip(pieces, starts, strict=False)]
        self._numbers = np.concatenate(numbers)[self.row_numbers]
        self._found = found
        place = {value: number for number, value in enumerate(found.queries.tolist())}
        self.query = np.array([place[value] for value in self.queries.tolist()], dtype=np.int64)[self.query]
        self.queries = found.queries
        self.query_names = [str(value) for value in found.queries.tolist()]

    @property
    def n_labelled(self) -> int:
        """The number of all rows with a label."""
        return self._found.facts.n_rows

    @property
    def n_given(self) -> int:
        """The number of all rows."""
        return self._found.n_rows

    @property
    def query_sizes(self) -> IntArray:
        """The number of labelled rows of each query."""
        return self._found.sizes

    @property
    def query_spreads(self) -> FloatArray:
        """The largest difference of two scores of each query by the main model."""
        return self._found.spreads

    @property
    def numbers(self) -> IntArray:
        """The number of each fetched row among all rows."""
        return self._numbers


def rows_of_queries(rows: Any, y: Any, qid: Any, *scores_and_queries: Any) -> Piece:
    """Return the rows of some queries of a part."""
    *scores, queries = scores_and_queries
    numbers = np.flatnonzero([value in queries for value in as_array(qid).tolist()])
    y, qid = (some_rows(as_array(column), numbers) for column in (y, qid))
    found = [some_rows(as_array(column), numbers) for column in scores]
    return Piece(n_rows_of(rows), numbers, some_rows(rows, numbers), y, qid, found)


def sampled_queries(sizes: IntArray, seed: int) -> IntArray:
    """Return random queries, up to a number of queries and of rows.

    Examples
    --------
    >>> sampled_queries(np.array([10, 20, 30]), 0)
    array([0, 1, 2])
    """
    order = np.random.default_rng(seed).permutation(len(sizes))[:SAMPLED_QUERIES]
    fits = np.cumsum(sizes[order]) <= SAMPLED_ROWS
    return np.sort(order[: max(1, int(fits.sum()))])
