"""The probability that users examine a position, from clicks at several positions or from features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from scipy.stats import t

from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.text import listed
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.preferences.click_log import ClickLog


class Position(NamedTuple):
    """The propensity of a position, with its interval and counts."""

    position: float
    value: float
    low: float
    high: float
    linked: bool
    n_shown: int
    n_clicks: int


COLUMNS = (
    Column("position", format="g"),
    Column("value", format=".3f", title="propensity"),
    Column("low", format=".3f", title="from", missing="-"),
    Column("high", format=".3f", title="to", missing="-"),
    Column("n_shown", format=",", title="shown"),
    Column("n_clicks", format=",", title="clicked"),
)


@dataclass(frozen=True, repr=False)
class Propensities(HasTable):
    """The probability that users examine each position, relative to the first one.

    Attributes
    ----------
    position : array of int of shape (n_positions,)
        The positions that occur, ascending.
    value : array of shape (n_positions,)
        The propensity of each, 1 for the first one.
    low, high : arrays of shape (n_positions,)
        The ends of an interval that takes queries as independent. NaN if the position is not linked, or if
        there is one query.
    linked : array of bool of shape (n_positions,)
        Whether the data determines the propensity. If not, it is that of the nearest linked position above.
    n_shown, n_clicks : arrays of int of shape (n_positions,)
        Rows, and clicked rows, at each position.
    method : "interventions" or "regression"
    level : float
        The level of the intervals.
    """

    position: IntVector
    value: FloatVector
    low: FloatVector
    high: FloatVector
    linked: NDArray[np.bool_]
    n_shown: IntVector
    n_clicks: IntVector
    method: str
    level: float

    def at(self, position: ArrayLike) -> FloatVector:
        """Return the propensities of positions, which must be among those of the curve."""
        wanted = np.asarray(position)
        unknown = np.setdiff1d(wanted, self.position)
        if len(unknown):
            known = listed(list(map(str, self.position)), 10)
            raise ValueError(f"The curve has no position {unknown[0]:g}; it has {known}.")
        return self.value[np.searchsorted(self.position, wanted)]

    @property
    def table(self) -> ResultTable[Position]:
        """The curve, one row per position."""
        columns = (getattr(self, name).tolist() for name in Position._fields)
        title = f"Propensities relative to the first position, {100 * self.level:g}% intervals"
        note = "" if self.linked.all() else "Positions without an interval are not linked to the first one."
        return ResultTable(map(Position, *columns), COLUMNS, title=title, note=note)

    def to_frame(self) -> Any:
        """Return the curve as a pandas frame, one row per position."""
        import pandas as pd

        return pd.DataFrame(list(self.table))


def as_curve(
    log: ClickLog,
    linked: NDArray[np.bool_],
    log_value: FloatVector,
    covariance: FloatArray,
    method: str,
    level: float,
) -> Propensities:
    """Return the curve of the positions of a log, given log p of the linked ones, the first of which is 0.

    `covariance` is that of the other linked positions.
    """
    known = np.flatnonzero(linked)
    error = np.append(0.0, np.sqrt(np.diag(covariance)) if log.n_queries > 1 else np.nan * log_value[1:])
    reach = float(t.ppf(0.5 + 0.5 * level, max(log.n_queries - 1, 1))) * error
    nearest = np.maximum(np.searchsorted(known, np.arange(len(linked)), side="right") - 1, 0)
    low, high = np.full((2, len(linked)), np.nan)
    low[known], high[known] = np.exp(log_value - reach), np.exp(log_value + reach)
    return Propensities(
        log.positions,
        np.exp(log_value)[nearest],
        low,
        high,
        linked,
        np.bincount(log.place, minlength=len(linked)),
        np.bincount(log.place[log.clicked], minlength=len(linked)),
        method,
        level,
    )


def clustered_covariance(information: FloatArray, scores: FloatArray, n_queries: int) -> FloatArray:
    """Return the sandwich covariance, given the sum of the scores of each query: shape (n_queries, n)."""
    inverse = np.linalg.inv(information)
    found: FloatArray = inverse @ (scores.T @ scores) @ inverse * (n_queries / max(n_queries - 1, 1))
    return found


class Harvest:
    """The likelihood of where the clicks of a document fell, given their number.

    A document that was shown n_k times at position k has n_k p_k r expected clicks there. Of the sum of its
    clicks, position k has a fraction n_k p_k / (sum over l of n_l p_l): its relevance r cancels, and log p
    are the parameters of a multinomial logistic model. The gradient at the true p has mean zero for any r,
    and clicks need not be independent.

    Parameters
    ----------
    document, position : arrays of int of shape (n_cells,)
        A cell is a document at a position. Positions are numbered from 0, the one of propensity 1.
    shown, clicks : arrays of shape (n_cells,)
    """

    def __init__(self, document: IntVector, position: IntVector, shown: FloatVector, clicks: FloatVector):
        self.document = np.unique(document, return_inverse=True)[1]
        self.position, self.shown, self.clicks = position, shown, clicks
        self.n_positions = int(position.max()) + 1
        self.of_document = np.bincount(self.document, clicks)

    def fractions(self, log_value: FloatVector) -> FloatVector:
        """Return the expected fraction of its document's clicks of each cell."""
        size = self.shown * np.exp(log_value[self.position])
        return size / np.bincount(self.document, size)[self.document]

    def log_likelihood(self, log_value: FloatVector) -> float:
        """Return the sum over clicks of the log of their cell's fraction."""
        hit = self.clicks > 0
        return float(self.clicks[hit] @ np.log(self.fractions(log_value)[hit]))

    def residuals(self, log_value: FloatVector) -> FloatVector:
        """Return the clicks of each cell less their expectation: sums by position are the gradient."""
        return self.clicks - self.of_document[self.document] * self.fractions(log_value)

    def information(self, log_value: FloatVector) -> FloatArray:
        """Return the negative Hessian."""
        fraction = self.fractions(log_value)
        expected = self.of_document[self.document] * fraction
        shape = len(self.of_document), self.n_positions
        spread = csr_array((fraction, (self.document, self.position)), shape)
        weighted = csr_array((expected, (self.document, self.position)), shape)
        return (
            np.diag(np.bincount(self.position, expected, self.n_positions)) - (spread.T @ weighted).toarray()
        )

    def solve(self, max_iter: int = 100, tol: float = 1e-10) -> FloatVector:
        """Return log p by Newton's method, with log p = 0 at the first position."""
        log_value = np.zeros(self.n_positions)
        best = self.log_likelihood(log_value)
        for _ in range(max_iter):
            gradient = np.bincount(self.position, self.residuals(log_value), self.n_positions)[1:]
            step = np.linalg.solve(self.information(log_value)[1:, 1:], gradient)
            decrement = float(gradient @ step)
            if decrement <= tol:
                break
            size = 1.0
            while size > 1e-10:
                tried = log_value + np.append(0.0, size * step)
                found = self.log_likelihood(tried)
                if found >= best + 1e-4 * size * decrement:
                    log_value, best = tried, found
                    break
                size /= 2.0
            else:
                break
        return log_value


