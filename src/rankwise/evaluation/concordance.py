"""Concordance of scores with survival times, with confidence intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_codes, as_vector, check_choice, check_count
from rankwise.core.types import FloatArray, FloatVector
from rankwise.evaluation.intervals import Estimate, clustered, error_estimate, estimate_over_rows
from rankwise.losses.pair_sums import partner_sums
from rankwise.preferences import Preferences
from rankwise.preferences.ranking import Ranking
from rankwise.preferences.survival import lives

WEIGHTS = ("harrell", "uno")
INTERVALS = ("analytic", "bootstrap")


class Concordance(NamedTuple):
    """A concordance index with its standard error and the ends of its interval."""

    estimate: float
    standard_error: float
    low: float
    high: float


def concordance_index(
    y: Any,
    scores: ArrayLike,
    *,
    weights: Literal["harrell", "uno"] = "harrell",
    tau: float | None = None,
    censoring: Any = None,
) -> float:
    """Fraction of the comparable pairs, of survival times or others, that the scores put in the right order.

        1/W * sum over pairs (event of i observed before t_j) of w_i ([s_i < s_j] + [s_i = s_j] / 2),

    W the sum of w_i over these pairs.
    With w = 1 it is Harrell's C, which depends on the distribution of censoring. With w_i = 1 / G(t_i)^2, G
    the Kaplan-Meier estimate of the probability that a subject is not censored before t_i, it does not (Uno
    et al. 2011). A higher score means longer survival: pass minus a risk. Pairs of different strata are not
    compared; the pairs of all strata have the same weight. O(m log m).

    For labels of two classes it is the AUC, and for other labels and listed pairs 1 minus the ranking error.

    Parameters
    ----------
    y : Preferences.from_survival, pair (event, time), or structured array with these two fields
        Whether the event was observed, and the follow-up time. Weights of rows multiply those of pairs. Or an
        array of labels, or a `Preferences` of another kind without queries.
    scores : array of shape (m,)
        A score per row.
    weights : {"harrell", "uno"}
        "uno" is for survival times, as are `tau` and `censoring`.
    tau : float, optional
        Restrict the pairs to those whose earlier time is below tau. In the tail few subjects are at risk, and
        Uno's weights are unbounded.
    censoring : as `y`, optional
        The rows from which G is estimated; by default those of y.

    Returns
    -------
    float

    Examples
    --------
    >>> concordance_index(([True, False, True, True], [1.0, 2.0, 3.0, 4.0]), [0.1, 0.9, 0.4, 0.3])
    0.75
    >>> concordance_index([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])  # the AUC
    0.75
    """
    return _concordance(y, scores, weights, tau, censoring).index()


def concordance_interval(
    y: Any,
    scores: ArrayLike,
    *,
    weights: Literal["harrell", "uno"] = "harrell",
    tau: float | None = None,
    censoring: Any = None,
    cluster: ArrayLike | None = None,
    method: Literal["analytic", "bootstrap"] = "analytic",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = 0,
) -> Concordance:
    """Return the concordance index with a standard error and an interval.

    "analytic" is the infinitesimal jackknife, the sum over rows of the squared derivatives of the index by
    the weight of the row, in O(m log m); it treats G as known. Its interval is Wilson's, by quantiles of
    Student's t; `rankwise.evaluation` uses the same. The standard error of an AUC is DeLong's, with the
    degrees of freedom of Satterthwaite, and so is that of survival times, with rows with an observed event
    and censored rows as the two samples. Listed pairs are independent, or their groups are. "bootstrap", for
    survival times, resamples rows, estimates G for each resample unless `censoring` is given, and takes
    quantiles.

    With fewer than eight events, the interval is too short; with one, it is NaN.

    Parameters
    ----------
    y, scores, weights, tau, censoring :
        As in `concordance_index`.
    cluster : array of shape (m,), optional
        What rows have in common, such as the patient of two eyes. Rows of different clusters are independent;
        without it, all rows are.
    method : {"analytic", "bootstrap"}
        "analytic" if there are clusters.
    confidence : float
        The confidence level of intervals.
    n_resamples : int
        The number of bootstrap resamples.
    random_state : int or numpy Generator
        The seed.

    Returns
    -------
    concordance : Concordance
        ``estimate``, ``standard_error``, ``low`` and ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> time = np.arange(1.0, 101.0)
    >>> found = concordance_interval((time % 3 > 0, time), time + 40 * np.sin(time))
    >>> f"{found.estimate:.3f} from {found.low:.3f} to {found.high:.3f}"
    '0.746 from 0.695 to 0.792'

    The AUC of few rows:

    >>> found = concordance_interval([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.3, 0.2, 0.6, 0.5, 0.4, 0.8, 0.9])
    >>> f"{found.estimate:.3f} from {found.low:.3f} to {found.high:.3f}"
    '0.875 from 0.103 to 0.998'
    """
    check_choice(method, "method", INTERVALS)
    check_count("n_resamples", n_resamples)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    found = _concordance(y, scores, weights, tau, censoring)
    index = found.index()
    if method == "analytic":
        estimate = _with_clusters(found, cluster)
        return Concordance(index, estimate.standard_error, *estimate.interval(confidence, (0.0, 1.0)))
    if cluster is not None:
        raise ValueError("cluster is for method='analytic'; method='bootstrap' resamples single rows.")
    if not isinstance(found, _Concordance):
        raise ValueError("method='bootstrap' is for survival times; use method='analytic'.")
    draws = found.resampled(n_resamples, np.random.default_rng(random_state))
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Concordance(index, float(draws.std(ddof=1)), float(low), float(high))


def _with_clusters(found: _Concordance | _PairConcordance, cluster: Any) -> Estimate:
    """Return the estimate with clusters of rows as the units, if they are given."""
    if cluster is None:
        return found.estimate()
    codes = as_codes(cluster, "cluster", len(found.preferences))[1]
    return clustered(found.estimate(), found.preferences, codes)


def concordance_estimate(y: Any, scores: ArrayLike, weights: str = "harrell") -> Estimate:
    """Return the index with the influence of each row, for intervals of differences of two models."""
    return _concordance(y, scores, weights, None, None).estimate()


def _concordance(
    y: Any, scores: ArrayLike, weights: str, tau: float | None, censoring: Any
) -> _Concordance | _PairConcordance:
    """Return the concordance with survival times, or with other preferences."""
    other = y.event is None if isinstance(y, Preferences) else not holds_survival(y)
    if not other:
        return _Concordance(y, scores, weights, tau, censoring)
    check_choice(weights, "weights", WEIGHTS)
    if weights != "harrell" or tau is not None or censoring is not None:
        raise ValueError("weights='uno', tau and censoring are for survival times; y has none.")
    return _PairConcordance(y, scores)


class _PairConcordance:
    """Preferences without queries, and scores."""

    def __init__(self, y: Any, scores: ArrayLike):
        self.preferences = y if isinstance(y, Preferences) else Preferences.from_scores(y)
        if self.preferences.has_queries:
            raise ValueError(
                "y has queries; `rankwise.evaluation.evaluate` computes the interval of the ranking error "
                "over queries."
            )
        self.preferences.require_pairs()
        found = as_vector(scores, "scores", len(self.preferences))
        self.error = error_estimate(self.preferences, found, "pairs")

    def index(self) -> float:
        """Return the index."""
        return 1 - self.error.value

    def estimate(self) -> Estimate:
        """Return 1 minus the ranking error, with its influences."""
        return replace(self.error, value=1 - self.error.value, influence=-self.error.influence)


class _Concordance:
    """Checked input: a ranking of survival times, the scores, and the parameters of the weights."""

    def __init__(self, y: Any, scores: ArrayLike, weights: str, tau: float | None, censoring: Any):
        check_choice(weights, "weights", WEIGHTS)
        self.ranking = as_survival(y, "y")
        self.ranking.require_pairs()
        self.scores = as_vector(scores, "scores", len(self.ranking))
        self.weights, self.tau = weights, tau
        self.censoring = None if censoring is None else as_survival(censoring, "censoring")

    @property
    def preferences(self) -> Preferences:
        """The survival times."""
        return self.ranking

    def index(self) -> float:
        """Return the index."""
        right, total = (part.sum() for part in self._by_worse_row())
        return _fraction(float(right), float(total))

    def estimate(self) -> Estimate:
        """Return the index with the influence of each row, (right_i - C total_i) / total."""
        right, total = self._by_row()
        whole = float(total.sum()) / 2
        index = _fraction(float(right.sum()), 2 * whole)
        return estimate_over_rows(self.ranking, index, (right - index * total) / whole)

    def resampled(self, n_resamples: int, generator: np.random.Generator) -> FloatArray:
        """Return the indices of bootstrap resamples, of those that have pairs."""
        n = len(self.ranking)
        draws = []
        for _ in range(n_resamples):
            rows = generator.integers(n, size=n)
            part = self.ranking[rows]
            if part.n_pairs:
                given = self.weights, self.tau, self.censoring
                draws.append(_Concordance(part, self.scores[rows], *given).index())
        return np.array(draws)

    def _row_weight(self) -> FloatVector:
        """Return the weight of each row as the earlier one of a pair, on a common scale of all strata."""
        ranking = self.ranking
        weight = ranking.scaled.pair_scale[ranking.groups()]
        counts = ranking.values < (np.inf if self.tau is None else self.tau)
        if self.weights == "uno":
            known = ranking if self.censoring is None else self.censoring
            counts = counts & (ranking.partner_weights()[0] > 0)  # events before the time of another subject
            weight = (
                weight / _checked(_uncensored_probability(known, ranking.values), ranking.values, counts) ** 2
            )
        return weight * counts

    def _by_worse_row(self) -> tuple[FloatVector, FloatVector]:
        """Return the weights of concordant and of all pairs, summed by their earlier row."""
        weight = self._row_weight()
        wrong, tied, total = (sums.up for sums in self._sums(None))
        return weight * (total - (wrong + tied) / 2), weight * total

    def _by_row(self) -> tuple[FloatVector, FloatVector]:
        """Return the weights of concordant and of all pairs, summed by both of their rows."""
        weight = self._row_weight()
        wrong, tied, total = (weight * sums.up + sums.moment_down for sums in self._sums(weight))
        return total - (wrong + tied) / 2, total

    def _sums(self, moment: FloatVector | None) -> list[Any]:
        # Ranks are integers, so a margin of 1/2 is exact.
        ranks = np.unique(self.scores, return_inverse=True)[1].astype(np.float64)
        given: tuple[tuple[Any, float], ...] = ((ranks, 0.0), (ranks, 0.5), (None, 1.0))
        return [partner_sums(self.ranking, values, moment, margin=margin) for values, margin in given]


def holds_survival(y: Any) -> bool:
    """Return whether y is a pair (event, time), or a structured array."""
    is_structured = getattr(getattr(y, "dtype", None), "names", None) is not None
    return is_structured or (isinstance(y, tuple) and len(y) == 2)


def as_survival(y: Any, name: str) -> Ranking:
    """Return right-censored times, which may have no pairs, from preferences or from events and times."""
    if isinstance(y, Preferences) and y.event is not None:
        return cast(Ranking, y)
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if fields is not None and len(fields) == 2:
        return lives(y[fields[0]], y[fields[1]])
    if isinstance(y, tuple) and len(y) == 2:
        return lives(*y)
    kind = repr(y) if isinstance(y, Preferences) else type(y).__name__
    raise TypeError(
        f"{name} must be a Preferences.from_survival, a pair (event, time) or a structured array with these "
        f"two fields; got {kind}."
    )


def _uncensored_probability(rows: Ranking, times: FloatVector) -> FloatVector:
    """Return the Kaplan-Meier estimate of P(no censoring before t); events at t precede censoring at t."""
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    censored = weight * (rows.event == 0)  # type: ignore[operator]
    moments, codes = np.unique(rows.values, return_inverse=True)
    events, censorings = (np.bincount(codes, part, len(moments)) for part in (weight - censored, censored))
    at_risk = np.cumsum((events + censorings)[::-1])[::-1] - events
    stays = np.divide(at_risk - censorings, at_risk, where=at_risk > 0, out=np.ones(len(moments)))
    return np.concatenate([[1.0], np.cumprod(stays)])[np.searchsorted(moments, times, side="left")]


def _checked(probability: FloatVector, times: FloatVector, counts: NDArray[np.bool_]) -> FloatVector:
    """Return positive probabilities, 1 for rows that do not count; refuse 0 for rows that do."""
    bad = counts & (probability <= 0)
    if bad.any():
        raise ValueError(
            f"Every subject is censored before t = {times[bad].min():g}, where an event was observed, so "
            f"Uno's weights are undefined there; pass tau <= {times[bad].min():g}."
        )
    return np.where(counts, probability, 1.0)


def _fraction(part: float, whole: float) -> float:
    if whole <= 0:
        raise ValueError("concordance_index is undefined: no pair has an observed event at its earlier time.")
    return part / whole
