"""The rows that the page can compare, from the queries that it lists, with their largest features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.core.text import short
from rankwise.core.types import FloatArray, IntArray
from rankwise.estimators.weights import Weights, by_size
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import row_words
from rankwise.report.queries import in_order, most_wrong, named_queries, spread_out

MAX_ROWS = 400
# If not all rows fit, a query gets 1/4 of the rows that remain.
QUERY_DIVISOR = 4
MAX_ROWS_OF_ONE_QUERY = 120
MAX_ENTRIES = 8_000
MAX_FEATURES = 5_000


class PairData:
    """A sample of rows grouped by query, worst query first, and the contributions to their scores.

    Features beyond a limit are summed up, so that the contributions to a pair sum to its difference. `kinds`
    has the kinds of features whose values are dates or yes and no.

    Attributes
    ----------
    groups : list of (name, rows), the rows of each sampled query from the highest score down
    first, second : int
        The pair shown first, its row with the higher score first.
    """

    def __init__(
        self, data: EvaluationData, weights: Weights, errors: FloatArray, pair: tuple[int, int] | None,
        kinds: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.data, self.weights, self.kinds = data, weights, kinds
        chosen = None if pair is None else self._checked(pair)
        queries = self._queries(errors, None if chosen is None else int(data.query[chosen[0]]))
        self.groups = [(query, rows) for query, rows in self._grouped(queries, chosen) if len(rows) > 1]
        self.wrong = {query: most_wrong(data, in_order(data, query)) for query, _ in self.groups}
        if self.groups:
            self.first, self.second = self._pair_of(*self.groups[0]) if chosen is None else chosen
            if data.main_scores[self.first] < data.main_scores[self.second]:
                self.first, self.second = self.second, self.first
        self._choose_features()

    def _checked(self, pair: tuple[int, int]) -> tuple[int, int]:
        numbers = self.data.row_numbers
        place = {int(number): k for k, number in enumerate(numbers)}
        if len(pair) != 2 or pair[0] == pair[1] or any(row not in place for row in pair):
            raise ValueError(
                f"pair must be the numbers of two different rows of X with labels; got {pair!r}."
            )
        a, b = place[int(pair[0])], place[int(pair[1])]
        if self.data.query[a] != self.data.query[b]:
            raise ValueError(f"pair must be two rows of one query; rows {pair[0]} and {pair[1]} are of two.")
        return a, b

    def _queries(self, errors: FloatArray, first: int | None) -> list[int]:
        """Return the queries that the page lists, beginning with `first` if given."""
        named = named_queries(errors).tolist()
        return named if first is None else [first, *(query for query in named if query != first)]

    def _grouped(self, queries: list[int], chosen: tuple[int, int] | None) -> Iterator[tuple[int, IntArray]]:
        """Yield the rows of each query: all if they fit, otherwise more rows of the first queries."""
        left = MAX_ROWS
        everything = np.isin(self.data.query, queries).sum() <= MAX_ROWS
        for place, query in enumerate(queries, 1):
            spare = (left - 2 * (len(queries) - place)) // QUERY_DIVISOR
            room = MAX_ROWS_OF_ONE_QUERY if everything or len(queries) == 1 else max(2, spare)
            rows = self._rows_of(query, min(room, MAX_ROWS_OF_ONE_QUERY), chosen or ())
            left -= len(rows)
            yield query, rows

    def _rows_of(self, query: int, room: int, chosen: tuple[int, ...]) -> IntArray:
        """Return rows of a query by decreasing score, among them its worst pair and the chosen pair."""
        rows = in_order(self.data, query)
        kept = [*spread_out(rows, room), *chosen, *(most_wrong(self.data, rows) or ())]
        return np.asarray(rows[np.isin(rows, kept)])

    def _pair_of(self, query: int, rows: IntArray) -> tuple[int, int]:
        """Return the worst pair of a query, or its first and last row if all pairs are in order."""
        return self.wrong[query] or (int(rows[0]), int(rows[-1]))

    def _choose_features(self) -> None:
        """Keep the features with the largest contributions to the scores of these rows, up to a limit."""
        listed = [rows for _, rows in self.groups]
        self.rows = np.concatenate(listed) if listed else np.empty(0, dtype=np.int64)
        numbers = self.data.row_numbers[self.rows]
        self.values: Any = sp.csc_array(self.weights.rows[numbers].astype(np.float64))
        parts = self.values.multiply(self.weights.weights).tocsc()
        self.totals = np.asarray(parts.sum(axis=1)).ravel()
        reach = np.asarray(abs(parts).sum(axis=0)).ravel()
        order = by_size(reach)[:MAX_FEATURES]
        stored = np.cumsum(np.diff(self.values.indptr)[order])
        order = order[: max(1, int(np.searchsorted(stored, MAX_ENTRIES, side="right")))]
        self.features = order[reach[order] > 0]

    def as_json(self) -> dict[str, Any]:
        """Return the data of the script of the page; a row lists its nonzero features only."""
        kept = self.values[:, self.features].toarray()
        weights = self.weights.weights[self.features]
        rest = self.totals - kept @ weights
        place = {int(row): k for k, row in enumerate(self.rows)}
        return {
            "names": [self.weights.names[k] for k in self.features],
            "weights": weights.tolist(),
            "kinds": self._kinds(),
            "others": int(len(self.weights.names) - len(self.features)),
            "rows": [self._row(k, kept[k], float(rest[k])) for k in range(len(self.rows))],
            "said_by": "labels" if self.data.label(0) else "preferences",
            "below": None if self.data.is_ordered_by_labels else self._below(),
            "groups": [
                {
                    "query": query,
                    "name": self.data.query_names[query],
                    "rows": [place[int(row)] for row in rows],
                    "pair": [place[row] for row in self._pair_of(query, rows)],
                }
                for query, rows in self.groups
            ],
            "pair": [place[self.first], place[self.second]] if self.groups else None,
        } | self._uncertainty()

    def _kinds(self) -> dict[int, str]:
        """Return the kinds of the features whose values are dates or yes and no, by their places."""
        found = (self.kinds.get(self.weights.names[k], "number") for k in self.features)
        return {place: kind for place, kind in enumerate(found) if kind != "number"}

    def _uncertainty(self) -> dict[str, Any]:
        """Return the numbers for intervals of differences, if there is an inference.

        `estimates` has the score of each row by the inference. `half_widths` has for each row half the
        lengths of the intervals of its differences from the rows before it in its group.
        """
        found = self.weights.inference
        if found is None:
            return {}
        values = self.values.toarray()
        half_widths: list[list[float]] = []
        for _, rows in self.groups:
            first = len(half_widths)
            some = values[first : first + len(rows)]
            apart = (some[:, None] - some).reshape(-1, some.shape[1])
            half = difference_errors(some, found.covariance)
            half *= found.quantile(contrasts=apart).reshape(half.shape)
            half_widths += [[rounded(value, 3) for value in line[:k]] for k, line in enumerate(half.tolist())]
        return {"estimates": (values @ found.coef).tolist(), "half_widths": half_widths}

    def _below(self) -> list[list[int]]:
        """Return for each row the rows of its group that should be below it."""
        found: list[list[int]] = []
        for _, rows in self.groups:
            first = len(found)
            found += [(first + np.flatnonzero(wish)).tolist() for wish in self.data.wished(rows)]
        return found

    def _row(self, k: int, values: FloatArray, rest: float) -> dict[str, Any]:
        row = int(self.rows[k])
        used = np.flatnonzero(values)
        return {
            "row": self.data.row_id(row),
            "label": self.data.label(row),
            "y": float(self.data.y[row]),
            "score": float(self.data.main_scores[row]),
            "features": used.tolist(),
            "values": [rounded(value) for value in values[used].tolist()],
            "rest": rest,
        }


def difference_errors(rows: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the standard error of the score difference of each pair of rows, shape (n_rows, n_rows).

    Examples
    --------
    >>> difference_errors(np.array([[1.0], [3.0]]), np.array([[0.25]]))
    array([[0., 1.],
           [1., 0.]])
    """
    centred = rows - rows.mean(axis=0)
    products = centred @ covariance @ centred.T
    squares = np.diag(products)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * products, 0.0))


def rounded(value: float, digits: int = 10) -> float:
    """Round to a few digits: the page shows fewer, and more would enlarge the file."""
    return float(f"{value:.{digits}g}")


def row_title(row: dict[str, Any], place: int) -> str:
    """Describe a row in a list of choices; report.js has the same words."""
    label = f"label {row['label']}, " if row["label"] else ""
    return f"{place}. {row_words(row['row'])}, {label}score {short(row['score'])}"
