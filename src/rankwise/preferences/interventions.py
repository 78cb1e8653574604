"""Propensities from documents that were shown at several positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.preferences.click_log import ClickLog
from rankwise.preferences.propensities import Propensities, as_curve, clustered_covariance


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
            "clicked; there are too few. Swap neighbouring results at random in a part of the traffic, leave "
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
