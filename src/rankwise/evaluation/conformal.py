"""Ranges of ranks with a guarantee in finite samples, for any ranker."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from rankwise.core.checks import as_codes, as_labels, check_choice
from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.types import FloatArray, FloatVector
from rankwise.evaluation.models import scores_of
from rankwise.evaluation.names import model_name
from rankwise.preferences import NoPairsError, Preferences

METHODS = ("ranks", "values")
# Objectives that differ by less than this fraction are those of the same rows.
SAME_OBJECTIVE = 1e-7
# Fewer counts of rows may be the same for other rows, by chance.
FEWEST_COUNTS = 8


class DecisionRates(NamedTuple):
    """How often `ConformalRanks.decide` decides pairs, and is wrong: rates of the calibration pairs.

    Attributes
    ----------
    decided : float
        The fraction of pairs that are decided.
    wrong : float
        The fraction of all pairs that are decided and in the wrong order: at most about 1 - `level`.
    wrong_of_decided : float
        The fraction of the decided pairs that are in the wrong order, which has no such limit; NaN if no pair
        is decided.
    """

    decided: float
    wrong: float
    wrong_of_decided: float


class ConformalRanks:
    """Ranges of the places of new rows, from rows that the model was not fitted to.

    The place of a row is the number of rows that should be above it, 0 for the best; a row with the same
    label counts one half. If calibration rows and a new row are exchangeable, the range contains the place of
    the new row among the calibration rows with probability `level`, whatever the model and the distribution.
    With queries, whole queries are exchangeable, and the range is that of the place within the query, for a
    row of the new query drawn at random. With too few calibration rows a range has all places.

    Parameters
    ----------
    model : estimator, Pipeline or fitted search
        Any fitted model with one score per row.
    level : float
        The probability.
    method : "values" or "ranks"
        The residual of a row: the distance of its score from the score at its place, or the distance of its
        place from its place by score (VA and RA of Fermanian, Humbert and Blanchard, Transductive conformal
        inference for full ranking, 2025). "values" is shorter within queries (`benchmarks/coverage.py`), and
        longer if the noise differs much between rows.
    random_state : int
        Draws the pairs that `decide` is calibrated by.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import ConformalRanks, RankSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X @ [1.0, 0.5, 0.0] + 0.3 * rng.normal(size=300)
    >>> model = RankSVM().fit(X[:100], y[:100])
    >>> ranks = ConformalRanks(model, level=0.9).calibrate(X[100:200], y[100:200])
    >>> low, high = ranks.rank_sets(X[200:])
    >>> place = (y[100:200] > y[200:, None]).sum(axis=1)
    >>> bool(np.mean((low <= place) & (place <= high)) > 0.85)
    True
    >>> ranks.decide(X[200:201], X[201:202])  # the first is below the second
    array([-1])
    """

    def __init__(self, model: Any, level: float = 0.9, *, method: str = "values", random_state: int = 0):
        self.model = model
        self.level = level
        self.method = method
        self.random_state = random_state

    def calibrate(self, X: Any, y: Any, qid: ArrayLike | None = None) -> Self:
        """Learn the residuals of rows that the model was not fitted to.

        On the rows of the fit, residuals are too small, and ranges do not keep their level. Exactly these
        rows are refused, in any order: `RankSVM`, `RankLogistic`, `RankRLS` and `KernelRanker` know the
        objective of the fit, `CurveRanker` how many rows it had in each bin. Parts of these rows, weighted
        fits and other models are not recognized; trees are grown on random parts of the rows.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Labels, higher is better.
        qid : array of shape (n_rows,), optional
            Without it, all rows are one ranking.
        """
        if not 0 < self.level < 1:
            raise ValueError(f"level must be between 0 and 1, such as 0.9; got {self.level!r}.")
        check_choice(self.method, "method", METHODS)
        if isinstance(y, Preferences):
            raise TypeError("y must be an array of labels: places need one label per row, not preferences.")
        labels = as_labels(y, "y")
        scores = self._scores(X, qid)
        if len(labels) != len(scores):
            raise ValueError(f"X has {len(scores)} rows, but y has {len(labels)}.")
        if len(labels) == 0:
            raise ValueError("X must have at least one row to calibrate by; got none.")
        self.has_queries_ = qid is not None
        query = None if qid is None else as_codes(qid, "qid", len(scores))[1]
        model = self._fitted
        if _has_objective_of_fit(model, labels, scores, query) or _has_counts_of_fit(model, X, qid):
            raise ValueError(
                f"X and y are the rows that the {model_name(model)} was fitted to. Calibrate by other "
                "rows; these ranges would be too short."
            )
        self._margins, self._wrong = self._pair_margins(labels, scores, query)
        if query is None:
            self._ranking = _Ranking(labels, scores, self.level, self.method)
        else:
            self._threshold = _query_threshold(labels, scores, query, self.level, self.method)
        return self

    def rank_sets(self, X: Any, qid: ArrayLike | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lowest and the highest place of each new row, both included.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            The query of each row if there were queries; all rows of a query must be there.

        Returns
        -------
        low, high : arrays of shape (n_rows,)
            Places among the calibration rows or, with queries, among the other rows of the query.
        """
        self._check_calibrated()
        if self.has_queries_ != (qid is not None):
            needed = "was calibrated with qid: pass it" if self.has_queries_ else "was calibrated without qid"
            raise ValueError(f"ConformalRanks {needed}.")
        scores = self._scores(X, qid)
        if qid is None:
            ends = np.array([self._ranking.ends(score) for score in scores]).reshape(-1, 2)
            return ends[:, 0], ends[:, 1]
        query = as_codes(qid, "qid", len(scores))[1]
        low, high = np.zeros(len(scores), dtype=np.int64), np.zeros(len(scores), dtype=np.int64)
        for rows in _rows_of_queries(query):
            low[rows], high[rows] = _query_ends(scores[rows], self._threshold, self.method)
        return low, high

    def decide(self, A: Any, B: Any) -> NDArray[np.int64]:
        """Say which of two new rows is above the other, or that this cannot be said.

        The probability that a pair of new rows is decided and in the wrong order is at most 1 - `level`. That
        is a rate of all pairs: if few are decided, a larger fraction of these is wrong. `decision_rates` has
        both. The threshold is calibrated by pairs of calibration rows that share no row (one pair per query,
        if there are queries), so the two rows must be as exchangeable as these.

        Parameters
        ----------
        A, B : arrays or frames of shape (n_rows, n_features)

        Returns
        -------
        decisions : array of shape (n_rows,)
            1 if the row of A is above that of B, -1 if it is below, 0 if this cannot be said.
        """
        self._check_calibrated()
        apart = self._scores(A, None) - self._scores(B, None)
        return np.where(np.abs(apart) > self._threshold_of_pairs(), np.sign(apart), 0).astype(np.int64)

    def decision_rates(self) -> DecisionRates:
        """Return how many of the calibration pairs are decided, and how many of these are wrong."""
        self._check_calibrated()
        threshold = self._threshold_of_pairs()
        decided, wrong = (
            float(np.mean(one > threshold)) if len(one) else 0.0 for one in (self._margins, self._wrong)
        )
        return DecisionRates(decided, wrong, wrong / decided if decided else float("nan"))

    def _threshold_of_pairs(self) -> float:
        """Return the distance of scores beyond which a pair is decided."""
        return conformal_quantile(self._wrong, self.level)

    def _check_calibrated(self) -> None:
        if not hasattr(self, "has_queries_"):
            raise ValueError("ConformalRanks is not calibrated; call calibrate(X, y) first.")

    @property
    def _fitted(self) -> Any:
        return getattr(self.model, "best_estimator_", self.model)

    def _scores(self, X: Any, qid: Any) -> FloatVector:
        rows = X if hasattr(X, "shape") else np.asarray(X)
        return scores_of(self._fitted, rows, model_name(self._fitted), qid)

    def _pair_margins(
        self, labels: FloatVector, scores: FloatVector, query: NDArray[np.int64] | None
    ) -> tuple[FloatVector, FloatVector]:
        """Return |f(a) - f(b)| of independent pairs; and the same, with 0 for pairs in the right order."""
        rng = np.random.default_rng(self.random_state)
        if query is None:
            pairs = rng.permutation(len(labels))[: len(labels) // 2 * 2].reshape(-1, 2)
        else:
            several = [rows for rows in _rows_of_queries(query) if len(rows) > 1]
            drawn = [rng.choice(rows, 2, replace=False) for rows in several]
            pairs = np.array(drawn, dtype=np.int64).reshape(-1, 2)
        apart = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        truth = labels[pairs[:, 0]] - labels[pairs[:, 1]]
        return np.abs(apart), np.where(apart * np.sign(truth) < 0, np.abs(apart), 0.0)


def _has_objective_of_fit(
    model: Any, labels: FloatVector, scores: FloatVector, query: NDArray[np.int64] | None
) -> bool:
    """Return whether a linear or kernel model has the objective of its fit for these rows."""
    ranker = last_step(model)
    ranker = getattr(ranker, "ranker_", ranker)  # of a KernelRanker
    squared_norm = _squared_norm(ranker)
    if squared_norm is None or not (hasattr(ranker, "mean_loss") and hasattr(ranker, "objective_")):
        return False
    try:
        loss = ranker.mean_loss(Preferences.from_scores(labels, query)).value(scores)
    except NoPairsError:
        return False
    alpha = ranker.alpha_ if hasattr(ranker, "alpha_") else ranker.alpha
    objective = loss + float(alpha) * squared_norm
    return bool(abs(objective - ranker.objective_) <= SAME_OBJECTIVE * abs(ranker.objective_))


def _has_counts_of_fit(model: Any, X: Any, qid: Any) -> bool:
    """Return whether as many of these rows are in each bin of a curve as of the rows of the fit."""
    counts = getattr(last_step(model), "counts_of_rows", None)
    if counts is None:
        return False
    now, then = counts(before_last_step(model, X, qid))
    return bool(np.count_nonzero(then) >= FEWEST_COUNTS and np.allclose(now, then))


def _squared_norm(ranker: Any) -> float | None:
    """Return the squared norm of the function of a linear or kernel model; None for other models."""
    weights, dual = getattr(ranker, "coef_", None), getattr(ranker, "dual_coef_", None)
    if weights is not None and np.ndim(weights) == 1:
        return float(weights @ weights)
    if dual is None or np.ndim(dual) > 1 or not hasattr(ranker, "basis_"):
        return None
    return float(dual @ scores_of(ranker, ranker.basis_, model_name(ranker), None))


class _Ranking:
    """The residuals of one ranking of n calibration rows, to which a new row is added."""

    def __init__(self, labels: FloatVector, scores: FloatVector, level: float, method: str):
        self.scores, self.level, self.method = scores, level, method
        self.place, self.by_score = places(labels), places(scores)
        self.sorted = -np.sort(-scores)

    def ends(self, score: float) -> tuple[int, int]:
        """Return the lowest and the highest place of a new row with this score.

        With the new row among them, the place of each other row is larger by at most 1, so the larger of the
        residuals without and with the shift bounds the residual.
        """
        n = len(self.scores)
        above, tied = int(np.sum(self.scores > score)), int(np.sum(self.scores == score))
        if self.method == "ranks":
            shift = (score > self.scores) + 0.5 * (score == self.scores)
            residuals = np.abs(self.by_score + shift - self.place - 0.5) + 0.5
            return _clipped(above + tied / 2, conformal_quantile(residuals, self.level), n)
        together = np.insert(self.sorted, above, score)
        first, last = np.floor(self.place).astype(np.int64), np.ceil(self.place).astype(np.int64) + 1
        residuals = np.maximum(np.abs(self.scores - together[first]), np.abs(self.scores - together[last]))
        return _places_within(together, score, conformal_quantile(residuals, self.level))


def _query_threshold(
    labels: FloatVector, scores: FloatVector, query: NDArray[np.int64], level: float, method: str
) -> float:
    """Return the quantile of the residuals of the rows of a random query, as one more query bounds it.

    Queries weigh the same, and their rows share this weight (Lee, Barber and Willett 2023).
    """
    residuals, weight = np.zeros(len(labels)), np.zeros(len(labels))
    groups = _rows_of_queries(query)
    for rows in groups:
        residuals[rows] = _query_residuals(labels[rows], scores[rows], method)
        weight[rows] = 1.0 / len(rows)
    order = np.argsort(residuals, kind="stable")
    reached = np.cumsum(weight[order]) >= level * (len(groups) + 1) - 1e-9
    return float(residuals[order][np.argmax(reached)]) if reached.any() else np.inf


def _query_residuals(labels: FloatVector, scores: FloatVector, method: str) -> FloatVector:
    place, size = places(labels), max(len(labels) - 1, 1)
    if method == "ranks":
        return np.abs(places(scores) - place) / size
    ordered = -np.sort(-scores)
    candidates = [ordered[rounded(place).astype(np.int64)] for rounded in (np.floor, np.ceil)]
    return np.maximum(*(np.abs(scores - one) for one in candidates))


def _query_ends(scores: FloatVector, threshold: float, method: str) -> tuple[FloatArray, FloatArray]:
    size = len(scores) - 1
    if method == "ranks":
        ends = [_clipped(one, threshold * max(size, 1), size) for one in places(scores)]
    else:
        ordered = -np.sort(-scores)
        ends = [_places_within(ordered, score, threshold) for score in scores]
    low, high = np.array(ends).T
    return low, high


def places(values: FloatVector) -> FloatVector:
    """Return the number of larger values for each value, and half the number of equal ones.

    Examples
    --------
    >>> places(np.array([3.0, 1.0, 2.0, 2.0]))
    array([0. , 3. , 1.5, 1.5])
    """
    return np.asarray(rankdata(-np.asarray(values)) - 1.0, np.float64)


def conformal_quantile(residuals: FloatVector, level: float) -> float:
    """Return the residual that the next one exceeds with probability at most 1 - level; infinite if none is.

    Examples
    --------
    >>> conformal_quantile(np.arange(1.0, 10.0), 0.9), conformal_quantile(np.arange(1.0, 9.0), 0.9)
    (9.0, inf)
    """
    number = int(np.ceil((len(residuals) + 1) * level - 1e-9))
    return float(np.partition(residuals, number - 1)[number - 1]) if number <= len(residuals) else np.inf


def _clipped(place: float, reach: float, largest: int) -> tuple[int, int]:
    """Return the whole places within reach of a place; half places of ties are within them."""
    low, high = np.floor(max(place - reach, 0.0)), np.ceil(min(place + reach, float(largest)))
    return int(low), int(high)


def _places_within(ordered: FloatVector, score: float, reach: float) -> tuple[int, int]:
    """Return the places whose scores are within reach of a score; `ordered` falls."""
    inside = np.flatnonzero(np.abs(ordered - score) <= reach)
    return int(inside[0]), int(inside[-1])


def _rows_of_queries(query: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    order = np.argsort(query, kind="stable")
    ends = np.cumsum(np.bincount(query))
    return [rows for rows in np.split(order, ends[:-1]) if len(rows)]