def from_interventions(log: ClickLog, level: float) -> Propensities:
    """Estimate propensities from documents that were shown at several positions for one query.

    Every pair of positions counts, as in the AllPairs estimator of Agarwal et al. (2019). The documents of
    one query are compared with themselves, never with others.
    """
    query, document, place, shown, clicks = _cells(log)
    linked = _linked(document, place, clicks, len(log.positions))
    if np.count_nonzero(linked) < 2:
        raise ValueError(
            "Propensities need documents that were shown at several positions for one query and were "
            "clicked; there are too few. Swap neighboring results at random in a part of the traffic, leave "
            "document out and pass X, or pass the propensities."
        )
    kept = linked[place]
    number = np.cumsum(linked) - 1
    harvest = Harvest(document[kept], number[place[kept]], shown[kept], clicks[kept])
    log_value = harvest.solve()
    covariance = clustered_covariance(
        harvest.information(log_value)[1:, 1:],
        _query_scores(query[kept], harvest, log_value)[:, 1:],
        log.n_queries,
    )
    return as_curve(log, linked, log_value, covariance, "interventions", level)


def _cells(log: ClickLog) -> tuple[IntVector, IntVector, IntVector, FloatVector, FloatVector]:
    """Return query, document (numbered within all), position, rows and clicks of documents at positions."""
    assert log.document is not None
    n_documents, n_positions = int(log.document.max(initial=0)) + 1, len(log.positions)
    keys, cell = np.unique(
        (log.query * n_documents + log.document) * n_positions + log.place, return_inverse=True
    )
    (pair, place), clicks = np.divmod(keys, n_positions), np.bincount(cell, log.clicked)
    document = np.unique(pair, return_inverse=True)[1]
    shown = np.bincount(cell).astype(np.float64)
    return pair // n_documents, document, place, shown, np.asarray(clicks, np.float64)


