"""Propensities from features of the rows: examination and relevance fitted together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from rankwise.core.types import FloatArray, FloatVector
from rankwise.preferences.click_log import ClickLog
from rankwise.preferences.propensities import Propensities, as_curve, clustered_covariance

# The precision of the normal prior of the weights of standardised features: that of one observation.
RIDGE = 1.0


class Derivatives(NamedTuple):
    """The penalised log-likelihood, its gradient and the expected information."""

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
        """Return the penalised log-likelihood, minus infinity if a probability exceeds 1."""
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