def _linked(
    document: IntVector, place: IntVector, clicks: FloatVector, n_positions: int
) -> NDArray[np.bool_]:
    """Tell which positions have a propensity of finite logarithm relative to the others.

    Position k is comparable with l if a document was clicked at k and shown at l. The estimate exists within
    a set of positions that are comparable both ways, by a chain. Here it is the set with most clicks.
    """
    shape = int(document.max()) + 1, n_positions
    won = csr_array((clicks, (document, place)), shape)
    seen = csr_array((np.ones(len(place)), (document, place)), shape)
    _, part = connected_components(won.T @ seen, directed=True, connection="strong")
    largest = np.bincount(part, np.bincount(place, clicks, n_positions)).argmax()
    found: NDArray[np.bool_] = part == largest
    return found


def _query_scores(query: IntVector, harvest: Harvest, log_value: FloatVector) -> FloatArray:
    """Return the gradient of the log-likelihood of each query: shape (n_queries, n_positions)."""
    codes = np.unique(query, return_inverse=True)[1]
    cells = codes * harvest.n_positions + harvest.position
    size = (int(codes.max()) + 1) * harvest.n_positions
    sums = np.asarray(np.bincount(cells, harvest.residuals(log_value), size), np.float64)
    return sums.reshape(-1, harvest.n_positions)


# The precision of the normal prior of the weights of standardized features: that of one observation.
RIDGE = 1.0


class Derivatives(NamedTuple):
    """The penalized log-likelihood, its gradient and the expected information."""

    value: float
    gradient: FloatVector
    information: FloatArray


class ExaminationModel:
    """A row is clicked with probability mu = p_k / (1 + exp(-(b'x + c))), with p_1 = 1 at the first position.

    The parameters are log p of the other positions, b and c. Its maximum is that of regression-EM (Wang et
    al. 2018), found by Fisher scoring in place of EM.
    """

    def __init__(self, X: FloatArray, place: Any, clicked: Any, n_positions: int):
        self.clicked, self.n_free = clicked.astype(np.float64), n_positions - 1
        spread = X.std(axis=0)
        scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self.features = np.column_stack([scaled, np.ones(len(X))])
        rows, ones = np.arange(len(X)), np.ones(len(X))
        self.at = csr_array((ones, (rows, place)), (len(X), n_positions))[:, 1:]
        self.penalty = RIDGE * np.append(np.ones(X.shape[1]), 0.0)

    def start(self) -> FloatVector:
        """Return the parameters that explain clicks by the position alone."""
        n_shown, n_clicked = self.at.sum(axis=0), self.at.T @ self.clicked
        n_first, c_first = len(self.clicked) - n_shown.sum(), self.clicked.sum() - n_clicked.sum()
        rate = np.clip(c_first / n_first, 1e-6, 1 - 1e-6)
        log_value = np.log(n_clicked / n_shown / rate)
        return np.concatenate([log_value, np.zeros(self.features.shape[1] - 1), [np.log(rate / (1 - rate))]])

    def _means(self, parameters: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Return the probabilities of a click, and of relevance."""
        relevance = expit(self.features @ parameters[self.n_free :])
        return np.exp(self.at @ parameters[: self.n_free]) * relevance, relevance

    def value(self, parameters: FloatVector) -> float:
        """Return the penalized log-likelihood, minus infinity if a probability exceeds 1."""
        mean, _ = self._means(parameters)
        if not (mean < 1.0).all():
            return -np.inf
        likelihood = np.sum(np.where(self.clicked > 0, np.log(mean), np.log1p(-mean)))
        return float(likelihood - 0.5 * self.penalty @ parameters[self.n_free :] ** 2)

    def row_scores(self, parameters: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return, per row, the derivative by log mu, its expected square, and that of log mu by b'x."""
        mean, relevance = self._means(parameters)
        return (self.clicked - mean) / (1.0 - mean), mean / (1.0 - mean), 1.0 - relevance

    def derivatives(self, parameters: FloatVector) -> Derivatives:
        """Return value, gradient and expected information."""
        slope, weight, tail = self.row_scores(parameters)
        coef = parameters[self.n_free :]
        by_feature = self.features * tail[:, None]
        gradient = np.concatenate([self.at.T @ slope, by_feature.T @ slope - self.penalty * coef])
        cross = self.at.T @ (weight[:, None] * by_feature)
        lower = by_feature.T @ (weight[:, None] * by_feature) + np.diag(self.penalty)
        upper = np.diag(self.at.T @ weight)
        return Derivatives(self.value(parameters), gradient, np.block([[upper, cross], [cross.T, lower]]))

    def solve(self, max_iter: int = 200, tol: float = 1e-8) -> FloatVector:
        """Return the parameters of the maximum."""
        parameters = self.start()
        for _ in range(max_iter):
            value, gradient, information = self.derivatives(parameters)
            step = np.linalg.lstsq(information, gradient, rcond=None)[0]
            decrement = float(gradient @ step)
            if decrement <= tol:
                break
            size = 1.0
            while size > 1e-8 and self.value(parameters + size * step) < value + 1e-4 * size * decrement:
                size /= 2.0
            if size <= 1e-8:
                break
            parameters = parameters + size * step
        return parameters

    def query_scores(self, parameters: FloatVector, query: Any) -> FloatArray:
        """Return the gradient of the log-likelihood of each query."""
        slope, _, tail = self.row_scores(parameters)
        members = csr_array((slope, (query, np.arange(len(slope)))))
        by_feature = self.features * tail[:, None]
        return np.hstack([(members @ self.at).toarray(), members @ by_feature])


def from_regression(log: ClickLog, X: Any, level: float) -> Propensities:
    """Estimate propensities if the relevance is a logistic function of features."""
    features = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if features.ndim != 2 or len(features) != len(log.clicked) or not np.isfinite(features).all():
        raise ValueError(
            f"X must hold finite numbers, with one row for each of the {len(log.clicked)} rows of clicked; "
            f"got shape {features.shape}."
        )
    linked = np.bincount(log.place, log.clicked, len(log.positions)) > 0
    if np.count_nonzero(linked) < 2:
        raise ValueError("Propensities need clicks at two positions at least.")
    kept = linked[log.place]
    place = (np.cumsum(linked) - 1)[log.place[kept]]
    model = ExaminationModel(features[kept], place, log.clicked[kept], int(linked.sum()))
    parameters = model.solve()
    scores = model.query_scores(parameters, log.query[kept])
    covariance = clustered_covariance(model.derivatives(parameters).information, scores, log.n_queries)
    free = slice(0, model.n_free)
    log_value = np.append(0.0, parameters[free])
    return as_curve(log, linked, log_value, covariance[free, free], "regression", level)
